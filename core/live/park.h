/*
 * park.h - requests that wait for an operation to change.
 *
 * Holds what a worker must not hold: a connection of nginx, the operation's id,
 * the version the client has, and a time limit. When the version differs or the
 * time is up the connection is told to go back for its answer (X-Accel-Redirect:
 * @final); what the answer is, this program does not know.
 *
 * LISTEN comes before the look at the version, so that no change between the
 * two is missed; after a lost connection, and from time to time in any case,
 * all are looked at again.
 */
#ifndef INSTANTSTART_LIVE_PARK_H
#define INSTANTSTART_LIVE_PARK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/live/ask.h"
#include "core/live/download.h"
#include "core/live/loop.h"

enum {
	PARK_MAX = 4096, /* one more is answered at once */
	PARK_SECONDS_MAX = 60,
	PARK_RECHECK_MS = 2000
};

struct park;

/* Serves HTTP on listen_fd, downloads as well. The arena is the process's; db listens
 * already. A principal may have per_user requests waiting: one more is answered at
 * once, like one for which there is no room. */
struct park *park_open(struct arena *a, struct loop *loop, int listen_fd, int per_user,
		       const struct upstreams *up, struct downloads *downloads,
		       struct err *e) __attribute__((warn_unused_result));
/* That operation has changed, perhaps. */
void park_note(struct park *p, const char *op);
/* Notifications may have been missed. */
void park_recheck(struct park *p);
/* The end: everyone waiting is sent for the answer. */
void park_send_back(struct park *p);

/* Who waits for what, as the FastCGI program writes it into X-Park: "op_… version
 * seconds principal", of the principal a digest. */
struct park_ticket {
	char op[48];
	int64_t version;
	int64_t seconds;
	char who[32];
};
bool park_parse(const char *text, struct park_ticket *ret)
	__attribute__((warn_unused_result));

#endif
