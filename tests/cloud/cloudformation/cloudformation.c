/*
 * CloudFormation's operations.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/
 */
#include <string.h>

#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloudformation/stack.h"

enum { TEMPLATE_MAX = 51200, PAGE = 100 };

#define TOKENS "cloudformation.token"

static bool is_deleted(const json_t *stack)
{
	return streq(json_str_at(stack, "StackStatus"), "DELETE_COMPLETE");
}

/* By id, deleted ones too; by name only those that live. */
static json_t *find_stack(struct cloud *c, const char *name)
{
	json_t *stack = cloud_get(c, CFN_STACKS, name);
	const char *id;

	if (stack)
		return stack;
	json_object_foreach(cloud_table(c, CFN_STACKS), id, stack)
		if (streq(json_str_at(stack, "StackName"), name) && !is_deleted(stack))
			return stack;
	return NULL;
}

static json_t *need_stack(struct cloud_call *c, const char *name)
{
	json_t *stack = find_stack(c->cloud, name);

	if (!stack)
		cloud_fault(c, "ValidationError", "Stack with id %s does not exist",
			    name);
	return stack;
}

static struct cfn_work work_on(struct cloud_call *c, json_t *stack)
{
	return (struct cfn_work){.cloud = c->cloud,
				 .arena = c->arena,
				 .stack = stack,
				 .now_ms = c->now_ms};
}

/* --- tokens -------------------------------------------------------------- */

/* NULL: not seen. A token belongs to one request: op and digest of its input. */
static const char *token_replay(struct cloud_call *c, bool *ret_conflict)
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

static void token_keep(struct cloud_call *c, json_t *stack)
{
	const char *token = json_str_at(c->in, "ClientRequestToken");

	json_put_str(stack, "_token", token);
	if (token)
		cloud_put(c->cloud, TOKENS, token,
			  json_pack("{s:s,s:s,s:s}", "op", c->op, "digest",
				    json_digest(c->arena, c->in), "stack",
				    json_str_or(stack, "StackId", "")));
}

/* --- create -------------------------------------------------------------- */

static bool check_props(struct cloud_call *c, const char *id, const json_t *def,
			const struct cfn_type *type)
{
	json_t *props = json_object_get(def, "Properties");
	struct str rest = str_of(type->props);
	const char *key;
	json_t *v;

	json_object_foreach(props, key, v) {
		const char *hit = NULL;
		size_t n = strlen(key);

		for (const char *p = type->props; (p = strstr(p, key)) != NULL; p += n)
			if ((p == type->props || p[-1] == ' ') &&
			    (p[n] == '\0' || p[n] == ' ' || p[n] == '*'))
				hit = p;
		if (!hit)
			return cloud_fault(
				c, "ValidationError",
				"Template error: %s: Encountered unsupported property "
				"%s",
				id, key);
	}
	while (rest.p) {
		struct str word = str_cut(&rest, ' ');
		bool required = str_has_suffix(word, STR("*"));
		const char *name =
			arena_strndup(c->arena, word.p, word.n - (required ? 1 : 0));

		if (required && !json_object_get(props, name))
			return cloud_fault(
				c, "ValidationError",
				"Template error: %s: Property validation failure: "
				"missing required key [%s]",
				id, name);
	}
	return true;
}

static bool check_template(struct cloud_call *c, const json_t *template)
{
	const char *id;
	json_t *def;

	json_object_foreach(json_object_get(template, "Resources"), id, def) {
		const char *name = json_str_or(def, "Type", "");
		const struct cfn_type *type = cfn_type_find(name);

		if (!type)
			return cloud_fault(
				c, "ValidationError",
				"Template format error: Unrecognized resource types: "
				"[%s]",
				name);
		if (!check_props(c, id, def, type))
			return false;
	}
	return true;
}

static json_t *parse_template(struct cloud_call *c)
{
	const char *body = json_str_at(c->in, "TemplateBody");
	const char *error = NULL;
	json_t *template;

	if (!body) {
		cloud_fault(c, "ValidationError",
			    "Either Template URL or Template Body must be specified.");
		return NULL;
	}
	if (strlen(body) > TEMPLATE_MAX) {
		cloud_fault(
			c, "ValidationError",
			"1 validation error detected: Value at 'templateBody' failed to satisfy "
			"constraint: Member must have length less than or equal to 51200");
		return NULL;
	}
	template = cfn_template_parse(c->arena, body, &error);
	if (!template)
		cloud_fault(c, "ValidationError", "%s", error);
	else if (!check_template(c, template))
		return NULL;
	return template;
}

static bool has_capability(const struct cloud_call *c, const char *name)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_object_get(c->in, "Capabilities"), i, v)
		if (streq(json_string_value(v), name))
			return true;
	return false;
}

