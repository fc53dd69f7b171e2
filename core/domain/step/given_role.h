/*
 * given_role.h - a role that the caller brings: whom it trusts, and what it may do.
 *
 * A role of ours gets policies; one of the caller's must have the same. What it may do
 * IAM simulates: allowed, denied, or not known, which is said and stops nothing. A
 * denial is a fault unless the caller has accepted it (RIGHTS_ACCEPT).
 */
#ifndef INSTANTSTART_DOMAIN_STEP_GIVEN_ROLE_H
#define INSTANTSTART_DOMAIN_STEP_GIVEN_ROLE_H

#include "core/op/kind.h"

/* Actions that are asked for in one call: of one service, on the same resource. */
struct role_need {
	const char *actions; /* "ec2:A ec2:B" */
	/* {p} {r} {a}: partition, region, account; {eks} {bucket}: names */
	const char *resource;
};

struct given_role {
	const char *member; /* of the input */
	/* Of data, when none is given: the role of nodes that are there. They run with
	 * it: only its trust is looked at. */
	const char *of_group;
	const char *what;              /* "execution role" */
	const char *service;           /* that must be trusted */
	const char *who;               /* "SageMaker" */
	const struct role_need *needs; /* ended by a row without actions */
	const char *policies;          /* of AWS's, that have all of it */
};

extern const struct given_role given_role_nodes;
extern const struct given_role given_role_control_plane;
extern const struct given_role given_role_autoscaling;

/* NULL: its trust policy names the service; else whom it names instead. */
const char *role_trusts(struct step_ctx *c, const json_t *role, const char *service);

/* What the role lacks of its needs, as one text; NULL: nothing that is known. What is
 * not known is noted (step_not_known). Reads first, then tells. */
bool given_role_read(struct step_ctx *c, struct exchange *x, const struct given_role *g,
		     const char *arn);
const char *given_role_lacks(struct step_ctx *c, const struct given_role *g,
			     const char *arn);

/* A row of checks; .arg is the given_role. */
bool given_role_observe(struct step_ctx *c, struct exchange *x);
void given_role_plan(struct step_ctx *c, struct exchange *x);

#define GIVEN_ROLE_STEP(row, words, given, failed)                                       \
	{                                                                                \
		.name = (row), .phase = "check", .title = (words),                       \
		.effect = EFFECT_READ, .check = true, .sees_errors = true,               \
		.sees_silence = true, .observe = given_role_observe, .seen = read_seen,  \
		.plan = given_role_plan, .on_fail = (failed), .arg = (given)             \
	}

#endif
