/* Roles, access, the audit trail, and the plans that the hot statements get. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/db/db.h"
#include "gen/queries.h"
#include "tests/integration/sql_session.h"
#include "tests/lib/pg.h"

static struct arena a;
static struct session *s;
static const char *url;

static void setup(void)
{
	arena_init(&a, 0);
	url = pg_fresh(&a);
	s = session_open(&a, url);
}

static void teardown(void)
{
	arena_free(&a);
}

TestSuite(sql_rights, .init = setup, .fini = teardown, .timeout = 60);

static struct session *as(const char *role)
{
	struct session *r = session_open(&a, url);

	want(session_do(r, "set session authorization %s", role), "");
	return r;
}

Test(sql_rights, roles)
{
	static const char *const tables[] = {
		"operation",   "effect",          "event",     "lock",
		"idempotency", "audit",           "catalog",   "resource",
		"cluster",     "read_cache",      "principal", "token",
		"session",     "login_link",      "selection", "installation",
		"audit_head",  "schema_migration"};
	struct session *faces = as("instantstart_faces");
	struct session *poller = as("instantstart_poller");

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (int p = 0; p < 2; p++) {
			struct session *r = p ? poller : faces;

			want(session_do(r, "delete from %s", tables[i]), "!42501");
			want(session_do(r, "insert into %s default values", tables[i]),
			     "!42501");
			want(session_do(r, "truncate %s", tables[i]), "!42501");
		}
	}
	/* Hashes of secrets are read by functions only. */
	want(session_do(faces, "select hash from token"), "!42501");
	want(session_do(faces, "select * from session"), "!42501");
	want(session_do(faces, "select * from login_link"), "!42501");
	want(session_do(poller, "select id from token"), "!42501");
	want(session_do(faces, "select id from token"), "");

	/* Each side has its own transitions. */
	want(submit(poller, "op_1", NULL), "!42501");
	want(submit(faces, "op_1", NULL), "new op_1");
	want(claim(faces), "!42501");
	want(claim(poller), "op_1 1 one");
	want(session_do(faces, "select op_settle('{}')"), "!42501");
	want(session_do(faces,
			"select op_intent('op_1', 1, 'one', '', 'once', 'x', 'd', null)"),
	     "!42501");
	want(settle(poller, "op_1", 1, "{\"verdict\":\"fail\",\"error\":{}}"), "failed");
	want(order(poller, "retry", "op_1", NULL), "!42501");
	want(order(faces, "retry", "op_1", NULL), "live");
	want(session_do(poller,
			"select token_create('t', 'p', 'n', 'h', 'admin', 1, null)"),
	     "!42501");
	want(session_do(faces, "select audit_chain(10)"), "!42501");
	want(session_do(poller, "select audit_chain(10) > 0"), "t");
	/* A face shows nodes, and how old they are, with all the helpers that takes. */
	want(session_do(faces, "select refresh_json('none')->>'state'"), "never");
	want(session_do(faces, "select refresh_look('none')"), "t");
	/* Helpers behind the transitions are nobody's. */
	want(session_do(faces, "select op_wake(o, now()) from operation o"), "!42501");
	want(session_do(poller, "select lock_release('op_1', now())"), "!42501");
	/* A schema of one's own does not get in front of ours. */
	want(session_do(faces, "create table instantstart.x (a int)"), "!42501");
	want(session_do(
		     s,
		     "select count(*) from pg_proc p where pronamespace ="
		     " 'instantstart'::regnamespace and prosecdef and not"
		     " coalesce(proconfig, '{}') @> array['search_path=instantstart, pg_temp']"),
	     "0");
	/* What either role may execute, it can execute: every one is guarded. */
	want(session_do(
		     s,
		     "select string_agg(proname, ' ') from pg_proc where pronamespace ="
		     " 'instantstart'::regnamespace and not prosecdef and provolatile ="
		     " 'v' and (has_function_privilege('instantstart_faces', oid,"
		     " 'execute') or has_function_privilege('instantstart_poller', oid,"
		     " 'execute'))"),
	     "");
}

