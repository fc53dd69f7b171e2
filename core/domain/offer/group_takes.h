/*
 * group_takes.h - what an instance group holds of a quota or a place, there or promised.
 *
 * A group that was asked for more than it has goes on asking for years: what has not
 * come is promised, and no room for others.
 */
#ifndef INSTANTSTART_DOMAIN_OFFER_GROUP_TAKES_H
#define INSTANTSTART_DOMAIN_OFFER_GROUP_TAKES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"

/*
 * Nodes of the type in the quota of that kind of capacity, of a group as
 * DescribeCluster gives it. Of a group with several types: those that there are of
 * the type, and all that are still to come, since each may be of it. A training
 * plan's nodes count in no quota.
 */
int64_t group_takes(const json_t *group, const char *type, bool spot);
/* Of all types and kinds: the larger of what is there and what was asked for. */
int64_t group_takes_all(const json_t *group);
/* Asked for and not there. */
int64_t group_is_owed(const json_t *group);
/* Every type that a node of the group may be of, as the service names them; of a. */
json_t *group_types(struct arena *a, const json_t *group);

#endif
