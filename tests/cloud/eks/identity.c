/* Pod identity associations. */
#include "tests/cloud/eks/eks.h"
#include "tests/cloud/iam.h"

static json_t *need_identity(struct cloud_call *c)
{
	const char *id = json_str_or(c->in, "associationId", "");
	json_t *row;

	if (!eks_need_cluster(c, "clusterName"))
		return NULL;
	row = cloud_get(c->cloud, EKS_IDENTITIES, id);
	if (!row ||
	    !streq(json_str_at(row, "clusterName"), json_str_at(c->in, "clusterName"))) {
		cloud_fault(c, "ResourceNotFoundException",
			    "Unable to find association with id: %s", id);
		return NULL;
	}
	return row;
}

static const json_t *find(struct cloud *c, const char *cluster, const char *ns,
			  const char *account)
{
	const char *id;
	json_t *row;

	json_object_foreach(cloud_table(c, EKS_IDENTITIES), id, row)
		if (streq(json_str_at(row, "clusterName"), cluster) &&
		    streq(json_str_at(row, "namespace"), ns) &&
		    streq(json_str_at(row, "serviceAccount"), account))
			return row;
	return NULL;
}

static bool check_role(struct cloud_call *c, const char *arn)
{
	const json_t *role = iam_find_role(c->cloud, arn);

	if (!role)
		return cloud_fault(c, "InvalidParameterException",
				   "Role provided in the request does not exist.");
	if (!iam_role_trusts_service(c->cloud, role, "pods.eks.amazonaws.com"))
		return cloud_fault(
			c, "InvalidParameterException",
			"Trust policy of role %s does not allow pods.eks.amazonaws.com "
			"to assume it.",
			arn);
	return true;
}

bool eks_identity_put(struct cloud_call *c, const char *cluster, const char *ns,
		      const char *account, const char *role, const char *owner,
		      json_t **ret)
{
	const char *id = cloud_id(c->cloud, c->arena, "a-", 17);
	json_t *row;

	eks_fault_members(c, cluster);
	if (find(c->cloud, cluster, ns, account))
		return cloud_fault(c, "ResourceInUseException",
				   "Association already exists: %s",
				   json_str_or(find(c->cloud, cluster, ns, account),
					       "associationId", ""));
	if (!check_role(c, role))
		return false;
	row = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:{},s:o,s:o}", "clusterName", cluster,
			"namespace", ns, "serviceAccount", account, "roleArn", role,
			"associationArn",
			eks_arn(c->cloud, c->arena,
				arena_printf(c->arena, "podidentityassociation/%s/%s",
					     cluster, id)),
			"associationId", id, "tags", "createdAt",
			cloud_seconds(c->now_ms), "modifiedAt", cloud_seconds(c->now_ms));
	json_put_str(row, "ownerArn", owner);
	*ret = cloud_put(c->cloud, EKS_IDENTITIES, id, row);
	cloud_effect(c->cloud, EKS_IDENTITIES, id, "create");
	return true;
}

bool eks_create_identity(struct cloud_call *c, json_t **ret_out)
{
	const char *seen;
	enum replay r = eks_replay(c, &seen);
	json_t *row = NULL, *tags = json_object_get(c->in, "tags");

	if (r == REPLAY_OTHER || !eks_need_active(c, "clusterName"))
		return false;
	if (r == REPLAY_SAME)
		row = cloud_get(c->cloud, EKS_IDENTITIES, seen);
	if (!row) {
		if (!eks_identity_put(c, json_str_or(c->in, "clusterName", ""),
				      json_str_or(c->in, "namespace", ""),
				      json_str_or(c->in, "serviceAccount", ""),
				      json_str_or(c->in, "roleArn", ""), NULL, &row))
			return false;
		if (tags)
			json_object_set_new(row, "tags", json_deep_copy(tags));
		json_put_bool(row, "disableSessionTags",
			      json_bool_or(c->in, "disableSessionTags", false));
		json_put_str(row, "targetRoleArn", json_str_at(c->in, "targetRoleArn"));
		replay_keep(c, json_str_at(c->in, "clientRequestToken"),
			    json_str_at(row, "associationId"));
	}
	*ret_out = json_packf(c->arena, "{s:O}", "association", row);
	return true;
}

bool eks_describe_identity(struct cloud_call *c, json_t **ret_out)
{
	json_t *row = need_identity(c);

	if (!row)
		return false;
	*ret_out = json_packf(c->arena, "{s:O}", "association", row);
	return true;
}

bool eks_update_identity(struct cloud_call *c, json_t **ret_out)
{
	json_t *row = need_identity(c);
	const char *role = json_str_at(c->in, "roleArn");

	if (!row || (role && !check_role(c, role)))
		return false;
	json_put_str(row, "roleArn", role ? role : json_str_at(row, "roleArn"));
	json_object_set_new(row, "modifiedAt", cloud_seconds(c->now_ms));
	cloud_effect(c->cloud, EKS_IDENTITIES, json_str_or(row, "associationId", ""),
		     "update");
	*ret_out = json_packf(c->arena, "{s:O}", "association", row);
	return true;
}

bool eks_delete_identity(struct cloud_call *c, json_t **ret_out)
{
	json_t *row = need_identity(c);
	const char *id = json_str_or(c->in, "associationId", "");

	if (!row)
		return false;
	*ret_out = json_packf(c->arena, "{s:O}", "association", row);
	cloud_delete(c->cloud, EKS_IDENTITIES, id);
	cloud_effect(c->cloud, EKS_IDENTITIES, id, "delete");
	return true;
}

bool eks_list_identities(struct cloud_call *c, json_t **ret_out)
{
	static const char *const shown[] = {"clusterName",    "namespace",
					    "serviceAccount", "associationArn",
					    "associationId",  "ownerArn"};
	const char *ns = json_str_at(c->in, "namespace");
	const char *account = json_str_at(c->in, "serviceAccount");
	json_t *list = json_new_list(c->arena), *row;
	const char *id;

	if (!eks_need_cluster(c, "clusterName"))
		return false;
	json_object_foreach(cloud_table(c->cloud, EKS_IDENTITIES), id, row) {
		json_t *s = json_new_object(c->arena);

		for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
			json_put_str(s, shown[i], json_str_at(row, shown[i]));
		if (streq(json_str_at(row, "clusterName"),
			  json_str_at(c->in, "clusterName")) &&
		    (!ns || streq(ns, json_str_at(row, "namespace"))) &&
		    (!account || streq(account, json_str_at(row, "serviceAccount"))) &&
		    cloud_listed(c->cloud, row))
			json_array_append(list, s);
	}
	return eks_page(c, "associations", list, ret_out);
}
