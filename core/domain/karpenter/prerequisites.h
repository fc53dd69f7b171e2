/*
 * prerequisites.h - what a cluster must be before the autoscaler may be switched
 * on, from what was read. Pure; case AS-01.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-autoscaling.html
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_PREREQUISITES_H
#define INSTANTSTART_DOMAIN_KARPENTER_PREREQUISITES_H

#include <jansson.h>

#include "core/domain/karpenter/finding.h"

/* "1.0.742.0_1.0.241.0" */
#define KARPENTER_AGENT_OLDEST "1.0.742.0_1.0.241.0"

/* `agents`: the DaemonSets of the namespace aws-hyperpod. */
void prerequisites_check(const json_t *cluster, const json_t *agents, struct findings *f);
/* The version of the health agent; NULL: none runs, "": its image says none. */
const char *prerequisites_agent(struct arena *a, const json_t *agents);

#endif
