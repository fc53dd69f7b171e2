/* Requests, answers, lines, watches, releases and tokens of the Kubernetes client. */
#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <string.h>
#include <zlib.h>

#include "core/json/tree.h"
#include "core/kube/helm.h"
#include "core/kube/kube.h"
#include "core/kube/watch.h"

static const struct kube_target target = {
	.endpoint = "https://k", .ca_pem = "PEM", .cluster_name = "demo-eks"};

static const char *header(const struct http_request *r, const char *name)
{
	for (size_t i = 0; i < r->n_headers; i++) {
		if (streq(r->header[i].name, name))
			return r->header[i].value;
	}
	return "";
}

Test(kube_request, addresses_and_bodies)
{
	struct arena a;
	struct err e;
	struct http_request out;
	json_t *body = json_pack("{s:s}", "kind", "X");
	const struct {
		struct kube_request r;
		const char *method, *url, *type, *body; /* url NULL: refused */
	} rows[] = {
		{{.verb = KUBE_GET,
		  .api = "v1",
		  .plural = "pods",
		  .ns = "a",
		  .name = "p"},
		 "GET",
		 "https://k/api/v1/namespaces/a/pods/p",
		 "",
		 NULL},
		{{.verb = KUBE_GET,
		  .api = "rbac.authorization.k8s.io/v1",
		  .plural = "clusterroles",
		  .name = "system:node"},
		 "GET",
		 "https://k/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
		 "",
		 NULL},
		{{.verb = KUBE_LIST,
		  .api = "apps/v1",
		  .plural = "deployments",
		  .label_selector = "a in (b,c)",
		  .continue_ = "x=="},
		 "GET",
		 "https://k/apis/apps/v1/deployments?labelSelector=a%20in%20%28b%2Cc%29&limit=500"
		 "&continue=x%3D%3D",
		 "",
		 NULL},
		{{.verb = KUBE_CREATE,
		  .api = "v1",
		  .plural = "pods",
		  .ns = "a",
		  .name = "p",
		  .subresource = "eviction",
		  .body = body},
		 "POST",
		 "https://k/api/v1/namespaces/a/pods/p/eviction?fieldManager=instantstart"
		 "&fieldValidation=Strict",
		 "application/json",
		 "{\"kind\":\"X\"}"},
		{{.verb = KUBE_APPLY,
		  .api = "v1",
		  .plural = "persistentvolumes",
		  .name = "v",
		  .body = body,
		  .force = true,
		  .dry_run = true},
		 "PATCH",
		 "https://k/api/v1/persistentvolumes/v?fieldManager=instantstart"
		 "&fieldValidation=Strict&force=true&dryRun=All",
		 "application/apply-patch+yaml",
		 "{\"kind\":\"X\"}"},
		{{.verb = KUBE_MERGE_PATCH,
		  .api = "v1",
		  .plural = "nodes",
		  .name = "n",
		  .body = body},
		 "PATCH",
		 "https://k/api/v1/nodes/n?fieldManager=instantstart&fieldValidation=Strict",
		 "application/merge-patch+json",
		 "{\"kind\":\"X\"}"},
		{{.verb = KUBE_DELETE,
		  .api = "v1",
		  .plural = "pods",
		  .ns = "a",
		  .name = "p"},
		 "DELETE",
		 "https://k/api/v1/namespaces/a/pods/p",
		 "application/json",
		 "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":"
		 "\"Foreground\"}"},
		{{.verb = KUBE_LOG,
		  .ns = "a",
		  .name = "p",
		  .container = "c",
		  .tail_lines = 5,
		  .follow = true,
		  .timestamps = true},
		 "GET",
		 "https://k/api/v1/namespaces/a/pods/p/log?container=c&follow=true&timestamps=true"
		 "&tailLines=5",
		 "",
		 NULL},
		{{.verb = KUBE_WATCH,
		  .api = "v1",
		  .plural = "pods",
		  .resource_version = "7"},
		 "GET",
		 "https://k/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=7"
		 "&timeoutSeconds=300",
		 "",
		 NULL},
		{{.verb = KUBE_RAW, .name = "/readyz"},
		 "GET",
		 "https://k/readyz",
		 "",
		 NULL},
		{{.verb = KUBE_RAW, .name = "/a/../b"}, NULL, NULL, NULL, NULL},
		{{.verb = KUBE_GET,
		  .api = "v1",
		  .plural = "pods",
		  .ns = "a",
		  .name = "../x"},
		 NULL,
		 NULL,
		 NULL,
		 NULL},
		{{.verb = KUBE_GET, .api = "a/b/c", .plural = "pods", .name = "x"},
		 NULL,
		 NULL,
		 NULL,
		 NULL},
		{{.verb = KUBE_APPLY, .api = "v1", .plural = "pods", .name = "x"},
		 NULL,
		 NULL,
		 NULL,
		 NULL},
		{{.verb = KUBE_GET,
		  .api = "v1",
		  .plural = "pods",
		  .ns = "..",
		  .name = "x"},
		 NULL,
		 NULL,
		 NULL,
		 NULL},
	};

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const bool ok =
			kube_build(&target, &rows[i].r, secret_of("T"), &a, &out, &e);

		cr_expect_eq(ok, rows[i].url != NULL, "row %zu", i);
		if (!ok)
			continue;
		cr_expect_str_eq(out.method, rows[i].method, "row %zu", i);
		cr_expect_str_eq(out.url, rows[i].url, "row %zu", i);
		cr_expect_str_eq(header(&out, "Content-Type"), rows[i].type, "row %zu",
				 i);
		cr_expect_str_eq(out.body ? out.body : "-",
				 rows[i].body ? rows[i].body : "-", "row %zu", i);
		cr_expect_str_eq(secret_reveal(out.authorization), "Bearer T");
		cr_expect_str_eq(out.ca_pem, "PEM");
	}
	json_decref(body);
	arena_free(&a);
}

