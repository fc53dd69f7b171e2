/*
 * remove_hyperpod.c - takes back what create_hyperpod_cluster has asked for.
 *
 * The HyperPod cluster goes, and its nodes with it: nothing launches any more. Role,
 * bucket and subnet stay: they cost nothing, and the next try takes them as they are.
 */
#include "core/domain/cluster/kinds.h"
#include "core/domain/cluster/teardown.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/node/node_action.h"
#include "core/domain/site/lock.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* --- whose work ends with it ---------------------------------------------------------
 */

static bool nodes_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) ||
	       (saw(c, "hyperpod") &&
		read_all(c, x, "nodes", AWS_SAGEMAKER_ListClusterNodes,
			 json_packf(c->arena, "{s:s}", "ClusterName", hyperpod_name(c))));
}

static json_t *nodes_that_go(struct step_ctx *c)
{
	json_t *list = json_new_list(c->arena), *node;
	size_t i;

	json_array_foreach(json_at(saw(c, "nodes"), "ClusterNodeSummaries"), i, node) {
		const char *id = json_str_or(node, "InstanceId", "");

		json_push(list,
			  json_pack("{s:s, s:s, s:s*, s:s*}", "type", "node", "name", id,
				    "kube", node_kube_name(c->arena, id), "group",
				    json_str_at(node, "InstanceGroupName")));
	}
	return list;
}

static const struct stake_spec leaving = {nodes_observe, nodes_that_go,
					  "the HyperPod cluster"};

static void finish_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (c->planning)
		return;
	step_catalog(c, "cluster", c->target, NULL,
		     json_pack("{s:s, s:O*}", "status", "control_plane_ready", "eks",
			       json_at(c->data, "eks")));
	step_done(c, json_pack("{s:s, s:s}", "cluster", c->target, "removed",
			       "the HyperPod cluster"));
}

/* It stopped when half was gone: what is left is no cluster in service. */
static void stopped(struct step_ctx *c)
{
	if (step_has_sent_any(c))
		step_catalog(c, "cluster", c->target, NULL,
			     json_pack("{s:s}", "status", "partly_deleted"));
}

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	STAKE_STEP("check_users", "Find pods on its nodes", &leaving),
	TEARDOWN_HYPERPOD_STEP,
	{.name = "finish",
	 .phase = "hyperpod",
	 .title = "Record the removal",
	 .effect = EFFECT_READ,
	 .plan = finish_plan},
	{.name = NULL},
};

const struct kind kind_remove_hyperpod_cluster = {
	.name = "remove_hyperpod_cluster",
	.title = "Remove the HyperPod cluster",
	.steps = steps,
	.deadline_s = 4 * 3600,
	.locks = lock_cluster,
	.stopped = stopped,
	.no_undo = "A deletion cannot be undone.",
};
