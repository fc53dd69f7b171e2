/*
 * Networks of the simulated cloud: what depends on what, in AWS's words. Each
 * case is a script of calls; "$x" stands for an id that a step before has kept.
 */
#include "tests/cloud/ec2.h"
#include "tests/unit/cloud_lab.h"

struct step {
	const char *op, *in;
	const char *code;        /* NULL: it succeeds */
	const char *keep;        /* "name=path": kept for later steps */
	const char *path, *want; /* the answer's text there */
	int wait_s;              /* before the call */
};

/* The input with every "$name" replaced. */
static json_t *input_of(struct lab *l, const json_t *kept, const char *text)
{
	struct err e = {0};
	struct buf b;

	buf_init(&b, &l->arena, 1 << 16);
	while (*text) {
		if (*text != '$') {
			buf_addc(&b, *text++);
			continue;
		}
		size_t n = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz0123456789");

		buf_adds(&b,
			 json_str_or(kept, arena_strndup(&l->arena, text + 1, n), "?"));
		text += n + 1;
	}
	json_t *in = json_parse(&l->arena, buf_str(&b), &e);

	cr_assert_not_null(in, "%s: %s", buf_cstr(&b), e.detail);
	return in;
}

static void keep_id(struct lab *l, json_t *kept, const char *keep, const json_t *out)
{
	struct str rest = str_of(keep);
	const char *name = str_dup(&l->arena, str_cut(&rest, '='));
	const char *id = json_str_at(out, rest.p);

	cr_assert_not_null(id, "%s of %s", keep, json_text(&l->arena, out));
	json_put_str(kept, name, id);
}

static void play(struct lab *l, json_t *kept, const struct step *step)
{
	for (; step->op; step++) {
		json_t *in = input_of(l, kept, step->in), *out = NULL;

		if (step->wait_s)
			lab_wait(l, step->wait_s * 1000);
		bool ok = cloud_invoke(l->cloud, &l->arena, "ec2", step->op, in, NULL,
				       &out, &l->code, &l->message);

		cr_assert(streq(ok ? "ok" : l->code, step->code ? step->code : "ok"),
			  "%s %s: %s: %s", step->op, json_text(&l->arena, in),
			  ok ? "ok" : l->code, ok ? "" : l->message);
		if (step->keep)
			keep_id(l, kept, step->keep, out);
		if (step->path)
			cr_assert(streq(json_str_at(out, step->path), step->want),
				  "%s: %s is %s, not %s", step->op, step->path,
				  json_str_or(out, step->path, "absent"), step->want);
	}
}

#define V "\"VpcId\":\"$vpc\""

