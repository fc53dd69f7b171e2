#include "core/live/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { BATCH = 32, ENDS_MAX = 4 };

struct end {
	void (*fn)(void *ctx);
	void *ctx;
};

struct loop {
	int epoll, timer;
	struct clock *clock;
	struct loop_timer *first;
	int64_t set_ms; /* what the timerfd is set to; INT64_MAX: nothing */
	struct end end[ENDS_MAX];
	int n_ends;
	struct loop_watch tick;
};

int loop_fd(const struct loop *l)
{
	return l->epoll;
}

int64_t loop_now(const struct loop *l)
{
	return l->clock->mono_ms(l->clock);
}

bool loop_add(struct loop *l, struct loop_watch *w, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = w};

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &ev) == 0 ||
	       err_set(e, ERR_INTERNAL, "epoll: %s", strerror(errno));
}

void loop_remove(struct loop *l, struct loop_watch *w)
{
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
}

/* --- timers ---------------------------------------------------------------------- */

static void set_clock(struct loop *l, int64_t at_ms)
{
	const int64_t left = at_ms - loop_now(l);
	/* All zeroes would stop it. */
	const int64_t ns = left > 0 ? left * 1000000 : 1;
	const struct itimerspec when = {
		.it_value = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}};
	const struct itimerspec never = {0};

	if (at_ms == l->set_ms)
		return;
	l->set_ms = at_ms;
	timerfd_settime(l->timer, 0, at_ms == INT64_MAX ? &never : &when, NULL);
}

void loop_after(struct loop *l, struct loop_timer *t, int64_t ms)
{
	t->at_ms = loop_now(l) + ms;
	t->armed = true;
	if (!t->linked) {
		t->linked = true;
		t->next = l->first;
		l->first = t;
	}
	if (t->at_ms < l->set_ms)
		set_clock(l, t->at_ms);
}

void loop_within(struct loop *l, struct loop_timer *t, int64_t ms)
{
	if (!t->armed || t->at_ms > loop_now(l) + ms)
		loop_after(l, t, ms);
}

void loop_stop_timer(struct loop *l, struct loop_timer *t)
{
	struct loop_timer **at = &l->first;

	t->armed = false;
	if (!t->linked)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->linked = false;
}

/* One at a time: a timer's work may start and stop others. */
static struct loop_timer *due(struct loop *l)
{
	for (struct loop_timer *t = l->first; t; t = t->next)
		if (t->armed && t->at_ms <= loop_now(l))
			return t;
	return NULL;
}

static void arm_next(struct loop *l)
{
	int64_t at = INT64_MAX;

	for (const struct loop_timer *t = l->first; t; t = t->next)
		if (t->armed && t->at_ms < at)
			at = t->at_ms;
	set_clock(l, at);
}

static void on_tick(void *ctx)
{
	struct loop *l = ctx;
	uint64_t n;

	if (read(l->timer, &n, sizeof(n)) > 0)
		l->set_ms = INT64_MAX;
}

/* --- turns ------------------------------------------------------------------------- */

void loop_at_end(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	if (l->n_ends < ENDS_MAX)
		l->end[l->n_ends++] = (struct end){fn, ctx};
}

void loop_turn(struct loop *l)
{
	struct epoll_event ev[BATCH];
	const int n = epoll_wait(l->epoll, ev, BATCH, 0);
	struct loop_timer *t;

	for (int i = 0; i < n; i++) {
		const struct loop_watch *w = ev[i].data.ptr;

		w->fn(w->ctx);
	}
	for (int i = 0; i < BATCH && (t = due(l)); i++) {
		t->armed = false;
		t->fn(t->ctx);
	}
	for (int i = 0; i < l->n_ends; i++)
		l->end[i].fn(l->end[i].ctx);
	arm_next(l);
}

static void close_loop(void *at)
{
	const struct loop *l = at;

	close(l->timer);
	close(l->epoll);
}

struct loop *loop_new(struct arena *a, struct clock *clock, struct err *e)
{
	struct loop *l = arena_new(a, struct loop);

	*l = (struct loop){
		.epoll = epoll_create1(EPOLL_CLOEXEC),
		.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.clock = clock,
		.set_ms = INT64_MAX};
	l->tick = (struct loop_watch){on_tick, l, l->timer};
	if (l->epoll < 0 || l->timer < 0) {
		err_set(e, ERR_INTERNAL, "No event loop: %s", strerror(errno));
		return NULL;
	}
	arena_defer(a, close_loop, l);
	return loop_add(l, &l->tick, e) ? l : NULL;
}
