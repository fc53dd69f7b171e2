/*
 * Time in which nothing could be seen is nobody's, and time that is over is the
 * operation's, not the part's that it was at: the runner on a real journal, its clock
 * and what it asks in the test's hand.
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
	STEP_S = 20 * 60,
	OUTAGE_MIN = 6 * 60
};

static struct arena a, work;
static struct db *db;
static const char *url;
static struct err e;
static struct clock_manual hand;
static struct rng_seeded rng;
static struct config cfg;
static int noted; /* calls of on_fail */

/* How the one who is asked fails to answer. */
static const struct outage {
	const char *what;
	enum errc errc;
	bool ambiguous; /* it broke off */
	bool nobody;    /* no poller, or no database: nobody asks */
} outages[] = {
	{"credentials that have expired", ERR_CREDENTIALS, false, false},
	{"no way to the API server", ERR_CLOUD_UNREACHABLE, false, false},
	{"answers that break off", ERR_CLOUD_UNREACHABLE, true, false},
	{"no poller and no database", ERR_NONE, false, true},
};
enum { N_OUTAGES = sizeof(outages) / sizeof(outages[0]) };
static const struct outage *out;

static void exchange(struct runner *r, const struct exchange *x, const char *token,
		     struct arena *arena, struct answer *ret)
{
	(void)r;
	(void)token;
	*ret = (struct answer){.via = x->via,
			       .call = exchange_name(x, arena),
			       .ok = !out,
			       .ambiguous = out && out->ambiguous,
			       .errc = out ? out->errc : ERR_NONE,
			       .code = out ? "Out" : "",
			       .message = out ? out->what : "",
			       .request_id = "",
			       .out = out ? NULL : json_new_object(arena)};
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
	step_wait(c, 60, "it to come");
}

static void note_failure(struct step_ctx *c)
{
	noted++;
	step_catalog(c, "dependency", "it", NULL, json_pack("{s:s}", "state", "failed"));
	step_goto(c, "after");
}

static const struct step steps[] = {
	{.name = "wait",
	 .phase = "wait",
	 .title = "Wait for it",
	 .deadline_s = STEP_S,
	 .observe = look,
	 .plan = wait_on},
	{.name = NULL},
};
static const struct step parts[] = {
	{.name = "part",
	 .phase = "part",
	 .title = "One part of many",
	 .deadline_s = STEP_S,
	 .observe = look,
	 .plan = wait_on,
	 .on_fail = note_failure},
	{.name = "after", .phase = "part", .title = "The next part"},
	{.name = NULL},
};
static const struct kind kind_wait = {
	.name = "wait", .title = "Wait", .steps = steps, .deadline_s = 60 * 60};
/* Its own time is over before that of its part. */
static const struct kind kind_parts = {
	.name = "parts", .title = "Parts", .steps = parts, .deadline_s = 10 * 60};
/* And the other way round. */
static const struct kind kind_long = {
	.name = "long", .title = "Parts", .steps = parts, .deadline_s = 60 * 60};
static const struct kind *const all[] = {&kind_wait, &kind_parts, &kind_long, NULL};

#define must(expr)                                                                       \
	cr_assert((expr), "%s: %s %s", #expr, e.detail,                                  \
		  e.n_causes ? e.cause[0].message : "")

static void setup(void)
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
	out = NULL;
	noted = 0;
}

static void teardown(void)
{
	arena_free(&work);
	arena_free(&a);
}

TestSuite(outage, .init = setup, .fini = teardown, .timeout = 60);

static void submit(const struct kind *k)
{
	const struct submission s = {.id = "op_1",
				     .kind = k,
				     .target = "demo",
				     .input = json_new_object(&a),
				     .digest = "d",
				     .principal = "ann",
				     .face = "rest",
				     .capability = "test"};
	struct submitted ret;

	must(DB(db, &a, &Q_clock_set, NULL, &e,
		arena_printf(&a, "%lld", (long long)hand.wall)));
	must(journal_submit(db, &a, &s, &ret, &e));
}

/* Pollers look every few seconds: a longer gap is one in which nobody could. */
static void live_a_moment(void)
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
	bool worked = true;

	clock_manual_advance(&hand, MOMENT_MS);
	must(DB(db, &a, &Q_clock_set, NULL, &e,
		arena_printf(&a, "%lld", (long long)hand.wall)));
	while (worked) {
		must(runner_tick(&r, &work, &worked, &e));
		arena_reset(&work);
	}
}

