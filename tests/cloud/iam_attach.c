/* Inline and managed policies of roles. */
#include <string.h>

#include "tests/cloud/iam_ops.h"

enum { ATTACHED_MAX = 20 };

bool iam_put_inline(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);
	const char *text = json_str_at(call->in, "PolicyDocument");

	(void)ret_out;
	if (!role || !iam_check_document(call, text, false))
		return false;
	if (streq(json_str_at(json_object_get(role, "_inline"),
			      json_str_at(call->in, "PolicyName")),
		  text))
		return true;
	json_object_set_new(json_object_get(role, "_inline"),
			    json_str_at(call->in, "PolicyName"), json_string(text));
	cloud_effect(call->cloud, "iam.role_policy", json_str_at(call->in, "PolicyName"),
		     "update");
	return true;
}

static const char *inline_named(struct cloud_call *call, json_t *role)
{
	const char *name = json_str_at(call->in, "PolicyName");
	const char *text = json_string_value(
		json_object_get(json_object_get(role, "_inline"), name));

	if (role && !text)
		cloud_fault(call, "NoSuchEntity",
			    "The role policy with name %s cannot be found.", name);
	return text;
}

bool iam_get_inline(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);
	const char *text = inline_named(call, role);

	if (!text)
		return false;
	*ret_out = json_packf(call->arena, "{s:s, s:s, s:o}", "RoleName",
			      json_str_at(role, "RoleName"), "PolicyName",
			      json_str_at(call->in, "PolicyName"), "PolicyDocument",
			      iam_document(call, text));
	return true;
}

bool iam_delete_inline(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);

	(void)ret_out;
	if (!inline_named(call, role))
		return false;
	json_object_del(json_object_get(role, "_inline"),
			json_str_at(call->in, "PolicyName"));
	cloud_effect(call->cloud, "iam.role_policy", json_str_at(call->in, "PolicyName"),
		     "delete");
	return true;
}

bool iam_list_inline(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call), *list = json_new_list(call->arena), *text;
	const char *name;

	if (!role)
		return false;
	json_object_foreach(json_object_get(role, "_inline"), name, text)
		json_array_append_new(list, json_string(name));
	return iam_answer_list(call, "PolicyNames", list, ret_out);
}

bool iam_attach(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);
	json_t *attached = json_object_get(role, "_attached");
	const char *arn = json_str_at(call->in, "PolicyArn");
	const char *slash = strrchr(arn, '/');

	(void)ret_out;
	if (!role)
		return false;
	if (!iam_policy_exists(call->cloud, arn))
		return cloud_fault(call, "NoSuchEntity",
				   "Policy %s does not exist or is not attachable.", arn);
	if (json_find(attached, "PolicyArn", arn))
		return true;
	if (json_array_size(attached) >= ATTACHED_MAX)
		return cloud_fault(call, "LimitExceeded",
				   "Cannot exceed quota for PoliciesPerRole: %d",
				   ATTACHED_MAX);
	json_array_append_new(attached,
			      json_pack("{s:s, s:s}", "PolicyName",
					slash ? slash + 1 : arn, "PolicyArn", arn));
	iam_count_attachment(call->cloud, arn, 1);
	cloud_effect(call->cloud, "iam.role_attachment", arn, "create");
	return true;
}

bool iam_detach(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call), *one;
	json_t *attached = json_object_get(role, "_attached");
	const char *arn = json_str_at(call->in, "PolicyArn");
	size_t i;

	(void)ret_out;
	if (!role)
		return false;
	json_array_foreach(attached, i, one)
		if (streq(json_str_at(one, "PolicyArn"), arn)) {
			json_array_remove(attached, i);
			iam_count_attachment(call->cloud, arn, -1);
			cloud_effect(call->cloud, "iam.role_attachment", arn, "delete");
			return true;
		}
	return cloud_fault(call, "NoSuchEntity", "Policy %s was not found.", arn);
}

bool iam_list_attached(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);

	return role && iam_answer_list(call, "AttachedPolicies",
				       json_object_get(role, "_attached"), ret_out);
}

bool iam_list_entities(struct cloud_call *call, json_t **ret_out)
{
	const char *arn = json_str_at(call->in, "PolicyArn"), *name;
	json_t *list = json_new_list(call->arena), *role;

	if (!iam_policy_exists(call->cloud, arn))
		return cloud_fault(call, "NoSuchEntity", "Policy %s was not found.", arn);
	json_object_foreach(cloud_table(call->cloud, "iam.role"), name, role)
		if (iam_role_has_policy(call->cloud, role, arn))
			json_array_append_new(
				list, json_pack("{s:s, s:O}", "RoleName", name, "RoleId",
						json_object_get(role, "RoleId")));
	return iam_answer_list(call, "PolicyRoles", list, ret_out);
}