static bool check_capabilities(struct cloud_call *c, const struct cfn_scope *s)
{
	bool iam = false, named = false;
	const char *id;
	json_t *def;

	json_object_foreach(json_object_get(s->template, "Resources"), id, def) {
		if (!str_starts(json_str_or(def, "Type", ""), "AWS::IAM::"))
			continue;
		iam = true;
		named = named || json_at(def, "Properties.RoleName");
	}
	if (!iam || has_capability(c, "CAPABILITY_NAMED_IAM") ||
	    (!named && has_capability(c, "CAPABILITY_IAM")))
		return true;
	return cloud_fault(c, "InsufficientCapabilitiesException",
			   "Requires capabilities : [%s]",
			   named ? "CAPABILITY_NAMED_IAM" : "CAPABILITY_IAM");
}

static json_t *parameter_list(const json_t *params)
{
	json_t *list = json_array(), *v;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)params, key, v)
		json_push(list, json_pack("{s:s,s:O}", "ParameterKey", key,
					  "ParameterValue", v));
	return list;
}

static void copy(json_t *to, const json_t *from, const char *name)
{
	json_t *v = json_object_get(from, name);

	if (v)
		json_object_set(to, name, v);
}

static json_t *new_stack(struct cloud_call *c, const struct cfn_scope *s)
{
	static const char *const kept[] = {
		"Capabilities",          "Tags",
		"DisableRollback",       "TimeoutInMinutes",
		"NotificationARNs",      "EnableTerminationProtection",
		"RollbackConfiguration", "RoleARN"};
	int64_t minutes = json_int_or(c->in, "TimeoutInMinutes", 0);
	bool stay = json_bool_or(c->in, "DisableRollback", false);
	json_t *stack = json_object();

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		copy(stack, c->in, kept[i]);
	json_put_str(stack, "StackId", s->stack_id);
	json_put_str(stack, "StackName", s->stack_name);
	json_put_str(stack, "Description", json_str_at(s->template, "Description"));
	json_object_set_new(stack, "CreationTime", cloud_seconds(c->now_ms));
	json_object_set_new(stack, "Parameters", parameter_list(s->params));
	json_object_set(stack, "_template", (json_t *)(uintptr_t)s->template);
	json_object_set(stack, "_params", (json_t *)(uintptr_t)s->params);
	json_object_set(stack, "_conditions", (json_t *)(uintptr_t)s->conditions);
	json_object_set_new(stack, "_events", json_array());
	json_put_str(stack, "_body", json_str_at(c->in, "TemplateBody"));
	json_put_str(stack, "_caller", c->caller_arn);
	json_put_str(stack, "_on_failure",
		     stay ? "DO_NOTHING" : json_str_or(c->in, "OnFailure", "ROLLBACK"));
	if (minutes)
		json_put_int(stack, "_deadline_ms",
			     c->now_ms + cloud_ms(c->cloud, minutes * 60 * 1000));
	return stack;
}

static bool check_name(struct cloud_call *c, const char *name)
{
	const char *ok =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
	size_t n = strlen(name);

	if (n > 0 && n <= 128 && strspn(name, ok) == n && strspn(name, ok + 52) == 0)
		return true;
	return cloud_fault(
		c, "ValidationError",
		"1 validation error detected: Value '%s' at 'stackName' failed to "
		"satisfy constraint: Member must satisfy regular expression pattern: "
		"[a-zA-Z][-a-zA-Z0-9]*",
		name);
}

static bool create_stack(struct cloud_call *c, json_t **ret_out)
{
	const struct cloud_options *o = cloud_opts(c->cloud);
	const char *name = json_str_or(c->in, "StackName", "");
	bool conflict;
	const char *seen = token_replay(c, &conflict);
	struct cfn_scope s = {.arena = c->arena,
			      .stack_name = name,
			      .region = o->region,
			      .account = o->account,
			      .zones = json_new_list(c->arena)};
	struct cfn_work w;
	const json_t *same;

	if (conflict || !check_name(c, name))
		return false;
	if (seen) {
		*ret_out = json_packf(c->arena, "{s:s}", "StackId", seen);
		return true;
	}
	same = find_stack(c->cloud, name);
	if (same)
		return cloud_fault(c, "AlreadyExistsException",
				   "Stack [%s] already exists", name);
	s.stack_id = arena_printf(c->arena, "arn:aws:cloudformation:%s:%s:stack/%s/%s",
				  o->region, o->account, name,
				  cloud_id(c->cloud, c->arena, "", 32));
	s.template = parse_template(c);
	if (!s.template)
		return false;
	if (!cfn_template_bind(&s, json_object_get(c->in, "Parameters")))
		return cloud_fault(c, "ValidationError", "%s", s.error);
	if (!check_capabilities(c, &s))
		return false;
	w = work_on(c, new_stack(c, &s));
	token_keep(c, w.stack);
	cfn_stack_plan(&w, &s);
	cloud_put(c->cloud, CFN_STACKS, s.stack_id, w.stack);
	cloud_effect(c->cloud, CFN_STACKS, s.stack_id, "create");
	cfn_stack_status(&w, "CREATE_IN_PROGRESS", "User Initiated");
	*ret_out = json_packf(c->arena, "{s:s}", "StackId", s.stack_id);
	return true;
}

