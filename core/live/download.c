#include "core/live/download.h"

#include <string.h>

#include "core/json/tree.h"
#include "core/live/masked.h"

enum {
	PIECE_MAX = 65536,
	/* What one piece, and a line that waited for it, may become. */
	ROOM_FOR_PIECE = 4 * PIECE_MAX,
	RETRY_OF_TOKEN = 1
};

struct downloads {
	const struct upstreams *up;
	struct download *first;
	size_t n;
};

struct download {
	struct arena arena; /* the download itself lies in it */
	struct downloads *all;
	struct download *next, *prev;
	struct MHD_Connection *conn;
	const char *user, *target, *request_id;
	struct kube_request request;
	struct net_stream *log;
	struct masked masked;
	struct loop_timer retry;
	int64_t until_ms;
	int tokens; /* that were not taken */
	bool suspended;
	bool begun, over, broken;
	struct err refusal;
	/* Bytes on their way: `len` of them from `at` on, around the end. */
	size_t at, len;
	char buffer[DOWNLOAD_BUFFER];
};

static void proceed(struct download *d)
{
	if (!d->suspended)
		return;
	d->suspended = false;
	MHD_resume_connection(d->conn);
}

static void wait_for_news(struct download *d)
{
	d->suspended = true;
	MHD_suspend_connection(d->conn);
}

static void refuse(struct download *d)
{
	counters_add(d->all->up->counters, LIVE_REFUSED_TOTAL, 1);
	proceed(d);
}

/* --- from the cluster --------------------------------------------------------------- */

static bool put(void *ctx, const char *p, size_t n)
{
	struct download *d = ctx;
	const size_t end = (d->at + d->len) % DOWNLOAD_BUFFER;
	const size_t first = n < DOWNLOAD_BUFFER - end ? n : DOWNLOAD_BUFFER - end;

	if (n > DOWNLOAD_BUFFER - d->len)
		return false;
	memcpy(d->buffer + end, p, first);
	memcpy(d->buffer, p + first, n - first);
	d->len += n;
	return true;
}

static bool on_data(void *ctx, const char *p, size_t n)
{
	struct download *d = ctx;

	if (!masked_feed(&d->masked, p, n)) {
		d->broken = true;
		proceed(d);
		return false;
	}
	if (DOWNLOAD_BUFFER - d->len < ROOM_FOR_PIECE)
		net_stream_pause(d->log);
	proceed(d);
	return true;
}

static void on_begun(void *ctx)
{
	struct download *d = ctx;

	d->begun = true;
	proceed(d);
}

static void send_request(struct download *d);

/* true: it is asked for again. */
static bool try_again(struct download *d, int status)
{
	if (status != 401 || d->tokens++ >= RETRY_OF_TOKEN)
		return false;
	ask_drop_token(d->all->up, d->target);
	send_request(d);
	return true;
}

static void on_done(void *ctx, const struct http_answer *ans, const struct err *e)
{
	struct download *d = ctx;
	struct kube_result res = {0};

	d->log = NULL;
	d->over = true;
	if (d->begun) {
		d->broken = d->broken || e || !masked_end(&d->masked);
		proceed(d);
		return;
	}
	if (e) {
		d->refusal = *e;
	} else if (ans->status >= 200 && ans->status < 300) {
		d->begun = true;
		proceed(d);
		return;
	} else {
		d->over = false;
		if (try_again(d, ans->status))
			return;
		d->over = true;
		kube_parse(&d->request, ans, &d->arena, &res);
		(void)kube_err(&d->request, &res, &d->refusal);
	}
	refuse(d);
}

static void give_up(struct download *d)
{
	d->over = true;
	refuse(d);
}

static void send_request(struct download *d)
{
	const struct net_events events = {on_begun, on_done, d};
	const struct ask q = {.target = d->target,
			      .request = &d->request,
			      .on_data = on_data,
			      .ctx = d,
			      .timeout_ms = DOWNLOAD_MS};
	struct loop *loop = d->all->up->loop;
	struct err *e = &d->refusal;

	d->log = ask_send(d->all->up, &q, &events, e);
	if (d->log)
		return;
	if (e->code == ERR_NONE && loop_now(loop) < d->until_ms) {
		loop_after(loop, &d->retry, ASK_SOON_MS);
		return;
	}
	if (e->code == ERR_NONE)
		err_set(e, ERR_CREDENTIALS, "The token for the cluster is not available");
	give_up(d);
}

static void on_retry(void *ctx)
{
	send_request(ctx);
}

/* --- to the reader ---------------------------------------------------------------------
 */

static ssize_t give(void *ctx, uint64_t pos, char *out, size_t max)
{
	struct download *d = ctx;
	const size_t whole = DOWNLOAD_BUFFER - d->at;
	size_t n = d->len < whole ? d->len : whole;

	(void)pos;
	if (d->broken)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (n == 0 && d->over)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0) {
		wait_for_news(d);
		return 0;
	}
	if (n > max)
		n = max;
	memcpy(out, d->buffer + d->at, n);
	d->at = (d->at + n) % DOWNLOAD_BUFFER;
	d->len -= n;
	counters_add(d->all->up->counters, LIVE_DOWNLOADED_TOTAL, n);
	if (d->log && DOWNLOAD_BUFFER - d->len >= ROOM_FOR_PIECE + PIECE_MAX)
		net_stream_resume(d->log);
	return (ssize_t)n;
}

