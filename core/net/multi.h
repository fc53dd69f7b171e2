/*
 * multi.h - many streaming answers at once, in somebody's event loop.
 *
 * The other user of libcurl besides the blocking transport: the descriptor of a
 * net_multi becomes readable when something is to be done, net_multi_run() does
 * it. Only GET: nothing is ever sent twice that must not be.
 *
 * A stream owns copies of what its request says, and goes with net_stream_close()
 * or after `done`. Callbacks come from net_multi_run() only; from inside of them
 * streams may be opened and closed.
 */
#ifndef INSTANTSTART_NET_MULTI_H
#define INSTANTSTART_NET_MULTI_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/net/transport.h"

struct net_multi;
struct net_stream;

struct net_events {
	/* A good answer begins; its pieces go to http_request.on_data. May be NULL. */
	void (*begun)(void *ctx);
	/* The end, by the server, on_data, or a failure (e is NULL when an answer
	 * came, whatever its status). The stream is gone after it. */
	void (*done)(void *ctx, const struct http_answer *ans, const struct err *e);
	void *ctx;
};

struct net_multi *net_multi_new(struct arena *a, struct err *e)
	__attribute__((warn_unused_result));
int net_multi_fd(const struct net_multi *m);
void net_multi_run(struct net_multi *m);

/* NULL: the request cannot be sent at all. */
struct net_stream *net_stream_open(struct net_multi *m, const struct http_request *req,
				   const struct net_events *events, struct err *e)
	__attribute__((warn_unused_result));
/* No callback comes any more. */
void net_stream_close(struct net_stream *s);
/*
 * Back-pressure: from inside of on_data, no more of it until net_stream_resume();
 * the server's side of the connection fills and waits. Resuming may call on_data
 * before it returns.
 */
void net_stream_pause(struct net_stream *s);
void net_stream_resume(struct net_stream *s);

#endif
