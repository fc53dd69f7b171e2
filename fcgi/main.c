/*
 * instantstart-fcgi - answers every REST and MCP request.
 *
 *   instantstart-fcgi                   serve, until SIGTERM; SIGHUP renews
 *   instantstart-fcgi --check           check the settings and the credentials, and show
 * them instantstart-fcgi --new-login-link  print a one-time link for an administrator
 *   instantstart-fcgi --openapi         print the OpenAPI document
 *   instantstart-fcgi --help
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/domain/access/access.h"
#include "core/json/tree.h"
#include "core/op/world.h"
#include "fcgi/pool.h"

enum { RETRY_MAX_S = 10 };

/* What lives as long as the program. */
struct program {
	struct arena arena;
	struct config cfg;
	struct log log;
	struct pools pools;
	char *const *argv;
	char image[4096]; /* what SIGHUP starts */
};

static int fail(const struct err *e)
{
	fprintf(stderr, "instantstart-fcgi: %s\n", e->detail);
	for (size_t i = 0; i < e->n_violations; i++)
		fprintf(stderr, "  %s: expected %s\n", e->violations[i].field,
			e->violations[i].expected);
	if (*err_fix_text(e))
		fprintf(stderr, "  %s\n", err_fix_text(e));
	return 1;
}

static struct db *connect_as(struct program *g, struct secret url, const char *what)
{
	return db_new(&g->arena, url, what, clock_system(), rng_system());
}

/* --- commands -------------------------------------------------------------- */

static int help(void)
{
	struct arena a;
	struct buf b;

	arena_init(&a, 0);
	buf_init(&b, &a, 1 << 20);
	config_help(&b);
	printf("instantstart-fcgi [--check | --new-login-link | --openapi | "
	       "--help]\n\nWithout an option, serves FastCGI on sockets in the run "
	       "directory until SIGTERM.\nSettings are environment variables:\n\n%s",
	       buf_cstr(&b));
	arena_free(&a);
	return 0;
}

static int check(struct program *g)
{
	struct buf b;
	struct err e = {0};
	bool ok;

	buf_init(&b, &g->arena, 1 << 20);
	config_dump(&g->cfg, &b);
	printf("%s", buf_cstr(&b));
	buf_truncate(&b, 0);
	ok = world_check(&g->cfg, &g->arena, &b, &e);
	printf("%s", buf_cstr(&b));
	fflush(stdout);
	return ok ? 0 : fail(&e);
}

static bool print_login_link(struct program *g, struct db *db, struct err *e)
{
	const char *code;

	if (!access_new_login(db, &g->arena, rng_system(), &code, e))
		return false;
	printf("Sign in as administrator (once, within an hour):\n  %s/login?code=%s\n",
	       g->cfg.public_url, code);
	fflush(stdout);
	return true;
}

/*
 * The first start. Standard output may be a log that others can read: then the link
 * goes to a file that only our user can.
 */
static bool give_login_link(struct program *g, struct db *db, struct err *e)
{
	const char *path = arena_printf(&g->arena, "%s/login-link", g->cfg.run_dir);
	const char *code, *link;
	int fd;
	bool ok;

	if (isatty(STDOUT_FILENO))
		return print_login_link(g, db, e);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(e, ERR_CONFIG, "%s: %s", path, strerror(errno));
	ok = access_new_login(db, &g->arena, rng_system(), &code, e);
	if (ok) {
		link = arena_printf(&g->arena, "%s/login?code=%s\n", g->cfg.public_url,
				    code);
		ok = write(fd, link, strlen(link)) == (ssize_t)strlen(link) ||
		     err_set(e, ERR_CONFIG, "%s: %s", path, strerror(errno));
	}
	close(fd);
	if (ok)
		log_info(&g->log, "login_link", LOG_S("file", path),
			 LOG_S("another", "instantstart-fcgi --new-login-link"));
	return ok;
}

static int new_login_link(struct program *g)
{
	struct db *db = connect_as(g, g->cfg.database_url, "instantstart-login");
	struct err e = {0};

	return print_login_link(g, db, &e) ? 0 : fail(&e);
}

static int print_openapi(struct program *g)
{
	const struct str text = openapi_text(capabilities, &g->arena);

	printf("%.*s\n", (int)text.n, text.p);
	return 0;
}

