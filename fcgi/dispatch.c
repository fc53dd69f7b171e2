#include "fcgi/dispatch.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "fcgi/fcgi.h"

struct dispatch {
	struct fcgi *fcgi;
	int epoll, listener, stop, drain_ms;
	int kept; /* connections this worker holds */
	bool serving, listening, draining;
	int64_t drain_until;
	struct dispatch_load load;
};

static bool watch(struct dispatch *d, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};

	return epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &ev) == 0;
}

static void count(struct dispatch *d, int n)
{
	d->kept += n;
	atomic_store(d->load.own, d->kept);
	atomic_fetch_add(d->load.total, n);
}

/* Listens unless this worker has clearly more than its share. */
static void balance(struct dispatch *d)
{
	const int total = atomic_load(d->load.total);
	const bool want =
		!d->draining && d->kept * d->load.workers <= total + d->load.workers;

	if (want == d->listening)
		return;
	if (want)
		watch(d, d->listener, EPOLLIN | EPOLLEXCLUSIVE);
	else
		epoll_ctl(d->epoll, EPOLL_CTL_DEL, d->listener, NULL);
	d->listening = want;
}

struct dispatch *dispatch_open(struct arena *a, int listen_fd, int stop_fd, int drain_ms,
			       struct dispatch_load load, struct err *e)
{
	struct dispatch *d = arena_new(a, struct dispatch);

	*d = (struct dispatch){.fcgi = fcgi_new(a, e),
			       .epoll = epoll_create1(EPOLL_CLOEXEC),
			       .listener = listen_fd,
			       .stop = stop_fd,
			       .drain_ms = drain_ms,
			       .load = load};
	if (!d->fcgi)
		return NULL;
	if (d->epoll < 0 || !watch(d, stop_fd, EPOLLIN)) {
		err_set(e, ERR_INTERNAL, "epoll: %s", strerror(errno));
		return NULL;
	}
	balance(d);
	return d;
}

static bool begin(struct dispatch *d, int fd)
{
	d->serving = fcgi_begin(d->fcgi, fd);
	if (!d->serving)
		count(d, -1);
	return d->serving;
}

/*
 * Accepts one. nginx sends its request right after connecting, so it is served
 * here and now: put aside, it could wait behind others while a worker idles.
 */
static bool take(struct dispatch *d)
{
	/* A peer that stops in the middle of a record must not hold us. */
	const struct timeval patience = {.tv_sec = 10};
	const int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!watch(d, fd, EPOLLIN | EPOLLRDHUP)) {
		close(fd);
		return false;
	}
	count(d, 1);
	return poll(&ready, 1, 20) == 1 && begin(d, fd);
}

/* Something is to be read on fd; true when that is a request. */
static bool look(struct dispatch *d, int fd)
{
	struct clock *clock = clock_system();

	if (fd == d->listener)
		return take(d);
	if (fd != d->stop)
		return begin(d, fd);
	d->draining = true;
	d->drain_until = clock->mono_ms(clock) + d->drain_ms;
	epoll_ctl(d->epoll, EPOLL_CTL_DEL, d->stop, NULL);
	return false;
}

struct conn *dispatch_next(struct dispatch *d)
{
	struct clock *clock = clock_system();
	struct epoll_event ev;

	if (d->serving && !fcgi_end(d->fcgi))
		count(d, -1);
	d->serving = false;
	for (;;) {
		balance(d);
		if (d->draining &&
		    (d->kept == 0 || clock->mono_ms(clock) >= d->drain_until))
			return NULL;
		/* While others are to accept, look again soon whether it is our turn. */
		if (epoll_wait(d->epoll, &ev, 1, d->listening ? -1 : 10) == 1 &&
		    look(d, ev.data.fd))
			return fcgi_conn(d->fcgi);
	}
}
