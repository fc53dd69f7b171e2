/*
 * What goes over the wire, against requests and answers of the official SDK
 * and the cases of the signature test suite (tests/unit/data/aws).
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/aws/build.h"
#include "core/aws/op_table.h"
#include "core/aws/sigv4.h"
#include "tests/unit/aws_fake.h"

static const struct aws_op *op_named(const char *service, const char *name)
{
	for (int i = 0; i < AWS_OPS_COUNT_; i++) {
		const struct aws_op *op = aws_op((enum aws_op_id)i);

		if (strcmp(aws_op_service(op), service) == 0 &&
		    strcmp(aws_op_name(op), name) == 0)
			return op;
	}
	cr_assert_fail("no row for %s %s", service, name);
	return NULL;
}

static struct aws_keys keys_of(const json_t *file)
{
	return (struct aws_keys){
		.access_key = secret_of(json_str_at(file, "access_key")),
		.secret_key = secret_of(json_str_at(file, "secret_key")),
		.session_token = secret_of(json_str_at(file, "session_token")),
	};
}

static int64_t wall_of(const json_t *file)
{
	int64_t ms;

	cr_assert(time_parse_rfc3339(json_str_at(file, "wall"), &ms));
	return ms;
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* The URL with its query pairs sorted. */
static const char *sorted_url(struct arena *a, const char *url)
{
	struct str rest = str_of(url);
	struct str_list pairs = {0};
	struct buf b;

	buf_init(&b, a, 1 << 20);
	buf_add_str(&b, str_cut(&rest, '?'));
	while (rest.p)
		str_list_add(a, &pairs, str_dup(a, str_cut(&rest, '&')));
	if (pairs.n)
		qsort(pairs.v, pairs.n, sizeof(*pairs.v), by_text);
	for (size_t i = 0; i < pairs.n; i++) {
		/* "?delete" and "?delete=" are the same. */
		const char *eq = strchr(pairs.v[i], '=') ? "" : "=";

		buf_printf(&b, "%c%s%s", i ? '&' : '?', pairs.v[i], eq);
	}
	return buf_cstr(&b);
}

static void check_request(const json_t *file, const json_t *want, struct arena *a)
{
	const struct aws_op *op =
		op_named(json_str_at(want, "service"), json_str_at(want, "operation"));
	const struct aws_keys keys = keys_of(file);
	struct aws aws = {.region = json_str_at(want, "region"), .timeout_ms = 1000};
	const char *body = json_str_at(want, "body");
	struct http_request req;
	struct err e = {0};
	const char *key;
	json_t *v;

	cr_assert(aws_build(&aws, op, json_at(want, "input"), &keys, wall_of(file), a,
			    &req, &e),
		  "%s: %s", op->name, e.detail);
	cr_expect_str_eq(req.method, json_str_at(want, "method"), "%s", op->name);
	cr_expect_str_eq(sorted_url(a, req.url), json_str_at(want, "url"), "%s",
			 op->name);
	cr_expect_str_eq(req.body ? req.body : "", body ? body : "", "%s", op->name);
	cr_expect_eq(req.body_len, body ? strlen(body) : 0, "%s", op->name);
	json_object_foreach(json_at(want, "headers"), key, v) {
		const char *got = fake_header(&req, key);

		cr_expect(got && strcmp(got, json_string_value(v)) == 0, "%s: %s: %s",
			  op->name, key, got);
	}
	cr_expect_str_eq(secret_reveal(req.authorization),
			 json_str_at(want, "authorization"), "%s", op->name);
}

Test(wire, requests_are_those_of_the_sdk)
{
	struct arena a;
	json_t *file, *want;
	size_t i;

	arena_init(&a, 0);
	file = fake_json_file(&a, "tests/unit/data/aws/requests.json");
	cr_assert(json_len_at(file, "requests") >= 53);
	json_array_foreach(json_at(file, "requests"), i, want)
		check_request(file, want, &a);
	arena_free(&a);
}

