/* The simulated cloud elsewhere: zones near towns, and another partition. */
#include "tests/unit/cloud_lab.h"

static const char *trust_of(const char *service)
{
	static char text[256];

	snprintf(text, sizeof(text),
		 "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\","
		 "\"Principal\":{\"Service\":\"%s\"},\"Action\":\"sts:AssumeRole\"}]}",
		 service);
	return text;
}

static const char *names(struct lab *l, const json_t *zones)
{
	const char *all = "";
	size_t i;
	json_t *z;

	json_array_foreach(json_at(zones, "AvailabilityZones"), i, z)
		all = arena_printf(&l->arena, "%s%s=%s ", all,
				   json_str_or(z, "ZoneName", ""),
				   json_str_or(z, "ZoneType", ""));
	return all;
}

#define PLAIN                                                                            \
	"us-west-2a=availability-zone us-west-2b=availability-zone "                     \
	"us-west-2c=availability-zone us-west-2d=availability-zone "
#define EDGE "us-west-2-lax-1a=local-zone us-west-2-wl1-las-wlz-1=wavelength-zone "

Test(cloud_regions, zones_near_towns_are_listed_once_the_account_has_opted_in)
{
	const char *vpc;
	struct lab l;

	lab_start(&l);
	cr_expect_str_eq(
		names(&l, lab_call(&l, "ec2", "DescribeAvailabilityZones", "{}")),
		PLAIN EDGE);
	cr_expect_str_eq(names(&l, lab_call(&l, "ec2", "DescribeAvailabilityZones",
					    "{s:b}", "AllAvailabilityZones", 1)),
			 PLAIN "us-west-2-den-1a=local-zone " EDGE);
	cr_expect_str_eq(names(&l, lab_call(&l, "ec2", "DescribeAvailabilityZones",
					    "{s:[{s:s,s:[s]}]}", "Filters", "Name",
					    "zone-type", "Values", "local-zone")),
			 "us-west-2-lax-1a=local-zone ");
	vpc = json_str_at(
		lab_call(&l, "ec2", "CreateVpc", "{s:s}", "CidrBlock", "10.0.0.0/16"),
		"Vpc.VpcId");
	cr_expect_not_null(lab_try(&l, "ec2", "CreateSubnet", "{s:s,s:s,s:s}", "VpcId",
				   vpc, "CidrBlock", "10.0.1.0/24", "AvailabilityZoneId",
				   "usw2-lax1-az1"),
			   "%s", l.message);
	cr_expect_null(lab_try(&l, "ec2", "CreateSubnet", "{s:s,s:s,s:s}", "VpcId", vpc,
			       "CidrBlock", "10.0.2.0/24", "AvailabilityZone",
			       "us-west-2-den-1a"));
	cr_expect_str_eq(l.code, "InvalidParameterValue", "not opted in");
	lab_stop(&l);
}

Test(cloud_regions, arns_hosts_and_regions_are_of_the_partition)
{
	static const struct {
		const char *region, *partition, *suffix, *other;
	} rows[] = {
		{"us-west-2", "aws", "amazonaws.com", "cn-north-1"},
		{"cn-north-1", "aws-cn", "amazonaws.com.cn", "us-west-2"},
		{"us-gov-west-1", "aws-us-gov", "amazonaws.com", "us-west-2"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *here = rows[i].region, *role, *text;
		struct lab l;

		lab_start_in(&l, here);
		role = json_str_at(lab_call(&l, "iam", "CreateRole", "{s:s,s:s}",
					    "RoleName", "eks", "AssumeRolePolicyDocument",
					    trust_of("eks.amazonaws.com")),
				   "Role.Arn");
		cr_expect_str_eq(role, arena_printf(&l.arena,
						    "arn:%s:iam::111122223333:role/eks",
						    rows[i].partition));
		/* AWS's own policies have the partition's name, and no other. */
		for (int own = 0; own < 2; own++)
			cr_expect_eq(lab_try(&l, "iam", "AttachRolePolicy", "{s:s,s:s}",
					     "RoleName", "eks", "PolicyArn",
					     arena_printf(&l.arena,
							  "arn:%s:iam::aws:policy/"
							  "AmazonEKSClusterPolicy",
							  own ? rows[i].partition
							      : "aws-iso")) != NULL,
				     own, "%s: %s", here, l.message);
		text = json_text(&l.arena, lab_call(&l, "ec2", "DescribeRegions", "{}"));
		cr_expect(strstr(text, arena_printf(&l.arena, "ec2.%s.%s\"", here,
						    rows[i].suffix)),
			  "%s", text);
		cr_expect_not(strstr(text, rows[i].other), "%s", text);
		cr_expect(strstr(
			names(&l, lab_call(&l, "ec2", "DescribeAvailabilityZones", "{}")),
			arena_printf(&l.arena, "%sa=availability-zone", here)));
		lab_stop(&l);
	}
}
