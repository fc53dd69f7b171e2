/*
 * usable.h - whether a Kubernetes node can take pods.
 *
 * A node under deep health checks is Ready, and takes no pod for an hour or two: the
 * service taints it (sagemaker.amazonaws.com/node-health-status=Unschedulable). The
 * same taint is on a node that waits for its repair.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-resiliency-deep-health-checks.html
 */
#ifndef INSTANTSTART_DOMAIN_STEP_USABLE_H
#define INSTANTSTART_DOMAIN_STEP_USABLE_H

#include <jansson.h>
#include <stdbool.h>

/* Ready, and the service and Kubernetes let pods onto it. Taints that the group was
 * given, and a cordon, are somebody's wish: such a node has arrived all the same. */
bool node_has_arrived(const json_t *node);
/* It takes a pod without tolerations, now. */
bool node_takes_pods(const json_t *node);
/* The first taint that keeps such a pod off: its key; NULL: none does. */
const char *node_taint(const json_t *node);
/* It takes a pod that tolerates the service's checks, now. */
bool node_takes_tolerant(const json_t *node);
/* Under the service's checks or waiting for its repair. */
bool node_is_checked(const json_t *node);

#endif
