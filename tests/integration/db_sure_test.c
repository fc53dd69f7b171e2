/*
 * A statement has succeeded when its commit is known. Every query that the programs
 * have is tried: with a commit that fails, with the connection cut after each
 * message of either side, and with a server that stops answering.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/str.h"
#include "core/db/db.h"
#include "gen/queries.h"
#include "tests/integration/pg_proxy.h"
#include "tests/integration/sql_session.h"
#include "tests/lib/pg.h"

static struct arena a, w; /* of the test; of one sample */
static struct err e;
static const char *url, *cut_url;
static struct pg_proxy *proxy;
static struct session *admin;
static int n_rows; /* of the last answer */

static void setup(void)
{
	arena_init(&a, 0);
	arena_init(&w, 0);
	url = pg_fresh(&a);
	/* The time stands still, for every connection to come. */
	pg_sql(&a, url,
	       "do $$ begin execute format('alter database %%I set instantstart.now = %%L',"
	       " current_database(), '1800000000000'); end $$");
	proxy = pg_proxy_start(&a, url, &cut_url);
	admin = session_open(&a, url);
}

static void teardown(void)
{
	arena_free(&w);
	arena_free(&a);
}

TestSuite(db_sure, .init = setup, .fini = teardown, .timeout = 120);

#define SUBMIT(id, more)                                                                  \
	"{\"id\":\"" id                                                                   \
	"\",\"kind\":\"make\",\"title\":\"Make it\",\"input\":{},\"principal\":\"ann\","  \
	"\"face\":\"rest\",\"queue\":false,\"step\":\"one\",\"phase\":\"first\","         \
	"\"phases\":[{\"name\":\"first\",\"title\":\"First\"}],\"deadline_s\":3600," more \
	"}"
#define ORDER(id, args)                                                                  \
	"{\"op\":\"" id "\",\"principal\":\"ann\",\"face\":\"rest\",\"idem_key\":"       \
	"\"key-" id "\",\"args\":" args "}"

/*
 * Arguments that make each of them change something, in the world of `prelude`.
 * `counts`: the answer says how much this sending did. A query that changes
 * something and stands in no row fails the test.
 */
