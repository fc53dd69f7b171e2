/* A server that crashes: alone in its program, for it takes every connection. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/db/db.h"
#include "gen/queries.h"
#include "tests/integration/sql_session.h"
#include "tests/lib/pg.h"

Test(db_restart, what_was_accepted_is_there, .timeout = 100)
{
	struct arena a;
	struct session *s;
	struct db_rows r;
	struct clock *clock = clock_system();
	const char *url;
	struct db *db;
	struct err e;
	int64_t end;

	arena_init(&a, 0);
	url = pg_fresh(&a);
	db = pg_open(&a, url);
	cr_assert(db_listen(db, "instantstart", &e), "%s", e.detail);
	s = session_open(&a, url);
	want(submit(s, "op_1", NULL), "new op_1");
	want(claim(s), "op_1 1 one");
	/* Uncommitted: gone with the server. */
	want(session_do(s, "begin"), "");
	want(submit(s, "op_2", "{\"locks\":[],\"digest\":\"2\"}"), "new op_2");

	pg_restart();

	end = clock->mono_ms(clock) + 30000;
	while (!DB(db, &a, &Q_operation_get, &r, &e, "op_1")) {
		cr_assert_eq(e.code, ERR_UNAVAILABLE, "%s", e.detail);
		cr_assert_lt(clock->mono_ms(clock), end, "the server did not come back");
		db_wait_notify(db, &a, 20, -1);
	}
	cr_assert(strstr(db_text(&r, 0, "doc"), "\"running\""));
	cr_assert(DB(db, &a, &Q_operation_get, &r, &e, "op_2"));
	cr_assert_eq(r.n, 0);
	/* The claim stands until its lease passes; its holder may still settle. */
	s = session_open(&a, url);
	want(claim(s), "");
	want(settle(s, "op_1", 1, "{\"verdict\":\"done\"}"), "succeeded");
	/* The old connection listens again by itself. */
	cr_assert_not_null(db_wait_notify(db, &a, 10000, -1));

	pg_clear(url);
	want(session_do(s, "select count(*) from operation"), "0");
	want(session_do(s, "select audit_verify()->>'ok'"), "true");
	want(submit(s, "op_1", NULL), "new op_1");
	arena_free(&a);
}