static void check_answer(const json_t *given, struct arena *a)
{
	const struct aws_op *op =
		op_named(json_str_at(given, "service"), json_str_at(given, "operation"));
	struct http_answer ans = {
		.outcome = NET_ANSWERED,
		.status = (int)json_int_or(given, "status", 0),
		.body = json_str_at(given, "body"),
		.header = arena_array(a, struct http_header, 8),
	};
	struct aws_result got;
	const char *key, *code = json_str_at(given, "error.code");
	json_t *v;

	ans.body_len = strlen(ans.body);
	json_object_foreach(json_at(given, "headers"), key, v)
		ans.header[ans.n_headers++] =
			(struct http_header){key, json_string_value(v)};
	aws_parse(op, &ans, a, &got);
	if (!code) {
		cr_assert(got.ok, "%s: %s", op->name, got.message);
		cr_expect(json_equal(got.out, json_at(given, "out")), "%s:\n%s\n%s",
			  op->name, json_text(a, got.out),
			  json_text(a, json_at(given, "out")));
		return;
	}
	cr_expect_not(got.ok);
	/* The SDK gives the name of the shape; the wire says "EntityAlreadyExists". */
	if (strcmp(code, "EntityAlreadyExistsException") == 0)
		code = "EntityAlreadyExists";
	cr_expect_str_eq(got.code, code);
	if (*ans.body)
		cr_expect_str_eq(got.message, json_str_at(given, "error.message"));
}

Test(wire, answers_are_read_as_the_sdk_reads_them)
{
	struct arena a;
	json_t *file, *given;
	size_t i;

	arena_init(&a, 0);
	file = fake_json_file(&a, "tests/unit/data/aws/responses.json");
	cr_assert(json_len_at(file, "responses") >= 28);
	json_array_foreach(json_at(file, "responses"), i, given)
		check_answer(given, &a);
	arena_free(&a);
}

static void check_signature(const json_t *file, const json_t *c, struct arena *a)
{
	struct aws_keys keys = keys_of(file);
	struct sigv4 s = {
		.keys = &keys,
		.region = "us-east-1",
		.service = "service",
		.wall_ms = wall_of(file),
		.s3 = json_bool_or(c, "s3", false),
	};
	const char *body = json_str_at(c, "body");
	struct http_request req = {
		.method = json_str_at(c, "method"),
		.url = json_str_at(c, "url"),
		.body = body,
		.body_len = body ? strlen(body) : 0,
	};
	const char *name = json_str_at(c, "name"), *authorization;
	char hash[SHA256_HEX];
	json_t *h;
	size_t i;

	keys.session_token = secret_of(json_str_at(c, "token"));
	json_array_foreach(json_at(c, "headers"), i, h)
		http_add_header(&req, json_str_at(h, "0"), json_str_at(h, "1"));
	sigv4_sign(&s, &req, a);
	sha256_hex(body ? body : "", req.body_len, hash);
	cr_expect_str_eq(sigv4_canonical(&req, hash, s.s3, a).text,
			 json_str_at(c, "canonical"), "%s", name);
	authorization = secret_reveal(req.authorization);
	cr_expect(str_has_suffix(str_of(authorization),
				 str_of(json_str_at(c, "signature"))),
		  "%s: %s", name, authorization);
}

static void check_presigned(const json_t *file, struct arena *a)
{
	const json_t *p = json_at(file, "presign");
	struct aws_keys keys = keys_of(file);
	struct sigv4 s = {
		.keys = &keys,
		.region = json_str_at(p, "region"),
		.service = json_str_at(p, "service"),
		.wall_ms = wall_of(p),
	};
	struct http_request req = {.method = "GET", .url = json_str_at(p, "url")};
	const char *url;

	keys.session_token = secret_of(json_str_at(p, "session_token"));
	http_add_header(&req, json_str_at(p, "header.0"), json_str_at(p, "header.1"));
	url = sigv4_presign(&s, &req, json_int_or(p, "expires_s", 0), a);
	cr_expect(strstr(url, arena_printf(a, "&X-Amz-Signature=%s",
					   json_str_at(p, "signature"))),
		  "%s", url);
	cr_expect(strstr(url, "X-Amz-SignedHeaders=host%3Bx-k8s-aws-id"));
}