#define STATUS(code, reason, message, causes)                                            \
	"{\"kind\":\"Status\",\"code\":" #code ",\"reason\":\"" reason                   \
	"\",\"message\":\"" message "\",\"details\":{\"causes\":[" causes "]}}"

Test(kube_answer, verdicts)
{
	static const struct {
		enum kube_verb verb;
		enum net_outcome outcome;
		int status;
		const char *body;
		bool ok, ambiguous;
		const char *code;
		enum errc errc;
	} rows[] = {
		{KUBE_GET, NET_ANSWERED, 200, "{\"kind\":\"Pod\"}", true, false, "",
		 ERR_NONE},
		{KUBE_LOG, NET_ANSWERED, 200, "a line", true, false, "", ERR_NONE},
		{KUBE_GET, NET_ANSWERED, 200, "<html>", false, false, "",
		 ERR_CLOUD_GARBAGE},
		{KUBE_APPLY, NET_ANSWERED, 200, "<html>", false, true, "", ERR_AMBIGUOUS},
		{KUBE_GET, NET_AMBIGUOUS, 0, "", false, false, "", ERR_CLOUD_UNREACHABLE},
		{KUBE_APPLY, NET_AMBIGUOUS, 0, "", false, true, "", ERR_AMBIGUOUS},
		{KUBE_APPLY, NET_NOT_SENT, 0, "", false, false, "",
		 ERR_CLOUD_UNREACHABLE},
		{KUBE_GET, NET_ANSWERED, 401, STATUS(401, "Unauthorized", "x", ""), false,
		 false, "Unauthorized", ERR_CREDENTIALS},
		{KUBE_GET, NET_ANSWERED, 403, STATUS(403, "Forbidden", "x", ""), false,
		 false, "Forbidden", ERR_CLOUD_DENIED},
		{KUBE_APPLY, NET_ANSWERED, 403,
		 STATUS(403, "Forbidden", "x", "{\"reason\":\"NamespaceTerminating\"}"),
		 false, false, "Forbidden", ERR_CLOUD_CONFLICT},
		{KUBE_APPLY, NET_ANSWERED, 403,
		 STATUS(403, "Forbidden", "webhook w denied the request: no", ""), false,
		 false, "Forbidden", ERR_CLOUD_REFUSED},
		{KUBE_GET, NET_ANSWERED, 404, STATUS(404, "NotFound", "x", ""), false,
		 false, "NotFound", ERR_CLOUD_NOT_FOUND},
		{KUBE_LIST, NET_ANSWERED, 404, "404 page not found\n", false, false, "",
		 ERR_CLOUD_NOT_FOUND},
		{KUBE_GET, NET_ANSWERED, 404, "<html>not here</html>", false, false, "",
		 ERR_CLOUD_GARBAGE},
		{KUBE_DELETE, NET_ANSWERED, 404, "<html>not here</html>", false, true, "",
		 ERR_AMBIGUOUS},
		{KUBE_APPLY, NET_ANSWERED, 409,
		 STATUS(409, "Conflict", "x", "{\"reason\":\"FieldManagerConflict\"}"),
		 false, false, "Conflict", ERR_FOREIGN_OBJECT},
		{KUBE_CREATE, NET_ANSWERED, 409, STATUS(409, "AlreadyExists", "x", ""),
		 false, false, "AlreadyExists", ERR_CLOUD_CONFLICT},
		{KUBE_LIST, NET_ANSWERED, 410, STATUS(410, "Expired", "x", ""), false,
		 false, "Expired", ERR_CLOUD_UNAVAILABLE},
		{KUBE_APPLY, NET_ANSWERED, 422, STATUS(422, "Invalid", "x", ""), false,
		 false, "Invalid", ERR_CLOUD_REFUSED},
		{KUBE_APPLY, NET_ANSWERED, 500,
		 STATUS(500, "", ".spec.x: field not declared in schema", ""), false,
		 false, "", ERR_CLOUD_REFUSED},
		{KUBE_GET, NET_ANSWERED, 429, STATUS(429, "TooManyRequests", "x", ""),
		 false, false, "TooManyRequests", ERR_CLOUD_THROTTLED},
		{KUBE_CREATE, NET_ANSWERED, 429,
		 STATUS(429, "TooManyRequests", "x", "{\"reason\":\"DisruptionBudget\"}"),
		 false, false, "TooManyRequests", ERR_CLOUD_CONFLICT},
		{KUBE_APPLY, NET_ANSWERED, 500,
		 STATUS(500, "InternalError", "failed calling webhook", ""), false, false,
		 "InternalError", ERR_WEBHOOK_UNSERVED},
		/* Nothing was written, whatever the reason is that nobody answered. */
		{KUBE_APPLY, NET_ANSWERED, 500,
		 STATUS(500, "Timeout", "failed calling webhook: request timed out", ""),
		 false, false, "Timeout", ERR_WEBHOOK_UNSERVED},
		{KUBE_APPLY, NET_ANSWERED, 500,
		 STATUS(500, "", "etcdserver: request timed out", ""), false, true, "",
		 ERR_AMBIGUOUS},
		{KUBE_APPLY, NET_ANSWERED, 502, "bad gateway", false, true, "",
		 ERR_AMBIGUOUS},
		{KUBE_GET, NET_ANSWERED, 504, "", false, false, "",
		 ERR_CLOUD_UNAVAILABLE},
	};
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct kube_request r = {
			.verb = rows[i].verb, .plural = "pods", .ns = "a", .name = "p"};
		const struct http_answer ans = {.outcome = rows[i].outcome,
						.status = rows[i].status,
						.body = rows[i].body,
						.body_len = strlen(rows[i].body)};
		struct kube_result res;
		struct err e;

		kube_parse(&r, &ans, &a, &res);
		cr_expect_eq(res.ok, rows[i].ok, "row %zu", i);
		cr_expect_eq(res.ambiguous, rows[i].ambiguous, "row %zu", i);
		cr_expect_str_eq(res.code, rows[i].code, "row %zu", i);
		cr_expect_eq(res.errc, rows[i].errc, "row %zu: %d", i, (int)res.errc);
		if (!res.ok) {
			cr_expect_not(kube_err(&r, &res, &e));
			cr_expect_eq(e.code, rows[i].errc, "row %zu", i);
			cr_expect(strstr(e.detail, "p failed: "), "%s", e.detail);
		}
	}
	arena_free(&a);
}

