/*
 * Calls and reads: paging, repeats, clock skew, fresh keys, open outcomes. The
 * clock is moved by hand and waiting is recorded, so nothing here sleeps.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "core/aws/op_table.h"
#include "tests/unit/aws_fake.h"

enum { SLEEPS_MAX = 64 };

struct world {
	struct arena arena;
	struct clock_manual clock;
	struct rng_seeded rng;
	struct fake_net net;
	struct fake_setting settings[4];
	int64_t slept[SLEEPS_MAX];
	size_t n_slept;
	struct aws aws;
};

static const int64_t start_ms = 1767323045000; /* 2026-01-02T03:04:05Z */

static void record_sleep(void *ctx, int64_t ms)
{
	struct world *w = ctx;

	cr_assert_lt(w->n_slept, SLEEPS_MAX);
	w->slept[w->n_slept++] = ms;
	clock_manual_advance(&w->clock, ms);
}

static void open_world(struct world *w)
{
	*w = (struct world){.settings = {{"AWS_ACCESS_KEY_ID", "AKID1"},
					 {"AWS_SECRET_ACCESS_KEY", "s"},
					 {0}}};
	arena_init(&w->arena, 0);
	clock_manual_init(&w->clock, start_ms);
	rng_seeded_init(&w->rng, 7);
	w->net.transport.send = fake_send;
	w->net.keep = &w->arena;
	w->aws = (struct aws){
		.net = &w->net.transport,
		.clock = &w->clock.clock,
		.rng = &w->rng.rng,
		.region = "us-west-2",
		.timeout_ms = 5000,
		.lookup = fake_lookup,
		.lookup_ctx = w->settings,
		.sleep_ms = record_sleep,
		.sleep_ctx = w,
	};
	w->aws.credentials =
		aws_credentials_new(&w->arena, &w->net.transport, &w->clock.clock,
				    "us-west-2", fake_lookup, w->settings);
}

static void close_world(struct world *w)
{
	arena_free(&w->arena);
}

static int64_t deadline(struct world *w, int64_t ms)
{
	return w->clock.clock.mono_ms(&w->clock.clock) + ms;
}

static json_t *input(struct world *w, const char *text)
{
	struct err e = {0};
	json_t *in = json_parse(&w->arena, str_of(text), &e);

	cr_assert(in, "%s", e.detail);
	return in;
}

/* ---------------------------------------------------------------- pages */

#define VPCS(ids, more)                                                                  \
	"<DescribeVpcsResponse><vpcSet>" ids "</vpcSet>" more "</DescribeVpcsResponse>"
#define VPC(id) "<item><vpcId>" id "</vpcId></item>"
#define ROLES(names, more)                                                               \
	"<ListRolePoliciesResponse><ListRolePoliciesResult><PolicyNames>" names          \
	"</PolicyNames>" more "</ListRolePoliciesResult></ListRolePoliciesResponse>"
#define OBJECTS(items, more) "<ListBucketResult>" items more "</ListBucketResult>"

struct page_case {
	enum aws_op_id op;
	const char *in;
	struct fake_answer answers[4];
	size_t n;
	const char *second; /* in the second request's body or URL */
	const char *out;
};

#define OK(text)                                                                         \
	{                                                                                \
		NULL, NET_ANSWERED, 200, text,                                           \
		{                                                                        \
			0                                                                \
		}                                                                        \
	}