Test(wire, signatures_are_those_of_the_suite)
{
	struct arena a;
	json_t *file, *c;
	size_t i;

	arena_init(&a, 0);
	file = fake_json_file(&a, "tests/unit/data/aws/sigv4.json");
	cr_assert(json_len_at(file, "cases") >= 30);
	json_array_foreach(json_at(file, "cases"), i, c)
		check_signature(file, c, &a);
	check_presigned(file, &a);
	arena_free(&a);
}

/* ---------------------------------------------------------------- more answers */

struct answer_case {
	enum aws_op_id op;
	int status;
	const char *body;
	struct http_header header;
	const char *out; /* JSON text; NULL: not understood */
};

static const struct answer_case answers[] = {
	/* A body that is one member of the answer. */
	{AWS_S3_GetPublicAccessBlock,
	 200,
	 "<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls>"
	 "<IgnorePublicAcls>false</IgnorePublicAcls></PublicAccessBlockConfiguration>",
	 {0},
	 "{\"PublicAccessBlockConfiguration\":{\"BlockPublicAcls\":true,"
	 "\"IgnorePublicAcls\":false}}"},
	{AWS_S3_GetBucketPolicy,
	 200,
	 "{\"Statement\":[]}",
	 {0},
	 "{\"Policy\":\"{\\\"Statement\\\":[]}\"}"},
	/* Unknown members survive: structures, lists and texts. */
	{AWS_EC2_DescribeVpcs,
	 200,
	 "<DescribeVpcsResponse><vpcSet><item><vpcId>v</vpcId><newThing><deep>1</deep></newThing>"
	 "<newSet><item><a>x</a></item><item><a>y</a></item></newSet></item></vpcSet>"
	 "</DescribeVpcsResponse>",
	 {0},
	 "{\"Vpcs\":[{\"NewSet\":[{\"A\":\"x\"},{\"A\":\"y\"}],\"NewThing\":{\"Deep\":\"1\"},"
	 "\"VpcId\":\"v\"}]}"},
	/* The same element is a flag here and a text there. */
	{AWS_EC2_DescribeVpcAttribute,
	 200,
	 "<DescribeVpcAttributeResponse><vpcId>v</vpcId><enableDnsSupport><value>true</value>"
	 "</enableDnsSupport></DescribeVpcAttributeResponse>",
	 {0},
	 "{\"EnableDnsSupport\":{\"Value\":true},\"VpcId\":\"v\"}"},
	{AWS_EC2_DescribeInstanceTypes,
	 200,
	 "<DescribeInstanceTypesResponse><instanceTypeSet><item><instanceType>p5.48xlarge"
	 "</instanceType><vCpuInfo><defaultVCpus>192</defaultVCpus><validCores><item>1</item>"
	 "<item>2</item></validCores></vCpuInfo><networkInfo><efaSupported>true</efaSupported>"
	 "<efaInfo><maximumEfaInterfaces>32</maximumEfaInterfaces></efaInfo></networkInfo>"
	 "<gpuInfo><gpus><item><name>H100</name><count>8</count></item></gpus></gpuInfo>"
	 "</item></instanceTypeSet></DescribeInstanceTypesResponse>",
	 {0},
	 "{\"InstanceTypes\":[{\"GpuInfo\":{\"Gpus\":[{\"Count\":8,\"Name\":\"H100\"}]},"
	 "\"InstanceType\":\"p5.48xlarge\",\"NetworkInfo\":{\"EfaInfo\":"
	 "{\"MaximumEfaInterfaces\":32},\"EfaSupported\":true},\"VCpuInfo\":"
	 "{\"DefaultVCpus\":192,\"ValidCores\":[1,2]}}]}"},
	{AWS_IAM_GetRolePolicy,
	 200,
	 "<GetRolePolicyResponse><GetRolePolicyResult><PolicyDocument>%7B%22a%22%3A%22b+c%22%7D"
	 "</PolicyDocument></GetRolePolicyResult></GetRolePolicyResponse>",
	 {0},
	 "{\"PolicyDocument\":\"{\\\"a\\\":\\\"b+c\\\"}\"}"},
	/* An empty structure, list and text. */
	{AWS_IAM_GetRole,
	 200,
	 "<GetRoleResponse><GetRoleResult><Role><Description/><RoleLastUsed/><Tags/></Role>"
	 "</GetRoleResult></GetRoleResponse>",
	 {0},
	 "{\"Role\":{\"Description\":\"\",\"RoleLastUsed\":{},\"Tags\":[]}}"},
	{AWS_CFN_DeleteStack,
	 200,
	 "<DeleteStackResponse><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>"
	 "</DeleteStackResponse>",
	 {0},
	 "{}"},
	{AWS_S3_GetBucketLocation,
	 200,
	 "<LocationConstraint>eu-west-1</LocationConstraint>",
	 {0},
	 "{\"LocationConstraint\":\"eu-west-1\"}"},
	{AWS_S3_GetBucketLocation,
	 200,
	 "<LocationConstraint/>",
	 {0},
	 "{\"LocationConstraint\":\"\"}"},
	{AWS_S3_GetBucketTagging,
	 200,
	 "<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>",
	 {0},
	 "{\"TagSet\":[{\"Key\":\"k\",\"Value\":\"v\"}]}"},
	{AWS_S3_GetObject,
	 200,
	 "hello\n",
	 {"content-type", "text/plain"},
	 "{\"Body\":\"hello\\n\",\"ContentType\":\"text/plain\"}"},
	{AWS_S3_GetObject, 200, "\xff\xfe", {0}, "{\"BodyBase64\":\"//4=\"}"},
	{AWS_S3_HeadObject,
	 200,
	 "",
	 {"last-modified", "Fri, 02 Jan 2026 03:04:05 GMT"},
	 "{\"LastModified\":\"2026-01-02T03:04:05.000Z\"}"},
	{AWS_S3_PutObject, 200, "", {"etag", "\"e\""}, "{\"ETag\":\"\\\"e\\\"\"}"},
	{AWS_S3_PutObject, 200, "", {"content-length", "0"}, "{}"},
	{AWS_S3_CreateBucket, 200, "", {"content-type", "text/html"}, "{}"},
	{AWS_LOGS_GetLogEvents,
	 200,
	 "{\"events\":[{\"timestamp\":1767225600000}]}",
	 {0},
	 "{\"events\":[{\"timestamp\":1767225600000}]}"},
	{AWS_SAGEMAKER_DeleteCluster, 200, "", {0}, "{}"},
	/* Not an answer of this operation. */
	{AWS_EC2_DescribeVpcs, 200, "<html><body>login</body></html>", {0}, NULL},
	{AWS_IAM_GetRole, 200, "<html/>", {0}, NULL},
	{AWS_EKS_DescribeCluster, 200, "<html/>", {0}, NULL},
	{AWS_EKS_DescribeCluster, 200, "[]", {0}, NULL},
	{AWS_EC2_DescribeVpcs, 200, "", {0}, NULL},
	{AWS_EC2_DescribeVpcs, 200, "<DescribeVpcsResponse><vpcSet>", {0}, NULL},
	{AWS_EC2_DescribeVpcs,
	 200,
	 "<!DOCTYPE x [<!ENTITY a \"b\">]><DescribeVpcsResponse><x>&a;</x>"
	 "</DescribeVpcsResponse>",
	 {0},
	 NULL},
};