static const struct sample {
	const struct db_query *q;
	const char *arg[10];
	bool counts;
} samples[] = {
	{&Q_op_submit,
	 {SUBMIT("op_new",
		 "\"target\":\"x\",\"digest\":\"x\",\"locks\":[\"cluster/x\"]")},
	 false},
	{&Q_op_submit,
	 {SUBMIT("op_new", "\"target\":\"x\",\"digest\":\"x\",\"locks\":[\"cluster/x\"],"
			   "\"idem_key\":\"k1\"")},
	 false},
	{&Q_op_submit, /* behind another one */
	 {SUBMIT("op_new",
		 "\"target\":\"y\",\"digest\":\"y\",\"locks\":[\"cluster/run\"],"
		 "\"queue\":true")},
	 false},
	{&Q_op_claim, {"w", "60000", "ask_1"}, false},
	{&Q_op_intent, {"op_run", "1", "one", "", "named", "x:Make", "d", "{}"}, false},
	{&Q_op_intent, {"op_sent", "2", "one", "", "once", "x:Make", "d", "{}"}, false},
	{&Q_op_settle,
	 {"{\"op\":\"op_run\",\"gen\":1,\"step\":\"one\",\"verdict\":\"advance\","
	  "\"data\":{\"a\":1},\"next\":{\"step\":\"two\",\"phase\":\"first\"},"
	  "\"resources\":[{\"type\":\"t\",\"id\":\"i\",\"state\":\"made\"}]}"},
	 false},
	{&Q_op_settle,
	 {"{\"op\":\"op_run\",\"gen\":1,\"step\":\"one\",\"verdict\":\"done\"}"},
	 false},
	{&Q_op_settle,
	 {"{\"op\":\"op_run\",\"gen\":1,\"step\":\"one\",\"verdict\":\"wait\","
	  "\"waiting_for\":\"it\",\"due_ms\":60000}"},
	 false},
	{&Q_op_cancel, {ORDER("op_run", "{\"undo\":true}")}, false},
	{&Q_op_retry, {ORDER("op_failed", "{}")}, false},
	{&Q_op_answer, {ORDER("op_held", "{\"choice\":\"yes\"}")}, false},
	{&Q_journal_sweep, {NULL}, false},
	{&Q_principal_put, {"bob", "Bob", "viewer"}, false},
	{&Q_principal_add, {"bob", "Bob", "viewer"}, true},
	{&Q_token_create, {"tok_2", "ann", "ci", "h2", "viewer", "60", "ann"}, false},
	{&Q_token_check, {"h1"}, false},
	{&Q_token_revoke, {"tok_1"}, false},
	{&Q_session_create, {"s2", "ann", "admin", "60"}, false},
	{&Q_session_check, {"s1"}, false},
	{&Q_session_end, {"s1"}, false},
	{&Q_session_create_by_token, {"s3", "h1", "60"}, false},
	{&Q_session_create_by_link, {"l1", "s4", "60"}, false},
	{&Q_session_end_all, {"ann"}, true},
	{&Q_login_link_create, {"l2", "ann", "admin", "60"}, false},
	{&Q_selection_put, {"ann", "demo"}, false},
	{&Q_audit_add,
	 {"ann", "rest", "c", "t", NULL, "refused", "x", "y", "{}", "r"},
	 false},
	{&Q_audit_chain, {"100"}, true},
	{&Q_cluster_forget, {"demo"}, false},
	{&Q_cache_put, {"k", "[1]"}, false},
	{&Q_installation_put, {"111122223333", "r-1", "aws", "arn"}, false},
	{&Q_node_page, {"demo", NULL, NULL, "10", NULL, NULL, NULL, NULL}, false},
	{&Q_refresh_want, {"demo"}, false},
	{&Q_refresh_claim, {"60000", "60000", "0"}, false},
	{&Q_refresh_settle,
	 {"{\"cluster\":\"seen\",\"gen\":1,\"next\":\"groups\",\"idle_ms\":1000,"
	  "\"spacing_ms\":1000}"},
	 false},
	{&Q_migration_add, {"999", "0999_x", "sha"}, false},
	{&Q_ready_write, {NULL}, false},
	{&Q_heartbeat_put, {"poller", "host/7", "30000"}, false},
	{&Q_heartbeat_end, {"host/1"}, false},
	{&Q_credential_note, {"false", "env", "expired", "renew them"}, false},
	{&Q_cluster_sweep, {NULL}, true},
	{&Q_heartbeat_lost, {NULL}, true},
	{&Q_node_seen, {"seen", "i-1", "{\"ready\":\"False\"}", "Failure"}, false},
};
enum { N_SAMPLES = sizeof(samples) / sizeof(*samples) };

