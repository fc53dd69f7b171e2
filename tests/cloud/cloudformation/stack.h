/*
 * stack.h - a stack's life: resources in dependency order, events, rollback.
 *
 * Owns the table "cloudformation.stack", by stack id. Members of the API's
 * Stack are stored under their names, everything else under "_name":
 * _template, _params, _conditions, _caller, _token, _events (oldest first) and
 * _resources {logical id: {type, phase, status, reason, at_ms, physical, attrs,
 * props, deps, due_ms, give_up_ms}}.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_CFN_STACK_H
#define INSTANTSTART_TESTS_CLOUD_CFN_STACK_H

#include "core/base/arena.h"
#include "tests/cloud/cloud.h"
#include "tests/cloud/cloudformation/template.h"
#include "tests/cloud/cloudformation/type.h"

#define CFN_STACKS "cloudformation.stack"

/* Where a resource stands; stored by name. */
#define CFN_PHASES(P) P(todo) P(making) P(made) P(failed) P(removing) P(stuck) P(gone)

/* One stack at one instant. */
struct cfn_work {
	struct cloud *cloud;
	struct arena *arena;
	json_t *stack;
	int64_t now_ms;
};

void cfn_stack_advance(struct cfn_work *w);
/* Makes the resources of a bound template, all "todo". */
void cfn_stack_plan(struct cfn_work *w, struct cfn_scope *s);
void cfn_stack_start_delete(struct cfn_work *w, const char *status, const char *reason);
void cfn_stack_remove_step(struct cfn_work *w);

/* Sets the stack's status, with its event. */
void cfn_stack_status(struct cfn_work *w, const char *status, const char *reason);
void cfn_resource_status(struct cfn_work *w, const char *id, json_t *res,
			 const char *status, const char *reason);
bool cfn_phase(const json_t *res, const char *phase);
void cfn_set_phase(json_t *res, const char *phase);
void cfn_unit_init(struct cfn_work *w, struct cfn_unit *u, const char *id, json_t *res);
const char *cfn_failure(struct cfn_unit *u);
struct cfn_scope cfn_stack_scope(struct cfn_work *w);
/* "[A, B]" of the resources in that phase; NULL when there is none. */
const char *cfn_phase_list(struct cfn_work *w, const char *phase);

#endif
