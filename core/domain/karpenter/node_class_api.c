/* Node classes of a cluster: made, looked at, deleted. */
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/live.h"
#include "core/domain/karpenter/node_class.h"
#include "core/domain/operation_out.h"
#include "core/domain/pod/pod.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"

/* --- create_node_class ------------------------------------------------------------ */

struct create_node_class {
	const char *cluster;
	const char *name;
	struct str_list instance_groups;
	bool scale_to_zero;
	bool allow_spot;
};

static const struct field create_node_class_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct create_node_class, cluster),
	FIELD(struct create_node_class, name, .flags = FIELD_REQUIRED,
	      .pattern = POD_NS_PATTERN, .max = 63, .example = "\"gpu\"",
	      .doc = "Name of the node class. If it exists, its groups are replaced."),
	FIELD(struct create_node_class, instance_groups, .flags = FIELD_REQUIRED,
	      .min = 1, .max = NODE_CLASS_GROUPS_MAX,
	      .pattern = "[a-zA-Z0-9](-*[a-zA-Z0-9])*", .example = "[\"workers\"]",
	      .doc = "Groups with zero nodes, on-demand or spot, in one zone, without a "
		     "training plan or deep health checks."),
	FIELD(struct create_node_class, scale_to_zero,
	      .doc = "Accept groups that have nodes. The autoscaler removes those nodes. "
		     "The plan lists the pods that end."),
	FIELD(struct create_node_class, allow_spot,
	      .doc = "Accept spot groups. AWS documentation is contradictory about "
		     "them."),
	FIELD_END};

static bool run_create(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct create_node_class *q = in;

	return cluster_submit(c, &kind_create_node_class, q->cluster, in, ret, e);
}

extern const struct capability cap_create_node_class;
const struct capability cap_create_node_class = {
	.name = "create_node_class",
	.method = "POST",
	.path = "/clusters/{cluster}/node-classes",
	.title = "Create a node class",
	.doc = "Gives instance groups to the autoscaler. Reports every group that it "
	       "cannot use, with the reason. Requires autoscaling (update_features). "
	       "Pods get nodes once a node pool refers to the class.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_IDEMPOTENT | CAP_STAKES,
	.in = create_node_class_in,
	.in_size = sizeof(struct create_node_class),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "name",
	.run = run_create,
};

/* --- list_node_classes ---------------------------------------------------------------
 */

static const struct field group_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the group."),
	OUT("instance_types", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Instance types of the group."),
	OUT("zones", FIELD_STRS, .flags = FIELD_REQUIRED, .doc = "Zones of its subnets."),
	OUT("capacity_type", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "on_demand or spot."),
	FIELD_END};

static const struct field class_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the class."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "ready, not_ready, or pending until the autoscaler has checked it."),
	OUT("why", FIELD_STR, .doc = "Why it is not ready."),
	OUT("ours", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether InstantStart created it."),
	OUT("instance_groups", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Instance groups of the class."),
	{.name = "groups",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = group_out,
	 .doc = "What the autoscaler reports about the groups."},
	OUT("node_pools", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Node pools that refer to the class."),
	{.name = "conditions",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = live_condition_out,
	 .doc = "Conditions reported by the autoscaler."},
	OUT("created_at", FIELD_STR, .doc = "Time of creation."),
	FIELD_END};

static const struct field list_out[] = {LIVE_LIST_OUT(class_out), FIELD_END};

static bool run_list(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct live_list_in *q = in;
	json_t *classes, *pools, *items = json_new_list(c->arena), *v, *next;
	struct kube_target t;
	bool served, pools_served;
	size_t i;

	if (!pod_target(c, q->cluster, &t, NULL, e) ||
	    !live_list(c, &t, KARPENTER_CLASS_API, KARPENTER_CLASSES, &classes, &served,
		       e) ||
	    !live_list(c, &t, KARPENTER_API, KARPENTER_POOLS, &pools, &pools_served, e))
		return false;
	json_array_foreach(classes, i, v)
		json_push(items, node_class_row(c->arena, v, pools));
	next = page_cut(c->arena, items, "name", q->limit, q->cursor);
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:O, s:O, s:b}", "items", items, "next_cursor",
			      next, "served", served));
	return true;
}

extern const struct capability cap_list_node_classes;
const struct capability cap_list_node_classes = {
	.name = "list_node_classes",
	.method = "GET",
	.path = "/clusters/{cluster}/node-classes",
	.title = "List node classes",
	.doc = "Lists which instance groups the autoscaler has, and whether it can use "
	       "them.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_LIST,
	.in = live_list_in,
	.in_size = sizeof(struct live_list_in),
	.out = list_out,
	.run = run_list,
};

/* --- delete_node_class ---------------------------------------------------------------
 */

struct delete_node_class {
	const char *cluster;
	const char *name;
};

static const struct field delete_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct delete_node_class, cluster),
	FIELD(struct delete_node_class, name, .flags = FIELD_REQUIRED | FIELD_PATH,
	      .pattern = POD_NAME_PATTERN, .max = 253, .doc = "Name of the node class."),
	FIELD_END};

static bool run_delete(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct delete_node_class *q = in;

	return cluster_submit(c, &kind_delete_node_class, q->cluster, in, ret, e);
}

extern const struct capability cap_delete_node_class;
const struct capability cap_delete_node_class = {
	.name = "delete_node_class",
	.method = "DELETE",
	.path = "/clusters/{cluster}/node-classes/{name}",
	.title = "Delete a node class",
	.doc = "Takes the instance groups back from the autoscaler. The groups stay. Node "
	       "pools that refer to the class launch no more nodes.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_STAKES,
	.in = delete_in,
	.in_size = sizeof(struct delete_node_class),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "name",
	.run = run_delete,
};
