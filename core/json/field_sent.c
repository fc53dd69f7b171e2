/* What callers send where they mean nothing, or the value in other clothes. */
#include <string.h>

#include "core/json/field.h"
#include "core/json/tree.h"

static json_t *sent_members(const struct field *fields, const json_t *in, bool texts,
			    struct arena *a);

/* Languages that always send every member send null or "" for what is not set. */
static bool is_blank(const struct field *f, const json_t *value)
{
	if (f->flags & FIELD_REQUIRED || f->type == FIELD_ANY)
		return false;
	return json_is_null(value) ||
	       (json_is_string(value) && json_string_length(value) == 0);
}

static bool is_list(const struct field *f)
{
	return f->type == FIELD_STRS || f->flags & FIELD_MANY;
}

static bool is_wanted(const struct field *f, const json_t *value)
{
	if (is_list(f))
		return json_is_array(value);
	switch (f->type) {
	case FIELD_INT:
	case FIELD_NUM:
		return json_is_number(value);
	case FIELD_BOOL:
		return json_is_boolean(value);
	case FIELD_OBJECT:
	case FIELD_MAP:
		return json_is_object(value);
	case FIELD_STR:
	case FIELD_STRS:
	case FIELD_ANY:
		break;
	}
	return false;
}

/* "5" where a number is wanted, "[\"a\"]" where a list is: models write that. */
static json_t *out_of_text(const struct field *f, const json_t *value, struct arena *a)
{
	struct err ignored = {0};
	json_t *parsed;

	if (!json_is_string(value) || f->flags & FIELD_SECRET ||
	    (f->type == FIELD_STR && !is_list(f)))
		return NULL;
	parsed = json_parse(
		a, (struct str){json_string_value(value), json_string_length(value)},
		&ignored);
	return parsed && is_wanted(f, parsed) ? parsed : NULL;
}

static json_t *sent_value(const struct field *f, json_t *value, bool texts,
			  struct arena *a)
{
	json_t *parsed = texts ? out_of_text(f, value, a) : NULL;
	json_t *list;

	if (parsed)
		value = parsed;
	if (f->type != FIELD_OBJECT || !f->fields)
		return value;
	if (!is_list(f))
		return json_is_object(value) ? sent_members(f->fields, value, texts, a)
					     : value;
	/* One that is too long is refused as it is. */
	if (!json_is_array(value) || (f->max && json_array_size(value) > (size_t)f->max))
		return value;
	list = json_new_list(a);
	for (size_t i = 0; i < json_array_size(value); i++) {
		struct field item = *f;

		item.flags &= ~(unsigned)FIELD_MANY;
		json_array_append(list,
				  sent_value(&item, json_array_get(value, i), texts, a));
	}
	return list;
}

static json_t *sent_members(const struct field *fields, const json_t *in, bool texts,
			    struct arena *a)
{
	json_t *out = json_new_object(a);
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)in, name, value) {
		const struct field *f = field_find(fields, name);

		if (!f)
			json_object_set(out, name, value);
		else if (!is_blank(f, value))
			json_object_set(out, name, sent_value(f, value, texts, a));
	}
	return out;
}

json_t *field_sent(const struct field *fields, const json_t *in, bool texts,
		   struct arena *a)
{
	return sent_members(fields, in, texts, a);
}
