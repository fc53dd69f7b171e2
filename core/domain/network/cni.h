/*
 * cni.h - how the cluster's network plugin takes addresses for pods.
 *
 * The VPC CNI is told by its DaemonSet's environment: whole prefixes instead of single
 * addresses (ENABLE_PREFIX_DELEGATION), and pods in other subnets than their node
 * (AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG), which ENIConfig objects name.
 * https://docs.aws.amazon.com/eks/latest/userguide/cni-custom-network.html
 *
 * Reads "cni" and, with custom networking, "eniconfigs" and "pod_subnets"; before
 * data.eks is known, "eks" of the cluster that exists. A cluster that is still to be
 * made has the plugin as EKS ships it.
 */
#ifndef INSTANTSTART_DOMAIN_NETWORK_CNI_H
#define INSTANTSTART_DOMAIN_NETWORK_CNI_H

#include "core/op/kind.h"

bool cni_observe(struct step_ctx *c, struct exchange *x);
bool cni_takes_prefixes(const struct step_ctx *c);
/* Pods of new nodes are in subnets of their own. */
bool cni_is_custom(const struct step_ctx *c);
/*
 * The subnet (of DescribeSubnets' list) of pods on nodes in that zone; NULL: not known,
 * and *ret_why says why, or that there is none (*ret_none).
 */
const json_t *cni_pod_subnet(struct step_ctx *c, const char *zone_name,
			     const char *zone_id, const char **ret_why, bool *ret_none);
/* Notes what could not be read (step_not_known). */
void cni_say_unread(struct step_ctx *c);
/* Warns of a version that HyperPod does not support. */
void cni_say_old(struct step_ctx *c);

#endif
