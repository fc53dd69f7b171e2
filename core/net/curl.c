/*
 * The real transport, on one libcurl easy handle.
 *
 * libcurl repeats a request by itself when a kept connection dies before any
 * answer came. For a mutation that would be a second sending that nobody
 * journalled, so the callback that runs just before each sending refuses the
 * second one. The same callback tells NOT_SENT from AMBIGUOUS: until it ran,
 * no byte of the request has left.
 *
 * CURLOPT_NOSIGNAL is not set: without it libcurl keeps SIGPIPE away, and its
 * threaded resolver needs no SIGALRM.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/limits.h"
#include "core/base/str.h"
#include "core/net/curl_options.h"
#include "core/net/transport.h"

enum {
	CONNECT_TIMEOUT_MS = 10 * 1000,
	CONNECTION_MAX_IDLE_S = 20, /* services close idle ones soon after */
	ANSWER_HEADERS_MAX = 100,
	ANSWER_HEADER_BYTES_MAX = 64 * 1024,
	CA_FILE_MAX = 4 * 1024 * 1024,
	/* What callbacks take, but for the body: copies of headers. */
	CALLBACK_ROOM = 4 * ANSWER_HEADER_BYTES_MAX,
};

struct net_curl {
	struct transport transport; /* first */
	CURL *easy;
	const char *ca_pem; /* system's and extra; NULL: libcurl's default */
};

/* One exchange under way. */
struct exchange {
	const struct http_request *req;
	struct http_answer *ans;
	struct arena *arena;
	CURL *easy;
	struct buf body;
	size_t header_bytes;
	int sendings;
	bool stopped; /* on_data had enough */
	bool headers_too_large;
	bool no_room; /* the unit of work has no memory left for the body */
};

static bool may_repeat(const char *method)
{
	return streq(method, "GET") || streq(method, "HEAD");
}

static int before_sending(void *ctx, char *peer_ip, char *local_ip, int peer_port,
			  int local_port)
{
	struct exchange *x = ctx;

	(void)peer_ip, (void)local_ip, (void)peer_port, (void)local_port;
	if (x->sendings > 0 && !may_repeat(x->req->method))
		return CURL_PREREQFUNC_ABORT;
	x->sendings++;
	return CURL_PREREQFUNC_OK;
}

static size_t on_header(char *p, size_t one, size_t n, void *ctx)
{
	struct exchange *x = ctx;
	struct str line = str_trim((struct str){p, n});
	struct str name;
	char *lower;

	(void)one;
	if (str_has_prefix(line, STR("HTTP/"))) { /* a new answer: 100, then 200 */
		x->ans->n_headers = 0;
		return n;
	}
	x->header_bytes += n;
	if (x->header_bytes > ANSWER_HEADER_BYTES_MAX ||
	    x->ans->n_headers == ANSWER_HEADERS_MAX) {
		x->headers_too_large = true;
		return 0;
	}
	name = str_cut(&line, ':');
	if (!line.p)
		return n;
	lower = str_dup(x->arena, str_trim(name));
	for (char *c = lower; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	x->ans->header[x->ans->n_headers++] =
		(struct http_header){lower, str_dup(x->arena, str_trim(line))};
	return n;
}

static size_t on_body(char *p, size_t one, size_t n, void *ctx)
{
	struct exchange *x = ctx;
	long status = 0;

	(void)one;
	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
	if (x->req->on_data && status >= 200 && status < 300) {
		x->stopped = !x->req->on_data(x->req->on_data_ctx, p, n);
		return x->stopped ? 0 : n;
	}
	/* The unit may not end in here: libcurl would be left in the middle. */
	x->no_room = arena_room(x->arena) < 2 * (x->body.len + n) + CALLBACK_ROOM;
	if (x->no_room)
		return 0;
	buf_add(&x->body, p, n);
	return x->body.overflow ? 0 : n;
}

/* libcurl calls this about once a second, whatever happens. */
static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct http_request *req = ctx;

	(void)a, (void)b, (void)c, (void)d;
	return req->gone(req->gone_ctx) ? 1 : 0;
}

static void set_body(CURL *easy, const struct http_request *req)
{
	bool takes_body = streq(req->method, "POST") || streq(req->method, "PUT") ||
			  streq(req->method, "PATCH");

	if (req->body || takes_body) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)req->body_len);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, req->body ? req->body : "");
	}
	if (streq(req->method, "HEAD"))
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	else
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, req->method);
}

static void set_options(struct net_curl *nc, struct exchange *x,
			struct curl_slist *headers)
{
	const struct http_request *req = x->req;
	CURL *easy = nc->easy;
	long connect_ms = req->timeout_ms < CONNECT_TIMEOUT_MS ? (long)req->timeout_ms
							       : CONNECT_TIMEOUT_MS;

