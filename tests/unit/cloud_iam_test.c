/* Roles, buckets and quotas of the simulated cloud. */
#include "tests/cloud/iam.h"
#include "tests/cloud/quotas.h"
#include "tests/cloud/s3.h"
#include "tests/unit/cloud_lab.h"

static const char trust[] =
	"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":"
	"{\"Service\":[\"sagemaker.amazonaws.com\"],\"AWS\":\"arn:aws:iam::111122223333:root\"},"
	"\"Action\":\"sts:AssumeRole\"}]}";
static const char policy[] =
	"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"s3:*\","
	"\"Resource\":\"*\"}]}";

struct step {
	const char *service, *op, *in, *code;
};

static void play(struct lab *l, const struct step *step)
{
	struct err e = {0};

	for (; step->op; step++) {
		json_t *in = json_parse(&l->arena, str_of(step->in), &e), *out;

		cr_assert_not_null(in, "%s: %s", step->in, e.detail);
		if (json_object_get(in, "AssumeRolePolicyDocument"))
			json_put_str(in, "AssumeRolePolicyDocument", trust);
		if (streq(json_str_at(in, "PolicyDocument"), "good"))
			json_put_str(in, "PolicyDocument", policy);
		bool ok = cloud_invoke(l->cloud, &l->arena, step->service, step->op, in,
				       NULL, &out, &l->code, &l->message);

		cr_assert(streq(ok ? "ok" : l->code, step->code ? step->code : "ok"),
			  "%s %s: %s: %s", step->op, step->in, ok ? "ok" : l->code,
			  ok ? "" : l->message);
	}
}

#define ROLE "{\"RoleName\":\"r\""
#define NEW  ROLE ",\"AssumeRolePolicyDocument\":\"\"}"
#define MINE "arn:aws:iam::111122223333:policy/p"
#define EKS  "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"

Test(iam, roles_hold_what_hangs_on_them)
{
	static const struct step row[] = {
		{"iam", "GetRole", ROLE "}", "NoSuchEntity"},
		{"iam", "CreateRole", NEW, NULL},
		{"iam", "CreateRole",
		 "{\"RoleName\":\"R\",\"AssumeRolePolicyDocument\":\"\"}",
		 "EntityAlreadyExists"},
		{"iam", "UpdateAssumeRolePolicy", ROLE ",\"PolicyDocument\":\"{}\"}",
		 "MalformedPolicyDocument"},
		{"iam", "UpdateAssumeRolePolicy", ROLE ",\"PolicyDocument\":\"good\"}",
		 "MalformedPolicyDocument"},
		{"iam", "AttachRolePolicy",
		 ROLE ",\"PolicyArn\":\"arn:aws:iam::aws:policy/AmazonNoSuchPolicy\"}",
		 "NoSuchEntity"},
		{"iam", "AttachRolePolicy", ROLE ",\"PolicyArn\":\"" EKS "\"}", NULL},
		{"iam", "AttachRolePolicy", ROLE ",\"PolicyArn\":\"" EKS "\"}", NULL},
		{"iam", "DeleteRole", ROLE "}", "DeleteConflict"},
		{"iam", "DetachRolePolicy", ROLE ",\"PolicyArn\":\"" EKS "\"}", NULL},
		{"iam", "DetachRolePolicy", ROLE ",\"PolicyArn\":\"" EKS "\"}",
		 "NoSuchEntity"},
		{"iam", "PutRolePolicy",
		 ROLE ",\"PolicyName\":\"i\",\"PolicyDocument\":\"good\"}", NULL},
		{"iam", "DeleteRole", ROLE "}", "DeleteConflict"},
		{"iam", "DeleteRolePolicy", ROLE ",\"PolicyName\":\"i\"}", NULL},
		{"iam", "CreateInstanceProfile", "{\"InstanceProfileName\":\"f\"}", NULL},
		{"iam", "AddRoleToInstanceProfile",
		 ROLE ",\"InstanceProfileName\":\"f\"}", NULL},
		{"iam", "AddRoleToInstanceProfile",
		 ROLE ",\"InstanceProfileName\":\"f\"}", "LimitExceeded"},
		{"iam", "DeleteRole", ROLE "}", "DeleteConflict"},
		{"iam", "DeleteInstanceProfile", "{\"InstanceProfileName\":\"f\"}",
		 "DeleteConflict"},
		{"iam", "RemoveRoleFromInstanceProfile",
		 ROLE ",\"InstanceProfileName\":\"f\"}", NULL},
		{"iam", "CreatePolicy",
		 "{\"PolicyName\":\"p\",\"PolicyDocument\":\"good\"}", NULL},
		{"iam", "AttachRolePolicy", ROLE ",\"PolicyArn\":\"" MINE "\"}", NULL},
		{"iam", "DeletePolicy", "{\"PolicyArn\":\"" MINE "\"}", "DeleteConflict"},
		{"iam", "DetachRolePolicy", ROLE ",\"PolicyArn\":\"" MINE "\"}", NULL},
		{"iam", "CreatePolicyVersion",
		 "{\"PolicyArn\":\"" MINE
		 "\",\"PolicyDocument\":\"good\",\"SetAsDefault\":true}",
		 NULL},
		{"iam", "DeletePolicyVersion",
		 "{\"PolicyArn\":\"" MINE "\",\"VersionId\":\"v2\"}", "DeleteConflict"},
		{"iam", "DeletePolicy", "{\"PolicyArn\":\"" MINE "\"}", "DeleteConflict"},
		{"iam", "DeletePolicyVersion",
		 "{\"PolicyArn\":\"" MINE "\",\"VersionId\":\"v1\"}", NULL},
		{"iam", "DeletePolicy", "{\"PolicyArn\":\"" MINE "\"}", NULL},
		{"iam", "DeleteRole", ROLE "}", NULL},
		{"iam", "DeleteRole", ROLE "}", "NoSuchEntity"},
		{"iam", "CreateServiceLinkedRole",
		 "{\"AWSServiceName\":\"eks.amazonaws.com\"}", NULL},
		{"iam", "CreateServiceLinkedRole",
		 "{\"AWSServiceName\":\"eks.amazonaws.com\"}", "InvalidInput"},
		{"iam", "DeleteRole", "{\"RoleName\":\"AWSServiceRoleForAmazonEKS\"}",
		 "UnmodifiableEntity"},
		{NULL, NULL, NULL, NULL},
	};
	struct lab l;

	lab_start(&l);
	play(&l, row);
	lab_stop(&l);
}

