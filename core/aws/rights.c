#include "core/aws/rights.h"

#include <string.h>

#include "core/aws/op_table.h"
#include "core/aws/policy.h"
#include "core/base/str.h"
#include "core/json/tree.h"

enum right_of { OF_CALL, OF_STACK };

static const struct right {
	enum right_of of;
	enum aws_op_id op;
	const char *action, *resource;
	const char *each; /* of a stack: the parameter that makes the row needless */
	const char *context;
} rights[] = {
#define AWS_RIGHT(service, name, ...) {OF_CALL, AWS_##service##_##name, __VA_ARGS__},
#define AWS_STACK_RIGHT(name, ...)    {OF_STACK, AWS_CFN_##name, __VA_ARGS__},
#include "core/aws/rights.def"
#undef AWS_RIGHT
#undef AWS_STACK_RIGHT
};

/* One call, while its rows are written out. */
struct asking {
	const json_t *in; /* with the parameters of the stack as members */
	const json_t *facts;
	const struct rights_place *place;
	struct arena *arena;
	const char *value; /* what the row is for; NULL: the call */
};

/* --- what reads have told --------------------------------------------------------- */

static void keep(json_t *facts, const char *kind, const char *name, json_t *value)
{
	json_t *of = json_object_get(facts, kind);

	if (!of) {
		of = json_object();
		json_object_set_new(facts, kind, of);
	}
	if (name)
		json_object_set_new(of, name, value);
	else
		json_decref(value);
}

static void learn_stacks(json_t *facts, const json_t *out)
{
	size_t i, n;
	json_t *stack, *p;

	json_array_foreach(json_at(out, "Stacks"), i, stack) {
		json_t *params = json_object();

		json_array_foreach(json_at(stack, "Parameters"), n, p)
			json_object_set_new(
				params, json_str_or(p, "ParameterKey", ""),
				json_string(json_str_or(p, "ParameterValue", "")));
		keep(facts, "stacks", json_str_at(stack, "StackName"),
		     json_incref(params));
		keep(facts, "stacks", json_str_at(stack, "StackId"), params);
	}
}

static void learn_tags(json_t *facts, const json_t *out, const char *list, const char *id)
{
	size_t i;
	json_t *thing;

	json_array_foreach(json_at(out, list), i, thing) {
		const json_t *tags = json_at(thing, "Tags");

		if (!tags)
			tags = json_at(thing, "TagSet");
		keep(facts, "tags", json_str_at(thing, id),
		     tags ? json_deep_copy(tags) : json_array());
	}
}

void aws_rights_learn(json_t *facts, enum aws_op_id op, const json_t *out)
{
	static const struct {
		enum aws_op_id op;
		const char *list, *id;
	} tagged[] = {
		{AWS_EC2_DescribeSubnets, "Subnets", "SubnetId"},
		{AWS_EC2_DescribeSecurityGroups, "SecurityGroups", "GroupId"},
		{AWS_EC2_DescribeNetworkInterfaces, "NetworkInterfaces",
		 "NetworkInterfaceId"},
	};

	if (op == AWS_SAGEMAKER_DescribeCluster)
		keep(facts, "hyperpod", json_str_at(out, "ClusterName"),
		     json_pack("{s:s, s:s}", "arn", json_str_or(out, "ClusterArn", ""),
			       "eks",
			       json_str_or(out, "Orchestrator.Eks.ClusterArn", "")));
	if (op == AWS_CFN_DescribeStacks)
		learn_stacks(facts, out);
	for (size_t i = 0; i < sizeof(tagged) / sizeof(tagged[0]); i++)
		if (tagged[i].op == op)
			learn_tags(facts, out, tagged[i].list, tagged[i].id);
}

/* --- what a name stands for ----------------------------------------------------------
 */

static const char *text_or(const char *z, const char *other)
{
	return z && *z ? z : other;
}

/* ARNs have no spaces: what is still to be made reads "(known after …)". */
static bool is_known(const char *z)
{
	return z && *z && !strchr(z, ' ');
}

static const json_t *hyperpod_of(const struct asking *q)
{
	const char *name = json_str_or(q->in, "ClusterName", "");

	return json_object_get(json_object_get(q->facts, "hyperpod"), name);
}

static const char *hyperpod(const struct asking *q)
{
	const char *name = json_str_or(q->in, "ClusterName", "");

	if (str_starts(name, "arn:"))
		return name;
	return text_or(json_str_at(hyperpod_of(q), "arn"),
		       arena_printf(q->arena, "arn:%s:sagemaker:%s:%s:cluster/*",
				    q->place->partition, q->place->region,
				    q->place->account));
}

static const char *eks(const struct asking *q)
{
	const char *given = json_str_at(q->in, "Orchestrator.Eks.ClusterArn");

	if (is_known(given))
		return given;
	return text_or(json_str_at(hyperpod_of(q), "eks"),
		       arena_printf(q->arena, "arn:%s:eks:%s:%s:cluster/*",
				    q->place->partition, q->place->region,
				    q->place->account));
}

static const char *entries(const struct asking *q)
{
	const char *slash = strrchr(eks(q), '/');

	return arena_printf(q->arena, "arn:%s:eks:%s:%s:access-entry/%s/*",
			    q->place->partition, q->place->region, q->place->account,
			    slash ? slash + 1 : "*");
}

