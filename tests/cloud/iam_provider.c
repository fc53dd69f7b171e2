/* OpenID Connect providers and instance profiles. */
#include <string.h>

#include "tests/cloud/iam_ops.h"

static json_t *oidc_of(struct cloud_call *call)
{
	const char *arn = json_str_at(call->in, "OpenIDConnectProviderArn");
	json_t *provider = cloud_get(call->cloud, "iam.oidc_provider", arn);

	if (!provider)
		cloud_fault(call, "NoSuchEntity",
			    "OpenIDConnect Provider not found for arn %s", arn);
	return provider;
}

bool iam_create_oidc(struct cloud_call *call, json_t **ret_out)
{
	const char *url = json_str_at(call->in, "Url");
	json_t *tags = json_new_list(call->arena);
	static const char https[] = "https://";

	if (!str_starts(url, https))
		return cloud_fault(call, "InvalidInput",
				   "Invalid Open ID Connect Provider URL");
	const char *arn = cloud_arn_global(
		call->cloud, call->arena, "iam",
		arena_printf(call->arena, "oidc-provider/%s", url + strlen(https)));

	if (cloud_get(call->cloud, "iam.oidc_provider", arn))
		return cloud_fault(call, "EntityAlreadyExists",
				   "Provider with url %s already exists.", url);
	if (!iam_merge_tags(call, tags))
		return false;
	json_t *thumbs = json_object_get(call->in, "ThumbprintList");
	json_t *clients = json_object_get(call->in, "ClientIDList");

	cloud_put(
		call->cloud, "iam.oidc_provider", arn,
		json_pack("{s:s, s:o, s:o, s:O, s:o}", "Url", url + strlen(https),
			  "ClientIDList",
			  clients ? json_deep_copy(clients) : json_array(),
			  "ThumbprintList",
			  thumbs ? json_deep_copy(thumbs)
				 : json_pack("[s]",
					     "06b25927c42a721631c1efd9431e648fa62e1e39"),
			  "Tags", tags, "CreateDate",
			  cloud_seconds(call->now_ms / 1000 * 1000)));
	cloud_effect(call->cloud, "iam.oidc_provider", arn, "create");
	*ret_out = json_packf(call->arena, "{s:s}", "OpenIDConnectProviderArn", arn);
	return true;
}

bool iam_get_oidc(struct cloud_call *call, json_t **ret_out)
{
	json_t *provider = oidc_of(call);

	if (provider)
		*ret_out = iam_view(call, provider, NULL);
	return provider;
}

/* Documented as idempotent: no error when there is none. */
bool iam_delete_oidc(struct cloud_call *call, json_t **ret_out)
{
	const char *arn = json_str_at(call->in, "OpenIDConnectProviderArn");

	(void)ret_out;
	if (cloud_get(call->cloud, "iam.oidc_provider", arn)) {
		cloud_effect(call->cloud, "iam.oidc_provider", arn, "delete");
		cloud_delete(call->cloud, "iam.oidc_provider", arn);
	}
	return true;
}

bool iam_list_oidc(struct cloud_call *call, json_t **ret_out)
{
	json_t *list = json_new_list(call->arena), *provider;
	const char *arn;

	json_object_foreach(cloud_table(call->cloud, "iam.oidc_provider"), arn, provider)
		if (cloud_listed(call->cloud, provider))
			json_array_append_new(list, json_pack("{s:s}", "Arn", arn));
	*ret_out = json_packf(call->arena, "{s:O}", "OpenIDConnectProviderList", list);
	return true;
}

bool iam_add_oidc_client(struct cloud_call *call, json_t **ret_out)
{
	json_t *provider = oidc_of(call), *one;
	json_t *clients = json_object_get(provider, "ClientIDList");
	const char *id = json_str_at(call->in, "ClientID");
	size_t i;

	(void)ret_out;
	if (!provider)
		return false;
	json_array_foreach(clients, i, one)
		if (streq(json_string_value(one), id))
			return true;
	json_array_append_new(clients, json_string(id));
	cloud_effect(call->cloud, "iam.oidc_provider",
		     json_str_at(call->in, "OpenIDConnectProviderArn"), "update");
	return true;
}

bool iam_update_oidc_thumbprint(struct cloud_call *call, json_t **ret_out)
{
	json_t *provider = oidc_of(call);

	(void)ret_out;
	if (!provider)
		return false;
	json_object_set_new(provider, "ThumbprintList",
			    json_deep_copy(json_object_get(call->in, "ThumbprintList")));
	cloud_effect(call->cloud, "iam.oidc_provider",
		     json_str_at(call->in, "OpenIDConnectProviderArn"), "update");
	return true;
}

/* --- instance profiles ----------------------------------------------------- */

