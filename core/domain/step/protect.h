/*
 * protect.h - what somebody has protected against deletion, read before anything goes.
 *
 * A kind that deletes begins with PROTECT_STEP(list): every protection of what it will
 * delete later is read there, in the plan and in the operation, and all that hold are
 * said at once. An irreversible half never runs before a protection that could have
 * been read. A protection that cannot be read stops as well: it is not known to be off.
 *
 * Termination protection of a stack:
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-protect-stacks.html
 * deletionProtection of an EKS cluster and of a log group: the services' API references.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_PROTECT_H
#define INSTANTSTART_DOMAIN_STEP_PROTECT_H

#include "core/domain/step/read.h"
#include "core/op/kind.h"

struct protection {
	const char *what; /* "termination protection of the stack" */
	/* Builds the next read, or false: see read_aws(). The step sees errors. */
	bool (*read)(struct step_ctx *c, struct exchange *x);
	/* The thing's name when the protection holds, else NULL. */
	const char *(*holds)(struct step_ctx *c);
	/* Why it could not be read, else NULL. */
	const char *(*unread)(struct step_ctx *c);
	const char *fix; /* with one %s for the name */
	bool optional;   /* not to know it is a warning, not a reason to stop */
};

bool protect_observe(struct step_ctx *c, struct exchange *x);
void protect_plan(struct step_ctx *c, struct exchange *x);

/* list: pointers to rows, ended by NULL. */
#define PROTECT_STEP(list)                                                               \
	{                                                                                \
		.name = "check_protections", .phase = "check", .check = true,            \
		.title = "Check that nothing has deletion protection",                   \
		.effect = EFFECT_READ, .sees_errors = true, .observe = protect_observe,  \
		.seen = read_seen, .plan = protect_plan, .arg = (list)                   \
	}

#endif
