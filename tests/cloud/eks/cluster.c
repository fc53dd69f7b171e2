/* Clusters: creation, life, deletion. */
#include "tests/cloud/eks/eks.h"

enum { CREATE_MS = 9 * 60 * 1000, DELETE_MS = 3 * 60 * 1000 };

static bool has_api_mode(const json_t *cluster)
{
	return !streq(json_str_at(cluster, "accessConfig.authenticationMode"),
		      "CONFIG_MAP");
}

static void set_vpc_config(struct cloud_call *c, json_t *cluster, const char *vpc)
{
	const json_t *in = json_object_get(c->in, "resourcesVpcConfig");
	json_t *v = json_pack("{s:s,s:b,s:b}", "vpcId", vpc, "endpointPublicAccess",
			      json_bool_or(in, "endpointPublicAccess", true),
			      "endpointPrivateAccess",
			      json_bool_or(in, "endpointPrivateAccess", false));
	json_t *groups = json_object_get(in, "securityGroupIds");
	json_t *cidrs = json_object_get(in, "publicAccessCidrs");

	json_object_set(v, "subnetIds", json_object_get(in, "subnetIds"));
	json_object_set_new(v, "securityGroupIds",
			    groups ? json_incref(groups) : json_array());
	json_object_set_new(v, "publicAccessCidrs",
			    cidrs ? json_incref(cidrs) : json_pack("[s]", "0.0.0.0/0"));
	json_object_set_new(cluster, "resourcesVpcConfig", v);
}

static json_t *logging_of(const json_t *in)
{
	static const char *const types[] = {"api", "audit", "authenticator",
					    "controllerManager", "scheduler"};
	json_t *on = json_array(), *off = json_array(), *setup;
	json_t *out = json_array();
	size_t i;

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		bool enabled = false;

		json_array_foreach(json_at(in, "logging.clusterLogging"), i, setup) {
			size_t k;
			json_t *v;

			json_array_foreach(json_object_get(setup, "types"), k, v)
				if (streq(json_string_value(v), types[t]))
					enabled = json_bool_or(setup, "enabled", false);
		}
		json_push(enabled ? on : off, json_string(types[t]));
	}
	if (json_array_size(on) > 0)
		json_push(out, json_pack("{s:O,s:b}", "types", on, "enabled", 1));
	if (json_array_size(off) > 0)
		json_push(out, json_pack("{s:O,s:b}", "types", off, "enabled", 0));
	json_decref(on);
	json_decref(off);
	return json_pack("{s:o}", "clusterLogging", out);
}

static void set_defaults(struct cloud_call *c, json_t *cluster)
{
	const char *cidr = json_str_or(c->in, "kubernetesNetworkConfig.serviceIpv4Cidr",
				       "172.20.0.0/16");

	json_object_set_new(cluster, "kubernetesNetworkConfig",
			    json_pack("{s:s,s:s,s:{s:b}}", "serviceIpv4Cidr", cidr,
				      "ipFamily", "ipv4", "elasticLoadBalancing",
				      "enabled", 0));
	json_object_set_new(
		cluster, "accessConfig",
		json_pack("{s:s,s:b}", "authenticationMode",
			  json_str_or(c->in, "accessConfig.authenticationMode",
				      "CONFIG_MAP"),
			  "bootstrapClusterCreatorAdminPermissions",
			  json_bool_or(
				  c->in,
				  "accessConfig.bootstrapClusterCreatorAdminPermissions",
				  true)));
	json_object_set_new(
		cluster, "upgradePolicy",
		json_pack("{s:s}", "supportType",
			  json_str_or(c->in, "upgradePolicy.supportType", "EXTENDED")));
	json_put_bool(cluster, "deletionProtection",
		      json_bool_or(c->in, "deletionProtection", false));
	json_object_set_new(cluster, "health", json_pack("{s:[]}", "issues"));
	json_object_set_new(cluster, "certificateAuthority", json_object());
	json_object_set_new(cluster, "logging", logging_of(c->in));
	json_put_str(cluster, "platformVersion", "eks.3");
}

static json_t *new_cluster(struct cloud_call *c, const char *name, const char *vpc)
{
	json_t *tags = json_object_get(c->in, "tags");
	json_t *cluster = json_pack(
		"{s:s,s:s,s:o,s:s,s:s,s:s}", "name", name, "arn",
		eks_arn(c->cloud, c->arena, arena_printf(c->arena, "cluster/%s", name)),
		"createdAt", cloud_seconds(c->now_ms), "version",
		json_str_or(c->in, "version", eks_default_version()), "roleArn",
		json_str_or(c->in, "roleArn", ""), "status", "CREATING");

	json_put_str(cluster, "clientRequestToken",
		     json_str_at(c->in, "clientRequestToken"));
	json_object_set_new(cluster, "tags", tags ? json_deep_copy(tags) : json_object());
	if (json_object_get(c->in, "encryptionConfig"))
		json_object_set(cluster, "encryptionConfig",
				json_object_get(c->in, "encryptionConfig"));
	set_vpc_config(c, cluster, vpc);
	set_defaults(c, cluster);
	json_put_str(cluster, "_creator",
		     eks_principal(c->cloud, c->arena, c->caller_arn));
	json_put_bool(cluster, "_self_managed",
		      json_bool_or(c->in, "bootstrapSelfManagedAddons", true));
	json_put_int(cluster, "_until_ms", c->now_ms + cloud_ms(c->cloud, CREATE_MS));
	return cluster;
}

