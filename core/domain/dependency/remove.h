/*
 * remove.h - what a feature has brought goes with it.
 *
 * The rows of a component in reverse: its add-on, the binding of its service
 * account, its role. Only what carries our cluster's tag and, for components that
 * others use as well, the feature's; what stays has its reason under
 * data.kept.<name>. What is gone already makes no call.
 */
#ifndef INSTANTSTART_DOMAIN_DEPENDENCY_REMOVE_H
#define INSTANTSTART_DOMAIN_DEPENDENCY_REMOVE_H

#include "core/domain/dependency/component.h"
#include "core/domain/step/removal.h"

/* Why the component of the row stays; NULL: it goes. */
const char *component_kept(const struct step_ctx *c, const struct component *k);
void component_keep(struct step_ctx *c, const struct component *k, const char *why);

bool remove_addon_observe(struct step_ctx *c, struct exchange *x);
void remove_addon_plan(struct step_ctx *c, struct exchange *x);
void remove_addon_absorb(struct step_ctx *c, const struct answer *a);
bool remove_identity_observe(struct step_ctx *c, struct exchange *x);
void remove_identity_plan(struct step_ctx *c, struct exchange *x);
void remove_identity_absorb(struct step_ctx *c, const struct answer *a);
bool remove_role_observe(struct step_ctx *c, struct exchange *x);
void remove_role_plan(struct step_ctx *c, struct exchange *x);

#define REMOVE_ADDON_STEP(prefix)                                                        \
	{                                                                                \
		.name = prefix "_remove", .phase = prefix, .title = "Remove " prefix,    \
		.effect = EFFECT_CONVERGENT, .deadline_s = 1800,                         \
		.observe = remove_addon_observe, .seen = read_seen,                      \
		.plan = remove_addon_plan, .absorb = remove_addon_absorb,                \
		.leaves = &leaves_deletion, .wait = &wait_deletion                       \
	}

#define REMOVE_IDENTITY_STEP(prefix)                                                     \
	{                                                                                \
		.name = prefix "_unbind", .phase = prefix,                               \
		.title = "Unbind the service account of " prefix,                        \
		.effect = EFFECT_CONVERGENT, .observe = remove_identity_observe,         \
		.seen = read_seen, .plan = remove_identity_plan,                         \
		.absorb = remove_identity_absorb                                         \
	}

#define REMOVE_ROLE_STEP(row, in_phase, purpose)                                         \
	{                                                                                \
		.name = row "_role_remove", .phase = (in_phase),                         \
		.title = "Delete the role for " row, .effect = EFFECT_CONVERGENT,        \
		.observe = remove_role_observe, .seen = read_seen,                       \
		.plan = remove_role_plan, .absorb = removal_absorb, .arg = (purpose)     \
	}

#endif
