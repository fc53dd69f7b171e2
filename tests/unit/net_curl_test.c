/*
 * The real transport against a small server that misbehaves on demand: what is
 * sent, how often, and what the outcome is called.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/limits.h"
#include "core/net/limit.h"
#include "core/net/multi.h"
#include "core/net/transport.h"

/* ---------------------------------------------------------------- server */

enum { REQUESTS_MAX = 8, REQUEST_BYTES = 16 * 1024, PATIENCE_MS = 10000 };

static const char hang[] = "hang";   /* no answer until the server stops */
static const char drop[] = "drop";   /* close without an answer */
static const char flood[] = "flood"; /* a body without end */

struct server {
	int listener;
	int port;
	int stop[2]; /* a byte in it ends everything */
	pthread_t thread;
	const char *const *answers; /* one for each request */
	size_t n_answers;
	size_t n_requests;
	size_t n_connections;
	char request[REQUESTS_MAX][REQUEST_BYTES];
};

/* Waits until fd can be read; false when the server is to stop. */
static bool readable(struct server *s, int fd)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
			      {.fd = s->stop[0], .events = POLLIN}};

	return poll(p, 2, PATIENCE_MS) > 0 && !(p[1].revents & POLLIN);
}

static size_t body_length(const char *request)
{
	const char *h = strcasestr(request, "\r\ncontent-length:");

	return h ? (size_t)strtoul(h + 17, NULL, 10) : 0;
}

static bool read_request(struct server *s, int fd, char *into)
{
	size_t n = 0;

	for (;;) {
		const char *end = strstr(into, "\r\n\r\n");
		ssize_t got;

		if (end && n >= (size_t)(end + 4 - into) + body_length(into))
			return true;
		if (n == REQUEST_BYTES - 1 || !readable(s, fd))
			return false;
		got = read(fd, into + n, REQUEST_BYTES - 1 - n);
		if (got <= 0)
			return false;
		n += (size_t)got;
		into[n] = 0;
		if (*into == 0x16) /* a TLS greeting */
			return false;
	}
}

static void send_text(int fd, const char *text)
{
	size_t n = strlen(text);

	while (n > 0) {
		ssize_t put = send(fd, text, n, MSG_NOSIGNAL);

		if (put <= 0)
			return;
		text += put;
		n -= (size_t)put;
	}
}

