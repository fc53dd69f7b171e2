/*
 * CloudFormation's operations: lookups, tokens, deletion.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/
 */
#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloudformation/handlers.h"

#define TOKENS "cloudformation.token"

bool cfn_is_deleted(const json_t *stack)
{
	return streq(json_str_at(stack, "StackStatus"), "DELETE_COMPLETE");
}

/* By id, deleted ones too; by name only those that live. */
json_t *cfn_find_stack(struct cloud *c, const char *name)
{
	json_t *stack = cloud_get(c, CFN_STACKS, name);
	const char *id;

	if (stack)
		return stack;
	json_object_foreach(cloud_table(c, CFN_STACKS), id, stack)
		if (streq(json_str_at(stack, "StackName"), name) &&
		    !cfn_is_deleted(stack))
			return stack;
	return NULL;
}

json_t *cfn_need_stack(struct cloud_call *c, const char *name)
{
	json_t *stack = cfn_find_stack(c->cloud, name);

	if (!stack)
		cloud_fault(c, "ValidationError", "Stack with id %s does not exist",
			    name);
	return stack;
}

struct cfn_work cfn_work_on(struct cloud_call *c, json_t *stack)
{
	return (struct cfn_work){.cloud = c->cloud,
				 .arena = c->arena,
				 .stack = stack,
				 .now_ms = c->now_ms};
}

/* --- tokens -------------------------------------------------------------- */

/* NULL: not seen. A token belongs to one request: op and digest of its input. */
const char *cfn_token_replay(struct cloud_call *c, bool *ret_conflict)
{
	const char *token = json_str_at(c->in, "ClientRequestToken");
	const json_t *seen = token ? cloud_get(c->cloud, TOKENS, token) : NULL;

	*ret_conflict = false;
	if (!seen)
		return NULL;
	if (!streq(json_str_at(seen, "op"), c->op) ||
	    !streq(json_str_at(seen, "digest"), json_digest(c->arena, c->in))) {
		*ret_conflict = true;
		cloud_fault(c, "TokenAlreadyExistsException",
			    "A client request token already exists: %s", token);
	}
	return json_str_at(seen, "stack");
}

void cfn_token_keep(struct cloud_call *c, json_t *stack)
{
	const char *token = json_str_at(c->in, "ClientRequestToken");

	json_put_str(stack, "_token", token);
	if (token)
		cloud_put(c->cloud, TOKENS, token,
			  json_pack("{s:s,s:s,s:s}", "op", c->op, "digest",
				    json_digest(c->arena, c->in), "stack",
				    json_str_or(stack, "StackId", "")));
}

static void copy(json_t *to, const json_t *from, const char *name)
{
	json_t *v = json_object_get(from, name);

	if (v)
		json_object_set(to, name, v);
}

static bool delete_stack(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = cfn_find_stack(c->cloud, json_str_or(c->in, "StackName", ""));
	const char *status = json_str_or(stack, "StackStatus", "");
	struct cfn_work w = cfn_work_on(c, stack);
	bool conflict;

	(void)ret_out;
	/* Deleting what is not there succeeds, so does deleting twice. */
	cfn_token_replay(c, &conflict);
	if (conflict)
		return false;
	if (!stack || cfn_is_deleted(stack) || streq(status, "DELETE_IN_PROGRESS"))
		return true;
	if (json_bool_or(stack, "EnableTerminationProtection", false))
		return cloud_fault(
			c, "ValidationError",
			"Stack [%s] cannot be deleted while TerminationProtection is "
			"enabled",
			json_str_or(stack, "StackName", ""));
	if (json_object_get(c->in, "RetainResources") && !streq(status, "DELETE_FAILED"))
		return cloud_fault(
			c, "ValidationError",
			"Invalid operation on stack [%s]. RetainResources needs a stack "
			"in DELETE_FAILED",
			json_str_or(stack, "StackName", ""));
	if (json_object_get(c->in, "RetainResources"))
		json_object_set(stack, "_retain",
				json_object_get(c->in, "RetainResources"));
	copy(stack, c->in, "DeletionMode");
	json_put_str(stack, "_caller", c->caller_arn);
	json_put_str(stack, "_key", cloud_acting(c->cloud));
	cfn_token_keep(c, stack);
	cfn_stack_start_delete(&w, "DELETE_IN_PROGRESS", "User Initiated");
	cloud_effect(c->cloud, CFN_STACKS, json_str_or(stack, "StackId", ""), "delete");
	return true;
}

static void advance(struct cloud *c, int64_t now_ms)
{
	struct arena a;
	const char *id;
	json_t *stack;

	arena_init(&a, 0);
	json_object_foreach(cloud_table(c, CFN_STACKS), id, stack) {
		struct cfn_work w = {
			.cloud = c, .arena = &a, .stack = stack, .now_ms = now_ms};

		cfn_stack_advance(&w);
		arena_reset(&a);
	}
	arena_free(&a);
}

static const struct cloud_op ops[] = {
	{"CreateStack", true, cfn_create_stack},
	{"UpdateStack", true, cfn_update_stack},
	{"DeleteStack", true, delete_stack},
	{"DescribeStacks", false, cfn_describe_stacks},
	{"ListStacks", false, cfn_list_stacks},
	{"DescribeStackEvents", false, cfn_describe_events},
	{"ListStackResources", false, cfn_list_resources},
	{"DescribeStackResources", false, cfn_describe_resources},
	{"GetTemplate", false, cfn_get_template},
	{0},
};

const struct cloud_service cloud_cloudformation = {
	.id = "cloudformation",
	.ops = ops,
	.advance = advance,
};