/* A minute of pollers; false: the operation has ended. */
static bool live_a_minute(void)
{
	for (int i = 0; i < MINUTE_MS / MOMENT_MS; i++)
		live_a_moment();
	return strcmp(pg_sql(&a, url, "select state from operation where id = 'op_1'"),
		      "live") == 0;
}

static json_t *operation(void)
{
	struct str text;
	int64_t version;
	json_t *o;

	must(journal_get(db, &a, "op_1", &text, &version, &e));
	o = json_parse(&a, text, &e);
	must(o);
	return o;
}

static const char *count_of(const char *what)
{
	return pg_sql(&a, url,
		      "select count(*)::text from event where op_id = 'op_1' and "
		      "what = '%s'",
		      what);
}

/* Six hours of it, in the middle of a step of twenty minutes and an operation of one
 * hour: both have afterwards what they had before. */
static void survive(const struct outage *kind)
{
	int minutes = 0;
	json_t *o;

	submit(&kind_wait);
	for (int i = 0; i < 8; i++)
		cr_assert(live_a_minute(), "%s: it ends before", kind->what);
	out = kind;
	for (int i = 0; i < OUTAGE_MIN; i++) {
		if (kind->nobody)
			clock_manual_advance(&hand, MINUTE_MS);
		else
			cr_assert(live_a_minute(), "%s: ends after %d minutes: %s",
				  kind->what, i, json_text(&a, operation()));
	}
	o = operation();
	cr_expect(kind->nobody == !json_str_at(o, "blind_since"), "%s: since when? %s",
		  kind->what, json_text(&a, o));
	cr_expect(kind->nobody ||
			  strstr(json_str_or(o, "blind_since", ""), "2027-01-15T"),
		  "%s", json_str_or(o, "blind_since", ""));
	out = NULL;
	while (live_a_minute() && minutes < 60) {
		if (++minutes == 6) /* back-off has asked again by then */
			cr_expect_null(json_str_at(operation(), "blind_since"),
				       "%s: it sees, and says that it does not",
				       kind->what);
	}
	/* Twenty less eight, and what the looks between have taken. */
	cr_expect(minutes >= 9 && minutes <= 20, "%s: %d minutes were left", kind->what,
		  minutes);
	o = operation();
	cr_expect_str_eq(json_str_or(o, "error.code", ""), "step-timeout", "%s: %s",
			 kind->what, json_text(&a, o));
	if (!kind->nobody)
		cr_expect_str_eq(count_of("blind"), "1", "%s", kind->what);
}

Test(outage, credentials)
{
	survive(&outages[0]);
}
Test(outage, no_way)
{
	survive(&outages[1]);
}
Test(outage, broken_off)
{
	survive(&outages[2]);
}
Test(outage, nobody_asks)
{
	survive(&outages[3]);
}

/* --- time that is over ----------------------------------------------------------------
 */

static const char *marks(void)
{
	return pg_sql(&a, url,
		      "select count(*)::text from catalog where kind = 'dependency'");
}

Test(outage, an_overdue_operation_marks_no_part_and_does_not_go_on)
{
	json_t *o;
	int minutes = 0;

	submit(&kind_parts);
	while (live_a_minute() && minutes < 60)
		minutes++;
	o = operation();
	cr_expect_str_eq(json_str_or(o, "error.code", ""), "deadline", "%s",
			 json_text(&a, o));
	cr_expect_str_eq(json_str_or(o, "error.step", ""), "part");
	cr_expect(minutes >= 9 && minutes <= 12, "after %d minutes", minutes);
	cr_expect_eq(noted, 0, "on_fail has run");
	cr_expect_str_eq(marks(), "0");
}

Test(outage, a_part_whose_own_time_is_over_is_noted_and_the_next_begins)
{
	int minutes = 0;

	submit(&kind_long);
	while (live_a_minute() && minutes < 60)
		minutes++;
	cr_expect_eq(noted, 1);
	cr_expect_str_eq(marks(), "1");
	cr_expect_str_eq(json_str_or(operation(), "state", ""), "succeeded", "%s",
			 json_text(&a, operation()));
}
