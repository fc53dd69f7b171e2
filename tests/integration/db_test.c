/* core/db against a real server: errors, reconnects, notifications, migrations. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "core/db/db.h"
#include "core/json/tree.h"
#include "gen/migrations.h"
#include "gen/queries.h"
#include "tests/lib/pg.h"

static struct arena a;
static struct err e;

static void setup(void)
{
	arena_init(&a, 0);
}

static void teardown(void)
{
	arena_free(&a);
}

TestSuite(db, .init = setup, .fini = teardown, .timeout = 60);

#define must(expr)                                                                       \
	cr_assert((expr), "%s: %s (%s: %s)", #expr, e.detail,                            \
		  e.n_causes ? e.cause[0].code : "",                                     \
		  e.n_causes ? e.cause[0].message : "")

static const struct db_query q_types = {
	"types", "select $1::text as t, $2::bigint as i, $3::boolean as b, null as n", 3,
	DB_READS, false};
static const struct db_query q_pid = {"pid", "select pg_backend_pid() as pid", 0,
				      DB_READS, false};
static const struct db_query q_slow = {
	"slow", "select pg_backend_pid() as pid from pg_sleep($1::float8)", 1, DB_READS,
	false};
static const struct db_query q_all = {"all_of_t", "select * from public.t", 0, DB_READS,
				      false};

static int64_t pid_of(struct db *db)
{
	struct db_rows r;

	must(db_query(db, &a, &q_pid, NULL, 0, &r, &e));
	return db_int(&r, 0, "pid");
}

Test(db, rows_and_errors)
{
	struct db *db = pg_open(&a, pg_fresh(&a));
	struct db_rows r;
	char *large;

	must(DB(db, &a, &q_types, &r, &e, "t\"'\\ \xc3\xa4", "-9007199254740993",
		"true"));
	cr_assert_eq(r.n, 1);
	cr_assert_str_eq(db_text(&r, 0, "t"), "t\"'\\ \xc3\xa4");
	cr_assert_eq(db_text_len(&r, 0, "t"), 7);
	cr_assert_eq(db_int(&r, 0, "i"), -9007199254740993);
	cr_assert(db_bool(&r, 0, "b"));
	cr_assert_null(db_text(&r, 0, "n"));
	must(DB(db, &a, &q_types, &r, &e, NULL, NULL, NULL));
	cr_assert_null(db_text(&r, 0, "t"));

	/* A refused statement: SQLSTATE and words are the cause; the next one works. */
	cr_assert_not(DB(db, &a, &q_types, &r, &e, "x", "not a number", NULL));
	cr_assert_eq(e.code, ERR_DATABASE);
	cr_assert_str_eq(e.cause[0].source, "postgresql");
	cr_assert_str_eq(e.cause[0].code, "22P02");
	must(DB(db, &a, &q_types, &r, &e, "x", "1", "f"));

	/* What only a person can mend says how. */
	for (size_t i = 0; i < 3; i++) {
		static const char *const states[][2] = {{"53100", "disk space"},
							{"53200", "memory"},
							{"53300", "max_connections"}};
		struct db_query *q = arena_new(&a, struct db_query);

		q->name = arena_printf(&a, "raise_%s", states[i][0]);
		q->text = arena_printf(
			&a, "do $$ begin raise exception using errcode = '%s'; end $$",
			states[i][0]);
		cr_assert_not(db_query(db, &a, q, NULL, 0, NULL, &e));
		cr_expect_eq(e.code, ERR_UNAVAILABLE);
		cr_expect(strstr(e.fix, states[i][1]), "%s: %s", states[i][0], e.fix);
	}

	/* Our own refusals carry their details. */
	cr_assert_not(DB(db, &a, &Q_token_revoke, &r, &e, "tok_1"));
	cr_assert_eq(e.code, ERR_NOT_FOUND);
	cr_assert_str_eq(e.field, "/id");
	cr_assert_str_eq(e.seen, "tok_1");
	must(DB(db, &a, &Q_installation_put, &r, &e, "111122223333", "r-1", "aws",
		"arn"));
	cr_assert_not(DB(db, &a, &Q_installation_put, &r, &e, "444455556666", "r-1",
			 "aws", "arn"));
	cr_assert_eq(e.code, ERR_STATE_CONFLICT);
	cr_assert(strstr(e.fix, "database of its own") &&
		  strstr(e.expected, "111122223333"));

	large = arena_alloc(&a, LIMIT_DB_PARAM + 2);
	memset(large, 'x', LIMIT_DB_PARAM + 1);
	cr_assert_not(DB(db, &a, &q_types, &r, &e, large, "1", "t"));
	cr_assert_eq(e.code, ERR_TOO_LARGE);
	/* Every embedded query is valid against the schema. */
	for (const struct db_query *const *q = DB_QUERIES; *q; q++) {
		const char *nulls[16] = {0};

		if (strstr((*q)->text, "begin") || strstr((*q)->text, "rollback") ||
		    strstr((*q)->text, "commit") || strstr((*q)->text, ";\n"))
			continue;
		if (!db_query(db, &a, *q, nulls, (size_t)(*q)->n_params, &r, &e) &&
		    e.code == ERR_DATABASE)
			cr_assert_str_eq(e.cause[0].code, "23502", "%s: %s", (*q)->name,
					 e.cause[0].message);
	}
}

