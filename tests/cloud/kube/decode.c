/* From a body to an object of the kind: what it is, what it is called, what it holds. */
#include <string.h>

#include "tests/cloud/kube/server.h"

static bool wrong_kind(struct ks_req *q, const char *kind)
{
	json_t *causes = json_new_list(q->a);

	if (!q->kind->schema)
		return ks_fail(
			q, 400, "BadRequest",
			"%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" "
			"is registered for version \"%s\" in scheme "
			"\"pkg/runtime/scheme.go:111\"",
			kind, q->kind->version, q->kind->kind, kind,
			json_str_or(q->body, "apiVersion", q->kind->version));
	ks_add_cause(causes, "FieldValueInvalid", "kind",
		     arena_printf(q->a, "Invalid value: \"%s\": must be %s", kind,
				  q->kind->kind));
	return ks_invalid_as(q, q->kind->group, kind,
			     json_str_or(q->body, "metadata.name", ""), causes);
}

bool ks_is_kind(struct ks_req *q, const json_t *obj)
{
	const char *api = ks_api_version(q->a, q->kind);
	const char *kind = json_str_at(obj, "kind");

	if (!json_is_object(obj))
		return ks_fail(
			q, 400, "BadRequest",
			"the object provided is unrecognized (must be of type %s): "
			"couldn't get version/kind; json parse error: json: cannot "
			"unmarshal into Go value",
			q->kind->kind);
	if (!kind && q->kind->schema)
		return ks_fail(
			q, 400, "BadRequest",
			"the object provided is unrecognized (must be of type %s): "
			"Object 'Kind' is missing in '%s'",
			q->kind->kind, json_text(q->a, obj));
	/* Typed clients of built-in kinds leave both out. */
	if (kind && !streq(kind, q->kind->kind))
		return wrong_kind(q, kind);
	if (json_str_at(obj, "apiVersion") && !streq(json_str_at(obj, "apiVersion"), api))
		return ks_fail(
			q, 400, "BadRequest",
			"the API version in the data (%s) does not match the expected "
			"API version (%s)",
			json_str_at(obj, "apiVersion"), api);
	return true;
}

static const char *unknown_text(struct ks_req *q, const json_t *path)
{
	return arena_printf(q->a, "unknown field \"%s\"", json_string_value(path));
}

static const char *joined(struct ks_req *q, const json_t *unknown)
{
	const char *all =
		q->twice ? arena_printf(q->a, "duplicate field \"%s\"", q->twice) : "";
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(unknown, i, v) {
		all = arena_printf(q->a, "%s%s%s", all, *all ? ", " : "",
				   unknown_text(q, v));
	}
	return all;
}

static const char *typed_name(struct ks_req *q)
{
	return arena_printf(q->a, "%s/%s; %s%s, Kind=%s", "", q->name ? q->name : "",
			    *q->kind->group ? "" : "/", ks_api_version(q->a, q->kind),
			    q->kind->kind);
}

/* What cannot be decoded, or with strict validation may not be. */
static bool undecodable(struct ks_req *q, enum ks_write how, const char *why)
{
	if (how == WRITE_APPLY)
		return ks_fail(q, 500, "", "failed to create typed patch object (%s): %s",
			       typed_name(q), why);
	if (how == WRITE_PATCH)
		return ks_bad_patch(q, why);
	return ks_fail(q, 400, "BadRequest",
		       "%s in version \"%s\" cannot be handled as a %s: %s",
		       q->kind->kind, q->kind->version, q->kind->kind, why);
}

static void warn(struct ks_req *q, const json_t *unknown)
{
	const json_t *v = NULL;
	size_t i = 0;

	if (q->twice)
		ks_warn(q, arena_printf(q->a, "duplicate field \"%s\"", q->twice));
	json_array_foreach(unknown, i, v) {
		ks_warn(q, unknown_text(q, v));
	}
}

static const char *key_text(struct ks_req *q, const json_t *item, const char *const *keys)
{
	const char *all = "";

	for (size_t i = 0; keys && keys[i]; i++) {
		const json_t *v = json_object_get(item, keys[i]);
		const char *text =
			json_is_string(v)
				? arena_printf(q->a, "\"%s\"", json_string_value(v))
				: json_text(q->a, v ? v : json_null());

		all = arena_printf(q->a, "%s%s%s=%s", all, *all ? "," : "", keys[i],
				   text);
	}
	return all;
}

