/*
 * A second look at a log that is silent. A connection that was lost without a word
 * looks like a container that has nothing to say; the last line of the log, asked for
 * anew, tells the two apart. What is missing is then asked for as after any loss.
 */
#include <string.h>

#include "core/live/follow_call.h"

enum {
	GRACE_MS = 2000, /* a line that was written just now is on its way */
	LOOK_MS = 15000  /* most for the second look */
};

static void rearm(struct follow *f, int64_t ms)
{
	loop_after(f->up->loop, &f->quiet, ms);
}

static void is_dead(struct follow *f, const char *why)
{
	net_stream_close(f->log);
	f->log = NULL;
	f->gap_why = "upstream";
	f->looked[0] = '\0';
	follow_trouble(f, why);
}

static bool look_data(void *ctx, const char *p, size_t n)
{
	struct follow *f = ctx;
	const size_t room = sizeof(f->looked) - 1 - f->looked_n;
	const size_t kept = n < room ? n : room;

	memcpy(f->looked + f->looked_n, p, kept);
	f->looked_n += kept;
	f->looked[f->looked_n] = '\0';
	return true;
}

static void look_done(void *ctx, const struct http_answer *ans, const struct err *e)
{
	struct follow *f = ctx;
	struct str time, text;

	f->look = NULL;
	if (!f->log)
		return;
	if (e) {
		is_dead(f, e->detail);
		return;
	}
	if (ans->status == 401)
		follow_drop_token(f);
	if (ans->status < 200 || ans->status >= 300) {
		f->looked[0] = '\0';
		rearm(f, f->up->probe_ms);
		return;
	}
	line_split(str_of(f->looked), &time, &text);
	str_copy(f->looked, sizeof(f->looked),
		 time.n ? str_dup(&f->look_arena, time) : "");
	arena_reset(&f->look_arena);
	rearm(f, f->looked[0] ? GRACE_MS : f->up->probe_ms);
}

static void look_again(struct follow *f)
{
	const struct net_events events = {NULL, look_done, f};
	const struct kube_request r = {.verb = KUBE_LOG,
				       .ns = f->of.ns,
				       .name = f->of.pod,
				       .container = f->of.container,
				       .timestamps = true,
				       .tail_lines = 1};
	const struct ask q = {.target = f->of.target,
			      .request = &r,
			      .on_data = look_data,
			      .ctx = f,
			      .timeout_ms = LOOK_MS};
	struct err e = {0};

	f->looked_n = 0;
	f->looked[0] = '\0';
	f->look = ask_send(f->up, &q, &events, &e);
	if (!f->look)
		rearm(f, e.code == ERR_NONE ? ASK_SOON_MS : f->up->probe_ms);
}

static void on_quiet(void *ctx)
{
	struct follow *f = ctx;
	const int64_t silent = loop_now(f->up->loop) - f->heard_ms;

	if (!f->log || f->look)
		return;
	/* What the second look has seen must have come here by now. */
	if (f->looked[0] && line_time_cmp(str_of(f->looked), str_of(f->last)) > 0) {
		is_dead(f, "the log continued while its connection was silent");
		return;
	}
	if (f->looked[0] || silent < f->up->probe_ms) {
		f->looked[0] = '\0';
		rearm(f, silent < f->up->probe_ms ? f->up->probe_ms - silent
						  : f->up->probe_ms);
		return;
	}
	look_again(f);
}

static void free_look(void *arena)
{
	arena_free(arena);
}

void probe_init(struct follow *f, struct arena *a)
{
	f->quiet = (struct loop_timer){.fn = on_quiet, .ctx = f};
	arena_init(&f->look_arena, 0);
	arena_defer(a, free_look, &f->look_arena);
}

void probe_begin(struct follow *f)
{
	f->heard_ms = loop_now(f->up->loop);
	f->looked[0] = '\0';
	if (!f->of.previous && !f->completing)
		rearm(f, f->up->probe_ms);
}

void probe_stop(struct follow *f)
{
	loop_stop_timer(f->up->loop, &f->quiet);
	if (f->look)
		net_stream_close(f->look);
	f->look = NULL;
}
