/*
 * Verifies AWS Signature Version 4, in headers and in presigned URLs.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 * Written from that page and not from the product's signer, so that the two
 * cannot share a mistake.
 */
#include <ctype.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/aws/partition.h"

#include "tests/cloud/core.h"

enum { DIGEST = 32, SKEW_MS = 5 * 60 * 1000, S3_SKEW_MS = 15 * 60 * 1000 };

/* What the request claims. */
struct claim {
	const char *credential, *signed_headers, *signature, *date, *token;
	int64_t expires_ms; /* presigned; 0: header form */
	bool presigned;
};

static const char *hex(struct arena *a, const unsigned char *p, size_t n)
{
	struct buf b;

	buf_init(&b, a, n * 2 + 1);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%02x", p[i]);
	return buf_cstr(&b);
}

static const char *sha256_hex(struct arena *a, const char *p, size_t n)
{
	unsigned char md[DIGEST];

	EVP_Digest(p, n, md, NULL, EVP_sha256(), NULL);
	return hex(a, md, DIGEST);
}

static void hmac(const void *key, size_t key_len, const char *text,
		 unsigned char ret[DIGEST])
{
	HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text, strlen(text),
	     ret, NULL);
}

static const char *part(struct arena *a, const char *header, const char *name)
{
	const char *p = strstr(header, name);

	if (!p)
		return NULL;
	p += strlen(name);
	return arena_strndup(a, p, strcspn(p, ", "));
}

static const char *query_value(const struct wire *w, const char *name)
{
	struct pair *p = pair_find(&w->query_pairs, name);

	return p ? p->value : NULL;
}

static bool read_claim(struct arena *a, const struct wire *w, struct claim *c)
{
	const char *auth = wire_header(w, "authorization");
	static const char scheme[] = "AWS4-HMAC-SHA256 ";

	memset(c, 0, sizeof(*c));
	if (auth && str_starts(auth, scheme)) {
		c->credential = part(a, auth, "Credential=");
		c->signed_headers = part(a, auth, "SignedHeaders=");
		c->signature = part(a, auth, "Signature=");
		c->date = wire_header(w, "x-amz-date");
		c->token = wire_header(w, "x-amz-security-token");
	} else if (streq(query_value(w, "X-Amz-Algorithm"), "AWS4-HMAC-SHA256")) {
		const char *expires = query_value(w, "X-Amz-Expires");

		c->presigned = true;
		c->credential = query_value(w, "X-Amz-Credential");
		c->signed_headers = query_value(w, "X-Amz-SignedHeaders");
		c->signature = query_value(w, "X-Amz-Signature");
		c->date = query_value(w, "X-Amz-Date");
		c->token = query_value(w, "X-Amz-Security-Token");
		c->expires_ms = expires ? strtoll(expires, NULL, 10) * 1000 : 0;
	}
	return c->credential && c->signed_headers && c->signature && c->date;
}

static bool read_scope(struct arena *a, struct wire *w, const struct claim *c)
{
	struct str rest = str_of(c->credential);
	struct str piece[5] = {{NULL, 0}};
	size_t n = 0;

	while (rest.p && n < 5)
		piece[n++] = str_cut(&rest, '/');
	if (n != 5 || rest.p || !str_is(piece[4], "aws4_request"))
		return false;
	w->access_key = str_dup(a, piece[0]);
	w->scope_date = str_dup(a, piece[1]);
	w->scope_region = str_dup(a, piece[2]);
	w->scope_service = str_dup(a, piece[3]);
	return true;
}

