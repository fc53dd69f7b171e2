/* What decides whether a node may join: network, EFA, lifecycle scripts. */
#include <string.h>

#include "tests/cloud/ec2.h"
#include "tests/cloud/iam.h"
#include "tests/cloud/s3.h"
#include "tests/cloud/sagemaker/sagemaker.h"

static const char scripts_failed[] =
	"Lifecycle scripts did not run successfully. Ensure the scripts exist in provided S3 "
	"path, are accessible, and run without errors. Please see CloudWatch logs for lifecycle "
	"script execution details.";
static const char efa_failed[] =
	"EFA health checks did not run successfully. Ensure that your VPC and security groups are "
	"properly configured before attempting to create a new cluster.";

static const char network_failed[] =
	"Instance bootstrap failed due to network misconfiguration. Ensure that the subnet has a "
	"route to SageMaker, S3 and EKS endpoints.";

const json_t *sm_group_vpc(const json_t *cluster, const json_t *group)
{
	const json_t *own = json_object_get(group, "OverrideVpcConfig");

	return own ? own : json_object_get(cluster, "VpcConfig");
}

static bool efa_may_talk(struct sm_work *w, const json_t *vpc)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_object_get(vpc, "SecurityGroupIds"), i, v)
		if (!ec2_group_allows_itself(w->cloud, json_string_value(v)))
			return false;
	return true;
}

/*
 * The managed policy of the execution role reads only buckets called
 * sagemaker-…; a bucket of another name needs a policy of its own.
 */
static bool may_read(struct sm_work *w, const char *role_arn, const char *bucket)
{
	const json_t *role = iam_find_role(w->cloud, role_arn);
	const char *name = strrchr(role_arn, '/');
	json_t *out = NULL;
	const char *code, *message;

	if (!role || !name)
		return false;
	if (str_starts(bucket, "sagemaker-"))
		return true;
	cloud_invoke(w->cloud, w->arena, "iam", "ListRolePolicies",
		     json_packf(w->arena, "{s:s}", "RoleName", name + 1), NULL, &out,
		     &code, &message);
	return json_len_at(out, "PolicyNames") > 0;
}

const char *sm_boot_script(struct sm_work *w, const json_t *group, const char **ret_text)
{
	const char *uri = json_str_or(group, "LifeCycleConfig.SourceS3Uri", "");
	const char *bucket = "", *prefix = "", *key;
	size_t n;

	*ret_text = NULL;
	if (!s3_parse_uri(w->arena, uri, &bucket, &prefix))
		return uri;
	n = strlen(prefix);
	key = arena_printf(w->arena, "%s%s%s", prefix,
			   n > 0 && prefix[n - 1] != '/' ? "/" : "",
			   json_str_or(group, "LifeCycleConfig.OnCreate", ""));
	if (may_read(w, json_str_or(group, "ExecutionRole", ""), bucket))
		*ret_text = s3_object_text(w->cloud, bucket, key);
	return arena_printf(w->arena, "s3://%s/%s", bucket, key);
}

const char *sm_boot_failure(struct sm_work *w, const json_t *group, const json_t *node,
			    bool *ret_scripts_ran)
{
	const struct ec2_type *type =
		ec2_type_find(json_str_or(node, "InstanceType", ""));
	const char *setting =
		json_str_or(cloud_settings(w->cloud), "lifecycle_script", "ok");

	const char *text;

	*ret_scripts_ran = false;
	/* Checked before any script runs: then no log stream will ever exist. */
	if (type && type->efas > 0 && !efa_may_talk(w, sm_group_vpc(w->cluster, group)))
		return efa_failed;
	if (!ec2_way_out(w->cloud, json_str_or(node, "_subnet", "")))
		return network_failed;
	*ret_scripts_ran = true;
	sm_boot_script(w, group, &text);
	/* Windows' line ends make the kernel look for "bash\r". */
	if (streq(setting, "fail") || !text || strstr(text, "\r\n"))
		return scripts_failed;
	return NULL;
}

/* A subnet of the group that has room, and the type, tried in order. */
static const char *subnet_with_room(struct sm_work *w, const json_t *vpc, int addresses)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_object_get(vpc, "Subnets"), i, v)
		if (ec2_free_addresses(w->cloud, json_string_value(v)) >= addresses)
			return json_string_value(v);
	return NULL;
}

bool sm_boot_interface(struct sm_work *w, const json_t *group, json_t *node,
		       const char **ret_why)
{
	const struct ec2_type *type = ec2_type_find(sm_group_type(group));
	const json_t *vpc = sm_group_vpc(w->cluster, group);
	const char *logical = json_str_or(node, "NodeLogicalId", "");
	/* Every network card takes an address; the CNI takes a prefix more. */
	int addresses = type ? type->cards + 16 : 17;
	struct ec2_interface_spec spec = {
		.subnet_id = subnet_with_room(w, vpc, addresses),
		.groups = json_object_get(vpc, "SecurityGroupIds"),
		.description = arena_printf(w->arena, "sagemaker-cluster %s %s", w->name,
					    logical),
		.type = type && type->efas > 0 ? "efa" : NULL,
		.owner = arena_printf(w->arena, "sagemaker:%s/%s", w->name, logical),
		.addresses = addresses,
	};
	const char *eni =
		spec.subnet_id ? ec2_create_interface(w->cloud, w->arena, &spec) : NULL;
	const json_t *row = eni ? ec2_interface(w->cloud, eni) : NULL;
	struct ec2_zone zone;

	if (!eni) {
		*ret_why =
			"Customer ENI creation failed: the subnets do not have enough free "
			"addresses (InsufficientFreeAddressesInSubnet).";
		return false;
	}
	json_put_str(node, "_eni", eni);
	json_put_str(node, "_subnet", spec.subnet_id);
	json_put_str(node, "PrivatePrimaryIp", json_str_at(row, "PrivateIpAddress"));
	json_put_str(node, "PrivateDnsHostname", json_str_at(row, "PrivateDnsName"));
	if (ec2_find_zone(w->cloud,
			  json_str_or(ec2_subnet(w->cloud, spec.subnet_id),
				      "AvailabilityZone", ""),
			  &zone)) {
		json_put_str(node, "Placement.AvailabilityZone", zone.name);
		json_put_str(node, "Placement.AvailabilityZoneId", zone.id);
	}
	return true;
}

void sm_boot_detach(struct sm_work *w, json_t *node)
{
	ec2_delete_interface(w->cloud, json_str_or(node, "_eni", ""));
	json_drop(node, "_eni");
	json_drop(node, "_subnet");
}
