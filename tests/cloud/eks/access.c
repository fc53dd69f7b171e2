/* Access entries and their policies. */
#include "tests/cloud/eks/eks.h"

#include <string.h>

#include "tests/cloud/iam.h"

static const char *const policies[] = {
	"AmazonEKSAdminPolicy",
	"AmazonEKSClusterAdminPolicy",
	"AmazonEKSAdminViewPolicy",
	"AmazonEKSEditPolicy",
	"AmazonEKSViewPolicy",
	"AmazonSagemakerHyperpodClusterPolicy",
	"AmazonSagemakerHyperpodControllerPolicy",
	"AmazonSagemakerHyperpodSpacePolicy",
};
enum { N_POLICIES = sizeof(policies) / sizeof(policies[0]) };

const char *eks_principal(struct cloud *c, struct arena *a, const char *arn)
{
	const char *at = strstr(arn, ":assumed-role/");
	const char *role, *name;
	json_t *row;

	if (!at)
		return arena_strdup(a, arn);
	role = at + strlen(":assumed-role/");
	name = arena_strndup(a, role, strcspn(role, "/"));
	/* The session's ARN drops the role's path; the entry needs it. */
	row = cloud_get(c, "iam.role", name);
	return json_str_or(
		row, "Arn",
		cloud_arn_global(c, a, "iam", arena_printf(a, "role/%s", name)));
}

static bool takes_entries(struct cloud_call *c, const json_t *cluster)
{
	if (!streq(json_str_at(cluster, "accessConfig.authenticationMode"), "CONFIG_MAP"))
		return true;
	eks_fault_members(c, json_str_or(cluster, "name", ""));
	return cloud_fault(
		c, "InvalidRequestException",
		"The cluster's authentication mode must be set to one of [API, "
		"API_AND_CONFIG_MAP] to perform this operation.");
}

static json_t *need_entry(struct cloud_call *c)
{
	json_t *cluster = eks_need_cluster(c, "clusterName");
	json_t *entry;

	if (!cluster || !takes_entries(c, cluster))
		return NULL;
	entry = cloud_get(c->cloud, EKS_ENTRIES,
			  eks_key(c->arena, json_str_or(c->in, "clusterName", ""),
				  json_str_or(c->in, "principalArn", "")));
	if (!entry)
		cloud_fault(
			c, "ResourceNotFoundException",
			"The specified principalArn could not be found. You can view your "
			"available access entries with 'list-access-entries'.");
	return entry;
}

static const char *default_username(struct cloud_call *c, const char *principal)
{
	const char *slash = strrchr(principal, '/');

	if (!strstr(principal, ":role/"))
		return principal;
	return cloud_arn_global(c->cloud, c->arena, "sts",
				arena_printf(c->arena, "assumed-role/%s/{{SessionName}}",
					     slash ? slash + 1 : ""));
}

static json_t *new_entry(struct cloud *c, struct arena *a, const char *cluster,
			 const char *principal, const char *type, const char *username)
{
	int64_t now = cloud_clock(c)->wall_ms(cloud_clock(c));
	const char *slash = strrchr(principal, '/');
	const char *arn =
		eks_arn(c, a,
			arena_printf(a, "access-entry/%s/role/%s/%s/%s", cluster,
				     cloud_opts(c)->account, slash ? slash + 1 : "",
				     cloud_id(c, a, "", 32)));

	return json_pack("{s:s,s:s,s:[],s:s,s:o,s:o,s:{},s:s,s:s,s:{}}", "clusterName",
			 cluster, "principalArn", principal, "kubernetesGroups",
			 "accessEntryArn", arn, "createdAt", cloud_seconds(now),
			 "modifiedAt", cloud_seconds(now), "tags", "username", username,
			 "type", type, "_policies");
}

static bool principal_exists(struct cloud_call *c, const char *arn)
{
	if (strstr(arn, ":assumed-role/") || !cloud_arn_is(c->cloud, arn, "iam"))
		return false;
	return !strstr(arn, ":role/") || strstr(arn, ":role/aws-service-role/") ||
	       iam_find_role(c->cloud, arn);
}

static bool check_entry(struct cloud_call *c, const char *principal, const char *type)
{
	bool is_standard = streq(type, "STANDARD");

	if (!principal_exists(c, principal))
		return cloud_fault(
			c, "InvalidParameterException",
			"The specified principalArn is invalid: invalid principal.");
	if (!is_standard &&
	    json_array_size(json_object_get(c->in, "kubernetesGroups")) > 0)
		return cloud_fault(
			c, "InvalidParameterException",
			"You can't specify kubernetesGroups for an access entry of "
			"type %s",
			type);
	return true;
}