Test(db, an_unreachable_server_is_tried_with_back_off)
{
	struct clock_manual clock;
	struct db_rows r;
	struct db *db;

	clock_manual_init(&clock, 1800000000000);
	db = db_new(&a, secret_of("host=/nonexistent dbname=x"), "t", &clock.clock,
		    rng_system());
	cr_assert_not(db_query(db, &a, &q_pid, NULL, 0, &r, &e));
	cr_assert_eq(e.code, ERR_UNAVAILABLE);
	cr_assert_eq(err_retry(&e), RETRY_SAME_KEY);
	cr_assert_str_eq(e.cause[0].code, "connect");
	/* At once again: no attempt, the answer says when. */
	cr_assert_not(db_query(db, &a, &q_pid, NULL, 0, &r, &e));
	cr_assert(strstr(e.detail, "next attempt is in"), "%s", e.detail);
	cr_assert_eq(db_fd(db), -1);
	for (int i = 0; i < 20; i++) {
		clock_manual_advance(&clock, 5000); /* the longest back-off */
		cr_assert_not(db_query(db, &a, &q_pid, NULL, 0, &r, &e));
		cr_assert(strstr(e.detail, "cannot be reached") && e.n_causes == 1);
	}
}

Test(db, a_lost_connection_is_replaced)
{
	const char *url = pg_fresh(&a);
	struct db *db = pg_open(&a, url);
	const int64_t first = pid_of(db);
	struct db_rows r;
	pid_t killer;

	/* Lost while idle: seen before sending, so nothing fails. */
	pg_sql(&a, url, "select pg_terminate_backend(%lld, 5000)", (long long)first);
	cr_assert_neq(pid_of(db), first);
	/* Lost in the middle: the server rolled back and said so; sent again. */
	killer = fork();
	if (killer == 0) {
		const char *done = NULL;

		while (!done || strcmp(done, "t") != 0) {
			done = pg_sql(
				&a, url,
				"select bool_or(pg_terminate_backend(pid, 5000)) from"
				" pg_stat_activity where wait_event = 'PgSleep'"
				" and datname = current_database()");
			usleep(5000);
		}
		_exit(0);
	}
	must(DB(db, &a, &q_slow, &r, &e, "0.5"));
	cr_assert_neq(db_int(&r, 0, "pid"), first);
	waitpid(killer, NULL, 0);
	/* A migration changed what a prepared statement returns. */
	pg_sql(&a, url, "create table public.t (a int); insert into public.t values (1)");
	must(db_query(db, &a, &q_all, NULL, 0, &r, &e));
	pg_sql(&a, url, "alter table public.t alter a type text");
	must(db_query(db, &a, &q_all, NULL, 0, &r, &e));
	cr_assert_str_eq(db_text(&r, 0, "a"), "1");
}

