/*
 * update_instance_group.c - what can be changed of a group in place.
 *
 * Labels and taints reach the nodes that are there; scripts, role, threads and
 * deep health checks reach nodes that come later. Everything else was fixed when
 * the group was added (case IG-06).
 */
#include "core/base/listing.h"
#include "core/domain/group/group.h"
#include "core/domain/hyperpod/group_spec.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/new_group.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/hyperpod/update_cluster.h"
#include "core/domain/site/lock.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static bool read_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x);
}

/* What an undo brings back: as it was before anything of ours was sent. */
static void note_before(struct step_ctx *c)
{
	struct err ignored = {0};
	const json_t *spec = group_spec(group_live(c), c->arena, &ignored);

	if (spec && !step_has_sent_any(c))
		step_save(c, "before", json_deep_copy(spec));
}

static void read_plan(struct step_ctx *c, struct exchange *x)
{
	const int64_t least = json_int_or(c->input, "min_count", 0);
	int64_t target;
	struct err *e;

	(void)x;
	if (!group_must_be(c))
		return;
	note_before(c);
	target = json_int_or(group_live(c), "TargetCount", 0);
	if (least > target) {
		e = step_fail(c, ERR_INVALID_INPUT,
			      "min_count cannot exceed the group's count of %lld",
			      (long long)target);
		err_field(e, "/min_count",
			  arena_printf(c->arena, "%lld", (long long)least),
			  arena_printf(c->arena, "at most %lld", (long long)target));
	}
}

/* --- the desired specification ------------------------------------------------------ */

/* Member of the input; member of the specification. */
struct change {
	const char *from;
	const char *to;
	bool later; /* nodes that are there keep what they have */
};

static const struct change changes[] = {
	{"min_count", "MinInstanceCount", false},
	{"labels", "KubernetesConfig.Labels", false},
	{"taints", "KubernetesConfig.Taints", false},
	{"deep_health_checks", "OnStartDeepHealthChecks", true},
	{"threads_per_core", "ThreadsPerCore", true},
	{"execution_role_arn", "ExecutionRole", true},
	{"lifecycle_s3_uri", "LifeCycleConfig.SourceS3Uri", true},
	{"lifecycle_on_create", "LifeCycleConfig.OnCreate", true},
	{"image_release_version", "ImageReleaseVersion", true},
};

enum { N_CHANGES = sizeof(changes) / sizeof(changes[0]) };

static bool is_cleared(const struct step_ctx *c, const char *member)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(c->input, "clear"), i, v)
		if (streq(json_string_value(v), member))
			return true;
	return false;
}

/* A zero or an empty list was not given; `clear` is for these. */
static bool is_given(const struct step_ctx *c, const char *member)
{
	const json_t *v = json_at(c->input, member);

	if (json_is_integer(v))
		return json_integer_value(v) != 0;
	return v && !(json_is_array(v) && json_array_size(v) == 0);
}

static void set_back(json_t *g, const char *path)
{
	json_drop(g, path);
	if (json_object_size(json_at(g, "KubernetesConfig")) == 0)
		json_drop(g, "KubernetesConfig");
}

static void put_change(struct step_ctx *c, json_t *g, const struct change *k)
{
	json_t *v = json_at(c->input, k->from);

	if (is_cleared(c, k->from) || (json_is_object(v) && json_object_size(v) == 0))
		set_back(g, k->to);
	else if (!is_given(c, k->from))
		return;
	else if (streq(k->from, "taints"))
		json_put(g, k->to, new_group_taints(v));
	else
		json_put(g, k->to, json_deep_copy(v));
}

