/* The journal's functions, two sessions interleaved statement by statement. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integration/sql_session.h"
#include "tests/lib/pg.h"

static struct arena a;
static struct session *x; /* goes first */
static struct session *y;

static void setup(void)
{
	const char *url;

	arena_init(&a, 0);
	url = pg_fresh(&a);
	x = session_open(&a, url);
	y = session_open(&a, url);
}

static void teardown(void)
{
	want(session_do(x,
			"select string_agg(op_id || why, '; ') from op_replay_check()"),
	     "");
	arena_free(&a);
}

TestSuite(sql_sessions, .init = setup, .fini = teardown, .timeout = 60);

static void send_submit(struct session *s, const char *id, const char *more)
{
	session_send(s, "select outcome || ' ' || id from op_submit(%s)",
		     submission(s->a, id, more));
}

static void send_order(struct session *s, const char *verb, const char *id,
		       const char *args)
{
	session_send(
		s,
		"select op_%s('{\"op\":\"%s\",\"principal\":\"ann\",\"face\":\"rest\","
		"\"args\":%s}')::json->>'state'",
		verb, id, args);
}

static void send_settle(struct session *s, const char *id, int gen, const char *more)
{
	session_send(
		s,
		"select op_settle(jsonb_build_object('op', '%s', 'gen', %d, 'step', 'one')"
		" || '%s')",
		id, gen, more);
}

#define WAIT "{\"verdict\":\"wait\",\"due_ms\":60000,\"waiting_for\":\"x\"}"
#define DONE "{\"verdict\":\"done\"}"
#define FAIL "{\"verdict\":\"fail\",\"error\":{\"code\":\"quota\"}}"
#define HOLD "{\"verdict\":\"hold\",\"question\":{\"question\":\"?\",\"choices\":[]}}"
#define SPAWN_AS                                                                         \
	"{\"verdict\":\"spawn\",\"spawn\":{\"id\":\"%sc\",\"kind\":\"part\","            \
	"\"title\":\"Part\",\"target\":\"demo\",\"input\":{},\"digest\":\"d\","          \
	"\"step\":\"one\",\"phase\":\"only\",\"phases\":[{\"name\":\"only\"}],"          \
	"\"deadline_s\":600}}"

/* The first submit is open; the second must wait for it and then see it. */
static void race(const char *first, const char *second, const char *end,
		 const char *expected)
{
	session_do(x, "truncate operation, effect, event, lock, idempotency, audit");
	session_do(x, "begin");
	want(submit(x, "op_1", first), "new op_1");
	send_submit(y, "op_2", second);
	cr_assert(session_blocked(y), "%s then %s did not wait", first, second);
	session_do(x, "%s", end);
	want(session_take(y), expected);
}

Test(sql_sessions, submits)
{
	const char *key = "{\"idem_key\":\"k\"}";
	const char *unlocked = "{\"locks\":[]}";

	race(key, key, "commit", "same op_1");
	race(key, key, "rollback", "new op_2");
	race(key, "{\"idem_key\":\"k\",\"digest\":\"d2\"}", "commit", "!IS422");
	race(NULL, NULL, "commit", "same op_1"); /* a double click */
	race(NULL, NULL, "rollback", "new op_2");
	race(unlocked, unlocked, "commit", "same op_1");
	/* Two users on one cluster: one wins, the other is told who. */
	race(NULL, "{\"principal\":\"bob\"}", "commit", "!IS409");
	cr_assert(strstr(y->detail, "op_1"));
	race(NULL, "{\"principal\":\"bob\"}", "rollback", "new op_2");
	/* Opposite orders of two keys: sorted, so no deadlock. */
	race("{\"locks\":[\"a\",\"b\"]}", "{\"digest\":\"2\",\"locks\":[\"b\",\"a\"]}",
	     "commit", "!IS409");
	race(NULL, "{\"principal\":\"bob\",\"queue\":true}", "commit", "new op_2");
	want(shown(x, "op_2", "{status}"), "queued");
	session_do(y, "set idle_in_transaction_session_timeout = 0");
}

