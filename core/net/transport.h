/*
 * transport.h - the HTTP seam: one request, one answer.
 *
 * The real transport (net_curl_new) is the only user of libcurl. Tests pass a
 * fake, or one that hands requests to the simulated cloud in process.
 *
 * Outcome matters more than the error text: NET_NOT_SENT means that no byte of
 * the request can have reached the peer; NET_AMBIGUOUS that it may have. Only
 * NET_ANSWERED fills status, headers and body.
 *
 * Ownership: everything in the answer lives in the arena of the call.
 */
#ifndef INSTANTSTART_NET_TRANSPORT_H
#define INSTANTSTART_NET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/secret.h"

struct http_header {
	const char *name;
	const char *value;
};

enum { HTTP_HEADERS_MAX = 24 };

struct http_request {
	const char *method; /* upper case */
	const char *url;    /* absolute; path and query exactly as to be sent */
	struct http_header header[HTTP_HEADERS_MAX];
	size_t n_headers;
	struct secret authorization; /* sent as Authorization; never logged */
	const char *body;            /* NULL: none */
	size_t body_len;
	int64_t timeout_ms; /* whole exchange, > 0 */
	const char *ca_pem; /* trust only these authorities; NULL: the system's and the
			       configured ones */
	/*
	 * Streaming answers (watch, log follow): called with each piece as it
	 * comes; false stops the transfer. The body is then not collected,
	 * but an answer other than 2xx is: it says what went wrong.
	 */
	bool (*on_data)(void *ctx, const char *p, size_t n);
	void *on_data_ctx;
	/* Asked about once a second while an exchange goes on: true gives it up. */
	bool (*gone)(void *ctx);
	void *gone_ctx;
	bool no_proxy; /* link-local metadata services: never through a proxy */
};

enum net_outcome { NET_NOT_SENT, NET_AMBIGUOUS, NET_ANSWERED };

struct http_answer {
	enum net_outcome outcome;
	int status;
	struct http_header *header; /* names in lower case */
	size_t n_headers;
	const char *body; /* NUL-terminated; "" when empty */
	size_t body_len;
};

struct transport {
	/*
	 * Returns whether an answer came, whatever its status. Else e is set
	 * (CLOUD_UNREACHABLE, or AMBIGUOUS when bytes may have arrived) and
	 * ret->outcome says which. An answer above LIMIT_CLOUD_BODY is
	 * AMBIGUOUS for a mutation's sake: the request did arrive. Redirects
	 * are answers. A request other than GET and HEAD is sent at most once,
	 * also when a kept connection turns out to be dead.
	 */
	bool (*send)(struct transport *t, struct arena *a, const struct http_request *req,
		     struct http_answer *ret, struct err *e);
};

/* extra_ca_pem (PEM text; may be NULL) is added to the system's authorities; proxies come
 * from HTTPS_PROXY and NO_PROXY. One handle, reused: connections are kept. */
struct transport *net_curl_new(struct arena *a, const char *extra_ca_pem, struct err *e)
	__attribute__((warn_unused_result));

/*
 * Whether what is sent there cannot be read on the way: https, or plain http that does
 * not leave this machine (loopback, and the link-local services that give credentials).
 * Both transports refuse to send an Authorization header anywhere else.
 */
bool http_is_private(const char *url);
bool http_may_send(const struct http_request *req, struct err *e)
	__attribute__((warn_unused_result));

void http_add_header(struct http_request *r, const char *name, const char *value);
/* NULL when there is no such header; the name in lower case. */
const char *http_header_of(const struct http_answer *ans, const char *name);

#endif
