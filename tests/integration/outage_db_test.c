/*
 * The database itself is stopped, in the middle of a step and for longer than its
 * deadline and its operation's: alone in its program, for it takes every connection.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/json/tree.h"
#include "core/op/journal.h"
#include "core/op/runner.h"
#include "gen/queries.h"
#include "tests/lib/pg.h"

enum {
	MINUTE_MS = 60 * 1000,
	MOMENT_MS = 10 * 1000,
	STEP_MIN = 20,
	BEFORE_MIN = 8,
	OUTAGE_MIN = 6 * 60,
	RETURNS_MS = 30 * 1000 /* by the real clock */
};

static struct arena a, work;
static struct db *db;
static const char *url;
static struct err e;
static struct clock_manual hand;
static struct rng_seeded rng;
static struct config cfg;
static bool has_come; /* what the step waits for */
static bool dies;     /* the database, at the next call */
static int noted;     /* calls of on_fail */
static int asked;     /* calls of the cloud */

static void exchange(struct runner *r, const struct exchange *x, const char *token,
		     struct arena *arena, struct answer *ret)
{
	(void)r;
	(void)token;
	asked++;
	if (dies)
		pg_stop();
	dies = false;
	*ret = (struct answer){.via = x->via,
			       .call = exchange_name(x, arena),
			       .ok = true,
			       .code = "",
			       .message = "",
			       .request_id = "",
			       .out = json_new_object(arena)};
}

static bool look(struct step_ctx *c, struct exchange *x)
{
	const struct kube_target t = {.endpoint = "test", .cluster_name = "test"};

	if (c->reads > 0)
		return false;
	exchange_kube(x, &t,
		      &(struct kube_request){.verb = KUBE_GET,
					     .api = "test/v1",
					     .plural = "things",
					     .name = "it"});
	return true;
}

static void wait_on(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (has_come)
		step_advance(c);
	else
		step_wait(c, 60, "it to come");
}

static void note_failure(struct step_ctx *c)
{
	noted++;
	step_goto(c, "after");
}

static const struct step steps[] = {
	{.name = "part",
	 .phase = "part",
	 .title = "One part of many",
	 .deadline_s = (int64_t)STEP_MIN * 60,
	 .observe = look,
	 .plan = wait_on,
	 .on_fail = note_failure},
	{.name = "after", .phase = "part", .title = "The next part"},
	{.name = NULL},
};
static const struct kind kind_parts = {
	.name = "parts", .title = "Parts", .steps = steps, .deadline_s = 60 * 60};
static const struct kind *const all[] = {&kind_parts, NULL};

#define must(expr)                                                                       \
	cr_assert((expr), "%s: %s %s", #expr, e.detail,                                  \
		  e.n_causes ? e.cause[0].message : "")

static bool tell_time(void)
{
	return DB(db, &a, &Q_clock_set, NULL, &e,
		  arena_printf(&a, "%lld", (long long)hand.wall));
}

/* One look of a poller; false: there is no database. */
static bool look_once(bool *ret_worked)
{
	const struct where where = {
		.account = "123456789012", .installation = "here", .region = "us-west-2"};
	struct runner r = {.db = db,
			   .cfg = &cfg,
			   .where = &where,
			   .clock = &hand.clock,
			   .rng = &rng.rng,
			   .kinds = all,
			   .worker = "w/1",
			   .exchange = exchange};
	const bool done = runner_tick(&r, &work, ret_worked, &e);

	arena_reset(&work);
	return done;
}

/* Pollers look every few seconds. */
static void live(int minutes)
{
	for (int i = 0; i < minutes * MINUTE_MS / MOMENT_MS; i++) {
		bool worked = true;

		clock_manual_advance(&hand, MOMENT_MS);
		must(tell_time());
		while (worked)
			must(look_once(&worked));
	}
}

static const char *of_operation(const char *what)
{
	const char *value = pg_sql(
		&a, url, "select (%s)::text from operation o where id = 'op_1'", what);

	return value ? value : "";
}

