/* Numbered feeds: rings that turn over, readers that come back or fall behind. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/json/tree.h"
#include "core/live/feed.h"
#include "core/live/pod.h"

struct lab {
	struct arena arena;
	struct feed feed;
	struct frame frame;
	int wakes;
};

static void wake(struct reader *r)
{
	(void)r;
}

static void open_lab(struct lab *lab, enum feed_kind kind, uint32_t bytes, uint32_t texts)
{
	memset(lab, 0, sizeof(*lab));
	arena_init(&lab->arena, 0);
	feed_init(&lab->feed, &lab->arena, kind, 1, bytes, texts, "E", 1);
	lab->feed.ready = true;
}

static void add_line(struct lab *lab, int64_t second, const char *text)
{
	char encoded[LINE_ENCODED_MAX], time[LINE_TIME_MAX];

	snprintf(time, sizeof(time), "2026-01-02T03:04:%02" PRId64 ".000000000Z",
		 second % 60);
	feed_add(&lab->feed, (struct str){encoded, line_encode(str_of(time), str_of(text),
							       false, encoded)});
}

static void add_lines(struct lab *lab, int from, int n)
{
	for (int i = from; i < from + n; i++) {
		char text[16];

		snprintf(text, sizeof(text), "l%d", i);
		add_line(lab, i, text);
	}
}

static struct reader reader_of(int64_t tail, const char *epoch, int64_t after)
{
	struct reader r = {.wake = wake, .tail = tail, .after = after};

	str_copy(r.epoch, sizeof(r.epoch), epoch);
	return r;
}

/* Everything there is for a reader, as "hello1 lines1-3 gap4? close". */
static const char *drain(struct lab *lab, struct reader *r)
{
	struct buf b;
	struct err e;
	enum feed_next next;

	buf_init(&b, &lab->arena, 1 << 20);
	while ((next = reader_take(r, &lab->frame)) == FEED_FRAME) {
		const json_t *f = json_parse(
			&lab->arena, (struct str){lab->frame.text, lab->frame.n}, &e);
		const char *type = json_str_or(f, "t", "?");
		const int64_t seq = json_int_or(f, "seq", -1);

		cr_assert(f, "%s in %.*s", e.detail, (int)lab->frame.n, lab->frame.text);
		cr_assert(lab->frame.n <= FEED_FRAME_MAX);
		buf_printf(&b, "%s%s%" PRId64, b.len ? " " : "", type, seq);
		if (streq(type, "lines"))
			buf_printf(&b, "-%" PRId64,
				   seq + (int64_t)json_len_at(f, "lines") - 1);
		if (streq(type, "gap"))
			buf_printf(&b, ":%" PRId64 ":%s", json_int_or(f, "missed", -1),
				   json_str_or(f, "why", "?"));
		if (streq(type, "state"))
			buf_printf(&b, ":%s", json_str_or(f, "state", "?"));
	}
	if (next == FEED_CLOSE)
		buf_printf(&b, "%sclose%d", b.len ? " " : "", lab->feed.close_code);
	return buf_cstr(&b);
}

#define GETS(lab, r, want)                                                               \
	do {                                                                             \
		const char *got_ = drain((lab), (r));                                    \
		cr_expect(streq(got_, (want)), "%d: got \"%s\", not \"%s\"", __LINE__,   \
			  got_, (want));                                                 \
	} while (0)

