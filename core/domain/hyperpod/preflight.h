/*
 * preflight.h - what can be known to fail before anything is made.
 *
 * PREFLIGHT_STEPS_WITH: the zone offers the type, the quota leaves room, a training
 * plan fits in zone, type, count, state and end, a given network carries the nodes. An
 * unreadable quota is a warning; a definite "no" fails with the numbers and what would
 * work.
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_PREFLIGHT_H
#define INSTANTSTART_DOMAIN_HYPERPOD_PREFLIGHT_H

#include "core/domain/hyperpod/subnet_room.h"
#include "core/domain/network/given_network.h"
#include "core/domain/step/given_role.h"
#include "core/op/kind.h"

bool offering_observe(struct step_ctx *c, struct exchange *x);
void offering_plan(struct step_ctx *c, struct exchange *x);
bool type_observe(struct step_ctx *c, struct exchange *x);
void type_plan(struct step_ctx *c, struct exchange *x);
bool arch_observe(struct step_ctx *c, struct exchange *x);
void arch_plan(struct step_ctx *c, struct exchange *x);
bool quota_observe(struct step_ctx *c, struct exchange *x);
void quota_plan(struct step_ctx *c, struct exchange *x);
bool training_plan_observe(struct step_ctx *c, struct exchange *x);
void training_plan_plan(struct step_ctx *c, struct exchange *x);
bool own_script_observe(struct step_ctx *c, struct exchange *x);
void own_script_plan(struct step_ctx *c, struct exchange *x);

/* on_fail of a check: noted, and the next one is made; see preflight_all.c. */
void preflight_note(struct step_ctx *c);
/* Fails with everything that was noted; a row after the checks. */
void preflight_verdict_plan(struct step_ctx *c, struct exchange *x);

#define PREFLIGHT_STEP(row, words, f, errors, failed)                                    \
	{                                                                                \
		.name = (row), .phase = "check", .title = (words),                       \
		.effect = EFFECT_READ, .check = true, .sees_errors = (errors),           \
		.sees_silence = (errors), .observe = f##_observe, .seen = read_seen,     \
		.plan = f##_plan, .on_fail = (failed)                                    \
	}

/* `failed`: preflight_note, and PREFLIGHT_VERDICT is the last row; NULL: the first
 * fault ends it. */
#define PREFLIGHT_QUOTA_STEP(failed)                                                     \
	PREFLIGHT_STEP("check_quota", "Check the quota", quota, true, failed)
#define PREFLIGHT_PLAN_STEP(failed)                                                      \
	PREFLIGHT_STEP("check_training_plan", "Check the training plan", training_plan,  \
		       false, failed)
#define PREFLIGHT_STEPS_WITH(failed)                                                     \
	PREFLIGHT_STEP("check_offering", "Check that the zone offers the instance type", \
		       offering, false, failed),                                         \
		PREFLIGHT_STEP("check_type",                                             \
			       "Check the capabilities of the instance type", type,      \
			       false, failed),                                           \
		PREFLIGHT_STEP("check_architecture",                                     \
			       "Check that images run on the instance type", arch, true, \
			       failed),                                                  \
		PREFLIGHT_QUOTA_STEP(failed), PREFLIGHT_PLAN_STEP(failed),               \
		GIVEN_NETWORK_STEP(failed),                                              \
		PREFLIGHT_STEP("check_room", "Check that the given subnet has room",     \
			       given_room, true, failed),                                \
		PREFLIGHT_STEP("check_script", "Check the lifecycle script", own_script, \
			       true, failed)
#define PREFLIGHT_ROLE_STEP(failed)                                                      \
	GIVEN_ROLE_STEP("check_role", "Check the execution role", &given_role_nodes,     \
			failed)
#define PREFLIGHT_VERDICT(first)                                                         \
	{                                                                                \
		.name = "check_verdict", .phase = "check",                               \
		.title = "Check the requirements", .effect = EFFECT_READ,                \
		.plan = preflight_verdict_plan, .retry_step = (first)                    \
	}

#endif
