#include "tests/cloud/cloudformation/type.h"

#include <string.h>

#include "core/base/str.h"
#include "core/json/tree.h"

static bool set_vpc_dns(struct cfn_unit *u, const char *member)
{
	return cfn_invoke(u, "ec2", "ModifyVpcAttribute", NULL, "{s:s,s:{s:b}}", "VpcId",
			  cfn_physical(u), member, "Value",
			  cfn_prop_bool(u, member, false));
}

static bool vpc_create(struct cfn_unit *u)
{
	static const char *const names[] = {"CidrBlock", "InstanceTenancy", NULL};
	json_t *in = json_new_object(u->arena), *out;

	cfn_copy_props(u, in, names);
	if (!cfn_invoke_tree(u, "ec2", "CreateVpc", cfn_tagged(u, "vpc", in), &out))
		return false;
	cfn_set_physical(u, json_str_or(out, "Vpc.VpcId", ""));
	cfn_set_attr(u, "VpcId", cfn_physical(u));
	cfn_set_attr(u, "CidrBlock", cfn_prop(u, "CidrBlock"));
	if (json_object_get(u->props, "EnableDnsSupport") &&
	    !set_vpc_dns(u, "EnableDnsSupport"))
		return false;
	return !json_object_get(u->props, "EnableDnsHostnames") ||
	       set_vpc_dns(u, "EnableDnsHostnames");
}

static bool vpc_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "ec2", "DeleteVpc", NULL, "{s:s}", "VpcId", cfn_physical(u));
}

static bool igw_create(struct cfn_unit *u)
{
	json_t *in = json_new_object(u->arena), *out;

	if (!cfn_invoke_tree(u, "ec2", "CreateInternetGateway",
			     cfn_tagged(u, "internet-gateway", in), &out))
		return false;
	cfn_set_physical(u, json_str_or(out, "InternetGateway.InternetGatewayId", ""));
	cfn_set_attr(u, "InternetGatewayId", cfn_physical(u));
	return true;
}

static bool igw_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "ec2", "DeleteInternetGateway", NULL, "{s:s}",
			  "InternetGatewayId", cfn_physical(u));
}

static bool attachment_create(struct cfn_unit *u)
{
	if (!cfn_invoke(u, "ec2", "AttachInternetGateway", NULL, "{s:s,s:s}", "VpcId",
			cfn_prop(u, "VpcId"), "InternetGatewayId",
			cfn_prop(u, "InternetGatewayId")))
		return false;
	cfn_set_physical(u, arena_printf(u->arena, "IGW|%s", cfn_prop(u, "VpcId")));
	cfn_set_attr(u, "AttachmentType", "IGW");
	return true;
}

static bool attachment_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "ec2", "DetachInternetGateway", NULL, "{s:s,s:s}", "VpcId",
			  cfn_prop(u, "VpcId"), "InternetGatewayId",
			  cfn_prop(u, "InternetGatewayId"));
}

static bool subnet_create(struct cfn_unit *u)
{
	static const char *const names[] = {"VpcId", "CidrBlock", "AvailabilityZone",
					    NULL};
	json_t *in = json_new_object(u->arena), *out;

	cfn_copy_props(u, in, names);
	if (!cfn_invoke_tree(u, "ec2", "CreateSubnet", cfn_tagged(u, "subnet", in), &out))
		return false;
	cfn_set_physical(u, json_str_or(out, "Subnet.SubnetId", ""));
	cfn_set_attr(u, "SubnetId", cfn_physical(u));
	cfn_set_attr(u, "VpcId", cfn_prop(u, "VpcId"));
	cfn_set_attr(u, "CidrBlock", cfn_prop(u, "CidrBlock"));
	cfn_set_attr(u, "AvailabilityZone", json_str_at(out, "Subnet.AvailabilityZone"));
	if (!cfn_prop_bool(u, "MapPublicIpOnLaunch", false))
		return true;
	return cfn_invoke(u, "ec2", "ModifySubnetAttribute", NULL, "{s:s,s:{s:b}}",
			  "SubnetId", cfn_physical(u), "MapPublicIpOnLaunch", "Value", 1);
}

static bool subnet_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "ec2", "DeleteSubnet", NULL, "{s:s}", "SubnetId",
			  cfn_physical(u));
}

