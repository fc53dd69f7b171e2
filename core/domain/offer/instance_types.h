/*
 * instance_types.h - the instance types that CreateCluster takes, as far as we know.
 *
 * The list is the service's own enum at the time of writing: a type that is not in it
 * is refused before anything is made, with the names that come nearest, unless the
 * caller insists (accept_unknown_type) that it is newer than this version.
 */
#ifndef INSTANTSTART_DOMAIN_OFFER_INSTANCE_TYPES_H
#define INSTANTSTART_DOMAIN_OFFER_INSTANCE_TYPES_H

#include <stdbool.h>

#include "core/base/arena.h"

bool instance_type_is_known(const char *type);
/* "ml.p5.48xlarge, ml.p5e.48xlarge and ml.p5en.48xlarge": those of the family first,
 * then those that are written alike. Never empty. */
const char *instance_type_nearest(struct arena *a, const char *type);
/* NULL-ended, by name. */
const char *const *instance_type_list(void);

#endif
