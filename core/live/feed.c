#include "core/live/feed.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void feed_init(struct feed *f, struct arena *a, enum feed_kind kind, uint64_t serial,
	       uint32_t bytes, uint32_t texts, const char *epoch, int64_t first)
{
	memset(f, 0, sizeof(*f));
	f->kind = kind;
	f->serial = serial;
	str_copy(f->epoch, sizeof(f->epoch), epoch);
	ring_init(&f->ring, a, bytes, texts, first);
}

int64_t feed_add(struct feed *f, struct str text)
{
	return ring_add(&f->ring, text);
}

void feed_mark(struct feed *f, const char *type, const char *fmt, ...)
{
	struct feed_mark *m = &f->mark[f->n_marks++ % FEED_MARKS];
	va_list ap;

	m->at = ring_next(&f->ring);
	str_copy(m->type, sizeof(m->type), type);
	va_start(ap, fmt);
	vsnprintf(m->rest, sizeof(m->rest), fmt, ap);
	va_end(ap);
}

void feed_gap(struct feed *f, const char *why, int64_t missed)
{
	if (missed < 0)
		feed_mark(f, "gap", "\"missed\":null,\"why\":\"%s\"}", why);
	else
		feed_mark(f, "gap", "\"missed\":%" PRId64 ",\"why\":\"%s\"}", missed,
			  why);
}

void feed_close(struct feed *f, int code, const char *why)
{
	if (f->close_code)
		return;
	f->close_code = code;
	str_copy(f->close_why, sizeof(f->close_why), why);
}

void feed_renumber(struct feed *f, int64_t by)
{
	ring_renumber(&f->ring, by);
	for (size_t i = 0; i < FEED_MARKS; i++)
		f->mark[i].at += by;
}

/* --- readers ---------------------------------------------------------------------- */

void feed_join(struct feed *f, struct reader *r)
{
	r->feed = f;
	r->prev_reader = NULL;
	r->next_reader = f->first;
	if (f->first)
		f->first->prev_reader = r;
	f->first = r;
	f->n_readers++;
	r->mark = f->n_marks > 0 ? f->n_marks - 1 : 0; /* until greeted: the latest */
	if (f->ready || f->close_code || f->n_marks)
		r->wake(r);
}

void feed_leave(struct reader *r)
{
	struct feed *f = r->feed;

	if (!f)
		return;
	if (r->prev_reader)
		r->prev_reader->next_reader = r->next_reader;
	else
		f->first = r->next_reader;
	if (r->next_reader)
		r->next_reader->prev_reader = r->prev_reader;
	f->n_readers--;
	r->feed = NULL;
}

void feed_wake(struct feed *f)
{
	for (struct reader *r = f->first; r; r = r->next_reader)
		r->wake(r);
}

static void lose(struct reader *r, const char *why, int64_t missed)
{
	r->lost = true;
	r->lost_why = why;
	r->missed = missed;
}

static const struct feed_mark *mark_of(const struct feed *f, uint64_t number)
{
	return &f->mark[number % FEED_MARKS];
}

static uint64_t oldest_mark(const struct feed *f)
{
	return f->n_marks > FEED_MARKS ? f->n_marks - FEED_MARKS : 0;
}

/* The first mark that stands at the reader's place or behind it. */
static void seek_mark(struct reader *r)
{
	const struct feed *f = r->feed;

	if (r->mark < oldest_mark(f))
		r->mark = oldest_mark(f);
	while (r->mark < f->n_marks && mark_of(f, r->mark)->at < r->next)
		r->mark++;
}

/* The number behind the last line that is not younger than r->time, or 0. */
static int64_t by_time(const struct reader *r)
{
	const struct ring *ring = &r->feed->ring;

	for (int64_t n = ring_next(ring); n > ring->first; n--) {
		const struct str s = ring_at(ring, n - 1); /* ["time", */
		const char *end = s.n > 2 ? memchr(s.p + 2, '"', s.n - 2) : NULL;
		const struct str time = {s.p + 2, end ? (size_t)(end - s.p - 2) : 0};

		if (line_time_cmp(time, str_of(r->time)) <= 0)
			return n;
	}
	return 0;
}

static void begin_at_tail(struct reader *r)
{
	const struct ring *ring = &r->feed->ring;
	const int64_t wanted = ring_next(ring) - r->tail;

	r->next = wanted > ring->first ? wanted : ring->first;
}

/* Where it begins: decided when numbers are final. */
static void place(struct reader *r)
{
	const struct ring *ring = &r->feed->ring;
	const bool same = streq(r->epoch, r->feed->epoch);

	if (r->after < 0) {
		begin_at_tail(r);
	} else if (same && r->after + 1 <= ring_next(ring)) {
		r->next = r->after + 1;
		if (r->next < ring->first) {
			lose(r, "buffer", ring->first - r->next);
			r->next = ring->first;
		}
	} else if (*r->time && r->feed->kind == FEED_LINES && by_time(r) > 0) {
		r->next = by_time(r);
	} else {
		begin_at_tail(r);
		lose(r, "buffer", -1);
	}
	/* What stands at its place, and marks not sent before the greeting. */
	r->mark = oldest_mark(r->feed);
	seek_mark(r);
}

