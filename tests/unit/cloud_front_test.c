/*
 * The simulated cloud's front: it takes what the official SDK signs (recorded
 * requests in tests/unit/data/aws) and refuses what AWS refuses, in each
 * service's own words; its faults and its ledger do what they say.
 */
#include <openssl/evp.h>
#include <strings.h>

#include "core/aws/aws.h"
#include "core/aws/sigv4.h"
#include "tests/cloud/core.h"
#include "tests/unit/cloud_lab.h"

enum { MAX_HEADERS = 24 };

/* The keys of the recorded requests, as a session of the cloud. */
static void add_recorded_session(struct lab *l)
{
	cloud_put(l->cloud, "sts.session", "AKIDEXAMPLE",
		  json_pack("{s:s,s:s,s:s,s:I}", "SecretAccessKey",
			    "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "SessionToken",
			    "EXAMPLESESSIONTOKEN//////////abc==", "Arn",
			    "arn:aws:sts::111122223333:assumed-role/r/s", "_expires_ms",
			    (json_int_t)1999999999000));
}

static const char *header_of(const struct cloud_response *r, const char *name)
{
	for (size_t i = 0; i < r->n_headers; i++)
		if (strcasecmp(r->header[i].name, name) == 0)
			return r->header[i].value;
	return NULL;
}

/* The error code of a raw answer of any protocol; NULL: none. */
static const char *code_of(struct lab *l, const struct cloud_response *r)
{
	const char *at = strstr(r->body, "<Code>");
	struct err e = {0};

	if (header_of(r, "x-amzn-ErrorType"))
		return header_of(r, "x-amzn-ErrorType");
	if (at)
		return arena_strndup(&l->arena, at + 6, strcspn(at + 6, "<"));
	if (r->body_len == 0 || r->body[0] != '{')
		return NULL;
	return json_str_at(json_parse(&l->arena, (struct str){r->body, r->body_len}, &e),
			   "__type");
}

static void send_recorded(struct lab *l, const json_t *r, struct cloud_response *ret)
{
	struct http_header h[MAX_HEADERS];
	const char *url = json_str_at(r, "url"), *name, *body = json_str_at(r, "body");
	const char *host = strstr(url, "://") + 3;
	size_t n = 0, host_len = strcspn(host, "/?");
	json_t *value;

	json_object_foreach(json_object_get(r, "headers"), name, value)
		h[n++] = (struct http_header){name, json_string_value(value)};
	h[n++] = (struct http_header){"Authorization", json_str_at(r, "authorization")};
	h[n++] = (struct http_header){"X-Amz-Date", "20260102T030405Z"};
	h[n++] = (struct http_header){"X-Amz-Security-Token",
				      "EXAMPLESESSIONTOKEN//////////abc=="};
	char hash[SHA256_HEX];

	sha256_hex(body ? body : "", body ? strlen(body) : 0, hash);
	if (streq(json_str_at(r, "service"), "s3"))
		h[n++] = (struct http_header){"X-Amz-Content-Sha256", hash};
	struct cloud_request req = {
		.method = json_str_at(r, "method"),
		.host = arena_strndup(&l->arena, host, host_len),
		.target = host[host_len] ? host + host_len : "/",
		.header = h,
		.n_headers = n,
		.body = body,
		.body_len = body ? strlen(body) : 0,
	};

	cloud_handle(l->cloud, &l->arena, &req, ret);
}

