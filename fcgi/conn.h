/*
 * conn.h - the seam to whoever brings requests: FastCGI, or a test's table.
 *
 * One request at a time. param() borrows until the request ends.
 */
#ifndef INSTANTSTART_FCGI_CONN_H
#define INSTANTSTART_FCGI_CONN_H

#include <stdbool.h>
#include <stddef.h>

struct conn {
	/* A CGI variable ("REQUEST_METHOD", "HTTP_HOST"), or NULL. */
	const char *(*param)(struct conn *c, const char *name);
	/* Up to n bytes of the body; 0 at its end. */
	size_t (*read)(struct conn *c, void *p, size_t n);
	void (*write)(struct conn *c, const void *p, size_t n);
	/* Whether who asked has closed the connection; NULL: nobody can tell. */
	bool (*gone)(struct conn *c);
};

#endif
