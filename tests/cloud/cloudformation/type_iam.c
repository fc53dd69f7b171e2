#include "tests/cloud/cloudformation/type.h"

#include "core/base/str.h"
#include "core/json/tree.h"

static bool put_inline(struct cfn_unit *u, const char *role)
{
	size_t i;
	json_t *p;

	json_array_foreach(json_object_get(u->props, "Policies"), i, p)
		if (!cfn_invoke(
			    u, "iam", "PutRolePolicy", NULL, "{s:s,s:s,s:s}", "RoleName",
			    role, "PolicyName", json_str_or(p, "PolicyName", ""),
			    "PolicyDocument",
			    json_text(u->arena, json_object_get(p, "PolicyDocument"))))
			return false;
	return true;
}

static bool role_create(struct cfn_unit *u)
{
	const char *name = json_str_at(u->props, "RoleName");
	json_t *in = json_new_object(u->arena), *out, *arn;
	size_t i;

	if (!name)
		name = cfn_generated_name(u, 64);
	json_put_str(in, "RoleName", name);
	json_put_str(in, "Path", json_str_at(u->props, "Path"));
	json_put_str(in, "Description", json_str_at(u->props, "Description"));
	json_put_str(in, "PermissionsBoundary",
		     json_str_at(u->props, "PermissionsBoundary"));
	json_put_str(in, "AssumeRolePolicyDocument",
		     json_text(u->arena,
			       json_object_get(u->props, "AssumeRolePolicyDocument")));
	json_object_set(in, "Tags", cfn_own_tags(u));
	if (!cfn_invoke_tree(u, "iam", "CreateRole", in, &out))
		return false;
	cfn_set_physical(u, name);
	cfn_set_attr(u, "Arn", json_str_at(out, "Role.Arn"));
	cfn_set_attr(u, "RoleId", json_str_at(out, "Role.RoleId"));
	json_array_foreach(json_object_get(u->props, "ManagedPolicyArns"), i, arn)
		if (!cfn_invoke(u, "iam", "AttachRolePolicy", NULL, "{s:s,s:O}",
				"RoleName", name, "PolicyArn", arn))
			return false;
	return put_inline(u, name);
}

/* Like the real one: detaches only what the template attached. */
static bool role_remove(struct cfn_unit *u)
{
	const char *name = cfn_physical(u);
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(u->props, "ManagedPolicyArns"), i, v)
		if (!cfn_invoke(u, "iam", "DetachRolePolicy", NULL, "{s:s,s:O}",
				"RoleName", name, "PolicyArn", v) &&
		    !cfn_is_missing(u->code))
			return false;
	json_array_foreach(json_object_get(u->props, "Policies"), i, v)
		if (!cfn_invoke(u, "iam", "DeleteRolePolicy", NULL, "{s:s,s:s}",
				"RoleName", name, "PolicyName",
				json_str_or(v, "PolicyName", "")) &&
		    !cfn_is_missing(u->code))
			return false;
	return cfn_invoke(u, "iam", "DeleteRole", NULL, "{s:s}", "RoleName", name);
}

const struct cfn_type cfn_types_iam[] = {
	{"AWS::IAM::Role",
	 "AssumeRolePolicyDocument* RoleName Path Description ManagedPolicyArns Policies "
	 "PermissionsBoundary MaxSessionDuration Tags",
	 15, 2, role_create, NULL, role_remove, NULL},
	{0},
};
