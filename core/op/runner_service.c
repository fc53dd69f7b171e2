/*
 * Who is behind a service of a cluster, and what keeps its pods: for whatever waits for
 * one that does not answer.
 */
#include <string.h>

#include "core/base/listing.h"
#include "core/json/tree.h"
#include "core/op/walk.h"

enum { PODS_NAMED = 3 };

json_t *walk_look(struct walk *w, const struct exchange *refused,
		  const struct kube_request *r)
{
	struct exchange x = {0};
	struct answer ans;

	exchange_kube(&x, &refused->target, r);
	runner_call(w->r, &x, NULL, w->a, &ans);
	return ans.ok ? ans.out : NULL;
}

static const char *selector_text(struct arena *a, const json_t *labels)
{
	const char *text = "", *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)labels, key, value)
		text = arena_printf(a, "%s%s%s=%s", text, *text ? "," : "", key,
				    json_string_value(value));
	return text;
}

static bool is_ready(const json_t *pod)
{
	const json_t *ready =
		json_find(json_at(pod, "status.conditions"), "type", "Ready");

	return streq(json_str_at(ready, "status"), "True");
}

/* Why a pod does not run, in the cluster's own words. */
static const char *pod_trouble(const json_t *pod)
{
	const json_t *placed =
		json_find(json_at(pod, "status.conditions"), "type", "PodScheduled");
	const json_t *waiting = json_at(pod, "status.containerStatuses.0.state.waiting");

	if (streq(json_str_at(placed, "status"), "False"))
		return json_str_or(placed, "message", "it has no node");
	if (waiting)
		return json_str_or(waiting, "message",
				   json_str_or(waiting, "reason", "it is waiting"));
	return json_str_or(pod, "status.phase", "Pending");
}

/* "none of its 2 pods is ready: a (0/3 nodes are available), b (Pending)" */
static const char *pods_text(struct arena *a, const json_t *pods)
{
	const size_t n = json_array_size(pods);
	struct listing names = listing_new(a, ", ", LISTING_LONG);
	size_t i, ready = 0;
	json_t *pod;

	json_array_foreach(pods, i, pod) {
		if (is_ready(pod)) {
			ready++;
			continue;
		}
		/* A few say it all: the others have the same trouble. */
		if (names.n >= PODS_NAMED)
			names.n++, names.more++;
		else
			listing_add(&names, "%s (%s)",
				    json_str_or(pod, "metadata.name", "?"),
				    pod_trouble(pod));
	}
	if (n == 0)
		return "it has no pods";
	return arena_printf(a, "%zu of its %zu pods %s ready%s%s", ready, n,
			    ready == 1 ? "is" : "are", names.n ? ": " : "",
			    listing_text(&names));
}

/* What the service is called by those who made it; its name otherwise. */
static const char *owner_of(const json_t *service, const char *fallback)
{
	const json_t *labels = json_at(service, "metadata.labels");
	const char *name =
		json_string_value(json_object_get(labels, "app.kubernetes.io/name"));

	return name ? name : fallback;
}

const char *walk_service_state(struct walk *w, const struct exchange *x,
			       const struct walk_service *s, const char **ret_owner)
{
	const json_t *service = walk_look(w, x,
					  &(struct kube_request){.verb = KUBE_GET,
								 .api = "v1",
								 .plural = "services",
								 .ns = s->ns,
								 .name = s->name});
	const json_t *selector = json_at(service, "spec.selector");
	const json_t *pods;

	*ret_owner = owner_of(service, s->name);
	if (json_object_size(selector) == 0)
		return s->why;
	pods = walk_look(
		w, x,
		&(struct kube_request){.verb = KUBE_LIST,
				       .api = "v1",
				       .plural = "pods",
				       .ns = s->ns,
				       .label_selector = selector_text(w->a, selector)});
	return pods ? pods_text(w->a, json_at(pods, "items")) : s->why;
}
