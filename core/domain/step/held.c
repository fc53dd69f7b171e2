#include "core/domain/step/held.h"

#include "core/base/listing.h"
#include "core/base/str.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/kube/ending.h"

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

const char *held_text(struct arena *a, const json_t *object)
{
	struct listing by = listing_new(a, ", ", LISTING_LONG);
	const char *content;
	size_t i;
	json_t *v;

	if (!json_at(object, "metadata.deletionTimestamp"))
		return "";
	/* A namespace's own finalizer is nobody's to take away. */
	content = kube_ending_why(a, object);
	if (*content)
		return arena_printf(a, " (%s)", content);
	json_array_foreach(json_at(object, "metadata.finalizers"), i, v)
		if (json_is_string(v))
			listing_add(&by, "%s", words_for(a, json_string_value(v)));
	return by.n > 0 ? arena_printf(a, " (kept by %s)", listing_text(&by)) : "";
}

bool held_read(struct step_ctx *c, struct exchange *x, const json_t *ns)
{
	return kube_ending_is_blind(ns) &&
	       read_kube(c, x, "apiservices",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "apiregistration.k8s.io/v1",
						.plural = "apiservices"});
}

const char *held_by_apis(struct step_ctx *c)
{
	struct listing l = listing_new(c->arena, ", ", LISTING_LONG);
	struct kube_unserved u;
	size_t at = 0;

	while (kube_next_unserved(saw(c, "apiservices"), &at, c->arena, &u))
		listing_add(&l, "%s (%s)", u.api, u.why);
	if (l.n == 0)
		return NULL;
	return arena_printf(c->arena,
			    " (no namespace can be deleted while these APIs do not "
			    "answer: %s)",
			    listing_text(&l));
}