/* Of a built-in kind: lists that are maps, and have a key twice. NULL: none. */
static const char *key_twice(struct ks_req *q, const struct ks_typed *t, const json_t *v,
			     const char *path)
{
	const char *const *keys = NULL;
	const enum ks_merge merge = ks_merge_of(t, v, &keys);
	const struct ks_typed of_item = ks_typed_item(t);
	const char *found = NULL;
	const char *name = NULL;
	const json_t *one = NULL;
	size_t i = 0;

	json_object_foreach((json_t *)(uintptr_t)v, name, one) {
		const struct ks_typed c = ks_typed_child(t, name);

		found = found ? found
			      : key_twice(q, &c, one,
					  arena_printf(q->a, "%s.%s", path, name));
	}
	json_array_foreach(v, i, one) {
		const int first = merge == KS_MAP ? ks_item_find(v, one, keys) : -1;

		if (!found && first >= 0 && first != (int)i)
			found = arena_printf(q->a, "%s: duplicate entries for key [%s]",
					     path, key_text(q, one, keys));
		if (!found && json_is_object(one))
			found = key_twice(q, &of_item, one,
					  arena_printf(q->a, "%s[%s]", path,
						       key_text(q, one, keys)));
	}
	return found;
}

/* Applies fieldValidation; obj is pruned. Values are judged later, as a whole. */
bool ks_decode(struct ks_req *q, json_t *obj, enum ks_write how)
{
	struct ks_faults f = ks_no_faults(q->a);
	const char *mode = ks_query(q, "fieldValidation");
	const json_t *first = NULL;

	ks_check_types(q, obj, &f);
	first = json_array_get(f.wrong, 0);
	/* Custom resources take any value; their schema is held against it later. */
	if (first && (how == WRITE_APPLY || !q->kind->schema))
		return undecodable(
			q, how,
			json_str_or(first, how == WRITE_APPLY ? "typed" : "read", ""));
	if (how == WRITE_APPLY) {
		const struct ks_typed root = ks_typed_root(q->kind);
		const char *twice = key_twice(q, &root, obj, "");

		if (twice)
			return undecodable(q, how, twice);
	}
	first = json_array_get(f.unknown, 0);
	if (first && how == WRITE_APPLY)
		return undecodable(q, how,
				   arena_printf(q->a, ".%s: field not declared in schema",
						json_string_value(first)));
	if (!first && !q->twice)
		return true;
	if (streq(mode, "Strict"))
		return undecodable(q, how,
				   arena_printf(q->a, "strict decoding error: %s",
						joined(q, f.unknown)));
	if (!streq(mode, "Ignore"))
		warn(q, f.unknown);
	return true;
}

void ks_set_identity(struct ks_req *q, json_t *obj)
{
	json_put_str(obj, "kind", q->kind->kind);
	json_put_str(obj, "apiVersion", ks_api_version(q->a, q->kind));
	if (!json_is_object(json_object_get(obj, "metadata")))
		json_object_set_new(obj, "metadata", json_object());
	if (q->kind->namespaced)
		json_put_str(obj, "metadata.namespace", q->ns);
	else
		json_drop(obj, "metadata.namespace");
}

bool ks_check_identity(struct ks_req *q, const json_t *obj)
{
	const char *ns = json_str_at(obj, "metadata.namespace");
	const char *name = json_str_at(obj, "metadata.name");

	if (q->kind->namespaced && ns && *ns && !streq(ns, q->ns))
		return ks_fail(q, 400, "BadRequest",
			       "the namespace of the provided object does not match the "
			       "namespace sent on the request");
	if (q->name && (!name || !*name))
		return ks_fail(
			q, 400, "BadRequest",
			"the name of the object (%s based on URL) was undeterminable: "
			"name must be provided",
			q->name);
	if (q->name && !streq(name, q->name))
		return ks_fail(
			q, 400, "BadRequest",
			"the name of the object (%s) does not match the name on the URL "
			"(%s)",
			name, q->name);
	return true;
}
