/* Stacks accepted: templates and parameters checked, everything refused that must be. */
#include <string.h>

#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloudformation/handlers.h"

enum { TEMPLATE_MAX = 51200 };

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
	json_put_str(stack, "_key", cloud_acting(c->cloud));
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

bool cfn_create_stack(struct cloud_call *c, json_t **ret_out)
{
	const struct cloud_options *o = cloud_opts(c->cloud);
	const char *name = json_str_or(c->in, "StackName", "");
	bool conflict;
	const char *seen = cfn_token_replay(c, &conflict);
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
	same = cfn_find_stack(c->cloud, name);
	if (same)
		return cloud_fault(c, "AlreadyExistsException",
				   "Stack [%s] already exists", name);
	s.stack_id = cloud_arn(c->cloud, c->arena, "cloudformation",
			       arena_printf(c->arena, "stack/%s/%s", name,
					    cloud_id(c->cloud, c->arena, "", 32)));
	s.template = parse_template(c);
	if (!s.template)
		return false;
	if (!cfn_template_bind(&s, json_object_get(c->in, "Parameters")))
		return cloud_fault(c, "ValidationError", "%s", s.error);
	if (!check_capabilities(c, &s))
		return false;
	w = cfn_work_on(c, new_stack(c, &s));
	cfn_token_keep(c, w.stack);
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

/* Tags alone change nothing but tags; they reach every resource that has some. */
static bool update_tags(struct cfn_work *w)
{
	enum { UPDATE_MS = 10 * 1000 };

	json_put_int(w->stack, "_update_due_ms",
		     w->now_ms + cloud_ms(w->cloud, UPDATE_MS));
	cfn_stack_status(w, "UPDATE_IN_PROGRESS", "User Initiated");
	cloud_effect(w->cloud, CFN_STACKS, json_str_at(w->stack, "StackId"), "update");
	return true;
}

/*
 * Only what leaves every resource but its tags as it is can be applied: the main
 * job makes and removes stacks. Anything else is refused, never half done.
 */
bool cfn_update_stack(struct cloud_call *c, json_t **ret_out)
{
	json_t *stack = cfn_need_stack(c, json_str_or(c->in, "StackName", ""));
	const char *status = json_str_or(stack, "StackStatus", "");
	bool previous = json_bool_or(c->in, "UsePreviousTemplate", false), conflict;
	const char *seen = cfn_token_replay(c, &conflict);
	struct cfn_work w = cfn_work_on(c, stack);
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
	const json_t *tags = json_object_get(c->in, "Tags");
	bool same = json_equal(s.template, json_object_get(stack, "_template")) &&
		    json_equal(s.params, json_object_get(stack, "_params"));

	if (same && tags && !json_equal(tags, json_object_get(stack, "Tags"))) {
		copy(stack, c->in, "Tags");
		cfn_token_keep(c, stack);
		*ret_out = json_packf(c->arena, "{s:s}", "StackId", s.stack_id);
		return update_tags(&w);
	}
	if (same)
		return cloud_fault(c, "ValidationError",
				   "No updates are to be performed.");
	c->fault_status = 501;
	return cloud_fault(
		c, "NotImplemented",
		"The simulated cloud does not change the resources of a stack");
}
