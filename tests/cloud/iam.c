/* IAM: what its files share. https://docs.aws.amazon.com/IAM/latest/APIReference/ */
#include <string.h>
#include <strings.h>

#include "tests/cloud/iam_ops.h"

enum { TAGS_MAX = 50, PAGE_DEFAULT = 100 };

const char *iam_unique_id(struct cloud_call *call, const char *prefix)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	const char *hex = cloud_id(call->cloud, call->arena, "", 34);
	size_t n = strlen(prefix);
	char *id = arena_alloc(call->arena, n + 18);

	memcpy(id, prefix, n);
	for (size_t i = 0; i < 17; i++)
		id[n + i] = letters[(hex[2 * i] * 16 + hex[2 * i + 1]) % 32];
	return id;
}

const char *iam_arn(struct cloud_call *call, const char *kind, const char *path,
		    const char *name)
{
	return cloud_arn_global(
		call->cloud, call->arena, "iam",
		arena_printf(call->arena, "%s%s%s", kind, path ? path : "/", name));
}

json_t *iam_role_named(struct cloud_call *call)
{
	const char *name = json_str_at(call->in, "RoleName"), *key;
	json_t *role;

	/* Names are unique and found whatever the case. */
	json_object_foreach(cloud_table(call->cloud, "iam.role"), key, role)
		if (strcasecmp(key, name) == 0)
			return role;
	cloud_fault(call, "NoSuchEntity", "The role with name %s cannot be found.", name);
	return NULL;
}

/* Keys that differ by case alone are one. */
static json_t *tag_of(json_t *tags, const char *key)
{
	json_t *tag;
	size_t i;

	json_array_foreach(tags, i, tag)
		if (strcasecmp(json_str_or(tag, "Key", ""), key) == 0)
			return tag;
	return NULL;
}

bool iam_merge_tags(struct cloud_call *call, json_t *tags)
{
	json_t *tag;
	size_t i;

	json_array_foreach(json_object_get(call->in, "Tags"), i, tag) {
		const char *key = json_str_at(tag, "Key");
		json_t *old = tag_of(tags, key);

		if (tag_of(json_object_get(call->in, "Tags"), key) != tag)
			return cloud_fault(call, "InvalidInput",
					   "Duplicate tag keys found. Please note that "
					   "Tag keys are case insensitive.");
		if (strncasecmp(key, "aws:", 4) == 0)
			return cloud_fault(call, "InvalidInput",
					   "Tag keys with the prefix aws: are reserved");
		if (old)
			json_object_set(old, "Value", json_object_get(tag, "Value"));
		else
			json_array_append_new(tags, json_deep_copy(tag));
	}
	if (json_array_size(tags) > TAGS_MAX)
		return cloud_fault(call, "LimitExceeded",
				   "The number of tags has reached the maximum limit.");
	return true;
}

bool iam_answer_list(struct cloud_call *call, const char *member, json_t *items,
		     json_t **ret_out)
{
	const char *next;
	json_t *page = cloud_page(call, items, json_str_at(call->in, "Marker"),
				  json_int_or(call->in, "MaxItems", PAGE_DEFAULT), &next);

	if (!page)
		return cloud_fault(
			call, "ValidationError",
			"Invalid Marker. Ensure that the correct value is used.");
	*ret_out = json_packf(call->arena, "{s:O, s:b, s:s*}", member, page,
			      "IsTruncated", next != NULL, "Marker", next);
	return true;
}

json_t *iam_document(struct cloud_call *call, const char *text)
{
	struct buf b;

	buf_init(&b, call->arena, 1 << 20);
	percent_encode(&b, text, false);
	return json_string(buf_cstr(&b));
}

