/* The newest lines of a log, whatever bytes and however many there are. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/rng.h"
#include "core/domain/pod/log_tail.h"
#include "core/json/tree.h"

enum { ROUNDS = 80 };

static const char when[] = "2026-01-02T03:04:05.123456789Z";

/* A line of any bytes but the end of a line; some without a time, as the kubelet's. */
static struct str make_line(struct arena *a, struct rng *rng, int64_t number)
{
	const bool timed = rng_below(rng, 8) > 0;
	const uint64_t n =
		rng_below(rng, 20) == 0 ? rng_below(rng, 3000) : rng_below(rng, 60);
	struct buf b;

	buf_init(&b, a, 4096);
	if (timed)
		buf_printf(&b, "%s ", when);
	buf_printf(&b, "#%lld ", (long long)number);
	for (uint64_t i = 0; i < n; i++) {
		const char c = (char)rng_below(rng, 256);

		buf_addc(&b, c == '\n' ? ' ' : c);
	}
	return buf_str(&b);
}

static void add(struct log_tail *t, struct str line)
{
	struct str time, text;

	log_line_split(line, &time, &text);
	log_tail_add(t, time, text);
}

Test(log_tail, newest_lines_of_any_bytes_are_kept)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct rng_seeded seeded;
		struct rng *rng = &seeded.rng;
		struct arena a;
		struct log_tail t;
		int64_t n, max, bytes, lines;
		const char *text;
		json_t *out;
		char newest[32];
		bool cut;

		arena_init(&a, 0);
		rng_seeded_init(&seeded, seed);
		n = (int64_t)rng_below(rng, 1500);
		max = 1 + (int64_t)rng_below(rng, 300);
		bytes = 256 + (int64_t)rng_below(rng, 8000);
		log_tail_init(&t, &a, max, bytes, rng_below(rng, 2) == 0);
		for (int64_t i = 0; i < n; i++) {
			struct arena scrap;
			struct str line;

			arena_init(&scrap, 0);
			line = make_line(&scrap, rng, i);
			add(&t, line);
			arena_free(&scrap);
		}
		out = json_new_object(&a);
		cut = log_tail_give(&t, out);
		lines = json_int_or(out, "lines", -1);
		text = json_str_at(out, "text");
		cr_assert_not_null(text, "seed %llu", (unsigned long long)seed);
		cr_expect_leq(lines, max, "seed %llu", (unsigned long long)seed);
		cr_expect_eq(lines == 0, n == 0, "seed %llu", (unsigned long long)seed);
		cr_expect(cut || lines == n, "seed %llu", (unsigned long long)seed);
		/* The last line is the newest one, and none between is missing. */
		for (int64_t i = n - lines; i < n; i++) {
			snprintf(newest, sizeof(newest), "#%lld ", (long long)i);
			cr_expect_not_null(strstr(text, newest), "seed %llu: %s",
					   (unsigned long long)seed, newest);
		}
		arena_free(&a);
	}
}

Test(log_tail, the_newest_line_is_given_even_when_it_is_longer_than_all)
{
	char line[3000];
	struct log_tail t;
	struct arena a;
	json_t *out;

	arena_init(&a, 0);
	memset(line, 'x', sizeof(line));
	line[500] = '\xff';
	memcpy(line, "2026-01-02T03:04:05Z newest", 27);
	log_tail_init(&t, &a, 10, 256, false);
	add(&t, STR("2026-01-02T03:04:04Z older"));
	add(&t, (struct str){line, sizeof(line)});
	out = json_new_object(&a);
	cr_expect(log_tail_give(&t, out));
	cr_expect_eq(json_int_or(out, "lines", 0), 1);
	cr_expect(str_starts(json_str_at(out, "text"), "newestxxx"));
	cr_expect_eq(strlen(json_str_at(out, "text")), 256);
	cr_expect_str_eq(json_str_at(out, "last_time"), "2026-01-02T03:04:05Z");
	arena_free(&a);
}

/* A kubelet's own words have no time, and may have no blank. */
Test(log_tail, a_line_without_a_time_has_none)
{
	static const char *const lines[] = {"\xff\xfe", "\x80 text", "unable", "",
					    "2026-01-02T03:04:05\xffZ text"};
	struct log_tail t;
	struct arena a;
	json_t *out;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		arena_init(&a, 0);
		log_tail_init(&t, &a, 10, 256, true);
		add(&t, str_of(lines[i]));
		out = json_new_object(&a);
		cr_expect_not(log_tail_give(&t, out));
		cr_expect_eq(json_int_or(out, "lines", 0), 1);
		cr_expect_null(json_at(out, "last_time"), "%zu", i);
		cr_expect_not_null(json_str_at(out, "text"), "%zu", i);
		arena_free(&a);
	}
}