static const char *update_want(struct step_ctx *c, const json_t *live, json_t *in)
{
	json_t *g = update_group(c, live, in, group_name(c));
	struct listing now = listing_new(c->arena, ", ", LISTING_LONG);
	struct listing later = listing_new(c->arena, ", ", LISTING_LONG);
	size_t i;

	if (!g)
		return NULL;
	for (i = 0; i < N_CHANGES; i++) {
		struct listing *l = changes[i].later ? &later : &now;

		put_change(c, g, &changes[i]);
		if (is_given(c, changes[i].from) || is_cleared(c, changes[i].from))
			listing_add(l, "%s", changes[i].from);
	}
	return arena_printf(c->arena, "Change the instance group %s in place%s%s%s%s",
			    group_name(c), now.n ? ": " : "", listing_text(&now),
			    later.n ? "; for new nodes: " : "", listing_text(&later));
}

static const struct update_cluster update = {.want = update_want};

static bool is_nothing(const json_t *v)
{
	return !v || json_is_null(v) ||
	       (json_is_integer(v) && json_integer_value(v) == 0) ||
	       ((json_is_array(v) || json_is_object(v)) &&
		json_array_size(v) + json_object_size(v) == 0);
}

static json_t *input_taints(const json_t *taints)
{
	json_t *list = json_array(), *t;
	size_t i;

	json_array_foreach(taints, i, t)
		json_push(list,
			  json_pack("{s:s, s:s*, s:s}", "key", json_str_or(t, "Key", ""),
				    "value", json_str_at(t, "Value"), "effect",
				    json_str_or(t, "Effect", "")));
	return list;
}

json_t *group_change_back(struct step_ctx *c)
{
	json_t *in = json_deep_copy(group_undo_input(c)), *clear = json_array();

	for (size_t i = 0; i < N_CHANGES; i++) {
		const char *from = changes[i].from;
		json_t *was = json_at(json_at(c->data, "before"), changes[i].to);

		if (!is_given(c, from) && !is_cleared(c, from))
			continue;
		if (is_nothing(was))
			json_push(clear, json_string(from));
		else
			json_put(in, from,
				 streq(from, "taints") ? input_taints(was)
						       : json_deep_copy(was));
	}
	if (json_array_size(clear) > 0)
		json_put(in, "clear", clear);
	else
		json_decref(clear);
	return in;
}

/* --- NoExecute ends what does not tolerate it ------------------------------------------
 */

static const char *taint_text(const json_t *taints, const char *key, const char *name)
{
	return json_str_or(json_find(taints, key, name), "Effect", "");
}

/* The new ones; NULL: none. */
static json_t *evicting(struct step_ctx *c)
{
	const json_t *live = json_at(group_live(c), "KubernetesConfig.DesiredTaints");
	json_t *list = json_new_list(c->arena), *t;
	size_t i;

	json_array_foreach(json_at(c->input, "taints"), i, t)
		if (streq(json_str_at(t, "effect"), "NoExecute") &&
		    !streq(taint_text(live, "Key", json_str_or(t, "key", "")),
			   "NoExecute"))
			json_array_append(list, t);
	return json_array_size(list) ? list : NULL;
}

static bool evicted_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) || (evicting(c) && group_list_observe(c, x));
}

static json_t *evicted(struct step_ctx *c)
{
	json_t *taints = evicting(c), *things, *v;
	size_t i;

	if (!taints)
		return NULL;
	things = group_things(c, group_nodes(c));
	json_array_foreach(things, i, v)
		json_object_set(v, "evicts", taints);
	return things;
}

static const struct stake_spec tainted = {evicted_observe, evicted, "the new taints"};

/* --- done when the service says so ---------------------------------------------------
 */

/* No labels are said by no member as well as by an empty one. */
static bool has_come(const json_t *kube, const char *current, const char *desired)
{
	const json_t *now = json_at(kube, current), *wanted = json_at(kube, desired);

	/* Of the other type a size is 0. */
	if (json_object_size(wanted) + json_array_size(wanted) == 0)
		return json_object_size(now) + json_array_size(now) == 0;
	return json_equal(now, wanted);
}

