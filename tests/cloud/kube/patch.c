#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

/* --- RFC 6902 ------------------------------------------------------------------ */

static const char *unescape_pointer(struct arena *a, struct str s)
{
	char *out = arena_alloc(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '~' && i + 1 < s.n) {
			out[n++] = s.p[i + 1] == '1' ? '/' : '~';
			i++;
		} else {
			out[n++] = s.p[i];
		}
	}
	return out;
}

static json_t *step(json_t *at, const char *name)
{
	int64_t index = 0;

	if (json_is_object(at))
		return json_object_get(at, name);
	return str_to_i64(str_of(name), &index) && index >= 0
		       ? json_array_get(at, (size_t)index)
		       : NULL;
}

/* The parent of what the pointer names; *ret_last is the last step. */
static json_t *parent_of(struct arena *a, json_t *doc, const char *pointer,
			 const char **ret_last)
{
	struct str rest = str_of(pointer);

	str_cut(&rest, '/');
	while (rest.p) {
		const char *name = unescape_pointer(a, str_cut(&rest, '/'));

		if (!rest.p) {
			*ret_last = name;
			return doc;
		}
		doc = step(doc, name);
		if (!doc)
			return NULL;
	}
	return NULL;
}

static bool add_at(json_t *parent, const char *last, const json_t *value, bool replace)
{
	int64_t index = 0;

	if (json_is_object(parent))
		return json_object_set_new(parent, last, json_deep_copy(value)) == 0;
	if (!json_is_array(parent))
		return false;
	if (streq(last, "-"))
		return json_array_append_new(parent, json_deep_copy(value)) == 0;
	if (!str_to_i64(str_of(last), &index) || index < 0)
		return false;
	if (replace)
		return json_array_set_new(parent, (size_t)index, json_deep_copy(value)) ==
		       0;
	return json_array_insert_new(parent, (size_t)index, json_deep_copy(value)) == 0;
}

static bool remove_at(json_t *parent, const char *last)
{
	int64_t index = 0;

	if (json_is_object(parent))
		return json_object_del(parent, last) == 0;
	return str_to_i64(str_of(last), &index) && index >= 0 &&
	       json_array_remove(parent, (size_t)index) == 0;
}

static bool one_operation(struct arena *a, json_t *doc, const json_t *op)
{
	const char *word = json_str_or(op, "op", "");
	const char *last = NULL;
	json_t *parent = parent_of(a, doc, json_str_or(op, "path", ""), &last);
	const json_t *value = json_object_get(op, "value");

	if (!parent)
		return false;
	if (streq(word, "add"))
		return value && add_at(parent, last, value, false);
	if (streq(word, "remove"))
		return remove_at(parent, last);
	if (streq(word, "test"))
		return value && step(parent, last) &&
		       json_equal(step(parent, last), value);
	/* Servers replace a member that there is not, too. */
	if (streq(word, "replace"))
		return value && (json_is_object(parent) || step(parent, last)) &&
		       add_at(parent, last, value, true);
	if (streq(word, "copy") || streq(word, "move")) {
		const char *from_last = NULL;
		json_t *from = parent_of(a, doc, json_str_or(op, "from", ""), &from_last);
		json_t *moved = from ? json_deep_copy(step(from, from_last)) : NULL;

		json_own(a, moved ? moved : json_null());
		return moved && (streq(word, "copy") || remove_at(from, from_last)) &&
		       add_at(parent, last, moved, false);
	}
	return false;
}

/* --- strategic merge -------------------------------------------------------------- */

static void merge_items(const struct ks_typed *t, json_t *target, const json_t *patch,
			const char *const *keys)
{
	const struct ks_typed c = ks_typed_item(t);
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(patch, i, item) {
		const char *word = json_str_at(item, "$patch");
		const int at = ks_item_find(target, item, keys);

		if (streq(word, "delete")) {
			if (at >= 0)
				json_array_remove(target, (size_t)at);
		} else if (streq(word, "replace")) {
			continue; /* the marker that emptied the list */
		} else if (at < 0) {
			json_array_append_new(target, json_deep_copy(item));
		} else if (keys) {
			ks_strategic_merge(&c, json_array_get(target, (size_t)at), item);
		}
	}
}

