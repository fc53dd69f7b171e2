/* Requests from a table instead of nginx: HTTP, routing, problems, envelopes. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/json/tree.h"
#include "fcgi/app.h"
#include "fcgi/auth.h"
#include "fcgi/documents.h"
#include "fcgi/http.h"
#include "fcgi/mcp.h"
#include "fcgi/problem.h"
#include "fcgi/route.h"
#include "fcgi/rpc.h"

struct fake {
	struct conn conn;
	struct http_pair params[12];
	const char *body;
	size_t at;
	char out[65536];
	size_t n_out;
};

static const char *fake_param(struct conn *c, const char *name)
{
	struct fake *f = (struct fake *)c;

	for (size_t i = 0; i < 12 && f->params[i].name; i++)
		if (streq(f->params[i].name, name))
			return f->params[i].value;
	return NULL;
}

/* Three bytes at a time: nobody may count on getting all at once. */
static size_t fake_read(struct conn *c, void *p, size_t n)
{
	struct fake *f = (struct fake *)c;
	size_t left = f->body ? strlen(f->body) - f->at : 0;

	if (left > n)
		left = n;
	if (left > 3)
		left = 3;
	if (left)
		memcpy(p, f->body + f->at, left);
	f->at += left;
	return left;
}

static void fake_write(struct conn *c, const void *p, size_t n)
{
	struct fake *f = (struct fake *)c;

	cr_assert(f->n_out + n < sizeof(f->out));
	memcpy(f->out + f->n_out, p, n);
	f->n_out += n;
	f->out[f->n_out] = '\0';
}

static void fake_init(struct fake *f, const char *method, const char *uri)
{
	*f = (struct fake){.conn = {fake_param, fake_read, fake_write}};
	f->params[0] = (struct http_pair){"REQUEST_METHOD", method};
	f->params[1] = (struct http_pair){"REQUEST_URI", uri};
	f->params[2] = (struct http_pair){"CONTENT_TYPE", "application/json"};
}

static void fake_set(struct fake *f, const char *name, const char *value)
{
	size_t i = 0;

	while (f->params[i].name && !streq(f->params[i].name, name))
		i++;
	f->params[i] = (struct http_pair){name, value};
}