Test(feed, readers_begin_come_back_and_fall_behind)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	struct reader a = reader_of(3, "", -1), b = reader_of(500, "", -1);
	struct reader none = reader_of(0, "", -1), back = reader_of(500, "E", 4);
	struct reader other = reader_of(2, "X", 4), late = reader_of(500, "E", 1);
	struct reader timed = reader_of(2, "X", 4), ahead = reader_of(2, "E", 99);

	open_lab(lab, FEED_LINES, 100000, 8);
	add_lines(lab, 1, 6);
	feed_join(&lab->feed, &a);
	feed_join(&lab->feed, &b);
	feed_join(&lab->feed, &none);
	feed_join(&lab->feed, &back);
	feed_join(&lab->feed, &other);
	str_copy(timed.time, sizeof(timed.time), "2026-01-02T03:04:03Z");
	feed_join(&lab->feed, &timed);
	feed_join(&lab->feed, &ahead);
	GETS(lab, &a, "hello4 lines4-6");
	GETS(lab, &b, "hello1 lines1-6");
	GETS(lab, &none, "hello7");
	GETS(lab, &back, "hello5 lines5-6");
	GETS(lab, &other, "hello5 gap5:-1:buffer lines5-6");
	/* Another epoch, but its last line is here: nothing is missing. */
	GETS(lab, &timed, "hello4 lines4-6");
	GETS(lab, &ahead, "hello5 gap5:-1:buffer lines5-6");
	GETS(lab, &a, "");
	cr_expect(!reader_has_more(&a));
	/* Marks stand where they were made. */
	add_lines(lab, 7, 1);
	feed_mark(&lab->feed, "state", "\"state\":\"restarted\"}");
	feed_gap(&lab->feed, "rotation", 12);
	add_lines(lab, 8, 2);
	cr_expect(reader_has_more(&a));
	GETS(lab, &a, "lines7-7 state8:restarted gap8:12:rotation lines8-9");
	GETS(lab, &none, "lines7-7 state8:restarted gap8:12:rotation lines8-9");
	/* Eight texts fit: 2 and later are here still. */
	feed_join(&lab->feed, &late);
	GETS(lab, &late, "hello2 lines2-7 state8:restarted gap8:12:rotation lines8-9");
	/* b has read up to 6; 20 more overtake it. It goes on in the newest quarter. */
	add_lines(lab, 10, 20);
	GETS(lab, &b, "gap28:21:slow lines28-29");
	/* The end comes after everything else. */
	feed_leave(&none);
	feed_mark(&lab->feed, "state", "\"state\":\"ended\"}");
	feed_close(&lab->feed, 1000, "over");
	feed_close(&lab->feed, 4404, "the first word counts");
	GETS(lab, &b, "state30:ended close1000");
	cr_expect_eq(lab->feed.n_readers, 7);
	arena_free(&lab->arena);
	free(lab);
}

Test(feed, before_numbers_are_final_nobody_is_greeted)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	struct reader a = reader_of(500, "E", 102), b = reader_of(500, "E", 98);

	open_lab(lab, FEED_LINES, 100000, 100);
	lab->feed.ready = false;
	lab->feed.ring.first = 103;
	feed_join(&lab->feed, &a);
	feed_join(&lab->feed, &b);
	feed_mark(&lab->feed, "state", "\"state\":\"reconnecting\"}");
	GETS(lab, &a, "state103:reconnecting");
	/* Ten lines, of which the first seven were seen: 96 to 102. */
	add_lines(lab, 1, 10);
	feed_renumber(&lab->feed, -7);
	lab->feed.ready = true;
	GETS(lab, &a, "hello103 lines103-105");
	GETS(lab, &b, "hello99 lines99-105");
	/* Numbers below 1 fall out. */
	feed_renumber(&lab->feed, -100);
	cr_expect_eq(lab->feed.ring.first, 1);
	cr_expect_eq(ring_next(&lab->feed.ring), 6);
	arena_free(&lab->arena);
	free(lab);
}

Test(feed, events_are_frames_of_their_own)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	struct reader a = reader_of(0, "", -1), back = reader_of(0, "E", 1);
	struct reader lost = reader_of(0, "old", 1);

	open_lab(lab, FEED_EVENTS, 4096, 4);
	feed_join(&lab->feed, &a);
	GETS(lab, &a, "hello0");
	for (int i = 0; i < 3; i++)
		feed_add(&lab->feed, STR("\"t\":\"operation\",\"id\":\"op_1\"}"));
	GETS(lab, &a, "operation1 operation2 operation3");
	feed_join(&lab->feed, &back);
	GETS(lab, &back, "hello3 operation2 operation3");
	feed_join(&lab->feed, &lost);
	GETS(lab, &lost, "hello3 gap3:-1:buffer");
	feed_gap(&lab->feed, "upstream", -1);
	feed_add(&lab->feed, STR("\"t\":\"catalog\"}"));
	GETS(lab, &a, "gap3:-1:upstream catalog4");
	arena_free(&lab->arena);
	free(lab);
}