/* Of a placeholder; "*" when it is not known yet. */
static const char *meaning(const struct asking *q, const char *name)
{
	const char *v;

	if (streq(name, ""))
		return q->value;
	if (streq(name, "p"))
		return q->place->partition;
	if (streq(name, "r"))
		return q->place->region;
	if (streq(name, "a"))
		return q->place->account;
	if (streq(name, "hyperpod"))
		return hyperpod(q);
	if (streq(name, "eks"))
		return eks(q);
	if (streq(name, "entries"))
		return entries(q);
	v = json_str_at(q->in, name);
	if (!is_known(v))
		return "*";
	return str_starts(v, "https://") ? v + strlen("https://") : v;
}

static const char *written(const struct asking *q, const char *form)
{
	enum { LONGEST = 4096 };
	struct buf b;

	buf_init(&b, q->arena, LONGEST);
	for (const char *p = form; *p; p++) {
		const char *end = *p == '{' ? strchr(p, '}') : NULL;

		if (!end) {
			buf_add(&b, p, 1);
			continue;
		}
		buf_adds(&b, meaning(q, arena_strndup(q->arena, p + 1,
						      (size_t)(end - p - 1))));
		p = end;
	}
	return buf_cstr(&b);
}

/* --- the rows
 * --------------------------------------------------------------------------- */

/* What EC2 tells policies of a thing that is there: its tags. */
static void add_tags(const struct asking *q, const char *resource, json_t *context)
{
	const char *slash = strrchr(resource, '/');
	const json_t *tags =
		slash ? json_object_get(json_object_get(q->facts, "tags"), slash + 1)
		      : NULL;
	size_t i;
	json_t *t;

	json_array_foreach(tags, i, t)
		json_object_set_new(context,
				    arena_printf(q->arena, "aws:ResourceTag/%s",
						 json_str_or(t, "Key", "")),
				    json_string(json_str_or(t, "Value", "")));
}

/* "key=value key=value"; a value that the request does not have is not told. */
static json_t *context_of(const struct asking *q, const char *form, const char *resource)
{
	struct str rest = str_of(form ? form : "");
	json_t *out = json_new_object(q->arena);

	add_tags(q, resource, out);
	while (rest.n > 0) {
		struct str value = str_cut(&rest, ' ');
		const char *key = str_dup(q->arena, str_cut(&value, '='));
		const char *z = str_dup(q->arena, value);

		if (z[0] == '{' && streq(written(q, z), "*"))
			continue;
		json_object_set_new(out, key, json_string(written(q, z)));
	}
	return out;
}

static void add_row(const struct asking *q, const struct right *r, json_t *list)
{
	const char *resource = written(q, r->resource);
	json_t *row, *there;
	size_t i;

	if (q->value && !is_known(q->value))
		return;
	row = json_packf(q->arena, "{s:s, s:s, s:O}", "action",
			 r->action ? r->action : aws_policy_action(r->op, q->arena),
			 "resource", resource, "context",
			 context_of(q, r->context, resource));
	json_array_foreach(list, i, there)
		if (json_equal(there, row))
			return;
	json_array_append(list, row);
}

/* "Member", "List[]" or "List[].member". */
static void add_each(struct asking *q, const struct right *r, json_t *list)
{
	const char *brackets = strstr(r->each, "[]");
	const json_t *from = q->in, *found;
	size_t i;
	json_t *one;

	if (!brackets) {
		found = json_at(from, r->each);
		q->value = json_string_value(found);
		if (q->value ? *q->value != '\0'
			     : json_array_size(found) + json_object_size(found) > 0)
			add_row(q, r, list);
		q->value = NULL;
		return;
	}
	from = json_at(from,
		       arena_strndup(q->arena, r->each, (size_t)(brackets - r->each)));
	json_array_foreach(from, i, one) {
		q->value = brackets[2] ? json_str_at(one, brackets + 3)
				       : json_string_value(one);
		if (q->value)
			add_row(q, r, list);
	}
	q->value = NULL;
}

/* The stack's parameters beside its name; NULL when nothing has told them. */
static const json_t *stack_request(const json_t *in, const json_t *facts, struct arena *a)
{
	const char *name = json_str_or(in, "StackName", "");
	const json_t *known = json_object_get(json_object_get(facts, "stacks"), name);
	json_t *out = json_new_object(a), *p;
	struct str rest = str_of(name);
	size_t i;

	json_array_foreach(json_at(in, "Parameters"), i, p)
		json_object_set_new(out, json_str_or(p, "ParameterKey", ""),
				    json_string(json_str_or(p, "ParameterValue", "")));
	if (known)
		json_object_update(out, (json_t *)(uintptr_t)known);
	if (str_starts(name, "arn:")) {
		str_cut(&rest, '/');
		name = str_dup(a, str_cut(&rest, '/'));
	}
	json_object_set_new(out, "StackName", json_string(name));
	json_object_set_new(out, "_told",
			    json_boolean(known || json_at(in, "Parameters")));
	return out;
}

static bool is_of_stack(const struct asking *q, const struct right *r)
{
	return json_bool_or(q->in, "_told", false) &&
	       !(r->each && *json_str_or(q->in, r->each, ""));
}

void aws_rights(enum aws_op_id op, const json_t *in, const json_t *facts,
		const struct rights_place *place, struct arena *a, json_t *list)
{
	const bool is_stack = aws_op(op)->service == AWS_SERVICE_CFN;
	struct asking q = {.in = is_stack ? stack_request(in, facts, a) : in,
			   .facts = facts,
			   .place = place,
			   .arena = a};

	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		const struct right *r = &rights[i];

		if (r->op != op)
			continue;
		if (r->of == OF_STACK && is_of_stack(&q, r))
			add_row(&q, r, list);
		else if (r->of == OF_CALL && r->each)
			add_each(&q, r, list);
		else if (r->of == OF_CALL)
			add_row(&q, r, list);
	}
}