static void finish_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *kube = json_at(group_live(c), "KubernetesConfig");

	(void)x;
	if (c->planning)
		return;
	if (!group_must_be(c))
		return;
	if (!has_come(kube, "CurrentLabels", "DesiredLabels") ||
	    !has_come(kube, "CurrentTaints", "DesiredTaints")) {
		step_wait(c, 15, "labels and taints of %s to be applied to its nodes",
			  group_name(c));
		return;
	}
	step_catalog(c, "instance_group", group_name(c), NULL,
		     json_deep_copy(group_live(c)));
	step_done(c, json_pack("{s:s, s:s, s:s}", "cluster", c->target, "hyperpod_name",
			       hyperpod_name(c), "group", group_name(c)));
}

static bool is_wanted(struct step_ctx *c, const json_t *spec, const struct change *k)
{
	const json_t *live = json_at(spec, k->to);
	json_t *wanted = json_new_object(c->arena);

	/* What was cleared is the service's to set. */
	if (!is_given(c, k->from) || is_cleared(c, k->from))
		return true;
	put_change(c, wanted, k);
	return (is_nothing(json_at(wanted, k->to)) && is_nothing(live)) ||
	       json_equal(json_at(wanted, k->to), live);
}

/* Somebody else's values are not ours, even when every node has them. */
static const char *change_moved(struct step_ctx *c)
{
	struct err ignored = {0};
	const json_t *spec;

	if (saw_missing(c, "hyperpod")) {
		step_gone(c, group_name(c));
		return arena_printf(c->arena, "the HyperPod cluster %s no longer exists",
				    hyperpod_name(c));
	}
	if (!saw(c, "hyperpod"))
		return NULL;
	if (!group_live(c) || streq(json_str_at(group_live(c), "Status"), "Deleting")) {
		step_gone(c, group_name(c));
		return arena_printf(
			c->arena,
			"the instance group %s was deleted outside InstantStart",
			group_name(c));
	}
	spec = group_spec(group_live(c), c->arena, &ignored);
	for (size_t i = 0; spec && i < N_CHANGES; i++)
		if (!is_wanted(c, spec, &changes[i]))
			return arena_printf(
				c->arena,
				"%s of the instance group %s is now %s: it was changed "
				"outside InstantStart",
				changes[i].from, group_name(c),
				json_at(spec, changes[i].to)
					? json_text(c->arena,
						    json_at(spec, changes[i].to))
					: "not set");
	return NULL;
}

static const struct wait have_it = {
	.rule = "KubernetesConfig is reconciled continuously. AWS publishes no time "
		"limit",
	.moved = change_moved,
	.lag_s = 60,
};

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	{.name = "read_group",
	 .phase = "check",
	 .title = "Read the instance group",
	 .effect = EFFECT_READ,
	 .observe = read_observe,
	 .seen = read_seen,
	 .plan = read_plan,
	 .on_fail = preflight_note},
	STAKE_STEP("check_users", "Find pods that the taints end", &tainted),
	PREFLIGHT_ROLE_STEP(preflight_note),
	PREFLIGHT_STEP("check_script", "Check the lifecycle script", own_script, true,
		       preflight_note),
	PREFLIGHT_VERDICT("read_group"),
	UPDATE_CLUSTER_STEP_WITH("update_group", "group", "Change the instance group",
				 &update, .leaves = &group_leaves_change),
	{.name = "wait_update",
	 .phase = "group",
	 .title = "Wait until the nodes are updated",
	 .effect = EFFECT_READ,
	 .deadline_s = 2 * 3600,
	 .observe = read_observe,
	 .seen = read_seen,
	 .plan = finish_plan,
	 .retry_step = "update_group",
	 .wait = &have_it},
	{.name = NULL},
};

const struct kind kind_update_instance_group = {
	.name = "update_instance_group",
	.title = "Change an instance group",
	.steps = steps,
	.deadline_s = 6 * 3600,
	.locks = lock_cluster,
	.undo = group_undo_change,
};
