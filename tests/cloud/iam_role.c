/* Roles and what hangs on them. */
#include <string.h>
#include <strings.h>

#include "tests/cloud/iam_ops.h"

enum { SECOND_MS = 1000, SLR_DELETE_MS = 5000 };

static json_t *role_view(struct cloud_call *call, const json_t *role)
{
	json_t *view = iam_view(call, role, NULL);

	json_object_set_new(view, "AssumeRolePolicyDocument",
			    iam_document(call, json_str_at(role, "_trust")));
	json_object_set(view, "Tags", json_object_get(role, "_tags"));
	if (json_array_size(json_object_get(view, "Tags")) == 0)
		json_object_del(view, "Tags");
	if (!json_object_get(view, "RoleLastUsed"))
		json_object_set_new(view, "RoleLastUsed", json_object());
	return view;
}

static json_t *new_role(struct cloud_call *call, const char *path, const char *name,
			const char *trust, int64_t max_session)
{
	json_t *role =
		json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:s, s:[], s:[], s:{}}", "Path",
			  path, "RoleName", name, "RoleId", iam_unique_id(call, "AROA"),
			  "Arn", iam_arn(call, "role", path, name), "CreateDate",
			  cloud_seconds(call->now_ms / SECOND_MS * SECOND_MS),
			  "MaxSessionDuration", (json_int_t)max_session, "_trust", trust,
			  "_tags", "_attached", "_inline");

	json_put_str(role, "Description", json_str_at(call->in, "Description"));
	cloud_put(call->cloud, "iam.role", name, role);
	cloud_effect(call->cloud, "iam.role", name, "create");
	return role;
}

static bool set_boundary(struct cloud_call *call, json_t *role, const char *arn)
{
	if (!iam_policy_exists(call->cloud, arn))
		return cloud_fault(call, "NoSuchEntity",
				   "Scope ARN: %s does not exist or is not attachable.",
				   arn);
	json_object_set_new(role, "PermissionsBoundary",
			    json_pack("{s:s, s:s}", "PermissionsBoundaryType", "Policy",
				      "PermissionsBoundaryArn", arn));
	return true;
}

/* A principal of this account that does not exist (yet) is refused by name. */
static bool check_principals(struct cloud_call *call, const char *text)
{
	struct err e = {0};
	json_t *doc = json_parse(call->arena, str_of(text), &e), *one, *arn;
	json_t *list = json_at(doc, "Statement");
	size_t i, k;

	if (json_is_object(list))
		list = json_packf(call->arena, "[O]", list);
	json_array_foreach(list, i, one) {
		json_t *aws = json_at(one, "Principal.AWS");

		if (json_is_string(aws))
			aws = json_packf(call->arena, "[O]", aws);
		json_array_foreach(aws, k, arn) {
			const char *z = json_string_value(arn);

			if (z && strstr(z, ":role/") && !iam_find_role(call->cloud, z))
				return cloud_fault(call, "MalformedPolicyDocument",
						   "Invalid principal in policy: "
						   "\"AWS\":\"%s\"",
						   z);
		}
	}
	return true;
}

bool iam_create_role(struct cloud_call *call, json_t **ret_out)
{
	const char *name = json_str_at(call->in, "RoleName"), *key;
	const char *trust = json_str_at(call->in, "AssumeRolePolicyDocument");
	const char *boundary = json_str_at(call->in, "PermissionsBoundary");
	json_t *other, *tags = json_new_list(call->arena);

	json_object_foreach(cloud_table(call->cloud, "iam.role"), key, other)
		if (strcasecmp(key, name) == 0)
			return cloud_fault(call, "EntityAlreadyExists",
					   "Role with name %s already exists.", name);
	if (!iam_check_document(call, trust, true) || !check_principals(call, trust) ||
	    !iam_merge_tags(call, tags))
		return false;
	if (boundary && !iam_policy_exists(call->cloud, boundary))
		return cloud_fault(call, "NoSuchEntity", "Policy %s does not exist",
				   boundary);
	json_t *role = new_role(call, json_str_or(call->in, "Path", "/"), name, trust,
				json_int_or(call->in, "MaxSessionDuration", 3600));

	json_object_set(role, "_tags", tags);
	if (boundary)
		set_boundary(call, role, boundary);
	json_t *view = role_view(call, role);

	json_object_del(view, "RoleLastUsed");
	*ret_out = json_packf(call->arena, "{s:O}", "Role", view);
	return true;
}

