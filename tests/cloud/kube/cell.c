#include <inttypes.h>
#include <string.h>

#include "core/base/buf.h"
#include "tests/cloud/kube/server.h"

/* Cells of tables that are more than a member: see table.def. */

static const char *ago(struct ks *k, struct arena *a, const char *when)
{
	int64_t since = 0;
	int64_t s = 0;

	if (!when || !time_parse_rfc3339(when, &since))
		return "<unknown>";
	s = (k->now_ms - since) / 1000;
	if (s < 120)
		return arena_printf(a, "%" PRId64 "s", s < 0 ? 0 : s);
	if (s < 7200)
		return arena_printf(a, "%" PRId64 "m", s / 60);
	if (s < 172800)
		return arena_printf(a, "%" PRId64 "h", s / 3600);
	return arena_printf(a, "%" PRId64 "d", s / 86400);
}

static const char *pod_ready(struct arena *a, const json_t *pod)
{
	const json_t *c = NULL;
	size_t i = 0;
	int ready = 0;

	json_array_foreach(json_at(pod, "status.containerStatuses"), i, c) {
		ready += json_bool_or(c, "ready", false);
	}
	return arena_printf(a, "%d/%zu", ready, json_len_at(pod, "spec.containers"));
}

static const char *pod_status(const json_t *pod)
{
	const json_t *c = NULL;
	size_t i = 0;

	if (json_str_at(pod, "metadata.deletionTimestamp"))
		return "Terminating";
	json_array_foreach(json_at(pod, "status.containerStatuses"), i, c) {
		if (json_str_at(c, "state.waiting.reason"))
			return json_str_at(c, "state.waiting.reason");
		if (json_str_at(c, "state.terminated.reason"))
			return json_str_at(c, "state.terminated.reason");
	}
	return json_str_or(pod, "status.phase", "Pending");
}

static const char *of_two(struct arena *a, const json_t *obj, const char *x,
			  const char *y)
{
	return arena_printf(a, "%" PRId64 "/%" PRId64, json_int_or(obj, x, 0),
			    json_int_or(obj, y, 0));
}

static const char *node_status(struct arena *a, const json_t *node)
{
	const json_t *c = json_find(json_at(node, "status.conditions"), "type", "Ready");

	return arena_printf(
		a, "%s%s", streq(json_str_at(c, "status"), "True") ? "Ready" : "NotReady",
		json_bool_or(node, "spec.unschedulable", false) ? ",SchedulingDisabled"
								: "");
}

static const char *job_status(const json_t *job)
{
	const json_t *conditions = json_at(job, "status.conditions");

	if (json_find(conditions, "type", "Complete"))
		return "Complete";
	if (json_find(conditions, "type", "Failed"))
		return "Failed";
	if (json_str_at(job, "metadata.deletionTimestamp"))
		return "Terminating";
	return json_bool_or(job, "spec.suspend", false) ? "Suspended" : "Running";
}

/* "a=b,c=d" */
static const char *pairs(struct arena *a, const json_t *map)
{
	const char *all = NULL;
	const char *key = NULL;
	const json_t *v = NULL;

	json_object_foreach((json_t *)(uintptr_t)map, key, v) {
		all = arena_printf(a, "%s%s%s=%s", all ? all : "", all ? "," : "", key,
				   json_string_value(v));
	}
	return all;
}

static const json_t *pod_spec(const json_t *obj)
{
	const json_t *spec = json_at(obj, "spec.template.spec");

	return spec ? spec : json_at(obj, "spec.jobTemplate.spec.template.spec");
}

static const char *of_each(struct arena *a, const json_t *list, const char *member)
{
	const char *all = "";
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(list, i, v) {
		all = arena_printf(a, "%s%s%s", all, i ? "," : "",
				   json_str_or(v, member, ""));
	}
	return all;
}

static const char *subjects(struct arena *a, const json_t *obj, const char *kind)
{
	const char *all = "";
	const json_t *s = NULL;
	size_t i = 0;

	json_array_foreach(json_at(obj, "subjects"), i, s) {
		const char *ns = json_str_at(s, "namespace");

		if (streq(json_str_at(s, "kind"), kind))
			all = arena_printf(a, "%s%s%s%s%s", all, *all ? ", " : "",
					   ns ? ns : "", ns ? "/" : "",
					   json_str_or(s, "name", ""));
	}
	return all;
}

static const char *modes(struct arena *a, const json_t *obj)
{
	static const char *const names[][2] = {{"ReadWriteOnce", "RWO"},
					       {"ReadOnlyMany", "ROX"},
					       {"ReadWriteMany", "RWX"},
					       {"ReadWriteOncePod", "RWOP"}};
	const bool claim = streq(json_str_at(obj, "kind"), "PersistentVolumeClaim");
	const json_t *list =
		json_at(obj, claim ? "status.accessModes" : "spec.accessModes");
	const char *all = "";
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(list, i, v) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			if (streq(names[n][0], json_string_value(v)))
				all = arena_printf(a, "%s%s%s", all, *all ? "," : "",
						   names[n][1]);
		}
	}
	return all;
}

static const char *ports(struct arena *a, const json_t *service)
{
	const char *all = NULL;
	const json_t *p = NULL;
	size_t i = 0;

	json_array_foreach(json_at(service, "spec.ports"), i, p) {
		all = arena_printf(a, "%s%s%lld/%s", all ? all : "", all ? "," : "",
				   (long long)json_int_or(p, "port", 0),
				   json_str_or(p, "protocol", "TCP"));
	}
	return all;
}