Test(sql_rights, access)
{
	session_at(s, 1800000000000);
	session_do(s, "select principal_put('ann', 'Ann', 'admin')");
	session_do(
		s,
		"select token_create('tok_1', 'ann', 'ci', 'h1', 'operator', 60, 'ann')");
	want(session_do(s, "select concat_ws(' ', principal, name, role, token_id)"
			   " from token_check('h1')"),
	     "ann Ann operator tok_1");
	want(session_do(s, "select count(*) from token_check('h2')"), "0");
	/* The time of use is written to the minute only. */
	want(session_do(s, "select xmin::text = pg_current_xact_id()::text from token"),
	     "f");
	want(session_do(s, "select j_ms(last_used_at) from token"), "1800000000000");
	session_at(s, 1800000059999);
	want(session_do(s, "select principal from token_check('h1')"), "ann");
	want(session_do(s, "select j_ms(last_used_at) from token"), "1800000000000");
	session_at(s, 1800000060000);
	want(session_do(s, "select principal from token_check('h1')"), "");
	session_at(s, 1800000000001);
	session_do(s, "select token_revoke('tok_1')");
	want(session_do(s, "select principal from token_check('h1')"), "");
	/* Asked again, since nobody had told how it ended: the same. */
	want(session_do(s, "select token_revoke('tok_1')"), "");
	want(session_do(s, "select token_revoke('tok_2')"), "!IS404");

	session_do(s, "select login_link_create('l1', 'ann', 'admin', 60)");
	want(session_do(s, "select concat_ws(' ', principal, name, role)"
			   " from session_create_by_link('l1', 's0', 60)"),
	     "ann Ann admin");
	want(session_do(s, "select role from session_check('s0')"), "admin");
	/* For the session that used it, and for no other. */
	want(session_do(s,
			"select principal from session_create_by_link('l1', 's0', 60)"),
	     "ann");
	want(session_do(s,
			"select principal from session_create_by_link('l1', 's9', 60)"),
	     "");
	session_do(s, "select session_end('s0')");
	session_do(s, "select login_link_create('l2', 'ann', 'admin', 60)");
	session_do(s, "select session_create('s1', 'ann', 'admin', 60)");
	want(session_do(s, "select role from session_check('s1')"), "admin");
	session_at(s, 1800000061000);
	want(session_do(s,
			"select principal from session_create_by_link('l2', 's8', 60)"),
	     "");
	want(session_do(s, "select role from session_check('s1')"), "");
	session_do(s, "select session_end('s1')");
	want(session_do(s, "select count(*) from session"), "0");

	want(session_do(s, "select selection_put('ann', 'demo')"), "!IS404");
	session_do(s, "select cluster_put('demo', '{\"origin\":\"imported\"}')");
	want(session_do(s, "select selection_put('ann', 'demo')"), "");
	session_do(s, "select cache_put('k', '[1]')");
	session_do(s, "select cache_drop('k')");
	want(session_do(s, "select count(*) from read_cache"), "0");
}

static const char *verify(void)
{
	return session_do(
		s, "select concat_ws(' ', v->>'ok', v->>'checked', v->>'broken_at',"
		   " v->>'why') from audit_verify() v");
}

/* Tampering by somebody with all rights: the guard is switched off. */
static void tamper(const char *how)
{
	session_do(s, "rollback; begin; alter table audit disable trigger audit_guard");
	want(session_do(s, "%s", how), "");
}

Test(sql_rights, audit_trail)
{
	want(submit(s, "op_1",
		    "{\"audit\":{\"name\":\"demo\",\"token\":\"(secret)\"},"
		    "\"capability\":\"create_cluster\"}"),
	     "new op_1");
	want(submit(s, "op_2", NULL), "same op_1");
	want(order(s, "cancel", "op_1", NULL), "live");
	session_do(
		s,
		"select audit_add('bob', 'mcp', 'delete_cluster', 'demo', null, 'refused',"
		" 'forbidden', 'no', '{}', 'req-1')");
	want(session_do(s,
			"select string_agg(concat_ws('/', principal, capability, outcome,"
			" op_id), ' ' order by id) from audit"),
	     "ann/create_cluster/accepted/op_1 ann/same/op_1"
	     " ann/cancel_operation/accepted/op_1 bob/delete_cluster/refused");
	want(session_do(s, "update audit set principal = 'eve'"), "!P0001");
	want(session_do(s, "delete from audit"), "!P0001");
	want(session_do(s, "select audit_chain(3)"), "3");
	want(session_do(s, "select audit_chain()"), "1");
	want(session_do(s, "select audit_chain()"), "0");
	want(session_do(s, "update audit set hash = 'x'"), "!P0001");
	want(verify(), "true 4");
	tamper("update audit set principal = 'eve' where chain_no = 2");
	want(verify(), "false 2 2 the row or one before it was changed");
	tamper("update audit set parameters = null where chain_no = 1");
	want(verify(), "false 1 1 the row or one before it was changed");
	tamper("delete from audit where chain_no = 3");
	want(verify(), "false 3 3 a row is missing");
	tamper("delete from audit where chain_no = 4");
	want(verify(), "false 4 4 the end of the trail is missing");
	session_do(s, "rollback");
	want(verify(), "true 4");
	/* A row that commits late is chained late; its id does not matter. */
	session_do(
		s,
		"select audit_add('z', 'rest', 'c', 't', null, 'done', null, null, null,"
		" null)");
	want(session_do(s, "select (audit_verify())->>'unchained'"), "1");
}

