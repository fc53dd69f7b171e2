/*
 * subnet_role.h - whether load balancers find the subnets that somebody gave us.
 *
 * Controllers place them by a tag of the subnet: kubernetes.io/role/elb where a route
 * leads to an internet gateway, kubernetes.io/role/internal-elb elsewhere. Subnets that
 * we make have it. Given ones get it only with input.tag_subnets; else the plan says
 * what is missing. A subnet without room for a load balancer is said, too.
 *
 * Looks at data.network.subnet_ids (control plane) or, when data.subnet.given, at
 * data.subnet.id.
 * https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/subnet_discovery/
 */
#ifndef INSTANTSTART_DOMAIN_NETWORK_SUBNET_ROLE_H
#define INSTANTSTART_DOMAIN_NETWORK_SUBNET_ROLE_H

#include "core/op/kind.h"

bool subnet_role_observe(struct step_ctx *c, struct exchange *x);
void subnet_role_plan(struct step_ctx *c, struct exchange *x);
void subnet_role_absorb(struct step_ctx *c, const struct answer *a);

#define SUBNET_ROLE_STEP(in_phase)                                                       \
	{                                                                                \
		.name = "tag_subnets", .phase = (in_phase),                              \
		.title = "Tag given subnets for load balancers",                         \
		.effect = EFFECT_CONVERGENT, .observe = subnet_role_observe,             \
		.seen = read_seen, .plan = subnet_role_plan,                             \
		.absorb = subnet_role_absorb                                             \
	}

#endif
