/* Hands requests to the cloud in process: the HTTP seam of fault tests. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/base/limits.h"
#include "tests/cloud/core.h"

static void lower_headers(struct arena *a, const struct cloud_response *res,
			  struct http_answer *ret)
{
	ret->header = arena_array(a, struct http_header, res->n_headers + 1);
	for (size_t i = 0; i < res->n_headers; i++) {
		char *name = arena_strdup(a, res->header[i].name);

		for (char *p = name; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		ret->header[i] =
			(struct http_header){name, arena_strdup(a, res->header[i].value)};
	}
	ret->n_headers = res->n_headers;
}

static void to_cloud(struct arena *a, const struct http_request *req,
		     struct cloud_request *ret)
{
	const char *host = strstr(req->url, "://");
	struct http_header *h = arena_array(a, struct http_header, req->n_headers + 2);
	size_t n = req->n_headers;
	const char *auth = secret_reveal(req->authorization);

	host = host ? host + 3 : req->url;
	size_t host_len = strcspn(host, "/?");
	const char *target = host + host_len;

	memcpy(h, req->header, n * sizeof(*h));
	if (auth)
		h[n++] = (struct http_header){"authorization", auth};
	*ret = (struct cloud_request){
		.method = req->method,
		.host = arena_strndup(a, host, host_len),
		.target = *target == '/' ? target : arena_printf(a, "/%s", target),
		.header = h,
		.n_headers = n,
		.body = req->body,
		.body_len = req->body ? req->body_len : 0,
	};
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(h[i].name, "host") == 0)
			ret->host = h[i].value;
}

/* A stream gives what there is now: in process there is nobody to wait for. */
static void drain(struct arena *a, const struct http_request *req,
		  struct cloud_response *res)
{
	const char *p;
	size_t n;

	while (res->more(res->more_ctx, a, &p, &n) && n > 0)
		if (!req->on_data(req->on_data_ctx, p, n))
			break;
	if (res->more_end)
		res->more_end(res->more_ctx);
}

static bool lost(struct http_answer *ret, struct err *e, enum net_outcome outcome,
		 const char *what)
{
	ret->outcome = outcome;
	return err_set(e,
		       outcome == NET_AMBIGUOUS ? ERR_AMBIGUOUS : ERR_CLOUD_UNREACHABLE,
		       "%s", what);
}

static void collect(struct arena *a, const struct http_request *req,
		    struct cloud_response *res, struct http_answer *ret)
{
	ret->outcome = NET_ANSWERED;
	ret->status = res->status;
	lower_headers(a, res, ret);
	ret->body = "";
	if (req->on_data && res->status < 300) {
		if (res->body_len > 0)
			req->on_data(req->on_data_ctx, res->body, res->body_len);
		if (res->more)
			drain(a, req, res);
		return;
	}
	ret->body = arena_strndup(a, res->body, res->body_len);
	if (memchr(res->body, '\0', res->body_len)) {
		char *copy = arena_alloc(a, res->body_len + 1);

		memcpy(copy, res->body, res->body_len);
		ret->body = copy;
	}
	ret->body_len = res->body_len;
	if (res->more && res->more_end)
		res->more_end(res->more_ctx);
}

static bool send_in_process(struct transport *t, struct arena *a,
			    const struct http_request *req, struct http_answer *ret,
			    struct err *e)
{
	struct cloud *c = (struct cloud *)t;
	struct cloud_request creq;
	struct cloud_response res;

	memset(ret, 0, sizeof(*ret));
	to_cloud(a, req, &creq);
	cloud_handle(c, a, &creq, &res);
	switch (res.fate) {
	case FATE_LOSE_REQUEST:
		return lost(ret, e, NET_NOT_SENT, "Connection refused");
	case FATE_LOSE_ANSWER:
		return lost(ret, e, NET_AMBIGUOUS, "Connection reset before the answer");
	case FATE_HANG:
		return lost(ret, e, NET_AMBIGUOUS,
			    "Timed out while waiting for the answer");
	case FATE_ANSWER:
		break;
	}
	if (res.body_len > LIMIT_CLOUD_BODY)
		return lost(ret, e, NET_AMBIGUOUS, "The answer is larger than allowed");
	collect(a, req, &res, ret);
	return true;
}

struct transport *cloud_transport(struct cloud *c)
{
	c->transport.send = send_in_process;
	return &c->transport;
}
