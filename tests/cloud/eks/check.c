/* What EKS looks at before it makes a cluster. */
#include "tests/cloud/ec2.h"
#include "tests/cloud/eks/eks.h"
#include "tests/cloud/iam.h"

static bool bad(struct cloud_call *c, const char *message)
{
	return cloud_fault(c, "InvalidParameterException", "%s", message);
}

static bool check_role(struct cloud_call *c)
{
	const char *arn = json_str_or(c->in, "roleArn", "");

	if (!cloud_arn_is(c->cloud, arn, "iam"))
		return bad(c, "The role ARN is not valid.");
	if (iam_role_assumable(c->cloud, arn, "eks.amazonaws.com"))
		return true;
	return bad(c,
		   arena_printf(
			   c->arena,
			   "Role with arn: %s, could not be assumed because it does not "
			   "exist or the trusted entity is not correct",
			   arn));
}

/* Besides what EC2's table says, tests may close zones. */
static bool zone_is_closed(struct cloud_call *c, const struct ec2_zone *z)
{
	const json_t *more =
		json_object_get(cloud_settings(c->cloud), "eks_unsupported_zones");
	size_t i;
	json_t *v;

	json_array_foreach(more, i, v)
		if (streq(json_string_value(v), z->name) ||
		    streq(json_string_value(v), z->id))
			return true;
	return !z->takes_eks;
}

static bool refuse_zone(struct cloud_call *c, const char *zone)
{
	struct ec2_zone zones[EC2_ZONES_MAX];
	size_t n = ec2_zones(c->cloud, zones);
	json_t *valid = json_new_list(c->arena);
	const char *names = "";

	for (size_t i = 0; i < n; i++) {
		if (zone_is_closed(c, &zones[i]))
			continue;
		json_push(valid, json_string(zones[i].name));
		names = arena_printf(c->arena, "%s%s%s", names, names[0] ? ", " : "",
				     zones[i].name);
	}
	cloud_fault(
		c, "UnsupportedAvailabilityZoneException",
		"Cannot create cluster '%s' because EKS does not support creating control "
		"plane instances in %s, the targeted availability zone. Retry cluster "
		"creation using control plane subnets that span at least two of these "
		"availability zones: %s.",
		json_str_or(c->in, "name", ""), zone, names);
	c->fault_members =
		json_packf(c->arena, "{s:s,s:O}", "clusterName",
			   json_str_or(c->in, "name", ""), "validZones", valid);
	return false;
}

static bool check_subnets(struct cloud_call *c, const char **ret_vpc)
{
	const json_t *ids = json_at(c->in, "resourcesVpcConfig.subnetIds");
	const char *zone = NULL, *vpc = NULL;
	bool two = false;
	size_t i;
	json_t *v;

	json_array_foreach(ids, i, v) {
		const json_t *s = ec2_subnet(c->cloud, json_string_value(v));
		const char *az = json_str_or(s, "AvailabilityZone", "");
		const char *in = json_str_or(s, "VpcId", "");
		struct ec2_zone z;

		if (!s)
			return bad(c, arena_printf(c->arena,
						   "The subnet ID '%s' does not exist",
						   json_string_value(v)));
		if (ec2_find_zone(c->cloud, az, &z) && zone_is_closed(c, &z))
			return refuse_zone(c, az);
		if (vpc && !streq(vpc, in))
			return bad(c, "Subnets specified must be in the same VPC");
		two = two || (zone && !streq(zone, az));
		zone = zone ? zone : az;
		vpc = vpc ? vpc : in;
	}
	if (!two)
		return bad(c, "Subnets specified must be in at least two different AZs");
	*ret_vpc = vpc;
	return true;
}

static bool check_groups(struct cloud_call *c, const char *vpc)
{
	const json_t *ids = json_at(c->in, "resourcesVpcConfig.securityGroupIds");
	size_t i;
	json_t *v;

	if (json_array_size(ids) > 5)
		return bad(c, "You can specify up to five security groups");
	json_array_foreach(ids, i, v) {
		const json_t *g = ec2_group(c->cloud, json_string_value(v));

		if (!g)
			return bad(c,
				   arena_printf(c->arena,
						"The security group '%s' does not exist",
						json_string_value(v)));
		if (!streq(json_str_at(g, "VpcId"), vpc))
			return bad(
				c,
				arena_printf(c->arena,
					     "Security group(s) [%s] are not in the same "
					     "VPC as the subnets",
					     json_string_value(v)));
	}
	return true;
}

bool eks_check_cluster(struct cloud_call *c, const char **ret_vpc)
{
	const char *version = json_str_or(c->in, "version", eks_default_version());

	if (!eks_version_known(version))
		return bad(c, arena_printf(c->arena, "unsupported Kubernetes version %s",
					   version));
	return check_role(c) && check_subnets(c, ret_vpc) && check_groups(c, *ret_vpc);
}
