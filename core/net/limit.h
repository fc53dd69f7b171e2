/*
 * limit.h - a transport whose exchanges end together.
 *
 * Whoever serves one request gives all that is asked for it one moment by which it is
 * over: each exchange gets what is left of it, and none is begun beyond it or for a
 * caller who has gone. One begun is given up within about a second of that.
 */
#ifndef INSTANTSTART_NET_LIMIT_H
#define INSTANTSTART_NET_LIMIT_H

#include "core/base/clock.h"
#include "core/net/transport.h"

struct net_limit {
	struct transport transport; /* first: what is handed on */
	struct transport *inner;
	struct clock *clock;
	int64_t until_ms;        /* monotonic; 0: no end */
	int64_t exchange_ms;     /* one exchange has no longer; 0: as it was asked for */
	bool (*gone)(void *ctx); /* NULL: the caller stays */
	void *ctx;
};

void net_limit_init(struct net_limit *l, struct transport *inner, struct clock *clock);
/* From now on; gone may be NULL. */
void net_limit_set(struct net_limit *l, int64_t until_ms, bool (*gone)(void *ctx),
		   void *ctx);

#endif
