#include "core/live/serve.h"

#include "core/live/counters.h"
#include "core/live/download.h"
#include "core/live/keyring.h"
#include "core/live/notes.h"
#include "core/live/park.h"
#include "core/live/socket.h"

enum { DRAIN_MS = 3000, IDLE_MS = 1000 };

struct server {
	struct loop *loop;
	struct loop_watch stop, net_ready;
	struct loop_timer idle;
	bool stopping, broken;
	struct net_multi *net;
	struct keyring *keys;
	struct upstreams up;
	struct viewers viewers;
	struct downloads *downloads;
	struct park *park;
	struct socket_server *socket;
};

static void on_stop(void *ctx)
{
	struct server *s = ctx;

	s->stopping = true;
	loop_remove(s->loop, &s->stop);
}

/* Nothing can be followed without it: a new process begins with a new one. */
static void on_keys_gone(void *ctx)
{
	struct server *s = ctx;

	s->stopping = true;
	s->broken = true;
}

static void on_net(void *ctx)
{
	struct server *s = ctx;

	net_multi_run(s->net);
}

/* Nobody's timer may be due for long, but a stop is seen. */
static void on_idle(void *ctx)
{
	struct server *s = ctx;

	loop_after(s->loop, &s->idle, IDLE_MS);
}

static const struct counter_def counter_defs[LIVE_COUNTERS_N] = {
#define X(id, name, help) [LIVE_##id] = {name, help},
	LIVE_COUNTERS(X)
#undef X
};

static bool prepare(struct server *s, struct arena *a, const struct config *cfg,
		    const struct log *log, int stop_fd, struct err *e)
{
	struct clock *clock = clock_system();
	struct db *db =
		db_new(a, cfg->database_url, "instantstart-live", clock, rng_system());

	/* First of all: it forks. */
	s->keys = keyring_fork(a, cfg, log, clock, e);
	s->loop = s->keys ? loop_new(a, clock, e) : NULL;
	s->net = s->loop ? net_multi_new(a, e) : NULL;
	s->up.counters = s->net ? counters_open(cfg->run_dir, "live", counter_defs,
						LIVE_COUNTERS_N, e)
				: NULL;
	if (!s->up.counters || !keyring_join(s->keys, s->loop, on_keys_gone, s, e))
		return false;
	s->up = (struct upstreams){.loop = s->loop,
				   .net = s->net,
				   .keys = s->keys,
				   .clock = clock,
				   .db = db,
				   .rng = rng_system(),
				   .counters = s->up.counters,
				   .probe_ms = cfg->log_probe_ms};
	s->stop = (struct loop_watch){on_stop, s, stop_fd};
	s->net_ready = (struct loop_watch){on_net, s, net_multi_fd(s->net)};
	s->idle = (struct loop_timer){.fn = on_idle, .ctx = s};
	return loop_add(s->loop, &s->stop, e) && loop_add(s->loop, &s->net_ready, e);
}

static bool open_all(struct server *s, struct arena *a, const struct config *cfg,
		     int park_fd, int ws_fd, struct err *e)
{
	struct notes *notes = notes_open(a, s->loop, s->up.db);

	s->viewers.streams = streams_new(a, &s->up);
	s->viewers.events = events_new(a, s->up.db, clock_system(), rng_system());
	s->viewers.db = s->up.db;
	s->viewers.loop = s->loop;
	s->viewers.counters = s->up.counters;
	s->viewers.per_user = cfg->live_per_user;
	s->downloads = downloads_new(a, &s->up);
	s->park = park_open(a, s->loop, park_fd, (int)cfg->parked_per_user, &s->up,
			    s->downloads, e);
	if (!s->park)
		return false;
	notes_tell(notes, s->park, s->viewers.events);
	s->socket = socket_open(a, s->loop, &s->viewers, ws_fd, e);
	if (!s->socket)
		return false;
	viewers_start(&s->viewers);
	on_idle(s);
	return true;
}

static void drain(struct server *s)
{
	const int64_t until = loop_now(s->loop) + DRAIN_MS;

	park_send_back(s->park);
	viewers_drain(&s->viewers);
	loop_after(s->loop, &s->idle, DRAIN_MS);
	while ((s->viewers.n > 0 || downloads_count(s->downloads) > 0) &&
	       loop_now(s->loop) < until)
		socket_run_once(s->socket);
	downloads_stop(s->downloads);
	park_send_back(s->park);
	streams_stop(s->viewers.streams);
}

bool serve(const struct config *cfg, const struct log *log, int park_fd, int ws_fd,
	   int stop_fd, struct err *e)
{
	struct arena process;
	struct server *s;
	bool ok;

	arena_init(&process, 0);
	s = arena_new(&process, struct server);
	ok = prepare(s, &process, cfg, log, stop_fd, e) &&
	     open_all(s, &process, cfg, park_fd, ws_fd, e);
	if (ok) {
		log_info(log, "serving", LOG_N("max", PARK_MAX));
		while (!s->stopping)
			socket_run_once(s->socket);
		drain(s);
		if (s->broken)
			ok = err_set(e, ERR_INTERNAL, "The keyring process has ended");
	}
	arena_free(&process);
	return ok;
}