Test(iam, a_new_role_cannot_be_assumed_at_once)
{
	static const struct step make[] = {{"iam", "CreateRole", NEW, NULL},
					   {NULL, NULL, NULL, NULL}};
	static const struct step early[] = {
		{"sts", "AssumeRole",
		 "{\"RoleArn\":\"arn:aws:iam::111122223333:role/r\",\"RoleSessionName\":\"se\"}",
		 "AccessDenied"},
		{NULL, NULL, NULL, NULL}};
	static const struct step later[] = {
		{"sts", "AssumeRole",
		 "{\"RoleArn\":\"arn:aws:iam::111122223333:role/r\",\"RoleSessionName\":\"se\"}",
		 NULL},
		{"sts", "AssumeRole",
		 "{\"RoleArn\":\"arn:aws:iam::111122223333:role/none\",\"RoleSessionName\":"
		 "\"se\"}",
		 "AccessDenied"},
		{NULL, NULL, NULL, NULL}};
	const char *arn = "arn:aws:iam::111122223333:role/r";
	struct lab l;

	lab_start(&l);
	cloud_configure(l.cloud,
			json_packf(&l.arena, "{s:i}", "role_assumable_after_ms", 12000));
	play(&l, make);
	play(&l, early);
	cr_expect_not(iam_role_assumable(l.cloud, arn, "sagemaker.amazonaws.com"));
	clock_manual_advance(&l.clock, 12000);
	cr_expect(iam_role_assumable(l.cloud, arn, "sagemaker.amazonaws.com"));
	cr_expect_not(iam_role_assumable(l.cloud, arn, "eks.amazonaws.com"));
	play(&l, later);
	lab_stop(&l);
}

#define BUCKET "{\"Bucket\":\"sagemaker-a\""