Test(db, notifications)
{
	const char *url = pg_fresh(&a);
	struct db *db = pg_open(&a, url);
	int ends[2];

	must(db_listen(db, "instantstart", &e));
	cr_assert_geq(db_fd(db), 0);
	cr_assert_null(db_take_notify(db, &a));
	cr_assert_null(db_wait_notify(db, &a, 0, -1));
	pg_sql(&a, url,
	       "select pg_notify('instantstart', 'op_1'), pg_notify('other', 'x')");
	cr_assert_str_eq(db_wait_notify(db, &a, 10000, -1), "op_1");
	cr_assert_null(db_take_notify(db, &a));
	/* A reconnect listens again. */
	pg_sql(&a, url, "select pg_terminate_backend(%lld, 5000)", (long long)pid_of(db));
	pid_of(db);
	pg_sql(&a, url, "select pg_notify('instantstart', 'op_2')");
	cr_assert_str_eq(db_wait_notify(db, &a, 10000, -1), "op_2");
	/* The waker interrupts a long wait. */
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(write(ends[1], "x", 1), 1);
	cr_assert_null(db_wait_notify(db, &a, 60000, ends[0]));
}

Test(db, migrations)
{
	const char *url = pg_empty(&a);
	struct db *db = pg_open(&a, url);
	pid_t other;
	int status;

	cr_assert_not(db_check_schema(db, &a, &e));
	cr_assert_eq(e.code, ERR_SCHEMA_VERSION);
	cr_assert(strstr(e.fix, "owner"));
	/* Two programs start at once: both succeed, each migration is applied once. */
	other = fork();
	if (other == 0) {
		struct arena mine;

		arena_init(&mine, 0);
		if (db_migrate(pg_open(&mine, url), &mine, &e))
			_exit(0);
		fprintf(stderr, "%s: %s\n", e.detail, e.cause[0].message);
		_exit(1);
	}
	must(db_migrate(db, &a, &e));
	waitpid(other, &status, 0);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	must(db_migrate(db, &a, &e));
	must(db_check_schema(db, &a, &e));
	cr_assert_str_eq(
		pg_sql(&a, url,
		       "select count(*) - count(distinct version) from schema_migration"),
		"0");
	/* Nothing belongs to whoever ran it. */
	cr_assert_str_eq(pg_sql(&a, url,
				"select count(*) from pg_class where relnamespace ="
				" 'instantstart'::regnamespace and relowner <>"
				" 'instantstart_owner'::regrole"),
			 "0");

	pg_sql(&a, url, "create table public.keep as select * from schema_migration");

	pg_sql(&a, url,
	       "update schema_migration set sha256 = repeat('0', 64) where version = 2");
	cr_assert_not(db_check_schema(db, &a, &e));
	cr_assert_not(db_migrate(db, &a, &e));
	cr_assert_eq(e.code, ERR_SCHEMA_VERSION);
	cr_assert(strstr(e.detail, "0002_"), "%s", e.detail);
	pg_sql(&a, url,
	       "update schema_migration m set sha256 = k.sha256 from public.keep k"
	       " where k.version = m.version;"
	       " insert into schema_migration values (999, '0999_future', 'x')");
	cr_assert_not(db_check_schema(db, &a, &e));
	cr_assert(strstr(e.detail, "0999_future") && strstr(e.detail, "newer"), "%s",
		  e.detail);
	cr_assert_not(db_migrate(db, &a, &e));
	cr_assert_eq(e.code, ERR_SCHEMA_VERSION);
	/* The refused attempt left no transaction behind. */
	pg_sql(&a, url, "delete from schema_migration where version = 999");
	must(db_migrate(db, &a, &e));
}

/* A database with the migrations up to `before`, not included. */
static const char *older(int before)
{
	const char *url = pg_empty(&a);
	const char *text = Q_migrate_begin.text;

	pg_sql(&a, pg_fresh(&a), "select 1"); /* the roles exist */
	text = arena_printf(&a,
			    "do $$ begin execute format('grant create on database %%I to"
			    " instantstart_owner', current_database()); end $$; %s",
			    text);
	for (const struct db_migration *m = DB_MIGRATIONS; m->name && m->version < before;
	     m++)
		text = arena_printf(
			&a,
			"%s; set local search_path = instantstart, pg_temp; %s;"
			" insert into instantstart.schema_migration values (%d,"
			" '%s', '%s')",
			text, m->text, m->version, m->name, m->sha256);
	pg_sql(&a, url, "%s; commit", text);
	return url;
}

static int last_version(void)
{
	const struct db_migration *m = DB_MIGRATIONS;

	while (m[1].name)
		m++;
	return m->version;
}