/* --- serving ----------------------------------------------------------------- */

static bool ready_database(struct program *g, struct err *e)
{
	const struct secret owner = secret_reveal(g->cfg.owner_database_url)
					    ? g->cfg.owner_database_url
					    : g->cfg.database_url;
	struct db *migrator = connect_as(g, owner, "instantstart-migrate");
	struct db *db = connect_as(g, g->cfg.database_url, "instantstart-fcgi");
	bool is_new;
	bool ok = db_migrate(migrator, &g->arena, e) &&
		  db_check_schema(db, &g->arena, e) &&
		  access_is_new(db, &g->arena, &is_new, e) &&
		  (!is_new || give_login_link(g, db, e));

	/* Connections do not go through a fork. */
	db_close(migrator);
	db_close(db);
	return ok;
}

/* PostgreSQL may start later than we do; a wrong schema does not mend itself. */
static bool await_database(struct program *g, struct err *e)
{
	for (unsigned pause_s = 1;;
	     pause_s = pause_s < RETRY_MAX_S ? pause_s * 2 : RETRY_MAX_S) {
		err_clear(e);
		if (ready_database(g, e))
			return true;
		if (e->code != ERR_UNAVAILABLE)
			return false;
		log_err(&g->log, "database", e);
		sleep(pause_s);
	}
}

static struct program *program_of(void *pools)
{
	return (struct program *)((char *)pools - offsetof(struct program, pools));
}

/* Migrations are the master's: a worker has no use for the owner's password. */
static void in_child(void *ctx)
{
	config_forget_owner(&program_of(ctx)->cfg);
}

static char *const *reload(void *ctx)
{
	struct program *g = program_of(ctx);

	pools_hand_down(&g->pools);
	return g->argv;
}

static bool share_memory(struct pools *p, struct err *e)
{
	p->metrics = metrics_new();
	p->load = mmap(NULL, sizeof(*p->load), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!p->metrics || p->load == MAP_FAILED)
		return err_set(e, ERR_INTERNAL, "No shared memory");
	return true;
}

static int serve(struct program *g)
{
	struct prefork master = {.program = "instantstart-fcgi",
				 .workers =
					 (int)(g->cfg.fcgi_workers + g->cfg.slow_workers),
				 .drain_s = 30,
				 .work = pools_work,
				 .ended = pools_ended,
				 .child = in_child,
				 .reload = reload,
				 .image = g->image,
				 .ctx = &g->pools,
				 .log = &g->log};
	const char *lock = arena_printf(&g->arena, "%s/fcgi.pid", g->cfg.run_dir);
	struct pools *p = &g->pools;
	struct err e = {0};

	p->cfg = &g->cfg;
	p->log = &g->log;
	config_guard_owner(&g->cfg);
	if (!prefork_lock(lock, &p->lock_fd, &e) || !await_database(g, &e) ||
	    !share_memory(p, &e) || !pools_listen(p, &e))
		return fail(&e);
	p->docs = documents_make(capabilities, &g->arena);
	log_info(&g->log, "serving", LOG_N("fast", g->cfg.fcgi_workers),
		 LOG_N("slow", g->cfg.slow_workers));
	return prefork_run(&master, &e) ? 0 : fail(&e);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	static struct program g;
	struct err e = {0};

	json_init();
	arena_init(&g.arena, 0);
	g.argv = argv;
	if (!prefork_image(argv[0], g.image, sizeof(g.image)))
		g.image[0] = '\0'; /* a reload will say so */
	if (strcmp(command, "--help") == 0)
		return help();
	if (!config_load(&g.cfg, &g.arena, config_from_env, NULL, &e))
		return fail(&e);
	g.log = (struct log){.fd = 2,
			     .least = log_level_of(g.cfg.log_level),
			     .clock = clock_system(),
			     .program = "instantstart-fcgi"};
	if (strcmp(command, "--check") == 0)
		return check(&g);
	if (strcmp(command, "--new-login-link") == 0)
		return new_login_link(&g);
	if (strcmp(command, "--openapi") == 0)
		return print_openapi(&g);
	if (argc > 1)
		return help(), 2;
	return serve(&g);
}
