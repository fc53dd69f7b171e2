#include "fcgi/rest.h"

#include <string.h>

#include "core/base/limits.h"
#include "core/json/tree.h"
#include "fcgi/face.h"
#include "fcgi/problem.h"
#include "fcgi/route.h"

/* The input as it is gathered, and what was wrong with where things stood. */
struct gather {
	const struct http_req *req;
	const struct capability *cap;
	json_t *in;
	struct violation *faults; /* LIMIT_VIOLATIONS of them, or NULL */
	size_t n_faults;
};

static void fault(struct gather *g, const char *name, const char *seen,
		  const char *detail, const char *expected)
{
	struct violation *v;

	if (!g->faults)
		g->faults =
			arena_array(g->req->arena, struct violation, LIMIT_VIOLATIONS);
	if (g->n_faults == LIMIT_VIOLATIONS)
		return;
	v = &g->faults[g->n_faults++];
	str_copy(v->field, sizeof(v->field), arena_printf(g->req->arena, "/%s", name));
	str_copy(v->detail, sizeof(v->detail), detail);
	str_copy(v->seen, sizeof(v->seen), seen);
	str_copy(v->expected, sizeof(v->expected), expected);
}

static bool reads(const struct http_req *req)
{
	return streq(req->method, "GET") || streq(req->method, "HEAD");
}

static const struct field *own_field(const struct capability *cap, const char *name)
{
	return cap->in ? field_find(cap->in, name) : NULL;
}

static void gather_path(struct gather *g, const struct route *r)
{
	for (size_t i = 0; i < r->n_members; i++) {
		const struct field *f = own_field(g->cap, r->member[i].name);

		/* A path member without a descriptor would be dropped silently. */
		if (f)
			json_object_set_new(g->in, f->name,
					    field_from_text(f, r->member[i].value));
	}
}

/* A list may come as "a,b" or, as OpenAPI has it, by repeating the parameter. */
static bool goes_on(struct gather *g, const struct field *own, const struct http_pair *p)
{
	json_t *have = json_object_get(g->in, p->name);
	json_t *more;
	bool before = false;

	for (const struct http_pair *q = g->req->query; q < p; q++)
		before = before || streq(q->name, p->name);
	if (!before || !own || own->type != FIELD_STRS || !json_is_array(have))
		return false;
	more = field_from_text(own, p->value);
	json_array_extend(have, more);
	json_decref(more);
	return true;
}

/* One parameter. What is unknown goes along: the decoder refuses it by name. */
static void gather_parameter(struct gather *g, const struct http_pair *p)
{
	const bool wait = g->cap->flags & CAP_WAITS && streq(p->name, "wait");
	const char *name = wait ? "wait_seconds" : p->name;
	const struct field *f = field_find(capability_options(g->cap), name);
	const struct field *own = own_field(g->cap, name);

	if (own && own->flags & FIELD_PATH)
		fault(g, name, p->value, "This comes from the path of the URL", "");
	else if (goes_on(g, own, p))
		return;
	else if (json_object_get(g->in, name))
		fault(g, name, p->value, "This parameter is set twice", "once");
	else if (f && !(f->flags & FIELD_QUERY))
		fault(g, name, p->value, "This comes as a header", "Idempotency-Key");
	else if (own && !reads(g->req) && !(own->flags & FIELD_QUERY))
		fault(g, name, p->value, "This comes in the body",
		      "a member of the body");
	else
		json_object_set_new(g->in, name,
				    f || own ? field_from_text(f ? f : own, p->value)
					     : json_string(p->value));
}

static bool gather_body(struct gather *g, struct err *e)
{
	struct str text;
	const char *key;
	json_t *body, *value;

	if (!http_body(g->req, &text, e))
		return false;
	if (reads(g->req) || text.n == 0)
		return true;
	if (!http_has_type(g->req, "application/json")) {
		const char *sent = http_header(g->req, "CONTENT_TYPE");

		err_set(e, ERR_UNSUPPORTED_MEDIA, "The body must be JSON");
		return err_field(e, "", sent ? sent : "",
				 "Content-Type: application/json");
	}
	body = json_parse_request(g->req->arena, text, e);
	if (!body)
		return false;
	if (!json_is_object(body)) {
		err_set(e, ERR_INVALID_INPUT, "The body must be a JSON object");
		return err_field(e, "", "", "{…}");
	}
	json_object_foreach(body, key, value) {
		const struct field *own = own_field(g->cap, key);

		if (field_find(capability_options(g->cap), key))
			fault(g, key, "", "This does not belong in the body",
			      streq(key, "idempotency_key") ? "the header Idempotency-Key"
							    : "a query parameter");
		else if (own && own->flags & FIELD_PATH)
			fault(g, key, "", "This comes from the path of the URL", "");
		else if (json_object_get(g->in, key))
			fault(g, key, "", "This is already in the query", "once");
		else
			json_object_set(g->in, key, value);
	}
	return true;
}

