#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tests/cloud/kube/server.h"

/* Structural schemas of custom resources.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/ */

struct check {
	struct arena *a;
	struct ks_faults *f;
};

static void check(struct check *c, const json_t *schema, json_t *value, const char *path,
		  bool root);

static void cause(struct check *c, const char *reason, const char *path, const char *text)
{
	ks_add_cause(c->f->causes, reason, *path ? path : "<nil>", text);
}

static bool is_type(const char *type, const json_t *v)
{
	if (streq(type, "object"))
		return json_is_object(v);
	if (streq(type, "array"))
		return json_is_array(v);
	if (streq(type, "string"))
		return json_is_string(v);
	if (streq(type, "boolean"))
		return json_is_boolean(v);
	if (streq(type, "integer"))
		return json_is_integer(v);
	return json_is_number(v);
}

static bool matches(const char *pattern, const char *text)
{
	int code = 0;
	PCRE2_SIZE at = 0;
	pcre2_match_data *data = NULL;
	bool found = true;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				       PCRE2_UTF, &code, &at, NULL);

	if (!re) /* Go and PCRE differ: what we cannot read we do not judge */
		return true;
	data = pcre2_match_data_create_from_pattern(re, NULL);
	found = pcre2_match(re, (PCRE2_SPTR)text, strlen(text), 0, 0, data, NULL) >= 0;
	pcre2_match_data_free(data);
	pcre2_code_free(re);
	return found;
}

static const char *choices(struct check *c, const json_t *list)
{
	const char *all = "";
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(list, i, v) {
		all = arena_printf(c->a, "%s%s%s", all, i ? ", " : "",
				   json_text(c->a, v));
	}
	return all;
}

static const char *type_of(const json_t *v)
{
	return json_is_object(v)    ? "object"
	       : json_is_array(v)   ? "array"
	       : json_is_string(v)  ? "string"
	       : json_is_boolean(v) ? "boolean"
	       : json_is_integer(v) ? "integer"
				    : "number";
}

static void check_bounds(struct check *c, const json_t *s, const json_t *v,
			 const char *path)
{
	const json_t *min = json_object_get(s, "minimum");
	const json_t *max = json_object_get(s, "maximum");
	const char *pattern = json_string_value(json_object_get(s, "pattern"));
	const char *text = json_string_value(v);
	const json_t *one = NULL;
	size_t i = 0;

	if (json_is_number(v) && min && json_number_value(v) < json_number_value(min))
		cause(c, "FieldValueInvalid", path,
		      arena_printf(
			      c->a,
			      "Invalid value: %s: %s in body should be greater than or "
			      "equal to %g",
			      json_text(c->a, v), path, json_number_value(min)));
	if (json_is_number(v) && max && json_number_value(v) > json_number_value(max))
		cause(c, "FieldValueInvalid", path,
		      arena_printf(
			      c->a,
			      "Invalid value: %s: %s in body should be less than or equal "
			      "to %g",
			      json_text(c->a, v), path, json_number_value(max)));
	if (text && pattern && !matches(pattern, text))
		cause(c, "FieldValueInvalid", path,
		      arena_printf(c->a,
				   "Invalid value: \"%s\": %s in body should match '%s'",
				   text, path, pattern));
	if (text && (int64_t)strlen(text) < json_int_or(s, "minLength", 0))
		cause(c, "FieldValueInvalid", path,
		      arena_printf(
			      c->a,
			      "Invalid value: \"%s\": %s in body should be at least %lld "
			      "chars long",
			      text, path, (long long)json_int_or(s, "minLength", 0)));
	if (text && (int64_t)strlen(text) > json_int_or(s, "maxLength", INT64_MAX))
		cause(c, "FieldValueTooLong", path,
		      arena_printf(c->a, "Too long: may not be more than %lld bytes",
				   (long long)json_int_or(s, "maxLength", 0)));
	if (!json_is_array(json_object_get(s, "enum")))
		return;
	json_array_foreach(json_object_get(s, "enum"), i, one) {
		if (json_equal(one, v))
			return;
	}
	cause(c, "FieldValueNotSupported", path,
	      arena_printf(c->a, "Unsupported value: %s: supported values: %s",
			   json_text(c->a, v), choices(c, json_object_get(s, "enum"))));
}

