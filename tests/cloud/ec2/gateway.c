/* Internet gateways and Elastic IP addresses. */
#include <string.h>

#include "tests/cloud/ec2/ops.h"
#include "tests/cloud/quotas.h"

static const struct kind_filter igw_filters[] = {
	{"internet-gateway-id", "InternetGatewayId"},
	{"attachment.vpc-id", "Attachments.*.VpcId"},
	{"attachment.state", "Attachments.*.State"},
	{"owner-id", "OwnerId"},
	{NULL, NULL},
};

const struct ec2_kind kind_igw = {
	.table = "ec2.igw",
	.id_member = "InternetGatewayId",
	.prefix = "igw-",
	.resource_type = "internet-gateway",
	.missing = "InvalidInternetGatewayID.NotFound",
	.malformed = "InvalidInternetGatewayId.Malformed",
	.missing_text = "The internetGateway ID '%s' does not exist",
	.ids_in = "InternetGatewayIds",
	.filters_in = "Filters",
	.out = "InternetGateways",
	.filters = igw_filters,
};

static const struct kind_filter address_filters[] = {
	{"allocation-id", "AllocationId"},
	{"association-id", "AssociationId"},
	{"domain", "Domain"},
	{"network-interface-id", "NetworkInterfaceId"},
	{"public-ip", "PublicIp"},
	{NULL, NULL},
};

const struct ec2_kind kind_address = {
	.table = "ec2.address",
	.id_member = "AllocationId",
	.prefix = "eipalloc-",
	.resource_type = "elastic-ip",
	.missing = "InvalidAllocationID.NotFound",
	.missing_text = "The allocation ID '%s' does not exist",
	.ids_in = "AllocationIds",
	.filters_in = "Filters",
	.out = "Addresses",
	.filters = address_filters,
};

bool ec2_create_igw(struct cloud_call *call, json_t **ret_out)
{
	json_t *tags;

	if (!ec2_spec_tags(call, "internet-gateway", &tags))
		return false;
	if (json_object_size(cloud_table(call->cloud, "ec2.igw")) >=
	    (size_t)quota_value(call->cloud, "vpc", "L-A4707A72"))
		return cloud_fault(call, "InternetGatewayLimitExceeded",
				   "The maximum number of internet gateways has been "
				   "reached.");
	json_t *igw = ec2_add(call, &kind_igw,
			      json_pack("{s:s, s:[]}", "OwnerId",
					cloud_opts(call->cloud)->account, "Attachments"),
			      NULL);

	*ret_out = json_packf(call->arena, "{s:O}", "InternetGateway",
			      ec2_public(call->arena, igw));
	return true;
}

bool ec2_attach_igw(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "InternetGatewayId"), *other_id;
	const char *vpc_id = json_str_at(call->in, "VpcId");
	json_t *igw = ec2_require(call, &kind_igw, id), *other;

	(void)ret_out;
	if (!igw || !ec2_require(call, &kind_vpc, vpc_id))
		return false;
	if (json_len_at(igw, "Attachments") > 0)
		return cloud_fault(call, "Resource.AlreadyAssociated",
				   "resource %s is already attached to network %s", id,
				   json_str_at(igw, "Attachments.0.VpcId"));
	json_object_foreach(cloud_table(call->cloud, "ec2.igw"), other_id, other)
		if (streq(json_str_at(other, "Attachments.0.VpcId"), vpc_id))
			return cloud_fault(call, "InvalidParameterValue",
					   "Network %s already has an internet gateway "
					   "attached",
					   vpc_id);
	json_array_append_new(
		json_object_get(igw, "Attachments"),
		json_pack("{s:s, s:s}", "State", "available", "VpcId", vpc_id));
	ec2_changed(call, &kind_igw, id);
	return true;
}

bool ec2_describe_igws(struct cloud_call *call, json_t **ret_out)
{
	return ec2_describe(call, &kind_igw, ret_out);
}

