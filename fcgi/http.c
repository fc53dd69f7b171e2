#include "fcgi/http.h"

#include <string.h>
#include <strings.h>

#include "core/base/limits.h"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes; NULL for a bad escape, NUL or what is no UTF-8. */
static const char *decode(struct arena *a, struct str s, bool plus)
{
	char *out = arena_alloc(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] != '%') {
			out[n++] = plus && s.p[i] == '+' ? ' ' : s.p[i];
			continue;
		}
		if (i + 2 >= s.n || hex(s.p[i + 1]) < 0 || hex(s.p[i + 2]) < 0)
			return NULL;
		out[n++] = (char)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2]));
		i += 2;
	}
	return str_is_utf8((struct str){out, n}) ? out : NULL;
}

static bool malformed(struct err *e, const char *what, const char *expected)
{
	err_set(e, ERR_MALFORMED, "The %s could not be parsed", what);
	return err_field(e, "", "", expected);
}

static bool read_path(struct http_req *req, struct str path, struct err *e)
{
	struct str rest = path;

	if (rest.n > 0 && rest.p[0] == '/')
		rest = (struct str){rest.p + 1, rest.n - 1};
	while (rest.p && rest.n > 0) {
		const char *part = decode(req->arena, str_cut(&rest, '/'), false);

		if (!part)
			return malformed(e, "path", "percent-encoded UTF-8");
		/* nginx, or a proxy before it, would read another address here. */
		if (!*part || streq(part, ".") || streq(part, "..") || strchr(part, '\\'))
			return malformed(e, "path",
					 "one without empty, \".\" or \"..\" parts");
		if (req->n_segments == HTTP_SEGMENTS_MAX)
			return err_set(e, ERR_NO_SUCH_ROUTE,
				       "The URL has too many parts");
		req->segment[req->n_segments++] = part;
	}
	/* A trailing slash is another address, and none of ours. */
	if (path.n > 1 && path.p[path.n - 1] == '/' &&
	    req->n_segments < HTTP_SEGMENTS_MAX)
		req->segment[req->n_segments++] = "";
	return true;
}

static bool read_query(struct http_req *req, struct str query, struct err *e)
{
	while (query.p && query.n > 0) {
		struct str value = str_cut(&query, '&'), name;
		struct http_pair *p;

		if (value.n == 0)
			continue;
		if (req->n_query == HTTP_QUERY_MAX)
			return malformed(e, "query", "at most 32 parameters");
		name = str_cut(&value, '=');
		p = &req->query[req->n_query++];
		p->name = decode(req->arena, name, true);
		p->value = value.p ? decode(req->arena, value, true) : "";
		if (!p->name || !p->value)
			return malformed(e, "query", "percent-encoded UTF-8");
	}
	return true;
}

/* Every header that the program looks at. */
static const struct {
	const char *cgi;
	const char *name;
	bool lenient; /* read word by word: what is not understood is passed over */
} headers[] = {
	{"HTTP_ACCEPT", "Accept", true},
	{"HTTP_AUTHORIZATION", "Authorization", false},
	{"HTTP_COOKIE", "Cookie", true},
	{"HTTP_HOST", "Host", false},
	{"HTTP_IDEMPOTENCY_KEY", "Idempotency-Key", false},
	{"HTTP_IF_MATCH", "If-Match", false},
	{"HTTP_IF_NONE_MATCH", "If-None-Match", false},
	/* These have errors of their own: see rpc.h. */
	{"HTTP_MCP_METHOD", "Mcp-Method", true},
	{"HTTP_MCP_NAME", "Mcp-Name", true},
	{"HTTP_MCP_PROTOCOL_VERSION", "MCP-Protocol-Version", true},
	{"HTTP_ORIGIN", "Origin", false},
	{"HTTP_TRACEPARENT", "traceparent", true},
	{"CONTENT_TYPE", "Content-Type", false},
};

enum { N_HEADERS = sizeof(headers) / sizeof(headers[0]) };

/* https://www.rfc-editor.org/rfc/rfc9110#section-5.5: text of other sets is obsolete. */
static bool is_printable(const char *z)
{
	for (; *z; z++)
		if ((*z < ' ' && *z != '\t') || *z == 0x7f)
			return false;
	return true;
}

