/*
 * eks_access.h - how a step reaches a cluster's EKS and Kubernetes API.
 *
 * Every kind that works inside a cluster begins with EKS_ACCESS_STEP: it reads
 * the EKS cluster, refuses what cannot work, and saves data.eks = {name, arn,
 * version, endpoint, ca_pem, vpc_id, subnet_ids, security_group_id, issuer}.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_EKS_ACCESS_H
#define INSTANTSTART_DOMAIN_STEP_EKS_ACCESS_H

#include "core/domain/step/leaves.h"
#include "core/op/kind.h"

/* From data.eks; placeholders while planning. */
void eks_target(const struct step_ctx *c, struct kube_target *ret);
/*
 * read_kube() in a step that comes before EKS_ACCESS_STEP: of data.eks, else of what its
 * read "eks" has told. false, too, when there is no API to ask.
 */
bool eks_read_kube(struct step_ctx *c, struct exchange *x, const char *key,
		   const struct kube_request *r);
/* The EKS name a step works on: data.eks.name, input.eks_name or the target. */
const char *eks_name(const struct step_ctx *c);
/* Saves data.eks from the `cluster` object of DescribeCluster. */
void eks_save(struct step_ctx *c, const json_t *cluster);

bool eks_access_observe(struct step_ctx *c, struct exchange *x);
void eks_access_plan(struct step_ctx *c, struct exchange *x);

#define EKS_ACCESS_STEP                                                                  \
	{                                                                                \
		.name = "read_eks", .phase = "check", .title = "Read the EKS cluster",   \
		.effect = EFFECT_READ, .deadline_s = 1800,                               \
		.observe = eks_access_observe, .seen = read_seen,                        \
		.plan = eks_access_plan, .wait = &wait_eks                               \
	}

#endif
