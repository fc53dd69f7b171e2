/*
 * node_class.h - a HyperpodNodeClass: which instance groups the autoscaler has.
 *
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-autoscaling-nodeclass.html
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_NODE_CLASS_H
#define INSTANTSTART_DOMAIN_KARPENTER_NODE_CLASS_H

#include <jansson.h>

#include "core/domain/karpenter/finding.h"

enum { NODE_CLASS_GROUPS_MAX = 10 };

/* What was read of the world for one wish. */
struct node_class_wish {
	const json_t *groups;  /* names */
	bool scale_to_zero;    /* nodes that are there may go */
	bool allow_spot;       /* AWS's documents contradict each other */
	const json_t *cluster; /* DescribeCluster */
	const json_t *subnets; /* DescribeSubnets of the groups' */
	const json_t *nodes;   /* of Kubernetes */
	const json_t *pods;
	const json_t *classes; /* the others too */
	const char *name;
};

/* Every group that must not be listed, each with its reason (case AS-01). */
void node_class_check(const struct node_class_wish *w, struct findings *f);
/* A warning; NULL: no other class has one of the groups. */
const char *node_class_shared(const struct node_class_wish *w, struct arena *a);
/* The pods that would be evicted with the group's nodes. A list of the arena. */
json_t *node_class_pods(const struct node_class_wish *w, const char *group,
			struct arena *a);
/* Ids of the subnets of the named groups. A list of the arena. */
json_t *node_class_subnets(const json_t *cluster, const json_t *groups, struct arena *a);

/* The desired object; of the arena. */
json_t *node_class_object(struct arena *a, const char *name, const json_t *groups);
/* The row of list_node_classes; a new tree. */
json_t *node_class_row(struct arena *a, const json_t *object, const json_t *pools);
/* [{type, status, reason, message}] of any of the autoscaler's objects; new. */
json_t *node_object_conditions(const json_t *object);
/* "ready", "not_ready" or "pending"; *ret_why: in words, or NULL. */
const char *node_object_state(const json_t *object, const char **ret_why);

#endif
