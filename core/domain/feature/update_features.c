/*
 * update_features.c - only what was named is changed, in an order that works.
 *
 * What goes, goes first and in reverse; what comes, comes in the order in which
 * one needs another. Each is an operation of its own that compares what should be
 * with what is: equal means no call.
 */
#include "core/domain/cluster/kinds.h"
#include "core/domain/feature/feature.h"
#include "core/domain/feature/kinds.h"
#include "core/json/tree.h"

static const char *const passed_on[] = {
	"eks_name", "hyperpod_name",        "adopt", "install_prerequisites",
	"tags",     "permissions_boundary", "roles"};

static bool start(struct step_ctx *c, struct spawn *ret, const struct feature *f, bool on)
{
	const json_t *wish = json_at(c->input, f->name);

	if (!wish || json_bool_or(wish, "enabled", true) != on)
		return false;
	ret->kind = f->kind;
	ret->target = c->target;
	ret->input = json_own(c->arena, json_deep_copy(wish));
	json_put_bool(ret->input, "enabled", on);
	json_put_str(ret->input, "feature", f->name);
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
	{"autoscaling", "Autoscaling of nodes"},
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
	.no_undo =
		"Each feature is a stage of its own: cancel the stage that is under way "
		"with undo, and set the others back with update_features.",
	.locks = lock_cluster,
};
