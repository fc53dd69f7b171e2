#include "core/live/follow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/json/tree.h"
#include "gen/queries.h"

enum {
	STREAM_S = 3600,
	BACKOFF_FIRST_MS = 500,
	BACKOFF_LAST_MS = 30000,
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

static void tell(struct follow *f, const char *state, const char *why)
{
	char words[200];

	if (streq(f->told, state))
		return;
	str_copy(f->told, sizeof(f->told), state);
	feed_mark(f->feed, "state", "\"state\":\"%s\",\"why\":\"%s\"}", state,
		  plain(why, words, sizeof(words)));
	f->news(f->ctx);
}

static void tell_run(struct follow *f, const char *state)
{
	f->told[0] = '\0';
	feed_mark(f->feed, "state",
		  "\"state\":\"%s\",\"restarts\":%" PRId64 ",\"uid\":\"%s\"}", state,
		  f->run.restarts, f->run.uid);
	snprintf(f->feed->hello, sizeof(f->feed->hello),
		 ",\"uid\":\"%s\",\"restarts\":%" PRId64, f->run.uid, f->run.restarts);
	f->news(f->ctx);
}

static void loaded(struct follow *f)
{
	f->loading = false;
	follow_check_ready(f);
}

static void finish(struct follow *f, const char *why)
{
	char reason[POD_REASON_MAX], words[200], code[40] = "";

	follow_aligned(f);
	loaded(f);
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

static void give_up(struct follow *f, int code, const char *why)
{
	feed_close(f->feed, code, why);
	f->news(f->ctx);
	follow_stop(f);
}

/* --- requests ---------------------------------------------------------------------- */

static int64_t backoff_ms(struct follow *f, int failures)
{
	int64_t ms = BACKOFF_FIRST_MS;

	for (int i = 1; i < failures && ms < BACKOFF_LAST_MS; i++)
		ms *= 2;
	if (ms > BACKOFF_LAST_MS)
		ms = BACKOFF_LAST_MS;
	return ms / 2 + (int64_t)rng_below(f->up->rng, (uint64_t)ms);
}

static void retry_in(struct follow *f, int64_t ms)
{
	loop_after(f->up->loop, &f->retry, ms);
}

static void trouble(struct follow *f, const char *why)
{
	tell(f, "reconnecting", why);
	retry_in(f, backoff_ms(f, ++f->failures));
}

/* Where the cluster is: what the faces have learnt of it last. */
static bool find_target(struct follow *f, struct arena *a, struct kube_target *ret,
			struct err *e)
{
	struct db_rows rows;
	const json_t *cluster;
	const char *ca;

	if (!DB(f->up->db, a, &Q_cache_get, &rows, e, f->of.target))
		return false;
	if (rows.n == 0)
		return err_set(e, ERR_NOT_FOUND, "the cluster's address is not known");
	cluster =
		json_at(json_parse(a, str_of(db_text(&rows, 0, "value")), e), "cluster");
	ca = json_str_at(cluster, "certificateAuthority.data");
	*ret = (struct kube_target){.endpoint = json_str_at(cluster, "endpoint"),
				    .ca_pem =
					    ca && *ca ? base64_decode(a, ca, NULL) : NULL,
				    .cluster_name = json_str_or(cluster, "name", "")};
	return ret->endpoint ||
	       err_set(e, ERR_NOT_FOUND, "the cluster has no address yet");
}

static struct net_stream *send(struct follow *f, const struct kube_request *r,
			       bool (*on_data)(void *, const char *, size_t), void *ctx,
			       const struct net_events *events, struct err *e)
{
	struct kube_target target;
	struct http_request req;
	struct secret token;
	struct arena a;
	struct net_stream *s = NULL;

	arena_init(&a, 0);
	if (find_target(f, &a, &target, e) &&
	    kube_token(f->up->kube, &target, &a, &token, e) &&
	    kube_build(&target, r, token, &a, &req, e)) {
		req.on_data = on_data;
		req.on_data_ctx = ctx;
		s = net_stream_open(f->up->net, &req, events, e);
	}
	arena_free(&a);
	return s;
}

/* A token that is not taken any more: the next request makes another. */
static void drop_token(struct follow *f)
{
	struct kube_target target;
	struct arena a;
	struct err e;

	arena_init(&a, 0);
	if (find_target(f, &a, &target, &e))
		kube_token_drop(f->up->kube, &target);
	arena_free(&a);
}

/* --- the log ----------------------------------------------------------------------- */

static void log_begun(void *ctx)
{
	struct follow *f = ctx;

	f->failures = 0;
	if (!f->completing)
		tell(f, "following", "");
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
		drop_token(f);
		trouble(f, "the cluster asks for a new token");
	} else if (res->status == 404) {
		f->gone = true;
		step(f);
	} else if (res->status == 400 && f->completing) {
		f->completing = false;
		f->completed = true;
		step(f);
	} else if (res->status == 400 && f->of.previous) {
		give_up(f, 4404, "there is no previous container");
	} else if (res->status == 400 && says(res, "is not valid for pod")) {
		give_up(f, 4404, "the pod has no such container");
	} else if (res->status == 400) {
		loaded(f);
		tell(f, "waiting", f->now.reason);
		retry_in(f, STARTING_MS);
	} else {
		trouble(f, res->message ? res->message : "the cluster refused");
	}
}

static void log_ended(struct follow *f)
{
	kube_lines_end(&f->lines);
	follow_aligned(f);
	loaded(f);
	if (f->of.previous) {
		finish(f, "the end of the previous container's log");
		return;
	}
	if (f->completing) {
		f->completing = false;
		f->completed = true;
	} else {
		f->clean = true;
		f->gap_why = "rotation";
		/* Time for the watch to say why. */
		retry_in(f, SETTLE_MS);
	}
	step(f);
}

static void log_done(void *ctx, const struct http_answer *ans, const struct err *e)
{
	struct follow *f = ctx;
	const struct kube_request r = {.verb = KUBE_LOG};
	struct kube_result res = {0};
	struct arena a;

	f->log = NULL;
	if (e) {
		f->gap_why = "upstream";
		trouble(f, e->detail);
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
	f->log = send(f, &r, kube_lines_feed, &f->lines, &events, &e);
	arena_free(&a);
	if (!f->log)
		trouble(f, e.detail);
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
		give_up(f, 4404, "the pod has no such container");
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
		drop_token(f);
	if (status < 200 || status >= 300) {
		f->watch_failures++;
		if (!f->log)
			tell(f, "reconnecting", e ? e->detail : f->changes.reason);
	}
	loop_after(f->up->loop, &f->rewatch,
		   f->watch_failures ? backoff_ms(f, f->watch_failures) : 0);
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
	f->watch = send(f, &r, kube_watch_feed, &f->changes, &events, &e);
	arena_free(&a);
	if (f->watch)
		return;
	tell(f, "reconnecting", e.detail);
	loop_after(f->up->loop, &f->rewatch, backoff_ms(f, ++f->watch_failures));
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
	tell_run(f, replaced ? "replaced" : "restarted");
	/* Runs between the two have come and gone unseen. */
	if (!replaced && ran > 1)
		feed_gap(f->feed, "rotation", -1);
	open_log(f);
}

/* The pod has gone; whatever its log still gives comes first. */
static void step_gone(struct follow *f)
{
	if (!f->seen) {
		give_up(f, 4404, "there is no such pod");
		return;
	}
	if (f->log) {
		loop_within(f->up->loop, &f->retry, LINGER_MS);
		return;
	}
	if (f->now.returns && !f->patience.armed && !streq(f->told, "waiting")) {
		tell(f, "waiting", "the pod is gone; its StatefulSet makes it anew");
		loop_after(f->up->loop, &f->patience, RETURN_MS);
		return;
	}
	if (!f->patience.armed)
		finish(f, "the pod was deleted");
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
			finish(f, "the container has ended");
		else
			tell(f, "waiting", f->now.reason);
		return;
	}
	if (f->now.state == POD_WAITING) {
		loaded(f);
		tell(f, "waiting", f->now.reason);
		if (f->now.over)
			finish(f, "the container never ran");
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
			loaded(f);
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
	kube_lines_init(&f->lines, a, LINE_MAX_BYTES, follow_take_line, f);
	open_watch(f);
}

void follow_stop(struct follow *f)
{
	loop_stop_timer(f->up->loop, &f->retry);
	loop_stop_timer(f->up->loop, &f->rewatch);
	loop_stop_timer(f->up->loop, &f->patience);
	if (f->log)
		net_stream_close(f->log);
	if (f->watch)
		net_stream_close(f->watch);
	f->log = f->watch = NULL;
}
