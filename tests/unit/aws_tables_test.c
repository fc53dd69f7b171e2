/* Names, endpoints and error codes: tables in, tables out. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/aws/errors.h"
#include "core/aws/names.h"
#include "core/aws/op_table.h"
#include "core/aws/partition.h"
#include "core/aws/policy.h"
#include "tests/unit/aws_fake.h"

#define COUNT(rows) (sizeof(rows) / sizeof(*(rows)))

Test(tables, names_are_sorted)
{
	size_t n;
	const struct aws_name *rows = aws_names(&n);

	cr_assert_gt(n, 200);
	for (size_t i = 1; i < n; i++) {
		const struct aws_name *x = &rows[i - 1], *y = &rows[i];
		int order = strcmp(x->element, y->element);

		cr_expect(x->service < y->service ||
				  (x->service == y->service &&
				   (order < 0 || (order == 0 && x->within))),
			  "%s before %s", x->element, y->element);
	}
}

/* ---------------------------------------------------------------- endpoints */

struct endpoint_case {
	enum aws_service_id service;
	const char *region;
	const char *variable, *value;
	const char *url;            /* NULL: refused */
	const char *signing_region; /* NULL: the region */
};

static const struct endpoint_case endpoints[] = {
	{AWS_SERVICE_SAGEMAKER, "us-west-2", NULL, NULL,
	 "https://api.sagemaker.us-west-2.amazonaws.com", NULL},
	{AWS_SERVICE_EKS, "cn-north-1", NULL, NULL,
	 "https://eks.cn-north-1.amazonaws.com.cn", NULL},
	{AWS_SERVICE_IAM, "eu-west-1", NULL, NULL, "https://iam.amazonaws.com",
	 "us-east-1"},
	{AWS_SERVICE_IAM, "us-gov-east-1", NULL, NULL, "https://iam.us-gov.amazonaws.com",
	 "us-gov-west-1"},
	{AWS_SERVICE_IAM, "cn-northwest-1", NULL, NULL,
	 "https://iam.cn-north-1.amazonaws.com.cn", "cn-north-1"},
	{AWS_SERVICE_STS, "ap-south-1", NULL, NULL,
	 "https://sts.ap-south-1.amazonaws.com", NULL},
	{AWS_SERVICE_EC2, "us-iso-east-1", NULL, NULL,
	 "https://ec2.us-iso-east-1.c2s.ic.gov", NULL},
	{AWS_SERVICE_PRICING, "eu-west-1", NULL, NULL,
	 "https://api.pricing.us-east-1.amazonaws.com", "us-east-1"},
	{AWS_SERVICE_QUOTAS, "us-east-1", NULL, NULL,
	 "https://servicequotas.us-east-1.amazonaws.com", NULL},
	{AWS_SERVICE_EKS, "us-east-1", "AWS_USE_FIPS_ENDPOINT", "true",
	 "https://fips.eks.us-east-1.amazonaws.com", NULL},
	{AWS_SERVICE_SAGEMAKER, "us-east-1", "AWS_USE_FIPS_ENDPOINT", "true",
	 "https://api-fips.sagemaker.us-east-1.amazonaws.com", NULL},
	{AWS_SERVICE_EKS, "cn-north-1", "AWS_USE_FIPS_ENDPOINT", "true", NULL, NULL},
	{AWS_SERVICE_PRICING, "us-gov-west-1", NULL, NULL, NULL, NULL},
	{AWS_SERVICE_EC2, "us-east-1", "AWS_USE_DUALSTACK_ENDPOINT", "true",
	 "https://ec2.us-east-1.api.aws", NULL},
	{AWS_SERVICE_S3, "us-east-1", "AWS_USE_DUALSTACK_ENDPOINT", "true",
	 "https://s3.dualstack.us-east-1.amazonaws.com", NULL},
	{AWS_SERVICE_LOGS, "us-east-1", "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS",
	 "http://[::1]:8/x/", "http://[::1]:8/x", NULL},
	{AWS_SERVICE_QUOTAS, "us-east-1", "AWS_ENDPOINT_URL_SERVICE_QUOTAS", "https://q",
	 "https://q", NULL},
	{AWS_SERVICE_IAM, "us-west-2", "AWS_ENDPOINT_URL", "http://127.0.0.1:8/",
	 "http://127.0.0.1:8", "us-east-1"},
	{AWS_SERVICE_EC2, "us-west-2", "AWS_ENDPOINT_URL_S3", "http://127.0.0.1:8",
	 "https://ec2.us-west-2.amazonaws.com", NULL},
	{AWS_SERVICE_EC2, "us-west-2", "AWS_ENDPOINT_URL", "",
	 "https://ec2.us-west-2.amazonaws.com", NULL},
	{AWS_SERVICE_EC2, "us-west-2", "AWS_ENDPOINT_URL", "127.0.0.1:8", NULL, NULL},
	{AWS_SERVICE_EC2, "us-west-2", "AWS_ENDPOINT_URL", "http:///", NULL, NULL},
	{AWS_SERVICE_EC2, "us-west-2", "AWS_ENDPOINT_URL", "http://a?b", NULL, NULL},
	{AWS_SERVICE_EC2, "evil.com/", NULL, NULL, NULL, NULL},
	{AWS_SERVICE_EC2, "", NULL, NULL, NULL, NULL},
	{AWS_SERVICE_EC2, NULL, NULL, NULL, NULL, NULL},
};

