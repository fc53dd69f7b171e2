#include "fcgi/face.h"

#include <string.h>

#include "core/domain/access/access.h"

/* Of a plan: below the 60 seconds of nginx. Of one exchange: who is silent for so long
 * is not worth the wait of those behind. */
enum { PLAN_MS = 50000, EXCHANGE_MS = 8000 };

static enum face_outcome hand_on(struct http_res *res, const char *where)
{
	res->status = 200;
	res->body = (struct str){"", 0};
	http_res_header(res, "X-Accel-Redirect", where);
	return FACE_HANDED_ON;
}

static enum face_outcome park(const struct face_call *f, const struct reply *reply,
			      struct http_res *res)
{
	atomic_fetch_add(&f->app->metrics->parked, 1);
	http_res_header(res, "X-Park",
			arena_printf(f->req->arena, "%s %lld %lld %.16s", reply->park_op,
				     (long long)reply->park_version,
				     (long long)reply->park_s,
				     access_hash(f->who->who.id, f->req->arena)));
	return hand_on(res, "@park");
}

static enum face_outcome stream(const struct reply *reply, struct http_res *res)
{
	http_res_header(res, "X-Live", reply->stream);
	return hand_on(res, "@download");
}

/* W3C trace context, version 00; anything else is left alone. */
static const char *traceparent(const struct http_req *req)
{
	static const char shape[] =
		"00-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
	const char *sent = http_header(req, "HTTP_TRACEPARENT");

	if (!sent || strlen(sent) != sizeof(shape) - 1)
		return NULL;
	for (size_t i = 0; shape[i]; i++)
		if (shape[i] == 'x' ? !strchr("0123456789abcdef", sent[i])
				    : sent[i] != shape[i])
			return NULL;
	return sent;
}

/* A request's time runs from its arrival: while it waits for a worker, too. */
int64_t face_until(const struct app *app, int64_t ms)
{
	return (app->arrived_ms ? app->arrived_ms : app->clock->mono_ms(app->clock)) + ms;
}

static struct call call_of(const struct face_call *f, const json_t *all)
{
	const struct app *app = f->app;

	return (struct call){
		.until_ms = face_until(app, app->cfg->read_deadline_ms),
		.arena = f->req->arena,
		.db = app->db,
		.cloud = app->cloud,
		.cfg = app->cfg,
		.where = app->where,
		.clock = app->clock,
		.rng = app->rng,
		.cap = f->cap,
		.who = &f->who->who,
		.face = f->face,
		.opt.traceparent = traceparent(f->req),
		.raw = all,
		.request_id = f->req->request_id,
		.session = f->who->session,
	};
}

bool face_check_role(const struct face_call *f, struct err *e)
{
	const struct call c = call_of(f, NULL);

	return capability_check_role(&c, e);
}

void face_audit(const struct face_call *f, const json_t *all, struct err *e)
{
	struct call c = call_of(f, all);
	struct err audit = {0};

	/* The caller must learn of the first fault, not of this one. */
	if (capability_mutates(f->cap) && !call_audit(&c, "refused", e, &audit))
		err_because(e, "audit", errc_info(audit.code)->slug, audit.detail, NULL);
}

/*
 * Until a poller or a slow worker has asked, the account is not known. Whoever
 * makes names from it or asks the cloud has to wait for that; others have not.
 */
static bool needs_account(const struct face_call *f)
{
	return f->cap->flags & (CAP_LONG | CAP_CLOUD) && !f->app->where->account;
}

/* A plan may take longer: it has a limit of its own below this one. */
static int64_t deadline_ms(const struct face_call *f)
{
	return capability_mutates(f->cap) ? PLAN_MS : f->app->cfg->read_deadline_ms;
}

