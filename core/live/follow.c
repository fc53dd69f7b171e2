/* When what is asked, and what an end means. */
#include <string.h>

#include "core/live/follow_call.h"

enum {
	STREAM_S = 3600,
	SETTLE_MS = 1000,   /* an end of the log waits so long for its reason */
	NO_POD_MS = 1500,   /* a watch without the pod: it may not exist */
	STARTING_MS = 2000, /* between looks at a container that has not begun */
	LINGER_MS = 3000,   /* a log of a run that is over may stay open so long */
	RETURN_MS = 30000,  /* a StatefulSet makes its pod anew */
	ALIGN_MS = 700,
	TAIL = 5000,        /* lines that a log begins with here */
	LOAD_PAUSE_MS = 40, /* a silence that ends them */
	LOAD_MS = 250
};

static void step(struct follow *f);

/* --- the log ----------------------------------------------------------------------- */

static void log_begun(void *ctx)
{
	struct follow *f = ctx;

	f->failures = 0;
	f->begun_ms = loop_now(f->up->loop);
	if (!f->completing)
		follow_tell(f, "following", "");
	probe_begin(f);
	if (f->aligning)
		loop_after(f->up->loop, &f->patience, ALIGN_MS);
	if (!f->loading)
		return;
	f->load_until_ms = loop_now(f->up->loop) + LOAD_MS;
	loop_after(f->up->loop, &f->patience, LOAD_PAUSE_MS);
}

static bool says(const struct kube_result *res, const char *words)
{
	return res->message && strstr(res->message, words);
}

/* A definite answer that is no log. */
static void log_refused(struct follow *f, const struct kube_result *res)
{
	if (res->status == 401) {
		follow_drop_token(f);
		follow_trouble(f, "the cluster requires a new token");
	} else if (res->status == 404) {
		f->gone = true;
		step(f);
	} else if (res->status == 400 && f->completing) {
		f->completing = false;
		f->completed = true;
		step(f);
	} else if (res->status == 400 && f->of.previous) {
		follow_give_up(f, 4404, "there is no previous container");
	} else if (res->status == 400 && says(res, "is not valid for pod")) {
		follow_give_up(f, 4404, "the pod has no such container");
	} else if (res->status == 400) {
		follow_loaded(f);
		follow_tell(f, "waiting", f->now.reason);
		follow_retry_in(f, STARTING_MS);
	} else {
		follow_trouble(f, res->message ? res->message
					       : "the cluster rejected the request");
	}
}

static void log_ended(struct follow *f)
{
	kube_lines_end(&f->lines);
	follow_aligned(f);
	follow_loaded(f);
	if (f->of.previous) {
		follow_finish(f, "the end of the previous container's log");
		return;
	}
	if (f->completing) {
		f->completing = false;
		f->completed = true;
	} else {
		f->clean = true;
		f->gap_why = "rotation";
		/* Time for the watch to say why. */
		follow_retry_in(f, SETTLE_MS);
	}
	step(f);
}

static void open_log(struct follow *f);

static void log_done(void *ctx, const struct http_answer *ans, const struct err *e)
{
	struct follow *f = ctx;
	const struct kube_request r = {.verb = KUBE_LOG};
	struct kube_result res = {0};
	struct arena a;

	f->log = NULL;
	probe_stop(f);
	/* Its time was up, as was asked for: nothing is wrong. */
	if (e && f->begun_ms && loop_now(f->up->loop) - f->begun_ms >= STREAM_S * 1000) {
		f->begun_ms = 0;
		open_log(f);
		return;
	}
	if (e) {
		f->gap_why = "upstream";
		follow_trouble(f, e->detail);
		return;
	}
	if (ans->status >= 200 && ans->status < 300) {
		log_ended(f);
		return;
	}
	arena_init(&a, 0);
	kube_parse(&r, ans, &a, &res);
	log_refused(f, &res);
	arena_free(&a);
}

