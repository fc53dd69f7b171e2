/*
 * arena.h - memory for one unit of work.
 *
 * Owns: every block handed out, until arena_reset() or arena_free().
 * Two lifetimes exist in the program: the process and the unit of work (one
 * request, one poller step). The unit's arena is reset at the top of its loop.
 * Foreign handles (PGresult, CURL, json_t, fd) are registered with
 * arena_defer() at the line that acquires them, and released in reverse order.
 *
 * Errors: none are returned. Growing past the cap ends the unit of work: by
 * longjmp() to `escape` where its loop has set one (a face, which then answers
 * that this one request was too large), else by abort() (a poller, whose journal
 * makes that safe). Out of memory always aborts.
 *
 * Under AddressSanitizer and valgrind (-DARENA_SEPARATE) each block is its own
 * malloc, so that overruns and use after reset are seen.
 */
#ifndef INSTANTSTART_BASE_ARENA_H
#define INSTANTSTART_BASE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

struct arena_chunk;
struct arena_deferred;

struct arena {
	struct arena_chunk *chunk;       /* newest first */
	struct arena_deferred *deferred; /* newest first */
	size_t used;                     /* bytes handed out since the last reset */
	size_t cap;                      /* LIMIT_ARENA unless told */
	jmp_buf *escape; /* where a unit goes that has used up its cap; NULL: abort() */
	struct arena *parent; /* whose cap what is used here counts against, too */
};

/* cap 0 means LIMIT_ARENA. No memory is taken before the first allocation. */
void arena_init(struct arena *a, size_t cap);

/* Zeroed, aligned for any type. size 0 gives a valid, unique pointer. */
void *arena_alloc(struct arena *a, size_t size)
	__attribute__((malloc, returns_nonnull, alloc_size(2)));

/* n members of size bytes; the product is checked. */
void *arena_calloc(struct arena *a, size_t n, size_t size)
	__attribute__((malloc, returns_nonnull, alloc_size(2, 3)));

/* NUL-terminated copies. arena_strndup copies at most n bytes of p. */
char *arena_strdup(struct arena *a, const char *p)
	__attribute__((malloc, returns_nonnull));
char *arena_strndup(struct arena *a, const char *p, size_t n)
	__attribute__((malloc, returns_nonnull));
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((returns_nonnull, format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
	__attribute__((returns_nonnull, format(printf, 2, 0)));

/* Calls fn(p) at reset, in reverse order of registration. */
void arena_defer(struct arena *a, void (*fn)(void *), void *p);

/*
 * An arena for a part of the unit, such as one attempt of a call: reset or freed
 * sooner than its parent, and with it at the latest. What it uses counts against
 * the parent's cap until then.
 */
struct arena *arena_child(struct arena *parent) __attribute__((returns_nonnull));

/* How many bytes may still be taken. */
size_t arena_room(const struct arena *a);
/*
 * Ends the unit now when less than size bytes are left: for whoever goes on to
 * where it must not end, as in a callback of a library.
 */
void arena_require(const struct arena *a, size_t size);

/* Runs the deferred calls and keeps one chunk for the next unit. */
void arena_reset(struct arena *a);
/* Runs the deferred calls and gives everything back. */
void arena_free(struct arena *a);

#define arena_new(a, type)      ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_calloc((a), (n), sizeof(type)))

#endif
