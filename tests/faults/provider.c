#include "tests/faults/provider.h"

#include <string.h>

#include "core/json/tree.h"

enum { ACTIVE_AFTER_MS = 90 * 1000, LONG_AGO_MS = 24 * 3600 * 1000 };

struct request {
	struct provider *p;
	const char *step;
	const struct kube_request *k;
	const char *token;
	struct arena *a;
	struct answer *ret;
	const char *changed; /* id of the object that the call has changed */
};

const char *fault_name(enum fault f)
{
	static const char *const name[FAULT_COUNT_] = {
		"none", "lost answer", "lost request", "not sent", "throttle",
	};

	return name[f];
}

void provider_init(struct provider *p, struct clock_manual *clock, int64_t lag_ms)
{
	*p = (struct provider){
		.clock = clock,
		.lag_ms = lag_ms,
		.call_ms = 150,
		.objects = json_object(),
		.tokens = json_object(),
		.ledger = json_array(),
		.absent = json_object(),
		.refused_once = json_object(),
	};
}

void provider_free(struct provider *p)
{
	json_decref(p->objects);
	json_decref(p->tokens);
	json_decref(p->ledger);
	json_decref(p->absent);
	json_decref(p->refused_once);
	*p = (struct provider){.clock = p->clock};
}

/* What of it is state: in one place for both ways. */
static void members(struct provider *p, json_t **ret[5])
{
	ret[0] = &p->objects;
	ret[1] = &p->tokens;
	ret[2] = &p->ledger;
	ret[3] = &p->absent;
	ret[4] = &p->refused_once;
}

json_t *provider_save(struct provider *p)
{
	json_t **m[5];
	json_t *saved = json_pack("{s:i, s:[]}", "next_id", p->next_id, "trees");

	members(p, m);
	for (size_t i = 0; i < 5; i++)
		json_array_append_new(json_object_get(saved, "trees"),
				      json_deep_copy(*m[i]));
	return saved;
}

void provider_restore(struct provider *p, const json_t *saved)
{
	json_t **m[5];

	members(p, m);
	for (size_t i = 0; i < 5; i++) {
		json_decref(*m[i]);
		*m[i] = json_deep_copy(
			json_array_get(json_object_get(saved, "trees"), i));
	}
	p->next_id = (int)json_integer_value(json_object_get(saved, "next_id"));
	p->rng = NULL;
	p->fault_at = p->mutations = 0;
}

static json_t *add_object(struct provider *p, const char *type, const char *name)
{
	json_t *o = json_object();
	char id[64];

	snprintf(id, sizeof(id), "%s-%d", type, ++p->next_id);
	json_put_str(o, "id", id);
	json_put_str(o, "type", type);
	json_put_str(o, "name", name);
	json_put_int(o, "at", p->clock->wall);
	json_object_set_new(p->objects, id, o);
	return o;
}

void provider_seed(struct provider *p, const char *type, const char *name, int64_t value)
{
	json_t *o = add_object(p, type, name);

	json_put_int(o, "at", p->clock->wall - LONG_AGO_MS);
	json_put_int(o, "value", value);
	json_put_int(o, "before", value);
	json_put_int(o, "changed_at", p->clock->wall - LONG_AGO_MS);
	json_put_str(o, "keep", "somebody else's");
}

static json_t *find(const struct provider *p, const char *type, const char *name)
{
	const char *id;
	json_t *o;

	json_object_foreach(p->objects, id, o)
		if (streq(json_str_at(o, "type"), type) &&
		    (streq(json_str_at(o, "name"), name) || streq(id, name)))
			return o;
	return NULL;
}

/* --- answers ----------------------------------------------------------- */

/* What a reader sees of an object: late, in all that changes. */
static json_t *view(const struct request *q, const json_t *o)
{
	const int64_t now = q->p->clock->wall;
	json_t *v = json_own(q->a, json_deep_copy(o));

	if (now - json_int_or(o, "changed_at", 0) < q->p->lag_ms)
		json_put_int(v, "value", json_int_or(o, "before", 0));
	json_drop(v, "before");
	json_put_str(v, "state",
		     now - json_int_or(o, "at", 0) >= ACTIVE_AFTER_MS ? "ACTIVE"
								      : "CREATING");
	return v;
}

