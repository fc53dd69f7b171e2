#include "core/kube/ending.h"

#include <string.h>

#include "core/base/listing.h"
#include "core/base/str.h"
#include "core/json/tree.h"

const char *kube_ending_of(const char *text, struct arena *a)
{
	static const char before[] = "in namespace ";
	const char *end = text ? strstr(text, " " KUBE_ENDING) : NULL;
	const char *start = NULL;

	for (const char *p = text; end && (p = strstr(p, before)) && p < end; p++)
		start = p + strlen(before);
	if (!start || start >= end)
		return NULL;
	return arena_strndup(a, start, (size_t)(end - start));
}

/* https://github.com/kubernetes/api/blob/master/core/v1/types.go (NamespaceConditionType)
 */
const char *kube_ending_why(struct arena *a, const json_t *ns)
{
	struct listing l = listing_new(a, ", ", LISTING_LONG);
	size_t i;
	json_t *v;

	json_array_foreach(json_at(ns, "status.conditions"), i, v)
		if (str_starts(json_str_or(v, "type", ""), "Namespace") &&
		    streq(json_str_at(v, "status"), "True") &&
		    json_str_or(v, "message", "")[0])
			listing_add(&l, "%s", json_str_at(v, "message"));
	return l.n > 0 ? listing_text(&l) : "";
}

bool kube_ending_is_blind(const json_t *ns)
{
	const json_t *c = json_find(json_at(ns, "status.conditions"), "type",
				    "NamespaceDeletionDiscoveryFailure");

	return json_at(ns, "metadata.deletionTimestamp") &&
	       streq(json_str_at(c, "status"), "True");
}

bool kube_next_unserved(const json_t *list, size_t *at, struct arena *a,
			struct kube_unserved *ret)
{
	const json_t *items = json_at(list, "items");

	while (*at < json_array_size(items)) {
		const json_t *o = json_array_get(items, (*at)++);
		const json_t *c =
			json_find(json_at(o, "status.conditions"), "type", "Available");

		if (!json_str_at(o, "spec.service.name") ||
		    streq(json_str_at(c, "status"), "True"))
			continue;
		*ret = (struct kube_unserved){
			.api = arena_printf(a, "%s/%s", json_str_or(o, "spec.group", "?"),
					    json_str_or(o, "spec.version", "?")),
			.ns = json_str_or(o, "spec.service.namespace", ""),
			.service = json_str_at(o, "spec.service.name"),
			.why = json_str_or(c, "message", "it does not answer"),
		};
		return true;
	}
	return false;
}
