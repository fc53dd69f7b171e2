#include "core/kube/lines.h"

#include <string.h>

void kube_lines_init(struct kube_lines *l, struct arena *a, size_t max,
		     bool (*on_line)(void *ctx, const char *p, size_t n, bool cut),
		     void *ctx)
{
	*l = (struct kube_lines){
		.p = arena_alloc(a, max), .max = max, .on_line = on_line, .ctx = ctx};
}

static bool deliver(struct kube_lines *l, bool cut)
{
	size_t n = l->len;

	l->len = 0;
	if (!cut && n > 0 && l->p[n - 1] == '\r')
		n--;
	return l->on_line(l->ctx, l->p, n, cut);
}

/* Takes up to the end of the line; returns how much of p is used. */
static size_t take(struct kube_lines *l, const char *p, size_t n, bool *ret_whole)
{
	const char *end = memchr(p, '\n', n);
	const size_t line = end ? (size_t)(end - p) : n;
	const size_t room = l->max - l->len;
	const size_t kept = line < room ? line : room;

	*ret_whole = end != NULL;
	if (!l->skipping && kept > 0) {
		memcpy(l->p + l->len, p, kept);
		l->len += kept;
	}
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
