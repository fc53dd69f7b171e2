#include "core/net/multi.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/net/curl_options.h"

enum {
	CONNECT_MS = 10 * 1000,
	REFUSAL_MAX = 64 * 1024,
	/* A peer that is gone without a word is found out after 20 + 3 * 10 s. */
	KEEPALIVE_S = 20,
	PROBE_EVERY_S = 10,
	PROBES = 3,
	BATCH = 64
};

struct net_multi {
	CURLM *curl;
	int epoll;
	int timer;                /* libcurl's, beside its sockets */
	bool running;             /* inside of libcurl or of a callback */
	struct net_stream *first; /* all of them */
};

struct net_stream {
	struct arena arena; /* the stream itself lies in it */
	struct net_multi *m;
	struct net_stream *next, *prev;
	CURL *easy;
	struct http_request req;
	struct net_events events;
	struct buf refusal;
	bool added; /* to libcurl, which takes none while it calls back */
	bool begun, stopped, closed, paused;
};

/* --- libcurl's side ------------------------------------------------------------ */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known)
{
	struct net_multi *m = ctx;
	struct epoll_event ev = {.data.fd = fd};

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(m->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		ev.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		ev.events |= EPOLLOUT;
	if (epoll_ctl(m->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev) != 0 &&
	    errno == ENOENT)
		epoll_ctl(m->epoll, EPOLL_CTL_ADD, fd, &ev);
	curl_multi_assign(m->curl, fd, m);
	return 0;
}

static int on_timer(CURLM *curl, long ms, void *ctx)
{
	const struct net_multi *m = ctx;
	struct itimerspec when = {0}; /* all zeroes stop it */

	(void)curl;
	if (ms == 0)
		when.it_value.tv_nsec = 1;
	else if (ms > 0)
		when.it_value = (struct timespec){.tv_sec = ms / 1000,
						  .tv_nsec = ms % 1000 * 1000000};
	timerfd_settime(m->timer, 0, &when, NULL);
	return 0;
}

static long status_of(const struct net_stream *s)
{
	long status = 0;

	curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static size_t on_header(char *p, size_t one, size_t n, void *ctx)
{
	struct net_stream *s = ctx;
	const long status = status_of(s);

	(void)one;
	/* The empty line that ends the headers of the final answer. */
	if (!s->begun && !s->closed && str_trim((struct str){p, n}).n == 0 &&
	    status >= 200 && status < 300) {
		s->begun = true;
		if (s->events.begun)
			s->events.begun(s->events.ctx);
	}
	return n;
}

static size_t on_body(char *p, size_t one, size_t n, void *ctx)
{
	struct net_stream *s = ctx;

	(void)one;
	if (s->closed)
		return 0;
	if (!s->begun) {
		buf_add(&s->refusal, p, n);
		return n;
	}
	/* libcurl keeps this piece and brings it again. */
	if (s->paused)
		return CURL_WRITEFUNC_PAUSE;
	s->stopped = !s->req.on_data(s->req.on_data_ctx, p, n);
	return s->stopped ? 0 : n;
}

/* --- streams -------------------------------------------------------------------- */

static void copy_request(struct net_stream *s, const struct http_request *req)
{
	struct arena *a = &s->arena;

	s->req = *req;
	s->req.url = arena_strdup(a, req->url);
	for (size_t i = 0; i < req->n_headers; i++)
		s->req.header[i] =
			(struct http_header){arena_strdup(a, req->header[i].name),
					     arena_strdup(a, req->header[i].value)};
	if (req->ca_pem)
		s->req.ca_pem = arena_strdup(a, req->ca_pem);
	if (secret_reveal(req->authorization))
		s->req.authorization =
			secret_of(arena_strdup(a, secret_reveal(req->authorization)));
}

/*
 * The count of probes is the system's otherwise (nine): libcurl has no option for it
 * before 8.9. Failing here is no reason to have no stream.
 */
static int on_socket_made(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	const int probes = PROBES;

	(void)ctx, (void)purpose;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	return CURL_SOCKOPT_OK;
}

static void set_options(struct net_stream *s, struct curl_slist *headers)
{
	CURL *easy = s->easy;

	curl_common(easy);
	curl_easy_setopt(easy, CURLOPT_URL, s->req.url);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)s->req.timeout_ms);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	/* A stream may be silent for hours, and a load balancer forgets such connections
	 * after minutes. */
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)PROBE_EVERY_S);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, s);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 65536L);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, s);
	curl_trust(easy, &s->req, NULL);
}

static void release(struct net_stream *s)
{
	struct arena arena = s->arena;

	if (s->prev)
		s->prev->next = s->next;
	else
		s->m->first = s->next;
	if (s->next)
		s->next->prev = s->prev;
	if (s->added)
		curl_multi_remove_handle(s->m->curl, s->easy);
	curl_easy_cleanup(s->easy);
	arena_free(&arena);
}