static bool has_public_addresses(struct cloud *c, const char *vpc_id)
{
	const char *id;
	json_t *nat;

	json_object_foreach(cloud_table(c, "ec2.nat"), id, nat)
		if (streq(json_str_at(nat, "VpcId"), vpc_id) &&
		    streq(json_str_at(nat, "ConnectivityType"), "public") &&
		    !streq(json_str_at(nat, "State"), "deleted") &&
		    !streq(json_str_at(nat, "State"), "failed"))
			return true;
	return false;
}

bool ec2_detach_igw(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "InternetGatewayId");
	const char *vpc_id = json_str_at(call->in, "VpcId");
	json_t *igw = ec2_require(call, &kind_igw, id);

	(void)ret_out;
	if (!igw || !ec2_require(call, &kind_vpc, vpc_id))
		return false;
	if (!streq(json_str_at(igw, "Attachments.0.VpcId"), vpc_id))
		return cloud_fault(call, "Gateway.NotAttached",
				   "resource %s is not attached to network %s", id,
				   vpc_id);
	if (has_public_addresses(call->cloud, vpc_id))
		return cloud_fault(
			call, "DependencyViolation",
			"Network %s has some mapped public address(es). Please "
			"unmap those public address(es) before detaching the "
			"gateway.",
			vpc_id);
	json_array_clear(json_object_get(igw, "Attachments"));
	ec2_changed(call, &kind_igw, id);
	return true;
}

bool ec2_delete_igw(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "InternetGatewayId");
	json_t *igw = ec2_require(call, &kind_igw, id);

	(void)ret_out;
	if (!igw)
		return false;
	if (json_len_at(igw, "Attachments") > 0)
		return cloud_fault(
			call, "DependencyViolation",
			"The internetGateway '%s' has dependencies and cannot be "
			"deleted.",
			id);
	return ec2_remove(call, &kind_igw, id);
}

/* --- addresses ---------------------------------------------------------------- */

bool ec2_allocate_address(struct cloud_call *call, json_t **ret_out)
{
	const char *region = cloud_opts(call->cloud)->region, *id;
	json_t *table = cloud_table(call->cloud, "ec2.address"), *tags;
	/* TEST-NET-3 and its neighbours: nobody's addresses. */
	int64_t n = json_int_or(cloud_table(call->cloud, "ec2.counter"), "address", 0);

	if (!ec2_spec_tags(call, "elastic-ip", &tags))
		return false;
	if (json_object_size(table) >=
	    (size_t)quota_value(call->cloud, "ec2", "L-0263D0A3"))
		return cloud_fault(call, "AddressLimitExceeded",
				   "The maximum number of addresses has been reached.");
	json_put_int(cloud_table(call->cloud, "ec2.counter"), "address", n + 1);
	json_t *address =
		ec2_add(call, &kind_address,
			json_pack("{s:s, s:s, s:s, s:s}", "PublicIp",
				  arena_printf(call->arena, "203.0.%d.%d",
					       113 + (int)(n / 250), 1 + (int)(n % 250)),
				  "Domain", "vpc", "PublicIpv4Pool", "amazon",
				  "NetworkBorderGroup", region),
			&id);
	json_t *out = ec2_public(call->arena, address);

	json_object_del(out, "Tags");
	*ret_out = out;
	return true;
}

bool ec2_describe_addresses(struct cloud_call *call, json_t **ret_out)
{
	return ec2_describe(call, &kind_address, ret_out);
}

bool ec2_release_address(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "AllocationId");
	json_t *address = ec2_require(call, &kind_address, id);

	(void)ret_out;
	if (!address)
		return false;
	if (json_object_get(address, "AssociationId"))
		return cloud_fault(call, "InvalidIPAddress.InUse",
				   "Address %s is in use.",
				   json_str_at(address, "PublicIp"));
	return ec2_remove(call, &kind_address, id);
}
