/* The journal's functions, one session, on a clock that is set by hand. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/integration/sql_session.h"
#include "tests/lib/pg.h"

#define NEXT2 "{\"verdict\":\"advance\",\"next\":{\"step\":\"two\",\"phase\":\"second\"}}"
#define DONE  "{\"verdict\":\"done\",\"result\":{\"ok\":true}}"
#define FAIL                                                                             \
	"{\"verdict\":\"fail\",\"error\":{\"code\":\"quota\",\"detail\":\"too small\","  \
	"\"retry\":\"human\",\"cause\":[]}}"
#define HOLD                                                                             \
	"{\"verdict\":\"hold\",\"question\":{\"question\":\"Did it?\",\"evidence\":{},"  \
	"\"choices\":[{\"id\":\"yes\",\"title\":\"Yes\",\"consequence\":\"-\"},"         \
	"{\"id\":\"no\",\"title\":\"No\",\"consequence\":\"-\"}]}}"
#define SPAWN                                                                            \
	"{\"verdict\":\"spawn\",\"spawn\":{\"id\":\"%s\",\"kind\":\"part\","             \
	"\"title\":\"Part\",\"target\":\"demo\",\"input\":{},\"digest\":\"d\","          \
	"\"step\":\"p1\",\"phase\":\"only\",\"phases\":[{\"name\":\"only\","             \
	"\"title\":\"Only\"}],\"deadline_s\":600}}"

static const long long T0 = 1800000000000;

static struct arena a;
static struct session *s;

static void setup(void)
{
	arena_init(&a, 0);
	s = session_open(&a, pg_fresh(&a));
	session_at(s, T0);
}

static void teardown(void)
{
	/* Every test's operations replay to what their rows say. */
	want(session_do(s, "select string_agg(op_id || ': ' || why, '; ')"
			   " from op_replay_check()"),
	     "");
	arena_free(&a);
}

TestSuite(sql_journal, .init = setup, .fini = teardown, .timeout = 60);

Test(sql_journal, life)
{
	want(submit(s, "op_1", NULL), "new op_1");
	want(shown(s, "op_1", "{status}"), "queued");
	want(shown(s, "op_1", "{phases,0,state}"), "running");
	want(shown(s, "op_1", "{next,tool}"), "get_operation");
	want(claim(s), "op_1 1 one");
	want(shown(s, "op_1", "{status}"), "running");
	want(claim(s), "");

	/* A wait: due later, the sentence is shown, no attempt is used. */
	want(settle(s, "op_1", 1,
		    "{\"verdict\":\"wait\",\"due_ms\":5000,"
		    "\"waiting_for\":\"3 of 4 nodes\",\"data\":{\"k\":1}}"),
	     "live");
	want(shown(s, "op_1", "{status}"), "waiting");
	want(shown(s, "op_1", "{waiting_for}"), "3 of 4 nodes");
	want(claim(s), "");
	session_at(s, T0 + 4999);
	want(claim(s), "");
	session_at(s, T0 + 5000);
	want(session_do(s, "select concat_ws(' ', c->>'gen', c->>'waits', c->>'attempt',"
			   " c->'data', c->>'now_ms', c->>'step_since_ms')"
			   " from op_claim('w', 60000) c"),
	     "2 1 0 {\"k\": 1} 1800000005000 1800000000000");

	/* A retry counts, an advance resets and moves the phase. */
	want(settle(s, "op_1", 2,
		    "{\"verdict\":\"retry\",\"due_ms\":0,"
		    "\"error\":{\"detail\":\"slow down\"}}"),
	     "live");
	want(shown(s, "op_1", "{attempt}"), "1");
	want(shown(s, "op_1", "{waiting_for}"), "another try: slow down");
	want(claim(s), "op_1 3 one");
	want(settle(s, "op_1", 3, NEXT2), "live");
	want(shown(s, "op_1", "{phases,0,state}"), "done");
	want(shown(s, "op_1", "{phases,1,state}"), "running");
	want(shown(s, "op_1", "{progress}"), "{\"done\": 1, \"total\": 2}");
	want(shown(s, "op_1", "{attempt}"), "0");
	want(claim(s), "op_1 4 two");
	want(settle(s, "op_1", 4, DONE), "succeeded");
	want(shown(s, "op_1", "{done}"), "true");
	want(shown(s, "op_1", "{result,ok}"), "true");
	want(shown(s, "op_1", "{ended_at}"), "2027-01-15T08:00:05.000Z");
	want(shown(s, "op_1", "{cancellable}"), "false");
	want(session_do(s, "select count(*) from lock"), "0");
	want(session_do(s, "select string_agg(what, ' ' order by seq) from event"),
	     "submitted wait retry step succeeded");
	want(order(s, "cancel", "op_1", NULL), "!IS410");
	want(order(s, "retry", "op_1", NULL), "!IS410");
	want(order(s, "answer", "op_1", NULL), "!IS410");
	want(order(s, "cancel", "op_none", NULL), "!IS404");
}

