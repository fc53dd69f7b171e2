#include "core/live/viewer.h"

#include <string.h>

#include "core/json/tree.h"
#include "gen/queries.h"

static struct viewer *of_reader(struct reader *r)
{
	return (struct viewer *)r;
}

static void wake_reader(struct reader *r)
{
	struct viewer *v = of_reader(r);

	v->all->wake(v);
}

void viewer_refuse(struct viewer *v, int code, const char *why)
{
	if (v->close_code)
		return;
	if (code > 4000)
		counters_add(v->all->counters, LIVE_REFUSED_TOTAL, 1);
	v->close_code = code;
	str_copy(v->close_why, sizeof(v->close_why), why);
	v->all->wake(v);
}

/* --- who is there ------------------------------------------------------------------ */

static void add(struct viewers *all, struct viewer *v)
{
	v->all = all;
	v->linked = true;
	v->next = all->first;
	if (all->first)
		all->first->prev = v;
	all->first = v;
	counters_set(all->counters, LIVE_VIEWERS, ++all->n);
	counters_add(all->counters, LIVE_VIEWERS_TOTAL, 1);
}

static int64_t of_user(const struct viewers *all, const char *user)
{
	int64_t n = 0;

	for (const struct viewer *v = all->first; v; v = v->next)
		if (!v->close_code && streq(v->user, user))
			n++;
	return n;
}

static void leave(struct viewer *v)
{
	if (v->logs)
		streams_leave(v->all->streams, &v->reader);
	else
		feed_leave(&v->reader);
}

void viewer_close(struct viewer *v)
{
	struct viewers *all = v->all;

	if (!v->linked)
		return;
	leave(v);
	if (v->prev)
		v->prev->next = v->next;
	else
		all->first = v->next;
	if (v->next)
		v->next->prev = v->prev;
	counters_set(all->counters, LIVE_VIEWERS, --all->n);
	v->linked = false;
}

/* --- the grant ------------------------------------------------------------------------
 */

static void join_logs(struct viewer *v, const json_t *g)
{
	const struct follow_of of = {.target = json_str_or(g, "target", ""),
				     .ns = json_str_or(g, "namespace", ""),
				     .pod = json_str_or(g, "pod", ""),
				     .container = json_str_or(g, "container", ""),
				     .previous = json_bool_or(g, "previous", false),
				     .from = ""};
	struct err e = {0};

	v->logs = true;
	if (!streams_join(v->all->streams, &of, &v->reader, &e))
		viewer_refuse(v, 4429, e.detail);
}

static void begin(struct viewer *v, const json_t *g)
{
	struct reader *r = &v->reader;

	str_copy(v->user, sizeof(v->user), json_str_or(g, "user", ""));
	str_copy(v->session, sizeof(v->session), json_str_or(g, "session", ""));
	v->api = json_bool_or(g, "api", false);
	r->wake = wake_reader;
	r->tail = json_int_or(g, "tail", 0);
	r->after = json_int_or(g, "after", -1);
	str_copy(r->epoch, sizeof(r->epoch), json_str_or(g, "epoch", ""));
	str_copy(r->time, sizeof(r->time), json_str_or(g, "time", ""));
	if (json_at(g, "refuse"))
		viewer_refuse(v, (int)json_int_or(g, "refuse", 4403),
			      json_str_or(g, "why", ""));
	else if (v->all->draining)
		viewer_refuse(v, 1001, "the server is shutting down");
	else if (v->all->n > VIEWERS_MAX)
		viewer_refuse(v, 4429, "too many connections");
	else if (of_user(v->all, v->user) > v->all->per_user)
		viewer_refuse(v, 4429, "too many connections of this user");
	else if (streq(json_str_at(g, "feed"), "logs"))
		join_logs(v, g);
	else if (streq(json_str_at(g, "feed"), "events"))
		feed_join(events_feed(v->all->events), r);
	else
		viewer_refuse(v, 4404, "there is no such stream");
}

void viewer_open(struct viewers *all, struct viewer *v, const char *grant)
{
	struct arena a;
	struct err e;
	const json_t *g;

	add(all, v);
	arena_init(&a, 0);
	g = json_parse(&a, str_of(grant), &e);
	if (g)
		begin(v, g);
	else
		viewer_refuse(v, 4403, "the connection has no grant");
	arena_free(&a);
}

/* --- messages --------------------------------------------------------------------------
 */

static void count_slow(struct viewer *v)
{
	struct reader *r = &v->reader;

	counters_add(v->all->counters, LIVE_SLOW_TOTAL, (uint64_t)r->slow_times);
	counters_add(v->all->counters, LIVE_MISSED_TOTAL, (uint64_t)r->slow_missed);
	r->slow_times = r->slow_missed = 0;
}

enum feed_next viewer_take(struct viewer *v)
{
	enum feed_next next;

	if (v->close_code)
		return FEED_CLOSE;
	next = reader_take(&v->reader, &v->all->frame);
	if (v->reader.slow_times)
		count_slow(v);
	if (next == FEED_FRAME)
		counters_add(v->all->counters, LIVE_FRAMES_TOTAL, 1);
	if (next == FEED_CLOSE) {
		v->close_code = v->reader.feed->close_code;
		str_copy(v->close_why, sizeof(v->close_why), v->reader.feed->close_why);
	}
	return next;
}

bool viewer_has_more(const struct viewer *v)
{
	return v->close_code || reader_has_more(&v->reader);
}

void viewers_drain(struct viewers *all)
{
	all->draining = true;
	for (struct viewer *v = all->first; v; v = v->next)
		viewer_refuse(v, 1001, "the server is shutting down");
}

/* --- sessions
 * ---------------------------------------------------------------------------- */

/* Without the database nobody is sent away. */
static bool still_valid(struct viewers *all, const struct viewer *v, struct arena *a)
{
	struct db_rows rows;
	struct err e = {0};

	return !DB(all->db, a, v->api ? &Q_token_check : &Q_session_check, &rows, &e,
		   v->session) ||
	       rows.n > 0;
}

/* One look for all connections of a session. */
static void check_session(struct viewers *all, struct viewer *of, struct arena *a)
{
	for (struct viewer *v = all->first; v != of; v = v->next)
		if (streq(v->session, of->session))
			return;
	if (still_valid(all, of, a))
		return;
	for (struct viewer *v = of; v; v = v->next)
		if (streq(v->session, of->session))
			viewer_refuse(v, 4401, "the session has ended");
}

static void check_sessions(void *ctx)
{
	struct viewers *all = ctx;
	struct arena a;

	arena_init(&a, 0);
	for (struct viewer *v = all->first; v; v = v->next)
		if (!v->close_code && *v->session)
			check_session(all, v, &a);
	arena_free(&a);
	loop_after(all->loop, &all->check, VIEWER_CHECK_MS);
}

void viewers_start(struct viewers *all)
{
	all->check = (struct loop_timer){.fn = check_sessions, .ctx = all};
	loop_after(all->loop, &all->check, VIEWER_CHECK_MS);
}