static void open_log(struct follow *f)
{
	const struct net_events events = {log_begun, log_done, f};
	struct kube_request r = {.verb = KUBE_LOG,
				 .ns = f->of.ns,
				 .name = f->of.pod,
				 .container = f->of.container,
				 .timestamps = true,
				 .previous = f->of.previous || f->completing,
				 .watch_seconds = STREAM_S};
	struct arena a;
	struct err e = {0};

	arena_init(&a, 0);
	r.follow = !r.previous;
	r.since_time = follow_resume(f, &a);
	if (!r.since_time && f->first_run)
		r.tail_lines = TAIL;
	f->clean = false;
	f->log = follow_send(f, &r, kube_lines_feed, &f->lines, &events, &e);
	arena_free(&a);
	if (!f->log && e.code == ERR_NONE)
		follow_retry_in(f, ASK_SOON_MS);
	else if (!f->log)
		follow_trouble(f, e.detail);
}

/* --- the pod ------------------------------------------------------------------------ */

static bool pod_changed(void *ctx, enum kube_change change, const json_t *pod)
{
	struct follow *f = ctx;

	f->watch_failures = 0;
	if (change == KUBE_DELETED) {
		if (pod_look(pod, f->of.container, &f->now))
			f->gone = true;
	} else if (!pod_look(pod, f->of.container, &f->now)) {
		follow_give_up(f, 4404, "the pod has no such container");
		return false;
	} else {
		f->gone = false;
		f->seen = true;
	}
	if (!f->placed && f->seen) {
		f->placed = true;
		f->run = f->now;
		loop_stop_timer(f->up->loop, &f->retry);
		follow_check_ready(f);
	}
	step(f);
	return f->watch != NULL;
}

static void watch_begun(void *ctx)
{
	struct follow *f = ctx;

	if (!f->seen)
		loop_within(f->up->loop, &f->retry, NO_POD_MS);
}

static void watch_done(void *ctx, const struct http_answer *ans, const struct err *e)
{
	struct follow *f = ctx;
	const int status = e ? 0 : ans->status;

	f->watch = NULL;
	if (kube_watch_finish(&f->changes, status) != KUBE_WATCH_RESUME)
		f->changes.resource_version[0] = '\0';
	if (status == 401)
		follow_drop_token(f);
	if (status < 200 || status >= 300) {
		f->watch_failures++;
		if (!f->log)
			follow_tell(f, "reconnecting", e ? e->detail : f->changes.reason);
	}
	loop_after(f->up->loop, &f->rewatch,
		   f->watch_failures ? follow_backoff_ms(f, f->watch_failures) : 0);
}

static void open_watch(void *ctx)
{
	struct follow *f = ctx;
	const struct net_events events = {watch_begun, watch_done, f};
	struct kube_request r = {.verb = KUBE_WATCH,
				 .api = "v1",
				 .plural = "pods",
				 .ns = f->of.ns,
				 .watch_seconds = STREAM_S,
				 .resource_version = f->changes.resource_version};
	struct arena a;
	struct err e = {0};

	arena_init(&a, 0);
	/* Without a version it begins with the pod as it is. */
	r.field_selector = arena_printf(&a, "metadata.name=%s", f->of.pod);
	kube_watch_start(&f->changes, f->changes.resource_version);
	f->watch = follow_send(f, &r, kube_watch_feed, &f->changes, &events, &e);
	arena_free(&a);
	if (!f->watch && e.code == ERR_NONE)
		loop_after(f->up->loop, &f->rewatch, ASK_SOON_MS);
	if (f->watch || e.code == ERR_NONE)
		return;
	follow_tell(f, "reconnecting", e.detail);
	loop_after(f->up->loop, &f->rewatch, follow_backoff_ms(f, ++f->watch_failures));
}

/* --- what next ------------------------------------------------------------------------
 */

static bool is_other_run(const struct follow *f)
{
	return !streq(f->now.uid, f->run.uid) || f->now.restarts != f->run.restarts;
}

static void begin_run(struct follow *f)
{
	const bool replaced = !streq(f->now.uid, f->run.uid);
	const int64_t ran = f->now.restarts - f->run.restarts;

	loop_stop_timer(f->up->loop, &f->patience);
	f->run = f->now;
	f->completed = false;
	f->last[0] = '\0';
	f->last_count = 0;
	f->first_run = false;
	follow_tell_run(f, replaced ? "replaced" : "restarted");
	/* Runs between the two have come and gone unseen. */
	if (!replaced && ran > 1)
		feed_gap(f->feed, "rotation", -1);
	open_log(f);
}

