#include "core/live/masked.h"

#include <string.h>

#include "core/live/line.h"

enum { OVERLAP = 8 * 1024 }; /* bytes that wait for what follows them */

void masked_init(struct masked *m, struct arena *a,
		 bool (*give)(void *ctx, const char *p, size_t n), void *ctx)
{
	*m = (struct masked){.give = give, .ctx = ctx};
	m->held = arena_alloc(a, MASKED_HELD_MAX);
	mask_lines_init(&m->lines, a);
}

static bool in_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (c && strchr("+/=_-.~%", c));
}

/* A piece of a line: p[0..n), the end of the line or not. */
static bool give(struct masked *m, const char *p, size_t n, bool cut)
{
	struct str time = {p, 0}, text = {p, n}, out;

	if (!m->inside)
		line_split((struct str){p, n}, &time, &text);
	/* The time and the blank behind it are no part of what is looked at. */
	if (time.n && !m->give(m->ctx, p, (size_t)(text.p - p)))
		return false;
	for (; m->skipping && text.n > 0 && in_token(*text.p); text.n--)
		text.p++;
	m->skipping = m->skipping && text.n == 0;
	out = mask_line(&m->lines, text, cut);
	if (cut && out.p != text.p)
		m->skipping = str_has_suffix(out, STR(MASKED));
	m->inside = true;
	return out.n == 0 || m->give(m->ctx, out.p, out.n);
}

/* Whether a secret may stand on both sides of the blank at n: its name here, its value
 * there, or the head of a key. */
static bool leads_on(const char *p, size_t n)
{
	const struct str before = str_trim((struct str){p, n});
	const size_t head = n < 48 ? n : 48;
	size_t at = before.n;

	if (strchr("=: ", p[n + 1]) || memmem(p + n - head, head, "-----B", 6))
		return true;

	while (at > 0 && before.p[at - 1] != ' ')
		at--;
	return before.n == 0 || strchr(":=,\"'", before.p[before.n - 1]) ||
	       (before.n - at >= 5 && (before.p[at] | 0x20) == 'b') ||
	       before.p[at] == '-';
}

/* A line longer than is held: its first part goes. */
static bool divide(struct masked *m)
{
	size_t at = m->len - 2;
	bool cut = false;

	while (at > m->len - OVERLAP && (m->held[at] != ' ' || leads_on(m->held, at)))
		at--;
	/* No place is safe: a secret that is under way is hidden as one. */
	if (at == m->len - OVERLAP) {
		at = m->len;
		cut = true;
	}
	if (!give(m, m->held, at, cut))
		return false;
	memmove(m->held, m->held + at, m->len - at);
	m->len -= at;
	return true;
}

static bool end_line(struct masked *m, const char *mark)
{
	bool more = m->len == 0 || give(m, m->held, m->len, false);

	m->len = 0;
	m->inside = m->skipping = false;
	return more && (!mark || m->give(m->ctx, mark, 1));
}

bool masked_feed(struct masked *m, const char *p, size_t n)
{
	while (n > 0) {
		const char *end = memchr(p, '\n', n);
		const size_t line = end ? (size_t)(end - p) : n;
		const size_t room = MASKED_HELD_MAX - m->len;
		const size_t used = line < room ? line : room;

		memcpy(m->held + m->len, p, used);
		m->len += used;
		p += used;
		n -= used;
		if (end && used == line) {
			if (!end_line(m, end))
				return false;
			p++;
			n--;
		} else if (m->len == MASKED_HELD_MAX && !divide(m)) {
			return false;
		}
	}
	return true;
}

bool masked_end(struct masked *m)
{
	return end_line(m, NULL);
}