bool eks_create_access_entry(struct cloud_call *c, json_t **ret_out)
{
	const char *cluster = json_str_or(c->in, "clusterName", "");
	const char *principal = json_str_or(c->in, "principalArn", "");
	const char *type = json_str_or(c->in, "type", "STANDARD"), *seen;
	const char *key = eks_key(c->arena, cluster, principal);
	enum replay r = eks_replay(c, &seen);
	json_t *have = eks_need_active(c, "clusterName"), *entry, *v;

	if (r == REPLAY_OTHER || !have || !takes_entries(c, have))
		return false;
	eks_fault_members(c, cluster);
	entry = cloud_get(c->cloud, EKS_ENTRIES, key);
	if (entry && r != REPLAY_SAME)
		return cloud_fault(
			c, "ResourceInUseException",
			"The specified access entry resource is already in use on this "
			"cluster.");
	if (!entry) {
		if (!check_entry(c, principal, type))
			return false;
		entry = new_entry(
			c->cloud, c->arena, cluster, principal, type,
			json_str_or(c->in, "username", default_username(c, principal)));
		if ((v = json_object_get(c->in, "kubernetesGroups")) != NULL)
			json_object_set(entry, "kubernetesGroups", v);
		if ((v = json_object_get(c->in, "tags")) != NULL)
			json_object_set_new(entry, "tags", json_deep_copy(v));
		cloud_put(c->cloud, EKS_ENTRIES, key, entry);
		replay_keep(c, json_str_at(c->in, "clientRequestToken"), key);
		cloud_effect(c->cloud, EKS_ENTRIES, key, "create");
	}
	*ret_out = json_packf(c->arena, "{s:O}", "accessEntry", entry);
	return true;
}

bool eks_describe_access_entry(struct cloud_call *c, json_t **ret_out)
{
	json_t *entry = need_entry(c);

	if (!entry)
		return false;
	*ret_out = json_packf(c->arena, "{s:O}", "accessEntry", entry);
	return true;
}

bool eks_update_access_entry(struct cloud_call *c, json_t **ret_out)
{
	json_t *entry = need_entry(c);
	json_t *groups = json_object_get(c->in, "kubernetesGroups");

	if (!entry)
		return false;
	if (groups)
		json_object_set(entry, "kubernetesGroups", groups);
	if (json_str_at(c->in, "username"))
		json_put_str(entry, "username", json_str_at(c->in, "username"));
	json_object_set_new(entry, "modifiedAt", cloud_seconds(c->now_ms));
	cloud_effect(c->cloud, EKS_ENTRIES, json_str_or(entry, "accessEntryArn", ""),
		     "update");
	*ret_out = json_packf(c->arena, "{s:O}", "accessEntry", entry);
	return true;
}

bool eks_delete_access_entry(struct cloud_call *c, json_t **ret_out)
{
	const char *key = eks_key(c->arena, json_str_or(c->in, "clusterName", ""),
				  json_str_or(c->in, "principalArn", ""));

	(void)ret_out;
	if (!need_entry(c))
		return false;
	cloud_delete(c->cloud, EKS_ENTRIES, key);
	cloud_effect(c->cloud, EKS_ENTRIES, key, "delete");
	return true;
}

bool eks_list_access_entries(struct cloud_call *c, json_t **ret_out)
{
	const char *policy = json_str_at(c->in, "associatedPolicyArn");
	json_t *cluster = eks_need_cluster(c, "clusterName");
	json_t *list = json_new_list(c->arena), *entry;
	const char *key;

	if (!cluster || !takes_entries(c, cluster))
		return false;
	json_object_foreach(cloud_table(c->cloud, EKS_ENTRIES), key, entry)
		if (eks_in_cluster(key, json_str_or(cluster, "name", "")) &&
		    cloud_listed(c->cloud, entry) &&
		    (!policy ||
		     json_object_get(json_object_get(entry, "_policies"), policy)))
			json_array_append(list, json_object_get(entry, "principalArn"));
	return eks_page(c, "accessEntries", list, ret_out);
}

/* --- policies ------------------------------------------------------------ */

static const char *policy_arn(struct cloud *c, struct arena *a, const char *name)
{
	return cloud_arn_of_aws(c, a, "eks",
				arena_printf(a, "cluster-access-policy/%s", name));
}

static bool known_policy(struct cloud_call *c, const char *arn)
{
	for (size_t i = 0; i < N_POLICIES; i++)
		if (streq(arn, policy_arn(c->cloud, c->arena, policies[i])))
			return true;
	return false;
}