Test(fcgi_request, addresses)
{
	static const struct {
		const char *uri;
		enum errc code;
		const char *segments; /* joined by "|" */
		const char *query;    /* name=value joined by "|" */
	} rows[] = {
		{"/", ERR_NONE, "", ""},
		{"/a/b?x=1&y=%20z+w", ERR_NONE, "a|b", "x=1|y= z w"},
		{"/a%2Fb/c", ERR_NONE, "a/b|c", ""},
		{"/a/", ERR_NONE, "a|", ""},
		{"/a?x", ERR_NONE, "a", "x="},
		{"/a?&&x=1=2", ERR_NONE, "a", "x=1=2"},
		{"/%c3%a4", ERR_NONE, "\xc3\xa4", ""},
		{"/%ff", ERR_MALFORMED, NULL, NULL},
		{"/%c0%80", ERR_MALFORMED, NULL, NULL},
		{"/%00", ERR_MALFORMED, NULL, NULL},
		{"/%4", ERR_MALFORMED, NULL, NULL},
		{"/%zz", ERR_MALFORMED, NULL, NULL},
		{"/a?x=%ff", ERR_MALFORMED, NULL, NULL},
		/* nginx, or a proxy before it, would read other addresses here. */
		{"//a", ERR_MALFORMED, NULL, NULL},
		{"/a//b", ERR_MALFORMED, NULL, NULL},
		{"/a/./b", ERR_MALFORMED, NULL, NULL},
		{"/a/../b", ERR_MALFORMED, NULL, NULL},
		{"/a/%2e%2e/b", ERR_MALFORMED, NULL, NULL},
		{"/a/%2E./b", ERR_MALFORMED, NULL, NULL},
		{"/a/..", ERR_MALFORMED, NULL, NULL},
		{"/a\\b", ERR_MALFORMED, NULL, NULL},
		{"/a/%5c..%5cb", ERR_MALFORMED, NULL, NULL},
		{"/a/...", ERR_NONE, "a|...", ""},
		{"/1/2/3/4/5/6/7/8/9/10/11/12/13", ERR_NO_SUCH_ROUTE, NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_req req;
		struct err e = {0};
		struct arena a;
		struct fake f;
		struct buf b;

		arena_init(&a, 0);
		fake_init(&f, "GET", rows[i].uri);
		cr_expect_eq(http_read(&f.conn, &a, &req, &e), rows[i].code == ERR_NONE,
			     "%s", rows[i].uri);
		cr_expect_eq(e.code, rows[i].code, "%s", rows[i].uri);
		if (rows[i].segments) {
			buf_init(&b, &a, 4096);
			for (size_t s = 0; s < req.n_segments; s++)
				buf_printf(&b, "%s%s", s ? "|" : "", req.segment[s]);
			cr_expect_str_eq(buf_cstr(&b), rows[i].segments);
			buf_init(&b, &a, 4096);
			for (size_t s = 0; s < req.n_query; s++)
				buf_printf(&b, "%s%s=%s", s ? "|" : "", req.query[s].name,
					   req.query[s].value);
			cr_expect_str_eq(buf_cstr(&b), rows[i].query);
		}
		arena_free(&a);
	}
}

Test(fcgi_request, bodies_headers_and_answers)
{
	char *big = malloc(LIMIT_REQUEST_BODY + 2);
	struct http_req req;
	struct http_res res;
	struct err e = {0};
	struct arena a;
	struct str body;
	struct fake f;

	arena_init(&a, 0);
	fake_init(&f, "POST", "/x");
	fake_set(&f, "HTTP_COOKIE", "a=1; instantstart_session=iss_x; b=2");
	fake_set(&f, "CONTENT_TYPE", "Application/JSON ; charset=utf-8");
	f.body = "{\"a\":1}";
	cr_assert(http_read(&f.conn, &a, &req, &e));
	cr_assert(http_body(&req, &body, &e));
	cr_expect(str_is(body, "{\"a\":1}"));
	/* As shells of Windows send it. */
	f.body = "\xEF\xBB\xBF{\"a\":1}";
	f.at = 0;
	cr_assert(http_body(&req, &body, &e));
	cr_expect(str_is(body, "{\"a\":1}"));
	cr_expect_str_eq(http_cookie(&req, "instantstart_session"), "iss_x");
	cr_expect_null(http_cookie(&req, "session"));
	cr_expect(http_has_type(&req, "application/json"));
	cr_expect_not(http_has_type(&req, "application/jso"));
	/* What is longer than told, and what is told to be longer. */
	memset(big, 'x', LIMIT_REQUEST_BODY + 1);
	big[LIMIT_REQUEST_BODY + 1] = '\0';
	f.body = big;
	f.at = 0;
	cr_expect_not(http_body(&req, &body, &e));
	cr_expect_eq(e.code, ERR_TOO_LARGE);
	fake_set(&f, "CONTENT_LENGTH", "1048577");
	cr_expect_not(http_body(&req, &body, &e));
	/* A value cannot end its header. */
	http_res_init(&res, &a);
	http_res_header(&res, "Location", "/x\r\nSet-Cookie: evil");
	res.status = 202;
	http_send(&req, &res);
	cr_expect_str_eq(f.out, "Status: 202 Accepted\r\nContent-Length: 0\r\n"
				"Location: /xSet-Cookie: evil\r\n\r\n");
	arena_free(&a);
	free(big);
}

static bool never(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	(void)c, (void)in, (void)ret, (void)e;
	return false;
}

#define ROW(name_, method_, path_)                                                       \
	static const struct capability row_##name_ = {.name = #name_,                    \
						      .method = method_,                 \
						      .path = path_,                     \
						      .title = #name_,                   \
						      .doc = "A row.",                   \
						      .run = never}
ROW(list, "GET", "/things");
ROW(add, "POST", "/things");
ROW(import, "POST", "/things:import");
ROW(get, "GET", "/things/{id}");
ROW(retry, "POST", "/things/{id}:retry");
ROW(part, "GET", "/things/{id}/parts/{part}");

static const struct capability *const table[] = {
	&row_list, &row_add, &row_import, &row_get, &row_retry, &row_part, NULL};

