/*
 * users.h - who works on the autoscaler's nodes, from lists that were read. Pure.
 */
#ifndef INSTANTSTART_DOMAIN_KARPENTER_USERS_H
#define INSTANTSTART_DOMAIN_KARPENTER_USERS_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/base/buf.h"

/* "a, b, c and 4 more" of the items' names (with namespaces); NULL: none. */
const char *users_names(struct arena *a, const json_t *items);
/* Of `pods`, those that run on one of `nodes` and would be lost with it: not ended,
 * not a DaemonSet's. A list of the arena. */
json_t *users_on_nodes(struct arena *a, const json_t *pods, const json_t *nodes);
/* The items whose label has that value. A list of the arena. */
json_t *users_labelled(struct arena *a, const json_t *items, const char *label,
		       const char *value);
/* The node pools that refer to the class. A list of the arena. */
json_t *users_of_class(struct arena *a, const json_t *pools, const char *class);
/* The item with that metadata.name; NULL: none. */
json_t *users_find(const json_t *items, const char *name);

#endif
