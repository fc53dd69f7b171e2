/*
 * node_pool.h - a NodePool: which pods get nodes of a class, and how many.
 *
 * https://karpenter.sh/docs/concepts/nodepools/
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-autoscaling-nodepool.html
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_NODE_POOL_H
#define INSTANTSTART_DOMAIN_KARPENTER_NODE_POOL_H

#include <jansson.h>

#include "core/domain/karpenter/finding.h"

/* The wish (create_node_pool's input) against the classes and the cluster. */
void node_pool_check(const json_t *input, const json_t *classes, const json_t *cluster,
		     struct findings *f);
/* The desired object; of the arena. */
json_t *node_pool_object(struct arena *a, const json_t *input);
/* The row of list_node_pools; a new tree. */
json_t *node_pool_row(struct arena *a, const json_t *object);
/* Values of the requirement, or NULL when any is allowed. Borrowed. */
const json_t *node_pool_values(const json_t *object, const char *key);

/* Whether the autoscaler ends that node of the pool when the pool becomes the other
 * one: pods are moved off it, whatever they do. */
bool node_pool_ends(const json_t *was, const json_t *will, const json_t *node);

#endif
