/*
 * field.h - one declaration of a JSON object: decode, encode, schema.
 *
 * A struct field[] (ended by a row without a name) describes the members of an
 * object. Input descriptors are tied to a C struct by FIELD(): the C type of
 * the member chooses the JSON type (_Generic), so a wrong member type does not
 * compile. Output descriptors (OUT()) have no struct: answers are trees or SQL
 * JSON, and tests validate them against the descriptor.
 *
 * Decoding reports every violation at once, with the JSON pointer, the value
 * seen and what would work. Unknown members are refused by name, with the
 * nearest known name as a hint.
 *
 * Bounds: `min` and `max` of 0 mean unbounded; a `max` of 0 above which `min`
 * lies means no upper bound. They bound an INT's or NUM's value, a STR's length
 * in characters, and the length of every list and map; with a list of strings,
 * `one_of` and `pattern` hold for each of them. A FIELD_OBJECT without `fields`
 * (outputs only) is an object of any members.
 */
#ifndef INSTANTSTART_JSON_FIELD_H
#define INSTANTSTART_JSON_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"

enum field_type {
	FIELD_STR,    /* const char *; NULL when absent */
	FIELD_INT,    /* int64_t */
	FIELD_BOOL,   /* bool */
	FIELD_NUM,    /* double */
	FIELD_STRS,   /* struct str_list */
	FIELD_OBJECT, /* nested struct, by `fields`; struct field_list when FIELD_MANY */
	FIELD_MAP,    /* json_t *: object of strings */
	FIELD_ANY     /* json_t *: passed on as it is */
};

enum field_flags {
	FIELD_REQUIRED = 1 << 0,
	FIELD_NULLABLE = 1 << 1, /* outputs: the member may be null */
	FIELD_SECRET = 1 << 2,   /* masked in audit, journal, plans; never echoed */
	FIELD_PATH = 1 << 3,     /* comes from the REST path */
	FIELD_QUERY = 1 << 4,    /* REST: comes from the query of a POST or DELETE too */
	FIELD_MANY = 1 << 5,     /* a list of what the type says */
	FIELD_OPEN = 1 << 6,     /* outputs: the object may have further members */
	FIELD_NOCASE = 1 << 7    /* FIELD_MAP: names that differ by case alone are one */
};

/* A list of nested structs, each of the descriptor's `size`. */
struct field_list {
	void *v;
	size_t n;
};

struct field {
	const char *name;
	enum field_type type;
	size_t offset;
	unsigned flags;
	const char *const *one_of; /* NULL-ended list of allowed strings */
	const char *pattern;       /* PCRE2, anchored by the decoder */
	const char *keys;          /* FIELD_MAP: the pattern of its members' names */
	int64_t min; /* value, or length of a string or list; 0,0: unbounded */
	int64_t max;
	const char *dflt; /* default, as JSON text */
	const char *unit;
	const char *example; /* as JSON text */
	const char *doc;     /* one sentence */
	/* Of a refused value: what was probably meant, or NULL. Shown as a hint,
	 * and only when it would have been taken. */
	const char *(*meant)(struct arena *a, const json_t *value);
	/* Of a string that length and pattern allow: the form that counts; "" counts
	 * as not given. NULL: refused, *ret_why says why. */
	const char *(*normal)(struct arena *a, const char *text, const char **ret_why);
	/* FIELD_MANY of objects: members, ended by NULL, that no two items may have
	 * alike together; NULL: they may. An input's FIELD_STRS has each string once. */
	const char *const *unique;
	const struct field *fields; /* of a nested object */
	size_t size;                /* of the nested struct */
};

/* The offset of a row that is tied to no struct: a member of an answer. */
#define FIELD_NO_STRUCT SIZE_MAX

#define FIELD_TYPE_OF(m)                                                                 \
	_Generic((m), const char *: FIELD_STR, int64_t: FIELD_INT,           \
		bool: FIELD_BOOL, double: FIELD_NUM,                         \
		struct str_list: FIELD_STRS, json_t *: FIELD_ANY)

