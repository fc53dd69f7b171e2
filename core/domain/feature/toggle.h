/*
 * toggle.h - rows that the operations of the operators share.
 *
 * Each begins with EKS_ACCESS_STEP, TOGGLE_CHECK_STEP, which refuses what cannot work
 * before anything is made, and TOGGLE_USERS_STEPS: for {"enabled": false} what needs
 * the feature is at stake, ends first, and the walk goes on with "FEATURE_remove".
 */
#ifndef INSTANTSTART_DOMAIN_FEATURE_TOGGLE_H
#define INSTANTSTART_DOMAIN_FEATURE_TOGGLE_H

#include "core/domain/feature/identity.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/leaves.h"

/* By the operation's input.feature. */
const struct feature *toggle_feature(const struct step_ctx *c);
bool toggle_is_enabling(const struct step_ctx *c);
bool toggle_check_observe(struct step_ctx *c, struct exchange *x);
void toggle_check_plan(struct step_ctx *c, struct exchange *x);

/* serving.c: whether a node runs what has to answer before the operator is made. */
bool toggle_node_observe(struct step_ctx *c, struct exchange *x);
void toggle_node_plan(struct step_ctx *c, struct exchange *x);
void toggle_node_failed(struct step_ctx *c);

/* A dry run of a Certificate: its webhook must answer (case DP-06). */
bool toggle_webhook_observe(struct step_ctx *c, struct exchange *x);
void toggle_webhook_plan(struct step_ctx *c, struct exchange *x);
void toggle_webhook_failed(struct step_ctx *c);

/* The operator's deployments are available and its kinds are served. */
bool toggle_ready_observe(struct step_ctx *c, struct exchange *x);
void toggle_ready_plan(struct step_ctx *c, struct exchange *x);
extern const struct wait toggle_ready_wait; /* moved: its add-on was removed */
void toggle_enabled_plan(struct step_ctx *c, struct exchange *x);

/* users.c: what needs the feature, by stake/feature_users.h. */
extern const struct stake_spec toggle_stake;
bool toggle_end_observe(struct step_ctx *c, struct exchange *x);
void toggle_end_plan(struct step_ctx *c, struct exchange *x);
void toggle_end_absorb(struct step_ctx *c, const struct answer *a);
void toggle_way_plan(struct step_ctx *c, struct exchange *x);
/* Before anything is sent: whether it was on, which is what an undo brings back. */
void toggle_note(struct step_ctx *c, bool was_on);
bool toggle_undo(struct step_ctx *c, struct spawn *ret);

/* judge.c: which of the components that it brought stay for others. */
bool toggle_judge_observe(struct step_ctx *c, struct exchange *x);
void toggle_judge_plan(struct step_ctx *c, struct exchange *x);
void toggle_disabled_plan(struct step_ctx *c, struct exchange *x);

/* oidc.c: the cluster's issuer as an identity provider of the account. */
bool oidc_observe(struct step_ctx *c, struct exchange *x);
void oidc_plan(struct step_ctx *c, struct exchange *x);
void oidc_absorb(struct step_ctx *c, const struct answer *a);
bool oidc_remove_observe(struct step_ctx *c, struct exchange *x);
void oidc_remove_plan(struct step_ctx *c, struct exchange *x);

/* tls_bucket.c */
bool tls_bucket_observe(struct step_ctx *c, struct exchange *x);
void tls_bucket_create_plan(struct step_ctx *c, struct exchange *x);
void tls_bucket_create_absorb(struct step_ctx *c, const struct answer *a);
void tls_bucket_tag_plan(struct step_ctx *c, struct exchange *x);
void tls_bucket_close_plan(struct step_ctx *c, struct exchange *x);
bool tls_bucket_policy_observe(struct step_ctx *c, struct exchange *x);
void tls_bucket_policy_plan(struct step_ctx *c, struct exchange *x);
void tls_bucket_absorb(struct step_ctx *c, const struct answer *a);
bool tls_objects_observe(struct step_ctx *c, struct exchange *x);
void tls_objects_plan(struct step_ctx *c, struct exchange *x);
void tls_objects_absorb(struct step_ctx *c, const struct answer *a);
bool tls_bucket_remove_observe(struct step_ctx *c, struct exchange *x);
void tls_bucket_remove_plan(struct step_ctx *c, struct exchange *x);

/* binding.c: service accounts and the roles that they are annotated with. */
bool binding_observe(struct step_ctx *c, struct exchange *x);
void binding_plan(struct step_ctx *c, struct exchange *x);
void binding_absorb(struct step_ctx *c, const struct answer *a);

