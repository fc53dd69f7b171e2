/*
 * removal.h - what is ours goes, one object a claim.
 *
 * A step that removes looks first, sends one removal, and goes round until it sees
 * nothing of ours.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_REMOVAL_H
#define INSTANTSTART_DOMAIN_STEP_REMOVAL_H

#include "core/domain/step/names.h"
#include "core/op/kind.h"

/* The id of what the catalog says we made, of that type; NULL: nothing. */
const char *removal_owned(const struct step_ctx *c, const char *type);

/* Goes round once more after a removal; "not found" is as good as done. */
void removal_absorb(struct step_ctx *c, const struct answer *a);

/* One removal: its item is the object, so that each has an effect of its own. */
void removal_send(struct step_ctx *c, struct exchange *x, enum aws_op_id op, json_t *in,
		  const char *item, const char *what);

/* Rows by arg: the purpose of the role. */
extern const enum role_purpose removal_role_nodes, removal_role_s3_csi,
	removal_role_fsx_csi, removal_role_load_balancers, removal_role_autoscaling,
	removal_role_training, removal_role_inference, removal_role_inference_scale,
	removal_role_inference_load, removal_role_gated_models;
bool removal_role_observe(struct step_ctx *c, struct exchange *x);
void removal_role_plan(struct step_ctx *c, struct exchange *x);

#endif
