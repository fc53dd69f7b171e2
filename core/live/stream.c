#include "core/live/stream.h"

#include <string.h>

struct stream {
	struct arena arena; /* the stream itself lies in it */
	struct streams *all;
	struct stream *next, *prev;
	struct feed feed;
	struct follow follow;
	struct loop_timer flush, linger;
	int pending;
	int64_t flushed_ms;
};

struct streams {
	const struct upstreams *up;
	struct stream *first;
	size_t n;
	uint64_t serial;
};

static struct stream *of_feed(struct feed *f)
{
	return (struct stream *)(void *)((char *)f - offsetof(struct stream, feed));
}

/* --- batches ----------------------------------------------------------------------- */

static void flush(void *ctx)
{
	struct stream *s = ctx;

	s->pending = 0;
	s->flushed_ms = loop_now(s->all->up->loop);
	loop_stop_timer(s->all->up->loop, &s->flush);
	feed_wake(&s->feed);
}

static void news(void *ctx)
{
	struct stream *s = ctx;
	const int64_t since = loop_now(s->all->up->loop) - s->flushed_ms;

	if (++s->pending >= STREAM_BATCH_LINES || since >= STREAM_BATCH_MS)
		flush(s);
	else if (!s->flush.armed)
		loop_after(s->all->up->loop, &s->flush, STREAM_BATCH_MS - since);
}

/* --- life ----------------------------------------------------------------------------
 */

static void destroy(struct stream *s)
{
	struct loop *loop = s->all->up->loop;
	struct arena arena;

	follow_stop(&s->follow);
	loop_stop_timer(loop, &s->flush);
	loop_stop_timer(loop, &s->linger);
	while (s->feed.first)
		feed_leave(s->feed.first);
	if (s->prev)
		s->prev->next = s->next;
	else
		s->all->first = s->next;
	if (s->next)
		s->next->prev = s->prev;
	counters_set(s->all->up->counters, LIVE_STREAMS, --s->all->n);
	arena = s->arena;
	arena_free(&arena);
}

static void on_linger(void *ctx)
{
	struct stream *s = ctx;

	if (s->feed.n_readers == 0)
		destroy(s);
}

static bool same(const struct follow_of *a, const struct follow_of *b)
{
	return streq(a->target, b->target) && streq(a->ns, b->ns) &&
	       streq(a->pod, b->pod) && streq(a->container, b->container) &&
	       a->previous == b->previous;
}

/* One that has ended is only for those who were on it. */
static struct stream *find(struct streams *all, const struct follow_of *of,
			   const struct reader *r)
{
	for (struct stream *s = all->first; s; s = s->next)
		if (same(&s->follow.of, of) &&
		    (!s->feed.close_code ||
		     (s->feed.close_code == 1000 && streq(r->epoch, s->feed.epoch))))
			return s;
	return NULL;
}

static void copy_of(struct stream *s, const struct follow_of *of, const struct reader *r)
{
	struct arena *a = &s->arena;

	s->follow.of = (struct follow_of){.target = arena_strdup(a, of->target),
					  .ns = arena_strdup(a, of->ns),
					  .pod = arena_strdup(a, of->pod),
					  .container = arena_strdup(a, of->container),
					  .previous = of->previous,
					  .from = ""};
	/* It comes back and we have no memory of it: its numbers go on. */
	if (r->after >= 0 && *r->time && *r->epoch && !of->previous)
		s->follow.of.from = arena_strdup(a, r->time);
}

static struct stream *begin(struct streams *all, const struct follow_of *of,
			    const struct reader *r)
{
	const struct upstreams *up = all->up;
	char epoch[FEED_EPOCH_MAX];
	struct arena arena;
	struct stream *s;

	arena_init(&arena, 0);
	s = arena_new(&arena, struct stream);
	s->arena = arena;
	s->all = all;
	copy_of(s, of, r);
	if (*s->follow.of.from)
		str_copy(epoch, sizeof(epoch), r->epoch);
	else
		id_make(up->rng, up->clock->wall_ms(up->clock), "e", epoch,
			sizeof(epoch));
	feed_init(&s->feed, &s->arena, FEED_LINES, ++all->serial, STREAM_RING_BYTES,
		  STREAM_RING_LINES, epoch, *s->follow.of.from ? r->after + 1 : 1);
	s->flush = (struct loop_timer){.fn = flush, .ctx = s};
	s->linger = (struct loop_timer){.fn = on_linger, .ctx = s};
	s->follow.up = up;
	s->follow.feed = &s->feed;
	s->follow.news = news;
	s->follow.ctx = s;
	s->next = all->first;
	if (all->first)
		all->first->prev = s;
	all->first = s;
	counters_set(up->counters, LIVE_STREAMS, ++all->n);
	follow_start(&s->follow, &s->arena);
	return s;
}

bool streams_join(struct streams *all, const struct follow_of *of, struct reader *r,
		  struct err *e)
{
	struct stream *s = find(all, of, r);

	if (!s && all->n >= STREAMS_MAX)
		return err_set(e, ERR_RATE_LIMITED, "%d logs are already being followed",
			       STREAMS_MAX);
	if (!s)
		s = begin(all, of, r);
	loop_stop_timer(all->up->loop, &s->linger);
	feed_join(&s->feed, r);
	return true;
}

void streams_leave(struct streams *all, struct reader *r)
{
	struct feed *f = r->feed;

	(void)all;
	if (!f)
		return;
	feed_leave(r);
	if (f->n_readers == 0)
		loop_after(of_feed(f)->all->up->loop, &of_feed(f)->linger,
			   STREAM_LINGER_MS);
}

void streams_stop(struct streams *all)
{
	while (all->first)
		destroy(all->first);
}

struct streams *streams_new(struct arena *a, const struct upstreams *up)
{
	struct streams *s = arena_new(a, struct streams);

	s->up = up;
	return s;
}
