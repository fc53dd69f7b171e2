/* Node pools of a cluster: made, looked at, deleted. */
#include "core/domain/cluster/cluster.h"
#include "core/domain/cluster/cluster_in.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/live.h"
#include "core/domain/karpenter/node_pool.h"
#include "core/domain/operation/operation.h"
#include "core/domain/pod/pod.h"
#include "core/json/tree.h"

#define AGE_PATTERN "([0-9]+(s|m|h))+|Never"

/* --- create_node_pool ------------------------------------------------------------- */

struct class_ref {
	const char *group;
	const char *kind;
	const char *name;
};

struct taint {
	const char *key;
	const char *value;
	const char *effect;
};

struct create_node_pool {
	const char *cluster;
	const char *name;
	struct class_ref node_class_ref;
	struct str_list instance_types;
	struct str_list zones;
	json_t *labels;
	struct field_list taints;
	json_t *limits;
	int64_t weight;
	const char *consolidation;
	const char *consolidate_after;
	const char *expire_after;
	const char *termination_grace_period;
};

/* EC2's own pair is what people bring along: it is told which one works here. */
static const char *const class_groups[] = {KARPENTER_CLASS_GROUP, NULL};
static const char *const class_kinds[] = {KARPENTER_CLASS_KIND, NULL};
static const char *const policies[] = {"WhenEmpty", "WhenEmptyOrUnderutilized", NULL};
static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute",
				      NULL};

static const struct field class_ref_in[] = {
	FIELD(struct class_ref, group, .one_of = class_groups,
	      .dflt = "\"" KARPENTER_CLASS_GROUP "\"",
	      .doc = "API group of the class: HyperPod's own, not that of EC2."),
	FIELD(struct class_ref, kind, .one_of = class_kinds,
	      .dflt = "\"" KARPENTER_CLASS_KIND "\"", .doc = "Kind of the class."),
	FIELD(struct class_ref, name, .flags = FIELD_REQUIRED,
	      .pattern = POD_NAME_PATTERN, .max = 253, .example = "\"gpu\"",
	      .doc = "Name of the node class."),
	FIELD_END};

static const struct field taint_in[] = {
	FIELD(struct taint, key, .flags = FIELD_REQUIRED, .min = 1, .max = 316,
	      .doc = "Its key."),
	FIELD(struct taint, value, .max = 63, .doc = "Its value."),
	FIELD(struct taint, effect, .flags = FIELD_REQUIRED, .one_of = effects,
	      .doc = "What happens to pods that do not tolerate it."),
	FIELD_END};

static const struct field create_node_pool_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct create_node_pool, cluster),
	FIELD(struct create_node_pool, name, .flags = FIELD_REQUIRED,
	      .pattern = POD_NS_PATTERN, .max = 63, .example = "\"train\"",
	      .doc = "Name of the node pool; one that is there is changed."),
	FIELD_STRUCT(struct create_node_pool, node_class_ref, struct class_ref,
		     class_ref_in, .flags = FIELD_REQUIRED,
		     .doc = "The node class whose groups give the nodes."),
	FIELD(struct create_node_pool, instance_types, .max = 50,
	      .pattern = "ml\\.[a-z0-9-]+\\.[a-z0-9]+", .meant = meant_instance_type,
	      .example = "[\"ml.g5.12xlarge\"]",
	      .doc = "Only these types of the class's groups; all of them when not given."),
	FIELD(struct create_node_pool, zones, .max = 20, .example = "[\"us-west-2a\"]",
	      .doc = "Only nodes of these zones, by name."),
	FIELD_MAP_OF(struct create_node_pool, labels, .max = 50,
		     .keys = LABEL_KEY_PATTERN, .pattern = LABEL_VALUE_PATTERN,
		     .doc = "Labels of its nodes."),
	FIELD_STRUCT(struct create_node_pool, taints, struct taint, taint_in,
		     .flags = FIELD_MANY, .max = 50, .doc = "Taints of its nodes."),
	FIELD_MAP_OF(
		struct create_node_pool, limits, .max = 20,
		.example = "{\"nvidia.com/gpu\": \"16\"}",
		.doc = "What all its nodes together may have; no bound when not given."),
	FIELD(struct create_node_pool, weight, .min = 1, .max = 100, .dflt = "10",
	      .doc = "Of several pools that fit, the heaviest is asked first."),
	FIELD(struct create_node_pool, consolidation, .one_of = policies,
	      .dflt = "\"WhenEmpty\"",
	      .doc = "WhenEmpty never ends a running pod; the other one does."),
	FIELD(struct create_node_pool, consolidate_after, .pattern = AGE_PATTERN,
	      .dflt = "\"5m\"", .doc = "How long a node stays empty before it goes."),
	FIELD(struct create_node_pool, expire_after, .pattern = AGE_PATTERN,
	      .dflt = "\"Never\"",
	      .doc = "When nodes are replaced whatever runs on them."),
	FIELD(struct create_node_pool, termination_grace_period,
	      .pattern = "([0-9]+(s|m|h))+",
	      .doc = "How long a node that goes waits for its pods, at most."),
	FIELD_END};

