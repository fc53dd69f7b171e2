/*
 * ring.h - the last texts of a stream, numbered. Pure.
 *
 * Texts lie one behind the other in one buffer that was allocated once; the
 * oldest give way. Numbers grow by one. A text never crosses the buffer's end,
 * so that neighbours can be copied together.
 */
#ifndef INSTANTSTART_LIVE_RING_H
#define INSTANTSTART_LIVE_RING_H

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/str.h"

struct ring_text {
	uint32_t at, n;
};

struct ring {
	char *bytes;
	struct ring_text *text; /* circular, `slots` of them */
	uint32_t size, slots;
	uint32_t head;  /* slot of the oldest */
	uint32_t count; /* texts held */
	uint32_t write; /* where the next one goes */
	int64_t first;  /* number of the oldest, or of the next one when empty */
};

/* Numbers begin with `first`. */
void ring_init(struct ring *r, struct arena *a, uint32_t bytes, uint32_t texts,
	       int64_t first);
/* s.n must be below the ring's bytes; returns its number. */
int64_t ring_add(struct ring *r, struct str s);
/* Number of the text to come. */
int64_t ring_next(const struct ring *r);
/* The text of a number that the ring holds. */
struct str ring_at(const struct ring *r, int64_t number);
/* All numbers change by so much; those below 1 fall out. */
void ring_renumber(struct ring *r, int64_t by);

/*
 * Joins the texts from `from` to before `to` with commas into out, as many as
 * fit; returns the number behind the last one.
 */
int64_t ring_join(const struct ring *r, int64_t from, int64_t to, char *out, size_t room,
		  size_t *ret_n);

#endif
