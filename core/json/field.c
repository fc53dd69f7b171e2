#include "core/json/field.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/json/tree.h"

const struct field *field_find(const struct field *fields, const char *name)
{
	for (const struct field *f = fields; f->name; f++)
		if (streq(f->name, name))
			return f;
	return NULL;
}

static json_t *number_from(struct str text)
{
	/* No number that JSON would carry exactly is longer. */
	char copy[64];
	char *end;
	double value;

	if (text.n == 0 || text.n >= sizeof(copy))
		return NULL;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	/* strtod also takes blanks, hexadecimals, "inf" and "nan". */
	if (strspn(copy, "+-.0123456789eE") != text.n)
		return NULL;
	value = strtod(copy, &end);
	/* NULL for a value that overflowed: JSON has no infinities. */
	return *end == '\0' ? json_real(value) : NULL;
}

/* NULL when the text does not fit. */
static json_t *scalar_from(enum field_type type, struct str text)
{
	int64_t i;

	switch (type) {
	case FIELD_INT:
		return str_to_i64(text, &i) ? json_integer(i) : NULL;
	case FIELD_NUM:
		return number_from(text);
	case FIELD_BOOL:
		if (str_is(text, "true") || str_is(text, "1"))
			return json_true();
		if (str_is(text, "false") || str_is(text, "0"))
			return json_false();
		return NULL;
	case FIELD_OBJECT:
	case FIELD_MAP:
	case FIELD_ANY:
		return json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, NULL);
	case FIELD_STR:
	case FIELD_STRS:
		break;
	}
	return NULL;
}

static json_t *one_from(enum field_type type, struct str text)
{
	json_t *value = scalar_from(type, text);

	return value ? value : json_stringn(text.p, text.n);
}

json_t *field_from_text(const struct field *f, const char *text)
{
	struct str rest = str_of(text);
	json_t *list;

	if (!str_is_utf8(rest))
		return NULL;
	if (f->type != FIELD_STRS && !(f->flags & FIELD_MANY))
		return one_from(f->type, rest);
	list = json_array();
	/* An empty text is an empty list, not a list of one empty string. */
	while (rest.p && text[0])
		json_push(list, one_from(f->type, str_cut(&rest, ',')));
	return list;
}

/* --- masks ------------------------------------------------------------------- */

static json_t *mask_members(const struct field *fields, const json_t *in, size_t *left);

/* A copy of as much as `left` allows, in values; a new reference. */
static json_t *copy_some(const json_t *in, size_t *left)
{
	const char *name;
	json_t *copy, *value;

	if (*left == 0)
		return json_string("(more)");
	--*left;
	if (json_is_array(in)) {
		copy = json_array();
		for (size_t i = 0; i < json_array_size(in) && *left > 0; i++)
			json_array_append_new(copy,
					      copy_some(json_array_get(in, i), left));
		return copy;
	}
	if (!json_is_object(in))
		return json_incref((json_t *)(uintptr_t)in);
	copy = json_object();
	json_object_foreach((json_t *)(uintptr_t)in, name, value) {
		if (*left == 0)
			break;
		json_object_set_new(copy, name, copy_some(value, left));
	}
	return copy;
}

static json_t *mask_member(const struct field *f, const json_t *value, size_t *left)
{
	json_t *list;

	/* A misspelt name may hold what should have been a secret. */
	if (!f)
		return json_string("(unknown)");
	if (f->flags & FIELD_SECRET)
		return json_string("(secret)");
	if (!f->fields)
		return copy_some(value, left);
	if (!json_is_array(value))
		return mask_members(f->fields, value, left);
	list = json_array();
	for (size_t i = 0; i < json_array_size(value) && *left > 0; i++)
		json_array_append_new(
			list, mask_members(f->fields, json_array_get(value, i), left));
	return list;
}

static json_t *mask_members(const struct field *fields, const json_t *in, size_t *left)
{
	json_t *copy, *value;
	const char *name;

	if (!json_is_object(in))
		return copy_some(in, left);
	copy = json_object();
	json_object_foreach((json_t *)(uintptr_t)in, name, value) {
		if (*left == 0)
			break;
		--*left;
		json_object_set_new(copy, name,
				    mask_member(field_find(fields, name), value, left));
	}
	return copy;
}

json_t *field_mask(const struct field *fields, const json_t *in, struct arena *a)
{
	size_t left = LIMIT_MASKED_VALUES;

	return in ? json_own(a, mask_members(fields, in, &left)) : json_new_object(a);
}