Test(fcgi_request, routes)
{
	static const struct {
		const char *method, *uri, *name, *members;
		enum errc code;
		const char *allow;
	} rows[] = {
		{"GET", "/api/v1/things", "list", "", ERR_NONE, NULL},
		{"HEAD", "/api/v1/things", "list", "", ERR_NONE, NULL},
		{"POST", "/api/v1/things", "add", "", ERR_NONE, NULL},
		{"POST", "/api/v1/things:import", "import", "", ERR_NONE, NULL},
		{"GET", "/api/v1/things/a%20b", "get", "id=a b", ERR_NONE, NULL},
		{"POST", "/api/v1/things/a:retry", "retry", "id=a", ERR_NONE, NULL},
		{"GET", "/api/v1/things/a/parts/b%2Fc", "part", "id=a part=b/c", ERR_NONE,
		 NULL},
		{"PUT", "/api/v1/things", NULL, NULL, ERR_METHOD_NOT_ALLOWED,
		 "GET, HEAD, POST"},
		{"GET", "/api/v1/things/a:retry", NULL, NULL, ERR_METHOD_NOT_ALLOWED,
		 "POST"},
		{"GET", "/api/v1/things/a:other", NULL, NULL, ERR_NO_SUCH_ROUTE, NULL},
		{"GET", "/api/v1/things/", NULL, NULL, ERR_NO_SUCH_ROUTE, NULL},
		{"POST", "/api/v1/things/:retry", NULL, NULL, ERR_NO_SUCH_ROUTE, NULL},
		{"GET", "/api/v1/things/a/parts", NULL, NULL, ERR_NO_SUCH_ROUTE, NULL},
		{"GET", "/things", NULL, NULL, ERR_NO_SUCH_ROUTE, NULL},
		{"GET", "/api/v1", NULL, NULL, ERR_NO_SUCH_ROUTE, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_req req;
		struct err e = {0};
		struct route r;
		struct arena a;
		struct fake f;
		struct buf b;

		arena_init(&a, 0);
		fake_init(&f, rows[i].method, rows[i].uri);
		cr_assert(http_read(&f.conn, &a, &req, &e));
		cr_expect_eq(route_find(table, &req, &r, &e), rows[i].name != NULL,
			     "%s %s", rows[i].method, rows[i].uri);
		cr_expect_eq(e.code, rows[i].code, "%s %s", rows[i].method, rows[i].uri);
		if (rows[i].allow)
			cr_expect_str_eq(e.expected, rows[i].allow);
		if (rows[i].name) {
			buf_init(&b, &a, 4096);
			for (size_t m = 0; m < r.n_members; m++)
				buf_printf(&b, "%s%s=%s", m ? " " : "", r.member[m].name,
					   r.member[m].value);
			cr_expect_str_eq(r.cap->name, rows[i].name);
			cr_expect_str_eq(buf_cstr(&b), rows[i].members);
		}
		arena_free(&a);
	}
}

Test(fcgi_request, hosts_and_origins)
{
	static const struct {
		const char *host, *origin;
		bool ok;
	} rows[] = {
		{"localhost", NULL, true},
		{"localhost:8080", "http://localhost:9", true},
		{"LOCALHOST", NULL, true},
		{"127.0.0.1:1", "https://127.0.0.1", true},
		{"[::1]:3099", NULL, true},
		{"cp.example.com", "https://cp.example.com", true},
		{"cp.example.com:8443", NULL, true},
		{NULL, NULL, false},
		{"evil.example", NULL, false},
		{"localhost.evil.example", NULL, false},
		{"cp.example.com.evil", NULL, false},
		{"xcp.example.com", NULL, false},
		{"localhost", "null", false},
		{"localhost", "http://evil.example", false},
		{"localhost", "ftp://localhost", false},
		{"localhost", "http://localhost.evil", false},
	};
	const struct config cfg = {.hosts = "cp.example.com, other.example"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_req req;
		struct err e = {0};
		struct arena a;
		struct fake f;

		arena_init(&a, 0);
		fake_init(&f, "GET", "/");
		if (rows[i].host)
			fake_set(&f, "HTTP_HOST", rows[i].host);
		if (rows[i].origin)
			fake_set(&f, "HTTP_ORIGIN", rows[i].origin);
		cr_assert(http_read(&f.conn, &a, &req, &e));
		cr_expect_eq(auth_check_host(&cfg, &req, &e), rows[i].ok, "%s %s",
			     rows[i].host ? rows[i].host : "-",
			     rows[i].origin ? rows[i].origin : "-");
		arena_free(&a);
	}
}

Test(fcgi_request, problems)
{
	struct violation v[2] = {{.field = "/a", .detail = "is wrong", .seen = "1"},
				 {.field = "/b", .detail = "is \"odd\""}};
	struct err e = {0};
	struct arena a;
	struct str text;
	json_t *tree;

	arena_init(&a, 0);
	err_set(&e, ERR_CLOUD_REFUSED, "it said \"no\"\n");
	err_field(&e, "/a", "1", "2");
	err_fix(&e, "do that");
	err_because(&e, "eks:CreateCluster", "Nope", "m", "r");
	e.violations = v;
	e.n_violations = 2;
	text = problem_text(&e, "r1", STR("{\"steps\":[]}"), &a);
	tree = json_parse(&a, text, &e);
	cr_assert(tree, "%.*s", (int)text.n, text.p);
	cr_expect_str_eq(json_str_at(tree, "type"), "/api/v1/problems/cloud-refused");
	cr_expect_str_eq(json_str_at(tree, "detail"), "it said \"no\"\n");
	cr_expect_str_eq(json_str_at(tree, "retry"), "never");
	cr_expect_eq(json_int_or(tree, "status", 0), 502);
	cr_expect_str_eq(json_str_at(tree, "cause.0.source"), "eks:CreateCluster");
	cr_expect_str_eq(json_str_at(tree, "errors.1.detail"), "is \"odd\"");
	cr_expect_eq(json_len_at(tree, "plan.steps"), 0);
	/* Every code explains itself. */
	for (int i = ERR_NONE + 1; i < ERR_COUNT_; i++)
		cr_expect(problem_explain(errc_info((enum errc)i)->slug, &a, &text, &e));
	cr_expect_not(problem_explain("nope", &a, &text, &e));
	arena_free(&a);
}

Test(fcgi_request, documents_hold_every_row)
{
	const struct documents *d;
	struct arena a;
	struct err e = {0};
	json_t *openapi;

	arena_init(&a, 0);
	d = documents_make(capabilities, &a);
	openapi = json_parse(&a, d->openapi, &e);
	cr_assert(openapi);
	for (size_t i = 0; capabilities[i]; i++) {
		const struct capability *c = capabilities[i];
		json_t *path =
			json_object_get(json_object_get(openapi, "paths"), c->path);
		json_t *tool;

		cr_expect(path, "%s", c->path);
		cr_expect(c->doc && c->title && c->run && c->role, "%s", c->name);
		cr_expect(!(c->flags & CAP_LONG) || c->done_by, "%s", c->name);
		cr_expect(!c->done_by || capability_find(c->done_by), "%s", c->name);
		cr_expect(!c->target || field_find(c->in, c->target), "%s", c->name);
		if (c->flags & CAP_REST_ONLY)
			continue;
		tool = json_parse(&a, d->tool[i], &e);
		cr_assert(tool, "%s", c->name);
		cr_expect_str_eq(json_str_at(tool, "name"), c->name);
		cr_expect_eq(json_bool_or(tool, "annotations.readOnlyHint", false),
			     c->effect == CAP_READ, "%s", c->name);
		/* Nothing that changes looks like something that reads. */
		cr_expect(c->effect == CAP_READ || (!str_starts(c->name, "get_") &&
						    !str_starts(c->name, "list_")),
			  "%s", c->name);
	}
	arena_free(&a);
}

Test(fcgi_request, text_twins_stay_short)
{
	struct arena a;
	struct err e = {0};
	struct buf b;
	struct str text;
	json_t *tree;

	arena_init(&a, 0);
	text = mcp_text_of(STR("{\"a\":1}"), &a);
	cr_expect(str_is(text, "{\"a\":1}"));
	for (int size = 10; size < 6000; size += 700) {
		buf_init(&b, &a, 1 << 20);
		buf_adds(&b, "{\"items\":[");
		for (int i = 0; i < 60; i++)
			buf_printf(&b, "%s{\"n\":%d,\"t\":\"%0*d\"}", i ? "," : "", i,
				   size, 0);
		buf_adds(&b, "],\"next_cursor\":\"c\\\"1\"}");
		text = mcp_text_of(buf_str(&b), &a);
		cr_expect_leq(text.n, (size_t)MCP_TEXT_MAX, "%d: %zu", size, text.n);
		tree = json_parse(&a, text, &e);
		/* An item that is too long by itself is cut as text. */
		cr_expect_eq(tree != NULL, size < MCP_TEXT_MAX - 300, "%d", size);
		if (tree && b.len > MCP_TEXT_MAX)
			cr_expect_str_eq(json_str_at(tree, "next_cursor"), "c\"1");
	}
	/* Cut at a character's border. */
	buf_init(&b, &a, 1 << 20);
	buf_addc(&b, '"');
	for (int i = 0; i < 4000; i++)
		buf_adds(&b, "\xe2\x82\xac");
	buf_addc(&b, '"');
	cr_expect(str_is_utf8(mcp_text_of(buf_str(&b), &a)));
	arena_free(&a);
}

Test(fcgi_request, media_types_that_a_caller_takes)
{
	static const struct {
		const char *accept;
		bool json, text;
	} rows[] = {
		{NULL, true, true},
		{"", true, true},
		{"*/*", true, true},
		{"application/json", true, false},
		{"Application/JSON; charset=utf-8", true, false},
		{"application/*;q=0.1", true, false},
		{"text/html, application/xhtml+xml, */*;q=0.8", true, true},
		{"text/event-stream", false, false},
		{"text/*", false, true},
		{"text/plain;q=0, */*", true, false},
		{"*/*;q=0.0, application/json", true, false},
		{"application/json ; q=0 , text/plain", false, true},
		{"application/jsonx, application/", false, false},
		{",,", false, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_req req;
		struct err e = {0};
		struct arena a;
		struct fake f;

		arena_init(&a, 0);
		fake_init(&f, "GET", "/x");
		if (rows[i].accept)
			fake_set(&f, "HTTP_ACCEPT", rows[i].accept);
		cr_assert(http_read(&f.conn, &a, &req, &e));
		cr_expect_eq(http_accepts(&req, "application/json"), rows[i].json, "%s",
			     rows[i].accept);
		cr_expect_eq(http_accepts(&req, "text/plain"), rows[i].text, "%s",
			     rows[i].accept);
		arena_free(&a);
	}
}

/* The console's cookie: by https one that only this host can set, and no other. */
Test(fcgi_request, cookies_over_https)
{
	static const struct {
		const char *public_url, *host, *https;
		bool secure;
	} rows[] = {
		{"http://localhost:3099", "localhost:3099", NULL, false},
		{"https://is.example", "is.example", NULL, true},
		{"https://is.example/", "IS.example", NULL, true},
		{"https://is.example:8443", "is.example:8443", NULL, true},
		{"https://is.example", "localhost:9", NULL, false},
		{"http://localhost:3099", "localhost:3099", "on", true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config cfg = {.public_url = rows[i].public_url};
		struct http_req req;
		struct http_res res;
		struct err e = {0};
		struct arena a;
		struct fake f;

		arena_init(&a, 0);
		fake_init(&f, "GET", "/x");
		fake_set(&f, "HTTP_HOST", rows[i].host);
		if (rows[i].https)
			fake_set(&f, "HTTPS", rows[i].https);
		cr_assert(http_read(&f.conn, &a, &req, &e));
		http_res_init(&res, &a);
		auth_set_session(&cfg, &req, &res, "iss_x");
		cr_expect_eq(strstr(buf_cstr(&res.headers),
				    "Set-Cookie: __Host-instantstart_session=iss_x; "
				    "Path=/;") != NULL,
			     rows[i].secure, "row %zu", i);
		cr_expect_eq(strstr(buf_cstr(&res.headers), "; Secure") != NULL,
			     rows[i].secure, "row %zu", i);
		http_res_init(&res, &a);
		auth_set_session(&cfg, &req, &res, NULL);
		cr_expect(
			strstr(buf_cstr(&res.headers), "_session=; Path=/; Max-Age=0;"));
		arena_free(&a);
	}
}

/* As PostgreSQL writes it, with blanks, and as we do, without. */
Test(fcgi_request, members_that_are_null_are_left_out)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"{}", "{}"},
		{"null", "null"},
		{"{\"a\":null}", "{}"},
		{"{\"a\": null, \"b\": null}", "{}"},
		{"{\"a\":null,\"b\":1}", "{\"b\":1}"},
		{"{\"a\": 1, \"b\": null}", "{\"a\": 1}"},
		{"{\"a\": 1, \"b\": null, \"c\": [null, \"null\"]}",
		 "{\"a\": 1, \"c\": [null, \"null\"]}"},
		{"[{\"a\":null},null,{\"b\":{\"c\":null}}]", "[{},null,{\"b\":{}}]"},
		{"{\"a\": \"x: null, \\\"y\\\": null\", \"b\\\\\": null}",
		 "{\"a\": \"x: null, \\\"y\\\": null\"}"},
		{"{\"n\":\"n\",\"null\":null,\"t\":true}", "{\"n\":\"n\",\"t\":true}"},
	};
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_str_eq(mcp_without_nulls(str_of(rows[i].in), &a).p,
				 rows[i].out);
	arena_free(&a);
}

