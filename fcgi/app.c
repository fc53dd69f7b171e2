#include "fcgi/app.h"

#include <setjmp.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/limits.h"
#include "core/domain/access/access.h"
#include "core/domain/audit.h"
#include "core/json/tree.h"
#include "fcgi/auth.h"
#include "fcgi/documents.h"
#include "fcgi/face.h"
#include "fcgi/http.h"
#include "fcgi/live.h"
#include "fcgi/mcp.h"
#include "fcgi/problem.h"
#include "fcgi/rest.h"
#include "gen/queries.h"

/* Due work that nobody has taken for so long means: no poller is there. */
enum { POLLER_SILENT_MS = 15000, BURST_FACTOR = 8, BYTES_PER_COST = 16384 };

/* One request on its way; `face` and `who` are for the log and the counters. */
struct visit {
	struct app *app;
	struct http_req req;
	struct http_res res;
	struct caller who;
	enum metrics_face face;
};

static void refuse(struct visit *v, const struct err *e)
{
	problem_answer(e, &v->req, STR(""), &v->res);
}

static bool at(const struct http_req *req, size_t n, const char *a, const char *b,
	       const char *c)
{
	return req->n_segments == n && (n < 1 || streq(req->segment[0], a)) &&
	       (n < 2 || streq(req->segment[1], b)) &&
	       (n < 3 || streq(req->segment[2], c));
}

/* With or without the slash that some clients add. */
static bool is_mcp(const struct http_req *req)
{
	return at(req, 1, "mcp", NULL, NULL) || at(req, 2, "mcp", "", NULL);
}

/* Fixed addresses are read only. */
static bool reads_only(struct visit *v)
{
	struct err e = {0};

	if (streq(v->req.method, "GET") || streq(v->req.method, "HEAD"))
		return true;
	err_set(&e, ERR_METHOD_NOT_ALLOWED, "%s does not support %s", v->req.path,
		v->req.method);
	err_field(&e, "", v->req.method, "GET, HEAD");
	refuse(v, &e);
	return false;
}

/* --- the addresses that need no capability -------------------------------- */

static void serve_health(struct visit *v)
{
	v->res.body = STR("{\"status\":\"ok\"}");
}

static void check(json_t *checks, const char *name, bool ok, const char *detail)
{
	json_object_set_new(
		checks, name,
		json_pack("{s:b,s:s*}", "ok", ok, "detail", ok ? NULL : detail));
}

static const char *poller_trouble(struct arena *a, int64_t alive, const char *last)
{
	if (alive > 0)
		return "Operations are due but no poller is running";
	if (!last)
		return "No poller has run yet: start instantstart-poller";
	return arena_printf(a,
			    "No poller has been running since %s: operations wait and "
			    "the catalog is not refreshed. Start instantstart-poller",
			    last);
}

static void serve_ready(struct visit *v)
{
	struct arena *a = v->req.arena;
	json_t *checks = json_new_object(a);
	struct db_rows rows;
	struct err e = {0};
	bool up, writes, schema, poller = false, credentials = true;
	const char *last = NULL;
	int64_t alive = 0;

	up = db_query(v->app->db, a, &Q_journal_overdue, NULL, 0, &rows, &e);
	check(checks, "database", up, e.detail);
	writes = up && db_query(v->app->db, a, &Q_ready_write, NULL, 0, NULL, &e);
	check(checks, "write", writes, e.detail);
	if (up)
		poller = db_int(&rows, 0, "ms") < POLLER_SILENT_MS;
	/* Nothing due is no sign of life: each worker says when it will be heard of. */
	if (up && DB(v->app->db, a, &Q_heartbeat_look, &rows, &e, "poller")) {
		last = db_text(&rows, 0, "last");
		alive = db_int(&rows, 0, "alive");
	}
	schema = up && db_check_schema(v->app->db, a, &e);
	check(checks, "schema", schema, e.detail);
	check(checks, "poller", poller && alive > 0, poller_trouble(a, alive, last));
	poller = poller && alive > 0;
	/* Until the schema is there, nobody has looked. */
	if (schema && db_query(v->app->db, a, &Q_credential_state, NULL, 0, &rows, &e))
		credentials = rows.n == 0 || db_bool(&rows, 0, "valid");
	check(checks, "credentials", credentials,
	      "The AWS credentials are not valid: run instantstart-poller --check to see "
	      "why and what to do");
	v->res.status = up && writes && schema && poller && credentials ? 200 : 503;
	v->res.body = str_of(
		json_text(a, json_packf(a, "{s:s,s:O}", "status",
					v->res.status == 200 ? "ready" : "not ready",
					"checks", checks)));
}

