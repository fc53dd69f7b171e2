#include "fcgi/fcgi.h"

#include <errno.h>
#include <fcgiapp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/clock.h"

struct fcgi {
	struct conn conn; /* first: param() and the others get back to us */
	FCGX_Request req;
	int epoll, listener, stop, drain_ms;
	int serving; /* connection of the request at hand, or -1 */
	int kept;    /* connections this worker holds */
	bool listening, draining;
	int64_t drain_until;
	struct fcgi_load load;
};

static const char *param(struct conn *c, const char *name)
{
	return FCGX_GetParam(name, ((struct fcgi *)c)->req.envp);
}

static size_t read_body(struct conn *c, void *p, size_t n)
{
	const int got = FCGX_GetStr(p, (int)n, ((struct fcgi *)c)->req.in);

	return got > 0 ? (size_t)got : 0;
}

static void write_out(struct conn *c, const void *p, size_t n)
{
	FCGX_PutStr(p, (int)n, ((struct fcgi *)c)->req.out);
}

static bool watch(struct fcgi *f, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};

	return epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &ev) == 0;
}

static void keep(struct fcgi *f, int n)
{
	f->kept += n;
	atomic_store(f->load.own, f->kept);
	atomic_fetch_add(f->load.total, n);
}

/* Listens unless this worker has clearly more than its share. */
static void balance(struct fcgi *f)
{
	const int total = atomic_load(f->load.total);
	const bool want =
		!f->draining && f->kept * f->load.workers <= total + f->load.workers;

	if (want == f->listening)
		return;
	if (want)
		watch(f, f->listener, EPOLLIN | EPOLLEXCLUSIVE);
	else
		epoll_ctl(f->epoll, EPOLL_CTL_DEL, f->listener, NULL);
	f->listening = want;
}

struct fcgi *fcgi_open(struct arena *a, int listen_fd, int stop_fd, int drain_ms,
		       struct fcgi_load load, struct err *e)
{
	struct fcgi *f = arena_new(a, struct fcgi);
	int dummy;

	*f = (struct fcgi){.conn = {param, read_body, write_out},
			   .listener = listen_fd,
			   .stop = stop_fd,
			   .drain_ms = drain_ms,
			   .serving = -1,
			   .load = load};
	f->epoll = epoll_create1(EPOLL_CLOEXEC);
	/* Never listens: a protocol error ends FCGX_Accept_r with a failure
	 * instead of leaving it in accept(). */
	dummy = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (f->epoll < 0 || dummy < 0 || FCGX_Init() != 0 ||
	    FCGX_InitRequest(&f->req, dummy, FCGI_FAIL_ACCEPT_ON_INTR) != 0 ||
	    !watch(f, stop_fd, EPOLLIN)) {
		err_set(e, ERR_INTERNAL, "cannot serve FastCGI: %s", strerror(errno));
		return NULL;
	}
	balance(f);
	return f;
}

/* true: a whole request is at hand. */
static bool begin(struct fcgi *f, int fd)
{
	char c;

	if (recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 1) {
		f->req.ipcFd = fd;
		f->req.keepConnection = 1;
		if (FCGX_Accept_r(&f->req) == 0) {
			f->serving = fd;
			return true;
		}
		/* libfcgi has closed it after a protocol error. */
		if (f->req.ipcFd < 0)
			fd = -1;
		f->req.ipcFd = -1;
	}
	if (fd >= 0)
		close(fd);
	keep(f, -1);
	return false;
}

/*
 * Accepts one. nginx sends its request right after connecting, so it is served
 * here and now: put aside, it could wait behind others while a worker idles.
 */
static bool take(struct fcgi *f)
{
	/* A peer that stops in the middle of a record must not hold us. */
	const struct timeval patience = {.tv_sec = 10};
	const int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!watch(f, fd, EPOLLIN | EPOLLRDHUP)) {
		close(fd);
		return false;
	}
	keep(f, 1);
	return poll(&ready, 1, 20) == 1 && begin(f, fd);
}

static void finish(struct fcgi *f)
{
	if (f->serving < 0)
		return;
	FCGX_Finish_r(&f->req);
	if (f->req.ipcFd < 0)
		keep(f, -1);
	f->req.ipcFd = -1;
	f->serving = -1;
}

struct conn *fcgi_next(struct fcgi *f)
{
	struct clock *clock = clock_system();
	struct epoll_event ev;

	finish(f);
	for (;;) {
		balance(f);
		if (f->draining &&
		    (f->kept == 0 || clock->mono_ms(clock) >= f->drain_until))
			return NULL;
		/* While others are to accept, look again soon whether it is our turn. */
		if (epoll_wait(f->epoll, &ev, 1, f->listening ? -1 : 10) != 1)
			continue;
		if (ev.data.fd == f->stop) {
			f->draining = true;
			f->drain_until = clock->mono_ms(clock) + f->drain_ms;
			epoll_ctl(f->epoll, EPOLL_CTL_DEL, f->stop, NULL);
		} else if (ev.data.fd == f->listener) {
			if (take(f))
				return &f->conn;
		} else if (begin(f, ev.data.fd)) {
			return &f->conn;
		}
	}
}
