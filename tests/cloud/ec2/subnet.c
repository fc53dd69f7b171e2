/* Subnets and the addresses in them. */
#include <string.h>

#include "tests/cloud/ec2/ops.h"

enum { RESERVED = 5 }; /* the first four addresses of a subnet and the last */

static json_t *view(struct cloud *c, struct arena *a, const json_t *subnet)
{
	json_t *copy = ec2_public(a, subnet);

	json_put_int(copy, "AvailableIpAddressCount",
		     ec2_free_addresses(c, json_str_at(subnet, "SubnetId")));
	return copy;
}

static const struct kind_filter filters[] = {
	{"subnet-id", "SubnetId"},
	{"vpc-id", "VpcId"},
	{"availability-zone", "AvailabilityZone"},
	{"availabilityZone", "AvailabilityZone"},
	{"availability-zone-id", "AvailabilityZoneId"},
	{"availabilityZoneId", "AvailabilityZoneId"},
	{"available-ip-address-count", "AvailableIpAddressCount"},
	{"cidr-block", "CidrBlock"},
	{"cidr", "CidrBlock"},
	{"cidrBlock", "CidrBlock"},
	{"default-for-az", "DefaultForAz"},
	{"defaultForAz", "DefaultForAz"},
	{"map-public-ip-on-launch", "MapPublicIpOnLaunch"},
	{"owner-id", "OwnerId"},
	{"state", "State"},
	{"subnet-arn", "SubnetArn"},
	{NULL, NULL},
};

const struct ec2_kind kind_subnet = {
	.table = "ec2.subnet",
	.id_member = "SubnetId",
	.prefix = "subnet-",
	.resource_type = "subnet",
	.missing = "InvalidSubnetID.NotFound",
	.malformed = "InvalidSubnetID.Malformed",
	.missing_text = "The subnet ID '%s' does not exist",
	.ids_in = "SubnetIds",
	.filters_in = "Filters",
	.out = "Subnets",
	.filters = filters,
	.view = view,
};

json_t *ec2_subnet(struct cloud *c, const char *id)
{
	return cloud_get(c, "ec2.subnet", id);
}

int64_t ec2_free_addresses(struct cloud *c, const char *subnet_id)
{
	const json_t *subnet = ec2_subnet(c, subnet_id);
	struct cidr block;
	const char *id;
	json_t *eni;

	if (!subnet || !ec2_cidr_parse(json_str_at(subnet, "CidrBlock"), &block))
		return -1;
	int64_t n = ((int64_t)1 << (32 - block.bits)) - RESERVED;

	json_object_foreach(cloud_table(c, "ec2.interface"), id, eni)
		if (streq(json_str_at(eni, "SubnetId"), subnet_id))
			n -= (int64_t)json_len_at(eni, "PrivateIpAddresses");
	return n;
}

static bool check_block(struct cloud_call *call, const json_t *vpc, const char *text,
			struct cidr *ret)
{
	const json_t *set = json_object_get(vpc, "CidrBlockAssociationSet");
	const char *vpc_id = json_str_at(vpc, "VpcId"), *id;
	struct cidr outer;
	json_t *one;
	bool inside = false;
	size_t i;

	if (!ec2_cidr_parse(text, ret))
		return cloud_fault(
			call, "InvalidParameterValue",
			"Value (%s) for parameter cidrBlock is invalid. This is "
			"not a valid CIDR block.",
			text);
	json_array_foreach(set, i, one)
		inside |= ec2_cidr_parse(json_str_at(one, "CidrBlock"), &outer) &&
			  streq(json_str_at(one, "CidrBlockState.State"), "associated") &&
			  cidr_within(*ret, outer);
	if (!inside || ret->bits < 16 || ret->bits > 28)
		return cloud_fault(call, "InvalidSubnet.Range",
				   "The CIDR '%s' is invalid.", text);
	json_object_foreach(cloud_table(call->cloud, "ec2.subnet"), id, one)
		if (streq(json_str_at(one, "VpcId"), vpc_id) &&
		    ec2_cidr_parse(json_str_at(one, "CidrBlock"), &outer) &&
		    cidr_overlap(*ret, outer))
			return cloud_fault(call, "InvalidSubnet.Conflict",
					   "The CIDR '%s' conflicts with another subnet",
					   text);
	return true;
}

