/* VPC endpoints: gateways in route tables, interfaces in subnets. */
#include <string.h>

#include "tests/cloud/ec2/ops.h"

enum { PENDING_MS = 60 * 1000, DELETING_MS = 30 * 1000 };

static const struct {
	const char *name;
	bool gateway; /* besides Interface */
} service_row[] = {
	{"s3", true},
	{"dynamodb", true},
	{"ec2", false},
	{"ecr.api", false},
	{"ecr.dkr", false},
	{"sts", false},
	{"logs", false},
	{"monitoring", false},
	{"eks", false},
	{"eks-auth", false},
	{"sagemaker.api", false},
	{"sagemaker.runtime", false},
	{"ssm", false},
	{"ssmmessages", false},
	{"ec2messages", false},
	{"autoscaling", false},
	{"fsx", false},
	{"elasticloadbalancing", false},
	{"cloudformation", false},
	{"servicequotas", false},
};

enum { SERVICES = sizeof(service_row) / sizeof(*service_row) };

static const struct kind_filter filters[] = {
	{"service-name", "ServiceName"},          {"vpc-id", "VpcId"},
	{"vpc-endpoint-id", "VpcEndpointId"},     {"vpc-endpoint-state", "State"},
	{"vpc-endpoint-type", "VpcEndpointType"}, {NULL, NULL},
};

const struct ec2_kind kind_endpoint = {
	.table = "ec2.endpoint",
	.id_member = "VpcEndpointId",
	.prefix = "vpce-",
	.resource_type = "vpc-endpoint",
	.missing = "InvalidVpcEndpointId.NotFound",
	.malformed = "InvalidVpcEndpointId.Malformed",
	.missing_text = "The Vpc Endpoint Id '%s' does not exist",
	.ids_in = "VpcEndpointIds",
	.filters_in = "Filters",
	.out = "VpcEndpoints",
	.filters = filters,
};

static const char *full_name(struct cloud *c, struct arena *a, size_t i)
{
	return arena_printf(a, "com.amazonaws.%s.%s", cloud_opts(c)->region,
			    service_row[i].name);
}

static bool check_service(struct cloud_call *call, const char *name, bool gateway)
{
	for (size_t i = 0; i < SERVICES; i++) {
		if (!streq(full_name(call->cloud, call->arena, i), name))
			continue;
		if (gateway && !service_row[i].gateway)
			return cloud_fault(
				call, "InvalidParameter",
				"Endpoint type (Gateway) does not match available "
				"service types ([Interface]).");
		return true;
	}
	return cloud_fault(call, "InvalidServiceName",
			   "The Vpc Endpoint Service '%s' does not exist", name);
}

static bool check_members(struct cloud_call *call, const char *vpc_id)
{
	static const struct {
		const char *member;
		const struct ec2_kind *kind;
	} row[] = {
		{"RouteTableIds", &kind_route_table},
		{"SubnetIds", &kind_subnet},
		{"SecurityGroupIds", &kind_group},
		{"AddRouteTableIds", &kind_route_table},
		{"AddSubnetIds", &kind_subnet},
		{"AddSecurityGroupIds", &kind_group},
	};
	json_t *one;
	size_t k;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		json_array_foreach(json_object_get(call->in, row[i].member), k, one) {
			const char *id = json_string_value(one);
			const json_t *o = ec2_require(call, row[i].kind, id);

			if (!o)
				return false;
			if (!streq(json_str_at(o, "VpcId"), vpc_id))
				return cloud_fault(call, "InvalidParameter",
						   "%s does not belong to %s", id,
						   vpc_id);
		}
	return true;
}