static const struct step build[] = {
	{.op = "CreateVpc",
	 .in = "{\"CidrBlock\":\"10.0.0.0/8\"}",
	 .code = "InvalidVpc.Range"},
	{.op = "CreateVpc",
	 .in = "{\"CidrBlock\":\"10.0.0/16\"}",
	 .code = "InvalidParameterValue"},
	{.op = "CreateVpc",
	 .in = "{\"CidrBlock\":\"10.0.0.0/16\",\"TagSpecifications\":[{\"ResourceType\":\"subnet\","
	       "\"Tags\":[{\"Key\":\"a\",\"Value\":\"b\"}]}]}",
	 .code = "InvalidParameterValue"},
	{.op = "CreateVpc",
	 .in = "{\"CidrBlock\":\"10.0.7.9/16\"}",
	 .keep = "vpc=Vpc.VpcId",
	 .path = "Vpc.CidrBlock",
	 .want = "10.0.0.0/16"},
	{.op = "DescribeVpcs",
	 .in = "{\"VpcIds\":[\"$vpc\"]}",
	 .path = "Vpcs.0.State",
	 .want = "available",
	 .wait_s = 5},
	{.op = "DescribeVpcs",
	 .in = "{\"VpcIds\":[\"vpc-0123456789abcdef0\"]}",
	 .code = "InvalidVpcID.NotFound"},
	{.op = "DescribeVpcs",
	 .in = "{\"VpcIds\":[\"subnet-1\"]}",
	 .code = "InvalidVpcID.Malformed"},
	/* The spelling of its own that each has. */
	{.op = "DescribeSubnets",
	 .in = "{\"SubnetIds\":[\"x\"]}",
	 .code = "InvalidSubnetID.Malformed"},
	{.op = "DescribeRouteTables",
	 .in = "{\"RouteTableIds\":[\"x\"]}",
	 .code = "InvalidRouteTableId.Malformed"},
	{.op = "DescribeSecurityGroups",
	 .in = "{\"GroupIds\":[\"x\"]}",
	 .code = "InvalidGroupId.Malformed"},
	{.op = "DescribeInternetGateways",
	 .in = "{\"InternetGatewayIds\":[\"x\"]}",
	 .code = "InvalidInternetGatewayId.Malformed"},
	{.op = "DescribeNatGateways",
	 .in = "{\"NatGatewayIds\":[\"x\"]}",
	 .code = "NatGatewayMalformed"},
	{.op = "DescribeVpcs",
	 .in = "{\"Filters\":[{\"Name\":\"colour\",\"Values\":[\"red\"]}]}",
	 .code = "InvalidParameterValue"},
	{.op = "CreateSubnet",
	 .in = "{" V ",\"CidrBlock\":\"10.1.0.0/24\"}",
	 .code = "InvalidSubnet.Range"},
	{.op = "CreateSubnet",
	 .in = "{" V ",\"CidrBlock\":\"10.0.0.0/29\"}",
	 .code = "InvalidSubnet.Range"},
	{.op = "CreateSubnet",
	 .in = "{" V
	       ",\"CidrBlock\":\"10.0.1.0/28\",\"AvailabilityZone\":\"us-east-1a\"}",
	 .code = "InvalidParameterValue"},
	{.op = "CreateSubnet",
	 .in = "{" V
	       ",\"CidrBlock\":\"10.0.1.0/28\",\"AvailabilityZoneId\":\"usw2-az3\"}",
	 .keep = "sub=Subnet.SubnetId",
	 .path = "Subnet.AvailabilityZone",
	 .want = "us-west-2c"},
	{.op = "CreateSubnet",
	 .in = "{" V ",\"CidrBlock\":\"10.0.0.0/23\"}",
	 .code = "InvalidSubnet.Conflict"},
	{.op = "CreateSubnet",
	 .in = "{" V ",\"CidrBlock\":\"100.64.0.0/20\"}",
	 .code = "InvalidSubnet.Range"},
	{.op = "AssociateVpcCidrBlock",
	 .in = "{" V ",\"CidrBlock\":\"10.0.128.0/17\"}",
	 .code = "InvalidVpc.Range"},
	{.op = "AssociateVpcCidrBlock",
	 .in = "{" V ",\"CidrBlock\":\"100.64.0.0/16\"}",
	 .keep = "cidr=CidrBlockAssociation.AssociationId"},
	{.op = "CreateSubnet",
	 .in = "{" V ",\"CidrBlock\":\"100.64.0.0/20\"}",
	 .keep = "sub2=Subnet.SubnetId",
	 .wait_s = 5},
	{.op = "DisassociateVpcCidrBlock",
	 .in = "{\"AssociationId\":\"$cidr\"}",
	 .code = "DependencyViolation"},
	{.op = "CreateInternetGateway",
	 .in = "{}",
	 .keep = "igw=InternetGateway.InternetGatewayId"},
	{.op = "CreateRouteTable",
	 .in = "{" V ",\"ClientToken\":\"t\"}",
	 .keep = "rtb=RouteTable.RouteTableId"},
	{.op = "CreateRouteTable",
	 .in = "{" V ",\"ClientToken\":\"t\"}",
	 .keep = "again=RouteTable.RouteTableId"},
	{.op = "CreateRouteTable",
	 .in = "{" V ",\"ClientToken\":\"t\",\"TagSpecifications\":[{\"ResourceType\":"
	       "\"route-table\",\"Tags\":[{\"Key\":\"a\",\"Value\":\"b\"}]}]}",
	 .code = "IdempotentParameterMismatch"},
	{.op = "CreateRoute",
	 .in = "{\"RouteTableId\":\"$rtb\",\"DestinationCidrBlock\":\"0.0.0.0/0\",\"GatewayId\":"
	       "\"$igw\"}",
	 .code = "InvalidParameterValue"},
	{.op = "AttachInternetGateway", .in = "{" V ",\"InternetGatewayId\":\"$igw\"}"},
	{.op = "AttachInternetGateway",
	 .in = "{" V ",\"InternetGatewayId\":\"$igw\"}",
	 .code = "Resource.AlreadyAssociated"},
	{.op = "CreateRoute",
	 .in = "{\"RouteTableId\":\"$rtb\",\"DestinationCidrBlock\":\"0.0.0.0/0\",\"GatewayId\":"
	       "\"$igw\"}"},
	{.op = "CreateRoute",
	 .in = "{\"RouteTableId\":\"$rtb\",\"DestinationCidrBlock\":\"0.0.0.0/0\",\"GatewayId\":"
	       "\"$igw\"}",
	 .code = "RouteAlreadyExists"},
	{.op = "AssociateRouteTable",
	 .in = "{\"RouteTableId\":\"$rtb\",\"SubnetId\":\"$sub\"}",
	 .keep = "assoc=AssociationId"},
	{.op = "AllocateAddress", .in = "{}", .keep = "eip=AllocationId"},
	{.op = "CreateNatGateway",
	 .in = "{\"SubnetId\":\"$sub\"}",
	 .code = "MissingParameter"},
	{.op = "CreateNatGateway",
	 .in = "{\"SubnetId\":\"$sub\",\"AllocationId\":\"$eip\"}",
	 .keep = "nat=NatGateway.NatGatewayId",
	 .path = "NatGateway.State",
	 .want = "pending"},
	{.op = "CreateNatGateway",
	 .in = "{\"SubnetId\":\"$sub\",\"AllocationId\":\"$eip\"}",
	 .keep = "bad=NatGateway.NatGatewayId"},
	{.op = "DescribeNatGateways",
	 .in = "{\"NatGatewayIds\":[\"$nat\"]}",
	 .path = "NatGateways.0.State",
	 .want = "available",
	 .wait_s = 65},
	{.op = "DescribeNatGateways",
	 .in = "{\"NatGatewayIds\":[\"$bad\"]}",
	 .path = "NatGateways.0.FailureCode",
	 .want = "Resource.AlreadyAssociated"},
	{.op = "ReleaseAddress",
	 .in = "{\"AllocationId\":\"$eip\"}",
	 .code = "InvalidIPAddress.InUse"},
	{.op = "CreateSecurityGroup",
	 .in = "{" V ",\"GroupName\":\"g\",\"Description\":\"d\"}",
	 .keep = "sg=GroupId"},
	{.op = "CreateSecurityGroup",
	 .in = "{" V ",\"GroupName\":\"g\",\"Description\":\"d\"}",
	 .code = "InvalidGroup.Duplicate"},
	{.op = "AuthorizeSecurityGroupIngress",
	 .in = "{\"GroupId\":\"$sg\",\"IpPermissions\":[{\"IpProtocol\":\"-1\","
	       "\"UserIdGroupPairs\":[{\"GroupId\":\"$sg\"}]}]}",
	 .keep = "rule=SecurityGroupRules.0.SecurityGroupRuleId"},
	{.op = "AuthorizeSecurityGroupIngress",
	 .in = "{\"GroupId\":\"$sg\",\"IpPermissions\":[{\"IpProtocol\":\"tcp\",\"FromPort\":443,"
	       "\"ToPort\":443,\"IpRanges\":[{\"CidrIp\":\"10.0.0.0/16\"}]},{\"IpProtocol\":\"-1\","
	       "\"UserIdGroupPairs\":[{\"GroupId\":\"$sg\"}]}]}",
	 .code = "InvalidPermission.Duplicate"},
	{.op = "AuthorizeSecurityGroupEgress",
	 .in = "{\"GroupId\":\"$sg\",\"IpPermissions\":[{\"IpProtocol\":\"-1\",\"IpRanges\":[{"
	       "\"CidrIp\":\"0.0.0.0/0\"}]}]}",
	 .code = "InvalidPermission.Duplicate"},
	{.op = "CreateVpcEndpoint",
	 .in = "{" V ",\"ServiceName\":\"com.amazonaws.us-west-2.nothing\"}",
	 .code = "InvalidServiceName"},
	{.op = "CreateVpcEndpoint",
	 .in = "{" V
	       ",\"ServiceName\":\"com.amazonaws.us-west-2.s3\",\"RouteTableIds\":[\"$rtb\"]}",
	 .keep = "s3=VpcEndpoint.VpcEndpointId"},
	{.op = "CreateVpcEndpoint",
	 .in = "{" V
	       ",\"ServiceName\":\"com.amazonaws.us-west-2.s3\",\"RouteTableIds\":[\"$rtb\"]}",
	 .code = "RouteAlreadyExists"},
	{.op = "CreateVpcEndpoint",
	 .in = "{" V
	       ",\"ServiceName\":\"com.amazonaws.us-west-2.sts\",\"VpcEndpointType\":"
	       "\"Interface\",\"SubnetIds\":[\"$sub\"],\"SecurityGroupIds\":[\"$sg\"]}",
	 .code = "InvalidParameter"},
	{.op = "ModifyVpcAttribute",
	 .in = "{" V ",\"EnableDnsHostnames\":{\"Value\":true}}"},
	{.op = "CreateVpcEndpoint",
	 .in = "{" V
	       ",\"ServiceName\":\"com.amazonaws.us-west-2.sts\",\"VpcEndpointType\":"
	       "\"Interface\",\"SubnetIds\":[\"$sub\"],\"SecurityGroupIds\":[\"$sg\"]}",
	 .keep = "sts=VpcEndpoint.VpcEndpointId"},
	{.op = NULL},
};

