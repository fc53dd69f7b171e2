#include "tests/cloud/cloudformation/template.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/str.h"
#include "core/json/tree.h"

static bool whole_match(struct arena *a, const char *pattern, const char *text)
{
	const char *whole = arena_printf(a, "^(?:%s)$", pattern);
	int code;
	size_t at;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)whole, PCRE2_ZERO_TERMINATED,
				       PCRE2_UTF, &code, &at, NULL);
	pcre2_match_data *m;
	bool ok;

	if (!re)
		return false;
	m = pcre2_match_data_create_from_pattern(re, NULL);
	ok = pcre2_match(re, (PCRE2_SPTR)text, strlen(text), 0, 0, m, NULL) > 0;
	pcre2_match_data_free(m);
	pcre2_code_free(re);
	return ok;
}

static bool list_has(const json_t *list, const char *text)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
		if (streq(json_string_value(v), text))
			return true;
	return false;
}

static bool check_parameter(struct cfn_scope *s, const char *name, const json_t *def,
			    const char *value)
{
	const json_t *allowed = json_object_get(def, "AllowedValues");
	const char *pattern = json_str_at(def, "AllowedPattern");
	int64_t min = json_int_or(def, "MinLength", 0);
	int64_t max = json_int_or(def, "MaxLength", 4096);
	int64_t len = (int64_t)strlen(value);

	if (allowed && !list_has(allowed, value))
		s->error = arena_printf(
			s->arena, "Parameter '%s' must be one of AllowedValues", name);
	else if (pattern && !whole_match(s->arena, pattern, value))
		s->error = arena_printf(s->arena, "Parameter '%s' must match pattern %s",
					name, pattern);
	else if (len < min)
		s->error = arena_printf(
			s->arena, "Parameter '%s' must contain at least %lld characters",
			name, (long long)min);
	else if (len > max)
		s->error = arena_printf(
			s->arena, "Parameter '%s' must contain at most %lld characters",
			name, (long long)max);
	return !s->error;
}

static const char *given_value(const json_t *given, const char *name)
{
	return json_str_at(json_find(given, "ParameterKey", name), "ParameterValue");
}

static const char *default_value(struct cfn_scope *s, const json_t *def)
{
	const json_t *v = json_object_get(def, "Default");

	if (json_is_integer(v))
		return arena_printf(s->arena, "%lld", (long long)json_integer_value(v));
	if (json_is_boolean(v))
		return json_is_true(v) ? "true" : "false";
	return json_string_value(v);
}

static bool bind_parameters(struct cfn_scope *s, const json_t *given)
{
	json_t *defs = json_object_get(s->template, "Parameters");
	json_t *out = json_new_object(s->arena);
	const char *missing = NULL;
	const char *name;
	json_t *def, *p;
	size_t i;

	json_object_foreach(defs, name, def) {
		const char *value = given_value(given, name);

		if (!value)
			value = default_value(s, def);
		if (!value) {
			missing =
				missing ? arena_printf(s->arena, "%s, %s", missing, name)
					: name;
			continue;
		}
		if (!check_parameter(s, name, def, value))
			return false;
		json_object_set_new(out, name, json_string(value));
	}
	json_array_foreach(given, i, p) {
		const char *key = json_str_or(p, "ParameterKey", "");

		if (!json_object_get(defs, key)) {
			s->error = arena_printf(
				s->arena, "Parameters: [%s] do not exist in the template",
				key);
			return false;
		}
	}
	if (missing) {
		s->error = arena_printf(s->arena, "Parameters: [%s] must have values",
					missing);
		return false;
	}
	s->params = out;
	return true;
}

/* Conditions may be written in any order: go over them until all are known. */
static bool bind_conditions(struct cfn_scope *s)
{
	json_t *defs = json_object_get(s->template, "Conditions");
	json_t *out = json_new_object(s->arena);
	size_t known = 0, before;
	const char *name;
	json_t *def;

	s->conditions = out;
	do {
		before = known;
		s->error = NULL;
		json_object_foreach(defs, name, def) {
			bool yes;

			if (json_object_get(out, name))
				continue;
			if (cfn_resolve_condition(s, def, &yes)) {
				json_object_set_new(out, name, json_boolean(yes));
				known++;
			}
		}
	} while (known > before && known < json_object_size(defs));
	if (known == json_object_size(defs))
		s->error = NULL;
	return !s->error;
}

