#include "tests/cloud/cloudformation/type.h"

#include <ctype.h>

#include "core/base/str.h"
#include "core/json/tree.h"

/* CloudFormation spells EKS's members with a capital. */
static json_t *lower_names(struct arena *a, json_t *v)
{
	json_t *out, *m;
	const char *key;
	size_t i;

	if (json_is_array(v)) {
		out = json_new_list(a);
		json_array_foreach(v, i, m)
			json_array_append(out, lower_names(a, m));
		return out;
	}
	if (!json_is_object(v))
		return v;
	out = json_new_object(a);
	json_object_foreach(v, key, m) {
		char *name = arena_strdup(a, key);

		name[0] = (char)tolower((unsigned char)name[0]);
		json_object_set(out, name, lower_names(a, m));
	}
	return out;
}

static json_t *logging(struct cfn_unit *u)
{
	const json_t *types = json_at(u->props, "Logging.ClusterLogging.EnabledTypes");
	json_t *names = json_new_list(u->arena);
	size_t i;
	json_t *t;

	json_array_foreach(types, i, t)
		json_array_append(names, json_object_get(t, "Type"));
	return json_packf(u->arena, "{s:[{s:O,s:b}]}", "clusterLogging", "types", names,
			  "enabled", 1);
}

static bool cluster_create(struct cfn_unit *u)
{
	json_t *in = lower_names(u->arena, (json_t *)(uintptr_t)u->props);

	in = json_own(u->arena, json_deep_copy(in));
	json_object_del(in, "tags");
	if (json_object_get(u->props, "Logging"))
		json_object_set(in, "logging", logging(u));
	if (!json_str_at(in, "name"))
		json_put_str(in, "name", cfn_generated_name(u, 100));
	json_put_str(in, "clientRequestToken", cloud_id(u->cloud, u->arena, "cfn-", 32));
	json_object_set(in, "tags", cfn_tag_map(u));
	if (!cfn_invoke_tree(u, "eks", "CreateCluster", in, NULL))
		return false;
	cfn_set_physical(u, json_str_or(in, "name", ""));
	return true;
}

static enum cfn_progress cluster_ready(struct cfn_unit *u)
{
	json_t *out;
	const char *status;

	if (!cfn_invoke(u, "eks", "DescribeCluster", &out, "{s:s}", "name",
			cfn_physical(u)))
		return CFN_FAILED;
	status = json_str_or(out, "cluster.status", "");
	if (streq(status, "FAILED")) {
		u->code = "NotStabilized";
		u->message = arena_printf(
			u->arena, "Cluster %s failed to stabilize: %s", cfn_physical(u),
			json_str_or(out, "cluster.health.issues.0.message", ""));
		return CFN_FAILED;
	}
	if (!streq(status, "ACTIVE"))
		return CFN_WAIT;
	cfn_set_attr(u, "Arn", json_str_at(out, "cluster.arn"));
	cfn_set_attr(u, "Endpoint", json_str_at(out, "cluster.endpoint"));
	cfn_set_attr(u, "CertificateAuthorityData",
		     json_str_at(out, "cluster.certificateAuthority.data"));
	cfn_set_attr(
		u, "ClusterSecurityGroupId",
		json_str_at(out, "cluster.resourcesVpcConfig.clusterSecurityGroupId"));
	cfn_set_attr(u, "OpenIdConnectIssuerUrl",
		     json_str_at(out, "cluster.identity.oidc.issuer"));
	return CFN_DONE;
}

static bool cluster_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "eks", "DeleteCluster", NULL, "{s:s}", "name",
			  cfn_physical(u));
}

static enum cfn_progress cluster_gone(struct cfn_unit *u)
{
	if (cfn_invoke(u, "eks", "DescribeCluster", NULL, "{s:s}", "name",
		       cfn_physical(u)))
		return CFN_WAIT;
	return cfn_is_missing(u->code) ? CFN_DONE : CFN_FAILED;
}

static bool addon_create(struct cfn_unit *u)
{
	json_t *in = json_own(
		u->arena,
		json_deep_copy(lower_names(u->arena, (json_t *)(uintptr_t)u->props)));

	json_object_del(in, "preserveOnDelete");
	json_object_set(in, "tags", cfn_tag_map(u));
	json_put_str(in, "clientRequestToken", cloud_id(u->cloud, u->arena, "cfn-", 32));
	if (!cfn_invoke_tree(u, "eks", "CreateAddon", in, NULL))
		return false;
	cfn_set_physical(u, arena_printf(u->arena, "%s|%s",
					 json_str_or(u->props, "ClusterName", ""),
					 json_str_or(u->props, "AddonName", "")));
	return true;
}