static json_t *association(const char *policy, json_t *scope, int64_t now_ms)
{
	return json_pack("{s:s,s:O,s:o,s:o}", "policyArn", policy, "accessScope", scope,
			 "associatedAt", cloud_seconds(now_ms), "modifiedAt",
			 cloud_seconds(now_ms));
}

bool eks_associate_access_policy(struct cloud_call *c, json_t **ret_out)
{
	const char *arn = json_str_or(c->in, "policyArn", "");
	json_t *entry = need_entry(c), *scope = json_object_get(c->in, "accessScope"),
	       *all, *a;

	if (!entry)
		return false;
	if (!known_policy(c, arn))
		return cloud_fault(c, "InvalidParameterException",
				   "The policyArn %s is not a valid access policy", arn);
	if (!streq(json_str_at(entry, "type"), "STANDARD"))
		return cloud_fault(
			c, "InvalidRequestException",
			"You can't associate policies with an access entry of type %s",
			json_str_or(entry, "type", ""));
	all = json_object_get(entry, "_policies");
	a = json_object_get(all, arn);
	if (!a || !json_equal(json_object_get(a, "accessScope"), scope)) {
		a = association(arn, scope, c->now_ms);
		json_object_set_new(all, arn, a);
		cloud_effect(c->cloud, EKS_ENTRIES,
			     json_str_or(entry, "accessEntryArn", ""), "update");
	}
	*ret_out = json_packf(c->arena, "{s:O,s:O,s:O}", "clusterName",
			      json_object_get(entry, "clusterName"), "principalArn",
			      json_object_get(entry, "principalArn"),
			      "associatedAccessPolicy", a);
	return true;
}

bool eks_disassociate_access_policy(struct cloud_call *c, json_t **ret_out)
{
	const char *arn = json_str_or(c->in, "policyArn", "");
	json_t *entry = need_entry(c);

	(void)ret_out;
	if (!entry)
		return false;
	if (json_object_del(json_object_get(entry, "_policies"), arn) != 0)
		return cloud_fault(c, "ResourceNotFoundException",
				   "The specified access policy is not associated: %s",
				   arn);
	cloud_effect(c->cloud, EKS_ENTRIES, json_str_or(entry, "accessEntryArn", ""),
		     "update");
	return true;
}

bool eks_list_associated_policies(struct cloud_call *c, json_t **ret_out)
{
	json_t *entry = need_entry(c), *list = json_new_list(c->arena), *a;
	const char *arn;

	if (!entry)
		return false;
	json_object_foreach(json_object_get(entry, "_policies"), arn, a)
		json_array_append(list, a);
	if (!eks_page(c, "associatedAccessPolicies", list, ret_out))
		return false;
	json_object_set(*ret_out, "clusterName", json_object_get(entry, "clusterName"));
	json_object_set(*ret_out, "principalArn", json_object_get(entry, "principalArn"));
	return true;
}

bool eks_list_policies(struct cloud_call *c, json_t **ret_out)
{
	json_t *list = json_new_list(c->arena);

	for (size_t i = 0; i < N_POLICIES; i++)
		json_push(list, json_pack("{s:s,s:s}", "name", policies[i], "arn",
					  policy_arn(c->cloud, c->arena, policies[i])));
	return eks_page(c, "accessPolicies", list, ret_out);
}

void eks_entry_put(struct cloud *c, struct arena *a, const char *cluster,
		   const char *principal, const char *type, const char *username,
		   const char *policy)
{
	const char *key = eks_key(a, cluster, principal);
	json_t *entry = cloud_get(c, EKS_ENTRIES, key);
	json_t *scope = json_packf(a, "{s:s,s:[]}", "type", "cluster", "namespaces");
	const char *arn = policy_arn(c, a, policy ? policy : "");

	if (!entry)
		entry = cloud_put(c, EKS_ENTRIES, key,
				  new_entry(c, a, cluster, principal, type,
					    username ? username : principal));
	if (policy)
		json_object_set_new(
			json_object_get(entry, "_policies"), arn,
			association(arn, scope, cloud_clock(c)->wall_ms(cloud_clock(c))));
}

void eks_access_forget(struct cloud *c, const char *cluster)
{
	const char *key;
	json_t *row;
	void *next;

	json_object_foreach_safe(cloud_table(c, EKS_ENTRIES), next, key, row)
		if (eks_in_cluster(key, cluster))
			json_object_del(cloud_table(c, EKS_ENTRIES), key);
	json_object_foreach_safe(cloud_table(c, EKS_IDENTITIES), next, key, row)
		if (streq(json_str_at(row, "clusterName"), cluster))
			json_object_del(cloud_table(c, EKS_IDENTITIES), key);
}