/* A header that cannot be read is refused, never dropped: somebody relies on it. */
static bool check_headers(const struct http_req *req, struct err *e)
{
	for (size_t i = 0; i < N_HEADERS; i++) {
		const char *value = http_header(req, headers[i].cgi);

		if (!value || headers[i].lenient || is_printable(value))
			continue;
		err_set(e, ERR_MALFORMED,
			"The header %s contains characters other than printable ASCII",
			headers[i].name);
		err_field(e, "", "", "printable ASCII characters");
		return err_fix(e, "Send %s in printable ASCII.", headers[i].name);
	}
	return true;
}

bool http_read(struct conn *c, struct arena *a, struct http_req *ret, struct err *e)
{
	struct str rest, path;
	const char *uri;

	*ret = (struct http_req){.conn = c, .arena = a, .path = "/", .request_id = "-"};
	ret->method = http_header(ret, "REQUEST_METHOD");
	if (!ret->method)
		ret->method = "GET";
	if (http_header(ret, "REQUEST_ID"))
		ret->request_id = http_header(ret, "REQUEST_ID");
	ret->parked = http_header(ret, "INSTANTSTART_PARKED") != NULL;
	uri = http_header(ret, "REQUEST_URI");
	rest = str_of(uri ? uri : "/");
	path = str_cut(&rest, '?');
	if (path.n > LIMIT_REQUEST_PATH || rest.n > LIMIT_REQUEST_QUERY)
		return err_set(e, ERR_TOO_LARGE, "The URL is too long");
	ret->path = str_dup(a, path);
	return check_headers(ret, e) && read_path(ret, path, e) &&
	       read_query(ret, rest, e);
}

/* https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/ has the
 * key as a structured-field string, in quotes; most clients send it bare. */
bool http_idempotency_key(const struct http_req *req, const char **ret, struct err *e)
{
	const char *sent = req->conn->param(req->conn, "HTTP_IDEMPOTENCY_KEY");
	struct str v = str_trim(str_of(sent));
	size_t n = 0;
	bool quoted;
	char *key;

	*ret = NULL;
	if (!sent)
		return true;
	quoted = v.n >= 2 && v.p[0] == '"' && v.p[v.n - 1] == '"';
	if (quoted)
		v = (struct str){v.p + 1, v.n - 2};
	key = arena_alloc(req->arena, v.n + 1);
	for (size_t i = 0; i < v.n; i++) {
		if (quoted && v.p[i] == '\\' && i + 1 < v.n)
			i++;
		key[n++] = v.p[i];
	}
	*ret = key;
	if (n > 0)
		return true;
	err_set(e, ERR_INVALID_INPUT, "The header Idempotency-Key is empty");
	err_field(e, "/idempotency_key", "\"\"", "1 to 128 printable ASCII characters");
	return err_fix(e, "Send a key of your own, or omit the header.");
}

bool http_body(const struct http_req *req, struct str *ret, struct err *e)
{
	const char *length = http_header(req, "CONTENT_LENGTH");
	char chunk[16384];
	struct buf b;
	int64_t told;
	size_t n;

	if (length && (!str_to_i64(str_of(length), &told) || told > LIMIT_REQUEST_BODY))
		return err_set(e, ERR_TOO_LARGE, "The body is larger than %d bytes",
			       LIMIT_REQUEST_BODY);
	buf_init(&b, req->arena, LIMIT_REQUEST_BODY);
	while ((n = req->conn->read(req->conn, chunk, sizeof(chunk))) > 0 && !b.overflow)
		buf_add(&b, chunk, n);
	if (b.overflow)
		return err_set(e, ERR_TOO_LARGE, "The body is larger than %d bytes",
			       LIMIT_REQUEST_BODY);
	*ret = buf_str(&b);
	/* Editors and shells of Windows begin a file with a mark that JSON does not have;
	 * whoever reads may pass over it (RFC 8259, 8.1). */
	if (str_has_prefix(*ret, STR("\xEF\xBB\xBF")))
		*ret = (struct str){ret->p + 3, ret->n - 3};
	return true;
}

const char *http_header(const struct http_req *req, const char *name)
{
	const char *value = req->conn->param(req->conn, name);

	return value && *value ? value : NULL;
}

