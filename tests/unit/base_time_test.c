/* Clocks, times as text, randomness and ids. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/rng.h"

Test(clock, system_and_manual)
{
	struct clock *c = clock_system();
	struct clock_manual m;
	const int64_t wall = c->wall_ms(c), mono = c->mono_ms(c);

	cr_expect(wall > 1700000000000, "after 2023");
	cr_expect(c->mono_ms(c) >= mono);
	clock_manual_init(&m, 5000);
	cr_expect_eq(m.clock.wall_ms(&m.clock), 5000);
	const int64_t before = m.clock.mono_ms(&m.clock);
	clock_manual_advance(&m, 250);
	cr_expect_eq(m.clock.wall_ms(&m.clock), 5250);
	cr_expect_eq(m.clock.mono_ms(&m.clock) - before, 250);
	cr_expect_eq(m.clock.mono_ms(&m.clock) - before, 250, "stands still");
}

Test(clock, times_as_text)
{
	static const struct {
		int64_t ms;
		const char *text, *compact;
	} cases[] = {
		{0, "1970-01-01T00:00:00.000Z", "19700101T000000Z"},
		{-1, "1969-12-31T23:59:59.999Z", "19691231T235959Z"},
		{1709210096789, "2024-02-29T12:34:56.789Z", "20240229T123456Z"},
		{4102444799999, "2099-12-31T23:59:59.999Z", "20991231T235959Z"},
		{253402300799999, "9999-12-31T23:59:59.999Z", "99991231T235959Z"},
	};
	char text[TIME_TEXT];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t back = 0;

		cr_expect_str_eq(time_rfc3339(cases[i].ms, text), cases[i].text);
		cr_assert(time_parse_rfc3339(text, &back), "%s", text);
		cr_expect_eq(back, cases[i].ms, "%s", text);
		cr_expect_str_eq(time_compact(cases[i].ms, text), cases[i].compact);
	}
	/* A prime step walks through days, leap days and year ends. */
	for (int64_t ms = 0; ms < 4000000000000; ms += 86399977777) {
		int64_t back;

		cr_assert(time_parse_rfc3339(time_rfc3339(ms, text), &back));
		cr_assert_eq(back, ms, "%s", text);
	}
}

Test(clock, parses_rfc3339_and_http)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: refused */
	} rfc3339[] =
		{
			{"1970-01-01T00:00:01Z", 1000},
			{"1970-01-01t00:00:01z", 1000},
			{"1970-01-01 00:00:01Z", 1000},
			{"1970-01-01T00:00:01.5Z", 1500},
			{"1970-01-01T00:00:01.123456789Z", 1123},
			{"1970-01-01T02:00:01+02:00", 1000},
			{"1969-12-31T18:30:01-05:30", 1000},
			{"2000-02-29T00:00:00Z", 951782400000},
			{"2016-12-31T23:59:60Z", 1483228800000}, /* a leap second */
			{"2100-02-29T00:00:00Z", -1},
			{"2023-02-29T00:00:00Z", -1},
			{"2023-04-31T00:00:00Z", -1},
			{"2023-13-01T00:00:00Z", -1},
			{"2023-00-01T00:00:00Z", -1},
			{"2023-01-00T00:00:00Z", -1},
			{"2023-01-01T24:00:00Z", -1},
			{"2023-01-01T00:60:00Z", -1},
			{"2023-01-01T00:00:61Z", -1},
			{"2023-01-01T00:00:00", -1},
			{"2023-01-01T00:00:00.Z", -1},
			{"2023-01-01T00:00:00+0200", -1},
			{"2023-01-01T00:00:00+24:00", -1},
			{"2023-01-01T00:00:00Zx", -1},
			{"2023-1-1T00:00:00Z", -1},
			{"23-01-01T00:00:00Z", -1},
			{"2023-01-01", -1},
			{"", -1},
			{NULL, -1},
		},
	  http[] = {
		  {"Thu, 01 Jan 1970 00:00:01 GMT", 1000},
		  {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777000},
		  {"Sun, 06 Nov 1994 08:49:37 UTC", -1},
		  {"Sunday, 06-Nov-94 08:49:37 GMT", -1},
		  {"Sun, 6 Nov 1994 08:49:37 GMT", -1},
		  {"Sun, 31 Feb 1994 08:49:37 GMT", -1},
		  {"Sun, 06 Now 1994 08:49:37 GMT", -1},
		  {"Sun, 06 Nov 1994 08:49:37 GMT ", -1},
		  {"Sun, 06 Nov 1994", -1},
		  {"", -1},
		  {NULL, -1},
	  };

	for (size_t i = 0; i < sizeof(rfc3339) / sizeof(rfc3339[0]); i++) {
		int64_t ms = -1;

		cr_expect_eq(time_parse_rfc3339(rfc3339[i].text, &ms),
			     rfc3339[i].ms != -1, "%s", rfc3339[i].text);
		cr_expect_eq(ms, rfc3339[i].ms, "%s", rfc3339[i].text);
	}
	for (size_t i = 0; i < sizeof(http) / sizeof(http[0]); i++) {
		int64_t ms = -1;

		cr_expect_eq(time_parse_http(http[i].text, &ms), http[i].ms != -1, "%s",
			     http[i].text);
		cr_expect_eq(ms, http[i].ms, "%s", http[i].text);
	}
}

