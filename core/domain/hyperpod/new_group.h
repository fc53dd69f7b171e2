/*
 * new_group.h - the specification of an instance group that is to be made: the first,
 * which CreateCluster carries, and those that UpdateCluster adds.
 *
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ClusterInstanceGroupSpecification.html
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_NEW_GROUP_H
#define INSTANTSTART_DOMAIN_HYPERPOD_NEW_GROUP_H

#include "core/op/kind.h"

/* What is chosen for it; everything else is members of the input (FIELDS_GROUP_SOFT). */
struct new_group {
	const char *role;     /* ARN */
	const json_t *script; /* LifeCycleConfig of another group; NULL: by the input */
	json_t *security_groups; /* with the subnet: a place of its own; taken over */
	const char *subnet;      /* NULL: the place of the cluster */
};

/* Owned by the arena. */
json_t *new_group_spec(struct step_ctx *c, const struct new_group *g);

/* The first taint of the input that keeps pods out which do not tolerate it; or NULL. */
const json_t *new_group_repels(const json_t *input);

/* [{key, value, effect}] of the input as the service spells it. A new reference. */
json_t *new_group_taints(const json_t *taints);

#endif
