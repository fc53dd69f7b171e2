#include "core/domain/network/route.h"

#include "core/base/str.h"
#include "core/json/tree.h"

/* Members of a route that name its target; the gateways of GatewayId by prefix. */
static const char *const targets[] = {"NatGatewayId",     "TransitGatewayId",
				      "GatewayId",        "NetworkInterfaceId",
				      "InstanceId",       "LocalGatewayId",
				      "CarrierGatewayId", "VpcPeeringConnectionId",
				      "CoreNetworkArn",   NULL};

static const char *target_of(const json_t *route)
{
	for (size_t i = 0; targets[i]; i++)
		if (json_str_at(route, targets[i]))
			return json_str_at(route, targets[i]);
	return NULL;
}

const json_t *route_table_used(const json_t *tables, const char *subnet)
{
	const json_t *main_table = NULL;
	size_t i, k;
	json_t *table, *association;

	json_array_foreach(tables, i, table)
		json_array_foreach(json_at(table, "Associations"), k, association) {
			if (streq(json_str_at(association, "SubnetId"), subnet))
				return table;
			if (json_bool_or(association, "Main", false))
				main_table = table;
		}
	return main_table;
}

static const json_t *default_route(const json_t *table)
{
	return json_find(json_at(table, "Routes"), "DestinationCidrBlock", "0.0.0.0/0");
}

enum route_way route_way(const json_t *table, const char **ret_target)
{
	const json_t *route = default_route(table);
	const char *target = target_of(route);

	if (ret_target)
		*ret_target = target;
	if (!route)
		return ROUTE_NONE;
	if (!streq(json_str_or(route, "State", "active"), "active"))
		return ROUTE_BLACKHOLE;
	if (str_starts(json_str_or(route, "GatewayId", ""), "igw-"))
		return ROUTE_INTERNET;
	if (json_str_at(route, "VpcPeeringConnectionId"))
		return ROUTE_PEERING;
	return ROUTE_OUT;
}

bool route_is_nat(const json_t *table)
{
	return route_way(table, NULL) == ROUTE_OUT &&
	       json_str_at(default_route(table), "NatGatewayId");
}
