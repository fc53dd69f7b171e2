#include <string.h>

#include "core/base/buf.h"
#include "tests/cloud/kube/server.h"

static const struct {
	const char *name, *members;
} types[] = {
#define T(name, members) {#name, members},
#include "tests/cloud/kube/types.def"
#undef T
};

static const char *members_of(struct str name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (str_is(name, types[i].name))
			return types[i].members;
	}
	return NULL;
}

struct member {
	struct str name, type;
	bool required;
};

static bool next_member(struct str *rest, struct member *ret)
{
	while (rest->p && rest->n > 0) {
		struct str word = str_cut(rest, ' ');

		if (word.n == 0)
			continue;
		ret->name = str_cut(&word, ':');
		ret->type = word;
		ret->required = ret->name.p[ret->name.n - 1] == '!';
		if (ret->required)
			ret->name.n--;
		return true;
	}
	return false;
}

static bool find_member(const char *members, const char *name, struct member *ret)
{
	struct str rest = str_of(members);

	while (next_member(&rest, ret)) {
		if (str_is(ret->name, name))
			return true;
	}
	return false;
}

struct check {
	struct arena *a;
	struct ks_faults *f;
};

static void check_value(struct check *c, struct str type, json_t *value,
			const char *path);

static const char *shown(struct check *c, const json_t *v)
{
	return json_is_string(v) ? arena_printf(c->a, "\"%s\"", json_string_value(v))
				 : json_text(c->a, v);
}

static void cannot(struct check *c, const char *text, const char *typed)
{
	json_array_append_new(c->f->wrong,
			      json_pack("{s:s,s:s}", "read", text, "typed", typed));
}

static const char *go_name(const json_t *v)
{
	return json_is_object(v)    ? "object"
	       : json_is_array(v)   ? "array"
	       : json_is_string(v)  ? "string"
	       : json_is_boolean(v) ? "bool"
				    : "number";
}

static void wrong(struct check *c, const char *path, const json_t *v, const char *want)
{
	cannot(c,
	       arena_printf(
		       c->a,
		       "json: cannot unmarshal %s into Go struct field %s of type %s",
		       go_name(v), path, want),
	       arena_printf(c->a,
			    ".%s: expected %s, got &value.valueUnstructured{Value:%s}",
			    path, want, shown(c, v)));
}

static bool is_map(struct str type)
{
	return type.p[0] == 'm' && type.n <= 2;
}

static void check_object(struct check *c, const char *members, json_t *value,
			 const char *path, bool top)
{
	const char *name = NULL;
	json_t *v = NULL;
	void *next = NULL;
	struct member m;
	struct str rest = str_of(members);

	json_object_foreach_safe(value, next, name, v) {
		const char *at = *path ? arena_printf(c->a, "%s.%s", path, name) : name;

		/* A decoder leaves what is null as it is without it. */
		if (json_is_null(v)) {
			json_object_del(value, name);
			continue;
		}
		if (top && (streq(name, "apiVersion") || streq(name, "kind")))
			continue;
		if (top && streq(name, "metadata"))
			check_value(c, STR("ObjectMeta"), v, at);
		else if (find_member(members, name, &m))
			check_value(c, m.type, v, at);
		else {
			/* Refused or pruned: the caller decides by `unknown`. */
			json_array_append_new(c->f->unknown, json_string(at));
			json_object_del(value, name);
			continue;
		}
		/* Maps without members are not written. */
		if (find_member(members, name, &m) && is_map(m.type) &&
		    json_is_object(v) && json_object_size(v) == 0)
			json_object_del(value, name);
	}
	while (next_member(&rest, &m)) {
		const char *want = str_dup(c->a, m.name);
		const json_t *have = json_object_get(value, want);

		if (m.required && (!have || json_is_null(have)))
			ks_add_cause(c->f->causes, "FieldValueRequired",
				     *path ? arena_printf(c->a, "%s.%s", path, want)
					   : want,
				     "Required value");
	}
}

static void check_enum(struct check *c, struct str type, const json_t *value,
		       const char *path)
{
	struct str rest = {type.p + 2, type.n - 3};
	const char *all = "";

	while (rest.p) {
		const struct str word = str_cut(&rest, '|');

		if (str_is(word, json_string_value(value)))
			return;
		all = arena_printf(c->a, "%s%s\"%.*s\"", all, *all ? ", " : "",
				   (int)word.n, word.p);
	}
	ks_add_cause(c->f->causes, "FieldValueNotSupported", path,
		     arena_printf(c->a, "Unsupported value: %s: supported values: %s",
				  shown(c, value), all));
}

static void check_list(struct check *c, struct str type, json_t *value, const char *path)
{
	json_t *item = NULL;
	size_t i = 0;

	if (!json_is_array(value)) {
		wrong(c, path, value, "array");
		return;
	}
	json_array_foreach(value, i, item) {
		check_value(c, (struct str){type.p + 1, type.n - 2}, item,
			    arena_printf(c->a, "%s[%zu]", path, i));
	}
}