/* clang-format off: one statement a line */
static const char *const world[] = {
	"delete from schema_migration where version = 999",
	"update refresh_pace set next_at = 'epoch'",
	"update audit_head set chain_no = 0, hash = j_sha256('instantstart')",
	"select principal_put('ann', 'Ann', 'admin')",
	"select token_create('tok_1', 'ann', 'ci', 'h1', 'operator', 600, 'ann')",
	"select session_create('s1', 'ann', 'admin', 600)",
	"update session set last_used_at = j_now() - interval '1 hour'",
	"select login_link_create('l1', 'ann', 'admin', 600)",
	"select login_link_create('old', 'ann', 'admin', -90000)",
	"select cluster_put('demo', '{\"origin\":\"imported\"}')",
	"select cluster_put('seen', '{\"hyperpod_name\":\"h\"}')",
	"select refresh_claim(60000, 60000, 0)",
	"insert into refresh (cluster, due_at) values ('demo', j_now())",
	"update cluster set hyperpod_name = 'd' where name = 'demo'",
	"select op_submit('" SUBMIT("op_failed",
				    "\"target\":\"f\",\"digest\":\"f\"") "')",
	"select op_claim('w', 60000)",
	"select op_settle('{\"op\":\"op_failed\",\"gen\":1,\"step\":\"one\",\"verdict\":\"fail\",\"error\":{}}')",
	"select op_submit('" SUBMIT("op_held", "\"target\":\"h\",\"digest\":\"h\"") "')",
	"select op_claim('w', 60000)",
	"select op_settle('{\"op\":\"op_held\",\"gen\":1,\"step\":\"one\",\"verdict\":\"hold\","
	"\"question\":{\"question\":\"q\",\"choices\":[{\"id\":\"yes\"}]}}')",
	"select op_submit('" SUBMIT("op_sent", "\"target\":\"s\",\"digest\":\"s\"") "')",
	"select op_claim('w', 60000)",
	"select op_intent('op_sent', 1, 'one', '', 'once', 'x:Make', 'd', '{}')",
	"update operation set due_at = j_now() where id = 'op_sent'",
	"select op_claim('w', 60000)",
	"select op_submit('" SUBMIT(
		"op_run",
		"\"target\":\"run\",\"digest\":\"run\",\"locks\":[\"cluster/run\"]") "')",
	"select op_claim('w', 60000)",
	"select op_submit('" SUBMIT("op_wait", "\"target\":\"w\",\"digest\":\"w\"") "')",
	"select heartbeat_put('poller', 'host/1', 60000)",
	"insert into heartbeat values ('host/9', 'poller', j_now() - interval '2 minutes',"
	" j_now() - interval '1 minute')",
	"insert into catalog (kind, cluster, name, observed, observed_at, created_at, updated_at) values"
	" ('node', 'seen', 'g-1', '{\"instance_id\":\"i-1\",\"status\":\"Running\",\"group\":\"g\"}',"
	" j_now(), j_now(), j_now()), ('node', 'nobody', 'g-1', '{}', j_now(), j_now(), j_now())",
	NULL,
};
/* clang-format on */

/* The world that a sample changes, at a time that stands still. */
static void prelude(void)
{
	static const char *wipe;
	const char *text;

	admin->a = &w;
	if (!wipe)
		wipe = pg_sql(
			&a, url,
			"select string_agg(format('delete from %%I', relname), ';')"
			" from pg_class where relnamespace = 'instantstart'::regnamespace"
			" and relkind = 'r' and relname not in ('schema_migration',"
			" 'audit_head', 'refresh_pace')");
	/* Neither order nor the audit's guard are in the way. */
	text = arena_printf(&w,
			    "set session_replication_role = replica; %s;"
			    "set session_replication_role = origin;"
			    "select setval('audit_id_seq', 1, false)",
			    wipe);
	for (int i = 0; world[i]; i++)
		text = arena_printf(&w, "%s;%s", text, world[i]);
	want(session_do(admin, "%s; select 'ready'", text), "ready");
}

/* Everything that the tables hold, but for numbers that a rollback uses up. */
static const char *content(void)
{
	static char text[16384];

	if (!text[0]) {
		const char *parts = session_do(
			admin,
			"select string_agg(format('select %%L || coalesce(string_agg(x, '';'' "
			"order by x), %%L) as all_of_it from (select (to_jsonb(t)%%s)::text as "
			"x from %%I t) y', relname || ': ', '', case relname when 'audit' then ' - '"
			" || quote_literal('id') when 'resource' then ' - ' || quote_literal('seq')"
			" when 'schema_migration' then ' - ' || quote_literal('applied_at') end, relname), ' "
			"union all ') from pg_class where relnamespace = "
			"'instantstart'::regnamespace and relkind = 'r' and relname <>"
			" 'readiness'");

		snprintf(
			text, sizeof(text),
			"select string_agg(all_of_it, E'\\n' order by all_of_it) from (%s) z",
			parts);
	}
	return session_do(admin, "%s", text);
}

