#include "core/base/buf.h"

#include <stdio.h>
#include <string.h>

enum { BUF_FIRST = 256 };

void buf_init(struct buf *b, struct arena *a, size_t max)
{
	*b = (struct buf){.arena = a, .max = max};
}

/*
 * Room for n more bytes and the NUL. The old block stays in the arena until its
 * reset; doubling bounds that waste to the size of the final buffer.
 */
static bool reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : BUF_FIRST;
	char *p;

	if (b->overflow || n > b->max - b->len) {
		b->overflow = true;
		return false;
	}
	if (b->cap > b->len + n)
		return true;
	while (cap <= b->len + n)
		cap *= 2;
	if (cap > b->max + 1)
		cap = b->max + 1;
	p = arena_alloc(b->arena, cap);
	if (b->len > 0)
		memcpy(p, b->p, b->len);
	b->p = p;
	b->cap = cap;
	return true;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	if (!reserve(b, n))
		return;
	if (n > 0)
		memcpy(b->p + b->len, p, n);
	b->len += n;
	b->p[b->len] = '\0';
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_adds(struct buf *b, const char *z)
{
	buf_add(b, z, strlen(z));
}

void buf_add_str(struct buf *b, struct str s)
{
	buf_add(b, s.p, s.n);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0) {
		b->overflow = true;
		return;
	}
	if (!reserve(b, (size_t)len))
		return;
	vsnprintf(b->p + b->len, (size_t)len + 1, fmt, ap);
	b->len += (size_t)len;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void buf_truncate(struct buf *b, size_t len)
{
	if (len >= b->len)
		return;
	b->len = len;
	b->p[len] = '\0';
}

struct str buf_str(const struct buf *b)
{
	return (struct str){buf_cstr(b), b->len};
}

const char *buf_cstr(const struct buf *b)
{
	return b->p ? b->p : "";
}
