#include <stdio.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

/*
 * FieldsV1: {"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image":
 * {}}}}}. An empty object is a leaf that is in the set; "." says that the item itself is.
 */

static const char *const not_owned[] = {"name",
					"namespace",
					"uid",
					"resourceVersion",
					"generation",
					"managedFields",
					"creationTimestamp",
					"selfLink",
					"deletionTimestamp"};

static bool is_owned(const struct ks_typed *parent, const char *member)
{
	if (!parent->field)
		return !streq(member, "apiVersion") && !streq(member, "kind");
	if (!streq(parent->field, "metadata") || parent->parent)
		return true;
	for (size_t i = 0; i < sizeof(not_owned) / sizeof(not_owned[0]); i++) {
		if (streq(member, not_owned[i]))
			return false;
	}
	return true;
}

static const char *item_name(struct arena *a, const json_t *item, const char *const *keys)
{
	json_t *k = NULL;

	if (!keys) /* sets hold strings */
		return arena_printf(a, "v:\"%s\"",
				    json_is_string(item) ? json_string_value(item) : "");
	k = json_new_object(a);
	for (; *keys; keys++) {
		json_t *v = json_object_get(item, *keys);

		if (v)
			json_object_set(k, *keys, v);
		else if (streq(*keys, "protocol"))
			json_object_set_new(k, *keys, json_string("TCP"));
	}
	return arena_printf(a, "k:%s", json_text(a, k));
}

/*
 * Of an update, fields that are new are in the set besides what is in them ("."), but
 * for those that an object of the kind always has, as its Go type has them. Of an
 * apply only leaves and items are.
 */
struct walk {
	struct arena *a;
	bool update;
};

static const char *const always[][2] = {
	{NULL, "metadata"},
	{NULL, "spec"},
	{NULL, "status"},
	{"spec", "template"},
	{"template", "spec"},
	{"template", "metadata"},
	{"spec", "containers"},
	{"spec", "strategy"},
	{"spec", "updateStrategy"},
	{"spec", "jobTemplate"},
	{"jobTemplate", "spec"},
	{"jobTemplate", "metadata"},
	{"spec", "names"},
	{"spec", "versions"},
	{NULL, "roleRef"},
	{"status", "loadBalancer"},
	{NULL, "involvedObject"},
	{NULL, "source"},
	{"status", "acceptedNames"},
	{"status", "daemonEndpoints"},
	{"status", "nodeInfo"},
	{"spec", "resources"},
};

static bool is_always(const struct ks_typed *t)
{
	if (t->kind->schema)
		return !t->parent && streq(t->field, "metadata");
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		if (streq(always[i][1], t->field) &&
		    (always[i][0] ? streq(always[i][0], t->parent) : !t->parent))
			return true;
	}
	return false;
}

/* Leaves of `now` that differ from `was`; with was NULL all of them. fresh: what it is
 * in was not there either. */
static json_t *changed(const struct walk *w, const struct ks_typed *t, const json_t *was,
		       const json_t *now, bool fresh);

static void changed_members(const struct walk *w, const struct ks_typed *t,
			    const json_t *was, const json_t *now, json_t *set, bool fresh)
{
	const char *name = NULL;
	const json_t *value = NULL;

	json_object_foreach((json_t *)(uintptr_t)now, name, value) {
		const struct ks_typed c = ks_typed_child(t, name);
		json_t *sub = NULL;

		if (!is_owned(t, name))
			continue;
		sub = changed(w, &c, json_object_get(was, name), value, fresh);
		if (sub && !w->update && json_object_size(sub) > 0 &&
		    ks_is_undeclared(t, name))
			json_object_set_new(sub, ".", json_object());
		if (sub)
			json_object_set_new(set, arena_printf(w->a, "f:%s", name), sub);
	}
}

