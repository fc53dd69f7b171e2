/* Route tables, routes and associations. */
#include <string.h>

#include "tests/cloud/ec2/ops.h"

/* What routes point at, in the request and in the answer. */
static const struct {
	const char *member, *table;
} target_row[] = {
	{"GatewayId", "ec2.igw"},
	{"NatGatewayId", "ec2.nat"},
	{"NetworkInterfaceId", "ec2.interface"},
};

enum { TARGETS = sizeof(target_row) / sizeof(*target_row) };

static bool target_lives(struct cloud *c, const json_t *route, const char *vpc_id)
{
	for (size_t i = 0; i < TARGETS; i++) {
		const char *id = json_str_at(route, target_row[i].member);
		const json_t *o = id ? cloud_get(c, target_row[i].table, id) : NULL;

		if (!id)
			continue;
		if (streq(id, "local") || str_starts(id, "vpce-"))
			return true;
		if (i == 0)
			return streq(json_str_at(o, "Attachments.0.VpcId"), vpc_id);
		return o && !streq(json_str_at(o, "State"), "deleted") &&
		       !streq(json_str_at(o, "State"), "deleting");
	}
	return false;
}

static void add_local_routes(struct cloud *c, const json_t *table, json_t *routes)
{
	const json_t *vpc = ec2_vpc(c, json_str_at(table, "VpcId"));
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(vpc, "CidrBlockAssociationSet"), i, one)
		json_array_append_new(
			routes,
			json_pack("{s:O, s:s, s:s, s:s}", "DestinationCidrBlock",
				  json_object_get(one, "CidrBlock"), "GatewayId", "local",
				  "Origin", "CreateRouteTable", "State", "active"));
}

static void add_endpoint_routes(struct cloud *c, const json_t *table, json_t *routes)
{
	const char *id, *mine = json_str_at(table, "RouteTableId");
	json_t *endpoint;

	json_object_foreach(cloud_table(c, "ec2.endpoint"), id, endpoint)
		if (streq(json_str_at(endpoint, "VpcEndpointType"), "Gateway") &&
		    ec2_has_id(json_object_get(endpoint, "RouteTableIds"), mine))
			json_array_append_new(
				routes, json_pack("{s:s, s:s, s:s, s:s}",
						  "DestinationPrefixListId",
						  json_str_at(endpoint, "_prefix_list"),
						  "GatewayId", id, "Origin",
						  "CreateRoute", "State", "active"));
}

static json_t *view(struct cloud *c, struct arena *a, const json_t *table)
{
	json_t *copy = ec2_public(a, table), *routes = json_array(), *one;
	size_t i;

	add_local_routes(c, table, routes);
	json_array_foreach(json_object_get(table, "Routes"), i, one) {
		json_t *route = json_copy(one);

		json_put_str(route, "State",
			     target_lives(c, one, json_str_at(table, "VpcId"))
				     ? "active"
				     : "blackhole");
		json_array_append_new(routes, route);
	}
	add_endpoint_routes(c, table, routes);
	json_object_set_new(copy, "Routes", routes);
	return copy;
}

static const struct kind_filter filters[] = {
	{"route-table-id", "RouteTableId"},
	{"vpc-id", "VpcId"},
	{"owner-id", "OwnerId"},
	{"association.main", "Associations.*.Main"},
	{"association.subnet-id", "Associations.*.SubnetId"},
	{"association.route-table-id", "Associations.*.RouteTableId"},
	{"association.route-table-association-id",
	 "Associations.*.RouteTableAssociationId"},
	{"route.destination-cidr-block", "Routes.*.DestinationCidrBlock"},
	{"route.gateway-id", "Routes.*.GatewayId"},
	{"route.nat-gateway-id", "Routes.*.NatGatewayId"},
	{"route.state", "Routes.*.State"},
	{"route.origin", "Routes.*.Origin"},
	{NULL, NULL},
};

