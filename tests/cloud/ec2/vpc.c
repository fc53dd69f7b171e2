/* VPCs, their attributes and address blocks. */
#include <string.h>

#include "tests/cloud/ec2/ops.h"
#include "tests/cloud/quotas.h"

enum { CIDRS_MAX = 5 };

static const struct kind_filter filters[] = {
	{"vpc-id", "VpcId"},
	{"cidr", "CidrBlock"},
	{"cidr-block", "CidrBlock"},
	{"cidr-block-association.cidr-block", "CidrBlockAssociationSet.*.CidrBlock"},
	{"cidr-block-association.association-id",
	 "CidrBlockAssociationSet.*.AssociationId"},
	{"cidr-block-association.state",
	 "CidrBlockAssociationSet.*.CidrBlockState.State"},
	{"dhcp-options-id", "DhcpOptionsId"},
	{"is-default", "IsDefault"},
	{"isDefault", "IsDefault"},
	{"owner-id", "OwnerId"},
	{"state", "State"},
	{NULL, NULL},
};

const struct ec2_kind kind_vpc = {
	.table = "ec2.vpc",
	.id_member = "VpcId",
	.prefix = "vpc-",
	.resource_type = "vpc",
	.missing = "InvalidVpcID.NotFound",
	.malformed = "InvalidVpcID.Malformed",
	.missing_text = "The vpc ID '%s' does not exist",
	.ids_in = "VpcIds",
	.filters_in = "Filters",
	.out = "Vpcs",
	.filters = filters,
};

json_t *ec2_vpc(struct cloud *c, const char *id)
{
	return cloud_get(c, "ec2.vpc", id);
}

static json_t *new_association(struct cloud_call *call, const char *cidr,
			       const char *state)
{
	return json_pack("{s:s, s:s, s:{s:s}}", "AssociationId",
			 cloud_id(call->cloud, call->arena, "vpc-cidr-assoc-", 17),
			 "CidrBlock", cidr, "CidrBlockState", "State", state);
}

/* A VPC's block is between /28 and /16. */
static bool read_block(struct cloud_call *call, const char *text, struct cidr *ret)
{
	if (!ec2_cidr_parse(text, ret))
		return cloud_fault(
			call, "InvalidParameterValue",
			"Value (%s) for parameter cidrBlock is invalid. This is "
			"not a valid CIDR block.",
			text);
	if (ret->bits < 16 || ret->bits > 28)
		return cloud_fault(call, "InvalidVpc.Range", "The CIDR '%s' is invalid.",
				   text);
	return true;
}

bool ec2_create_vpc(struct cloud_call *call, json_t **ret_out)
{
	const char *text = json_str_at(call->in, "CidrBlock"), *id;
	struct cidr block;
	json_t *tags;

	if (!text)
		return cloud_fault(
			call, "MissingParameter",
			"Either 'cidrBlock' or 'ipv4IpamPoolId' must be provided");
	if (!read_block(call, text, &block) || !ec2_spec_tags(call, "vpc", &tags))
		return false;
	if (json_object_size(cloud_table(call->cloud, "ec2.vpc")) >=
	    (size_t)quota_value(call->cloud, "vpc", "L-F678F1CE"))
		return cloud_fault(call, "VpcLimitExceeded",
				   "The maximum number of VPCs has been reached.");
	text = ec2_cidr_text(call->arena, block);
	json_t *vpc = ec2_add(
		call, &kind_vpc,
		json_pack("{s:s, s:s, s:s, s:s, s:b, s:s, s:[o], s:b, s:b}", "OwnerId",
			  cloud_opts(call->cloud)->account, "InstanceTenancy",
			  json_str_or(call->in, "InstanceTenancy", "default"),
			  "CidrBlock", text, "State", "pending", "IsDefault", 0,
			  "DhcpOptionsId", "dopt-0a1b2c3d4e5f60718",
			  "CidrBlockAssociationSet",
			  new_association(call, text, "associated"), "_dns_support", 1,
			  "_dns_hostnames", 0),
		&id);

	ec2_later(call->cloud, vpc, "State", "available", VPC_PENDING_MS);
	vpc_make_defaults(call, id);
	*ret_out = json_packf(call->arena, "{s:O}", "Vpc", ec2_public(call->arena, vpc));
	return true;
}

