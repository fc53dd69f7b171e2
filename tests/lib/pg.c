#include "tests/lib/pg.h"

#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen/migrations.h"

extern char **environ;

enum { KEEPER_PIPE = 900 };

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "tests/lib/pg: %s: %s\n", what, why);
	abort();
}

/* --- the server -------------------------------------------------------- */

static bool run(const char *const *argv)
{
	posix_spawn_file_actions_t quiet;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &quiet, NULL, (char *const *)(uintptr_t)argv,
			 environ))
		return false;
	posix_spawn_file_actions_destroy(&quiet);
	while (waitpid(pid, &status, 0) < 0)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void server(const char *what, const char *dir)
{
	const char *const argv[] = {"tests/lib/pg.sh", what, dir, NULL};

	if (!run(argv))
		die("tests/lib/pg.sh", what);
}

/* Lives until the runner closes its end of the pipe, by dying at the latest. */
static _Noreturn void keep(int end, const char *dir)
{
	const char *const stop[] = {"tests/lib/pg.sh", "stop", dir, NULL};
	const char *const clean[] = {"rm", "-rf", dir, NULL};
	char c;

	setpgid(0, 0); /* an interrupt at the terminal is not for us */
	while (read(end, &c, 1) < 0)
		;
	setenv("PG_STOP", "immediate", 1);
	run(stop);
	run(clean);
	_exit(0);
}

static void start_keeper(const char *dir)
{
	int ends[2];
	pid_t pid;
	char text[32];

	if (pipe2(ends, O_CLOEXEC))
		die("pipe", "failed");
	pid = fork();
	if (pid < 0)
		die("fork", "failed");
	if (pid == 0) {
		close(ends[1]);
		keep(ends[0], dir);
	}
	close(ends[0]);
	if (fcntl(ends[1], F_DUPFD_CLOEXEC, KEEPER_PIPE) != KEEPER_PIPE)
		die("pipe", "descriptor taken");
	close(ends[1]);
	snprintf(text, sizeof(text), "%d", (int)pid);
	setenv("INSTANTSTART_TEST_PG_KEEPER", text, 1);
}

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
	char dir[] = "/tmp/is-pg-XXXXXX";

	(void)tests;
	if (getenv("INSTANTSTART_TEST_PG"))
		return;
	if (!mkdtemp(dir))
		die("mkdtemp", dir);
	setenv("INSTANTSTART_TEST_PG", dir, 1);
	start_keeper(dir);
	server("start", dir);
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
	const char *keeper = getenv("INSTANTSTART_TEST_PG_KEEPER");
	int status;

	(void)stats;
	if (!keeper)
		return;
	close(KEEPER_PIPE);
	waitpid((pid_t)strtol(keeper, NULL, 10), &status, 0);
}

const char *pg_dir(void)
{
	const char *dir = getenv("INSTANTSTART_TEST_PG");

	if (!dir)
		die("INSTANTSTART_TEST_PG", "not set");
	return dir;
}

void pg_stop(void)
{
	setenv("PG_STOP", "immediate", 1);
	server("stop", pg_dir());
}

void pg_start(void)
{
	server("start", pg_dir());
}

void pg_restart(void)
{
	pg_stop();
	pg_start();
}

/* --- databases --------------------------------------------------------- */

static const char *url_of(struct arena *a, const char *database)
{
	return arena_printf(a, "host=%s user=postgres dbname=%s", pg_dir(), database);
}

const char *pg_as(struct arena *a, const char *url, const char *role)
{
	return arena_printf(a, "%s user=%s", url, role);
}

static PGresult *execute(const char *url, const char *text)
{
	PGconn *conn = PQconnectdb(url);
	PGresult *res = PQexec(conn, text);
	const ExecStatusType status = PQresultStatus(res);

	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		die(text, PQerrorMessage(conn));
	PQfinish(conn);
	return res;
}

