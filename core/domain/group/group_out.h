/*
 * group_out.h - an instance group as the faces show it.
 */
#ifndef INSTANTSTART_DOMAIN_GROUP_GROUP_OUT_H
#define INSTANTSTART_DOMAIN_GROUP_GROUP_OUT_H

#include <jansson.h>

#include "core/json/field.h"

/* Rows of a list, and of one group, which has more. */
extern const struct field group_item_out[];
extern const struct field get_group_out[];

/* From DescribeCluster's cluster and one of its groups. Owned by the arena. */
json_t *group_item(struct arena *a, const json_t *cluster, const json_t *group);

#endif