/* A second gateway of the service for the same table, a second private name. */
static bool check_conflicts(struct cloud_call *call, const char *vpc_id,
			    const char *service, bool gateway)
{
	const json_t *tables = json_object_get(call->in, "RouteTableIds");
	bool dns = !gateway && json_bool_or(call->in, "PrivateDnsEnabled", true);
	const json_t *vpc = ec2_vpc(call->cloud, vpc_id);
	const char *id;
	json_t *other, *one;
	size_t i;

	if (dns && (!json_bool_or(vpc, "_dns_support", false) ||
		    !json_bool_or(vpc, "_dns_hostnames", false)))
		return cloud_fault(
			call, "InvalidParameter",
			"Enabling private DNS requires both enableDnsSupport and "
			"enableDnsHostnames VPC attributes set to true for %s",
			vpc_id);
	json_object_foreach(cloud_table(call->cloud, "ec2.endpoint"), id, other) {
		if (!streq(json_str_at(other, "VpcId"), vpc_id) ||
		    !streq(json_str_at(other, "ServiceName"), service) ||
		    streq(json_str_at(other, "State"), "deleting"))
			continue;
		if (dns && json_bool_or(other, "PrivateDnsEnabled", false))
			return cloud_fault(
				call, "InvalidParameter",
				"private-dns-enabled cannot be set because there is "
				"already a conflicting DNS domain for %s in the VPC %s",
				service, vpc_id);
		json_array_foreach(tables, i, one)
			if (gateway && ec2_has_id(json_object_get(other, "RouteTableIds"),
						  json_string_value(one)))
				return cloud_fault(
					call, "RouteAlreadyExists",
					"route table %s already has a route with "
					"destination-prefix-list-id %s",
					json_string_value(one),
					json_str_at(other, "_prefix_list"));
	}
	return true;
}

static bool place(struct cloud_call *call, json_t *endpoint, const char *subnet_id)
{
	const char *id = json_str_at(endpoint, "VpcEndpointId");
	struct ec2_interface_spec spec = {
		.subnet_id = subnet_id,
		.groups = json_object_get(endpoint, "_groups"),
		.description = arena_printf(call->arena, "VPC Endpoint Interface %s", id),
		.type = "vpc_endpoint",
		.owner = arena_printf(call->arena, "%s/%s", id, subnet_id),
	};
	const char *eni = ec2_create_interface(call->cloud, call->arena, &spec);

	if (!eni)
		return cloud_fault(call, "InsufficientFreeAddressesInSubnet",
				   "There are not enough free addresses in subnet '%s'",
				   subnet_id);
	json_array_append_new(json_object_get(endpoint, "NetworkInterfaceIds"),
			      json_string(eni));
	json_array_append_new(json_object_get(endpoint, "SubnetIds"),
			      json_string(subnet_id));
	return true;
}

static json_t *group_names(struct cloud *c, const json_t *ids)
{
	json_t *list = json_array(), *one;
	size_t i;

	json_array_foreach(ids, i, one) {
		const json_t *g = ec2_group(c, json_string_value(one));

		json_array_append_new(list,
				      json_pack("{s:O, s:s}", "GroupId", one, "GroupName",
						json_str_or(g, "GroupName", "")));
	}
	return list;
}

static json_t *copy_or_empty(const json_t *list)
{
	return list ? json_deep_copy(list) : json_array();
}

static json_t *make(struct cloud_call *call, const char *vpc_id, const char *service,
		    bool gateway)
{
	const json_t *groups = json_object_get(call->in, "SecurityGroupIds");
	json_t *endpoint = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:o, s:[], s:[], s:o, s:b, s:b, s:s, s:o, s:o}",
		"VpcEndpointType", gateway ? "Gateway" : "Interface", "VpcId", vpc_id,
		"ServiceName", service, "State", gateway ? "available" : "pending",
		"PolicyDocument",
		json_str_or(call->in, "PolicyDocument",
			    "{\"Statement\":[{\"Action\":\"*\",\"Effect\":\"Allow\","
			    "\"Principal\":\"*\",\"Resource\":\"*\"}]}"),
		"RouteTableIds",
		copy_or_empty(json_object_get(call->in, "RouteTableIds")), "SubnetIds",
		"NetworkInterfaceIds", "Groups", group_names(call->cloud, groups),
		"PrivateDnsEnabled",
		!gateway && json_bool_or(call->in, "PrivateDnsEnabled", true),
		"RequesterManaged", 0, "OwnerId", cloud_opts(call->cloud)->account,
		"CreationTimestamp", cloud_seconds(call->now_ms), "_groups",
		copy_or_empty(groups));

	if (gateway)
		json_put_str(endpoint, "_prefix_list",
			     strstr(service, ".s3") ? "pl-68a54001" : "pl-00a54069");
	return endpoint;
}