Test(iam, buckets_and_quotas)
{
	static const struct step row[] = {
		{"s3", "HeadBucket", BUCKET "}", "NoSuchBucket"},
		{"s3", "CreateBucket", BUCKET "}", "IllegalLocationConstraintException"},
		{"s3", "CreateBucket",
		 "{\"Bucket\":\"No_Good\",\"CreateBucketConfiguration\":{"
		 "\"LocationConstraint\":\"us-west-2\"}}",
		 "InvalidBucketName"},
		{"s3", "CreateBucket",
		 BUCKET
		 ",\"CreateBucketConfiguration\":{\"LocationConstraint\":\"us-west-2\"}}",
		 NULL},
		{"s3", "CreateBucket",
		 BUCKET
		 ",\"CreateBucketConfiguration\":{\"LocationConstraint\":\"us-west-2\"}}",
		 "BucketAlreadyOwnedByYou"},
		{"s3", "HeadBucket", BUCKET ",\"ExpectedBucketOwner\":\"999999999999\"}",
		 "AccessDenied"},
		{"s3", "GetBucketTagging", BUCKET "}", "NoSuchTagSet"},
		{"s3", "PutObject", BUCKET ",\"Key\":\"a/1\",\"Body\":\"one\"}", NULL},
		{"s3", "PutObject",
		 BUCKET ",\"Key\":\"a/1\",\"Body\":\"two\",\"IfNoneMatch\":\"*\"}",
		 "PreconditionFailed"},
		{"s3", "PutObject", BUCKET ",\"Key\":\"a/2\",\"Body\":\"two\"}", NULL},
		{"s3", "PutObject", BUCKET ",\"Key\":\"b\",\"Body\":\"b\"}", NULL},
		{"s3", "GetObject", BUCKET ",\"Key\":\"a\"}", "NoSuchKey"},
		{"s3", "DeleteObject", BUCKET ",\"Key\":\"a\"}", NULL},
		{"s3", "DeleteBucket", BUCKET "}", "BucketNotEmpty"},
		{"service-quotas", "GetServiceQuota",
		 "{\"ServiceCode\":\"nope\",\"QuotaCode\":\"L-1\"}",
		 "NoSuchResourceException"},
		{"service-quotas", "RequestServiceQuotaIncrease",
		 "{\"ServiceCode\":\"sagemaker\",\"QuotaCode\":\"L-8762A75F\",\"DesiredValue\":4}",
		 NULL},
		{"service-quotas", "RequestServiceQuotaIncrease",
		 "{\"ServiceCode\":\"sagemaker\",\"QuotaCode\":\"L-8762A75F\",\"DesiredValue\":4}",
		 "ResourceAlreadyExistsException"},
		{NULL, NULL, NULL, NULL},
	};
	struct lab l;

	lab_start(&l);
	play(&l, row);
	json_t *out = lab_call(&l, "s3", "ListObjectsV2", "{s:s,s:s}", "Bucket",
			       "sagemaker-a", "Delimiter", "/");

	cr_expect_str_eq(json_str_at(out, "CommonPrefixes.0.Prefix"), "a/");
	cr_expect_str_eq(json_str_at(out, "Contents.0.Key"), "b");
	out = lab_call(&l, "s3", "ListObjectsV2", "{s:s,s:s,s:i}", "Bucket",
		       "sagemaker-a", "Prefix", "a/", "MaxKeys", 1);
	cr_expect(json_bool_or(out, "IsTruncated", false));
	out = lab_call(&l, "s3", "ListObjectsV2", "{s:s,s:s,s:s}", "Bucket",
		       "sagemaker-a", "Prefix", "a/", "ContinuationToken",
		       json_str_at(out, "NextContinuationToken"));
	cr_expect_str_eq(json_str_at(out, "Contents.0.Key"), "a/2");
	cr_expect_str_eq(s3_object_text(l.cloud, "sagemaker-a", "a/2"), "two");

	lab_call(&l, "s3", "CreateBucket", "{s:s,s:{s:s}}", "Bucket", "sagemaker-b",
		 "CreateBucketConfiguration", "LocationConstraint", "us-west-2");
	out = lab_call(&l, "s3", "ListBuckets", "{s:i}", "MaxBuckets", 1);
	cr_expect(json_len_at(out, "Buckets") == 1);
	out = lab_call(&l, "s3", "ListBuckets", "{s:i,s:s}", "MaxBuckets", 1,
		       "ContinuationToken", json_str_at(out, "ContinuationToken"));
	cr_expect_str_eq(json_str_at(out, "Buckets.0.Name"), "sagemaker-b");
	cr_expect_null(json_str_at(out, "ContinuationToken"));

	cr_expect_eq(quota_cluster_usage(l.cloud, "ml.p5.48xlarge"), 0);
	cloud_configure(l.cloud,
			json_packf(&l.arena, "{s:{s:i}}", "quota", "L-8762A75F", 4));
	cr_expect_eq(quota_cluster_usage(l.cloud, "ml.p5.48xlarge"), 4);
	out = lab_call(&l, "service-quotas", "GetServiceQuota", "{s:s,s:s}",
		       "ServiceCode", "sagemaker", "QuotaCode", "L-8762A75F");
	cr_expect_str_eq(json_str_at(out, "Quota.QuotaName"),
			 "ml.p5.48xlarge for cluster usage");
	cr_expect_eq(json_num_or(out, "Quota.Value", 0), 4);
	lab_stop(&l);
}

