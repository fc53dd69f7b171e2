/*
 * instantstart-poller - carries operations out.
 *
 *   instantstart-poller           work, until SIGTERM
 *   instantstart-poller --check   check the settings and the credentials, and show them
 *   instantstart-poller --diagram KIND
 *   instantstart-poller --diagrams   all kinds, as a Markdown page
 *   instantstart-poller --iam-policy   what its credentials must be allowed
 *   instantstart-poller --help
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/aws/policy.h"
#include "core/base/prefork.h"
#include "core/db/db.h"
#include "core/domain/capability.h"
#include "core/json/tree.h"
#include "core/op/runner.h"
#include "core/op/world.h"
#include "core/poller/worker.h"

enum { RETRY_MAX_S = 10, TEXT_MAX = 1 << 20 };

struct program {
	struct arena arena;
	struct config cfg;
	struct log log;
	struct poller poller;
	char *const *argv;
	char image[4096]; /* what SIGHUP starts */
};

static int fail(const struct err *e)
{
	fprintf(stderr, "instantstart-poller: %s\n", e->detail);
	for (size_t i = 0; i < e->n_violations; i++)
		fprintf(stderr, "  %s: expected %s\n", e->violations[i].field,
			e->violations[i].expected);
	if (*e->fix)
		fprintf(stderr, "  %s\n", e->fix);
	return 1;
}

/* --- commands ---------------------------------------------------------- */

static int help(struct program *g)
{
	struct buf b;

	buf_init(&b, &g->arena, TEXT_MAX);
	config_help(&b);
	printf("instantstart-poller [--check | --diagram KIND | --diagrams | "
	       "--iam-policy | --help]\n\nWithout an option, runs operations until "
	       "SIGTERM.\nSettings are environment variables:\n\n%s",
	       buf_cstr(&b));
	return 0;
}

static int iam_policy(struct program *g)
{
	int failed = json_dumpf(aws_policy(&g->arena), stdout, JSON_INDENT(2));

	putchar('\n');
	return failed ? 1 : 0;
}

static int check(struct program *g)
{
	struct buf b;
	struct err e = {0};
	bool ok;

	buf_init(&b, &g->arena, TEXT_MAX);
	config_dump(&g->cfg, &b);
	printf("%s", buf_cstr(&b));
	buf_truncate(&b, 0);
	ok = world_check(&g->cfg, &g->arena, &b, &e);
	printf("%s", buf_cstr(&b));
	fflush(stdout);
	return ok ? 0 : fail(&e);
}

static int diagram(struct program *g, const char *name)
{
	const struct kind *k = kind_find(kinds, name);
	struct buf b;

	if (!k) {
		fprintf(stderr, "instantstart-poller: no kind \"%s\"; there are:\n",
			name);
		for (size_t i = 0; kinds[i]; i++)
			fprintf(stderr, "  %s\n", kinds[i]->name);
		return 2;
	}
	buf_init(&b, &g->arena, TEXT_MAX);
	kind_diagram(k, &b);
	printf("%s", buf_cstr(&b));
	return 0;
}

static int diagrams(struct program *g)
{
	struct buf b;

	buf_init(&b, &g->arena, TEXT_MAX);
	kind_diagrams(kinds, &b);
	printf("%s", buf_cstr(&b));
	return 0;
}

/* --- work -------------------------------------------------------------- */

/* Migrates when an owner is configured; else somebody else does. */
static bool ready_database(struct program *g, struct err *e)
{
	const struct secret owner = g->cfg.owner_database_url;
	struct db *db = db_new(&g->arena, g->cfg.database_url, "instantstart-poller",
			       clock_system(), rng_system());
	struct db *migrator;
	bool ok = true;

	if (secret_reveal(owner) != secret_reveal(g->cfg.database_url)) {
		migrator = db_new(&g->arena, owner, "instantstart-migrate",
				  clock_system(), rng_system());
		ok = db_migrate(migrator, &g->arena, e);
		db_close(migrator);
	}
	ok = ok && db_check_schema(db, &g->arena, e);
	/* Connections do not go through a fork. */
	db_close(db);
	return ok;
}

/*
 * PostgreSQL, and whoever migrates it, may start later than we do. A database
 * that is newer than this program does not mend itself.
 */
static bool await_database(struct program *g, struct err *e)
{
	enum { PATIENCE_S = 60 };
	unsigned waited_s = 0;

	for (unsigned pause_s = 1;;
	     pause_s = pause_s < RETRY_MAX_S ? pause_s * 2 : RETRY_MAX_S) {
		err_clear(e);
		if (ready_database(g, e))
			return true;
		if (e->code != ERR_UNAVAILABLE &&
		    (e->code != ERR_SCHEMA_VERSION || waited_s > PATIENCE_S))
			return false;
		log_err(&g->log, "database", e);
		sleep(pause_s);
		waited_s += pause_s;
	}
}

static struct program *program_of(void *poller)
{
	return (struct program *)((char *)poller - offsetof(struct program, poller));
}

/* Migrations are the master's: a worker has no use for the owner's password. */
static void in_child(void *ctx)
{
	config_forget_owner(&program_of(ctx)->cfg);
}

static char *const *reload(void *ctx)
{
	return program_of(ctx)->argv;
}

static int work(struct program *g)
{
	struct prefork master = {
		.program = "instantstart-poller",
		.workers = (int)g->cfg.pollers,
		/* A step may be in the middle of a call. */
		.drain_s = (int)(g->cfg.lease_ms / 1000 + 1),
		.work = poller_work,
		.child = in_child,
		.reload = reload,
		.image = g->image,
		.ctx = &g->poller,
		.log = &g->log,
	};
	struct err e = {0};

	g->poller = (struct poller){.cfg = &g->cfg, .log = &g->log, .kinds = kinds};
	config_guard_owner(&g->cfg);
	if (!await_database(g, &e))
		return fail(&e);
	log_info(&g->log, "polling", LOG_N("workers", g->cfg.pollers));
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
		return help(&g);
	if (strcmp(command, "--diagram") == 0 && argc == 3)
		return diagram(&g, argv[2]);
	if (strcmp(command, "--diagrams") == 0)
		return diagrams(&g);
	if (strcmp(command, "--iam-policy") == 0)
		return iam_policy(&g);
	if (!config_load(&g.cfg, &g.arena, config_from_env, NULL, &e))
		return fail(&e);
	g.log = (struct log){
		.fd = 2,
		.least = log_level_of(g.cfg.log_level),
		.clock = clock_system(),
		.program = "instantstart-poller",
	};
	if (strcmp(command, "--check") == 0)
		return check(&g);
	if (argc > 1)
		return help(&g), 2;
	return work(&g);
}
