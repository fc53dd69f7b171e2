/*
 * install.h - the rows of one component in reconcile_dependencies.
 *
 * data.components.<name> = {state: ready | waiting_for_nodes | failed |
 * skipped, version, error}. data.elsewhere.<name>: somebody has installed it by
 * other means, and a second one would fight with it (case DP-09).
 */
#ifndef INSTANTSTART_DOMAIN_DEPENDENCY_INSTALL_H
#define INSTANTSTART_DOMAIN_DEPENDENCY_INSTALL_H

#include "core/domain/dependency/component.h"
#include "core/domain/step/leaves.h"

/* Whether the component's rows have something to do: it is wanted, and what
 * it needs has not failed. */
bool component_wanted(const struct step_ctx *c, const struct component *k);
/* As wanted, and its identity is ours to make: a driver that was there before the
 * feature has what it needs from whoever brought it (data.present.<name>). */
bool component_bound(const struct step_ctx *c, const struct component *k);
/* The component of the present row, by its phase. */
const struct component *component_here(const struct step_ctx *c);
/* What carries the tag was brought by a feature, and goes with it; an empty value:
 * reconcile_dependencies has made it the cluster's own since. */
#define FEATURE_TAG "instantstart:feature"
bool component_brought(const json_t *tags);
/* step_tag_map() with input.feature. */
json_t *component_tags(struct step_ctx *c);
/* Builds the call that takes over what others have made; false: nobody asked. */
bool component_adopt(struct step_ctx *c, struct exchange *x, const char *arn);
/* Builds the call by which what a feature has brought becomes the cluster's own,
 * unless this is for a feature. */
void component_settle(struct step_ctx *c, struct exchange *x, const json_t *tags,
		      const char *arn);
/* The configuration that its add-on should have, given what it has; NULL: it is
 * as it should be. */
json_t *addon_values(struct step_ctx *c, const struct component *k, const json_t *addon);
void component_state(struct step_ctx *c, const struct component *k, const char *state,
		     const char *version);
/* on_fail of every row: records, then goes on with the next component. */
void component_failed(struct step_ctx *c);
/* One that takes pods, now: being Ready is not enough (step/usable.h). */
bool any_node_ready(const json_t *nodes);

/* The association of the service account: keys "list" and "one". */
bool identity_read(struct step_ctx *c, struct exchange *x, const struct component *k);
/* By its add-on's name: DescribeAddon under the key. */
bool addon_read(struct step_ctx *c, struct exchange *x, const char *key,
		const struct component *k);
bool identity_observe(struct step_ctx *c, struct exchange *x);
void identity_plan(struct step_ctx *c, struct exchange *x);
void identity_absorb(struct step_ctx *c, const struct answer *a);
bool addon_observe(struct step_ctx *c, struct exchange *x);
void addon_plan(struct step_ctx *c, struct exchange *x);
void addon_absorb(struct step_ctx *c, const struct answer *a);
extern const struct wait wait_addon; /* moved: somebody removed it meanwhile */
bool addon_wait_observe(struct step_ctx *c, struct exchange *x);
void addon_wait_plan(struct step_ctx *c, struct exchange *x);
/* The records of the component's release, under the key "secrets". */
bool release_read(struct step_ctx *c, struct exchange *x, const struct component *k);
bool refresh_observe(struct step_ctx *c, struct exchange *x);
void refresh_plan(struct step_ctx *c, struct exchange *x);
void refresh_absorb(struct step_ctx *c, const struct answer *a);
/* definitions.c: what the chart has in crds/ is brought up to date before the chart.
 * plan: true when it has built a call or failed; absorb: true when the answer was its. */
bool definitions_observe(struct step_ctx *c, struct exchange *x,
			 const struct component *k);
bool definitions_plan(struct step_ctx *c, struct exchange *x, const struct component *k);
bool definitions_absorb(struct step_ctx *c, const struct answer *a);
bool chart_observe(struct step_ctx *c, struct exchange *x);
/* With what chart_observe() has read: the release is about to be installed or upgraded.
 */
bool chart_is_due(struct step_ctx *c, const struct component *k);
struct helm_request chart_request(struct step_ctx *c, const struct component *k,
				  enum helm_verb verb);
/* Whose the chart's objects are; see chart_objects.c. */
bool chart_objects_observe(struct step_ctx *c, struct exchange *x);
void chart_objects_plan(struct step_ctx *c, struct exchange *x);
void chart_plan(struct step_ctx *c, struct exchange *x);
void chart_absorb(struct step_ctx *c, const struct answer *a);
bool chart_wait_observe(struct step_ctx *c, struct exchange *x);
void chart_wait_plan(struct step_ctx *c, struct exchange *x);

/* Rows of one component; the last argument is one more member of each. */
#define ADDON_STEPS_WITH(prefix, member)                                                 \
	{.name = prefix "_install",                                                      \
	 .phase = prefix,                                                                \
	 .title = "Install " prefix,                                                     \
	 .effect = EFFECT_TOKEN,                                                         \
	 .observe = addon_observe,                                                       \
	 .seen = read_seen,                                                              \
	 .plan = addon_plan,                                                             \
	 .absorb = addon_absorb,                                                         \
	 .leaves = &leaves_addon,                                                        \
	 member},                                                                        \
	{                                                                                \
		.name = prefix "_wait", .phase = prefix, .title = "Wait for " prefix,    \
		.effect = EFFECT_READ, .deadline_s = 1200,                               \
		.observe = addon_wait_observe, .seen = read_seen,                        \
		.plan = addon_wait_plan, .wait = &wait_addon, member                     \
	}

#define IDENTITY_STEP_WITH(prefix, member)                                               \
	{                                                                                \
		.name = prefix "_identity", .phase = prefix,                             \
		.title = "Bind the service account of " prefix, .effect = EFFECT_TOKEN,  \
		.observe = identity_observe, .seen = read_seen, .plan = identity_plan,   \
		.absorb = identity_absorb, member                                        \
	}

#define REFRESH_STEP_WITH(prefix, member)                                                \
	{                                                                                \
		.name = prefix "_refresh", .phase = prefix,                              \
		.title = "Restart pods of " prefix " without credentials",               \
		.effect = EFFECT_CONVERGENT, .observe = refresh_observe,                 \
		.seen = read_seen, .plan = refresh_plan, .absorb = refresh_absorb,       \
		member                                                                   \
	}

#endif