/* Whose policies they are, and what each says: as IAM answers. */
Test(iam, a_simulation_reads_what_hangs_on_the_principal)
{
	static const struct step made[] = {
		{"iam", "CreateRole", NEW, NULL},
		{"iam", "AttachRolePolicy", ROLE ",\"PolicyArn\":\"" EKS "\"}", NULL},
		{"iam", "PutRolePolicy",
		 ROLE
		 ",\"PolicyName\":\"p\",\"PolicyDocument\":\"{\\\"Statement\\\":[{"
		 "\\\"Effect\\\":\\\"Allow\\\",\\\"Action\\\":\\\"s3:GetObject\\\","
		 "\\\"Resource\\\":\\\"arn:aws:s3:::a/*\\\",\\\"Condition\\\":{"
		 "\\\"Bool\\\":{\\\"aws:SecureTransport\\\":\\\"true\\\"}}},{"
		 "\\\"Effect\\\":\\\"Deny\\\",\\\"Action\\\":\\\"ec2:DeleteVolume\\\","
		 "\\\"Resource\\\":\\\"*\\\"}]}\"}",
		 NULL},
		{.op = NULL}};
	static const struct {
		const char *action, *resource, *decision, *missing;
	} want[] = {
		{"ec2:DescribeInstances", "*", "allowed", NULL},
		{"ec2:DeleteVolume", "*", "explicitDeny", NULL},
		{"ec2:RunInstances", "*", "implicitDeny", NULL},
		{"s3:GetObject", "arn:aws:s3:::a/k", "implicitDeny",
		 "aws:SecureTransport"},
		{"s3:GetObject", "arn:aws:s3:::b/k", "implicitDeny", NULL},
	};
	static const char *const none[][2] = {
		{"arn:aws:sts::111122223333:assumed-role/r/s", "InvalidInput"},
		{"arn:aws:iam::111122223333:root", "InvalidInput"},
		{"arn:aws:iam::111122223333:role/other", "NoSuchEntity"},
		{"arn:aws:iam::111122223333:user/other", "NoSuchEntity"},
	};
	static const char r[] = "arn:aws:iam::111122223333:role/r";
	struct lab l;
	json_t *out, *row;

	lab_start(&l);
	play(&l, made);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		out = lab_call(&l, "iam", "SimulatePrincipalPolicy", "{s:s,s:[s],s:[s]}",
			       "PolicySourceArn", r, "ActionNames", want[i].action,
			       "ResourceArns", want[i].resource);
		row = json_at(out, "EvaluationResults.0");
		cr_expect_str_eq(json_str_or(row, "EvalDecision", ""), want[i].decision,
				 "%s on %s", want[i].action, want[i].resource);
		cr_expect_str_eq(json_str_or(row, "EvalResourceName", ""),
				 want[i].resource);
		cr_expect(streq(json_str_at(row, "MissingContextValues.0"),
				want[i].missing) ||
				  (!want[i].missing &&
				   !json_len_at(row, "MissingContextValues")),
			  "%s", json_text(&l.arena, row));
	}
	out = lab_call(&l, "iam", "SimulatePrincipalPolicy",
		       "{s:s,s:[s],s:[s],s:[{s:s,s:[s],s:s}]}", "PolicySourceArn", r,
		       "ActionNames", "s3:GetObject", "ResourceArns", "arn:aws:s3:::a/k",
		       "ContextEntries", "ContextKeyName", "aws:SecureTransport",
		       "ContextKeyValues", "true", "ContextKeyType", "boolean");
	cr_expect_str_eq(json_str_or(out, "EvaluationResults.0.EvalDecision", ""),
			 "allowed");
	cr_expect_str_eq(json_str_or(out,
				     "EvaluationResults.0.MatchedStatements.0."
				     "SourcePolicyId",
				     ""),
			 "p");
	/* By pages, each action on each resource. */
	out = lab_call(&l, "iam", "SimulatePrincipalPolicy", "{s:s,s:[s,s],s:[s,s],s:i}",
		       "PolicySourceArn", r, "ActionNames", "ec2:RunInstances",
		       "ec2:DescribeVpcs", "ResourceArns", "*",
		       "arn:aws:ec2:us-west-2:111122223333:vpc/v", "MaxItems", 3);
	cr_expect_eq(json_len_at(out, "EvaluationResults"), 3);
	cr_expect(json_bool_or(out, "IsTruncated", false) && json_str_at(out, "Marker"));
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		cr_expect_null(lab_try(&l, "iam", "SimulatePrincipalPolicy",
				       "{s:s,s:[s]}", "PolicySourceArn", none[i][0],
				       "ActionNames", "s3:GetObject"));
		cr_expect_str_eq(l.code, none[i][1], "%s: %s", none[i][0], l.message);
	}
	lab_stop(&l);
}