const struct ec2_kind kind_route_table = {
	.table = "ec2.route_table",
	.id_member = "RouteTableId",
	.prefix = "rtb-",
	.resource_type = "route-table",
	.missing = "InvalidRouteTableID.NotFound",
	.malformed = "InvalidRouteTableId.Malformed",
	.missing_text = "The routeTable ID '%s' does not exist",
	.ids_in = "RouteTableIds",
	.filters_in = "Filters",
	.out = "RouteTables",
	.filters = filters,
	.view = view,
};

static json_t *new_association(struct cloud_call *call, const char *table,
			       const char *subnet)
{
	return json_pack("{s:b, s:s, s:s, s:s*, s:{s:s}}", "Main", subnet == NULL,
			 "RouteTableAssociationId",
			 cloud_id(call->cloud, call->arena, "rtbassoc-", 17),
			 "RouteTableId", table, "SubnetId", subnet, "AssociationState",
			 "State", "associated");
}

json_t *route_table_new(struct cloud_call *call, const char *vpc_id, bool main_table,
			const char **ret_id)
{
	const char *id = cloud_id(call->cloud, call->arena, "rtb-", 17);
	json_t *table = json_pack(
		"{s:s, s:s, s:s, s:[], s:[], s:[], s:[], s:b}", "RouteTableId", id,
		"VpcId", vpc_id, "OwnerId", cloud_opts(call->cloud)->account, "Routes",
		"Associations", "PropagatingVgws", "Tags", "_main", main_table);

	if (main_table)
		json_array_append_new(json_object_get(table, "Associations"),
				      new_association(call, id, NULL));
	cloud_put(call->cloud, "ec2.route_table", id, table);
	*ret_id = id;
	return table;
}

json_t *route_table_of(struct cloud *c, const json_t *subnet)
{
	const char *subnet_id = json_str_at(subnet, "SubnetId"), *id;
	json_t *table, *main_table = NULL;

	json_object_foreach(cloud_table(c, "ec2.route_table"), id, table) {
		if (json_find(json_object_get(table, "Associations"), "SubnetId",
			      subnet_id))
			return table;
		if (json_bool_or(table, "_main", false) &&
		    streq(json_str_at(table, "VpcId"), json_str_at(subnet, "VpcId")))
			main_table = table;
	}
	return main_table;
}

const char *ec2_way_out(struct cloud *c, const char *subnet_id)
{
	const json_t *subnet = ec2_subnet(c, subnet_id);
	const json_t *table = subnet ? route_table_of(c, subnet) : NULL;
	const json_t *route = json_find(json_object_get(table, "Routes"),
					"DestinationCidrBlock", "0.0.0.0/0");

	if (!route || !target_lives(c, route, json_str_at(subnet, "VpcId")))
		return NULL;
	if (json_str_at(route, "GatewayId"))
		return "igw";
	return json_str_at(route, "NatGatewayId") ? "nat" : NULL;
}

bool ec2_create_route_table(struct cloud_call *call, json_t **ret_out)
{
	const char *vpc_id = json_str_at(call->in, "VpcId"), *id;
	json_t *tags;
	bool seen;

	if (!ec2_replayed(call, ret_out, &seen))
		return false;
	if (seen)
		return true;
	if (!ec2_require(call, &kind_vpc, vpc_id) ||
	    !ec2_spec_tags(call, "route-table", &tags))
		return false;
	json_t *table = route_table_new(call, vpc_id, false, &id);

	json_object_set(table, "Tags", tags);
	cloud_effect(call->cloud, "ec2.route_table", id, "create");
	*ret_out = json_packf(call->arena, "{s:O}", "RouteTable",
			      view(call->cloud, call->arena, table));
	ec2_remember(call, *ret_out);
	return true;
}

/* --- routes ---------------------------------------------------------------------- */

