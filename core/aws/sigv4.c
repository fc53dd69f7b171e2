#include "core/aws/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "core/aws/uri.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/limits.h"

enum { DIGEST = 32, DATE_DAY = 8 };

static void to_hex(const unsigned char *p, char *ret_hex)
{
	static const char hex[] = "0123456789abcdef";

	for (int i = 0; i < DIGEST; i++) {
		ret_hex[2 * i] = hex[p[i] >> 4];
		ret_hex[2 * i + 1] = hex[p[i] & 15];
	}
	ret_hex[2 * DIGEST] = 0;
}

void sha256_hex(const void *p, size_t n, char ret_hex[static SHA256_HEX])
{
	unsigned char digest[DIGEST];

	if (EVP_Digest(p, n, digest, NULL, EVP_sha256(), NULL) != 1)
		abort(); /* only without memory */
	to_hex(digest, ret_hex);
}

static void hmac(const void *key, size_t key_len, struct str text,
		 unsigned char ret[DIGEST])
{
	unsigned int n = DIGEST;

	if (!HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text.p, text.n,
		  ret, &n))
		abort();
}

/* ---------------------------------------------------------------- the URL */

struct url {
	struct str host;  /* with a port that is not the scheme's own */
	struct str path;  /* as sent; empty when there is none */
	struct str query; /* without '?' */
};

static struct url split_url(const char *text)
{
	struct url u = {0};
	struct str rest = str_of(text);
	const char *start = strstr(text, "://");
	bool tls = str_starts(text, "https:");
	size_t n;

	if (start) {
		rest.n -= (size_t)(start + 3 - text);
		rest.p = start + 3;
	}
	n = strcspn(rest.p, "/?");
	u.host = (struct str){rest.p, n};
	rest = (struct str){rest.p + n, rest.n - n};
	n = strcspn(rest.p, "?");
	u.path = (struct str){rest.p, n};
	if (n < rest.n)
		u.query = (struct str){rest.p + n + 1, rest.n - n - 1};
	if (str_has_suffix(u.host, tls ? STR(":443") : STR(":80")))
		u.host.n -= tls ? 4 : 3;
	return u;
}

/* ---------------------------------------------------------------- canonical form */

/* Drops empty and "." segments and resolves ".."; keeps a trailing slash. */
static struct str normal_path(struct str path, struct arena *a)
{
	struct str *kept = arena_array(a, struct str, path.n + 1);
	struct str rest = path, last = {0};
	struct buf b;
	size_t n = 0;

	while (rest.p) {
		last = str_cut(&rest, '/');
		if (last.n == 0 || str_is(last, "."))
			continue;
		if (!str_is(last, ".."))
			kept[n++] = last;
		else if (n > 0)
			n--;
	}
	buf_init(&b, a, path.n + 2);
	for (size_t i = 0; i < n; i++) {
		buf_addc(&b, '/');
		buf_add_str(&b, kept[i]);
	}
	if (n == 0 || last.n == 0 || str_is(last, ".") || str_is(last, ".."))
		buf_addc(&b, '/');
	return buf_str(&b);
}

static void add_path(struct buf *b, struct str path, bool s3, struct arena *a)
{
	if (path.n == 0)
		buf_addc(b, '/');
	else if (s3)
		buf_add_str(b, path);
	else
		uri_encode(b, normal_path(path, a), true);
}

struct pair {
	const char *name;
	const char *value;
};

static int by_name_and_value(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->value, b->value);
}

/* Decoded and encoded anew, so that any spelling in the URL is accepted. */
static const char *encoded_anew(struct str s, struct arena *a)
{
	struct buf b;

	buf_init(&b, a, 3 * s.n + 1);
	uri_encode(&b, uri_decode(a, s), false);
	return buf_cstr(&b);
}

static void add_query(struct buf *b, struct str query, struct arena *a)
{
	struct pair *pairs = arena_array(a, struct pair, query.n + 1);
	size_t n = 0;

	while (query.n > 0 && query.p) {
		struct str value = str_cut(&query, '&');
		struct str name;

		if (value.n == 0)
			continue;
		name = str_cut(&value, '=');
		pairs[n].name = encoded_anew(name, a);
		pairs[n++].value = value.p ? encoded_anew(value, a) : "";
	}
	qsort(pairs, n, sizeof(*pairs), by_name_and_value);
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%s=%s", i ? "&" : "", pairs[i].name, pairs[i].value);
}

