/* Reboot, replace and delete nodes: what is at stake is confirmed, then asked for. */
#include "core/domain/node/kinds.h"
#include "core/domain/node/node_action.h"
#include "core/domain/operation_out.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"

struct node_act {
	const char *cluster;
	struct str_list nodes;
};

static const struct field node_act_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct node_act, cluster),
	FIELD(struct node_act, nodes, .flags = FIELD_REQUIRED, .min = 1, .max = NODES_MAX,
	      .pattern = NODE_ANY_PATTERN, .example = "[\"i-0123456789abcdef0\"]",
	      .doc = "Nodes, by instance ID, Kubernetes name or logical ID."),
	FIELD_END};

static bool act(struct call *c, const struct kind *k, const void *in, struct reply *ret,
		struct err *e)
{
	const struct node_act *q = in;

	return cluster_submit(c, k, q->cluster, in, ret, e);
}

static bool run_reboot(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	return act(c, &kind_reboot_nodes, in, ret, e);
}

static bool run_replace(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	return act(c, &kind_replace_nodes, in, ret, e);
}

static bool run_delete(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	return act(c, &kind_delete_nodes, in, ret, e);
}

#define NODE_ACTION(word, words, sentence)                                               \
	extern const struct capability cap_##word##_nodes;                               \
	const struct capability cap_##word##_nodes = {                                   \
		.name = #word "_nodes",                                                  \
		.method = "POST",                                                        \
		.path = "/clusters/{cluster}/nodes:" #word,                              \
		.title = (words),                                                        \
		.doc = (sentence),                                                       \
		.effect = CAP_DESTROY,                                                   \
		.role = ROLE_OPERATOR,                                                   \
		.flags = CAP_LONG | CAP_STAKES,                                          \
		.in = node_act_in,                                                       \
		.in_size = sizeof(struct node_act),                                      \
		.out = operation_out,                                                    \
		.done_by = "get_operation",                                              \
		.target = "cluster",                                                     \
		.run = run_##word,                                                       \
	}

NODE_ACTION(
	reboot, "Reboot nodes",
	"Restarts instances. Their disks stay, their pods end. Succeeds when each node "
	"has restarted and is Ready. The plan lists the pods, and its confirm value is "
	"required.");
NODE_ACTION(
	replace, "Replace nodes",
	"Gives each node a new instance. All data on local disks is lost, and the pods "
	"end. Try reboot_nodes first. Succeeds when each new instance is Ready. The plan "
	"lists pods and local volumes, and its confirm value is required.");
NODE_ACTION(
	delete, "Delete nodes",
	"Removes nodes and lowers the target count of their group. Data on local disks "
	"is lost, and the pods end. The plan lists both, and its confirm value is "
	"required.");