bool eks_create_cluster(struct cloud_call *c, json_t **ret_out)
{
	const char *name = json_str_or(c->in, "name", "");
	const char *vpc = NULL, *seen;
	enum replay r = eks_replay(c, &seen);
	json_t *cluster = cloud_get(c->cloud, EKS_CLUSTERS, name);

	if (r == REPLAY_OTHER)
		return false;
	if (cluster && r == REPLAY_SAME) {
		*ret_out = json_packf(c->arena, "{s:O}", "cluster", cluster);
		return true;
	}
	if (cluster) {
		eks_fault_members(c, name);
		return cloud_fault(c, "ResourceInUseException",
				   "Cluster already exists with name: %s", name);
	}
	if (!eks_check_cluster(c, &vpc)) {
		if (!c->fault_members)
			eks_fault_members(c, name);
		return false;
	}
	cluster = cloud_put(c->cloud, EKS_CLUSTERS, name, new_cluster(c, name, vpc));
	eks_network_create(c, cluster, vpc);
	replay_keep(c, json_str_at(c->in, "clientRequestToken"), name);
	cloud_effect(c->cloud, EKS_CLUSTERS, name, "create");
	*ret_out = json_packf(c->arena, "{s:O}", "cluster", cluster);
	return true;
}

bool eks_describe_cluster(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster = eks_need_cluster(c, "name");

	if (!cluster)
		return false;
	*ret_out = json_packf(c->arena, "{s:O}", "cluster", cluster);
	return true;
}

bool eks_list_clusters(struct cloud_call *c, json_t **ret_out)
{
	json_t *list = json_new_list(c->arena), *cluster;
	const char *name;

	json_object_foreach(cloud_table(c->cloud, EKS_CLUSTERS), name, cluster)
		if (cloud_listed(c->cloud, cluster))
			json_push(list, json_string(name));
	return eks_page(c, "clusters", list, ret_out);
}

bool eks_list_nodegroups(struct cloud_call *c, json_t **ret_out)
{
	json_t *list = json_new_list(c->arena), *group;
	const char *key;

	if (!eks_need_cluster(c, "clusterName"))
		return false;
	json_object_foreach(cloud_table(c->cloud, EKS_NODEGROUPS), key, group)
		if (eks_in_cluster(key, json_str_or(c->in, "clusterName", "")))
			json_push(list,
				  json_string(json_str_or(group, "nodegroupName", "")));
	return eks_page(c, "nodegroups", list, ret_out);
}

static bool has_nodegroups(struct cloud *c, const char *cluster)
{
	const char *key;
	json_t *group;

	json_object_foreach(cloud_table(c, EKS_NODEGROUPS), key, group)
		if (eks_in_cluster(key, cluster))
			return true;
	return false;
}

bool eks_delete_cluster(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster = eks_need_cluster(c, "name");
	const char *name = json_str_or(cluster, "name", "");
	const char *status = json_str_or(cluster, "status", "");

	if (!cluster)
		return false;
	eks_fault_members(c, name);
	if (json_bool_or(cluster, "deletionProtection", false))
		return cloud_fault(
			c, "InvalidRequestException",
			"Cannot delete cluster %s: deletion protection is enabled", name);
	if (has_nodegroups(c->cloud, name))
		return cloud_fault(c, "ResourceInUseException",
				   "Cluster has nodegroups attached");
	if (streq(status, "CREATING"))
		return cloud_fault(
			c, "ResourceInUseException",
			"Cannot delete because cluster %s currently has an update in "
			"progress",
			name);
	if (!streq(status, "DELETING")) {
		json_put_str(cluster, "status", "DELETING");
		json_put_int(cluster, "_until_ms",
			     c->now_ms + cloud_ms(c->cloud, DELETE_MS));
		cloud_effect(c->cloud, EKS_CLUSTERS, name, "delete");
	}
	*ret_out = json_packf(c->arena, "{s:O}", "cluster", cluster);
	return true;
}

static void activate(struct cloud *c, struct arena *a, json_t *cluster)
{
	const char *name = json_str_or(cluster, "name", "");

	eks_kubernetes_start(c, a, cluster);
	json_put_str(cluster, "status", "ACTIVE");
	json_drop(cluster, "_until_ms");
	if (has_api_mode(cluster) &&
	    json_bool_or(cluster, "accessConfig.bootstrapClusterCreatorAdminPermissions",
			 false))
		eks_entry_put(c, a, name, json_str_or(cluster, "_creator", ""),
			      "STANDARD", NULL, "AmazonEKSClusterAdminPolicy");
}

static void forget(struct cloud *c, const char *name)
{
	eks_network_remove(c, cloud_get(c, EKS_CLUSTERS, name));
	cloud_kube_destroy(c, name);
	eks_addons_forget(c, name);
	eks_access_forget(c, name);
	cloud_delete(c, EKS_CLUSTERS, name);
}

void eks_clusters_advance(struct cloud *c, int64_t now_ms)
{
	struct arena a;
	const char *name;
	json_t *cluster;
	void *next;

	arena_init(&a, 0);
	json_object_foreach_safe(cloud_table(c, EKS_CLUSTERS), next, name, cluster) {
		int64_t until = json_int_or(cluster, "_until_ms", 0);

		if (until == 0 || now_ms < until)
			continue;
		if (streq(json_str_at(cluster, "status"), "CREATING"))
			activate(c, &a, cluster);
		else if (streq(json_str_at(cluster, "status"), "DELETING"))
			forget(c, arena_strdup(&a, name));
	}
	arena_free(&a);
}