static void send_flood(int fd)
{
	static char chunk[64 * 1024];

	memset(chunk, 'x', sizeof(chunk));
	send_text(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
	while (send(fd, chunk, sizeof(chunk), MSG_NOSIGNAL) > 0)
		;
}

/* false: the connection ends. */
static bool serve_one(struct server *s, int fd)
{
	const char *answer;

	if (s->n_requests == REQUESTS_MAX || s->n_requests == s->n_answers ||
	    !read_request(s, fd, s->request[s->n_requests]))
		return false;
	answer = s->answers[s->n_requests++];
	if (answer == drop)
		return false;
	if (answer == hang) {
		readable(s, s->stop[0]);
		return false;
	}
	if (answer == flood) {
		send_flood(fd);
		return false;
	}
	send_text(fd, answer);
	return !strstr(answer, "Connection: close");
}

static void *serve(void *ctx)
{
	struct server *s = ctx;

	while (readable(s, s->listener)) {
		int fd = accept(s->listener, NULL, NULL);

		if (fd < 0)
			break;
		s->n_connections++;
		while (serve_one(s, fd))
			;
		close(fd);
	}
	return NULL;
}

static void server_start(struct server *s, const char *const *answers, size_t n)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	memset(s, 0, sizeof(*s));
	s->answers = answers;
	s->n_answers = n;
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(s->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(listen(s->listener, 8), 0);
	cr_assert_eq(getsockname(s->listener, (struct sockaddr *)&at, &len), 0);
	cr_assert_eq(pipe(s->stop), 0);
	s->port = ntohs(at.sin_port);
	cr_assert_eq(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
	cr_assert_eq(write(s->stop[1], "x", 1), 1);
	pthread_join(s->thread, NULL);
	close(s->listener);
	close(s->stop[0]);
	close(s->stop[1]);
}

/* ---------------------------------------------------------------- one exchange */

struct exchange_case {
	const char *what;
	const char *scheme; /* NULL: http */
	const char *method, *path, *body;
	const char *authorization;
	struct http_header header;
	const char *answer; /* NULL: nobody listens */
	enum net_outcome outcome;
	int status;
	const char *answered; /* the body */
	const char *sent;     /* part of the request */
	const char *not_sent;
};

static const struct exchange_case exchanges[] = {
	{.what = "a plain answer",
	 .method = "GET",
	 .path = "/a/%2e%2e/../b//c?x=%2F&y",
	 .answer = "HTTP/1.1 200 OK\r\nX-Thing:  a b \r\nContent-Length: 2\r\n\r\nhi",
	 .outcome = NET_ANSWERED,
	 .status = 200,
	 .answered = "hi",
	 .sent = "GET /a/%2e%2e/../b//c?x=%2F&y HTTP/1.1\r\n",
	 .not_sent = "Content-Type"},
	{.what = "a body, its type, a secret; no Expect however large",
	 .method = "POST",
	 .path = "/",
	 .body = "body",
	 .authorization = "AWS4 x",
	 .header = {"content-type", "application/x-amz-json-1.1"},
	 .answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
	 .outcome = NET_ANSWERED,
	 .status = 404,
	 .answered = "",
	 .sent = "content-type: application/x-amz-json-1.1\r\nAuthorization: AWS4 x\r\n",
	 .not_sent = "Expect"},
	{.what = "PUT without a body says so",
	 .method = "PUT",
	 .path = "/",
	 .answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	 .outcome = NET_ANSWERED,
	 .status = 200,
	 .answered = "",
	 .sent = "Content-Length: 0\r\n",
	 .not_sent = "form-urlencoded"},
	{.what = "HEAD has no body, whatever its length says",
	 .method = "HEAD",
	 .path = "/",
	 .answer = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n",
	 .outcome = NET_ANSWERED,
	 .status = 200,
	 .answered = "",
	 .sent = "HEAD / HTTP/1.1\r\n"},
	{.what = "DELETE",
	 .method = "DELETE",
	 .path = "/x",
	 .answer = "HTTP/1.1 204 No Content\r\n\r\n",
	 .outcome = NET_ANSWERED,
	 .status = 204,
	 .answered = "",
	 .sent = "DELETE /x HTTP/1.1\r\n"},
	{.what = "redirects are answers",
	 .method = "GET",
	 .path = "/",
	 .answer = "HTTP/1.1 301 Moved\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
	 .outcome = NET_ANSWERED,
	 .status = 301,
	 .answered = ""},
	{.what = "an interim answer is not the answer",
	 .method = "POST",
	 .path = "/",
	 .body = "b",
	 .answer = "HTTP/1.1 100 Continue\r\nX-Thing: no\r\n\r\nHTTP/1.1 200 OK\r\n"
		   "X-Thing: a b\r\nContent-Length: 0\r\n\r\n",
	 .outcome = NET_ANSWERED,
	 .status = 200,
	 .answered = ""},
	{.what = "nobody listens",
	 .method = "POST",
	 .path = "/",
	 .body = "b",
	 .outcome = NET_NOT_SENT},
	{.what = "TLS with one who does not speak it",
	 .scheme = "https",
	 .method = "POST",
	 .path = "/",
	 .body = "b",
	 .answer = drop,
	 .outcome = NET_NOT_SENT},
	{.what = "no answer",
	 .method = "POST",
	 .path = "/",
	 .body = "b",
	 .answer = drop,
	 .outcome = NET_AMBIGUOUS},
	{.what = "no answer in time",
	 .method = "POST",
	 .path = "/",
	 .body = "b",
	 .answer = hang,
	 .outcome = NET_AMBIGUOUS},
	{.what = "half an answer",
	 .method = "POST",
	 .path = "/",
	 .body = "b",
	 .answer =
		 "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhalf",
	 .outcome = NET_AMBIGUOUS},
	{.what = "no HTTP",
	 .method = "POST",
	 .path = "/",
	 .body = "b",
	 .answer = "SSH-2.0-x\r\nConnection: close\r\n",
	 .outcome = NET_AMBIGUOUS},
	{.what = "an answer without end",
	 .method = "POST",
	 .path = "/",
	 .body = "b",
	 .answer = flood,
	 .outcome = NET_AMBIGUOUS},
	{.what = "a header that would be two",
	 .method = "POST",
	 .path = "/",
	 .body = "b",
	 .header = {"x", "a\r\nEvil: 1"},
	 .answer = drop,
	 .outcome = NET_NOT_SENT},
	{.what = "not our protocol",
	 .scheme = "file",
	 .method = "GET",
	 .path = "/etc/passwd",
	 .answer = drop,
	 .outcome = NET_NOT_SENT},
};

static int closed_port(void)
{
	struct server s;
	int port;

	server_start(&s, NULL, 0);
	port = s.port;
	server_stop(&s);
	return port;
}

static void check_exchange(const struct exchange_case *c)
{
	static struct server s;
	struct arena a;
	struct err e = {0};
	struct http_answer ans;
	struct transport *t;
	struct http_request req = {.method = c->method, .body = c->body};
	bool ok;

	arena_init(&a, 0);
	if (c->answer)
		server_start(&s, &c->answer, 1);
	t = net_curl_new(&a, NULL, &e);
	cr_assert(t);
	req.url = arena_printf(&a, "%s://127.0.0.1:%d%s", c->scheme ? c->scheme : "http",
			       c->answer ? s.port : closed_port(), c->path);
	req.body_len = c->body ? strlen(c->body) : 0;
	req.authorization = secret_of(c->authorization);
	req.timeout_ms = c->answer == hang ? 200 : PATIENCE_MS;
	if (c->header.name)
		http_add_header(&req, c->header.name, c->header.value);
	ok = t->send(t, &a, &req, &ans, &e);
	cr_expect_eq(ok, c->outcome == NET_ANSWERED, "%s: %s", c->what, e.detail);
	cr_expect_eq(ans.outcome, c->outcome, "%s: %d %s", c->what, ans.outcome,
		     e.detail);
	if (ok) {
		cr_expect_eq(ans.status, c->status, "%s: %d", c->what, ans.status);
		cr_expect_str_eq(ans.body, c->answered, "%s", c->what);
		if (strstr(c->answer, "X-Thing"))
			cr_expect_str_eq(http_header_of(&ans, "x-thing"), "a b", "%s",
					 c->what);
	} else {
		cr_expect(*e.detail && ans.n_headers == 0, "%s", c->what);
	}
	if (c->answer == flood)
		cr_expect(strstr(e.detail, "longer than"), "%s", e.detail);
	if (c->answer)
		server_stop(&s);
	if (c->sent)
		cr_expect(strstr(s.request[0], c->sent), "%s: %s", c->what, s.request[0]);
	if (c->not_sent)
		cr_expect_not(strstr(s.request[0], c->not_sent), "%s: %s", c->what,
			      s.request[0]);
	if (c->outcome == NET_NOT_SENT && c->answer)
		cr_expect_eq(s.n_requests, 0, "%s", c->what);
	arena_free(&a);
}

Test(curl, exchanges, .timeout = 60)
{
	unsetenv("http_proxy");
	for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
		check_exchange(&exchanges[i]);
}

/* ---------------------------------------------------------------- kept connections */

static const char kept[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

static bool say(struct transport *t, struct arena *a, struct server *s,
		const char *method, struct http_answer *ans, struct err *e)
{
	struct http_request req = {
		.method = method,
		.url = arena_printf(a, "http://127.0.0.1:%d/", s->port),
		.body = strcmp(method, "POST") == 0 ? "b" : NULL,
		.body_len = strcmp(method, "POST") == 0 ? 1 : 0,
		.timeout_ms = PATIENCE_MS,
	};

	err_clear(e);
	return t->send(t, a, &req, ans, e);
}

/* The connection dies under the second request, before an answer. libcurl alone
 * would send a POST again, which for a mutation means: twice. */
Test(curl, a_mutation_is_sent_once, .timeout = 60)
{
	static const char *const answers[] = {kept, kept, drop, kept, drop, kept};
	static struct server s;
	struct arena a;
	struct err e = {0};
	struct http_answer ans;
	struct transport *t;

	arena_init(&a, 0);
	server_start(&s, answers, 6);
	t = net_curl_new(&a, NULL, &e);
	cr_assert(say(t, &a, &s, "POST", &ans, &e), "%s", e.detail);
	cr_assert(say(t, &a, &s, "POST", &ans, &e), "%s", e.detail);
	cr_expect_not(say(t, &a, &s, "POST", &ans, &e));
	cr_expect_eq(ans.outcome, NET_AMBIGUOUS);
	cr_expect_eq(e.code, ERR_AMBIGUOUS);
	/* A read may be repeated, and is. */
	cr_expect(say(t, &a, &s, "GET", &ans, &e), "%s", e.detail);
	cr_expect(say(t, &a, &s, "GET", &ans, &e), "%s", e.detail);
	server_stop(&s);
	cr_expect_eq(s.n_requests, 6);
	/* One for two POSTs and the lost one, one for the first GET and the lost
	 * one, one for its repeat; libcurl opens one more for the refused repeat. */
	cr_expect(s.n_connections >= 3 && s.n_connections <= 4, "%zu", s.n_connections);
	arena_free(&a);
}

/* ---------------------------------------------------------------- streams */

struct collected {
	struct buf text;
	size_t most; /* stop after so many bytes */
};

static bool collect(void *ctx, const char *p, size_t n)
{
	struct collected *c = ctx;

	buf_add(&c->text, p, n);
	return c->text.len < c->most;
}

Test(curl, streams, .timeout = 60)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none\ntwo\n",
		flood,
		"HTTP/1.1 410 Gone\r\nConnection: close\r\n\r\ntoo old",
	};
	static struct server s;
	struct arena a;
	struct err e = {0};
	struct http_answer ans;
	struct collected c = {.most = 1 << 20};
	struct http_request req = {.method = "GET",
				   .timeout_ms = PATIENCE_MS,
				   .on_data = collect,
				   .on_data_ctx = &c};
	struct transport *t;

	arena_init(&a, 0);
	buf_init(&c.text, &a, LIMIT_CLOUD_BODY);
	server_start(&s, answers, 3);
	t = net_curl_new(&a, NULL, &e);
	req.url = arena_printf(&a, "http://127.0.0.1:%d/watch", s.port);
	cr_assert(t->send(t, &a, &req, &ans, &e), "%s", e.detail);
	cr_expect_str_eq(buf_cstr(&c.text), "one\ntwo\n");
	cr_expect_str_eq(ans.body, "");
	/* Enough: the reader's own end is no failure. */
	cr_assert(t->send(t, &a, &req, &ans, &e), "%s", e.detail);
	cr_expect_eq(ans.outcome, NET_ANSWERED);
	cr_expect_geq(c.text.len, 1 << 20);
	/* A refusal is collected, not streamed. */
	buf_truncate(&c.text, 0);
	cr_assert(t->send(t, &a, &req, &ans, &e), "%s", e.detail);
	cr_expect_eq(ans.status, 410);
	cr_expect_str_eq(ans.body, "too old");
	cr_expect_eq(c.text.len, 0);
	server_stop(&s);
	arena_free(&a);
}

/* Ours of the connection to that port; -1: none. */
static int socket_to(int port)
{
	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_in peer;
		socklen_t n = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &n) == 0 &&
		    peer.sin_family == AF_INET && ntohs(peer.sin_port) == port)
			return fd;
	}
	return -1;
}

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t n = sizeof(value);

	cr_assert_eq(getsockopt(fd, level, name, &value, &n), 0);
	return value;
}