static void begin(void)
{
	const struct submission s = {.id = "op_1",
				     .kind = &kind_parts,
				     .target = "demo",
				     .input = json_new_object(&a),
				     .digest = "d",
				     .principal = "ann",
				     .face = "rest",
				     .capability = "test"};
	struct submitted ret;

	pg_clear(url);
	has_come = dies = false;
	noted = 0;
	must(tell_time());
	must(journal_submit(db, &a, &s, &ret, &e));
	live(BEFORE_MIN);
}

/* The pollers go on all the time and find no database. */
static void stop_for_hours(bool at_a_call)
{
	bool worked;
	int before;

	if (at_a_call) {
		dies = true;
		clock_manual_advance(&hand, MINUTE_MS + MOMENT_MS);
		must(tell_time());
		cr_expect_not(look_once(&worked), "a look whose database has gone");
		cr_assert_not(dies, "nothing was asked");
	} else {
		pg_stop();
	}
	before = asked;
	for (int i = 0; i < OUTAGE_MIN; i += 10) {
		clock_manual_advance(&hand, 10 * MINUTE_MS);
		cr_expect_not(look_once(&worked), "a look without a database");
		cr_expect_eq(e.code, ERR_UNAVAILABLE, "%s", e.detail);
	}
	cr_expect_eq(asked, before, "the cloud was asked without a claim");
	pg_start();
}

static void come_back(void)
{
	struct clock *clock = clock_system();
	const int64_t end_ms = clock->mono_ms(clock) + RETURNS_MS;

	while (!tell_time()) {
		cr_assert_eq(e.code, ERR_UNAVAILABLE, "%s", e.detail);
		cr_assert_lt(clock->mono_ms(clock), end_ms, "no connection comes back");
		db_wait_notify(db, &a, 20, -1);
	}
	live(1);
	cr_expect_eq(noted, 0, "on_fail has run for time in which nobody could look");
	cr_expect_str_eq(of_operation("state"), "live");
	/* Since when, and for how long. */
	cr_expect_str_eq(of_operation("select count(*) from event where op_id = o.id and "
				      "what = 'sees'"),
			 "1");
	cr_expect_str_eq(
		of_operation(
			"select (data->>'since')::timestamptz between o.created_at + "
			"interval '7 minutes' and o.created_at + interval '12 minutes' "
			"and (data->>'blind_ms')::bigint between 350 * 60000 and 365 * "
			"60000 from event where op_id = o.id and what = 'sees'"),
		"true", "%s",
		of_operation("select data from event where op_id = o.id and what = "
			     "'sees'"));
}

static void ends_well(bool at_a_call)
{
	begin();
	stop_for_hours(at_a_call);
	come_back();
	has_come = true;
	live(4);
	cr_expect_str_eq(of_operation("state"), "succeeded", "%s", of_operation("error"));
	cr_expect_eq(noted, 0);
}

/* What it had left it has still, and no more. */
static void has_what_was_left(void)
{
	begin();
	stop_for_hours(false);
	come_back();
	live(STEP_MIN - BEFORE_MIN - 5);
	cr_expect_eq(noted, 0, "its time was not over");
	live(6);
	cr_expect_eq(noted, 1, "its time is over");
}

Test(outage_db, time_without_a_database_is_nobodys, .timeout = 200)
{
	arena_init(&a, 0);
	arena_init(&work, 0);
	url = pg_fresh(&a);
	db = pg_open(&a, url);
	clock_manual_init(&hand, INT64_C(1800000000000));
	rng_seeded_init(&rng, 1);
	cfg.lease_ms = 60000;
	cfg.call_timeout_ms = 5000;
	cfg.visibility_ms = 30000;
	cfg.poll_scale_percent = 100;
	ends_well(false);
	ends_well(true);
	has_what_was_left();
	arena_free(&work);
	arena_free(&a);
}
