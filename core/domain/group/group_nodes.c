/* The nodes of a group, and whose work ends with them. */
#include "core/domain/group/group.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/node/node_action.h"
#include "core/domain/stake/stake.h"
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

/* In Kubernetes; NULL while it has no instance. */
static const char *name_of(struct step_ctx *c, const json_t *node)
{
	return node_kube_name(c->arena, json_str_or(node, "InstanceId", ""));
}

static json_t *names_of(struct step_ctx *c, const json_t *nodes)
{
	json_t *names = json_new_list(c->arena), *node;
	size_t i;

	json_array_foreach(nodes, i, node)
		if (name_of(c, node))
			json_push(names, json_string(name_of(c, node)));
	return names;
}

bool group_nodes_observe(struct step_ctx *c, struct exchange *x)
{
	return group_list_observe(c, x) ||
	       (json_at(c->data, "eks") &&
		stake_read_pods(c, x, names_of(c, group_nodes(c))));
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

json_t *group_pods(struct step_ctx *c)
{
	return stake_pods(c, names_of(c, group_nodes(c)));
}

json_t *group_pods_on(struct step_ctx *c, const json_t *by_node, const json_t *node)
{
	const char *name = name_of(c, node);

	return name ? json_object_get(by_node, name) : NULL;
}

json_t *group_things(struct step_ctx *c, const json_t *nodes)
{
	json_t *list = json_new_list(c->arena), *node;
	size_t i;

	json_array_foreach(nodes, i, node) {
		const char *id = json_str_or(node, "InstanceId", "");

		json_push(list,
			  json_pack("{s:s, s:s, s:s*, s:s*}", "type", "node", "name",
				    id[0] ? id : json_str_or(node, "NodeLogicalId", "?"),
				    "kube", name_of(c, node), "group",
				    json_str_at(node, "InstanceGroupName")));
	}
	return list;
}
