#include "core/json/field.h"

#include <stdlib.h>
#include <string.h>

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

static void mask_members(const struct field *fields, json_t *tree);

static void mask_member(const struct field *f, json_t *tree, json_t *value)
{
	if (f->flags & FIELD_SECRET) {
		json_object_set_new(tree, f->name, json_string("(secret)"));
	} else if (f->fields && json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value); i++)
			mask_members(f->fields, json_array_get(value, i));
	} else if (f->fields) {
		mask_members(f->fields, value);
	}
}

static void mask_members(const struct field *fields, json_t *tree)
{
	const char *name;
	json_t *value;

	/* Replacing the value of a member that exists keeps the walk valid. */
	json_object_foreach(tree, name, value) {
		const struct field *f = field_find(fields, name);

		/* A misspelt name may hold what should have been a secret. */
		if (f)
			mask_member(f, tree, value);
		else
			json_object_set_new(tree, name, json_string("(unknown)"));
	}
}

json_t *field_mask(const struct field *fields, const json_t *in, struct arena *a)
{
	json_t *copy = json_own(a, in ? json_deep_copy(in) : json_object());

	mask_members(fields, copy);
	return copy;
}