Test(tables, endpoints)
{
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < COUNT(endpoints); i++) {
		const struct endpoint_case *c = &endpoints[i];
		struct fake_setting settings[] = {{c->variable, c->value}, {0}};
		struct aws_endpoint got;
		struct err e = {0};
		bool ok = aws_endpoint(aws_service(c->service), c->region, fake_lookup,
				       settings, &a, &got, &e);

		cr_expect_eq(ok, c->url != NULL, "row %zu: %s", i, e.detail);
		if (!ok) {
			cr_expect_eq(e.code, ERR_CONFIG);
			continue;
		}
		cr_expect_str_eq(got.url, c->url);
		cr_expect_str_eq(got.signing_region,
				 c->signing_region ? c->signing_region : c->region);
	}
	arena_free(&a);
}

/* What a published row says of a region: the price list's is the partition's own. */
static const char *published_url(struct arena *a, const json_t *row, const char *region,
				 const char *price_region)
{
	static const char mark[] = "{region}";
	const char *url = json_str_or(row, "url", "");
	const char *at = strstr(url, mark);

	if (streq(json_str_at(row, "service"), "pricing"))
		region = price_region;
	return !at ? url
		   : arena_printf(a, "%.*s%s%s", (int)(at - url), url, region,
				  at + sizeof(mark) - 1);
}

static const struct aws_service *service_named(const char *name)
{
	for (int i = 0; i < AWS_SERVICES_COUNT_; i++)
		if (streq(aws_service((enum aws_service_id)i)->name, name))
			return aws_service((enum aws_service_id)i);
	return NULL;
}

static void check_published(struct arena *a, const json_t *row, const char *region)
{
	const struct aws_partition *p = aws_partition_of(region);
	const bool fips = json_bool_or(row, "fips", false);
	struct fake_setting settings[] = {
		{"AWS_USE_FIPS_ENDPOINT", fips ? "true" : "false"},
		{"AWS_USE_DUALSTACK_ENDPOINT",
		 json_bool_or(row, "dual", false) ? "true" : "false"},
		{0}};
	const struct aws_service *s = service_named(json_str_at(row, "service"));
	struct aws_endpoint got;
	struct err e = {0};
	bool ok;

	cr_assert(s, "%s", json_str_at(row, "service"));
	ok = aws_endpoint(s, region, fake_lookup, settings, a, &got, &e);
	/* Neither exists; the rules make names up. */
	if ((fips && !p->fips) || (s->id == AWS_SERVICE_PRICING && !p->price_region)) {
		cr_expect_not(ok);
		cr_expect_eq(e.code, ERR_CONFIG);
		return;
	}
	cr_assert(ok, "%s in %s: %s", s->name, region, e.detail);
	cr_expect_str_eq(got.url, published_url(a, row, region, p->price_region));
	cr_expect_str_eq(
		got.signing_region,
		json_str_or(row, "signs",
			    s->id == AWS_SERVICE_PRICING ? p->price_region : region));
	if (!fips && !json_bool_or(row, "dual", false) && s->id != AWS_SERVICE_PRICING)
		cr_expect_str_eq(got.url + strlen("https://"),
				 aws_host(s->id, region, a));
}

