#include "fcgi/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/op/world.h"
#include "fcgi/app.h"
#include "fcgi/dispatch.h"

enum {
	BACKLOG = 1024,
	DRAIN_MS = 20000,
	/* How often a worker that does not know its account looks again. */
	LOCATE_EVERY_MS = 2000,
	DATABASE_MS = 20000 /* for one statement */
};

static const char *const names[POOLS] = {"fcgi", "fcgi-slow"};
static const char handed_down[] = "INSTANTSTART_LISTENERS";

/* --- sockets ------------------------------------------------------------- */

/* Only the owner and the group (nginx's) may connect. */
static bool restrict_access(const struct config *cfg, const char *path, struct err *e)
{
	const struct group *g;

	if (cfg->socket_group && *cfg->socket_group) {
		g = getgrnam(cfg->socket_group);
		if (!g || chown(path, (uid_t)-1, g->gr_gid) != 0)
			return err_set(e, ERR_CONFIG,
				       "%s cannot be assigned to the group %s", path,
				       cfg->socket_group);
	}
	if (chmod(path, 0660) != 0)
		return err_set(e, ERR_CONFIG, "chmod %s: %s", path, strerror(errno));
	return true;
}

static bool listen_at(const struct config *cfg, const char *name, int *ret, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	mode_t before;
	bool ok;

	if (snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s.sock", cfg->run_dir,
		     name) >= (int)sizeof(at.sun_path))
		return err_set(e, ERR_CONFIG, "%s is too long for a socket's path",
			       cfg->run_dir);
	/* We hold the lock, so whoever has left it here is gone. */
	unlink(at.sun_path);
	before = umask(0177);
	ok = fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
	umask(before);
	if (!ok)
		return err_set(e, ERR_CONFIG, "%s: %s", at.sun_path, strerror(errno));
	/* Access before listening: nobody connects in between. */
	if (!restrict_access(cfg, at.sun_path, e))
		return false;
	if (listen(fd, BACKLOG) != 0)
		return err_set(e, ERR_CONFIG, "listen: %s", strerror(errno));
	*ret = fd;
	return true;
}

bool pools_listen(struct pools *p, struct err *e)
{
	const char *given = getenv(handed_down);

	if (given && sscanf(given, "%d %d", &p->listener[0], &p->listener[1]) == POOLS) {
		unsetenv(handed_down);
		for (int i = 0; i < POOLS; i++)
			fcntl(p->listener[i], F_SETFD, FD_CLOEXEC);
		return true;
	}
	for (int i = 0; i < POOLS; i++)
		if (!listen_at(p->cfg, names[i], &p->listener[i], e))
			return false;
	return true;
}

void pools_hand_down(const struct pools *p)
{
	char text[64];

	for (int i = 0; i < POOLS; i++)
		fcntl(p->listener[i], F_SETFD, 0);
	snprintf(text, sizeof(text), "%d %d", p->listener[0], p->listener[1]);
	setenv(handed_down, text, 1);
}

/* --- workers ------------------------------------------------------------- */

static enum pool pool_of(const struct pools *p, int slot)
{
	return slot < p->cfg->fcgi_workers ? POOL_FAST : POOL_SLOW;
}

void pools_ended(void *ctx, int slot, bool asked)
{
	struct pools *p = ctx;
	const int left = atomic_exchange(&p->load->own[slot], 0);

	atomic_fetch_sub(&p->load->total[pool_of(p, slot)], left);
	if (!asked)
		atomic_fetch_add(&p->metrics->worker_deaths, 1);
}

/* What a worker holds on to, besides the request at hand. */
struct worker {
	struct arena process;
	struct arena request;
	struct world world;
	struct net_limit limit;
	struct app app;
	struct dispatch *dispatch;
	int64_t locate_at;
	struct err refused; /* why the account was not found out */
	int64_t refused_until;
};

