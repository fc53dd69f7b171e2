/* Pods that wait become claims; nodes that run nothing go. */
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/karpenter/karpenter.h"

/* A claim's node while it is not there yet, and what pods have taken of it. */
struct berth {
	const json_t *claim;
	json_t *node;
};

struct harbour {
	struct berth *v;
	size_t n, room;
};

static bool waits(const json_t *pod)
{
	const json_t *placed =
		json_find(json_at(pod, "status.conditions"), "type", "PodScheduled");

	return !json_str_at(pod, "spec.nodeName") && !ks_pod_done(pod) &&
	       !json_at(pod, "metadata.deletionTimestamp") &&
	       streq(json_str_at(placed, "reason"), "Unschedulable");
}

static bool is_of_daemon(const json_t *pod)
{
	return streq(json_str_at(pod, "metadata.ownerReferences.0.kind"), "DaemonSet");
}

static void take(json_t *node, const json_t *pod)
{
	json_t *free = json_at(node, "status.allocatable"), *c, *q;
	const char *name;
	size_t i;

	json_array_foreach(json_at(pod, "spec.containers"), i, c)
		json_object_foreach(json_at(c, "resources.requests"), name, q) {
			double have = 0, want = 0;
			char left[32];

			if (!ks_quantity(json_object_get(free, name), &have) ||
			    !ks_quantity(q, &want))
				continue;
			snprintf(left, sizeof(left), "%.3f", have - want);
			json_object_set_new(free, name, json_string(left));
		}
}

static void add_berth(struct karp *k, struct harbour *h, const json_t *claim,
		      json_t *node)
{
	if (h->n == h->room) {
		struct berth *more = arena_array(k->a, struct berth, h->room * 2 + 16);

		if (h->n)
			memcpy(more, h->v, h->n * sizeof(*more));
		h->v = more;
		h->room = h->room * 2 + 16;
	}
	h->v[h->n++] = (struct berth){claim, json_own(k->a, json_deep_copy(node))};
}

/* Claims that are under way. */
static void open_harbour(struct karp *k, struct harbour *h)
{
	const char *key;
	json_t *claim;

	json_object_foreach(ks_all(&k->k, KARP_CLAIMS), key, claim) {
		const char *name = json_str_or(claim, "metadata.name", "");
		const json_t *machine = karp_machine(k, name);
		const json_t *pool =
			ks_get(&k->k, k->pool, NULL, json_str_or(machine, "_pool", "?"));
		const json_t *group = sm_group(
			k->w->cluster, json_str_or(machine, "InstanceGroupName", ""));

		if (!karp_is(claim, "Initialized", "True") && pool && group &&
		    !json_at(claim, "metadata.deletionTimestamp"))
			add_berth(k, h, claim, karp_node_of(k, pool, group));
	}
}

static bool fits_what_is_there(struct karp *k, const json_t *pod)
{
	const char *key;
	json_t *node;

	json_object_foreach(ks_all(&k->k, "/nodes"), key, node)
		if (karp_is(node, "Ready", "True") &&
		    !json_bool_or(node, "spec.unschedulable", false) &&
		    !ks_node_refuses(&k->k, k->a, json_at(pod, "spec"), node))
			return true;
	return false;
}

static bool fits_what_comes(struct karp *k, struct harbour *h, const json_t *pod)
{
	for (size_t i = 0; i < h->n; i++)
		if (!ks_node_refuses(&k->k, k->a, json_at(pod, "spec"), h->v[i].node)) {
			take(h->v[i].node, pod);
			return true;
		}
	return false;
}

static void serve(struct karp *k, struct harbour *h, const json_t *pod)
{
	struct karp_offer o;
	const char *why;

	if (fits_what_is_there(k, pod) || fits_what_comes(k, h, pod))
		return;
	if (!karp_fit(k, pod, &o, &why)) {
		if (*why)
			ks_event(&k->k, pod, "Warning", "FailedScheduling", "karpenter",
				 why);
		return;
	}
	json_t *claim = karp_claim_new(k, &o);

	ks_event(&k->k, pod, "Normal", "Nominated", "karpenter",
		 arena_printf(k->a, "Pod should schedule on: nodeclaim/%s",
			      json_str_or(claim, "metadata.name", "")));
	add_berth(k, h, claim, karp_node_of(k, o.pool, o.group));
	take(h->v[h->n - 1].node, pod);
}