Test(sql_journal, fence_and_lease)
{
	const char *before;

	submit(s, "op_1", NULL);
	want(claim(s), "op_1 1 one");
	session_at(s, T0 + 59999);
	want(claim(s), "");
	session_at(s, T0 + 60000); /* the lease has passed */
	want(claim(s), "op_1 2 one");

	/* The first worker changes nothing any more. */
	before = session_do(s, "select md5(string_agg(t::text, '')) from operation t");
	want(settle(s, "op_1", 1, DONE), "!IS001");
	want(session_do(s, "select status from op_intent('op_1', 1, 'one', '', 'token',"
			   " 'x:Y', 'dg', null)"),
	     "!IS001");
	want(session_do(s, "select md5(string_agg(t::text, '')) from operation t"),
	     before);
	want(session_do(s, "select count(*) from effect"), "0");

	/* A settle that is sent twice, since nobody had told how it ended, takes effect
	 * once; one whose claim has passed to another is refused. */
	want(settle(s, "op_1", 2, NEXT2), "live");
	want(settle(s, "op_1", 2, NEXT2), "live");
	want(session_do(s, "select count(*) from event where what = 'step'"), "1");
}

static const char *intent(const char *class, const char *step, const char *digest,
			  int gen)
{
	return session_do(
		s,
		"select concat_ws(' ', status, epoch, issued_at_ms - %lld, digest,"
		" response) from op_intent('op_1', %d, '%s', 'i', '%s', 'x:Y', '%s',"
		" '{}')",
		T0, gen, step, class, digest);
}

#define EFFECT(outcome, epoch)                                                           \
	",\"effect\":{\"outcome\":\"" outcome "\",\"item\":\"i\",\"epoch\":" epoch       \
	",\"response\":{\"id\":7},\"request_id\":\"r\",\"call\":\"x:Y\"}}"
#define RETRY0 "{\"verdict\":\"retry\",\"due_ms\":0,\"error\":{\"detail\":\"e\"}"

/* One of several issues may be on its way yet when another is refused. */
Test(sql_journal, refused_repeat)
{
	char same[32];
	const char *token;

	snprintf(same, sizeof(same), "new 1 %lld d", -T0);
	submit(s, "op_1", NULL);
	claim(s);
	want(intent("token", "one", "d", 1), same);
	token = session_do(s, "select token from effect");
	want(settle(s, "op_1", 1, RETRY0 EFFECT("unknown", "1")), "live");
	claim(s);
	want(intent("token", "one", "d", 2), "issued 1 0 d {\"id\": 7}");
	want(settle(s, "op_1", 2, RETRY0 EFFECT("refused", "1")), "live");
	claim(s);
	want(intent("token", "one", "d", 3), same);
	want(session_do(s, "select string_agg(token, ' ') from effect"), token);
	want(session_do(s, "select outcome from effect"), "");

	/* What turns to another object has seen that this one needs no more. */
	want(session_do(s, "select status from op_intent('op_1', 3, 'one', 'j', 'named', "
			   "'x:Z', 'e', '{}')"),
	     "new");
	want(session_do(s, "select outcome from effect where item = 'i'"), "done");
}