bool iam_check_document(struct cloud_call *call, const char *text, bool trust)
{
	struct err e = {0};
	json_t *doc = json_parse(call->arena, str_of(text), &e), *one;
	json_t *list = json_at(doc, "Statement");
	size_t i;

	if (!doc || !json_is_object(doc))
		return cloud_fault(call, "MalformedPolicyDocument",
				   "This policy contains invalid Json");
	if (json_is_object(list))
		list = json_packf(call->arena, "[O]", list);
	if (!json_is_array(list) || json_array_size(list) == 0)
		return cloud_fault(call, "MalformedPolicyDocument",
				   "Syntax errors in policy.");
	json_array_foreach(list, i, one) {
		const char *effect = json_str_or(one, "Effect", "");
		bool action = json_at(one, "Action") || json_at(one, "NotAction");
		bool resource = json_at(one, "Resource") || json_at(one, "NotResource");
		bool principal =
			json_at(one, "Principal") || json_at(one, "NotPrincipal");

		if ((!streq(effect, "Allow") && !streq(effect, "Deny")) || !action)
			return cloud_fault(call, "MalformedPolicyDocument",
					   "Syntax errors in policy.");
		if (trust && (resource || !principal))
			return cloud_fault(call, "MalformedPolicyDocument", "%s",
					   resource ? "Has prohibited field Resource"
						    : "Missing required field Principal");
		if (!trust && (!resource || principal))
			return cloud_fault(
				call, "MalformedPolicyDocument", "%s",
				principal
					? "Policy document should not specify a principal."
					: "Policy statement must contain resources.");
	}
	return true;
}

json_t *iam_view(struct cloud_call *call, const json_t *object, json_t *drop_too)
{
	json_t *copy = json_new_object(call->arena), *value, *drop;
	const char *name;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
		if (name[0] != '_')
			json_object_set(copy, name, value);
	json_array_foreach(drop_too, i, drop)
		json_object_del(copy, json_string_value(drop));
	return copy;
}

static const struct cloud_op ops[] = {
	{"CreateRole", true, iam_create_role},
	{"GetRole", false, iam_get_role},
	{"ListRoles", false, iam_list_roles},
	{"UpdateRole", true, iam_update_role},
	{"DeleteRole", true, iam_delete_role},
	{"UpdateAssumeRolePolicy", true, iam_update_trust},
	{"TagRole", true, iam_tag_role},
	{"UntagRole", true, iam_untag_role},
	{"ListRoleTags", false, iam_list_role_tags},
	{"PutRolePermissionsBoundary", true, iam_put_boundary},
	{"DeleteRolePermissionsBoundary", true, iam_delete_boundary},
	{"PutRolePolicy", true, iam_put_inline},
	{"GetRolePolicy", false, iam_get_inline},
	{"DeleteRolePolicy", true, iam_delete_inline},
	{"ListRolePolicies", false, iam_list_inline},
	{"AttachRolePolicy", true, iam_attach},
	{"DetachRolePolicy", true, iam_detach},
	{"ListAttachedRolePolicies", false, iam_list_attached},
	{"CreateServiceLinkedRole", true, iam_create_slr},
	{"DeleteServiceLinkedRole", true, iam_delete_slr},
	{"GetServiceLinkedRoleDeletionStatus", false, iam_slr_deletion_status},
	{"SimulatePrincipalPolicy", false, iam_simulate},
	{"CreatePolicy", true, iam_create_policy},
	{"GetPolicy", false, iam_get_policy},
	{"DeletePolicy", true, iam_delete_policy},
	{"ListPolicies", false, iam_list_policies},
	{"CreatePolicyVersion", true, iam_create_version},
	{"GetPolicyVersion", false, iam_get_version},
	{"ListPolicyVersions", false, iam_list_versions},
	{"DeletePolicyVersion", true, iam_delete_version},
	{"ListEntitiesForPolicy", false, iam_list_entities},
	{"CreateOpenIDConnectProvider", true, iam_create_oidc},
	{"GetOpenIDConnectProvider", false, iam_get_oidc},
	{"DeleteOpenIDConnectProvider", true, iam_delete_oidc},
	{"ListOpenIDConnectProviders", false, iam_list_oidc},
	{"AddClientIDToOpenIDConnectProvider", true, iam_add_oidc_client},
	{"UpdateOpenIDConnectProviderThumbprint", true, iam_update_oidc_thumbprint},
	{"CreateInstanceProfile", true, iam_create_profile},
	{"GetInstanceProfile", false, iam_get_profile},
	{"DeleteInstanceProfile", true, iam_delete_profile},
	{"AddRoleToInstanceProfile", true, iam_add_to_profile},
	{"RemoveRoleFromInstanceProfile", true, iam_remove_from_profile},
	{"ListInstanceProfilesForRole", false, iam_profiles_of_role},
	{NULL, false, NULL},
};

const struct cloud_service cloud_iam = {"iam", ops, NULL};
