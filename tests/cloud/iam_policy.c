/* Customer-managed policies and their versions; AWS's own are known by name. */
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/iam_ops.h"

enum { VERSIONS_MAX = 5 };

/* Behind "arn:PARTITION:iam::aws:policy/"; NULL: it is not one of AWS's. */
static const char *managed_name(struct cloud *c, const char *arn)
{
	struct arena a;
	const char *name = NULL;

	arena_init(&a, 0);
	const char *prefix = cloud_arn_of_aws(c, &a, "iam", "policy/");

	if (arn && str_starts(arn, prefix))
		name = arn + strlen(prefix);
	arena_free(&a);
	return name;
}

bool iam_policy_exists(struct cloud *c, const char *arn)
{
	static const char *const managed[] = {
		"AmazonEKSClusterPolicy",
		"AmazonEKSWorkerNodePolicy",
		"AmazonEKSWorkerNodeMinimalPolicy",
		"AmazonEKS_CNI_Policy",
		"AmazonEKSServicePolicy",
		"AmazonEKSVPCResourceController",
		"AmazonEKSComputePolicy",
		"AmazonEKSBlockStoragePolicy",
		"AmazonEKSLoadBalancingPolicy",
		"AmazonEKSNetworkingPolicy",
		"AmazonEC2ContainerRegistryReadOnly",
		"AmazonEC2ContainerRegistryPullOnly",
		"AmazonEC2FullAccess",
		"AmazonFSxFullAccess",
		"AmazonPrometheusRemoteWriteAccess",
		"AmazonS3FullAccess",
		"AmazonS3ReadOnlyAccess",
		"AmazonSSMManagedInstanceCore",
		"AmazonSageMakerClusterInstanceRolePolicy",
		"AmazonSageMakerFullAccess",
		"AmazonSageMakerHyperPodGatedModelAccess",
		"AmazonSageMakerHyperPodInferenceAccess",
		"AmazonSageMakerHyperPodInferenceGatewayAccess",
		"AmazonSageMakerHyperPodObservabilityAdminAccess",
		"AmazonSageMakerHyperPodTrainingOperatorAccess",
		"AmazonSageMakerPartnerAppsFullAccess",
		"CloudWatchAgentServerPolicy",
		"CloudWatchLogsFullAccess",
		"service-role/AWSLambdaBasicExecutionRole",
		"service-role/AmazonEBSCSIDriverPolicy",
		"service-role/AmazonEBSCSIDriverPolicyV2",
		"service-role/AmazonEFSCSIDriverPolicy",
		"service-role/AmazonEKSServiceRolePolicy",
		"service-role/AmazonSageMakerHyperPodServiceRolePolicy",
	};
	const char *name = managed_name(c, arn);

	if (!name)
		return cloud_get(c, "iam.policy", arn);
	for (size_t i = 0; i < sizeof(managed) / sizeof(*managed); i++)
		if (streq(managed[i], name))
			return true;
	return false;
}

void iam_count_attachment(struct cloud *c, const char *arn, int by)
{
	json_t *policy = cloud_get(c, "iam.policy", arn);

	if (policy)
		json_put_int(policy, "AttachmentCount",
			     json_int_or(policy, "AttachmentCount", 0) + by);
}

static json_t *policy_of(struct cloud_call *call)
{
	const char *arn = json_str_at(call->in, "PolicyArn");
	json_t *policy = cloud_get(call->cloud, "iam.policy", arn);

	if (!policy)
		cloud_fault(call, "NoSuchEntity", "Policy %s was not found.", arn);
	return policy;
}

static json_t *add_version(struct cloud_call *call, json_t *policy, bool is_default)
{
	json_t *versions = json_object_get(policy, "_versions"), *one;
	int64_t n = json_int_or(policy, "_next_version", 1);
	const char *id = arena_printf(call->arena, "v%d", (int)n);
	size_t i;

	if (is_default) {
		json_array_foreach(versions, i, one)
			json_put_bool(one, "IsDefaultVersion", false);
		json_put_str(policy, "DefaultVersionId", id);
	}
	json_put_int(policy, "_next_version", n + 1);
	json_array_append_new(
		versions, json_pack("{s:s, s:b, s:o, s:s}", "VersionId", id,
				    "IsDefaultVersion", is_default, "CreateDate",
				    cloud_seconds(call->now_ms / 1000 * 1000), "_text",
				    json_str_at(call->in, "PolicyDocument")));
	return json_array_get(versions, json_array_size(versions) - 1);
}

bool iam_create_policy(struct cloud_call *call, json_t **ret_out)
{
	const char *path = json_str_or(call->in, "Path", "/");
	const char *name = json_str_at(call->in, "PolicyName");
	const char *arn = iam_arn(call, "policy", path, name);
	json_t *tags = json_new_list(call->arena);

	if (cloud_get(call->cloud, "iam.policy", arn))
		return cloud_fault(
			call, "EntityAlreadyExists",
			"A policy called %s already exists. Duplicate names are "
			"not allowed.",
			name);
	if (!iam_check_document(call, json_str_at(call->in, "PolicyDocument"), false) ||
	    !iam_merge_tags(call, tags))
		return false;
	json_t *now = json_own(call->arena, cloud_seconds(call->now_ms / 1000 * 1000));
	json_t *policy = json_pack(
		"{s:s, s:s, s:s, s:s, s:i, s:i, s:b, s:O, s:O, s:O, s:[]}", "PolicyName",
		name, "PolicyId", iam_unique_id(call, "ANPA"), "Arn", arn, "Path", path,
		"AttachmentCount", 0, "PermissionsBoundaryUsageCount", 0, "IsAttachable",
		1, "CreateDate", now, "UpdateDate", now, "Tags", tags, "_versions");

	json_put_str(policy, "Description", json_str_at(call->in, "Description"));
	add_version(call, policy, true);
	cloud_put(call->cloud, "iam.policy", arn, policy);
	cloud_effect(call->cloud, "iam.policy", arn, "create");
	*ret_out =
		json_packf(call->arena, "{s:O}", "Policy", iam_view(call, policy, NULL));
	return true;
}