/* --- update -------------------------------------------------------------- */

/* Parameters as they would be: given, previous, default. */
static json_t *updated_parameters(struct cloud_call *c, const json_t *stack)
{
	json_t *list = json_new_list(c->arena), *p;
	size_t i;

	json_array_foreach(json_object_get(c->in, "Parameters"), i, p) {
		const char *key = json_str_or(p, "ParameterKey", "");

		if (json_bool_or(p, "UsePreviousValue", false))
			p = json_find(json_object_get(stack, "Parameters"),
				      "ParameterKey", key);
		if (p)
			json_array_append(list, p);
	}
	return list;
}

/*
 * Only what leaves every resource as it is can be applied: the main job makes
 * and removes stacks. Anything else is refused, never half done.
 */
static bool update_stack(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = need_stack(c, json_str_or(c->in, "StackName", ""));
	const char *status = json_str_or(stack, "StackStatus", "");
	bool previous = json_bool_or(c->in, "UsePreviousTemplate", false), conflict;
	const char *seen = token_replay(c, &conflict);
	struct cfn_work w = work_on(c, stack);
	struct cfn_scope s;

	if (!stack || conflict)
		return false;
	if (seen) {
		*ret_out = json_packf(c->arena, "{s:s}", "StackId", seen);
		return true;
	}
	if (!streq(status, "CREATE_COMPLETE") && !streq(status, "UPDATE_COMPLETE"))
		return cloud_fault(c, "ValidationError",
				   "Stack:%s is in %s state and can not be updated.",
				   json_str_or(stack, "StackId", ""), status);
	s = cfn_stack_scope(&w);
	if (!previous && !(s.template = parse_template(c)))
		return false;
	if (!cfn_template_bind(&s, updated_parameters(c, stack)))
		return cloud_fault(c, "ValidationError", "%s", s.error);
	if (!check_capabilities(c, &s))
		return false;
	if (json_equal(s.template, json_object_get(stack, "_template")) &&
	    json_equal(s.params, json_object_get(stack, "_params")))
		return cloud_fault(c, "ValidationError",
				   "No updates are to be performed.");
	c->fault_status = 501;
	return cloud_fault(
		c, "NotImplemented",
		"The simulated cloud does not change the resources of a stack");
}

/* --- reads --------------------------------------------------------------- */

static json_t *public_members(const json_t *obj)
{
	json_t *out = json_object(), *v;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)obj, key, v)
		if (key[0] != '_')
			json_object_set(out, key, v);
	return out;
}

/* One page of `list` as `member`, with NextToken; list is consumed. */
static bool page(struct cloud_call *c, json_t *list, const char *member, json_t **ret_out)
{
	int64_t from = 0;
	const char *token = json_str_at(c->in, "NextToken");
	json_t *out = json_array();
	size_t i;

	json_own(c->arena, list);
	if (token && (!str_to_i64(str_of(token), &from) || from < 0))
		from = 0;
	for (i = (size_t)from; i < json_array_size(list) && i < (size_t)from + PAGE; i++)
		json_array_append(out, json_array_get(list, i));
	*ret_out = json_packf(c->arena, "{s:o}", member, out);
	if (i < json_array_size(list))
		json_put_str(*ret_out, "NextToken", arena_printf(c->arena, "%zu", i));
	return true;
}

static bool describe_stacks(struct cloud_call *c, json_t **ret_out)
{
	const char *name = json_str_at(c->in, "StackName");
	json_t *list = json_array(), *stack;
	const char *id;

	if (name) {
		stack = find_stack(c->cloud, name);
		if (!stack) {
			json_decref(list);
			return need_stack(c, name) != NULL;
		}
		json_push(list, public_members(stack));
		return page(c, list, "Stacks", ret_out);
	}
	json_object_foreach(cloud_table(c->cloud, CFN_STACKS), id, stack)
		if (!is_deleted(stack) && cloud_listed(c->cloud, stack))
			json_push(list, public_members(stack));
	return page(c, list, "Stacks", ret_out);
}