/* Against a plain list: whatever is in the ring is what was put there. */
Test(ring, keeps_the_newest_whatever_their_sizes)
{
	enum { ROUNDS = 20000, BYTES = 4096, SLOTS = 64, LONGEST = 900 };
	char(*all)[LONGEST + 1] = calloc(ROUNDS, sizeof(*all));
	struct rng_seeded rng;
	struct arena a;
	struct ring r;

	rng_seeded_init(&rng, 7);
	arena_init(&a, 0);
	ring_init(&r, &a, BYTES, SLOTS, 1);
	for (int64_t i = 0; i < ROUNDS; i++) {
		const size_t n = 1 + rng_below(&rng.rng, i % 100 == 0 ? LONGEST : 60);
		size_t held = 0;

		memset(all[i], 'a' + (int)(i % 26), n);
		cr_assert_eq(ring_add(&r, (struct str){all[i], n}), i + 1);
		for (int64_t k = r.first; k < ring_next(&r); k++) {
			const struct str s = ring_at(&r, k);

			cr_assert(str_is(s, all[k - 1]), "text %" PRId64, k);
			held += s.n;
		}
		cr_assert_leq(held, BYTES);
		/* A full ring is well used. */
		if (i > SLOTS && r.count < SLOTS)
			cr_assert_gt(held, BYTES / 2);
	}
	arena_free(&a);
	free(all);
}

