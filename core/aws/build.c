#include "core/aws/build.h"

#include <string.h>

#include "core/aws/names.h"
#include "core/aws/sigv4.h"
#include "core/aws/uri.h"
#include "core/json/tree.h"

const char *scalar_text(struct arena *a, const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_STRING:
		return json_string_value(v);
	case JSON_INTEGER:
		return arena_printf(a, "%lld", (long long)json_integer_value(v));
	case JSON_REAL:
		return arena_printf(a, "%.17g", json_real_value(v));
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	case JSON_OBJECT:
	case JSON_ARRAY:
	case JSON_NULL:
		break;
	}
	return NULL;
}

void add_query_param(struct buf *url, const char *name, const char *value)
{
	buf_addc(url, memchr(url->p, '?', url->len) ? '&' : '?');
	uri_encode(url, str_of(name), false);
	buf_addc(url, '=');
	uri_encode(url, str_of(value), false);
}

/* Takes "{Member}" or "{Member+}" off *rest, which starts with '{'. */
static struct str cut_label(struct str *rest, bool *ret_greedy)
{
	struct str label;

	*rest = (struct str){rest->p + 1, rest->n - 1};
	label = str_cut(rest, '}');
	*ret_greedy = str_has_suffix(label, STR("+"));
	if (*ret_greedy)
		label.n--;
	return label;
}

bool add_uri(const struct aws_building *b, struct buf *url, struct str_list *used,
	     struct err *e)
{
	struct str rest = str_of(strchr(b->op->http, ' ') + 1);

	while (rest.n > 0) {
		bool greedy;
		struct str label;
		const char *member, *value;

		if (*rest.p != '{') {
			buf_addc(url, *rest.p);
			rest = (struct str){rest.p + 1, rest.n - 1};
			continue;
		}
		label = cut_label(&rest, &greedy);
		member = str_dup(b->arena, label);
		str_list_add(b->arena, used, member);
		value = json_string_value(json_object_get(b->in, member));
		if (!value || !*value)
			return err_set(e, ERR_INTERNAL, "%s requires %s in its path",
				       b->op->name, member);
		uri_encode(url, str_of(value), greedy);
	}
	return true;
}

/* ---------------------------------------------------------------- JSON */

/* A copy of the input with times as the wire wants them: seconds. */
static json_t *wire_json(const struct aws_building *b, const char *member,
			 const json_t *v)
{
	const char *key;
	json_t *child, *out;
	int64_t ms;
	size_t i;

	if (json_is_object(v)) {
		out = json_object();
		json_object_foreach((json_t *)(uintptr_t)v, key, child)
			json_object_set_new(out, key, wire_json(b, key, child));
		return out;
	}
	if (json_is_array(v)) {
		out = json_array();
		json_array_foreach(v, i, child)
			json_array_append_new(out, wire_json(b, member, child));
		return out;
	}
	if (json_is_string(v) && aws_is_time(b->service->id, member) &&
	    time_parse_rfc3339(json_string_value(v), &ms))
		return ms % 1000 == 0 ? json_integer(ms / 1000)
				      : json_real((double)ms / 1000.0);
	return json_deep_copy(v);
}

/* In the order of the input: what was tested is what is sent. */
static void set_json_body(const struct aws_building *b, const json_t *body)
{
	json_t *wire = json_own(b->arena, wire_json(b, "", body));
	size_t n = json_dumpb(wire, NULL, 0, JSON_COMPACT | JSON_REAL_PRECISION(15));
	char *text = arena_alloc(b->arena, n + 1);

	json_dumpb(wire, text, n, JSON_COMPACT | JSON_REAL_PRECISION(15));
	b->req->body = text;
	b->req->body_len = n;
}

bool request_fits(const struct aws_building *b, const struct buf *text, struct err *e)
{
	return !text->overflow ||
	       err_set(e, ERR_INTERNAL, "The request of %s is too large", b->op->name);
}

