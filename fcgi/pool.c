#include "fcgi/pool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/listener.h"
#include "core/op/world.h"
#include "fcgi/app.h"
#include "fcgi/dispatch.h"

enum {
	DRAIN_MS = 20000,
	/* How often a worker that does not know its account looks again. */
	LOCATE_EVERY_MS = 2000,
	DATABASE_MS = 20000 /* for one statement */
};

static const char *const sockets[POOLS] = {"fcgi.sock", "fcgi-slow.sock"};
static const char handed_down[] = "INSTANTSTART_LISTENERS";

/* --- sockets ------------------------------------------------------------- */

bool pools_listen(struct pools *p, struct err *e)
{
	return listeners_open(sockets, p->listener, POOLS, handed_down, p->cfg, e);
}

void pools_hand_down(const struct pools *p)
{
	listeners_hand_down(p->listener, POOLS, handed_down);
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