/* A database of an older version: what is missing is applied by the owner, and
 * refused to the others until then. */
Test(db, what_is_missing_is_applied)
{
	struct db *db = pg_open(&a, older(last_version()));

	cr_assert_not(db_check_schema(db, &a, &e));
	cr_assert_eq(e.code, ERR_SCHEMA_VERSION);
	must(db_migrate(db, &a, &e));
	must(db_check_schema(db, &a, &e));
}

/* One operation of a kind, with a stage that has sent a call, and what it made. */
#define OF_BEFORE                                                                        \
	"insert into operation (id, kind, title, target, cluster, input, digest,"        \
	" principal, actor_name, face, keyed, root_id, parent_id, stage, state, step,"   \
	" phase, phases, due_at, deadline_s, deadline_at, created_at, updated_at,"       \
	" ended_at) select id, 'k', 'K', 'demo', 'demo', '{}', id, 'p', 'P', 'rest',"    \
	" false, root, nullif(root, id), case when root <> id then 's' end,"             \
	" 'succeeded', 's', 'p', '[]', now(), 1, now(), now(), now(), now()"             \
	" from (values ('op_1', 'op_1'), ('op_2', 'op_1'), ('op_3', 'op_3'),"            \
	" ('op_4', 'op_4')) v (id, root);"                                               \
	"insert into effect (op_id, step, item, epoch, visit, class, name, token,"       \
	" digest, gen, first_issued_at, issued_at) select op, 's', '', 1, 1, 'named',"   \
	" name, 't', 'd', 1, now(), now() from (values ('op_2', 'iam:CreateRole'),"      \
	" ('op_3', 's3:PutBucketTagging'), ('op_4', 'sagemaker:UpdateCluster'))"         \
	" v (op, name);"                                                                 \
	"insert into resource (cluster, type, id, op_id, state, made_at) values"         \
	" ('demo', 'kubernetes:persistentvolume', 'v', 'op_1', 'made', now()),"          \
	" ('demo', 'kubernetes:job', 'default/j', 'op_1', 'gone', now()),"               \
	" ('demo', 'iam:role', 'r', 'op_1', 'made', now())"

/* What was made before things said their installation: by operations that tag, whatever
 * stage of them it was, and what the ledger names inside Kubernetes. */
Test(db, what_was_made_before_the_identity_is_written_down)
{
	const char *url = older(123);
	struct db *db = pg_open(&a, url);
	struct db_rows rows;

	pg_sql(&a, url, "set search_path = instantstart; %s", OF_BEFORE);
	must(db_migrate(db, &a, &e));
	must(db_query(db, &a, &Q_identity_get, NULL, 0, &rows, &e));
	cr_expect_eq(strlen(db_text(&rows, 0, "id")), 36);
	cr_expect_str_eq(
		json_text(&a, json_parse(&a, str_of(db_text(&rows, 0, "earlier")), &e)),
		"{\"kubernetes:persistentvolume demo v\":true,\"operation demo op_1\":true,"
		"\"operation demo op_3\":true,\"operation op_1\":true,"
		"\"operation op_3\":true}");
	db = pg_open(&a, pg_as(&a, url, "instantstart_poller"));
	must(db_query(db, &a, &Q_identity_get, NULL, 0, &rows, &e));
}

Test(db, a_role_that_may_not_migrate_is_told_why)
{
	const char *url = pg_empty(&a);
	struct db *db;

	pg_sql(&a, pg_fresh(&a), "select 1"); /* the roles exist */
	db = pg_open(&a, pg_as(&a, url, "instantstart_faces"));
	cr_assert_not(db_migrate(db, &a, &e));
	cr_assert_eq(e.code, ERR_DATABASE);
	cr_assert_str_eq(e.cause[0].code, "42501", "%s", e.cause[0].message);
	/* The owner role needs no rights of an administrator once it may create here. */
	pg_sql(&a, url,
	       "do $$ begin execute format('grant create on database %%I to"
	       " instantstart_owner', current_database()); end $$");
	db = pg_open(&a, pg_as(&a, url, "instantstart_owner"));
	must(db_migrate(db, &a, &e));
	must(db_check_schema(pg_open(&a, pg_as(&a, url, "instantstart_faces")), &a, &e));
}
