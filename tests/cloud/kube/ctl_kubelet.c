#include <string.h>

#include "tests/cloud/kube/server.h"

/* Real durations; the cloud's speed divides them. */
enum { START_MS = 2000, JOB_RUN_MS = 3000, STOP_MS = 1000 };

static json_t *container_state(struct ks *k, const json_t *c, const char *state,
			       json_t *detail, bool ready)
{
	char when[TIME_TEXT];

	if (streq(state, "running"))
		json_object_set_new(detail, "startedAt",
				    json_string(ks_time(k->now_ms, when)));
	return json_pack("{s:s,s:s,s:s,s:b,s:b,s:i,s:{s:o}}", "name",
			 json_str_or(c, "name", ""), "image", json_str_or(c, "image", ""),
			 "imageID", "", "ready", ready, "started", ready, "restartCount",
			 0, "state", state, detail);
}

static void set_statuses(struct ks *k, json_t *pod, const char *state,
			 const json_t *detail, bool ready)
{
	json_t *list = json_array();
	const json_t *c = NULL;
	size_t i = 0;

	json_array_foreach(json_at(pod, "spec.containers"), i, c) {
		json_array_append_new(
			list,
			container_state(k, c, state, json_deep_copy(detail), ready));
	}
	json_put(pod, "status.containerStatuses", list);
	ks_set_condition(pod, k->now_ms, "Initialized", "True", NULL, NULL);
	ks_set_condition(pod, k->now_ms, "ContainersReady", ready ? "True" : "False",
			 ready ? NULL : "ContainersNotReady", NULL);
	ks_set_condition(pod, k->now_ms, "Ready", ready ? "True" : "False",
			 ready ? NULL : "ContainersNotReady", NULL);
}

static const struct ks_kind *pods(void)
{
	return ks_builtin("/pods");
}

static void wait_for_mount(struct ks *k, const json_t *pod, const char *why)
{
	json_t *next = json_deep_copy(pod);
	json_t *detail = json_pack("{s:s}", "reason", "ContainerCreating");

	set_statuses(k, next, "waiting", detail, false);
	json_decref(detail);
	ks_update_if_changed(k, pods(), pod, next);
	if (why)
		ks_event(k, pod, "Warning", "FailedMount", "kubelet", why);
}

static void start(struct ks *k, const json_t *pod)
{
	char when[TIME_TEXT];
	json_t *next = json_deep_copy(pod);
	json_t *detail = json_object();
	const int64_t n = ks_rv(k);

	json_put_str(next, "status.phase", "Running");
	json_put_str(next, "status.startTime", ks_time(k->now_ms, when));
	json_put(next, "status.podIP",
		 json_sprintf("10.1.%d.%d", (int)(n / 250 % 250), (int)(n % 250 + 2)));
	json_put_str(next, "status.hostIP", "10.1.0.1");
	set_statuses(k, next, "running", detail, true);
	json_decref(detail);
	ks_due_clear(k, pod);
	ks_write(k, pods(), next);
	ks_event(k, pod, "Normal", "Started", "kubelet", "Started container");
}

/* "kube_fail": {"ns/name or owner": "message"} lets a container fail. */
static const char *told_to_fail(struct ks *k, struct arena *a, const json_t *pod)
{
	const json_t *rules = json_at(cloud_settings(k->cloud), "kube_fail");
	const char *ns = json_str_or(pod, "metadata.namespace", "");
	const json_t *v = json_object_get(
		rules,
		ks_key(a, ns, json_str_or(pod, "metadata.ownerReferences.0.name", "")));

	if (!v)
		v = json_object_get(rules,
				    ks_key(a, ns, json_str_or(pod, "metadata.name", "")));
	return json_string_value(v);
}

static void finish(struct ks *k, struct arena *a, const json_t *pod)
{
	char when[TIME_TEXT];
	json_t *next = json_deep_copy(pod);
	const char *problem = told_to_fail(k, a, pod);
	json_t *detail = NULL;

	if (!problem)
		problem = ks_probe_problem(k, a, pod);
	detail = json_pack(
		"{s:i,s:s,s:O,s:s}", "exitCode", problem ? 1 : 0, "reason",
		problem ? "Error" : "Completed", "startedAt",
		json_at(pod, "status.containerStatuses.0.state.running.startedAt"),
		"finishedAt", ks_time(k->now_ms, when));
	if (problem)
		json_put_str(detail, "message", problem);
	json_put_str(next, "status.phase", problem ? "Failed" : "Succeeded");
	set_statuses(k, next, "terminated", detail, false);
	json_decref(detail);
	ks_due_clear(k, pod);
	ks_write(k, pods(), next);
}

/* "kube_restarts": {"ns/name": n} has the containers started anew n times. */
static int64_t told_to_restart(struct ks *k, struct arena *a, const json_t *pod)
{
	const json_t *n =
		json_object_get(json_at(cloud_settings(k->cloud), "kube_restarts"),
				ks_key(a, json_str_or(pod, "metadata.namespace", ""),
				       json_str_or(pod, "metadata.name", "")));

	return json_is_integer(n) ? json_integer_value(n) : 0;
}

