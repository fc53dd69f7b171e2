#include <string.h>

#include "tests/cloud/kube/server.h"

struct count {
	int64_t active, ready, succeeded, failed;
};

static struct count count_pods(struct ks *k, const json_t *job)
{
	struct count c = {0};
	const char *key = NULL;
	json_t *pod = NULL;

	json_object_foreach(ks_all(k, "/pods"), key, pod) {
		const char *phase = json_str_or(pod, "status.phase", "");

		if (!ks_owned_by(pod, job))
			continue;
		if (streq(phase, "Succeeded"))
			c.succeeded++;
		else if (streq(phase, "Failed"))
			c.failed++;
		else if (!json_str_at(pod, "metadata.deletionTimestamp"))
			c.active++;
		c.ready += ks_pod_ready(pod);
	}
	return c;
}

static bool finished(const json_t *job)
{
	const json_t *list = json_at(job, "status.conditions");

	return streq(json_str_at(json_find(list, "type", "Complete"), "status"),
		     "True") ||
	       streq(json_str_at(json_find(list, "type", "Failed"), "status"), "True");
}

static void kill_pods(struct ks *k, struct arena *a, const json_t *job)
{
	json_t *pods = ks_snapshot(k, a, "/pods");
	json_t *pod = NULL;
	size_t i = 0;

	json_array_foreach(pods, i, pod) {
		if (ks_owned_by(pod, job) && !ks_pod_done(pod))
			ks_delete(k, ks_builtin("/pods"), pod, "Background");
	}
}

static void prepare(struct ks *k, const json_t *job)
{
	json_t *next = json_deep_copy(job);
	const char *uid = json_str_or(job, "metadata.uid", "");
	const char *name = json_str_or(job, "metadata.name", "");
	json_t *labels = NULL;

	if (!json_at(next, "spec.template.metadata.labels"))
		json_put(next, "spec.template.metadata.labels", json_object());
	labels = json_at(next, "spec.template.metadata.labels");
	json_object_set_new(labels, "batch.kubernetes.io/controller-uid",
			    json_string(uid));
	json_object_set_new(labels, "batch.kubernetes.io/job-name", json_string(name));
	json_object_set_new(labels, "controller-uid", json_string(uid));
	json_object_set_new(labels, "job-name", json_string(name));
	json_put(next, "spec.selector",
		 json_pack("{s:{s:s}}", "matchLabels",
			   "batch.kubernetes.io/controller-uid", uid));
	ks_write(k, ks_builtin("batch/jobs"), next);
}

static bool past_deadline(struct ks *k, const json_t *job)
{
	int64_t start = 0;
	const int64_t seconds = json_int_or(job, "spec.activeDeadlineSeconds", 0);

	return seconds > 0 &&
	       time_parse_rfc3339(json_str_or(job, "status.startTime", ""), &start) &&
	       k->now_ms >= start + seconds * 1000;
}

static void verdict(struct ks *k, struct arena *a, const json_t *job, json_t *next,
		    const struct count *c)
{
	char when[TIME_TEXT];

	if (c->succeeded >= json_int_or(job, "spec.completions", 1)) {
		ks_set_condition(next, k->now_ms, "SuccessCriteriaMet", "True",
				 "CompletionsReached",
				 "Reached expected number of succeeded pods");
		ks_set_condition(next, k->now_ms, "Complete", "True",
				 "CompletionsReached",
				 "Reached expected number of succeeded pods");
		json_put_str(next, "status.completionTime", ks_time(k->now_ms, when));
	} else if (c->failed > json_int_or(job, "spec.backoffLimit", 6)) {
		ks_set_condition(next, k->now_ms, "Failed", "True",
				 "BackoffLimitExceeded",
				 "Job has reached the specified backoff limit");
		kill_pods(k, a, job);
	} else if (past_deadline(k, job)) {
		ks_set_condition(next, k->now_ms, "Failed", "True", "DeadlineExceeded",
				 "Job was active longer than specified deadline");
		kill_pods(k, a, job);
	}
}

static void expire(struct ks *k, const json_t *job)
{
	const json_t *ttl = json_at(job, "spec.ttlSecondsAfterFinished");

	if (json_is_integer(ttl) &&
	    k->now_ms >= ks_due(k, job, json_integer_value(ttl) * 1000)) {
		ks_due_clear(k, job);
		ks_delete(k, ks_builtin("batch/jobs"), job, "Foreground");
	}
}

static void start_pods(struct ks *k, struct arena *a, const json_t *job, struct count *c)
{
	const int64_t left = json_int_or(job, "spec.completions", 1) - c->succeeded;
	int64_t want = json_int_or(job, "spec.parallelism", 1);

	if (want > left)
		want = left;
	for (; c->active < want && c->failed <= json_int_or(job, "spec.backoffLimit", 6);
	     c->active++)
		ks_new_pod(k, job, json_at(job, "spec.template"),
			   arena_printf(a, "%s-%s", json_str_or(job, "metadata.name", ""),
					ks_suffix(k, a, 5)),
			   NULL);
}

static void run_job(struct ks *k, struct arena *a, const json_t *job)
{
	char when[TIME_TEXT];
	struct count c;
	json_t *next = NULL;

	if (json_str_at(job, "metadata.deletionTimestamp"))
		return;
	if (!json_at(job, "spec.selector")) {
		prepare(k, job);
		return;
	}
	if (finished(job)) {
		expire(k, job);
		return;
	}
	c = count_pods(k, job);
	if (json_bool_or(job, "spec.suspend", false))
		kill_pods(k, a, job);
	else
		start_pods(k, a, job, &c);
	next = json_deep_copy(job);
	if (!json_at(job, "status.startTime") &&
	    !json_bool_or(job, "spec.suspend", false))
		json_put_str(next, "status.startTime", ks_time(k->now_ms, when));
	json_put_int(next, "status.active", c.active);
	json_put_int(next, "status.ready", c.ready);
	json_put_int(next, "status.succeeded", c.succeeded);
	json_put_int(next, "status.failed", c.failed);
	verdict(k, a, job, next, &c);
	ks_update_if_changed(k, ks_builtin("batch/jobs"), job, next);
}

void ks_run_jobs(struct ks *k)
{
	struct arena a;
	json_t *list = NULL;
	json_t *job = NULL;
	size_t i = 0;

	arena_init(&a, 0);
	list = ks_snapshot(k, &a, "batch/jobs");
	json_array_foreach(list, i, job) {
		run_job(k, &a, job);
	}
	arena_free(&a);
}
