/*
 * create_cluster.c - one request, one pipeline: each stage an operation.
 *
 * Dependencies go in before the nodes (HyperPod wants its chart first) and are
 * looked at once more when the nodes are there: what waited for nodes must be
 * ready before the cluster is called done. The storage's probe needs nodes.
 */
#include "core/domain/capability.h"
#include "core/domain/cluster/check_name.h"
#include "core/domain/cluster/kinds.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/hyperpod/subnet_room.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/names.h"
#include "core/domain/step/owners.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/rights.h"

/* Members of the request that the stage's own capability takes: one that is added to
 * both is handed on without being named here. */
static json_t *pick(struct step_ctx *c, const char *capability)
{
	const struct capability *cap = capability_find(capability);
	json_t *in = json_new_object(c->arena);

	for (const struct field *f = cap->in; f->name; f++) {
		json_t *v = json_object_get(c->input, f->name);

		if (v)
			json_object_set(in, f->name, v);
	}
	return in;
}

static bool spawn(struct step_ctx *c, struct spawn *ret, const char *kind, json_t *input)
{
	ret->kind = kind;
	ret->target = c->target;
	ret->input = input;
	/* What the caller takes upon himself holds for all of it. */
	if (json_bool_or(c->input, RIGHTS_ACCEPT, false))
		json_put_bool(ret->input, RIGHTS_ACCEPT, true);
	return true;
}

/* Kinds of the stages have the names of their capabilities. */
static bool spawn_picked(struct step_ctx *c, struct spawn *ret, const char *kind)
{
	return spawn(c, ret, kind, pick(c, kind));
}

static void record_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	step_catalog(c, "cluster", c->target, json_deep_copy(c->input),
		     json_pack("{s:s, s:s, s:s, s:s, s:s}", "status", "creating",
			       "origin", "created", "eks_name", c->target, "account",
			       c->where->account, "region", c->where->region));
	/* Whoever asks for a cluster goes on to work with it. */
	if (step_input(c, "selected_by"))
		step_catalog(c, "selection", step_input(c, "selected_by"), json_object(),
			     NULL);
}

static bool control_plane(struct step_ctx *c, struct spawn *ret)
{
	return spawn_picked(c, ret, "create_eks_control_plane");
}

static bool dependencies(struct step_ctx *c, struct spawn *ret)
{
	return spawn_picked(c, ret, "reconcile_dependencies");
}

static bool hyperpod(struct step_ctx *c, struct spawn *ret)
{
	spawn_picked(c, ret, "create_hyperpod_cluster");
	json_put_bool(ret->input, "installed", true); /* by the stage before */
	return true;
}

static bool settled(struct step_ctx *c, struct spawn *ret)
{
	dependencies(c, ret);
	json_put_bool(ret->input, "require_ready", true);
	/* A plan has listed the installation already. */
	json_put_bool(ret->input, "installed", true);
	return true;
}

static bool storage(struct step_ctx *c, struct spawn *ret)
{
	json_t *given = json_at(c->input, "storage");

	if (json_bool_or(given, "skip", false))
		return false;
	spawn(c, ret, "create_s3_storage", json_new_object(c->arena));
	if (given)
		json_object_update(ret->input, given);
	json_drop(ret->input, "skip");
	return true;
}

static void conclude_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (c->planning)
		return;
	step_catalog(c, "cluster", c->target, NULL,
		     json_pack("{s:s, s:O}", "status", "in_service", "created",
			       json_at(c->data, "hyperpod") ? json_at(c->data, "hyperpod")
							    : json_new_object(c->arena)));
	step_done(c, json_pack("{s:s, s:O*, s:O*, s:O*}", "cluster", c->target,
			       "control_plane", json_at(c->data, "control_plane"),
			       "hyperpod", json_at(c->data, "hyperpod"), "storage",
			       json_at(c->data, "storage")));
}

static bool undo(struct step_ctx *c, struct spawn *ret)
{
	return spawn(c, ret, "delete_cluster", json_new_object(c->arena));
}

#define STAGE(row, words, f)                                                             \
	{                                                                                \
		.name = (row), .phase = (row), .title = (words), .spawn = (f)            \
	}

static const struct step steps[] = {
	/* What cannot fit is refused before anything is made (case CC-06), and before
	 * a row of ours stands in the way of an import. */
	{.name = "check_name",
	 .phase = "check",
	 .title = "Check that the name is free",
	 .effect = EFFECT_READ,
	 .check = true,
	 .sees_errors = true,
	 .observe = control_plane_name_observe,
	 .seen = read_seen,
	 .plan = control_plane_name_plan,
	 .on_fail = preflight_note},
	{.name = "check_hyperpod_name",
	 .phase = "check",
	 .title = "Check that the name of the HyperPod cluster is free",
	 .effect = EFFECT_READ,
	 .check = true,
	 .observe = hyperpod_name_observe,
	 .seen = read_seen,
	 .plan = hyperpod_name_plan,
	 .on_fail = preflight_note},
	PREFLIGHT_STEPS_WITH(preflight_note),
	PREFLIGHT_ROLE_STEP(preflight_note),
	GIVEN_ROLE_STEP("check_cluster_role", "Check the role of the control plane",
			&given_role_control_plane, preflight_note),
	OWNERS_STEP_WITH(.on_fail = preflight_note),
	PREFLIGHT_VERDICT("check_name"),
	{.name = "record",
	 .phase = "control_plane",
	 .title = "Record the cluster",
	 .effect = EFFECT_READ,
	 .plan = record_plan},
	STAGE("control_plane", "Create the EKS control plane", control_plane),
	STAGE("dependencies", "Install the dependencies", dependencies),
	STAGE("hyperpod", "Create the HyperPod cluster", hyperpod),
	STAGE("settle", "Wait until every dependency is ready", settled),
	STAGE("storage", "Mount the storage", storage),
	{.name = "conclude",
	 .phase = "storage",
	 .title = "Record the created objects",
	 .effect = EFFECT_READ,
	 .plan = conclude_plan},
	{.name = NULL},
};

static const struct phase_title phase_titles[] = {
	{"hyperpod", "HyperPod cluster"},
	{"settle", "Dependencies with nodes"},
	{.name = NULL},
};

const struct kind kind_create_cluster = {
	.name = "create_cluster",
	.title = "Create a cluster",
	.steps = steps,
	.phase_titles = phase_titles,
	.deadline_s = 14 * 3600,
	.locks = lock_cluster,
	.undo = undo,
};
