#include "tests/cloud/cloudformation/template.h"

#include <string.h>
#include <yaml.h>

#include "core/base/str.h"
#include "core/json/tree.h"

enum { DEPTH_MAX = 64 };

struct reader {
	struct arena *arena;
	yaml_parser_t *parser;
	yaml_event_t event; /* valid while `has` */
	bool has;
	int depth;
	const char *error;
};

static json_t *read_node(struct reader *r);

static void drop_event(struct reader *r)
{
	if (r->has)
		yaml_event_delete(&r->event);
	r->has = false;
}

static bool next_event(struct reader *r)
{
	drop_event(r);
	if (!yaml_parser_parse(r->parser, &r->event)) {
		r->error = arena_printf(
			r->arena,
			"Template format error: YAML not well-formed. (line %zu, column %zu)",
			r->parser->problem_mark.line + 1,
			r->parser->problem_mark.column + 1);
		return false;
	}
	r->has = true;
	return true;
}

static json_t *plain_value(const char *text)
{
	int64_t n;

	if (streq(text, "true") || streq(text, "True"))
		return json_true();
	if (streq(text, "false") || streq(text, "False"))
		return json_false();
	if (streq(text, "") || streq(text, "~") || streq(text, "null"))
		return json_null();
	/* A leading zero is text (account ids); fractions too ("1.30"). */
	if ((text[0] != '0' || text[1] == '\0') && str_to_i64(str_of(text), &n))
		return json_integer(n);
	return json_string(text);
}

static json_t *read_scalar(struct reader *r)
{
	const char *text = (const char *)r->event.data.scalar.value;
	bool plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		     !r->event.data.scalar.tag;

	return json_own(r->arena, plain ? plain_value(text) : json_string(text));
}

static json_t *read_sequence(struct reader *r)
{
	json_t *list = json_new_list(r->arena);

	for (;;) {
		json_t *item;

		if (!next_event(r))
			return NULL;
		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			return list;
		item = read_node(r);
		if (!item)
			return NULL;
		json_array_append(list, item);
	}
}

static json_t *read_mapping(struct reader *r)
{
	json_t *map = json_new_object(r->arena);

	for (;;) {
		const char *key;
		json_t *value;

		if (!next_event(r))
			return NULL;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			return map;
		if (r->event.type != YAML_SCALAR_EVENT) {
			r->error = "Template format error: a key must be a string";
			return NULL;
		}
		key = arena_strdup(r->arena, (const char *)r->event.data.scalar.value);
		if (json_object_get(map, key)) {
			r->error = arena_printf(
				r->arena, "Template format error: duplicate key %s", key);
			return NULL;
		}
		if (!next_event(r) || !(value = read_node(r)))
			return NULL;
		json_object_set(map, key, value);
	}
}

/* "!GetAtt A.B" is {"Fn::GetAtt": ["A", "B"]}. */
static json_t *expand_tag(struct reader *r, const char *tag, json_t *value)
{
	const char *name = tag + 1;
	const char *key = streq(name, "Ref") || streq(name, "Condition")
				  ? name
				  : arena_printf(r->arena, "Fn::%s", name);
	const char *text = json_string_value(value);
	const char *dot = text ? strchr(text, '.') : NULL;

	if (streq(name, "GetAtt") && dot)
		value = json_packf(r->arena, "[s#,s]", text, (int)(dot - text), dot + 1);
	return json_packf(r->arena, "{s:O}", key, value);
}

static json_t *read_node(struct reader *r)
{
	const char *tag = NULL;
	json_t *value = NULL;

	if (++r->depth > DEPTH_MAX) {
		r->error = "Template format error: nested too deeply";
		return NULL;
	}
	if (r->event.type == YAML_SCALAR_EVENT)
		tag = (const char *)r->event.data.scalar.tag;
	else if (r->event.type == YAML_SEQUENCE_START_EVENT)
		tag = (const char *)r->event.data.sequence_start.tag;
	else if (r->event.type == YAML_MAPPING_START_EVENT)
		tag = (const char *)r->event.data.mapping_start.tag;
	if (tag)
		tag = arena_strdup(r->arena, tag);

	if (r->event.type == YAML_SCALAR_EVENT)
		value = read_scalar(r);
	else if (r->event.type == YAML_SEQUENCE_START_EVENT)
		value = read_sequence(r);
	else if (r->event.type == YAML_MAPPING_START_EVENT)
		value = read_mapping(r);
	else
		r->error =
			"Template error: YAML aliases are not allowed in CloudFormation templates";
	r->depth--;
	if (value && tag && tag[0] == '!' && tag[1] != '\0')
		value = expand_tag(r, tag, value);
	return value;
}

static void parser_delete(void *p)
{
	yaml_parser_delete(p);
}

/* JSON is read by the same parser: YAML contains it. */
json_t *cfn_yaml_parse(struct arena *a, const char *text, const char **ret_error)
{
	struct reader r = {.arena = a};
	json_t *tree = NULL;

	r.parser = arena_new(a, yaml_parser_t);
	if (!yaml_parser_initialize(r.parser)) {
		*ret_error = "no memory";
		return NULL;
	}
	arena_defer(a, parser_delete, r.parser);
	yaml_parser_set_input_string(r.parser, (const unsigned char *)text, strlen(text));
	do {
		if (!next_event(&r))
			break;
	} while (r.event.type == YAML_STREAM_START_EVENT ||
		 r.event.type == YAML_DOCUMENT_START_EVENT);
	if (!r.error)
		tree = read_node(&r);
	drop_event(&r);
	if (tree && !json_is_object(tree)) {
		r.error = "Template format error: unsupported structure.";
		tree = NULL;
	}
	*ret_error = r.error;
	return tree;
}

json_t *cfn_template_parse(struct arena *a, const char *text, const char **ret_error)
{
	json_t *tree = cfn_yaml_parse(a, text, ret_error);

	if (tree && json_object_size(json_object_get(tree, "Resources")) == 0) {
		*ret_error =
			"Template format error: At least one Resources member must be defined.";
		tree = NULL;
	}
	return tree;
}
