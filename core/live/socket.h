/*
 * socket.h - WebSockets, by libwebsockets, which drives the loop of the process.
 *
 * nginx connects to listen_fd and hands on upgraded connections with their grant
 * in X-Live; whoever else comes is closed. The loop's descriptor is polled
 * beside the connections.
 */
#ifndef INSTANTSTART_LIVE_SOCKET_H
#define INSTANTSTART_LIVE_SOCKET_H

#include "core/live/loop.h"
#include "core/live/viewer.h"

struct socket_server;

/* Sets viewers->wake. */
struct socket_server *socket_open(struct arena *a, struct loop *loop,
				  struct viewers *viewers, int listen_fd, struct err *e)
	__attribute__((warn_unused_result));
/* Waits for the next things to do, and does them. */
void socket_run_once(struct socket_server *s);

#endif