Test(front, takes_what_the_sdk_signs_and_decodes_what_it_was_given)
{
	static const char *const refused[] = {
		"MissingAuthenticationToken",
		"InvalidClientTokenId",
		"SignatureDoesNotMatch",
		"UnrecognizedClientException",
		"InvalidSignatureException",
		"AuthFailure",
		"RequestExpired",
		"AuthorizationHeaderMalformed",
		"SerializationException",
		"MalformedXML",
		"UnknownParameter",
		"InvalidAccessKeyId",
	};
	struct lab l;
	struct err e = {0};
	size_t i, same = 0, known = 0;
	json_t *r;

	lab_start(&l);
	add_recorded_session(&l);
	json_t *all = json_parse(
		&l.arena, str_of(lab_file(&l, "tests/unit/data/aws/requests.json")), &e);

	json_array_foreach(json_at(all, "requests"), i, r) {
		const char *service = json_str_at(r, "service");
		const char *op = json_str_at(r, "operation");
		size_t before = json_array_size(cloud_ledger(l.cloud));
		struct cloud_response res;

		if (!cloud_op_find(cloud_service_find(service), op))
			continue;
		known++;
		send_recorded(&l, r, &res);
		for (size_t k = 0; k < sizeof(refused) / sizeof(*refused); k++)
			cr_assert_not(streq(code_of(&l, &res), refused[k]), "%s %s: %s",
				      service, op, res.body);
		if (json_array_size(cloud_ledger(l.cloud)) == before)
			continue;
		const json_t *entry = json_array_get(cloud_ledger(l.cloud), before);

		cr_expect(json_equal(json_at(entry, "input"), json_at(r, "input")),
			  "%s %s:\n%s\n%s", service, op,
			  json_text(&l.arena, json_at(entry, "input")),
			  json_text(&l.arena, json_at(r, "input")));
		same++;
	}
	cr_expect(known > 40, "%zu of the recorded operations are played", known);
	cr_expect(same > 20, "%zu mutations were compared", same);
	lab_stop(&l);
}

/* --- refusals --------------------------------------------------------------- */

struct wire_case {
	const char *service, *region, *url, *target, *body;
};

static const struct wire_case wire_row[] = {
	{"ec2", "us-west-2", "https://ec2.us-west-2.amazonaws.com/", NULL,
	 "Action=DescribeVpcs&Version=2016-11-15"},
	{"sts", "us-west-2", "https://sts.us-west-2.amazonaws.com/", NULL,
	 "Action=GetCallerIdentity&Version=2011-06-15"},
	{"sagemaker", "us-west-2", "https://api.sagemaker.us-west-2.amazonaws.com/",
	 "SageMaker.ListClusters", "{}"},
	{"eks", "us-west-2", "https://eks.us-west-2.amazonaws.com/clusters", NULL, NULL},
	{"s3", "us-west-2", "https://s3.us-west-2.amazonaws.com/", NULL, NULL},
};

enum { SERVICES = sizeof(wire_row) / sizeof(*wire_row) };

enum tamper {
	AS_IT_IS,
	NO_SIGNATURE,
	OTHER_KEY,
	OTHER_SECRET,
	OTHER_BODY,
	SIX_MINUTES_OLD,
	FROM_THE_FUTURE,
	STRANGE_TOKEN,
	OTHER_REGION,
	UNSIGNED_HEADER
};

static void send_tampered(struct lab *l, const struct wire_case *w, enum tamper t,
			  struct cloud_response *ret)
{
	const struct cloud_options *o = cloud_opts(l->cloud);
	struct aws_keys keys = {
		.access_key = secret_of(t == OTHER_KEY ? "AKIAOTHER" : o->access_key),
		.secret_key = secret_of(t == OTHER_SECRET ? "guess" : o->secret_key),
		.session_token = secret_of(t == STRANGE_TOKEN ? "token" : NULL),
	};
	int64_t skew = t == SIX_MINUTES_OLD   ? -16 * 60000
		       : t == FROM_THE_FUTURE ? 16 * 60000
					      : 0;
	struct sigv4 s = {&keys, t == OTHER_REGION ? "eu-west-1" : w->region, w->service,
			  l->clock.wall + skew, streq(w->service, "s3")};
	struct http_request req = {.method = w->body ? "POST" : "GET", .url = w->url};
	const char *host = strstr(w->url, "://") + 3;
	size_t host_len = strcspn(host, "/");