/* --- lines and watches ---------------------------------------------------------- */

struct heard {
	char text[512];
};

static bool hear_line(void *ctx, const char *p, size_t n, bool cut)
{
	struct heard *h = ctx;
	const size_t used = strlen(h->text);

	snprintf(h->text + used, sizeof(h->text) - used, "[%.*s%s]", (int)n, p,
		 cut ? "+" : "");
	return true;
}

Test(kube_lines, any_cutting_gives_the_same_lines)
{
	static const char text[] = "one\r\n\nabcdefgh\nabcdefghi-too-long\nlast";
	struct arena a;

	arena_init(&a, 0);
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct heard h = {""};
		struct kube_lines l;

		kube_lines_init(&l, &a, 8, hear_line, &h);
		for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
			const size_t left = sizeof(text) - 1 - at;

			cr_expect(kube_lines_feed(&l, text + at,
						  piece < left ? piece : left));
		}
		cr_expect(kube_lines_end(&l));
		cr_expect_str_eq(h.text, "[one][][abcdefgh][abcdefgh+][last]",
				 "piece %zu", piece);
	}
	arena_free(&a);
}

static bool hear_change(void *ctx, enum kube_change change, const json_t *object)
{
	struct heard *h = ctx;
	const size_t used = strlen(h->text);

	snprintf(h->text + used, sizeof(h->text) - used, "%c%s ", "AMD"[change],
		 json_str_or(object, "metadata.name", "?"));
	return true;
}

