#include "core/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"

/* Chunks double from the first size, so that a small unit stays small. */
enum { CHUNK_FIRST = 16 * 1024, CHUNK_LAST = 1024 * 1024 };

struct arena_chunk {
	struct arena_chunk *next; /* older */
	size_t size;
	size_t used;
	_Alignas(max_align_t) unsigned char data[];
};

struct arena_deferred {
	struct arena_deferred *next; /* older */
	void (*fn)(void *);
	void *p;
};

static void die(const char *why, size_t size)
{
	fprintf(stderr, "arena: %s (%zu bytes)\n", why, size);
	abort();
}

/* The unit needs more than it may have. Its arena is whole, and can be reset. */
static void exhausted(const struct arena *a, size_t size)
{
	if (a->escape)
		longjmp(*a->escape, 1);
	die("past the cap of the unit of work", size);
}

void arena_init(struct arena *a, size_t cap)
{
	*a = (struct arena){.cap = cap ? cap : LIMIT_ARENA};
}

static struct arena_chunk *chunk_new(struct arena *a, size_t size)
{
	struct arena_chunk *c = malloc(sizeof(*c) + size);

	if (!c)
		die("out of memory", size);
	c->next = a->chunk;
	c->size = size;
	c->used = 0;
	a->chunk = c;
	return c;
}

#ifndef ARENA_SEPARATE
static size_t next_chunk_size(const struct arena *a, size_t need)
{
	size_t size = a->chunk ? a->chunk->size * 2 : CHUNK_FIRST;

	if (size > CHUNK_LAST)
		size = CHUNK_LAST;
	return size < need ? need : size;
}
#endif

/* An arena of all zeroes is a fresh one with the default cap. */
static size_t cap_of(const struct arena *a)
{
	return a->cap ? a->cap : LIMIT_ARENA;
}

size_t arena_room(const struct arena *a)
{
	size_t room = SIZE_MAX;

	for (; a; a = a->parent) {
		const size_t left = cap_of(a) > a->used ? cap_of(a) - a->used : 0;

		room = left < room ? left : room;
	}
	return room;
}

void arena_require(const struct arena *a, size_t size)
{
	if (size > arena_room(a))
		exhausted(a, size);
}

static void count(struct arena *a, size_t size)
{
	for (; a; a = a->parent)
		a->used += size;
}

static void uncount(struct arena *a)
{
	const size_t size = a->used;

	for (; a; a = a->parent)
		a->used -= size;
}

void *arena_alloc(struct arena *a, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	struct arena_chunk *c = a->chunk;
	void *p;

	arena_require(a, size);
#ifdef ARENA_SEPARATE
	/* Exactly as large as asked, so that one byte too far is seen. */
	(void)align;
	c = chunk_new(a, size ? size : 1);
	c->used = c->size;
	p = c->data;
	count(a, size);
	memset(p, 0, size);
#else
	/* The cap is checked above: rounding up cannot overflow. */
	const size_t rounded = size ? (size + align - 1) / align * align : align;
	if (!c || c->size - c->used < rounded)
		c = chunk_new(a, next_chunk_size(a, rounded));
	p = c->data + c->used;
	c->used += rounded;
	count(a, rounded);
	memset(p, 0, rounded);
#endif
	return p;
}

void *arena_calloc(struct arena *a, size_t n, size_t size)
{
	size_t total;

	/* No cap is that large. */
	if (__builtin_mul_overflow(n, size, &total))
		exhausted(a, SIZE_MAX);
	return arena_alloc(a, total);
}

char *arena_strndup(struct arena *a, const char *p, size_t n)
{
	const size_t len = strnlen(p, n);
	char *copy = arena_alloc(a, len + 1);

	memcpy(copy, p, len);
	return copy;
}

char *arena_strdup(struct arena *a, const char *p)
{
	return arena_strndup(a, p, strlen(p));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0)
		die("unprintable format", 0);
	text = arena_alloc(a, (size_t)len + 1);
	vsnprintf(text, (size_t)len + 1, fmt, ap);
	return text;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return text;
}

void arena_defer(struct arena *a, void (*fn)(void *), void *p)
{
	struct arena_deferred *d = arena_new(a, struct arena_deferred);

	*d = (struct arena_deferred){.next = a->deferred, .fn = fn, .p = p};
	a->deferred = d;
}

/* A deferred call may itself register another one: take them one by one. */
static void run_deferred(struct arena *a)
{
	while (a->deferred) {
		struct arena_deferred *d = a->deferred;

		a->deferred = d->next;
		d->fn(d->p);
	}
}

static void free_chunks(struct arena_chunk *c)
{
	while (c) {
		struct arena_chunk *next = c->next;

		free(c);
		c = next;
	}
}

void arena_reset(struct arena *a)
{
	run_deferred(a);
	uncount(a);
#ifdef ARENA_SEPARATE
	free_chunks(a->chunk);
	a->chunk = NULL;
#else
	/* The newest is the largest, unless one block was larger than a chunk. */
	if (a->chunk) {
		free_chunks(a->chunk->next);
		a->chunk->next = NULL;
		a->chunk->used = 0;
		if (a->chunk->size > CHUNK_LAST) {
			free_chunks(a->chunk);
			a->chunk = NULL;
		}
	}
#endif
}

void arena_free(struct arena *a)
{
	run_deferred(a);
	uncount(a);
	free_chunks(a->chunk);
	*a = (struct arena){.cap = a->cap, .escape = a->escape, .parent = a->parent};
}

static void free_child(void *child)
{
	arena_free(child);
}

struct arena *arena_child(struct arena *parent)
{
	struct arena *child = arena_new(parent, struct arena);

	*child = (struct arena){
		.cap = parent->cap, .escape = parent->escape, .parent = parent};
	arena_defer(parent, free_child, child);
	return child;
}
