#include "tests/cloud/cloudformation/type.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/json/tree.h"

const struct cfn_type *cfn_type_find(const char *name)
{
	const struct cfn_type *const all[] = {cfn_types_ec2, cfn_types_group,
					      cfn_types_eks, cfn_types_iam};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct cfn_type *t = all[i]; t->name; t++)
			if (streq(t->name, name))
				return t;
	return NULL;
}

bool cfn_invoke_tree(struct cfn_unit *u, const char *service, const char *op,
		     const json_t *in, json_t **ret)
{
	json_t *out = NULL;

	u->service = service;
	u->message = cloud_may(u->cloud, u->arena, u->key, u->caller, service, op, in);
	u->code = u->message ? "AccessDenied" : NULL;
	if (u->message)
		return false;
	if (!cloud_invoke(u->cloud, u->arena, service, op, in, u->caller, &out, &u->code,
			  &u->message))
		return false;
	if (ret)
		*ret = out;
	return true;
}

bool cfn_invoke(struct cfn_unit *u, const char *service, const char *op, json_t **ret,
		const char *fmt, ...)
{
	va_list ap;
	json_t *in;

	va_start(ap, fmt);
	in = json_own(u->arena, json_vpack_ex(NULL, 0, fmt, ap));
	va_end(ap);
	return cfn_invoke_tree(u, service, op, in, ret);
}

void cfn_set_physical(struct cfn_unit *u, const char *id)
{
	json_object_set_new(u->state, "physical", json_string(id));
}

void cfn_set_attr(struct cfn_unit *u, const char *name, const char *value)
{
	json_t *attrs = json_object_get(u->state, "attrs");

	if (!attrs) {
		attrs = json_object();
		json_object_set_new(u->state, "attrs", attrs);
	}
	if (value)
		json_object_set_new(attrs, name, json_string(value));
}

const char *cfn_physical(const struct cfn_unit *u)
{
	return json_str_or(u->state, "physical", "");
}

const char *cfn_generated_name(struct cfn_unit *u, size_t max)
{
	const char *tail = cloud_id(u->cloud, u->arena, "", 12);
	const char *head = arena_printf(u->arena, "%s-%s", u->stack_name, u->logical_id);
	char *name = arena_printf(u->arena, "%.*s-%s", (int)(max - 13), head, tail);

	for (char *p = name + strlen(name) - 12; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return name;
}

static bool is_aws_tag(const json_t *tag)
{
	return str_starts(json_str_or(tag, "Key", ""), "aws:");
}

json_t *cfn_own_tags(const struct cfn_unit *u)
{
	json_t *list = json_new_list(u->arena), *t;
	size_t i;

	json_array_foreach(u->tags, i, t)
		if (!is_aws_tag(t))
			json_array_append(list, t);
	return list;
}

/* The tags of what the unit made; NULL when it has none. */
static json_t *stored_tags(const struct cfn_unit *u)
{
	static const struct {
		const char *type, *table, *attr, *member;
	} places[] = {
		{"AWS::EC2::VPC", "ec2.vpc", NULL, "Tags"},
		{"AWS::EC2::InternetGateway", "ec2.igw", NULL, "Tags"},
		{"AWS::EC2::Subnet", "ec2.subnet", NULL, "Tags"},
		{"AWS::EC2::EIP", "ec2.address", "attrs.AllocationId", "Tags"},
		{"AWS::EC2::NatGateway", "ec2.nat", NULL, "Tags"},
		{"AWS::EC2::RouteTable", "ec2.route_table", NULL, "Tags"},
		{"AWS::EC2::VPCEndpoint", "ec2.endpoint", NULL, "Tags"},
		{"AWS::EC2::SecurityGroup", "ec2.group", NULL, "Tags"},
		{"AWS::IAM::Role", "iam.role", NULL, "_tags"},
	};
	const char *type = json_str_or(u->state, "type", "");

	for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
		const char *id = places[p].attr ? json_str_at(u->state, places[p].attr)
						: cfn_physical(u);

		if (streq(places[p].type, type))
			return json_object_get(cloud_get(u->cloud, places[p].table, id),
					       places[p].member);
	}
	return NULL;
}

void cfn_stamp(struct cfn_unit *u)
{
	json_t *stored = stored_tags(u), *t;
	size_t i;

	json_array_foreach(u->tags, i, t)
		if (stored && is_aws_tag(t))
			json_push(stored, json_deep_copy(t));
}

bool cfn_retag(struct cfn_unit *u)
{
	json_t *stored = stored_tags(u), *copy = json_deep_copy(u->tags);
	bool changed = stored && !json_equal(stored, copy);

	if (changed) {
		json_array_clear(stored);
		json_array_extend(stored, copy);
	}
	json_decref(copy);
	if (streq(json_str_or(u->state, "type", ""), "AWS::EKS::Cluster")) {
		json_t *cluster = cloud_get(u->cloud, "eks.cluster", cfn_physical(u));
		json_t *map = cfn_tag_map(u);

		changed = cluster && !json_equal(json_object_get(cluster, "tags"), map);
		if (changed)
			json_object_set(cluster, "tags", map);
	}
	return changed;
}

json_t *cfn_tag_map(const struct cfn_unit *u)
{
	json_t *map = json_new_object(u->arena);
	size_t i;
	json_t *t;

	json_array_foreach(u->tags, i, t)
		json_object_set(map, json_str_or(t, "Key", ""),
				json_object_get(t, "Value"));
	return map;
}

bool cfn_is_missing(const char *code)
{
	return code && (strstr(code, "NotFound") != NULL || streq(code, "NoSuchEntity") ||
			streq(code, "Gateway.NotAttached"));
}

const char *cfn_prop(const struct cfn_unit *u, const char *name)
{
	return json_str_at(u->props, name);
}

bool cfn_prop_bool(const struct cfn_unit *u, const char *name, bool fallback)
{
	const json_t *v = json_object_get(u->props, name);

	if (json_is_string(v))
		return streq(json_string_value(v), "true");
	return v ? json_is_true(v) : fallback;
}

/* The input of a Create call, with tags. */
json_t *cfn_tagged(struct cfn_unit *u, const char *type, json_t *in)
{
	json_object_set_new(
		in, "TagSpecifications",
		json_pack("[{s:s,s:O}]", "ResourceType", type, "Tags", cfn_own_tags(u)));
	return in;
}

void cfn_copy_props(struct cfn_unit *u, json_t *in, const char *const *names)
{
	for (; *names; names++) {
		json_t *v = json_object_get(u->props, *names);

		if (v)
			json_object_set(in, *names, v);
	}
}