/* The first start of all: the account becomes known when somebody has asked. */
static void know(struct worker *w)
{
	struct clock *clock = clock_system();
	struct err e = {0};

	if (w->world.where.account || clock->mono_ms(clock) < w->locate_at)
		return;
	w->locate_at = clock->mono_ms(clock) + LOCATE_EVERY_MS;
	if (!world_know(&w->world, &w->process, &e) && w->app.log)
		log_err(w->app.log, "locate", &e);
}

/* For a request that cannot do without: the journal first, then STS. */
static bool locate(void *ctx, struct err *e)
{
	struct worker *w = ctx;
	struct clock *clock = clock_system();

	if (!world_know(&w->world, &w->process, e))
		return false;
	if (w->world.where.account)
		return true;
	/* What has just failed is not asked again by each of many. */
	if (clock->mono_ms(clock) >= w->refused_until) {
		if (world_locate(&w->world, &w->process, &w->refused))
			return true;
		w->refused_until = clock->mono_ms(clock) + LOCATE_EVERY_MS;
	}
	*e = w->refused;
	return false;
}

static bool prepare(struct worker *w, struct pools *p, int slot, int stop_fd,
		    struct err *e)
{
	const enum pool pool = pool_of(p, slot);
	const struct dispatch_load load = {
		.total = &p->load->total[pool],
		.own = &p->load->own[slot],
		.workers = (int)(pool == POOL_FAST ? p->cfg->fcgi_workers
						   : p->cfg->slow_workers)};
	struct db *db;

	arena_init(&w->process, 0);
	arena_init(&w->request, 0);
	db = db_new(&w->process, p->cfg->database_url, "instantstart-fcgi",
		    clock_system(), rng_system());
	/* Its caller waits, behind a proxy that does not wait longer than a minute. */
	db_set_patience(db, DATABASE_MS);
	if (!world_init(&w->world, &w->process, p->cfg, db, clock_system(), rng_system(),
			NULL, kinds, "fcgi", e))
		return false;
	net_limit_init(&w->limit, w->world.aws.net, clock_system());
	w->world.aws.net = w->world.kube.net = &w->limit.transport;
	w->app = (struct app){.cfg = p->cfg,
			      .where = &w->world.where,
			      .db = db,
			      .clock = clock_system(),
			      .rng = rng_system(),
			      .log = p->log,
			      .cloud = &w->world.runner,
			      .limit = &w->limit,
			      .table = capabilities,
			      .docs = p->docs,
			      .metrics = p->metrics,
			      .sessions = sessions_new(&w->process, clock_system(),
						       &p->load->access_epoch),
			      .line = &p->load->line,
			      .allowance = &p->load->allowance,
			      .slow = pool == POOL_SLOW,
			      .locate = locate,
			      .locate_ctx = w};
	w->dispatch =
		dispatch_open(&w->process, p->listener[pool], stop_fd, DRAIN_MS, load, e);
	return w->dispatch != NULL;
}

static int64_t mono_ms(void)
{
	return clock_system()->mono_ms(clock_system());
}

int pools_work(void *ctx, int slot, int stop_fd)
{
	struct pools *p = ctx;
	struct worker *w;
	struct arena own;
	struct err e = {0};
	struct conn *c;

	close(p->lock_fd);
	arena_init(&own, 0);
	w = arena_new(&own, struct worker);
	if (!prepare(w, p, slot, stop_fd, &e)) {
		log_err(p->log, "worker", &e);
		return 1;
	}
	atomic_fetch_add(&p->metrics->worker_starts, 1);
	while ((c = dispatch_next(w->dispatch))) {
		const int64_t began_ms = mono_ms();
		const uint64_t request = line_key(c->param(c, "REQUEST_ID"));

		know(w);
		w->app.arrived_ms = w->app.slow
					    ? line_take(&p->load->line, request, began_ms)
					    : began_ms;
		app_serve(&w->app, &w->request, c);
		if (w->app.slow)
			line_leave(&p->load->line, request,
				   w->app.late ? LINE_NOT_SERVED : mono_ms() - began_ms);
		arena_reset(&w->request);
	}
	arena_free(&w->request);
	arena_free(&w->process);
	arena_free(&own);
	return 0;
}
