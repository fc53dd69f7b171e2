/*
 * fcgi.h - libfcgi behind a seam: fcgi.c is the only user of fcgiapp.h.
 *
 * Connections are accepted and polled elsewhere (dispatch.h). Here one that has
 * something to read is taken through one request at a time.
 */
#ifndef INSTANTSTART_FCGI_FCGI_H
#define INSTANTSTART_FCGI_FCGI_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "fcgi/conn.h"

struct fcgi;

struct fcgi *fcgi_new(struct arena *a, struct err *e) __attribute__((warn_unused_result));

/* Reads a request's head. false: the connection is closed, by its peer or by us. */
bool fcgi_begin(struct fcgi *f, int fd) __attribute__((warn_unused_result));
/* The request at hand, between begin and end. */
struct conn *fcgi_conn(struct fcgi *f);
/* Ends the answer. Whether the connection is kept for another request. */
bool fcgi_end(struct fcgi *f);

#endif