	req.body = w->body;
	req.body_len = w->body ? strlen(w->body) : 0;
	if (w->target)
		http_add_header(&req, "x-amz-target", w->target);
	sigv4_sign(&s, &req, &l->arena);
	if (t != NO_SIGNATURE)
		http_add_header(&req, "authorization", secret_reveal(req.authorization));
	if (t == UNSIGNED_HEADER)
		http_add_header(&req, "x-amz-more", "1");
	if (t == OTHER_BODY && req.body)
		req.body = arena_printf(&l->arena, "%s ", req.body);
	struct cloud_request creq = {
		.method = req.method,
		.host = arena_strndup(&l->arena, host, host_len),
		.target = host + host_len,
		.header = req.header,
		.n_headers = req.n_headers,
		.body = req.body,
		.body_len = req.body ? strlen(req.body) : 0,
	};

	cloud_handle(l->cloud, &l->arena, &creq, ret);
}

Test(front, refuses_in_the_words_of_each_service)
{
	/* In the order of wire_row. NULL: accepted. */
	static const struct {
		enum tamper tamper;
		const char *code[SERVICES];
		int status[SERVICES];
	} row[] = {
		{AS_IT_IS, {NULL, NULL, NULL, NULL, NULL}, {200, 200, 200, 200, 200}},
		{NO_SIGNATURE,
		 {"AuthFailure", "MissingAuthenticationToken",
		  "MissingAuthenticationTokenException",
		  "MissingAuthenticationTokenException", "AccessDenied"},
		 {401, 403, 400, 403, 403}},
		{OTHER_KEY,
		 {"AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException",
		  "UnrecognizedClientException", "InvalidAccessKeyId"},
		 {401, 403, 400, 403, 403}},
		{OTHER_SECRET,
		 {"SignatureDoesNotMatch", "SignatureDoesNotMatch",
		  "InvalidSignatureException", "InvalidSignatureException",
		  "SignatureDoesNotMatch"},
		 {403, 403, 400, 403, 403}},
		{OTHER_BODY,
		 {"SignatureDoesNotMatch", "SignatureDoesNotMatch",
		  "InvalidSignatureException", NULL, NULL},
		 {403, 403, 400, 200, 200}},
		{SIX_MINUTES_OLD,
		 {"RequestExpired", "SignatureDoesNotMatch", "InvalidSignatureException",
		  "InvalidSignatureException", "RequestTimeTooSkewed"},
		 {400, 403, 400, 403, 403}},
		{FROM_THE_FUTURE,
		 {"RequestExpired", "SignatureDoesNotMatch", "InvalidSignatureException",
		  "InvalidSignatureException", "RequestTimeTooSkewed"},
		 {400, 403, 400, 403, 403}},
		{STRANGE_TOKEN,
		 {"AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException",
		  "UnrecognizedClientException", "InvalidToken"},
		 {401, 403, 400, 403, 400}},
		{OTHER_REGION,
		 {"AuthFailure", "SignatureDoesNotMatch", "InvalidSignatureException",
		  "InvalidSignatureException", "AuthorizationHeaderMalformed"},
		 {401, 403, 400, 403, 400}},
		{UNSIGNED_HEADER,
		 {"SignatureDoesNotMatch", "SignatureDoesNotMatch",
		  "InvalidSignatureException", "InvalidSignatureException",
		  "SignatureDoesNotMatch"},
		 {403, 403, 400, 403, 403}},
	};
	struct cloud_response res;
	struct lab l;

	lab_start(&l);
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		for (size_t s = 0; s < SERVICES; s++) {
			if (row[i].status[s] == 0)
				continue; /* without a signature nothing tells the service
					   */
			send_tampered(&l, &wire_row[s], row[i].tamper, &res);
			cr_expect(streq(code_of(&l, &res), row[i].code[s]) ||
					  (!row[i].code[s] && !code_of(&l, &res)),
				  "tamper %d %s: %s", (int)row[i].tamper,
				  wire_row[s].service, res.body);
			cr_expect_eq(res.status, row[i].status[s], "tamper %d %s: %d",
				     (int)row[i].tamper, wire_row[s].service, res.status);
		}
	cr_expect_eq(json_array_size(cloud_ledger(l.cloud)), 0);
	lab_stop(&l);
}

