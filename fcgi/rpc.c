#include "fcgi/rpc.h"

#include <string.h>
#include <strings.h>

#include "core/base/base64.h"
#include "core/base/limits.h"
#include "core/json/tree.h"
#include "core/json/writer.h"

#define SERVER_INFO                                                                      \
	"{\"name\":\"instantstart\",\"title\":\"InstantStart\",\"version\":"             \
	"\"" INSTANTSTART_VERSION "\"}"

static const char *const legacy_versions[] = {RPC_LEGACY, "2025-06-18", "2025-03-26",
					      NULL};

/* An event stream only for whom nothing else is acceptable. */
static void send(struct rpc *r, int status, struct buf *b)
{
	const char *accept = http_header(r->req, "HTTP_ACCEPT");

	r->res->status = status;
	http_res_header(r->res, "Cache-Control", "no-store");
	if (accept && strstr(accept, "text/event-stream") && !strstr(accept, "*/*") &&
	    !strstr(accept, "application/")) {
		r->res->type = "text/event-stream";
		http_res_header(r->res, "X-Accel-Buffering", "no");
		r->res->body = str_of(arena_printf(
			r->req->arena, "event: message\ndata: %s\n\n", buf_cstr(b)));
		return;
	}
	r->res->type = "application/json";
	r->res->body = buf_str(b);
}

static void begin(struct rpc *r, struct buf *b)
{
	buf_init(b, r->req->arena, LIMIT_CLOUD_BODY);
	buf_adds(b, "{\"jsonrpc\":\"2.0\"");
	if (r->id)
		buf_printf(b, ",\"id\":%s", r->id);
}

void rpc_error(struct rpc *r, int status, enum rpc_code code, const char *message,
	       struct str data)
{
	struct json_writer w;
	struct buf b;

	begin(r, &b);
	buf_adds(&b, ",\"error\":");
	jw_begin(&w, &b);
	jw_open_object(&w);
	jw_kv_int(&w, "code", code);
	jw_kv_str(&w, "message", message);
	if (data.n) {
		jw_key(&w, "data");
		jw_raw(&w, data.p, data.n);
	}
	jw_end(&w);
	buf_addc(&b, '}');
	send(r, status, &b);
}

void rpc_result(struct rpc *r, struct str result)
{
	struct buf b;

	begin(r, &b);
	buf_adds(&b, ",\"result\":");
	if (r->modern) {
		buf_adds(&b, "{\"resultType\":\"complete\",\"_meta\":{\"" RPC_META
			     "serverInfo\":" SERVER_INFO "}");
		if (result.n > 2)
			buf_addc(&b, ',');
		buf_add(&b, result.p + 1, result.n - 1);
	} else {
		buf_add_str(&b, result);
	}
	buf_addc(&b, '}');
	send(r, 200, &b);
}

static bool refuse(struct rpc *r, int status, enum rpc_code code, const char *message)
{
	rpc_error(r, status, code, message, STR(""));
	return false;
}

/* --- shape -------------------------------------------------------------- */

json_t *rpc_given(const json_t *parent, const char *name)
{
	json_t *value = json_object_get(parent, name);

	if (json_is_null(value) ||
	    (json_is_string(value) && json_string_length(value) == 0))
		return NULL;
	return value;
}

json_t *rpc_object(const json_t *parent, const char *name, struct arena *a)
{
	json_t *value = rpc_given(parent, name), *parsed;
	struct err ignored = {0};

	if (!json_is_string(value))
		return value;
	parsed = json_parse(a, str_of(json_string_value(value)), &ignored);
	return json_is_object(parsed) ? parsed : value;
}

static bool read_shape(struct rpc *r, json_t *msg)
{
	const json_t *id = json_object_get(msg, "id");
	const json_t *method = json_object_get(msg, "method");
	json_t *params = rpc_object(msg, "params", r->req->arena);

	if (json_is_array(msg))
		return refuse(r, 400, RPC_REQUEST,
			      "Batches are not supported. Send one message");
	if (!json_is_object(msg) || !streq(json_str_at(msg, "jsonrpc"), "2.0"))
		return refuse(r, 400, RPC_REQUEST, "Not a JSON-RPC 2.0 message");
	if (id && !json_is_string(id) && !json_is_integer(id))
		return refuse(r, 400, RPC_REQUEST, "id must be a string or an integer");
	if (id)
		r->id = json_is_string(id)
				? json_text(r->req->arena, id)
				: arena_printf(r->req->arena, "%lld",
					       (long long)json_integer_value(id));
	if (!method && id &&
	    (json_object_get(msg, "result") || json_object_get(msg, "error"))) {
		r->kind = RPC_RESPONSE;
		return true;
	}
	if (!json_is_string(method))
		return refuse(r, 400, RPC_REQUEST, "method must be a string");
	if (params && !json_is_object(params))
		return refuse(r, 400, RPC_REQUEST, "params must be an object");
	r->kind = id ? RPC_CALL : RPC_NOTIFICATION;
	r->method = json_string_value(method);
	r->params = params;
	return true;
}

/* --- the modern envelope ------------------------------------------------ */