Test(sql_journal, effects)
{
	char never[32];
	const char *token;

	snprintf(never, sizeof(never), "new 1 %lld d", -T0);
	submit(s, "op_1", NULL);
	claim(s);
	want(intent("token", "one", "d", 1), never);
	token = session_do(s, "select token from effect");
	cr_assert_leq(strlen(token), 64);
	cr_assert_eq(strspn(token, "abcdefghijklmnopqrstuvwxyz0123456789-"),
		     strlen(token));

	/* Issued, outcome unknown: same token, frozen digest, re-stamped. */
	want(settle(s, "op_1", 1, RETRY0 EFFECT("unknown", "1")), "live");
	session_at(s, T0 + 1000);
	want(session_do(s,
			"select concat_ws(' ', c->>'issued', c->>'issued_item',"
			" (c->>'issued_at_ms')::bigint - %lld) from op_claim('w', 1) c",
			T0),
	     "true i 0");
	want(intent("token", "one", "other", 2), "issued 1 0 d {\"id\": 7}");
	want(session_do(s, "select token from effect"), token);
	want(session_do(s, "select issues from effect"), "2");
	/* Asked again by the same claim, since nobody had told: the same answer, and
	 * nothing is counted or stamped anew. */
	session_at(s, T0 + 1500);
	want(intent("token", "one", "other", 2), "issued 1 0 d");
	want(session_do(s, "select issues from effect"), "2");
	want(session_do(s, "select j_ms(issued_at) from effect"),
	     arena_printf(s->a, "%lld", T0 + 1000));
	session_at(s, T0 + 1000);

	/* Refused: the next intent is a new epoch with another token. */
	want(settle(s, "op_1", 2, RETRY0 EFFECT("refused", "1")), "live");
	claim(s);
	want(session_do(s, "select count(*) from effect where outcome is null"), "0");
	cr_assert_str_eq(strrchr(intent("token", "one", "d3", 3), ' '), " d3");
	want(session_do(s, "select count(distinct token) from effect"), "2");
	want(session_do(s, "select max(epoch) from effect"), "2");

	/* Done: nothing is to be sent again, the response is kept. */
	want(settle(s, "op_1", 3, RETRY0 EFFECT("done", "2")), "live");
	claim(s);
	want(intent("token", "one", "x", 4), "done 2 1000 d3 {\"id\": 7}");
	want(session_do(s, "select issues from effect where epoch = 2"), "1");

	/* But for convergent ones, which were planned after a fresh read. */
	intent("convergent", "two", "c1", 4);
	want(settle(s, "op_1", 4, RETRY0 ",\"step\":\"two\"" EFFECT("done", "1")),
	     "live");
	claim(s);
	cr_assert(strstr(intent("convergent", "two", "c2", 5), "new 1"));
	want(session_do(s, "select digest || issues || coalesce(outcome, '?') from effect"
			   " where step = 'two'"),
	     "c22?");

	/* A settlement without its intent is a bug of the caller: all of it fails. */
	want(settle(s, "op_1", 5, RETRY0 EFFECT("done", "9")), "!P0001");
	want(settle(s, "op_1", 5, DONE), "succeeded");
}

Test(sql_journal, idempotency)
{
	want(submit(s, "op_1", "{\"idem_key\":\"k\"}"), "new op_1");
	want(submit(s, "op_2", "{\"idem_key\":\"k\"}"), "same op_1");
	want(submit(s, "op_2", "{\"idem_key\":\"k\",\"digest\":\"d2\"}"), "!IS422");
	cr_assert(strstr(s->detail, "op_1") && strstr(s->detail, "/idempotency_key"));
	/* A key belongs to one principal; the lock is still in the way. */
	want(submit(s, "op_2", "{\"idem_key\":\"k\",\"principal\":\"bob\"}"), "!IS409");
	cr_assert(strstr(s->detail, "op_1"), "%s", s->detail);
	/* No key: the same open operation; another digest is another request. */
	want(submit(s, "op_2", NULL), "same op_1");
	want(submit(s, "op_2", "{\"digest\":\"d2\"}"), "!IS409");
	want(submit(s, "op_2", "{\"digest\":\"d2\",\"locks\":[]}"), "new op_2");
	want(submit(s, "op_3", "{\"digest\":\"d2\",\"locks\":[]}"), "same op_2");
	/* The key is good for the operation in whatever state. */
	claim(s);
	want(settle(s, "op_1", 1, DONE), "succeeded");
	want(submit(s, "op_3", "{\"idem_key\":\"k\"}"), "same op_1");
	session_at(s, T0 + 30LL * 86400000);
	want(submit(s, "op_3", "{\"idem_key\":\"k\"}"), "same op_1");
	session_at(s, T0 + 30LL * 86400000 + 1);
	want(submit(s, "op_3", "{\"idem_key\":\"k\"}"), "new op_3");
	/* A refused request leaves no key behind. */
	want(submit(s, "op_4", "{\"idem_key\":\"q\",\"digest\":\"d4\"}"), "!IS409");
	want(session_do(s, "select count(*) from idempotency where key = 'q'"), "0");
	/* Orders take keys too. */
	want(order(s, "cancel", "op_3", "{\"idem_key\":\"c\"}"), "live");
	want(order(s, "cancel", "op_3", "{\"idem_key\":\"c\"}"), "live");
	want(order(s, "cancel", "op_3", "{\"idem_key\":\"c\",\"args\":{\"undo\":true}}"),
	     "!IS422");
	want(session_do(s, "select count(*) from event where what = 'cancel'"), "1");
	/* A cancelled twin is not what a new request asks for. */
	want(submit(s, "op_5", "{\"digest\":\"d1\",\"locks\":[]}"), "new op_5");
	want(submit(s, "op_6", "{\"digest\":\"d1\",\"locks\":[]}"), "same op_5");
	want(order(s, "cancel", "op_5", NULL), "live");
	want(submit(s, "op_6", "{\"digest\":\"d1\",\"locks\":[]}"), "new op_6");
	session_at(s, T0 + 90LL * 86400000);
	session_do(s, "select journal_sweep()");
	want(session_do(s, "select count(*) from idempotency"), "0");
}

