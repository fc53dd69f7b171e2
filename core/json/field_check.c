#define PCRE2_CODE_UNIT_WIDTH 8
#include <math.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/json/field.h"
#include "core/json/field_repeat.h"
#include "core/json/field_text.h"
#include "core/json/tree.h"

/* A pattern that backtracks more than this is taken as not matching. */
enum {
	MATCH_LIMIT = 100000,
	MATCH_HEAP_KIB = 1024,
	MEANT_MAX = 512 /* nothing is meant by a longer text */
};

/* One check of one tree: where its violations gather. */
struct check {
	struct arena *arena;
	/* PCRE2 takes 20 KiB a match: not from the unit's arena, where the
	 * matches of a long list would add up to its cap. */
	struct arena scratch;
	struct violation *violations; /* LIMIT_VIOLATIONS of them, or NULL */
	size_t n;                     /* LIMIT_VIOLATIONS: there may be more */
};

/* Where we are; printed as a JSON pointer only when something is wrong there. */
struct place {
	const struct place *up; /* NULL: the root */
	const char *name;       /* NULL: a list position */
	size_t index;
	bool secret; /* nothing below may be shown */
};

static void print_place(struct buf *out, const struct place *at)
{
	if (!at->up)
		return;
	print_place(out, at->up);
	buf_addc(out, '/');
	if (!at->name) {
		buf_printf(out, "%zu", at->index);
		return;
	}
	/* RFC 6901 section 3 */
	for (const char *c = at->name; *c; c++) {
		if (*c == '~')
			buf_adds(out, "~0");
		else if (*c == '/')
			buf_adds(out, "~1");
		else
			buf_addc(out, *c);
	}
}

/*
 * Nothing more can be told: looking on would only cost the time of everybody else.
 * A refused list or map is not walked either, so that what a refusal costs is bounded
 * by our limits, not by what was sent.
 */
static bool is_full(const struct check *c)
{
	return c->n >= LIMIT_VIOLATIONS;
}

/* The next free violation, filled in but for `expected`. Not when full. */
static struct violation *violate(struct check *c, const struct place *at,
				 const char *detail, const char *seen)
{
	struct violation *v;
	struct buf pointer;

	if (!c->violations)
		c->violations = arena_array(c->arena, struct violation, LIMIT_VIOLATIONS);
	v = &c->violations[c->n++];
	buf_init(&pointer, c->arena, LIMIT_REQUEST_BODY);
	print_place(&pointer, at);
	str_copy(v->field, sizeof(v->field), buf_cstr(&pointer));
	str_copy(v->detail, sizeof(v->detail), detail);
	str_copy(v->seen, sizeof(v->seen), at->secret ? "(secret)" : seen);
	return v;
}

/* PCRE2's memory comes from the scratch arena and goes with it. */
static void *pcre_alloc(size_t n, void *arena)
{
	return arena_alloc(arena, n);
}

static void pcre_release(void *p, void *arena)
{
	(void)p;
	(void)arena;
}

static bool matches(struct check *c, const char *pattern, const char *z)
{
	pcre2_general_context *memory =
		pcre2_general_context_create(pcre_alloc, pcre_release, &c->scratch);
	pcre2_compile_context *compile = pcre2_compile_context_create(memory);
	pcre2_match_context *match = pcre2_match_context_create(memory);
	PCRE2_SIZE where;
	int why, found;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
					 PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED,
					 &why, &where, compile);

	/* Patterns are ours: one that does not compile is a bug. */
	if (!code) {
		fprintf(stderr, "field: pattern %s: error %d at %zu\n", pattern, why,
			(size_t)where);
		abort();
	}
	pcre2_set_match_limit(match, MATCH_LIMIT);
	pcre2_set_heap_limit(match, MATCH_HEAP_KIB);
	found = pcre2_match(code, (PCRE2_SPTR)z, strlen(z), 0, 0,
			    pcre2_match_data_create_from_pattern(code, memory), match);
	arena_reset(&c->scratch);
	return found > 0;
}

static bool allowed(const char *const *one_of, const char *z)
{
	if (!one_of)
		return true;
	for (; *one_of; one_of++)
		if (streq(*one_of, z))
			return true;
	return false;
}

static bool fits_length(const struct field *f, size_t n)
{
	return (int64_t)n >= f->min && !(field_has_max(f) && (int64_t)n > f->max);
}

/* "" when nothing comes to mind, or what does would be refused as well. */
static const char *hint(struct check *c, const struct field *f, const json_t *value)
{
	const bool guess =
		f->meant && value &&
		(!json_is_string(value) || json_string_length(value) < MEANT_MAX);
	const char *z = guess ? f->meant(c->arena, value) : NULL;

	if (!z || !fits_length(f, field_characters(z)) || !allowed(f->one_of, z) ||
	    (f->pattern && !matches(c, f->pattern, z)))
		return "";
	return arena_printf(c->arena, "did you mean \"%s\"? ", z);
}

