/*
 * buf.h - a growing byte buffer with a mandatory maximum.
 *
 * Lives in an arena; nobody frees it. Writing past the maximum sets `overflow`
 * and drops the bytes: check it once, at the end. The bytes are always
 * NUL-terminated, the NUL not counted.
 */
#ifndef INSTANTSTART_BASE_BUF_H
#define INSTANTSTART_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"
#include "core/base/str.h"

struct buf {
	char *p; /* NULL until the first write; see buf_cstr() */
	size_t len;
	size_t cap;
	size_t max;
	struct arena *arena;
	bool overflow;
};

void buf_init(struct buf *b, struct arena *a, size_t max);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_addc(struct buf *b, char c);
void buf_adds(struct buf *b, const char *z);
void buf_add_str(struct buf *b, struct str s);
void buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
void buf_truncate(struct buf *b, size_t len);
struct str buf_str(const struct buf *b);
const char *buf_cstr(const struct buf *b); /* "" when nothing was written */

#endif