/* The answer's rows, column by column. */
static const char *answer_of(const struct db_rows *r)
{
	const char *all = "";

	for (int i = 0; i < r->n; i++)
		for (int c = 0; c < PQnfields(r->result_); c++)
			all = arena_printf(&w, "%s%s=%s\n", all, PQfname(r->result_, c),
					   PQgetvalue(r->result_, i, c));
	return all;
}

/* What tells is sent only: until the server has answered it, or the cut has come. */
static void await_told(struct db *db)
{
	struct pollfd answer = {.fd = db_fd(db), .events = POLLIN};

	if (answer.fd >= 0)
		cr_expect_eq(poll(&answer, 1, 10000), 1);
}

static bool send(struct db *db, const struct sample *s, const char **ret_answer)
{
	struct db_rows r = {0};
	const bool ok = db_query(db, &w, s->q, s->arg, (size_t)s->q->n_params, &r, &e);

	if (ok && s->q->tells)
		await_told(db);
	n_rows = r.n;
	*ret_answer = ok ? answer_of(&r) : "";
	return ok;
}

static const struct sample *sample_of(const struct db_query *q)
{
	for (int i = 0; i < N_SAMPLES; i++)
		if (samples[i].q == q)
			return &samples[i];
	return NULL;
}

/* `name` followed by a parenthesis, as a whole word. */
static bool calls(const char *text, const char *name)
{
	const size_t n = strlen(name);

	for (const char *p = text; (p = strstr(p, name)); p++)
		if (p[n] == '(' &&
		    (p == text || !strchr("abcdefghijklmnopqrstuvwxyz_", p[-1])))
			return true;
	return false;
}

/* A query without a word changes nothing: it calls nothing that could. */
Test(db_sure, every_query_says_what_a_second_sending_does)
{
	struct str_list writers = {0};
	struct str rest =
		str_of(pg_sql(&a, url,
			      "select string_agg(proname, ',') from pg_proc where"
			      " pronamespace = 'instantstart'::regnamespace and"
			      " provolatile = 'v'"));

	while (rest.p)
		str_list_add(&a, &writers, str_dup(&a, str_cut(&rest, ',')));
	for (const struct db_query *const *q = DB_QUERIES; *q; q++) {
		bool writes = strstr((*q)->text, "insert into ") ||
			      strstr((*q)->text, "update ") ||
			      strstr((*q)->text, "delete from ");

		/* Several statements: run as a text, by the migration. */
		if (strstr((*q)->text, ";\n") || str_starts((*q)->name, "migrate_"))
			continue;
		if (*q == &Q_tell_now)
			continue; /* stores nothing: no table knows of it */
		for (size_t i = 0; i < writers.n; i++)
			writes |= calls((*q)->text, writers.v[i]);
		cr_expect_eq(writes, (*q)->again != DB_READS, "%s", (*q)->name);
		cr_expect(!writes || sample_of(*q), "%s stands in no row of samples",
			  (*q)->name);
	}
}

/* What a statement keeps for others is told by it; a claim's is told by its caller. */
Test(db_sure, what_is_kept_for_others_is_told)
{
	static const struct db_query kept = {
		"kept",
		"select coalesce(current_setting('instantstart.told', true), '') as kept",
		0, DB_READS, false};
	struct db *db = pg_open(&a, url);
	const char *answer;
	struct db_rows r;

	for (int i = 0; i < N_SAMPLES; i++) {
		const struct sample *s = &samples[i];

		arena_reset(&w);
		prelude();
		cr_assert(send(db, s, &answer), "%s: %s", s->q->name, e.detail);
		cr_assert(db_query(db, &w, &kept, NULL, 0, &r, &e));
		if (s->q == &Q_op_claim)
			cr_expect_str_neq(db_text(&r, 0, "kept"), "");
		else
			cr_expect_str_eq(db_text(&r, 0, "kept"), "", "%s", s->q->name);
		db_tell(db, &w);
	}
}

