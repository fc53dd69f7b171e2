#include "core/op/exchange.h"

#include <string.h>
#include <strings.h>

#include "core/json/tree.h"

static const char masked[] = "(secret)";

void exchange_aws(struct exchange *x, enum aws_op_id op, json_t *in)
{
	x->via = VIA_AWS;
	x->aws = op;
	x->in = in;
}

void exchange_then(struct exchange *x, enum aws_op_id op, const json_t *in,
		   struct arena *a)
{
	if (!x->then)
		x->then = json_new_list(a);
	json_push(x->then, json_pack("{s:i, s:O}", "op", (int)op, "in", in));
}

void exchange_kube(struct exchange *x, const struct kube_target *t,
		   const struct kube_request *r)
{
	x->via = VIA_KUBE;
	x->target = *t;
	x->kube = *r;
}

void exchange_helm(struct exchange *x, const struct kube_target *t,
		   const struct helm_request *r)
{
	x->via = VIA_HELM;
	x->target = *t;
	x->helm = *r;
}

bool answer_is(const struct answer *a, const char *code)
{
	return streq(a->code, code);
}

static const char *kube_verb_text(enum kube_verb v)
{
	switch (v) {
	case KUBE_GET:
		return "get";
	case KUBE_LIST:
		return "list";
	case KUBE_CREATE:
		return "create";
	case KUBE_APPLY:
		return "apply";
	case KUBE_MERGE_PATCH:
		return "patch";
	case KUBE_DELETE:
		return "delete";
	case KUBE_LOG:
		return "log";
	case KUBE_WATCH:
		return "watch";
	case KUBE_RAW:
		return "raw";
	}
	return "get";
}

static const char *helm_verb_text(enum helm_verb v)
{
	switch (v) {
	case HELM_UPGRADE_INSTALL:
		return "upgrade";
	case HELM_UNINSTALL:
		return "uninstall";
	case HELM_ROLLBACK:
		return "rollback";
	case HELM_TEMPLATE:
		return "template";
	}
	return "upgrade";
}

const char *exchange_name(const struct exchange *x, struct arena *a)
{
	switch (x->via) {
	case VIA_AWS:
		return arena_printf(a, "%s:%s", aws_op_service(aws_op(x->aws)),
				    aws_op_name(aws_op(x->aws)));
	case VIA_KUBE:
		return arena_printf(a, "kubernetes:%s %s", kube_verb_text(x->kube.verb),
				    x->kube.plural ? x->kube.plural : x->kube.name);
	case VIA_HELM:
		return arena_printf(a, "helm:%s", helm_verb_text(x->helm.verb));
	case VIA_NONE:
		break;
	}
	return "none";
}

/* Objects by which a controller makes or ends others, for as long as they stand. */
static const struct {
	const char *plural, *made, *deleted;
} controlled[] = {
	{"jobs", "its pods continue to run", "its pods are still ending"},
	{"nodepools", "the autoscaler launches nodes for pending pods",
	 "the autoscaler is still removing its nodes"},
	{"hyperpodnodeclasses", "the autoscaler launches nodes in its instance groups",
	 "the autoscaler is still releasing its nodes"},
};

static const char *kube_goes_on(const struct kube_request *r)
{
	if (!kube_verb_mutates(r->verb) || r->dry_run || !r->plural ||
	    r->verb == KUBE_MERGE_PATCH)
		return NULL;
	for (size_t i = 0; i < sizeof(controlled) / sizeof(*controlled); i++)
		if (streq(r->plural, controlled[i].plural))
			return r->verb == KUBE_DELETE ? controlled[i].deleted
						      : controlled[i].made;
	return NULL;
}

const char *exchange_goes_on(const struct exchange *x)
{
	switch (x->via) {
	case VIA_AWS:
		return aws_op_goes_on(aws_op(x->aws));
	case VIA_KUBE:
		return kube_goes_on(&x->kube);
	case VIA_HELM:
		return helm_verb_mutates(x->helm.verb)
			       ? "its pods are still starting or ending"
			       : NULL;
	case VIA_NONE:
		break;
	}
	return NULL;
}

