/*
 * object.h - a Kubernetes object that is there, beside the one that is wanted; pure.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_OBJECT_H
#define INSTANTSTART_DOMAIN_STEP_OBJECT_H

#include "core/op/kind.h"

/* Whether the members of `wanted` are all in `there`, with equal values. */
bool object_covers(const json_t *there, const json_t *wanted);
/* The same of whole objects; one of before may lack the label of the installation. */
bool object_is_current(const struct step_ctx *c, const json_t *there,
		       const json_t *wanted);
/* Of this installation and cluster; `type` is the ledger's (op/owner.h). */
bool object_is_ours(const struct step_ctx *c, const json_t *object, const char *type);
/* A cause of the refusal that says whose it is. */
void object_tell_owner(struct step_ctx *c, struct err *e, const json_t *object,
		       const char *type);

#endif
