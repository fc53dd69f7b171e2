/* Nodes, listed and described. */
#include <string.h>

#include "tests/cloud/sagemaker/sagemaker.h"

static json_t *summary(struct cloud_call *c, const json_t *node, bool logical)
{
	static const char *const shown[] = {"InstanceGroupName", "InstanceType",
					    "LaunchTime", "InstanceStatus",
					    "PrivateDnsHostname"};
	json_t *s = json_new_object(c->arena);

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (json_object_get(node, shown[i]))
			json_object_set(s, shown[i], json_object_get(node, shown[i]));
	json_put_str(s, "InstanceId", json_str_or(node, "InstanceId", ""));
	if (logical)
		json_put_str(s, "NodeLogicalId", json_str_at(node, "NodeLogicalId"));
	return s;
}

bool sm_list_nodes(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster = sm_need_cluster(c), *list = json_new_list(c->arena), *node;
	const char *part = json_str_or(c->in, "InstanceGroupNameContains", ""), *id;
	bool logical = json_bool_or(c->in, "IncludeNodeLogicalIds", false);

	if (!cluster)
		return false;
	json_object_foreach(cloud_table(c->cloud, SM_NODES), id, node) {
		double at = json_num_or(node, "LaunchTime", 0);

		if (streq(json_str_at(node, "_cluster"),
			  json_str_at(cluster, "ClusterName")) &&
		    (logical || json_str_at(node, "InstanceId")) &&
		    strstr(json_str_or(node, "InstanceGroupName", ""), part) &&
		    at >= json_num_or(c->in, "CreationTimeAfter", 0) &&
		    at <= json_num_or(c->in, "CreationTimeBefore", 1e18))
			json_array_append(list, summary(c, node, logical));
	}
	return sm_page(c, "ClusterNodeSummaries",
		       sm_sorted(c, list, "LaunchTime", "InstanceGroupName"), ret_out);
}

bool sm_describe_node(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster = sm_need_cluster(c), *node;
	const char *name = json_str_or(cluster, "ClusterName", "");
	const char *instance = json_str_at(c->in, "NodeId");
	const char *logical = json_str_at(c->in, "NodeLogicalId");

	if (!cluster)
		return false;
	if (!instance == !logical)
		return cloud_fault(
			c, "ValidationException",
			"Exactly one of NodeId and NodeLogicalId is required.");
	node = instance ? sm_node_find(c->cloud, name, instance)
			: cloud_get(c->cloud, SM_NODES, logical);
	if (!node || !streq(json_str_at(node, "_cluster"), name))
		return cloud_fault(c, "ResourceNotFound",
				   "Node %s not found in cluster %s.",
				   instance ? instance : logical, name);
	*ret_out = json_packf(c->arena, "{s:O}", "NodeDetails", node);
	return true;
}
