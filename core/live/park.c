#include "core/live/park.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "gen/queries.h"

enum {
	CONNECTION_BYTES = 8192,
	LIST_MAX = PARK_MAX * sizeof(((struct park_ticket *)0)->op)
};

struct waiter {
	struct MHD_Connection *conn; /* NULL: the slot is free */
	struct park_ticket of;
	int64_t until_ms;
	bool suspended;
};

struct park {
	struct MHD_Daemon *http;
	struct MHD_Response *go_back;
	struct MHD_Response *refused;
	struct db *db;
	struct clock *clock;
	struct counters *counters;
	struct downloads *downloads;
	int per_user;
	struct arena scratch;
	struct loop *loop;
	struct loop_watch http_ready;
	struct loop_timer tick; /* the nearest of all that is to come */
	int64_t recheck_at_ms;
	int n; /* slots in use are all below this */
	uint64_t held;
	struct waiter w[PARK_MAX];
};

static int64_t now(const struct park *p)
{
	return p->clock->mono_ms(p->clock);
}

static void wake(struct waiter *w)
{
	if (!w->suspended)
		return;
	w->suspended = false;
	MHD_resume_connection(w->conn);
}

/* --- versions ------------------------------------------------------------ */

/* Wakes those of `op` (NULL: of all) whose version is not what they have. An
 * operation that is not found has changed, too. */
static void look(struct park *p, const char *op)
{
	struct db_rows rows;
	struct err e = {0};
	struct buf ids;

	buf_init(&ids, &p->scratch, LIST_MAX);
	for (int i = 0; i < p->n; i++)
		if (p->w[i].suspended && (!op || streq(p->w[i].of.op, op)) &&
		    !strstr(buf_cstr(&ids), p->w[i].of.op))
			buf_printf(&ids, "%s%s", ids.len ? "," : "", p->w[i].of.op);
	/* Without the journal nobody learns anything: they wait on. */
	if (ids.len == 0 ||
	    !DB(p->db, &p->scratch, &Q_operation_versions, &rows, &e, buf_cstr(&ids)))
		return;
	for (int i = 0; i < p->n; i++) {
		struct waiter *w = &p->w[i];
		bool same = false;

		if (!w->suspended || (op && !streq(w->of.op, op)))
			continue;
		for (int r = 0; r < rows.n && !same; r++)
			same = streq(db_text(&rows, r, "id"), w->of.op) &&
			       db_int(&rows, r, "version") == w->of.version;
		if (!same)
			wake(w);
	}
}

static void wake_late(struct park *p)
{
	for (int i = 0; i < p->n; i++)
		if (p->w[i].suspended && now(p) >= p->w[i].until_ms)
			wake(&p->w[i]);
	if (now(p) >= p->recheck_at_ms) {
		look(p, NULL);
		p->recheck_at_ms = now(p) + PARK_RECHECK_MS;
	}
}

/* --- HTTP ------------------------------------------------------------------ */

static bool take_word(struct str word, const char *letters, char *dst, size_t size)
{
	if (word.n == 0 || word.n >= size)
		return false;
	for (size_t i = 0; i < word.n; i++)
		if (!strchr(letters, word.p[i]))
			return false;
	memcpy(dst, word.p, word.n);
	dst[word.n] = '\0';
	return true;
}

bool park_parse(const char *text, struct park_ticket *ret)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	struct str rest = str_of(text);
	const struct str op = str_cut(&rest, ' '), version = str_cut(&rest, ' '),
			 seconds = str_cut(&rest, ' ');

	return take_word(op, letters, ret->op, sizeof(ret->op)) &&
	       str_to_i64(version, &ret->version) && str_to_i64(seconds, &ret->seconds) &&
	       ret->seconds >= 0 && take_word(rest, letters, ret->who, sizeof(ret->who));
}

static bool has_too_many(const struct park *p, const char *who)
{
	int n = 0;

	for (int i = 0; i < p->n; i++)
		n += p->w[i].conn && streq(p->w[i].of.who, who);
	return n >= p->per_user;
}

static struct waiter *free_slot(struct park *p)
{
	for (int i = 0; i < PARK_MAX; i++)
		if (!p->w[i].conn) {
			if (i >= p->n)
				p->n = i + 1;
			return &p->w[i];
		}
	return NULL;
}

static enum MHD_Result begin(struct park *p, struct MHD_Connection *conn, void **state)
{
	struct waiter *w = free_slot(p);
	struct park_ticket t;

	if (!w ||
	    !park_parse(MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "X-Park"),
			&t) ||
	    has_too_many(p, t.who))
		return MHD_queue_response(conn, MHD_HTTP_SERVICE_UNAVAILABLE, p->refused);
	if (t.seconds > PARK_SECONDS_MAX)
		t.seconds = PARK_SECONDS_MAX;
	w->of = t;
	w->conn = conn;
	w->until_ms = now(p) + t.seconds * 1000;
	w->suspended = true;
	*state = w;
	counters_set(p->counters, LIVE_PARKED, ++p->held);
	MHD_suspend_connection(conn);
	/* Listening began long ago; now look whether it has changed already. */
	look(p, w->of.op);
	arena_reset(&p->scratch);
	return MHD_YES;
}