static const char *address(const json_t *node, const char *type)
{
	return json_str_at(json_find(json_at(node, "status.addresses"), "type", type),
			   "address");
}

static const char *restarts(struct arena *a, const json_t *pod)
{
	const json_t *c = NULL;
	int64_t n = 0;
	size_t i = 0;

	json_array_foreach(json_at(pod, "status.containerStatuses"), i, c) {
		n += json_int_or(c, "restartCount", 0);
	}
	return arena_printf(a, "%" PRId64, n);
}

static const char *duration(struct ks *k, struct arena *a, const json_t *job)
{
	const char *start = json_str_at(job, "status.startTime");
	const char *end = json_str_at(job, "status.completionTime");
	int64_t from = 0;
	int64_t to = k->now_ms;

	if (!start || !time_parse_rfc3339(start, &from) ||
	    (end && !time_parse_rfc3339(end, &to)))
		return "";
	return arena_printf(a, "%" PRId64 "s", (to - from) / 1000);
}

static const char *phase(const json_t *obj)
{
	return json_str_at(obj, "metadata.deletionTimestamp")
		       ? "Terminating"
		       : json_str_or(obj, "status.phase", "");
}

/* Of one object and nothing else. */
static const char *text_of(struct arena *a, const json_t *obj, const char *what)
{
	const json_t *labels = json_at(obj, "spec.selector.matchLabels");

	if (streq(what, "name"))
		return json_str_or(obj, "metadata.name", "");
	if (streq(what, "created"))
		return json_str_or(obj, "metadata.creationTimestamp", "");
	if (streq(what, "ready"))
		return pod_ready(a, obj);
	if (streq(what, "podstatus"))
		return pod_status(obj);
	if (streq(what, "restarts"))
		return restarts(a, obj);
	if (streq(what, "nodestatus"))
		return node_status(a, obj);
	if (streq(what, "replicas"))
		return of_two(a, obj, "status.readyReplicas", "spec.replicas");
	if (streq(what, "completions"))
		return of_two(a, obj, "status.succeeded", "spec.completions");
	if (streq(what, "jobstatus"))
		return job_status(obj);
	if (streq(what, "roles"))
		return "<none>";
	if (streq(what, "unset"))
		return "<unset>";
	if (streq(what, "internalip"))
		return address(obj, "InternalIP");
	if (streq(what, "externalip"))
		return address(obj, "ExternalIP");
	if (streq(what, "ports"))
		return ports(a, obj);
	if (streq(what, "modes"))
		return modes(a, obj);
	if (streq(what, "phase"))
		return phase(obj);
	if (streq(what, "containers"))
		return of_each(a, json_at(pod_spec(obj), "containers"), "name");
	if (streq(what, "images"))
		return of_each(a, json_at(pod_spec(obj), "containers"), "image");
	if (streq(what, "selector"))
		return pairs(a, labels ? labels : json_at(obj, "spec.selector"));
	if (streq(what, "nodeselector"))
		return pairs(a, json_at(pod_spec(obj), "nodeSelector"));
	if (streq(what, "expands"))
		return json_bool_or(obj, "allowVolumeExpansion", false) ? "true"
									: "false";
	return NULL;
}

static const char *reference(struct arena *a, const json_t *obj, const char *what)
{
	if (streq(what, "users"))
		return subjects(a, obj, "User");
	if (streq(what, "groups"))
		return subjects(a, obj, "Group");
	if (streq(what, "accounts"))
		return subjects(a, obj, "ServiceAccount");
	if (streq(what, "role"))
		return arena_printf(a, "%s/%s", json_str_or(obj, "roleRef.kind", ""),
				    json_str_or(obj, "roleRef.name", ""));
	if (streq(what, "object"))
		return arena_printf(a, "%s/%s",
				    json_str_or(obj, "involvedObject.kind", ""),
				    json_str_or(obj, "involvedObject.name", ""));
	if (streq(what, "claim"))
		return json_str_at(obj, "spec.claimRef.name")
			       ? arena_printf(
					 a, "%s/%s",
					 json_str_or(obj, "spec.claimRef.namespace", ""),
					 json_str_at(obj, "spec.claimRef.name"))
			       : "";
	return NULL;
}

static json_t *number_of(const json_t *obj, const char *what)
{
	if (streq(what, "data"))
		return json_integer(
			(json_int_t)(json_object_size(json_at(obj, "data")) +
				     json_object_size(json_at(obj, "binaryData"))));
	if (streq(what, "active"))
		return json_integer((json_int_t)json_len_at(obj, "status.active"));
	if (streq(what, "count"))
		return json_integer(json_int_or(obj, "count", 1));
	return NULL;
}

static const char *time_of(struct ks *k, struct arena *a, const json_t *obj,
			   const char *what)
{
	if (streq(what, "age"))
		return ago(k, a, json_str_at(obj, "metadata.creationTimestamp"));
	if (streq(what, "lastseen"))
		return ago(k, a, json_str_at(obj, "lastTimestamp"));
	if (streq(what, "duration"))
		return duration(k, a, obj);
	if (streq(what, "lastschedule") && json_str_at(obj, "status.lastScheduleTime"))
		return ago(k, a, json_str_at(obj, "status.lastScheduleTime"));
	return NULL;
}

json_t *ks_cell(struct ks *k, struct arena *a, const json_t *obj, const char *what)
{
	const char *text = text_of(a, obj, what);

	if (!text)
		text = reference(a, obj, what);
	if (!text)
		text = time_of(k, a, obj, what);
	return text ? json_string(text) : number_of(obj, what);
}