/* What PostgreSQL says is for the log: whoever reads this answer may be anybody. */
static bool known_caller(struct visit *v, struct err *e)
{
	struct app *app = v->app;

	if (auth_caller(app->cfg, app->sessions, app->db, &v->req, &v->who, e))
		return true;
	if (e->n_causes && app->log)
		log_err(app->log, "auth", e);
	e->n_causes = 0;
	return false;
}

static int64_t now_us(void);

/* A large body is as much work as many requests. */
static int64_t cost_of(const struct http_req *req, const char *member)
{
	int64_t bytes;

	if (!str_to_i64(str_of(http_header(req, member)), &bytes) || bytes < 0)
		return 1;
	return 1 + bytes / BYTES_PER_COST;
}

/* Handed on by another worker, a request has been counted there. */
static bool within_budget(struct visit *v, struct err *e)
{
	const struct app *app = v->app;
	const int64_t rate = app->cfg->request_rate;
	int64_t wait_s = 0;

	if (!app->allowance || app->slow || v->req.parked ||
	    allowance_take(app->allowance, v->who.who.id,
			   cost_of(&v->req, "CONTENT_LENGTH"), rate, rate * BURST_FACTOR,
			   now_us(), &wait_s))
		return true;
	http_res_header(&v->res, "Retry-After",
			arena_printf(v->req.arena, "%lld", (long long)wait_s));
	err_set(e, ERR_RATE_LIMITED, "%s sends more than %lld requests per second",
		v->who.who.name, (long long)rate);
	return err_fix(e,
		       "Wait %lld s. To follow an operation, use ?wait= or wait_seconds "
		       "instead of frequent requests.",
		       (long long)wait_s);
}

/*
 * nginx asks before it reads the body of a caller whose address has used up what
 * strangers may, and before a large one: only who is known, and has budget for it, goes
 * on. The request itself takes it.
 */
static void serve_verify(struct visit *v)
{
	const struct app *app = v->app;
	const int64_t rate = app->cfg->request_rate;
	struct err e = {0};
	const bool goes_on =
		known_caller(v, &e) &&
		(!app->allowance || allowance_has(app->allowance, v->who.who.id,
						  cost_of(&v->req, "INSTANTSTART_BYTES"),
						  rate, rate * BURST_FACTOR, now_us()));

	v->res.status = goes_on ? 204 : 403;
}

static bool from_loopback(const struct http_req *req)
{
	const char *from = http_header(req, "REMOTE_ADDR");

	return from && (str_starts(from, "127.") || streq(from, "::1"));
}

static void serve_metrics(struct visit *v)
{
	struct app *app = v->app;
	const int in_line =
		app->line ? line_length(app->line, app->clock->mono_ms(app->clock)) : 0;
	struct err e = {0};
	struct buf out;

	if (!from_loopback(&v->req) && !known_caller(v, &e)) {
		refuse(v, &e);
		return;
	}
	buf_init(&out, v->req.arena, 1 << 20);
	metrics_text(app->metrics, in_line, app->db, app->cfg->run_dir, v->req.arena,
		     &out);
	v->res.type = "text/plain; version=0.0.4; charset=utf-8";
	v->res.body = buf_str(&out);
}

static void set_session(struct visit *v, const char *session)
{
	http_res_header(&v->res, "Cache-Control", "no-store");
	http_res_header(&v->res, "Referrer-Policy", "no-referrer");
	auth_set_session(v->app->cfg, &v->req, &v->res, session);
}

/* false: it did not go well, and e says why. */
static bool audit_login(struct visit *v, bool ok, struct err *e)
{
	struct audit_entry entry = {.face = face_name(FACE_CONSOLE),
				    .principal = v->who.who.id,
				    .capability = "login",
				    .outcome = "done",
				    .request_id = v->req.request_id};
	struct err audit = {0};

	/* Whoever may be anybody fills no table: refused sign-ins are counted. */
	if (!ok) {
		atomic_fetch_add(&v->app->metrics->refused_sign_ins, 1);
		return false;
	}
	if (audit_add(v->app->db, v->req.arena, &entry, &audit))
		return true;
	*e = audit;
	return false;
}