static bool addon_call(struct cfn_unit *u, const char *op, json_t **ret)
{
	return cfn_invoke(u, "eks", op, ret, "{s:s,s:s}", "clusterName",
			  json_str_or(u->props, "ClusterName", ""), "addonName",
			  json_str_or(u->props, "AddonName", ""));
}

/* DEGRADED counts as stable: CoreDNS is, until the first node joins. */
static enum cfn_progress addon_ready(struct cfn_unit *u)
{
	json_t *out;
	const char *status;

	if (!addon_call(u, "DescribeAddon", &out))
		return CFN_FAILED;
	status = json_str_or(out, "addon.status", "");
	if (streq(status, "CREATE_FAILED")) {
		u->code = "NotStabilized";
		u->message = json_str_or(out, "addon.health.issues.0.message",
					 "CREATE_FAILED");
		return CFN_FAILED;
	}
	cfn_set_attr(u, "Arn", json_str_at(out, "addon.addonArn"));
	return streq(status, "CREATING") ? CFN_WAIT : CFN_DONE;
}

static bool addon_remove(struct cfn_unit *u)
{
	return addon_call(u, "DeleteAddon", NULL);
}

static enum cfn_progress addon_gone(struct cfn_unit *u)
{
	if (addon_call(u, "DescribeAddon", NULL))
		return CFN_WAIT;
	return cfn_is_missing(u->code) ? CFN_DONE : CFN_FAILED;
}

static bool entry_create(struct cfn_unit *u)
{
	const char *cluster = json_str_or(u->props, "ClusterName", "");
	const char *principal = json_str_or(u->props, "PrincipalArn", "");
	json_t *in = json_packf(u->arena, "{s:s,s:s,s:O}", "clusterName", cluster,
				"principalArn", principal, "tags", cfn_tag_map(u));
	json_t *out, *p;
	size_t i;

	json_put_str(in, "type", json_str_at(u->props, "Type"));
	json_put_str(in, "username", json_str_at(u->props, "Username"));
	if (json_object_get(u->props, "KubernetesGroups"))
		json_object_set(in, "kubernetesGroups",
				json_object_get(u->props, "KubernetesGroups"));
	if (!cfn_invoke_tree(u, "eks", "CreateAccessEntry", in, &out))
		return false;
	cfn_set_physical(u, arena_printf(u->arena, "%s|%s", principal, cluster));
	cfn_set_attr(u, "AccessEntryArn", json_str_at(out, "accessEntry.accessEntryArn"));
	json_array_foreach(json_object_get(u->props, "AccessPolicies"), i, p)
		if (!cfn_invoke(u, "eks", "AssociateAccessPolicy", NULL,
				"{s:s,s:s,s:O,s:O}", "clusterName", cluster,
				"principalArn", principal, "policyArn",
				json_object_get(p, "PolicyArn"), "accessScope",
				lower_names(u->arena, json_object_get(p, "AccessScope"))))
			return false;
	return true;
}

static bool entry_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "eks", "DeleteAccessEntry", NULL, "{s:s,s:s}", "clusterName",
			  json_str_or(u->props, "ClusterName", ""), "principalArn",
			  json_str_or(u->props, "PrincipalArn", ""));
}

const struct cfn_type cfn_types_eks[] = {
	{"AWS::EKS::Cluster",
	 "Name RoleArn* ResourcesVpcConfig* Version AccessConfig Logging UpgradePolicy "
	 "BootstrapSelfManagedAddons KubernetesNetworkConfig EncryptionConfig "
	 "DeletionProtection Tags",
	 5, 5, cluster_create, cluster_ready, cluster_remove, cluster_gone},
	{"AWS::EKS::Addon",
	 "ClusterName* AddonName* AddonVersion ResolveConflicts ConfigurationValues "
	 "ServiceAccountRoleArn PreserveOnDelete PodIdentityAssociations Tags",
	 5, 5, addon_create, addon_ready, addon_remove, addon_gone},
	{"AWS::EKS::AccessEntry",
	 "ClusterName* PrincipalArn* Type Username KubernetesGroups AccessPolicies Tags",
	 5, 2, entry_create, NULL, entry_remove, NULL},
	{0},
};