bool iam_get_policy(struct cloud_call *call, json_t **ret_out)
{
	const char *arn = json_str_at(call->in, "PolicyArn");

	if (managed_name(call->cloud, arn) && iam_policy_exists(call->cloud, arn)) {
		*ret_out = json_packf(call->arena, "{s:{s:s, s:s, s:s, s:b}}", "Policy",
				      "PolicyName", strrchr(arn, '/') + 1, "Arn", arn,
				      "DefaultVersionId", "v1", "IsAttachable", 1);
		return true;
	}
	json_t *policy = policy_of(call);

	if (!policy)
		return false;
	*ret_out =
		json_packf(call->arena, "{s:O}", "Policy", iam_view(call, policy, NULL));
	return true;
}

bool iam_delete_policy(struct cloud_call *call, json_t **ret_out)
{
	json_t *policy = policy_of(call);
	const char *arn = json_str_at(call->in, "PolicyArn");

	(void)ret_out;
	if (!policy)
		return false;
	if (json_int_or(policy, "AttachmentCount", 0) > 0)
		return cloud_fault(call, "DeleteConflict",
				   "Cannot delete a policy attached to entities.");
	if (json_len_at(policy, "_versions") > 1)
		return cloud_fault(
			call, "DeleteConflict",
			"This policy has more than one version. Before you "
			"delete a policy, you must delete the policy's versions.");
	cloud_effect(call->cloud, "iam.policy", arn, "delete");
	cloud_delete(call->cloud, "iam.policy", arn);
	return true;
}

bool iam_list_policies(struct cloud_call *call, json_t **ret_out)
{
	const char *prefix = json_str_or(call->in, "PathPrefix", "/"), *arn;
	json_t *list = json_new_list(call->arena), *policy;
	bool attached = json_bool_or(call->in, "OnlyAttached", false);

	json_object_foreach(cloud_table(call->cloud, "iam.policy"), arn, policy) {
		if (!cloud_listed(call->cloud, policy) ||
		    !str_starts(json_str_at(policy, "Path"), prefix) ||
		    (attached && json_int_or(policy, "AttachmentCount", 0) == 0))
			continue;
		json_t *drop = json_packf(call->arena, "[s, s]", "Description", "Tags");

		json_array_append(list, iam_view(call, policy, drop));
	}
	return iam_answer_list(call, "Policies", list, ret_out);
}

bool iam_create_version(struct cloud_call *call, json_t **ret_out)
{
	json_t *policy = policy_of(call);

	if (!policy ||
	    !iam_check_document(call, json_str_at(call->in, "PolicyDocument"), false))
		return false;
	if (json_len_at(policy, "_versions") >= VERSIONS_MAX)
		return cloud_fault(
			call, "LimitExceeded",
			"A managed policy can have up to %d versions. Before you "
			"create a new version, you must delete an existing "
			"version.",
			VERSIONS_MAX);
	json_t *v =
		add_version(call, policy, json_bool_or(call->in, "SetAsDefault", false));

	cloud_effect(call->cloud, "iam.policy", json_str_at(policy, "Arn"), "update");
	*ret_out = json_packf(call->arena, "{s:O}", "PolicyVersion",
			      iam_view(call, v, NULL));
	return true;
}

static json_t *version_of(struct cloud_call *call, json_t *policy)
{
	const char *id = json_str_at(call->in, "VersionId");
	json_t *v = json_find(json_object_get(policy, "_versions"), "VersionId", id);

	if (policy && !v)
		cloud_fault(call, "NoSuchEntity", "Policy version %s was not found.", id);
	return v;
}

bool iam_get_version(struct cloud_call *call, json_t **ret_out)
{
	json_t *policy = policy_of(call), *v = version_of(call, policy);

	if (!v)
		return false;
	json_t *view = iam_view(call, v, NULL);

	json_object_set_new(view, "Document",
			    iam_document(call, json_str_at(v, "_text")));
	*ret_out = json_packf(call->arena, "{s:O}", "PolicyVersion", view);
	return true;
}

bool iam_list_versions(struct cloud_call *call, json_t **ret_out)
{
	json_t *policy = policy_of(call), *list = json_new_list(call->arena), *v;
	size_t i;

	if (!policy)
		return false;
	json_array_foreach(json_object_get(policy, "_versions"), i, v)
		json_array_append(list, iam_view(call, v, NULL));
	return iam_answer_list(call, "Versions", list, ret_out);
}

bool iam_delete_version(struct cloud_call *call, json_t **ret_out)
{
	json_t *policy = policy_of(call), *v = version_of(call, policy), *one;
	json_t *versions = json_object_get(policy, "_versions");
	size_t i;

	(void)ret_out;
	if (!v)
		return false;
	if (json_bool_or(v, "IsDefaultVersion", false))
		return cloud_fault(call, "DeleteConflict",
				   "Cannot delete the default version of a policy.");
	json_array_foreach(versions, i, one)
		if (one == v)
			break;
	json_array_remove(versions, i);
	cloud_effect(call->cloud, "iam.policy", json_str_at(policy, "Arn"), "update");
	return true;
}
