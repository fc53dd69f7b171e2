/* Answers for the wire: headers, JSON bodies, payloads. XML: encode_xml.c. */
#include <math.h>
#include <openssl/evp.h>
#include <string.h>
#include <time.h>

#include "core/json/writer.h"
#include "tests/cloud/core.h"

void response_header(struct cloud_response *r, const char *name, const char *value)
{
	if (r->n_headers < sizeof(r->header) / sizeof(*r->header))
		r->header[r->n_headers++] = (struct http_header){name, value};
}

static int64_t to_ms(const json_t *value)
{
	return (int64_t)llround(json_number_value(value) * 1000.0);
}

const char *encode_time(struct arena *a, const json_t *value, const char *format)
{
	char text[64];

	if (json_is_string(value))
		return json_string_value(value);
	int64_t ms = to_ms(value);

	if (streq(format, "unixTimestamp"))
		return arena_printf(a, "%lld", (long long)(ms / 1000));
	if (streq(format, "rfc822")) {
		time_t t = (time_t)(ms / 1000);
		struct tm tm;

		gmtime_r(&t, &tm);
		strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
		return arena_strdup(a, text);
	}
	return arena_strdup(a, time_rfc3339(ms, text));
}

const char *encode_text(struct arena *a, const struct model_op *op, const json_t *ref,
			const json_t *value, const char *time_format)
{
	const json_t *shape = model_ref_shape(op, ref);

	if (model_type(shape) == SHAPE_TIMESTAMP) {
		const char *own = model_time_format(op, ref);

		return encode_time(a, value, own ? own : time_format);
	}
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	if (json_is_integer(value))
		return arena_printf(a, "%lld", (long long)json_integer_value(value));
	if (json_is_real(value))
		return arena_printf(a, "%.17g", json_real_value(value));
	return json_text(a, value);
}

/* --- JSON ---------------------------------------------------------------- */

struct json_encoder {
	struct arena *a;
	const struct model_op *op;
	struct json_writer *w;
};

static void write_value(struct json_encoder *e, const json_t *ref, const json_t *value);

static void write_structure(struct json_encoder *e, const json_t *shape,
			    const json_t *value, bool top)
{
	json_t *members = json_object_get(shape, "members"), *one;
	const char *name;

	jw_open_object(e->w);
	json_object_foreach((json_t *)(uintptr_t)value, name, one) {
		const json_t *ref = json_object_get(members, name);
		const char *where = model_str(ref, "location");

		if (!ref || json_is_null(one) || (top && where))
			continue;
		const char *wire = model_str(ref, "locationName");

		jw_key(e->w, wire ? wire : name);
		write_value(e, ref, one);
	}
	jw_close(e->w);
}

static void write_time(struct json_encoder *e, const json_t *ref, const json_t *value)
{
	const char *format = model_time_format(e->op, ref);
	int64_t ms;

	if (streq(format, "iso8601")) {
		jw_str(e->w, encode_time(e->a, value, format));
		return;
	}
	if (json_is_string(value) && time_parse_rfc3339(json_string_value(value), &ms))
		value = json_own(e->a, cloud_seconds(ms));
	jw_tree(e->w, value);
}

static void write_value(struct json_encoder *e, const json_t *ref, const json_t *value)
{
	const json_t *shape = model_ref_shape(e->op, ref);
	const json_t *item = json_object_get(shape, "member");
	const char *name;
	json_t *one;
	size_t i;

	switch (model_type(shape)) {
	case SHAPE_STRUCTURE:
		write_structure(e, shape, value, false);
		return;
	case SHAPE_LIST:
		jw_open_list(e->w);
		json_array_foreach(value, i, one)
			write_value(e, item, one);
		jw_close(e->w);
		return;
	case SHAPE_MAP:
		item = json_object_get(shape, "value");
		jw_open_object(e->w);
		json_object_foreach((json_t *)(uintptr_t)value, name, one) {
			jw_key(e->w, name);
			write_value(e, item, one);
		}
		jw_close(e->w);
		return;
	case SHAPE_TIMESTAMP:
		write_time(e, ref, value);
		return;
	case SHAPE_STRING:
	case SHAPE_INTEGER:
	case SHAPE_FLOAT:
	case SHAPE_BOOLEAN:
	case SHAPE_BLOB:
		jw_tree(e->w, value);
		return;
	}
}