const char *pg_sql(struct arena *a, const char *url, const char *fmt, ...)
{
	const char *value = NULL;
	PGresult *res;
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(a, fmt, ap);
	va_end(ap);
	text = arena_printf(a, "set search_path = instantstart; set timezone = 'UTC'; %s",
			    text);
	res = execute(url, text);
	if (PQntuples(res) > 0 && PQnfields(res) > 0 && !PQgetisnull(res, 0, 0))
		value = arena_strdup(a, PQgetvalue(res, 0, 0));
	PQclear(res);
	return value;
}

struct db *pg_open(struct arena *a, const char *url)
{
	return db_new(a, secret_of(arena_strdup(a, url)), "test", clock_system(),
		      rng_system());
}

/* Named after the migrations, so that a shared server never serves old ones. */
static const char *template_name(struct arena *a)
{
	uint64_t h = 14695981039346656037u;

	for (const struct db_migration *m = DB_MIGRATIONS; m->name; m++)
		for (const char *p = m->sha256; *p; p++)
			h = (h ^ (unsigned char)*p) * 1099511628211u;
	return arena_printf(a, "template_%016llx", (unsigned long long)h);
}

static void migrate_template(struct arena *a, const char *name)
{
	struct err e;

	if (!db_migrate(pg_open(a, url_of(a, name)), a, &e))
		die(e.detail, e.n_causes ? e.cause[0].message : e.fix);
}

static bool exists(PGconn *conn, struct arena *a, const char *name)
{
	PGresult *res = PQexec(
		conn,
		arena_printf(a, "select 1 from pg_database where datname = '%s'", name));
	const bool found = PQntuples(res) > 0;

	PQclear(res);
	return found;
}

static void want(PGconn *conn, const char *text)
{
	PGresult *res = PQexec(conn, text);

	if (PQresultStatus(res) != PGRES_TUPLES_OK &&
	    PQresultStatus(res) != PGRES_COMMAND_OK)
		die(text, PQerrorMessage(conn));
	PQclear(res);
}

/*
 * The lock makes tests that start together make one template, and copies wait
 * while it is made. The template is made under another name: one that was
 * interrupted is never copied.
 */
static void need_template(struct arena *a, const char *name)
{
	PGconn *conn = PQconnectdb(url_of(a, "postgres"));
	const char *draft = arena_printf(a, "draft_%s", name);

	want(conn, "set client_min_messages = warning; select pg_advisory_lock(4711)");
	if (!exists(conn, a, name)) {
		struct arena scratch;

		want(conn, arena_printf(a, "drop database if exists %s", draft));
		want(conn, arena_printf(a, "create database %s", draft));
		arena_init(&scratch, 0);
		migrate_template(&scratch, draft);
		arena_free(&scratch); /* closes its connection */
		want(conn,
		     arena_printf(a, "alter database %s rename to %s", draft, name));
	}
	PQfinish(conn);
}

static const char *create(struct arena *a, const char *suffix)
{
	unsigned char raw[8];
	char name[32];

	rng_system()->fill(rng_system(), raw, sizeof(raw));
	snprintf(name, sizeof(name), "t%02x%02x%02x%02x%02x%02x%02x%02x", raw[0], raw[1],
		 raw[2], raw[3], raw[4], raw[5], raw[6], raw[7]);
	PQclear(execute(url_of(a, "postgres"),
			arena_printf(a, "create database %s %s", name, suffix)));
	return url_of(a, name);
}

const char *pg_fresh(struct arena *a)
{
	const char *name = template_name(a);

	need_template(a, name);
	return create(a, arena_printf(a, "template %s", name));
}

const char *pg_empty(struct arena *a)
{
	return create(a, "");
}

void pg_clear(const char *url)
{
	struct arena a;

	arena_init(&a, 0);
	pg_sql(&a, url,
	       "truncate operation, effect, event, lock, idempotency, cluster, resource,"
	       " catalog, read_cache, audit, token, session, login_link, selection,"
	       " principal, installation;"
	       " update audit_head set chain_no = 0, hash = j_sha256('instantstart')");
	arena_free(&a);
}
