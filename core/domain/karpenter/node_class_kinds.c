/*
 * node_class_kinds.c - a node class made and deleted.
 *
 * Made when every group may be listed; what runs on groups that are taken down was
 * confirmed. Node pools that refer to a class that is deleted launch nothing more.
 */
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/node_class.h"
#include "core/domain/karpenter/node_object.h"
#include "core/domain/karpenter/users.h"
#include "core/domain/site/lock.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

static json_t *wanted(struct step_ctx *c)
{
	return node_class_object(c->arena, step_input(c, "name"),
				 json_at(c->input, "instance_groups"));
}

const struct node_object node_object_class = {.api = KARPENTER_CLASS_API,
					      .plural = KARPENTER_CLASSES,
					      .what = "node class",
					      .type = "kubernetes:hyperpodnodeclass",
					      .wanted = wanted};

/* --- may it be made? ---------------------------------------------------------------- */

static bool read_subnets(struct step_ctx *c, struct exchange *x)
{
	json_t *ids = node_class_subnets(saw(c, "hyperpod"),
					 json_at(c->input, "instance_groups"), c->arena);

	return json_array_size(ids) > 0 &&
	       read_all(c, x, "subnets", AWS_EC2_DescribeSubnets,
			json_packf(c->arena, "{s:O}", "SubnetIds", ids));
}

/* Members of a that b has not. */
static json_t *without(struct step_ctx *c, const json_t *a, const json_t *b)
{
	json_t *list = json_new_list(c->arena), *v;
	size_t i;

	json_array_foreach(a, i, v)
		if (!texts_have(b, json_string_value(v)))
			json_array_append(list, v);
	return list;
}

static const json_t *groups_there(struct step_ctx *c)
{
	return json_at(users_find(node_object_items(c, KARPENTER_CLASSES),
				  step_input(c, "name")),
		       "spec.instanceGroups");
}

/* Groups that the class has already hold its own nodes: that is no loss. */
static json_t *new_groups(struct step_ctx *c)
{
	return without(c, json_at(c->input, "instance_groups"), groups_there(c));
}

/*
 * Nodes that end: all of a group that comes to the class, which begins at zero; and of
 * one that leaves it those that a pool has launched, which drift and are replaced.
 */
static json_t *things(struct step_ctx *c)
{
	const json_t *come = new_groups(c);
	const json_t *leave =
		without(c, groups_there(c), json_at(c->input, "instance_groups"));
	json_t *list = json_new_list(c->arena), *node;
	size_t i;

	json_array_foreach(node_object_items(c, "nodes"), i, node) {
		const json_t *labels = json_at(node, "metadata.labels");
		const char *group =
			json_string_value(json_object_get(labels, NODE_GROUP_LABEL));

		if (texts_have(come, group) ||
		    (texts_have(leave, group) &&
		     json_object_get(labels, KARPENTER_POOL_LABEL)))
			node_object_add_node(list, node);
	}
	return list;
}

static bool check_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) || read_subnets(c, x) ||
	       node_object_list(c, x, KARPENTER_CLASS_API, KARPENTER_CLASSES) ||
	       node_object_list(c, x, "v1", "nodes") ||
	       node_object_list(c, x, "v1", "pods") || stake_read(c, x, things(c));
}

static void check_plan(struct step_ctx *c, struct exchange *x)
{
	struct findings f = findings_new(c->arena);
	struct node_class_wish w = {
		.groups = new_groups(c),
		.scale_to_zero = json_bool_or(c->input, "scale_to_zero", false),
		.allow_spot = json_bool_or(c->input, "allow_spot", false),
		.cluster = saw(c, "hyperpod"),
		.subnets = json_at(saw(c, "subnets"), "Subnets"),
		.nodes = node_object_items(c, "nodes"),
		.pods = node_object_items(c, "pods"),
		.classes = node_object_items(c, KARPENTER_CLASSES),
		.name = step_input(c, "name")};
	const char *shared;
	struct err e;

	(void)x;
	node_class_check(&w, &f);
	if (!findings_none(&f, ERR_INVALID_INPUT, "the autoscaler cannot use", &e)) {
		*step_fail(c, e.code, "%s", e.detail) = e;
		return;
	}
	if (saw_missing(c, "subnets"))
		step_not_known(
			c, "zones",
			"whether the groups are in one zone: one of their subnets no longer exists (%s)",
			saw_why(c, "subnets"));
	shared = node_class_shared(&w, c->arena);
	if (shared)
		step_warn(c, "%s", shared);
	(void)stake_settle(c, stake_rows(c, things(c)), "the nodes to remove");
}

static const struct step create_steps[] = {
	EKS_ACCESS_STEP,
	{.name = "check_groups",
	 .phase = "check",
	 .title = "Check the instance groups",
	 .effect = EFFECT_READ,
	 .stakes = true,
	 .observe = check_observe,
	 .seen = read_seen,
	 .plan = check_plan},
	NODE_OBJECT_CREATE_STEPS(&node_object_class),
	{.name = NULL},
};

static bool undo(struct step_ctx *c, struct spawn *ret)
{
	return node_object_undo(c, ret, "delete_node_class");
}

const struct kind kind_create_node_class = {
	.name = "create_node_class",
	.title = "Create a node class",
	.steps = create_steps,
	.deadline_s = 2 * 3600,
	.locks = lock_cluster,
	.undo = undo,
};

/* --- deletion ------------------------------------------------------------------------
 */

static json_t *class_that_goes(struct step_ctx *c)
{
	return json_packf(c->arena, "[{s:s, s:s}]", "type", "node_class", "name",
			  step_input(c, "name"));
}

static const struct stake_spec class_stake = {.things = class_that_goes,
					      .what = "the node class"};

static const struct step delete_steps[] = {
	EKS_ACCESS_STEP,
	NODE_OBJECT_THERE_STEP(&node_object_class),
	STAKE_STEP("check_users", "Find node pools that refer to it", &class_stake),
	NODE_OBJECT_DELETE_STEPS(&node_object_class),
	{.name = NULL},
};

const struct kind kind_delete_node_class = {
	.name = "delete_node_class",
	.title = "Delete a node class",
	.steps = delete_steps,
	.deadline_s = 2 * 3600,
	.locks = lock_cluster,
	.no_undo = "A deletion cannot be undone. Create it again.",
};
