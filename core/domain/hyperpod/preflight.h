/*
 * preflight.h - what can be known to fail before anything is made.
 *
 * PREFLIGHT_STEPS: the zone offers the type, the quota leaves room, a training
 * plan fits in zone, type, count and state. An unreadable quota is a warning;
 * a definite "no" fails with the numbers and what would work.
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_PREFLIGHT_H
#define INSTANTSTART_DOMAIN_HYPERPOD_PREFLIGHT_H

#include "core/op/kind.h"

/* "ml.p5.48xlarge for cluster usage", or for spot; NULL for training plans. */
const char *quota_name(struct arena *a, const char *instance_type,
		       const char *capacity_type);
/* "g5.12xlarge" of "ml.g5.12xlarge". */
const char *ec2_type(const char *instance_type);

bool offering_observe(struct step_ctx *c, struct exchange *x);
void offering_plan(struct step_ctx *c, struct exchange *x);
bool quota_observe(struct step_ctx *c, struct exchange *x);
void quota_plan(struct step_ctx *c, struct exchange *x);
bool training_plan_observe(struct step_ctx *c, struct exchange *x);
void training_plan_plan(struct step_ctx *c, struct exchange *x);

#define PREFLIGHT_STEPS                                                                  \
	{.name = "check_offering",                                                       \
	 .phase = "check",                                                               \
	 .title = "Check that the zone offers the instance type",                        \
	 .effect = EFFECT_READ,                                                          \
	 .observe = offering_observe,                                                    \
	 .seen = read_seen,                                                              \
	 .plan = offering_plan},                                                         \
		{.name = "check_quota",                                                  \
		 .phase = "check",                                                       \
		 .title = "Check the quota",                                             \
		 .effect = EFFECT_READ,                                                  \
		 .sees_errors = true,                                                    \
		 .observe = quota_observe,                                               \
		 .seen = read_seen,                                                      \
		 .plan = quota_plan},                                                    \
	{                                                                                \
		.name = "check_training_plan", .phase = "check",                         \
		.title = "Check the training plan", .effect = EFFECT_READ,               \
		.observe = training_plan_observe, .seen = read_seen,                     \
		.plan = training_plan_plan                                               \
	}

#endif
