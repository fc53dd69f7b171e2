/* What SageMaker refuses before it makes or changes a cluster. */
#include <string.h>

#include "tests/cloud/ec2.h"
#include "tests/cloud/iam.h"
#include "tests/cloud/sagemaker/sagemaker.h"

static bool bad(struct cloud_call *c, const char *message)
{
	return cloud_fault(c, "ValidationException", "%s", message);
}

static bool check_eks(struct cloud_call *c, const char **ret_vpc)
{
	const char *arn = json_str_at(c->in, "Orchestrator.Eks.ClusterArn");
	const char *slash = arn ? strrchr(arn, '/') : NULL;
	const json_t *eks = slash ? cloud_get(c->cloud, "eks.cluster", slash + 1) : NULL;

	if (!arn)
		return bad(c, "Only clusters orchestrated by EKS are simulated.");
	if (!eks || !streq(json_str_at(eks, "arn"), arn))
		return bad(c,
			   arena_printf(c->arena, "EKS cluster %s does not exist.", arn));
	if (!streq(json_str_at(eks, "status"), "ACTIVE"))
		return bad(c,
			   arena_printf(c->arena,
					"EKS cluster %s is not in ACTIVE status.", arn));
	if (streq(json_str_at(eks, "accessConfig.authenticationMode"), "CONFIG_MAP"))
		return bad(
			c,
			arena_printf(
				c->arena,
				"The authentication mode of EKS cluster %s must be API "
				"or API_AND_CONFIG_MAP.",
				arn));
	*ret_vpc = json_str_or(eks, "resourcesVpcConfig.vpcId", "");
	return true;
}

static bool in_vpc(struct cloud_call *c, const json_t *thing, const char *id,
		   const char *vpc)
{
	if (!thing)
		return bad(c, arena_printf(c->arena, "%s does not exist.", id));
	if (streq(json_str_at(thing, "VpcId"), vpc))
		return true;
	return bad(c,
		   arena_printf(c->arena, "%s is not in %s, the VPC of the EKS cluster.",
				id, vpc));
}

static bool check_network(struct cloud_call *c, const json_t *config, const char *vpc)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_object_get(config, "Subnets"), i, v)
		if (!in_vpc(c, ec2_subnet(c->cloud, json_string_value(v)),
			    json_string_value(v), vpc))
			return false;
	json_array_foreach(json_object_get(config, "SecurityGroupIds"), i, v)
		if (!in_vpc(c, ec2_group(c->cloud, json_string_value(v)),
			    json_string_value(v), vpc))
			return false;
	return true;
}

bool sm_check_cluster(struct cloud_call *c)
{
	const json_t *vpc_config = json_object_get(c->in, "VpcConfig");
	const char *vpc = "";
	size_t i;
	json_t *g;

	if (!check_eks(c, &vpc))
		return false;
	if (!vpc_config)
		return bad(c, "VpcConfig is required for clusters orchestrated by EKS.");
	if (!check_network(c, vpc_config, vpc))
		return false;
	json_array_foreach(json_object_get(c->in, "InstanceGroups"), i, g)
		if (json_object_get(g, "OverrideVpcConfig") &&
		    !check_network(c, json_object_get(g, "OverrideVpcConfig"), vpc))
			return false;
	return true;
}

static bool check_plan(struct cloud_call *c, const json_t *g)
{
	const char *arn = json_str_at(g, "TrainingPlanArn");
	const json_t *plan = arn ? sm_plan_by_arn(c->cloud, arn) : NULL;
	const json_t *part = json_at(plan, "ReservedCapacitySummaries.0");
	const char *status = json_str_or(plan, "Status", "");

	if (!arn)
		return true;
	if (!plan)
		return bad(c, arena_printf(c->arena, "Training plan %s does not exist.",
					   arn));
	if (!streq(status, "Active") && !streq(status, "Scheduled"))
		return bad(c, arena_printf(c->arena, "Training plan %s is %s.", arn,
					   status));
	if (!streq(json_str_at(part, "InstanceType"), json_str_at(g, "InstanceType")))
		return bad(c, arena_printf(
				      c->arena,
				      "Training plan %s is for instance type %s, not %s.",
				      arn, json_str_or(part, "InstanceType", ""),
				      json_str_or(g, "InstanceType", "")));
	if (json_int_or(g, "InstanceCount", 0) >
	    json_int_or(plan, "AvailableInstanceCount", 0))
		return cloud_fault(
			c, "ResourceLimitExceeded",
			"Training plan %s has %lld instances available.", arn,
			(long long)json_int_or(plan, "AvailableInstanceCount", 0));
	return true;
}

static bool check_scripts(struct cloud_call *c, const json_t *g)
{
	const char *name = json_str_or(g, "InstanceGroupName", "");

	if (json_str_at(g, "LifeCycleConfig.SourceS3Uri") &&
	    json_str_at(g, "LifeCycleConfig.OnCreate"))
		return true;
	return bad(
		c,
		arena_printf(
			c->arena,
			"LifeCycleConfig with SourceS3Uri and OnCreate is required for "
			"instance group %s.",
			name));
}

static bool check_storage(struct cloud_call *c, const json_t *g)
{
	size_t i;
	json_t *s;

	json_array_foreach(json_object_get(g, "InstanceStorageConfigs"), i, s) {
		const json_t *ebs = json_object_get(s, "EbsVolumeConfig");
		bool root = json_bool_or(ebs, "RootVolume", false);

		if (ebs && root == (json_object_get(ebs, "VolumeSizeInGB") != NULL))
			return bad(
				c,
				"VolumeSizeInGB must be given for an additional volume and "
				"must not be given for the root volume.");
	}
	return true;
}

static bool check_group(struct cloud_call *c, const json_t *g, bool continuous)
{
	const char *role = json_str_or(g, "ExecutionRole", "");
	bool type = json_object_get(g, "InstanceType");
	bool flexible = json_object_get(g, "InstanceRequirements");

	if (type && flexible)
		return bad(
			c,
			"InstanceType and InstanceRequirements are mutually exclusive.");
	if (!continuous && (flexible || json_at(g, "CapacityRequirements.Spot")))
		return bad(
			c,
			"Spot capacity and InstanceRequirements need NodeProvisioningMode "
			"Continuous.");
	if (json_int_or(g, "MinInstanceCount", 0) > json_int_or(g, "InstanceCount", 0))
		return bad(c, "MinInstanceCount must not be larger than InstanceCount.");
	if (type && !ec2_type_find(json_str_or(g, "InstanceType", "")))
		return bad(c, arena_printf(c->arena, "Instance type %s is not supported.",
					   json_str_or(g, "InstanceType", "")));
	if (!iam_role_assumable(c->cloud, role, "sagemaker.amazonaws.com"))
		return bad(
			c,
			arena_printf(
				c->arena,
				"SageMaker cannot assume the execution role %s of "
				"instance group %s: it could not be assumed because it "
				"does not exist, or the trusted entity is not correct.",
				role, json_str_or(g, "InstanceGroupName", "")));
	return check_scripts(c, g) && check_storage(c, g) && check_plan(c, g);
}

bool sm_check_groups(struct cloud_call *c, const json_t *groups, bool continuous)
{
	size_t i;
	json_t *g;

	json_array_foreach(groups, i, g) {
		const char *name = json_str_or(g, "InstanceGroupName", "");

		if (json_find(groups, "InstanceGroupName", name) != g)
			return bad(c,
				   arena_printf(c->arena,
						"Instance group name %s is not unique.",
						name));
		if (!check_group(c, g, continuous))
			return false;
	}
	return true;
}