#define QUANTITY_RULE                                                                    \
	"quantities must match the regular expression "                                  \
	"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

static bool is_base64(const json_t *v)
{
	const char *z = json_string_value(v);
	size_t n = z ? strlen(z) : 1;
	size_t body = z ? strspn(z, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789+/")
			: 0;

	return n % 4 == 0 && n - body <= 2 &&
	       (body == n || strspn(z + body, "=") == n - body);
}

static void check_map(struct check *c, struct str type, json_t *value, const char *path)
{
	const char *name = NULL;
	json_t *v = NULL;

	if (!json_is_object(value)) {
		wrong(c, path, value, "object");
		return;
	}
	json_object_foreach(value, name, v) {
		const char *at = arena_printf(c->a, "%s.%s", path, name);

		if (json_is_null(v))
			json_object_set_new(value, name, json_string(""));
		else if (str_is(type, "m") && !json_is_string(v))
			wrong(c, at, v, "string");
		else if (str_is(type, "mq") && !ks_quantity(v, NULL))
			cannot(c, QUANTITY_RULE, QUANTITY_RULE);
		else if (str_is(type, "mq") && json_is_integer(v))
			json_object_set_new(
				value, name,
				json_sprintf("%lld", (long long)json_integer_value(v)));
		else if (str_is(type, "md") && !is_base64(v))
			cannot(c, "illegal base64 data at input byte 0",
			       "illegal base64 data at input byte 0");
	}
}

static void check_value(struct check *c, struct str type, json_t *value, const char *path)
{
	const char *members = NULL;

	if (json_is_null(value) || str_is(type, "any"))
		return;
	if (type.p[0] == '[') {
		check_list(c, type, value, path);
	} else if (is_map(type)) {
		check_map(c, type, value, path);
	} else if (str_is(type, "s") || str_has_prefix(type, STR("s{"))) {
		if (!json_is_string(value))
			wrong(c, path, value, "string");
		else if (type.n > 1)
			check_enum(c, type, value, path);
	} else if (str_is(type, "i")) {
		if (!json_is_integer(value))
			wrong(c, path, value, "integer");
	} else if (str_is(type, "b")) {
		if (!json_is_boolean(value))
			wrong(c, path, value, "boolean");
	} else if (str_is(type, "x")) {
		if (!json_is_integer(value) && !json_is_string(value))
			wrong(c, path, value, "integer or string");
	} else if (str_is(type, "q")) {
		if (!ks_quantity(value, NULL))
			wrong(c, path, value, "quantity");
	} else if (!json_is_object(value)) {
		wrong(c, path, value, "object");
	} else {
		members = members_of(type);
		if (members)
			check_object(c, members, value, path, false);
	}
}

void ks_type_check(struct arena *a, const char *type, json_t *obj, struct ks_faults *f)
{
	struct check c = {a, f};
	const char *members = members_of(str_of(type));

	if (members)
		check_object(&c, members, obj, "", true);
}

/* --- as OpenAPI ----------------------------------------------------------------- */

static json_t *schema_of(struct arena *a, struct str type)
{
	if (str_is(type, "any"))
		return json_pack("{s:b}", "x-kubernetes-preserve-unknown-fields", 1);
	if (type.p[0] == '[')
		return json_pack("{s:s,s:o}", "type", "array", "items",
				 schema_of(a, (struct str){type.p + 1, type.n - 2}));
	if (type.p[0] == 'm' && type.n <= 2)
		return json_pack("{s:s,s:{s:s}}", "type", "object",
				 "additionalProperties", "type", "string");
	if (str_is(type, "s") || str_has_prefix(type, STR("s{")))
		return json_pack("{s:s}", "type", "string");
	if (str_is(type, "i"))
		return json_pack("{s:s}", "type", "integer");
	if (str_is(type, "b"))
		return json_pack("{s:s}", "type", "boolean");
	if (str_is(type, "x") || str_is(type, "q"))
		return json_pack("{s:b}", "x-kubernetes-int-or-string", 1);
	return json_pack("{s:s}", "$ref",
			 arena_printf(a, "#/components/schemas/io.k8s.api.%.*s",
				      (int)type.n, type.p));
}

json_t *ks_type_schemas(struct arena *a)
{
	json_t *all = json_new_object(a);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct str rest = str_of(types[i].members);
		json_t *properties = json_object();
		struct member m;

		while (next_member(&rest, &m))
			json_object_set_new(properties, str_dup(a, m.name),
					    schema_of(a, m.type));
		json_object_set_new(all, arena_printf(a, "io.k8s.api.%s", types[i].name),
				    json_pack("{s:s,s:o}", "type", "object", "properties",
					      properties));
	}
	return all;
}
