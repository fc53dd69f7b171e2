/*
 * node_pool_kinds.c - a node pool made and deleted.
 *
 * Its nodes go with a pool: what runs on them was confirmed.
 */
#include "core/domain/cluster/eks_access.h"
#include "core/domain/cluster/kinds.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/node_object.h"
#include "core/domain/karpenter/node_pool.h"
#include "core/domain/karpenter/users.h"
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

static bool check_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) ||
	       node_object_list(c, x, KARPENTER_CLASS_API, KARPENTER_CLASSES);
}

static void check_plan(struct step_ctx *c, struct exchange *x)
{
	struct findings f = findings_new(c->arena);
	struct err e;

	(void)x;
	node_pool_check(c->input, node_object_items(c, KARPENTER_CLASSES),
			saw(c, "hyperpod"), &f);
	if (!findings_none(&f, ERR_INVALID_INPUT, "the autoscaler cannot work so", &e))
		*step_fail(c, e.code, "%s", e.detail) = e;
}

static const struct step create_steps[] = {
	EKS_ACCESS_STEP,
	{.name = "check_class",
	 .phase = "check",
	 .title = "Check the node class, types and zones",
	 .effect = EFFECT_READ,
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

static bool users_observe(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "nodes",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "v1",
						.plural = "nodes",
						.label_selector = arena_printf(
							c->arena, "%s=%s",
							KARPENTER_POOL_LABEL,
							step_input(c, "name"))}) ||
	       (json_len_at(saw(c, "nodes"), "items") &&
		node_object_list(c, x, "v1", "pods"));
}

static void users_plan(struct step_ctx *c, struct exchange *x)
{
	const char *name = step_input(c, "name");

	(void)x;
	(void)node_object_stake(
		c, "node_pool", name,
		users_on_nodes(c->arena, node_object_items(c, "pods"),
			       users_labelled(c->arena, node_object_items(c, "nodes"),
					      KARPENTER_POOL_LABEL, name)));
}

static const struct step delete_steps[] = {
	EKS_ACCESS_STEP,
	{.name = "check_users",
	 .phase = "check",
	 .title = "Find pods on its nodes",
	 .effect = EFFECT_READ,
	 .stakes = true,
	 .observe = users_observe,
	 .seen = read_seen,
	 .plan = users_plan},
	NODE_OBJECT_DELETE_STEPS(&node_object_pool),
	{.name = NULL},
};

const struct kind kind_delete_node_pool = {
	.name = "delete_node_pool",
	.title = "Delete a node pool",
	.steps = delete_steps,
	.deadline_s = 2 * 3600,
	.locks = lock_cluster,
	.no_undo = "What was removed does not come back by itself: create it again.",
};
