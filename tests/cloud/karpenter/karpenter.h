/*
 * karpenter.h - the managed autoscaler of HyperPod: it runs outside of the cluster
 * and is seen only by its objects.
 *
 *   crd.c    the definitions that come and go with it
 *   class.c  HyperpodNodeClass: what the listed groups are, whether they may be used
 *   pool.c   NodePool: state, sums
 *   fit.c    which group of which pool takes a pod, and what the pools forbid
 *   claim.c  NodeClaim: from a wish to a node and back
 *   provision.c  pods that wait become claims; empty nodes go
 *
 * A node of a claim is a row of the table sagemaker.node with _claim and _pool.
 *
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-autoscaling.html
 * https://karpenter.sh/docs/concepts/
 */
#ifndef INSTANTSTART_TESTS_CLOUD_KARPENTER_H
#define INSTANTSTART_TESTS_CLOUD_KARPENTER_H

#include "tests/cloud/kube/server.h"
#include "tests/cloud/sagemaker/sagemaker.h"

#define KARP_CLASSES "karpenter.sagemaker.amazonaws.com/hyperpodnodeclasses"
#define KARP_POOLS   "karpenter.sh/nodepools"
#define KARP_CLAIMS  "karpenter.sh/nodeclaims"

/* Puts and removes the definitions in the EKS cluster of that name. */
void karpenter_install(struct cloud *c, const char *eks);
void karpenter_uninstall(struct cloud *c, const char *eks);
/* One round: states, then pods, then nodes that nobody needs. */
void karpenter_advance(struct sm_work *w);

/* One cluster at one instant, inside and out. */
struct karp {
	struct sm_work *w;
	struct ks k;
	struct arena *a;
	const struct ks_kind *class, *pool, *claim;
};

/* The JSON text of each definition; NULL-ended. */
extern const char *const karp_definitions[];

bool karp_is(const json_t *obj, const char *condition, const char *status);
json_t *karp_class_of(struct karp *k, const json_t *pool);
void karp_run_classes(struct karp *k);
void karp_run_pools(struct karp *k);
void karp_run_claims(struct karp *k);
void karp_provision(struct karp *k);

/* A group that could give a node. */
struct karp_offer {
	const json_t *pool;
	json_t *group;      /* of the cluster */
	const json_t *node; /* as it would be; of the arena */
};
/* The best group for the pod; NULL pool: *ret_why says what each pool lacks. */
bool karp_fit(struct karp *k, const json_t *pod, struct karp_offer *ret,
	      const char **ret_why);
/* As the group's node would look to the scheduler. */
json_t *karp_node_of(struct karp *k, const json_t *pool, const json_t *group);
/* What the pool's claims have or will have of each resource. */
json_t *karp_sum(struct karp *k, const json_t *pool);

json_t *karp_claim_new(struct karp *k, const struct karp_offer *o);
/* The machine behind it; NULL: none (any more). */
json_t *karp_machine(struct karp *k, const char *claim);
/* Takes machine and target down; the claim stays until the machine is gone. */
void karp_machine_end(struct karp *k, json_t *machine);

#endif
