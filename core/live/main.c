/*
 * instantstart-live - holds what waits, so that no worker does.
 *
 *   instantstart-live            serve on RUN_DIR/live.sock (waiting requests) and
 *                                RUN_DIR/live-ws.sock (WebSockets), until SIGTERM
 *   instantstart-live --help
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/config.h"
#include "core/base/log.h"
#include "core/base/prefork.h"
#include "core/json/tree.h"
#include "core/live/serve.h"

enum { FILES_MAX = 16384 };

struct program {
	struct config cfg;
	struct log log;
	int listener, ws_listener;
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

static bool listen_at(const struct config *cfg, const char *name, int *ret, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const struct group *g = NULL;
	mode_t before;
	bool ok;

	if (snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", cfg->run_dir, name) >=
	    (int)sizeof(at.sun_path))
		return err_set(e, ERR_CONFIG, "%s is too long for a socket's path",
			       cfg->run_dir);
	if (cfg->socket_group && *cfg->socket_group) {
		g = getgrnam(cfg->socket_group);
		if (!g)
			return err_set(e, ERR_CONFIG, "No group %s", cfg->socket_group);
	}
	/* We hold the lock, so whoever has left it here is gone. */
	unlink(at.sun_path);
	before = umask(0177);
	ok = fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
	umask(before);
	if (!ok || (g && chown(at.sun_path, (uid_t)-1, g->gr_gid) != 0) ||
	    chmod(at.sun_path, 0660) != 0 || listen(fd, 1024) != 0)
		return err_set(e, ERR_CONFIG, "%s: %s", at.sun_path, strerror(errno));
	*ret = fd;
	return true;
}

static bool listen_all(struct program *g, struct err *e)
{
	const char *given = getenv(handed_down);

	if (given && sscanf(given, "%d %d", &g->listener, &g->ws_listener) == 2) {
		unsetenv(handed_down);
		fcntl(g->listener, F_SETFD, FD_CLOEXEC);
		fcntl(g->ws_listener, F_SETFD, FD_CLOEXEC);
		return true;
	}
	return listen_at(&g->cfg, "live.sock", &g->listener, e) &&
	       listen_at(&g->cfg, "live-ws.sock", &g->ws_listener, e);
}

static char *const *reload(void *ctx)
{
	const struct program *g = ctx;
	char text[64];

	fcntl(g->listener, F_SETFD, 0);
	fcntl(g->ws_listener, F_SETFD, 0);
	snprintf(text, sizeof(text), "%d %d", g->listener, g->ws_listener);
	setenv(handed_down, text, 1);
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
	if (!serve(&g->cfg, &g->log, g->listener, g->ws_listener, stop_fd, &e)) {
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
	    !listen_all(&g, &e) || !prefork_run(&master, &e))
		return fail(&e);
	arena_free(&a);
	return 0;
}
