/* Custom resource definitions, owners. */
#include <string.h>

#include "tests/cloud/kube/server.h"

/* --- definitions ----------------------------------------------------------------- */

static void establish(struct ks *k, const json_t *crd)
{
	const json_t *done =
		json_find(json_at(crd, "status.conditions"), "type", "Established");
	json_t *next = NULL;
	json_t *stored = NULL;
	const json_t *v = NULL;
	size_t i = 0;

	/* Definitions are large: most rounds must not copy them. */
	if (done && json_at(crd, "status.acceptedNames") &&
	    json_equal(json_at(crd, "status.acceptedNames"), json_at(crd, "spec.names")))
		return;
	next = json_deep_copy(crd);
	stored = json_array();
	json_array_foreach(json_at(crd, "spec.versions"), i, v) {
		if (json_bool_or(v, "storage", false))
			json_array_append(stored, json_at(v, "name"));
	}
	json_put(next, "status.acceptedNames",
		 json_deep_copy(json_at(crd, "spec.names")));
	json_put(next, "status.storedVersions", stored);
	ks_set_condition(next, k->now_ms, "NamesAccepted", "True", "NoConflicts",
			 "no conflicts found");
	ks_set_condition(next, k->now_ms, "Established", "True", "InitialNamesAccepted",
			 "the initial names have been accepted");
	ks_update_if_changed(k,
			     ks_builtin("apiextensions.k8s.io/customresourcedefinitions"),
			     crd, next);
}

/* true: there are none any more. */
static bool without_objects(struct ks *k, struct arena *a, const json_t *crd)
{
	const char *plural = json_str_or(crd, "spec.names.plural", "");
	const char *group = json_str_or(crd, "spec.group", "");
	const struct ks_kind *kind = ks_kind_find(k, a, group, NULL, plural);
	json_t *list = ks_snapshot(k, a, arena_printf(a, "%s/%s", group, plural));
	size_t left = json_array_size(list);
	json_t *obj = NULL;
	size_t i = 0;

	json_array_foreach(list, i, obj) {
		if (kind)
			left -= ks_delete(k, kind, obj, "Background");
	}
	return left == 0;
}

/* Objects of a definition that is gone. */
static void sweep(struct ks *k, struct arena *a)
{
	json_t *objects = json_at(k->root, "objects");
	json_t *orphans = json_new_list(a);
	const char *resource = NULL;
	json_t *all = NULL;
	const json_t *v = NULL;
	size_t i = 0;

	json_object_foreach(objects, resource, all) {
		struct str plural = str_of(resource);
		const struct str group = str_cut(&plural, '/');

		if (ks_builtin(resource) || json_object_size(all) == 0 || !plural.p)
			continue;
		if (!ks_at(k, "apiextensions.k8s.io/customresourcedefinitions", NULL,
			   arena_printf(a, "%.*s.%.*s", (int)plural.n, plural.p,
					(int)group.n, group.p)))
			json_array_append_new(orphans, json_string(resource));
	}
	json_array_foreach(orphans, i, v) {
		json_object_del(objects, json_string_value(v));
	}
}

void ks_run_crds(struct ks *k)
{
	struct arena a;
	json_t *crd = NULL;
	json_t *list = NULL;
	size_t i = 0;

	arena_init(&a, 0);
	list = ks_snapshot(k, &a, "apiextensions.k8s.io/customresourcedefinitions");
	json_array_foreach(list, i, crd) {
		if (!json_str_at(crd, "metadata.deletionTimestamp"))
			establish(k, crd);
		else if (without_objects(k, &a, crd))
			ks_drop_finalizer(k,
					  ks_builtin("apiextensions.k8s.io/"
						     "customresourcedefinitions"),
					  crd, KS_CRD_CLEANUP);
	}
	sweep(k, &a);
	arena_free(&a);
}

/* --- owners ---------------------------------------------------------------------- */

