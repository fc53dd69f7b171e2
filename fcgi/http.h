/*
 * http.h - one HTTP request and its answer, above the connection seam.
 *
 * Everything lives in the request's arena. A request is refused here for what
 * concerns HTTP alone: bad escapes, bad UTF-8, too long, too large.
 */
#ifndef INSTANTSTART_FCGI_HTTP_H
#define INSTANTSTART_FCGI_HTTP_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/str.h"
#include "fcgi/conn.h"

enum { HTTP_SEGMENTS_MAX = 12, HTTP_QUERY_MAX = 32 };

struct http_pair {
	const char *name;
	const char *value;
};

struct http_req {
	struct conn *conn;
	struct arena *arena;
	const char *method;
	const char *path; /* as sent, without the query */
	/* Between slashes, each decoded by itself. */
	const char *segment[HTTP_SEGMENTS_MAX];
	size_t n_segments;
	struct http_pair query[HTTP_QUERY_MAX];
	size_t n_query;
	const char *request_id;
	/* Has waited in instantstart-live already: answer now. */
	bool parked;
};

struct http_res {
	int status;
	const char *type;
	struct str body;
	struct buf headers;
};

/* Reads all but the body. On failure *ret can still be answered. */
bool http_read(struct conn *c, struct arena *a, struct http_req *ret, struct err *e)
	__attribute__((warn_unused_result));
/* The body as sent; TOO_LARGE above LIMIT_REQUEST_BODY. */
bool http_body(const struct http_req *req, struct str *ret, struct err *e)
	__attribute__((warn_unused_result));
/* name as CGI spells it: "HTTP_ORIGIN", "CONTENT_TYPE". NULL when absent or empty. */
const char *http_header(const struct http_req *req, const char *name);
/* The header Idempotency-Key without its quotes; NULL when there is none. */
bool http_idempotency_key(const struct http_req *req, const char **ret, struct err *e)
	__attribute__((warn_unused_result));
/* The value of a query parameter, or NULL. */
const char *http_query(const struct http_req *req, const char *name);
/* The media type without parameters is `type`. */
bool http_has_type(const struct http_req *req, const char *type);
/* Whether the caller takes that media type, "application/json"; one that does not
 * say takes all. */
bool http_accepts(const struct http_req *req, const char *type);
/* A cookie's value, or NULL. */
const char *http_cookie(const struct http_req *req, const char *name);

void http_res_init(struct http_res *res, struct arena *a);
/* Line breaks in the value are left out. */
void http_res_header(struct http_res *res, const char *name, const char *value);
void http_send(const struct http_req *req, const struct http_res *res);

const char *http_status_text(int status);

#endif