Test(sql_sessions, claims)
{
	submit(x, "op_1", "{\"locks\":[]}");
	submit(x, "op_2", "{\"locks\":[],\"digest\":\"2\"}");
	session_do(x, "begin");
	want(claim(x), "op_1 1 one");
	/* Not waited for: the other one is taken. */
	want(claim(y), "op_2 1 one");
	want(claim(y), "");
	session_do(x, "rollback");
	want(claim(y), "op_1 1 one");
}

Test(sql_sessions, settle_and_cancel)
{
	submit(x, "op_1", NULL);
	claim(x);
	/* Cancel during the settle: it waits, and the settled row is woken. */
	session_do(x, "begin");
	want(settle(x, "op_1", 1, WAIT), "live");
	send_order(y, "cancel", "op_1", "{}");
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "live");
	want(claim(x), "op_1 2 one");
	/* Settle during the cancel: it sees the wake flag. */
	session_do(x, "begin");
	want(order(x, "cancel", "op_1", "{\"args\":{\"undo\":true}}"), "live");
	send_settle(y, "op_1", 2, WAIT);
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "live");
	want(claim(x), "op_1 3 one");
	/* A cancel that finds the end it waited for. */
	session_do(x, "begin");
	want(settle(x, "op_1", 3, DONE), "succeeded");
	send_order(y, "cancel", "op_1", "{}");
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "!IS410");
}

Test(sql_sessions, pipeline_is_locked_from_the_root)
{
	submit(x, "op_1", NULL);
	claim(x);
	want(settle(x, "op_1", 1, arena_printf(&a, SPAWN_AS, "op_1")), "live");
	want(claim(x), "op_1c 1 one");
	/* The child fails while its parent is cancelled. */
	session_do(x, "begin");
	want(order(x, "cancel", "op_1", NULL), "live");
	send_settle(y, "op_1c", 1, FAIL);
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "failed");
	want(claim(x), "op_1 2 one");
	settle(x, "op_1", 2, FAIL);
	/* And the other way round, with a retry of the child against one of the parent.
	 */
	session_do(x, "begin");
	want(order(x, "retry", "op_1c", NULL), "live");
	send_order(y, "retry", "op_1", "{}");
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "!IS410");
	want(claim(x), "op_1c 2 one");
	session_do(x, "begin");
	want(settle(x, "op_1c", 2, HOLD), "held");
	send_order(y, "cancel", "op_1", "{}");
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "live");
	want(claim(x), "op_1c 3 one");
	want(claim(x), "");
}

Test(sql_sessions, answer_and_cancel)
{
	submit(x, "op_1", NULL);
	claim(x);
	settle(x, "op_1", 1, HOLD);
	session_do(x, "begin");
	want(order(x, "answer", "op_1", "{\"args\":{\"choice\":\"y\"}}"), "live");
	send_order(y, "cancel", "op_1", "{}");
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "live");
	want(session_do(
		     x,
		     "select concat_ws(' ', c->>'cancel_requested', c#>>'{answer,choice}')"
		     " from op_claim('w', 60000) c"),
	     "true y");
	settle(x, "op_1", 2, HOLD);
	session_do(x, "begin");
	want(order(x, "cancel", "op_1", "{\"args\":{\"undo\":true}}"), "live");
	send_order(y, "answer", "op_1", "{\"choice\":\"y\"}");
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "!IS410");
	/* Two answers: one counts. */
	claim(x);
	settle(x, "op_1", 3, HOLD);
	session_do(x, "begin");
	order(x, "answer", "op_1", "{\"args\":{\"choice\":\"a\"}}");
	send_order(y, "answer", "op_1", "{\"choice\":\"b\"}");
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "!IS410");
	want(session_do(x, "select op_claim('w', 1)#>>'{answer,choice}'"), "a");
}

