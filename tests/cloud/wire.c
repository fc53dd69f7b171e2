/* Takes a request apart: path, query, form, framing, virtual-hosted buckets. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/cloud/core.h"

static int hex_value(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	ch = (char)tolower((unsigned char)ch);
	return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

char *percent_decode(struct arena *a, const char *p, size_t n, bool plus_is_space)
{
	char *out = arena_alloc(a, n + 1);
	size_t o = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '%' && i + 2 < n && hex_value(p[i + 1]) >= 0 &&
		    hex_value(p[i + 2]) >= 0) {
			out[o++] = (char)(hex_value(p[i + 1]) * 16 + hex_value(p[i + 2]));
			i += 2;
		} else {
			out[o++] = plus_is_space && p[i] == '+' ? ' ' : p[i];
		}
	}
	out[o] = '\0';
	return out;
}

void percent_encode(struct buf *b, const char *p, bool keep_slash)
{
	for (; *p; p++) {
		unsigned char ch = (unsigned char)*p;

		if (isalnum(ch) || strchr("-._~", ch) || (keep_slash && ch == '/'))
			buf_addc(b, (char)ch);
		else
			buf_printf(b, "%%%02X", ch);
	}
}

struct pairs form_parse(struct arena *a, const char *text, size_t n)
{
	struct str rest = {text, n};
	struct pairs ret = {NULL, 0};
	size_t count = 1;

	for (size_t i = 0; i < n; i++)
		count += text[i] == '&';
	ret.v = arena_array(a, struct pair, count);
	while (rest.p) {
		struct str one = str_cut(&rest, '&');
		struct str name = str_cut(&one, '=');

		if (name.n == 0 && !one.p)
			continue;
		ret.v[ret.n++] = (struct pair){
			.name = percent_decode(a, name.p, name.n, true),
			.value = one.p ? percent_decode(a, one.p, one.n, true) : "",
		};
	}
	return ret;
}

struct pair *pair_find(const struct pairs *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].name, name) == 0)
			return &p->v[i];
	return NULL;
}

const char *wire_header(const struct wire *w, const char *name)
{
	for (size_t i = 0; i < w->req->n_headers; i++)
		if (strcasecmp(w->req->header[i].name, name) == 0)
			return w->req->header[i].value;
	return NULL;
}

/*
 * aws-chunked: SIZE[;chunk-signature=…]\r\n DATA \r\n … 0\r\n trailers \r\n.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html
 */
static void unchunk(struct wire *w, struct arena *a)
{
	struct buf b;
	const char *p = w->req->body, *end = p + w->req->body_len;

	buf_init(&b, a, WIRE_BODY_MAX);
	while (p < end) {
		const char *eol = memchr(p, '\r', (size_t)(end - p));
		size_t size = strtoul(p, NULL, 16);

		if (!eol || size == 0 || size > (size_t)(end - eol) - 2)
			break;
		buf_add(&b, eol + 2, size);
		p = eol + 2 + size + 2;
	}
	w->body = buf_cstr(&b);
	w->body_len = b.len;
}

/* "BUCKET.s3.us-west-2.amazonaws.com", "BUCKET.localhost:4566": the bucket. */
static const char *bucket_of_host(struct arena *a, const char *host)
{
	size_t n = strcspn(host, ":");
	char *name = arena_strndup(a, host, n);
	char *s3 = strstr(name, ".s3.");
	char *local = strstr(name, ".localhost");

	if (!s3)
		s3 = strstr(name, ".s3-");
	if (!s3 && local && local[strlen(".localhost")] == '\0')
		s3 = local;
	if (!s3 || s3 == name)
		return NULL;
	*s3 = '\0';
	return name;
}

void wire_read(struct wire *w, struct arena *a, const struct cloud_request *req)
{
	const char *mark = strchr(req->target, '?');
	size_t path_len = mark ? (size_t)(mark - req->target) : strlen(req->target);

	memset(w, 0, sizeof(*w));
	w->req = req;
	w->path = arena_strndup(a, req->target, path_len);
	w->query = mark ? mark + 1 : "";
	w->query_pairs = form_parse(a, w->query, strlen(w->query));
	w->body = req->body ? req->body : "";
	w->body_len = req->body ? req->body_len : 0;
	const char *hash = wire_header(w, "x-amz-content-sha256");

	if (hash && str_starts(hash, "STREAMING-") && req->body)
		unchunk(w, a);
	w->rest_path = w->path;
	const char *bucket = req->host ? bucket_of_host(a, req->host) : NULL;

	if (bucket)
		w->rest_path = arena_printf(a, "/%s%s", bucket, w->path);
	if (strcmp(req->method, "POST") == 0)
		w->form = form_parse(a, w->body, w->body_len);
	else
		w->form = w->query_pairs;
}
