#include <string.h>

#include "tests/cloud/kube/server.h"

/* https://github.com/kubernetes-sigs/structured-merge-diff merge/update.go */

static bool is_entry(const json_t *entry, const char *manager, const char *operation,
		     const char *sub)
{
	return streq(json_str_at(entry, "manager"), manager) &&
	       streq(json_str_at(entry, "operation"), operation) &&
	       streq(json_str_or(entry, "subresource", ""), sub ? sub : "");
}

static json_t *entry_of(const json_t *obj, const char *manager, const char *operation,
			const char *sub)
{
	json_t *entry = NULL;
	size_t i = 0;

	json_array_foreach(json_at(obj, "metadata.managedFields"), i, entry) {
		if (is_entry(entry, manager, operation, sub))
			return entry;
	}
	return NULL;
}

static const char *sub_of(const struct ks_req *q)
{
	return q->sub && streq(q->sub, "scale") ? "scale" : q->sub;
}

/* Sets or, with an empty set, removes the manager's entry. */
static void put_entry(struct ks_req *q, json_t *obj, const char *operation, json_t *set)
{
	char when[TIME_TEXT];
	json_t *list = json_at(obj, "metadata.managedFields");
	json_t *entry = NULL;
	size_t i = 0;

	if (!list) {
		json_put(obj, "metadata.managedFields", json_array());
		list = json_at(obj, "metadata.managedFields");
	}
	json_array_foreach(list, i, entry) {
		if (is_entry(entry, q->manager, operation, sub_of(q)))
			break;
	}
	if (json_object_size(set) == 0) {
		if (i < json_array_size(list))
			json_array_remove(list, i);
		return;
	}
	if (i < json_array_size(list) && json_equal(json_at(entry, "fieldsV1"), set))
		return;
	entry = json_pack("{s:s,s:s,s:s,s:s,s:s,s:O}", "manager", q->manager, "operation",
			  operation, "apiVersion", ks_api_version(q->a, q->kind), "time",
			  ks_time(q->k.now_ms, when), "fieldsType", "FieldsV1",
			  "fieldsV1", set);
	if (sub_of(q))
		json_put_str(entry, "subresource", sub_of(q));
	if (i < json_array_size(list))
		json_array_set_new(list, i, entry);
	else
		json_array_append_new(list, entry);
}

/* Takes the set away from every manager but ours. */
static void take_from_others(struct ks_req *q, json_t *obj, const char *operation,
			     const json_t *set)
{
	json_t *list = json_at(obj, "metadata.managedFields");

	for (size_t i = json_array_size(list); i > 0; i--) {
		json_t *entry = json_array_get(list, i - 1);
		json_t *rest = NULL;

		if (is_entry(entry, q->manager, operation, sub_of(q)))
			continue;
		rest = ks_fields_minus(json_at(entry, "fieldsV1"), set);
		if (json_object_size(rest) == 0) {
			json_array_remove(list, i - 1);
			json_decref(rest);
		} else {
			json_object_set_new(entry, "fieldsV1", rest);
		}
	}
}

/* What was there and is there no longer, with all that it was in. */
static json_t *gone(struct ks_req *q, const json_t *was, const json_t *now)
{
	return ks_fields_changed(q->a, q->kind, now, was);
}

/* Who only lost something in the end has not changed what is left. */
static json_t *lost_of(struct ks_req *q, const json_t *live, const json_t *obj,
		       const json_t *changed)
{
	if (!live)
		return json_new_object(q->a);
	return json_own(q->a, ks_fields_minus(gone(q, live, obj), changed));
}

static bool is_reset(const json_t *given)
{
	return json_is_array(given) &&
	       (json_array_size(given) == 0 ||
		(json_array_size(given) == 1 &&
		 json_object_size(json_array_get(given, 0)) == 0));
}

void ks_managed_update(struct ks_req *q, const json_t *live, json_t *obj)
{
	const bool reset = live && is_reset(json_at(obj, "metadata.managedFields"));
	json_t *changed = NULL;
	json_t *lost = NULL;
	json_t *mine = NULL;
	json_t *all = NULL;

	/* Clients send back what they read, or nothing: either way it is ours to keep. */
	json_drop(obj, "metadata.managedFields");
	/* Without managers an object gets none by an update: an apply begins it. */
	if (reset || (live && json_len_at(live, "metadata.managedFields") == 0))
		return;
	if (live)
		json_put(obj, "metadata.managedFields",
			 json_deep_copy(json_at(live, "metadata.managedFields")));
	changed = ks_fields_changed(q->a, q->kind, live, obj);
	lost = lost_of(q, live, obj, changed);
	if (json_object_size(changed) == 0 && json_object_size(lost) == 0)
		return;
	mine = json_at(entry_of(obj, q->manager, "Update", sub_of(q)), "fieldsV1");
	all = json_own(q->a, ks_fields_union(mine, changed));
	all = json_own(q->a, ks_fields_minus(all, lost));
	put_entry(q, obj, "Update", all);
	take_from_others(q, obj, "Update", changed);
	take_from_others(q, obj, "Update", lost);
}

/* --- merging a configuration into an object -------------------------------- */

static json_t *merged(const struct ks_typed *t, const json_t *live, const json_t *config);

