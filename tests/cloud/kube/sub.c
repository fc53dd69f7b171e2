#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "tests/cloud/kube/server.h"

/* --- scale ---------------------------------------------------------------------- */

static json_t *scale_of(struct ks_req *q, const json_t *obj)
{
	json_t *s = json_packf(
		q->a, "{s:s,s:s,s:{s:s,s:s,s:O,s:O},s:{s:I},s:{s:I}}", "kind", "Scale",
		"apiVersion", "autoscaling/v1", "metadata", "name", q->name, "namespace",
		q->ns ? q->ns : "", "uid", json_at(obj, "metadata.uid"),
		"resourceVersion", json_at(obj, "metadata.resourceVersion"), "spec",
		"replicas", (json_int_t)json_int_or(obj, "spec.replicas", 0), "status",
		"replicas", (json_int_t)json_int_or(obj, "status.replicas", 0));

	return s;
}

static void serve_scale(struct ks_req *q)
{
	const json_t *live = ks_get(&q->k, q->kind, q->ns, q->name);
	json_t *wanted = NULL;
	json_t *obj = NULL;

	if (!live) {
		ks_not_found(q);
		return;
	}
	if (streq(q->raw->method, "GET")) {
		ks_answer(q, 200, scale_of(q, live));
		return;
	}
	wanted = json_at(q->body, "spec.replicas");
	if (!json_is_integer(wanted) || json_integer_value(wanted) < 0) {
		ks_fail(q, 422, "Invalid", "spec.replicas: must be a number not below 0");
		return;
	}
	obj = json_own(q->a, json_deep_copy(live));
	json_put(obj, "spec.replicas", json_incref(wanted));
	ks_managed_update(q, live, obj);
	ks_answer(q, 200, scale_of(q, ks_store(q, live, json_incref(obj))));
}

/* --- eviction --------------------------------------------------------------------- */

static const json_t *budget_of(struct ks_req *q, const json_t *pod)
{
	const char *key = NULL;
	json_t *pdb = NULL;

	json_object_foreach(ks_all(&q->k, "policy/poddisruptionbudgets"), key, pdb) {
		if (streq(json_str_at(pdb, "metadata.namespace"), q->ns) &&
		    ks_labels_match(json_at(pdb, "spec.selector"),
				    json_at(pod, "metadata.labels")))
			return pdb;
	}
	return NULL;
}

static int64_t healthy(struct ks_req *q, const json_t *pdb, int64_t *ret_all)
{
	const char *key = NULL;
	json_t *pod = NULL;
	int64_t n = 0;

	*ret_all = 0;
	json_object_foreach(ks_all(&q->k, "/pods"), key, pod) {
		if (!streq(json_str_at(pod, "metadata.namespace"), q->ns) ||
		    !ks_labels_match(json_at(pdb, "spec.selector"),
				     json_at(pod, "metadata.labels")))
			continue;
		(*ret_all)++;
		n += ks_pod_ready(pod) && !json_str_at(pod, "metadata.deletionTimestamp");
	}
	return n;
}

static bool budget_allows(struct ks_req *q, const json_t *pod)
{
	const json_t *pdb = budget_of(q, pod);
	json_t *causes = NULL;
	int64_t all = 0;
	int64_t now = 0;

	if (!pdb || !ks_pod_ready(pod))
		return true;
	now = healthy(q, pdb, &all);
	if (json_at(pdb, "spec.minAvailable") &&
	    now - 1 >= json_int_or(pdb, "spec.minAvailable", all))
		return true;
	if (json_at(pdb, "spec.maxUnavailable") &&
	    all - now + 1 <= json_int_or(pdb, "spec.maxUnavailable", 0))
		return true;
	causes = json_new_list(q->a);
	ks_add_cause(causes, "DisruptionBudget", "",
		     arena_printf(q->a,
				  "The disruption budget %s needs more healthy pods",
				  json_str_or(pdb, "metadata.name", "")));
	return ks_fail_causes(
		q, 429, "TooManyRequests", causes,
		"Cannot evict pod as it would violate the pod's disruption budget.");
}