/* Of a service, made by it in the caller's name; the other services know it by name. */
static bool get_linked(struct cloud_call *call, json_t **ret_out)
{
	const char *name = json_str_at(call->in, "RoleName");
	const char *service = json_str_at(cloud_get(call->cloud, "iam.linked_role", name),
					  "AWSServiceName");
	const char *path = arena_printf(call->arena, "/aws-service-role/%s/",
					service ? service : "");

	if (!service)
		return false;
	*ret_out =
		json_packf(call->arena, "{s:{s:s, s:s, s:s, s:s, s:o}}", "Role", "Path",
			   path, "RoleName", name, "RoleId", iam_unique_id(call, "AROA"),
			   "Arn", iam_arn(call, "role", path, name), "CreateDate",
			   cloud_seconds(call->now_ms / SECOND_MS * SECOND_MS));
	return true;
}

bool iam_get_role(struct cloud_call *call, json_t **ret_out)
{
	json_t *role;

	if (get_linked(call, ret_out))
		return true;
	role = iam_role_named(call);
	if (!role)
		return false;
	*ret_out = json_packf(call->arena, "{s:O}", "Role", role_view(call, role));
	return true;
}

bool iam_list_roles(struct cloud_call *call, json_t **ret_out)
{
	const char *prefix = json_str_or(call->in, "PathPrefix", "/"), *name;
	json_t *list = json_new_list(call->arena), *role;

	json_object_foreach(cloud_table(call->cloud, "iam.role"), name, role) {
		if (!cloud_listed(call->cloud, role) ||
		    !str_starts(json_str_at(role, "Path"), prefix))
			continue;
		json_t *view = role_view(call, role);

		/* Lists leave these out, as the page of ListRoles says. */
		json_object_del(view, "Tags");
		json_object_del(view, "PermissionsBoundary");
		json_object_del(view, "RoleLastUsed");
		json_array_append(list, view);
	}
	return iam_answer_list(call, "Roles", list, ret_out);
}

bool iam_update_role(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);
	json_t *max = json_object_get(call->in, "MaxSessionDuration");

	(void)ret_out;
	if (!role)
		return false;
	json_put_str(role, "Description", json_str_at(call->in, "Description"));
	if (max)
		json_object_set(role, "MaxSessionDuration", max);
	cloud_effect(call->cloud, "iam.role", json_str_at(role, "RoleName"), "update");
	return true;
}

static bool in_a_profile(struct cloud_call *call, const char *role)
{
	const char *name;
	json_t *profile;

	json_object_foreach(cloud_table(call->cloud, "iam.instance_profile"), name,
			    profile)
		if (streq(json_str_at(profile, "_role"), role))
			return true;
	return false;
}

static bool is_service_linked(const json_t *role)
{
	return str_starts(json_str_at(role, "Path"), "/aws-service-role/");
}

bool iam_delete_role(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);
	const char *name = json_str_at(role, "RoleName");

	(void)ret_out;
	if (!role)
		return false;
	if (is_service_linked(role))
		return cloud_fault(
			call, "UnmodifiableEntity",
			"Cannot perform the operation on the protected role '%s' "
			"- this role is only modifiable by AWS",
			name);
	if (in_a_profile(call, name))
		return cloud_fault(
			call, "DeleteConflict",
			"Cannot delete entity, must remove roles from instance "
			"profile first.");
	if (json_array_size(json_object_get(role, "_attached")) > 0)
		return cloud_fault(
			call, "DeleteConflict",
			"Cannot delete entity, must detach all policies first.");
	if (json_object_size(json_object_get(role, "_inline")) > 0)
		return cloud_fault(call, "DeleteConflict",
				   "Cannot delete entity, must delete policies first.");
	cloud_effect(call->cloud, "iam.role", name, "delete");
	cloud_delete(call->cloud, "iam.role", arena_strdup(call->arena, name));
	return true;
}

bool iam_update_trust(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);
	const char *text = json_str_at(call->in, "PolicyDocument");

	(void)ret_out;
	if (!role || !iam_check_document(call, text, true) ||
	    !check_principals(call, text))
		return false;
	json_put_str(role, "_trust", text);
	cloud_effect(call->cloud, "iam.role", json_str_at(role, "RoleName"), "update");
	return true;
}

bool iam_tag_role(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);

	(void)ret_out;
	if (!role || !iam_merge_tags(call, json_object_get(role, "_tags")))
		return false;
	cloud_effect(call->cloud, "iam.role", json_str_at(role, "RoleName"), "update");
	return true;
}

bool iam_untag_role(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call), *key;
	json_t *tags = json_object_get(role, "_tags");
	size_t i;

	(void)ret_out;
	if (!role)
		return false;
	json_array_foreach(json_object_get(call->in, "TagKeys"), i, key)
		for (size_t k = json_array_size(tags); k-- > 0;)
			if (streq(json_str_at(json_array_get(tags, k), "Key"),
				  json_string_value(key)))
				json_array_remove(tags, k);
	cloud_effect(call->cloud, "iam.role", json_str_at(role, "RoleName"), "update");
	return true;
}

