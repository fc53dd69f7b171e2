/*
 * node_row.h - what the catalog keeps of a node, from what the clouds show.
 *
 * observed: {instance_id, logical_id, group, instance_type, status, message,
 * launched_at, image, kubernetes: {ready, schedulable, taints, health, deep_health,
 * faults, zone, gpus, efas, boot_id}, use: {pods, gpus, efas}}.
 */
#ifndef INSTANTSTART_DOMAIN_NODE_NODE_ROW_H
#define INSTANTSTART_DOMAIN_NODE_NODE_ROW_H

#include "core/json/tree.h"

/* Of SageMaker's summaries: [{name, observed}]. The name outlives the instance. */
json_t *node_rows(const json_t *summaries);
/* Of Kubernetes' nodes: [{instance_id, kubernetes}]; others' nodes are left out. */
json_t *node_kube_rows(const json_t *nodes);
/* Of its pods: [{instance_id, pods, gpus, efas}], summed up. */
json_t *node_pod_rows(struct arena *a, const json_t *pods);

/* `kubernetes` of one node. The caller owns it. */
json_t *node_kube_facts(const json_t *node);
/* "8" of a limit, 0 when there is none. */
int64_t node_count_of(const json_t *list, const char *resource);
/* Whether a pod takes part of what its node has. */
bool node_pod_is_there(const json_t *pod);

#endif
