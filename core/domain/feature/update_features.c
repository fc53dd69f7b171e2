/*
 * update_features.c - only what was named is changed, in an order that works.
 *
 * What goes, goes first and in reverse; what comes, comes in the order in which
 * one needs another. Each is an operation of its own that compares what should be
 * with what is: equal means no call.
 */
#include "core/domain/feature/feature.h"
#include "core/domain/feature/kinds.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/site/lock.h"
#include "core/domain/stake/feature_users.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/owners.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static const char *const passed_on[] = {
	"eks_name", "hyperpod_name",        "adopt", "install_prerequisites",
	"tags",     "permissions_boundary", "roles"};

static bool start(struct step_ctx *c, struct spawn *ret, const struct feature *f, bool on)
{
	const json_t *wish = json_at(c->input, f->name);

	/* What was never begun is nobody's to set back. */
	if (wish && json_bool_or(wish, "enabled", true) == on)
		step_save(c, arena_printf(c->arena, "begun.%s", f->name), json_true());
	if (!wish || json_bool_or(wish, "enabled", true) != on)
		return false;
	ret->kind = f->kind;
	ret->target = c->target;
	ret->input = json_own(c->arena, json_deep_copy(wish));
	json_put_bool(ret->input, "enabled", on);
	json_put_str(ret->input, "feature", f->name);
	/* What nobody has confirmed is not lost, whoever asked for this. */
	json_put(ret->input, "confirmed",
		 json_at(c->input, "confirmed")
			 ? json_incref(json_at(c->input, "confirmed"))
			 : json_array());
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
		json_t *v = json_object_get(c->input, passed_on[i]);

		if (v)
			json_object_set(ret->input, passed_on[i], v);
	}
	return true;
}

static bool enable(struct step_ctx *c, struct spawn *ret)
{
	return start(c, ret, c->step->arg, true);
}

static bool disable(struct step_ctx *c, struct spawn *ret)
{
	return start(c, ret, c->step->arg, false);
}

/* --- as it was before --------------------------------------------------------------- */

static bool note_observe(struct step_ctx *c, struct exchange *x)
{
	const char *tiered = features[FEATURE_TIERED].name;

	for (size_t i = 0; i < FEATURES_; i++)
		if (json_at(c->input, features[i].name) &&
		    survey_observe(c, x, &features[i], 0))
			return true;
	/* What runs before it is switched on keeps nothing there. */
	return json_at(c->input, tiered) && feature_users_read(c, x, tiered);
}

static json_t *state_now(const struct step_ctx *c, const struct feature *f)
{
	const json_t *cluster = saw(c, "hyperpod");
	const struct karpenter k = karpenter_state(cluster, NULL);
	const json_t *tiered = json_at(cluster, "TieredStorageConfig");
	const bool on =
		f->component ? saw_ok(c, survey_key(c, "addon", f->name))
		: f->id == FEATURE_TIERED
			? streq(json_str_or(tiered, "Mode", ""), "Enable")
			: k.state == KARPENTER_ON || k.state == KARPENTER_TURNING_ON;
	const int64_t share =
		json_int_or(tiered, "InstanceMemoryAllocationPercentage", 0);
	json_t *state = json_pack("{s:b}", "enabled", on);

	if (f->id == FEATURE_TIERED && on && share > 0)
		json_put_int(state, "memory_percent", share);
	return state;
}

static void note_users(struct step_ctx *c)
{
	const char *tiered = features[FEATURE_TIERED].name;
	json_t *users = json_at(c->input, tiered) ? feature_users(c, tiered) : NULL;

	if (json_array_size(users) > 0)
		step_save(
			c, "users_before",
			json_pack("[{s:s, s:O}]", "feature", tiered, "workloads", users));
}

/* Once: a retry of the whole begins after changes of its own. */
static void note_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (!json_at(c->data, "before"))
		note_users(c);
	for (size_t i = 0; i < FEATURES_; i++) {
		const char *path = arena_printf(c->arena, "before.%s", features[i].name);

		if (json_at(c->input, features[i].name) && !json_at(c->data, path))
			step_save(c, path, state_now(c, &features[i]));
	}
}

/*
 * Each feature that was begun goes back to what it was, in the order that works. What
 * has come to need one since was never confirmed to be lost: it stops the undo.
 */
static bool undo(struct step_ctx *c, struct spawn *ret)
{
	bool any = false;

	ret->kind = "update_features";
	ret->target = c->target;
	ret->input = json_own(c->arena, json_copy((json_t *)(uintptr_t)c->input));
	json_object_set(ret->input, "confirmed",
			json_at(c->data, "users_before")
				? json_at(c->data, "users_before")
				: json_new_list(c->arena));
	for (size_t i = 0; i < FEATURES_; i++) {
		const char *name = features[i].name;
		json_t *was = json_at(c->data, arena_printf(c->arena, "before.%s", name));

		json_object_del(ret->input, name);
		if (!was || !json_at(c->data, arena_printf(c->arena, "begun.%s", name)))
			continue;
		json_object_set(ret->input, name, was);
		any = true;
	}
	return any;
}

static void conclude_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *done = json_object();

	(void)x;
	for (size_t i = 0; i < FEATURES_; i++) {
		const char *name = features[i].name;
		const json_t *result =
			json_at(c->data, arena_printf(c->arena, "enable_%s", name));

		if (!result)
			result = json_at(c->data,
					 arena_printf(c->arena, "disable_%s", name));
		if (result)
			json_put_str(done, name, json_str_or(result, "state", "?"));
	}
	step_done(c, json_pack("{s:s, s:o}", "cluster", c->target, "features", done));
}

#define ON(member, id)                                                                   \
	{                                                                                \
		.name = "enable_" member, .phase = member, .title = "Enable " member,    \
		.spawn = enable, .arg = &features[id]                                    \
	}
#define OFF(member, id)                                                                  \
	{                                                                                \
		.name = "disable_" member, .phase = member, .title = "Disable " member,  \
		.spawn = disable, .arg = &features[id]                                   \
	}

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	{.name = "note_features",
	 .phase = "check",
	 .title = "Record the current state",
	 .effect = EFFECT_READ,
	 .observe = note_observe,
	 .seen = read_seen,
	 .plan = note_plan},
	OWNERS_STEP,
	OFF("autoscaling", FEATURE_AUTOSCALING),
	OFF("inference_operator", FEATURE_INFERENCE),
	OFF("training_operator", FEATURE_TRAINING),
	OFF("tiered_checkpointing", FEATURE_TIERED),
	ON("tiered_checkpointing", FEATURE_TIERED),
	ON("training_operator", FEATURE_TRAINING),
	ON("inference_operator", FEATURE_INFERENCE),
	ON("autoscaling", FEATURE_AUTOSCALING),
	{.name = "conclude",
	 .phase = "conclude",
	 .title = "Summarize the results",
	 .effect = EFFECT_READ,
	 .plan = conclude_plan},
	{.name = NULL},
};

static const struct phase_title phase_titles[] = {
	{"autoscaling", "Node autoscaling"},
	{"inference_operator", "Inference operator"},
	{"training_operator", "Training operator"},
	{"tiered_checkpointing", "Tiered checkpointing"},
	{NULL, NULL},
};

const struct kind kind_update_features = {
	.name = "update_features",
	.title = "Update features",
	.steps = steps,
	.phase_titles = phase_titles,
	.deadline_s = 6 * 3600,
	.undo = undo,
	.locks = lock_cluster,
};