Test(line, time_and_text_of_kubernetes)
{
	static const struct {
		const char *line, *time, *text;
	} splits[] = {
		{"2026-01-02T03:04:05.1Z hello there", "2026-01-02T03:04:05.1Z",
		 "hello there"},
		{"2026-01-02T03:04:05.123456789+08:00  two",
		 "2026-01-02T03:04:05.123456789+08:00", " two"},
		{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z", ""},
		{"no time here", "", "no time here"},
		{"", "", ""},
		{"2026-01-02 03:04:05 x", "", "2026-01-02 03:04:05 x"},
	};
	static const struct {
		const char *a, *b;
		int order;
	} times[] = {
		{"2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.500000000Z", 0},
		{"2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.51Z", -1},
		{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000001Z", -1},
		{"2026-01-02T03:04:06Z", "2026-01-02T03:04:05.9Z", 1},
		{"", "2026-01-02T03:04:05Z", -1},
		{"", "", 0},
	};

	for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
		struct str time, text;

		line_split(str_of(splits[i].line), &time, &text);
		cr_expect(str_is(time, splits[i].time), "%zu", i);
		cr_expect(str_is(text, splits[i].text), "%zu", i);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const int order = line_time_cmp(str_of(times[i].a), str_of(times[i].b));

		cr_expect_eq((order > 0) - (order < 0), times[i].order, "%zu", i);
		cr_expect_eq(line_time_cmp(str_of(times[i].b), str_of(times[i].a)) > 0,
			     order < 0, "%zu", i);
	}
}

Test(line, any_bytes_become_json)
{
	static char out[LINE_ENCODED_MAX], input[40000];
	struct rng_seeded rng;
	struct arena a;
	struct err e;
	size_t n;

	arena_init(&a, 0);
	n = line_encode(STR("T"),
			STR("a\"b\\c\td\x01"
			    "\x7f"
			    "\xc3\x28"
			    "\xe2\x82\xac"),
			false, out);
	cr_expect(
		str_is((struct str){out, n},
		       "[\"T\",\"a\\\"b\\\\c\\td\\u0001\\u007f\xef\xbf\xbd(\xe2\x82\xac\"]"),
		"%.*s", (int)n, out);
	rng_seeded_init(&rng, 3);
	for (int i = 0; i < 300; i++) {
		const size_t len = rng_below(&rng.rng, i % 10 ? 200 : sizeof(input));
		const bool cut = rng_below(&rng.rng, 2) == 0;
		const json_t *line;

		rng.rng.fill(&rng.rng, input, len);
		if (i % 3 == 0) /* the most that escapes can take */
			memset(input, 1, len);
		n = line_encode(STR("2026-01-02T03:04:05Z"), (struct str){input, len},
				cut, out);
		cr_assert_leq(n, LINE_ENCODED_MAX);
		line = json_parse(&a, (struct str){out, n}, &e);
		cr_assert(line, "%s", e.detail);
		if (cut || len * 6 > LINE_ENCODED_MAX * 4)
			cr_assert(json_array_size(line) == 3 || len < 6000);
		arena_reset(&a);
	}
	arena_free(&a);
}

Test(pod, what_a_container_is_about_to_do)
{
	static const struct {
		const char *status, *policy;
		enum pod_state state;
		bool over, exit_known;
		int64_t restarts, exit_code;
		const char *reason;
	} cases[] = {
		{"{\"phase\":\"Pending\"}", "Always", POD_WAITING, false, false, 0, 0,
		 "Pending"},
		{"{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{"
		 "\"waiting\":{\"reason\":\"ErrImagePull\"}}}]}",
		 "Always", POD_WAITING, false, false, 0, 0, "ErrImagePull"},
		{"{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\","
		 "\"restartCount\":2,\"state\":{\"running\":{}},\"lastState\":{"
		 "\"terminated\":{\"exitCode\":3}}}]}",
		 "Always", POD_RUNNING, false, false, 2, 0, ""},
		{"{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\","
		 "\"restartCount\":2,\"state\":{\"waiting\":{\"reason\":"
		 "\"CrashLoopBackOff\"}},\"lastState\":{\"terminated\":{\"exitCode\":3,"
		 "\"reason\":\"Error\"}}}]}",
		 "Always", POD_TERMINATED, false, true, 2, 3, "CrashLoopBackOff"},
		{"{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{"
		 "\"terminated\":{\"exitCode\":1,\"reason\":\"OOMKilled\"}}}]}",
		 "OnFailure", POD_TERMINATED, false, true, 0, 1, "OOMKilled"},
		{"{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{"
		 "\"terminated\":{\"exitCode\":0}}}]}",
		 "OnFailure", POD_TERMINATED, true, true, 0, 0, ""},
		{"{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{"
		 "\"terminated\":{\"exitCode\":1}}}]}",
		 "Never", POD_TERMINATED, true, true, 0, 1, ""},
		{"{\"phase\":\"Failed\",\"reason\":\"Evicted\"}", "Always", POD_WAITING,
		 true, false, 0, 0, "Evicted"},
	};
	struct pod_view v;
	struct arena a;
	struct err e;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = arena_printf(
			&a,
			"{\"metadata\":{\"uid\":\"u1\"},\"spec\":{\"restartPolicy\":\"%s\","
			"\"containers\":[{\"name\":\"c\"}]},\"status\":%s}",
			cases[i].policy, cases[i].status);
		const json_t *pod = json_parse(&a, str_of(text), &e);

		cr_assert(pod, "%zu: %s", i, e.detail);
		cr_assert(pod_look(pod, "c", &v));
		cr_expect_eq(v.state, cases[i].state, "%zu: state", i);
		cr_expect_eq(v.over, cases[i].over, "%zu: over", i);
		cr_expect_eq(v.restarts, cases[i].restarts, "%zu: restarts", i);
		cr_expect_eq(v.exit_known, cases[i].exit_known, "%zu: exit known", i);
		cr_expect_eq(v.exit_code, cases[i].exit_code, "%zu: exit code", i);
		cr_expect_str_eq(v.reason, cases[i].reason, "%zu", i);
		cr_expect_str_eq(v.uid, "u1");
		cr_expect(!pod_look(pod, "other", &v));
	}
	arena_free(&a);
}
