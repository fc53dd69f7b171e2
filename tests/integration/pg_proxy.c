#include "tests/integration/pg_proxy.h"
#include "core/base/str.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/lib/pg.h"

enum { PAIRS_MAX = 64, CHUNK = 64 * 1024 };

/* One direction: where in a message its stream stands. */
struct flow {
	int from, to;
	unsigned char head[5];
	size_t n_head;
	size_t left; /* of the body */
	bool typed;  /* the first message of a client has no type */
	bool of_server;
};

struct pair {
	struct flow up, down;
	bool open, stalled;
};

struct run {
	struct pg_proxy *p;
	struct pair pair[PAIRS_MAX];
};

static int connect_to(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void close_pair(struct pair *pair)
{
	if (pair->open) {
		close(pair->up.from);
		close(pair->up.to);
	}
	pair->open = false;
}

static bool write_all(int fd, const unsigned char *p, size_t n)
{
	while (n > 0) {
		const ssize_t done = send(fd, p, n, MSG_NOSIGNAL);

		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

/* A message has ended; true: cut here. */
static bool count_down(struct pg_proxy *p, const struct flow *f)
{
	atomic_int *left = f->of_server ? &p->after_answers : &p->after_requests;

	/* One that is not armed stays so; the last one disarms. */
	if (atomic_load(left) < 0)
		return false;
	return atomic_fetch_sub(left, 1) == 0;
}

/* How far `n` bytes go before the cut; *ret_cut says that there is one. */
static size_t walk(struct pg_proxy *p, struct flow *f, const unsigned char *b, size_t n,
		   bool *ret_cut)
{
	size_t i = 0;

	while (i < n) {
		const size_t want = f->typed ? 5 : 4;

		if (f->n_head < want) {
			f->head[f->n_head++] = b[i++];
			if (f->n_head < want)
				continue;
			f->left = ((size_t)f->head[want - 4] << 24 |
				   (size_t)f->head[want - 3] << 16 |
				   (size_t)f->head[want - 2] << 8 | f->head[want - 1]) -
				  4;
		} else {
			const size_t take = f->left < n - i ? f->left : n - i;

			i += take;
			f->left -= take;
		}
		if (f->left > 0)
			continue;
		f->n_head = 0;
		if (f->typed && count_down(p, f)) {
			*ret_cut = true;
			return i;
		}
		f->typed = true;
	}
	return n;
}

static void pump(struct run *r, struct pair *pair, struct flow *f)
{
	static unsigned char chunk[CHUNK];
	const ssize_t n = read(f->from, chunk, sizeof(chunk));
	bool cut = false;
	size_t go;

	if (n <= 0) {
		close_pair(pair);
		return;
	}
	go = walk(r->p, f, chunk, (size_t)n, &cut);
	if (cut) /* who sees it finds it counted */
		atomic_fetch_add(&r->p->cuts, 1);
	if (!write_all(f->to, chunk, go) && !cut) {
		close_pair(pair);
		return;
	}
	if (!cut)
		return;
	if (atomic_load(&r->p->stall))
		pair->stalled = true;
	else
		close_pair(pair);
}

static void accept_one(struct run *r)
{
	const int fd = accept4(r->p->listener, NULL, NULL, SOCK_CLOEXEC);
	const int up = atomic_load(&r->p->refuse) ? -1 : connect_to(r->p->upstream);

	for (int i = 0; fd >= 0 && up >= 0 && i < PAIRS_MAX; i++) {
		struct pair *pair = &r->pair[i];

		if (pair->open)
			continue;
		*pair = (struct pair){
			.open = true,
			.up = {.from = fd, .to = up},
			.down = {.from = up, .to = fd, .typed = true, .of_server = true}};
		return;
	}
	if (fd >= 0)
		close(fd);
	if (up >= 0)
		close(up);
}

static void *serve(void *ctx)
{
	struct run *r = ctx;

	for (;;) {
		struct pollfd fds[1 + 2 * PAIRS_MAX];

		fds[0] = (struct pollfd){.fd = r->p->listener, .events = POLLIN};
		for (int i = 0; i < PAIRS_MAX; i++) {
			const struct pair *pair = &r->pair[i];
			const bool on = pair->open && !pair->stalled;

			fds[1 + 2 * i] = (struct pollfd){.fd = on ? pair->up.from : -1,
							 .events = POLLIN};
			fds[2 + 2 * i] = (struct pollfd){.fd = on ? pair->down.from : -1,
							 .events = POLLIN};
		}
		if (poll(fds, 1 + 2 * PAIRS_MAX, -1) < 0)
			continue;
		if (fds[0].revents)
			accept_one(r);
		for (int i = 0; i < PAIRS_MAX; i++) {
			if (r->pair[i].open && fds[1 + 2 * i].revents)
				pump(r, &r->pair[i], &r->pair[i].up);
			if (r->pair[i].open && fds[2 + 2 * i].revents)
				pump(r, &r->pair[i], &r->pair[i].down);
		}
	}
	return NULL;
}

static void clean(void *ctx)
{
	struct pg_proxy *p = ctx;
	char path[108];

	snprintf(path, sizeof(path), "%s/.s.PGSQL.5432", p->dir);
	unlink(path);
	rmdir(p->dir);
}

struct pg_proxy *pg_proxy_start(struct arena *a, const char *url, const char **ret_url)
{
	struct pg_proxy *p = arena_new(a, struct pg_proxy);
	struct run *r = arena_new(a, struct run);
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	pthread_t thread;

	atomic_store(&p->after_answers, -1);
	atomic_store(&p->after_requests, -1);
	str_copy(p->dir, sizeof(p->dir), "/tmp/is-cut-XXXXXX");
	cr_assert_not_null(mkdtemp(p->dir));
	snprintf(p->upstream, sizeof(p->upstream), "%s/.s.PGSQL.5432", pg_dir());
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/.s.PGSQL.5432", p->dir);
	p->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(p->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(listen(p->listener, 64), 0);
	arena_defer(a, clean, p);
	r->p = p;
	cr_assert_eq(pthread_create(&thread, NULL, serve, r), 0);
	pthread_detach(thread);
	*ret_url = arena_printf(a, "%s host=%s", url, p->dir);
	return p;
}
