#include <stdlib.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

#define DEFAULT_SCHEDULER "default-scheduler"

/* --- node affinity and taints ----------------------------------------------------------
 */

static bool expression(const json_t *e, const json_t *labels)
{
	const char *value =
		json_string_value(json_object_get(labels, json_str_or(e, "key", "")));
	const char *op = json_str_or(e, "operator", "");
	const json_t *v = NULL;
	size_t i = 0;
	bool in = false;

	json_array_foreach(json_at(e, "values"), i, v) {
		in |= value && streq(json_string_value(v), value);
	}
	if (streq(op, "In"))
		return in;
	if (streq(op, "NotIn"))
		return !in;
	if (streq(op, "Exists"))
		return value != NULL;
	if (streq(op, "DoesNotExist"))
		return !value;
	v = json_array_get(json_at(e, "values"), 0);
	if (!value || !v)
		return false;
	return streq(op, "Gt") ? strtoll(value, NULL, 10) >
					 strtoll(json_string_value(v), NULL, 10)
			       : strtoll(value, NULL, 10) <
					 strtoll(json_string_value(v), NULL, 10);
}

static bool term_holds(const json_t *term, const json_t *node)
{
	const json_t *e = NULL;
	size_t i = 0;

	json_array_foreach(json_at(term, "matchExpressions"), i, e) {
		if (!expression(e, json_at(node, "metadata.labels")))
			return false;
	}
	return true;
}

bool ks_node_selected(const json_t *spec, const json_t *node)
{
	const json_t *labels = json_at(node, "metadata.labels");
	const json_t *terms =
		json_at(spec, "affinity.nodeAffinity."
			      "requiredDuringSchedulingIgnoredDuringExecution."
			      "nodeSelectorTerms");
	const char *key = NULL;
	const json_t *v = NULL;
	const json_t *term = NULL;
	size_t i = 0;

	json_object_foreach(json_at(spec, "nodeSelector"), key, v) {
		const json_t *have = json_object_get(labels, key);

		if (!have || !json_equal(have, v))
			return false;
	}
	json_array_foreach(terms, i, term) {
		if (term_holds(term, node))
			return true;
	}
	return json_array_size(terms) == 0;
}

static bool tolerates(const json_t *spec, const json_t *taint)
{
	const json_t *t = NULL;
	size_t i = 0;

	json_array_foreach(json_at(spec, "tolerations"), i, t) {
		const char *key = json_str_at(t, "key");
		const char *effect = json_str_at(t, "effect");
		const bool exists = streq(json_str_at(t, "operator"), "Exists");

		if ((key && *key && !streq(key, json_str_at(taint, "key"))) ||
		    (effect && *effect && !streq(effect, json_str_at(taint, "effect"))))
			continue;
		if (exists ||
		    streq(json_str_or(t, "value", ""), json_str_or(taint, "value", "")))
			return true;
	}
	return false;
}

static bool untainted(const json_t *spec, const json_t *node)
{
	const json_t *taint = NULL;
	size_t i = 0;

	json_array_foreach(json_at(node, "spec.taints"), i, taint) {
		if (!streq(json_str_at(taint, "effect"), "PreferNoSchedule") &&
		    !tolerates(spec, taint))
			return false;
	}
	return true;
}

/* --- resources -------------------------------------------------------------------------
 */

static void add_requests(json_t *sum, const json_t *spec)
{
	const json_t *c = NULL;
	const char *name = NULL;
	const json_t *q = NULL;
	size_t i = 0;

	json_array_foreach(json_at(spec, "containers"), i, c) {
		json_object_foreach(json_at(c, "resources.requests"), name, q) {
			double n = 0;

			if (ks_quantity(q, &n))
				json_object_set_new(
					sum, name,
					json_real(json_number_value(
							  json_object_get(sum, name)) +
						  n));
		}
	}
	json_object_set_new(
		sum, "pods",
		json_real(json_number_value(json_object_get(sum, "pods")) + 1));
}

/* NULL: fits; else the name of what is short. */
static const char *short_of(struct ks *k, struct arena *a, const json_t *spec,
			    const json_t *node)
{
	json_t *used = json_new_object(a);
	json_t *wanted = json_new_object(a);
	const char *key = NULL;
	json_t *pod = NULL;
	const json_t *q = NULL;

	add_requests(wanted, spec);
	json_object_foreach(ks_all(k, "/pods"), key, pod) {
		if (streq(json_str_at(pod, "spec.nodeName"),
			  json_str_at(node, "metadata.name")) &&
		    !ks_pod_done(pod))
			add_requests(used, json_at(pod, "spec"));
	}
	json_object_foreach(wanted, key, q) {
		const json_t *has =
			json_object_get(json_at(node, "status.allocatable"), key);
		double room = 0;

		/* A node that tells nothing of cpu, memory or pods has enough. */
		if (!has && !strchr(key, '/'))
			continue;
		if (has && !ks_quantity(has, &room))
			continue;
		if (json_number_value(json_object_get(used, key)) + json_number_value(q) >
		    room)
			return arena_strdup(a, key);
	}
	return NULL;
}

/* --- choosing
 * ---------------------------------------------------------------------------- */

static bool node_ready(const json_t *node)
{
	return streq(json_str_at(json_find(json_at(node, "status.conditions"), "type",
					   "Ready"),
				 "status"),
		     "True");
}

