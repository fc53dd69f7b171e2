/*
 * given_network.h - whether a network that somebody gave us carries a cluster.
 *
 * Subnets and VPCs that we make are as they must be; of given ones everything that can
 * be read is read in the plan and in the first step, before anything is made:
 *
 *	the VPC       DNS support and DNS hostnames are on
 *	each subnet   exists and belongs to it
 *	of nodes      a default route leads out, not to an internet gateway or nowhere;
 *	              S3 is reached; without a way out, by which endpoints
 *	new nodes     without a given subnet: some table leads to a NAT gateway
 *	control plane free addresses in every one of its subnets
 *
 * What does not fit is told at once, all of it; what could not be read is not known. The
 * VPC is input.vpc_id, that of the EKS cluster, or else that of input.subnet_id.
 */
#ifndef INSTANTSTART_DOMAIN_NETWORK_GIVEN_NETWORK_H
#define INSTANTSTART_DOMAIN_NETWORK_GIVEN_NETWORK_H

#include "core/domain/step/read.h"
#include "core/op/kind.h"

bool given_network_observe(struct step_ctx *c, struct exchange *x);
void given_network_plan(struct step_ctx *c, struct exchange *x);

#define GIVEN_NETWORK_STEP(failed)                                                       \
	{                                                                                \
		.name = "check_network", .phase = "check",                               \
		.title = "Check the given network", .effect = EFFECT_READ,               \
		.check = true, .sees_errors = true, .sees_silence = true,                \
		.observe = given_network_observe, .seen = read_seen,                     \
		.plan = given_network_plan, .on_fail = (failed)                          \
	}

#endif