/* Every partition, every region, every service that we call, every family of hosts. */
Test(tables, endpoints_are_those_of_the_published_rules)
{
	struct arena a;
	const char *id;
	size_t n_ours, n = 0, i, r;
	json_t *file, *published, *row, *region;

	arena_init(&a, 0);
	file = fake_json_file(&a, "tests/unit/data/aws/endpoints.json");
	json_object_foreach(json_at(file, "partitions"), id, published) {
		const struct aws_partition *p = aws_partition_named(id);

		cr_assert(p, "%s has no row", id);
		cr_expect_str_eq(p->dns_suffix, json_str_at(published, "dns"));
		cr_expect_str_eq(p->dual_suffix, json_str_at(published, "dual"));
		json_array_foreach(json_at(published, "regions"), r, region) {
			cr_expect(aws_is_region(json_string_value(region)));
			cr_expect_eq(aws_partition_of(json_string_value(region)), p, "%s",
				     json_string_value(region));
		}
	}
	aws_partitions(&n_ours);
	cr_expect_eq(json_object_size(json_at(file, "partitions")), n_ours);
	json_array_foreach(json_at(file, "endpoints"), i, row) {
		published = json_object_get(json_at(file, "partitions"),
					    json_str_at(row, "partition"));
		json_array_foreach(json_at(published, "regions"), r, region) {
			check_published(&a, row, json_string_value(region));
			n++;
		}
	}
	cr_expect_gt(n, 2000);
	arena_free(&a);
}

/* ---------------------------------------------------------------- errors */

struct error_case {
	enum aws_op_id op;
	int status;
	const char *body;
	struct http_header header;
	const char *code;
	enum errc errc;
	bool ambiguous;
};

#define JSON_ERROR(code, message) "{\"__type\":\"" code "\",\"message\":\"" message "\"}"
#define XML_ERROR(code, message)                                                         \
	"<ErrorResponse><Error><Type>Sender</Type><Code>" code                           \
	"</Code><Message>" message                                                       \
	"</Message></Error><RequestId>r</RequestId></ErrorResponse>"
#define EC2_ERROR(code)                                                                  \
	"<Response><Errors><Error><Code>" code                                           \
	"</Code><Message>m</Message></Error></Errors>"                                   \
	"<RequestID>r</RequestID></Response>"

