/*
 * line.h - who waits for the slow pool: a place in line for each request.
 *
 * Fast workers give places, slow workers take the requests and give the places back;
 * the table is shared memory. A place keeps when its request arrived, so that its time
 * runs while it waits, too. A place whose request never arrives (its client left on the
 * way) ends by itself. The counts may be off by one for a moment: they bound, they do
 * not measure.
 */
#ifndef INSTANTSTART_FCGI_LINE_H
#define INSTANTSTART_FCGI_LINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

enum { LINE_PLACES = 256, LINE_PLACE_MS = 60 * 1000, LINE_NOT_SERVED = -1 };

struct line {
	_Atomic int64_t served_ms; /* how long one takes, lately */
	struct {
		_Atomic int64_t until_ms; /* monotonic; past: free */
		_Atomic int64_t joined_ms;
		_Atomic int64_t taken_ms; /* by a worker; 0: it waits */
		_Atomic uint64_t who;
		_Atomic uint64_t request;
	} place[LINE_PLACES];
};

struct line_rule {
	int workers;         /* of the slow pool */
	int per_user;        /* places that a principal has in any case */
	int64_t wait_ms;     /* nobody waits longer than that */
	int64_t deadline_ms; /* of this request, its waiting included */
};

/*
 * A principal has per_user places while the line is not too long for anybody. More than
 * those are his as long as the line is at most half as long as it may be: whoever has
 * few finds the other half free. RATE_LIMITED past that; DEADLINE when the request
 * would end too late. Both come before anything has been done.
 */
bool line_join(struct line *l, const struct line_rule *r, const char *who,
	       const char *request, int64_t now_ms, struct err *e)
	__attribute__((warn_unused_result));
/* A worker begins with it: when it arrived, which is now_ms for one without a place. */
int64_t line_take(struct line *l, uint64_t request, int64_t now_ms);
/*
 * request: as joined with; one that is in no place does no harm. took_ms is
 * LINE_NOT_SERVED for one that was refused: it tells nothing of the cloud.
 */
void line_leave(struct line *l, uint64_t request, int64_t took_ms);
/* How many are under way or wait. */
int line_length(const struct line *l, int64_t now_ms);
uint64_t line_key(const char *text);

#endif