static const struct page_case pages[] = {
	/* An empty page with a token is not the end; an empty token is. */
	{AWS_EC2_DescribeVpcs,
	 "{\"MaxResults\":5}",
	 {OK(VPCS(VPC("a"), "<nextToken>t=1</nextToken>")),
	  OK(VPCS("", "<nextToken>t2</nextToken>")),
	  OK(VPCS(VPC("b") VPC("c"), "<nextToken></nextToken>"))},
	 3,
	 "MaxResults=5&NextToken=t%3D1",
	 "{\"Vpcs\":[{\"VpcId\":\"a\"},{\"VpcId\":\"b\"},{\"VpcId\":\"c\"}]}"},
	{AWS_IAM_ListRolePolicies,
	 "{\"RoleName\":\"r\"}",
	 {OK(ROLES("<member>a</member>",
		   "<IsTruncated>true</IsTruncated><Marker>m</Marker>")),
	  OK(ROLES("<member>b</member>",
		   "<IsTruncated>false</IsTruncated><Marker>m2</Marker>"))},
	 2,
	 "Marker=m",
	 "{\"PolicyNames\":[\"a\",\"b\"]}"},
	{AWS_S3_ListObjectsV2,
	 "{\"Bucket\":\"bkt\"}",
	 {OK(OBJECTS("<Contents><Key>a</Key></Contents>",
		     "<IsTruncated>true</IsTruncated><NextContinuationToken>n+"
		     "</NextContinuationToken>")),
	  OK(OBJECTS(
		  "<Contents><Key>b</Key></Contents><CommonPrefixes><Prefix>p/</Prefix>"
		  "</CommonPrefixes>",
		  "<IsTruncated>false</IsTruncated>"))},
	 2,
	 "continuation-token=n%2B",
	 "{\"CommonPrefixes\":[{\"Prefix\":\"p/\"}],\"Contents\":[{\"Key\":\"a\"},"
	 "{\"Key\":\"b\"}]}"},
	{AWS_EKS_ListClusters,
	 "{}",
	 {OK("{\"clusters\":[\"a\"],\"nextToken\":\"x\"}"),
	  OK("{\"clusters\":[\"b\"],\"nextToken\":null}")},
	 2,
	 "nextToken=x",
	 "{\"clusters\":[\"a\",\"b\"]}"},
	/* The same token again is how this one ends. */
	{AWS_LOGS_GetLogEvents,
	 "{\"logStreamName\":\"s\"}",
	 {OK("{\"events\":[{\"message\":\"1\"}],\"nextForwardToken\":\"f/1\"}"),
	  OK("{\"events\":[],\"nextForwardToken\":\"f/1\"}")},
	 2,
	 "\"nextToken\":\"f/1\"",
	 "{\"events\":[{\"message\":\"1\"}]}"},
	/* Not paged: a member that looks like a token stays. */
	{AWS_EC2_DescribeAvailabilityZones,
	 "{}",
	 {OK("<DescribeAvailabilityZonesResponse><availabilityZoneInfo><item><zoneId>z</zoneId>"
	     "</item></availabilityZoneInfo></DescribeAvailabilityZonesResponse>")},
	 1,
	 NULL,
	 "{\"AvailabilityZones\":[{\"ZoneId\":\"z\"}]}"},
};

Test(call, pages_are_joined)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		const struct page_case *c = &pages[i];
		struct world w;
		struct err e = {0};
		json_t *out = NULL;

		open_world(&w);
		fake_script(&w.net, c->answers, c->n);
		cr_assert(aws_read(&w.aws, c->op, input(&w, c->in), deadline(&w, 1000),
				   &w.arena, &out, &e),
			  "row %zu: %s", i, e.detail);
		cr_expect_eq(w.net.n_sent, c->n);
		cr_expect_str_eq(json_text(&w.arena, out), c->out);
		if (c->second) {
			const struct http_request *r = &w.net.sent[1];

			cr_expect(strstr(r->body ? r->body : r->url, c->second), "%s %s",
				  r->url, r->body ? r->body : "");
		}
		close_world(&w);
	}
}

static void page_takes_20_ms(void *ctx)
{
	clock_manual_advance(ctx, 20);
}

Test(call, pages_end_at_the_deadline)
{
	struct world w;
	struct fake_answer answers[50];
	struct err e = {0};
	json_t *out = NULL;

	open_world(&w);
	for (size_t i = 0; i < 50; i++)
		answers[i] = (struct fake_answer){
			NULL,
			NET_ANSWERED,
			200,
			arena_printf(&w.arena, "{\"clusters\":[],\"nextToken\":\"%zu\"}",
				     i),
			{0}};
	fake_script(&w.net, answers, 50);
	w.net.after = page_takes_20_ms;
	w.net.after_ctx = &w.clock;
	cr_expect_not(aws_read(&w.aws, AWS_EKS_ListClusters, NULL, deadline(&w, 400),
			       &w.arena, &out, &e));
	cr_expect_eq(e.code, ERR_DEADLINE);
	cr_expect_eq(w.net.n_sent, 20);
	/* The last exchange may take no longer than what was left. */
	cr_expect_eq(w.net.sent[19].timeout_ms, 20);
	close_world(&w);
}