struct entry {
	const struct ks_kind *kind;
	json_t *obj;
};

struct census {
	struct entry *v;
	size_t n;
	json_t *uids; /* uid -> null */
};

static void take_census(struct ks *k, struct arena *a, struct census *c)
{
	size_t n = 0;
	const struct ks_kind *kinds = ks_kinds_served(k, a, &n);
	size_t room = 0;
	json_t *seen = json_new_object(a);

	c->uids = json_new_object(a);
	for (size_t i = 0; i < n; i++)
		room += json_object_size(ks_all(k, ks_resource(a, &kinds[i])));
	c->v = arena_array(a, struct entry, room + 1);
	c->n = 0;
	for (size_t i = 0; i < n; i++) {
		const char *resource = ks_resource(a, &kinds[i]);
		const char *key = NULL;
		json_t *obj = NULL;

		/* Two served versions of a definition share what is stored. */
		if (json_object_get(seen, resource))
			continue;
		json_object_set_new(seen, resource, json_null());
		json_object_foreach(ks_all(k, resource), key, obj) {
			c->v[c->n++] =
				(struct entry){&kinds[i], json_own(a, json_incref(obj))};
			json_object_set_new(c->uids,
					    json_str_or(obj, "metadata.uid", "?"),
					    json_null());
		}
	}
}

static bool has_finalizer(const json_t *obj, const char *name)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(json_at(obj, "metadata.finalizers"), i, v) {
		if (streq(json_string_value(v), name))
			return true;
	}
	return false;
}

static void finish_foreground(struct ks *k, const struct census *c,
			      const struct entry *owner)
{
	size_t blocking = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (!ks_owned_by(c->v[i].obj, owner->obj))
			continue;
		blocking++;
		ks_delete(k, c->v[i].kind, c->v[i].obj, "Foreground");
	}
	if (blocking == 0)
		ks_drop_finalizer(k, owner->kind, owner->obj, "foregroundDeletion");
}

static void finish_orphan(struct ks *k, const struct census *c, const struct entry *owner)
{
	for (size_t i = 0; i < c->n; i++) {
		json_t *next = NULL;
		json_t *refs = NULL;

		if (!ks_owned_by(c->v[i].obj, owner->obj))
			continue;
		next = json_deep_copy(c->v[i].obj);
		refs = json_at(next, "metadata.ownerReferences");
		for (size_t j = json_array_size(refs); j > 0; j--) {
			if (streq(json_str_at(json_array_get(refs, j - 1), "uid"),
				  json_str_at(owner->obj, "metadata.uid")))
				json_array_remove(refs, j - 1);
		}
		if (json_array_size(refs) == 0)
			json_drop(next, "metadata.ownerReferences");
		ks_write(k, c->v[i].kind, next);
	}
	ks_drop_finalizer(k, owner->kind, owner->obj, "orphan");
}

static bool owners_gone(const struct census *c, const json_t *obj)
{
	const json_t *ref = NULL;
	size_t i = 0;

	json_array_foreach(json_at(obj, "metadata.ownerReferences"), i, ref) {
		if (json_object_get(c->uids, json_str_or(ref, "uid", "?")))
			return false;
	}
	return json_len_at(obj, "metadata.ownerReferences") > 0;
}

void ks_run_garbage(struct ks *k)
{
	struct arena a;
	struct census c;

	arena_init(&a, 0);
	take_census(k, &a, &c);
	for (size_t i = 0; i < c.n; i++) {
		const struct entry *e = &c.v[i];

		if (owners_gone(&c, e->obj))
			ks_delete(k, e->kind, e->obj, "Background");
		else if (!json_str_at(e->obj, "metadata.deletionTimestamp"))
			continue;
		else if (has_finalizer(e->obj, "foregroundDeletion"))
			finish_foreground(k, &c, e);
		else if (has_finalizer(e->obj, "orphan"))
			finish_orphan(k, &c, e);
	}
	arena_free(&a);
}