static const char *heard(struct db *listener)
{
	const char *all = "", *one;

	while ((one = db_wait_notify(listener, &w, 500, -1)))
		all = arena_printf(&w, "%s%s ", all, one);
	return all;
}

/* After the commit; and when the connection goes between the two, the next one says
 * that something was lost. */
Test(db_sure, told_after_the_commit_or_said_to_be_lost)
{
	struct db *listener = pg_open(&a, url), *db = pg_open(&a, cut_url);
	const char *answer;

	cr_assert(db_listen(listener, "instantstart", &e));
	prelude();
	(void)heard(listener);
	cr_assert(send(db, &samples[0], &answer), "%s", e.detail);
	cr_expect_str_eq(heard(listener), "op_new ");
	prelude();
	(void)heard(listener);
	atomic_store(&proxy->after_requests, 4); /* what submits, not what tells */
	cr_assert(send(db, &samples[0], &answer), "%s", e.detail);
	cr_expect_str_eq(heard(listener), "");
	atomic_store(&proxy->after_requests, -1);
	cr_assert(send(db, &samples[0], &answer), "%s", e.detail);
	cr_expect_str_eq(heard(listener), "lost ");
}

/* Rows come, then the commit is refused: a deferred constraint. */
Test(db_sure, rows_are_no_commit)
{
	const char *before, *answer;
	struct db *db;

	pg_sql(&a, url,
	       "create function public.no_commit() returns trigger language plpgsql as $$"
	       " begin if current_setting('test.armed', true) = '1' then raise exception"
	       " 'no commit' using errcode = '23503'; end if; return null; end $$;"
	       "do $$ declare t text; begin for t in select relname from pg_class where"
	       " relnamespace = 'instantstart'::regnamespace and relkind = 'r' loop execute"
	       " format('create constraint trigger no_commit after insert or update or"
	       " delete on %%I deferrable initially deferred for each row execute function"
	       " public.no_commit()', t); end loop; end $$");
	db = pg_open(&a, arena_printf(&a, "%s options='-c test.armed=1'", url));
	for (int i = 0; i < N_SAMPLES; i++) {
		arena_reset(&w);
		prelude();
		before = content();
		cr_expect_not(send(db, &samples[i], &answer), "%s: %s",
			      samples[i].q->name, answer);
		cr_expect_eq(e.code, ERR_DATABASE, "%s: %s", samples[i].q->name,
			     e.detail);
		cr_expect_str_eq(e.cause[0].code, "23503");
		cr_expect_str_eq(content(), before);
	}
}

/* As a sample is without a cut: the answer, and what is there afterwards. */
struct truth {
	const char *answer;
	int n_rows;
	const char *content;
	const char *before;
};

/* `db` has prepared the statement afterwards. */
static struct truth truth_of(const struct sample *s, struct db *db)
{
	const char *again;
	struct truth t;

	prelude();
	t.before = content();
	cr_assert(send(db, s, &t.answer), "%s: %s %s", s->q->name, e.detail,
		  e.cause[0].message);
	t.n_rows = n_rows;
	t.content = content();
	if (s->q->again != DB_AGAIN)
		return t;
	/* A second sending, on purpose. */
	cr_assert(send(db, s, &again), "%s again: %s %s", s->q->name, e.detail,
		  e.cause[0].message);
	if (!s->counts)
		cr_expect_str_eq(again, t.answer, "%s", s->q->name);
	cr_expect_str_eq(content(), t.content, "%s, sent twice", s->q->name);
	return t;
}

