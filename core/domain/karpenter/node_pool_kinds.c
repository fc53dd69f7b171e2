/*
 * node_pool_kinds.c - a node pool made and deleted.
 *
 * Its nodes go with a pool, and those that no longer fit with its change: what runs on
 * them was confirmed.
 */
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/node_object.h"
#include "core/domain/karpenter/node_pool.h"
#include "core/domain/karpenter/users.h"
#include "core/domain/site/lock.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static json_t *wanted(struct step_ctx *c)
{
	return node_pool_object(c->arena, c->input);
}

const struct node_object node_object_pool = {.api = KARPENTER_API,
					     .plural = KARPENTER_POOLS,
					     .what = "node pool",
					     .type = "kubernetes:nodepool",
					     .wanted = wanted};

static const json_t *pool_there(struct step_ctx *c)
{
	return users_find(node_object_items(c, KARPENTER_POOLS), step_input(c, "name"));
}

/* Of a pool that is there and becomes another one, the nodes that go by that. */
static json_t *things(struct step_ctx *c)
{
	const json_t *was = pool_there(c), *will;
	json_t *list = json_new_list(c->arena), *node;
	size_t i;

	if (!was)
		return list;
	will = wanted(c);
	json_array_foreach(node_object_items(c, "nodes"), i, node)
		if (node_pool_ends(was, will, node))
			node_object_add_node(list, node);
	return list;
}

static bool check_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) ||
	       node_object_list(c, x, KARPENTER_CLASS_API, KARPENTER_CLASSES) ||
	       node_object_list(c, x, KARPENTER_API, KARPENTER_POOLS) ||
	       (pool_there(c) &&
		(node_object_read_of_pool(c, x) || stake_read(c, x, things(c))));
}

static void check_plan(struct step_ctx *c, struct exchange *x)
{
	struct findings f = findings_new(c->arena);
	struct err e;

	(void)x;
	node_pool_check(c->input, node_object_items(c, KARPENTER_CLASSES),
			saw(c, "hyperpod"), &f);
	if (!findings_none(&f, ERR_INVALID_INPUT, "the autoscaler rejects this", &e))
		*step_fail(c, e.code, "%s", e.detail) = e;
	else
		(void)stake_settle(c, stake_rows(c, things(c)),
				   "the change of the node pool");
}

static const struct step create_steps[] = {
	EKS_ACCESS_STEP,
	{.name = "check_class",
	 .phase = "check",
	 .title = "Check the node class, types and zones",
	 .effect = EFFECT_READ,
	 .stakes = true,
	 .observe = check_observe,
	 .seen = read_seen,
	 .plan = check_plan},
	NODE_OBJECT_CREATE_STEPS(&node_object_pool),
	{.name = NULL},
};

static bool undo(struct step_ctx *c, struct spawn *ret)
{
	return node_object_undo(c, ret, "delete_node_pool");
}

const struct kind kind_create_node_pool = {
	.name = "create_node_pool",
	.title = "Create a node pool",
	.steps = create_steps,
	.deadline_s = 2 * 3600,
	.locks = lock_cluster,
	.undo = undo,
};

/* --- deletion ------------------------------------------------------------------------
 */

static json_t *nodes_that_go(struct step_ctx *c)
{
	json_t *list = json_new_list(c->arena), *node;
	size_t i;

	json_array_foreach(node_object_items(c, "nodes"), i, node)
		node_object_add_node(list, node);
	return list;
}

static const struct stake_spec pool_stake = {.observe = node_object_read_of_pool,
					     .things = nodes_that_go,
					     .what = "the nodes of the pool"};

static const struct step delete_steps[] = {
	EKS_ACCESS_STEP,
	NODE_OBJECT_THERE_STEP(&node_object_pool),
	STAKE_STEP("check_users", "Find pods on its nodes", &pool_stake),
	NODE_OBJECT_DELETE_STEPS(&node_object_pool),
	{.name = NULL},
};

const struct kind kind_delete_node_pool = {
	.name = "delete_node_pool",
	.title = "Delete a node pool",
	.steps = delete_steps,
	.deadline_s = 2 * 3600,
	.locks = lock_cluster,
	.no_undo = "A deletion cannot be undone. Create it again.",
};