Test(wire, answers_keep_what_is_new_and_refuse_what_is_foreign)
{
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		const struct answer_case *c = &answers[i];
		const struct aws_op *op = aws_op(c->op);
		struct http_header header = c->header;
		struct http_answer ans = {
			.outcome = NET_ANSWERED,
			.status = c->status,
			.header = &header,
			.n_headers = header.name ? 1 : 0,
			.body = c->body,
			.body_len = strlen(c->body),
		};
		struct aws_result r;

		aws_parse(op, &ans, &a, &r);
		if (c->out) {
			cr_assert(r.ok, "%s: %s", op->name, c->body);
			cr_expect_str_eq(json_text(&a, r.out), c->out);
			continue;
		}
		cr_expect_not(r.ok, "%s: %s", op->name, c->body);
		cr_expect_eq(r.errc, ERR_CLOUD_GARBAGE);
		cr_expect_not(r.ambiguous);
	}
	arena_free(&a);
}

/* ---------------------------------------------------------------- more requests */

struct request_case {
	enum aws_op_id op;
	const char *in;
	const char *endpoint; /* AWS_ENDPOINT_URL */
	const char *url;      /* NULL: refused */
	const char *body;
	const char *header; /* "name: value" */
};

static const struct request_case requests[] = {
	{AWS_CFN_UpdateStack, "{\"StackName\":\"s\",\"Tags\":[],\"Parameters\":null}",
	 NULL, "https://cloudformation.us-west-2.amazonaws.com/",
	 "Action=UpdateStack&Version=2010-05-15&StackName=s&Tags=", NULL},
	{AWS_EC2_DescribeVpcs, "{\"VpcIds\":[],\"DryRun\":false}",
	 "http://127.0.0.1:9/aws/", "http://127.0.0.1:9/aws/",
	 "Action=DescribeVpcs&Version=2016-11-15&DryRun=false", NULL},
	{AWS_EKS_TagResource, "{\"resourceArn\":\"arn:a/b\",\"tags\":{\"k\":\"v\"}}",
	 NULL, "https://eks.us-west-2.amazonaws.com/tags/arn%3Aa%2Fb",
	 "{\"tags\":{\"k\":\"v\"}}", "content-type: application/json"},
	{AWS_EKS_DescribeCluster, "{}", NULL, NULL, NULL, NULL},
	{AWS_SAGEMAKER_ListClusterEvents,
	 "{\"ClusterName\":\"c\",\"EventTimeAfter\":\"2026-01-02T03:04:05+01:00\"}", NULL,
	 "https://api.sagemaker.us-west-2.amazonaws.com/",
	 "{\"ClusterName\":\"c\",\"EventTimeAfter\":1767319445}",
	 "x-amz-target: SageMaker.ListClusterEvents"},
	/* Path style where the host cannot carry the name, and at a test double. */
	{AWS_S3_GetObject, "{\"Bucket\":\"a.b.c\",\"Key\":\"x/y z\"}", NULL,
	 "https://s3.us-west-2.amazonaws.com/a.b.c/x/y%20z?x-id=GetObject", NULL, NULL},
	{AWS_S3_HeadBucket, "{\"Bucket\":\"bkt\"}", "http://127.0.0.1:9",
	 "http://127.0.0.1:9/bkt/", NULL, NULL},
	{AWS_S3_ListBuckets, "{}", NULL,
	 "https://s3.us-west-2.amazonaws.com/?x-id=ListBuckets", NULL, NULL},
	{AWS_S3_PutBucketTagging,
	 "{\"Bucket\":\"bkt\",\"Tagging\":{\"TagSet\":[{\"Key\":\"a<b\",\"Value\":\"c&d\"}]}}",
	 NULL, "https://bkt.s3.us-west-2.amazonaws.com/?tagging",
	 "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Tagging "
	 "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><TagSet><Tag><Key>a&lt;b</Key>"
	 "<Value>c&amp;d</Value></Tag></TagSet></Tagging>",
	 "x-amz-sdk-checksum-algorithm: CRC32"},
	{AWS_S3_PutObject, "{\"Bucket\":\"bkt\",\"Key\":\"k\",\"IfNoneMatch\":\"*\"}",
	 NULL, "https://bkt.s3.us-west-2.amazonaws.com/k?x-id=PutObject", NULL,
	 "If-None-Match: *"},
	{AWS_S3_PutObject,
	 "{\"Bucket\":\"bkt\",\"Key\":\"k\",\"ContentType\":\"a\\r\\nx: y\"}", NULL, NULL,
	 NULL, NULL},
	{AWS_S3_PutObject, "{\"Bucket\":\"bkt\",\"Key\":\"k\",\"Nonsense\":1}", NULL,
	 NULL, NULL, NULL},
	{AWS_S3_HeadBucket, "{\"Bucket\":\"evil/../x\"}", NULL, NULL, NULL, NULL},
	{AWS_S3_HeadBucket, "{\"Bucket\":\"evil.com#\"}", NULL, NULL, NULL, NULL},
	{AWS_STS_GetCallerIdentity, "{}", "ftp://x", NULL, NULL, NULL},
	{AWS_STS_GetCallerIdentity, "{}", "http://user@x", NULL, NULL, NULL},
};