/* A browser that follows an old link is better served by the page to sign in. */
static bool wants_page(const struct visit *v)
{
	const char *accept = http_header(&v->req, "HTTP_ACCEPT");

	return accept && strstr(accept, "text/html");
}

/* The one-time link: a session for the code, then on to the console. */
static void serve_login(struct visit *v)
{
	const char *code = http_query(&v->req, "code"), *session;
	struct err e = {0};
	bool ok;

	/* Only a real visit uses the code up. */
	if (streq(v->req.method, "HEAD"))
		return;
	ok = access_login(v->app->db, v->req.arena, v->app->rng, code ? code : "",
			  &v->who.who, &session, &e);
	if (audit_login(v, ok, &e)) {
		v->res.status = 303;
		http_res_header(&v->res, "Location", "/");
		set_session(v, session);
	} else if (e.code == ERR_UNAUTHENTICATED && wants_page(v)) {
		v->res.status = 303;
		http_res_header(&v->res, "Location", "/sign-in?link=used");
		http_res_header(&v->res, "Cache-Control", "no-store");
	} else {
		if (e.code == ERR_UNAUTHENTICATED)
			err_fix(&e, "A sign-in link works once, within an hour. Run "
				    "instantstart-fcgi --new-login-link on the host to "
				    "create a new one.");
		refuse(v, &e);
	}
}

/* A token in the header: a session for its holder. No page of another origin can
 * send that header here. */
static void serve_token_login(struct visit *v)
{
	const char *sent = http_header(&v->req, "HTTP_AUTHORIZATION"), *session;
	const bool bearer = sent && strncasecmp(sent, "Bearer ", 7) == 0;
	struct arena *a = v->req.arena;
	struct err e = {0};
	bool ok;

	ok = access_login_by_token(v->app->db, a, v->app->rng,
				   bearer ? str_dup(a, str_trim(str_of(sent + 7))) : "",
				   &v->who.who, &session, &e);
	if (!audit_login(v, ok, &e)) {
		refuse(v, &e);
		return;
	}
	set_session(v, session);
	v->res.body = STR("{\"signed_in\":true}");
}

static void serve_openapi(struct visit *v)
{
	const struct documents *docs = v->app->docs;
	const char *etag = arena_printf(v->req.arena, "\"%s\"", docs->openapi_etag);

	http_res_header(&v->res, "ETag", etag);
	http_res_header(&v->res, "Cache-Control", "no-cache");
	if (streq(http_header(&v->req, "HTTP_IF_NONE_MATCH"), etag))
		v->res.status = 304;
	else
		v->res.body = docs->openapi;
}

static void serve_problems(struct visit *v, const char *slug)
{
	struct err e = {0};

	if (!problem_explain(slug, v->req.arena, &v->res.body, &e))
		refuse(v, &e);
}

/* true: it was one of them. */
static bool serve_open(struct visit *v)
{
	const struct http_req *req = &v->req;
	const bool problem = req->n_segments == 4 && streq(req->segment[0], "api") &&
			     streq(req->segment[1], "v1") &&
			     streq(req->segment[2], "problems");
	void (*serve)(struct visit *) = NULL;

	if (at(req, 1, "healthz", NULL, NULL))
		serve = serve_health;
	else if (at(req, 1, "readyz", NULL, NULL))
		serve = serve_ready;
	else if (at(req, 1, "metrics", NULL, NULL))
		serve = serve_metrics;
	else if (at(req, 1, "login", NULL, NULL))
		serve = serve_login;
	else if (at(req, 3, "api", "v1", "openapi.json"))
		serve = serve_openapi;
	else if (!problem && !at(req, 3, "api", "v1", "problems"))
		return false;
	if (serve == serve_login && streq(req->method, "POST")) {
		serve_token_login(v);
		return true;
	}
	if (!reads_only(v))
		return true;
	if (serve)
		serve(v);
	else
		serve_problems(v, problem ? req->segment[3] : NULL);
	return true;
}

/* --- one request ----------------------------------------------------------- */