static bool check_target(struct cloud_call *call, const json_t *table, json_t *route)
{
	const char *gateway = json_str_at(call->in, "GatewayId");
	const char *nat_id = json_str_at(call->in, "NatGatewayId");
	const char *eni_id = json_str_at(call->in, "NetworkInterfaceId");
	const char *vpc_id = json_str_at(table, "VpcId");

	if (!gateway + !nat_id + !eni_id != 2)
		return cloud_fault(call, "InvalidParameterCombination",
				   "Exactly one target must be given for a route.");
	if (gateway) {
		const json_t *igw = ec2_require(call, &kind_igw, gateway);

		if (!igw)
			return false;
		if (!streq(json_str_at(igw, "Attachments.0.VpcId"), vpc_id))
			return cloud_fault(
				call, "InvalidParameterValue",
				"route table %s and network gateway %s belong to "
				"different networks",
				json_str_at(table, "RouteTableId"), gateway);
		json_put_str(route, "GatewayId", gateway);
	}
	if (nat_id) {
		const json_t *nat = ec2_require(call, &kind_nat, nat_id);

		if (!nat)
			return false;
		if (!streq(json_str_at(nat, "VpcId"), vpc_id) ||
		    streq(json_str_at(nat, "State"), "deleted"))
			return cloud_fault(call, "InvalidNatGatewayID.NotFound",
					   "The natGateway ID '%s' does not exist",
					   nat_id);
		json_put_str(route, "NatGatewayId", nat_id);
	}
	if (eni_id && !ec2_require(call, &kind_interface, eni_id))
		return false;
	json_put_str(route, "NetworkInterfaceId", eni_id);
	return true;
}

static bool read_route(struct cloud_call *call, json_t **ret_table, const char **ret_dest)
{
	const char *text = json_str_at(call->in, "DestinationCidrBlock");
	struct cidr dest;

	*ret_table = ec2_require(call, &kind_route_table,
				 json_str_at(call->in, "RouteTableId"));
	if (!*ret_table)
		return false;
	if (!text)
		return cloud_fault(call, "MissingParameter",
				   "The request must contain the parameter "
				   "destinationCidrBlock");
	if (!ec2_cidr_parse(text, &dest))
		return cloud_fault(call, "InvalidParameterValue",
				   "Value (%s) for parameter destinationCidrBlock is "
				   "invalid. This is not a valid CIDR block.",
				   text);
	*ret_dest = ec2_cidr_text(call->arena, dest);
	return true;
}

static bool put_route(struct cloud_call *call, bool replace)
{
	json_t *table, *routes, *route;
	const char *dest;

	if (!read_route(call, &table, &dest))
		return false;
	json_t *shown = view(call->cloud, call->arena, table);
	json_t *old =
		json_find(json_object_get(shown, "Routes"), "DestinationCidrBlock", dest);

	routes = json_object_get(table, "Routes");
	if (replace && !old)
		return cloud_fault(
			call, "InvalidParameterValue",
			"There is no route defined for '%s' in the route table. "
			"Use CreateRoute instead.",
			dest);
	if (!replace && old)
		return cloud_fault(call, "RouteAlreadyExists",
				   "The route identified by %s already exists.", dest);
	if (streq(json_str_at(old, "GatewayId"), "local"))
		return cloud_fault(call, "InvalidParameterValue",
				   "cannot replace local route %s", dest);
	route = json_packf(call->arena, "{s:s, s:s}", "DestinationCidrBlock", dest,
			   "Origin", "CreateRoute");
	if (!check_target(call, table, route))
		return false;
	for (size_t i = json_array_size(routes); i-- > 0;)
		if (streq(json_str_at(json_array_get(routes, i), "DestinationCidrBlock"),
			  dest))
			json_array_remove(routes, i);
	json_array_append(routes, route);
	ec2_changed(call, &kind_route_table, json_str_at(table, "RouteTableId"));
	return true;
}

bool ec2_create_route(struct cloud_call *call, json_t **ret_out)
{
	if (!put_route(call, false))
		return false;
	*ret_out = json_packf(call->arena, "{s:b}", "Return", 1);
	return true;
}