Test(sql_journal, locks)
{
	want(submit(s, "op_1", "{\"locks\":[\"b\",\"a\",\"b\"]}"), "new op_1");
	want(session_do(s,
			"select string_agg(key, '' order by key) from lock where held"),
	     "ab");
	want(submit(s, "op_2", "{\"digest\":\"2\",\"locks\":[\"b\",\"c\"]}"), "!IS409");
	want(session_do(s, "select count(*) from lock where op_id = 'op_2'"), "0");
	/* Queued: holds nothing, is not claimed, says what it waits for. */
	session_at(s, T0 + 1);
	want(submit(s, "op_2",
		    "{\"digest\":\"2\",\"locks\":[\"b\",\"c\"],\"queue\":true}"),
	     "new op_2");
	want(shown(s, "op_2", "{status}"), "queued");
	cr_assert(strstr(shown(s, "op_2", "{waiting_for}"), "op_1"));
	session_at(s, T0 + 2);
	want(submit(s, "op_3", "{\"digest\":\"3\",\"locks\":[\"c\"],\"queue\":true}"),
	     "new op_3");
	/* Those who wait longer come first: no overtaking on the free key. */
	want(submit(s, "op_4", "{\"digest\":\"4\",\"locks\":[\"c\"]}"), "!IS409");
	want(claim(s), "op_1 1 one");
	want(claim(s), "");
	/* Held operations keep their locks. */
	want(settle(s, "op_1", 1, HOLD), "held");
	want(claim(s), "");
	want(order(s, "answer", "op_1", "{\"args\":{\"choice\":\"yes\"}}"), "live");
	claim(s);
	session_at(s, T0 + 5000);
	want(settle(s, "op_1", 2, FAIL), "failed");
	want(shown(s, "op_2", "{status}"), "queued");
	want(claim(s), "op_2 1 one");
	want(session_do(
		     s,
		     "select j_ms(deadline_at) - %lld from operation where id = 'op_2'",
		     T0 + 5000),
	     "3600000");
	want(claim(s), "");
	/* A retry takes the locks again, or says who has them. */
	want(order(s, "retry", "op_1", NULL), "!IS409");
	cr_assert(strstr(s->detail, "op_2"));
	/* A queued operation that is cancelled ends at once. */
	want(order(s, "cancel", "op_3", NULL), "cancelled");
	want(settle(s, "op_2", 1, DONE), "succeeded");
	want(order(s, "retry", "op_1", NULL), "live");
	want(session_do(s, "select string_agg(key || op_id, ' ' order by key) from lock"),
	     "aop_1 bop_1");
	want(claim(s), "op_1 3 one");
}

Test(sql_journal, held_and_answered)
{
	submit(s, "op_1", NULL);
	claim(s);
	want(settle(s, "op_1", 1, HOLD), "held");
	want(shown(s, "op_1", "{status}"), "needs-decision");
	want(shown(s, "op_1", "{question,choices,1,id}"), "no");
	want(shown(s, "op_1", "{next,tool}"), "answer_operation");
	want(shown(s, "op_1", "{phases,0,state}"), "held");
	session_at(s, T0 + 7000);
	want(claim(s), "");
	want(order(s, "answer", "op_1", "{\"args\":{\"choice\":\"maybe\"}}"), "!IS400");
	cr_assert(strstr(s->detail, "yes, no"), "%s", s->detail);
	want(order(s, "answer", "op_1", "{\"args\":{\"choice\":\"no\",\"note\":\"n\"}}"),
	     "live");
	want(order(s, "answer", "op_1", "{\"args\":{\"choice\":\"no\"}}"), "!IS410");
	want(session_do(s,
			"select concat_ws(' ', c#>>'{answer,choice}',"
			" (c->>'deadline_ms')::bigint - %lld,"
			" (c->>'step_since_ms')::bigint - %lld) from op_claim('w', 1) c",
			T0, T0),
	     "no 3607000 7000");
	/* It stays until the step has moved on. */
	want(settle(s, "op_1", 2, RETRY0 "}"), "live");
	want(session_do(s, "select op_claim('w', 60000)#>>'{answer,choice}'"), "no");
	want(settle(s, "op_1", 3, NEXT2), "live");
	want(session_do(s, "select coalesce(op_claim('w', 60000)->>'answer', '-')"), "-");
	want(settle(s, "op_1", 4, FAIL), "failed");
	want(shown(s, "op_1", "{error}"),
	     "{\"code\": \"quota\", \"step\": \"two\", \"cause\": [], \"phase\": \"second\","
	     " \"retry\": \"human\", \"detail\": \"too small\"}");
	want(shown(s, "op_1", "{next,tool}"), "retry_operation");
	want(shown(s, "op_1", "{phases,1,state}"), "failed");
}

