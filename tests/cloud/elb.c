/*
 * Elastic Load Balancing: what stands, its attributes, and that one with deletion
 * protection is not deleted.
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/
 */
#include "tests/cloud/elb.h"

#include "core/json/tree.h"
#include "tests/cloud/core.h"

static const char table[] = "elbv2.balancer";
static const char protection[] = "deletion_protection.enabled";

static void set_attributes(json_t *attributes, struct arena *a, const char *text)
{
	struct str rest = str_of(text);

	while (rest.p) {
		struct str value = str_cut(&rest, ',');
		const struct str key = str_cut(&value, '=');

		if (key.n && value.p)
			json_object_set_new(attributes, str_dup(a, key),
					    json_string(str_dup(a, value)));
	}
}

void elb_make(struct cloud *c, struct arena *a, const struct elb_spec *s)
{
	const char *arn = cloud_arn(c, a, "elasticloadbalancing",
				    arena_printf(a, "loadbalancer/%s/%s/%s", s->kind,
						 s->name, cloud_id(c, a, "", 16)));
	json_t *attributes = json_pack("{s:s}", protection, "false");

	set_attributes(attributes, a, s->attributes);
	cloud_put(c, table, arn,
		  json_pack("{s:s, s:s, s:s, s:s, s:{s:s}, s:s, s:o}", "LoadBalancerArn",
			    arn, "LoadBalancerName", s->name, "VpcId", s->vpc, "Type",
			    streq(s->kind, "net") ? "network" : "application", "State",
			    "Code", "active", "_owner", s->owner, "_attributes",
			    attributes));
}

static bool is_protected(const json_t *balancer)
{
	return streq(json_string_value(json_object_get(
			     json_object_get(balancer, "_attributes"), protection)),
		     "true");
}

bool elb_delete_of(struct cloud *c, const char *owner)
{
	json_t *all = cloud_table(c, table), *b;
	const char *arn;
	void *next;

	json_object_foreach(all, arn, b)
		if (streq(json_str_at(b, "_owner"), owner) && is_protected(b))
			return false;
	json_object_foreach_safe(all, next, arn, b)
		if (streq(json_str_at(b, "_owner"), owner))
			json_object_del(all, arn);
	return true;
}

/* --- calls -------------------------------------------------------------------- */

static json_t *without_ours(const json_t *balancer)
{
	json_t *row = json_copy((json_t *)(uintptr_t)balancer), *v;
	const char *key;
	void *next;

	json_object_foreach_safe(row, next, key, v)
		if (key[0] == '_')
			json_object_del(row, key);
	return row;
}

/* Whether `list` names it by that member; every name that there is leaves `left`. */
static bool is_named(const json_t *list, const json_t *balancer, const char *member,
		     size_t *left)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
		if (streq(json_string_value(v), json_str_at(balancer, member))) {
			--*left;
			return true;
		}
	return false;
}

static bool describe(struct cloud_call *call, json_t **ret_out)
{
	enum { PAGE = 400 };
	const json_t *arns = json_at(call->in, "LoadBalancerArns"),
		     *names = json_at(call->in, "Names");
	size_t left = json_array_size(arns) + json_array_size(names);
	const bool some = left > 0;
	json_t *all = json_new_list(call->arena), *page, *b;
	const char *arn, *next;

	json_object_foreach(cloud_table(call->cloud, table), arn, b)
		if (some ? is_named(arns, b, "LoadBalancerArn", &left) ||
				    is_named(names, b, "LoadBalancerName", &left)
			 : cloud_listed(call->cloud, b))
			json_push(all, without_ours(b));
	if (left > 0)
		return cloud_fault(call, "LoadBalancerNotFound",
				   "One or more load balancers not found");
	page = cloud_page(call, all, json_str_at(call->in, "Marker"),
			  json_int_or(call->in, "PageSize", PAGE), &next);
	if (!page)
		return cloud_fault(call, "ValidationError", "Invalid marker");
	*ret_out = json_packf(call->arena, "{s:O, s:s*}", "LoadBalancers", page,
			      "NextMarker", next);
	return true;
}

static json_t *balancer_of(struct cloud_call *call)
{
	const char *arn = json_str_at(call->in, "LoadBalancerArn");
	json_t *b = cloud_get(call->cloud, table, arn);

	if (!b)
		cloud_fault(call, "LoadBalancerNotFound", "Load balancer '%s' not found",
			    arn ? arn : "");
	return b;
}

static bool attributes(struct cloud_call *call, json_t **ret_out)
{
	const json_t *b = balancer_of(call);
	json_t *list = json_new_list(call->arena), *value;
	const char *key;

	if (!b)
		return false;
	json_object_foreach(json_object_get(b, "_attributes"), key, value)
		json_push(list, json_pack("{s:s, s:O}", "Key", key, "Value", value));
	*ret_out = json_packf(call->arena, "{s:O}", "Attributes", list);
	return true;
}

static bool modify(struct cloud_call *call, json_t **ret_out)
{
	const json_t *b = balancer_of(call);
	json_t *row;
	size_t i;

	if (!b)
		return false;
	json_array_foreach(json_at(call->in, "Attributes"), i, row)
		json_object_set(json_object_get(b, "_attributes"),
				json_str_or(row, "Key", ""), json_at(row, "Value"));
	return attributes(call, ret_out);
}

static const struct cloud_op ops[] = {
	{"DescribeLoadBalancers", false, describe},
	{"DescribeLoadBalancerAttributes", false, attributes},
	{"ModifyLoadBalancerAttributes", true, modify},
	{NULL, false, NULL},
};

const struct cloud_service cloud_elb = {"elbv2", ops, NULL};
