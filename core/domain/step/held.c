#include "core/domain/step/held.h"

#include "core/base/listing.h"
#include "core/base/str.h"
#include "core/json/tree.h"

/* Those of Kubernetes itself: what must happen, in words. */
static const struct {
	const char *finalizer, *means;
} known[] = {
	{"kubernetes.io/pvc-protection", "a pod that uses it"},
	{"kubernetes.io/pv-protection", "a claim that is bound to it"},
	{"foregroundDeletion", "what it owns, which goes first"},
	{"batch.kubernetes.io/job-tracking", "the count of its pods"},
	{"service.kubernetes.io/load-balancer-cleanup",
	 "its load balancer, which a controller must remove"},
};

static const char *words_for(struct arena *a, const char *finalizer)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (streq(finalizer, known[i].finalizer))
			return known[i].means;
	return arena_printf(a, "the finalizer %s", finalizer);
}

/*
 * A namespace has its content to say; its own finalizer is nobody's to take away.
 * https://github.com/kubernetes/api/blob/master/core/v1/types.go (NamespaceConditionType)
 */
static void add_conditions(struct listing *l, const json_t *object)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(object, "status.conditions"), i, v)
		if (str_starts(json_str_or(v, "type", ""), "Namespace") &&
		    streq(json_str_at(v, "status"), "True") &&
		    json_str_or(v, "message", "")[0])
			listing_add(l, "%s", json_str_at(v, "message"));
}

const char *held_text(struct arena *a, const json_t *object)
{
	struct listing by = listing_new(a, ", ", LISTING_LONG);
	size_t i;
	json_t *v;

	if (!json_at(object, "metadata.deletionTimestamp"))
		return "";
	add_conditions(&by, object);
	if (by.n > 0)
		return arena_printf(a, " (%s)", listing_text(&by));
	json_array_foreach(json_at(object, "metadata.finalizers"), i, v)
		if (json_is_string(v))
			listing_add(&by, "%s", words_for(a, json_string_value(v)));
	return by.n > 0 ? arena_printf(a, " (kept by %s)", listing_text(&by)) : "";
}