#define EVENT(type, name, rv)                                                            \
	"{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name              \
	"\",\"resourceVersion\":\"" rv "\"}}}\n"

Test(kube_watch, remembers_where_it_stood)
{
	static const struct {
		const char *stream, *heard, *rv;
		int status;
		enum kube_watch_end end;
	} rows[] = {
		{EVENT("ADDED", "a", "5") EVENT("MODIFIED", "a", "6")
			 EVENT("DELETED", "a", "7"),
		 "Aa Ma Da ", "7", 200, KUBE_WATCH_RESUME},
		{EVENT("ADDED", "a", "5") EVENT("BOOKMARK", "", "9"), "Aa ", "9", 200,
		 KUBE_WATCH_RESUME},
		{EVENT("ADDED", "a", "5") "{\"type\":\"ADDED\",\"obj", "Aa ", "5", 200,
		 KUBE_WATCH_RESUME},
		{EVENT("ADDED", "a", "5") "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"reason\":\"Expired\"}}\n" EVENT(
			 "ADDED", "b", "8"),
		 "Aa ", "5", 200, KUBE_WATCH_RELIST},
		{"{\"type\":\"ERROR\",\"object\":{\"code\":500,\"reason\":\"InternalError\"}}\n",
		 "", "3", 200, KUBE_WATCH_REFUSED},
		{"garbage\n", "", "3", 200, KUBE_WATCH_RELIST},
		{"", "", "3", 410, KUBE_WATCH_RELIST},
		{"", "", "3", 403, KUBE_WATCH_REFUSED},
		{"", "", "3", 0, KUBE_WATCH_RESUME},
	};
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct heard h = {""};
		struct kube_watch w;

		kube_watch_init(&w, &a, hear_change, &h);
		kube_watch_start(&w, "3");
		for (const char *p = rows[i].stream; *p; p++) {
			if (!kube_watch_feed(&w, p, 1))
				break;
		}
		cr_expect_eq(kube_watch_finish(&w, rows[i].status), rows[i].end,
			     "row %zu", i);
		cr_expect_str_eq(h.text, rows[i].heard, "row %zu", i);
		cr_expect_str_eq(w.resource_version, rows[i].rv, "row %zu", i);
		kube_watch_free(&w);
	}
	arena_free(&a);
}

/* --- releases ---------------------------------------------------------------------- */