bool face_join_line(struct app *app, const struct http_req *req, const struct caller *who,
		    int per_user, int64_t ms, const char *where, struct http_res *res,
		    struct err *e)
{
	const struct line_rule rule = {.workers = (int)app->cfg->slow_workers,
				       .per_user = per_user,
				       .wait_ms = app->cfg->read_deadline_ms,
				       .deadline_ms = ms};

	if (app->line && !line_join(app->line, &rule, who->who.id, req->request_id,
				    app->clock->mono_ms(app->clock), e))
		return false;
	atomic_fetch_add(&app->metrics->slow, 1);
	hand_on(res, where);
	return true;
}

/*
 * Who only waits for the account asks the cloud nothing of its own: a click that is
 * repeated at the first start of all is one cluster, too, and not one too many.
 */
static int places_of(const struct face_call *f, bool asks)
{
	return asks ? (int)f->app->cfg->slow_per_user : LINE_PLACES / 2;
}

static bool has_gone(void *ctx)
{
	struct conn *c = ctx;

	return c->gone && c->gone(c);
}

void face_limit(const struct app *app, struct conn *c, int64_t ms)
{
	if (app->limit)
		net_limit_set(app->limit, face_until(app, ms), has_gone, c);
	if (app->limit)
		app->limit->exchange_ms = EXCHANGE_MS;
}

bool face_comes_too_late(struct app *app, struct conn *conn, bool reads, int64_t ms,
			 struct err *e)
{
	if (reads && has_gone(conn))
		err_set(e, ERR_DEADLINE, "The client has closed the connection");
	else if (app->clock->mono_ms(app->clock) < face_until(app, ms))
		return false;
	else {
		err_set(e, ERR_DEADLINE,
			"no worker was free for this request within %lld s; nothing was "
			"done",
			(long long)(ms / 1000));
		err_fix(e, "Repeat the request later. The cloud answers slowly now.");
	}
	app->late = true;
	return true;
}

enum face_outcome face_invoke(const struct face_call *f, const json_t *all,
			      const char *if_match, const char *if_none_match,
			      struct reply *reply, struct http_res *res, struct err *e)
{
	struct app *app = f->app;
	struct call c = call_of(f, all);
	json_t *in;
	bool asks;

	c.opt.if_match = if_match;
	c.opt.if_none_match = if_none_match;
	*reply = (struct reply){.status = 200};
	/* Before anything is asked of anybody for this caller. */
	if (!capability_check_role(&c, e) ||
	    !capability_split(f->cap, all, f->face == FACE_MCP, c.arena, &in, &c.opt,
			      e)) {
		face_audit(f, all, e);
		return FACE_REFUSED;
	}
	c.raw = in;
	asks = capability_is_slow(f->cap, &c.opt) ||
	       json_is_true(json_object_get(in, "fresh"));
	if (!app->slow && (asks || needs_account(f))) {
		if (face_join_line(app, f->req, f->who, places_of(f, asks),
				   deadline_ms(f), "@slow", res, e))
			return FACE_HANDED_ON;
		face_audit(f, all, e);
		return FACE_REFUSED;
	}
	if (app->slow && face_comes_too_late(app, f->req->conn,
					     !capability_mutates(f->cap) || c.opt.dry_run,
					     deadline_ms(f), e)) {
		face_audit(f, all, e);
		return FACE_REFUSED;
	}
	face_limit(app, f->req->conn, deadline_ms(f));
	if (needs_account(f) && !app->locate(app->locate_ctx, e)) {
		face_audit(f, all, e);
		return FACE_REFUSED;
	}
	if (!capability_invoke(&c, in, reply, e))
		return FACE_REFUSED;
	/* A change that is no operation may be one of access. */
	if (capability_mutates(f->cap) && !(f->cap->flags & CAP_LONG))
		sessions_forget(app->sessions);
	if (reply->park_op && !f->req->parked)
		return park(f, reply, res);
	if (reply->stream)
		return stream(reply, res);
	if (app->seen)
		app->seen(app->seen_ctx, f->cap, reply);
	return FACE_ANSWERED;
}
