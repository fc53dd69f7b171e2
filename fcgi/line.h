/*
 * line.h - who waits for the slow pool: a place in line for each request.
 *
 * Fast workers give places, slow workers take them back; the table is shared memory. A
 * place whose request never arrives (its client left on the way) ends by itself. The
 * counts may be off by one for a moment: they bound, they do not measure.
 */
#ifndef INSTANTSTART_FCGI_LINE_H
#define INSTANTSTART_FCGI_LINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

enum { LINE_PLACES = 256, LINE_PLACE_MS = 60 * 1000 };

struct line {
	_Atomic int64_t served_ms; /* how long one takes, lately */
	struct {
		_Atomic int64_t until_ms; /* monotonic; past: free */
		_Atomic uint64_t who;
		_Atomic uint64_t request;
	} place[LINE_PLACES];
};

struct line_rule {
	int workers;         /* of the slow pool */
	int per_user;        /* places that one principal may have */
	int64_t deadline_ms; /* a longer wait than that is for nothing */
};

/*
 * RATE_LIMITED when the principal has all his places, DEADLINE when the line is longer
 * than anybody's patience: both before anything has been done.
 */
bool line_join(struct line *l, const struct line_rule *r, const char *who,
	       const char *request, int64_t now_ms, struct err *e)
	__attribute__((warn_unused_result));
/* request: as joined with; one that is in no place does no harm. */
void line_leave(struct line *l, uint64_t request, int64_t took_ms);
uint64_t line_key(const char *text);

#endif