Test(call, one_page_is_one_call_and_keeps_the_token_of_the_next)
{
	static const struct fake_answer answers[] = {
		OK("{\"TrainingPlanSummaries\":[{}],\"NextToken\":\"t2\"}")};
	struct world w;
	struct err e = {0};
	json_t *out = NULL;

	open_world(&w);
	fake_script(&w.net, answers, 1);
	cr_assert(aws_read_page(&w.aws, AWS_SAGEMAKER_ListTrainingPlans, NULL,
				deadline(&w, 1000), &w.arena, &out, &e),
		  "%s", e.detail);
	cr_expect_eq(w.net.n_sent, 1);
	cr_expect_str_eq(json_str_or(out, "NextToken", ""), "t2");
	close_world(&w);
}

/* ---------------------------------------------------------------- repeats */

#define THROTTLED                                                                        \
	{                                                                                \
		NULL, NET_ANSWERED, 400, "{\"__type\":\"ThrottlingException\"}",         \
		{                                                                        \
			0                                                                \
		}                                                                        \
	}
#define BROKEN                                                                           \
	{                                                                                \
		NULL, NET_ANSWERED, 503, "",                                             \
		{                                                                        \
			0                                                                \
		}                                                                        \
	}

struct repeat_case {
	const char *what;
	struct fake_answer answers[6];
	size_t n;
	int64_t within_ms;
	enum errc errc; /* ERR_NONE: it succeeds */
	int64_t least_slept_ms, most_slept_ms;
};

static const struct repeat_case repeats[] = {
	{"throttled twice",
	 {THROTTLED, THROTTLED, OK("{}")},
	 3,
	 60000,
	 ERR_NONE,
	 0,
	 3000},
	{"broken, unreachable, silent, garbage",
	 {BROKEN,
	  {NULL, NET_NOT_SENT, 0, NULL, {0}},
	  {NULL, NET_AMBIGUOUS, 0, NULL, {0}},
	  OK("<html>"),
	  OK("{}")},
	 5,
	 60000,
	 ERR_NONE,
	 0,
	 50 + 100 + 200 + 400},
	{"the service says when",
	 {{NULL, NET_ANSWERED, 503, "", {"retry-after", "3"}}, OK("{}")},
	 2,
	 60000,
	 ERR_NONE,
	 3000,
	 3000},
	{"the service says too late: five seconds more than ours",
	 {{NULL, NET_ANSWERED, 503, "", {"x-amz-retry-after", "600000"}}, OK("{}")},
	 2,
	 60000,
	 ERR_NONE,
	 5000,
	 5050},
	{"no time left to wait",
	 {{NULL, NET_ANSWERED, 503, "", {"retry-after", "3"}}},
	 1,
	 2000,
	 ERR_CLOUD_UNAVAILABLE,
	 0,
	 0},
	{"denied",
	 {{NULL, NET_ANSWERED, 400, "{\"__type\":\"AccessDeniedException\"}", {0}}},
	 1,
	 60000,
	 ERR_CLOUD_DENIED,
	 0,
	 0},
	{"not found",
	 {{NULL, NET_ANSWERED, 400, "{\"__type\":\"ResourceNotFound\"}", {0}}},
	 1,
	 60000,
	 ERR_CLOUD_NOT_FOUND,
	 0,
	 0},
};

Test(call, reads_are_repeated_while_it_makes_sense)
{
	for (size_t i = 0; i < sizeof(repeats) / sizeof(*repeats); i++) {
		const struct repeat_case *c = &repeats[i];
		struct world w;
		struct err e = {0};
		json_t *out = NULL;
		int64_t slept = 0;
		bool ok;

		open_world(&w);
		fake_script(&w.net, c->answers, c->n);
		ok = aws_read(&w.aws, AWS_SAGEMAKER_DescribeCluster, NULL,
			      deadline(&w, c->within_ms), &w.arena, &out, &e);
		for (size_t k = 0; k < w.n_slept; k++)
			slept += w.slept[k];
		cr_expect_eq(ok, c->errc == ERR_NONE, "%s: %s", c->what, e.detail);
		cr_expect_eq(ok ? ERR_NONE : e.code, c->errc, "%s: %s", c->what,
			     e.detail);
		cr_expect_eq(w.net.n_sent, c->n, "%s", c->what);
		cr_expect(slept >= c->least_slept_ms && slept <= c->most_slept_ms,
			  "%s: %lld ms", c->what, (long long)slept);
		close_world(&w);
	}
}

