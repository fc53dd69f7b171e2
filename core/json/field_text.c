#include "core/json/field_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/json/tree.h"

/* What a violation can hold is shorter: longer texts are cut there. */
enum { TEXT_MAX = 1024, NAME_MAX_LEN = 64 };

bool field_has_min(const struct field *f)
{
	return f->min != 0 || f->max != 0;
}

bool field_has_max(const struct field *f)
{
	return f->max != 0 || f->min < 0;
}

size_t field_characters(const char *z)
{
	size_t n = 0;

	for (; *z; z++)
		n += ((unsigned char)*z & 0xC0) != 0x80;
	return n;
}

json_t *field_literal(struct arena *a, const char *text)
{
	json_t *tree = json_loads(text, JSON_DECODE_ANY, NULL);

	if (!tree)
		fprintf(stderr, "field: no JSON text: %s\n", text);
	return json_own(a, tree);
}

const char *field_show(struct arena *a, const json_t *value)
{
	/* More than a violation takes need not be printed to be cut. */
	enum { SHOWN = 90 };
	const char *z;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return json_object_size(value) == 0 ? "{}" : "an object";
	case JSON_ARRAY:
		return arena_printf(a, "a list of %zu", json_array_size(value));
	case JSON_STRING:
		z = json_string_value(value);
		if (strlen(z) > SHOWN) {
			char cut[SHOWN];

			str_copy(cut, sizeof(cut), z);
			return arena_printf(a, "\"%s…", cut);
		}
		return json_text(a, value);
	case JSON_INTEGER:
	case JSON_REAL:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
	return json_text(a, value);
}

/* " of 1 to 63 characters", " from 1 to 9", " with at least 1 members" */
static void add_bounds(struct buf *out, const struct field *f, const char *of,
		       const char *things)
{
	if (field_has_min(f) && field_has_max(f))
		buf_printf(out, "%s%lld to %lld%s", of, (long long)f->min,
			   (long long)f->max, things);
	else if (field_has_min(f))
		buf_printf(out, "%sat least %lld%s", of, (long long)f->min, things);
}

static void add_words(struct buf *out, const struct field *f)
{
	for (const char *const *word = f->one_of; word && *word; word++)
		buf_printf(out, "%s%s", word == f->one_of ? "" : ", ", *word);
}

static void add_kind(struct buf *out, const struct field *f, bool many)
{
	switch (f->type) {
	case FIELD_STR:
	case FIELD_STRS:
		if (f->one_of) {
			buf_adds(out, many ? "strings out of " : "one of ");
			add_words(out, f);
			return;
		}
		buf_adds(out, many ? "strings" : "a string");
		if (!many)
			add_bounds(out, f, " of ", " characters");
		if (f->pattern)
			buf_printf(out, " matching %s", f->pattern);
		return;
	case FIELD_INT:
	case FIELD_NUM:
		buf_adds(out, f->type == FIELD_INT
				      ? (many ? "whole numbers" : "a whole number")
				      : (many ? "numbers" : "a number"));
		if (!many)
			add_bounds(out, f, " of ", "");
		return;
	case FIELD_BOOL:
		buf_adds(out, many ? "booleans" : "true or false");
		return;
	case FIELD_OBJECT:
		buf_adds(out, many ? "objects" : "an object");
		return;
	case FIELD_MAP:
		buf_adds(out, many ? "objects of strings" : "an object of strings");
		if (!many)
			add_bounds(out, f, " with ", " members");
		return;
	case FIELD_ANY:
		buf_adds(out, many ? "values" : "a value");
		return;
	}
}

const char *field_expected(struct arena *a, const struct field *f)
{
	const bool many = f->type == FIELD_STRS || (f->flags & FIELD_MANY);
	struct buf out;

	buf_init(&out, a, TEXT_MAX);
	if (many) {
		buf_adds(&out, "a list of ");
		if (field_has_min(f))
			add_bounds(&out, f, "", " ");
	}
	add_kind(&out, f, many);
	if (f->unit)
		buf_printf(&out, " (%s)", f->unit);
	if (f->example)
		buf_printf(&out, ", for example %s", f->example);
	return buf_cstr(&out);
}

/* "node-count", "nodeCount" and "NodeCount" are the same slip of node_count. */
static size_t fold(char *dst, size_t size, const char *name)
{
	size_t n = 0;

	for (; *name && n < size; name++) {
		const char c = *name;

		if (c >= 'A' && c <= 'Z')
			dst[n++] = (char)(c - 'A' + 'a');
		else if (c != '-' && c != '_' && c != ' ')
			dst[n++] = c;
	}
	return n;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein distance of the folded names. */
static size_t distance(const char *left, const char *right)
{
	char l[NAME_MAX_LEN], r[NAME_MAX_LEN];
	const size_t nl = fold(l, sizeof(l), left), nr = fold(r, sizeof(r), right);
	size_t row[NAME_MAX_LEN + 1];

	for (size_t j = 0; j <= nr; j++)
		row[j] = j;
	for (size_t i = 1; i <= nl; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nr; j++) {
			const size_t change = corner + (l[i - 1] != r[j - 1]);

			corner = row[j];
			row[j] = least(change, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[nr];
}

const char *field_nearest(struct arena *a, const struct field *fields, const char *name)
{
	const struct field *best = NULL;
	/* Farther than a third of its letters, a name is another word. */
	size_t best_distance = least(strlen(name), NAME_MAX_LEN) / 3 + 1;
	struct buf out;

	for (const struct field *f = fields; f->name; f++) {
		const size_t d = distance(f->name, name);

		if (d < best_distance) {
			best_distance = d;
			best = f;
		}
	}
	if (best)
		return arena_printf(a, "did you mean %s?", best->name);
	buf_init(&out, a, TEXT_MAX);
	buf_adds(&out, fields->name ? "one of " : "no members at all");
	for (const struct field *f = fields; f->name; f++)
		buf_printf(&out, "%s%s", f == fields ? "" : ", ", f->name);
	return buf_cstr(&out);
}