static void say(struct request *q, json_t *out)
{
	q->ret->ok = true;
	q->ret->status = 200;
	q->ret->out = out ? out : json_new_object(q->a);
}

static void refuse(struct request *q, int status, const char *code, enum errc errc)
{
	q->ret->ok = false;
	q->ret->status = status;
	q->ret->code = code;
	q->ret->message = code;
	q->ret->errc = errc;
	q->ret->out = json_new_object(q->a);
}

/* --- reads ------------------------------------------------------------- */

static bool is_visible(const struct provider *p, const json_t *o)
{
	return p->clock->wall - json_int_or(o, "at", 0) >= p->lag_ms;
}

static void get(struct request *q)
{
	const json_t *o = find(q->p, q->k->plural, q->k->name);
	char key[128];

	if (o && is_visible(q->p, o)) {
		say(q, view(q, o));
		return;
	}
	snprintf(key, sizeof(key), "%s/%s", q->k->plural, q->k->name);
	if (!json_object_get(q->p->absent, key))
		json_object_set_new(q->p->absent, key, json_array());
	json_push(json_object_get(q->p->absent, key), json_integer(q->p->clock->wall));
	refuse(q, 404, "NotFound", ERR_CLOUD_NOT_FOUND);
}

static void list(struct request *q)
{
	json_t *items = json_new_list(q->a);
	const char *id;
	json_t *o;

	json_object_foreach(q->p->objects, id, o)
		if (streq(json_str_at(o, "type"), q->k->plural) &&
		    streq(json_str_at(o, "root"), q->k->label_selector) &&
		    is_visible(q->p, o))
			json_push(items, json_incref(view(q, o)));
	say(q, json_packf(q->a, "{s:O}", "items", items));
}

/* --- mutations --------------------------------------------------------- */

static json_t *make(struct request *q)
{
	json_t *o = add_object(q->p, q->k->plural, q->k->name);

	json_put_str(o, "root", json_str_at(q->k->body, "root"));
	q->changed = json_str_at(o, "id");
	say(q, view(q, o));
	return o;
}

static void create_tokened(struct request *q)
{
	const char *digest = json_digest(q->a, q->k->body);
	const json_t *known = q->token ? json_object_get(q->p->tokens, q->token) : NULL;
	const json_t *o;

	if (!q->token) {
		refuse(q, 400, "MissingToken", ERR_CLOUD_REFUSED);
	} else if (known && !streq(json_str_at(known, "digest"), digest)) {
		refuse(q, 400, "IdempotentParameterMismatch", ERR_CLOUD_REFUSED);
	} else if (known) {
		say(q, view(q, json_object_get(q->p->objects, json_str_at(known, "id"))));
	} else {
		o = make(q);
		json_object_set_new(q->p->tokens, q->token,
				    json_pack("{s:s, s:s}", "id", json_str_at(o, "id"),
					      "digest", digest));
	}
}

static void create(struct request *q)
{
	const char *type = q->k->plural;

	if (streq(type, "limited") && !json_object_get(q->p->refused_once, q->k->name)) {
		json_object_set_new(q->p->refused_once, q->k->name, json_true());
		refuse(q, 400, "QuotaExceeded", ERR_QUOTA);
	} else if (streq(type, "tokened") || streq(type, "limited")) {
		create_tokened(q);
	} else if (streq(type, "named") && find(q->p, type, q->k->name)) {
		refuse(q, 409, "AlreadyExists", ERR_CLOUD_CONFLICT);
	} else {
		make(q);
	}
}

static void apply(struct request *q)
{
	json_t *o = find(q->p, q->k->plural, q->k->name);
	const json_t *body = q->k->body;

	if (!o) {
		refuse(q, 404, "NotFound", ERR_CLOUD_NOT_FOUND);
		return;
	}
	if (json_int_or(o, "value", 0) != json_int_or(body, "value", 0) ||
	    !streq(json_str_at(o, "keep"), json_str_at(body, "keep"))) {
		json_put_int(o, "before", json_int_or(o, "value", 0));
		json_put_int(o, "value", json_int_or(body, "value", 0));
		json_put_int(o, "changed_at", q->p->clock->wall);
		json_put_str(o, "keep", json_str_or(body, "keep", "lost"));
		q->changed = json_str_at(o, "id");
	}
	say(q, view(q, o));
}