/* The pod has gone; whatever its log still gives comes first. */
static void step_gone(struct follow *f)
{
	if (!f->seen) {
		follow_give_up(f, 4404, "there is no such pod");
		return;
	}
	if (f->log) {
		loop_within(f->up->loop, &f->retry, LINGER_MS);
		return;
	}
	if (f->now.returns && !f->patience.armed && !streq(f->told, "waiting")) {
		follow_tell(f, "waiting",
			    "the pod was deleted; its StatefulSet creates it again");
		loop_after(f->up->loop, &f->patience, RETURN_MS);
		return;
	}
	if (!f->patience.armed)
		follow_finish(f, "the pod was deleted");
}

static void step(struct follow *f)
{
	if (f->feed->close_code)
		return;
	if (f->gone) {
		step_gone(f);
		return;
	}
	if (!f->seen)
		return;
	if (f->of.previous) {
		if (!f->log && !f->retry.armed)
			open_log(f);
		return;
	}
	if (is_other_run(f)) {
		if (f->log && !f->completing) {
			loop_within(f->up->loop, &f->retry, LINGER_MS);
			return;
		}
		if (f->log)
			return;
		loop_stop_timer(f->up->loop, &f->retry);
		f->completing = !f->clean && !f->completed && f->last[0] &&
				streq(f->now.uid, f->run.uid);
		if (f->completing)
			open_log(f);
		else
			begin_run(f);
		return;
	}
	if (f->log)
		return;
	if (f->clean && f->now.state == POD_TERMINATED) {
		loop_stop_timer(f->up->loop, &f->retry);
		if (f->now.over)
			follow_finish(f, "the container has ended");
		else
			follow_tell(f, "waiting", f->now.reason);
		return;
	}
	if (f->now.state == POD_WAITING) {
		follow_loaded(f);
		follow_tell(f, "waiting", f->now.reason);
		if (f->now.over)
			follow_finish(f, "the container never ran");
		return;
	}
	if (!f->retry.armed)
		open_log(f);
}

static void on_retry(void *ctx)
{
	struct follow *f = ctx;

	/* A log that should have ended long ago. */
	if (f->log && (f->gone || (f->seen && is_other_run(f)))) {
		net_stream_close(f->log);
		f->log = NULL;
	}
	/* A watch without the pod: the log's answer tells whether it exists. */
	if (!f->seen && !f->log && !f->gone && f->watch) {
		open_log(f);
		return;
	}
	step(f);
}

static void on_patience(void *ctx)
{
	struct follow *f = ctx;

	if (f->aligning) {
		follow_aligned(f);
	} else if (f->loading) {
		const int64_t now = ring_next(&f->feed->ring);

		if (now == f->loaded || loop_now(f->up->loop) >= f->load_until_ms)
			follow_loaded(f);
		else
			loop_after(f->up->loop, &f->patience, LOAD_PAUSE_MS);
		f->loaded = now;
	} else {
		step(f);
	}
}

static void free_changes(void *changes)
{
	kube_watch_free(changes);
}

void follow_start(struct follow *f, struct arena *a)
{
	f->retry = (struct loop_timer){.fn = on_retry, .ctx = f};
	f->rewatch = (struct loop_timer){.fn = open_watch, .ctx = f};
	f->patience = (struct loop_timer){.fn = on_patience, .ctx = f};
	f->first_run = true;
	f->gap_why = "upstream";
	f->aligning = f->of.from && *f->of.from;
	f->loading = !f->aligning;
	kube_watch_init(&f->changes, a, pod_changed, f);
	arena_defer(a, free_changes, &f->changes);
	mask_lines_init(&f->mask, a);
	probe_init(f, a);
	kube_lines_init(&f->lines, a, LINE_MAX_BYTES, follow_take_line, f);
	open_watch(f);
}

void follow_stop(struct follow *f)
{
	loop_stop_timer(f->up->loop, &f->retry);
	loop_stop_timer(f->up->loop, &f->rewatch);
	loop_stop_timer(f->up->loop, &f->patience);
	probe_stop(f);
	if (f->log)
		net_stream_close(f->log);
	if (f->watch)
		net_stream_close(f->watch);
	f->log = f->watch = NULL;
}