/* A sub-resource that is not played must not be taken for the resource. */
Test(front, what_s3_does_not_play_is_refused)
{
	static const char *const url[] = {
		"https://s3.us-west-2.amazonaws.com/bucket-a?acl",
		"https://s3.us-west-2.amazonaws.com/bucket-a/key?acl",
		"https://bucket-a.s3.us-west-2.amazonaws.com/key?torrent",
	};
	struct cloud_response res;
	struct lab l;

	lab_start(&l);
	for (size_t i = 0; i < sizeof(url) / sizeof(*url); i++) {
		struct wire_case w = {"s3", "us-west-2", url[i], NULL, NULL};

		send_tampered(&l, &w, AS_IT_IS, &res);
		cr_expect_str_eq(code_of(&l, &res), "NotImplemented", "%s", url[i]);
		cr_expect_eq(res.status, 501);
	}
	struct wire_case w = {"s3", "us-west-2",
			      "https://bucket-a.s3.us-west-2.amazonaws.com/key", NULL,
			      NULL};

	send_tampered(&l, &w, AS_IT_IS, &res);
	cr_expect_str_eq(code_of(&l, &res), "NoSuchBucket");
	lab_stop(&l);
}

Test(front, inputs_are_checked_by_the_published_models)
{
	static const struct {
		const char *service, *op, *in, *code, *part;
	} row[] = {
		{"sagemaker", "CreateCluster", "{}", "ValidationException",
		 "Value null at 'clusterName' failed to satisfy constraint: Member must not "
		 "be null"},
		{"sagemaker", "CreateCluster", "{\"ClusterName\":\"-bad-\"}",
		 "ValidationException", "Member must satisfy regular expression pattern"},
		{"sagemaker", "CreateCluster", "{\"ClusterName\":\"a\",\"Colour\":1}",
		 "ValidationException", "colour"},
		{"sagemaker", "CreateCluster", "{\"ClusterName\":7}",
		 "SerializationException", "type string"},
		{"sagemaker", "CreateCluster",
		 "{\"ClusterName\":\"a\",\"NodeRecovery\":\"Maybe\"}",
		 "ValidationException",
		 "Member must satisfy enum value set: [Automatic, None]"},
		{"eks", "CreateCluster", "{\"name\":\"a\"}", "InvalidParameterException",
		 "roleArn"},
		{"iam", "CreateRole", "{\"RoleName\":\"a b\"}", "ValidationError",
		 "2 validation errors detected"},
		{"iam", "CreateRole",
		 "{\"RoleName\":\"a\",\"AssumeRolePolicyDocument\":\"{}\","
		 "\"MaxSessionDuration\":10}",
		 "ValidationError",
		 "Member must have value greater than or equal to 3600"},
		{"ec2", "CreateSubnet", "{}", "MissingParameter", "VpcId"},
		{"ec2", "CreateSubnet", "{\"VpcId\":\"vpc-1\",\"Colour\":\"red\"}",
		 "UnknownParameter", "Colour"},
		{"ec2", "DescribeVpcs", "{\"MaxResults\":1}", "InvalidParameterValue",
		 "5"},
		{"sts", "AssumeRole", "{\"RoleArn\":\"x\",\"RoleSessionName\":\"s\"}",
		 "ValidationError", "roleArn"},
		{"service-quotas", "GetServiceQuota", "{\"ServiceCode\":\"a\"}",
		 "IllegalArgumentException", "quotaCode"},
		{"logs", "CreateLogGroup", "{\"logGroupName\":\"a b\"}",
		 "InvalidParameterException", "logGroupName"},
	};
	struct lab l;
	struct err e = {0};

	lab_start(&l);
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		json_t *in = json_parse(&l.arena, str_of(row[i].in), &e);
		json_t *out;

		cr_expect_not(cloud_invoke(l.cloud, &l.arena, row[i].service, row[i].op,
					   in, NULL, &out, &l.code, &l.message),
			      "%s %s", row[i].op, row[i].in);
		cr_expect(streq(l.code, row[i].code), "%s %s: %s: %s", row[i].op,
			  row[i].in, l.code, l.message);
		cr_expect(lab_has(l.message, row[i].part), "%s: %s", row[i].in,
			  l.message);
	}
	lab_stop(&l);
}