static bool choose_zone(struct cloud_call *call, struct ec2_zone *ret)
{
	const char *name = json_str_at(call->in, "AvailabilityZone");
	const char *id = json_str_at(call->in, "AvailabilityZoneId");
	struct ec2_zone zone[EC2_ZONES_MAX];
	size_t n = ec2_zones(call->cloud, zone);
	struct buf names;

	/* Also near a town, if the account has opted in. */
	if (!(name && id) && ec2_find_zone(call->cloud, name ? name : id, ret) &&
	    !streq(ret->opt_in, "not-opted-in"))
		return true;
	*ret = zone[0];
	if (!name && !id)
		return true;
	if (name && id)
		return cloud_fault(call, "InvalidParameterCombination",
				   "You may specify only one of availabilityZone and "
				   "availabilityZoneId");
	buf_init(&names, call->arena, 512);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&names, "%s%s", i ? ", " : "", zone[i].name);
	}
	return cloud_fault(
		call, "InvalidParameterValue",
		"Value (%s) for parameter availabilityZone is invalid. Subnets can "
		"currently only be created in the following availability zones: %s.",
		name ? name : id, buf_cstr(&names));
}

bool ec2_create_subnet(struct cloud_call *call, json_t **ret_out)
{
	const char *vpc_id = json_str_at(call->in, "VpcId"), *id;
	const char *text = json_str_at(call->in, "CidrBlock");
	const char *account = cloud_opts(call->cloud)->account;
	json_t *vpc = ec2_require(call, &kind_vpc, vpc_id), *tags;
	struct ec2_zone zone;
	struct cidr block;

	if (!vpc)
		return false;
	if (!text)
		return cloud_fault(
			call, "MissingParameter",
			"Either 'cidrBlock' or 'ipv4IpamPoolId' must be provided");
	if (!check_block(call, vpc, text, &block) || !choose_zone(call, &zone) ||
	    !ec2_spec_tags(call, "subnet", &tags))
		return false;
	json_t *subnet = ec2_add(
		call, &kind_subnet,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, "
			  "s:{s:s, s:b, s:b}}",
			  "VpcId", vpc_id, "OwnerId", account, "CidrBlock",
			  ec2_cidr_text(call->arena, block), "State", "pending",
			  "AvailabilityZone", zone.name, "AvailabilityZoneId", zone.id,
			  "DefaultForAz", 0, "MapPublicIpOnLaunch", 0,
			  "AssignIpv6AddressOnCreation", 0, "EnableDns64", 0,
			  "Ipv6Native", 0, "PrivateDnsNameOptionsOnLaunch",
			  "HostnameType", "ip-name", "EnableResourceNameDnsARecord", 0,
			  "EnableResourceNameDnsAAAARecord", 0),
		&id);

	json_put_str(subnet, "SubnetArn",
		     cloud_arn(call->cloud, call->arena, "ec2",
			       arena_printf(call->arena, "subnet/%s", id)));
	ec2_later(call->cloud, subnet, "State", "available", SUBNET_PENDING_MS);
	*ret_out = json_packf(call->arena, "{s:O}", "Subnet",
			      view(call->cloud, call->arena, subnet));
	return true;
}

bool ec2_describe_subnets(struct cloud_call *call, json_t **ret_out)
{
	return ec2_describe(call, &kind_subnet, ret_out);
}

bool ec2_modify_subnet(struct cloud_call *call, json_t **ret_out)
{
	static const char *const members[] = {
		"MapPublicIpOnLaunch", "AssignIpv6AddressOnCreation", "EnableDns64"};
	const char *id = json_str_at(call->in, "SubnetId");
	json_t *subnet = ec2_require(call, &kind_subnet, id);
	size_t given = 0;

	(void)ret_out;
	if (!subnet)
		return false;
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		const json_t *value = json_object_get(call->in, members[i]);

		if (!value)
			continue;
		given++;
		json_put_bool(subnet, members[i], json_bool_or(value, "Value", false));
	}
	if (given != 1)
		return cloud_fault(call, "InvalidParameterCombination",
				   "Exactly one attribute of the subnet must be given.");
	ec2_changed(call, &kind_subnet, id);
	return true;
}

static void leave_route_tables(struct cloud *c, const char *subnet_id)
{
	const char *id;
	json_t *table, *one;
	size_t i;

	json_object_foreach(cloud_table(c, "ec2.route_table"), id, table)
		json_array_foreach(json_object_get(table, "Associations"), i, one)
			if (streq(json_str_at(one, "SubnetId"), subnet_id)) {
				json_array_remove(json_object_get(table, "Associations"),
						  i);
				break;
			}
}

bool ec2_delete_subnet(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "SubnetId"), *eni_id;
	json_t *eni;

	(void)ret_out;
	if (!ec2_require(call, &kind_subnet, id))
		return false;
	json_object_foreach(cloud_table(call->cloud, "ec2.interface"), eni_id, eni)
		if (streq(json_str_at(eni, "SubnetId"), id))
			return cloud_fault(
				call, "DependencyViolation",
				"The subnet '%s' has dependencies and cannot be "
				"deleted.",
				id);
	leave_route_tables(call->cloud, id);
	return ec2_remove(call, &kind_subnet, id);
}
