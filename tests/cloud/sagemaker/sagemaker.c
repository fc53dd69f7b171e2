/*
 * SageMaker's operations: HyperPod clusters on EKS, and training plans.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/
 */
#include "tests/cloud/sagemaker/sagemaker.h"

#include <string.h>

json_t *sm_need_cluster(struct cloud_call *c)
{
	const char *asked = json_str_or(c->in, "ClusterName", "");
	json_t *cluster = cloud_get(c->cloud, SM_CLUSTERS, asked), *row;
	const char *name;

	if (cluster)
		return cluster;
	json_object_foreach(cloud_table(c->cloud, SM_CLUSTERS), name, row)
		if (streq(json_str_at(row, "ClusterArn"), asked))
			return row;
	cloud_fault(c, "ResourceNotFound", "Cluster with name %s not found.", asked);
	return NULL;
}

struct sm_work sm_work_of(struct cloud_call *c, json_t *cluster)
{
	return (struct sm_work){.cloud = c->cloud,
				.arena = c->arena,
				.cluster = cluster,
				.name = json_str_or(cluster, "ClusterName", ""),
				.now_ms = c->now_ms};
}

bool sm_is_continuous(const json_t *cluster)
{
	return streq(json_str_at(cluster, "NodeProvisioningMode"), "Continuous");
}

void sm_set_status(struct sm_work *w, const char *status, const char *failure)
{
	json_put_str(w->cluster, "ClusterStatus", status);
	json_put_str(w->cluster, "FailureMessage", failure);
}

bool sm_page(struct cloud_call *c, const char *member, const json_t *list,
	     json_t **ret_out)
{
	struct listing l = {member, "NextToken", "MaxResults", 100,
			    "ValidationException"};

	return listing_page(c, &l, list, ret_out);
}

static bool before(const json_t *x, const json_t *y, const char *time, const char *name)
{
	if (name)
		return strcmp(json_str_or(x, name, ""), json_str_or(y, name, "")) < 0;
	return json_num_or(x, time, 0) < json_num_or(y, time, 0);
}

/* Stable: what happened in the same instant keeps its order. */
json_t *sm_sorted(struct cloud_call *c, json_t *list, const char *time, const char *name)
{
	bool by_name = streq(json_str_at(c->in, "SortBy"), "NAME");
	bool up = streq(json_str_at(c->in, "SortOrder"), "Ascending");
	json_t *out = json_new_list(c->arena), *v;
	size_t i;

	json_array_foreach(list, i, v) {
		size_t at = json_array_size(out);

		while (at > 0 && before(v, json_array_get(out, at - 1), time,
					by_name ? name : NULL))
			at--;
		json_array_insert(out, at, v);
	}
	if (up)
		return out;
	list = json_new_list(c->arena);
	for (i = json_array_size(out); i-- > 0;)
		json_array_append(list, json_array_get(out, i));
	return list;
}

/* --- tags ---------------------------------------------------------------- */

static json_t *need_tagged(struct cloud_call *c)
{
	const char *arn = json_str_or(c->in, "ResourceArn", ""), *name;
	json_t *row;

	json_object_foreach(cloud_table(c->cloud, SM_CLUSTERS), name, row)
		if (streq(json_str_at(row, "ClusterArn"), arn))
			return row;
	cloud_fault(c, "ResourceNotFound", "Resource %s not found.", arn);
	return NULL;
}

static bool add_tags(struct cloud_call *c, json_t **ret_out)
{
	json_t *row = need_tagged(c), *t, *have;
	size_t i;

	if (!row)
		return false;
	have = json_object_get(row, "_tags");
	json_array_foreach(json_object_get(c->in, "Tags"), i, t) {
		json_t *old = json_find(have, "Key", json_str_or(t, "Key", ""));

		if (old)
			json_object_set(old, "Value", json_object_get(t, "Value"));
		else
			json_push(have, json_deep_copy(t));
	}
	cloud_effect(c->cloud, SM_CLUSTERS, json_str_or(row, "ClusterName", ""),
		     "update");
	*ret_out = json_packf(c->arena, "{s:O}", "Tags", have);
	return true;
}

static bool list_tags(struct cloud_call *c, json_t **ret_out)
{
	json_t *row = need_tagged(c);

	return row && sm_page(c, "Tags", json_object_get(row, "_tags"), ret_out);
}

static bool delete_tags(struct cloud_call *c, json_t **ret_out)
{
	json_t *row = need_tagged(c), *kept, *t, *k;
	size_t i, j;

	(void)ret_out;
	if (!row)
		return false;
	kept = json_array();
	json_array_foreach(json_object_get(row, "_tags"), i, t) {
		bool drop = false;

		json_array_foreach(json_object_get(c->in, "TagKeys"), j, k)
			drop = drop || streq(json_string_value(k), json_str_at(t, "Key"));
		if (!drop)
			json_array_append(kept, t);
	}
	json_object_set_new(row, "_tags", kept);
	cloud_effect(c->cloud, SM_CLUSTERS, json_str_or(row, "ClusterName", ""),
		     "update");
	return true;
}

static const struct cloud_op ops[] = {
	{"CreateCluster", true, sm_create_cluster},
	{"DescribeCluster", false, sm_describe_cluster},
	{"UpdateCluster", true, sm_update_cluster},
	{"DeleteCluster", true, sm_delete_cluster},
	{"ListClusters", false, sm_list_clusters},
	{"ListClusterNodes", false, sm_list_nodes},
	{"DescribeClusterNode", false, sm_describe_node},
	{"BatchAddClusterNodes", true, sm_batch_add},
	{"BatchDeleteClusterNodes", true, sm_batch_delete},
	{"BatchRebootClusterNodes", true, sm_batch_reboot},
	{"BatchReplaceClusterNodes", true, sm_batch_replace},
	{"UpdateClusterSoftware", true, sm_update_software},
	{"ListClusterEvents", false, sm_list_events},
	{"DescribeClusterEvent", false, sm_describe_event},
	{"ListTrainingPlans", false, sm_list_plans},
	{"DescribeTrainingPlan", false, sm_describe_plan},
	{"SearchTrainingPlanOfferings", false, sm_search_offerings},
	{"AddTags", true, add_tags},
	{"ListTags", false, list_tags},
	{"DeleteTags", true, delete_tags},
	{0},
};

const struct cloud_service cloud_sagemaker = {
	.id = "sagemaker", .ops = ops, .advance = sm_clusters_advance};
