/* The nodes of a group, and whose work ends with them. */
#include "core/domain/group/group.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/node/node_action.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* Up to so many nodes each one's pods are asked for; a cluster has far more. */
enum { BY_NODE_MAX = 60, NAMES_MAX = 8 };

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

static const char *pods_key(struct step_ctx *c, const char *name)
{
	return name ? arena_printf(c->arena, "group_pods/%s", name) : "group_pods";
}

static bool read_pods(struct step_ctx *c, struct exchange *x, const char *name)
{
	/* Whatever has ended counts nowhere, and a cluster keeps many of them. */
	const char *going = "status.phase!=Succeeded,status.phase!=Failed";

	return read_kube(
		c, x, pods_key(c, name),
		&(struct kube_request){.verb = KUBE_LIST,
				       .api = "v1",
				       .plural = "pods",
				       .field_selector =
					       name ? arena_printf(c->arena,
								   "spec.nodeName=%s,%s",
								   name, going)
						    : going});
}

bool group_nodes_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *nodes, *node;
	size_t i;

	if (group_list_observe(c, x))
		return true;
	if (!json_at(c->data, "eks"))
		return false;
	nodes = group_nodes(c);
	if (json_array_size(nodes) > BY_NODE_MAX)
		return read_pods(c, x, NULL);
	json_array_foreach(nodes, i, node)
		if (name_of(c, node) && read_pods(c, x, name_of(c, node)))
			return true;
	return false;
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

/* Those of one node, or of all that `by_node` has. */
static void sort_in(json_t *by_node, const json_t *list, const char *only)
{
	size_t i;
	json_t *pod;

	json_array_foreach(json_at(list, "items"), i, pod) {
		const char *name = json_str_or(pod, "spec.nodeName", "");
		json_t *there = json_object_get(by_node, name);

		if (there && (!only || streq(only, name)) && pod_counts(pod))
			json_array_append(there, pod);
	}
}

json_t *group_pods(struct step_ctx *c)
{
	json_t *by_node = json_new_object(c->arena), *nodes = group_nodes(c), *node;
	size_t i;

	json_array_foreach(nodes, i, node) {
		const char *name = name_of(c, node);

		if (!name)
			continue;
		json_object_set_new(by_node, name, json_array());
		sort_in(by_node, saw(c, pods_key(c, name)), name);
	}
	sort_in(by_node, saw(c, pods_key(c, NULL)), NULL);
	return by_node;
}

json_t *group_pods_on(struct step_ctx *c, const json_t *by_node, const json_t *node)
{
	const char *name = name_of(c, node);

	return name ? json_object_get(by_node, name) : NULL;
}

const char *group_users(struct step_ctx *c, const json_t *by_node, const json_t *nodes)
{
	struct buf text;
	size_t i, k, n = 0;
	json_t *node, *pod;

	buf_init(&text, c->arena, 300);
	json_array_foreach(nodes, i, node)
		json_array_foreach(group_pods_on(c, by_node, node), k, pod)
			if (++n <= NAMES_MAX)
				buf_printf(&text, "%s%s/%s on %s", n > 1 ? ", " : "",
					   json_str_or(pod, "metadata.namespace", "?"),
					   json_str_or(pod, "metadata.name", "?"),
					   json_str_or(pod, "spec.nodeName", "?"));
	if (n > NAMES_MAX)
		buf_printf(&text, " and %zu more", n - NAMES_MAX);
	return n ? buf_cstr(&text) : NULL;
}
