/*
 * pg_proxy.h - stands between a connection and its server, and cuts.
 *
 * Speaks no PostgreSQL: it only knows where one message ends. A cut closes both
 * sides right after a message; a stall delivers nothing more and closes nothing.
 * One thread; every connection of the test goes through it. Ends with the process.
 */
#ifndef INSTANTSTART_TESTS_INTEGRATION_PG_PROXY_H
#define INSTANTSTART_TESTS_INTEGRATION_PG_PROXY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/arena.h"

struct pg_proxy {
	/* Messages until the cut; negative: none. Counted down; armed once. */
	atomic_int after_answers;  /* of the server */
	atomic_int after_requests; /* of the client */
	atomic_bool stall;         /* instead of closing */
	atomic_int cuts;           /* how many there were */
	atomic_bool refuse;        /* new connections end at once */
	int listener;
	char dir[64];
	char upstream[108];
};

/* `url` names the server's socket folder; *ret_url goes through the proxy. */
struct pg_proxy *pg_proxy_start(struct arena *a, const char *url, const char **ret_url);

#endif
