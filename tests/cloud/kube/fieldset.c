/* Sets of fields in FieldsV1 form: their algebra, and their paths. */
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

/* --- algebra: every function returns a new reference --------------------------
 * A node is in the set itself when it is empty or has "."; its other members are the
 * nodes below it. */

static bool is_leaf(const json_t *node)
{
	return json_object_size(node) == 0;
}

static bool is_member(const json_t *node)
{
	return node && (is_leaf(node) || json_object_get(node, "."));
}

enum algebra { UNION, MINUS, COMMON };

/* The node's own membership; NULL when nothing is left of it. */
static json_t *finish(json_t *out, bool member)
{
	if (json_object_size(out) > 0) {
		if (member)
			json_object_set_new(out, ".", json_object());
		return out;
	}
	if (member)
		return out;
	json_decref(out);
	return NULL;
}

static bool keeps(enum algebra op, bool x, bool y)
{
	return op == UNION ? x || y : op == MINUS ? x && !y : x && y;
}

static json_t *combined(enum algebra op, const json_t *x, const json_t *y);

static void combine_below(enum algebra op, json_t *out, const json_t *x, const json_t *y)
{
	const char *name = NULL;
	json_t *v = NULL;

	json_object_foreach((json_t *)(uintptr_t)x, name, v) {
		const json_t *other = json_object_get(y, name);
		json_t *sub = NULL;

		if (streq(name, ".") || (!other && op == COMMON))
			continue;
		sub = other ? combined(op, v, other) : json_deep_copy(v);
		if (sub)
			json_object_set_new(out, name, sub);
	}
	if (op != UNION)
		return;
	json_object_foreach((json_t *)(uintptr_t)y, name, v) {
		if (!streq(name, ".") && !json_object_get(x, name))
			json_object_set_new(out, name, json_deep_copy(v));
	}
}

static json_t *combined(enum algebra op, const json_t *x, const json_t *y)
{
	json_t *out = json_object();

	combine_below(op, out, x, y);
	return finish(out, keeps(op, is_member(x), is_member(y)));
}

/* The root itself is in no set. */
static json_t *combined_roots(enum algebra op, const json_t *x, const json_t *y)
{
	json_t *out = json_object();

	combine_below(op, out, x, y);
	return out;
}

json_t *ks_fields_union(const json_t *x, const json_t *y)
{
	return combined_roots(UNION, x, y);
}

json_t *ks_fields_minus(const json_t *x, const json_t *y)
{
	return combined_roots(MINUS, x, y);
}

json_t *ks_fields_common(const json_t *x, const json_t *y)
{
	return combined_roots(COMMON, x, y);
}

/* k:{"name":"a"} is written [name="a"]. */
static const char *step_text(struct arena *a, const char *name)
{
	struct err e;
	const json_t *keys = NULL;
	const json_t *v = NULL;
	const char *key = NULL;
	const char *text = "";

	if (str_starts(name, "f:"))
		return arena_printf(a, ".%s", name + 2);
	if (!str_starts(name, "k:"))
		return arena_printf(a, "[=%s]", name + 2);
	keys = json_parse(a, str_of(name + 2), &e);
	json_object_foreach((json_t *)(uintptr_t)keys, key, v) {
		text = json_is_string(v)
			       ? arena_printf(a, "%s%s%s=\"%s\"", text, *text ? "," : "",
					      key, json_string_value(v))
			       : arena_printf(a, "%s%s%s=%lld", text, *text ? "," : "",
					      key, (long long)json_integer_value(v));
	}
	return arena_printf(a, "[%s]", text);
}

static int by_name(const void *x, const void *y)
{
	const char *const *a = x;
	const char *const *b = y;

	return strcmp(*a, *b);
}

static const char **names_of(struct arena *a, const json_t *set, size_t *ret_n)
{
	const char **v = arena_array(a, const char *, json_object_size(set) + 1);
	const char *name = NULL;
	const json_t *sub = NULL;

	*ret_n = 0;
	json_object_foreach((json_t *)(uintptr_t)set, name, sub) {
		if (!streq(name, "."))
			v[(*ret_n)++] = name;
	}
	if (*ret_n > 1)
		qsort(v, *ret_n, sizeof(v[0]), by_name);
	return v;
}

/* In the order of servers: what is in the set here, then what is below. */
static void walk(struct arena *a, const json_t *set, const char *path,
		 void (*fn)(void *ctx, const char *path), void *ctx)
{
	size_t n = 0;
	const char **v = names_of(a, set, &n);

	for (size_t i = 0; i < n; i++) {
		if (is_member(json_object_get(set, v[i])))
			fn(ctx, arena_printf(a, "%s%s", path, step_text(a, v[i])));
	}
	for (size_t i = 0; i < n; i++)
		walk(a, json_object_get(set, v[i]),
		     arena_printf(a, "%s%s", path, step_text(a, v[i])), fn, ctx);
}

void ks_fields_walk(struct arena *a, const json_t *set,
		    void (*fn)(void *ctx, const char *path), void *ctx)
{
	walk(a, set, "", fn, ctx);
}