static void changed_items(const struct walk *w, const struct ks_typed *t,
			  const json_t *was, const json_t *now, const char *const *keys,
			  json_t *set)
{
	const struct ks_typed c = ks_typed_item(t);
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(now, i, item) {
		const int at = json_is_array(was) ? ks_item_find(was, item, keys) : -1;
		const json_t *old = at >= 0 ? json_array_get(was, (size_t)at) : NULL;
		json_t *sub = NULL;

		if (!keys) {
			if (!old)
				json_object_set_new(set, item_name(w->a, item, NULL),
						    json_object());
			continue;
		}
		if (ks_item_is_atomic(t)) {
			if (!old || !json_equal(old, item))
				json_object_set_new(set, item_name(w->a, item, keys),
						    json_object());
			continue;
		}
		sub = json_object();
		changed_members(w, &c, old, item, sub, old == NULL);
		if (!old)
			json_object_set_new(sub, ".", json_object());
		if (json_object_size(sub) > 0)
			json_object_set_new(set, item_name(w->a, item, keys), sub);
		else
			json_decref(sub);
	}
}

static json_t *changed(const struct walk *w, const struct ks_typed *t, const json_t *was,
		       const json_t *now, bool fresh)
{
	const char *const *keys = NULL;
	const enum ks_merge merge = ks_merge_of(t, now, &keys);
	const bool born = !was && (fresh || !is_always(t));
	json_t *set = NULL;

	if (merge == KS_ATOMIC)
		return was && json_equal(was, now) ? NULL : json_object();
	if (json_is_object(now) && json_object_size(now) == 0)
		return (was && json_is_object(was)) || (w->update && !born)
			       ? NULL
			       : json_object();
	if (json_is_array(now) && json_array_size(now) == 0)
		return was && json_is_array(was) ? NULL : json_object();
	set = json_object();
	if (merge == KS_GRANULAR)
		changed_members(w, t, was, now, set, born);
	else
		changed_items(w, t, was, now, keys, set);
	if (w->update && born)
		json_object_set_new(set, ".", json_object());
	if (json_object_size(set) > 0)
		return set;
	json_decref(set);
	return NULL;
}

json_t *ks_fields_changed(struct arena *a, const struct ks_kind *kind, const json_t *was,
			  const json_t *now)
{
	const struct ks_typed root = ks_typed_root(kind);
	const struct walk w = {a, true};
	json_t *set = json_new_object(a);

	changed_members(&w, &root, was, now, set, false);
	return set;
}

json_t *ks_fields_of(struct arena *a, const struct ks_kind *kind, const json_t *obj)
{
	const struct ks_typed root = ks_typed_root(kind);
	const struct walk w = {a, false};
	json_t *set = json_new_object(a);

	changed_members(&w, &root, NULL, obj, set, false);
	return set;
}

static bool is_leaf(const json_t *node)
{
	return json_object_size(node) == 0;
}

/* --- removal ------------------------------------------------------------------ */

static void remove_members(const struct ks_typed *t, json_t *obj, const json_t *set);

static void remove_items(const struct ks_typed *t, json_t *list, const json_t *set,
			 const char *const *keys)
{
	const struct ks_typed c = ks_typed_item(t);
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = json_array_size(list); i > 0; i--) {
		json_t *item = json_array_get(list, i - 1);
		const json_t *sub = json_object_get(set, item_name(&a, item, keys));

		if (!sub)
			continue;
		if (!keys || json_object_get(sub, ".") || is_leaf(sub))
			json_array_remove(list, i - 1);
		else
			remove_members(&c, item, sub);
	}
	arena_free(&a);
}

static void remove_members(const struct ks_typed *t, json_t *obj, const json_t *set)
{
	const char *name = NULL;
	const json_t *sub = NULL;

	json_object_foreach((json_t *)(uintptr_t)set, name, sub) {
		const char *const *keys = NULL;
		json_t *value =
			str_starts(name, "f:") ? json_object_get(obj, name + 2) : NULL;
		struct ks_typed c;

		if (!value)
			continue;
		if (is_leaf(sub)) {
			json_object_del(obj, name + 2);
			continue;
		}
		c = ks_typed_child(t, name + 2);
		if (json_is_array(value)) {
			ks_merge_of(&c, value, &keys);
			remove_items(&c, value, sub, keys);
		} else {
			remove_members(&c, value, sub);
		}
		/* A container that only held what is gone goes too. */
		if ((json_is_array(value) && json_array_size(value) == 0) ||
		    (json_is_object(value) && json_object_size(value) == 0))
			json_object_del(obj, name + 2);
	}
}

void ks_fields_remove(const struct ks_kind *kind, json_t *obj, const json_t *set)
{
	const struct ks_typed root = ks_typed_root(kind);

	remove_members(&root, obj, set);
}
