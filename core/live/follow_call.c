/* What a follow tells its readers, and how it asks a cluster. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/live/follow_call.h"

enum { BACKOFF_FIRST_MS = 500, BACKOFF_LAST_MS = 30000 };

/* --- what readers are told ------------------------------------------------------- */

/* JSON text of a cluster's or ours; quotes and controls are left out. */
static const char *plain(const char *text, char *out, size_t size)
{
	size_t n = 0;

	for (; *text && n + 1 < size; text++)
		if ((unsigned char)*text >= 0x20 && *text != '"' && *text != '\\' &&
		    (unsigned char)*text < 0x7f)
			out[n++] = *text;
	out[n] = '\0';
	return out;
}

void follow_tell(struct follow *f, const char *state, const char *why)
{
	char words[200];

	if (streq(f->told, state))
		return;
	str_copy(f->told, sizeof(f->told), state);
	feed_mark(f->feed, "state", "\"state\":\"%s\",\"why\":\"%s\"}", state,
		  plain(why, words, sizeof(words)));
	f->news(f->ctx);
}

void follow_tell_run(struct follow *f, const char *state)
{
	f->told[0] = '\0';
	feed_mark(f->feed, "state",
		  "\"state\":\"%s\",\"restarts\":%" PRId64 ",\"uid\":\"%s\"}", state,
		  f->run.restarts, f->run.uid);
	snprintf(f->feed->hello, sizeof(f->feed->hello),
		 ",\"uid\":\"%s\",\"restarts\":%" PRId64, f->run.uid, f->run.restarts);
	f->news(f->ctx);
}

void follow_loaded(struct follow *f)
{
	f->loading = false;
	follow_check_ready(f);
}

void follow_finish(struct follow *f, const char *why)
{
	char reason[POD_REASON_MAX], words[200], code[40] = "";

	follow_aligned(f);
	follow_loaded(f);
	if (f->now.exit_known)
		snprintf(code, sizeof(code), ",\"exit_code\":%" PRId64, f->now.exit_code);
	feed_mark(f->feed, "state",
		  "\"state\":\"ended\"%s,\"reason\":\"%s\",\"why\":\"%s\"}", code,
		  plain(f->now.reason, reason, sizeof(reason)),
		  plain(why, words, sizeof(words)));
	feed_close(f->feed, 1000, "the log has ended");
	f->news(f->ctx);
	follow_stop(f);
}

void follow_give_up(struct follow *f, int code, const char *why)
{
	feed_close(f->feed, code, why);
	f->news(f->ctx);
	follow_stop(f);
}

/* --- requests ---------------------------------------------------------------------- */

int64_t follow_backoff_ms(struct follow *f, int failures)
{
	int64_t ms = BACKOFF_FIRST_MS;

	for (int i = 1; i < failures && ms < BACKOFF_LAST_MS; i++)
		ms *= 2;
	if (ms > BACKOFF_LAST_MS)
		ms = BACKOFF_LAST_MS;
	return ms / 2 + (int64_t)rng_below(f->up->rng, (uint64_t)ms);
}

void follow_retry_in(struct follow *f, int64_t ms)
{
	loop_after(f->up->loop, &f->retry, ms);
}

void follow_trouble(struct follow *f, const char *why)
{
	counters_add(f->up->counters, LIVE_LOSSES_TOTAL, 1);
	follow_tell(f, "reconnecting", why);
	follow_retry_in(f, follow_backoff_ms(f, ++f->failures));
}

struct net_stream *follow_send(struct follow *f, const struct kube_request *r,
			       bool (*on_data)(void *, const char *, size_t), void *ctx,
			       const struct net_events *events, struct err *e)
{
	const struct ask q = {
		.target = f->of.target, .request = r, .on_data = on_data, .ctx = ctx};

	return ask_send(f->up, &q, events, e);
}

void follow_drop_token(struct follow *f)
{
	ask_drop_token(f->up, f->of.target);
}
