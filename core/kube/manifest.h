/*
 * manifest.h - which objects a rendered chart holds.
 *
 * Of each document only the head is read: apiVersion, kind, and the name and namespace
 * of its metadata, as charts write them (block style). Nothing else of it is kept, since
 * it may hold secrets. A document without them is counted, never passed over.
 */
#ifndef INSTANTSTART_KUBE_MANIFEST_H
#define INSTANTSTART_KUBE_MANIFEST_H

#include <jansson.h>

#include "core/base/arena.h"
#include "core/base/str.h"

/*
 * {"objects": [{"api", "kind", "plural", "namespace", "name"}], "unread": n}. ns stands
 * for the namespace that is not told; objects of no namespace have none.
 */
json_t *manifest_objects(struct str text, const char *ns, struct arena *a);
/* "networkpolicies" of "NetworkPolicy", by the rule that all built-in kinds follow. */
const char *manifest_plural(const char *kind, struct arena *a);

#endif
