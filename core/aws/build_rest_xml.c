/*
 * S3: bucket in the host or the path, key in the path, other members in the
 * query, in headers, or in an XML body.
 *
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
 */
#include <string.h>
#include <zlib.h>

#include "core/aws/build.h"
#include "core/aws/names.h"
#include "core/aws/s3_names.h"
#include "core/base/limits.h"
#include "core/json/tree.h"

/* ---------------------------------------------------------------- URL */

/* A bucket that can be a label of the host under the service's certificate. */
static bool fits_host(const char *bucket)
{
	size_t n = strlen(bucket);

	return n >= 3 && n <= 63 && *bucket != '-' && bucket[n - 1] != '-' &&
	       strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static bool is_bucket(const char *bucket)
{
	size_t n = strlen(bucket);

	return n >= 1 && n <= 255 &&
	       strspn(bucket, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			      "0123456789-._") == n &&
	       strcmp(bucket, ".") != 0 && strcmp(bucket, "..") != 0;
}

static bool add_bucket(const struct aws_building *b, struct buf *url, struct err *e)
{
	const char *bucket = json_string_value(json_object_get(b->in, "Bucket"));

	if (!bucket) {
		buf_adds(url, b->endpoint);
		return true;
	}
	if (!is_bucket(bucket))
		return err_set(e, ERR_INVALID_INPUT,
			       "\"%.80s\" is not a valid bucket name", bucket);
	if (b->path_style || !fits_host(bucket))
		buf_printf(url, "%s/%s", b->endpoint, bucket);
	else
		buf_printf(url, "https://%s.%s", bucket, strstr(b->endpoint, "://") + 3);
	return true;
}

/* ---------------------------------------------------------------- XML body */

static void add_escaped(struct buf *b, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			buf_adds(b, "&amp;");
			break;
		case '<':
			buf_adds(b, "&lt;");
			break;
		case '>':
			buf_adds(b, "&gt;");
			break;
		case '"':
			buf_adds(b, "&quot;");
			break;
		case '\r':
			buf_adds(b, "&#xD;");
			break;
		default:
			buf_addc(b, *text);
		}
	}
}

static void add_members(const struct aws_building *b, struct buf *xml,
			const json_t *object, int depth);

static void add_element(const struct aws_building *b, struct buf *xml,
			const char *element, const json_t *v, int depth)
{
	const char *text = scalar_text(b->arena, v);

	buf_printf(xml, "<%s>", element);
	if (text)
		add_escaped(xml, text);
	else if (json_is_object(v))
		add_members(b, xml, v, depth + 1);
	buf_printf(xml, "</%s>", element);
}

/* Of S3's lists only TagSet has an element of its own; the others repeat. */
static void add_list(const struct aws_building *b, struct buf *xml, const char *member,
		     const char *element, const json_t *list, int depth)
{
	bool wrapped = streq(member, "TagSet");
	json_t *v;
	size_t i;

	if (wrapped)
		buf_adds(xml, "<TagSet>");
	json_array_foreach(list, i, v)
		add_element(b, xml, wrapped ? "Tag" : element, v, depth);
	if (wrapped)
		buf_adds(xml, "</TagSet>");
}

static void add_members(const struct aws_building *b, struct buf *xml,
			const json_t *object, int depth)
{
	const char *key;
	json_t *v;

	if (depth > LIMIT_JSON_DEPTH)
		return;
	json_object_foreach((json_t *)(uintptr_t)object, key, v) {
		const char *element = aws_wire_of(b->service->id, NULL, key);

		if (json_is_array(v))
			add_list(b, xml, key, element, v, depth);
		else if (!json_is_null(v))
			add_element(b, xml, element, v, depth);
	}
}

static bool set_body(const struct aws_building *b, const json_t *payload, struct err *e)
{
	struct buf xml;

	if (json_is_string(payload)) {
		b->req->body = json_string_value(payload);
		b->req->body_len = json_string_length(payload);
		return true;
	}
	buf_init(&xml, b->arena, AWS_REQUEST_MAX);
	buf_printf(&xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?><%s xmlns=\"%s\">",
		   b->op->payload, b->service->xml_namespace);
	add_members(b, &xml, payload, 0);
	buf_printf(&xml, "</%s>", b->op->payload);
	http_add_header(b->req, "content-type", "application/xml");
	b->req->body = buf_cstr(&xml);
	b->req->body_len = xml.len;
	return request_fits(b, &xml, e);
}

static void add_checksum(const struct aws_building *b)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789+/";
	const char *body = b->req->body ? b->req->body : "";
	uint32_t crc = (uint32_t)crc32(0, (const unsigned char *)body,
				       (unsigned)b->req->body_len);
	uint64_t bits = (uint64_t)crc << 4; /* 32 bits in six digits of six */
	char *text = arena_strdup(b->arena, "......==");

	for (int i = 0; i < 6; i++)
		text[i] = digits[(bits >> (6 * (5 - i))) & 63];
	http_add_header(b->req, "x-amz-sdk-checksum-algorithm", "CRC32");
	http_add_header(b->req, "x-amz-checksum-crc32", text);
}

/* ---------------------------------------------------------------- members */

static bool add_member(const struct aws_building *b, struct buf *url, const char *member,
		       const json_t *v, struct err *e)
{
	const char *text = scalar_text(b->arena, v);
	const char *query = s3_query_of(member);
	const char *header = s3_header_of(member);

	if (!text || (!query && !header))
		return err_set(e, ERR_INTERNAL, "%s cannot send %s", b->op->name, member);
	if (strpbrk(text, "\r\n") && !query)
		return err_set(e, ERR_INVALID_INPUT, "%s must not contain a line break",
			       member);
	if (query)
		add_query_param(url, query, text);
	else
		http_add_header(b->req, header, text);
	return true;
}

bool build_rest_xml(const struct aws_building *b, struct err *e)
{
	struct str http = str_of(b->op->http);
	struct str_list used = {0};
	struct buf url;
	const char *key;
	json_t *v;

	b->req->method = str_dup(b->arena, str_cut(&http, ' '));
	buf_init(&url, b->arena, AWS_REQUEST_MAX);
	if (!add_bucket(b, &url, e) || !add_uri(b, &url, &used, e))
		return false;
	str_list_add(b->arena, &used, "Bucket");
	json_object_foreach((json_t *)(uintptr_t)b->in, key, v) {
		if (str_list_has(&used, key) || json_is_null(v) ||
		    streq(key, b->op->payload))
			continue;
		if (b->op->checksum && streq(key, "ChecksumAlgorithm"))
			continue; /* always ours */
		if (!add_member(b, &url, key, v, e))
			return false;
	}
	v = b->op->payload ? json_object_get(b->in, b->op->payload) : NULL;
	if (v && !set_body(b, v, e))
		return false;
	if (b->op->checksum)
		add_checksum(b);
	b->req->url = buf_cstr(&url);
	return request_fits(b, &url, e);
}
