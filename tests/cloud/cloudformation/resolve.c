#include "tests/cloud/cloudformation/template.h"

#include <string.h>

#include "core/aws/partition.h"
#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/json/tree.h"

enum { TEXT_MAX = 256 * 1024 };

static json_t *fail(struct cfn_scope *s, const char *fmt, const char *name)
{
	if (!s->error) {
		char text[512];
		int n = snprintf(text, sizeof(text), "%s%s", fmt, name);

		s->error = arena_strndup(s->arena, text,
					 n < (int)sizeof(text) ? (size_t)n
							       : sizeof(text) - 1);
	}
	return NULL;
}

static json_t *text_of(struct cfn_scope *s, const char *z)
{
	return json_own(s->arena, json_string(z));
}

/* A scalar as the text that Sub and Join put in. NULL: not a scalar. */
static const char *scalar_text(struct cfn_scope *s, const json_t *v)
{
	if (json_is_string(v))
		return json_string_value(v);
	if (json_is_boolean(v))
		return json_is_true(v) ? "true" : "false";
	if (json_is_integer(v))
		return arena_printf(s->arena, "%lld", (long long)json_integer_value(v));
	return NULL;
}

static json_t *resolve_pseudo(struct cfn_scope *s, const char *name)
{
	if (streq(name, "AWS::NoValue"))
		return json_null();
	if (streq(name, "AWS::Region"))
		return text_of(s, s->region);
	if (streq(name, "AWS::AccountId"))
		return text_of(s, s->account);
	if (streq(name, "AWS::Partition"))
		return text_of(s, aws_partition_of(s->region)->id);
	if (streq(name, "AWS::URLSuffix"))
		return text_of(s, aws_partition_of(s->region)->dns_suffix);
	if (streq(name, "AWS::StackName"))
		return text_of(s, s->stack_name);
	if (streq(name, "AWS::StackId"))
		return text_of(s, s->stack_id);
	return fail(s, "Template format error: Unrecognized pseudo parameter ", name);
}

static json_t *resolve_ref(struct cfn_scope *s, const char *name)
{
	const json_t *param, *res;
	const char *physical;

	if (str_starts(name, "AWS::"))
		return resolve_pseudo(s, name);
	param = json_object_get(s->params, name);
	if (param)
		return text_of(s, json_string_value(param));
	res = json_object_get(s->resources, name);
	physical = json_str_at(res, "physical");
	if (physical)
		return text_of(s, physical);
	return fail(s, "Unresolved resource dependency ", name);
}

static json_t *resolve_getatt(struct cfn_scope *s, const json_t *arg)
{
	const char *id = json_string_value(json_array_get(arg, 0));
	const char *att = json_string_value(json_array_get(arg, 1));
	const json_t *res = id ? json_object_get(s->resources, id) : NULL;
	json_t *v = att ? json_object_get(json_object_get(res, "attrs"), att) : NULL;

	if (v)
		return v;
	return fail(s, "Template error: resource does not support attribute type ",
		    att ? att : "(none)");
}

/* One ${…}: a name of the map, a resource attribute, or what Ref takes. */
static const char *sub_name(struct cfn_scope *s, const json_t *map, const char *name)
{
	json_t *v = map ? json_object_get(map, name) : NULL;
	const char *dot = strchr(name, '.');

	if (v)
		v = cfn_resolve(s, v);
	else if (dot)
		v = resolve_getatt(s, json_packf(s->arena, "[s#,s]", name,
						 (int)(dot - name), dot + 1));
	else
		v = resolve_ref(s, name);
	return v ? scalar_text(s, v) : NULL;
}