Test(sql_sessions, intent_against_a_new_claim)
{
	submit(x, "op_1", NULL);
	session_do(x, "set instantstart.now = '1800000000000'");
	session_do(y, "set instantstart.now = '1900000000000'"); /* far past the lease */
	session_do(x, "update operation set due_at = j_now()");
	want(claim(x), "op_1 1 one");
	session_do(y, "begin");
	want(claim(y), "op_1 2 one");
	session_send(x,
		     "select status from op_intent('op_1', 1, 'one', '', 'once', 'x:Y',"
		     " 'd', null)");
	cr_assert(session_blocked(x));
	session_do(y, "commit");
	want(session_take(x), "!IS001");
	want(session_do(x, "select count(*) from effect"), "0");
}

Test(sql_sessions, lock_released_while_queueing)
{
	/* The waiter has seen the holder; the holder's release must see the waiter. */
	submit(x, "op_1", NULL);
	claim(x);
	session_do(y, "begin");
	want(submit(y, "op_2", "{\"digest\":\"2\",\"queue\":true}"), "new op_2");
	send_settle(x, "op_1", 1, DONE);
	cr_assert(session_blocked(x));
	session_do(y, "commit");
	want(session_take(x), "succeeded");
	want(claim(x), "op_2 1 one");
	/* The release came first: the waiter finds the lock free. */
	session_do(x, "begin");
	want(settle(x, "op_2", 1, DONE), "succeeded");
	send_submit(y, "op_3", "{\"digest\":\"3\",\"queue\":true}");
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "new op_3");
	want(claim(x), "op_3 1 one");
}

Test(sql_sessions, one_who_was_skipped_finds_its_locks_itself)
{
	session_at(x, 1800000000000);
	session_at(y, 1800000000000);
	submit(x, "op_1", NULL);
	submit(x, "op_2", "{\"digest\":\"2\",\"queue\":true}");
	claim(x);
	/* An order that will be refused holds the row when its turn comes. */
	session_do(y, "begin; select from operation where id = 'op_2' for update");
	want(settle(x, "op_1", 1, DONE), "succeeded");
	session_do(y, "rollback");
	want(shown(x, "op_2", "{status}"), "queued");
	want(claim(x), "");
	session_at(x, 1800000005000);
	want(claim(x), "op_2 1 one");
	/* Not its turn: it looks again later, and is in nobody's way. */
	submit(x, "op_3", "{\"digest\":\"3\",\"queue\":true}");
	session_at(x, 1800000010000);
	submit(x, "op_4", "{\"digest\":\"4\",\"locks\":[]}");
	want(claim(x), "op_4 1 one");
	want(shown(x, "op_3", "{status}"), "queued");
}

Test(sql_sessions, two_releases_start_the_one_who_needs_both)
{
	submit(x, "op_1", "{\"locks\":[\"a\"]}");
	submit(x, "op_2", "{\"locks\":[\"b\"],\"digest\":\"2\"}");
	submit(x, "op_3", "{\"locks\":[\"a\",\"b\"],\"digest\":\"3\",\"queue\":true}");
	claim(x);
	claim(x);
	session_do(x, "begin");
	want(settle(x, "op_1", 1, DONE), "succeeded");
	want(claim(y), "");
	send_settle(y, "op_2", 1, DONE);
	cr_assert(session_blocked(y));
	session_do(x, "commit");
	want(session_take(y), "succeeded");
	want(claim(x), "op_3 1 one");
}

/* What a worker does with its claim ("op_1 7 one") in one of five ways. */
static void send_some_settle(struct session *s, const char *claimed, int how)
{
	char id[16];
	const char *more = WAIT;
	int gen;

	cr_assert_eq(sscanf(claimed, "%15s %d", id, &gen), 2);
	if (how == 0)
		more = DONE;
	else if (how == 1)
		more = FAIL;
	else if (how == 2)
		more = HOLD;
	else if (how == 3 && !strchr(id, 'c'))
		more = arena_printf(&a, SPAWN_AS, id);
	else if (how == 4)
		more = "{\"verdict\":\"cancelled\"}";
	send_settle(s, id, gen, more);
}

