/* Places before the slow pool: one caller cannot have all, and nobody waits in vain. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/line.h"

static const struct line_rule rule = {.workers = 4, .per_user = 6, .deadline_ms = 8000};

static bool join(struct line *l, const char *who, int n, int64_t now_ms, struct err *e)
{
	char request[32];

	snprintf(request, sizeof(request), "%s-%d", who, n);
	return line_join(l, &rule, who, request, now_ms, e);
}

static void leave(struct line *l, const char *who, int n, int64_t took_ms)
{
	char request[32];

	snprintf(request, sizeof(request), "%s-%d", who, n);
	line_leave(l, line_key(request), took_ms);
}

Test(fcgi_line, one_caller_has_his_places_and_no_more)
{
	static struct line l;
	struct err e = {0};

	for (int i = 0; i < 6; i++)
		cr_assert(join(&l, "a", i, 1000, &e), "%s", e.detail);
	cr_assert_not(join(&l, "a", 6, 1000, &e));
	cr_expect_eq(e.code, ERR_RATE_LIMITED);
	cr_expect_eq(err_retry(&e), RETRY_BACKOFF);
	cr_assert(join(&l, "b", 0, 1000, &e), "another one pays nothing for it");
	leave(&l, "a", 3, 10);
	cr_assert(join(&l, "a", 6, 1000, &e));
	/* One whose client left before a worker took it ends by itself. */
	cr_assert_not(join(&l, "a", 7, 1000 + LINE_PLACE_MS - 1, &e));
	cr_assert(join(&l, "a", 7, 1000 + LINE_PLACE_MS, &e));
}

Test(fcgi_line, nobody_waits_for_what_comes_too_late)
{
	static struct line l;
	struct err e = {0};
	char who[16];
	int n;

	/* The cloud hangs: each takes its whole time. */
	for (int i = 0; i < 8; i++)
		line_leave(&l, 1, 8000);
	for (n = 0; n < 100; n++) {
		snprintf(who, sizeof(who), "u%d", n);
		if (!join(&l, who, n, 1000, &e))
			break;
	}
	/* Four at work, and as many behind them as are served within the time. */
	cr_expect_leq(n, 9, "%d", n);
	cr_expect_geq(n, 7, "%d", n);
	cr_expect_eq(e.code, ERR_DEADLINE);
	cr_expect_eq(err_retry(&e), RETRY_BACKOFF);
	/* It answers again: the line is long and moves fast. */
	for (int i = 0; i < 20; i++)
		line_leave(&l, 1, 20);
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
