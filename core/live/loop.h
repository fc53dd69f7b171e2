/*
 * loop.h - descriptors and timers of one process, behind one descriptor.
 *
 * libwebsockets drives: it polls loop_fd() beside its own connections and calls
 * loop_turn() when that is readable. The timers are behind the same descriptor
 * (a timerfd), so nobody computes a common timeout.
 *
 * Watches and timers are memory of their owners; the loop only links them. They
 * are few (a handful of descriptors, two timers a followed log).
 */
#ifndef INSTANTSTART_LIVE_LOOP_H
#define INSTANTSTART_LIVE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/err.h"

struct loop;

struct loop_watch {
	void (*fn)(void *ctx);
	void *ctx;
	int fd;
};

struct loop_timer {
	void (*fn)(void *ctx);
	void *ctx;
	int64_t at_ms;
	bool armed, linked;
	struct loop_timer *next;
};

struct loop *loop_new(struct arena *a, struct clock *clock, struct err *e)
	__attribute__((warn_unused_result));
int loop_fd(const struct loop *l);
int64_t loop_now(const struct loop *l);

/* Calls fn while fd is readable. */
bool loop_add(struct loop *l, struct loop_watch *w, struct err *e)
	__attribute__((warn_unused_result));
void loop_remove(struct loop *l, struct loop_watch *w);

/* Once, in `ms`; a timer that is armed already is set anew. */
void loop_after(struct loop *l, struct loop_timer *t, int64_t ms);
/* The same, but never later than it is armed for. */
void loop_within(struct loop *l, struct loop_timer *t, int64_t ms);
void loop_stop_timer(struct loop *l, struct loop_timer *t);

/* At the end of every turn. */
void loop_at_end(struct loop *l, void (*fn)(void *ctx), void *ctx);

/* What is ready and due, once. */
void loop_turn(struct loop *l);

#endif