static bool run_create(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct create_node_pool *q = in;

	return cluster_submit(c, &kind_create_node_pool, q->cluster, in, ret, e);
}

extern const struct capability cap_create_node_pool;
const struct capability cap_create_node_pool = {
	.name = "create_node_pool",
	.method = "POST",
	.path = "/clusters/{cluster}/node-pools",
	.title = "Create a node pool",
	.doc = "Pods that wait and fit get nodes of a node class, within the limits. HyperPod's "
	       "autoscaler chooses by instance type (ml. names) and zone only. By default "
	       "nodes go when they are empty and never expire, so that no training pod is "
	       "evicted.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_IDEMPOTENT | CAP_STAKES,
	.in = create_node_pool_in,
	.in_size = sizeof(struct create_node_pool),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "name",
	.run = run_create,
};

/* --- list_node_pools ------------------------------------------------------------------
 */

struct of_cluster {
	const char *cluster;
};

static const struct field list_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct of_cluster, cluster), FIELD_END};

static const struct field pool_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the pool."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "ready, not_ready, or pending while the autoscaler has not looked."),
	OUT("why", FIELD_STR, .doc = "Why it is not ready."),
	OUT("node_class", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Its node class."),
	OUT("instance_types", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Types it may have; none: all of the class."),
	OUT("limits", FIELD_MAP, .flags = FIELD_REQUIRED,
	    .doc = "What all its nodes may have."),
	OUT("resources", FIELD_MAP, .flags = FIELD_REQUIRED,
	    .doc = "What they have now."),
	OUT("labels", FIELD_MAP, .flags = FIELD_REQUIRED, .doc = "Labels of its nodes."),
	{.name = "taints",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_OPEN | FIELD_MANY,
	 .doc = "Taints of its nodes."},
	OUT("nodes", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "Nodes it has."),
	OUT("weight", FIELD_INT, .doc = "The heaviest is asked first."),
	OUT("consolidation", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Which nodes go: WhenEmpty, or also with pods on them."),
	OUT("consolidate_after", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "How long a node stays empty before it goes."),
	OUT("expire_after", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "When nodes are replaced."),
	{.name = "conditions",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = live_condition_out,
	 .doc = "As the autoscaler says."},
	OUT("created_at", FIELD_STR, .doc = "When it was made."),
	FIELD_END};

static const struct field list_out[] = {LIVE_LIST_OUT(pool_out), FIELD_END};

static bool run_list(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct of_cluster *q = in;
	json_t *pools, *items = json_new_list(c->arena), *v;
	struct kube_target t;
	bool served;
	size_t i;

	if (!pod_target(c, q->cluster, &t, NULL, e) ||
	    !live_list(c, &t, KARPENTER_API, KARPENTER_POOLS, &pools, &served, e))
		return false;
	json_array_foreach(pools, i, v)
		json_push(items, node_pool_row(c->arena, v));
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:O, s:b, s:n}", "items", items, "served",
			      served, "next_cursor"));
	return true;
}

extern const struct capability cap_list_node_pools;
const struct capability cap_list_node_pools = {
	.name = "list_node_pools",
	.method = "GET",
	.path = "/clusters/{cluster}/node-pools",
	.title = "List node pools",
	.doc = "For which pods the autoscaler makes nodes, what they have and may have.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = list_in,
	.in_size = sizeof(struct of_cluster),
	.out = list_out,
	.run = run_list,
};

/* --- delete_node_pool ------------------------------------------------------------------
 */

struct delete_node_pool {
	const char *cluster;
	const char *name;
};

static const struct field delete_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct delete_node_pool, cluster),
	FIELD(struct delete_node_pool, name, .flags = FIELD_REQUIRED | FIELD_PATH,
	      .pattern = POD_NAME_PATTERN, .max = 63, .doc = "Name of the node pool."),
	FIELD_END};

static bool run_delete(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct delete_node_pool *q = in;

	return cluster_submit(c, &kind_delete_node_pool, q->cluster, in, ret, e);
}

extern const struct capability cap_delete_node_pool;
const struct capability cap_delete_node_pool = {
	.name = "delete_node_pool",
	.method = "DELETE",
	.path = "/clusters/{cluster}/node-pools/{name}",
	.title = "Delete a node pool",
	.doc = "Its nodes go with it, and the pods on them end: the plan lists these, and its "
	       "confirm must be sent. The node class stays for others.",
	.effect = CAP_DESTROY,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_STAKES,
	.in = delete_in,
	.in_size = sizeof(struct delete_node_pool),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "name",
	.run = run_delete,
};