static const char *encode(struct arena *a, const unsigned char *p, size_t n)
{
	char *out = arena_alloc(a, n * 4 / 3 + 8);

	EVP_EncodeBlock((unsigned char *)out, p, (int)n);
	return out;
}

static const char *packed(struct arena *a, const char *json)
{
	unsigned char *out = arena_alloc(a, 4096);
	z_stream z = {0};
	const char *once = NULL;

	cr_assert_eq(
		deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
		Z_OK);
	z.next_in = (unsigned char *)arena_strdup(a, json);
	z.avail_in = (unsigned)strlen(json);
	z.next_out = out;
	z.avail_out = 4096;
	cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	once = encode(a, out, z.total_out);
	deflateEnd(&z);
	return encode(a, (const unsigned char *)once, strlen(once));
}

Test(kube_helm, release_from_its_secrets)
{
	struct arena a;
	int64_t revision = -1;
	int64_t modified = -1;
	json_t *list = NULL;

	arena_init(&a, 0);
	list = json_packf(&a, "{s:[]}", "items");
	cr_expect_null(helm_release_status(list, &revision, &modified));
	cr_expect_null(helm_release_chart_version(list, &a));
	list = json_packf(
		&a, "{s:[{s:{s:{s:s,s:s,s:s}},s:{s:s}},{s:{s:{s:s,s:s,s:s}},s:{s:s}}]}",
		"items", "metadata", "labels", "version", "10", "status", "deployed",
		"modifiedAt", "1700", "data", "release",
		packed(&a, "{\"chart\":{\"metadata\":{\"version\":\"1.2.3\"}}}"),
		"metadata", "labels", "version", "9", "status", "superseded",
		"modifiedAt", "1600", "data", "release", "AAAA");
	cr_expect_str_eq(helm_release_status(list, &revision, &modified), "deployed");
	cr_expect_eq(revision, 10);
	cr_expect_eq(modified, 1700);
	cr_expect_str_eq(helm_release_chart_version(list, &a), "1.2.3");
	json_put_str(list, "items.0.data.release", "bm90IGd6aXA=");
	cr_expect_null(helm_release_chart_version(list, &a));
	arena_free(&a);
}

/* --- tokens and calls --------------------------------------------------------------- */

static const char *lookup(void *ctx, const char *name)
{
	(void)ctx;
	if (streq(name, "AWS_ACCESS_KEY_ID"))
		return "AKIDEXAMPLE";
	if (streq(name, "AWS_SECRET_ACCESS_KEY"))
		return "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
	return streq(name, "AWS_SESSION_TOKEN") ? "EXAMPLESESSIONTOKEN//////////abc=="
						: NULL;
}

struct fake {
	struct transport net; /* first */
	const int *status;    /* of each answer */
	const char *const *body;
	const char *auth[8];
	size_t n;
	struct arena *keep;
};

static bool fake_send(struct transport *t, struct arena *a,
		      const struct http_request *req, struct http_answer *ret,
		      struct err *e)
{
	struct fake *f = (struct fake *)t;

	(void)a;
	(void)e;
	f->auth[f->n] = arena_strdup(f->keep, secret_reveal(req->authorization));
	*ret = (struct http_answer){.outcome = NET_ANSWERED,
				    .status = f->status[f->n],
				    .body = f->body[f->n],
				    .body_len = strlen(f->body[f->n])};
	f->n++;
	return true;
}

struct world {
	struct arena a;
	struct clock_manual clock;
	struct aws aws;
	struct fake net;
	struct kube kube;
};

static void world_init(struct world *w)
{
	arena_init(&w->a, 0);
	clock_manual_init(&w->clock, 1767323045000); /* 2026-01-02T03:04:05Z */
	w->net = (struct fake){.net = {fake_send}, .keep = &w->a};
	w->aws = (struct aws){.net = &w->net.net,
			      .clock = &w->clock.clock,
			      .region = "us-west-2",
			      .lookup = lookup};
	w->aws.credentials = aws_credentials_new(&w->a, &w->net.net, &w->clock.clock,
						 "us-west-2", lookup, NULL);
	kube_init(&w->kube, &w->a, &w->net.net, &w->aws, 1000);
}