static json_t *resolve_sub(struct cfn_scope *s, const json_t *arg)
{
	const json_t *map = json_is_array(arg) ? json_array_get(arg, 1) : NULL;
	const char *p =
		json_string_value(json_is_array(arg) ? json_array_get(arg, 0) : arg);
	struct buf b;

	if (!p)
		return fail(s, "Template error: Fn::Sub needs a string", "");
	buf_init(&b, s->arena, TEXT_MAX);
	while (*p) {
		const char *end;
		const char *text;

		if (p[0] != '$' || p[1] != '{' || !(end = strchr(p, '}'))) {
			buf_addc(&b, *p++);
			continue;
		}
		if (p[2] == '!') {
			buf_adds(&b, "${");
			buf_add(&b, p + 3, (size_t)(end - p - 2));
			p = end + 1;
			continue;
		}
		text = sub_name(s, map,
				arena_strndup(s->arena, p + 2, (size_t)(end - p - 2)));
		if (!text)
			return fail(s, "Template error: Fn::Sub cannot use ", p);
		buf_adds(&b, text);
		p = end + 1;
	}
	return text_of(s, buf_cstr(&b));
}

static json_t *resolve_join(struct cfn_scope *s, const json_t *arg)
{
	const char *sep = json_string_value(json_array_get(arg, 0));
	const json_t *list = cfn_resolve(s, json_array_get(arg, 1));
	struct buf b;
	size_t i;
	json_t *v;

	if (!sep || !json_is_array(list))
		return fail(
			s,
			"Template error: every Fn::Join object requires two parameters",
			"");
	buf_init(&b, s->arena, TEXT_MAX);
	json_array_foreach(list, i, v) {
		const char *text = scalar_text(s, v);

		if (!text)
			return fail(s, "Template error: Fn::Join takes strings", "");
		if (i > 0)
			buf_adds(&b, sep);
		buf_adds(&b, text);
	}
	return text_of(s, buf_cstr(&b));
}

static json_t *resolve_select(struct cfn_scope *s, const json_t *arg)
{
	const json_t *index = cfn_resolve(s, json_array_get(arg, 0));
	const json_t *list = cfn_resolve(s, json_array_get(arg, 1));
	const char *text = index ? scalar_text(s, index) : NULL;
	int64_t i;
	json_t *v;

	if (!list || !text || !str_to_i64(str_of(text), &i) || i < 0 ||
	    !(v = json_array_get(list, (size_t)i)))
		return fail(s,
			    "Template error: Fn::Select cannot select nonexistent value",
			    "");
	return v;
}

static json_t *resolve_azs(struct cfn_scope *s, const json_t *arg)
{
	const json_t *region = cfn_resolve(s, arg);
	const char *name = json_string_value(region);

	if (!name)
		return fail(s, "Template error: Fn::GetAZs takes a region", "");
	if (name[0] != '\0' && !streq(name, s->region))
		return fail(s, "Template error: no zones known for region ", name);
	return json_own(s->arena, json_deep_copy(s->zones));
}

static json_t *resolve_split(struct cfn_scope *s, const json_t *arg)
{
	const char *sep = json_string_value(json_array_get(arg, 0));
	const json_t *v = cfn_resolve(s, json_array_get(arg, 1));
	const char *p = json_string_value(v);
	json_t *list = json_new_list(s->arena);
	const char *hit;

	if (!sep || sep[0] == '\0' || !p)
		return fail(s, "Template error: Fn::Split takes a delimiter and a string",
			    "");
	while ((hit = strstr(p, sep)) != NULL) {
		json_push(list, json_stringn(p, (size_t)(hit - p)));
		p = hit + strlen(sep);
	}
	json_push(list, json_string(p));
	return list;
}

static json_t *resolve_if(struct cfn_scope *s, const json_t *arg)
{
	const char *name = json_string_value(json_array_get(arg, 0));
	const json_t *known = name ? json_object_get(s->conditions, name) : NULL;

	if (!known || json_array_size(arg) != 3)
		return fail(s, "Template error: unresolved condition ",
			    name ? name : "(none)");
	return cfn_resolve(s, json_array_get(arg, json_is_true(known) ? 1 : 2));
}

static json_t *resolve_test(struct cfn_scope *s, const json_t *value)
{
	bool yes;

	if (!cfn_resolve_condition(s, value, &yes))
		return NULL;
	return yes ? json_true() : json_false();
}

typedef json_t *resolver(struct cfn_scope *s, const json_t *arg);

static const struct {
	const char *name;
	resolver *fn;
} functions[] = {
	{"Fn::GetAtt", resolve_getatt}, {"Fn::Sub", resolve_sub},
	{"Fn::Join", resolve_join},     {"Fn::Select", resolve_select},
	{"Fn::GetAZs", resolve_azs},    {"Fn::Split", resolve_split},
	{"Fn::If", resolve_if},
};