bool ec2_replace_route(struct cloud_call *call, json_t **ret_out)
{
	(void)ret_out;
	return put_route(call, true);
}

bool ec2_delete_route(struct cloud_call *call, json_t **ret_out)
{
	json_t *table, *routes;
	const char *dest;

	(void)ret_out;
	if (!read_route(call, &table, &dest))
		return false;
	routes = json_object_get(table, "Routes");
	for (size_t i = 0; i < json_array_size(routes); i++)
		if (streq(json_str_at(json_array_get(routes, i), "DestinationCidrBlock"),
			  dest)) {
			json_array_remove(routes, i);
			ec2_changed(call, &kind_route_table,
				    json_str_at(table, "RouteTableId"));
			return true;
		}
	return cloud_fault(call, "InvalidRoute.NotFound",
			   "no route with destination-cidr-block %s in route table %s",
			   dest, json_str_at(table, "RouteTableId"));
}

/* --- associations ---------------------------------------------------------------- */

bool ec2_associate_route_table(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "RouteTableId");
	const char *subnet_id = json_str_at(call->in, "SubnetId");
	json_t *table = ec2_require(call, &kind_route_table, id), *subnet, *old;

	if (!table)
		return false;
	subnet = ec2_require(call, &kind_subnet, subnet_id);
	if (!subnet)
		return false;
	if (!streq(json_str_at(subnet, "VpcId"), json_str_at(table, "VpcId")))
		return cloud_fault(
			call, "InvalidParameterValue",
			"route table %s and subnet %s belong to different networks", id,
			subnet_id);
	json_t *now = route_table_of(call->cloud, subnet);

	old = json_find(json_object_get(now, "Associations"), "SubnetId", subnet_id);
	if (old && now != table)
		return cloud_fault(
			call, "Resource.AlreadyAssociated",
			"the specified association for route table %s conflicts "
			"with an existing association",
			id);
	if (!old) {
		old = new_association(call, id, subnet_id);
		json_array_append_new(json_object_get(table, "Associations"), old);
		ec2_changed(call, &kind_route_table, id);
	}
	*ret_out = json_packf(call->arena, "{s:O, s:{s:s}}", "AssociationId",
			      json_object_get(old, "RouteTableAssociationId"),
			      "AssociationState", "State", "associated");
	return true;
}

bool ec2_disassociate_route_table(struct cloud_call *call, json_t **ret_out)
{
	const char *want = json_str_at(call->in, "AssociationId"), *id;
	json_t *table, *one;
	size_t i;

	(void)ret_out;
	json_object_foreach(cloud_table(call->cloud, "ec2.route_table"), id, table) {
		json_t *list = json_object_get(table, "Associations");

		json_array_foreach(list, i, one) {
			if (!streq(json_str_at(one, "RouteTableAssociationId"), want))
				continue;
			if (json_bool_or(one, "Main", false))
				return cloud_fault(
					call, "InvalidParameterValue",
					"cannot disassociate the main route table "
					"association %s",
					want);
			json_array_remove(list, i);
			ec2_changed(call, &kind_route_table, id);
			return true;
		}
	}
	return cloud_fault(call, "InvalidAssociationID.NotFound",
			   "The association ID '%s' does not exist", want);
}

bool ec2_describe_route_tables(struct cloud_call *call, json_t **ret_out)
{
	return ec2_describe(call, &kind_route_table, ret_out);
}

bool ec2_delete_route_table(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "RouteTableId");
	json_t *table = ec2_require(call, &kind_route_table, id);

	(void)ret_out;
	if (!table)
		return false;
	if (json_len_at(table, "Associations") > 0)
		return cloud_fault(call, "DependencyViolation",
				   "The routeTable '%s' has dependencies and cannot be "
				   "deleted.",
				   id);
	return ec2_remove(call, &kind_route_table, id);
}