/* Throttling for ever ends with the cloud's words, inside the deadline. */
Test(call, jitter_is_full_and_bounded)
{
	struct world w;
	struct fake_answer answers[FAKE_MAX];
	struct err e = {0};
	json_t *out = NULL;
	int64_t end;

	open_world(&w);
	for (size_t i = 0; i < FAKE_MAX; i++)
		answers[i] = (struct fake_answer)THROTTLED;
	fake_script(&w.net, answers, FAKE_MAX);
	end = deadline(&w, 120 * 1000);
	cr_expect_not(aws_read(&w.aws, AWS_SAGEMAKER_DescribeCluster, NULL, end, &w.arena,
			       &out, &e));
	cr_expect_eq(e.code, ERR_CLOUD_THROTTLED);
	cr_expect_str_eq(e.cause[0].code, "ThrottlingException");
	cr_expect_str_eq(e.cause[0].source, "sagemaker:DescribeCluster");
	cr_expect_leq(w.clock.clock.mono_ms(&w.clock.clock), end);
	cr_assert_gt(w.n_slept, 5);
	for (size_t i = 0; i < w.n_slept; i++) {
		int64_t most = i < 5 ? 1000LL << i : 20000;

		cr_expect(w.slept[i] >= 0 && w.slept[i] <= most, "%zu: %lld", i,
			  (long long)w.slept[i]);
	}
	close_world(&w);
}

/* ---------------------------------------------------------------- clock, keys */

#define REFUSED(code, date)                                                              \
	{                                                                                \
		NULL, NET_ANSWERED, 403, "{\"__type\":\"" code "\"}",                    \
		{                                                                        \
			"date", date                                                     \
		}                                                                        \
	}

Test(call, a_wrong_clock_is_put_right_once)
{
	struct world w;
	struct aws_result r;

	open_world(&w);
	/* Theirs is an hour ahead. */
	FAKE_SCRIPT(&w.net,
		    REFUSED("SignatureDoesNotMatch", "Fri, 02 Jan 2026 04:04:05 GMT"),
		    OK("{}"), OK("{}"),
		    /* Four minutes are within what services accept: no repeat. */
		    REFUSED("AccessDeniedException", "Fri, 02 Jan 2026 04:08:04 GMT"),
		    /* Still refused with the right time: no second repeat. */
		    REFUSED("RequestTimeTooSkewed", "Fri, 02 Jan 2026 09:04:05 GMT"),
		    REFUSED("RequestTimeTooSkewed", "Fri, 02 Jan 2026 14:04:05 GMT"));
	aws_call(&w.aws, AWS_SAGEMAKER_CreateCluster, NULL, &w.arena, &r);
	cr_expect(r.ok);
	cr_expect_str_eq(fake_header(&w.net.sent[0], "x-amz-date"), "20260102T030405Z");
	cr_expect_str_eq(fake_header(&w.net.sent[1], "x-amz-date"), "20260102T040405Z");
	aws_call(&w.aws, AWS_SAGEMAKER_DescribeCluster, NULL, &w.arena, &r);
	cr_expect_str_eq(fake_header(&w.net.sent[2], "x-amz-date"), "20260102T040405Z");
	aws_call(&w.aws, AWS_SAGEMAKER_DescribeCluster, NULL, &w.arena, &r);
	cr_expect_eq(r.errc, ERR_CLOUD_DENIED);
	cr_expect_eq(w.net.n_sent, 4);
	aws_call(&w.aws, AWS_SAGEMAKER_DescribeCluster, NULL, &w.arena, &r);
	cr_expect_eq(r.errc, ERR_CREDENTIALS);
	cr_expect_eq(w.net.n_sent, 6);
	close_world(&w);
}

static void rotate(void *ctx)
{
	((struct fake_setting *)ctx)[0].value = "AKID2";
}

Test(call, expired_keys_are_renewed_once)
{
	struct world w;
	struct aws_result r;

	open_world(&w);
	FAKE_SCRIPT(&w.net, REFUSED("ExpiredTokenException", ""), OK("{}"));
	w.net.after = rotate;
	w.net.after_ctx = w.settings;
	aws_call(&w.aws, AWS_SAGEMAKER_CreateCluster, NULL, &w.arena, &r);
	cr_expect(r.ok);
	cr_expect(
		strstr(secret_reveal(w.net.sent[0].authorization), "Credential=AKID1/"));
	cr_expect(
		strstr(secret_reveal(w.net.sent[1].authorization), "Credential=AKID2/"));
	/* The same keys again would only be refused again. */
	FAKE_SCRIPT(&w.net, REFUSED("ExpiredTokenException", ""));
	aws_call(&w.aws, AWS_SAGEMAKER_CreateCluster, NULL, &w.arena, &r);
	cr_expect_eq(r.errc, ERR_CREDENTIALS);
	cr_expect_not(r.ambiguous);
	close_world(&w);
}