static void delete (struct request *q)
{
	const json_t *o = find(q->p, q->k->plural, q->k->name);

	if (!o) {
		refuse(q, 404, "NotFound", ERR_CLOUD_NOT_FOUND);
		return;
	}
	q->changed = arena_strdup(q->a, json_str_at(o, "id"));
	json_object_del(q->p->objects, q->changed);
	say(q, NULL);
}

static void carry_out(struct request *q)
{
	switch ((int)q->k->verb) {
	case KUBE_GET:
		get(q);
		break;
	case KUBE_LIST:
		list(q);
		break;
	case KUBE_CREATE:
		create(q);
		break;
	case KUBE_APPLY:
		apply(q);
		break;
	case KUBE_DELETE:
		delete (q);
		break;
	default:
		refuse(q, 400, "Unsupported", ERR_CLOUD_REFUSED);
	}
}

/* --- faults and the ledger --------------------------------------------- */

static void record(const struct request *q, enum fault f)
{
	json_t *row = json_object();
	const json_t *body = q->k->body;

	json_put_int(row, "at", q->p->clock->wall);
	json_put_str(row, "step", q->step);
	json_put_str(row, "type", q->k->plural);
	json_put_str(row, "name", q->k->name);
	json_put_str(row, "token", q->token);
	json_put_str(row, "op", json_str_at(body, "op"));
	json_put_str(row, "root", json_str_at(body, "root"));
	json_put_str(row, "item", json_str_or(body, "item", ""));
	json_put_str(row, "changed", q->changed);
	json_put_str(row, "outcome", q->ret->ok ? "ok" : q->ret->code);
	json_put_str(row, "fault", fault_name(f));
	json_push(q->p->ledger, row);
}

static enum fault pick_fault(struct provider *p, bool mutates)
{
	if (mutates && ++p->mutations == p->fault_at)
		return p->fault;
	if (p->rng && rng_below(p->rng, 1000) < p->fault_permille)
		return (enum fault)(1 + rng_below(p->rng, FAULT_COUNT_ - 1));
	return FAULT_NONE;
}

static bool is_stopped(struct request *q, enum fault f)
{
	if (f == FAULT_LOST_REQUEST) {
		refuse(q, 0, "", ERR_AMBIGUOUS);
		q->ret->ambiguous = true;
	} else if (f == FAULT_NOT_SENT) {
		refuse(q, 0, "", ERR_CLOUD_UNREACHABLE);
	} else if (f == FAULT_THROTTLE) {
		refuse(q, 429, "TooManyRequests", ERR_CLOUD_THROTTLED);
	} else {
		return false;
	}
	return true;
}

void provider_exchange(struct provider *p, const char *step, const struct exchange *x,
		       const char *token, struct arena *a, struct answer *ret,
		       void (*on_sent)(void *ctx), void *ctx)
{
	struct request q = {p, step, &x->kube, token, a, ret, NULL};
	const bool mutates = kube_verb_mutates(x->kube.verb);
	const enum fault f = pick_fault(p, mutates);

	clock_manual_advance(p->clock, p->call_ms);
	if (is_stopped(&q, f))
		return;
	carry_out(&q);
	if (mutates)
		record(&q, f);
	if (mutates)
		on_sent(ctx);
	if (f == FAULT_LOST_ANSWER) {
		refuse(&q, 0, "", ERR_AMBIGUOUS);
		ret->ambiguous = true;
	}
}

int provider_effects(const struct provider *p, const char *op, const char *step,
		     const char *item)
{
	int n = 0;
	size_t i;
	json_t *row;

	json_array_foreach(p->ledger, i, row)
		if (json_str_at(row, "changed") && streq(json_str_at(row, "op"), op) &&
		    streq(json_str_at(row, "step"), step) &&
		    (!item || streq(json_str_at(row, "item"), item)))
			n++;
	return n;
}
