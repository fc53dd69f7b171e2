/*
 * balancers.h - what controllers inside Kubernetes have put into the network.
 *
 * A load balancer, its security group and its interfaces belong to no stack: they
 * would hold subnets and VPC for ever. They go with the object that asked for them,
 * while the controller that made them still runs; what it leaves is found by its tag.
 *
 * Only where the stack is ours: an EKS cluster that stays keeps its load balancers.
 * Finalizers and tags: https://kubernetes-sigs.github.io/aws-load-balancer-controller/
 */
#ifndef INSTANTSTART_DOMAIN_CLUSTER_BALANCERS_H
#define INSTANTSTART_DOMAIN_CLUSTER_BALANCERS_H

#include "core/op/kind.h"

/* Says what will go, and refuses what only a person can give up. */
bool balancers_check_observe(struct step_ctx *c, struct exchange *x);
void balancers_check_plan(struct step_ctx *c, struct exchange *x);
/* Deletes the objects, and waits until their controllers have let them go. */
bool balancers_observe(struct step_ctx *c, struct exchange *x);
void balancers_plan(struct step_ctx *c, struct exchange *x);
void balancers_absorb(struct step_ctx *c, const struct answer *a);
/* Security groups that the controller has left, and the rules that name them. */
bool balancer_groups_observe(struct step_ctx *c, struct exchange *x);
void balancer_groups_plan(struct step_ctx *c, struct exchange *x);
void balancer_groups_absorb(struct step_ctx *c, const struct answer *a);

#endif