Test(sql_journal, retry_resumes_where_the_step_says)
{
	submit(s, "op_1", NULL);
	claim(s);
	settle(s, "op_1", 1, NEXT2);
	claim(s);
	want(settle(s, "op_1", 2,
		    "{\"verdict\":\"fail\",\"error\":{\"code\":\"quota\"},"
		    "\"resume\":{\"step\":\"one\",\"phase\":\"first\"}}"),
	     "failed");
	session_at(s, T0 + 9000);
	want(order(s, "retry", "op_1", NULL), "live");
	want(shown(s, "op_1", "{phases,0,state}"), "running");
	want(shown(s, "op_1", "{error}"), "");
	want(session_do(s,
			"select concat_ws(' ', c->>'step', c->>'attempt',"
			" (c->>'deadline_ms')::bigint - %lld) from op_claim('w', 1) c",
			T0),
	     "one 0 3609000");
}

/* An earlier step would decide anew, and what was sent would be sent once more. */
Test(sql_journal, retry_stays_where_something_sent_is_not_known)
{
	static const char *const classes[] = {"token", "named", "tagged", "convergent",
					      "once"};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		pg_clear(s->url);
		session_at(s, T0);
		submit(s, "op_1", NULL);
		claim(s);
		settle(s, "op_1", 1, NEXT2);
		claim(s);
		intent(classes[i], "two", "d", 2);
		want(settle(s, "op_1", 2, RETRY0 EFFECT("unknown", "1")), "live");
		claim(s);
		want(settle(s, "op_1", 3,
			    "{\"verdict\":\"fail\",\"error\":{\"code\":\"cloud-denied\"},"
			    "\"resume\":{\"step\":\"one\",\"phase\":\"first\"}}"),
		     "failed");
		want(order(s, "retry", "op_1", NULL), "live");
		want(session_do(s, "select concat_ws(' ', c->>'step', c->>'issued')"
				   " from op_claim('w', 1) c"),
		     "two true");
	}
}

Test(sql_journal, wake)
{
	submit(s, "op_1", NULL);
	claim(s);
	/* Cancel of a claimed operation never touches its lease. */
	want(order(s, "cancel", "op_1", NULL), "live");
	want(claim(s), "");
	want(shown(s, "op_1", "{status}"), "cancelling");
	want(shown(s, "op_1", "{cancellable}"), "false");
	want(settle(s, "op_1", 1,
		    "{\"verdict\":\"wait\",\"due_ms\":60000,\"waiting_for\":\"x\"}"),
	     "live");
	want(session_do(s, "select concat_ws(' ', c->>'gen', c->>'cancel_requested')"
			   " from op_claim('w', 60000) c"),
	     "2 true");
	want(settle(s, "op_1", 2,
		    "{\"verdict\":\"cancelled\",\"error\":"
		    "{\"code\":\"cancelled\"}}"),
	     "cancelled");
	want(order(s, "cancel", "op_1", NULL), "cancelled");
	want(order(s, "retry", "op_1", NULL), "live");
	/* Unclaimed: due at once. */
	claim(s);
	settle(s, "op_1", 3,
	       "{\"verdict\":\"wait\",\"due_ms\":60000,\"waiting_for\":\"x\"}");
	want(claim(s), "");
	want(order(s, "cancel", "op_1", "{\"args\":{\"undo\":true}}"), "live");
	want(session_do(s, "select op_claim('w', 60000)->>'cancel_undo'"), "true");
	want(settle(s, "op_1", 4, "{\"verdict\":\"cancelled\"}"), "cancelled");
	want(order(s, "retry", "op_1", NULL), "!IS410"); /* what it made is undone */
	/* A question that the step did not have to ask any more. */
	submit(s, "op_9", NULL);
	want(claim(s), "op_9 1 one");
	want(order(s, "cancel", "op_9", NULL), "live");
	want(settle(s, "op_9", 1,
		    "{\"verdict\":\"hold\",\"question\":{\"question\":\"?\"}}"),
	     "live");
	want(claim(s), "op_9 2 one");
	want(settle(s, "op_9", 2, "{\"verdict\":\"cancelled\"}"), "cancelled");
}

