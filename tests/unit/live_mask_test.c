/*
 * Every kind of secret through every door by which the cloud's words come in: nothing
 * of it is on the inner side, whatever the pieces that the network makes of it.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/json/tree.h"
#include "core/kube/helm.h"
#include "core/kube/kube.h"
#include "core/kube/lines.h"
#include "core/kube/watch.h"
#include "core/live/follow.h"
#include "core/live/masked.h"
#include "tests/unit/secret_kinds.h"

struct gate {
	struct arena *a;
	struct transport net;
	const char *body, *type;
	int status;
	struct buf out;
};

/* --- the doors --------------------------------------------------------------------- */

static bool answer(struct transport *t, struct arena *a, const struct http_request *req,
		   struct http_answer *ret, struct err *e)
{
	struct gate *g = (struct gate *)(void *)((char *)t - offsetof(struct gate, net));

	(void)req, (void)e, (void)a;
	*ret = (struct http_answer){.outcome = NET_ANSWERED,
				    .status = g->status,
				    .body = g->body,
				    .body_len = strlen(g->body)};
	return true;
}

static const char *lookup(void *ctx, const char *name)
{
	(void)ctx;
	if (streq(name, "AWS_ACCESS_KEY_ID"))
		return "AKIDEXAMPLE";
	return streq(name, "AWS_SECRET_ACCESS_KEY") ? "plain secret of ours" : NULL;
}

static void note(struct gate *g, const char *z)
{
	buf_adds(&g->out, z ? z : "");
	buf_addc(&g->out, '\n');
}

static void note_tree(struct gate *g, const json_t *tree)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_string(tree))
		note(g, json_string_value(tree));
	json_array_foreach(tree, i, value)
		note_tree(g, value);
	json_object_foreach((json_t *)(uintptr_t)tree, name, value)
		note_tree(g, value);
}

static void call_aws(struct gate *g, enum aws_op_id op)
{
	struct aws aws = {.net = &g->net,
			  .clock = clock_system(),
			  .region = "us-west-2",
			  .timeout_ms = 1000,
			  .lookup = lookup};
	struct aws_result r;
	struct err e = {0};

	g->net.send = answer;
	aws.credentials =
		aws_credentials_new(g->a, &g->net, aws.clock, aws.region, lookup, NULL);
	aws_call(&aws, op,
		 op == AWS_S3_GetObject
			 ? json_packf(g->a, "{s:s,s:s}", "Bucket", "b", "Key", "k")
			 : json_packf(g->a, "{s:s}", "name", "n"),
		 g->a, &r);
	note_tree(g, r.out);
	note(g, r.message);
	note(g, r.code);
	if (!r.ok)
		aws_err(aws_op(op), &r, &e);
	note(g, e.detail);
	note(g, e.cause[0].message);
}

static const char *quoted(struct gate *g, const char *member, struct str s)
{
	return json_text(g->a, json_packf(g->a, "{s:s%}", member, s.p, s.n));
}

static const char *xml(struct gate *g, struct str s)
{
	struct buf b;

	buf_init(&b, g->a, 65536);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '&')
			buf_adds(&b, "&amp;");
		else if (s.p[i] == '<')
			buf_adds(&b, "&lt;");
		else
			buf_addc(&b, s.p[i]);
	return buf_cstr(&b);
}

static void aws_json(struct gate *g, struct str s)
{
	g->body = arena_printf(g->a, "{\"cluster\":{\"tags\":[%s]}}",
			       quoted(g, "message", s));
	call_aws(g, AWS_EKS_DescribeCluster);
}

static void aws_log_events(struct gate *g, struct str s)
{
	json_t *events = json_new_list(g->a);

	/* As a log has them: an event a line. */
	for (struct str rest = s; rest.p;) {
		const struct str line = str_cut(&rest, '\n');

		json_push(events, json_incref(json_packf(g->a, "{s:i,s:s%}", "timestamp",
							 1, "message", line.p, line.n)));
	}
	g->body = json_text(g->a, json_packf(g->a, "{s:O}", "events", events));
	call_aws(g, AWS_LOGS_GetLogEvents);
}