static const struct error_case errors[] = {
	{AWS_SAGEMAKER_CreateCluster,
	 400,
	 JSON_ERROR("com.amazonaws.sagemaker#ResourceInUse", ""),
	 {0},
	 "ResourceInUse",
	 ERR_CLOUD_CONFLICT,
	 false},
	{AWS_SAGEMAKER_CreateCluster,
	 400,
	 JSON_ERROR("ResourceLimitExceeded", "limit is 0"),
	 {0},
	 "ResourceLimitExceeded",
	 ERR_QUOTA,
	 false},
	{AWS_SAGEMAKER_DescribeCluster,
	 400,
	 JSON_ERROR("ResourceNotFound", ""),
	 {0},
	 "ResourceNotFound",
	 ERR_CLOUD_NOT_FOUND,
	 false},
	{AWS_SAGEMAKER_CreateCluster,
	 400,
	 JSON_ERROR("ValidationException",
		    "SageMaker cannot assume the execution role x"),
	 {0},
	 "ValidationException",
	 ERR_ROLE_NOT_READY,
	 false},
	{AWS_SAGEMAKER_CreateCluster,
	 400,
	 JSON_ERROR("ValidationException:http://x/", "bad"),
	 {0},
	 "ValidationException",
	 ERR_CLOUD_REFUSED,
	 false},
	{AWS_SAGEMAKER_CreateCluster,
	 400,
	 JSON_ERROR("ThrottlingException", "Rate exceeded"),
	 {0},
	 "ThrottlingException",
	 ERR_CLOUD_THROTTLED,
	 false},
	{AWS_SAGEMAKER_CreateCluster,
	 400,
	 JSON_ERROR("ExpiredTokenException", ""),
	 {0},
	 "ExpiredTokenException",
	 ERR_CREDENTIALS,
	 false},
	{AWS_EKS_CreateCluster,
	 403,
	 "{\"message\":\"no\"}",
	 {"x-amzn-errortype", "AccessDeniedException:http://internal/"},
	 "AccessDeniedException",
	 ERR_CLOUD_DENIED,
	 false},
	{AWS_EKS_CreateCluster,
	 400,
	 "{\"message\":\"Error in role params\"}",
	 {"x-amzn-errortype", "InvalidParameterException"},
	 "InvalidParameterException",
	 ERR_ROLE_NOT_READY,
	 false},
	{AWS_EKS_CreateCluster,
	 400,
	 "{\"message\":\"subnet-1 does not exist\"}",
	 {"x-amzn-errortype", "InvalidParameterException"},
	 "InvalidParameterException",
	 ERR_CLOUD_REFUSED,
	 false},
	{AWS_EKS_CreateCluster,
	 400,
	 "{\"message\":\"m\"}",
	 {"x-amzn-errortype", "UnsupportedAvailabilityZoneException"},
	 "UnsupportedAvailabilityZoneException",
	 ERR_NOT_OFFERED,
	 false},
	{AWS_EC2_DeleteVpc,
	 400,
	 EC2_ERROR("DependencyViolation"),
	 {0},
	 "DependencyViolation",
	 ERR_CLOUD_CONFLICT,
	 false},
	{AWS_EC2_CreateVpc,
	 400,
	 EC2_ERROR("VpcLimitExceeded"),
	 {0},
	 "VpcLimitExceeded",
	 ERR_QUOTA,
	 false},
	{AWS_EC2_CreateVpc,
	 503,
	 EC2_ERROR("RequestLimitExceeded"),
	 {0},
	 "RequestLimitExceeded",
	 ERR_CLOUD_THROTTLED,
	 false},
	{AWS_EC2_CreateSubnet,
	 400,
	 EC2_ERROR("InvalidVpcID.NotFound"),
	 {0},
	 "InvalidVpcID.NotFound",
	 ERR_CLOUD_NOT_FOUND,
	 false},
	{AWS_EC2_CreateSubnet,
	 500,
	 EC2_ERROR("InsufficientInstanceCapacity"),
	 {0},
	 "InsufficientInstanceCapacity",
	 ERR_NO_CAPACITY,
	 false},
	{AWS_EC2_CreateSecurityGroup,
	 400,
	 EC2_ERROR("InvalidGroup.Duplicate"),
	 {0},
	 "InvalidGroup.Duplicate",
	 ERR_CLOUD_CONFLICT,
	 false},
	{AWS_EC2_CreateVpc,
	 403,
	 EC2_ERROR("UnauthorizedOperation"),
	 {0},
	 "UnauthorizedOperation",
	 ERR_CLOUD_DENIED,
	 false},
	{AWS_IAM_CreateRole,
	 409,
	 XML_ERROR("LimitExceeded", "m"),
	 {0},
	 "LimitExceeded",
	 ERR_QUOTA,
	 false},
	{AWS_IAM_CreateRole,
	 400,
	 XML_ERROR("MalformedPolicyDocument", "Invalid principal in policy"),
	 {0},
	 "MalformedPolicyDocument",
	 ERR_ROLE_NOT_READY,
	 false},
	{AWS_CFN_DescribeStacks,
	 400,
	 XML_ERROR("ValidationError", "Stack with id d does not exist"),
	 {0},
	 "ValidationError",
	 ERR_CLOUD_NOT_FOUND,
	 false},
	{AWS_CFN_CreateStack,
	 400,
	 XML_ERROR("LimitExceededException", "m"),
	 {0},
	 "LimitExceededException",
	 ERR_QUOTA,
	 false},
	{AWS_SAGEMAKER_CreateCluster,
	 400,
	 JSON_ERROR("LimitExceededException", "m"),
	 {0},
	 "LimitExceededException",
	 ERR_CLOUD_THROTTLED,
	 false},
	{AWS_S3_CreateBucket,
	 409,
	 "<Error><Code>BucketAlreadyExists</Code></Error>",
	 {0},
	 "BucketAlreadyExists",
	 ERR_FOREIGN_OBJECT,
	 false},
	{AWS_S3_PutObject,
	 503,
	 "<Error><Code>SlowDown</Code></Error>",
	 {0},
	 "SlowDown",
	 ERR_CLOUD_THROTTLED,
	 false},
	{AWS_S3_HeadBucket, 404, "", {0}, "NotFound", ERR_CLOUD_NOT_FOUND, false},
	{AWS_S3_HeadBucket, 403, "", {0}, "Forbidden", ERR_CLOUD_DENIED, false},
	{AWS_S3_HeadBucket, 400, "", {0}, "BadRequest", ERR_CLOUD_REFUSED, false},
	{AWS_S3_HeadBucket, 301, "", {0}, "MovedPermanently", ERR_CLOUD_REFUSED, false},
	/* A fault of the service leaves a mutation's outcome open, and only that. */
	{AWS_SAGEMAKER_CreateCluster,
	 500,
	 JSON_ERROR("InternalFailure", ""),
	 {0},
	 "InternalFailure",
	 ERR_AMBIGUOUS,
	 true},
	{AWS_SAGEMAKER_DescribeCluster,
	 500,
	 JSON_ERROR("InternalFailure", ""),
	 {0},
	 "InternalFailure",
	 ERR_CLOUD_UNAVAILABLE,
	 false},
	{AWS_EC2_CreateVpc,
	 502,
	 "<html>bad gateway</html>",
	 {0},
	 "",
	 ERR_AMBIGUOUS,
	 true},
	{AWS_EC2_DescribeVpcs,
	 502,
	 "<html>bad gateway</html>",
	 {0},
	 "",
	 ERR_CLOUD_UNAVAILABLE,
	 false},
	{AWS_EKS_CreateCluster, 504, "", {0}, "", ERR_AMBIGUOUS, true},
	{AWS_EKS_CreateCluster, 429, "", {0}, "", ERR_CLOUD_THROTTLED, false},
	{AWS_EKS_CreateCluster,
	 301,
	 "",
	 {0},
	 "MovedPermanently",
	 ERR_CLOUD_REFUSED,
	 false},
	{AWS_EKS_CreateCluster, 200, "not JSON", {0}, "", ERR_AMBIGUOUS, true},
	/* A proxy's 404: nothing is known of the thing. */
	{AWS_EKS_DescribeCluster,
	 404,
	 "<html>not here</html>",
	 {0},
	 "",
	 ERR_CLOUD_GARBAGE,
	 false},
	{AWS_IAM_GetRole, 404, "<ErrorResponse><Err", {0}, "", ERR_CLOUD_GARBAGE, false},
	{AWS_EKS_DeleteAddon, 404, "", {0}, "", ERR_AMBIGUOUS, true},
};

