/*
 * check_version.h - whether EKS has the Kubernetes version (case CC-13).
 *
 * A version that was frozen in somebody's script ages out: EKS's own list is
 * asked. Above what HyperPod is known to take (a setting, with the date of its
 * check) is a warning.
 * https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeClusterVersions.html
 */
#ifndef INSTANTSTART_DOMAIN_CLUSTER_CHECK_VERSION_H
#define INSTANTSTART_DOMAIN_CLUSTER_CHECK_VERSION_H

#include "core/op/kind.h"

bool check_version_observe(struct step_ctx *c, struct exchange *x);
void check_version_plan(struct step_ctx *c, struct exchange *x);

#endif
