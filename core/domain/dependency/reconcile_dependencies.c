/*
 * reconcile_dependencies.c - every component observed, in order, none masked.
 *
 * A component's rows share its phase. When one fails, the failure is recorded
 * and the walk goes on with the next component; what needs the failed one is
 * skipped by name. The last row fails when anything did, and a retry begins at
 * the first: what is as wanted makes no call.
 */
#include <string.h>

#include "core/domain/dependency/install.h"
#include "core/domain/dependency/kinds.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/owners.h"
#include "core/domain/step/read.h"
#include "core/domain/step/usable.h"
#include "core/json/tree.h"

const struct component *component_here(const struct step_ctx *c)
{
	return component_find(c->step->phase);
}

static const char *state_of(const struct step_ctx *c, const char *name)
{
	return json_str_or(c->data, arena_printf(c->arena, "components.%s.state", name),
			   "");
}

static bool asked_for(const struct step_ctx *c, const char *name)
{
	const json_t *only = json_at(c->input, "components");
	size_t i;
	json_t *v;

	if (json_array_size(only) == 0)
		return true;
	json_array_foreach(only, i, v)
		if (streq(json_string_value(v), name))
			return true;
	return false;
}

bool component_wanted(const struct step_ctx *c, const struct component *k)
{
	if (!asked_for(c, k->name))
		return false;
	if (c->planning && json_bool_or(c->input, "installed", false))
		return false; /* planned by an earlier stage */
	if (json_at(c->data, arena_printf(c->arena, "elsewhere.%s", k->name)))
		return false;
	return !k->needs || !streq(state_of(c, k->needs), "failed");
}

bool component_bound(const struct step_ctx *c, const struct component *k)
{
	return component_wanted(c, k) &&
	       !json_at(c->data, arena_printf(c->arena, "present.%s", k->name));
}

void component_state(struct step_ctx *c, const struct component *k, const char *state,
		     const char *version)
{
	json_t *row = json_pack("{s:s, s:s*, s:s}", "state", state, "version", version,
				"title", k->title);

	step_save(c, arena_printf(c->arena, "components.%s", k->name), row);
	if (!k->is_feature)
		step_catalog(c, "dependency", k->name, NULL, json_deep_copy(row));
}

/* The first row after the present component's. */
static const char *next_component(const struct step_ctx *c)
{
	const struct step *s = c->step;

	while (s->name && streq(s->phase, c->step->phase))
		s++;
	return s->name;
}

void component_failed(struct step_ctx *c)
{
	const struct component *k = component_here(c);
	const struct err e = c->verdict.error;
	json_t *row = json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}}", "state", "failed",
				"title", k->title, "error", "code",
				errc_info(e.code)->slug, "detail", e.detail, "fix", e.fix,
				"cause", e.n_causes ? e.cause[0].message : "");

	step_save(c, arena_printf(c->arena, "components.%s", k->name), row);
	step_catalog(c, "dependency", k->name, NULL, json_deep_copy(row));
	step_event(c, "component_failed", json_deep_copy(row));
	step_goto(c, next_component(c));
}

bool any_node_ready(const json_t *nodes)
{
	size_t i;
	json_t *node;

	json_array_foreach(nodes, i, node)
		if (node_takes_pods(node))
			return true;
	return false;
}

/* --- the last row --------------------------------------------------------------- */

/* What was refused, and the cloud's own words for why. */
static const char *why_failed(struct step_ctx *c, const json_t *row)
{
	const char *detail = json_str_or(row, "error.detail", "");
	const char *cause = json_str_or(row, "error.cause", "");

	return cause[0] && !strstr(detail, cause)
		       ? arena_printf(c->arena, "%s: %s", detail, cause)
		       : detail;
}

static void conclude_failed(struct step_ctx *c, const char *first)
{
	struct err *e = step_fail(c, ERR_DEPENDENCY_FAILED, "%s could not be installed",
				  component_find(first)->title);
	size_t others = 0;

	for (size_t i = 0; component_list()[i]; i++) {
		const struct component *k = component_list()[i];
		const json_t *row = json_at(
			c->data, arena_printf(c->arena, "components.%s", k->name));

		if (streq(state_of(c, k->name), "failed")) {
			err_because(e, k->name, json_str_at(row, "error.code"),
				    why_failed(c, row), NULL);
			if (!streq(k->name, first))
				others++;
			else
				err_fix(e, "%s", json_str_or(row, "error.fix", ""));
		}
	}
	if (others)
		step_event(c, "summary",
			   json_pack("{s:I}", "other_failures", (json_int_t)others));
}

/* Rests first, then walks all components once more. */
static void look_again(struct step_ctx *c)
{
	if (json_bool_or(c->data, "_rested", false)) {
		json_drop(c->data, "_rested");
		step_goto(c, "read_eks");
		return;
	}
	step_save(c, "_rested", json_true());
	step_wait(c, 20, "the components that need nodes");
}