/* What is left of a cut one: all of it, and accepted, or nothing. */
static void check_end(const struct sample *s, const struct truth *t, bool ok,
		      const char *answer, int after)
{
	const char *left = content();

	if (ok) {
		if (!s->counts)
			cr_expect_str_eq(answer, t->answer, "%s cut at %d", s->q->name,
					 after);
		cr_expect_str_eq(left, t->content,
				 "%s cut at %d: accepted, and not there", s->q->name,
				 after);
	} else if (s->q->again == DB_ONCE && e.code == ERR_AMBIGUOUS) {
		cr_expect(strcmp(left, t->content) == 0 || strcmp(left, t->before) == 0,
			  "%s cut at %d", s->q->name, after);
	} else {
		cr_expect_eq(e.code, ERR_UNAVAILABLE, "%s cut at %d: %s", s->q->name,
			     after, e.detail);
		cr_expect_str_eq(left, t->before, "%s cut at %d", s->q->name, after);
	}
}

/* One cut, after so many messages of a side; false: there was none so late. */
static bool cut_at(const struct sample *s, const struct truth *t, struct db *db,
		   atomic_int *side, int after)
{
	const int before = atomic_load(&proxy->cuts);
	const char *answer;
	bool ok;

	prelude();
	atomic_store(side, after);
	ok = send(db, s, &answer);
	atomic_store(side, -1);
	check_end(s, t, ok, answer, after);
	return atomic_load(&proxy->cuts) > before;
}

/* The statement alone, on a connection that has prepared it. Every message is one to
 * cut after: those of the statement, and those of what tells. */
static void cut_each(const struct sample *s, atomic_int *side, int first)
{
	const bool of_client = side == &proxy->after_requests;
	const char *ignored;
	int n = first, expected;
	struct truth t;
	struct db *db;

	arena_reset(&w);
	db = pg_open(&w, cut_url);
	t = truth_of(s, db);
	/* Bind, describe, execute, sync; bound, described, each row, complete, ready. */
	expected = of_client ? 4 : 4 + t.n_rows;
	if (s->q->tells)
		expected += of_client ? 4 : 4 + 1;
	while (cut_at(s, &t, db, side, n)) {
		(void)send(db, s, &ignored);
		n++;
	}
	cr_expect_eq(n, expected, "%s, %s: %d and not %d", s->q->name,
		     of_client ? "requests" : "answers", n, expected);
}

static void cut_everywhere(int first, int step)
{
	for (int i = first; i < N_SAMPLES; i += step) {
		cut_each(&samples[i], &proxy->after_answers, 0);
		/* Before the last of them nothing has happened: one of those is tried. */
		cut_each(&samples[i], &proxy->after_requests, 2 + i / step % 2);
	}
}

/* In two halves, for two cores. */
Test(db_sure, cut_after_each_message_1)
{
	cut_everywhere(0, 2);
}

Test(db_sure, cut_after_each_message_2)
{
	cut_everywhere(1, 2);
}

/* From the first message of a new connection on. */
Test(db_sure, cut_after_each_message_of_a_connection)
{
	const struct sample *s = &samples[0];
	atomic_int *const sides[] = {&proxy->after_answers, &proxy->after_requests};

	for (int side = 0; side < 2; side++) {
		int n = 0;

		for (bool cut = true; cut; n += cut) {
			struct truth t;

			arena_reset(&w);
			t = truth_of(s, pg_open(&w, cut_url));
			cut = cut_at(s, &t, pg_open(&w, cut_url), sides[side], n);
		}
		cr_expect_geq(n, side == 0 ? 20 : 6, "%d", n);
	}
}

/* Nothing is heard any more, and nothing closed: a frozen server, a lost route. */
Test(db_sure, a_server_that_does_not_answer_has_a_deadline)
{
	struct clock *clock = clock_system();

	atomic_store(&proxy->stall, true);
	for (int i = 0; i < N_SAMPLES; i += 9) {
		struct db *db = pg_open(&w, cut_url);
		const struct truth t = truth_of(&samples[i], db);
		const char *answer;
		int64_t began;
		bool ok;

		prelude();
		db_set_patience(db, 200);
		atomic_store(&proxy->after_answers, 3); /* rows, and no commit */
		began = clock->mono_ms(clock);
		ok = send(db, &samples[i], &answer);
		cr_expect_lt(clock->mono_ms(clock) - began, 5000);
		check_end(&samples[i], &t, ok, answer, 3);
	}
}

