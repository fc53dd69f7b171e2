#include <inttypes.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

/* Tables for kubectl get: name, columns of the kind, age. */

static const char *age(struct ks *k, struct arena *a, const json_t *obj)
{
	int64_t since = 0;
	int64_t s = 0;

	if (!time_parse_rfc3339(json_str_or(obj, "metadata.creationTimestamp", ""),
				&since))
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

static const char *special(struct arena *a, const json_t *obj, const char *what)
{
	if (streq(what, "@ready"))
		return pod_ready(a, obj);
	if (streq(what, "@podstatus"))
		return pod_status(obj);
	if (streq(what, "@nodestatus"))
		return node_status(a, obj);
	if (streq(what, "@replicas"))
		return of_two(a, obj, "status.readyReplicas", "spec.replicas");
	if (streq(what, "@completions"))
		return of_two(a, obj, "status.succeeded", "spec.completions");
	if (streq(what, "@jobstatus"))
		return json_find(json_at(obj, "status.conditions"), "type", "Complete")
			       ? "Complete"
		       : json_find(json_at(obj, "status.conditions"), "type", "Failed")
			       ? "Failed"
			       : "Running";
	if (streq(what, "@claim"))
		return json_str_at(obj, "spec.claimRef.name")
			       ? arena_printf(
					 a, "%s/%s",
					 json_str_or(obj, "spec.claimRef.namespace", ""),
					 json_str_at(obj, "spec.claimRef.name"))
			       : "";
	return arena_printf(a, "%zu", json_object_size(json_at(obj, "data")));
}

struct column {
	const char *name, *path; /* "@…": special() */
};

#define COLUMNS(...) ((const struct column[]){__VA_ARGS__, {NULL, NULL}})

static const struct {
	const char *resource;
	const struct column *columns;
} tables[] = {
	{"/pods", COLUMNS({"Ready", "@ready"}, {"Status", "@podstatus"},
			  {"Node", "spec.nodeName"})},
	{"/nodes", COLUMNS({"Status", "@nodestatus"},
			   {"Version", "status.nodeInfo.kubeletVersion"})},
	{"/namespaces", COLUMNS({"Status", "status.phase"})},
	{"/services", COLUMNS({"Type", "spec.type"}, {"Cluster-IP", "spec.clusterIP"})},
	{"/configmaps", COLUMNS({"Data", "@data"})},
	{"/secrets", COLUMNS({"Type", "type"}, {"Data", "@data"})},
	{"/events", COLUMNS({"Type", "type"}, {"Reason", "reason"},
			    {"Object", "involvedObject.name"}, {"Message", "message"})},
	{"/persistentvolumes",
	 COLUMNS({"Capacity", "spec.capacity.storage"}, {"Status", "status.phase"},
		 {"Claim", "@claim"}, {"StorageClass", "spec.storageClassName"})},
	{"/persistentvolumeclaims",
	 COLUMNS({"Status", "status.phase"}, {"Volume", "spec.volumeName"},
		 {"StorageClass", "spec.storageClassName"})},
	{"apps/deployments",
	 COLUMNS({"Ready", "@replicas"}, {"Up-to-date", "status.updatedReplicas"},
		 {"Available", "status.availableReplicas"})},
	{"apps/replicasets",
	 COLUMNS({"Desired", "spec.replicas"}, {"Ready", "status.readyReplicas"})},
	{"apps/statefulsets", COLUMNS({"Ready", "@replicas"})},
	{"apps/daemonsets", COLUMNS({"Desired", "status.desiredNumberScheduled"},
				    {"Ready", "status.numberReady"})},
	{"batch/jobs",
	 COLUMNS({"Status", "@jobstatus"}, {"Completions", "@completions"})},
	{"storage.k8s.io/storageclasses", COLUMNS({"Provisioner", "provisioner"})},
};

static const struct column *columns_of(struct arena *a, const struct ks_kind *kind)
{
	const char *resource = ks_resource(a, kind);
	struct column *own = NULL;
	const json_t *c = NULL;
	size_t i = 0;

	for (; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (streq(tables[i].resource, resource))
			return tables[i].columns;
	}
	own = arena_array(a, struct column, json_array_size(kind->columns) + 1);
	json_array_foreach(kind->columns, i, c) {
		const char *path = json_str_or(c, "jsonPath", ".");

		own[i] = (struct column){json_str_or(c, "name", "?"),
					 path[0] == '.' ? path + 1 : path};
	}
	return own;
}

static json_t *cell(struct arena *a, const json_t *obj, const char *path)
{
	json_t *v = NULL;

	if (path[0] == '@')
		return json_string(special(a, obj, path));
	v = json_at(obj, path);
	if (!v)
		return json_string("");
	return json_is_object(v) || json_is_array(v) ? json_string(json_text(a, v))
						     : json_incref(v);
}

static json_t *row(struct ks *k, struct arena *a, const struct column *columns,
		   json_t *obj)
{
	json_t *cells = json_array();
	json_t *meta = ks_metadata_only(a, obj);

	json_array_append(cells, json_at(obj, "metadata.name"));
	for (const struct column *c = columns; c->name; c++)
		json_array_append_new(cells, cell(a, obj, c->path));
	json_array_append_new(cells, json_string(age(k, a, obj)));
	return json_pack("{s:o,s:O}", "cells", cells, "object", meta);
}

static void define(json_t *list, const char *name, const char *format)
{
	json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s,s:i}", "name", name,
					      "type", "string", "format", format,
					      "description", name, "priority", 0));
}

json_t *ks_table(struct ks *k, struct arena *a, const struct ks_kind *kind,
		 const json_t *items, const json_t *list_meta)
{
	const struct column *columns = columns_of(a, kind);
	json_t *defs = json_array();
	json_t *rows = json_array();
	json_t *meta = json_object();
	json_t *obj = NULL;
	size_t i = 0;

	define(defs, "Name", "name");
	for (const struct column *c = columns; c->name; c++)
		define(defs, c->name, "");
	define(defs, "Age", "");
	json_array_foreach(items, i, obj) {
		json_array_append_new(rows, row(k, a, columns, obj));
	}
	if (json_at(list_meta, "resourceVersion"))
		json_object_set(meta, "resourceVersion",
				json_at(list_meta, "resourceVersion"));
	if (json_at(list_meta, "continue"))
		json_object_set(meta, "continue", json_at(list_meta, "continue"));
	return json_packf(a, "{s:s,s:s,s:o,s:o,s:o}", "kind", "Table", "apiVersion",
			  "meta.k8s.io/v1", "metadata", meta, "columnDefinitions", defs,
			  "rows", rows);
}