/* --- nodes that nobody needs ------------------------------------------------------ */

static bool is_empty(struct karp *k, const char *node)
{
	const char *key;
	json_t *pod;

	json_object_foreach(ks_all(&k->k, "/pods"), key, pod)
		if (streq(json_str_at(pod, "spec.nodeName"), node) && !ks_pod_done(pod) &&
		    !is_of_daemon(pod))
			return false;
	return true;
}

/* "1h30m", "30s"; -1: never. */
static int64_t duration_ms(const char *text)
{
	int64_t sum = 0;
	char *p;

	if (streq(text, "Never"))
		return -1;
	for (; *text; text = *p ? p + 1 : p) {
		int64_t n = strtoll(text, &p, 10);

		sum += n * (*p == 'h' ? 3600000 : *p == 'm' ? 60000 : 1000);
	}
	return sum;
}

static void consolidate(struct karp *k, const json_t *claim)
{
	json_t *machine = karp_machine(k, json_str_or(claim, "metadata.name", ""));
	const json_t *pool =
		ks_get(&k->k, k->pool, NULL, json_str_or(machine, "_pool", "?"));
	int64_t after =
		duration_ms(json_str_or(pool, "spec.disruption.consolidateAfter", "0s"));
	int64_t since;

	if (!pool || after < 0 || !karp_is(claim, "Initialized", "True") ||
	    json_at(claim, "metadata.deletionTimestamp"))
		return;
	if (!is_empty(k, json_str_or(claim, "status.nodeName", ""))) {
		json_drop(machine, "_empty_ms");
		return;
	}
	since = json_int_or(machine, "_empty_ms", 0);
	if (!since)
		json_put_int(machine, "_empty_ms", k->k.now_ms);
	else if (k->k.now_ms > since + cloud_ms(k->w->cloud, after))
		ks_delete(&k->k, k->claim, claim, "Background");
}

void karp_provision(struct karp *k)
{
	json_t *pods = ks_snapshot(&k->k, k->a, "/pods"), *claims, *v;
	struct harbour h = {NULL, 0, 0};
	size_t i;

	open_harbour(k, &h);
	json_array_foreach(pods, i, v)
		if (waits(v) && !is_of_daemon(v))
			serve(k, &h, v);
	claims = ks_snapshot(&k->k, k->a, KARP_CLAIMS);
	json_array_foreach(claims, i, v)
		consolidate(k, v);
}

void karpenter_advance(struct sm_work *w)
{
	struct karp k = {.w = w, .a = w->arena};

	if (!ks_by_name(w->cloud, json_str_or(w->cluster, "_eks", ""), &k.k))
		return;
	k.k.now_ms = w->now_ms;
	/* Nothing written and no time passed: nothing to do. */
	if (json_int_or(w->cluster, "_karp_rv", 0) == ks_rv(&k.k) &&
	    json_int_or(w->cluster, "_karp_ms", 0) == w->now_ms)
		return;
	k.class = ks_kind_find(&k.k, k.a, "karpenter.sagemaker.amazonaws.com", "v1",
			       "hyperpodnodeclasses");
	k.pool = ks_kind_find(&k.k, k.a, "karpenter.sh", "v1", "nodepools");
	k.claim = ks_kind_find(&k.k, k.a, "karpenter.sh", "v1", "nodeclaims");
	if (!k.class || !k.pool || !k.claim)
		return;
	karp_run_claims(&k);
	karp_run_classes(&k);
	karp_run_pools(&k);
	karp_provision(&k);
	json_put_int(w->cluster, "_karp_rv", ks_rv(&k.k));
	json_put_int(w->cluster, "_karp_ms", w->now_ms);
}
