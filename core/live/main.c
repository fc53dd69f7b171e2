/*
 * instantstart-live - holds what waits, so that no worker does.
 *
 *   instantstart-live            serve on RUN_DIR/live.sock (waiting requests) and
 *                                RUN_DIR/live-ws.sock (WebSockets), until SIGTERM
 *   instantstart-live --help
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/config.h"
#include "core/base/listener.h"
#include "core/base/log.h"
#include "core/base/prefork.h"
#include "core/json/tree.h"
#include "core/live/serve.h"

enum { FILES_MAX = 16384 };

enum { WAITING, WEBSOCKETS, SOCKETS };
static const char *const sockets[SOCKETS] = {"live.sock", "live-ws.sock"};

struct program {
	struct config cfg;
	struct log log;
	int listener[SOCKETS];
	int lock_fd;
	char *const *argv;
	char image[4096]; /* what SIGHUP starts */
};

/* The listening sockets go through an exec: nobody is turned away meanwhile. */
static const char handed_down[] = "INSTANTSTART_LIVE_LISTENERS";

static int fail(const struct err *e)
{
	fprintf(stderr, "instantstart-live: %s\n", e->detail);
	return 1;
}

static char *const *reload(void *ctx)
{
	const struct program *g = ctx;

	listeners_hand_down(g->listener, SOCKETS, handed_down);
	return g->argv;
}

/* One process: what it holds is held by its event loop. */
static int work(void *ctx, int slot, int stop_fd)
{
	struct program *g = ctx;
	struct rlimit files;
	struct err e = {0};

	(void)slot;
	close(g->lock_fd);
	/* One descriptor for each that waits or watches; libwebsockets keeps a
	 * table of as many as there may be. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max < FILES_MAX ? files.rlim_max : FILES_MAX;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (!serve(&g->cfg, &g->log, g->listener[WAITING], g->listener[WEBSOCKETS],
		   stop_fd, &e)) {
		log_err(&g->log, "serve", &e);
		return 1;
	}
	return 0;
}

static int help(void)
{
	printf("instantstart-live [--help]\n\nHolds waiting requests for nginx on live.sock "
	       "and WebSockets on live-ws.sock\nin INSTANTSTART_RUN_DIR. Settings: see "
	       "instantstart-fcgi --help.\n");
	return 0;
}

int main(int argc, char **argv)
{
	static struct program g;
	struct prefork master = {.program = "instantstart-live",
				 .workers = 1,
				 .drain_s = 8,
				 .work = work,
				 .reload = reload,
				 .image = g.image,
				 .ctx = &g,
				 .log = &g.log};
	struct arena a;
	struct err e = {0};

	if (argc > 1)
		return help(), strcmp(argv[1], "--help") == 0 ? 0 : 2;
	json_init();
	arena_init(&a, 0);
	g.argv = argv;
	if (!prefork_image(argv[0], g.image, sizeof(g.image)))
		g.image[0] = '\0'; /* a reload will say so */
	if (!config_load(&g.cfg, &a, config_from_env, NULL, &e))
		return fail(&e);
	config_forget_owner(&g.cfg); /* of no use here */
	g.log = (struct log){.fd = 2,
			     .least = log_level_of(g.cfg.log_level),
			     .clock = clock_system(),
			     .program = "instantstart-live"};
	if (!prefork_lock(arena_printf(&a, "%s/live.pid", g.cfg.run_dir), &g.lock_fd,
			  &e) ||
	    !listeners_open(sockets, g.listener, SOCKETS, handed_down, &g.cfg, &e) ||
	    !prefork_run(&master, &e))
		return fail(&e);
	arena_free(&a);
	return 0;
}