static const struct step tear_down[] = {
	{.op = "DeleteVpc", .in = "{" V "}", .code = "DependencyViolation"},
	{.op = "DeleteSubnet",
	 .in = "{\"SubnetId\":\"$sub\"}",
	 .code = "DependencyViolation"},
	{.op = "DeleteSecurityGroup",
	 .in = "{\"GroupId\":\"$sg\"}",
	 .code = "DependencyViolation"},
	{.op = "DeleteRouteTable",
	 .in = "{\"RouteTableId\":\"$rtb\"}",
	 .code = "DependencyViolation"},
	{.op = "DetachInternetGateway",
	 .in = "{" V ",\"InternetGatewayId\":\"$igw\"}",
	 .code = "DependencyViolation"},
	{.op = "DeleteInternetGateway",
	 .in = "{\"InternetGatewayId\":\"$igw\"}",
	 .code = "DependencyViolation"},
	{.op = "DeleteVpcEndpoints",
	 .in = "{\"VpcEndpointIds\":[\"$s3\",\"$sts\",\"vpce-0123456789abcdef0\"]}",
	 .path = "Unsuccessful.0.ResourceId",
	 .want = "vpce-0123456789abcdef0"},
	{.op = "DeleteNatGateway", .in = "{\"NatGatewayId\":\"$nat\"}"},
	{.op = "DescribeNatGateways",
	 .in = "{\"NatGatewayIds\":[\"$nat\"]}",
	 .path = "NatGateways.0.State",
	 .want = "deleting",
	 .wait_s = 5},
	{.op = "ReleaseAddress",
	 .in = "{\"AllocationId\":\"$eip\"}",
	 .code = "InvalidIPAddress.InUse"},
	{.op = "DescribeNatGateways",
	 .in = "{\"NatGatewayIds\":[\"$nat\"]}",
	 .path = "NatGateways.0.State",
	 .want = "deleted",
	 .wait_s = 60},
	{.op = "ReleaseAddress", .in = "{\"AllocationId\":\"$eip\"}"},
	{.op = "DescribeRouteTables",
	 .in = "{\"RouteTableIds\":[\"$rtb\"]}",
	 .path = "RouteTables.0.Routes.2.State",
	 .want = "active"},
	{.op = "DetachInternetGateway", .in = "{" V ",\"InternetGatewayId\":\"$igw\"}"},
	{.op = "DescribeRouteTables",
	 .in = "{\"RouteTableIds\":[\"$rtb\"]}",
	 .path = "RouteTables.0.Routes.2.State",
	 .want = "blackhole"},
	{.op = "DeleteInternetGateway", .in = "{\"InternetGatewayId\":\"$igw\"}"},
	{.op = "DeleteInternetGateway",
	 .in = "{\"InternetGatewayId\":\"$igw\"}",
	 .code = "InvalidInternetGatewayID.NotFound"},
	{.op = "DisassociateRouteTable", .in = "{\"AssociationId\":\"$assoc\"}"},
	{.op = "DeleteRouteTable", .in = "{\"RouteTableId\":\"$rtb\"}"},
	{.op = "DeleteSubnet", .in = "{\"SubnetId\":\"$sub\"}"},
	{.op = "DeleteSubnet", .in = "{\"SubnetId\":\"$sub2\"}"},
	{.op = "DisassociateVpcCidrBlock", .in = "{\"AssociationId\":\"$cidr\"}"},
	{.op = "DeleteSecurityGroup", .in = "{\"GroupId\":\"$sg\"}"},
	{.op = "DescribeSecurityGroupRules",
	 .in = "{\"SecurityGroupRuleIds\":[\"$rule\"]}",
	 .code = "InvalidSecurityGroupRuleId.NotFound"},
	{.op = "DeleteVpc", .in = "{" V "}"},
	{.op = "DeleteVpc", .in = "{" V "}", .code = "InvalidVpcID.NotFound"},
	{.op = NULL},
};