bool ec2_create_endpoint(struct cloud_call *call, json_t **ret_out)
{
	const char *vpc_id = json_str_at(call->in, "VpcId"), *id;
	const char *service = json_str_or(call->in, "ServiceName", "");
	const char *type = json_str_or(call->in, "VpcEndpointType", "Gateway");
	bool gateway = streq(type, "Gateway"), seen;
	json_t *tags, *one;
	size_t i;

	if (!ec2_replayed(call, ret_out, &seen))
		return false;
	if (seen)
		return true;
	if (!ec2_require(call, &kind_vpc, vpc_id) ||
	    !check_service(call, service, gateway) || !check_members(call, vpc_id) ||
	    !check_conflicts(call, vpc_id, service, gateway) ||
	    !ec2_spec_tags(call, "vpc-endpoint", &tags))
		return false;
	json_t *endpoint =
		ec2_add(call, &kind_endpoint, make(call, vpc_id, service, gateway), &id);

	json_array_foreach(json_object_get(call->in, "SubnetIds"), i, one)
		if (!place(call, endpoint, json_string_value(one))) {
			ec2_delete_interfaces_of(call->cloud, id);
			return !ec2_remove(call, &kind_endpoint, id);
		}
	if (!gateway)
		ec2_later(call->cloud, endpoint, "State", "available", PENDING_MS);
	*ret_out = json_packf(call->arena, "{s:O}", "VpcEndpoint",
			      ec2_public(call->arena, endpoint));
	ec2_remember(call, *ret_out);
	return true;
}

bool ec2_describe_endpoints(struct cloud_call *call, json_t **ret_out)
{
	return ec2_describe(call, &kind_endpoint, ret_out);
}

static void change_ids(struct cloud_call *call, json_t *list, const char *add,
		       const char *remove)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(call->in, add), i, one)
		if (!ec2_has_id(list, json_string_value(one)))
			json_array_append_new(list, json_deep_copy(one));
	json_array_foreach(json_object_get(call->in, remove), i, one)
		ec2_drop_id(list, json_string_value(one));
}

static bool change_subnets(struct cloud_call *call, json_t *endpoint)
{
	json_t *subnets = json_object_get(endpoint, "SubnetIds"), *one;
	const char *id = json_str_at(endpoint, "VpcEndpointId"), *eni;
	json_t *enis = json_object_get(endpoint, "NetworkInterfaceIds");
	size_t i;

	json_array_foreach(json_object_get(call->in, "AddSubnetIds"), i, one)
		if (!ec2_has_id(subnets, json_string_value(one)) &&
		    !place(call, endpoint, json_string_value(one)))
			return false;
	json_array_foreach(json_object_get(call->in, "RemoveSubnetIds"), i, one) {
		ec2_drop_id(subnets, json_string_value(one));
		ec2_delete_interfaces_of(
			call->cloud,
			arena_printf(call->arena, "%s/%s", id, json_string_value(one)));
	}
	for (size_t k = json_array_size(enis); k-- > 0;) {
		eni = json_string_value(json_array_get(enis, k));
		if (!ec2_interface(call->cloud, eni))
			json_array_remove(enis, k);
	}
	return true;
}

bool ec2_modify_endpoint(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "VpcEndpointId");
	json_t *endpoint = ec2_require(call, &kind_endpoint, id);

	if (!endpoint || !check_members(call, json_str_at(endpoint, "VpcId")) ||
	    !change_subnets(call, endpoint))
		return false;
	change_ids(call, json_object_get(endpoint, "RouteTableIds"), "AddRouteTableIds",
		   "RemoveRouteTableIds");
	json_t *groups = json_object_get(endpoint, "_groups");

	change_ids(call, groups, "AddSecurityGroupIds", "RemoveSecurityGroupIds");
	json_object_set_new(endpoint, "Groups", group_names(call->cloud, groups));
	json_put_str(endpoint, "PolicyDocument", json_str_at(call->in, "PolicyDocument"));
	if (json_object_get(call->in, "PrivateDnsEnabled"))
		json_object_set(endpoint, "PrivateDnsEnabled",
				json_object_get(call->in, "PrivateDnsEnabled"));
	ec2_changed(call, &kind_endpoint, id);
	*ret_out = json_packf(call->arena, "{s:b}", "Return", 1);
	return true;
}

