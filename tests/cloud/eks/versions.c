/* Versions of Kubernetes and of add-ons that this EKS knows. */
#include "tests/cloud/eks/eks.h"

static const struct {
	const char *version, *patch, *platform;
	const char *released, *standard_end, *extended_end;
	bool standard, is_default;
} versions[] = {
	{"1.35", "1.35.2", "eks.3", "2026-01-27T00:00:00Z", "2027-03-27T00:00:00Z",
	 "2028-03-27T00:00:00Z", true, false},
	{"1.34", "1.34.4", "eks.15", "2025-10-02T00:00:00Z", "2026-12-02T00:00:00Z",
	 "2027-12-02T00:00:00Z", true, true},
	{"1.33", "1.33.8", "eks.26", "2025-05-29T00:00:00Z", "2026-07-29T00:00:00Z",
	 "2027-07-29T00:00:00Z", false, false},
	{"1.32", "1.32.12", "eks.33", "2025-01-23T00:00:00Z", "2026-03-23T00:00:00Z",
	 "2027-03-23T00:00:00Z", false, false},
	{"1.31", "1.31.14", "eks.48", "2024-09-26T00:00:00Z", "2025-11-26T00:00:00Z",
	 "2026-11-26T00:00:00Z", false, false},
};
enum { N_VERSIONS = sizeof(versions) / sizeof(versions[0]) };

static const struct eks_addon_kind addons[] = {
	{"vpc-cni", "v1.20.4-eksbuild.2", "kube-system", "daemonset", false, true,
	 "networking"},
	{"kube-proxy", "v1.34.0-eksbuild.2", "kube-system", "daemonset", false, false,
	 "networking"},
	{"coredns", "v1.12.3-eksbuild.1", "kube-system", "deployment", true, false,
	 "networking"},
	{"eks-pod-identity-agent", "v1.3.9-eksbuild.3", "kube-system", "daemonset", false,
	 false, "security"},
	{"cert-manager", "v1.18.2-eksbuild.2", "cert-manager", "deployment", true, false,
	 "security"},
	{"metrics-server", "v0.8.0-eksbuild.2", "kube-system", "deployment", true, false,
	 "observability"},
	{"aws-mountpoint-s3-csi-driver", "v2.1.0-eksbuild.1", "kube-system", "daemonset",
	 false, true, "storage"},
	{"aws-fsx-csi-driver", "v1.7.0-eksbuild.1", "kube-system", "deployment", true,
	 true, "storage"},
	{"aws-ebs-csi-driver", "v1.50.1-eksbuild.1", "kube-system", "deployment", true,
	 true, "storage"},
	{"amazon-cloudwatch-observability", "v4.5.0-eksbuild.1", "amazon-cloudwatch",
	 "deployment", true, true, "observability"},
	/* Takes no associations in the create call, although it needs one. */
	{"amazon-sagemaker-hyperpod-training-operator", "v1.2.1-eksbuild.1",
	 "aws-hyperpod", "deployment", true, false, "gen-ai"},
	{"amazon-sagemaker-hyperpod-taskgovernance", "v1.3.0-eksbuild.1", "kueue-system",
	 "deployment", true, false, "gen-ai"},
	{"amazon-sagemaker-hyperpod-observability", "v1.0.5-eksbuild.1",
	 "hyperpod-observability", "deployment", true, true, "observability"},
	{"amazon-sagemaker-hyperpod-inference", "v1.3.0-eksbuild.1",
	 "hyperpod-inference-system", "deployment", true, true, "gen-ai"},
};
enum { N_ADDONS = sizeof(addons) / sizeof(addons[0]) };

bool eks_version_known(const char *version)
{
	for (size_t i = 0; i < N_VERSIONS; i++)
		if (streq(versions[i].version, version))
			return true;
	return false;
}

const char *eks_default_version(void)
{
	for (size_t i = 0; i < N_VERSIONS; i++)
		if (versions[i].is_default)
			return versions[i].version;
	return versions[0].version;
}

const struct eks_addon_kind *eks_addon_kind(const char *name)
{
	for (size_t i = 0; i < N_ADDONS; i++)
		if (streq(addons[i].name, name))
			return &addons[i];
	return NULL;
}