static void serve_eviction(struct ks_req *q)
{
	json_t *pod = ks_get(&q->k, q->kind, q->ns, q->name);

	if (!pod) {
		ks_not_found(q);
		return;
	}
	if (!budget_allows(q, pod))
		return;
	if (!q->dry_run) {
		cloud_effect(q->k.cloud, "kube.pods",
			     arena_printf(q->a, "%s/%s/%s", q->k.name, q->ns, q->name),
			     "delete");
		ks_delete(&q->k, q->kind, pod, "Background");
	}
	ks_answer(q, 201,
		  json_packf(q->a, "{s:s,s:s,s:{},s:s,s:i}", "kind", "Status",
			     "apiVersion", "v1", "metadata", "status", "Success", "code",
			     201));
}

/* --- binding ---------------------------------------------------------------------- */

static void serve_binding(struct ks_req *q)
{
	const json_t *pod = ks_get(&q->k, q->kind, q->ns, q->name);
	const char *node = json_str_or(q->body, "target.name", "");
	const char *kind = json_str_or(q->body, "target.kind", "");
	json_t *causes = json_new_list(q->a);
	json_t *next = NULL;

	if (*kind && !streq(kind, "Node"))
		ks_add_cause(causes, "FieldValueNotSupported", "target.kind",
			     arena_printf(q->a,
					  "Unsupported value: \"%s\": supported values: "
					  "\"Node\", \"<empty>\"",
					  kind));
	if (!*node)
		ks_add_cause(causes, "FieldValueRequired", "target.name",
			     "Required value");
	if (json_array_size(causes) > 0) {
		ks_invalid(q, q->name, causes);
		return;
	}
	if (!pod) {
		ks_not_found(q);
		return;
	}
	if (json_str_at(pod, "spec.nodeName")) {
		ks_fail(q, 409, "Conflict",
			"Operation cannot be fulfilled on pods/binding \"%s\": pod %s is "
			"already assigned to node \"%s\"",
			q->name, q->name, json_str_at(pod, "spec.nodeName"));
		return;
	}
	next = json_deep_copy(pod);
	json_put_str(next, "spec.nodeName", node);
	ks_set_condition(next, q->k.now_ms, "PodScheduled", "True", NULL, NULL);
	if (q->dry_run)
		json_decref(next);
	else
		ks_write(&q->k, q->kind, next);
	ks_answer(q, 201,
		  json_packf(q->a, "{s:s,s:s,s:{},s:s,s:i}", "kind", "Status",
			     "apiVersion", "v1", "metadata", "status", "Success", "code",
			     201));
}

/* --- by name ---------------------------------------------------------------------- */

static const struct {
	const char *resource, *sub, *methods;
	void (*serve)(struct ks_req *q);
} rows[] = {
	{"/pods", "eviction", "POST", serve_eviction},
	{"/pods", "binding", "POST", serve_binding},
	{"/pods", "log", "GET", ks_serve_log},
	{"/serviceaccounts", "token", "POST", ks_serve_token},
};

static bool method_allowed(struct ks_req *q, const char *methods)
{
	if (strstr(methods, q->raw->method))
		return true;
	return ks_fail(q, 405, "MethodNotAllowed",
		       "the server does not allow this method on the requested resource");
}

bool ks_serve_sub(struct ks_req *q)
{
	const char *resource = ks_resource(q->a, q->kind);

	if (streq(q->sub, "scale") && (q->kind->has & KS_SCALE)) {
		if (method_allowed(q, "GET PUT PATCH"))
			serve_scale(q);
		return true;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!streq(rows[i].resource, resource) || !streq(rows[i].sub, q->sub))
			continue;
		if (method_allowed(q, rows[i].methods))
			rows[i].serve(q);
		return true;
	}
	return ks_fail(q, 404, "NotFound",
		       "the server could not find the requested resource");
}