/* --- the product's client against it -------------------------------------------- */

static const char *lookup(void *ctx, const char *name)
{
	const struct cloud_options *o = ctx;

	if (streq(name, "AWS_ACCESS_KEY_ID"))
		return o->access_key;
	return streq(name, "AWS_SECRET_ACCESS_KEY") ? o->secret_key : NULL;
}

static struct aws client(struct lab *l)
{
	struct transport *net = cloud_transport(l->cloud);
	void *ctx = (void *)(uintptr_t)cloud_opts(l->cloud);

	return (struct aws){
		.net = net,
		.credentials = aws_credentials_new(&l->arena, net, &l->clock.clock,
						   "us-west-2", lookup, ctx),
		.clock = &l->clock.clock,
		.rng = rng_system(),
		.region = "us-west-2",
		.timeout_ms = 10000,
		.lookup = lookup,
		.lookup_ctx = ctx,
	};
}

static size_t vpcs(struct lab *l)
{
	return json_object_size(cloud_table(l->cloud, "ec2.vpc"));
}

Test(front, fault_rules_do_what_they_say)
{
	static const struct {
		const char *rule;
		bool ok, ambiguous;
		const char *code;
		size_t made; /* VPCs that a CreateVpc leaves */
	} row[] = {
		{"{\"fault\":\"throttle\",\"service\":\"ec2\"}", false, false,
		 "RequestLimitExceeded", 0},
		{"{\"fault\":\"lose_request\",\"op\":\"CreateVpc\"}", false, false, "",
		 0},
		{"{\"fault\":\"lose_answer\",\"mutating\":true}", false, true, "", 1},
		{"{\"fault\":\"hang\"}", false, true, "", 0},
		{"{\"fault\":\"big\"}", false, true, "", 0},
		{"{\"fault\":\"denied\"}", false, false, "UnauthorizedOperation", 0},
		{"{\"fault\":\"error\",\"code\":\"VpcLimitExceeded\",\"status\":400}",
		 false, false, "VpcLimitExceeded", 0},
		{"{\"fault\":\"error\",\"service\":\"eks\"}", true, false, "", 1},
		{"{\"fault\":\"error\",\"op\":\"CreateSubnet\"}", true, false, "", 1},
		{"{\"fault\":\"error\",\"kube\":\"apply\"}", true, false, "", 1},
		{"{\"fault\":\"error\",\"skip\":1}", true, false, "", 1},
		{"{\"fault\":\"error\",\"probability\":0.0}", true, false, "", 1},
	};
	struct lab l;
	struct err e = {0};

	lab_start(&l);
	struct aws aws = client(&l);

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		json_t *in = json_packf(&l.arena, "{s:s}", "CidrBlock", "10.0.0.0/16");
		size_t before = vpcs(&l),
		       entries = json_array_size(cloud_ledger(l.cloud));
		struct aws_result r;

		cr_assert(cloud_add_fault(l.cloud,
					  json_parse(&l.arena, str_of(row[i].rule), &e)));
		aws_call(&aws, AWS_EC2_CreateVpc, in, &l.arena, &r);
		cr_expect_eq(r.ok, row[i].ok, "%s: %s", row[i].rule, r.message);
		cr_expect_eq(r.ambiguous, row[i].ambiguous, "%s", row[i].rule);
		cr_expect(r.ok || streq(r.code ? r.code : "", row[i].code), "%s: %s",
			  row[i].rule, r.code);
		cr_expect_eq(vpcs(&l) - before, row[i].made, "%s", row[i].rule);
		/* What never arrived is not in the ledger; what did says whether
		 * its answer was lost. */
		cr_expect_eq(json_array_size(cloud_ledger(l.cloud)) - entries,
			     row[i].made);
		if (row[i].made) {
			const json_t *entry =
				json_array_get(cloud_ledger(l.cloud), entries);

			cr_expect_eq(json_bool_or(entry, "answer_lost", false),
				     row[i].ambiguous);
			cr_expect_str_eq(json_str_at(entry, "effects.0.type"), "ec2.vpc");
			cr_expect_str_eq(json_str_at(entry, "effects.0.change"),
					 "create");
			cr_expect_str_eq(json_str_at(entry, "outcome"), "ok");
		}
		cloud_clear_faults(l.cloud);
		cloud_configure(l.cloud, json_packf(&l.arena, "{s:{s:i}}", "quota",
						    "L-F678F1CE", 100));
	}
	cr_expect_not(cloud_add_fault(l.cloud, json_packf(&l.arena, "{s:s,s:s}", "fault",
							  "throttle", "opp", "x")));
	lab_stop(&l);
}