static void serve(struct visit *v)
{
	struct app *app = v->app;
	struct err e = {0};
	const bool probe = at(&v->req, 1, "healthz", NULL, NULL) ||
			   at(&v->req, 1, "readyz", NULL, NULL);

	/* Probes come with whatever Host their caller has. */
	if (!probe && !auth_check_host(app->cfg, &v->req, &e)) {
		refuse(v, &e);
		return;
	}
	if (http_header(&v->req, "INSTANTSTART_VERIFY")) {
		serve_verify(v);
		return;
	}
	if (serve_open(v))
		return;
	if (v->req.n_segments > 0 && streq(v->req.segment[0], "ws")) {
		live_authorise(app, &v->req, &v->who, &v->res);
		return;
	}
	v->face = is_mcp(&v->req) ? METRICS_MCP : METRICS_REST;
	if (!known_caller(v, &e) || !within_budget(v, &e)) {
		refuse(v, &e);
		return;
	}
	if (v->who.by_cookie)
		v->face = METRICS_CONSOLE;
	if (!is_mcp(&v->req))
		rest_serve(app, &v->req, &v->who, &v->res);
	else if (!auth_check_csrf(&v->who, &v->req, &e))
		refuse(v, &e);
	else
		mcp_serve(app, &v->req, &v->who, &v->res);
}

/* Finer than the clock seam; it only measures, nothing depends on it. */
static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void account(const struct visit *v, int64_t began_us)
{
	static const char *const faces[] = {"rest", "mcp", "console", "other"};
	const int64_t us = now_us() - began_us;

	metrics_request(v->app->metrics, v->face, v->res.status, us);
	if (v->app->log)
		log_info(v->app->log, "request", LOG_S("request", v->req.request_id),
			 LOG_S("face", faces[v->face]), LOG_S("method", v->req.method),
			 LOG_S("path", v->req.path), LOG_N("status", v->res.status),
			 LOG_S("who", v->who.who.id), LOG_N("us", us));
}

/*
 * nginx's own question, before it serves: it takes a yes, 401 or 403, and makes an error
 * of the server's out of everything else, such as an address that cannot be read.
 */
static void answer_asked(struct visit *v, struct arena *a)
{
	const int status = v->res.status;

	if (http_header(&v->req, "INSTANTSTART_ASKED") && status / 100 != 2 &&
	    status != 401) {
		http_res_header(&v->res, "X-Status", arena_printf(a, "%d", status));
		v->res.status = 403;
	}
}

static void serve_one(struct app *app, struct arena *a, struct conn *c)
{
	const int64_t began_us = now_us();
	struct visit v = {.app = app, .face = METRICS_OTHER};
	struct err e = {0};

	app->late = false;
	/* Whoever asks the cloud for longer says so; nobody has the limit of another. */
	face_limit(app, c, app->cfg->read_deadline_ms);
	http_res_init(&v.res, a);
	if (http_read(c, a, &v.req, &e))
		serve(&v);
	else
		refuse(&v, &e);
	answer_asked(&v, a);
	http_send(&v.req, &v.res);
	account(&v, began_us);
}

/*
 * A request that has used up its memory has ended wherever it was, before a byte of
 * its answer left. Its connection to the database may be in the middle of a
 * statement: the next request opens another.
 */
static void serve_exhausted(struct app *app, struct arena *a, struct conn *c)
{
	const int64_t began_us = now_us();
	struct visit v = {.app = app, .face = METRICS_OTHER};
	struct err e = {0};
	bool read;

	db_close(app->db);
	http_res_init(&v.res, a);
	if (http_read(c, a, &v.req, &e)) {
		read = streq(v.req.method, "GET") || streq(v.req.method, "HEAD");
		err_set(&e, read ? ERR_TOO_LARGE : ERR_INTERNAL,
			"The request needs more memory than one request can use (%d "
			"MiB)",
			LIMIT_ARENA / 1024 / 1024);
		err_fix(&e, "%s",
			read ? "Use a filter or a smaller limit."
			     : "Read the resource to check whether the change was made. "
			       "Then send less in one request, or repeat with the same "
			       "Idempotency-Key.");
	}
	refuse(&v, &e);
	answer_asked(&v, a);
	http_send(&v.req, &v.res);
	account(&v, began_us);
}

void app_serve(struct app *app, struct arena *a, struct conn *c)
{
	jmp_buf escape;

	a->escape = &escape;
	if (setjmp(escape) == 0) {
		serve_one(app, a, c);
		a->escape = NULL;
		return;
	}
	a->escape = NULL;
	arena_reset(a);
	serve_exhausted(app, a, c);
}