/* A log may be silent for hours, and its peer gone without a word: the kernel asks, and
 * gives it up within a minute. */
Test(curl, a_stream_is_probed_while_it_is_silent, .timeout = 60)
{
	static const char *const answers[] = {hang};
	static struct server s;
	struct net_events events = {0};
	struct collected c = {.most = 1};
	struct http_request req = {.method = "GET",
				   .timeout_ms = PATIENCE_MS,
				   .on_data = collect,
				   .on_data_ctx = &c};
	struct arena a;
	struct err e = {0};
	struct net_multi *m;
	struct net_stream *stream;
	int fd = -1;

	arena_init(&a, 0);
	server_start(&s, answers, 1);
	m = net_multi_new(&a, &e);
	cr_assert(m, "%s", e.detail);
	req.url = arena_printf(&a, "http://127.0.0.1:%d/log", s.port);
	stream = net_stream_open(m, &req, &events, &e);
	cr_assert(stream, "%s", e.detail);
	for (int i = 0; i < 100 && (fd = socket_to(s.port)) < 0; i++) {
		struct pollfd p = {.fd = net_multi_fd(m), .events = POLLIN};

		poll(&p, 1, 50);
		net_multi_run(m);
	}
	cr_assert_geq(fd, 0, "no connection");
	cr_expect_eq(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_expect_leq(option(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
			      option(fd, IPPROTO_TCP, TCP_KEEPINTVL) *
				      option(fd, IPPROTO_TCP, TCP_KEEPCNT),
		      60);
	net_stream_close(stream);
	server_stop(&s);
	arena_free(&a);
}

/* ---------------------------------------------------------------- limits */

static bool has_gone(void *ctx)
{
	int *looks = ctx;

	return ++*looks > 2;
}

/* All exchanges of one request end by one moment, and for nobody none goes on. */
Test(curl, limits, .timeout = 60)
{
	static const char *const answers[] = {hang, hang, hang, hang};
	static struct server s;
	struct clock *clock = clock_system();
	struct arena a;
	struct err e = {0};
	struct http_answer ans;
	struct http_request req = {.method = "GET", .timeout_ms = PATIENCE_MS};
	struct net_limit l;
	struct transport *t = &l.transport;
	const int64_t began = clock->mono_ms(clock);
	int looks = 0;

	arena_init(&a, 0);
	server_start(&s, answers, 4);
	net_limit_init(&l, net_curl_new(&a, NULL, &e), clock);
	req.url = arena_printf(&a, "http://127.0.0.1:%d/", s.port);
	net_limit_set(&l, began + 300, NULL, NULL);
	for (int i = 0; i < 3; i++)
		cr_expect_not(t->send(t, &a, &req, &ans, &e));
	cr_expect_eq(e.code, ERR_DEADLINE);
	cr_expect_eq(ans.outcome, NET_NOT_SENT);
	cr_expect_lt(clock->mono_ms(clock) - began, PATIENCE_MS / 2);
	/* Or each of them has its own end, however much time is left for all. */
	net_limit_set(&l, began + 10 * PATIENCE_MS, NULL, NULL);
	l.exchange_ms = 200;
	cr_expect_not(t->send(t, &a, &req, &ans, &e));
	cr_expect_eq(ans.outcome, NET_AMBIGUOUS);
	cr_expect_lt(clock->mono_ms(clock) - began, PATIENCE_MS / 2);
	l.exchange_ms = 0;
	net_limit_set(&l, 0, has_gone, &looks);
	cr_expect_not(t->send(t, &a, &req, &ans, &e));
	cr_expect_neq(ans.outcome, NET_ANSWERED);
	cr_expect_not(t->send(t, &a, &req, &ans, &e));
	cr_expect_eq(ans.outcome, NET_NOT_SENT);
	cr_expect_lt(clock->mono_ms(clock) - began, PATIENCE_MS);
	server_stop(&s);
	arena_free(&a);
}

/* ---------------------------------------------------------------- proxies */

Test(curl, proxies, .timeout = 60)
{
	static const char last[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
	static const char *const answers[] = {last, last, last};
	static struct server s;
	struct arena a;
	struct err e = {0};
	struct http_answer ans;
	struct http_request req = {.method = "GET", .timeout_ms = PATIENCE_MS};
	struct transport *t;
	int closed;

	arena_init(&a, 0);
	closed = closed_port();
	req.url = arena_printf(&a, "http://127.0.0.1:%d/x", closed);
	server_start(&s, answers, 3);
	setenv("http_proxy", arena_printf(&a, "http://127.0.0.1:%d", s.port), 1);
	setenv("HTTPS_PROXY", arena_printf(&a, "http://127.0.0.1:%d", s.port), 1);
	t = net_curl_new(&a, NULL, &e);
	cr_expect(t->send(t, &a, &req, &ans, &e), "%s", e.detail);
	req.no_proxy = true;
	cr_expect_not(t->send(t, &a, &req, &ans, &e));
	cr_expect_eq(ans.outcome, NET_NOT_SENT);
	req.no_proxy = false;
	/* The proxy takes CONNECT and then speaks no TLS: nothing was sent. */
	req.url = arena_printf(&a, "https://127.0.0.1:%d/x", closed);
	cr_expect_not(t->send(t, &a, &req, &ans, &e));
	cr_expect_eq(ans.outcome, NET_NOT_SENT);
	setenv("NO_PROXY", "127.0.0.1", 1);
	cr_expect_not(t->send(t, &a, &req, &ans, &e));
	server_stop(&s);
	cr_expect(str_starts(
			  s.request[0],
			  arena_printf(&a, "GET http://127.0.0.1:%d/x HTTP/1.1", closed)),
		  "%s", s.request[0]);
	cr_expect(str_starts(s.request[1],
			     arena_printf(&a, "CONNECT 127.0.0.1:%d HTTP/1.1", closed)),
		  "%s", s.request[1]);
	cr_expect_eq(s.n_requests, 2);
	arena_free(&a);
}