static void aws_xml(struct gate *g, struct str s)
{
	g->body = arena_printf(
		g->a,
		"<DescribeVpcsResponse><vpcSet><item><vpcId>%s</vpcId></item>"
		"</vpcSet></DescribeVpcsResponse>",
		xml(g, s));
	call_aws(g, AWS_EC2_DescribeVpcs);
}

static void aws_json_error(struct gate *g, struct str s)
{
	g->status = 400;
	g->body = quoted(g, "message", s);
	g->body =
		arena_printf(g->a, "{\"__type\":\"ValidationException\",%s", g->body + 1);
	call_aws(g, AWS_SAGEMAKER_DescribeCluster);
}

static void aws_xml_error(struct gate *g, struct str s)
{
	g->status = 400;
	g->body = arena_printf(g->a,
			       "<Response><Errors><Error><Code>Invalid</Code><Message>%s"
			       "</Message></Error></Errors></Response>",
			       xml(g, s));
	call_aws(g, AWS_EC2_DescribeVpcs);
}

static void s3_object(struct gate *g, struct str s)
{
	g->body = str_dup(g->a, s);
	call_aws(g, AWS_S3_GetObject);
}

static void read_kube(struct gate *g, enum kube_verb verb)
{
	const struct kube_request r = {.verb = verb, .plural = "pods", .name = "p"};
	const struct http_answer ans = {.outcome = NET_ANSWERED,
					.status = g->status,
					.body = g->body,
					.body_len = strlen(g->body)};
	struct kube_result res;
	struct err e = {0};

	kube_parse(&r, &ans, g->a, &res);
	note_tree(g, res.out);
	note(g, res.message);
	note(g, res.text);
	if (!res.ok)
		kube_err(&r, &res, &e);
	note(g, e.detail);
	note(g, e.cause[0].message);
}

static void kube_object(struct gate *g, struct str s)
{
	g->body =
		arena_printf(g->a, "{\"kind\":\"Pod\",\"metadata\":{\"annotations\":%s}}",
			     quoted(g, "last", s));
	read_kube(g, KUBE_GET);
}

static void kube_refusal(struct gate *g, struct str s)
{
	g->status = 403;
	g->body = quoted(g, "message", s);
	g->body = arena_printf(g->a, "{\"kind\":\"Status\",%s", g->body + 1);
	read_kube(g, KUBE_GET);
}

static void proxy_page(struct gate *g, struct str s)
{
	g->status = 502;
	g->body = arena_printf(g->a, "<html>\xff %s</html>", str_dup(g->a, s));
	read_kube(g, KUBE_GET);
}

static void kube_raw(struct gate *g, struct str s)
{
	g->body = str_dup(g->a, s);
	read_kube(g, KUBE_RAW);
}

static bool take_change(void *ctx, enum kube_change change, const json_t *object)
{
	(void)change;
	note_tree(ctx, object);
	return true;
}

static void kube_watched(struct gate *g, struct str s)
{
	const char *doc = arena_printf(
		g->a,
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"},"
		"\"status\":%s}}\n",
		quoted(g, "message", s));
	struct kube_watch w;

	kube_watch_init(&w, g->a, take_change, g);
	kube_watch_start(&w, "");
	for (size_t i = 0; i < strlen(doc); i += 7)
		kube_watch_feed(&w, doc + i, strlen(doc) - i < 7 ? strlen(doc) - i : 7);
	kube_watch_free(&w);
}

static bool put(void *ctx, const char *p, size_t n)
{
	struct gate *g = ctx;

	buf_add(&g->out, p, n);
	return true;
}

/* A downloaded log, in pieces of every length. */
static void downloaded(struct gate *g, struct str s)
{
	const char *text =
		arena_printf(g->a, "2026-01-02T03:04:05Z %s\nnext\n", str_dup(g->a, s));
	const size_t n = strlen(text);

	for (size_t piece = 1; piece < 40; piece = piece * 2 + 1) {
		struct masked m;

		masked_init(&m, g->a, put, g);
		for (size_t at = 0; at < n; at += piece)
			masked_feed(&m, text + at, n - at < piece ? n - at : piece);
		masked_end(&m);
	}
}