Test(ec2, a_network_is_built_and_taken_down_in_order)
{
	static const char *const tables[] = {
		"ec2.vpc",      "ec2.subnet",      "ec2.group", "ec2.rule",
		"ec2.igw",      "ec2.address",     "ec2.nat",   "ec2.interface",
		"ec2.endpoint", "ec2.route_table",
	};
	struct lab l;

	lab_start(&l);
	json_t *kept = json_new_object(&l.arena);

	play(&l, kept, build);
	const char *sub = json_str_at(kept, "sub");

	/* 16 addresses, 5 reserved; a NAT gateway and an endpoint have one each. */
	cr_expect_eq(ec2_free_addresses(l.cloud, sub), 9);
	cr_expect_str_eq(ec2_way_out(l.cloud, sub), "igw");
	cr_expect_null(ec2_way_out(l.cloud, json_str_at(kept, "sub2")));
	cr_expect_str_eq(json_str_at(kept, "rtb"), json_str_at(kept, "again"));
	play(&l, kept, tear_down);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		cr_expect_eq(lab_rows(&l, tables[i]), streq(tables[i], "ec2.nat") ? 2 : 0,
			     "%s: %zu", tables[i], lab_rows(&l, tables[i]));
	lab_stop(&l);
}

Test(ec2, lists_lag_behind_and_ids_do_for_a_while)
{
	static const struct {
		int after_ms;
		const char *by_id;
		bool listed;
	} row[] = {
		{0, "InvalidVpcID.NotFound", false},
		{14000, "InvalidVpcID.NotFound", false},
		{15000, "ok", false},
		{59000, "ok", false},
		{60000, "ok", true},
	};
	struct lab l;

	lab_start(&l);
	cloud_configure(l.cloud, json_packf(&l.arena, "{s:i}", "list_lag_ms", 60000));
	json_t *vpc =
		lab_call(&l, "ec2", "CreateVpc", "{s:s,s:[{s:s,s:[{s:s,s:s}]}]}",
			 "CidrBlock", "10.0.0.0/16", "TagSpecifications", "ResourceType",
			 "vpc", "Tags", "Key", "k", "Value", "some-v");
	const char *id = json_str_at(vpc, "Vpc.VpcId");
	int64_t start = l.clock.wall;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		clock_manual_advance(&l.clock, start + row[i].after_ms - l.clock.wall);
		cloud_advance(l.cloud);
		json_t *one = lab_try(&l, "ec2", "DescribeVpcs", "{s:[s]}", "VpcIds", id);

		cr_expect_str_eq(one ? "ok" : l.code, row[i].by_id, "after %d",
				 row[i].after_ms);
		json_t *all = lab_call(&l, "ec2", "DescribeVpcs", "{s:[{s:s,s:[s]}]}",
				       "Filters", "Name", "tag:k", "Values", "some-?");

		cr_expect_eq(json_len_at(all, "Vpcs") == 1, row[i].listed, "after %d",
			     row[i].after_ms);
	}
	lab_stop(&l);
}