bool build_json(const struct aws_building *b, struct err *e)
{
	(void)e;
	b->req->method = "POST";
	b->req->url = arena_printf(b->arena, "%s/", b->endpoint);
	http_add_header(b->req, "content-type", "application/x-amz-json-1.1");
	http_add_header(
		b->req, "x-amz-target",
		arena_printf(b->arena, "%s.%s", b->service->target_prefix, b->op->name));
	set_json_body(b, b->in);
	return true;
}

static bool add_rest_params(const struct aws_building *b, struct buf *url,
			    const char *name, const json_t *v, struct err *e)
{
	const char *text = scalar_text(b->arena, v);
	json_t *child;
	size_t i;

	if (text) {
		add_query_param(url, name, text);
		return true;
	}
	json_array_foreach(v, i, child) {
		text = scalar_text(b->arena, child);
		if (!text)
			break;
		add_query_param(url, name, text);
	}
	return (json_is_array(v) && i == json_array_size(v)) ||
	       err_set(e, ERR_INTERNAL, "%s does not allow %s in its query", b->op->name,
		       name);
}

/* EKS: what is not in the path is the body of a POST, the query of the others. */
bool build_rest_json(const struct aws_building *b, struct err *e)
{
	struct str http = str_of(b->op->http);
	struct str_list used = {0};
	struct buf url;
	json_t *body = json_new_object(b->arena);
	const char *key;
	json_t *v;
	bool posts;

	b->req->method = str_dup(b->arena, str_cut(&http, ' '));
	posts = streq(b->req->method, "POST");
	buf_init(&url, b->arena, AWS_REQUEST_MAX);
	buf_adds(&url, b->endpoint);
	if (!add_uri(b, &url, &used, e))
		return false;
	json_object_foreach((json_t *)(uintptr_t)b->in, key, v) {
		if (str_list_has(&used, key) || json_is_null(v))
			continue;
		if (posts)
			json_object_set(body, key, v);
		else if (!add_rest_params(b, &url, key, v, e))
			return false;
	}
	if (!request_fits(b, &url, e))
		return false;
	b->req->url = buf_cstr(&url);
	if (posts) {
		http_add_header(b->req, "content-type", "application/json");
		set_json_body(b, body);
	}
	return true;
}

/* ---------------------------------------------------------------- any */

static bool write_request(const struct aws_building *b, struct err *e)
{
	switch (b->service->protocol) {
	case JSON_1_1:
		return build_json(b, e);
	case REST_JSON:
		return build_rest_json(b, e);
	case QUERY:
	case EC2_QUERY:
		return build_query(b, e);
	case REST_XML:
		return build_rest_xml(b, e);
	}
	return err_set(e, ERR_INTERNAL, "Unknown protocol");
}

bool aws_build(const struct aws *aws, const struct aws_op *op, const json_t *in,
	       const struct aws_keys *keys, int64_t wall_ms, struct arena *a,
	       struct http_request *ret, struct err *e)
{
	const struct aws_service *service = aws_service(op->service);
	struct aws_endpoint endpoint;
	struct aws_building b = {
		.op = op,
		.service = service,
		.in = in ? in : json_new_object(a),
		.arena = a,
		.req = ret,
	};
	struct sigv4 sign = {
		.keys = keys,
		.service = service->signing_name,
		.wall_ms = wall_ms,
		.s3 = op->service == AWS_SERVICE_S3,
	};

	*ret = (struct http_request){.timeout_ms = aws->timeout_ms};
	if (!aws_endpoint(service, aws->region, aws->lookup, aws->lookup_ctx, a,
			  &endpoint, e))
		return false;
	b.endpoint = endpoint.url;
	b.path_style = endpoint.overridden;
	sign.region = endpoint.signing_region;
	if (!write_request(&b, e))
		return false;
	if (!op->unsigned_)
		sigv4_sign(&sign, ret, a);
	return true;
}
