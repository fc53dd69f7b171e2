/* The refresh of groups and nodes: whose turn it is, what is written, what is gone. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "tests/integration/sql_session.h"
#include "tests/lib/pg.h"

static struct arena a;
static struct session *x;
static long long now_ms = 1767323045000;

static void at(long long later_ms)
{
	now_ms += later_ms;
	session_at(x, now_ms);
}

static void setup(void)
{
	arena_init(&a, 0);
	x = session_open(&a, pg_fresh(&a));
	at(0);
	session_do(x,
		   "select installation_put('123456789012', 'us-west-2', 'aws', 'arn')");
	session_do(x, "select cluster_put('demo', '{\"hyperpod_name\": \"demo\"}')");
}

static void teardown(void)
{
	arena_free(&a);
}

TestSuite(sql_refresh, .init = setup, .fini = teardown, .timeout = 60);

/* "phase gen", "wait" or "". */
static const char *turn(void)
{
	return session_do(x, "select case when c ? 'wait_ms' then 'wait' else "
			     "(c->>'phase') || ' ' || (c->>'gen') end "
			     "from refresh_claim(60000, 60000, 200) c");
}

static const char *page(int gen, const char *next, const char *rows)
{
	return session_do(
		x,
		"select refresh_settle(jsonb_build_object('cluster', 'demo', "
		"'gen', %d, 'next', %s, 'idle_ms', 600000, 'spacing_ms', 30000, "
		"'rows', '%s'::jsonb))",
		gen, next, rows);
}

static const char *node(const char *name, const char *instance, const char *status)
{
	return arena_printf(&a,
			    "{\"name\":\"%s\",\"observed\":{\"instance_id\":\"%s\","
			    "\"group\":\"g\",\"status\":\"%s\"}}",
			    name, instance, status);
}

/* One whole round that sees these nodes; what Kubernetes shows is the same. */
static void round_of(const char *nodes, const char *health)
{
	static const char *const next[] = {"'groups'", "'nodes'", "'kube_nodes'",
					   "'kube_pods'", "'sum'"};
	const char *rows[] = {
		"[]", "[{\"name\":\"g\",\"observed\":{\"TargetCount\":2}}]", nodes,
		arena_printf(
			&a,
			"[{\"instance_id\":\"i-1\",\"kubernetes\":{\"health\":\"%s\"}}]",
			health),
		"[{\"instance_id\":\"i-1\",\"pods\":2,\"gpus\":4,\"efas\":0}]"};
	int gen = 0;

	for (size_t i = 0; i < 5; i++) {
		const char *who;

		at(250);
		who = turn();
		cr_assert_eq(sscanf(who, "%*s %d", &gen), 1, "%zu: %s", i, who);
		want(page(gen, next[i], rows[i]), "");
	}
	for (;;) {
		const char *who = turn();

		if (sscanf(who, "sum %d", &gen) != 1)
			break;
		page(gen, "null", "[]");
	}
}

/* A round with two instances, and with nodes of Kubernetes for i-1 and `other`. */
static void round_with(const char *one, const char *two, const char *other)
{
	const char *rows[] = {
		"[]",
		"[]",
		arena_printf(&a, "[%s,%s]", one, two),
		arena_printf(&a,
			     "[{\"instance_id\":\"i-1\",\"kubernetes\":{\"ready\":true}},"
			     "{\"instance_id\":\"%s\",\"kubernetes\":{\"ready\":true,"
			     "\"group\":\"g\"}}]",
			     other),
		"[]",
		"[]"};
	static const char *const next[] = {"'groups'",    "'nodes'", "'kube_nodes'",
					   "'kube_pods'", "'sum'",   "null"};
	int gen = 0;

	for (size_t i = 0; i < 7; i++) {
		const char *who;

		at(250);
		who = turn();
		if (sscanf(who, "%*s %d", &gen) != 1)
			break;
		want(page(gen, next[i < 5 ? i : 5], rows[i < 5 ? i : 5]), "");
	}
}

#define NODES                                                                            \
	"select string_agg(name || ' ' || (observed->>'status'), ', ' order by name) "   \
	"from catalog where kind = 'node'"