Test(front, a_fault_for_a_while_ends_with_the_clock)
{
	struct lab l;
	struct aws_result r;

	lab_start(&l);
	struct aws aws = client(&l);

	cloud_add_fault(l.cloud, json_packf(&l.arena, "{s:s,s:i}", "fault", "throttle",
					    "for_ms", 600000));
	for (int minute = 0; minute < 12; minute++) {
		aws_call(&aws, AWS_STS_GetCallerIdentity, json_new_object(&l.arena),
			 &l.arena, &r);
		cr_expect_eq(r.ok, minute >= 10, "minute %d: %s", minute, r.code);
		clock_manual_advance(&l.clock, 60000);
	}
	cr_expect_str_eq(json_str_at(r.out, "Arn"),
			 "arn:aws:iam::111122223333:user/operator");
	lab_stop(&l);
}

/* The token that the golden file of the facts has: signed by the SDK. */
Test(front, eks_tokens_are_verified)
{
	static const char url[] =
		"https://sts.us-west-2.amazonaws.com/?Action=GetCallerIdentity&"
		"Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256&"
		"X-Amz-Credential=AKIDEXAMPLE%2F20260102%2Fus-west-2%2Fsts%2Faws4_request&"
		"X-Amz-Date=20260102T030405Z&X-Amz-Expires=60&"
		"X-Amz-Security-Token=EXAMPLESESSIONTOKEN%2F%2F%2F%2F%2F%2F%2F%2F%2F%2Fabc"
		"%3D%3D&X-Amz-Signature="
		"036bdaf60d35258004f14002f97e37122863550977c487c7da507e0ca451a30c&"
		"X-Amz-SignedHeaders=host%3Bx-k8s-aws-id";
	const char *arn = NULL;
	struct lab l;

	lab_start(&l);
	add_recorded_session(&l);
	size_t n = strlen(url);
	char *b64 = arena_alloc(&l.arena, n * 2);

	EVP_EncodeBlock((unsigned char *)b64, (const unsigned char *)url, (int)n);
	b64[strcspn(b64, "=")] = '\0';
	for (char *p = b64; *p; p++)
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
	const char *token = arena_printf(&l.arena, "k8s-aws-v1.%s", b64);

	cr_expect(cloud_verify_eks_token_of(l.cloud, "demo-eks", token, &arn));
	cr_expect_str_eq(arn, "arn:aws:sts::111122223333:assumed-role/r/s");
	cr_expect_not(cloud_verify_eks_token_of(l.cloud, "other", token, &arn));
	cr_expect_not(
		cloud_verify_eks_token_of(l.cloud, "demo-eks", "k8s-aws-v1.x", &arn));
	cr_expect_not(cloud_verify_eks_token(l.cloud, token, &arn),
		      "no such cluster yet");
	clock_manual_advance(&l.clock, 14 * 60000);
	cr_expect(cloud_verify_eks_token_of(l.cloud, "demo-eks", token, &arn));
	clock_manual_advance(&l.clock, 2 * 60000);
	cr_expect_not(cloud_verify_eks_token_of(l.cloud, "demo-eks", token, &arn));
	lab_stop(&l);
}