Test(rng, seeded_replays_and_system_differs)
{
	struct rng_seeded one, two;
	struct rng *system = rng_system();
	unsigned seen[7] = {0};
	unsigned char short_read[3] = {0};

	rng_seeded_init(&one, 0);
	/* SplitMix64's published first outputs for the seed 0. */
	cr_expect_eq(rng_u64(&one.rng), 0xE220A8397B1DCDAFu);
	cr_expect_eq(rng_u64(&one.rng), 0x6E789E6AA1B965F4u);
	rng_seeded_init(&one, 42);
	rng_seeded_init(&two, 42);
	for (int i = 0; i < 100; i++)
		cr_expect_eq(rng_u64(&one.rng), rng_u64(&two.rng));
	one.rng.fill(&one.rng, short_read, sizeof(short_read));
	for (int i = 0; i < 7000; i++) {
		const uint64_t v = rng_below(&one.rng, 7);

		cr_assert(v < 7);
		seen[v]++;
	}
	for (int i = 0; i < 7; i++)
		cr_expect(seen[i] > 800 && seen[i] < 1200, "%d: %u of 1000", i, seen[i]);
	cr_expect_eq(rng_below(&one.rng, 1), 0);
	cr_expect_neq(rng_u64(system), rng_u64(system));
}

Test(rng, ids_are_unique_and_sort_by_age)
{
	enum { N = 200, SIZE = 3 + ID_RANDOM + 1 };
	struct rng_seeded r;
	char ids[N][SIZE];

	rng_seeded_init(&r, 7);
	for (int i = 0; i < N; i++) {
		memset(ids[i], '!', SIZE);
		id_make(&r.rng, 1700000000000 + i, "op_", ids[i], SIZE);
		cr_assert_eq(strlen(ids[i]), SIZE - 1);
		cr_expect_eq(strncmp(ids[i], "op_", 3), 0);
		cr_expect_eq(strspn(ids[i] + 3, "0123456789abcdefghjkmnpqrstvwxyz"),
			     ID_RANDOM, "%s", ids[i]);
		if (i > 0)
			cr_expect_lt(strcmp(ids[i - 1], ids[i]), 0);
	}
	/* The same moment: still different. */
	id_make(&r.rng, 1700000000000, "op_", ids[1], SIZE);
	cr_expect_eq(strncmp(ids[0], ids[1], 13), 0);
	cr_expect_str_neq(ids[0], ids[1]);
	/* 2^48 - 1 ms is the last moment that fits: all ones but the two top bits. */
	id_make(&r.rng, 0xFFFFFFFFFFFF, "", ids[0], SIZE);
	cr_expect_eq(strncmp(ids[0], "7zzzzzzzzz", 10), 0, "%s", ids[0]);
}
