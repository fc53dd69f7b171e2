/*
 * Nobody looks for hours: no poller runs, or the database is down. Whatever an operation
 * was due for, it has afterwards the time that it had before, and so has what waits for
 * it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integration/sql_session.h"
#include "tests/lib/pg.h"

static const long long T0 = 1800000000000, HOUR = 3600 * 1000;

static struct arena a;
static struct session *s;
static long long now;

static void setup(void)
{
	arena_init(&a, 0);
	s = session_open(&a, pg_fresh(&a));
}

static void teardown(void)
{
	arena_free(&a);
}

TestSuite(sql_gap, .init = setup, .fini = teardown, .timeout = 60);

static void pass(long long ms)
{
	now += ms;
	session_at(s, now);
}

static void settled(const char *id, long long gen, const char *how)
{
	pass(2000);
	cr_assert_neq(settle(s, id, gen, how)[0], '!', "%s: %s", how, s->detail);
}

#define ADVANCE                                                                          \
	"{\"verdict\":\"advance\",\"next\":{\"step\":\"two\",\"phase\":\"first\"}}"
#define FAIL "{\"verdict\":\"fail\",\"error\":{\"code\":\"quota\"}}"

/* Five minutes into its first step. */
static void begin(void)
{
	submit(s, "op_1", NULL);
	want(claim(s), "op_1 1 one");
	settled("op_1", 1, "{\"verdict\":\"wait\",\"due_ms\":298000}");
	pass(298000);
	want(claim(s), "op_1 2 one");
}

static void is_new(void)
{
	submit(s, "op_1", NULL);
}

static void waits(void)
{
	begin();
	settled("op_1", 2, "{\"verdict\":\"wait\",\"due_ms\":60000}");
}

static void backs_off(void)
{
	begin();
	settled("op_1", 2, "{\"verdict\":\"retry\",\"due_ms\":5000,\"error\":{}}");
}

static void has_advanced(void)
{
	begin();
	settled("op_1", 2, ADVANCE);
}

/* What nobody looked at has no poller that could have lost it: the lease is over. */
static void lost_its_poller(void)
{
	begin();
}

static void is_retried(void)
{
	begin();
	settled("op_1", 2, FAIL);
	pass(HOUR);
	want(order(s, "retry", "op_1", NULL), "live");
}

static void is_answered(void)
{
	begin();
	settled("op_1", 2,
		"{\"verdict\":\"hold\",\"question\":{\"question\":\"Did it?\","
		"\"choices\":[{\"id\":\"yes\"}]}}");
	pass(HOUR);
	want(order(s, "answer", "op_1", "{\"args\":{\"choice\":\"yes\"}}"), "live");
}

static void is_cancelled(void)
{
	begin();
	settled("op_1", 2, "{\"verdict\":\"wait\",\"due_ms\":600000}");
	pass(1000);
	want(order(s, "cancel", "op_1", NULL), "live");
}

static void has_its_turn(void)
{
	submit(s, "op_0", "{\"digest\":\"d0\"}");
	want(claim(s), "op_0 1 one");
	submit(s, "op_1", "{\"queue\":true}");
	settled("op_0", 1, "{\"verdict\":\"done\"}");
}

static void begins_a_stage(void)
{
	begin();
	settled("op_1", 2,
		"{\"verdict\":\"spawn\",\"spawn\":{\"id\":\"op_2\",\"kind\":\"part\","
		"\"title\":\"Part\",\"target\":\"demo\",\"input\":{},\"digest\":\"d\","
		"\"step\":\"p1\",\"phase\":\"only\",\"phases\":[{\"name\":\"only\","
		"\"title\":\"Only\"}],\"deadline_s\":600}}");
}

static void waits_in_a_stage(void)
{
	begins_a_stage();
	want(claim(s), "op_2 1 p1");
	settled("op_2", 1, "{\"verdict\":\"wait\",\"due_ms\":60000}");
}

static void ends_a_stage(void)
{
	begins_a_stage();
	want(claim(s), "op_2 1 p1");
	settled("op_2", 1, "{\"verdict\":\"done\"}");
}