static bool ends_in(const char *name, const char *end)
{
	const size_t n = strlen(name), m = strlen(end);

	return n >= m && strcasecmp(name + n - m, end) == 0;
}

/*
 * Whether the value of a member of that name is a secret. Page and idempotency
 * tokens are none; names of secrets ("secretName") are none either.
 */
static bool is_secret_name(const char *name)
{
	static const char *const ends[] = {"password",   "passphrase", "secret",
					   "secretkey",  "apikey",     "accesskey",
					   "privatekey", "credentials"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_in(name, ends[i]))
			return true;
	return ends_in(name, "token") && !ends_in(name, "clienttoken") &&
	       !ends_in(name, "requesttoken") && !ends_in(name, "nexttoken");
}

static json_t *mask(const json_t *tree);

static json_t *mask_all_values(const json_t *map)
{
	json_t *copy = json_object();
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)map, key, value)
		json_object_set_new(copy, key, json_string(masked));
	return copy;
}

static json_t *mask_object(const json_t *tree)
{
	json_t *copy = json_object();
	const bool secret_kind = streq(json_str_at(tree, "kind"), "Secret");
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)tree, key, value) {
		if (secret_kind && json_is_object(value) &&
		    (streq(key, "data") || streq(key, "stringData")))
			json_object_set_new(copy, key, mask_all_values(value));
		else if (json_is_string(value) && is_secret_name(key))
			json_object_set_new(copy, key, json_string(masked));
		else
			json_object_set_new(copy, key, mask(value));
	}
	return copy;
}

/* A deep copy with secrets replaced. */
static json_t *mask(const json_t *tree)
{
	json_t *copy;
	json_t *value;
	size_t i;

	if (json_is_object(tree))
		return mask_object(tree);
	if (!json_is_array(tree))
		return json_deep_copy(tree);
	copy = json_array();
	json_array_foreach(tree, i, value)
		json_array_append_new(copy, mask(value));
	return copy;
}

static void aws_tree(const struct exchange *x, json_t *t)
{
	const char *token = aws_op_token_member(aws_op(x->aws));
	json_t *in = x->in ? mask(x->in) : json_object();

	/* The token is the runner's: a request is the same with and without. */
	if (token)
		json_object_del(in, token);
	json_put(t, "input", in);
}

static void kube_tree(const struct exchange *x, json_t *t)
{
	const struct kube_request *r = &x->kube;

	json_put_str(t, "cluster", x->target.cluster_name);
	json_put_str(t, "api", r->api);
	json_put_str(t, "resource", r->plural);
	json_put_str(t, "namespace", r->ns);
	json_put_str(t, "name", r->name);
	json_put_str(t, "subresource", r->subresource);
	json_put_str(t, "label_selector", r->label_selector);
	json_put_str(t, "field_selector", r->field_selector);
	json_put_str(t, "continue", r->continue_);
	if (r->force)
		json_put_bool(t, "force", true);
	if (r->body)
		json_put(t, "body", mask(r->body));
}

static void helm_tree(const struct exchange *x, json_t *t)
{
	const struct helm_request *r = &x->helm;

	json_put_str(t, "cluster", x->target.cluster_name);
	json_put_str(t, "release", r->release);
	json_put_str(t, "namespace", r->ns);
	json_put_str(t, "chart", r->chart);
	if (r->revision)
		json_put_int(t, "revision", r->revision);
	if (r->take_ownership)
		json_put_bool(t, "take_ownership", true);
	if (r->values)
		json_put(t, "values", mask(r->values));
}

json_t *exchange_tree(const struct exchange *x, struct arena *a)
{
	json_t *t = json_new_object(a);

	json_put_str(t, "call", exchange_name(x, a));
	switch (x->via) {
	case VIA_AWS:
		aws_tree(x, t);
		break;
	case VIA_KUBE:
		kube_tree(x, t);
		break;
	case VIA_HELM:
		helm_tree(x, t);
		break;
	case VIA_NONE:
		break;
	}
	return t;
}