bool sigv4_scope(struct arena *a, struct wire *w)
{
	struct claim c;

	return read_claim(a, w, &c) && read_scope(a, w, &c);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* name=value, encoded; sorted as the page asks for: by name, then by value. */
static void canonical_query(struct buf *b, struct arena *a, const struct wire *w)
{
	const char **v = arena_array(a, const char *, w->query_pairs.n + 1);
	struct str rest = str_of(w->query);
	size_t n = 0;

	while (rest.p) {
		struct str one = str_cut(&rest, '&');
		struct str name = str_cut(&one, '=');
		struct buf pair;

		if (name.n == 0 || str_is(name, "X-Amz-Signature"))
			continue;
		buf_init(&pair, a, WIRE_BODY_MAX);
		/* '+' in a query is a plus sign here: only forms make it a blank. */
		percent_encode(&pair, percent_decode(a, name.p, name.n, false), false);
		/* \001 sorts below every character that can stand in a name. */
		buf_addc(&pair, '\001');
		if (one.p)
			percent_encode(&pair, percent_decode(a, one.p, one.n, false),
				       false);
		v[n++] = buf_cstr(&pair);
	}
	qsort(v, n, sizeof(*v), by_text);
	for (size_t i = 0; i < n; i++) {
		size_t at = strcspn(v[i], "\001");

		buf_printf(b, "%s%.*s=%s", i ? "&" : "", (int)at, v[i], v[i] + at + 1);
	}
}

/* Removes empty, "." and ".." segments and encodes what is left once more. */
static void canonical_path(struct buf *b, struct arena *a, const char *path)
{
	struct str_list kept = {NULL, 0};
	struct str rest = str_of(path);
	size_t len = strlen(path);

	while (rest.p) {
		struct str one = str_cut(&rest, '/');

		if (one.n == 0 || str_is(one, "."))
			continue;
		if (str_is(one, "..")) {
			kept.n -= kept.n > 0;
			continue;
		}
		str_list_add(a, &kept, str_dup(a, one));
	}
	for (size_t i = 0; i < kept.n; i++) {
		buf_addc(b, '/');
		percent_encode(b, kept.v[i], false);
	}
	if (kept.n == 0 || (len > 1 && path[len - 1] == '/'))
		buf_addc(b, '/');
}

static void canonical_value(struct buf *b, const char *v)
{
	bool blank = false, any = false;

	for (; *v; v++) {
		if (*v == ' ' || *v == '\t') {
			blank = true;
			continue;
		}
		if (blank && any)
			buf_addc(b, ' ');
		blank = false;
		any = true;
		buf_addc(b, *v);
	}
}

static bool canonical_headers(struct buf *b, struct arena *a, const struct wire *w,
			      const char *names)
{
	struct str rest = str_of(names);
	bool has_host = false;

	while (rest.p) {
		const char *name = str_dup(a, str_cut(&rest, ';'));
		bool any = false;

		has_host |= strcmp(name, "host") == 0;
		buf_printf(b, "%s:", name);
		for (size_t i = 0; i < w->req->n_headers; i++) {
			if (strcasecmp(w->req->header[i].name, name) != 0)
				continue;
			if (any)
				buf_addc(b, ',');
			canonical_value(b, w->req->header[i].value);
			any = true;
		}
		if (!any && strcmp(name, "host") == 0 && w->req->host) {
			canonical_value(b, w->req->host);
			any = true;
		}
		buf_addc(b, '\n');
		if (!any)
			return false;
	}
	return has_host;
}

static const char *payload_hash(struct arena *a, const struct wire *w, bool s3,
				bool presigned)
{
	const char *stated = wire_header(w, "x-amz-content-sha256");

	if (s3 && presigned && !stated)
		return "UNSIGNED-PAYLOAD";
	if (stated &&
	    (streq(stated, "UNSIGNED-PAYLOAD") || str_starts(stated, "STREAMING-")))
		return s3 ? stated : "";
	const char *body = w->req->body ? w->req->body : "";
	const char *real = sha256_hex(a, body, w->req->body ? w->req->body_len : 0);

	/* A stated hash that the body does not have fails the signature. */
	return stated && !streq(stated, real) ? "" : real;
}

static const char *expected_signature(struct arena *a, const struct wire *w,
				      const struct claim *c, const char *secret)
{
	bool s3 = streq(w->scope_service, "s3");
	struct buf b;
	unsigned char k[DIGEST];

	buf_init(&b, a, WIRE_BODY_MAX);
	buf_printf(&b, "%s\n", w->req->method);
	if (s3)
		buf_adds(&b, *w->path ? w->path : "/");
	else
		canonical_path(&b, a, w->path);
	buf_addc(&b, '\n');
	canonical_query(&b, a, w);
	buf_addc(&b, '\n');
	if (!canonical_headers(&b, a, w, c->signed_headers))
		return NULL;
	buf_printf(&b, "\n%s\n%s", c->signed_headers,
		   payload_hash(a, w, s3, c->presigned));
	const char *digest = sha256_hex(a, buf_cstr(&b), b.len);
	const char *to_sign = arena_printf(
		a, "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n%s", c->date,
		w->scope_date, w->scope_region, w->scope_service, digest);
	const char *first = arena_printf(a, "AWS4%s", secret);

	hmac(first, strlen(first), w->scope_date, k);
	hmac(k, DIGEST, w->scope_region, k);
	hmac(k, DIGEST, w->scope_service, k);
	hmac(k, DIGEST, "aws4_request", k);
	hmac(k, DIGEST, to_sign, k);
	return hex(a, k, DIGEST);
}

/* Every x-amz-* header that is sent must be signed, and the content type too. */
static bool headers_are_signed(struct arena *a, const struct wire *w,
			       const struct claim *c)
{
	const char *list = arena_printf(a, ";%s;", c->signed_headers);

	for (size_t i = 0; i < w->req->n_headers; i++) {
		const char *name = w->req->header[i].name;

		if (strncasecmp(name, "x-amz-", 6) != 0 ||
		    strncasecmp(name, "x-amzn-", 7) == 0)
			continue;
		char *key = arena_printf(a, ";%s;", name);

		for (char *p = key; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		if (!strstr(list, key))
			return false;
	}
	return true;
}

static bool compact_time(const char *text, int64_t *ret_ms)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y%m%dT%H%M%SZ", &tm);

	if (!end || *end)
		return false;
	*ret_ms = (int64_t)timegm(&tm) * 1000;
	return true;
}

static bool refuse(struct refused *r, enum refusal why, const char *message)
{
	r->why = why;
	r->message = message;
	return false;
}

static bool check_time(struct cloud *c, struct arena *a, const struct wire *w,
		       const struct claim *claim, int64_t life_ms, struct refused *r)
{
	int64_t now = c->auth_clock->wall_ms(c->auth_clock), at;
	int64_t skew = streq(w->scope_service, "s3") ? S3_SKEW_MS : SKEW_MS;
	char now_text[TIME_TEXT];

	if (!compact_time(claim->date, &at) ||
	    strncmp(claim->date, w->scope_date, 8) != 0)
		return refuse(
			r, REFUSED_SIGNATURE,
			"Date in Credential scope does not match the date of the request");
	int64_t until = claim->presigned ? at + (life_ms ? life_ms : claim->expires_ms)
					 : at + skew;

	if (now > until)
		return refuse(
			r, REFUSED_SKEW,
			arena_printf(a, "Signature expired: %s is now earlier than %s",
				     claim->date, time_compact(now - skew, now_text)));
	if (at > now + skew)
		return refuse(
			r, REFUSED_SKEW,
			arena_printf(
				a, "Signature not yet current: %s is still later than %s",
				claim->date, time_compact(now + skew, now_text)));
	return true;
}

/* The secret of the key, and who holds it. */
static const char *find_key(struct cloud *c, const struct wire *w,
			    const struct claim *claim, struct caller *ret,
			    struct refused *r)
{
	ret->access_key = w->access_key;
	if (streq(w->access_key, c->o.access_key)) {
		ret->arn = c->o.caller_arn;
		if (claim->token) {
			refuse(r, REFUSED_BAD_TOKEN, NULL);
			return NULL;
		}
		return c->o.secret_key;
	}
	/* More keys of the same caller. */
	const char *more = json_string_value(
		json_object_get(json_object_get(c->settings, "keys"), w->access_key));

	if (more && !claim->token) {
		ret->arn = c->o.caller_arn;
		return more;
	}
	json_t *s = cloud_get(c, "sts.session", w->access_key);

	if (!s) {
		refuse(r, REFUSED_UNKNOWN_KEY, NULL);
		return NULL;
	}
	if (!streq(claim->token, json_str_at(s, "SessionToken"))) {
		refuse(r, REFUSED_BAD_TOKEN, NULL);
		return NULL;
	}
	if (c->auth_clock->wall_ms(c->auth_clock) >= json_int_or(s, "_expires_ms", 0)) {
		refuse(r, REFUSED_EXPIRED_TOKEN, NULL);
		return NULL;
	}
	ret->arn = json_str_at(s, "Arn");
	return json_str_at(s, "SecretAccessKey");
}

static bool scope_is_ours(struct cloud *c, const struct wire *w)
{
	bool global = streq(w->scope_service, "iam") || streq(w->scope_service, "sts");

	/* Official clients sign IAM for their own region when the endpoint is
	 * overridden, and for the partition's own when it is not. */
	if (global && streq(w->scope_region, aws_partition_of(c->o.region)->iam_region))
		return true;
	return streq(w->scope_region, c->o.region);
}

bool sigv4_verify_for(struct cloud *c, struct arena *a, struct wire *w, int64_t life_ms,
		      struct caller *ret, struct refused *r)
{
	struct claim claim;

	if (!read_claim(a, w, &claim) || !read_scope(a, w, &claim))
		return refuse(r, REFUSED_NO_SIGNATURE, NULL);
	const char *secret = find_key(c, w, &claim, ret, r);

	if (!secret)
		return false;
	if (!scope_is_ours(c, w))
		return refuse(r, REFUSED_SCOPE,
			      "Credential should be scoped to a valid region.");
	if (!check_time(c, a, w, &claim, life_ms, r))
		return false;
	if (!claim.presigned && !headers_are_signed(a, w, &claim))
		return refuse(
			r, REFUSED_SIGNATURE,
			"There were headers present in the request which were not signed");
	const char *want = expected_signature(a, w, &claim, secret);

	if (!want || strlen(want) != strlen(claim.signature) ||
	    CRYPTO_memcmp(want, claim.signature, strlen(want)) != 0)
		return refuse(r, REFUSED_SIGNATURE, NULL);
	return true;
}

bool sigv4_verify(struct cloud *c, struct arena *a, struct wire *w, struct caller *ret,
		  struct refused *r)
{
	return sigv4_verify_for(c, a, w, 0, ret, r);
}
