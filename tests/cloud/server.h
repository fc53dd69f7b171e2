/*
 * server.h - the simulated cloud behind libmicrohttpd, plain and TLS.
 *
 * Requests are served one at a time. A hung exchange (FATE_HANG) is kept open
 * until the client or the server goes; a lost one is cut.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_SERVER_H
#define INSTANTSTART_TESTS_CLOUD_SERVER_H

#include <stdbool.h>

#include "tests/cloud/cloud.h"
#include "tests/cloud/tls.h"

struct server;

/* A listening socket of 127.0.0.1 (or any address); *port 0: one that is free. */
int server_listen(bool any_address, int *port);
/* Takes over the sockets; tls_fd -1: plain only. NULL: it did not start. */
struct server *server_start(struct cloud *c, int fd, int tls_fd,
			    const struct tls_pems *pems);
/* Lets time pass and streams look for news; to be called every few dozen
 * milliseconds. */
void server_tick(struct server *s);
void server_stop(struct server *s);

#endif