Test(wire, requests_of_each_protocol)
{
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		const struct request_case *c = &requests[i];
		const struct aws_op *op = aws_op(c->op);
		struct fake_setting settings[] = {{"AWS_ENDPOINT_URL", c->endpoint}, {0}};
		struct aws aws = {
			.region = "us-west-2",
			.timeout_ms = 1000,
			.lookup = fake_lookup,
			.lookup_ctx = settings,
		};
		struct aws_keys keys = {secret_of("AKID"), secret_of("s"), {0}, 0};
		struct http_request req;
		struct err e = {0};
		json_t *in = json_parse(&a, str_of(c->in), &e);
		bool built;

		cr_assert(in, "%s", e.detail);
		built = aws_build(&aws, op, in, &keys, 0, &a, &req, &e);
		cr_assert_eq(built, c->url != NULL, "%s %s: %s", op->name, c->in,
			     e.detail);
		if (!built)
			continue;
		cr_expect_str_eq(req.url, c->url);
		cr_expect_str_eq(req.body ? req.body : "", c->body ? c->body : "");
		cr_expect(secret_reveal(req.authorization));
		if (c->header) {
			struct str value = str_of(c->header);
			const char *name = str_dup(&a, str_cut(&value, ':'));
			const char *got = fake_header(&req, name);

			cr_expect(got && str_is(str_trim(value), got), "%s: %s", name,
				  got);
		}
	}
	arena_free(&a);
}