static const char *spawn(const char *id, long long gen, const char *child)
{
	return settle(s, id, gen, arena_printf(&a, SPAWN, child));
}

/* Submits it on a target of its own, claims it and settles it. */
static void begin(const char *id, const char *verdict)
{
	want(submit(s, id, arena_printf(&a, "{\"target\":\"%s\",\"locks\":[]}", id)),
	     arena_printf(&a, "new %s", id));
	want(claim(s), arena_printf(&a, "%s 1 one", id));
	want(settle(s, id, 1, verdict), strstr(verdict, "hold") ? "held" : "live");
}

/* A person waits for a cancel and an answer, and the end of a stage asks no cloud: all
 * of those before whatever has been due for longer. */
Test(sql_journal, those_that_need_no_cloud_are_claimed_first)
{
	static const char wait[] =
		"{\"verdict\":\"wait\",\"due_ms\":1000,\"waiting_for\":\"x\"}";

	begin("op_1", wait);
	begin("op_2", wait);
	begin("op_3", HOLD);
	begin("op_4", arena_printf(&a, SPAWN, "op_4c"));
	want(claim(s), "op_4c 1 p1");
	begin("op_5", wait);
	begin("op_6", wait);
	session_at(s, T0 + 2000);
	want(order(s, "cancel", "op_5", NULL), "live");
	want(order(s, "answer", "op_3", "{\"args\":{\"choice\":\"yes\"}}"), "live");
	want(settle(s, "op_4c", 1, DONE), "succeeded");
	want(claim(s), "op_5 2 one");
	want(claim(s), "op_3 2 one");
	want(claim(s), "op_4 2 one");
	want(claim(s), "op_1 2 one");
	want(claim(s), "op_2 2 one");
	want(claim(s), "op_6 2 one");
	want(claim(s), "");
	/* Once it has been looked at, it waits in its turn. */
	want(settle(s, "op_5", 2, wait), "live");
	want(settle(s, "op_1", 2, RETRY0 "}"), "live");
	session_at(s, T0 + 4000);
	want(claim(s), "op_1 3 one");
	want(claim(s), "op_5 3 one");
}

/* Written by a clock that was ahead: later than any wait may be, so it is due. */
Test(sql_journal, a_clock_that_went_back_stalls_nothing)
{
	static const long long day = 24 * 3600 * 1000;

	session_at(s, T0 + day);
	begin("op_1", "{\"verdict\":\"wait\",\"due_ms\":60000,\"waiting_for\":\"x\"}");
	want(submit(s, "op_2", "{\"target\":\"op_2\",\"locks\":[]}"), "new op_2");
	want(claim(s), "op_2 1 one");
	session_at(s, T0);
	want(claim(s), "op_1 2 one");
	begin("op_3", "{\"verdict\":\"wait\",\"due_ms\":1140000,\"waiting_for\":\"x\"}");
	want(claim(s), "");
	want(settle(s, "op_1", 2, DONE), "succeeded");
	/* What is claimed keeps a whole lease: its holder may be at a call. */
	session_at(s, T0 + 59999);
	want(claim(s), "");
	session_at(s, T0 + 60000);
	want(claim(s), "op_2 2 one");
	want(settle(s, "op_2", 2, DONE), "succeeded");
	/* A legal wait is kept, however long. */
	session_at(s, T0 + 1139999);
	want(claim(s), "");
	session_at(s, T0 + 1140000);
	want(claim(s), "op_3 2 one");
}

