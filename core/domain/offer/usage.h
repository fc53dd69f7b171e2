/*
 * usage.h - what the HyperPod clusters of the account use of its quotas.
 *
 * Service Quotas tells limits only. Nodes are counted by type from what runs: of
 * each group what is there or what was asked for, whichever is more; those of a
 * training plan have the plan's own limit. Answers are shared for half a minute.
 *
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeCluster.html
 */
#ifndef INSTANTSTART_DOMAIN_OFFER_USAGE_H
#define INSTANTSTART_DOMAIN_OFFER_USAGE_H

#include "core/domain/capability.h"

struct usage {
	bool listed;       /* the clusters of the account are known */
	int64_t uncounted; /* of them, those that could not be looked at */
	json_t *groups;    /* every instance group there is, in the arena */
};

/* What cannot be read is told by `listed` and `uncounted`, not an error. */
void usage_read(struct call *c, struct usage *ret);
bool usage_is_known(const struct usage *u);
int64_t usage_of(const struct usage *u, const char *instance_type, bool spot);
/* Nodes of all types and kinds of capacity. */
int64_t usage_of_all(const struct usage *u);
/* Adds `used` and `left`. */
void usage_put(json_t *row, double limit, int64_t used);

#endif
