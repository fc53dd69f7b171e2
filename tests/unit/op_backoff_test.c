/* Curves of waiting, and the budget of calls. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "core/op/backoff.h"

enum { DRAWS = 2000 };

Test(backoff, retries_grow_within_their_curve)
{
	static const struct {
		enum errc why;
		int64_t base_ms, cap_ms;
	} cases[] = {
		{ERR_CLOUD_UNREACHABLE, 1000, 5 * 60 * 1000},
		{ERR_ROLE_NOT_READY, 1000, 5 * 60 * 1000},
		{ERR_CLOUD_THROTTLED, 5000, 10 * 60 * 1000},
	};
	struct rng_seeded rng;

	rng_seeded_init(&rng, 7);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t mean_before = 0;

		for (int attempt = 0; attempt < 12; attempt += 3) {
			int64_t sum = 0, least = INT64_MAX, most = 0;

			for (int n = 0; n < DRAWS; n++) {
				const int64_t ms =
					backoff_ms(&rng.rng, cases[i].why, attempt);

				sum += ms;
				least = ms < least ? ms : least;
				most = ms > most ? ms : most;
			}
			cr_assert_geq(least, cases[i].base_ms);
			cr_assert_leq(most, cases[i].cap_ms);
			cr_assert_gt(most, least, "no jitter");
			cr_assert_gt(sum / DRAWS, mean_before, "no growth at attempt %d",
				     attempt);
			mean_before = sum / DRAWS;
		}
	}
	/* A count that never ends does not overflow. */
	cr_assert_leq(backoff_ms(&rng.rng, ERR_INTERNAL, INT32_MAX), 5 * 60 * 1000);
}

Test(backoff, looks_grow_to_four_times_and_are_scaled)
{
	static const struct {
		int64_t interval_ms;
		int waits;
		int64_t scale, expected_ms;
	} cases[] = {
		{10000, 0, 100, 10000},   {10000, 1, 100, 15000}, {10000, 2, 100, 22500},
		{10000, 50, 100, 40000},  {10000, 0, 10, 1000},   {10000, 50, 1, 400},
		{10000, 0, 1000, 100000}, {0, 5, 100, 0},         {3, 0, 100, 3},
	};
	struct rng_seeded rng;

	rng_seeded_init(&rng, 3);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int n = 0; n < 200; n++) {
			const int64_t ms =
				backoff_look_ms(&rng.rng, cases[i].interval_ms,
						cases[i].waits, cases[i].scale);

			cr_assert_leq(ms, cases[i].expected_ms +
						  cases[i].expected_ms / 10 + 1);
			cr_assert_geq(ms, cases[i].expected_ms -
						  cases[i].expected_ms / 10 - 1);
		}
}

Test(backoff, transient_is_what_mends_itself)
{
	for (int c = ERR_NONE; c < ERR_COUNT_; c++) {
		const enum retry_word word = errc_info((enum errc)c)->retry;

		/* What only a person can mend is never repeated by itself. */
		if (word == RETRY_HUMAN || word == RETRY_NEVER)
			cr_assert_not(backoff_is_transient((enum errc)c), "%s",
				      errc_info((enum errc)c)->slug);
	}
	cr_assert(backoff_is_transient(ERR_CLOUD_THROTTLED));
	cr_assert(backoff_is_transient(ERR_CREDENTIALS));
	cr_assert_not(backoff_is_transient(ERR_CLOUD_CONFLICT));
}

/* Calls that the budget lets pass in so many seconds. */
static int pass(struct budget *b, const char *service, int64_t *now_ms, int seconds)
{
	const int64_t end = *now_ms + seconds * 1000;
	int n = 0;

	while (*now_ms < end) {
		const int64_t wait = budget_wait_ms(b, service, *now_ms);

		if (wait == 0) {
			budget_spend(b, service, *now_ms);
			n++;
		} else {
			*now_ms += wait;
		}
	}
	return n;
}

Test(backoff, budget_halves_when_throttled_and_recovers)
{
	struct budget b = {.n = 0};
	int64_t now = 1000;
	int full, throttled;

	pass(&b, "ec2", &now, 10); /* the burst */
	full = pass(&b, "ec2", &now, 10);
	budget_note(&b, "ec2", true, now);
	budget_note(&b, "ec2", true, now);
	throttled = pass(&b, "ec2", &now, 10);
	cr_assert_geq(full, 190);
	cr_assert_leq(throttled, full / 3);
	cr_assert_gt(throttled, 0);
	/* Another service pays nothing for it. */
	cr_assert_geq(pass(&b, "eks", &now, 10), full);
	for (int i = 0; i < 300; i++)
		budget_note(&b, "ec2", false, now);
	cr_assert_geq(pass(&b, "ec2", &now, 10), full - 5);
	/* However often it is throttled, a call passes in the end. */
	for (int i = 0; i < 100; i++)
		budget_note(&b, "ec2", true, now);
	cr_assert_gt(pass(&b, "ec2", &now, 10), 2);
	/* More services than there is room for: the eldest go, nobody pays for others. */
	for (int i = 0; i < 2 * BUDGET_SERVICES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "s%d", i);
		budget_spend(&b, name, now);
	}
	cr_assert_eq(b.n, BUDGET_SERVICES);
}

/* Silence opens, any answer closes; the intervals grow, patience grows back. */
Test(backoff, a_peer_that_hangs_is_left_alone)
{
	enum { FULL = 20000 };
	struct budget b = {.n = 0};
	int64_t now = 1000, held = 0;

	cr_assert_eq(budget_open_ms(&b, "eks", now), 0);
	cr_assert_eq(budget_patience_ms(&b, "eks", FULL, now), FULL);
	budget_heard(&b, "eks", true, now, 100);
	cr_assert_eq(budget_open_ms(&b, "eks", now), 15000);
	cr_assert_eq(budget_patience_ms(&b, "eks", FULL, now), 3000);
	cr_assert_eq(budget_open_ms(&b, "ec2", now), 0, "another peer pays nothing");
	now += 15000;
	cr_assert_eq(budget_open_ms(&b, "eks", now), 0, "one call passes");
	budget_heard(&b, "eks", true, now, 100);
	cr_assert_eq(budget_open_ms(&b, "eks", now), 30000);
	cr_assert_eq(budget_patience_ms(&b, "eks", FULL, now), 6000);
	budget_heard(&b, "eks", false, now, 100);
	cr_assert_eq(budget_open_ms(&b, "eks", now), 0);
	cr_assert_eq(budget_patience_ms(&b, "eks", FULL, now), FULL);
	/* An hour of silence, with twenty steps that want the peer all the time: what
	 * it costs this process. */
	for (const int64_t end = now + 3600000; now < end;) {
		const int64_t wait = budget_open_ms(&b, "eks", now);
		const int64_t patience = budget_patience_ms(&b, "eks", FULL, now);

		if (wait) {
			now += wait;
			continue;
		}
		now += patience;
		held += patience;
		budget_heard(&b, "eks", true, now, 100);
	}
	cr_assert_leq(held, 3600000 / 6, "%lld ms", (long long)held);
	/* Peers come and go: one that hangs is not forgotten by those that are called. */
	budget_heard(&b, "slow", true, now, 100);
	for (int i = 0; i < BUDGET_SERVICES - 1; i++) {
		char name[16];

		snprintf(name, sizeof(name), "c%d", i);
		budget_heard(&b, name, false, now + 1, 100);
	}
	cr_assert_gt(budget_open_ms(&b, "slow", now + 2), 0);
}