/* --- frames ------------------------------------------------------------------------ */

static enum feed_next put(struct frame *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static enum feed_next put(struct frame *out, const char *fmt, ...)
{
	va_list ap;
	int n;

	out->serial = 0;
	va_start(ap, fmt);
	n = vsnprintf(out->text, sizeof(out->text), fmt, ap);
	va_end(ap);
	out->n = n > 0 ? (size_t)n : 0;
	return FEED_FRAME;
}

static enum feed_next greet(struct reader *r, struct frame *out)
{
	const struct feed *f = r->feed;

	place(r);
	r->greeted = true;
	return put(out, "{\"t\":\"hello\",\"epoch\":\"%s\",\"seq\":%" PRId64 "%s}",
		   f->epoch, f->kind == FEED_EVENTS ? ring_next(&f->ring) - 1 : r->next,
		   f->hello);
}

/* What a gap carries: the next line's number, or the last event's. */
static int64_t gap_at(const struct feed *f, int64_t next)
{
	return f->kind == FEED_EVENTS ? next - 1 : next;
}

static enum feed_next tell_loss(struct reader *r, struct frame *out)
{
	const int64_t at = gap_at(r->feed, r->next);

	r->lost = false;
	if (r->missed < 0)
		return put(out,
			   "{\"t\":\"gap\",\"seq\":%" PRId64
			   ",\"missed\":null,\"why\":\"%s\"}",
			   at, r->lost_why);
	return put(out,
		   "{\"t\":\"gap\",\"seq\":%" PRId64 ",\"missed\":%" PRId64
		   ",\"why\":\"%s\"}",
		   at, r->missed, r->lost_why);
}

static enum feed_next put_mark(struct reader *r, struct frame *out)
{
	const struct feed_mark *m = mark_of(r->feed, r->mark++);

	return put(out, "{\"t\":\"%s\",\"seq\":%" PRId64 ",%s", m->type,
		   gap_at(r->feed, m->at), m->rest);
}

/* The ring has overtaken it: it goes on in the newest quarter, or it would be
 * overtaken again before it has read a frame. */
static void skip(struct reader *r)
{
	const struct ring *ring = &r->feed->ring;
	const int64_t to = ring_next(ring) - ring->count / 4;

	lose(r, "slow", to - r->next);
	r->slow_times++;
	r->slow_missed += to - r->next;
	r->next = to;
	seek_mark(r);
}

static enum feed_next put_lines(struct reader *r, int64_t limit, struct frame *out)
{
	static const char tail[] = "]}";
	const struct feed *f = r->feed;
	size_t n = 0;
	int head;

	if (out->serial == f->serial && out->from == r->next && out->limit == limit) {
		r->next = out->to;
		return FEED_FRAME;
	}
	head = snprintf(out->text, 64, "{\"t\":\"lines\",\"seq\":%" PRId64 ",\"lines\":[",
			r->next);
	out->serial = f->serial;
	out->from = r->next;
	out->limit = limit;
	out->to = ring_join(&f->ring, r->next, limit, out->text + head,
			    FEED_FRAME_MAX - (size_t)head - sizeof(tail), &n);
	memcpy(out->text + head + n, tail, sizeof(tail));
	out->n = (size_t)head + n + sizeof(tail) - 1;
	r->next = out->to;
	return FEED_FRAME;
}

static enum feed_next put_event(struct reader *r, struct frame *out)
{
	const struct str rest = ring_at(&r->feed->ring, r->next);

	return put(out, "{\"seq\":%" PRId64 ",%.*s", r->next++, (int)rest.n, rest.p);
}

static bool has_mark(const struct reader *r)
{
	return r->mark < r->feed->n_marks;
}

bool reader_has_more(const struct reader *r)
{
	const struct feed *f = r->feed;

	if (!f)
		return false;
	if (f->close_code || r->lost || has_mark(r))
		return true;
	return f->ready && (!r->greeted || r->next < ring_next(&f->ring));
}

enum feed_next reader_take(struct reader *r, struct frame *out)
{
	struct feed *f = r->feed;
	int64_t limit;

	if (!f)
		return FEED_NOTHING;
	if (f->ready && !r->greeted)
		return greet(r, out);
	if (!f->ready) {
		if (r->mark < oldest_mark(f))
			r->mark = oldest_mark(f);
		if (has_mark(r))
			return put_mark(r, out);
		return f->close_code ? FEED_CLOSE : FEED_NOTHING;
	}
	if (!r->lost && r->next < f->ring.first)
		skip(r);
	if (r->lost)
		return tell_loss(r, out);
	if (r->mark < oldest_mark(f))
		r->mark = oldest_mark(f);
	limit = ring_next(&f->ring);
	if (has_mark(r)) {
		const int64_t at = mark_of(f, r->mark)->at;

		if (at <= r->next)
			return put_mark(r, out);
		if (at < limit)
			limit = at;
	}
	if (r->next < limit)
		return f->kind == FEED_LINES ? put_lines(r, limit, out)
					     : put_event(r, out);
	return f->close_code ? FEED_CLOSE : FEED_NOTHING;
}