Test(fcgi_request, rpc_answers)
{
	static const struct {
		const char *body, *accept, *want;
	} rows[] = {
		{"{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"method\":\"ping\"}", NULL,
		 "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"result\":{\"x\":1}}"},
		{"{\"jsonrpc\":\"2.0\",\"id\":-3,\"method\":\"ping\"}",
		 "text/event-stream",
		 "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":-3,\"result\":{\"x\":1}}\n\n"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
		 "application/json, text/event-stream",
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":1}}"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_req req;
		struct http_res res;
		struct err e = {0};
		struct arena a;
		struct fake f;
		struct rpc r;

		arena_init(&a, 0);
		fake_init(&f, "POST", "/mcp");
		if (rows[i].accept)
			fake_set(&f, "HTTP_ACCEPT", rows[i].accept);
		f.body = rows[i].body;
		http_res_init(&res, &a);
		cr_assert(http_read(&f.conn, &a, &req, &e));
		cr_assert(rpc_read(&r, &req, &res));
		rpc_result(&r, STR("{\"x\":1}"));
		cr_expect(str_is(res.body, rows[i].want), "%.*s", (int)res.body.n,
			  res.body.p);
		arena_free(&a);
	}
}

/* What the program relies on is refused when it cannot be read, never dropped. */
Test(fcgi_request, headers_are_checked_where_they_are_read)
{
	static const struct {
		const char *header, *value;
		bool read;
	} rows[] = {
		{"HTTP_IDEMPOTENCY_KEY", "ci-17", true},
		{"HTTP_IDEMPOTENCY_KEY", "\xff\xfe", false},
		{"HTTP_IDEMPOTENCY_KEY", "schl\xc3\xbcssel", false},
		{"HTTP_IDEMPOTENCY_KEY", "a\x01", false},
		{"HTTP_IF_MATCH", "\"\xe4\"", false},
		{"HTTP_AUTHORIZATION", "Bearer \x80", false},
		{"HTTP_HOST", "localh\xc3\xb6st", false},
		{"HTTP_ORIGIN", "http://\x7f", false},
		{"CONTENT_TYPE", "application/\xff", false},
		/* Cookies of others, languages, and headers with errors of their own. */
		{"HTTP_COOKIE", "other=\xff", true},
		{"HTTP_ACCEPT", "\xff", true},
		{"HTTP_MCP_NAME", "\xff", true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_req req;
		struct err e = {0};
		struct arena a;
		struct fake f;

		arena_init(&a, 0);
		fake_init(&f, "POST", "/a");
		fake_set(&f, rows[i].header, rows[i].value);
		cr_expect_eq(http_read(&f.conn, &a, &req, &e), rows[i].read, "%s: %s",
			     rows[i].header, rows[i].value);
		cr_expect_eq(e.code, rows[i].read ? ERR_NONE : ERR_MALFORMED);
		cr_expect(rows[i].read || e.fix[0]);
		arena_free(&a);
	}
}

Test(fcgi_request, a_quoted_key_is_the_unquoted_one)
{
	static const struct {
		const char *sent, *key; /* NULL key: refused */
	} rows[] = {
		{NULL, ""},
		{"abc", "abc"},
		{"\"abc\"", "abc"},
		{" \"abc\" ", "abc"},
		{"\"a\\\"b\"", "a\"b"},
		{"a\"b", "a\"b"},
		{"\"", "\""},
		{"", NULL},
		{"\"\"", NULL},
		{"  ", NULL},
		{"a\\b", "a\\b"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *key = "unset";
		struct http_req req;
		struct err e = {0};
		struct arena a;
		struct fake f;

		arena_init(&a, 0);
		fake_init(&f, "POST", "/a");
		if (rows[i].sent)
			fake_set(&f, "HTTP_IDEMPOTENCY_KEY", rows[i].sent);
		cr_assert(http_read(&f.conn, &a, &req, &e));
		cr_expect_eq(http_idempotency_key(&req, &key, &e), rows[i].key != NULL,
			     "%s", rows[i].sent);
		if (!rows[i].sent)
			cr_expect_null(key);
		else if (rows[i].key)
			cr_expect_str_eq(key, rows[i].key);
		arena_free(&a);
	}
}

/* Memory for one request is used up: that request is told, the worker lives on. */
Test(fcgi_request, a_request_that_needs_too_much_memory_is_refused_alone)
{
	static const struct {
		const char *method, *status, *code;
	} rows[] = {
		{"GET", "Status: 413", "\"code\":\"too-large\""},
		{"POST", "Status: 405", "\"code\":\"method-not-allowed\""},
	};
	struct config cfg = {.hosts = ""};
	struct arena process, a;
	struct app app;
	struct fake f;

	arena_init(&process, 0);
	app = (struct app){.cfg = &cfg,
			   .clock = clock_system(),
			   .metrics = metrics_new(),
			   .db = db_new(&process, (struct secret){0}, "test",
					clock_system(), rng_system())};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* The list of problems takes more than that; what refuses does not. */
		arena_init(&a, 24 * 1024);
		fake_init(&f, rows[i].method, "/api/v1/problems");
		fake_set(&f, "HTTP_HOST", "localhost");
		app_serve(&app, &a, &f.conn);
		cr_expect(strstr(f.out, rows[i].status), "%s", f.out);
		cr_expect(strstr(f.out, rows[i].code), "%s", f.out);
		arena_free(&a);
	}
	/* And with memory enough the same worker answers. */
	arena_init(&a, 0);
	fake_init(&f, "GET", "/api/v1/problems");
	fake_set(&f, "HTTP_HOST", "localhost");
	app_serve(&app, &a, &f.conn);
	cr_expect(strstr(f.out, "Status: 200"), "%s", f.out);
	arena_free(&a);
	arena_free(&process);
}

/* nginx asks before it serves, and takes a yes, 401 and 403: every other answer would be
 * an error of the server's in the caller's eyes. */
Test(fcgi_request, a_question_of_nginx_has_the_answers_that_it_takes)
{
	static const char *const uris[] = {
		"/ws/logs?a=%00",        "/ws/logs?a=%", "/%ff", "/%2e",
		"/api/v1/problems/none", "/nothing",     "//"};
	struct config cfg = {.hosts = ""};
	struct arena process;
	struct app app;
	struct fake f;

	arena_init(&process, 0);
	app = (struct app){.cfg = &cfg,
			   .clock = clock_system(),
			   .metrics = metrics_new(),
			   .sessions = NULL,
			   .db = db_new(&process, (struct secret){0}, "test",
					clock_system(), rng_system())};
	for (size_t i = 0; i < sizeof(uris) / sizeof(*uris); i++)
		for (int asked = 0; asked < 2; asked++) {
			struct arena a;

			arena_init(&a, 0);
			fake_init(&f, "POST", uris[i]);
			fake_set(&f, "HTTP_HOST", asked ? "localhost" : "elsewhere");
			if (asked)
				fake_set(&f, "INSTANTSTART_ASKED", "1");
			app_serve(&app, &a, &f.conn);
			cr_expect(!asked || strstr(f.out, "Status: 403") ||
					  strstr(f.out, "Status: 401"),
				  "%s: %s", uris[i], f.out);
			arena_free(&a);
		}
	arena_free(&process);
}