/* Nobody can be asked: the caller is told so, and how to find out. */
Test(db_sure, what_nobody_knows_is_said)
{
	const char *const before[] = {"0", "1"};

	for (int i = 0; i < 2; i++) {
		struct db *db = pg_open(&w, cut_url);
		const struct truth t = truth_of(&samples[0], db);
		const char *answer;

		(void)t;
		prelude();
		/* The request goes, or it does not; the server is away afterwards. */
		atomic_store(i ? &proxy->after_answers : &proxy->after_requests, 0);
		atomic_store(&proxy->refuse, true);
		cr_expect_not(send(db, &samples[0], &answer));
		cr_expect_eq(e.code, ERR_AMBIGUOUS, "%s", e.detail);
		cr_expect_eq(err_retry(&e), RETRY_SAME_KEY);
		cr_expect(e.fix[0] && e.cause[0].source[0]);
		atomic_store(&proxy->refuse, false);
		atomic_store(&proxy->after_answers, -1);
		atomic_store(&proxy->after_requests, -1);
		want(session_do(admin,
				"select count(*) from operation where id = 'op_new'"),
		     before[i]);
		/* As the answer says: sent again, it is there once. */
		db_close(db);
		db = pg_open(&w, cut_url);
		cr_expect(send(db, &samples[0], &answer), "%s", e.detail);
		want(session_do(admin,
				"select count(*) from operation where id = 'op_new'"),
		     "1");
	}
}

/* Several writers, and somebody who ends their sessions all the time. */
static _Noreturn void write_many(int who, int n, int report)
{
	struct arena mine;
	struct db *db;

	arena_init(&mine, 0);
	db = pg_open(&mine, url);
	for (int i = 0; i < n; i++) {
		const char *id = arena_printf(&mine, "op_%d_%d", who, i);
		const char *text = arena_printf(
			&mine,
			"{\"id\":\"%s\",\"kind\":\"make\",\"input\":{},\"principal\":\"p\","
			"\"face\":\"rest\",\"queue\":false,\"step\":\"one\",\"phase\":\"f\","
			"\"phases\":[],\"deadline_s\":60,\"target\":\"%s\",\"digest\":\"%s\"%s}",
			id, id, id,
			i % 2 ? "" : arena_printf(&mine, ",\"idem_key\":\"%s\"", id));
		struct db_rows r;

		if (DB(db, &mine, &Q_op_submit, &r, &e, text))
			dprintf(report, "%s\n", id);
		else
			(void)!db_await(db, &mine,
					clock_system()->mono_ms(clock_system()) + 5000);
	}
	_exit(0);
}

Test(db_sure, what_was_accepted_while_sessions_ended_is_there)
{
	enum { WRITERS = 3, EACH = 250 };
	const char *n_accepted;
	char path[] = "/tmp/is-sure-XXXXXX";
	const int report = mkstemp(path);
	int left = WRITERS, ended = 0;

	pg_sql(&a, url,
	       "do $$ begin execute format('alter database %%I reset instantstart.now',"
	       " current_database()); end $$");
	for (int i = 0; i < WRITERS; i++)
		if (fork() == 0)
			write_many(i, EACH, report);
	while (left > 0) {
		ended += (int)strtol(
			session_do(
				admin,
				"select count(pg_terminate_backend(pid)) from (select pid from"
				" pg_stat_activity where datname = current_database() and pid"
				" <> pg_backend_pid() and state = 'active' order by random()"
				" limit 1) x"),
			NULL, 10);
		usleep(15000); /* the attack's own rhythm: the writers may need a second
				*/
		while (left > 0 && waitpid(-1, NULL, WNOHANG) > 0)
			left--;
	}
	cr_expect_gt(ended, 3, "only %d sessions were ended", ended);
	n_accepted = pg_sql(&a, url, "select count(*) from operation");
	lseek(report, 0, SEEK_SET);
	session_do(admin, "create temporary table accepted (id text)");
	{
		FILE *f = fdopen(report, "r");
		char line[64];
		int n = 0;

		while (fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = '\0';
			session_do(admin, "insert into accepted values ('%s')", line);
			n++;
		}
		cr_expect_gt(n, WRITERS * EACH / 2, "%d of %s", n, n_accepted);
		fclose(f);
	}
	unlink(path);
	want(session_do(admin,
			"select count(*) from accepted where not exists (select 1 from"
			" operation o where o.id = accepted.id)"),
	     "0");
	want(session_do(admin, "select count(*) - count(distinct id) from accepted"),
	     "0");
}

