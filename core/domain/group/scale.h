/*
 * scale.h - what the rows of scale_instance_group share.
 *
 * data: continuous; from, the target before us; more, the nodes to add (or, below
 * zero, to take away); known, the logical ids before us; added and victims: see
 * scale_up.c and scale_down.c.
 */
#ifndef INSTANTSTART_DOMAIN_GROUP_SCALE_H
#define INSTANTSTART_DOMAIN_GROUP_SCALE_H

#include "core/domain/stake/stake.h"

int64_t scale_more(const struct step_ctx *c);
bool scale_is_continuous(const struct step_ctx *c);
/* By the read "hyperpod" somebody else has changed the target since data.from. */
bool scale_is_outdated(const struct step_ctx *c);
/* Cluster, nodes of the group. */
bool scale_read_observe(struct step_ctx *c, struct exchange *x);
/* Of the group's nodes as just read; a new reference. */
json_t *scale_logical_ids(struct step_ctx *c);

bool scale_add_observe(struct step_ctx *c, struct exchange *x);
void scale_add_plan(struct step_ctx *c, struct exchange *x);
void scale_add_absorb(struct step_ctx *c, const struct answer *a);

/* What goes, for the row that asks who uses it. */
extern const struct stake_spec scale_leaving;
bool scale_choose_observe(struct step_ctx *c, struct exchange *x);
void scale_choose_plan(struct step_ctx *c, struct exchange *x);
bool scale_delete_observe(struct step_ctx *c, struct exchange *x);
void scale_delete_plan(struct step_ctx *c, struct exchange *x);
void scale_delete_absorb(struct step_ctx *c, const struct answer *a);

#endif