static void hang(void *ctx)
{
	struct world *w = ctx;

	clock_manual_advance(&w->clock, 5001);
	w->settings[0].value = "AKID3";
}

/* --- keys of another account -------------------------------------------------------- */

#define CALLER(account)                                                                                  \
	{                                                                                                \
		.url = "https://sts.", .outcome = NET_ANSWERED, .status = 200,                           \
		.body = "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::" account \
			":role/x</Arn><UserId>u</UserId><Account>" account                               \
			"</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"               \
	}
#define OURS   "111122223333"
#define OTHERS "444455556666"

static enum errc describe(struct world *w)
{
	struct aws_result r;

	aws_call(&w->aws, AWS_SAGEMAKER_DescribeCluster, NULL, &w->arena, &r);
	return r.errc;
}

/* A session that ends comes back as somebody else's: every read there would find
 * nothing, and a deletion would take that for done. */
Test(call, keys_of_another_account_are_sent_nowhere)
{
	struct world w;

	open_world(&w);
	w.aws.account = OURS;
	FAKE_SCRIPT(&w.net, CALLER(OURS), OK("{}"), OK("{}"),
		    REFUSED("ExpiredTokenException", ""), CALLER(OTHERS), CALLER(OTHERS),
		    CALLER(OURS), OK("{}"));
	/* Whose they are is asked once. */
	cr_expect_eq(describe(&w), ERR_NONE);
	cr_expect_eq(describe(&w), ERR_NONE);
	cr_expect_eq(w.net.n_sent, 3);
	w.net.after = rotate;
	w.net.after_ctx = w.settings;
	cr_expect_eq(describe(&w), ERR_CREDENTIALS);
	cr_expect_eq(w.net.n_sent, 5, "%zu", w.net.n_sent);
	w.net.after = NULL;
	/* Nothing more for some seconds; then others are looked for. */
	cr_expect_eq(describe(&w), ERR_CREDENTIALS);
	cr_expect_eq(w.net.n_sent, 5);
	clock_manual_advance(&w.clock, 6000);
	cr_expect_eq(describe(&w), ERR_CREDENTIALS);
	cr_expect_eq(w.net.n_sent, 6);
	w.settings[0].value = "AKID1";
	clock_manual_advance(&w.clock, 6000);
	cr_expect_eq(describe(&w), ERR_NONE);
	cr_expect_eq(w.net.n_sent, 8);
	close_world(&w);
}

Test(call, what_another_account_is_told_says_whose_keys_they_are)
{
	struct world w;
	struct aws_result r;
	struct err e = {0};

	open_world(&w);
	w.aws.account = OURS;
	FAKE_SCRIPT(&w.net, CALLER(OTHERS));
	aws_call(&w.aws, AWS_SAGEMAKER_CreateCluster, NULL, &w.arena, &r);
	cr_expect_eq(r.errc, ERR_CREDENTIALS);
	cr_expect_not(r.ambiguous);
	cr_expect_not(aws_err(aws_op(AWS_SAGEMAKER_CreateCluster), &r, &e));
	cr_expect(strstr(e.detail, OURS) && strstr(e.detail, OTHERS), "%s", e.detail);
	cr_expect_eq(err_retry(&e), RETRY_HUMAN);
	cr_expect(strstr(e.fix, OURS), "%s", e.fix);
	close_world(&w);
}

/* STS may be down while the others are not. */
Test(call, keys_that_nobody_can_tell_of_are_believed_for_a_while)
{
	struct world w;

	open_world(&w);
	w.aws.account = OURS;
	FAKE_SCRIPT(&w.net, {.url = "https://sts.", .outcome = NET_AMBIGUOUS}, OK("{}"),
		    OK("{}"), CALLER(OTHERS));
	cr_expect_eq(describe(&w), ERR_NONE);
	cr_expect_eq(describe(&w), ERR_NONE);
	cr_expect_eq(w.net.n_sent, 3);
	clock_manual_advance(&w.clock, 31000);
	cr_expect_eq(describe(&w), ERR_CREDENTIALS);
	cr_expect_eq(w.net.n_sent, 4);
	close_world(&w);
}