/* Copies of one operation, all due at the same time. */
static void fill(int rows)
{
	want(submit(s, "op_x", "{\"locks\":[]}"), "new op_x");
	session_do(s, "alter table operation disable trigger op_shown_insert");
	session_do(
		s,
		"insert into operation select r.* from operation o,"
		" generate_series(1, %d) n, lateral (select 'op_' || lpad(n::text, 8, '0')"
		" as id) i, lateral jsonb_populate_record(o, jsonb_build_object('id', i.id,"
		" 'root_id', i.id, 'digest', n, 'doc', replace(o.doc, 'op_x', i.id))) r",
		rows);
	session_do(s, "alter table operation enable trigger op_shown_insert");
	session_do(s, "analyze operation");
}

Test(sql_rights, plans)
{
	const char *plan;
	struct db *db = pg_open(&a, url);
	struct db_rows r;
	struct err e;

	fill(100000);
	/* The index alone gives the order: nothing is sorted. */
	plan = session_do(
		s, "explain (format json) select id from operation where state = 'live'"
		   " and due_at <= now() order by due_at, id limit 1 for update"
		   " skip locked");
	cr_assert(strstr(plan, "operation_due"), "%s", plan);
	cr_assert_null(strstr(plan, "Sort"), "%s", plan);
	plan = session_do(s, "explain (format json) %s",
			  "select doc, version from operation where id = 'op_00000007'");
	cr_assert(strstr(plan, "operation_pkey"), "%s", plan);
	plan = session_do(
		s, "explain (format json) select id from operation where principal ="
		   " 'ann' and kind = 'make' and target = 'demo' and digest = '7' and"
		   " state in ('live', 'held') and parent_id is null and not"
		   " cancel_requested order by id limit 1");
	cr_assert(strstr(plan, "operation_open") ||
			  strstr(plan, "operation_unkeyed_open"),
		  "%s", plan);
	/* The function itself: a claim touches a handful of pages, not 100,000 rows. */
	session_do(s, "select op_claim('w', 60000)");
	session_do(s, "select pg_stat_force_next_flush()");
	session_do(s, "select pg_stat_reset()");
	session_do(s, "select op_claim('w', 60000)");
	session_do(s, "select pg_stat_force_next_flush()");
	want(session_do(s, "select seq_tup_read < 10 from pg_stat_user_tables"
			   " where relname = 'operation'"),
	     "t");

	/* Pages of a long list: each once, in order, and the end is the end. */
	cr_assert(DB(db, &a, &Q_operation_list, &r, &e, NULL, NULL, "demo", "op_00000004",
		     "2"));
	want(session_do(
		     s,
		     "select concat_ws(' ', j->'items'->0->>'id', j->'items'->1->>'id',"
		     " json_array_length(j->'items'), j->>'next_cursor')"
		     " from (select '%s'::json as j) t",
		     db_text(&r, 0, "doc")),
	     "op_00000003 op_00000002 2 op_00000002");
	cr_assert(DB(db, &a, &Q_operation_list, &r, &e, "live", "make", NULL,
		     "op_00000003", "2"));
	want(session_do(
		     s,
		     "select concat_ws(' ', json_array_length(j->'items'),"
		     " coalesce(j->>'next_cursor', 'end')) from (select '%s'::json as j) t",
		     db_text(&r, 0, "doc")),
	     "2 end");
	cr_assert(DB(db, &a, &Q_operation_list, &r, &e, "held", NULL, NULL, NULL, "2"));
	want(db_text(&r, 0, "doc"), "{\"items\": [], \"next_cursor\": null}");
}