/* Set or changed on the way by libcurl or a proxy; a signature would break. */
static const char *const never_signed[] = {
	"accept",
	"accept-encoding",
	"authorization",
	"cache-control",
	"connection",
	"content-length",
	"expect",
	"host", /* taken from the URL */
	"transfer-encoding",
	"user-agent",
	"x-amzn-trace-id",
};

static bool is_signed(const char *lower)
{
	for (size_t i = 0; i < sizeof(never_signed) / sizeof(*never_signed); i++)
		if (streq(lower, never_signed[i]))
			return false;
	return true;
}

static const char *lower_name(const char *name, struct arena *a)
{
	char *lower = arena_strdup(a, name);

	for (char *c = lower; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return lower;
}

/* Trimmed, runs of blanks and folded lines collapsed to one blank. */
static const char *plain_value(const char *value, struct arena *a)
{
	struct str s = str_trim(str_of(value));
	struct buf b;
	bool blank = false;

	buf_init(&b, a, s.n + 1);
	for (size_t i = 0; i < s.n; i++) {
		bool space = s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '\r' ||
			     s.p[i] == '\n';

		if (!space)
			buf_addc(&b, s.p[i]);
		else if (!blank)
			buf_addc(&b, ' ');
		blank = space;
	}
	return buf_cstr(&b);
}

/* Stable insertion by name: repeated headers keep their order. */
static size_t sorted_headers(const struct http_request *r, struct str host,
			     struct arena *a, struct pair out[HTTP_HEADERS_MAX + 1])
{
	size_t n = 0;

	out[n++] = (struct pair){"host", str_dup(a, host)};
	for (size_t i = 0; i < r->n_headers; i++) {
		struct pair p = {lower_name(r->header[i].name, a), NULL};
		size_t at = n;

		if (!is_signed(p.name))
			continue;
		p.value = plain_value(r->header[i].value, a);
		while (at > 0 && strcmp(out[at - 1].name, p.name) > 0)
			at--;
		memmove(&out[at + 1], &out[at], (n - at) * sizeof(*out));
		out[at] = p;
		n++;
	}
	return n;
}

static const char *add_headers(struct buf *b, const struct http_request *r,
			       struct str host, struct arena *a)
{
	struct pair pairs[HTTP_HEADERS_MAX + 1];
	size_t n = sorted_headers(r, host, a, pairs);
	struct buf names;

	buf_init(&names, a, LIMIT_ARENA);
	for (size_t i = 0; i < n; i++) {
		bool repeated = i > 0 && streq(pairs[i].name, pairs[i - 1].name);

		if (repeated) {
			buf_printf(b, ",%s", pairs[i].value);
			continue;
		}
		buf_printf(b, "%s%s:%s", i ? "\n" : "", pairs[i].name, pairs[i].value);
		buf_printf(&names, "%s%s", i ? ";" : "", pairs[i].name);
	}
	buf_addc(b, '\n');
	return buf_cstr(&names);
}

struct sigv4_canonical sigv4_canonical(const struct http_request *r,
				       const char *body_sha256, bool s3, struct arena *a)
{
	struct url u = split_url(r->url);
	struct sigv4_canonical c;
	struct buf b;

	buf_init(&b, a, LIMIT_ARENA);
	buf_printf(&b, "%s\n", r->method);
	add_path(&b, u.path, s3, a);
	buf_addc(&b, '\n');
	add_query(&b, u.query, a);
	buf_addc(&b, '\n');
	c.signed_headers = add_headers(&b, r, u.host, a);
	buf_printf(&b, "\n%s\n%s", c.signed_headers, body_sha256);
	c.text = buf_cstr(&b);
	return c;
}

/* ---------------------------------------------------------------- signing */

static const char *scope_of(const struct sigv4 *s, const char *time, struct arena *a)
{
	return arena_printf(a, "%.*s/%s/%s/aws4_request", DATE_DAY, time, s->region,
			    s->service);
}

static void signature_of(const struct sigv4 *s, const char *time, const char *canonical,
			 struct arena *a, char ret_hex[static SHA256_HEX])
{
	const char *secret = secret_reveal(s->keys->secret_key);
	char hash[SHA256_HEX];
	unsigned char key[DIGEST], next[DIGEST];
	struct buf start;
	const char *text;

	sha256_hex(canonical, strlen(canonical), hash);
	text = arena_printf(a, "AWS4-HMAC-SHA256\n%s\n%s\n%s", time, scope_of(s, time, a),
			    hash);
	buf_init(&start, a, LIMIT_REQUEST_BODY);
	buf_printf(&start, "AWS4%s", secret ? secret : "");
	hmac(buf_cstr(&start), start.len, (struct str){time, DATE_DAY}, key);
	hmac(key, DIGEST, str_of(s->region), next);
	hmac(next, DIGEST, str_of(s->service), key);
	hmac(key, DIGEST, STR("aws4_request"), next);
	hmac(next, DIGEST, str_of(text), key);
	to_hex(key, ret_hex);
	explicit_bzero(start.p, start.len);
	explicit_bzero(next, sizeof(next));
}

void sigv4_sign(const struct sigv4 *s, struct http_request *r, struct arena *a)
{
	const char *token = secret_reveal(s->keys->session_token);
	struct sigv4_canonical c;
	char body_hash[SHA256_HEX], signature[SHA256_HEX], time[TIME_TEXT];

	time_compact(s->wall_ms, time);
	sha256_hex(r->body ? r->body : "", r->body ? r->body_len : 0, body_hash);
	http_add_header(r, "x-amz-date", arena_strdup(a, time));
	if (token)
		http_add_header(r, "x-amz-security-token", token);
	if (s->s3)
		http_add_header(r, "x-amz-content-sha256", arena_strdup(a, body_hash));
	c = sigv4_canonical(r, body_hash, s->s3, a);
	signature_of(s, time, c.text, a, signature);
	r->authorization = secret_dup(
		a, arena_printf(a,
				"AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, "
				"Signature=%s",
				secret_reveal(s->keys->access_key), scope_of(s, time, a),
				c.signed_headers, signature));
}

static void add_param(struct buf *url, const char *name, const char *value)
{
	buf_printf(url, "&%s=", name);
	uri_encode(url, str_of(value), false);
}

/* Names of all headers that a presigned request signs. */
static const char *presigned_headers(const struct http_request *r, struct arena *a)
{
	struct buf scratch;

	buf_init(&scratch, a, LIMIT_ARENA);
	return add_headers(&scratch, r, split_url(r->url).host, a);
}

const char *sigv4_presign(const struct sigv4 *s, const struct http_request *r,
			  int64_t expires_s, struct arena *a)
{
	const char *token = secret_reveal(s->keys->session_token);
	struct http_request signed_request = *r;
	char body_hash[SHA256_HEX], signature[SHA256_HEX], time[TIME_TEXT];
	struct buf url;

	time_compact(s->wall_ms, time);
	sha256_hex(r->body ? r->body : "", r->body ? r->body_len : 0, body_hash);
	buf_init(&url, a, LIMIT_REQUEST_BODY);
	buf_printf(&url, "%s%sX-Amz-Algorithm=AWS4-HMAC-SHA256", r->url,
		   strchr(r->url, '?') ? "&" : "?");
	add_param(&url, "X-Amz-Credential",
		  arena_printf(a, "%s/%s", secret_reveal(s->keys->access_key),
			       scope_of(s, time, a)));
	add_param(&url, "X-Amz-Date", time);
	add_param(&url, "X-Amz-Expires", arena_printf(a, "%lld", (long long)expires_s));
	if (token)
		add_param(&url, "X-Amz-Security-Token", token);
	add_param(&url, "X-Amz-SignedHeaders", presigned_headers(r, a));
	signed_request.url = buf_cstr(&url);
	signature_of(s, time,
		     sigv4_canonical(&signed_request,
				     s->s3 ? "UNSIGNED-PAYLOAD" : body_hash, s->s3, a)
			     .text,
		     a, signature);
	add_param(&url, "X-Amz-Signature", signature);
	return buf_cstr(&url);
}