static const char *token_at(struct world *w, int64_t later_ms)
{
	struct secret token;
	struct err e;

	clock_manual_advance(&w->clock, later_ms);
	cr_assert(kube_token(&w->kube, &target, &w->a, &token, &e), "%s", e.detail);
	return secret_reveal(token);
}

Test(kube_token, golden_and_cached)
{
	struct world w;
	const char *first = NULL;
	const char *url = NULL;
	char *b64 = NULL;
	size_t n = 0;

	world_init(&w);
	first = token_at(&w, 0);
	cr_assert(str_starts(first, "k8s-aws-v1."));
	n = strlen(first + 11);
	b64 = arena_alloc(&w.a, n + 8);
	for (size_t i = 0; i < (n + 3) / 4 * 4; i++) {
		const char c = i < n ? first[11 + i] : '=';

		b64[i] = c == '-' ? '+' : c == '_' ? '/' : c;
	}
	url = arena_alloc(&w.a, n + 8);
	EVP_DecodeBlock((unsigned char *)(uintptr_t)url, (unsigned char *)b64,
			(int)((n + 3) / 4 * 4));
	cr_expect(str_starts(url, "https://sts.us-west-2.amazonaws.com/?"), "%s", url);
	cr_expect(
		strstr(url,
		       "X-Amz-Signature="
		       "036bdaf60d35258004f14002f97e37122863550977c487c7da507e0ca451a30c"),
		"%s", url);
	cr_expect_str_eq(token_at(&w, 13 * 60 * 1000), first);
	cr_expect_str_neq(token_at(&w, 61 * 1000), first, "a minute before its end");
	first = token_at(&w, 0);
	cr_expect_str_neq(token_at(&w, -3600 * 1000), first, "a clock that was set back");
	arena_free(&w.a);
}

Test(kube_call, a_refused_token_is_made_anew_once)
{
	static const int status[] = {401, 200, 401, 401};
	static const char *const body[] = {"{}", "{\"kind\":\"Pod\"}", "{}", "{}"};
	const struct kube_request r = {
		.verb = KUBE_GET, .api = "v1", .plural = "pods", .ns = "a", .name = "p"};
	struct kube_result res;
	struct world w;

	world_init(&w);
	w.net.status = status;
	w.net.body = body;
	token_at(&w, 0);
	clock_manual_advance(&w.clock, 2000);
	kube_call(&w.kube, &target, &r, &w.a, &res);
	cr_expect(res.ok);
	cr_expect_eq(w.net.n, 2);
	cr_expect_str_neq(w.net.auth[0], w.net.auth[1]);
	kube_call(&w.kube, &target, &r, &w.a, &res);
	cr_expect_eq(res.errc, ERR_CREDENTIALS);
	cr_expect_eq(w.net.n, 4, "no third try");
	arena_free(&w.a);
}

Test(kube_list, chunks_are_joined_and_expiry_starts_over)
{
	static const int status[] = {200, 410, 200, 200};
	static const char *const body[] = {
		"{\"kind\":\"L\",\"metadata\":{\"continue\":\"x\"},\"items\":[1]}",
		"{\"kind\":\"Status\",\"reason\":\"Expired\"}",
		"{\"kind\":\"L\",\"metadata\":{\"continue\":\"x\"},\"items\":[1]}",
		"{\"kind\":\"L\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[2,3]}",
	};
	const struct kube_request r = {.api = "v1", .plural = "pods"};
	struct kube_result res;
	struct world w;

	world_init(&w);
	w.net.status = status;
	w.net.body = body;
	kube_list_all(&w.kube, &target, &r, &w.a, &res);
	cr_assert(res.ok, "%s", res.message);
	cr_expect_str_eq(json_text(&w.a, json_at(res.out, "items")), "[1,2,3]");
	cr_expect_str_eq(json_str_or(res.out, "metadata.resourceVersion", ""), "9");
	arena_free(&w.a);
}
