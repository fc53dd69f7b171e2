/*
 * stack.h - what CloudFormation says of the control plane's stack.
 */
#ifndef INSTANTSTART_DOMAIN_CLUSTER_STACK_H
#define INSTANTSTART_DOMAIN_CLUSTER_STACK_H

#include "core/op/kind.h"

/* The read: DescribeStacks of name_stack(), key "stack". The step must have
 * `sees_errors`, since a missing stack is a ValidationError. */
bool stack_read(struct step_ctx *c, struct exchange *x);
/* The stack's tree, or NULL. */
const json_t *stack_seen(const struct step_ctx *c);
/* Definitely not there; DELETE_COMPLETE counts as missing. */
bool stack_missing(const struct step_ctx *c);
/* The read was refused for another reason: fails the step and returns true. */
bool stack_refused(struct step_ctx *c);
const char *stack_status(const struct step_ctx *c);
/* Value of an output; NULL when there is none. */
const char *stack_output(const json_t *stack, const char *key);

/* Key "events" (all pages) must have been read. The first failure in time,
 * which is the cause; later ones are its echoes. */
const json_t *stack_first_failure(const json_t *events);
/* "7 of 31 resources; Cluster is being created". Key "resources". */
const char *stack_progress(struct arena *a, const json_t *resources);

#endif