/* Whoever is due, and how it came to be. */
static const struct due {
	const char *what;
	void (*make)(void);
	const char *who;
} dues[] = {
	{"new", is_new, "op_1"},
	{"waits", waits, "op_1"},
	{"backs off", backs_off, "op_1"},
	{"between two steps", has_advanced, "op_1"},
	{"its poller is gone", lost_its_poller, "op_1"},
	{"retried", is_retried, "op_1"},
	{"answered", is_answered, "op_1"},
	{"cancelled", is_cancelled, "op_1"},
	{"its turn has come", has_its_turn, "op_1"},
	{"a stage begins", begins_a_stage, "op_2"},
	{"a stage waits", waits_in_a_stage, "op_2"},
	{"a stage has ended", ends_a_stage, "op_1"},
};
enum { N_DUES = sizeof(dues) / sizeof(dues[0]) };

/* Milliseconds from a moment to the ends of both operations, and since the step began. */
static const char *left_from(const char *moment, const char *who)
{
	return session_do(
		s,
		"select string_agg(concat_ws(' ', o.id, j_ms(o.deadline_at) - m.ms,"
		" case when o.id = '%s' then m.ms - j_ms(o.step_since)"
		" - coalesce(o.blind_ms, 0) end), ', ' order by o.id)"
		" from operation o, (select j_ms(%s) ms from operation where id = '%s') m"
		" where o.id in ('op_1', '%s')",
		who, moment, who, who);
}

/* As left_from() says it, when a step that has not begun begins at once. */
static const char *left_when_due(const char *who)
{
	session_do(s,
		   "update operation set step_since = due_at where id = '%s' and"
		   " step_since is null",
		   who);
	return left_from("due_at", who);
}

static long long due_of(const char *who)
{
	return strtoll(
		session_do(s, "select j_ms(due_at) from operation where id = '%s'", who),
		NULL, 10);
}

static void begin_with(const struct due *d)
{
	pg_clear(s->url);
	now = T0;
	session_at(s, now);
	d->make();
	cr_assert_geq(due_of(d->who), now, "%s", d->what);
	now = due_of(d->who);
}

static void is_claimed(const struct due *d)
{
	cr_expect_str_eq(session_do(s, "select op_claim('w', 60000)->>'op_id'"), d->who,
			 "%s", d->what);
}

Test(sql_gap, what_was_left_is_left)
{
	for (int i = 0; i < N_DUES; i++) {
		const struct due *d = &dues[i];
		const char *left;

		begin_with(d);
		session_do(s, "begin");
		left = left_when_due(d->who);
		session_do(s, "rollback");
		/* Twice: the poller that has come dies as well. */
		for (int n = 0; n < 2; n++) {
			pass(6 * HOUR);
			is_claimed(d);
			cr_expect_str_eq(left_from("j_now()", d->who), left, "%s, %d",
					 d->what, n);
			left = left_from("due_at", d->who);
			now = due_of(d->who);
		}
		want(session_do(s,
				"select string_agg(data->>'blind_ms', ' ') from event"
				" where what = 'sees' and op_id = '%s'",
				d->who),
		     "21600000 21600000");
	}
}

/* After a day it counts again: everything ends. */
Test(sql_gap, a_day_at_the_most)
{
	for (int i = 0; i < N_DUES; i++) {
		const struct due *d = &dues[i];
		const char *left;

		begin_with(d);
		pass(3 * 24 * HOUR);
		session_do(s, "begin");
		session_do(s,
			   "update operation set due_at = j_now() - interval '1 day'"
			   " where id = '%s'",
			   d->who);
		session_do(s, "select op_claim('w', 60000)");
		left = left_from("j_now()", d->who);
		session_do(s, "rollback");
		is_claimed(d);
		cr_expect_str_eq(left_from("j_now()", d->who), left, "%s", d->what);
	}
}

/* A look that comes in time, or nearly, gives nothing. */
Test(sql_gap, a_moment_is_no_gap)
{
	for (int i = 0; i < N_DUES; i++) {
		const struct due *d = &dues[i];
		const char *ends;

		begin_with(d);
		ends = left_from("'epoch'::timestamptz", "op_1");
		pass(9000);
		is_claimed(d);
		cr_expect(ends[0] &&
				  strcmp(session_do(s, "select count(*) from event where"
						       " what = 'sees'"),
					 "0") == 0,
			  "%s", d->what);
		want(session_do(s, "select count(*) from operation where blind_ms > 0"),
		     "0");
	}
}