static void restart(struct ks *k, const json_t *pod, int64_t restarts)
{
	char when[TIME_TEXT];
	json_t *next = json_deep_copy(pod);
	json_t *s = NULL;
	size_t i = 0;

	ks_time(k->now_ms, when);
	json_array_foreach(json_at(next, "status.containerStatuses"), i, s) {
		json_put(s, "lastState",
			 json_pack("{s:{s:i,s:s,s:s,s:s}}", "terminated", "exitCode", 137,
				   "reason", "Error", "startedAt",
				   json_str_or(s, "state.running.startedAt", when),
				   "finishedAt", when));
		json_put(s, "state",
			 json_pack("{s:{s:s}}", "running", "startedAt", when));
		json_put_int(s, "restartCount", restarts);
	}
	ks_write(k, pods(), next);
	ks_event(k, pod, "Warning", "BackOff", "kubelet",
		 "Back-off restarting failed container");
}

static void stop(struct ks *k, const json_t *pod)
{
	int64_t grace = ks_setting(
		k, "kube_pod_stop_ms",
		json_int_or(pod, "metadata.deletionGracePeriodSeconds", 0) * 1000);

	/* Our containers take SIGTERM to heart. */
	if (grace > STOP_MS)
		grace = ks_setting(k, "kube_pod_stop_ms", STOP_MS);
	if (json_len_at(pod, "metadata.finalizers") > 0)
		return;
	if (k->now_ms < ks_due(k, pod, grace))
		return;
	ks_due_clear(k, pod);
	ks_erase(k, pods(), json_str_at(pod, "metadata.namespace"),
		 json_str_or(pod, "metadata.name", ""));
}

static bool node_answers(const json_t *node)
{
	return streq(json_str_at(json_find(json_at(node, "status.conditions"), "type",
					   "Ready"),
				 "status"),
		     "True");
}

/* Pods of a node that does not answer are not ready, whatever they do. */
static void mark(struct ks *k, const json_t *pod, bool answers)
{
	json_t *next = NULL;

	if (ks_pod_ready(pod) == answers)
		return;
	next = json_deep_copy(pod);
	ks_set_condition(next, k->now_ms, "Ready", answers ? "True" : "False",
			 answers ? NULL : "NodeNotReady", NULL);
	if (answers)
		json_object_del(
			json_find(json_at(next, "status.conditions"), "type", "Ready"),
			"reason");
	ks_update_if_changed(k, pods(), pod, next);
}

static void run_pod(struct ks *k, struct arena *a, const json_t *pod)
{
	const char *node = json_str_at(pod, "spec.nodeName");
	const bool runs_once =
		!streq(json_str_or(pod, "spec.restartPolicy", "Always"), "Always");
	const char *phase = json_str_or(pod, "status.phase", "Pending");
	const json_t *host = ks_at(k, "/nodes", NULL, node);
	const char *why = NULL;

	/* A pod of a node that is gone goes at once. */
	if (!host) {
		ks_erase(k, pods(), json_str_at(pod, "metadata.namespace"),
			 json_str_or(pod, "metadata.name", ""));
		return;
	}
	if (!node_answers(host)) {
		if (streq(phase, "Running"))
			mark(k, pod, false);
		return;
	}
	if (streq(phase, "Running") && !ks_pod_ready(pod)) {
		mark(k, pod, true);
		return;
	}
	if (streq(phase, "Running") &&
	    told_to_restart(k, a, pod) >
		    json_int_or(pod, "status.containerStatuses.0.restartCount", 0)) {
		restart(k, pod, told_to_restart(k, a, pod));
		return;
	}
	if (ks_pod_done(pod) || streq(phase, "Running")) {
		if (streq(phase, "Running") && runs_once &&
		    k->now_ms >=
			    ks_due(k, pod, ks_setting(k, "kube_job_run_ms", JOB_RUN_MS)))
			finish(k, a, pod);
		return;
	}
	why = ks_mount_problem(k, a, pod, node);
	if (why ||
	    k->now_ms < ks_due(k, pod, ks_setting(k, "kube_pod_start_ms", START_MS)))
		wait_for_mount(k, pod, why);
	else
		start(k, pod);
}

/* Of a fleet: it runs as long as its node is there, and there are thousands. */
static bool is_fleet(struct ks *k, const json_t *pod)
{
	const json_t *meta = json_object_get(pod, "metadata");
	const json_t *labels = json_object_get(meta, "labels");

	return json_object_get(labels, "cloud/fleet") &&
	       !json_object_get(meta, "deletionTimestamp") &&
	       ks_at(k, "/nodes", NULL,
		     json_string_value(
			     json_object_get(json_object_get(pod, "spec"), "nodeName")));
}

void ks_run_kubelet(struct ks *k)
{
	struct arena a;
	json_t *list = NULL;
	json_t *pod = NULL;
	size_t i = 0;

	arena_init(&a, 0);
	list = ks_snapshot(k, &a, "/pods");
	json_array_foreach(list, i, pod) {
		if (is_fleet(k, pod))
			continue;
		if (!json_str_at(pod, "metadata.deletionTimestamp")) {
			if (json_str_at(pod, "spec.nodeName"))
				run_pod(k, &a, pod);
			continue;
		}
		/* A start that was due is not an end that is due. */
		if (!json_object_get(json_at(k->root, "stopping"),
				     json_str_or(pod, "metadata.uid", "?"))) {
			if (!json_at(k->root, "stopping"))
				json_put(k->root, "stopping", json_object());
			json_object_set_new(json_at(k->root, "stopping"),
					    json_str_or(pod, "metadata.uid", "?"),
					    json_null());
			ks_due_clear(k, pod);
		}
		stop(k, pod);
	}
	arena_free(&a);
}