static bool eip_create(struct cfn_unit *u)
{
	static const char *const names[] = {"Domain", NULL};
	json_t *in = json_new_object(u->arena), *out;

	cfn_copy_props(u, in, names);
	if (!cfn_invoke_tree(u, "ec2", "AllocateAddress", cfn_tagged(u, "elastic-ip", in),
			     &out))
		return false;
	cfn_set_physical(u, json_str_or(out, "PublicIp", ""));
	cfn_set_attr(u, "AllocationId", json_str_at(out, "AllocationId"));
	cfn_set_attr(u, "PublicIp", cfn_physical(u));
	return true;
}

static bool eip_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "ec2", "ReleaseAddress", NULL, "{s:s}", "AllocationId",
			  json_str_or(u->state, "attrs.AllocationId", ""));
}

static bool nat_create(struct cfn_unit *u)
{
	static const char *const names[] = {"AllocationId", "SubnetId",
					    "ConnectivityType", NULL};
	json_t *in = json_new_object(u->arena), *out;

	cfn_copy_props(u, in, names);
	json_put_str(in, "ClientToken", cloud_id(u->cloud, u->arena, "cfn-", 32));
	if (!cfn_invoke_tree(u, "ec2", "CreateNatGateway",
			     cfn_tagged(u, "natgateway", in), &out))
		return false;
	cfn_set_physical(u, json_str_or(out, "NatGateway.NatGatewayId", ""));
	cfn_set_attr(u, "NatGatewayId", cfn_physical(u));
	return true;
}

static const char *nat_state(struct cfn_unit *u, const char **ret_message)
{
	json_t *out;

	if (!cfn_invoke(u, "ec2", "DescribeNatGateways", &out, "{s:[s]}", "NatGatewayIds",
			cfn_physical(u)))
		return cfn_is_missing(u->code) ? "missing" : "";
	*ret_message = json_str_or(out, "NatGateways.0.FailureMessage", "");
	return json_str_or(out, "NatGateways.0.State", "missing");
}

static enum cfn_progress nat_ready(struct cfn_unit *u)
{
	const char *message = "";
	const char *state = nat_state(u, &message);

	if (streq(state, "available"))
		return CFN_DONE;
	if (!streq(state, "failed"))
		return CFN_WAIT;
	u->code = "NotStabilized";
	u->message = arena_printf(u->arena,
				  "NatGateway %s is in state failed and hence failed to "
				  "stabilize. Detailed failure message: %s",
				  cfn_physical(u), message);
	return CFN_FAILED;
}

static bool nat_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "ec2", "DeleteNatGateway", NULL, "{s:s}", "NatGatewayId",
			  cfn_physical(u));
}

static enum cfn_progress nat_gone(struct cfn_unit *u)
{
	const char *message = "";
	const char *state = nat_state(u, &message);

	return streq(state, "deleted") || streq(state, "missing") ? CFN_DONE : CFN_WAIT;
}

static bool table_create(struct cfn_unit *u)
{
	static const char *const names[] = {"VpcId", NULL};
	json_t *in = json_new_object(u->arena), *out;

	cfn_copy_props(u, in, names);
	if (!cfn_invoke_tree(u, "ec2", "CreateRouteTable",
			     cfn_tagged(u, "route-table", in), &out))
		return false;
	cfn_set_physical(u, json_str_or(out, "RouteTable.RouteTableId", ""));
	cfn_set_attr(u, "RouteTableId", cfn_physical(u));
	return true;
}

static bool table_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "ec2", "DeleteRouteTable", NULL, "{s:s}", "RouteTableId",
			  cfn_physical(u));
}

static bool route_create(struct cfn_unit *u)
{
	static const char *const names[] = {"RouteTableId", "DestinationCidrBlock",
					    "GatewayId", "NatGatewayId", NULL};
	json_t *in = json_new_object(u->arena);

	cfn_copy_props(u, in, names);
	if (!cfn_invoke_tree(u, "ec2", "CreateRoute", in, NULL))
		return false;
	cfn_set_physical(u, arena_printf(u->arena, "%s|%s", cfn_prop(u, "RouteTableId"),
					 cfn_prop(u, "DestinationCidrBlock")));
	cfn_set_attr(u, "CidrBlock", cfn_prop(u, "DestinationCidrBlock"));
	return true;
}

