#include "core/domain/cluster/stack.h"

#include <string.h>

#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

bool stack_read(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "stack", AWS_CFN_DescribeStacks,
			json_packf(c->arena, "{s:s}", "StackName", name_stack(c)));
}

const json_t *stack_seen(const struct step_ctx *c)
{
	return json_at(saw(c, "stack"), "Stacks.0");
}

bool stack_missing(const struct step_ctx *c)
{
	if (stack_seen(c))
		return streq(stack_status(c), "DELETE_COMPLETE");
	return saw_missing(c, "stack") ||
	       (streq(saw_code(c, "stack"), "ValidationError") &&
		strstr(saw_message(c, "stack"), "does not exist"));
}

bool stack_refused(struct step_ctx *c)
{
	if (stack_seen(c) || stack_missing(c))
		return false;
	step_fail_saw(c, "stack", "CloudFormation could not describe %s: %s",
		      name_stack(c), saw_why(c, "stack"));
	return true;
}

const char *stack_status(const struct step_ctx *c)
{
	return json_str_or(stack_seen(c), "StackStatus", "");
}

const char *stack_output(const json_t *stack, const char *key)
{
	return json_str_at(json_find(json_at(stack, "Outputs"), "OutputKey", key),
			   "OutputValue");
}

static bool is_failure(const json_t *event)
{
	const char *status = json_str_or(event, "ResourceStatus", "");
	const char *reason = json_str_or(event, "ResourceStatusReason", "");

	/* Siblings that CloudFormation stopped because of the first failure. */
	return str_has_suffix(str_of(status), STR("_FAILED")) &&
	       !strstr(reason, "Resource creation cancelled") &&
	       !streq(json_str_or(event, "ResourceType", ""),
		      "AWS::CloudFormation::Stack");
}

/* Events come newest first; times may be equal, so position decides. */
const json_t *stack_first_failure(const json_t *events)
{
	const json_t *first = NULL;
	size_t i;
	json_t *event;

	json_array_foreach(events, i, event)
		if (is_failure(event))
			first = event;
	return first;
}

const char *stack_progress(struct arena *a, const json_t *resources)
{
	size_t done = 0, n = json_array_size(resources), i;
	const char *busy = NULL;
	json_t *r;

	json_array_foreach(resources, i, r) {
		const char *status = json_str_or(r, "ResourceStatus", "");

		if (str_has_suffix(str_of(status), STR("_COMPLETE")))
			done++;
		else if (str_has_suffix(str_of(status), STR("_IN_PROGRESS")))
			busy = json_str_at(r, "LogicalResourceId");
	}
	if (!busy)
		return arena_printf(a, "%zu of %zu resources", done, n);
	return arena_printf(a, "%zu of %zu resources, %s in progress", done, n, busy);
}
