/* list_pods: compact rows, so that an agent can look at five hundred pods. */
#include <string.h>

#include "core/domain/pod/pod.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

struct list_pods {
	const char *cluster;
	const char *namespace;
	const char *label;
	const char *job;
	int64_t limit;
	const char *cursor;
};

static const struct field list_pods_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct list_pods, cluster),
	FIELD(struct list_pods, namespace, .pattern = POD_NS_PATTERN, .max = 63,
	      .doc = "Kubernetes namespace. Default: all."),
	FIELD(struct list_pods, label, .min = 1, .max = 512, .example = "\"app=trainer\"",
	      .doc = "Only pods that match this Kubernetes label selector."),
	FIELD(struct list_pods, job, .pattern = POD_NAME_PATTERN, .max = 253,
	      .doc = "Only pods of this job, by label or owner."),
	FIELD(struct list_pods, limit, .min = 1, .max = 500, .dflt = "100",
	      .doc = "Maximum number of pods checked per page."),
	FIELD(struct list_pods, cursor, .min = 1, .max = 2048,
	      .doc = "next_cursor of the previous page."),
	FIELD_END};

#define TEXT(member, sentence) OUT(member, FIELD_STR, .doc = (sentence))

static const struct field container_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the container."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "waiting, running or terminated."),
	OUT("ready", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether the container is ready."),
	OUT("restarts", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Number of restarts. If above 0, there is a previous log."),
	OUT("init", FIELD_BOOL, .doc = "Whether it is an init container."),
	TEXT("reason", "Why the container is waiting or has ended."),
	OUT("exit_code", FIELD_INT, .doc = "Exit code of the last run."),
	FIELD_END};

static const struct field pod_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the pod."),
	OUT("namespace", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Namespace of the pod."),
	OUT("phase", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Pending, Running, Succeeded, Failed or Unknown."),
	OUT("ready", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether the pod is ready."),
	TEXT("reason", "Problem with the pod."),
	TEXT("node", "Node of the pod."),
	TEXT("owner", "Kind and name of its owner."),
	TEXT("job", "Job that the pod belongs to."),
	TEXT("started_at", "Start time."),
	{.name = "containers",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = container_out,
	 .doc = "Containers of the pod."},
	FIELD_END};

static const struct field list_pods_out[] = {
	{.name = "items",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = pod_out,
	 .doc = "Sorted by namespace and name."},
	OUT("next_cursor", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "Pass as cursor to get the next page. Null on the last page."),
	FIELD_END};

/* --- one pod --------------------------------------------------------------------- */

static const char *job_of(const json_t *pod)
{
	static const char *const labels[] = {"HPJob", "batch.kubernetes.io/job-name",
					     "job-name", "training.kubeflow.org/job-name",
					     "ray.io/cluster"};
	const json_t *has = json_at(pod, "metadata.labels");

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (json_object_get(has, labels[i]))
			return json_string_value(json_object_get(has, labels[i]));
	return NULL;
}

static bool is_of_job(const json_t *pod, const char *job)
{
	return streq(job_of(pod), job) ||
	       json_find(json_at(pod, "metadata.ownerReferences"), "name", job);
}

static const char *state_of(const json_t *status)
{
	if (json_at(status, "state.running"))
		return "running";
	return json_at(status, "state.terminated") ? "terminated" : "waiting";
}

static void add_containers(const json_t *pod, const char *specs, const char *statuses,
			   bool init, json_t *list)
{
	size_t i;
	json_t *c;

	json_array_foreach(json_at(pod, specs), i, c) {
		const char *name = json_str_or(c, "name", "");
		const json_t *s = json_find(json_at(pod, statuses), "name", name);
		const json_t *end = json_at(s, "state.terminated");
		const char *reason = json_str_at(s, "state.waiting.reason");
		json_t *row = json_pack("{s:s, s:s, s:b, s:I}", "name", name, "state",
					state_of(s), "ready",
					json_bool_or(s, "ready", false), "restarts",
					(json_int_t)json_int_or(s, "restartCount", 0));

		if (!end)
			end = json_at(s, "lastState.terminated");
		json_put_str(row, "reason", reason ? reason : json_str_at(end, "reason"));
		if (json_at(end, "exitCode"))
			json_put_int(row, "exit_code", json_int_or(end, "exitCode", 0));
		if (init)
			json_put_bool(row, "init", true);
		json_push(list, row);
	}
}

static json_t *pod_row(struct call *c, const json_t *pod)
{
	const json_t *owner = json_at(pod, "metadata.ownerReferences.0");
	const json_t *ready =
		json_find(json_at(pod, "status.conditions"), "type", "Ready");
	const json_t *placed =
		json_find(json_at(pod, "status.conditions"), "type", "PodScheduled");
	const char *reason = json_str_at(pod, "status.reason");
	json_t *containers = json_array();
	json_t *row = json_pack("{s:s, s:s, s:s, s:b}", "name",
				json_str_or(pod, "metadata.name", "?"), "namespace",
				json_str_or(pod, "metadata.namespace", "?"), "phase",
				json_at(pod, "metadata.deletionTimestamp")
					? "Terminating"
					: json_str_or(pod, "status.phase", "Unknown"),
				"ready", streq(json_str_at(ready, "status"), "True"));

	if (!reason && streq(json_str_at(placed, "status"), "False"))
		reason = json_str_at(placed, "message");
	json_put_str(row, "reason", reason);
	json_put_str(row, "node", json_str_at(pod, "spec.nodeName"));
	json_put_str(row, "job", job_of(pod));
	json_put_str(row, "started_at", json_str_at(pod, "status.startTime"));
	if (owner)
		json_put_str(row, "owner",
			     arena_printf(c->arena, "%s/%s",
					  json_str_or(owner, "kind", "?"),
					  json_str_or(owner, "name", "?")));
	add_containers(pod, "spec.containers", "status.containerStatuses", false,
		       containers);
	add_containers(pod, "spec.initContainers", "status.initContainerStatuses", true,
		       containers);
	json_put(row, "containers", containers);
	return row;
}

/* --- the capability ----------------------------------------------------------------- */

static bool run_list_pods(struct call *c, const void *in, struct reply *ret,
			  struct err *e)
{
	const struct list_pods *q = in;
	const struct kube_request r = {.verb = KUBE_LIST,
				       .api = "v1",
				       .plural = "pods",
				       .ns = q->namespace,
				       .label_selector = q->label,
				       .limit = q->limit,
				       .continue_ = q->cursor};
	struct kube_target t;
	struct kube_result res;
	json_t *items = json_new_list(c->arena), *pod;
	const char *next;
	size_t i;

	if (!pod_target(c, q->cluster, &t, NULL, e))
		return false;
	kube_call(c->cloud->kube, &t, &r, c->arena, &res);
	if (!res.ok && (res.status == 400 || res.status == 410)) {
		const bool cursor = res.status == 410 ||
				    (q->cursor && strstr(res.message, "continue"));

		err_set(e, ERR_INVALID_INPUT, "%s", res.message);
		return err_field(e, cursor ? "/cursor" : "/label",
				 cursor ? q->cursor : q->label,
				 cursor ? "no cursor, to start again"
					: "a Kubernetes label selector");
	}
	if (!res.ok)
		return kube_err(&r, &res, e);
	json_array_foreach(json_at(res.out, "items"), i, pod)
		if (!q->job || is_of_job(pod, q->job))
			json_push(items, pod_row(c, pod));
	if (!q->cursor && json_array_size(json_at(res.out, "items")) == 0 &&
	    !pod_namespace_can_be(c, &t, q->namespace, e))
		return false;
	next = json_str_at(res.out, "metadata.continue");
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:O, s:s?}", "items", items, "next_cursor",
			      next && *next ? next : NULL));
	return true;
}

extern const struct capability cap_list_pods;
const struct capability cap_list_pods = {
	.name = "list_pods",
	.method = "GET",
	.path = "/clusters/{cluster}/pods",
	.title = "List pods",
	.doc = "Lists the pods of a cluster as Kubernetes reports them now, with state, "
	       "restarts and last exit code of each container.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_LIST,
	.in = list_pods_in,
	.in_size = sizeof(struct list_pods),
	.out = list_pods_out,
	.run = run_list_pods,
};