static void refuse(struct check *c, const struct place *at, const struct field *f,
		   const json_t *value, const char *detail)
{
	struct violation *v;

	if (is_full(c))
		return;
	v = violate(c, at, detail, value ? field_show(c->arena, value) : NULL);
	str_copy(v->expected, sizeof(v->expected),
		 arena_printf(c->arena, "%s%s", hint(c, f, value),
			      field_expected(c->arena, f)));
}

/* false: it was refused. */
static bool check_length(struct check *c, const struct place *at, const struct field *f,
			 const json_t *value, size_t n)
{
	if ((int64_t)n < f->min)
		refuse(c, at, f, value, n == 0 ? "must not be empty" : "is too short");
	else if (field_has_max(f) && (int64_t)n > f->max)
		refuse(c, at, f, value, "is too long");
	else
		return true;
	return false;
}

/* false: it was refused. */
static bool check_words(struct check *c, const struct place *at, const struct field *f,
			const json_t *value)
{
	const char *z = json_string_value(value);

	if (!allowed(f->one_of, z))
		refuse(c, at, f, value, "is not one of the allowed values");
	else if (f->pattern && !matches(c, f->pattern, z))
		refuse(c, at, f, value, "has an invalid format");
	else
		return true;
	return false;
}

static void check_string(struct check *c, const struct place *at, const struct field *f,
			 const json_t *value)
{
	const char *why = "has an invalid format";

	/* Not by the number of refusals: when they are full, it does not grow. */
	if (!json_is_string(value))
		refuse(c, at, f, value, "has the wrong type");
	else if (check_length(c, at, f, value,
			      field_characters(json_string_value(value))) &&
		 check_words(c, at, f, value) && f->normal &&
		 !f->normal(c->arena, json_string_value(value), &why))
		refuse(c, at, f, value, why);
}

/* 3.0 is a whole number: JSON Schema says so, and languages without integers write
 * it. Beyond 2^53 nobody can say which number a fraction stood for. */
static bool is_whole(const json_t *value)
{
	double number = json_real_value(value);

	if (json_is_integer(value))
		return true;
	return json_is_real(value) && number == floor(number) &&
	       fabs(number) <= 9007199254740992.0;
}

static void check_number(struct check *c, const struct place *at, const struct field *f,
			 const json_t *value)
{
	const bool whole = f->type == FIELD_INT;
	double number;

	if (whole ? !is_whole(value) : !json_is_number(value)) {
		refuse(c, at, f, value, "has the wrong type");
		return;
	}
	if (whole) {
		const int64_t i = json_is_real(value) ? (int64_t)json_real_value(value)
						      : json_integer_value(value);

		if ((field_has_min(f) && i < f->min) || (field_has_max(f) && i > f->max))
			refuse(c, at, f, value, "is out of range");
		return;
	}
	number = json_number_value(value);
	if ((field_has_min(f) && number < (double)f->min) ||
	    (field_has_max(f) && number > (double)f->max))
		refuse(c, at, f, value, "is out of range");
}

static void refuse_name(struct check *c, const struct place *at, const struct field *f,
			const char *name)
{
	struct violation *v;

	if (is_full(c))
		return;
	v = violate(c, at, "has a name that is not allowed", name);
	str_copy(v->expected, sizeof(v->expected),
		 arena_printf(c->arena, "a name matching %s", f->keys));
}

static void refuse_repeat(struct check *c, const struct place *at, const char *seen,
			  const char *detail, const char *expected)
{
	struct violation *v = violate(c, at, detail, seen);

	str_copy(v->expected, sizeof(v->expected), expected);
}

static void check_map(struct check *c, const struct place *at, const struct field *f,
		      const json_t *value)
{
	/* What is said of a value is about it, not about the map. */
	const struct field each = {.name = f->name,
				   .type = FIELD_STR,
				   .pattern = f->pattern,
				   .one_of = f->one_of};
	const char *name;
	json_t *member;

	if (!json_is_object(value)) {
		refuse(c, at, f, value, "has the wrong type");
		return;
	}
	if (!check_length(c, at, f, value, json_object_size(value)))
		return;
	json_object_foreach((json_t *)(uintptr_t)value, name, member) {
		const struct place here = {.up = at, .name = name, .secret = at->secret};

		if (is_full(c))
			return;
		if (f->keys && !matches(c, f->keys, name))
			refuse_name(c, &here, f, name);
		else if (f->flags & FIELD_NOCASE && field_same_name(value, name))
			refuse_repeat(
				c, &here, name,
				arena_printf(
					c->arena,
					"is the same name as %s: names are not case-sensitive here",
					field_same_name(value, name)),
				"one of the two names");
		else if (!json_is_string(member))
			refuse(c, &here, &each, member, "has the wrong type");
		else
			(void)check_words(c, &here, &each, member);
	}
}