/* 200 with what could not be deleted: callers must read it. */
bool ec2_delete_endpoints(struct cloud_call *call, json_t **ret_out)
{
	json_t *bad = json_new_list(call->arena), *one;
	size_t i;

	json_array_foreach(json_object_get(call->in, "VpcEndpointIds"), i, one) {
		const char *id = json_string_value(one);
		json_t *endpoint = cloud_get(call->cloud, "ec2.endpoint", id);

		if (!endpoint) {
			json_array_append_new(
				bad,
				json_pack(
					"{s:s, s:{s:s, s:s}}", "ResourceId", id, "Error",
					"Code", "InvalidVpcEndpoint.NotFound", "Message",
					arena_printf(call->arena,
						     "The Vpc Endpoint Id '%s' does not "
						     "exist",
						     id)));
			continue;
		}
		if (streq(json_str_at(endpoint, "State"), "deleting"))
			continue;
		json_put_str(endpoint, "State", "deleting");
		json_array_clear(json_object_get(endpoint, "RouteTableIds"));
		ec2_later(call->cloud, endpoint, "State", "deleted", DELETING_MS);
		ec2_changed(call, &kind_endpoint, id);
	}
	*ret_out = json_packf(call->arena, "{s:O}", "Unsuccessful", bad);
	return true;
}

void endpoint_advance(struct cloud *c, int64_t now_ms)
{
	json_t *table = cloud_table(c, "ec2.endpoint"), *endpoint;
	const char *id;
	void *next;

	(void)now_ms;
	json_object_foreach_safe(table, next, id, endpoint)
		if (streq(json_str_at(endpoint, "State"), "deleted")) {
			ec2_delete_interfaces_of(c, id);
			json_object_del(table, id);
		}
}

bool ec2_describe_endpoint_services(struct cloud_call *call, json_t **ret_out)
{
	static const struct kind_filter known[] = {
		{"service-name", "ServiceName"},
		{"service-type", "ServiceType.*.ServiceType"},
		{"owner", "Owner"},
		{NULL, NULL},
	};
	json_t *wanted = json_object_get(call->in, "ServiceNames");
	json_t *names = json_new_list(call->arena), *details = json_new_list(call->arena);
	struct ec2_zone zone[EC2_ZONES_MAX];
	size_t n = ec2_zones(call->cloud, zone);
	bool take;

	for (size_t i = 0; i < SERVICES; i++)
		for (int gateway = service_row[i].gateway; gateway >= 0; gateway--) {
			const char *name = full_name(call->cloud, call->arena, i);
			json_t *zones = json_array();

			for (size_t z = 0; z < n; z++)
				json_array_append_new(zones, json_string(zone[z].name));
			json_t *detail = json_packf(
				call->arena, "{s:s, s:[{s:s}], s:o, s:s, s:b, s:b}",
				"ServiceName", name, "ServiceType", "ServiceType",
				gateway ? "Gateway" : "Interface", "AvailabilityZones",
				zones, "Owner", "amazon", "VpcEndpointPolicySupported", 1,
				"AcceptanceRequired", 0);

			if (!ec2_filters_take(call, json_object_get(call->in, "Filters"),
					      known, detail, &take))
				return false;
			if (!take ||
			    (json_array_size(wanted) > 0 && !ec2_has_id(wanted, name)))
				continue;
			json_array_append(details, detail);
			if (!ec2_has_id(names, name))
				json_array_append_new(names, json_string(name));
		}
	*ret_out = json_packf(call->arena, "{s:O, s:O}", "ServiceNames", names,
			      "ServiceDetails", details);
	return true;
}