static bool is_test(const char *key)
{
	return streq(key, "Fn::Equals") || streq(key, "Fn::Not") ||
	       streq(key, "Fn::And") || streq(key, "Fn::Or");
}

static json_t *resolve_function(struct cfn_scope *s, const json_t *value, const char *key,
				const json_t *arg)
{
	if (streq(key, "Ref"))
		return resolve_ref(s, json_is_string(arg) ? json_string_value(arg) : "");
	if (is_test(key))
		return resolve_test(s, value);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (streq(functions[i].name, key))
			return functions[i].fn(s, arg);
	return fail(s, "Template format error: unsupported function ", key);
}

static json_t *resolve_members(struct cfn_scope *s, const json_t *value)
{
	json_t *out = json_new_object(s->arena);
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)value, key, v) {
		json_t *r = cfn_resolve(s, v);

		if (!r)
			return NULL;
		if (!json_is_null(r))
			json_object_set(out, key, r);
	}
	return out;
}

json_t *cfn_resolve(struct cfn_scope *s, const json_t *value)
{
	if (json_is_array(value)) {
		json_t *out = json_new_list(s->arena);
		size_t i;
		json_t *v;

		json_array_foreach(value, i, v) {
			json_t *r = cfn_resolve(s, v);

			if (!r)
				return NULL;
			if (!json_is_null(r))
				json_array_append(out, r);
		}
		return out;
	}
	if (json_is_object(value)) {
		void *it = json_object_iter((json_t *)(uintptr_t)value);
		const char *key = it ? json_object_iter_key(it) : "";

		if (json_object_size(value) == 1 &&
		    (str_starts(key, "Fn::") || streq(key, "Ref")))
			return resolve_function(s, value, key,
						json_object_iter_value(it));
		return resolve_members(s, value);
	}
	if (!value)
		return fail(s, "Template format error: a value is missing", "");
	return json_own(s->arena, json_deep_copy(value));
}

static bool all_or_any(struct cfn_scope *s, const json_t *list, bool any, bool *ret)
{
	size_t i;
	json_t *v;

	*ret = !any;
	json_array_foreach(list, i, v) {
		bool one;

		if (!cfn_resolve_condition(s, v, &one))
			return false;
		if (one == any)
			*ret = any;
	}
	return true;
}

static bool equals(struct cfn_scope *s, const json_t *arg, bool *ret)
{
	const json_t *a = cfn_resolve(s, json_array_get(arg, 0));
	const json_t *b = cfn_resolve(s, json_array_get(arg, 1));
	const char *x = a ? scalar_text(s, a) : NULL;
	const char *y = b ? scalar_text(s, b) : NULL;

	if (!a || !b)
		return false;
	*ret = x && y ? streq(x, y) : json_equal(a, b);
	return true;
}

/* Conditions may name each other; a circle ends by the depth of the template. */
bool cfn_resolve_condition(struct cfn_scope *s, const json_t *value, bool *ret)
{
	void *it = json_object_iter((json_t *)(uintptr_t)value);
	const char *key = it ? json_object_iter_key(it) : "";
	const json_t *arg = it ? json_object_iter_value(it) : NULL;

	if (streq(key, "Condition")) {
		const json_t *known =
			json_object_get(s->conditions, json_string_value(arg));

		if (!known)
			return fail(s, "Template format error: Unresolved condition ",
				    json_string_value(arg)) != NULL;
		*ret = json_is_true(known);
		return true;
	}
	if (streq(key, "Fn::Equals"))
		return equals(s, arg, ret);
	if (streq(key, "Fn::And") || streq(key, "Fn::Or"))
		return all_or_any(s, arg, streq(key, "Fn::Or"), ret);
	if (streq(key, "Fn::Not")) {
		if (!cfn_resolve_condition(s, json_array_get(arg, 0), ret))
			return false;
		*ret = !*ret;
		return true;
	}
	return fail(s, "Template format error: not a condition: ", key) != NULL;
}