/* What both have keeps the order of the patch, and new items come before those that
 * only the server has: "mergeSortedSlice" of apimachinery's strategicpatch. */
static void order_items(json_t *target, const json_t *was, const json_t *patch,
			const char *const *keys)
{
	json_t *left = json_array();
	json_t *right = json_array();
	json_t *item = NULL;
	size_t i = 0;
	size_t l = 0;
	size_t r = 0;

	json_array_foreach(patch, i, item) {
		const int at = ks_item_find(target, item, keys);

		if (at >= 0 && ks_item_find(right, item, keys) < 0)
			json_array_append(right, json_array_get(target, (size_t)at));
	}
	json_array_foreach(target, i, item) {
		if (ks_item_find(right, item, keys) < 0)
			json_array_append(left, item);
	}
	json_array_clear(target);
	while (l < json_array_size(left) || r < json_array_size(right)) {
		json_t *x = json_array_get(left, l);
		json_t *y = json_array_get(right, r);
		const int at_x = x ? ks_item_find(was, x, keys) : -1;
		const int at_y = y ? ks_item_find(was, y, keys) : -1;
		const bool first = x && (!y || (at_x >= 0 && at_y >= 0 && at_x < at_y));

		json_array_append(target, first ? x : y);
		l += first;
		r += !first;
	}
	json_decref(left);
	json_decref(right);
}

static void merge_list(const struct ks_typed *t, json_t *target, const json_t *patch,
		       const char *const *keys, const json_t *order)
{
	json_t *was = json_deep_copy(target);

	merge_items(t, target, patch, keys);
	order_items(target, was, order ? order : patch, keys);
	json_decref(was);
}

static bool has_replace_marker(const json_t *patch)
{
	return json_find(patch, "$patch", "replace") != NULL;
}

static void delete_primitives(json_t *target, const char *name, const json_t *values)
{
	json_t *list = json_object_get(target, name);
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(values, i, v) {
		const int at = ks_item_find(list, v, NULL);

		if (at >= 0)
			json_array_remove(list, (size_t)at);
	}
}

static void merge_member(const struct ks_typed *t, json_t *target, const char *name,
			 const json_t *value, const json_t *order)
{
	const struct ks_typed c = ks_typed_child(t, name);
	const char *const *keys = NULL;
	json_t *have = json_object_get(target, name);

	if (json_is_null(value)) {
		json_object_del(target, name);
		return;
	}
	if (json_is_object(value)) {
		if (!json_is_object(have)) {
			have = json_object();
			json_object_set_new(target, name, have);
		}
		ks_strategic_merge(&c, have, value);
		return;
	}
	if (json_is_array(value) && json_is_array(have)) {
		const enum ks_merge merge = ks_merge_of(&c, value, &keys);

		if (merge == KS_MAP || merge == KS_SET) {
			if (has_replace_marker(value))
				json_array_clear(have);
			merge_list(&c, have, value, keys, order);
			return;
		}
	}
	json_object_set_new(target, name, json_deep_copy(value));
}

void ks_strategic_merge(const struct ks_typed *t, json_t *target, const json_t *patch)
{
	const char *name = NULL;
	const json_t *value = NULL;

	char order[128];

	if (streq(json_string_value(json_object_get(patch, "$patch")), "replace"))
		json_object_clear(target);
	json_object_foreach((json_t *)(uintptr_t)patch, name, value) {
		if (str_starts(name, "$deleteFromPrimitiveList/"))
			delete_primitives(target, strchr(name, '/') + 1, value);
		else if (name[0] != '$') {
			snprintf(order, sizeof(order), "$setElementOrder/%s", name);
			merge_member(t, target, name, value,
				     json_object_get(patch, order));
		}
	}
}

/* --- by content type ---------------------------------------------------------------- */

