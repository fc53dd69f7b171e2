/* Places before the slow pool: one caller cannot have all, and nobody waits in vain. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/line.h"

static const struct line_rule rule = {
	.workers = 4, .per_user = 6, .wait_ms = 8000, .deadline_ms = 8000};
static const struct line_rule plan = {
	.workers = 4, .per_user = 6, .wait_ms = 8000, .deadline_ms = 50000};

static const char *name_of(const char *who, int n, char *p, size_t size)
{
	snprintf(p, size, "%s-%d", who, n);
	return p;
}

static bool join_by(const struct line_rule *r, struct line *l, const char *who, int n,
		    int64_t now_ms, struct err *e)
{
	char request[32];

	return line_join(l, r, who, name_of(who, n, request, sizeof(request)), now_ms, e);
}

static bool join(struct line *l, const char *who, int n, int64_t now_ms, struct err *e)
{
	return join_by(&rule, l, who, n, now_ms, e);
}

static int64_t begin(struct line *l, const char *who, int n, int64_t now_ms)
{
	char request[32];

	return line_take(l, line_key(name_of(who, n, request, sizeof(request))), now_ms);
}

static void leave(struct line *l, const char *who, int n, int64_t took_ms)
{
	char request[32];

	line_leave(l, line_key(name_of(who, n, request, sizeof(request))), took_ms);
}

/* What the cloud takes for one, as the line has learnt it. */
static void learn(struct line *l, int64_t took_ms)
{
	for (int i = 0; i < 20; i++)
		line_leave(l, 1, took_ms);
}

Test(fcgi_line, beyond_his_places_a_caller_has_half_of_what_the_line_may_be)
{
	static struct line l;
	struct err e = {0};
	int n = 0, others = 0;

	/* Two seconds each: after the four at work, two a second are served. */
	learn(&l, 2000);
	while (n < 100 && join(&l, "a", n, 1000, &e))
		n++;
	cr_expect_eq(e.code, ERR_RATE_LIMITED, "%s", e.detail);
	cr_expect_eq(err_retry(&e), RETRY_BACKOFF);
	/* Waiting beats a refusal: more than his six. Nobody waits for more than half. */
	cr_expect_geq(n, 10, "%d", n);
	cr_expect_leq(n, 12, "%d", n);
	/* The others' half is free, for one who has few and for the next. */
	for (const char *who = "bc"; *who; who++)
		cr_expect(join(&l, (char[]){*who, 0}, others++, 1000, &e), "%s",
			  e.detail);
	leave(&l, "a", 3, 2000);
	leave(&l, "a", 4, 2000);
	leave(&l, "a", 5, 2000);
	cr_expect(join(&l, "a", n, 1000, &e), "%s", e.detail);
}

Test(fcgi_line, his_places_are_his_however_slow_the_cloud_is)
{
	static struct line l;
	struct err e = {0};

	learn(&l, 3900);
	for (int i = 0; i < 6; i++)
		cr_assert(join_by(&plan, &l, "a", i, 1000, &e), "%d: %s", i, e.detail);
	for (int i = 6; i < 9; i++)
		cr_assert(join_by(&plan, &l, "b", i, 1000, &e), "%d: %s", i, e.detail);
	cr_assert_not(join_by(&plan, &l, "a", 6, 1000, &e));
	cr_expect_eq(e.code, ERR_RATE_LIMITED);
	cr_assert(join_by(&plan, &l, "b", 9, 1000, &e),
		  "another one pays nothing for it");
	/* One whose client left before a worker took it ends by itself. */
	cr_assert_not(join_by(&plan, &l, "a", 7, 1000 + LINE_PLACE_MS - 1, &e));
	cr_assert(join_by(&plan, &l, "a", 7, 1000 + LINE_PLACE_MS, &e));
}

Test(fcgi_line, an_honest_script_is_served_whole)
{
	static struct line l;
	struct err e = {0};

	/* Thirty reads at once, a fifth of a second each: all within two seconds. */
	learn(&l, 200);
	for (int i = 0; i < 30; i++)
		cr_expect(join(&l, "script", i, 1000, &e), "%d: %s", i, e.detail);
	cr_expect_eq(line_length(&l, 1000), 30);
}

Test(fcgi_line, a_cloud_that_falls_silent_is_noticed_before_the_first_has_ended)
{
	static struct line l;
	struct err e = {0};

	learn(&l, 20);
	for (int i = 0; i < 20; i++)
		cr_assert(join(&l, "a", i, 1000, &e));
	for (int i = 0; i < 4; i++)
		cr_expect_eq(begin(&l, "a", i, 1500 + i), 1000, "when it arrived");
	cr_expect(join(&l, "a", 20, 1600, &e), "%s", e.detail);
	cr_expect_not(join(&l, "a", 21, 3000, &e),
		      "all are at work for more than a second");
	cr_expect_eq(e.code, ERR_RATE_LIMITED);
	cr_expect_not(join(&l, "b", 0, 5000, &e));
	cr_expect_eq(e.code, ERR_DEADLINE);
	/* A worker is free again: whoever is at work says nothing of it. */
	leave(&l, "a", 0, 20);
	cr_expect(join(&l, "b", 0, 5000, &e), "%s", e.detail);
	cr_expect_eq(begin(&l, "nobody", 1, 7000), 7000, "one without a place comes now");
}

Test(fcgi_line, nobody_waits_for_what_comes_too_late)
{
	static struct line l;
	struct err e = {0};
	char who[16];
	int n;

	/* The cloud hangs: each read takes its whole time, which runs while it waits.
	 * Whoever would have to wait had none left. */
	learn(&l, 8000);
	for (n = 0; n < 100; n++) {
		snprintf(who, sizeof(who), "u%d", n);
		if (!join(&l, who, n, 1000, &e))
			break;
	}
	cr_expect_eq(n, 4, "%d", n);
	cr_expect_eq(e.code, ERR_DEADLINE);
	cr_expect_eq(err_retry(&e), RETRY_BACKOFF);
	/* Plans have more time: as many wait as begin before anybody's patience ends. */
	for (; n < 100; n++) {
		snprintf(who, sizeof(who), "u%d", n);
		if (!join_by(&plan, &l, who, n, 1000, &e))
			break;
	}
	cr_expect_leq(n, 9, "%d", n);
	cr_expect_geq(n, 7, "%d", n);
	cr_expect_eq(e.code, ERR_DEADLINE);
	/* What was refused unserved is no sign that it answers again. */
	for (int i = 0; i < 20; i++)
		line_leave(&l, 1, LINE_NOT_SERVED);
	cr_expect_not(join_by(&plan, &l, "late", 0, 1000, &e));
	/* It answers again: the line is long and moves fast. */
	learn(&l, 20);
	for (; n < 100; n++) {
		snprintf(who, sizeof(who), "u%d", n);
		cr_assert(join(&l, who, n, 1000, &e), "%d: %s", n, e.detail);
	}
	/* However full: it refuses, it does not break. */
	for (; n < 1000; n++) {
		snprintf(who, sizeof(who), "u%d", n);
		if (!join(&l, who, n, 1000, &e))
			break;
	}
	cr_expect_leq(n, LINE_PLACES);
}