static bool route_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "ec2", "DeleteRoute", NULL, "{s:s,s:s}", "RouteTableId",
			  cfn_prop(u, "RouteTableId"), "DestinationCidrBlock",
			  cfn_prop(u, "DestinationCidrBlock"));
}

static bool association_create(struct cfn_unit *u)
{
	json_t *out;

	if (!cfn_invoke(u, "ec2", "AssociateRouteTable", &out, "{s:s,s:s}",
			"RouteTableId", cfn_prop(u, "RouteTableId"), "SubnetId",
			cfn_prop(u, "SubnetId")))
		return false;
	cfn_set_physical(u, json_str_or(out, "AssociationId", ""));
	cfn_set_attr(u, "Id", cfn_physical(u));
	return true;
}

static bool association_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "ec2", "DisassociateRouteTable", NULL, "{s:s}",
			  "AssociationId", cfn_physical(u));
}

static bool endpoint_create(struct cfn_unit *u)
{
	static const char *const names[] = {"VpcId",
					    "ServiceName",
					    "VpcEndpointType",
					    "RouteTableIds",
					    "SubnetIds",
					    "SecurityGroupIds",
					    NULL};
	json_t *in = json_new_object(u->arena), *out;

	cfn_copy_props(u, in, names);
	if (!cfn_invoke_tree(u, "ec2", "CreateVpcEndpoint",
			     cfn_tagged(u, "vpc-endpoint", in), &out))
		return false;
	cfn_set_physical(u, json_str_or(out, "VpcEndpoint.VpcEndpointId", ""));
	cfn_set_attr(u, "Id", cfn_physical(u));
	return true;
}

static bool endpoint_remove(struct cfn_unit *u)
{
	json_t *out = NULL;

	if (!cfn_invoke(u, "ec2", "DeleteVpcEndpoints", &out, "{s:[s]}", "VpcEndpointIds",
			cfn_physical(u)))
		return false;
	u->code = json_str_at(out, "Unsuccessful.0.Error.Code");
	u->message = json_str_at(out, "Unsuccessful.0.Error.Message");
	return !u->code;
}

const struct cfn_type cfn_types_ec2[] = {
	{"AWS::EC2::VPC",
	 "CidrBlock EnableDnsSupport EnableDnsHostnames InstanceTenancy Tags", 10, 2,
	 vpc_create, NULL, vpc_remove, NULL},
	{"AWS::EC2::InternetGateway", "Tags", 15, 2, igw_create, NULL, igw_remove, NULL},
	{"AWS::EC2::VPCGatewayAttachment", "VpcId* InternetGatewayId VpnGatewayId", 5, 5,
	 attachment_create, NULL, attachment_remove, NULL},
	{"AWS::EC2::Subnet",
	 "VpcId* CidrBlock AvailabilityZone AvailabilityZoneId MapPublicIpOnLaunch Tags",
	 5, 2, subnet_create, NULL, subnet_remove, NULL},
	{"AWS::EC2::EIP", "Domain Tags", 15, 2, eip_create, NULL, eip_remove, NULL},
	{"AWS::EC2::NatGateway", "AllocationId SubnetId ConnectivityType Tags", 15, 15,
	 nat_create, nat_ready, nat_remove, nat_gone},
	{"AWS::EC2::RouteTable", "VpcId* Tags", 5, 2, table_create, NULL, table_remove,
	 NULL},
	{"AWS::EC2::Route", "RouteTableId* DestinationCidrBlock GatewayId NatGatewayId",
	 5, 2, route_create, NULL, route_remove, NULL},
	{"AWS::EC2::SubnetRouteTableAssociation", "SubnetId* RouteTableId*", 5, 2,
	 association_create, NULL, association_remove, NULL},
	{"AWS::EC2::VPCEndpoint",
	 "VpcId* ServiceName VpcEndpointType RouteTableIds SubnetIds SecurityGroupIds "
	 "PrivateDnsEnabled PolicyDocument Tags",
	 5, 5, endpoint_create, NULL, endpoint_remove, NULL},
	{0},
};
