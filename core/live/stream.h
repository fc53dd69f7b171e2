/*
 * stream.h - which logs are followed now.
 *
 * One stream for a pod and container however many read it. It begins with its
 * first reader and goes on for a while after its last one, so that whoever lost
 * its connection finds its place again. Lines are handed on in batches: at once
 * after a silence, else every 50 ms or 100 lines.
 */
#ifndef INSTANTSTART_LIVE_STREAM_H
#define INSTANTSTART_LIVE_STREAM_H

#include <stdbool.h>

#include "core/live/feed.h"
#include "core/live/follow.h"

enum {
	STREAMS_MAX = 128,
	STREAM_LINGER_MS = 30000,
	STREAM_BATCH_MS = 50,
	STREAM_BATCH_LINES = 100,
	STREAM_RING_BYTES = 4 * 1024 * 1024,
	STREAM_RING_LINES = 50000
};

struct streams;

/* up lives as long as the process's arena. */
struct streams *streams_new(struct arena *a, const struct upstreams *up);
/*
 * Puts the reader on the stream of that log, which is begun when there is none.
 * of is copied. RATE_LIMITED when too many are followed.
 */
bool streams_join(struct streams *s, const struct follow_of *of, struct reader *r,
		  struct err *e) __attribute__((warn_unused_result));
void streams_leave(struct streams *s, struct reader *r);
/* All of them, at the end of the process. */
void streams_stop(struct streams *s);

#endif