const char *ks_node_refuses(struct ks *k, struct arena *a, const json_t *spec,
			    const json_t *node)
{
	const char *what;

	if (!untainted(spec, node))
		return "node(s) had untolerated taint(s)";
	if (!ks_node_selected(spec, node))
		return "node(s) didn't match Pod's node affinity/selector";
	what = short_of(k, a, spec, node);
	return what ? arena_printf(a, "Insufficient %s", what) : NULL;
}

struct refusals {
	json_t *by_text; /* text -> how many nodes */
};

static void refuse(struct refusals *r, const char *text)
{
	json_object_set_new(
		r->by_text, text,
		json_integer(json_integer_value(json_object_get(r->by_text, text)) + 1));
}

static const char *choose(struct ks *k, struct arena *a, const json_t *pod,
			  struct refusals *r, size_t *ret_n)
{
	const json_t *spec = json_at(pod, "spec");
	const char *key = NULL;
	json_t *node = NULL;

	*ret_n = json_object_size(ks_all(k, "/nodes"));
	json_object_foreach(ks_all(k, "/nodes"), key, node) {
		const char *what = NULL;

		if (!node_ready(node))
			refuse(r,
			       "node(s) had untolerated taint {node.kubernetes.io/not-ready: }");
		else if (json_bool_or(node, "spec.unschedulable", false))
			refuse(r, "node(s) were unschedulable");
		else if ((what = ks_node_refuses(k, a, spec, node)))
			refuse(r, what);
		else
			return json_str_or(node, "metadata.name", "");
	}
	return NULL;
}

static const char *told(struct arena *a, const struct refusals *r, size_t n)
{
	const char *all = arena_printf(a, "0/%zu nodes are available", n);
	const char *text = NULL;
	const json_t *count = NULL;
	const char *sep = ": ";

	if (n == 0)
		return "no nodes available to schedule pods";
	json_object_foreach(r->by_text, text, count) {
		all = arena_printf(a, "%s%s%lld %s", all, sep,
				   (long long)json_integer_value(count), text);
		sep = ", ";
	}
	return arena_printf(
		a,
		"%s. preemption: 0/%zu nodes are available: %zu Preemption is not "
		"helpful for scheduling.",
		all, n, n);
}

/* NULL: every claim is there and bound. */
static const char *claim_problem(struct ks *k, struct arena *a, const json_t *pod)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(json_at(pod, "spec.volumes"), i, v) {
		const char *name = json_str_at(v, "persistentVolumeClaim.claimName");
		const json_t *claim = NULL;

		if (!name)
			continue;
		claim = ks_at(k, "/persistentvolumeclaims",
			      json_str_at(pod, "metadata.namespace"), name);
		if (!claim)
			return arena_printf(
				a,
				"0/%zu nodes are available: persistentvolumeclaim "
				"\"%s\" not found.",
				json_object_size(ks_all(k, "/nodes")), name);
		if (!streq(json_str_at(claim, "status.phase"), "Bound"))
			return arena_printf(
				a,
				"0/%zu nodes are available: pod has unbound immediate "
				"PersistentVolumeClaims.",
				json_object_size(ks_all(k, "/nodes")));
	}
	return NULL;
}

static void place(struct ks *k, const json_t *pod, const char *node)
{
	json_t *next = json_deep_copy(pod);

	json_put_str(next, "spec.nodeName", node);
	ks_set_condition(next, k->now_ms, "PodScheduled", "True", NULL, NULL);
	ks_due_clear(k, pod);
	ks_write(k, ks_builtin("/pods"), next);
	ks_event(k, pod, "Normal", "Scheduled", "default-scheduler",
		 "Successfully assigned the pod");
}

static void leave_pending(struct ks *k, const json_t *pod, const char *why)
{
	json_t *next = json_deep_copy(pod);

	ks_set_condition(next, k->now_ms, "PodScheduled", "False", "Unschedulable", why);
	ks_update_if_changed(k, ks_builtin("/pods"), pod, next);
	ks_event(k, pod, "Warning", "FailedScheduling", "default-scheduler", why);
}

static void schedule(struct ks *k, struct arena *a, const json_t *pod)
{
	struct refusals r = {json_new_object(a)};
	const char *node = NULL;
	const char *why = claim_problem(k, a, pod);
	size_t n = 0;

	if (!why) {
		node = choose(k, a, pod, &r, &n);
		why = node ? NULL : told(a, &r, n);
	}
	if (node)
		place(k, pod, node);
	else
		leave_pending(k, pod, why);
}

void ks_run_scheduler(struct ks *k)
{
	struct arena a;
	json_t *pods = NULL;
	json_t *pod = NULL;
	size_t i = 0;

	arena_init(&a, 0);
	pods = ks_snapshot(k, &a, "/pods");
	json_array_foreach(pods, i, pod) {
		if (!json_str_at(pod, "spec.nodeName") && !ks_pod_done(pod) &&
		    streq(json_str_or(pod, "spec.schedulerName", DEFAULT_SCHEDULER),
			  DEFAULT_SCHEDULER) &&
		    !json_str_at(pod, "metadata.deletionTimestamp") &&
		    json_len_at(pod, "spec.schedulingGates") == 0)
			schedule(k, &a, pod);
	}
	arena_free(&a);
}
