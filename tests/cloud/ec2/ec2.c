/* EC2: the table of its operations, and what time does to its objects.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/ */
#include <string.h>

#include "tests/cloud/ec2/ops.h"

static const struct cloud_op ops[] = {
	{"CreateVpc", true, ec2_create_vpc},
	{"DescribeVpcs", false, ec2_describe_vpcs},
	{"ModifyVpcAttribute", true, ec2_modify_vpc_attribute},
	{"DescribeVpcAttribute", false, ec2_describe_vpc_attribute},
	{"AssociateVpcCidrBlock", true, ec2_associate_cidr},
	{"DisassociateVpcCidrBlock", true, ec2_disassociate_cidr},
	{"DeleteVpc", true, ec2_delete_vpc},
	{"CreateSubnet", true, ec2_create_subnet},
	{"DescribeSubnets", false, ec2_describe_subnets},
	{"ModifySubnetAttribute", true, ec2_modify_subnet},
	{"DeleteSubnet", true, ec2_delete_subnet},
	{"CreateInternetGateway", true, ec2_create_igw},
	{"AttachInternetGateway", true, ec2_attach_igw},
	{"DescribeInternetGateways", false, ec2_describe_igws},
	{"DetachInternetGateway", true, ec2_detach_igw},
	{"DeleteInternetGateway", true, ec2_delete_igw},
	{"AllocateAddress", true, ec2_allocate_address},
	{"DescribeAddresses", false, ec2_describe_addresses},
	{"ReleaseAddress", true, ec2_release_address},
	{"CreateNatGateway", true, ec2_create_nat},
	{"DescribeNatGateways", false, ec2_describe_nats},
	{"DeleteNatGateway", true, ec2_delete_nat},
	{"CreateRouteTable", true, ec2_create_route_table},
	{"CreateRoute", true, ec2_create_route},
	{"ReplaceRoute", true, ec2_replace_route},
	{"DeleteRoute", true, ec2_delete_route},
	{"AssociateRouteTable", true, ec2_associate_route_table},
	{"DisassociateRouteTable", true, ec2_disassociate_route_table},
	{"DescribeRouteTables", false, ec2_describe_route_tables},
	{"DeleteRouteTable", true, ec2_delete_route_table},
	{"CreateSecurityGroup", true, ec2_create_group_op},
	{"AuthorizeSecurityGroupIngress", true, ec2_authorize_ingress},
	{"AuthorizeSecurityGroupEgress", true, ec2_authorize_egress},
	{"RevokeSecurityGroupIngress", true, ec2_revoke_ingress},
	{"RevokeSecurityGroupEgress", true, ec2_revoke_egress},
	{"DescribeSecurityGroups", false, ec2_describe_groups},
	{"DescribeSecurityGroupRules", false, ec2_describe_rules},
	{"DeleteSecurityGroup", true, ec2_delete_group_op},
	{"CreateVpcEndpoint", true, ec2_create_endpoint},
	{"DescribeVpcEndpoints", false, ec2_describe_endpoints},
	{"ModifyVpcEndpoint", true, ec2_modify_endpoint},
	{"DeleteVpcEndpoints", true, ec2_delete_endpoints},
	{"DescribeVpcEndpointServices", false, ec2_describe_endpoint_services},
	{"DescribeNetworkInterfaces", false, ec2_describe_interfaces},
	{"DeleteNetworkInterface", true, ec2_delete_interface_op},
	{"CreateTags", true, ec2_create_tags},
	{"DeleteTags", true, ec2_delete_tags},
	{"DescribeTags", false, ec2_describe_tags},
	{"DescribeAvailabilityZones", false, ec2_describe_zones},
	{"DescribeRegions", false, ec2_describe_regions},
	{"DescribeInstanceTypes", false, ec2_describe_types},
	{"DescribeInstanceTypeOfferings", false, ec2_describe_offerings},
	{NULL, false, NULL},
};

static void settle(json_t *object, int64_t now_ms)
{
	if (!json_object_get(object, "_later_ms") ||
	    now_ms < json_int_or(object, "_later_ms", 0))
		return;
	json_put_str(object, json_str_at(object, "_later_member"),
		     json_str_at(object, "_later_value"));
	json_object_del(object, "_later_ms");
	json_object_del(object, "_later_member");
	json_object_del(object, "_later_value");
}

static void advance(struct cloud *c, int64_t now_ms)
{
	static const char *const tables[] = {"ec2.vpc", "ec2.subnet", "ec2.nat",
					     "ec2.endpoint"};
	const char *id;
	json_t *object, *one;
	size_t k;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		json_object_foreach(cloud_table(c, tables[i]), id, object) {
			settle(object, now_ms);
			json_array_foreach(
				json_object_get(object, "CidrBlockAssociationSet"), k,
				one)
				settle(one, now_ms);
		}
	nat_advance(c, now_ms);
	endpoint_advance(c, now_ms);
}

const struct cloud_service cloud_ec2 = {"ec2", ops, advance};