/* The lease was reckoned for two sendings: not for keys that take their time. */
Test(call, late_keys_send_nothing_late)
{
	static const char keys[] =
		"{\"AccessKeyId\":\"AKID4\",\"SecretAccessKey\":\"s\",\"Token\":\"t\","
		"\"Expiration\":\"2026-01-03T00:00:00Z\"}";
	struct world w;
	struct aws_result r;

	open_world(&w);
	/* Refused after so long that a second sending could outlive the lease. */
	FAKE_SCRIPT(&w.net, REFUSED("ExpiredTokenException", ""));
	w.net.after = hang;
	w.net.after_ctx = &w;
	aws_call(&w.aws, AWS_SAGEMAKER_CreateCluster, NULL, &w.arena, &r);
	cr_expect_eq(w.net.n_sent, 1);
	cr_expect_eq(r.errc, ERR_CREDENTIALS);
	close_world(&w);

	open_world(&w);
	w.settings[0] = (struct fake_setting){"AWS_CONTAINER_CREDENTIALS_FULL_URI",
					      "http://127.0.0.1/keys"};
	w.settings[1] = (struct fake_setting){0};
	FAKE_SCRIPT(&w.net, OK(keys));
	w.net.after = hang;
	w.net.after_ctx = &w;
	aws_call(&w.aws, AWS_SAGEMAKER_CreateCluster, NULL, &w.arena, &r);
	cr_expect_eq(w.net.n_sent, 1, "only the keys were asked for");
	cr_expect_eq(r.errc, ERR_CREDENTIALS);
	cr_expect_not(r.ambiguous);
	cr_expect(strstr(r.message, "too late"), "%s", r.message);
	/* They are there for the next. */
	FAKE_SCRIPT(&w.net, OK("{}"));
	aws_call(&w.aws, AWS_SAGEMAKER_CreateCluster, NULL, &w.arena, &r);
	cr_expect(r.ok, "%s", r.message);
	close_world(&w);
}

/* ---------------------------------------------------------------- outcomes */

struct outcome_case {
	enum aws_op_id op;
	struct fake_answer answer;
	enum errc errc;
	bool ambiguous;
};

static const struct outcome_case outcomes[] = {
	{AWS_EKS_CreateAddon,
	 {NULL, NET_NOT_SENT, 0, NULL, {0}},
	 ERR_CLOUD_UNREACHABLE,
	 false},
	{AWS_EKS_CreateAddon, {NULL, NET_AMBIGUOUS, 0, NULL, {0}}, ERR_AMBIGUOUS, true},
	{AWS_EKS_CreateAddon, BROKEN, ERR_AMBIGUOUS, true},
	{AWS_EKS_DescribeAddon,
	 {NULL, NET_AMBIGUOUS, 0, NULL, {0}},
	 ERR_CLOUD_UNREACHABLE,
	 false},
	{AWS_EKS_DescribeAddon, BROKEN, ERR_CLOUD_UNAVAILABLE, false},
};

Test(call, outcomes)
{
	struct world w;
	struct aws_result r;

	open_world(&w);
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++) {
		const struct outcome_case *c = &outcomes[i];

		fake_script(&w.net, &c->answer, 1);
		aws_call(&w.aws, c->op,
			 input(&w, "{\"clusterName\":\"c\",\"addonName\":\"a\"}"),
			 &w.arena, &r);
		cr_expect_not(r.ok);
		cr_expect_eq(r.errc, c->errc, "row %zu", i);
		cr_expect_eq(r.ambiguous, c->ambiguous, "row %zu", i);
		cr_expect_eq(w.net.n_sent, 1, "a call is made once");
		cr_expect(*r.message);
	}
	/* What cannot be built or signed is not sent. */
	fake_script(&w.net, NULL, 0);
	aws_call(&w.aws, AWS_EKS_CreateAddon, NULL, &w.arena, &r);
	cr_expect(!r.ok && !r.ambiguous && r.errc == ERR_INTERNAL);
	aws_credentials_drop(w.aws.credentials);
	w.settings[0] = (struct fake_setting){"AWS_EC2_METADATA_DISABLED", "true"};
	aws_call(&w.aws, AWS_EKS_CreateAddon, NULL, &w.arena, &r);
	cr_expect(!r.ok && !r.ambiguous && r.errc == ERR_CREDENTIALS);
	close_world(&w);
}