static bool check_rule(struct cfn_scope *s, const char *name, const json_t *rule)
{
	const json_t *when = json_object_get(rule, "RuleCondition");
	bool yes = true;
	size_t i;
	json_t *a;

	if (when && !cfn_resolve_condition(s, when, &yes))
		return false;
	if (!yes)
		return true;
	json_array_foreach(json_object_get(rule, "Assertions"), i, a) {
		bool holds;

		if (!cfn_resolve_condition(s, json_object_get(a, "Assert"), &holds))
			return false;
		if (!holds) {
			s->error = arena_printf(
				s->arena,
				"Template constraint of rule %s is violated: %s", name,
				json_str_or(a, "AssertDescription", ""));
			return false;
		}
	}
	return true;
}

static bool check_rules(struct cfn_scope *s)
{
	const char *name;
	json_t *rule;

	json_object_foreach(json_object_get(s->template, "Rules"), name, rule)
		if (!check_rule(s, name, rule))
			return false;
	return true;
}

bool cfn_included(const struct cfn_scope *s, const json_t *member)
{
	const char *name = json_str_at(member, "Condition");

	return !name || json_is_true(json_object_get(s->conditions, name));
}

static void add_dependency(struct cfn_scope *s, json_t *out, const char *name)
{
	const json_t *all = json_object_get(s->template, "Resources");
	const json_t *res = name ? json_object_get(all, name) : NULL;

	if (!name || str_starts(name, "AWS::") || json_object_get(s->params, name))
		return;
	if (!res) {
		s->error = arena_printf(
			s->arena,
			"Template format error: Unresolved resource dependencies [%s] in the "
			"Resources block of the template",
			name);
		return;
	}
	if (cfn_included(s, res) && !list_has(out, name))
		json_push(out, json_string(name));
}

static void collect_sub(struct cfn_scope *s, json_t *out, const json_t *arg)
{
	const json_t *map = json_is_array(arg) ? json_array_get(arg, 1) : NULL;
	const char *p =
		json_string_value(json_is_array(arg) ? json_array_get(arg, 0) : arg);

	while (p && (p = strstr(p, "${")) != NULL) {
		const char *name = arena_strndup(s->arena, p + 2, strcspn(p + 2, "}"));

		p += 2;
		if (name[0] == '!' || json_object_get(map, name))
			continue;
		add_dependency(s, out, arena_strndup(s->arena, name, strcspn(name, ".")));
	}
}

static void collect(struct cfn_scope *s, json_t *out, json_t *v);

/* Only the branch that is taken counts. */
static void collect_if(struct cfn_scope *s, json_t *out, const json_t *arg)
{
	const char *name = json_string_value(json_array_get(arg, 0));
	bool yes = name && json_is_true(json_object_get(s->conditions, name));

	collect(s, out, json_array_get(arg, yes ? 1 : 2));
}

static void collect(struct cfn_scope *s, json_t *out, json_t *v)
{
	const char *key;
	json_t *m;
	size_t i;

	json_array_foreach(v, i, m)
		collect(s, out, m);
	json_object_foreach(v, key, m) {
		if (streq(key, "Ref") && json_is_string(m))
			add_dependency(s, out, json_string_value(m));
		else if (streq(key, "Fn::GetAtt"))
			add_dependency(s, out, json_string_value(json_array_get(m, 0)));
		else if (streq(key, "Fn::If"))
			collect_if(s, out, m);
		else {
			if (streq(key, "Fn::Sub"))
				collect_sub(s, out, m);
			collect(s, out, m);
		}
	}
}

json_t *cfn_depends(struct cfn_scope *s, const json_t *resource)
{
	json_t *out = json_new_list(s->arena);
	const json_t *on = json_object_get(resource, "DependsOn");
	size_t i;
	json_t *m;

	if (json_is_string(on))
		add_dependency(s, out, json_string_value(on));
	json_array_foreach(on, i, m)
		add_dependency(s, out, json_string_value(m));
	collect(s, out, json_object_get(resource, "Properties"));
	return s->error ? NULL : out;
}

bool cfn_template_bind(struct cfn_scope *s, const json_t *given)
{
	const char *name;
	json_t *res;

	if (!bind_parameters(s, given) || !bind_conditions(s) || !check_rules(s))
		return false;
	json_object_foreach(json_object_get(s->template, "Resources"), name, res)
		if (!cfn_depends(s, res))
			return false;
	return true;
}
