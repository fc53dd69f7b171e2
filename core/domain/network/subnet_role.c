#include "core/domain/network/subnet_role.h"

#include "core/domain/network/route.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* An application load balancer takes a subnet with eight; EKS takes up to five more
 * while it upgrades a control plane. */
enum { ADDRESSES_MIN = 16 };

static const char PUBLIC[] = "kubernetes.io/role/elb";
static const char PRIVATE[] = "kubernetes.io/role/internal-elb";

/* The given ones; empty: we made them. */
static json_t *given(struct step_ctx *c)
{
	const json_t *plane = json_at(c->data, "network.subnet_ids");

	if (plane)
		return json_own(c->arena, json_deep_copy(plane));
	if (json_at(c->data, "subnet.given"))
		return json_packf(c->arena, "[s]", step_get(c, "subnet.id"));
	return json_new_list(c->arena);
}

static const char *vpc_of(const struct step_ctx *c)
{
	const char *vpc = json_str_at(c->data, "network.vpc_id");

	return vpc ? vpc : step_get(c, "eks.vpc_id");
}

bool subnet_role_observe(struct step_ctx *c, struct exchange *x)
{
	if (json_array_size(given(c)) == 0)
		return false;
	return read_all(c, x, "subnets", AWS_EC2_DescribeSubnets,
			json_packf(c->arena, "{s:O}", "SubnetIds", given(c))) ||
	       read_all(c, x, "tables", AWS_EC2_DescribeRouteTables,
			json_packf(c->arena, "{s:[{s:s, s:[s]}]}", "Filters", "Name",
				   "vpc-id", "Values", vpc_of(c)));
}

static bool is_public(const struct step_ctx *c, const char *subnet)
{
	return route_way(
		       route_table_used(json_at(saw(c, "tables"), "RouteTables"), subnet),
		       NULL) == ROUTE_INTERNET;
}

static bool has_role(const json_t *subnet)
{
	const json_t *tags = json_at(subnet, "Tags");

	return json_find(tags, "Key", PUBLIC) || json_find(tags, "Key", PRIVATE);
}

/* Ids without a role's tag that are public, or private. */
static json_t *without_role(struct step_ctx *c, bool of_public)
{
	json_t *ids = json_new_list(c->arena), *s;
	size_t i;

	json_array_foreach(json_at(saw(c, "subnets"), "Subnets"), i, s) {
		const char *id = json_str_or(s, "SubnetId", "");

		if (!has_role(s) && is_public(c, id) == of_public)
			json_push(ids, json_string(id));
	}
	return ids;
}

static void warn_of_room(struct step_ctx *c)
{
	size_t i;
	json_t *s;

	json_array_foreach(json_at(saw(c, "subnets"), "Subnets"), i, s) {
		const int64_t free =
			json_int_or(s, "AvailableIpAddressCount", ADDRESSES_MIN);

		if (free < ADDRESSES_MIN)
			step_warn(
				c,
				"%s (%s) has %lld free addresses: a load balancer needs "
				"8, and an upgrade of the control plane 5 more. Use a "
				"larger subnet, at least /27",
				json_str_or(s, "SubnetId", ""),
				json_str_or(s, "CidrBlock", "?"), (long long)free);
	}
}

static void tag(struct step_ctx *c, struct exchange *x, json_t *ids, const char *role)
{
	c->item = role;
	exchange_aws(x, AWS_EC2_CreateTags,
		     json_packf(c->arena, "{s:O, s:[{s:s, s:s}]}", "Resources", ids,
				"Tags", "Key", role, "Value", "1"));
	x->what =
		arena_printf(c->arena, "Tag %s with %s", json_text(c->arena, ids), role);
}

void subnet_role_plan(struct step_ctx *c, struct exchange *x)
{
	const struct {
		const char *role;
		json_t *ids;
	} lacks[] = {{PRIVATE, without_role(c, false)}, {PUBLIC, without_role(c, true)}};

	if (c->planning)
		warn_of_room(c);
	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		if (json_array_size(lacks[i].ids) == 0)
			continue;
		if (json_bool_or(c->input, "tag_subnets", false)) {
			tag(c, x, lacks[i].ids, lacks[i].role);
			return;
		}
		step_warn(c,
			  "%s has no tag %s: controllers may not find a subnet for load "
			  "balancers. To add the tag, set tag_subnets",
			  json_text(c->arena, lacks[i].ids), lacks[i].role);
	}
}

void subnet_role_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok)
		step_fail_answer(c, a, "the given subnets could not be tagged");
	else
		step_goto(c, c->step->name);
}
