/*
 * check_share.h - what a node offers pods, and what our components take of it.
 *
 * A node keeps a part for itself (kubelet, the system, tiered checkpointing), and its
 * addresses bound its pods. What is left after the components is the caller's.
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_CHECK_SHARE_H
#define INSTANTSTART_DOMAIN_HYPERPOD_CHECK_SHARE_H

#include "core/domain/dependency/footprint.h"
#include "core/op/kind.h"

/* Between these lies what Kubernetes can give away of one node. */
struct node_share {
	struct footprint_sum least, most;
};

/*
 * type: of DescribeInstanceTypes' list.
 * threads: per core, 0: not told, reckoned with one. kept_percent: of the memory, for
 * tiered checkpointing. pods < 0: EC2 does not say how many addresses it has.
 */
struct node_share node_share(const json_t *type, int64_t threads, int64_t kept_percent);
/* Says of each type whether the components fit; types: DescribeInstanceTypes' list. */
void share_judge(struct step_ctx *c, const json_t *types);

#endif
