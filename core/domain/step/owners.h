/*
 * owners.h - whose what is there already, asked before the first change.
 *
 * A row that makes something by name refuses what is somebody else's; but by then the
 * rows before it have made their things. OWNERS_STEP asks all rows behind it first,
 * those of stages too: each row that creates by name (EFFECT_NAMED), or says that it
 * refuses (step.owners), makes its reads and is planned with them, and nothing is taken
 * of that but its refusal. So a new row is asked by being there.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_OWNERS_H
#define INSTANTSTART_DOMAIN_STEP_OWNERS_H

#include "core/op/kind.h"

bool owners_observe(struct step_ctx *c, struct exchange *x);
void owners_seen(struct step_ctx *c, const struct answer *a);
void owners_plan(struct step_ctx *c, struct exchange *x);

/* The last argument is one more member of the row, such as .on_fail = f. */
#define OWNERS_STEP_WITH(member)                                                         \
	{                                                                                \
		.name = "check_owners", .phase = "check",                                \
		.title = "Check that existing resources belong to InstantStart",         \
		.effect = EFFECT_READ, .check = true, .sees_errors = true,               \
		.sees_silence = true, .observe = owners_observe, .seen = owners_seen,    \
		.plan = owners_plan, member                                              \
	}
#define OWNERS_STEP OWNERS_STEP_WITH(.on_fail = NULL)

#endif
