/*
 * EKS's operations.
 * https://docs.aws.amazon.com/eks/latest/APIReference/
 */
#include "tests/cloud/eks/eks.h"

#include <string.h>

void eks_fault_members(struct cloud_call *c, const char *cluster)
{
	c->fault_members = json_packf(c->arena, "{s:s}", "clusterName", cluster);
}

json_t *eks_need_cluster(struct cloud_call *c, const char *member)
{
	const char *name = json_str_or(c->in, member, "");
	json_t *cluster = cloud_get(c->cloud, EKS_CLUSTERS, name);

	if (!cluster) {
		cloud_fault(c, "ResourceNotFoundException",
			    "No cluster found for name: %s.", name);
		eks_fault_members(c, name);
	}
	return cluster;
}

json_t *eks_need_active(struct cloud_call *c, const char *member)
{
	json_t *cluster = eks_need_cluster(c, member);
	const char *status = json_str_or(cluster, "status", "");

	if (!cluster || streq(status, "ACTIVE") || streq(status, "UPDATING"))
		return cluster;
	cloud_fault(c, "InvalidRequestException", "Cluster '%s' is not in ACTIVE status",
		    json_str_or(cluster, "name", ""));
	eks_fault_members(c, json_str_or(cluster, "name", ""));
	return NULL;
}

const char *eks_key(struct arena *a, const char *cluster, const char *name)
{
	return arena_printf(a, "%s|%s", cluster, name);
}

bool eks_in_cluster(const char *key, const char *cluster)
{
	size_t n = strlen(cluster);

	return strncmp(key, cluster, n) == 0 && key[n] == '|';
}

const char *eks_arn(struct cloud *c, struct arena *a, const char *rest)
{
	return cloud_arn(c, a, "eks", rest);
}

const char *eks_image(struct cloud *c, struct arena *a)
{
	return arena_printf(a, "602401143452.dkr.ecr.%s.%s/eks/addon:v1",
			    cloud_opts(c)->region, cloud_dns_suffix(c));
}

bool eks_page(struct cloud_call *c, const char *member, const json_t *list,
	      json_t **ret_out)
{
	struct listing l = {member, "nextToken", "maxResults", 100,
			    "InvalidParameterException"};

	return listing_page(c, &l, list, ret_out);
}

enum replay eks_replay(struct cloud_call *c, const char **ret_id)
{
	const char *token = json_str_at(c->in, "clientRequestToken");
	enum replay r = replay_find(c, token, ret_id);

	if (r == REPLAY_OTHER)
		cloud_fault(c, "InvalidParameterException",
			    "The client request token %s was used with other parameters.",
			    token);
	return r;
}

json_t *eks_update(struct cloud_call *c, const char *type, const char *cluster,
		   const char *addon)
{
	const char *id = cloud_id(c->cloud, c->arena, "", 32);
	json_t *u = json_pack("{s:s,s:s,s:s,s:[],s:o,s:[]}", "id", id, "status",
			      "InProgress", "type", type, "params", "createdAt",
			      cloud_seconds(c->now_ms), "errors");

	json_put_str(u, "_cluster", cluster);
	json_put_str(u, "_addon", addon);
	return cloud_put(c->cloud, EKS_UPDATES, id, u);
}

bool eks_describe_update(struct cloud_call *c, json_t **ret_out)
{
	json_t *u;

	if (!eks_need_cluster(c, "name"))
		return false;
	u = cloud_get(c->cloud, EKS_UPDATES, json_str_at(c->in, "updateId"));
	if (!u || !streq(json_str_at(u, "_cluster"), json_str_at(c->in, "name")))
		return cloud_fault(c, "ResourceNotFoundException",
				   "No update found for ID: %s",
				   json_str_or(c->in, "updateId", ""));
	*ret_out = json_packf(c->arena, "{s:O}", "update", u);
	return true;
}

/* --- tags ---------------------------------------------------------------- */

static const struct {
	const char *table, *arn;
} tagged[] = {
	{EKS_CLUSTERS, "arn"},
	{EKS_ADDONS, "addonArn"},
	{EKS_ENTRIES, "accessEntryArn"},
	{EKS_IDENTITIES, "associationArn"},
};

