/* Lines of a followed log: what is new, what was seen, what is missing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/live/follow.h"

enum { ALIGN_BACK_MS = 10000 };

static void remember(struct follow *f, struct str time)
{
	const int order = line_time_cmp(time, str_of(f->last));

	if (time.n == 0 || order < 0)
		return;
	f->last_count = order == 0 ? f->last_count + 1 : 1;
	memcpy(f->last, time.p, time.n);
	f->last[time.n] = '\0';
}

/* After a new connection: true when this line was seen before. */
static bool was_seen(struct follow *f, struct str time)
{
	const int order = line_time_cmp(time, str_of(f->last));

	if (order <= 0 && time.n > 0) {
		f->met = true;
		if (order < 0)
			return true;
		if (f->skip > 0) {
			f->skip--;
			return true;
		}
	}
	f->resuming = false;
	/* The log does not reach back to where we were. */
	if (!f->met)
		feed_gap(f->feed, f->gap_why, -1);
	return false;
}

void follow_check_ready(struct follow *f)
{
	if (f->feed->ready || !f->seen || f->aligning || f->loading)
		return;
	snprintf(f->feed->hello, sizeof(f->feed->hello),
		 ",\"uid\":\"%s\",\"restarts\":%" PRId64, f->run.uid, f->run.restarts);
	f->feed->ready = true;
	f->news(f->ctx);
}

void follow_aligned(struct follow *f)
{
	if (!f->aligning)
		return;
	f->aligning = false;
	feed_renumber(f->feed, -f->back);
	if (f->back == 0)
		feed_gap(f->feed, "buffer", -1);
	follow_check_ready(f);
}

bool follow_take_line(void *follow, const char *p, size_t n, bool cut)
{
	struct follow *f = follow;
	char encoded[LINE_ENCODED_MAX];
	struct str time, text;

	counters_add(f->up->counters, LIVE_LINES_TOTAL, 1);
	f->heard_ms = loop_now(f->up->loop);
	line_split((struct str){p, n}, &time, &text);
	if (f->resuming && was_seen(f, time))
		return true;
	/* The reader's own last line was of of.from: what follows is new to it. */
	if (f->aligning) {
		if (line_time_cmp(time, str_of(f->of.from)) <= 0)
			f->back++;
		else
			follow_aligned(f);
	}
	remember(f, time);
	text = mask_line(&f->mask, text, cut);
	feed_add(f->feed, (struct str){encoded, line_encode(time, text, cut, encoded)});
	f->news(f->ctx);
	return true;
}

/* The second a stamp lies in, `back_ms` earlier: sinceTime has whole seconds. */
static const char *second_of(const char *stamp, int64_t back_ms, struct arena *a)
{
	char text[TIME_TEXT];
	int64_t ms;

	if (!time_parse_rfc3339(stamp, &ms))
		return NULL;
	ms = (ms - back_ms) / 1000 * 1000;
	return arena_strdup(a, time_rfc3339(ms, text));
}

const char *follow_resume(struct follow *f, struct arena *a)
{
	f->resuming = f->last[0] != '\0';
	f->met = false;
	f->skip = f->last_count;
	f->lines.len = 0;
	f->lines.skipping = false;
	mask_lines_restart(&f->mask);
	if (f->resuming)
		return second_of(f->last, 0, a);
	/* Some seconds more, so that others who come back find theirs as well. */
	if (f->aligning)
		return second_of(f->of.from, ALIGN_BACK_MS, a);
	return NULL;
}