static void merge_members(const struct ks_typed *t, json_t *out, const json_t *config)
{
	const char *name = NULL;
	const json_t *value = NULL;

	json_object_foreach((json_t *)(uintptr_t)config, name, value) {
		const struct ks_typed c = ks_typed_child(t, name);

		if (json_is_null(value))
			json_object_del(out, name);
		else
			json_object_set_new(
				out, name, merged(&c, json_object_get(out, name), value));
	}
}

static json_t *merged(const struct ks_typed *t, const json_t *live, const json_t *config)
{
	const char *const *keys = NULL;
	const enum ks_merge merge = ks_merge_of(t, config, &keys);
	json_t *out = NULL;
	const json_t *item = NULL;
	size_t i = 0;

	if (merge == KS_ATOMIC || !live || json_typeof(live) != json_typeof(config)) {
		if (merge != KS_GRANULAR)
			return json_deep_copy(config);
		out = json_object();
	} else {
		out = json_deep_copy(live);
	}
	if (merge == KS_GRANULAR) {
		merge_members(t, out, config);
		return out;
	}
	json_array_foreach(config, i, item) {
		const struct ks_typed c = ks_typed_item(t);
		const int at = ks_item_find(out, item, keys);

		if (at < 0)
			json_array_append_new(out, json_deep_copy(item));
		else if (keys)
			merge_members(&c, json_array_get(out, (size_t)at), item);
	}
	return out;
}

/* --- conflicts ---------------------------------------------------------------- */

struct conflict_list {
	struct arena *a;
	const json_t *entry;
	json_t *causes;
	const char *first; /* path */
	const char *paths; /* of this manager, as lines */
};

/* "one" of an apply, "two" using v1 of an update. */
static const char *manager_text(struct arena *a, const json_t *entry)
{
	const bool applied = streq(json_str_at(entry, "operation"), "Apply");
	const char *sub = json_str_at(entry, "subresource");

	return arena_printf(a, "\"%s\"%s%s%s%s%s", json_str_or(entry, "manager", ""),
			    sub ? " with subresource \"" : "", sub ? sub : "",
			    sub ? "\"" : "", applied ? "" : " using ",
			    applied ? "" : json_str_or(entry, "apiVersion", ""));
}

static void add_conflict(void *ctx, const char *path)
{
	struct conflict_list *l = ctx;

	ks_add_cause(
		l->causes, "FieldManagerConflict", path,
		arena_printf(l->a, "conflict with %s", manager_text(l->a, l->entry)));
	l->first = l->first ? l->first : path;
	l->paths = arena_printf(l->a, "%s\n- %s", l->paths, path);
}

static bool find_conflicts(struct ks_req *q, const json_t *live, const json_t *contested)
{
	struct conflict_list l = {.a = q->a, .causes = json_new_list(q->a)};
	const char *text = "";
	const char *last = "";
	size_t i = 0;
	size_t n = 0;

	json_array_foreach(json_at(live, "metadata.managedFields"), i, l.entry) {
		json_t *both = NULL;

		if (is_entry(l.entry, q->manager, "Apply", sub_of(q)))
			continue;
		l.paths = "";
		both = json_own(
			q->a, ks_fields_common(contested, json_at(l.entry, "fieldsV1")));
		ks_fields_walk(q->a, both, add_conflict, &l);
		if (!*l.paths)
			continue;
		last = manager_text(q->a, l.entry);
		text = arena_printf(q->a, "%s%sconflicts with %s:%s", text,
				    *text ? "\n" : "", last, l.paths);
	}
	n = json_array_size(l.causes);
	if (n == 0)
		return true;
	if (n == 1)
		return ks_fail_causes(
			q, 409, "Conflict", l.causes,
			"Apply failed with 1 conflict: conflict with %s: %s", last,
			l.first);
	return ks_fail_causes(q, 409, "Conflict", l.causes,
			      "Apply failed with %zu conflicts: %s", n, text);
}

/* What we owned, no longer want, and nobody else owns. */
static json_t *abandoned(struct ks_req *q, const json_t *obj, const json_t *set)
{
	const json_t *before =
		json_at(entry_of(obj, q->manager, "Apply", sub_of(q)), "fieldsV1");
	json_t *left = json_own(q->a, ks_fields_minus(before, set));
	const json_t *entry = NULL;
	size_t i = 0;

	json_array_foreach(json_at(obj, "metadata.managedFields"), i, entry) {
		if (!is_entry(entry, q->manager, "Apply", sub_of(q)))
			left = json_own(
				q->a, ks_fields_minus(left, json_at(entry, "fieldsV1")));
	}
	return left;
}

json_t *ks_apply(struct ks_req *q, const json_t *live, const json_t *config, bool force)
{
	const struct ks_typed root = ks_typed_root(q->kind);
	json_t *set = ks_fields_of(q->a, q->kind, config);
	json_t *obj = merged(&root, live, config);
	json_t *contested = NULL;

	json_own(q->a, obj);
	contested = json_own(
		q->a, ks_fields_common(ks_fields_changed(q->a, q->kind, live, obj), set));
	if (!force && !find_conflicts(q, live, contested))
		return NULL;
	ks_fields_remove(q->kind, obj, abandoned(q, obj, set));
	put_entry(q, obj, "Apply", set);
	take_from_others(q, obj, "Apply", contested);
	return json_incref(obj);
}