static bool keeps_unknown(const json_t *s)
{
	return json_is_true(json_object_get(s, "x-kubernetes-preserve-unknown-fields"));
}

static void check_members(struct check *c, const json_t *s, json_t *value,
			  const char *path, bool root)
{
	const json_t *properties = json_object_get(s, "properties");
	const json_t *extra = json_object_get(s, "additionalProperties");
	const json_t *need = NULL;
	const char *name = NULL;
	json_t *v = NULL;
	void *next = NULL;
	size_t i = 0;

	json_object_foreach_safe(value, next, name, v) {
		const json_t *sub = json_object_get(properties, name);
		const char *at = *path ? arena_printf(c->a, "%s.%s", path, name) : name;

		/* What may not be null is as if it were not there. */
		if (json_is_null(v) && sub &&
		    !json_is_true(json_object_get(sub, "nullable"))) {
			json_object_del(value, name);
			continue;
		}
		if (root && (streq(name, "metadata") || streq(name, "apiVersion") ||
			     streq(name, "kind")))
			continue;
		if (sub)
			check(c, sub, v, at, false);
		else if (json_is_object(extra))
			check(c, extra, v, at, false);
		else if (!keeps_unknown(s) && !json_is_true(extra)) {
			/* Refused or pruned: the caller decides by `unknown`. */
			json_array_append_new(c->f->unknown, json_string(at));
			json_object_del(value, name);
		}
	}
	json_array_foreach(json_object_get(s, "required"), i, need) {
		const char *want = json_string_value(need);

		if (!json_object_get(value, want))
			cause(c, "FieldValueRequired",
			      *path ? arena_printf(c->a, "%s.%s", path, want) : want,
			      "Required value");
	}
}

static bool same_item(const json_t *s, const json_t *x, const json_t *y)
{
	const json_t *keys = json_object_get(s, "x-kubernetes-list-map-keys");
	const json_t *key = NULL;
	size_t i = 0;

	if (!keys)
		return json_equal(x, y);
	json_array_foreach(keys, i, key) {
		const json_t *a = json_object_get(x, json_string_value(key));
		const json_t *b = json_object_get(y, json_string_value(key));

		if (a != b && !(a && b && json_equal(a, b)))
			return false;
	}
	return true;
}

/* In sets and maps. */
static void check_twice(struct check *c, const json_t *s, const json_t *list,
			const char *path)
{
	const char *type =
		json_string_value(json_object_get(s, "x-kubernetes-list-type"));
	const json_t *item = NULL;
	size_t i = 0;

	if (!streq(type, "set") && !streq(type, "map"))
		return;
	json_array_foreach(list, i, item) {
		for (size_t j = 0; j < i; j++) {
			if (!same_item(s, json_array_get(list, j), item))
				continue;
			cause(c, "FieldValueDuplicate",
			      arena_printf(c->a, "%s[%zu]", path, i),
			      arena_printf(c->a, "Duplicate value: %s",
					   json_text(c->a, item)));
			break;
		}
	}
}

