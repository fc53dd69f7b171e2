/* What callers see of stacks. */
#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloudformation/handlers.h"

enum { PAGE = 100 };

static void copy(json_t *to, const json_t *from, const char *name)
{
	json_t *v = json_object_get(from, name);

	if (v)
		json_object_set(to, name, v);
}

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

bool cfn_describe_stacks(struct cloud_call *c, json_t **ret_out)
{
	const char *name = json_str_at(c->in, "StackName");
	json_t *list = json_array(), *stack;
	const char *id;

	if (name) {
		stack = cfn_find_stack(c->cloud, name);
		if (!stack) {
			json_decref(list);
			return cfn_need_stack(c, name) != NULL;
		}
		json_push(list, public_members(stack));
		return page(c, list, "Stacks", ret_out);
	}
	json_object_foreach(cloud_table(c->cloud, CFN_STACKS), id, stack)
		if (!cfn_is_deleted(stack) && cloud_listed(c->cloud, stack))
			json_push(list, public_members(stack));
	return page(c, list, "Stacks", ret_out);
}

bool cfn_list_stacks(struct cloud_call *c, json_t **ret_out)
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

bool cfn_describe_events(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = cfn_need_stack(c, json_str_or(c->in, "StackName", ""));
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

bool cfn_list_resources(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = cfn_need_stack(c, json_str_or(c->in, "StackName", "")), *list,
	       *res;
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

bool cfn_describe_resources(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = cfn_need_stack(c, json_str_or(c->in, "StackName", "")), *list,
	       *res;
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

bool cfn_get_template(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = cfn_need_stack(c, json_str_or(c->in, "StackName", ""));

	if (!stack)
		return false;
	*ret_out = json_packf(c->arena, "{s:s,s:[s,s]}", "TemplateBody",
			      json_str_or(stack, "_body", ""), "StagesAvailable",
			      "Original", "Processed");
	return true;
}
