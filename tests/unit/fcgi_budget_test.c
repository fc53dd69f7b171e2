/* What a request may cost its principal, and the ticket with which it is parked. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "core/live/park.h"
#include "fcgi/allowance.h"

Test(fcgi_budget, park_tickets)
{
	static const struct {
		const char *text;
		bool ok;
	} rows[] = {
		{"op_1 7 25 a1", true},
		{"op_1 0 0 a1", true},
		{"op_1 7 25", false},
		{"op_1 7 25 ", false},
		{"op_1 7 25 a1 b2", false},
		{"op_1 7 25 A.b", false},
		{"op_1 7 25 0123456789012345678901234567890123", false},
		{NULL, false},
		{"", false},
		{"op_1", false},
		{"op_1 7", false},
		{"op_1 7 -1 a1", false},
		{"op_1 x 25 a1", false},
		{"op_1,op_2 7 25 a1", false},
		{"op' or 1 7 25 a1", false},
		{"OP 7 25 a1", false},
		{"op_01234567890123456789012345678901234567890123456789 7 25 a1", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct park_ticket t;

		cr_expect_eq(park_parse(rows[i].text, &t), rows[i].ok, "%s",
			     rows[i].text ? rows[i].text : "NULL");
	}
}

/* The budget is the principal's, whatever worker takes the request. */
Test(fcgi_budget, a_principal_has_a_rate_of_its_own)
{
	static struct allowance b;
	int64_t wait_s = 0, now = 1000000;
	int taken = 0;

	/* 10 a second, 40 at once. */
	for (int i = 0; i < 100; i++)
		taken += allowance_take(&b, "pr_a", 1, 10, 40, now, &wait_s);
	cr_expect_eq(taken, 40);
	cr_expect_eq(wait_s, 1);
	/* Another is not touched by it; and many others share the table. */
	cr_expect(allowance_take(&b, "pr_b", 1, 10, 40, now, &wait_s));
	for (int i = 0; i < 5000; i++) {
		char id[16];

		snprintf(id, sizeof(id), "pr_%d", i);
		allowance_take(&b, id, 1, 10, 40, now, &wait_s);
	}
	cr_expect_not(allowance_take(&b, "pr_a", 1, 10, 40, now, &wait_s));
	now += 1000000;
	taken = 0;
	for (int i = 0; i < 100; i++)
		taken += allowance_take(&b, "pr_a", 1, 10, 40, now, &wait_s);
	cr_expect_eq(taken, 10);
	now += 60000000;
	taken = 0;
	for (int i = 0; i < 100; i++)
		taken += allowance_take(&b, "pr_a", 1, 10, 40, now, &wait_s);
	cr_expect_eq(taken, 40);
	/* A large body costs as much as many; one larger than the burst waits for all
	 * that is owed, and then goes. */
	now += 60000000;
	cr_expect(allowance_take(&b, "pr_a", 65, 10, 40, now, &wait_s));
	cr_expect_not(allowance_take(&b, "pr_a", 1, 10, 40, now, &wait_s));
	cr_expect_eq(wait_s, 3);
	/* To ask costs nothing, and says what taking would. */
	for (int i = 0; i < 100; i++) {
		cr_expect_not(allowance_has(&b, "pr_a", 1, 10, 40, now));
		cr_expect(allowance_has(&b, "pr_c", 65, 10, 40, now));
	}
	cr_expect(allowance_take(&b, "pr_c", 1, 10, 40, now, &wait_s));
	cr_expect(allowance_has(&b, "pr_c", 39, 10, 40, now));
	cr_expect_not(allowance_has(&b, "pr_c", 40, 10, 40, now));
}