/* Anything else that a connection has is a download. */
static struct waiter *waiter_of(struct park *p, void *state)
{
	struct waiter *w = state;

	return w >= p->w && w < p->w + PARK_MAX ? w : NULL;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *conn, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *data_size, void **state)
{
	struct park *p = ctx;

	(void)url, (void)method, (void)version, (void)data, (void)data_size;
	if (waiter_of(p, *state))
		return MHD_queue_response(conn, MHD_HTTP_OK, p->go_back);
	if (*state)
		return download_answer(*state);
	if (MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "X-Live"))
		return download_begin(p->downloads, conn, state);
	return begin(p, conn, state);
}

static void completed(void *ctx, struct MHD_Connection *conn, void **state,
		      enum MHD_RequestTerminationCode why)
{
	struct park *p = ctx;
	struct waiter *w = waiter_of(p, *state);

	(void)conn, (void)why;
	if (w) {
		*w = (struct waiter){0};
		counters_set(p->counters, LIVE_PARKED, --p->held);
	} else if (*state) {
		download_end(*state);
	}
	*state = NULL;
}

static void close_park(void *at)
{
	struct park *p = at;

	MHD_stop_daemon(p->http);
	MHD_destroy_response(p->go_back);
	MHD_destroy_response(p->refused);
	arena_free(&p->scratch);
}

static struct MHD_Response *response(const char *redirect)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);

	if (r && redirect)
		MHD_add_response_header(r, "X-Accel-Redirect", redirect);
	return r;
}

/* --- the loop ---------------------------------------------------------------- */

/* To the nearest of: a time limit, the next look at all, what HTTP wants. */
static int64_t patience(struct park *p)
{
	int64_t next = p->recheck_at_ms;
	MHD_UNSIGNED_LONG_LONG http;

	for (int i = 0; i < p->n; i++)
		if (p->w[i].suspended && p->w[i].until_ms < next)
			next = p->w[i].until_ms;
	next -= now(p);
	if (MHD_get_timeout(p->http, &http) == MHD_YES && (int64_t)http < next)
		next = (int64_t)http;
	return next < 0 ? 0 : next;
}

static void on_http(void *ctx)
{
	/* MHD is run at the end of every turn. */
	(void)ctx;
}

static void on_tick(void *ctx)
{
	wake_late(ctx);
}

static void end_turn(void *ctx)
{
	struct park *p = ctx;

	MHD_run(p->http);
	while (p->n > 0 && !p->w[p->n - 1].conn)
		p->n--;
	arena_reset(&p->scratch);
	loop_after(p->loop, &p->tick, patience(p));
}

void park_note(struct park *p, const char *op)
{
	look(p, op);
}

void park_recheck(struct park *p)
{
	p->recheck_at_ms = now(p);
}

void park_send_back(struct park *p)
{
	for (int i = 0; i < p->n; i++)
		wake(&p->w[i]);
	/* Resumed ones are answered by the next runs. */
	for (int i = 0; i < 10; i++)
		MHD_run(p->http);
}

struct park *park_open(struct arena *a, struct loop *loop, int listen_fd, int per_user,
		       const struct upstreams *up, struct downloads *downloads,
		       struct err *e)
{
	struct park *p = arena_new(a, struct park);
	const union MHD_DaemonInfo *info;

	p->db = up->db;
	p->clock = up->clock;
	p->counters = up->counters;
	p->downloads = downloads;
	p->loop = loop;
	p->per_user = per_user;
	arena_init(&p->scratch, 0);
	p->go_back = response("@final");
	p->refused = response(NULL);
	p->http = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
				   NULL, handle, p, MHD_OPTION_LISTEN_SOCKET, listen_fd,
				   MHD_OPTION_CONNECTION_LIMIT, (unsigned)PARK_MAX + 64,
				   MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				   (size_t)CONNECTION_BYTES, MHD_OPTION_NOTIFY_COMPLETED,
				   completed, p, MHD_OPTION_END);
	if (!p->http || !p->go_back || !p->refused) {
		err_set(e, ERR_INTERNAL, "The HTTP daemon does not start");
		return NULL;
	}
	arena_defer(a, close_park, p);
	info = MHD_get_daemon_info(p->http, MHD_DAEMON_INFO_EPOLL_FD);
	p->http_ready = (struct loop_watch){on_http, p, info->epoll_fd};
	p->tick = (struct loop_timer){.fn = on_tick, .ctx = p};
	if (!loop_add(loop, &p->http_ready, e))
		return NULL;
	loop_at_end(loop, end_turn, p);
	loop_after(loop, &p->tick, 0);
	return p;
}
