/*
 * Answers of any bytes, status and protocol: a verdict always comes, and what
 * is understood is a tree of an object that can be written as JSON.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/aws/aws.h"
#include "core/json/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const enum aws_op_id ops[] = {
	AWS_EC2_DescribeVpcs,    AWS_EC2_DescribeInstanceTypes, AWS_EC2_CreateVpc,
	AWS_IAM_GetRole,         AWS_CFN_DescribeStacks,        AWS_STS_AssumeRole,
	AWS_S3_ListObjectsV2,    AWS_S3_GetBucketLocation,      AWS_S3_GetObject,
	AWS_EKS_DescribeCluster, AWS_SAGEMAKER_CreateCluster,   AWS_LOGS_GetLogEvents,
};

static void check(const struct aws_result *r, struct arena *a)
{
	if (r->ok) {
		if (!json_is_object(r->out) || !json_text(a, r->out) || r->ambiguous)
			abort();
		return;
	}
	if (r->errc == ERR_NONE || !r->code || !r->message || !r->request_id)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = {200, 400, 503, 404};
	struct arena a = {0};
	struct http_header header = {"x-amzn-errortype", NULL};
	struct http_answer ans = {.outcome = NET_ANSWERED, .header = &header};
	struct aws_result r;
	const struct aws_op *op;

	if (size < 2)
		return 0;
	op = aws_op(ops[data[0] % (sizeof(ops) / sizeof(*ops))]);
	ans.status = statuses[data[1] % 4];
	ans.body = arena_strndup(&a, (const char *)data + 2, size - 2);
	ans.body_len = strlen(ans.body);
	if (data[1] & 4) { /* the body doubles as the header */
		header.value = ans.body;
		ans.n_headers = 1;
	}
	aws_parse(op, &ans, &a, &r);
	check(&r, &a);
	if (r.ok) {
		json_t *next = aws_next_page(op, NULL, r.out, &a);

		if (next && !json_is_object(next))
			abort();
		aws_join_page(op, json_new_object(&a), r.out);
	}
	arena_free(&a);
	return 0;
}