Test(sql_refresh, a_page_belongs_to_who_claimed_it_and_a_crash_costs_one_page)
{
	want(turn(), "eks 1");
	want(turn(), ""); /* it is at work */
	want(page(1, "'groups'", "[]"), "");
	/* Asked again, since nobody had told how it ended: the same. */
	want(page(1, "'groups'", "[]"), "");
	want(turn(), "wait"); /* five calls a second and no more */
	at(200);
	want(turn(), "groups 2");
	at(61 * 1000); /* its worker has died */
	want(turn(), "groups 3");
	want(page(2, "'nodes'", "[]"), "!IS001");
	want(page(3, "'nodes'", "[]"), "");
	at(200);
	want(turn(), "nodes 4");
	session_do(x, "select refresh_settle('{\"cluster\": \"demo\", \"gen\": 4, "
		      "\"error\": \"it is busy\", \"due_ms\": 5000}')");
	at(200);
	want(turn(), "wait");
	at(5000);
	want(turn(), "nodes 5"); /* the same page */
	want(session_do(x, "select attempt || ' ' || error from refresh"),
	     "1 it is busy");
}

Test(sql_refresh, a_round_begins_in_its_turn_while_somebody_looks_and_when_wanted)
{
	round_of("[]", "Schedulable");
	want(turn(), "");
	at(61 * 1000);
	want(turn(), ""); /* nobody looks */
	session_do(x, "select refresh_look('demo')");
	cr_expect(str_starts(turn(), "eks "));
	session_do(x, "update refresh set phase = 'idle', claimed_until = null, "
		      "finished_at = j_now()");
	at(1000);
	want(turn(), "");
	session_do(x, "select refresh_want('demo')");
	cr_expect(str_starts(turn(), "eks "));
	/* After an error in its turn only: what is broken is not hammered. */
	session_do(x, "update refresh set phase = 'idle', claimed_until = null, "
		      "error = 'denied', due_at = j_after(j_now(), 60000)");
	at(1000);
	session_do(x, "select refresh_want('demo')");
	want(turn(), "");
	at(60 * 1000);
	cr_expect(str_starts(turn(), "eks "));
}

Test(sql_refresh, what_has_changed_is_written_once_and_told_once_a_page)
{
	const char *two = arena_printf(&a, "[%s,%s]", node("l1", "i-1", "Running"),
				       node("l2", "i-2", "Running"));

	round_of(two, "Schedulable");
	want(session_do(x, NODES), "l1 Running, l2 Running");
	want(session_do(x, "select observed->'use' from catalog where name = 'l1'"),
	     "{\"efas\": 0, \"gpus\": 4, \"pods\": 2}");
	want(session_do(x, "select count(*) from node_change"), "0");
	at(61 * 1000);
	session_do(x, "select refresh_want('demo')");
	session_do(x, "listen instantstart_catalog");
	round_of(two, "UnschedulablePendingReboot");
	want(session_do(x, "select string_agg(member || ' ' || was || ' ' || now, ', ') "
			   "from node_change"),
	     "health Schedulable UnschedulablePendingReboot");
	want(session_do(x, "select observed#>>'{kubernetes,health}' from catalog "
			   "where name = 'l1'"),
	     "UnschedulablePendingReboot");
	/* An unchanged row has been seen all the same. */
	want(session_do(x,
			"select observed_at > updated_at from catalog where name = 'l2'"),
	     "t");
	/* Another instance has nothing of the one before. */
	at(61 * 1000);
	session_do(x, "select refresh_want('demo')");
	round_of(arena_printf(&a, "[%s,%s]", node("l1", "i-9", "Pending"),
			      node("l2", "i-2", "Running")),
		 "Schedulable");
	want(session_do(x,
			"select observed ? 'kubernetes' or observed ? 'use' from catalog "
			"where name = 'l1'"),
	     "f");
	want(session_do(x, "select was || ' ' || now from node_change "
			   "where member = 'instance'"),
	     "i-1 i-9");
}

