#include <string.h>

#include "tests/cloud/kube/server.h"

static json_t *verbs(const struct ks_kind *kind)
{
	if (kind->has & KS_NO_STORE)
		return json_pack("[s]", "create");
	if (streq(kind->kind, "Namespace"))
		return json_pack("[s,s,s,s,s,s,s]", "create", "delete", "get", "list",
				 "patch", "update", "watch");
	/* In the order of each of the two servers. */
	if (kind->schema)
		return json_pack("[s,s,s,s,s,s,s,s]", "delete", "deletecollection", "get",
				 "list", "patch", "create", "update", "watch");
	return json_pack("[s,s,s,s,s,s,s,s]", "create", "delete", "deletecollection",
			 "get", "list", "patch", "update", "watch");
}

static bool in_all(const struct ks_kind *kind)
{
	return (!*kind->group &&
		(streq(kind->plural, "pods") || streq(kind->plural, "services") ||
		 streq(kind->plural, "replicationcontrollers"))) ||
	       (streq(kind->group, "apps") &&
		!streq(kind->plural, "controllerrevisions")) ||
	       streq(kind->group, "batch") || streq(kind->group, "autoscaling");
}

static json_t *names(const char *comma_separated)
{
	json_t *list = json_array();
	struct str rest = str_of(comma_separated);

	while (rest.p && rest.n > 0) {
		const struct str piece = str_cut(&rest, ',');

		json_array_append_new(list, json_stringn(piece.p, piece.n));
	}
	return list;
}

/* What is below a resource, besides its status and its scale. */
static const struct {
	const char *resource, *sub, *group, *version, *kind, *verb;
} below[] = {
	{"/pods", "log", "", "", "Pod", "get"},
	{"/pods", "eviction", "policy", "v1", "Eviction", "create"},
	{"/pods", "binding", "", "", "Binding", "create"},
	{"/namespaces", "finalize", "", "", "Namespace", "update"},
	{"/serviceaccounts", "token", "authentication.k8s.io", "v1", "TokenRequest",
	 "create"},
};

static json_t *sub_resource(struct arena *a, const struct ks_kind *kind, const char *sub,
			    const char *sub_kind, json_t *sub_verbs)
{
	return json_pack("{s:s,s:s,s:b,s:s,s:o}", "name",
			 arena_printf(a, "%s/%s", kind->plural, sub), "singularName", "",
			 "namespaced", kind->namespaced, "kind", sub_kind, "verbs",
			 sub_verbs);
}

static void set_group(json_t *r, const char *group, const char *version)
{
	json_object_set_new(r, "group", json_string(group));
	json_object_set_new(r, "version", json_string(version));
}

static void add_below(struct arena *a, json_t *list, const struct ks_kind *kind)
{
	const char *resource = ks_resource(a, kind);
	json_t *r = NULL;

	if (kind->has & KS_STATUS)
		json_array_append_new(list, sub_resource(a, kind, "status", kind->kind,
							 json_pack("[s,s,s]", "get",
								   "patch", "update")));
	if (kind->has & KS_SCALE) {
		r = sub_resource(a, kind, "scale", "Scale",
				 json_pack("[s,s,s]", "get", "patch", "update"));
		set_group(r, "autoscaling", "v1");
		json_array_append_new(list, r);
	}
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		if (!streq(below[i].resource, resource))
			continue;
		r = sub_resource(a, kind, below[i].sub, below[i].kind,
				 json_pack("[s]", below[i].verb));
		if (*below[i].version)
			set_group(r, below[i].group, below[i].version);
		json_array_append_new(list, r);
	}
}

static void add_resources(struct arena *a, json_t *list, const struct ks_kind *kind)
{
	json_t *r = json_pack("{s:s,s:s,s:b,s:s,s:o}", "name", kind->plural,
			      "singularName", kind->singular, "namespaced",
			      kind->namespaced, "kind", kind->kind, "verbs", verbs(kind));

	if (*kind->short_names)
		json_object_set_new(r, "shortNames", names(kind->short_names));
	if (in_all(kind))
		json_object_set_new(r, "categories", json_pack("[s]", "all"));
	if (!(kind->has & KS_NO_STORE))
		json_object_set_new(r, "storageVersionHash", json_string("AAAAAAAAAAA="));
	json_array_append_new(list, r);
	add_below(a, list, kind);
}

static json_t *api_group_list(struct ks_req *q);