Test(tables, errors)
{
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < COUNT(errors); i++) {
		const struct error_case *c = &errors[i];
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
		struct err e = {0};

		aws_parse(aws_op(c->op), &ans, &a, &r);
		cr_expect_not(r.ok);
		cr_expect_str_eq(r.code, c->code, "row %zu", i);
		cr_expect_eq(r.errc, c->errc, "row %zu (%s): %d", i, c->code, r.errc);
		cr_expect_eq(r.ambiguous, c->ambiguous, "row %zu", i);
		cr_expect(r.message && *r.message);
		cr_expect_not(aws_err(aws_op(c->op), &r, &e));
		cr_expect_eq(e.code, c->errc);
		cr_expect_eq(e.n_causes, 1);
		cr_expect(strstr(e.cause[0].source, ":"), "%s", e.cause[0].source);
		cr_expect_str_eq(e.cause[0].code, c->code);
	}
	arena_free(&a);
}

/* A denial of the account is no lack of a permission, whoever asks. */
Test(tables, denials_of_the_account_say_what_helps)
{
	static const struct {
		const char *code, *says;
		enum errc errc;
	} codes[] = {
		{"OptInRequired", "enable this Region", ERR_CLOUD_ACCOUNT},
		{"SubscriptionRequiredException", "sign-up", ERR_CLOUD_ACCOUNT},
		{"NotSignedUp", "sign-up", ERR_CLOUD_ACCOUNT},
		{"RegionDisabledException", "enable this Region", ERR_CLOUD_ACCOUNT},
		{"PendingVerification", "verifying", ERR_CLOUD_ACCOUNT},
		{"PendingAccountVerification", "verifying", ERR_CLOUD_ACCOUNT},
		{"Blocked", "AWS Support", ERR_CLOUD_ACCOUNT},
		{"AccountProblem", "AWS Support", ERR_CLOUD_ACCOUNT},
		{"AllAccessDisabled", "AWS Support", ERR_CLOUD_ACCOUNT},
		{"AccessDenied", "Add the permission", ERR_CLOUD_DENIED},
		{"UnauthorizedOperation", "Add the permission", ERR_CLOUD_DENIED},
	};

	for (size_t i = 0; i < COUNT(codes); i++) {
		const enum errc errc =
			aws_errc(AWS_SERVICE_EC2, codes[i].code, "no", 400);
		struct aws_result r = {
			.errc = errc, .code = codes[i].code, .message = "no"};
		struct err e = {0};

		cr_expect_eq(errc, codes[i].errc, "%s", codes[i].code);
		cr_expect(errc_is_denial(errc));
		cr_expect_eq(aws_account_fix(codes[i].code) != NULL,
			     errc == ERR_CLOUD_ACCOUNT, "%s", codes[i].code);
		cr_expect_not(aws_err(aws_op(AWS_EC2_DescribeVpcs), &r, &e));
		cr_expect(strstr(err_fix_text(&e), codes[i].says), "%s: %s",
			  codes[i].code, err_fix_text(&e));
	}
}