static void check(struct check *c, const json_t *s, json_t *value, const char *path,
		  bool root)
{
	const char *type = json_string_value(json_object_get(s, "type"));
	json_t *item = NULL;
	size_t i = 0;

	if (json_is_null(value) &&
	    (json_is_true(json_object_get(s, "nullable")) || !type))
		return;
	if (json_is_true(json_object_get(s, "x-kubernetes-int-or-string"))) {
		if (!json_is_integer(value) && !json_is_string(value))
			cause(c, "FieldValueTypeInvalid", path,

			      arena_printf(
				      c->a,
				      "Invalid value: \"%s\": %s in body must be of type "
				      "integer,string: \"%s\"",
				      type_of(value), path, type_of(value)));
		check_bounds(c, s, value, path);
		return;
	}
	if (type && !is_type(type, value)) {
		const char *text = arena_printf(
			c->a, ".%s: expected %s, got &value.valueUnstructured{Value:%s}",
			path,
			streq(type, "integer") || streq(type, "number")
				? "numeric (int or float)"
				: type,
			json_text(c->a, value));

		json_array_append_new(
			c->f->wrong, json_pack("{s:s,s:s}", "read", text, "typed", text));
		cause(c, "FieldValueTypeInvalid", path,
		      arena_printf(
			      c->a,
			      "Invalid value: \"%s\": %s in body must be of type %s: "
			      "\"%s\"",
			      type_of(value), path, type, type_of(value)));
		return;
	}
	if (json_is_object(value))
		check_members(c, s, value, path, root);
	if (json_is_array(value)) {
		if ((int64_t)json_array_size(value) < json_int_or(s, "minItems", 0))
			cause(c, "FieldValueInvalid", path,
			      "Invalid value: too few items");
		if ((int64_t)json_array_size(value) >
		    json_int_or(s, "maxItems", INT64_MAX))
			cause(c, "FieldValueTooMany", path,
			      arena_printf(c->a,
					   "Too many: %zu: must have at most %lld items",
					   json_array_size(value),
					   (long long)json_int_or(s, "maxItems", 0)));
		check_twice(c, s, value, path);
		json_array_foreach(value, i, item) {
			check(c, json_object_get(s, "items"), item,
			      arena_printf(c->a, "%s[%zu]", path, i), false);
		}
	}
	check_bounds(c, s, value, path);
}

void ks_schema_check(struct arena *a, const json_t *schema, json_t *value,
		     struct ks_faults *f)
{
	struct check c = {a, f};

	check(&c, schema, value, "", true);
}

void ks_schema_defaults(const json_t *schema, json_t *value)
{
	const char *name = NULL;
	const json_t *sub = NULL;
	json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(value, i, item) {
		ks_schema_defaults(json_object_get(schema, "items"), item);
	}
	if (!json_is_object(value))
		return;
	json_object_foreach(json_object_get(schema, "properties"), name, sub) {
		const json_t *dflt = json_object_get(sub, "default");

		if (dflt && !json_object_get(value, name))
			json_object_set_new(value, name, json_deep_copy(dflt));
		if (json_object_get(value, name))
			ks_schema_defaults(sub, json_object_get(value, name));
	}
}

static bool has_rules(const json_t *schema)
{
	const char *name = NULL;
	const json_t *v = NULL;
	size_t i = 0;

	json_object_foreach((json_t *)(uintptr_t)schema, name, v) {
		if (streq(name, "x-kubernetes-validations") || has_rules(v))
			return true;
	}
	json_array_foreach(schema, i, v) {
		if (has_rules(v))
			return true;
	}
	return false;
}

void ks_note_unchecked(struct ks_req *q, json_t *causes)
{
	static const char *const blocking[] = {"FieldValueRequired", "FieldValueTooLong",
					       "FieldValueTooMany",
					       "FieldValueTypeInvalid"};
	const json_t *c = NULL;
	bool blocked = false;
	size_t i = 0;

	json_array_foreach(causes, i, c) {
		for (size_t b = 0; b < sizeof(blocking) / sizeof(blocking[0]); b++)
			blocked |= streq(json_str_at(c, "reason"), blocking[b]);
	}
	if (blocked && q->kind->schema && has_rules(q->kind->schema))
		ks_add_cause(
			causes, "FieldValueInvalid", "<nil>",
			"Invalid value: null: some validation rules were not checked "
			"because the object was invalid; correct the existing errors to "
			"complete validation");
}