Test(sql_journal, stages)
{
	submit(s, "op_1", NULL);
	claim(s);
	want(spawn("op_1", 1, "op_2"), "live");
	want(shown(s, "op_1", "{waiting_for}"), "stage Part");
	want(shown(s, "op_1", "{children,0,state}"), "live");
	want(shown(s, "op_2", "{parent}"), "op_1");
	want(shown(s, "op_2", "{actor,id}"), "ann");
	want(claim(s), "op_2 1 p1");
	/* The child's news is the parent's. */
	settle(s, "op_2", 1,
	       "{\"verdict\":\"wait\",\"due_ms\":0,\"waiting_for\":\"2 of 4\"}");
	want(shown(s, "op_1", "{waiting_for}"), "2 of 4");
	/* Held: shown in the parent, which stays live. */
	claim(s);
	want(settle(s, "op_2", 2, HOLD), "held");
	want(shown(s, "op_1", "{waiting_for}"), "a decision in stage Part");
	want(shown(s, "op_1", "{state}"), "live");
	want(shown(s, "op_1", "{children,0,state}"), "held");
	session_at(s, T0 + 5000);
	want(order(s, "answer", "op_2", "{\"args\":{\"choice\":\"yes\"}}"), "live");
	want(session_do(
		     s,
		     "select j_ms(deadline_at) - %lld from operation where id = 'op_1'",
		     T0),
	     "3605000");
	/* Failed: the parent is woken, sees it and fails at that phase. */
	want(claim(s), "op_2 3 p1");
	want(settle(s, "op_2", 3, FAIL), "failed");
	want(session_do(s, "select count(*) from lock"), "1");
	want(session_do(s, "select concat_ws(' ', c->>'op_id', c->>'child_id',"
			   " c->>'child_state', c#>>'{child_error,code}')"
			   " from op_claim('w', 60000) c"),
	     "op_1 op_2 failed quota");
	want(settle(s, "op_1", 2, FAIL), "failed");
	want(session_do(s, "select count(*) from lock"), "0");

	/* Retrying the parent resumes the child, then the parent. */
	want(order(s, "retry", "op_1", NULL), "live");
	want(shown(s, "op_2", "{state}"), "live");
	want(session_do(s, "select count(*) from lock"), "1");
	want(claim(s), "op_2 4 p1");
	want(claim(s), "");
	settle(s, "op_2", 4, FAIL);
	claim(s);
	settle(s, "op_1", 3, FAIL);
	/* Retrying the child does the same. */
	want(order(s, "retry", "op_2", NULL), "live");
	want(shown(s, "op_1", "{state}"), "live");
	want(shown(s, "op_1", "{children,0,state}"), "live");
	want(claim(s), "op_2 5 p1");
	want(claim(s), "");
	/* In the window before the parent has seen the failure, too. */
	settle(s, "op_2", 5, FAIL);
	want(claim(s), "op_1 4 one");
	want(order(s, "retry", "op_2", NULL), "live");
	want(settle(s, "op_1", 4, FAIL), "live");
	want(claim(s), "op_2 6 p1");
	want(claim(s), "");
	want(settle(s, "op_2", 6, DONE), "succeeded");
	want(session_do(s, "select op_claim('w', 60000)#>>'{child_result,ok}'"), "true");
	want(settle(s, "op_1", 5, NEXT2), "live");
	claim(s);
	want(settle(s, "op_1", 6, DONE), "succeeded");
	want(order(s, "retry", "op_2", NULL), "!IS410");
}