void vpc_make_defaults(struct cloud_call *call, const char *vpc_id)
{
	const char *id;

	group_new(call->cloud, call->arena, vpc_id, "default",
		  "default VPC security group", NULL, &id);
	route_table_new(call, vpc_id, true, &id);
}

bool ec2_describe_vpcs(struct cloud_call *call, json_t **ret_out)
{
	return ec2_describe(call, &kind_vpc, ret_out);
}

bool ec2_modify_vpc_attribute(struct cloud_call *call, json_t **ret_out)
{
	static const struct {
		const char *member, *kept;
	} row[] = {
		{"EnableDnsSupport", "_dns_support"},
		{"EnableDnsHostnames", "_dns_hostnames"},
		{"EnableNetworkAddressUsageMetrics", "_usage_metrics"},
	};
	const char *id = json_str_at(call->in, "VpcId");
	json_t *vpc = ec2_require(call, &kind_vpc, id);
	size_t given = 0, which = 0;

	(void)ret_out;
	if (!vpc)
		return false;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (json_object_get(call->in, row[i].member)) {
			given++;
			which = i;
		}
	if (given != 1)
		return cloud_fault(call, "InvalidParameterCombination",
				   "Exactly one attribute must be given.");
	const json_t *value = json_object_get(call->in, row[which].member);

	json_put_bool(vpc, row[which].kept, json_bool_or(value, "Value", false));
	ec2_changed(call, &kind_vpc, id);
	return true;
}

bool ec2_describe_vpc_attribute(struct cloud_call *call, json_t **ret_out)
{
	static const struct {
		const char *attribute, *member, *kept;
	} row[] = {
		{"enableDnsSupport", "EnableDnsSupport", "_dns_support"},
		{"enableDnsHostnames", "EnableDnsHostnames", "_dns_hostnames"},
		{"enableNetworkAddressUsageMetrics", "EnableNetworkAddressUsageMetrics",
		 "_usage_metrics"},
	};
	const char *id = json_str_at(call->in, "VpcId");
	json_t *vpc = ec2_require(call, &kind_vpc, id);

	if (!vpc)
		return false;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (streq(row[i].attribute, json_str_at(call->in, "Attribute")))
			*ret_out = json_packf(call->arena, "{s:s, s:{s:b}}", "VpcId", id,
					      row[i].member, "Value",
					      json_bool_or(vpc, row[i].kept, false));
	return true;
}

bool ec2_associate_cidr(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "VpcId"), *text;
	json_t *vpc = ec2_require(call, &kind_vpc, id), *one;
	json_t *set = json_object_get(vpc, "CidrBlockAssociationSet");
	struct cidr block, other;
	size_t i;

	if (!vpc)
		return false;
	text = json_str_at(call->in, "CidrBlock");
	if (!text)
		return cloud_fault(call, "MissingParameter",
				   "The request must contain the parameter cidrBlock");
	if (!read_block(call, text, &block))
		return false;
	if (json_array_size(set) >= CIDRS_MAX)
		return cloud_fault(
			call, "CidrLimitExceeded",
			"This network '%s' has met its maximum number of allowed "
			"CIDRs: %d",
			id, CIDRS_MAX);
	json_array_foreach(set, i, one)
		if (ec2_cidr_parse(json_str_at(one, "CidrBlock"), &other) &&
		    cidr_overlap(block, other))
			return cloud_fault(
				call, "InvalidVpc.Range",
				"The CIDR '%s' conflicts with CIDR '%s' of the VPC.",
				text, json_str_at(one, "CidrBlock"));
	json_t *made =
		new_association(call, ec2_cidr_text(call->arena, block), "associating");

	ec2_later(call->cloud, made, "CidrBlockState.State", "associated",
		  VPC_PENDING_MS);
	json_array_append_new(set, made);
	ec2_changed(call, &kind_vpc, id);
	*ret_out = json_packf(call->arena, "{s:s, s:O}", "VpcId", id,
			      "CidrBlockAssociation", ec2_public(call->arena, made));
	return true;
}