static void check_members(struct check *c, const struct place *at,
			  const struct field *fields, bool open, const json_t *tree);

static void check_one(struct check *c, const struct place *at, const struct field *f,
		      const json_t *value)
{
	switch (f->type) {
	case FIELD_STR:
	case FIELD_STRS:
		check_string(c, at, f, value);
		return;
	case FIELD_INT:
	case FIELD_NUM:
		check_number(c, at, f, value);
		return;
	case FIELD_BOOL:
		if (!json_is_boolean(value))
			refuse(c, at, f, value, "has the wrong type");
		return;
	case FIELD_OBJECT:
		if (!json_is_object(value))
			refuse(c, at, f, value, "has the wrong type");
		else if (f->fields)
			check_members(c, at, f->fields, f->flags & FIELD_OPEN, value);
		return;
	case FIELD_MAP:
		check_map(c, at, f, value);
		return;
	case FIELD_ANY:
		return;
	}
}

/* min and max are the list's: its members have none of their own. */
static void check_list(struct check *c, const struct place *at, const struct field *f,
		       const json_t *value)
{
	struct field item = *f;
	size_t first;

	if (!json_is_array(value)) {
		refuse(c, at, f, value, "has the wrong type");
		return;
	}
	if (!check_length(c, at, f, value, json_array_size(value)))
		return;
	item.flags &= ~(unsigned)FIELD_MANY;
	item.min = 0;
	item.max = 0;
	if (item.type == FIELD_STRS)
		item.type = FIELD_STR;
	for (size_t i = 0; i < json_array_size(value) && !is_full(c); i++) {
		const struct place here = {.up = at, .index = i, .secret = at->secret};

		check_one(c, &here, &item, json_array_get(value, i));
		if (!is_full(c) && field_repeats(f, value, i, &first, c->arena))
			refuse_repeat(
				c, &here,
				field_unique_shown(f, json_array_get(value, i), c->arena),
				arena_printf(c->arena,
					     "has the same %s as item %zu of the list "
					     "(counted from 0)",
					     field_unique_text(f, c->arena), first),
				arena_printf(c->arena, "each %s once",
					     field_unique_text(f, c->arena)));
	}
}

static void check_unknown(struct check *c, const struct place *at,
			  const struct field *fields, const json_t *tree)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)tree, name, value) {
		const struct place here = {.up = at, .name = name, .secret = at->secret};
		struct violation *v;

		if (is_full(c))
			return;
		if (field_find(fields, name))
			continue;
		/* Its value may be a secret under a misspelt name. */
		v = violate(c, &here, "is not a known member", name);
		str_copy(v->expected, sizeof(v->expected),
			 field_nearest(c->arena, fields, name));
	}
}

static void check_members(struct check *c, const struct place *at,
			  const struct field *fields, bool open, const json_t *tree)
{
	const struct field *f;

	for (f = fields; f->name; f++) {
		const json_t *value = json_object_get(tree, f->name);
		const struct place here = {.up = at,
					   .name = f->name,
					   .secret = at->secret ||
						     (f->flags & FIELD_SECRET)};

		if (!value) {
			if (f->flags & FIELD_REQUIRED)
				refuse(c, &here, f, NULL, "is missing");
		} else if (json_is_null(value) && (f->flags & FIELD_NULLABLE)) {
			continue;
		} else if (f->type == FIELD_STRS || (f->flags & FIELD_MANY)) {
			check_list(c, &here, f, value);
		} else {
			check_one(c, &here, f, value);
		}
	}
	/* f is the ending row: it may say that further members are welcome. */
	if (!open && !(f->flags & FIELD_OPEN))
		check_unknown(c, at, fields, tree);
}

static bool report(const struct check *c, struct err *e)
{
	const struct violation *v = c->violations;
	const char *where = v->field[0] ? v->field : "The value";

	if (c->n == 1)
		err_set(e, ERR_INVALID_INPUT, "%s %s", where, v->detail);
	else
		err_set(e, ERR_INVALID_INPUT, "%s%zu values are not valid; %s %s",
			is_full(c) ? "At least " : "", c->n, where, v->detail);
	err_field(e, v->field, v->seen, v->expected);
	e->violations = v;
	e->n_violations = c->n;
	return false;
}

bool field_validate(const struct field *fields, const json_t *tree, struct arena *a,
		    struct err *e)
{
	const struct field root = {.name = "", .type = FIELD_OBJECT, .fields = fields};
	const struct place here = {.up = NULL};
	struct check c = {.arena = a};

	check_one(&c, &here, &root, tree);
	arena_free(&c.scratch);
	return c.n == 0 || report(&c, e);
}