static bool list_stacks(struct cloud_call *c, json_t **ret_out)
{
	const json_t *filter = json_object_get(c->in, "StackStatusFilter");
	json_t *list = json_array(), *stack, *v;
	const char *id;
	size_t i;

	json_object_foreach(cloud_table(c->cloud, CFN_STACKS), id, stack) {
		bool wanted = !filter;
		json_t *s = json_object();

		json_array_foreach(filter, i, v)
			wanted = wanted || streq(json_string_value(v),
						 json_str_at(stack, "StackStatus"));
		copy(s, stack, "StackName");
		copy(s, stack, "StackId");
		copy(s, stack, "StackStatus");
		copy(s, stack, "StackStatusReason");
		copy(s, stack, "CreationTime");
		copy(s, stack, "DeletionTime");
		if (wanted && cloud_listed(c->cloud, stack))
			json_push(list, s);
		else
			json_decref(s);
	}
	return page(c, list, "StackSummaries", ret_out);
}

static bool describe_events(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = need_stack(c, json_str_or(c->in, "StackName", ""));
	const json_t *events = json_object_get(stack, "_events");
	json_t *list;

	if (!stack)
		return false;
	list = json_array();
	for (size_t i = json_array_size(events); i-- > 0;)
		json_array_append(list, json_array_get(events, i));
	return page(c, list, "StackEvents", ret_out);
}

static json_t *resource_summary(const json_t *stack, const char *id, const json_t *res,
				const char *time_member)
{
	json_t *r = json_object();

	json_put_str(r, "LogicalResourceId", id);
	json_put_str(r, "PhysicalResourceId", json_str_at(res, "physical"));
	json_put_str(r, "ResourceType", json_str_at(res, "type"));
	json_put_str(r, "ResourceStatus", json_str_at(res, "status"));
	json_put_str(r, "ResourceStatusReason", json_str_at(res, "reason"));
	json_object_set_new(r, time_member, cloud_seconds(json_int_or(res, "at_ms", 0)));
	if (streq(time_member, "Timestamp")) {
		json_put_str(r, "StackName", json_str_at(stack, "StackName"));
		json_put_str(r, "StackId", json_str_at(stack, "StackId"));
	}
	return r;
}

static bool list_resources(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = need_stack(c, json_str_or(c->in, "StackName", "")), *list, *res;
	const char *id;

	if (!stack)
		return false;
	list = json_array();
	json_object_foreach(json_object_get(stack, "_resources"), id, res)
		if (json_object_get(res, "status"))
			json_push(list, resource_summary(stack, id, res,
							 "LastUpdatedTimestamp"));
	return page(c, list, "StackResourceSummaries", ret_out);
}

static bool describe_resources(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = need_stack(c, json_str_or(c->in, "StackName", "")), *list, *res;
	const char *wanted = json_str_at(c->in, "LogicalResourceId");
	const char *id;

	if (!stack)
		return false;
	list = json_array();
	json_object_foreach(json_object_get(stack, "_resources"), id, res)
		if (json_object_get(res, "status") && (!wanted || streq(wanted, id)))
			json_push(list, resource_summary(stack, id, res, "Timestamp"));
	*ret_out = json_packf(c->arena, "{s:o}", "StackResources", list);
	return true;
}

static bool get_template(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = need_stack(c, json_str_or(c->in, "StackName", ""));

	if (!stack)
		return false;
	*ret_out = json_packf(c->arena, "{s:s,s:[s,s]}", "TemplateBody",
			      json_str_or(stack, "_body", ""), "StagesAvailable",
			      "Original", "Processed");
	return true;
}

/* --- delete -------------------------------------------------------------- */

static bool delete_stack(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = find_stack(c->cloud, json_str_or(c->in, "StackName", ""));
	const char *status = json_str_or(stack, "StackStatus", "");
	struct cfn_work w = work_on(c, stack);
	bool conflict;

	(void)ret_out;
	/* Deleting what is not there succeeds, so does deleting twice. */
	token_replay(c, &conflict);
	if (conflict)
		return false;
	if (!stack || is_deleted(stack) || streq(status, "DELETE_IN_PROGRESS"))
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
	token_keep(c, stack);
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
	{"CreateStack", true, create_stack},
	{"UpdateStack", true, update_stack},
	{"DeleteStack", true, delete_stack},
	{"DescribeStacks", false, describe_stacks},
	{"ListStacks", false, list_stacks},
	{"DescribeStackEvents", false, describe_events},
	{"ListStackResources", false, list_resources},
	{"DescribeStackResources", false, describe_resources},
	{"GetTemplate", false, get_template},
	{0},
};

const struct cloud_service cloud_cloudformation = {
	.id = "cloudformation",
	.ops = ops,
	.advance = advance,
};
