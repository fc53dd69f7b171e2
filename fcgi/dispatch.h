/*
 * dispatch.h - which connection a worker serves next.
 *
 * libfcgi stays with one connection until it closes, so that with keep-alive
 * a pool of processes starves the surplus connections of nginx (measured:
 * requests that time out). Without keep-alive it serves 1.6 to 1.9 times less.
 * So each worker polls the listener and all connections it has kept, and hands
 * a connection to libfcgi only when a request is on it. One thread, one request
 * at a time: a worker that dies takes one request along.
 *
 * Workers that share a listener also share a struct dispatch_load, so that none
 * collects most of the connections while others idle.
 */
#ifndef INSTANTSTART_FCGI_DISPATCH_H
#define INSTANTSTART_FCGI_DISPATCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fcgi/conn.h"

/* In shared memory: kept connections of all workers of a pool, and of one. */
struct dispatch_load {
	_Atomic int *total;
	_Atomic int *own;
	int workers;
};

struct dispatch;

/*
 * listen_fd is non-blocking. stop_fd becomes readable when the worker shall
 * drain: it accepts nothing more, serves what comes on kept connections and
 * ends when nginx has closed them (its keepalive_timeout and
 * keepalive_time bound that) or drain_ms have passed.
 */
struct dispatch *dispatch_open(struct arena *a, int listen_fd, int stop_fd, int drain_ms,
			       struct dispatch_load load, struct err *e)
	__attribute__((warn_unused_result));
/* The next request; NULL when drained. It ends at the next call. */
struct conn *dispatch_next(struct dispatch *d);

#endif