/* What a handler answers is what the client reads, whatever the protocol. */
Test(front, answers_come_through_every_protocol_unchanged)
{
	static const struct {
		enum aws_op_id id;
		const char *service, *op, *in;
	} row[] = {
		{AWS_EC2_DescribeVpcs, "ec2", "DescribeVpcs", "{}"},
		{AWS_EC2_DescribeSubnets, "ec2", "DescribeSubnets",
		 "{\"Filters\":[{\"Name\":\"state\",\"Values\":[\"available\",\"pending\"]}]}"},
		{AWS_EC2_DescribeInstanceTypes, "ec2", "DescribeInstanceTypes",
		 "{\"InstanceTypes\":[\"p5.48xlarge\",\"trn2.48xlarge\"]}"},
		{AWS_EKS_ListClusters, "eks", "ListClusters", "{\"maxResults\":5}"},
		{AWS_SAGEMAKER_ListClusters, "sagemaker", "ListClusters", "{}"},
		{AWS_LOGS_FilterLogEvents, "logs", "FilterLogEvents",
		 "{\"logGroupName\":\"g\",\"filterPattern\":\"\\\"two words\\\"\"}"},
	};
	struct lab l;
	struct err e = {0};

	lab_start(&l);
	struct aws aws = client(&l);
	const json_t *vpc = lab_call(
		&l, "ec2", "CreateVpc", "{s:s,s:[{s:s,s:[{s:s,s:s}]}]}", "CidrBlock",
		"10.0.0.0/16", "TagSpecifications", "ResourceType", "vpc", "Tags", "Key",
		"a <b> & \"c\"", "Value", "\xc3\xa9 + %2F");

	lab_wait(&l, 5000);
	lab_call(&l, "ec2", "CreateSubnet", "{s:s,s:s}", "VpcId",
		 json_str_at(vpc, "Vpc.VpcId"), "CidrBlock", "10.0.1.0/24");
	lab_call(&l, "logs", "CreateLogGroup", "{s:s}", "logGroupName", "g");
	lab_call(&l, "logs", "CreateLogStream", "{s:s,s:s}", "logGroupName", "g",
		 "logStreamName", "s");
	lab_call(&l, "logs", "PutLogEvents", "{s:s,s:s,s:[{s:I,s:s},{s:I,s:s}]}",
		 "logGroupName", "g", "logStreamName", "s", "logEvents", "timestamp",
		 (json_int_t)l.clock.wall, "message", "two words", "timestamp",
		 (json_int_t)l.clock.wall, "message", "words two");
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		json_t *in = json_parse(&l.arena, str_of(row[i].in), &e), *out;
		struct aws_result r;

		cr_assert(cloud_invoke(l.cloud, &l.arena, row[i].service, row[i].op, in,
				       NULL, &out, &l.code, &l.message),
			  "%s: %s", row[i].op, l.message);
		aws_call(&aws, row[i].id, in, &l.arena, &r);
		cr_assert(r.ok, "%s: %s %s", row[i].op, r.code, r.message);
		cr_expect(json_equal(r.out, out), "%s:\n%s\n%s", row[i].op,
			  json_text(&l.arena, r.out), json_text(&l.arena, out));
	}
	lab_stop(&l);
}