/* A header as a value: blanks trimmed, "=?base64?…?=" decoded. NULL: absent or bad. */
static const char *header_value(const struct rpc *r, const char *name)
{
	static const struct str open = {"=?base64?", 9}, close = {"?=", 2};
	struct str v = str_trim(str_of(http_header(r->req, name)));
	const char *raw;
	size_t n;

	if (!v.n)
		return NULL;
	for (size_t i = 0; i < v.n; i++)
		if ((unsigned char)v.p[i] < 0x20 || (unsigned char)v.p[i] > 0x7e)
			return NULL;
	if (v.n < open.n + close.n || !str_has_prefix(v, open) ||
	    !str_has_suffix(v, close))
		return str_dup(r->req->arena, v);
	v = (struct str){v.p + open.n, v.n - open.n - close.n};
	raw = base64_decode(r->req->arena, str_dup(r->req->arena, v), &n);
	return raw && str_is_utf8((struct str){raw, n}) ? raw : NULL;
}

static bool check_mirror(struct rpc *r, const char *cgi, const char *header,
			 const char *want)
{
	const char *have = header_value(r, cgi);

	if (have && streq(have, want))
		return true;
	return refuse(r, 400, RPC_HEADER,
		      arena_printf(r->req->arena,
				   have ? "%s does not match the body"
					: "%s is missing or malformed",
				   header));
}

static bool check_modern(struct rpc *r, const json_t *meta)
{
	const json_t *version = json_object_get(meta, RPC_META "protocolVersion");
	const char *name = json_str_at(r->params, "name");

	if (!json_is_string(version))
		return refuse(r, 400, RPC_PARAMS,
			      "_meta needs " RPC_META "protocolVersion, a string");
	if (!json_is_object(json_object_get(meta, RPC_META "clientCapabilities")))
		return refuse(r, 400, RPC_PARAMS,
			      "_meta needs " RPC_META "clientCapabilities, an object");
	if (!check_mirror(r, "HTTP_MCP_PROTOCOL_VERSION", "MCP-Protocol-Version",
			  json_string_value(version)))
		return false;
	if (!streq(json_string_value(version), RPC_MODERN)) {
		rpc_error(r, 400, RPC_VERSION, "The protocol version is not supported",
			  str_of(json_text(r->req->arena,
					   json_packf(r->req->arena, "{s:[s],s:O}",
						      "supported", RPC_MODERN,
						      "requested", version))));
		return false;
	}
	if (!check_mirror(r, "HTTP_MCP_METHOD", "Mcp-Method", r->method))
		return false;
	return !streq(r->method, "tools/call") || !name ||
	       check_mirror(r, "HTTP_MCP_NAME", "Mcp-Name", name);
}

/* --- the legacy envelope ------------------------------------------------ */

bool rpc_is_legacy(const char *version)
{
	for (const char *const *v = legacy_versions; *v; v++)
		if (streq(*v, version))
			return true;
	return false;
}

static bool check_legacy(struct rpc *r)
{
	const char *header = header_value(r, "HTTP_MCP_PROTOCOL_VERSION");
	const bool handshake = streq(r->method, "initialize");

	/* Dates compare as text. */
	if (header && strcmp(header, RPC_MODERN) >= 0)
		return handshake ? refuse(r, 400, RPC_HEADER,
					  "initialize is not supported for this "
					  "MCP-Protocol-Version")
				 : refuse(r, 400, RPC_PARAMS,
					  "_meta needs " RPC_META
					  "protocolVersion and " RPC_META
					  "clientCapabilities");
	if (header && !handshake && !rpc_is_legacy(header))
		return refuse(r, 400, RPC_REQUEST,
			      "The MCP-Protocol-Version is not supported");
	return true;
}

/* Notifications and posted responses: taken note of, nothing more. */
static bool take_note(struct rpc *r, bool claim)
{
	const char *header = header_value(r, "HTTP_MCP_PROTOCOL_VERSION");
	const bool modern = claim || (header && strcmp(header, RPC_MODERN) >= 0);

	if (r->kind == RPC_RESPONSE && modern)
		return refuse(r, 400, RPC_REQUEST, "Responses are not expected here");
	r->res->status = 202;
	return true;
}

bool rpc_read(struct rpc *r, const struct http_req *req, struct http_res *res)
{
	const json_t *meta;
	struct err e = {0};
	struct str text;
	json_t *msg;

	*r = (struct rpc){.req = req, .res = res};
	if (!streq(req->method, "POST")) {
		http_res_header(res, "Allow", "POST");
		return refuse(r, 405, RPC_REQUEST, "Only POST is supported here");
	}
	if (!http_has_type(req, "application/json"))
		return refuse(r, 415, RPC_REQUEST,
			      "Content-Type must be application/json");
	if (!http_body(req, &text, &e))
		return refuse(r, 413, RPC_REQUEST, e.detail);
	msg = json_parse_request(req->arena, text, &e);
	if (!msg)
		return e.code == ERR_TOO_LARGE ? refuse(r, 413, RPC_REQUEST, e.detail)
					       : refuse(r, 400, RPC_PARSE, e.detail);
	if (!read_shape(r, msg))
		return false;
	meta = rpc_object(r->params, "_meta", req->arena);
	r->modern = json_object_get(meta, RPC_META "protocolVersion") != NULL;
	if (r->kind != RPC_CALL)
		return take_note(r, r->modern);
	if (meta && !json_is_object(meta))
		return refuse(r, 400, RPC_PARAMS, "_meta must be an object");
	return r->modern ? check_modern(r, meta) : check_legacy(r);
}
