/*
 * karpenter.h - the managed autoscaler of a HyperPod cluster.
 *
 * It runs outside of the cluster: no pods, no logs. It is switched on by
 * UpdateCluster and works by three kinds of objects: a HyperpodNodeClass lists
 * instance groups that start at zero, a NodePool says which pods they are for,
 * and a NodeClaim is one node on its way.
 *
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-autoscaling.html
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-autoscaling-nodeclass.html
 * https://karpenter.sh/docs/concepts/nodepools/
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_KARPENTER_H
#define INSTANTSTART_DOMAIN_KARPENTER_KARPENTER_H

#include "core/op/kind.h"

#define KARPENTER_CLASS_GROUP "karpenter.sagemaker.amazonaws.com"
#define KARPENTER_CLASS_API   KARPENTER_CLASS_GROUP "/v1"
#define KARPENTER_CLASS_KIND  "HyperpodNodeClass"
#define KARPENTER_CLASSES     "hyperpodnodeclasses"
#define KARPENTER_API         "karpenter.sh/v1"
#define KARPENTER_POOLS       "nodepools"
#define KARPENTER_CLAIMS      "nodeclaims"
#define KARPENTER_POOL_LABEL  "karpenter.sh/nodepool"
#define KARPENTER_SERVICE     "hyperpod.sagemaker.amazonaws.com"

enum karpenter_state {
	KARPENTER_OFF,
	KARPENTER_TURNING_ON,
	KARPENTER_ON,
	KARPENTER_TURNING_OFF,
	KARPENTER_FAILED
};

/* What DescribeCluster says of it; NULL and clusters without it are off. */
struct karpenter {
	enum karpenter_state state;
	const char *role_arn; /* of the cluster; NULL: none */
	const char *failure;  /* AWS's words when it failed; NULL */
	bool foreign; /* on, or on its way, with a role that is not `our_role_arn` */
};
struct karpenter karpenter_state(const json_t *cluster, const char *our_role_arn);

/*
 * A stage of update_features, and an operation of its own. Input: {enabled, adopt,
 * tags, permissions_boundary, eks_name, hyperpod_name}. Result: {feature:
 * "autoscaling", enabled, state: enabled | disabled, role_arn}. `adopt`: a cluster role
 * of others is used as it is; without it such a cluster is refused.
 */
extern const struct kind kind_set_autoscaling;

extern const struct kind kind_create_node_class, kind_delete_node_class,
	kind_create_node_pool, kind_delete_node_pool;

#endif
