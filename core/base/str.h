/*
 * str.h - length-carrying strings that are looked at, never owned.
 *
 * A struct str borrows bytes from an arena, a literal or a buffer. It need not
 * be NUL-terminated; str_dup() gives a terminated copy for library borders.
 */
#ifndef INSTANTSTART_BASE_STR_H
#define INSTANTSTART_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"

struct str {
	const char *p;
	size_t n;
};

/* A list of NUL-terminated strings; the vector lives in an arena. */
struct str_list {
	const char **v;
	size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

struct str str_of(const char *z); /* NULL gives the empty string */
bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *z);
bool str_has_prefix(struct str a, struct str prefix);
bool str_has_suffix(struct str a, struct str suffix);
struct str str_trim(struct str a); /* blanks, tabs, CR and LF at both ends */
char *str_dup(struct arena *a, struct str s);

/*
 * Cuts *rest at the first sep: returns what stood before it and leaves what
 * stands behind it. Without a sep the whole rest is returned and *rest.p
 * becomes NULL, so that `while (rest.p)` walks every piece, empty ones too.
 */
struct str str_cut(struct str *rest, char sep);

/* Strict decimal: the whole string, no sign unless the value is negative, no blanks, no
 * overflow. */
bool str_to_i64(struct str s, int64_t *ret_value) __attribute__((warn_unused_result));

/* Well-formed UTF-8 without NUL, surrogates or overlong forms (RFC 3629). */
bool str_is_utf8(struct str s);
/* Bytes of the well-formed sequence that s starts with; 0 when it does not. */
size_t str_utf8_sequence(struct str s);

/* Bytes that are no UTF-8 become '?': texts of libraries and of the cloud may quote
 * any, and JSON may not carry them. str_as_utf8 copies only where it must. */
void str_make_utf8(char *z);
const char *str_as_utf8(struct arena *a, const char *z);

/* NULL-safe comparisons for NUL-terminated strings. */
bool streq(const char *a, const char *b);
bool str_starts(const char *z, const char *prefix);

void str_list_add(struct arena *a, struct str_list *l, const char *z);
bool str_list_has(const struct str_list *l, const char *z);

/* Lower-case hexadecimal digits of n bytes. */
const char *str_hex(struct arena *a, const void *p, size_t n);

/* Copies at most size-1 bytes and terminates; returns whether all fitted. */
bool str_copy(char *dst, size_t size, const char *src);

#endif