bool iam_list_role_tags(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);

	return role &&
	       iam_answer_list(call, "Tags", json_object_get(role, "_tags"), ret_out);
}

bool iam_put_boundary(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);

	(void)ret_out;
	if (!role ||
	    !set_boundary(call, role, json_str_at(call->in, "PermissionsBoundary")))
		return false;
	cloud_effect(call->cloud, "iam.role", json_str_at(role, "RoleName"), "update");
	return true;
}

bool iam_delete_boundary(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);

	(void)ret_out;
	if (!role)
		return false;
	if (json_object_del(role, "PermissionsBoundary") != 0)
		return cloud_fault(call, "NoSuchEntity",
				   "The permissions boundary of role %s cannot be found.",
				   json_str_at(role, "RoleName"));
	cloud_effect(call->cloud, "iam.role", json_str_at(role, "RoleName"), "update");
	return true;
}

/* --- service-linked roles ------------------------------------------------- */

static const char *slr_name(const char *service)
{
	static const struct {
		const char *service, *name;
	} row[] = {
		{"sagemaker.amazonaws.com", "AWSServiceRoleForAmazonSageMaker"},
		{"hyperpod.sagemaker.amazonaws.com",
		 "AWSServiceRoleForSageMakerHyperPod"},
		{"eks.amazonaws.com", "AWSServiceRoleForAmazonEKS"},
		{"eks-nodegroup.amazonaws.com", "AWSServiceRoleForAmazonEKSNodegroup"},
		{"fsx.amazonaws.com", "AWSServiceRoleForAmazonFSx"},
		{"spot.amazonaws.com", "AWSServiceRoleForEC2Spot"},
		{"autoscaling.amazonaws.com", "AWSServiceRoleForAutoScaling"},
		{"elasticloadbalancing.amazonaws.com",
		 "AWSServiceRoleForElasticLoadBalancing"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (streq(row[i].service, service))
			return row[i].name;
	return NULL;
}

bool iam_create_slr(struct cloud_call *call, json_t **ret_out)
{
	const char *service = json_str_at(call->in, "AWSServiceName");
	const char *name = slr_name(service);

	if (!name)
		return cloud_fault(call, "InvalidInput",
				   "%s is not a valid service linked role name.",
				   service);
	if (cloud_get(call->cloud, "iam.role", name))
		return cloud_fault(call, "InvalidInput",
				   "Service role name %s has been taken in this account, "
				   "please try a different suffix.",
				   name);
	const char *trust = arena_printf(
		call->arena,
		"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\","
		"\"Principal\":{\"Service\":\"%s\"},\"Action\":\"sts:AssumeRole\"}]}",
		service);
	json_t *role = new_role(
		call, arena_printf(call->arena, "/aws-service-role/%s/", service), name,
		trust, 3600);
	json_t *view = role_view(call, role);

	json_object_del(view, "RoleLastUsed");
	*ret_out = json_packf(call->arena, "{s:O}", "Role", view);
	return true;
}

bool iam_delete_slr(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call);

	if (!role)
		return false;
	if (!is_service_linked(role))
		return cloud_fault(call, "NoSuchEntity",
				   "%s is not a service-linked role.",
				   json_str_at(role, "RoleName"));
	const char *name = arena_strdup(call->arena, json_str_at(role, "RoleName"));
	const char *task =
		arena_printf(call->arena, "task%s%s/%s", json_str_at(role, "Path"), name,
			     cloud_id(call->cloud, call->arena, "", 32));

	cloud_put(call->cloud, "iam.slr_deletion", task,
		  json_pack("{s:I}", "_done_ms",
			    (json_int_t)(call->now_ms +
					 cloud_ms(call->cloud, SLR_DELETE_MS))));
	cloud_effect(call->cloud, "iam.role", name, "delete");
	cloud_delete(call->cloud, "iam.role", name);
	*ret_out = json_packf(call->arena, "{s:s}", "DeletionTaskId", task);
	return true;
}

bool iam_slr_deletion_status(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "DeletionTaskId");
	json_t *task = cloud_get(call->cloud, "iam.slr_deletion", id);

	if (!task)
		return cloud_fault(call, "NoSuchEntity", "Task %s cannot be found.", id);
	bool done = call->now_ms >= json_int_or(task, "_done_ms", 0);

	*ret_out = json_packf(call->arena, "{s:s}", "Status",
			      done ? "SUCCEEDED" : "IN_PROGRESS");
	return true;
}