/* A request that is too large for its buffer is refused, not sent without its end. */
Test(wire, nothing_is_cut)
{
	static const struct {
		enum aws_op_id op;
		const char *in;
	} rows[] = {
		{AWS_IAM_GetRole, "{\"RoleName\":\"%s\"}"},
		{AWS_EKS_DescribeCluster, "{\"name\":\"%s\"}"},
		{AWS_EKS_ListClusters, "{\"nextToken\":\"%s\"}"},
		{AWS_S3_HeadObject, "{\"Bucket\":\"b-b\",\"Key\":\"%s\"}"},
		{AWS_S3_PutBucketTagging,
		 "{\"Bucket\":\"b-b\",\"Tagging\":{\"TagSet\":[{\"Key\":\"k\",\"Value\":"
		 "\"%s\"}]}}"},
	};
	const size_t n = AWS_REQUEST_MAX + 1;
	char *large = malloc(n + 1);

	memset(large, 'x', n);
	large[n] = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct aws_op *op = aws_op(rows[i].op);
		struct aws aws = {
			.region = "us-west-2", .timeout_ms = 1000, .lookup = fake_lookup};
		struct fake_setting none[] = {{0}};
		struct aws_keys keys = {secret_of("AKID"), secret_of("s"), {0}, 0};
		struct http_request req;
		struct err e = {0};
		struct arena a;
		struct str rest = str_of(rows[i].in);
		struct str head, tail;
		json_t *in;

		arena_init(&a, 128 * 1024 * 1024);
		aws.lookup_ctx = none;
		head = str_cut(&rest, '%');
		tail = (struct str){rest.p + 1, rest.n - 1};
		in = json_parse(&a,
				str_of(arena_printf(&a, "%.*s%s%.*s", (int)head.n, head.p,
						    large, (int)tail.n, tail.p)),
				&e);
		cr_assert(in, "%s", e.detail);
		cr_expect_not(aws_build(&aws, op, in, &keys, 0, &a, &req, &e), "%s",
			      op->name);
		cr_expect(strstr(e.detail, "too large"), "%s: %s", op->name, e.detail);
		arena_free(&a);
	}
	free(large);
}
