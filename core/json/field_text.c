#include "core/json/field_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/nearest.h"
#include "core/json/tree.h"

/* What a violation can hold is shorter: longer texts are cut there. */
enum { TEXT_MAX = 1024 };

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
		if (json_object_size(value) == 0)
			return "{}";
		return arena_printf(a, "an object of %zu", json_object_size(value));
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

/*
 * What AWS, Kubernetes, Terraform and models call what a member of ours is called, in
 * any spelling. Where several of ours are listed for a name, the first that the
 * object has is meant.
 */
static const struct alias {
	const char *theirs, *ours;
} aliases[] = {
#define A(ours, theirs) {theirs, ours},
#include "core/json/aliases.def"
#undef A
};

static const char *find_alias(const struct field *fields, const char *name)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (nearest_same(aliases[i].theirs, name) &&
		    field_find(fields, aliases[i].ours))
			return aliases[i].ours;
	return NULL;
}

const char *field_nearest(struct arena *a, const struct field *fields, const char *name)
{
	struct nearest near = {.wanted = name};
	struct buf out;

	for (const struct field *f = fields; f->name; f++)
		nearest_offer(&near, f->name);
	if (!near.best || near.distance > 0) {
		const char *alias = find_alias(fields, name);

		near.best = alias ? alias : near.best;
	}
	if (near.best)
		return nearest_hint(&near, a, NULL);
	buf_init(&out, a, TEXT_MAX);
	buf_adds(&out, fields->name ? "one of " : "no members");
	for (const struct field *f = fields; f->name; f++)
		buf_printf(&out, "%s%s", f == fields ? "" : ", ", f->name);
	return buf_cstr(&out);
}
