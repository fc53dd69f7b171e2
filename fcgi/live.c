#include "fcgi/live.h"

#include <string.h>

#include "core/domain/access/access.h"
#include "core/domain/pod/pod.h"
#include "core/json/tree.h"
#include "fcgi/face.h"
#include "fcgi/problem.h"

enum close_code {
	CLOSE_LATER = 1013, /* "try again later" */
	CLOSE_UNAUTHENTICATED = 4401,
	CLOSE_FORBIDDEN = 4403,
	CLOSE_NOT_FOUND = 4404,
};

static enum close_code code_of(const struct err *e)
{
	switch (errc_info(e->code)->http_status) {
	case 401:
		return CLOSE_UNAUTHENTICATED;
	case 403:
		return CLOSE_FORBIDDEN;
	case 400:
	case 404:
		return CLOSE_NOT_FOUND;
	default:
		return CLOSE_LATER;
	}
}

/* A close frame holds 123 bytes; the header has to be ASCII. */
static const char *words_of(const struct err *e, struct arena *a)
{
	const char *text = e->n_violations ? e->violations[0].detail : e->detail;
	char *words = arena_strndup(a, text, 110);

	for (char *c = words; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
			*c = '?';
	return words;
}

static json_t *refusal(const struct err *e, struct arena *a)
{
	return json_packf(a, "{s:i, s:s}", "refuse", (int)code_of(e), "why",
			  words_of(e, a));
}

/* What comes with a cookie must be our own page: same host, same port. */
static bool check_origin(const struct caller *who, const struct http_req *req,
			 struct err *e)
{
	struct http_req as_change = *req;

	as_change.method = "POST";
	return auth_check_csrf(who, &as_change, e);
}

static json_t *query_of(const struct http_req *req, const struct field *fields)
{
	json_t *in = json_new_object(req->arena);

	for (size_t i = 0; i < req->n_query; i++) {
		const struct field *f = field_find(fields, req->query[i].name);
		const char *value = req->query[i].value;

		/* previous=1 is what a person types. */
		if (f && f->type == FIELD_BOOL && streq(value, "1"))
			value = "true";
		json_object_set_new(in, req->query[i].name,
				    f ? field_from_text(f, value) : json_string(value));
	}
	return in;
}

static bool follows(const struct http_req *req, const char *what)
{
	return req->n_segments == 2 && streq(req->segment[1], what);
}

/* Where the cluster is may have to be read. */
static bool asks_cloud(const struct http_req *req)
{
	return follows(req, "logs");
}

static bool grant(struct app *app, const struct http_req *req, const struct caller *who,
		  json_t **ret, struct err *e)
{
	static const struct capability stream = {.name = "follow", .role = ROLE_VIEWER};
	struct call c = {.arena = req->arena,
			 .db = app->db,
			 .cloud = app->cloud,
			 .cfg = app->cfg,
			 .where = app->where,
			 .clock = app->clock,
			 .rng = app->rng,
			 .cap = &stream,
			 .who = &who->who,
			 .face = who->by_cookie ? FACE_CONSOLE : FACE_REST,
			 .request_id = req->request_id,
			 .until_ms = face_until(app, app->cfg->read_deadline_ms)};

	if (!capability_check_role(&c, e))
		return false;
	if (follows(req, "events"))
		return events_follow(&c, query_of(req, events_follow_in), ret, e);
	if (follows(req, "logs"))
		return pod_follow(&c, query_of(req, pod_follow_in), ret, e);
	return err_set(e, ERR_NO_SUCH_ROUTE, "There is no resource at %s", req->path);
}

/* Lets instantstart-live see later whether the session is still good. */
static void add_caller(json_t *g, const struct http_req *req, const struct caller *who)
{
	const char *sent = http_header(req, "HTTP_AUTHORIZATION");
	const char *secret = who->by_cookie
				     ? who->session
				     : str_dup(req->arena, str_trim(str_of(sent + 7)));

	json_put_str(g, "user", who->who.id);
	json_put_bool(g, "api", !who->by_cookie);
	json_put_str(g, "session", access_hash(secret, req->arena));
}

void live_authorise(struct app *app, const struct http_req *req, struct caller *who,
		    struct http_res *res)
{
	struct err e = {0};
	json_t *g = NULL;
	const bool known = auth_caller(app->cfg, app->sessions, app->db, req, who, &e);

	if (known && !check_origin(who, req, &e)) {
		problem_answer(&e, req, STR(""), res);
		return;
	}
	if (known && asks_cloud(req) && !app->slow &&
	    face_join_line(app, req, who, (int)app->cfg->slow_per_user,
			   app->cfg->read_deadline_ms, "@slow_live", res, &e))
		return;
	if (known && !e.code &&
	    !(app->slow && face_comes_too_late(app, req->conn, true,
					       app->cfg->read_deadline_ms, &e)) &&
	    grant(app, req, who, &g, &e))
		add_caller(g, req, who);
	else
		g = refusal(&e, req->arena);
	res->status = 204;
	http_res_header(res, "X-Live", json_text(req->arena, g));
}
