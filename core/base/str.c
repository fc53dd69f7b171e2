#include "core/base/str.h"

#include <string.h>

struct str str_of(const char *z)
{
	return z ? (struct str){z, strlen(z)} : (struct str){"", 0};
}

bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_is(struct str a, const char *z)
{
	return str_eq(a, str_of(z));
}

bool str_has_prefix(struct str a, struct str prefix)
{
	return a.n >= prefix.n && str_eq((struct str){a.p, prefix.n}, prefix);
}

bool str_has_suffix(struct str a, struct str suffix)
{
	if (a.n < suffix.n)
		return false;
	return suffix.n == 0 || memcmp(a.p + (a.n - suffix.n), suffix.p, suffix.n) == 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str a)
{
	while (a.n > 0 && is_blank(a.p[0])) {
		a.p++;
		a.n--;
	}
	while (a.n > 0 && is_blank(a.p[a.n - 1]))
		a.n--;
	return a;
}

char *str_dup(struct arena *a, struct str s)
{
	char *copy = arena_alloc(a, s.n + 1);

	if (s.n > 0)
		memcpy(copy, s.p, s.n);
	return copy;
}

struct str str_cut(struct str *rest, char sep)
{
	const struct str all = *rest;
	const char *at = all.n > 0 ? memchr(all.p, sep, all.n) : NULL;

	if (!at) {
		*rest = (struct str){NULL, 0};
		return all;
	}
	const size_t n = (size_t)(at - all.p);
	*rest = (struct str){at + 1, all.n - n - 1};
	return (struct str){all.p, n};
}

bool str_to_i64(struct str s, int64_t *ret_value)
{
	const bool negative = s.n > 0 && s.p[0] == '-';
	int64_t value = 0;

	if (s.n == (negative ? 1u : 0u))
		return false;
	for (size_t i = negative; i < s.n; i++) {
		const char c = s.p[i];

		/* Counted downwards: INT64_MIN has no positive twin. */
		if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, c - '0', &value))
			return false;
	}
	if (!negative && __builtin_sub_overflow(0, value, &value))
		return false;
	*ret_value = value;
	return true;
}

/* RFC 3629 section 4. */
size_t str_utf8_sequence(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	const unsigned char c = s.n > 0 ? p[0] : 0;
	unsigned char low = 0x80, high = 0xBF;
	size_t len;

	if (c < 0x80)
		return c != 0;
	if (c >= 0xC2 && c <= 0xDF) {
		len = 2;
	} else if (c >= 0xE0 && c <= 0xEF) {
		len = 3;
		if (c == 0xE0)
			low = 0xA0; /* shorter forms exist */
		if (c == 0xED)
			high = 0x9F; /* surrogates */
	} else if (c >= 0xF0 && c <= 0xF4) {
		len = 4;
		if (c == 0xF0)
			low = 0x90;
		if (c == 0xF4)
			high = 0x8F; /* past U+10FFFF */
	} else {
		return 0;
	}
	if (s.n < len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	return len;
}

bool str_is_utf8(struct str s)
{
	while (s.n > 0) {
		const size_t len = str_utf8_sequence(s);

		if (len == 0)
			return false;
		s.p += len;
		s.n -= len;
	}
	return true;
}

void str_make_utf8(char *z)
{
	struct str rest = str_of(z);

	while (rest.n > 0) {
		size_t len = str_utf8_sequence(rest);

		if (len == 0) {
			z[rest.p - z] = '?';
			len = 1;
		}
		rest.p += len;
		rest.n -= len;
	}
}

const char *str_as_utf8(struct arena *a, const char *z)
{
	char *copy;

	if (!z || str_is_utf8(str_of(z)))
		return z;
	copy = arena_strdup(a, z);
	str_make_utf8(copy);
	return copy;
}

bool streq(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool str_starts(const char *z, const char *prefix)
{
	return z && prefix && strncmp(z, prefix, strlen(prefix)) == 0;
}

void str_list_add(struct arena *a, struct str_list *l, const char *z)
{
	/* Full exactly when n is 0 or a power of two: no capacity is kept. */
	if ((l->n & (l->n - 1)) == 0) {
		const char **v = arena_array(a, const char *, l->n ? l->n * 2 : 1);

		if (l->n > 0)
			memcpy(v, l->v, l->n * sizeof(*v));
		l->v = v;
	}
	l->v[l->n++] = z;
}

bool str_list_has(const struct str_list *l, const char *z)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], z))
			return true;
	return false;
}

bool str_copy(char *dst, size_t size, const char *src)
{
	const size_t len = src ? strlen(src) : 0;
	size_t n = len;

	if (size == 0)
		return len == 0;
	if (n > size - 1) {
		n = size - 1;
		/* Not in the middle of a character. */
		while (n > 0 && ((unsigned char)src[n] & 0xC0) == 0x80)
			n--;
	}
	if (n > 0)
		memcpy(dst, src, n);
	dst[n] = '\0';
	return n == len;
}

const char *str_hex(struct arena *a, const void *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = p;
	char *hex = arena_alloc(a, n * 2 + 1);

	for (size_t i = 0; i < n; i++) {
		hex[i * 2] = digits[from[i] >> 4];
		hex[i * 2 + 1] = digits[from[i] & 15];
	}
	return hex;
}