static void add(struct net_stream *s)
{
	s->added = true;
	curl_multi_add_handle(s->m->curl, s->easy);
}

struct net_stream *net_stream_open(struct net_multi *m, const struct http_request *req,
				   const struct net_events *events, struct err *e)
{
	struct arena arena;
	struct net_stream *s;
	struct curl_slist *headers;

	assert(req->on_data && streq(req->method, "GET"));
	arena_init(&arena, 0);
	s = arena_new(&arena, struct net_stream);
	s->arena = arena;
	s->m = m;
	s->events = *events;
	copy_request(s, req);
	buf_init(&s->refusal, &s->arena, REFUSAL_MAX);
	headers = curl_headers(&s->req, &s->arena);
	err_set(e, ERR_INTERNAL, "The request cannot be created");
	s->easy = headers && http_may_send(&s->req, e) ? curl_easy_init() : NULL;
	if (!s->easy) {
		arena = s->arena;
		arena_free(&arena);
		return NULL;
	}
	err_clear(e);
	set_options(s, headers);
	s->next = m->first;
	if (m->first)
		m->first->prev = s;
	m->first = s;
	if (!m->running)
		add(s);
	return s;
}

void net_stream_close(struct net_stream *s)
{
	/* libcurl may be at work on it: swept when it is not. */
	s->closed = true;
	if (!s->m->running)
		release(s);
}

/* What callbacks have opened and closed. */
static void sweep(struct net_multi *m)
{
	struct net_stream *next;

	for (struct net_stream *s = m->first; s; s = next) {
		next = s->next;
		if (s->closed)
			release(s);
		else if (!s->added)
			add(s);
	}
}

void net_stream_pause(struct net_stream *s)
{
	s->paused = true;
}

void net_stream_resume(struct net_stream *s)
{
	struct net_multi *m = s->m;
	const bool inside = m->running;

	if (!s->paused)
		return;
	s->paused = false;
	/* It hands over what it has kept at once: nothing is swept under it. */
	m->running = true;
	curl_easy_pause(s->easy, CURLPAUSE_CONT);
	m->running = inside;
	if (!inside)
		sweep(m);
}

/* --- the loop's side ---------------------------------------------------------------- */

static void finish(struct net_stream *s, CURLcode code)
{
	struct http_answer ans = {.body = buf_cstr(&s->refusal),
				  .body_len = s->refusal.len};
	struct err e = {0};
	const bool answered = code == CURLE_OK || s->stopped;

	ans.status = (int)status_of(s);
	ans.outcome = answered ? NET_ANSWERED : NET_AMBIGUOUS;
	if (!answered)
		err_set(&e, ERR_CLOUD_UNREACHABLE, "%s", curl_easy_strerror(code));
	if (!s->closed)
		s->events.done(s->events.ctx, &ans, answered ? NULL : &e);
	s->closed = true;
}

static void act(struct net_multi *m, const struct epoll_event *ev)
{
	const int what = (ev->events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
			 (ev->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			 (ev->events & EPOLLERR ? CURL_CSELECT_ERR : 0);
	uint64_t times;
	int left;

	if (ev->data.fd != m->timer)
		curl_multi_socket_action(m->curl, ev->data.fd, what, &left);
	else if (read(m->timer, &times, sizeof(times)) > 0)
		curl_multi_socket_action(m->curl, CURL_SOCKET_TIMEOUT, 0, &left);
}

void net_multi_run(struct net_multi *m)
{
	struct epoll_event ev[BATCH];
	CURLMsg *msg;
	int left;
	const int n = epoll_wait(m->epoll, ev, BATCH, 0);

	m->running = true;
	for (int i = 0; i < n; i++)
		act(m, &ev[i]);
	while ((msg = curl_multi_info_read(m->curl, &left))) {
		char *at = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &at);
		finish((struct net_stream *)(void *)at, msg->data.result);
	}
	m->running = false;
	sweep(m);
}

int net_multi_fd(const struct net_multi *m)
{
	return m->epoll;
}

static void free_multi(void *at)
{
	struct net_multi *m = at;

	while (m->first)
		release(m->first);
	curl_multi_cleanup(m->curl);
	close(m->timer);
	close(m->epoll);
}

struct net_multi *net_multi_new(struct arena *a, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct net_multi *m = arena_new(a, struct net_multi);

	*m = (struct net_multi){
		.curl = curl_multi_init(),
		.epoll = epoll_create1(EPOLL_CLOEXEC),
		.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
	ev.data.fd = m->timer;
	if (m->curl && m->epoll >= 0 && m->timer >= 0 &&
	    epoll_ctl(m->epoll, EPOLL_CTL_ADD, m->timer, &ev) != 0)
		m->epoll = -1;
	if (!m->curl || m->epoll < 0 || m->timer < 0) {
		err_set(e, ERR_INTERNAL, "libcurl cannot be started");
		return NULL;
	}
	arena_defer(a, free_multi, m);
	curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m);
	curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m);
	return m;
}
