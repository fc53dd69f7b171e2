/*
 * group_spec.h - what keeps a live instance group as it is.
 *
 * UpdateCluster replaces a group's specification: what is not sent goes back to
 * its default (case IG-04). group_spec() turns the ClusterInstanceGroupDetails
 * of DescribeCluster into the ClusterInstanceGroupSpecification that means the
 * same, member by member; nulls and empty values are left out, since the
 * service refuses them.
 *
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ClusterInstanceGroupDetails.html
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ClusterInstanceGroupSpecification.html
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_GROUP_SPEC_H
#define INSTANTSTART_DOMAIN_HYPERPOD_GROUP_SPEC_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/base/err.h"

/*
 * Owned by the arena. NULL: the group has a member that this build does not
 * know, which an update would reset; STATE_CONFLICT names it.
 */
json_t *group_spec(const json_t *details, struct arena *a, struct err *e)
	__attribute__((warn_unused_result));

/* How many of the spec's members differ; `differs` is told of each, unless NULL. */
size_t group_spec_compare(const json_t *wanted, const json_t *live,
			  void (*differs)(void *about, const char *member,
					  const json_t *wanted, const json_t *live),
			  void *about);

#endif