static json_t *need_tagged(struct cloud_call *c)
{
	const char *arn = json_str_or(c->in, "resourceArn", "");

	for (size_t i = 0; i < sizeof(tagged) / sizeof(tagged[0]); i++) {
		const char *key;
		json_t *obj;

		json_object_foreach(cloud_table(c->cloud, tagged[i].table), key, obj)
			if (streq(json_str_at(obj, tagged[i].arn), arn))
				return obj;
	}
	cloud_fault(c, "NotFoundException",
		    "The specified resource could not be found: %s", arn);
	return NULL;
}

static json_t *tags_of(json_t *obj)
{
	json_t *tags = json_object_get(obj, "tags");

	if (!tags) {
		tags = json_object();
		json_object_set_new(obj, "tags", tags);
	}
	return tags;
}

static bool tag_resource(struct cloud_call *c, json_t **ret_out)
{
	json_t *obj = need_tagged(c);

	(void)ret_out;
	if (!obj)
		return false;
	json_object_update(tags_of(obj), json_object_get(c->in, "tags"));
	cloud_effect(c->cloud, "eks.tags", json_str_or(c->in, "resourceArn", ""),
		     "update");
	return true;
}

static bool untag_resource(struct cloud_call *c, json_t **ret_out)
{
	json_t *obj = need_tagged(c), *k;
	size_t i;

	(void)ret_out;
	if (!obj)
		return false;
	json_array_foreach(json_object_get(c->in, "tagKeys"), i, k)
		json_object_del(tags_of(obj), json_string_value(k));
	cloud_effect(c->cloud, "eks.tags", json_str_or(c->in, "resourceArn", ""),
		     "update");
	return true;
}

static bool list_tags(struct cloud_call *c, json_t **ret_out)
{
	json_t *obj = need_tagged(c);

	if (!obj)
		return false;
	*ret_out = json_packf(c->arena, "{s:O}", "tags", tags_of(obj));
	return true;
}

static void advance(struct cloud *c, int64_t now_ms)
{
	eks_clusters_advance(c, now_ms);
	eks_addons_advance(c, now_ms);
}

static const struct cloud_op ops[] = {
	{"CreateCluster", true, eks_create_cluster},
	{"DescribeCluster", false, eks_describe_cluster},
	{"ListClusters", false, eks_list_clusters},
	{"DeleteCluster", true, eks_delete_cluster},
	{"DescribeClusterVersions", false, eks_describe_cluster_versions},
	{"ListNodegroups", false, eks_list_nodegroups},
	{"DescribeUpdate", false, eks_describe_update},
	{"CreateAddon", true, eks_create_addon},
	{"DescribeAddon", false, eks_describe_addon},
	{"UpdateAddon", true, eks_update_addon},
	{"DeleteAddon", true, eks_delete_addon},
	{"ListAddons", false, eks_list_addons},
	{"DescribeAddonVersions", false, eks_describe_addon_versions},
	{"CreateAccessEntry", true, eks_create_access_entry},
	{"DescribeAccessEntry", false, eks_describe_access_entry},
	{"UpdateAccessEntry", true, eks_update_access_entry},
	{"DeleteAccessEntry", true, eks_delete_access_entry},
	{"ListAccessEntries", false, eks_list_access_entries},
	{"AssociateAccessPolicy", true, eks_associate_access_policy},
	{"DisassociateAccessPolicy", true, eks_disassociate_access_policy},
	{"ListAssociatedAccessPolicies", false, eks_list_associated_policies},
	{"ListAccessPolicies", false, eks_list_policies},
	{"CreatePodIdentityAssociation", true, eks_create_identity},
	{"DescribePodIdentityAssociation", false, eks_describe_identity},
	{"UpdatePodIdentityAssociation", true, eks_update_identity},
	{"DeletePodIdentityAssociation", true, eks_delete_identity},
	{"ListPodIdentityAssociations", false, eks_list_identities},
	{"TagResource", true, tag_resource},
	{"UntagResource", true, untag_resource},
	{"ListTagsForResource", false, list_tags},
	{0},
};

const struct cloud_service cloud_eks = {.id = "eks", .ops = ops, .advance = advance};
