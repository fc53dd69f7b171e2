/*
 * Aggregation: APIs that another server answers, behind a service of the cluster. None is
 * played; but as long as no pod of its service runs, its group is answered with 503,
 * discovery lists it as stale, and no namespace can be deleted.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/
 */
#include <string.h>

#include "tests/cloud/kube/server.h"

static const char RESOURCE[] = "apiregistration.k8s.io/apiservices";

/* What is known of some of them, while they are served. */
static const struct {
	const char *group, *plural, *kind;
	bool namespaced;
} known[] = {
	{"metrics.k8s.io", "nodes", "NodeMetrics", false},
	{"metrics.k8s.io", "pods", "PodMetrics", true},
	{"external.metrics.k8s.io", "externalmetrics", "ExternalMetricValueList", true},
};

bool ks_api_available(const json_t *service)
{
	const json_t *c =
		json_find(json_at(service, "status.conditions"), "type", "Available");

	return streq(json_str_at(c, "status"), "True");
}

json_t *ks_api_services(struct ks *k, struct arena *a)
{
	json_t *list = json_new_list(a);
	const char *key = NULL;
	json_t *o = NULL;

	json_object_foreach(ks_all(k, RESOURCE), key, o) {
		if (json_str_at(o, "spec.service.name"))
			json_array_append(list, o);
	}
	return list;
}

const char *ks_api_version_of(struct arena *a, const json_t *service)
{
	return arena_printf(a, "%s/%s", json_str_or(service, "spec.group", ""),
			    json_str_or(service, "spec.version", ""));
}

/* --- whether they answer -------------------------------------------------------------
 */

static const char *judge(struct ks *k, struct arena *a, const json_t *o,
			 const char **ret_reason)
{
	const char *ns = json_str_or(o, "spec.service.namespace", "");
	const char *name = json_str_or(o, "spec.service.name", "");
	const int64_t port = json_int_or(o, "spec.service.port", 443);
	const json_t *service = ks_at(k, "/services", ns, name), *p = NULL, *found = NULL;
	size_t i = 0;

	*ret_reason = "ServiceNotFound";
	if (!service)
		return arena_printf(a, "service/%s in \"%s\" is not present", name, ns);
	json_array_foreach(json_at(service, "spec.ports"), i, p) {
		if (json_int_or(p, "port", 0) == port)
			found = p;
	}
	*ret_reason = "ServicePortError";
	if (!found)
		return arena_printf(a,
				    "service/%s in \"%s\" is not listening on port %lld",
				    name, ns, (long long)port);
	*ret_reason = "MissingEndpoints";
	if (ks_served_since(k, ns, service) < 0)
		return arena_printf(
			a,
			"endpointslices for service/%s in \"%s\" have no addresses "
			"with port name \"%s\"",
			name, ns, json_str_or(found, "name", ""));
	return NULL;
}

void ks_run_api_services(struct ks *k)
{
	struct arena a;
	json_t *o = NULL;
	size_t i = 0;
	json_t *list = NULL;

	arena_init(&a, 0);
	list = ks_api_services(k, &a);
	json_array_foreach(list, i, o) {
		const char *reason = NULL;
		const char *why = judge(k, &a, o, &reason);
		json_t *next = json_deep_copy(o);

		ks_set_condition(next, k->now_ms, "Available", why ? "False" : "True",
				 why ? reason : "Passed",
				 why ? why : "all checks passed");
		ks_update_if_changed(k, ks_builtin(RESOURCE), o, next);
	}
	arena_free(&a);
}

const char *ks_apis_stale(struct ks *k, struct arena *a)
{
	json_t *list = ks_api_services(k, a), *o = NULL;
	const char *text = "";
	size_t i = 0;

	json_array_foreach(list, i, o) {
		const char *gv = ks_api_version_of(a, o);

		if (!ks_api_available(o))
			text = arena_printf(a, "%s%s%s: stale GroupVersion discovery: %s",
					    text, *text ? ", " : "", gv, gv);
	}
	return text;
}

const char *ks_apis_stale_count(struct ks *k, struct arena *a)
{
	json_t *list = ks_api_services(k, a), *o = NULL;
	size_t i = 0, n = 0;

	json_array_foreach(list, i, o) {
		n += !ks_api_available(o);
	}
	return arena_printf(a, "%zu failing", n);
}

/* --- requests -------------------------------------------------------------------------
 */

static const json_t *named(struct ks_req *q, struct str group, struct str version)
{
	json_t *list = ks_api_services(&q->k, q->a), *o = NULL;
	size_t i = 0;

	json_array_foreach(list, i, o) {
		if (str_is(group, json_str_or(o, "spec.group", "")) &&
		    str_is(version, json_str_or(o, "spec.version", "")))
			return o;
	}
	return NULL;
}

static bool answer_resources(struct ks_req *q, const json_t *o)
{
	const char *group = json_str_or(o, "spec.group", "");
	json_t *list = json_new_list(q->a);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (streq(known[i].group, group))
			json_push(list,
				  json_pack("{s:s,s:s,s:b,s:s,s:[s,s]}", "name",
					    known[i].plural, "singularName", "",
					    "namespaced", known[i].namespaced, "kind",
					    known[i].kind, "verbs", "get", "list"));
	}
	return ks_answer(q, 200,
			 json_packf(q->a, "{s:s,s:s,s:s,s:O}", "kind", "APIResourceList",
				    "apiVersion", "v1", "groupVersion",
				    ks_api_version_of(q->a, o), "resources", list));
}

bool ks_aggregate(struct ks_req *q)
{
	struct str rest = str_of(q->path);
	const json_t *o = NULL;
	struct str group = {0}, version = {0};

	str_cut(&rest, '/');
	if (!rest.p || !str_is(str_cut(&rest, '/'), "apis") || !rest.p)
		return false;
	group = str_cut(&rest, '/');
	version = rest.p ? str_cut(&rest, '/') : version;
	o = version.n > 0 ? named(q, group, version) : NULL;
	if (!o)
		return false;
	if (!ks_authorize(q))
		return true;
	if (!ks_api_available(o))
		ks_answer_text(q, 503, "text/plain; charset=utf-8",
			       "service unavailable\n");
	else if (rest.n == 0)
		answer_resources(q, o);
	else
		ks_answer_text(q, 404, "text/plain; charset=utf-8",
			       "404 page not found\n");
	return true;
}
