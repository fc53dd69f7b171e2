#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "tests/cloud/kube/server.h"

/* --- scale ---------------------------------------------------------------------- */

static const char *selector_text(struct ks_req *q, const json_t *obj)
{
	const char *all = "";
	const char *key = NULL;
	const json_t *v = NULL;

	json_object_foreach(json_at(obj, "spec.selector.matchLabels"), key, v) {
		all = arena_printf(q->a, "%s%s%s=%s", all, *all ? "," : "", key,
				   json_string_value(v));
	}
	return all;
}

/* None are not written: a scale of zero has an empty spec. */
static json_t *scale_of(struct ks_req *q, const json_t *obj)
{
	const json_t *wanted = json_at(obj, "spec.replicas");
	const char *selector = selector_text(q, obj);
	json_t *s = json_packf(
		q->a, "{s:s,s:s,s:{s:s,s:s,s:O,s:O,s:O},s:{},s:{s:I}}", "kind", "Scale",
		"apiVersion", "autoscaling/v1", "metadata", "name", q->name, "namespace",
		q->ns ? q->ns : "", "uid", json_at(obj, "metadata.uid"),
		"resourceVersion", json_at(obj, "metadata.resourceVersion"),
		"creationTimestamp", json_at(obj, "metadata.creationTimestamp"), "spec",
		"status", "replicas", (json_int_t)json_int_or(obj, "status.replicas", 0));

	if (json_integer_value(wanted) != 0)
		json_put(s, "spec.replicas", json_incref((json_t *)(uintptr_t)wanted));
	if (*selector)
		json_put_str(s, "status.selector", selector);
	return s;
}

/* The scale that is asked for; NULL after a refusal. */
static json_t *scale_wanted(struct ks_req *q, const json_t *now)
{
	const char *type = ks_header(q, "content-type");
	const char *kind = json_str_at(q->body, "kind");
	json_t *s = NULL;

	if (streq(q->raw->method, "PUT")) {
		if (kind && !streq(kind, "Scale")) {
			ks_fail(q, 400, "BadRequest",
				"%s in version \"v1\" cannot be handled as a Scale: "
				"converting (v1.%s) to (autoscaling.Scale): unknown conversion",
				kind, kind);
			return NULL;
		}
		return q->body;
	}
	s = ks_patch(q, now, type ? type : "");
	return s ? json_own(q->a, s) : NULL;
}

static bool scale_valid(struct ks_req *q, const json_t *live, const json_t *s)
{
	const json_t *n = json_at(s, "spec.replicas");
	const char *name = json_str_or(s, "metadata.name", "");
	const char *rv = json_str_or(s, "metadata.resourceVersion", "");
	json_t *causes = json_new_list(q->a);

	if (!streq(name, q->name))
		return ks_fail(
			q, 400, "BadRequest",
			"the name of the object (%s) does not match the name on the "
			"URL (%s)",
			name, q->name);
	if (n && !json_is_integer(n))
		return ks_bad_patch(q,
				    "json: cannot unmarshal string into Go struct field "
				    "ScaleSpec.spec.replicas of type int32");
	if (json_integer_value(n) < 0) {
		ks_add_cause(causes, "FieldValueInvalid", "spec.replicas",
			     "Invalid value: must be greater than or equal to 0");
		return ks_invalid_as(q, "autoscaling", "Scale", q->name, causes);
	}
	if (*rv && !streq(rv, json_str_at(live, "metadata.resourceVersion")))
		return ks_fail(
			q, 409, "Conflict",
			"Operation cannot be fulfilled on %s \"%s\": the object has "
			"been modified; please apply your changes to the latest version "
			"and try again",
			ks_qualified(q->a, q->kind), q->name);
	return true;
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
	wanted = scale_wanted(q, scale_of(q, live));
	if (!wanted || !scale_valid(q, live, wanted))
		return;
	obj = json_own(q->a, json_deep_copy(live));
	json_put_int(obj, "spec.replicas", json_int_or(wanted, "spec.replicas", 0));
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
	const char *uid = json_str_at(q->body, "deleteOptions.preconditions.uid");

	if (!streq(json_str_at(q->body, "metadata.name"), q->name)) {
		ks_fail(q, 400, "BadRequest",
			"name in URL does not match name in Eviction object");
		return;
	}
	if (!pod) {
		ks_not_found(q);
		return;
	}
	if (uid && !streq(uid, json_str_at(pod, "metadata.uid"))) {
		ks_conflict_as(
			q, "Pod",
			arena_printf(q->a,
				     "the UID in the precondition (%s) does not match "
				     "the UID in record (%s). The object might have been "
				     "deleted and then recreated",
				     uid, json_str_or(pod, "metadata.uid", "")));
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
	json_t *next = NULL;

	if ((*kind && !streq(kind, "Node")) || !*node) {
		ks_fail(q, 500, "", "%s",
			*node ? arena_printf(
					q->a,
					"target.kind: Unsupported value: \"%s\": supported "
					"values: \"Node\", \"<empty>\"",
					kind)
			      : "target.name: Required value");
		return;
	}
	if (!pod) {
		ks_not_found(q);
		return;
	}
	if (json_str_at(pod, "spec.nodeName")) {
		ks_conflict_as(q, "pods/binding",
			       arena_printf(q->a,
					    "pod %s is already assigned to node \"%s\"",
					    q->name, json_str_at(pod, "spec.nodeName")));
		return;
	}
	next = json_deep_copy(pod);
	json_put_str(next, "spec.nodeName", node);
	ks_set_condition(next, q->k.now_ms, "PodScheduled", "True", "", "");
	if (q->dry_run)
		json_decref(next);
	else
		ks_write(&q->k, q->kind, next);
	ks_answer(q, 201,
		  json_packf(q->a, "{s:s,s:s,s:{},s:s,s:i}", "kind", "Status",
			     "apiVersion", "v1", "metadata", "status", "Success", "code",
			     201));
}

/* --- finalize -------------------------------------------------------------------- */

static void serve_finalize(struct ks_req *q)
{
	const json_t *live = ks_get(&q->k, q->kind, q->ns, q->name);
	json_t *next = NULL;

	if (!live) {
		ks_not_found(q);
		return;
	}
	next = json_own(q->a, json_deep_copy(live));
	json_drop(next, "spec.finalizers");
	if (json_len_at(q->body, "spec.finalizers") > 0)
		json_put(next, "spec.finalizers",
			 json_deep_copy(json_at(q->body, "spec.finalizers")));
	ks_answer(q, 200, ks_store(q, live, json_incref(next)));
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
	{"/namespaces", "finalize", "PUT", serve_finalize},
};

static bool method_allowed(struct ks_req *q, const char *methods)
{
	if (strstr(methods, q->raw->method))
		return true;
	return ks_no_such_method(q);
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
	/* Of a custom resource any path below it is that of an object. */
	return q->kind->schema ? ks_not_found(q) : ks_no_such_resource(q);
}