Test(sql_refresh, gone_is_what_two_whole_rounds_have_not_seen)
{
	const char *one = arena_printf(&a, "[%s]", node("l1", "i-1", "Running"));

	round_of(arena_printf(&a, "[%s,%s]", node("l1", "i-1", "Running"),
			      node("l2", "i-2", "Running")),
		 "Schedulable");
	at(61 * 1000);
	session_do(x, "select refresh_want('demo')");
	round_of(one, "Schedulable");
	want(session_do(x, NODES), "l1 Running, l2 Running");
	want(session_do(x, "select node_json(c, r)->>'missing' from catalog c, refresh r "
			   "where c.name = 'l2'"),
	     "true");
	at(61 * 1000);
	session_do(x, "select refresh_want('demo')");
	round_of(one, "Schedulable");
	want(session_do(x, NODES), "l1 Running");
	want(session_do(x, "select nodes from refresh"), "1");
	/* A cluster that is forgotten leaves nothing. */
	session_do(x, "select cluster_drop('demo')");
	want(turn(), "");
	want(session_do(x, "select count(*) from refresh"), "0");
}

/* A round that is given up at its first page. */
static void round_given_up(void)
{
	int gen = 0;

	at(250);
	cr_assert_eq(sscanf(turn(), "eks %d", &gen), 1);
	session_do(x,
		   "select refresh_settle('{\"cluster\": \"demo\", \"gen\": %d, "
		   "\"error\": \"denied\", \"next\": \"idle\", \"due_ms\": 1000}')",
		   gen);
	at(1001);
}

#define SIDES                                                                            \
	"select nodes || ' ' || joined || ' ' || no_node || ' ' || no_instance from refresh"

/* Each side without the other is a row, with since when; numbers say which they count. */
Test(sql_refresh, both_sides_of_a_join_are_rows)
{
	const char *since;

	/* i-1 is both, i-2 no node, i-9 no instance. */
	round_with(node("a", "i-1", "Running"), node("b", "i-2", "Running"), "i-9");
	want(session_do(x, SIDES), "2 1 1 1");
	want(session_do(x, "select string_agg(name, ' ' order by name) from catalog "
			   "where kind = 'node'"),
	     "a b hyperpod-i-9");
	want(session_do(x, "select node_json(c, r)->>'status' from catalog c, refresh r "
			   "where c.name = 'hyperpod-i-9'"),
	     "NoInstance");
	since = arena_strdup(&a, session_do(x, "select observed->>'no_node_since' from "
					       "catalog where name = 'b'"));
	cr_expect_gt(strlen(since), 10);
	/* It stays since then; and the one that gets its instance is one row again. */
	at(3600000);
	session_do(x, "select refresh_want('demo')");
	round_with(node("b", "i-2", "Running"), node("c", "i-9", "Running"), "i-9");
	want(session_do(
		     x,
		     "select observed->>'no_node_since' from catalog where name = 'b'"),
	     since);
	want(session_do(x, "select count(*) from catalog where kind = 'node' "
			   "and observed->>'instance_id' = 'i-9'"),
	     "1");
	/* i-1 is listed no longer: what Kubernetes still has of it is said, too. */
	want(session_do(x, SIDES), "2 1 1 1");
	/* What the filter finds and what the row says are the same, for every row. */
	want(session_do(
		     x,
		     "select count(*) from catalog c, refresh r where c.kind = 'node' and "
		     "(cardinality(node_trouble(c.observed)) > 0) <> "
		     "(json_array_length(node_json(c, r)->'trouble') > 0)"),
	     "0");
	want(session_do(
		     x,
		     "select string_agg(name, ' ' order by name) from catalog "
		     "where kind = 'node' and cardinality(node_trouble(observed)) > 0"),
	     "a b");
	session_do(x, "select refresh_want('demo')");
	round_with(node("a", "i-1", "Running"), node("c", "i-9", "Running"), "i-9");
	want(session_do(x, "select observed ? 'no_instance_since' from catalog "
			   "where name = 'a'"),
	     "f");
}

/* A face that has looked at a node says so to the list; a fault is one everywhere. */
Test(sql_refresh, what_a_face_has_seen_is_in_the_list)
{
	round_of(arena_printf(&a, "[%s]", node("a", "i-1", "Running")), "Schedulable");
	want(session_do(x, "select node_trouble(observed) from catalog where name = 'a'"),
	     "{}");
	session_do(x, "select node_seen('demo', 'i-1', '{\"health\": \"Schedulable\", "
		      "\"ready\": true, \"faults\": [\"Xid 79\"]}', null)");
	want(session_do(x, "select node_trouble(observed) from catalog where name = 'a'"),
	     "{\"Xid 79\"}");
	want(session_do(x, "select observed->>'status' from catalog where name = 'a'"),
	     "Running");
	session_do(x, "select node_seen('demo', 'i-none', '{}', 'Failure')");
	want(session_do(x, "select count(*) from catalog where kind = 'node'"), "1");
}