static struct MHD_Response *problem_of(struct download *d)
{
	const struct err *e = &d->refusal;
	const struct errc_info *info = errc_info(e->code);
	struct arena *a = &d->arena;
	json_t *p = json_packf(
		a, "{s:s, s:s, s:i, s:s, s:s, s:s, s:s}", "type",
		arena_printf(a, "/api/v1/problems/%s", info->slug), "title", info->title,
		"status", info->http_status, "detail", e->detail, "instance",
		arena_printf(a, "urn:instantstart:request:%s", d->request_id), "code",
		info->slug, "retry", retry_word_name(err_retry(e)));
	const char *text;
	struct MHD_Response *r;

	if (*err_fix_text(e))
		json_put_str(p, "fix", err_fix_text(e));
	text = json_text(a, p);
	r = MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
					    MHD_RESPMEM_MUST_COPY);
	MHD_add_response_header(r, "Content-Type", "application/problem+json");
	return r;
}

static struct MHD_Response *log_of(struct download *d)
{
	struct MHD_Response *r = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, PIECE_MAX, give, d, NULL);

	MHD_add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
	/* Names of pods and containers have no character that would need quoting. */
	MHD_add_response_header(r, "Content-Disposition",
				arena_printf(&d->arena,
					     "attachment; filename=\"%s-%s%s.log\"",
					     d->request.name, d->request.container,
					     d->request.previous ? "-previous" : ""));
	counters_add(d->all->up->counters, LIVE_DOWNLOADS_TOTAL, 1);
	return r;
}

enum MHD_Result download_answer(struct download *d)
{
	struct MHD_Response *r = d->begun ? log_of(d) : problem_of(d);
	const unsigned status =
		d->begun ? MHD_HTTP_OK
			 : (unsigned)errc_info(d->refusal.code)->http_status;
	enum MHD_Result ok;

	MHD_add_response_header(r, "Cache-Control", "no-store");
	ok = MHD_queue_response(d->conn, status, r);
	MHD_destroy_response(r);
	return ok;
}

/* --- life
 * --------------------------------------------------------------------------------- */

static size_t of_user(const struct downloads *all, const char *user)
{
	size_t n = 0;

	for (const struct download *d = all->first; d; d = d->next)
		n += streq(d->user, user);
	return n;
}

static bool read_grant(struct download *d, const char *text, struct err *e)
{
	struct arena *a = &d->arena;
	const json_t *g = json_parse(a, str_of(text), e);

	if (!g)
		return false;
	/* The tree lives as long as the arena. */
	d->user = json_str_or(g, "user", "");
	d->target = json_str_or(g, "target", "");
	d->request_id = json_str_or(g, "request", "");
	d->request = (struct kube_request){
		.verb = KUBE_LOG,
		.ns = json_str_or(g, "namespace", ""),
		.name = json_str_or(g, "pod", ""),
		.container = json_str_or(g, "container", ""),
		.previous = json_bool_or(g, "previous", false),
		.timestamps = json_bool_or(g, "timestamps", false),
		.since_time = json_str_at(g, "since"),
	};
	return true;
}

static void add(struct downloads *all, struct download *d)
{
	d->next = all->first;
	if (all->first)
		all->first->prev = d;
	all->first = d;
	counters_set(all->up->counters, LIVE_DOWNLOADS, ++all->n);
}

enum MHD_Result download_begin(struct downloads *all, struct MHD_Connection *conn,
			       void **ret_state)
{
	const char *grant = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "X-Live");
	struct arena arena;
	struct download *d;
	struct err *e;

	arena_init(&arena, 0);
	d = arena_new(&arena, struct download);
	d->arena = arena;
	d->all = all;
	d->conn = conn;
	d->user = d->target = d->request_id = "";
	d->retry = (struct loop_timer){.fn = on_retry, .ctx = d};
	d->until_ms = loop_now(all->up->loop) + DOWNLOAD_BEGIN_MS;
	masked_init(&d->masked, &d->arena, put, d);
	e = &d->refusal;
	*ret_state = d;
	wait_for_news(d);
	if (!read_grant(d, grant, e))
		give_up(d);
	else if (all->n >= DOWNLOADS_MAX || of_user(all, d->user) >= DOWNLOADS_PER_USER) {
		err_set(e, ERR_RATE_LIMITED, "%zu logs are already being downloaded",
			all->n);
		err_fix(e, "Wait until one of the downloads is complete.");
		give_up(d);
	} else {
		send_request(d);
	}
	add(all, d);
	return MHD_YES;
}

void download_end(struct download *d)
{
	struct downloads *all = d->all;
	struct arena arena;

	loop_stop_timer(all->up->loop, &d->retry);
	if (d->log)
		net_stream_close(d->log);
	if (d->prev)
		d->prev->next = d->next;
	else
		all->first = d->next;
	if (d->next)
		d->next->prev = d->prev;
	counters_set(all->up->counters, LIVE_DOWNLOADS, --all->n);
	arena = d->arena;
	arena_free(&arena);
}

size_t downloads_count(const struct downloads *all)
{
	return all->n;
}

void downloads_stop(struct downloads *all)
{
	for (struct download *d = all->first; d; d = d->next) {
		if (!d->begun && !d->over)
			err_set(&d->refusal, ERR_UNAVAILABLE,
				"the server is shutting down");
		d->over = d->broken = true;
		proceed(d);
	}
}

struct downloads *downloads_new(struct arena *a, const struct upstreams *up)
{
	struct downloads *all = arena_new(a, struct downloads);

	all->up = up;
	return all;
}