static bool resource_list(struct ks_req *q, const char *group, const char *version)
{
	json_t *groups = json_own(q->a, api_group_list(q));
	size_t n = 0;
	const struct ks_kind *v = ks_kinds_served(&q->k, q->a, &n);
	json_t *list = json_new_list(q->a);

	for (size_t i = 0; i < n; i++) {
		if (streq(v[i].group, group) && streq(v[i].version, version))
			add_resources(q->a, list, &v[i]);
	}
	if (json_array_size(list) == 0 && json_find(groups, "name", group))
		return ks_no_such_resource(q);
	if (json_array_size(list) == 0)
		return ks_answer_text(q, 404, "text/plain; charset=utf-8",
				      "404 page not found\n");
	return ks_answer(
		q, 200,
		json_packf(q->a, "{s:s,s:s,s:s,s:O}", "kind", "APIResourceList",
			   "apiVersion", "v1", "groupVersion",
			   *group ? arena_printf(q->a, "%s/%s", group, version) : version,
			   "resources", list));
}

static json_t *group_entry(struct arena *a, json_t *groups, const char *name)
{
	json_t *g = json_find(groups, "name", name);

	(void)a;
	if (g)
		return g;
	g = json_pack("{s:s,s:[]}", "name", name, "versions");
	json_array_append_new(groups, g);
	return g;
}

static void add_version(struct ks_req *q, json_t *groups, const char *group,
			const char *version)
{
	const char *gv = arena_printf(q->a, "%s/%s", group, version);
	json_t *g = group_entry(q->a, groups, group);

	if (json_find(json_at(g, "versions"), "version", version))
		return;
	json_push(json_at(g, "versions"),
		  json_pack("{s:s,s:s}", "groupVersion", gv, "version", version));
	if (!json_at(g, "preferredVersion"))
		json_put(g, "preferredVersion",
			 json_pack("{s:s,s:s}", "groupVersion", gv, "version", version));
}

/* Those of other servers are listed whether they answer or not. */
static json_t *api_group_list(struct ks_req *q)
{
	size_t n = 0;
	const struct ks_kind *v = ks_kinds_served(&q->k, q->a, &n);
	json_t *others = ks_api_services(&q->k, q->a);
	json_t *groups = json_array();
	const json_t *o = NULL;
	size_t i = 0;

	for (i = 0; i < n; i++) {
		if (*v[i].group)
			add_version(q, groups, v[i].group, v[i].version);
	}
	json_array_foreach(others, i, o) {
		add_version(q, groups, json_str_or(o, "spec.group", ""),
			    json_str_or(o, "spec.version", ""));
	}
	return groups;
}

/* --- aggregated discovery, apidiscovery.k8s.io/v2 ------------------------ */

static json_t *aggregated_subs(struct arena *a, const struct ks_kind *kind)
{
	json_t *flat = json_array();
	json_t *subs = json_array();
	const json_t *r = NULL;
	size_t i = 0;

	add_below(a, flat, kind);
	json_array_foreach(flat, i, r) {
		const char *slash = strchr(json_str_or(r, "name", "/"), '/');

		json_array_append_new(subs,
				      json_pack("{s:s,s:{s:s,s:s,s:s},s:O}",
						"subresource", slash + 1, "responseKind",
						"group", json_str_or(r, "group", ""),
						"version", json_str_or(r, "version", ""),
						"kind", json_str_or(r, "kind", ""),
						"verbs", json_at(r, "verbs")));
	}
	json_decref(flat);
	return subs;
}

/* Group and version of a built-in kind are those of the list it stands in. */
static json_t *aggregated_resource(struct arena *a, const struct ks_kind *kind)
{
	json_t *subs = aggregated_subs(a, kind);
	json_t *r = json_pack("{s:s,s:{s:s,s:s,s:s},s:s,s:s,s:o}", "resource",
			      kind->plural, "responseKind", "group",
			      kind->schema ? kind->group : "", "version",
			      kind->schema ? kind->version : "", "kind", kind->kind,
			      "scope", kind->namespaced ? "Namespaced" : "Cluster",
			      "singularResource", kind->singular, "verbs", verbs(kind));

	if (*kind->short_names)
		json_object_set_new(r, "shortNames", names(kind->short_names));
	if (json_array_size(subs) > 0)
		json_object_set(r, "subresources", subs);
	json_decref(subs);
	if (in_all(kind))
		json_object_set_new(r, "categories", json_pack("[s]", "all"));
	return r;
}

