/*
 * check_name.h - whether the name of a control plane is free: EKS cluster and stack.
 *
 * Before anything is recorded: a refusal that advises an import must not stand in its
 * way.
 */
#ifndef INSTANTSTART_DOMAIN_CLUSTER_CHECK_NAME_H
#define INSTANTSTART_DOMAIN_CLUSTER_CHECK_NAME_H

#include "core/op/kind.h"

bool control_plane_name_observe(struct step_ctx *c, struct exchange *x);
void control_plane_name_plan(struct step_ctx *c, struct exchange *x);

#endif