#define TOGGLE_READ_STEP(row, in_phase, words, f)                                        \
	{                                                                                \
		.name = (row), .phase = (in_phase), .title = (words),                    \
		.effect = EFFECT_READ, .deadline_s = 1200, .observe = f##_observe,       \
		.seen = read_seen, .plan = f##_plan, .wait = &wait_kubernetes            \
	}

#define TOGGLE_CHECK_STEP                                                                \
	{                                                                                \
		.name = "check_feature", .phase = "check",                               \
		.title = "Check the prerequisites", .effect = EFFECT_READ,               \
		.deadline_s = 1200, .owners = true, .observe = toggle_check_observe,     \
		.seen = read_seen, .plan = toggle_check_plan, .wait = &wait_kubernetes   \
	}

/* The last rows of both ways. */
#define TOGGLE_DONE_STEP(row, in_phase)                                                  \
	{                                                                                \
		.name = #row, .phase = (in_phase), .title = "Record that it is " #row,   \
		.effect = EFFECT_READ, .plan = toggle_##row##_plan                       \
	}
#define TOGGLE_ENABLED_STEPS                                                             \
	{.name = "ready",                                                                \
	 .phase = "proof",                                                               \
	 .title = "Wait until its resource types are served",                            \
	 .effect = EFFECT_READ,                                                          \
	 .deadline_s = 1200,                                                             \
	 .observe = toggle_ready_observe,                                                \
	 .seen = read_seen,                                                              \
	 .plan = toggle_ready_plan,                                                      \
	 .wait = &toggle_ready_wait},                                                    \
		TOGGLE_DONE_STEP(enabled, "proof")
/* Named when they were refused; stored operations stand there. */
#define TOGGLE_STAKE_STEP                                                                \
	{                                                                                \
		.name = "refuse_users", .phase = "check",                                \
		.title = "Find what depends on it", .effect = EFFECT_READ,               \
		.deadline_s = 1200, .stakes = true, .observe = stake_observe,            \
		.seen = read_seen, .plan = stake_plan, .wait = &wait_kubernetes,         \
		.arg = &toggle_stake                                                     \
	}
#define TOGGLE_USERS_STEPS                                                               \
	TOGGLE_STAKE_STEP,                                                               \
		{.name = "end_users",                                                    \
		 .phase = "check",                                                       \
		 .title = "Delete what depends on it",                                   \
		 .effect = EFFECT_CONVERGENT,                                            \
		 .deadline_s = 1800,                                                     \
		 .observe = toggle_end_observe,                                          \
		 .seen = read_seen,                                                      \
		 .plan = toggle_end_plan,                                                \
		 .absorb = toggle_end_absorb,                                            \
		 .leaves = &leaves_deletion,                                             \
		 .wait = &wait_deletion},                                                \
	{                                                                                \
		.name = "choose_way", .phase = "check", .title = "Enable or disable",    \
		.effect = EFFECT_READ, .plan = toggle_way_plan                           \
	}
#define TOGGLE_JUDGE_STEP                                                                \
	TOGGLE_READ_STEP("judge", "remains", "Find what depends on its prerequisites",   \
			 toggle_judge)
#define TOGGLE_DISABLED_STEP TOGGLE_DONE_STEP(disabled, "remains")

/* Deep health checks take about two hours; then an authority is injected within a
 * minute or two, or never. */
#define WEBHOOK_STEPS                                                                    \
	{.name = "cert_manager_node",                                                    \
	 .phase = "cert_manager",                                                        \
	 .title = "Wait for a node for cert-manager's webhook",                          \
	 .effect = EFFECT_READ,                                                          \
	 .deadline_s = 3 * 3600,                                                         \
	 .observe = toggle_node_observe,                                                 \
	 .seen = read_seen,                                                              \
	 .plan = toggle_node_plan,                                                       \
	 .on_fail = toggle_node_failed,                                                  \
	 .wait = &wait_kubernetes},                                                      \
	{                                                                                \
		.name = "cert_manager_webhook", .phase = "cert_manager",                 \
		.title = "Wait for cert-manager's webhook", .effect = EFFECT_READ,       \
		.deadline_s = 180, .observe = toggle_webhook_observe, .seen = read_seen, \
		.plan = toggle_webhook_plan, .on_fail = toggle_webhook_failed,           \
		.wait = &wait_kubernetes                                                 \
	}

/* Rows of a component as in reconcile_dependencies, here for one feature. */
#define BROUGHT_ADDON_STEPS(prefix)   ADDON_STEPS_WITH(prefix, .on_fail = NULL)
#define BROUGHT_IDENTITY_STEP(prefix) IDENTITY_STEP_WITH(prefix, .on_fail = NULL)
#define BROUGHT_REFRESH_STEP(prefix)  REFRESH_STEP_WITH(prefix, .on_fail = NULL)

#endif