static json_t *json_patch(struct ks_req *q, const json_t *live)
{
	json_t *obj = json_own(q->a, json_deep_copy(live));
	const json_t *op = NULL;
	size_t i = 0;

	if (!json_is_array(q->body)) {
		ks_fail(q, 400, "BadRequest",
			"error decoding patch: json: cannot unmarshal object into Go value of "
			"type []handlers.jsonPatchOp");
		return NULL;
	}
	json_array_foreach(q->body, i, op) {
		if (one_operation(q->a, obj, op))
			continue;
		ks_fail(q, 422, "Invalid",
			"the server rejected our request due to an error in our request");
		return NULL;
	}
	return json_incref(obj);
}

/* Directives that there are, keys where they are needed; NULL: fine. */
static const char *bad_directive(struct arena *a, const struct ks_typed *t,
				 const json_t *patch)
{
	const char *word = json_str_at(patch, "$patch");
	const char *bad = NULL;
	const char *name = NULL;
	const json_t *v = NULL;
	const json_t *item = NULL;
	size_t i = 0;

	if (word && !streq(word, "delete") && !streq(word, "replace") &&
	    !streq(word, "merge"))
		return arena_printf(a, "unknown patch type: %s in map", word);
	json_object_foreach((json_t *)(uintptr_t)patch, name, v) {
		const struct ks_typed c = ks_typed_child(t, name);
		const char *const *keys = NULL;

		if (name[0] != '$' && json_is_object(v))
			bad = bad_directive(a, &c, v);
		if (name[0] != '$' && json_is_array(v) &&
		    ks_merge_of(&c, v, &keys) == KS_MAP && keys) {
			const struct ks_typed of_item = ks_typed_item(&c);

			json_array_foreach(v, i, item) {
				if (!bad && !json_object_get(item, keys[0]) &&
				    !json_str_at(item, "$patch"))
					bad = arena_printf(a,
							   "map: map[] does not contain "
							   "declared merge key: %s",
							   keys[0]);
				if (!bad)
					bad = bad_directive(a, &of_item, item);
			}
		}
		if (bad)
			return bad;
	}
	return NULL;
}

/* "$setElementOrder_x" and the like, anywhere. */
static bool has_odd_order(const json_t *patch)
{
	const char *name = NULL;
	const json_t *v = NULL;
	size_t i = 0;

	json_object_foreach((json_t *)(uintptr_t)patch, name, v) {
		if ((str_starts(name, "$setElementOrder") &&
		     !str_starts(name, "$setElementOrder/")) ||
		    has_odd_order(v))
			return true;
	}
	json_array_foreach(patch, i, v) {
		if (has_odd_order(v))
			return true;
	}
	return false;
}

static json_t *strategic_patch(struct ks_req *q, const json_t *live)
{
	const struct ks_typed root = ks_typed_root(q->kind);
	const char *bad = bad_directive(q->a, &root, q->body);
	json_t *obj = NULL;

	if (has_odd_order(q->body)) {
		ks_fail(q, 400, "BadRequest",
			"invalid patch format of setElementOrder list");
		return NULL;
	}
	if (bad) {
		ks_fail(q, 500, "", "%s", bad);
		return NULL;
	}
	obj = json_deep_copy(live);
	ks_strategic_merge(&root, obj, q->body);
	return obj;
}

/* The media type is one that the kind takes: see body.c. */
json_t *ks_patch(struct ks_req *q, const json_t *live, const char *content_type)
{
	json_t *obj = NULL;

	if (str_starts(content_type, "application/json-patch+json"))
		return json_patch(q, live);
	if (!json_is_object(q->body)) {
		ks_fail(q, 400, "BadRequest",
			"error decoding patch: json: cannot unmarshal array into Go value of "
			"type map[string]interface {}");
		return NULL;
	}
	if (str_starts(content_type, "application/strategic-merge-patch+json"))
		return strategic_patch(q, live);
	obj = json_deep_copy(live);
	json_merge_patch(obj, q->body);
	return obj;
}
