/*
 * way.c - how pods on private nodes reach SageMaker and EKS Auth (case TC-08).
 *
 * The operator asks DescribeClusterNode, and its agent asks EKS Auth for the
 * role; both through NAT (or whatever leads out), or through an interface
 * endpoint whose security groups let the nodes in at 443.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-eks-operator-install.html
 */
#include "core/domain/feature/feature.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

enum { HTTPS = 443 };

/* Subnets or groups of every instance group: its own, or the cluster's. */
static json_t *of_nodes(struct step_ctx *c, const char *member)
{
	const json_t *cluster = saw(c, "hyperpod");
	const json_t *shared =
		json_at(cluster, arena_printf(c->arena, "VpcConfig.%s", member));
	json_t *all = json_new_list(c->arena), *g;
	const char *own = arena_printf(c->arena, "OverrideVpcConfig.%s", member);
	size_t i;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
		texts_add(all, json_len_at(g, own) ? json_at(g, own) : shared);
	if (json_array_size(all) == 0)
		texts_add(all, shared);
	return all;
}

static const json_t *table_of(const struct step_ctx *c, const char *subnet)
{
	const json_t *main_one = NULL;
	size_t i, n;
	json_t *table, *a;

	json_array_foreach(json_at(saw(c, "tables"), "RouteTables"), i, table)
		json_array_foreach(json_at(table, "Associations"), n, a) {
			if (streq(json_str_at(a, "SubnetId"), subnet))
				return table;
			if (json_bool_or(a, "Main", false))
				main_one = table;
		}
	return main_one;
}

/* Nodes have no public address: an internet gateway does not lead them out. */
static bool leads_out(const json_t *table)
{
	size_t i;
	json_t *route;

	json_array_foreach(json_at(table, "Routes"), i, route)
		if (streq(json_str_or(route, "DestinationCidrBlock", ""), "0.0.0.0/0") &&
		    streq(json_str_or(route, "State", "active"), "active") &&
		    !str_starts(json_str_or(route, "GatewayId", ""), "igw-"))
			return true;
	return false;
}

static bool rule_fits(const json_t *rule, const json_t *from)
{
	const char *protocol = json_str_or(rule, "IpProtocol", "");
	size_t i;
	json_t *pair;

	if (!streq(protocol, "-1") &&
	    !(streq(protocol, "tcp") && json_int_or(rule, "FromPort", 0) <= HTTPS &&
	      json_int_or(rule, "ToPort", 0) >= HTTPS))
		return false;
	json_array_foreach(json_at(rule, "UserIdGroupPairs"), i, pair)
		if (texts_have(from, json_str_or(pair, "GroupId", "")))
			return true;
	return json_len_at(rule, "IpRanges") > 0;
}

static bool lets_in(const struct step_ctx *c, const json_t *endpoint, const json_t *from)
{
	size_t i, n;
	json_t *group, *rule;

	json_array_foreach(json_at(endpoint, "Groups"), i, group) {
		const json_t *full =
			json_find(json_at(saw(c, "groups"), "SecurityGroups"), "GroupId",
				  json_str_or(group, "GroupId", ""));

		json_array_foreach(json_at(full, "IpPermissions"), n, rule)
			if (rule_fits(rule, from))
				return true;
	}
	return false;
}

static const char *endpoint_trouble(struct step_ctx *c, const char *service)
{
	const json_t *from = of_nodes(c, "SecurityGroupIds");
	/* China's interface endpoints begin with "cn.com.amazonaws.": the rest is one. */
	const char *name =
		arena_printf(c->arena, "com.amazonaws.%s.%s", c->where->region, service);
	const json_t *found = NULL;
	size_t i;
	json_t *e;

	json_array_foreach(json_at(saw(c, "endpoints"), "VpcEndpoints"), i, e)
		if (str_has_suffix(str_of(json_str_or(e, "ServiceName", "")),
				   str_of(name)))
			found = e;
	if (!found)
		return arena_printf(c->arena,
				    "the nodes have no route to NAT, and the VPC has no "
				    "endpoint %s",
				    name);
	if (!lets_in(c, found, from))
		return arena_printf(
			c->arena,
			"no security group of the endpoint %s (%s) allows the nodes' "
			"group %s on port 443",
			json_str_or(found, "VpcEndpointId", "?"), name,
			json_string_value(json_array_get(from, 0))
				? json_string_value(json_array_get(from, 0))
				: "?");
	return NULL;
}

const char *way_trouble(struct step_ctx *c)
{
	const json_t *subnets = of_nodes(c, "Subnets");
	const char *trouble;
	size_t i;
	json_t *s;
	bool shut_in = false;

	if (!saw_ok(c, "tables"))
		return NULL;
	json_array_foreach(subnets, i, s)
		shut_in |= !leads_out(table_of(c, json_string_value(s)));
	if (!shut_in)
		return NULL;
	trouble = endpoint_trouble(c, "sagemaker.api");
	return trouble ? trouble : endpoint_trouble(c, "eks-auth");
}