/*
 * The rows. Behind the named parameters come further designated members, or
 * none: each macro hands on an empty last argument, because ISO C wants one.
 *
 * FIELD(S, m, …)  a member of an input struct; its JSON type follows from its C type
 * FIELD_MAP_OF(S, m, …)  a json_t * member that takes an object of strings
 * FIELD_STRUCT(S, m, Sub, sub_fields, …)  a nested struct member, or with
 *                 FIELD_MANY a struct field_list of them
 * OUT("member", json_type, …)  a member of an answer
 */
#define FIELD(S, ...) FIELD_(S, __VA_ARGS__, )
#define FIELD_(S, m, ...)                                                                \
	{                                                                                \
		.name = #m, .type = FIELD_TYPE_OF(((S *)0)->m),                          \
		.offset = offsetof(S, m), __VA_ARGS__                                    \
	}
#define FIELD_MAP_OF(S, ...) FIELD_MAP_OF_(S, __VA_ARGS__, )
#define FIELD_MAP_OF_(S, m, ...)                                                         \
	{                                                                                \
		.name = #m, .type = FIELD_MAP, .offset = offsetof(S, m), __VA_ARGS__     \
	}
#define FIELD_STRUCT(S, m, Sub, ...) FIELD_STRUCT_(S, m, Sub, __VA_ARGS__, )
#define FIELD_STRUCT_(S, m, Sub, sub_fields, ...)                                        \
	{                                                                                \
		.name = #m, .type = FIELD_OBJECT, .offset = offsetof(S, m),              \
		.fields = (sub_fields), .size = sizeof(Sub), __VA_ARGS__                 \
	}
#define OUT(member, ...) OUT_(member, __VA_ARGS__, )
#define OUT_(member, json_type, ...)                                                     \
	{                                                                                \
		.name = (member), .type = (json_type), .offset = FIELD_NO_STRUCT,        \
		__VA_ARGS__                                                              \
	}
#define FIELD_END                                                                        \
	{                                                                                \
		.name = NULL                                                             \
	}
/* Ends the rows of an answer that may carry further members. */
#define FIELD_END_OPEN                                                                   \
	{                                                                                \
		.name = NULL, .flags = FIELD_OPEN                                        \
	}

/*
 * Decodes `in` (an object; NULL counts as {}) into *ret, which must be as large
 * as the struct the fields describe. Defaults are applied, also those inside of
 * nested objects that are absent. Strings are copied into the arena; members of
 * type json_t * borrow from `in`. A null is refused like any other wrong type.
 * false: ERR_INVALID_INPUT with all violations.
 */
bool field_decode(const struct field *fields, const json_t *in, struct arena *a,
		  void *ret, struct err *e) __attribute__((warn_unused_result));

/*
 * Turns a text from a path or query into the member's JSON value: numbers and
 * booleans are parsed, lists are split at commas. A text that does not fit
 * stays a string, so that field_decode() reports it. The caller owns the value;
 * NULL when the text is not UTF-8.
 */
json_t *field_from_text(const struct field *f, const char *text);

/*
 * What was meant by `in`, an object as it was sent: null and "" for an optional member
 * are left out, since many clients send them for "not given" (a member of type
 * FIELD_ANY stays, and so do the members of maps and lists). With `texts`, a string
 * that holds exactly one JSON value of the member's type becomes that value. What does
 * not fit stays as it is, for field_decode() to refuse. Shares values with `in`.
 */
json_t *field_sent(const struct field *fields, const json_t *in, bool texts,
		   struct arena *a);

/* The decoded, defaulted struct as a canonical tree: input of digests. */
json_t *field_encode(const struct field *fields, const void *in, struct arena *a);

/*
 * A copy of `in`, an input, in which the members flagged FIELD_SECRET read
 * "(secret)", and those that no row names "(unknown)". It holds the first
 * LIMIT_MASKED_VALUES values of an input that has more.
 */
json_t *field_mask(const struct field *fields, const json_t *in, struct arena *a);

/* JSON Schema 2020-12 of an object; closed for inputs, FIELD_OPEN for outputs. */
json_t *field_schema(const struct field *fields, struct arena *a);

/* Validates a tree (an answer) against a descriptor; used by tests. */
bool field_validate(const struct field *fields, const json_t *tree, struct arena *a,
		    struct err *e) __attribute__((warn_unused_result));

/* The row of that name, or NULL. */
const struct field *field_find(const struct field *fields, const char *name);

#endif