Test(ec2, offerings_differ_by_zone_and_pages_join)
{
	struct lab l;
	const char *token = "";
	size_t n = 0, pages = 0;

	lab_start(&l);
	json_t *in = json_packf(&l.arena, "{s:s,s:[{s:s,s:[s]}]}", "LocationType",
				"availability-zone-id", "Filters", "Name",
				"instance-type", "Values", "p5.48xlarge");
	json_t *out = NULL;

	cr_assert(cloud_invoke(l.cloud, &l.arena, "ec2", "DescribeInstanceTypeOfferings",
			       in, NULL, &out, &l.code, &l.message));
	cr_expect_eq(json_len_at(out, "InstanceTypeOfferings"), 2);
	cr_expect_null(lab_try(&l, "ec2", "DescribeInstanceTypes", "{s:[s]}",
			       "InstanceTypes", "ml.p5.48xlarge"));
	cr_expect_str_eq(l.code, "InvalidInstanceType");
	while (token) {
		out = *token ? lab_call(&l, "ec2", "DescribeInstanceTypes", "{s:i,s:s}",
					"MaxResults", 7, "NextToken", token)
			     : lab_call(&l, "ec2", "DescribeInstanceTypes", "{s:i}",
					"MaxResults", 7);
		n += json_len_at(out, "InstanceTypes");
		pages++;
		token = json_str_at(out, "NextToken");
	}
	cr_expect(n > 50 && pages == (n + 6) / 7, "%zu types on %zu pages", n, pages);
	cr_expect_null(lab_try(&l, "ec2", "DescribeInstanceTypes", "{s:i,s:s}",
			       "MaxResults", 7, "NextToken", "0000000000000000"));
	cr_expect_eq(ec2_type_find("ml.p5.48xlarge")->efas, 32);
	cr_expect_null(ec2_type_find("ml.p9.48xlarge"));
	lab_stop(&l);
}
