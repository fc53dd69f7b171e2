#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/json/field.h"
#include "core/json/field_text.h"
#include "core/json/tree.h"

static void store_members(const struct field *fields, const json_t *in, struct arena *a,
			  void *ret);

static void *at_offset(void *base, const struct field *f)
{
	return (char *)base + f->offset;
}

static const void *at_offset_const(const void *base, const struct field *f)
{
	return (const char *)base + f->offset;
}

static struct str_list strings_of(const json_t *list, struct arena *a)
{
	struct str_list l = {.n = json_array_size(list)};

	if (l.n > 0)
		l.v = arena_array(a, const char *, l.n);
	for (size_t i = 0; i < l.n; i++)
		l.v[i] = arena_strdup(a, json_string_value(json_array_get(list, i)));
	return l;
}

static struct field_list objects_of(const struct field *f, const json_t *list,
				    struct arena *a)
{
	struct field_list l = {.n = json_array_size(list)};

	if (l.n > 0)
		l.v = arena_calloc(a, l.n, f->size);
	for (size_t i = 0; i < l.n; i++)
		store_members(f->fields, json_array_get(list, i), a,
			      (char *)l.v + i * f->size);
	return l;
}

static const char *text_of(const struct field *f, const char *text, struct arena *a)
{
	const char *why = NULL;

	if (!f->normal)
		return arena_strdup(a, text);
	text = f->normal(a, text, &why);
	return text && *text ? text : NULL;
}

/* The value has been checked: its type is what the row says. */
static void store(const struct field *f, const json_t *value, struct arena *a, void *ret)
{
	void *at = at_offset(ret, f);

	if (f->flags & FIELD_MANY) {
		assert(f->type == FIELD_OBJECT);
		*(struct field_list *)at = objects_of(f, value, a);
		return;
	}
	switch (f->type) {
	case FIELD_STR:
		*(const char **)at = text_of(f, json_string_value(value), a);
		return;
	case FIELD_INT:
		*(int64_t *)at = json_is_real(value) ? (int64_t)json_real_value(value)
						     : json_integer_value(value);
		return;
	case FIELD_BOOL:
		*(bool *)at = json_is_true(value);
		return;
	case FIELD_NUM:
		*(double *)at = json_number_value(value);
		return;
	case FIELD_STRS:
		*(struct str_list *)at = strings_of(value, a);
		return;
	case FIELD_OBJECT:
		store_members(f->fields, value, a, at);
		return;
	case FIELD_MAP:
	case FIELD_ANY:
		*(json_t **)at = (json_t *)(uintptr_t)value;
		return;
	}
}

static void store_members(const struct field *fields, const json_t *in, struct arena *a,
			  void *ret)
{
	for (const struct field *f = fields; f->name; f++) {
		const json_t *value = json_object_get(in, f->name);

		if (json_is_null(value))
			value = NULL;
		if (!value && f->dflt)
			value = field_literal(a, f->dflt);
		if (value)
			store(f, value, a, ret);
		else if (f->type == FIELD_OBJECT && !(f->flags & FIELD_MANY))
			store_members(f->fields, NULL, a, at_offset(ret, f));
	}
}

/* Everything to its zero: what no value and no default fills. */
static void clear_members(const struct field *fields, void *ret)
{
	static const size_t sizes[] = {
		[FIELD_STR] = sizeof(const char *),
		[FIELD_INT] = sizeof(int64_t),
		[FIELD_BOOL] = sizeof(bool),
		[FIELD_NUM] = sizeof(double),
		[FIELD_STRS] = sizeof(struct str_list),
		[FIELD_MAP] = sizeof(json_t *),
		[FIELD_ANY] = sizeof(json_t *),
	};

	for (const struct field *f = fields; f->name; f++) {
		if (f->flags & FIELD_MANY)
			memset(at_offset(ret, f), 0, sizeof(struct field_list));
		else if (f->type == FIELD_OBJECT)
			memset(at_offset(ret, f), 0, f->size);
		else
			memset(at_offset(ret, f), 0, sizes[f->type]);
	}
}

bool field_decode(const struct field *fields, const json_t *in, struct arena *a,
		  void *ret, struct err *e)
{
	if (!in)
		in = json_new_object(a);
	if (!field_validate(fields, in, a, e))
		return false;
	clear_members(fields, ret);
	store_members(fields, in, a, ret);
	return true;
}

static json_t *encode_members(const struct field *fields, const void *in);

static json_t *encode_list(const struct field *f, const struct field_list *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_push(list,
			  encode_members(f->fields, (const char *)l->v + i * f->size));
	return list;
}

static json_t *encode_strings(const struct str_list *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_push(list, json_string(l->v[i]));
	return list;
}

/* NULL: the member is not there. */
static json_t *encode(const struct field *f, const void *in)
{
	const void *at = at_offset_const(in, f);
	json_t *tree;

	if (f->flags & FIELD_MANY)
		return encode_list(f, at);
	switch (f->type) {
	case FIELD_STR:
		return *(const char *const *)at ? json_string(*(const char *const *)at)
						: NULL;
	case FIELD_INT:
		return json_integer(*(const int64_t *)at);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	case FIELD_NUM:
		return json_real(*(const double *)at);
	case FIELD_STRS:
		return encode_strings(at);
	case FIELD_OBJECT:
		return encode_members(f->fields, at);
	case FIELD_MAP:
	case FIELD_ANY:
		tree = *(json_t *const *)at;
		return tree ? json_deep_copy(tree) : NULL;
	}
	return NULL;
}

static json_t *encode_members(const struct field *fields, const void *in)
{
	json_t *tree = json_object();

	for (const struct field *f = fields; f->name; f++) {
		json_t *value = encode(f, in);

		if (value)
			json_object_set_new(tree, f->name, value);
	}
	return tree;
}

json_t *field_encode(const struct field *fields, const void *in, struct arena *a)
{
	return json_own(a, encode_members(fields, in));
}
