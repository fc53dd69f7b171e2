/*
 * security_group.h - EFA's two rules, verified before they are added.
 *
 * EFA traffic is not IP: only rules of all protocols that name the group
 * itself cover it, in both directions. SECURITY_GROUP_STEPS takes the group of
 * the input, those of data.security_group_ids, or that of the EKS cluster, adds
 * what is missing (one rule a call: a duplicate would reject the whole call),
 * and leaves data.security_group_id, the first of them.
 */
#ifndef INSTANTSTART_DOMAIN_NETWORK_SECURITY_GROUP_H
#define INSTANTSTART_DOMAIN_NETWORK_SECURITY_GROUP_H

#include "core/op/kind.h"

bool security_group_observe(struct step_ctx *c, struct exchange *x);
void security_group_ingress_plan(struct step_ctx *c, struct exchange *x);
void security_group_egress_plan(struct step_ctx *c, struct exchange *x);
void security_group_absorb(struct step_ctx *c, const struct answer *a);

#define SECURITY_GROUP_STEPS                                                             \
	{.name = "security_group_ingress",                                               \
	 .phase = "network",                                                             \
	 .title = "Allow traffic between nodes, inbound",                                \
	 .effect = EFFECT_CONVERGENT,                                                    \
	 .observe = security_group_observe,                                              \
	 .seen = read_seen,                                                              \
	 .plan = security_group_ingress_plan,                                            \
	 .absorb = security_group_absorb},                                               \
	{                                                                                \
		.name = "security_group_egress", .phase = "network",                     \
		.title = "Allow traffic between nodes, outbound",                        \
		.effect = EFFECT_CONVERGENT, .observe = security_group_observe,          \
		.seen = read_seen, .plan = security_group_egress_plan,                   \
		.absorb = security_group_absorb                                          \
	}

#endif
