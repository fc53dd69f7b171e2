#include "core/kube/lines.h"

#include <string.h>

enum { ROOM_MIN = 4096, ROOM_KEPT = 64 * 1024 };

struct kube_lines_store {
	struct arena arena; /* of the buffer alone */
	char *p;
	size_t room;
};

static void free_store(void *p)
{
	struct kube_lines_store *s = p;

	arena_free(&s->arena);
}

/* A buffer of another size with the same beginning. */
static void resize(struct kube_lines *l, size_t room)
{
	struct kube_lines_store *s = l->store;
	struct arena old = s->arena;
	const char *was = s->p;

	arena_init(&s->arena, room + ROOM_MIN);
	s->room = room;
	s->p = arena_alloc(&s->arena, room);
	if (l->len > 0)
		memcpy(s->p, was, l->len);
	arena_free(&old);
}

void kube_lines_init(struct kube_lines *l, struct arena *a, size_t max,
		     bool (*on_line)(void *ctx, const char *p, size_t n, bool cut),
		     void *ctx)
{
	*l = (struct kube_lines){.max = max, .on_line = on_line, .ctx = ctx};
	l->store = arena_new(a, struct kube_lines_store);
	arena_defer(a, free_store, l->store);
	resize(l, max < ROOM_MIN ? max : ROOM_MIN);
}

static void append(struct kube_lines *l, const char *p, size_t n)
{
	size_t room = l->store->room;

	while (room < l->len + n)
		room = room * 2 < l->max ? room * 2 : l->max;
	if (room > l->store->room)
		resize(l, room);
	memcpy(l->store->p + l->len, p, n);
	l->len += n;
}

static bool deliver(struct kube_lines *l, bool cut)
{
	size_t n = l->len;
	bool more = false;

	if (!cut && n > 0 && l->store->p[n - 1] == '\r')
		n--;
	more = l->on_line(l->ctx, l->store->p, n, cut);
	l->len = 0;
	if (l->store->room > ROOM_KEPT)
		resize(l, ROOM_MIN);
	return more;
}

/* Takes up to the end of the line; returns how much of p is used. */
static size_t take(struct kube_lines *l, const char *p, size_t n, bool *ret_whole)
{
	const char *end = memchr(p, '\n', n);
	const size_t line = end ? (size_t)(end - p) : n;
	const size_t room = l->max - l->len;
	const size_t kept = line < room ? line : room;

	*ret_whole = end != NULL;
	if (!l->skipping && kept > 0)
		append(l, p, kept);
	/* What does not fit is met again as the first byte of the rest. */
	if (!l->skipping && kept < line) {
		*ret_whole = false;
		return kept;
	}
	return line + (end ? 1 : 0);
}

bool kube_lines_feed(void *lines, const char *p, size_t n)
{
	struct kube_lines *l = lines;

	while (n > 0) {
		bool whole = false;
		const size_t used = take(l, p, n, &whole);

		p += used;
		n -= used;
		if (whole && l->skipping) {
			l->skipping = false;
		} else if (whole) {
			if (!deliver(l, false))
				return false;
		} else if (!l->skipping && n > 0) {
			l->skipping = true;
			if (!deliver(l, true))
				return false;
		}
	}
	return true;
}

bool kube_lines_end(struct kube_lines *l)
{
	if (l->skipping || l->len == 0) {
		l->skipping = false;
		return true;
	}
	return deliver(l, false);
}
