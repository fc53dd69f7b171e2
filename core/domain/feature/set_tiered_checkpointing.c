/*
 * set_tiered_checkpointing.c - checkpoints in the nodes' memory, on or off.
 *
 * One member of UpdateCluster; every group goes along with all its values, since
 * the service is known to want them. The share is taken from the nodes' memory.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/managed-tier-checkpointing-setup.html
 */
#include "core/domain/feature/feature.h"
#include "core/domain/feature/kinds.h"
#include "core/domain/feature/toggle.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/update_cluster.h"
#include "core/domain/site/lock.h"
#include "core/domain/stake/feature_users.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/eks_access.h"
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

	toggle_note(c, is_on(live));
	if (on && is_on(live) && !step_has_sent_any(c))
		step_save(c, "share_was", json_integer(has));
	if (!on && !is_on(live))
		return NULL;
	json_put_str(in, "TieredStorageConfig.Mode", on ? "Enable" : "Disable");
	if (on && share > 0)
		json_put_int(in, "TieredStorageConfig.InstanceMemoryAllocationPercentage",
			     share);
	if (on && share > 0)
		return arena_printf(c->arena,
				    "Keep checkpoints in %lld percent of node memory",
				    (long long)share);
	return on ? "Keep checkpoints in node memory"
		  : "Keep no checkpoints in node memory";
}

/* --- what is kept there ------------------------------------------------------------- */

static bool is_asked_for_another(const struct step_ctx *c)
{
	const json_t *live = saw(c, "hyperpod");
	const int64_t has = json_int_or(
		live, "TieredStorageConfig.InstanceMemoryAllocationPercentage", 0);

	return live && (toggle_is_enabling(c) != is_on(live) ||
			json_int_or(c->input, "memory_percent", has) != has);
}

static bool users_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) ||
	       (is_asked_for_another(c) &&
		feature_users_read(c, x, features[FEATURE_TIERED].name));
}

/*
 * Off, or with another share, the memory is given back with all that is in it. What
 * runs before it is switched on has nothing there: an undo loses nothing of that.
 */
static void users_plan(struct step_ctx *c, struct exchange *x)
{
	const char *name = features[FEATURE_TIERED].name;
	json_t *thing =
		json_packf(c->arena, "{s:s, s:s}", "type", "feature", "name", name);
	json_t *things = json_packf(c->arena, "[O]", thing);

	(void)x;
	if (!is_asked_for_another(c))
		return;
	if (is_on(saw(c, "hyperpod")))
		(void)stake_settle(c, stake_rows(c, things), "its share of memory");
	else
		step_save(c, "users_before", json_incref(stake_rows(c, things)));
}

/* --- the switch --------------------------------------------------------------------- */

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
		step_wait(c, 15, "the HyperPod cluster %s in status %s", hyperpod_name(c),
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

/* It is a share of every node's memory: another share is another thing asked for. */
static const char *tiered_moved(struct step_ctx *c)
{
	const bool on = json_bool_or(c->input, "enabled", true);
	const int64_t share = json_int_or(c->input, "memory_percent", 0);
	const json_t *cluster = saw(c, "hyperpod");

	if (saw_missing(c, "hyperpod")) {
		step_gone(c, hyperpod_name(c));
		return arena_printf(c->arena, "the HyperPod cluster %s no longer exists",
				    hyperpod_name(c));
	}
	if (!cluster || update_cluster_is_busy(json_str_or(cluster, "ClusterStatus", "")))
		return NULL;
	if (is_on(cluster) != on)
		return arena_printf(c->arena,
				    "tiered checkpointing is %s: it was switched outside "
				    "InstantStart",
				    on ? "off" : "on");
	if (on && share > 0 &&
	    json_int_or(cluster, "TieredStorageConfig.InstanceMemoryAllocationPercentage",
			share) != share)
		return arena_printf(
			c->arena,
			"the memory percentage of tiered checkpointing is not %lld: it "
			"was changed outside InstantStart",
			(long long)share);
	return NULL;
}

static const struct wait tiered_wait = {
	.rule = "AWS publishes no time limit for UpdateCluster",
	.moved = tiered_moved,
	.lag_s = 60,
};

static bool undo(struct step_ctx *c, struct spawn *ret)
{
	const int64_t was = json_int_or(c->data, "share_was", 0);
	const bool on = json_bool_or(c->input, "enabled", true);

	if (toggle_undo(c, ret)) {
		if (json_at(c->data, "users_before"))
			json_object_set(ret->input, "confirmed",
					json_at(c->data, "users_before"));
		json_object_del(ret->input, "memory_percent");
		if (was > 0)
			json_put_int(ret->input, "memory_percent", was);
		return true;
	}
	/* On before and after, with another share. */
	if (!step_has_sent_any(c) || !on || was <= 0)
		return false;
	ret->kind = "set_tiered_checkpointing";
	ret->target = c->target;
	ret->input = json_own(c->arena, json_copy((json_t *)(uintptr_t)c->input));
	json_put_int(ret->input, "memory_percent", was);
	return true;
}

static bool tell(struct step_ctx *c, json_t *row)
{
	const bool was = json_bool_or(c->data, "was_on", false);

	json_put_bool(row, "wanted", json_bool_or(c->input, "enabled", true));
	json_put_bool(row, "before", was);
	step_stop(row, "update_features",
		  json_pack("{s:s, s:{s:b}}", "cluster", c->target,
			    "tiered_checkpointing", "enabled", was));
	return true;
}

static const struct leaves leaves_tiered = {.tell = tell};

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	{.name = "check_users",
	 .phase = "check",
	 .title = "Find what keeps state in it",
	 .effect = EFFECT_READ,
	 .deadline_s = 1200,
	 .stakes = true,
	 .observe = users_observe,
	 .seen = read_seen,
	 .plan = users_plan,
	 .wait = &wait_kubernetes},
	UPDATE_CLUSTER_STEP_WITH("update_cluster", "cluster", "Set tiered checkpointing",
				 &update, .leaves = &leaves_tiered),
	{.name = "conclude",
	 .phase = "conclude",
	 .title = "Wait for the cluster to apply the change",
	 .effect = EFFECT_READ,
	 .deadline_s = 2 * 3600,
	 .observe = done_observe,
	 .seen = read_seen,
	 .plan = done_plan,
	 .retry_step = "update_cluster",
	 .wait = &tiered_wait},
	{.name = NULL},
};

const struct kind kind_set_tiered_checkpointing = {
	.name = "set_tiered_checkpointing",
	.title = "Set tiered checkpointing",
	.steps = steps,
	.deadline_s = 3 * 3600,
	.locks = lock_cluster,
	.undo = undo,
};