static void encode_json(struct arena *a, const struct model_op *op, const json_t *out,
			struct cloud_response *ret)
{
	const json_t *shape = model_shape(op, op->out);
	struct buf b;
	struct json_writer w;
	struct json_encoder e = {a, op, &w};

	buf_init(&b, a, WIRE_BODY_MAX);
	/* An operation without output answers with an empty body in JSON 1.1. */
	if (shape || op->protocol == PROTO_REST_JSON) {
		jw_begin(&w, &b);
		write_structure(&e, shape, out, true);
		jw_end(&w);
	}
	ret->body = buf_cstr(&b);
	ret->body_len = b.len;
	response_header(ret, "Content-Type",
			op->protocol == PROTO_JSON ? "application/x-amz-json-1.1"
						   : "application/json");
}

/* --- headers and payloads of REST answers -------------------------------- */

static void write_header_map(struct arena *a, const char *prefix, const json_t *map,
			     struct cloud_response *ret)
{
	const char *name;
	json_t *one;

	json_object_foreach((json_t *)(uintptr_t)map, name, one)
		response_header(ret, arena_printf(a, "%s%s", prefix, name),
				json_string_value(one));
}

static void encode_headers(struct arena *a, const struct model_op *op, const json_t *out,
			   struct cloud_response *ret)
{
	json_t *members = json_object_get(model_shape(op, op->out), "members"), *one;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)out, name, one) {
		const json_t *ref = json_object_get(members, name);
		const char *where = model_str(ref, "location");

		if (streq(where, "statusCode"))
			ret->status = (int)json_integer_value(one);
		else if (streq(where, "header"))
			response_header(ret, model_str(ref, "locationName"),
					encode_text(a, op, ref, one, "rfc822"));
		else if (streq(where, "headers"))
			write_header_map(a, model_str(ref, "locationName"), one, ret);
	}
}

static void encode_blob(struct arena *a, const json_t *value, struct cloud_response *ret)
{
	const char *b64 = json_str_at(value, "$base64");

	ret->body = "";
	ret->body_len = 0;
	if (json_is_string(value)) {
		ret->body = json_string_value(value);
		ret->body_len = json_string_length(value);
	} else if (b64) {
		size_t n = strlen(b64);
		unsigned char *p = arena_alloc(a, n + 1);
		int got = EVP_DecodeBlock(p, (const unsigned char *)b64, (int)n);

		for (size_t i = n; got > 0 && i > 0 && b64[i - 1] == '='; i--)
			got--;
		ret->body = (const char *)p;
		ret->body_len = got > 0 ? (size_t)got : 0;
	}
}

void encode_answer(struct arena *a, const struct model_op *op, const struct wire *w,
		   const json_t *out, struct cloud_response *ret)
{
	const json_t *shape = model_shape(op, op->out);
	const json_t *http = json_object_get(op->def, "http");
	const char *payload = model_str(shape, "payload");
	const json_t *ref = json_object_get(json_object_get(shape, "members"), payload);
	int status = (int)json_integer_value(json_object_get(http, "responseCode"));

	ret->status = status ? status : 200;
	if (op->protocol == PROTO_REST_JSON || op->protocol == PROTO_REST_XML)
		encode_headers(a, op, out, ret);
	const enum shape_type type =
		payload ? model_type(model_ref_shape(op, ref)) : SHAPE_STRUCTURE;

	if (type == SHAPE_BLOB || type == SHAPE_STRING)
		encode_blob(a, json_object_get(out, payload), ret);
	else if (op->protocol == PROTO_JSON || op->protocol == PROTO_REST_JSON)
		encode_json(a, op, out, ret);
	else
		encode_xml(a, op, w, out, ret);
}
