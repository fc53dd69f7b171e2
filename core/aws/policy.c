#include "core/aws/policy.h"

#include <fnmatch.h>
#include <string.h>

#include "core/aws/aws.h"
#include "core/aws/op_table.h"
#include "core/base/str.h"
#include "core/json/tree.h"

enum scope {
#define POLICY_SCOPE(id, ...) SCOPE_##id,
#define POLICY_CALL(...)
#define POLICY_ALSO(...)
#include "core/aws/policy.def"
#undef POLICY_SCOPE
	SCOPES_COUNT_
};

static const struct {
	const char *sid, *resources, *condition;
} scopes[] = {
#define POLICY_SCOPE(id, ...) {__VA_ARGS__},
#include "core/aws/policy.def"
#undef POLICY_SCOPE
#undef POLICY_CALL
};

#define POLICY_SCOPE(...)
static const struct {
	enum scope scope;
	enum aws_op_id op;
} calls[] = {
#define POLICY_CALL(scope, service, name) {SCOPE_##scope, AWS_##service##_##name},
#include "core/aws/policy.def"
#undef POLICY_CALL
#undef POLICY_ALSO
};

#define POLICY_CALL(...)
static const struct {
	enum scope scope;
	const char *action;
} others[] = {
#define POLICY_ALSO(scope, action) {SCOPE_##scope, action},
#include "core/aws/policy.def"
};

/* IAM's name where it is not the operation's. */
const char *aws_policy_action(enum aws_op_id id, struct arena *a)
{
	static const struct {
		enum aws_op_id op;
		const char *action;
	} odd[] = {
		{AWS_S3_HeadBucket, "s3:ListBucket"},
		{AWS_S3_DeleteObjects, "s3:DeleteObject"},
		{AWS_S3_ListObjectsV2, "s3:ListBucket"},
		{AWS_S3_ListObjectVersions, "s3:ListBucketVersions"},
		{AWS_S3_ListMultipartUploads, "s3:ListBucketMultipartUploads"},
		{AWS_S3_GetObjectLockConfiguration,
		 "s3:GetBucketObjectLockConfiguration"},
		{AWS_S3_HeadObject, "s3:GetObject"},
		{AWS_S3_GetPublicAccessBlock, "s3:GetBucketPublicAccessBlock"},
		{AWS_S3_PutPublicAccessBlock, "s3:PutBucketPublicAccessBlock"},
	};
	const struct aws_op *op = aws_op(id);
	const struct aws_service *service = aws_service(op->service);

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (odd[i].op == id)
			return odd[i].action;
	return arena_printf(a, "%s:%s", service->signing_name, op->name);
}

static void add(json_t *actions, const char *action)
{
	size_t i;
	json_t *one;

	json_array_foreach(actions, i, one)
		if (streq(json_string_value(one), action))
			return;
	json_array_append_new(actions, json_string(action));
}

/* Words separated by blanks. */
static json_t *words(struct arena *a, const char *text)
{
	struct str rest = str_of(text);
	json_t *list = json_array();

	while (rest.n > 0)
		json_array_append_new(list, json_string(str_dup(a, str_cut(&rest, ' '))));
	return list;
}

/* "Operator|key|values" */
static json_t *condition(struct arena *a, const char *text)
{
	struct str rest = str_of(text);
	const char *operator= str_dup(a, str_cut(&rest, '|'));
	const char *key = str_dup(a, str_cut(&rest, '|'));

	return json_pack("{s:{s:o}}", operator, key, words(a, str_dup(a, rest)));
}

static json_t *statement(enum scope s, struct arena *a)
{
	json_t *actions = json_array();
	json_t *out =
		json_pack("{s:s,s:s,s:o,s:o}", "Sid", scopes[s].sid, "Effect", "Allow",
			  "Action", actions, "Resource", words(a, scopes[s].resources));

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].scope == s)
			add(actions, aws_policy_action(calls[i].op, a));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].scope == s)
			add(actions, others[i].action);
	if (scopes[s].condition)
		json_object_set_new(out, "Condition", condition(a, scopes[s].condition));
	return out;
}

json_t *aws_policy(struct arena *a)
{
	json_t *list = json_new_list(a);

	for (int s = 0; s < SCOPES_COUNT_; s++)
		json_array_append_new(list, statement((enum scope)s, a));
	return json_packf(a, "{s:s,s:O}", "Version", "2012-10-17", "Statement", list);
}

/* Whether the statement is about that: its resource, and what it asks of the call. */
static bool covers(enum scope s, const char *resource, const json_t *context,
		   struct arena *a)
{
	struct str rest = str_of(scopes[s].resources),
		   values = str_of(scopes[s].condition);
	const char *key, *told;
	bool fits = false;

	/* IAM's wildcards are those of file names. */
	while (rest.n > 0 && !fits)
		fits = fnmatch(str_dup(a, str_cut(&rest, ' ')), resource, 0) == 0;
	if (!fits || !scopes[s].condition || !context)
		return fits;
	str_cut(&values, '|');
	key = str_dup(a, str_cut(&values, '|'));
	told = json_string_value(json_object_get(context, key));
	if (str_starts(scopes[s].condition, "Null|"))
		return told != NULL;
	while (values.n > 0)
		if (str_is(str_cut(&values, ' '), told ? told : ""))
			return true;
	return false;
}

const char *aws_policy_statement(const char *action, const char *resource,
				 const json_t *context, struct arena *a)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (streq(aws_policy_action(calls[i].op, a), action) &&
		    covers(calls[i].scope, resource, context, a))
			return scopes[calls[i].scope].sid;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (streq(others[i].action, action) &&
		    covers(others[i].scope, resource, context, a))
			return scopes[others[i].scope].sid;
	return NULL;
}