static json_t *date(const char *text)
{
	int64_t ms = 0;

	if (!time_parse_rfc3339(text, &ms))
		ms = 0;
	return cloud_seconds(ms);
}

static json_t *version_row(size_t i)
{
	bool std = versions[i].standard;

	return json_pack("{s:s,s:s,s:s,s:b,s:o,s:o,s:o,s:s,s:s,s:s}", "clusterVersion",
			 versions[i].version, "clusterType", "eks",
			 "defaultPlatformVersion", versions[i].platform, "defaultVersion",
			 versions[i].is_default, "releaseDate",
			 date(versions[i].released), "endOfStandardSupportDate",
			 date(versions[i].standard_end), "endOfExtendedSupportDate",
			 date(versions[i].extended_end), "status",
			 std ? "standard-support" : "extended-support", "versionStatus",
			 std ? "STANDARD_SUPPORT" : "EXTENDED_SUPPORT",
			 "kubernetesPatchVersion", versions[i].patch);
}

static bool wanted(const json_t *list, const char *text)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
		if (streq(json_string_value(v), text))
			return true;
	return !list;
}

bool eks_describe_cluster_versions(struct cloud_call *c, json_t **ret_out)
{
	bool only_default = json_bool_or(c->in, "defaultOnly", false);
	const char *status = json_str_at(c->in, "versionStatus");
	json_t *list = json_new_list(c->arena);

	for (size_t i = 0; i < N_VERSIONS; i++) {
		json_t *row = json_own(c->arena, version_row(i));

		json_merge_patch(row,
				 json_object_get(json_object_get(cloud_settings(c->cloud),
								 "version_facts"),
						 versions[i].version));
		if ((!only_default || json_bool_or(row, "defaultVersion", false)) &&
		    wanted(json_object_get(c->in, "clusterVersions"),
			   versions[i].version) &&
		    (!status || streq(status, json_str_at(row, "versionStatus"))))
			json_array_append(list, row);
	}
	return eks_page(c, "clusterVersions", list, ret_out);
}

static json_t *addon_row(struct cloud_call *c, const struct eks_addon_kind *k)
{
	const char *asked = json_str_at(c->in, "kubernetesVersion");
	json_t *fits = json_new_list(c->arena);

	for (size_t i = 0; i < N_VERSIONS; i++)
		if (!asked || streq(asked, versions[i].version))
			json_push(fits, json_pack("{s:s,s:[s],s:b}", "clusterVersion",
						  versions[i].version, "platformVersions",
						  "*", "defaultVersion", 1));
	json_t *made = json_object_get(
		json_object_get(cloud_settings(c->cloud), "addon_architectures"),
		k->name);

	if (!made)
		made = json_packf(c->arena, "[s,s]", "amd64", "arm64");
	return json_packf(
		c->arena, "{s:s,s:s,s:s,s:s,s:s,s:[{s:s,s:O,s:[s],s:O,s:b,s:b}]}",
		"addonName", k->name, "type", k->type, "publisher", "eks", "owner", "aws",
		"defaultNamespace", k->ns, "addonVersions", "addonVersion", k->version,
		"architecture", made, "computeTypes", "ec2", "compatibilities", fits,
		"requiresConfiguration", 0, "requiresIamPermissions", k->pod_identity);
}

bool eks_describe_addon_versions(struct cloud_call *c, json_t **ret_out)
{
	const char *asked = json_str_at(c->in, "kubernetesVersion");
	const char *name = json_str_at(c->in, "addonName");
	json_t *list = json_new_list(c->arena);

	if (asked && !eks_version_known(asked))
		return cloud_fault(c, "InvalidParameterException",
				   "Kubernetes version %s is not supported", asked);
	if (name && !eks_addon_kind(name))
		return cloud_fault(c, "ResourceNotFoundException", "Addon %s not found",
				   name);
	for (size_t i = 0; i < N_ADDONS; i++)
		if (!name || streq(name, addons[i].name))
			json_array_append(list, addon_row(c, &addons[i]));
	return eks_page(c, "addons", list, ret_out);
}