/* Values that would change what our statements mean, or end them. */
static const char *const odd_settings[] = {
	"timezone=Asia/Tokyo",
	"datestyle=SQL, DMY",
	"intervalstyle=iso_8601",
	"search_path=pg_temp, public",
	"extra_float_digits=-15",
	"statement_timeout=1",
	"lock_timeout=1",
	"idle_in_transaction_session_timeout=1",
	"idle_session_timeout=1000",
	"client_encoding=LATIN1",
	"default_tablespace=nowhere",
	"plpgsql.extra_errors=all",
	"work_mem=64",
	"max_parallel_workers_per_gather=4",
	"default_transaction_isolation=serializable",
	NULL,
};

static void set_default(const char *name, const char *value)
{
	want(session_do(admin,
			"do $$ begin execute format('alter database %%I set %s = %%L',"
			" current_database(), '%s'); end $$; select 'set'",
			name, value),
	     "set");
}

/* The same answers, and the same rows, whatever the database's defaults are. */
static void check_meaning(const struct truth *t, const char *name, const char *value)
{
	struct db *db = pg_open(&w, url);
	const char *answer;

	prelude();
	set_default(name, value);
	cr_expect(send(db, &samples[0], &answer), "%s = %s: %s %s", name, value, e.detail,
		  e.cause[0].message);
	cr_expect_str_eq(answer, t[0].answer, "%s = %s", name, value);
	want(session_do(admin,
			"do $$ begin execute format('alter database %%I reset %s',"
			" current_database()); end $$; select 'reset'",
			name),
	     "reset");
	cr_expect_str_eq(content(), t[0].content, "%s = %s", name, value);
	/* Further statements on that connection, which lives on. */
	for (int i = 1; i < N_SAMPLES; i++)
		if (samples[i].q == &Q_op_settle) {
			cr_expect(send(db, &samples[i], &answer), "%s = %s: %s", name,
				  value, e.detail);
			break;
		}
	db_close(db);
}

/*
 * Every setting with a closed list of values that a role or a database may have as
 * its default, and the open ones above.
 */
Test(db_sure, no_default_of_the_server_changes_our_meaning)
{
	struct truth t;
	struct str rest;
	const char *closed;
	int n = 0;

	t = truth_of(&samples[0], pg_open(&a, url));
	t.answer = arena_strdup(&a, t.answer);
	t.content = arena_strdup(&a, t.content);
	closed = pg_sql(
		&a, url,
		"select string_agg(name || '=' || v, ';' order by name, v) from pg_settings,"
		" unnest(coalesce(enumvals, array['on', 'off'])) v where context = 'user' and"
		" vartype in ('bool', 'enum') and v <> boot_val and name !~"
		" '^(enable_|debug_|log_|trace_|geqo|client_min|transaction_)'");
	rest = str_of(closed);
	for (int i = 0; odd_settings[i] || rest.p;) {
		struct str value =
			odd_settings[i] ? str_of(odd_settings[i++]) : str_cut(&rest, ';');
		const char *name = str_dup(&a, str_cut(&value, '='));

		arena_reset(&w);
		check_meaning(&t, name, str_dup(&a, value));
		n++;
	}
	cr_expect_geq(n, 50, "only %d settings", n);
}
