/*
 * autoscaling.h - what the rows of set_autoscaling share.
 *
 * data.others_role: the cluster role that is used and was not made by us.
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_AUTOSCALING_H
#define INSTANTSTART_DOMAIN_KARPENTER_AUTOSCALING_H

#include "core/domain/karpenter/karpenter.h"

bool autoscaling_enabled(const struct step_ctx *c); /* what is wanted */
struct karpenter autoscaling_actual(const struct step_ctx *c);
/* The cluster's, when it is not of our making; NULL: ours. */
const char *autoscaling_others_role(const struct step_ctx *c);
const char *autoscaling_role_arn(const struct step_ctx *c);
/* Input of GetRole. */
json_t *autoscaling_by_arn(struct step_ctx *c, const char *arn);

/* check_autoscaling.c: may it be done, and with whose role? */
bool autoscaling_check_observe(struct step_ctx *c, struct exchange *x);
void autoscaling_check_plan(struct step_ctx *c, struct exchange *x);

#endif
