/*
 * set_tiered_checkpointing.c - checkpoints in the nodes' memory, on or off.
 *
 * One member of UpdateCluster; every group goes along with all its values, since
 * the service is known to want them. The share is taken from the nodes' memory.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/managed-tier-checkpointing-setup.html
 */
#include "core/domain/cluster/kinds.h"
#include "core/domain/feature/feature.h"
#include "core/domain/feature/kinds.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/update_cluster.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static bool is_on(const json_t *cluster)
{
	return streq(json_str_or(cluster, "TieredStorageConfig.Mode", "Disable"),
		     "Enable");
}

/* A share that nobody asked for stays what it is. */
static const char *want(struct step_ctx *c, const json_t *live, json_t *in)
{
	const bool on = json_bool_or(c->input, "enabled", true);
	const int64_t has = json_int_or(
		live, "TieredStorageConfig.InstanceMemoryAllocationPercentage", 0);
	const int64_t share = json_int_or(c->input, "memory_percent", has);

	if (!on && !is_on(live))
		return NULL;
	json_put_str(in, "TieredStorageConfig.Mode", on ? "Enable" : "Disable");
	if (on && share > 0)
		json_put_int(in, "TieredStorageConfig.InstanceMemoryAllocationPercentage",
			     share);
	if (on && share > 0)
		return arena_printf(
			c->arena, "Keep checkpoints in %lld percent of the nodes' memory",
			(long long)share);
	return on ? "Keep checkpoints in the nodes' memory"
		  : "Keep no checkpoints in the nodes' memory";
}

static const struct update_cluster update = {.want = want, .all_groups = true};

static bool done_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x);
}

static void done_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *cluster = saw(c, "hyperpod");
	const char *state = is_on(cluster) ? "enabled" : "disabled";
	const struct feature *f = &features[FEATURE_TIERED];

	(void)x;
	if (c->planning)
		return;
	if (update_cluster_is_busy(json_str_or(cluster, "ClusterStatus", ""))) {
		step_wait(c, 15, "the HyperPod cluster %s, which is %s", hyperpod_name(c),
			  json_str_or(cluster, "ClusterStatus", "?"));
		return;
	}
	step_catalog(
		c, "feature", f->name,
		json_pack("{s:b}", "enabled", json_bool_or(c->input, "enabled", true)),
		json_pack("{s:s, s:s}", "state", state, "title", f->title));
	step_done(c, json_pack("{s:s, s:s, s:s}", "cluster", c->target, "feature",
			       f->name, "state", state));
}

static const struct step steps[] = {
	UPDATE_CLUSTER_STEP("update_cluster", "cluster", "Set tiered checkpointing",
			    &update),
	{.name = "conclude",
	 .phase = "conclude",
	 .title = "Wait until the cluster has it",
	 .effect = EFFECT_READ,
	 .deadline_s = 2 * 3600,
	 .observe = done_observe,
	 .seen = read_seen,
	 .plan = done_plan},
	{.name = NULL},
};

const struct kind kind_set_tiered_checkpointing = {
	.name = "set_tiered_checkpointing",
	.title = "Set tiered checkpointing",
	.steps = steps,
	.deadline_s = 3 * 3600,
	.locks = lock_cluster,
};
