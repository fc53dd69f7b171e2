#include <string.h>

#include "core/json/field.h"
#include "core/json/field_repeat.h"
#include "core/json/field_text.h"
#include "core/json/tree.h"

/*
 * Plain schemas only: clients of MCP drop or refuse $ref, combinators, lists
 * without `items` and types that are lists. The one list of types is that of a
 * nullable member of an answer, which nothing plainer describes.
 */

static json_t *object_schema(const struct field *fields, bool open, struct arena *a);

/* That a length is not negative need not be said. */
static void put_bounds(json_t *s, const struct field *f, const char *least,
		       const char *most)
{
	if (field_has_min(f) && (f->min != 0 || streq(least, "minimum")))
		json_put_int(s, least, f->min);
	if (field_has_max(f))
		json_put_int(s, most, f->max);
}

static void put_words(json_t *s, const struct field *f)
{
	json_t *words;

	if (f->pattern)
		json_object_set_new(
			s, "pattern",
			json_sprintf(strchr(f->pattern, '|') ? "^(?:%s)$" : "^%s$",
				     f->pattern));
	if (!f->one_of)
		return;
	words = json_array();
	for (const char *const *word = f->one_of; *word; word++)
		json_push(words, json_string(*word));
	if (f->flags & FIELD_NULLABLE)
		json_push(words, json_null());
	json_object_set_new(s, "enum", words);
}

static void put_type(json_t *s, const struct field *f, const char *type)
{
	if (f->flags & FIELD_NULLABLE)
		json_object_set_new(s, "type", json_pack("[s, s]", type, "null"));
	else
		json_object_set_new(s, "type", json_string(type));
}

/* What a single value of the row is; a new reference. */
static json_t *value_schema(const struct field *f, struct arena *a)
{
	json_t *s = json_object();

	switch (f->type) {
	case FIELD_STR:
	case FIELD_STRS:
		put_type(s, f, "string");
		put_bounds(s, f, "minLength", "maxLength");
		put_words(s, f);
		break;
	case FIELD_INT:
		put_type(s, f, "integer");
		put_bounds(s, f, "minimum", "maximum");
		break;
	case FIELD_NUM:
		put_type(s, f, "number");
		put_bounds(s, f, "minimum", "maximum");
		break;
	case FIELD_BOOL:
		put_type(s, f, "boolean");
		break;
	case FIELD_OBJECT:
		if (f->fields)
			json_object_update(
				s, object_schema(f->fields, f->flags & FIELD_OPEN, a));
		else if (f->flags & FIELD_OPEN)
			json_put_bool(s, "additionalProperties", true);
		put_type(s, f, "object");
		break;
	case FIELD_MAP:
		put_type(s, f, "object");
		put_bounds(s, f, "minProperties", "maxProperties");
		json_put(s, "additionalProperties", json_pack("{s:s}", "type", "string"));
		put_words(json_at(s, "additionalProperties"), f);
		break;
	case FIELD_ANY:
		break;
	}
	return s;
}

static json_t *list_schema(const struct field *f, struct arena *a)
{
	json_t *s = json_object();
	struct field item = *f;

	put_type(s, f, "array");
	put_bounds(s, f, "minItems", "maxItems");
	if (field_is_set(f))
		json_put_bool(s, "uniqueItems", true);
	item.flags &= ~(unsigned)(FIELD_MANY | FIELD_NULLABLE);
	item.min = 0;
	item.max = 0;
	json_object_set_new(s, "items", value_schema(&item, a));
	return s;
}

static json_t *member_schema(const struct field *f, struct arena *a)
{
	const bool many = f->type == FIELD_STRS || (f->flags & FIELD_MANY);
	json_t *s = many ? list_schema(f, a) : value_schema(f, a);

	/* A unit that the sentence names already is not named again. */
	if (f->doc && f->unit && !strcasestr(f->doc, f->unit))
		json_object_set_new(s, "description",
				    json_sprintf("%s Unit: %s.", f->doc, f->unit));
	else if (f->doc)
		json_put_str(s, "description", f->doc);
	if (f->dflt)
		json_object_set(s, "default", field_literal(a, f->dflt));
	if (f->example)
		json_object_set_new(s, "examples",
				    json_pack("[O]", field_literal(a, f->example)));
	return s;
}

/* Owned by the arena. */
static json_t *object_schema(const struct field *fields, bool open, struct arena *a)
{
	json_t *s = json_new_object(a);
	json_t *properties = json_object();
	json_t *required = json_array();
	const struct field *f;

	for (f = fields; f->name; f++) {
		json_object_set_new(properties, f->name, member_schema(f, a));
		if (f->flags & FIELD_REQUIRED)
			json_push(required, json_string(f->name));
	}
	json_put_str(s, "type", "object");
	json_object_set_new(s, "properties", properties);
	if (json_array_size(required) > 0)
		json_object_set(s, "required", required);
	json_decref(required);
	json_put_bool(s, "additionalProperties", open || (f->flags & FIELD_OPEN));
	return s;
}

json_t *field_schema(const struct field *fields, struct arena *a)
{
	return object_schema(fields, false, a);
}