/* Roles of others go to SageMaker alone; every service that takes ours is named. */
static void roles_are_passed_on_with_care(const json_t *list)
{
	static const char *const path = "Condition.StringEquals";
	const json_t *ours = json_find(list, "Sid", "PassRoles");
	const json_t *given = json_find(list, "Sid", "PassGivenRolesToSageMaker");
	const json_t *to = json_object_get(json_at(given, path), "iam:PassedToService");
	size_t i;
	json_t *v;

	cr_expect_str_eq(json_str_at(given, "Resource.0"), "arn:*:iam::*:role/*");
	cr_expect_eq(json_len_at(given, "Action"), 1);
	cr_expect_eq(json_array_size(to), 2);
	json_array_foreach(to, i, v)
		cr_expect(streq(json_string_value(v), "sagemaker.amazonaws.com") ||
				  streq(json_string_value(v),
					"hyperpod.sagemaker.amazonaws.com"),
			  "roles of others to %s", json_string_value(v));
	json_array_foreach(json_at(ours, "Resource"), i, v)
		cr_expect_null(strstr(json_string_value(v), "role/*"), "%s",
			       json_string_value(v));
	cr_expect_gt(json_array_size(
			     json_object_get(json_at(ours, path), "iam:PassedToService")),
		     0);
}

/* Statements that allow something, somewhere; nothing is allowed twice, but that roles
 * are passed on, and that groups go which carry one of two tags. */
Test(tables, policy)
{
	struct arena a;

	arena_init(&a, 0);
	json_t *list = json_object_get(aws_policy(&a), "Statement"), *s, *action;
	json_t *seen = json_new_object(&a);
	size_t i, k;

	cr_assert_gt(json_array_size(list), 8);
	/* As IAM counts a managed policy: without white space. */
	cr_expect_leq(strlen(json_text(&a, aws_policy(&a))), 6144,
		      "%zu characters: no managed policy holds it",
		      strlen(json_text(&a, aws_policy(&a))));
	json_array_foreach(list, i, s) {
		const char *sid = json_str_or(s, "Sid", "");

		cr_expect_gt(json_len_at(s, "Action"), 0, "%s", sid);
		cr_expect_gt(json_len_at(s, "Resource"), 0, "%s", sid);
		json_array_foreach(json_object_get(s, "Action"), k, action) {
			const char *name = json_string_value(action);

			cr_expect_null(strchr(name, '*'), "%s", name);
			cr_expect(streq(name, "iam:PassRole") ||
					  streq(name, "ec2:DeleteSecurityGroup") ||
					  !json_object_get(seen, name),
				  "%s twice", name);
			json_object_set_new(seen, name, json_true());
		}
	}
	cr_expect_not_null(json_object_get(seen, "s3:ListBucket"));
	cr_expect_not_null(json_object_get(seen, "servicequotas:ListServiceQuotas"));
	s = json_find(list, "Sid", "OwnNetworksOnly");
	cr_expect_str_eq(json_string_value(json_array_get(
				 json_object_get(json_at(s, "Condition.Null"),
						 "aws:ResourceTag/instantstart:cluster"),
				 0)),
			 "false");
	roles_are_passed_on_with_care(list);
	arena_free(&a);
}
