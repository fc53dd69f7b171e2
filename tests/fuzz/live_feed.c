/*
 * A feed and four readers under any order of lines, marks, reads, comings and
 * goings: every frame is JSON, and no reader ever gets a number twice or misses one
 * that no gap has told it of.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/tree.h"
#include "core/live/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { READERS = 4, RING_BYTES = 40000, RING_LINES = 24 };

struct watcher {
	struct reader r;
	int64_t next; /* number that is due; 0: not greeted */
};

static void wake(struct reader *r)
{
	(void)r;
}

static void come(struct feed *f, struct watcher *w, uint8_t how)
{
	const int64_t after = w->next > 0 && how % 4 ? w->next - 1 : -1;

	feed_leave(&w->r);
	w->r = (struct reader){.wake = wake, .tail = how % 32, .after = after};
	if (after >= 0)
		str_copy(w->r.epoch, sizeof(w->r.epoch), how % 4 == 1 ? "X" : "E");
	else
		w->next = 0;
	feed_join(f, &w->r);
}

static void check(struct watcher *w, const struct frame *out)
{
	struct arena a = {0};
	struct err e;
	const json_t *f = json_parse(&a, (struct str){out->text, out->n}, &e);
	const char *type = json_str_or(f, "t", "");
	const int64_t seq = json_int_or(f, "seq", -1);

	if (!f || out->n > FEED_FRAME_MAX)
		abort();
	if (streq(type, "hello")) {
		/* It may begin later than was due only when a gap follows. */
		if (w->next > 0 && seq != w->next && !w->r.lost)
			abort();
		if (!w->r.lost)
			w->next = seq;
	} else if (streq(type, "gap")) {
		if (json_int_or(f, "missed", 0) > 0 && w->next > 0 &&
		    json_int_or(f, "missed", 0) != seq - w->next &&
		    !streq(json_str_at(f, "why"), "rotation"))
			abort();
		if (!streq(json_str_at(f, "why"), "rotation"))
			w->next = seq;
	} else if (streq(type, "lines")) {
		if (seq != w->next || json_len_at(f, "lines") == 0)
			abort();
		w->next += (int64_t)json_len_at(f, "lines");
	}
	arena_free(&a);
}

static void add(struct feed *f, const uint8_t *data, size_t n)
{
	static char line[LINE_MAX_BYTES], encoded[LINE_ENCODED_MAX];
	const size_t times = n > 0 ? 1 + data[0] * 40u : 1;
	size_t len = 0;

	while (len + n < sizeof(line) && n > 0 && len < times) {
		memcpy(line + len, data, n);
		len += n;
	}
	feed_add(f, (struct str){encoded, line_encode(STR("2026-01-02T03:04:05Z"),
						      (struct str){line, len}, n % 7 == 0,
						      encoded)});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct frame out;
	static struct feed f;
	struct watcher w[READERS] = {0};
	struct arena a = {0};

	out.serial = 0;
	feed_init(&f, &a, FEED_LINES, 1, RING_BYTES, RING_LINES, "E", 1);
	f.ready = true;
	while (size >= 2) {
		const uint8_t op = data[0] % 8, arg = data[1];
		struct watcher *one = &w[arg % READERS];
		const size_t n = size - 2 < 24 ? size - 2 : 24;

		data += 2;
		size -= 2;
		if (op < 3) {
			add(&f, data, n);
			data += n;
			size -= n;
		} else if (op == 3) {
			feed_gap(&f, "rotation", arg);
		} else if (op == 4) {
			come(&f, one, arg / READERS);
		} else if (one->r.feed && reader_take(&one->r, &out) == FEED_FRAME) {
			check(one, &out);
		}
	}
	arena_free(&a);
	return 0;
}
