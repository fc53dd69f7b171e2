/* The nodes of a group, and whose work ends with them. */
#include "core/domain/group/group.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/node/node_action.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* NameContains is no equality: others are passed over afterwards. */
bool group_list_observe(struct step_ctx *c, struct exchange *x)
{
	return read_all(c, x, "group_nodes", AWS_SAGEMAKER_ListClusterNodes,
			json_packf(c->arena, "{s:s, s:s, s:b, s:i}", "ClusterName",
				   hyperpod_name(c), "InstanceGroupNameContains",
				   group_name(c), "IncludeNodeLogicalIds", 1,
				   "MaxResults", 100));
}

bool group_nodes_observe(struct step_ctx *c, struct exchange *x)
{
	return group_list_observe(c, x) ||
	       (json_at(c->data, "eks") &&
		read_kube(c, x, "group_pods",
			  &(struct kube_request){
				  .verb = KUBE_LIST, .api = "v1", .plural = "pods"}));
}

json_t *group_nodes(struct step_ctx *c)
{
	json_t *list = json_new_list(c->arena);
	size_t i;
	json_t *node;

	json_array_foreach(json_at(saw(c, "group_nodes"), "ClusterNodeSummaries"), i,
			   node)
		if (streq(json_str_at(node, "InstanceGroupName"), group_name(c)) &&
		    !streq(json_str_at(node, "InstanceStatus.Status"), "ShuttingDown"))
			json_array_append(list, node);
	return list;
}

static bool is_on(struct step_ctx *c, const json_t *pod, const json_t *node)
{
	const char *name = node_kube_name(c->arena, json_str_or(node, "InstanceId", ""));

	return name && streq(json_str_at(pod, "spec.nodeName"), name) && pod_counts(pod);
}

size_t group_pods_on(struct step_ctx *c, const json_t *node)
{
	size_t i, n = 0;
	json_t *pod;

	json_array_foreach(json_at(saw(c, "group_pods"), "items"), i, pod)
		n += is_on(c, pod, node);
	return n;
}

const char *group_users(struct step_ctx *c, const json_t *only)
{
	const json_t *nodes = only ? only : group_nodes(c);
	const json_t *pods = json_at(saw(c, "group_pods"), "items");
	struct buf text;
	size_t i, k, n = 0;
	json_t *node, *pod;

	buf_init(&text, c->arena, 300);
	json_array_foreach(nodes, i, node)
		json_array_foreach(pods, k, pod)
			if (is_on(c, pod, node) && ++n <= 8)
				buf_printf(&text, "%s%s/%s on %s", n > 1 ? ", " : "",
					   json_str_or(pod, "metadata.namespace", "?"),
					   json_str_or(pod, "metadata.name", "?"),
					   json_str_or(pod, "spec.nodeName", "?"));
	if (n > 8)
		buf_printf(&text, " and %zu more", n - 8);
	return n ? buf_cstr(&text) : NULL;
}
