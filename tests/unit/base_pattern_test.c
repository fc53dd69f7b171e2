/* A caller's pattern and time, and names that are nearly right. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/nearest.h"
#include "core/base/pattern.h"

Test(pattern, finds)
{
	static const struct {
		const char *pattern, *text;
		enum pattern_result found;
	} rows[] = {
		{"NCCL|error", "an error", PATTERN_YES},
		{"NCCL|error", "fine", PATTERN_NO},
		{"^$", "", PATTERN_YES},
		{"rank=\\d+", "rank=12", PATTERN_YES},
		{"\\xff", "a\xff", PATTERN_YES},
		{"x", "", PATTERN_NO},
	};
	struct pattern_budget b = {.left_ns = INT64_C(60000000000)};
	struct arena a = {0};
	const char *why = NULL;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(pattern_match(pattern_compile(&a, rows[i].pattern, &why),
					   str_of(rows[i].text), &b),
			     rows[i].found, "%s", rows[i].pattern);
	cr_expect_null(pattern_compile(&a, "(", &why));
	cr_expect(why && *why);
	arena_free(&a);
}

/* Patterns that take years when nobody looks at the clock, over lines that a program
 * writes. What counts is that the budget ends them, and that it counts all lines. */
Test(pattern, ends_with_its_budget)
{
	static const char *const patterns[] = {
		"(a+)+$",           "(a|a)*$",
		"(a|aa)+$",         "(.*a){12}$",
		"(.*)*(.*)*(.*)*x", "(?:a?){40}a{40}$",
		"(a*)*b",           "([a-z]+)*\\d",
		"(x+x+)+y",         "^(([a-z])+.)+[A-Z]([a-z])+$",
		"(?=(a+))*\\1b",    "(a?(?R)?){9}b",
	};
	char line[4097];
	struct arena a = {0};

	memset(line, 'a', 4000);
	memset(line + 4000, 'x', 95);
	line[4095] = '!';
	line[4096] = '\0';
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct clock *clock = clock_system();
		struct pattern_budget b = {.left_ns = 100000000};
		const char *why = NULL;
		struct pattern *p = pattern_compile(&a, patterns[i], &why);
		int64_t began = clock->mono_ms(clock), took;
		int lines = 0;

		cr_assert(p, "%s: %s", patterns[i], why);
		while (lines < 1000 && pattern_match(p, (struct str){line, 4096}, &b) !=
					       PATTERN_TOO_COSTLY)
			lines++;
		took = clock->mono_ms(clock) - began;
		/* Generous, for a busy machine: without the clock it is minutes. */
		cr_expect_lt(took, 5000, "%s: %lld ms", patterns[i], (long long)took);
	}
	arena_free(&a);
}

Test(nearest, names)
{
	static const struct {
		const char *wanted, *best; /* of those below; NULL: none */
	} rows[] = {
		{"get_operation", "get_operation"},
		{"getOperation", "get_operation"},
		{"get_operations", "get_operation"},
		{"create_clusters", "create_cluster"},
		{"demo-clutser", "demo-cluster"},
		{"x", NULL},
		{"", NULL},
		{"launch_missiles", NULL},
	};
	static const char *const names[] = {"get_operation", "create_cluster",
					    "demo-cluster"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nearest n = {.wanted = rows[i].wanted};

		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
			nearest_offer(&n, names[j]);
		cr_expect(rows[i].best ? n.best && !strcmp(n.best, rows[i].best)
				       : !n.best,
			  "%s: %s", rows[i].wanted, n.best ? n.best : "none");
	}
}