/* In the midst of a line that is longer than what is held, at many places. */
static void downloaded_long(struct gate *g, struct str s)
{
	for (size_t at = MASKED_HELD_MAX - 300; at < MASKED_HELD_MAX + 40; at += 61) {
		struct masked m;

		masked_init(&m, g->a, put, g);
		for (size_t i = 0; i < at; i += 4)
			masked_feed(&m, "abc ", 4);
		masked_feed(&m, s.p, s.n);
		masked_feed(&m, " tail\n", 6);
		masked_end(&m);
		cr_expect(g->out.len > at + 6);
	}
}

static const struct {
	const char *name;
	void (*pass)(struct gate *g, struct str s);
} doors[] = {
	{"an answer of AWS in JSON", aws_json},
	{"an answer of AWS in XML", aws_xml},
	{"log events of AWS", aws_log_events},
	{"an error of AWS in JSON", aws_json_error},
	{"an error of AWS in XML", aws_xml_error},
	{"an object of a bucket", s3_object},
	{"an object of Kubernetes", kube_object},
	{"a refusal of Kubernetes", kube_refusal},
	{"a page of a proxy", proxy_page},
	{"a raw text of Kubernetes", kube_raw},
	{"a watch", kube_watched},
	{"a downloaded log", downloaded},
	{"a long line of a downloaded log", downloaded_long},
};

static void try(struct arena *a, const char *kind, size_t door, struct str text,
		struct str secret)
{
	struct gate g = {.a = a, .status = 200};
	const char *shown;

	buf_init(&g.out, a, 32 * 1024 * 1024);
	doors[door].pass(&g, text);
	shown = memmem(g.out.p ? g.out.p : "", g.out.len, "(secret)", 8);
	cr_expect_not_null(shown, "%s through %s: %.200s", kind, doors[door].name,
			   buf_cstr(&g.out));
	cr_expect_not(shows(buf_str(&g.out), secret, 1), "%s through %s", kind,
		      doors[door].name);
}

Test(masked, every_kind_through_every_door, .timeout = 60)
{
	struct rng_seeded seeded;
	struct arena a;

	rng_seeded_init(&seeded, 19);
	for (size_t k = 0; k < SECRET_KINDS; k++)
		for (size_t d = 0; d < sizeof(doors) / sizeof(*doors); d++) {
			struct str text, secret, coded;

			arena_init(&a, 0);
			text = spell(&a, &seeded.rng, secret_kinds[k], &secret);
			try(&a, secret_kinds[k], d, text, secret);
			coded = str_of(base64_encode(&a, text.p, text.n));
			if (!strchr(secret_kinds[k], '\n'))
				try(&a, secret_kinds[k], d, coded, coded);
			arena_free(&a);
		}
}

/* What is masked costs nothing of what is not. */
Test(masked, innocent_bytes_pass_unchanged)
{
	struct rng_seeded seeded;
	struct arena a;

	rng_seeded_init(&seeded, 20);
	for (int round = 0; round < 12; round++) {
		struct gate g = {.a = &a};
		struct masked m;
		struct buf in;

		arena_init(&a, 0);
		buf_init(&in, &a, 1 << 20);
		buf_init(&g.out, &a, 1 << 21);
		masked_init(&m, &a, put, &g);
		while (in.len < 200000) {
			const uint64_t what = rng_below(&seeded.rng, 12);

			if (what == 0)
				buf_addc(&in, '\n');
			else if (what == 1)
				buf_addc(&in, (char)rng_below(&seeded.rng, 256));
			else
				buf_printf(&in, "w%u ",
					   (unsigned)rng_below(&seeded.rng, 99999));
			if (round % 5 == 0 && what == 2)
				for (int i = 0; i < 9000; i++)
					buf_addc(&in, 'z');
		}
		for (size_t at = 0; at < in.len;) {
			size_t n = 1 + rng_below(&seeded.rng, 20000);

			n = n < in.len - at ? n : in.len - at;
			cr_assert(masked_feed(&m, in.p + at, n));
			at += n;
		}
		masked_end(&m);
		cr_expect_eq(g.out.len, in.len, "round %d: %zu of %zu", round, g.out.len,
			     in.len);
		cr_expect(g.out.len == in.len && memcmp(g.out.p, in.p, in.len) == 0,
			  "round %d", round);
		arena_free(&a);
	}
}