static bool block_has_subnets(struct cloud_call *call, const char *vpc_id,
			      const char *text)
{
	struct cidr block, inner;
	const char *id;
	json_t *subnet;

	if (!ec2_cidr_parse(text, &block))
		return false;
	json_object_foreach(cloud_table(call->cloud, "ec2.subnet"), id, subnet)
		if (streq(json_str_at(subnet, "VpcId"), vpc_id) &&
		    ec2_cidr_parse(json_str_at(subnet, "CidrBlock"), &inner) &&
		    cidr_within(inner, block))
			return true;
	return false;
}

bool ec2_disassociate_cidr(struct cloud_call *call, json_t **ret_out)
{
	const char *want = json_str_at(call->in, "AssociationId"), *id;
	json_t *vpc, *one;
	size_t i;

	json_object_foreach(cloud_table(call->cloud, "ec2.vpc"), id, vpc) {
		json_t *set = json_object_get(vpc, "CidrBlockAssociationSet");

		json_array_foreach(set, i, one) {
			const char *block = json_str_at(one, "CidrBlock");

			if (!streq(json_str_at(one, "AssociationId"), want))
				continue;
			if (i == 0)
				return cloud_fault(
					call, "OperationNotPermitted",
					"The vpc CIDR block with association ID "
					"%s may not be disassociated. It is the "
					"primary IPv4 CIDR block of the VPC",
					want);
			if (block_has_subnets(call, id, block))
				return cloud_fault(
					call, "DependencyViolation",
					"The CIDR '%s' has dependencies and cannot "
					"be disassociated.",
					block);
			*ret_out =
				json_packf(call->arena, "{s:s, s:{s:s, s:s, s:{s:s}}}",
					   "VpcId", id, "CidrBlockAssociation",
					   "AssociationId", want, "CidrBlock", block,
					   "CidrBlockState", "State", "disassociating");
			json_array_remove(set, i);
			ec2_changed(call, &kind_vpc, id);
			return true;
		}
	}
	return cloud_fault(call, "InvalidCidrBlockAssociationID.NotFound",
			   "The vpc CIDR block association ID '%s' does not exist", want);
}

/* What still stands in a VPC; default group and main table go with it. */
static bool has_dependants(struct cloud *c, const char *vpc_id)
{
	static const char *const tables[] = {"ec2.subnet", "ec2.interface",
					     "ec2.endpoint", "ec2.nat"};
	const char *id;
	json_t *o;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		json_object_foreach(cloud_table(c, tables[i]), id, o)
			if (streq(json_str_at(o, "VpcId"), vpc_id) &&
			    !streq(json_str_at(o, "State"), "deleted") &&
			    !streq(json_str_at(o, "State"), "failed"))
				return true;
	json_object_foreach(cloud_table(c, "ec2.igw"), id, o)
		if (streq(json_str_at(o, "Attachments.0.VpcId"), vpc_id))
			return true;
	json_object_foreach(cloud_table(c, "ec2.group"), id, o)
		if (streq(json_str_at(o, "VpcId"), vpc_id) &&
		    !streq(json_str_at(o, "GroupName"), "default"))
			return true;
	json_object_foreach(cloud_table(c, "ec2.route_table"), id, o)
		if (streq(json_str_at(o, "VpcId"), vpc_id) &&
		    !json_bool_or(o, "_main", false))
			return true;
	return false;
}

static void remove_of_vpc(struct cloud *c, const char *table, const char *vpc_id)
{
	json_t *t = cloud_table(c, table), *o;
	const char *id;
	void *next;

	json_object_foreach_safe(t, next, id, o)
		if (streq(json_str_at(o, "VpcId"), vpc_id))
			json_object_del(t, id);
}

bool ec2_delete_vpc(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "VpcId");

	(void)ret_out;
	if (!ec2_require(call, &kind_vpc, id))
		return false;
	if (has_dependants(call->cloud, id))
		return cloud_fault(call, "DependencyViolation",
				   "The vpc '%s' has dependencies and cannot be deleted.",
				   id);
	json_t *groups = cloud_table(call->cloud, "ec2.group"), *g;
	const char *group;
	void *next;

	json_object_foreach_safe(groups, next, group, g)
		if (streq(json_str_at(g, "VpcId"), id))
			ec2_delete_group(call->cloud, arena_strdup(call->arena, group));
	remove_of_vpc(call->cloud, "ec2.route_table", id);
	return ec2_remove(call, &kind_vpc, id);
}