static void check_rest(void)
{
	/* Locks: of every open root, and of nobody else. */
	want(session_do(x,
			"select count(*) from lock l join operation o on o.id = l.op_id"
			" where o.ended_at is not null or o.queued = l.held"
			" or o.parent_id is not null"),
	     "0");
	want(session_do(x, "select count(*) from operation o where ended_at is null"
			   " and parent_id is null and (select count(*) from lock"
			   " where op_id = o.id) <> cardinality(lock_keys)"),
	     "0");
	/* Nobody sleeps for ever: who is never due waits for a child or a lock. */
	want(session_do(x, "select count(*) from operation o where state = 'live'"
			   " and due_at = 'infinity' and not queued and not exists"
			   " (select 1 from operation c where c.parent_id = o.id"
			   " and c.ended_at is null)"),
	     "0");
	/* A parent that has ended has no open child. */
	want(session_do(x, "select count(*) from operation p join operation c"
			   " on c.parent_id = p.id where p.ended_at is not null"
			   " and c.ended_at is null"),
	     "0");
}

/* Answers and finishes whatever is open: everything can be brought to an end. */
static void drain(long long now_ms)
{
	for (int i = 0; strcmp(session_do(x, "select count(*) from operation"
					     " where ended_at is null"),
			       "0") != 0;
	     i++) {
		const char *held = session_do(x, "select id from operation where"
						 " state = 'held' limit 1");
		const char *claimed;

		cr_assert_lt(i, 200, "something never ends");
		session_at(x, now_ms + i * 61000LL);
		if (held[0])
			want(order(x, "answer", held, NULL), "live");
		claimed = claim(x);
		if (claimed[0]) {
			send_some_settle(x, claimed, 0);
			session_take(x);
		}
	}
	want(session_do(x, "select count(*) from lock"), "0");
}

/* They share keys: some queue. */
static void submit_five(int batch)
{
	for (int i = 0; i < 5; i++)
		submit(x, arena_printf(&a, "op_%d%d", batch, i),
		       arena_printf(&a,
				    "{\"digest\":\"%d%d\",\"queue\":true,"
				    "\"locks\":[\"k%d\",\"l%d\"]}",
				    batch, i, i % 2, i % 3));
}

/* Many sessions at once, all verbs at random: no deadlock, nothing is lost. */
Test(sql_sessions, crowd)
{
	enum { SESSIONS = 8, ROUNDS = 240 };
	static const char *const verbs[] = {"cancel", "retry", "answer"};
	struct session *crowd[SESSIONS];
	unsigned seed = 7;

	for (int i = 0; i < SESSIONS; i++)
		crowd[i] = session_open(&a, x->url);
	for (int r = 0; r < ROUNDS; r++) {
		const char *claimed[SESSIONS];

		const long long now_ms = 1800000000000 + r * 610000LL;

		session_at(x, now_ms);
		if (r % 20 == 0) {
			drain(now_ms - 610000 * 15);
			submit_five(r / 20);
		}
		for (int i = 0; i < SESSIONS; i++) {
			session_at(crowd[i], now_ms); /* what waits is looked at now */
			claimed[i] = i % 2 ? claim(crowd[i]) : "";
		}
		for (int i = 0; i < SESSIONS; i++) {
			const char *op =
				arena_printf(&a, "op_%d%d%s", r / 20, rand_r(&seed) % 5,
					     rand_r(&seed) % 2 ? "" : "c");

			if (claimed[i][0])
				send_some_settle(crowd[i], claimed[i], rand_r(&seed) % 7);
			else
				send_order(crowd[i],
					   verbs[rand_r(&seed) % 10 ? 1 + i / 4 : 0], op,
					   "{\"choice\":\"y\"}");
		}
		for (int i = 0; i < SESSIONS; i++) {
			const char *got = session_take(crowd[i]);

			cr_assert(got[0] != '!' || strncmp(got, "!IS", 3) == 0, "%s: %s",
				  got, crowd[i]->message);
		}
		check_rest();
	}
	/* The crowd did meet: stages were spawned, orders were taken. */
	want(session_do(x, "select string_agg(w, ' ') from unnest(array['revived',"
			   " 'spawned', 'held', 'answered', 'cancel', 'unqueued']) w"
			   " where (select count(*) from event where what = w) < 5"),
	     "");
}