static json_t *profile_view(struct cloud_call *call, const json_t *profile)
{
	json_t *view = iam_view(call, profile, NULL), *roles = json_array();
	json_t *role = cloud_get(call->cloud, "iam.role", json_str_at(profile, "_role"));

	if (role) {
		json_t *r = iam_view(call, role, NULL);

		json_object_set_new(r, "AssumeRolePolicyDocument",
				    iam_document(call, json_str_at(role, "_trust")));
		json_array_append(roles, r);
	}
	json_object_set_new(view, "Roles", roles);
	return view;
}

static json_t *profile_of(struct cloud_call *call)
{
	const char *name = json_str_at(call->in, "InstanceProfileName");
	json_t *profile = cloud_get(call->cloud, "iam.instance_profile", name);

	if (!profile)
		cloud_fault(call, "NoSuchEntity", "Instance Profile %s cannot be found.",
			    name);
	return profile;
}

bool iam_create_profile(struct cloud_call *call, json_t **ret_out)
{
	const char *name = json_str_at(call->in, "InstanceProfileName");
	const char *path = json_str_or(call->in, "Path", "/");
	json_t *tags = json_new_list(call->arena);

	if (cloud_get(call->cloud, "iam.instance_profile", name))
		return cloud_fault(call, "EntityAlreadyExists",
				   "Instance Profile %s already exists.", name);
	if (!iam_merge_tags(call, tags))
		return false;
	json_t *profile = cloud_put(
		call->cloud, "iam.instance_profile", name,
		json_pack("{s:s, s:s, s:s, s:s, s:o, s:O}", "Path", path,
			  "InstanceProfileName", name, "InstanceProfileId",
			  iam_unique_id(call, "AIPA"), "Arn",
			  iam_arn(call, "instance-profile", path, name), "CreateDate",
			  cloud_seconds(call->now_ms / 1000 * 1000), "Tags", tags));

	cloud_effect(call->cloud, "iam.instance_profile", name, "create");
	*ret_out = json_packf(call->arena, "{s:O}", "InstanceProfile",
			      profile_view(call, profile));
	return true;
}

bool iam_get_profile(struct cloud_call *call, json_t **ret_out)
{
	json_t *profile = profile_of(call);

	if (profile)
		*ret_out = json_packf(call->arena, "{s:O}", "InstanceProfile",
				      profile_view(call, profile));
	return profile;
}

bool iam_delete_profile(struct cloud_call *call, json_t **ret_out)
{
	json_t *profile = profile_of(call);
	const char *name = json_str_at(call->in, "InstanceProfileName");

	(void)ret_out;
	if (!profile)
		return false;
	if (json_object_get(profile, "_role"))
		return cloud_fault(
			call, "DeleteConflict",
			"Cannot delete entity, must remove roles from instance "
			"profile first.");
	cloud_effect(call->cloud, "iam.instance_profile", name, "delete");
	cloud_delete(call->cloud, "iam.instance_profile", name);
	return true;
}

bool iam_add_to_profile(struct cloud_call *call, json_t **ret_out)
{
	json_t *profile = profile_of(call), *role = profile ? iam_role_named(call) : NULL;

	(void)ret_out;
	if (!role)
		return false;
	if (json_object_get(profile, "_role"))
		return cloud_fault(
			call, "LimitExceeded",
			"Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1");
	json_put_str(profile, "_role", json_str_at(role, "RoleName"));
	cloud_effect(call->cloud, "iam.instance_profile",
		     json_str_at(profile, "InstanceProfileName"), "update");
	return true;
}

bool iam_remove_from_profile(struct cloud_call *call, json_t **ret_out)
{
	json_t *profile = profile_of(call), *role = profile ? iam_role_named(call) : NULL;

	(void)ret_out;
	if (!role)
		return false;
	if (!streq(json_str_at(profile, "_role"), json_str_at(role, "RoleName")))
		return cloud_fault(call, "NoSuchEntity",
				   "The role %s is not in the instance profile.",
				   json_str_at(role, "RoleName"));
	json_object_del(profile, "_role");
	cloud_effect(call->cloud, "iam.instance_profile",
		     json_str_at(profile, "InstanceProfileName"), "update");
	return true;
}

bool iam_profiles_of_role(struct cloud_call *call, json_t **ret_out)
{
	json_t *role = iam_role_named(call), *list = json_new_list(call->arena), *profile;
	const char *name;

	if (!role)
		return false;
	json_object_foreach(cloud_table(call->cloud, "iam.instance_profile"), name,
			    profile)
		if (streq(json_str_at(profile, "_role"), json_str_at(role, "RoleName")))
			json_array_append(list, profile_view(call, profile));
	return iam_answer_list(call, "InstanceProfiles", list, ret_out);
}