/* A worker that promises and does not come is not there, idle or not. */
Test(sql_refresh, liveness_is_a_promise_that_is_kept)
{
#define ALIVE                                                                            \
	"select alive || ' ' || coalesce(last, 'never') from heartbeat_look('poller')"
	want(session_do(x, ALIVE), "0 never");
	session_do(x, "select heartbeat_put('poller', 'w1', 12000)");
	session_do(x, "select heartbeat_put('poller', 'w2', 120000)");
	session_do(x, "select heartbeat_put('watcher', 'w3', 12000)");
	cr_expect(str_starts(session_do(x, ALIVE), "2 "));
	at(13000);
	cr_expect(str_starts(session_do(x, ALIVE), "1 "));
	session_do(x, "select heartbeat_end('w2')");
	cr_expect(str_starts(session_do(x, ALIVE), "0 2026-"));
	session_do(x, "select heartbeat_put('poller', 'w1', 12000)");
	cr_expect(str_starts(session_do(x, ALIVE), "1 "));
	/* A clock that was set back by a day makes no promise of a day. */
	at(-86400000);
	cr_expect(str_starts(session_do(x, ALIVE), "0 "));
}

#define OBSERVED "select refresh_json('demo')->>'observed_at'"
#define MISSING                                                                          \
	"select string_agg(node_json(c, r)->>'missing', ',' order by c.name) "           \
	"from catalog c, refresh r where c.kind = 'node'"

Test(sql_refresh, a_round_that_was_given_up_makes_nothing_newer_and_nobody_missing)
{
	const char *one = arena_printf(&a, "[%s]", node("l1", "i-1", "Running"));
	const char *was;

	round_of(arena_printf(&a, "[%s,%s]", node("l1", "i-1", "Running"),
			      node("l2", "i-2", "Running")),
		 "Schedulable");
	was = session_do(x, OBSERVED);
	at(601 * 1000);
	round_given_up();
	round_given_up();
	want(session_do(x, OBSERVED), was);
	want(session_do(x, MISSING), "false,false");
	/* Gone all the same is what the whole round before and this one lack. */
	round_of(one, "Schedulable");
	want(session_do(x, MISSING), "false,true");
	at(601 * 1000);
	round_given_up();
	want(session_do(x, MISSING), "false,true");
	round_of(one, "Schedulable");
	want(session_do(x, NODES), "l1 Running");
}

/* Settles the next page, whatever it is. */
static void settle_next(const char *rest)
{
	int gen = 0;

	at(250);
	cr_assert_eq(sscanf(turn(), "%*s %d", &gen), 1);
	session_do(x, "select refresh_settle('{\"cluster\": \"demo\", \"gen\": %d, %s}')",
		   gen, rest);
}

#define KUBE_NODES "\"next\": \"kube_pods\", \"rows\": [{\"instance_id\": \"i-1\"}]"
#define PODS(rest)                                                                       \
	rest ", \"rows\": [{\"instance_id\": \"i-1\", \"pods\": 3, \"gpus\": 8, "        \
	     "\"efas\": 0}]"

Test(sql_refresh, pods_of_pages_that_expired_are_not_counted_twice)
{
	settle_next("\"next\": \"groups\"");
	settle_next("\"next\": \"nodes\"");
	settle_next("\"next\": \"kube_nodes\"");
	settle_next(KUBE_NODES);
	settle_next(PODS("\"next\": \"kube_pods\", \"cursor\": \"2\""));
	settle_next("\"error\": \"Expired\", \"next\": \"kube_nodes\", \"due_ms\": 1");
	settle_next(KUBE_NODES);
	settle_next(PODS("\"next\": \"sum\""));
	want(session_do(x, "select pods || ' ' || gpus from node_use"), "3 8");
}