const char *http_query(const struct http_req *req, const char *name)
{
	for (size_t i = 0; i < req->n_query; i++)
		if (streq(req->query[i].name, name))
			return req->query[i].value;
	return NULL;
}

bool http_has_type(const struct http_req *req, const char *type)
{
	const char *sent = http_header(req, "CONTENT_TYPE");
	struct str rest = str_of(sent), media;

	if (!sent)
		return false;
	media = str_trim(str_cut(&rest, ';'));
	return media.n == strlen(type) && strncasecmp(media.p, type, media.n) == 0;
}

/* "q=0", "q=0.000": not at all. https://www.rfc-editor.org/rfc/rfc9110#section-12.4.2 */
static bool is_ruled_out(struct str parameters)
{
	while (parameters.p && parameters.n > 0) {
		struct str value = str_trim(str_cut(&parameters, ';'));
		const struct str key = str_trim(str_cut(&value, '='));

		if (str_is(key, "q") || str_is(key, "Q"))
			return value.n > 0 && strspn(value.p, "0.") >= value.n;
	}
	return false;
}

bool http_accepts(const struct http_req *req, const char *type)
{
	struct str rest = str_of(http_header(req, "HTTP_ACCEPT"));
	const size_t group = strcspn(type, "/") + 1;
	size_t best = 0; /* the longest range that fits decides */
	bool taken = false;

	if (rest.n == 0)
		return true;
	while (rest.p) {
		struct str one = str_cut(&rest, ',');
		const struct str range = str_trim(str_cut(&one, ';'));
		size_t fits = 0;

		if (range.n == strlen(type) && strncasecmp(range.p, type, range.n) == 0)
			fits = 3;
		else if (range.n == group + 1 && range.p[group] == '*' &&
			 strncasecmp(range.p, type, group) == 0)
			fits = 2;
		else if (str_is(range, "*/*"))
			fits = 1;
		if (fits > best) {
			best = fits;
			taken = !is_ruled_out(one);
		}
	}
	return taken;
}

const char *http_cookie(const struct http_req *req, const char *name)
{
	struct str rest = str_of(http_header(req, "HTTP_COOKIE"));

	while (rest.p && rest.n > 0) {
		struct str value = str_trim(str_cut(&rest, ';'));
		const struct str key = str_cut(&value, '=');

		if (value.p && str_is(key, name))
			return str_dup(req->arena, value);
	}
	return NULL;
}

void http_res_init(struct http_res *res, struct arena *a)
{
	*res = (struct http_res){.status = 200, .type = "application/json"};
	buf_init(&res->headers, a, 16384);
}

void http_res_header(struct http_res *res, const char *name, const char *value)
{
	buf_printf(&res->headers, "%s: ", name);
	for (; *value; value++)
		if ((unsigned char)*value >= ' ')
			buf_addc(&res->headers, *value);
	buf_adds(&res->headers, "\r\n");
}

void http_send(const struct http_req *req, const struct http_res *res)
{
	struct buf head;

	buf_init(&head, req->arena, 32768);
	buf_printf(&head, "Status: %d %s\r\n", res->status,
		   http_status_text(res->status));
	/* 202 to a notification and 304 have no body, hence no type. */
	if (res->body.n)
		buf_printf(&head, "Content-Type: %s\r\nContent-Length: %zu\r\n",
			   res->type, res->body.n);
	else if (res->status != 304)
		buf_adds(&head, "Content-Length: 0\r\n");
	buf_add_str(&head, buf_str(&res->headers));
	buf_adds(&head, "\r\n");
	req->conn->write(req->conn, head.p, head.len);
	if (res->body.n)
		req->conn->write(req->conn, res->body.p, res->body.n);
}

const char *http_status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} texts[] = {
		{200, "OK"},
		{202, "Accepted"},
		{204, "No Content"},
		{303, "See Other"},
		{304, "Not Modified"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{406, "Not Acceptable"},
		{409, "Conflict"},
		{412, "Precondition Failed"},
		{413, "Content Too Large"},
		{415, "Unsupported Media Type"},
		{422, "Unprocessable Content"},
		{429, "Too Many Requests"},
		{500, "Internal Server Error"},
		{502, "Bad Gateway"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "Status";
}