Test(sql_journal, cancelled_pipeline)
{
	submit(s, "op_1", NULL);
	claim(s);
	spawn("op_1", 1, "op_2");
	/* The live child first; the parent wakes when it has ended. */
	want(order(s, "cancel", "op_1", "{\"args\":{\"undo\":true}}"), "live");
	want(shown(s, "op_2", "{status}"), "cancelling");
	want(session_do(s, "select concat_ws(' ', c->>'op_id', c->>'cancel_requested',"
			   " c->>'cancel_undo') from op_claim('w', 60000) c"),
	     "op_2 true false");
	want(claim(s), "");
	want(settle(s, "op_2", 1, "{\"verdict\":\"cancelled\"}"), "cancelled");
	want(claim(s), "op_1 2 one");
	/* Undo is a stage of its own, the only one that starts after a cancel. */
	want(settle(s, "op_1", 2,
		    "{\"verdict\":\"advance\",\"next\":{\"step\":\"undo\","
		    "\"phase\":\"undo\",\"title\":\"Undo\"},\"resources\":["
		    "{\"type\":\"block\",\"id\":\"b-1\",\"state\":\"made\"},"
		    "{\"type\":\"block\",\"id\":\"b-2\",\"state\":\"gone\"}]}"),
	     "live");
	want(shown(s, "op_1", "{phases,2,title}"), "Undo");
	claim(s);
	want(spawn("op_1", 3, "op_3"), "live");
	want(session_do(s, "select input->'owned' from operation where id = 'op_3'"),
	     "[{\"id\": \"b-1\", \"type\": \"block\"}]");
	want(order(s, "cancel", "op_1", NULL), "live"); /* undoing goes on */
	want(session_do(s, "select op_claim('w', 60000)->>'cancel_requested'"), "false");
	want(settle(s, "op_3", 1, FAIL), "failed");
	claim(s);
	want(settle(s, "op_1", 4, FAIL), "failed");
	want(order(s, "retry", "op_1", NULL), "live");
	want(claim(s), "op_3 2 p1");
	want(settle(s, "op_3", 2, DONE), "succeeded");
	want(session_do(s, "select op_claim('w', 60000)->>'cancel_requested'"), "true");
	want(settle(s, "op_1", 5, "{\"verdict\":\"cancelled\"}"), "cancelled");

	/* A cancel that comes while the parent spawns: no child. */
	session_at(s, T0 + 1);
	submit(s, "op_5", NULL);
	want(claim(s), "op_5 1 one");
	order(s, "cancel", "op_5", NULL);
	want(spawn("op_5", 1, "op_6"), "live");
	want(session_do(s, "select count(*) from operation where id = 'op_6'"), "0");
	want(claim(s), "op_5 2 one");
	settle(s, "op_5", 2, "{\"verdict\":\"cancelled\"}");

	/* A child that is cancelled by itself: its parent is told; retry revives both. */
	session_at(s, T0 + 2);
	submit(s, "op_7", NULL);
	claim(s);
	spawn("op_7", 1, "op_8");
	claim(s);
	settle(s, "op_8", 1, HOLD);
	want(order(s, "cancel", "op_8", NULL), "live");
	want(claim(s), "op_8 2 p1");
	settle(s, "op_8", 2, "{\"verdict\":\"cancelled\"}");
	want(session_do(s, "select op_claim('w', 60000)->>'child_state'"), "cancelled");
	settle(s, "op_7", 2, "{\"verdict\":\"cancelled\"}");
	want(order(s, "retry", "op_8", NULL), "live");
	want(shown(s, "op_7", "{status}"), "waiting");
	want(claim(s), "op_8 3 p1");
}

Test(sql_journal, lists)
{
	submit(s, "op_1", NULL);
	claim(s);
	want(settle(s, "op_1", 1,
		    "{\"verdict\":\"wait\",\"due_ms\":0,\"waiting_for\":\"x\",\"resources\":["
		    "{\"type\":\"vpc\",\"id\":\"v\",\"arn\":null,\"state\":\"made\"},"
		    "{\"type\":\"role\",\"id\":\"r\",\"arn\":\"arn:r\",\"state\":\"adopted\"}],"
		    "\"catalog\":[{\"kind\":\"cluster\",\"name\":\"demo\","
		    "\"desired\":{\"eks_name\":\"demo-eks\"},\"observed\":null},"
		    "{\"kind\":\"node\",\"name\":\"n1\",\"desired\":null,"
		    "\"observed\":{\"ready\":true}}],"
		    "\"events\":[{\"what\":\"note\",\"data\":{\"n\":1}}]}"),
	     "live");
	want(session_do(
		     s,
		     "select string_agg(type || state, ' ' order by seq) from resource"),
	     "vpcmade roleadopted");
	want(session_do(s, "select eks_name from cluster where name = 'demo'"),
	     "demo-eks");
	want(session_do(
		     s,
		     "select j_ms(observed_at) - %lld from catalog where kind = 'node'",
		     T0),
	     "0");
	claim(s);
	want(settle(s, "op_1", 2,
		    "{\"verdict\":\"done\",\"resources\":["
		    "{\"type\":\"vpc\",\"id\":\"v\",\"arn\":null,\"state\":\"gone\"},"
		    "{\"type\":\"vpc\",\"id\":\"v\",\"arn\":\"a\",\"state\":\"made\"}],"
		    "\"catalog\":[{\"kind\":\"node\",\"name\":\"n1\",\"desired\":null,"
		    "\"observed\":null},{\"kind\":\"cluster\",\"name\":\"demo\","
		    "\"desired\":null,\"observed\":{\"hyperpod_name\":\"hp\"}}]}"),
	     "succeeded");
	/* Made again: the newest, torn down first. */
	want(session_do(s, "select string_agg(type, ' ' order by seq desc) from resource"
			   " where state <> 'gone'"),
	     "vpc role");
	want(session_do(s, "select arn from resource where type = 'vpc'"), "a");
	want(session_do(s, "select count(*) from catalog"), "1");
	want(session_do(s, "select eks_name || hyperpod_name from cluster"),
	     "demo-ekshp");
}