/* What could not be tried because something it needs has failed. */
static void note_skipped(struct step_ctx *c)
{
	for (size_t i = 0; component_list()[i]; i++) {
		const struct component *k = component_list()[i];

		if (k->needs && asked_for(c, k->name) &&
		    streq(state_of(c, k->needs), "failed"))
			component_state(c, k, "skipped", NULL);
	}
}

static void conclude_plan(struct step_ctx *c, struct exchange *x)
{
	bool waiting = false;

	(void)x;
	if (c->planning)
		return;
	note_skipped(c);
	for (size_t i = 0; component_list()[i]; i++) {
		const char *state = state_of(c, component_list()[i]->name);

		if (streq(state, "failed")) {
			conclude_failed(c, component_list()[i]->name);
			return;
		}
		waiting |= streq(state, "waiting_for_nodes");
	}
	if (waiting && json_bool_or(c->input, "require_ready", false)) {
		look_again(c);
		return;
	}
	step_done(c, json_pack("{s:s, s:O}", "cluster", c->target, "components",
			       json_at(c->data, "components")));
}

#define RECORDED            .on_fail = component_failed
#define ADDON_STEPS(prefix) ADDON_STEPS_WITH(prefix, RECORDED)

#define CHART_STEPS(prefix)                                                              \
	{.name = prefix "_objects",                                                      \
	 .phase = prefix,                                                                \
	 .title = "Check who owns the objects of " prefix,                               \
	 .effect = EFFECT_READ,                                                          \
	 .sees_errors = true,                                                            \
	 .observe = chart_objects_observe,                                               \
	 .seen = read_seen,                                                              \
	 .plan = chart_objects_plan,                                                     \
	 .on_fail = component_failed},                                                   \
		{.name = prefix "_install",                                              \
		 .phase = prefix,                                                        \
		 .title = "Install " prefix,                                             \
		 .effect = EFFECT_CONVERGENT,                                            \
		 .deadline_s = 1800,                                                     \
		 .on_cancel = CANCEL_FINISH,                                             \
		 .observe = chart_observe,                                               \
		 .seen = read_seen,                                                      \
		 .plan = chart_plan,                                                     \
		 .absorb = chart_absorb,                                                 \
		 .leaves = &leaves_chart,                                                \
		 .on_fail = component_failed},                                           \
	{                                                                                \
		.name = prefix "_wait", .phase = prefix, .title = "Wait for " prefix,    \
		.effect = EFFECT_READ, .deadline_s = 1200,                               \
		.observe = chart_wait_observe, .seen = read_seen,                        \
		.plan = chart_wait_plan, .on_fail = component_failed,                    \
		.wait = &wait_kubernetes                                                 \
	}

#define IDENTITY_STEPS(prefix, spec)                                                     \
	ROLE_STEPS_WITH(prefix, prefix, spec, RECORDED),                                 \
		IDENTITY_STEP_WITH(prefix, RECORDED)
#define REFRESH_STEP(prefix) REFRESH_STEP_WITH(prefix, RECORDED)

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	OWNERS_STEP,
	ADDON_STEPS("pod_identity"),
	ADDON_STEPS("coredns"),
	CHART_STEPS("hyperpod"),
	ADDON_STEPS("cert_manager"),
	IDENTITY_STEPS("s3_csi", &role_s3_csi),
	ADDON_STEPS("s3_csi"),
	REFRESH_STEP("s3_csi"),
	IDENTITY_STEPS("fsx_csi", &role_fsx_csi),
	ADDON_STEPS("fsx_csi"),
	REFRESH_STEP("fsx_csi"),
	/* What intercepts the others' objects comes after them. */
	CHART_STEPS("kuberay"),
	IDENTITY_STEPS("load_balancers", &role_load_balancers),
	CHART_STEPS("load_balancers"),
	REFRESH_STEP("load_balancers"),
	{.name = "conclude",
	 .phase = "conclude",
	 .title = "Summarize the results",
	 .effect = EFFECT_READ,
	 /* Deep health checks keep nodes from taking pods for about two hours. */
	 .deadline_s = 3 * 3600,
	 .plan = conclude_plan,
	 .wait = &wait_kubernetes,
	 .retry_step = "read_eks"},
	{.name = NULL},
};

/* As component.c has them; a table in the journal's form. */
static const struct phase_title phase_titles[] = {
	{"pod_identity", "EKS Pod Identity agent"},
	{"coredns", "CoreDNS"},
	{"hyperpod", "HyperPod Helm chart"},
	{"cert_manager", "cert-manager"},
	{"s3_csi", "Mountpoint for Amazon S3 CSI driver"},
	{"fsx_csi", "Amazon FSx CSI driver"},
	{"kuberay", "KubeRay operator"},
	{"load_balancers", "AWS Load Balancer Controller"},
	{NULL, NULL},
};

const struct kind kind_reconcile_dependencies = {
	.name = "reconcile_dependencies",
	.title = "Reconcile dependencies",
	.steps = steps,
	.phase_titles = phase_titles,
	.deadline_s = 5 * 3600,
	.locks = lock_cluster,
	.no_undo =
		"Others may already use the installed components. Without undo, it stops "
		"where it is, and another reconcile continues it.",
};
