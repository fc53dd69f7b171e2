/*
 * subnet_way.c - whether nodes in the subnet reach S3 (case NW-11).
 *
 * Without a way to S3 no lifecycle script is ever fetched and nodes time out
 * with nothing to look at. Our own subnets go through NAT; of one that was
 * given, the route table counts that is associated with it, or the VPC's main
 * one.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites.html
 */
#include "core/domain/network/compute_subnet.h"
#include "core/domain/network/route.h"
#include "core/domain/network/vpc_dns.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static json_t *two_filters(struct step_ctx *c, const char *name, const char *value,
			   const char *name2, const char *value2)
{
	return json_packf(c->arena, "{s:[{s:s, s:[s]}, {s:s, s:[s]}]}", "Filters", "Name",
			  name, "Values", value, "Name", name2, "Values", value2);
}

bool subnet_way_observe(struct step_ctx *c, struct exchange *x)
{
	const char *vpc = step_get(c, "eks.vpc_id");
	json_t *own =
		json_packf(c->arena, "{s:[{s:s, s:[s]}]}", "Filters", "Name",
			   "association.subnet-id", "Values",
			   step_get(c, "subnet.id") ? step_get(c, "subnet.id") : "");

	if (vpc_dns_read(c, x, vpc))
		return true;
	if (!json_at(c->data, "subnet.given"))
		return false;
	return read_all(c, x, "own", AWS_EC2_DescribeRouteTables, own) ||
	       (json_len_at(saw(c, "own"), "RouteTables") == 0 &&
		read_all(c, x, "main", AWS_EC2_DescribeRouteTables,
			 two_filters(c, "vpc-id", vpc, "association.main", "true"))) ||
	       read_all(c, x, "endpoints", AWS_EC2_DescribeVpcEndpoints,
			two_filters(c, "vpc-id", vpc, "service-name",
				    arena_printf(c->arena, "com.amazonaws.%s.s3",
						 c->where->region)));
}

/* NAT and its like, or a gateway endpoint of the table: nodes have no public address. */
static bool leads_out(const json_t *table)
{
	size_t i;
	json_t *route;

	if (route_way(table, NULL) == ROUTE_OUT)
		return true;
	json_array_foreach(json_at(table, "Routes"), i, route)
		if (json_str_at(route, "DestinationPrefixListId") &&
		    str_starts(json_str_or(route, "GatewayId", ""), "vpce-") &&
		    streq(json_str_or(route, "State", "active"), "active"))
			return true;
	return false;
}

/* An interface endpoint answers under S3's own names, whatever the routes. */
static bool answers_inside(const json_t *endpoints)
{
	size_t i;
	json_t *endpoint;

	json_array_foreach(endpoints, i, endpoint)
		if (streq(json_str_or(endpoint, "VpcEndpointType", ""), "Interface") &&
		    json_bool_or(endpoint, "PrivateDnsEnabled", false))
			return true;
	return false;
}

static void no_way(struct step_ctx *c, const json_t *table, const json_t *endpoints)
{
	const char *subnet = step_get(c, "subnet.id");
	const char *rtb = json_str_or(table, "RouteTableId", "(none)");
	const char *endpoint = json_str_at(
		json_find(endpoints, "VpcEndpointType", "Gateway"), "VpcEndpointId");
	struct err *e;

	if (endpoint) {
		e = step_fail(
			c, ERR_STATE_CONFLICT,
			"Nodes in %s cannot reach S3: the endpoint %s exists but is not "
			"associated with the route table %s",
			subnet, endpoint, rtb);
		err_fix(e, "Associate %s with %s, or route %s to a NAT gateway.",
			endpoint, rtb, rtb);
	} else {
		e = step_fail(c, ERR_STATE_CONFLICT,
			      "Nodes in %s cannot reach S3: the route table %s leads "
			      "neither to NAT nor to an S3 endpoint",
			      subnet, rtb);
		err_fix(e,
			"Add a route 0.0.0.0/0 to a NAT gateway, or an S3 gateway endpoint "
			"associated with %s.",
			rtb);
	}
	err_field(e, "/subnet_id", subnet, "a private subnet with a route to S3");
}

void subnet_way_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *endpoints = json_at(saw(c, "endpoints"), "VpcEndpoints");
	const json_t *table = json_at(saw(c, "own"), "RouteTables.0");
	struct err *e;

	(void)x;
	for (const struct vpc_switch *s = vpc_switches; s->key; s++) {
		if (!vpc_switch_is_off(c, s))
			continue;
		e = step_fail(c, ERR_STATE_CONFLICT, "%s of the VPC %s %s off", s->words,
			      step_get(c, "eks.vpc_id"), s->verb);
		err_fix(e, "%s", vpc_switch_fix(c, s, step_get(c, "eks.vpc_id")));
		return;
	}
	if (!table)
		table = json_at(saw(c, "main"), "RouteTables.0");
	if (!json_at(c->data, "subnet.given") || (c->planning && !saw_ok(c, "own")))
		return;
	if (!leads_out(table) && !answers_inside(endpoints))
		no_way(c, table, endpoints);
}