static bool gather_input(struct gather *g, struct err *e)
{
	const char *key;

	for (size_t i = 0; i < g->req->n_query; i++)
		gather_parameter(g, &g->req->query[i]);
	if (!gather_body(g, e) || !http_idempotency_key(g->req, &key, e))
		return false;
	if (key && capability_mutates(g->cap))
		json_object_set_new(g->in, "idempotency_key", json_string(key));
	if (g->n_faults == 0)
		return true;
	err_set(e, ERR_INVALID_INPUT, "%s: %s", g->faults[0].field, g->faults[0].detail);
	err_field(e, g->faults[0].field, g->faults[0].seen, g->faults[0].expected);
	e->violations = g->faults;
	e->n_violations = g->n_faults;
	return false;
}

/* The tag between quotes of an If-Match or If-None-Match with one tag. */
static const char *tag_of(const struct http_req *req, const char *header)
{
	struct str v = str_trim(str_of(http_header(req, header)));

	if (str_has_prefix(v, STR("W/")))
		v = (struct str){v.p + 2, v.n - 2};
	if (v.n >= 2 && v.p[0] == '"' && v.p[v.n - 1] == '"')
		v = (struct str){v.p + 1, v.n - 2};
	return v.n ? str_dup(req->arena, v) : NULL;
}

static bool is_fresh(const struct http_req *req, const char *etag)
{
	struct str rest = str_of(http_header(req, "HTTP_IF_NONE_MATCH"));

	while (rest.p && rest.n) {
		struct str one = str_trim(str_cut(&rest, ','));

		if (str_is(one, "*"))
			return true;
		if (str_has_prefix(one, STR("W/")))
			one = (struct str){one.p + 2, one.n - 2};
		if (one.n == strlen(etag) + 2 && one.p[0] == '"' &&
		    memcmp(one.p + 1, etag, one.n - 2) == 0)
			return true;
	}
	return false;
}

static void answer(const struct config *cfg, const struct http_req *req,
		   const struct reply *r, struct http_res *res)
{
	struct arena *a = req->arena;

	res->status = r->status;
	res->body = r->json;
	http_res_header(res, "Cache-Control", "no-store");
	if (r->etag)
		http_res_header(res, "ETag", arena_printf(a, "\"%s\"", r->etag));
	if (r->etag && r->status == 200 && reads(req) && is_fresh(req, r->etag)) {
		res->status = 304;
		res->body = (struct str){"", 0};
	}
	if (r->location) {
		http_res_header(res, "Location", r->location);
		if (str_starts(r->location, "/api/v1/operations/"))
			http_res_header(res, "Operation-Location", r->location);
	}
	if (r->retry_after_s > 0)
		http_res_header(res, "Retry-After",
				arena_printf(a, "%d", r->retry_after_s));
	if (r->ends_session)
		auth_set_session(cfg, req, res, NULL);
}

static void shorten(char *text)
{
	char *at = strstr(text, "/wait_seconds");

	if (at)
		memmove(at + strlen("/wait"), at + strlen("/wait_seconds"),
			strlen(at + strlen("/wait_seconds")) + 1);
}

/* A refusal names the parameter as it was sent: MCP's wait_seconds is wait here. */
static void name_as_sent(const struct capability *cap, struct arena *a, struct err *e)
{
	struct violation *v;

	if (!(cap->flags & CAP_WAITS) || e->n_violations == 0)
		return;
	v = arena_array(a, struct violation, e->n_violations);
	for (size_t i = 0; i < e->n_violations; i++) {
		v[i] = e->violations[i];
		shorten(v[i].field);
	}
	e->violations = v;
	shorten(e->field);
	shorten(e->detail);
}

/* Said before anything is done: a change whose answer nobody takes is not begun. */
static bool check_accept(const struct http_req *req, const struct capability *cap,
			 struct err *e)
{
	const char *type = cap->flags & CAP_TEXT ? "text/plain" : "application/json";

	if (http_accepts(req, type) || http_accepts(req, "application/problem+json"))
		return true;
	err_set(e, ERR_NOT_ACCEPTABLE, "%s returns %s", cap->name, type);
	return err_field(e, "", http_header(req, "HTTP_ACCEPT"), type);
}

void rest_serve(struct app *app, const struct http_req *req, const struct caller *who,
		struct http_res *res)
{
	struct gather g = {.req = req, .in = json_new_object(req->arena)};
	struct reply reply = {0};
	struct err e = {0};
	struct route r = {0};
	struct face_call f = {.app = app, .req = req, .who = who};

	f.face = who->by_cookie ? FACE_CONSOLE : FACE_REST;
	if (!route_find(app->table, req, &r, &e)) {
		problem_answer(&e, req, reply.json, res);
		return;
	}
	g.cap = f.cap = r.cap;
	gather_path(&g, &r);
	/* The body of whoever may not call this is not even read. */
	if (!auth_check_csrf(who, req, &e) || !face_check_role(&f, &e) ||
	    !check_accept(req, r.cap, &e) || !gather_input(&g, &e)) {
		face_audit(&f, g.in, &e);
		problem_answer(&e, req, reply.json, res);
		return;
	}
	switch (face_invoke(&f, g.in, tag_of(req, "HTTP_IF_MATCH"),
			    tag_of(req, "HTTP_IF_NONE_MATCH"), &reply, res, &e)) {
	case FACE_ANSWERED:
		answer(app->cfg, req, &reply, res);
		break;
	case FACE_REFUSED:
		name_as_sent(r.cap, req->arena, &e);
		problem_answer(&e, req, reply.json, res);
		break;
	case FACE_HANDED_ON:
		break;
	}
}
