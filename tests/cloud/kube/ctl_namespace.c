/*
 * Namespaces: what a new one has, and how one ends. The conditions are those that the
 * namespace controller writes while it deletes:
 * https://github.com/kubernetes/kubernetes/tree/master/pkg/controller/namespace/deletion
 */
#include <string.h>

#include "tests/cloud/kube/server.h"

static void add_default(struct ks *k, const char *resource, const char *kind,
			const char *ns, const char *name)
{
	json_t *obj = NULL;

	if (ks_at(k, resource, ns, name))
		return;
	obj = json_pack("{s:s,s:s,s:{s:s,s:s}}", "apiVersion", "v1", "kind", kind,
			"metadata", "name", name, "namespace", ns);
	if (streq(kind, "ConfigMap")) {
		json_put(
			obj, "metadata.annotations",
			json_pack(
				"{s:s}", "kubernetes.io/description",
				"Contains a CA bundle that can be used to verify the "
				"kube-apiserver when using internal endpoints such as the "
				"internal service IP or kubernetes.default.svc."));
		json_put(obj, "data",
			 json_pack("{s:s}", "ca.crt",
				   cloud_opts(k->cloud)->kube_ca_pem
					   ? cloud_opts(k->cloud)->kube_ca_pem
					   : ""));
	}
	ks_stamp_new(k, obj);
	ks_write(k, ks_builtin(resource), obj);
}

/* What is still there after a round of deletions. */
struct remains {
	struct arena *a;
	const char *kinds;      /* "configmaps. has 1 resource instances, …" */
	const char *finalizers; /* "x/y in 1 resource instances, …" */
	json_t *counts;         /* finalizer -> instances */
};

static void add_text(struct arena *a, const char **list, const char *item)
{
	*list = arena_printf(a, "%s%s%s", *list, **list ? ", " : "", item);
}

static void count_finalizers(struct remains *r, const json_t *obj)
{
	const json_t *f = NULL;
	size_t i = 0;

	json_array_foreach(json_at(obj, "metadata.finalizers"), i, f) {
		const char *name = json_string_value(f);

		json_object_set_new(r->counts, name,
				    json_integer(json_integer_value(json_object_get(
							 r->counts, name)) +
						 1));
	}
}

/* Deletes what is in it. */
static struct remains empty(struct ks *k, struct arena *a, const char *ns)
{
	struct remains r = {
		.a = a, .kinds = "", .finalizers = "", .counts = json_new_object(a)};
	size_t n = 0;
	const struct ks_kind *kinds = ks_kinds_served(k, a, &n);
	const char *name = NULL;
	const json_t *count = NULL;

	for (size_t i = 0; i < n; i++) {
		json_t *list = NULL;
		json_t *obj = NULL;
		size_t j = 0;
		size_t left = 0;

		if (!kinds[i].namespaced)
			continue;
		list = ks_snapshot(k, a, ks_resource(a, &kinds[i]));
		json_array_foreach(list, j, obj) {
			if (!streq(json_str_at(obj, "metadata.namespace"), ns) ||
			    ks_delete(k, &kinds[i], obj, "Background"))
				continue;
			left++;
			count_finalizers(&r, obj);
		}
		if (left > 0)
			add_text(a, &r.kinds,
				 arena_printf(a, "%s.%s has %zu resource instances",
					      kinds[i].plural, kinds[i].group, left));
	}
	json_object_foreach(r.counts, name, count) {
		add_text(a, &r.finalizers,
			 arena_printf(a, "%s in %lld resource instances", name,
				      json_integer_value(count)));
	}
	return r;
}

static void tell(struct ks *k, const json_t *ns, const struct remains *r,
		 const char *stale)
{
	const struct {
		const char *type, *found, *reason, *bad_reason, *good, *bad;
	} rows[] = {
		{"NamespaceDeletionDiscoveryFailure", stale, "ResourcesDiscovered",
		 "DiscoveryFailed", "All resources successfully discovered",
		 arena_printf(r->a,
			      "Discovery failed for some groups, %s: unable to retrieve "
			      "the complete list of server APIs: %s",
			      ks_apis_stale_count(k, r->a), stale)},
		{"NamespaceDeletionGroupVersionParsingFailure", "", "ParsedGroupVersions",
		 "", "All legacy kube types successfully parsed", ""},
		{"NamespaceDeletionContentFailure", "", "ContentDeleted", "",
		 "All content successfully deleted, may be waiting on finalization", ""},
		{"NamespaceContentRemaining", r->kinds, "ContentRemoved",
		 "SomeResourcesRemain", "All content successfully removed",
		 arena_printf(r->a, "Some resources are remaining: %s", r->kinds)},
		{"NamespaceFinalizersRemaining", r->finalizers, "ContentHasNoFinalizers",
		 "SomeFinalizersRemain", "All content-preserving finalizers finished",
		 arena_printf(r->a,
			      "Some content in the namespace has finalizers remaining: "
			      "%s",
			      r->finalizers)},
	};
	json_t *next = json_deep_copy(ns);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const bool bad = *rows[i].found;

		ks_set_condition(next, k->now_ms, rows[i].type, bad ? "True" : "False",
				 bad ? rows[i].bad_reason : rows[i].reason,
				 bad ? rows[i].bad : rows[i].good);
	}
	ks_update_if_changed(k, ks_builtin("/namespaces"), ns, next);
}

static void end(struct ks *k, struct arena *a, const json_t *ns)
{
	const char *name = json_str_or(ns, "metadata.name", "");
	const struct remains r = empty(k, a, name);
	const char *stale = ks_apis_stale(k, a);

	if (*r.kinds || *stale)
		tell(k, ns, &r, stale);
	else if (json_len_at(ns, "metadata.finalizers") == 0)
		ks_erase(k, ks_builtin("/namespaces"), NULL, name);
}

void ks_run_namespaces(struct ks *k)
{
	struct arena a;
	json_t *ns = NULL;
	size_t i = 0;
	json_t *list = NULL;

	arena_init(&a, 0);
	list = ks_snapshot(k, &a, "/namespaces");
	json_array_foreach(list, i, ns) {
		const char *name = json_str_or(ns, "metadata.name", "");

		if (json_str_at(ns, "metadata.deletionTimestamp")) {
			end(k, &a, ns);
			continue;
		}
		add_default(k, "/serviceaccounts", "ServiceAccount", name, "default");
		add_default(k, "/configmaps", "ConfigMap", name, "kube-root-ca.crt");
	}
	arena_free(&a);
}