static void add_others(struct ks_req *q, json_t *groups)
{
	json_t *others = ks_api_services(&q->k, q->a), *o = NULL;
	size_t i = 0;

	json_array_foreach(others, i, o) {
		json_push(json_at(group_entry(q->a, groups,
					      json_str_or(o, "spec.group", "")),
				  "versions"),
			  json_pack("{s:s,s:s}", "version",
				    json_str_or(o, "spec.version", ""), "freshness",
				    ks_api_available(o) ? "Current" : "Stale"));
	}
}

static bool aggregated(struct ks_req *q, bool core)
{
	size_t n = 0;
	const struct ks_kind *v = ks_kinds_served(&q->k, q->a, &n);
	json_t *groups = json_new_list(q->a);
	json_t *items = json_new_list(q->a);
	json_t *g = NULL;
	size_t i = 0;

	for (i = 0; i < n; i++) {
		json_t *version = NULL;

		if ((*v[i].group == '\0') != core)
			continue;
		g = group_entry(q->a, groups, v[i].group);
		version = json_find(json_at(g, "versions"), "version", v[i].version);
		if (!version) {
			version = json_pack("{s:s,s:[],s:s}", "version", v[i].version,
					    "resources", "freshness", "Current");
			json_push(json_at(g, "versions"), version);
		}
		json_push(json_at(version, "resources"),
			  aggregated_resource(q->a, &v[i]));
	}
	if (!core)
		add_others(q, groups);
	json_array_foreach(groups, i, g) {
		json_t *meta = *json_str_or(g, "name", "")
				       ? json_pack("{s:O}", "name", json_at(g, "name"))
				       : json_object();

		json_push(items, json_pack("{s:o,s:O}", "metadata", meta, "versions",
					   json_at(g, "versions")));
	}
	ks_answer_text(
		q, 200,
		"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
		json_text(q->a, json_packf(q->a, "{s:s,s:s,s:{},s:O}", "kind",
					   "APIGroupDiscoveryList", "apiVersion",
					   "apidiscovery.k8s.io/v2", "metadata", "items",
					   items)));
	return false;
}

static bool wants_aggregated(struct ks_req *q)
{
	const char *accept = ks_header(q, "accept");

	return accept && strstr(accept, "v=v2;") &&
	       strstr(accept, "as=APIGroupDiscoveryList");
}

static void serve_group(struct ks_req *q, const char *name)
{
	json_t *groups = json_own(q->a, api_group_list(q));
	json_t *g = json_find(groups, "name", name);

	if (!g) {
		ks_answer_text(q, 404, "text/plain; charset=utf-8",
			       "404 page not found\n");
		return;
	}
	json_put_str(g, "kind", "APIGroup");
	json_put_str(g, "apiVersion", "v1");
	ks_answer(q, 200, g);
}

static void serve_roots(struct ks_req *q, bool core)
{
	if (wants_aggregated(q))
		aggregated(q, core);
	else if (core)
		ks_answer(q, 200,
			  json_packf(q->a, "{s:s,s:[s],s:[{s:s,s:s}]}", "kind",
				     "APIVersions", "versions", "v1",
				     "serverAddressByClientCIDRs", "clientCIDR",
				     "0.0.0.0/0", "serverAddress", "10.0.0.1:443"));
	else
		ks_answer(q, 200,
			  json_packf(q->a, "{s:s,s:s,s:o}", "kind", "APIGroupList",
				     "apiVersion", "v1", "groups", api_group_list(q)));
}

bool ks_discover(struct ks_req *q)
{
	struct str rest = str_of(q->path);
	struct str part[5] = {0};
	size_t n = 0;

	while (rest.p && n < 5) {
		const struct str piece = str_cut(&rest, '/');

		if (piece.n > 0)
			part[n++] = piece;
	}
	if (n == 0 || !(str_is(part[0], "api") || str_is(part[0], "apis")))
		return false;
	if (n > (str_is(part[0], "api") ? 2u : 3u))
		return false;
	if (!ks_authorize(q))
		return true;
	if (n == 1)
		serve_roots(q, str_is(part[0], "api"));
	else if (str_is(part[0], "api"))
		resource_list(q, "", str_dup(q->a, part[1]));
	else if (n == 2)
		serve_group(q, str_dup(q->a, part[1]));
	else
		resource_list(q, str_dup(q->a, part[1]), str_dup(q->a, part[2]));
	return true;
}
