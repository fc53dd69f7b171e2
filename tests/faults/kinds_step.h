/*
 * kinds_step.h - step functions that several kinds of the tests share.
 */
#ifndef INSTANTSTART_TESTS_FAULTS_KINDS_STEP_H
#define INSTANTSTART_TESTS_FAULTS_KINDS_STEP_H

#include "core/op/kind.h"

const char *kinds_key_of(const json_t *o);

void kinds_ask(struct exchange *x, enum kube_verb verb, const char *type,
	       const char *name, json_t *body);
json_t *kinds_tags(const struct step_ctx *c);
bool kinds_get_once(const struct step_ctx *c, struct exchange *x, const char *type,
		    const char *name);
void kinds_keep_object(struct step_ctx *c, const struct answer *a);
void kinds_own_and_advance(struct step_ctx *c, const json_t *o);
void kinds_own_made(struct step_ctx *c, const struct answer *a);
void kinds_wait_active(struct step_ctx *c, const struct answer *a);
bool kinds_observe_named(struct step_ctx *c, struct exchange *x);
void kinds_plan_named(struct step_ctx *c, struct exchange *x);
void kinds_absorb_named(struct step_ctx *c, const struct answer *a);
void kinds_plan_done(struct step_ctx *c, struct exchange *x);

/* kinds.c, kinds_life.c */
extern const struct kind fault_classes, fault_blind, fault_leaf, fault_pipeline,
	fault_teardown, fault_asks, fault_limited;

#endif
