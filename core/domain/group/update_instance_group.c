/*
 * update_instance_group.c - what can be changed of a group in place.
 *
 * Labels and taints reach the nodes that are there; scripts, role, threads and
 * deep health checks reach nodes that come later. Everything else was fixed when
 * the group was added (case IG-06).
 */
#include "core/domain/cluster/eks_access.h"
#include "core/domain/cluster/kinds.h"
#include "core/domain/group/group.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/hyperpod/update_cluster.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static bool read_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x);
}

static void read_plan(struct step_ctx *c, struct exchange *x)
{
	const int64_t least = json_int_or(c->input, "min_count", 0);
	int64_t target;
	struct err *e;

	(void)x;
	if (!group_must_be(c))
		return;
	target = json_int_or(group_live(c), "TargetCount", 0);
	if (least > target) {
		e = step_fail(c, ERR_INVALID_INPUT,
			      "min_count cannot be larger than the group's count of %lld",
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
		json_put(g, k->to, taints_of(v));
	else
		json_put(g, k->to, json_deep_copy(v));
}

static const char *update_want(struct step_ctx *c, const json_t *live, json_t *in)
{
	json_t *g = update_group(c, live, in, group_name(c));
	struct buf now, later;
	size_t i;

	if (!g)
		return NULL;
	buf_init(&now, c->arena, 100);
	buf_init(&later, c->arena, 100);
	for (i = 0; i < N_CHANGES; i++) {
		struct buf *b = changes[i].later ? &later : &now;

		put_change(c, g, &changes[i]);
		if (is_given(c, changes[i].from) || is_cleared(c, changes[i].from))
			buf_printf(b, "%s%s", b->len ? ", " : "", changes[i].from);
	}
	return arena_printf(c->arena, "Change the instance group %s in place%s%s%s%s",
			    group_name(c), now.len ? ": " : "", buf_cstr(&now),
			    later.len ? "; for nodes that come later: " : "",
			    buf_cstr(&later));
}

static const struct update_cluster update = {.want = update_want};

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
		step_wait(c, 15, "labels and taints of %s to reach its nodes",
			  group_name(c));
		return;
	}
	step_catalog(c, "instance_group", group_name(c), NULL,
		     json_deep_copy(group_live(c)));
	step_done(c, json_pack("{s:s, s:s, s:s}", "cluster", c->target, "hyperpod_name",
			       hyperpod_name(c), "group", group_name(c)));
}

static const struct step steps[] = {
	{.name = "read_group",
	 .phase = "check",
	 .title = "Read the instance group",
	 .effect = EFFECT_READ,
	 .observe = read_observe,
	 .seen = read_seen,
	 .plan = read_plan,
	 .on_fail = preflight_note},
	PREFLIGHT_ROLE_STEP(preflight_note),
	PREFLIGHT_STEP("check_script", "Check the own lifecycle script", own_script, true,
		       preflight_note),
	PREFLIGHT_VERDICT("read_group"),
	UPDATE_CLUSTER_STEP("update_group", "group", "Change the instance group",
			    &update),
	{.name = "wait_update",
	 .phase = "group",
	 .title = "Wait until the nodes have it",
	 .effect = EFFECT_READ,
	 .deadline_s = 2 * 3600,
	 .observe = read_observe,
	 .seen = read_seen,
	 .plan = finish_plan},
	{.name = NULL},
};

const struct kind kind_update_instance_group = {
	.name = "update_instance_group",
	.title = "Change an instance group",
	.steps = steps,
	.deadline_s = 4 * 3600,
	.locks = lock_cluster,
};
