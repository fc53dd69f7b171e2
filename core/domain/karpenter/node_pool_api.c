/* Node pools of a cluster: made, looked at, deleted. */
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/live.h"
#include "core/domain/karpenter/node_pool.h"
#include "core/domain/operation_out.h"
#include "core/domain/pod/pod.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
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
	      .doc = "API group of the class: that of HyperPod, not of EC2."),
	FIELD(struct class_ref, kind, .one_of = class_kinds,
	      .dflt = "\"" KARPENTER_CLASS_KIND "\"", .doc = "Kind of the class."),
	FIELD(struct class_ref, name, .flags = FIELD_REQUIRED,
	      .pattern = POD_NAME_PATTERN, .max = 253, .example = "\"gpu\"",
	      .doc = "Name of the node class."),
	FIELD_END};

static const char *const taint_unique[] = {"key", "effect", NULL};

static const struct field taint_in[] = {
	FIELD(struct taint, key, .flags = FIELD_REQUIRED, .min = 1, .max = 316,
	      .doc = "Key of the taint."),
	FIELD(struct taint, value, .max = 63, .doc = "Value of the taint."),
	FIELD(struct taint, effect, .flags = FIELD_REQUIRED, .one_of = effects,
	      .doc = "Effect on pods that do not tolerate the taint."),
	FIELD_END};

static const struct field create_node_pool_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct create_node_pool, cluster),
	FIELD(struct create_node_pool, name, .flags = FIELD_REQUIRED,
	      .pattern = POD_NS_PATTERN, .max = 63, .example = "\"train\"",
	      .doc = "Name of the node pool. An existing pool is changed."),
	FIELD_STRUCT(struct create_node_pool, node_class_ref, struct class_ref,
		     class_ref_in, .flags = FIELD_REQUIRED,
		     .doc = "Node class that provides the nodes."),
	FIELD(struct create_node_pool, instance_types, .max = 50,
	      .pattern = "ml\\.[a-z0-9-]+\\.[a-z0-9]+", .meant = meant_instance_type,
	      .example = "[\"ml.g5.12xlarge\"]",
	      .doc = "Instance types to use. Default: all types of the class."),
	FIELD(struct create_node_pool, zones, .max = 20, .example = "[\"us-west-2a\"]",
	      .doc = "Zone names to use. Default: all."),
	FIELD_MAP_OF(struct create_node_pool, labels, .max = 50,
		     .keys = LABEL_KEY_PATTERN, .pattern = LABEL_VALUE_PATTERN,
		     .doc = "Labels of the nodes."),
	FIELD_STRUCT(struct create_node_pool, taints, struct taint, taint_in,
		     .flags = FIELD_MANY, .max = 50, .unique = taint_unique,
		     .doc = "Taints of the nodes."),
	FIELD_MAP_OF(
		struct create_node_pool, limits, .max = 20,
		.example = "{\"nvidia.com/gpu\": \"16\"}",
		.doc = "Limit for all nodes of the pool together. Default: no limit."),
	FIELD(struct create_node_pool, weight, .min = 1, .max = 100, .dflt = "10",
	      .doc = "If several pools fit, the one with the highest weight is used "
		     "first."),
	FIELD(struct create_node_pool, consolidation, .one_of = policies,
	      .dflt = "\"WhenEmpty\"",
	      .doc = "WhenEmpty never ends a running pod. WhenEmptyOrUnderutilized "
		     "can."),
	FIELD(struct create_node_pool, consolidate_after, .pattern = AGE_PATTERN,
	      .dflt = "\"5m\"",
	      .doc = "How long a node stays empty before it is removed."),
	FIELD(struct create_node_pool, expire_after, .pattern = AGE_PATTERN,
	      .dflt = "\"Never\"",
	      .doc = "Age at which a node is replaced, even if pods are running on it."),
	FIELD(struct create_node_pool, termination_grace_period,
	      .pattern = "([0-9]+(s|m|h))+",
	      .doc = "How long a removed node waits for its pods to end."),
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
	.doc = "Gives nodes of a node class to pending pods, within limits. The "
	       "autoscaler chooses only by instance type (ml. names) and zone. By "
	       "default, nodes are removed only when empty and never expire, so no "
	       "training pod is evicted.",
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

static const struct field pool_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the pool."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "ready, not_ready, or pending until the autoscaler has checked it."),
	OUT("why", FIELD_STR, .doc = "Why it is not ready."),
	OUT("node_class", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Node class of the pool."),
	OUT("instance_types", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Allowed instance types. Empty: all types of the class."),
	OUT("limits", FIELD_MAP, .flags = FIELD_REQUIRED, .doc = "Limits of the pool."),
	OUT("resources", FIELD_MAP, .flags = FIELD_REQUIRED,
	    .doc = "Current usage of the pool."),
	OUT("labels", FIELD_MAP, .flags = FIELD_REQUIRED, .doc = "Labels of the nodes."),
	{.name = "taints",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_OPEN | FIELD_MANY,
	 .doc = "Taints of the nodes."},
	OUT("nodes", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "Number of nodes."),
	OUT("weight", FIELD_INT, .doc = "Weight of the pool. The highest is used first."),
	OUT("consolidation", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "WhenEmpty, or a policy that also removes nodes with pods."),
	OUT("consolidate_after", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "How long a node stays empty before it is removed."),
	OUT("expire_after", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Age at which a node is replaced."),
	{.name = "conditions",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = live_condition_out,
	 .doc = "Conditions reported by the autoscaler."},
	OUT("created_at", FIELD_STR, .doc = "Time of creation."),
	FIELD_END};

static const struct field list_out[] = {LIVE_LIST_OUT(pool_out), FIELD_END};

static bool run_list(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct live_list_in *q = in;
	json_t *pools, *items = json_new_list(c->arena), *v, *next;
	struct kube_target t;
	bool served;
	size_t i;

	if (!pod_target(c, q->cluster, &t, NULL, e) ||
	    !live_list(c, &t, KARPENTER_API, KARPENTER_POOLS, &pools, &served, e))
		return false;
	json_array_foreach(pools, i, v)
		json_push(items, node_pool_row(c->arena, v));
	next = page_cut(c->arena, items, "name", q->limit, q->cursor);
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:O, s:O, s:b}", "items", items, "next_cursor",
			      next, "served", served));
	return true;
}

extern const struct capability cap_list_node_pools;
const struct capability cap_list_node_pools = {
	.name = "list_node_pools",
	.method = "GET",
	.path = "/clusters/{cluster}/node-pools",
	.title = "List node pools",
	.doc = "Lists the node pools of the autoscaler with their usage and limits.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_LIST,
	.in = live_list_in,
	.in_size = sizeof(struct live_list_in),
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
	.doc = "Deletes the node pool and its nodes. Pods on them end. The plan lists "
	       "the pods, and its confirm value is required. The node class stays.",
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