	curl_easy_reset(easy); /* keeps the connections */
	curl_easy_setopt(easy, CURLOPT_URL, req->url);
	curl_common(easy);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)req->timeout_ms);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)CONNECTION_MAX_IDLE_S);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, x);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, x);
	if (req->gone) {
		curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
		curl_easy_setopt(easy, CURLOPT_XFERINFODATA, (void *)(uintptr_t)req);
	}
	if (req->no_proxy)
		curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	set_body(easy, req);
	curl_trust(easy, req, nc->ca_pem);
}

static bool failed(struct exchange *x, CURLcode code, struct err *e)
{
	bool sent = x->sendings > 0;
	enum errc errc = sent ? ERR_AMBIGUOUS : ERR_CLOUD_UNREACHABLE;

	x->ans->outcome = sent ? NET_AMBIGUOUS : NET_NOT_SENT;
	x->ans->n_headers = 0;
	if (x->body.overflow)
		return err_set(e, errc, "The answer is longer than %d bytes",
			       LIMIT_CLOUD_BODY);
	if (x->no_room)
		return err_set(e, errc,
			       "The answer, after %zu bytes, needs more memory than one "
			       "request can use",
			       x->body.len);
	if (x->headers_too_large)
		return err_set(e, errc, "The headers of the answer are too large");
	return err_set(e, errc, "%s %s", curl_easy_strerror(code),
		       sent ? "after the request was sent"
			    : "before the request was sent");
}

static bool curl_send(struct transport *t, struct arena *a,
		      const struct http_request *req, struct http_answer *ret,
		      struct err *e)
{
	struct net_curl *nc = (struct net_curl *)t;
	struct exchange x = {.req = req, .ans = ret, .arena = a, .easy = nc->easy};
	struct curl_slist *headers = curl_headers(req, a);
	long status = 0;
	CURLcode code;

	*ret = (struct http_answer){.outcome = NET_NOT_SENT, .body = ""};
	if (!http_may_send(req, e))
		return false;
	if (!headers)
		return err_set(e, ERR_INTERNAL, "A request header contains a line break");
	ret->header = arena_array(a, struct http_header, ANSWER_HEADERS_MAX);
	buf_init(&x.body, a, LIMIT_CLOUD_BODY);
	set_options(nc, &x, headers);
	arena_require(a, CALLBACK_ROOM);
	code = curl_easy_perform(nc->easy);
	if (code != CURLE_OK && !x.stopped)
		return failed(&x, code, e);
	curl_easy_getinfo(nc->easy, CURLINFO_RESPONSE_CODE, &status);
	ret->outcome = NET_ANSWERED;
	ret->status = (int)status;
	ret->body = buf_cstr(&x.body);
	ret->body_len = x.body.len;
	return true;
}

static void close_file(void *f)
{
	fclose(f);
}

/* The system's bundle followed by the extra authorities. */
static const char *join_authorities(struct arena *a, CURL *easy, const char *extra,
				    struct err *e)
{
	struct buf pem;
	char chunk[8192];
	char *path = NULL;
	FILE *f;

	buf_init(&pem, a, CA_FILE_MAX);
	curl_easy_getinfo(easy, CURLINFO_CAINFO, &path);
	f = path ? fopen(path, "re") : NULL;
	if (f) {
		arena_defer(a, close_file, f);
		for (size_t n; (n = fread(chunk, 1, sizeof(chunk), f)) > 0;)
			buf_add(&pem, chunk, n);
		buf_addc(&pem, '\n');
	}
	buf_adds(&pem, extra);
	if (pem.overflow) {
		err_set(e, ERR_CONFIG,
			"The certificate authorities are longer than %d bytes",
			CA_FILE_MAX);
		return NULL;
	}
	return buf_cstr(&pem);
}

static void free_easy(void *easy)
{
	curl_easy_cleanup(easy);
}

struct transport *net_curl_new(struct arena *a, const char *extra_ca_pem, struct err *e)
{
	struct net_curl *nc = arena_new(a, struct net_curl);

	nc->easy = curl_easy_init();
	if (!nc->easy) {
		err_set(e, ERR_INTERNAL, "libcurl cannot be started");
		return NULL;
	}
	arena_defer(a, free_easy, nc->easy);
	if (extra_ca_pem) {
		nc->ca_pem = join_authorities(a, nc->easy, extra_ca_pem, e);
		if (!nc->ca_pem)
			return NULL;
	}
	nc->transport.send = curl_send;
	return &nc->transport;
}
