/* Clusters: creation, updates, life, deletion. */
#include <string.h>

#include "tests/cloud/eks/eks.h"
#include "tests/cloud/sagemaker/sagemaker.h"

enum {
	CREATE_MS = 3 * 60 * 1000,      /* until a Continuous cluster is InService */
	MIN_COUNT_MS = 3 * 3600 * 1000, /* how long MinInstanceCount is waited for */
	DELETE_MS = 60 * 1000
};

static const char *const passed[] = {"VpcConfig",           "Orchestrator",
				     "NodeRecovery",        "NodeProvisioningMode",
				     "TieredStorageConfig", "ClusterRole"};

static const char *slr_arn(struct sm_work *w)
{
	return cloud_arn_global(w->cloud, w->arena, "iam",
				"role/aws-service-role/hyperpod.sagemaker.amazonaws.com/"
				"AWSServiceRoleForSageMakerHyperPod");
}

/* Each group's role may join nodes; the service's own role watches them. */
static void make_entries(struct sm_work *w)
{
	const char *eks = json_str_or(w->cluster, "_eks", "");
	size_t i;
	json_t *g;

	json_array_foreach(json_object_get(w->cluster, "InstanceGroups"), i, g)
		eks_entry_put(w->cloud, w->arena, eks,
			      json_str_or(g, "ExecutionRole", ""), "HYPERPOD_LINUX",
			      "system:node:{{SessionName}}", NULL);
	eks_entry_put(w->cloud, w->arena, eks, slr_arn(w), "STANDARD",
		      "hyperpod-service-linked-role",
		      "AmazonSagemakerHyperpodClusterPolicy");
}

void sm_drop_entries(struct sm_work *w)
{
	const char *eks = json_str_or(w->cluster, "_eks", "");
	size_t i;
	json_t *g;

	json_array_foreach(json_object_get(w->cluster, "InstanceGroups"), i, g)
		cloud_delete(w->cloud, EKS_ENTRIES,
			     eks_key(w->arena, eks, json_str_or(g, "ExecutionRole", "")));
	cloud_delete(w->cloud, EKS_ENTRIES, eks_key(w->arena, eks, slr_arn(w)));
}

void sm_cluster_event(struct sm_work *w, const char *text)
{
	struct sm_event e = {.level = "Info", .type = "Cluster", .text = text};

	sm_event(w, &e);
}

/* Sums of what one request asks for, by type and kind of capacity. */
static bool check_quotas(struct cloud_call *c, const json_t *cluster)
{
	const json_t *groups = json_object_get(c->in, "InstanceGroups");
	size_t i, k;
	json_t *g, *h;

	json_array_foreach(groups, i, g) {
		const char *type = sm_group_type(g);
		bool spot = json_at(g, "CapacityRequirements.Spot");
		int64_t more = 0;

		/* Reserved capacity has its own limit: the plan. */
		if (json_str_at(g, "TrainingPlanArn"))
			continue;
		json_array_foreach(groups, k, h) {
			const json_t *was = sm_group(
				cluster, json_str_or(h, "InstanceGroupName", ""));

			if (streq(sm_group_type(was ? was : h), type) &&
			    (json_at(h, "CapacityRequirements.Spot") != NULL) == spot)
				more += json_int_or(h, "InstanceCount", 0) -
					json_int_or(was, "TargetCount", 0);
		}
		if (!sm_check_quota(c, type, spot, more))
			return false;
	}
	return true;
}

static json_t *new_cluster(struct cloud_call *c, const char *name)
{
	const char *eks =
		strrchr(json_str_or(c->in, "Orchestrator.Eks.ClusterArn", "/"), '/');
	const char *id = cloud_id(c->cloud, c->arena, "", 12);
	json_t *tags = json_object_get(c->in, "Tags"), *groups = json_array(), *g;
	json_t *cluster = json_pack(
		"{s:s,s:s,s:s,s:o,s:s,s:s,s:[]}", "ClusterName", name, "ClusterArn",
		cloud_arn(c->cloud, c->arena, "sagemaker",
			  arena_printf(c->arena, "cluster/%s", id)),
		"ClusterStatus", "Creating", "CreationTime", cloud_seconds(c->now_ms),
		"_id", id, "_eks", eks + 1, "_events");
	size_t i;

	for (i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (json_object_get(c->in, passed[i]))
			json_object_set(cluster, passed[i],
					json_object_get(c->in, passed[i]));
	if (!json_str_at(cluster, "NodeRecovery"))
		json_put_str(cluster, "NodeRecovery", "Automatic");
	json_object_set_new(cluster, "_tags", tags ? json_deep_copy(tags) : json_array());
	json_array_foreach(json_object_get(c->in, "InstanceGroups"), i, g)
		json_push(groups, sm_group_from(g, NULL));
	json_object_set_new(cluster, "InstanceGroups", groups);
	json_put_int(cluster, "_until_ms", c->now_ms + cloud_ms(c->cloud, CREATE_MS));
	json_put_int(cluster, "_min_until_ms",
		     c->now_ms + cloud_ms(c->cloud, MIN_COUNT_MS));
	return cluster;
}

bool sm_create_cluster(struct cloud_call *c, json_t **ret_out)
{
	const char *name = json_str_or(c->in, "ClusterName", "");
	struct sm_work w;
	size_t i;
	json_t *g;

	if (cloud_get(c->cloud, SM_CLUSTERS, name))
		return cloud_fault(c, "ResourceInUse",
				   "Cluster with name %s already exists.", name);
	if (!sm_check_cluster(c) || !sm_autoscale_check(c, NULL) ||
	    !sm_check_groups(c, json_object_get(c->in, "InstanceGroups"),
			     sm_is_continuous(c->in)) ||
	    !check_quotas(c, NULL))
		return false;
	w = sm_work_of(c, cloud_put(c->cloud, SM_CLUSTERS, name, new_cluster(c, name)));
	cloud_effect(c->cloud, SM_CLUSTERS, name, "create");
	sm_cluster_event(&w,
			 arena_printf(c->arena, "Cluster %s creation started.", name));
	sm_autoscale_set(&w, c->in);
	make_entries(&w);
	json_array_foreach(json_object_get(w.cluster, "InstanceGroups"), i, g)
		sm_group_reconcile(&w, g);
	*ret_out = json_packf(c->arena, "{s:O}", "ClusterArn",
			      json_object_get(w.cluster, "ClusterArn"));
	return true;
}

/*
 * settings.hyperpod_others: clusters of the account that nobody here makes, in
 * DescribeCluster's members, by name; those of Slurm have no Orchestrator. _denied: the
 * caller may not look at it.
 */
static json_t *others(struct cloud *c)
{
	return json_object_get(cloud_settings(c), "hyperpod_others");
}

static json_t *other_row(struct cloud_call *c, const char *name)
{
	json_t *seen = json_object_get(others(c->cloud), name);
	json_t *row = json_own(c->arena, json_deep_copy(seen));

	json_put_str(row, "ClusterName", name);
	json_put_str(row, "ClusterArn",
		     cloud_arn(c->cloud, c->arena, "sagemaker",
			       arena_printf(c->arena, "cluster/%s", name)));
	json_put_int(row, "CreationTime", 1767225600);
	if (!json_str_at(row, "ClusterStatus"))
		json_put_str(row, "ClusterStatus", "InService");
	return row;
}

static bool describe_other(struct cloud_call *c, json_t **ret_out)
{
	const char *name = json_str_or(c->in, "ClusterName", "");

	*ret_out = other_row(c, name);
	if (json_bool_or(*ret_out, "_denied", false))
		return cloud_fault(c, "AccessDeniedException",
				   "User: %s is not authorized to perform: "
				   "sagemaker:DescribeCluster on resource: %s",
				   cloud_opts(c->cloud)->caller_arn,
				   json_str_or(*ret_out, "ClusterArn", ""));
	return true;
}

bool sm_describe_cluster(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster;

	if (json_object_get(others(c->cloud), json_str_or(c->in, "ClusterName", "")))
		return describe_other(c, ret_out);
	cluster = sm_need_cluster(c);
	if (!cluster)
		return false;
	*ret_out = json_own(c->arena, json_incref(cluster));
	return true;
}

/* --- update ---------------------------------------------------------------- */

/* Fixed when the group was made; left out, it stays as it is. */
static bool check_fixed(struct cloud_call *c, const json_t *g, const json_t *was)
{
	static const char *const fixed[] = {"OverrideVpcConfig", "CapacityRequirements",
					    "NetworkInterface"};
	const json_t *types = json_at(g, "InstanceRequirements.InstanceTypes");

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		const json_t *v = json_object_get(g, fixed[i]);

		if (v && !json_equal(v, json_object_get(was, fixed[i])))
			return cloud_fault(c, "ValidationException",
					   "%s of instance group %s cannot be changed.",
					   fixed[i],
					   json_str_or(g, "InstanceGroupName", ""));
	}
	if (types &&
	    !json_equal(types, json_at(was, "InstanceRequirements.CurrentInstanceTypes")))
		return cloud_fault(
			c, "ValidationException",
			"InstanceRequirements of instance group %s cannot be changed.",
			json_str_or(g, "InstanceGroupName", ""));
	return true;
}

static bool check_changes(struct cloud_call *c, const json_t *cluster)
{
	size_t i;
	json_t *g;

	json_array_foreach(json_object_get(c->in, "InstanceGroups"), i, g) {
		const char *name = json_str_or(g, "InstanceGroupName", "");
		const json_t *was = sm_group(cluster, name);
		const char *type = json_str_at(g, "InstanceType");

		if (!was && !type && !json_object_get(g, "InstanceRequirements"))
			return cloud_fault(
				c, "ValidationException",
				"InstanceType is required for new instance group %s.",
				name);
		if (was && type && !streq(type, sm_group_type(was)))
			return cloud_fault(
				c, "ValidationException",
				"InstanceType of instance group %s cannot be changed.",
				name);
		if (was && !check_fixed(c, g, was))
			return false;
	}
	json_array_foreach(json_object_get(c->in, "InstanceGroupsToDelete"), i, g)
		if (!sm_group(cluster, json_string_value(g)))
			return cloud_fault(c, "ValidationException",
					   "Instance group %s does not exist.",
					   json_string_value(g));
	return sm_check_groups(c, json_object_get(c->in, "InstanceGroups"),
			       sm_is_continuous(cluster)) &&
	       check_quotas(c, cluster);
}

static void put_group(struct sm_work *w, const json_t *spec)
{
	json_t *groups = json_object_get(w->cluster, "InstanceGroups");
	const char *name = json_str_or(spec, "InstanceGroupName", "");
	json_t *was = sm_group(w->cluster, name), *g = sm_group_from(spec, was);

	sm_min_gate(w, g, was);
	if (was) {
		json_object_clear(was);
		json_object_update(was, g);
		json_decref(g);
		g = was;
	} else {
		json_array_append_new(groups, g);
	}
	sm_group_reconcile(w, g);
}

/* A request that asks for what is there already is taken, and is no effect. */
static bool is_another(const json_t *was, const json_t *cluster)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)cluster, key, v)
		if (!streq(key, "_events") && !json_equal(v, json_object_get(was, key)))
			return true;
	return false;
}

bool sm_update_cluster(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster = sm_need_cluster(c), *v, *was;
	const char *status = json_str_or(cluster, "ClusterStatus", "");
	struct sm_work w = sm_work_of(c, cluster);
	size_t i;

	if (!cluster)
		return false;
	if (!streq(status, "InService"))
		return cloud_fault(c, "ConflictException",
				   "Cluster %s is in %s status and cannot be updated.",
				   w.name, status);
	if (!check_changes(c, cluster) || !sm_autoscale_check(c, cluster))
		return false;
	was = json_own(c->arena, json_deep_copy(cluster));
	for (i = 2; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (json_object_get(c->in, passed[i]))
			json_object_set(cluster, passed[i],
					json_object_get(c->in, passed[i]));
	sm_autoscale_set(&w, c->in);
	if (!sm_is_continuous(cluster))
		sm_set_status(&w, "Updating", NULL);
	json_array_foreach(json_object_get(c->in, "InstanceGroups"), i, v)
		put_group(&w, v);
	json_array_foreach(json_object_get(c->in, "InstanceGroupsToDelete"), i, v)
		sm_group_drop(&w, json_string_value(v));
	make_entries(&w);
	sm_cluster_event(&w,
			 arena_printf(c->arena, "Cluster %s update started.", w.name));
	if (is_another(was, cluster))
		cloud_effect(c->cloud, SM_CLUSTERS, w.name, "update");
	*ret_out = json_packf(c->arena, "{s:O}", "ClusterArn",
			      json_object_get(cluster, "ClusterArn"));
	return true;
}

/* --- delete, list ----------------------------------------------------------- */

bool sm_delete_cluster(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster = sm_need_cluster(c), *node;
	const char *status = json_str_or(cluster, "ClusterStatus", ""), *id;
	struct sm_work w = sm_work_of(c, cluster);

	if (!cluster)
		return false;
	if (!streq(status, "InService") && !streq(status, "Failed") &&
	    !streq(status, "Deleting"))
		return cloud_fault(c, "ConflictException",
				   "Cluster %s is in %s status and cannot be deleted.",
				   w.name, status);
	if (!streq(status, "Deleting")) {
		sm_set_status(&w, "Deleting", NULL);
		json_put_int(cluster, "_until_ms",
			     c->now_ms + cloud_ms(c->cloud, DELETE_MS));
		cloud_effect(c->cloud, SM_CLUSTERS, w.name, "delete");
		json_object_foreach(cloud_table(c->cloud, SM_NODES), id, node)
			if (streq(json_str_at(node, "_cluster"), w.name) &&
			    !sm_node_phase(node, "leaving"))
				sm_node_remove(&w, node);
	}
	*ret_out = json_packf(c->arena, "{s:O}", "ClusterArn",
			      json_object_get(cluster, "ClusterArn"));
	return true;
}

/* Adds the row, when it is asked for. */
static void list_cluster(struct cloud_call *c, const char *name, const json_t *row,
			 json_t *list)
{
	static const char *const shown[] = {"ClusterArn", "ClusterName", "CreationTime",
					    "ClusterStatus"};
	const double at = json_num_or(row, "CreationTime", 0);
	json_t *s = json_new_object(c->arena);

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		json_object_set(s, shown[i], json_object_get(row, shown[i]));
	if (strstr(name, json_str_or(c->in, "NameContains", "")) &&
	    at >= json_num_or(c->in, "CreationTimeAfter", 0) &&
	    at <= json_num_or(c->in, "CreationTimeBefore", 1e18))
		json_array_append(list, s);
}

bool sm_list_clusters(struct cloud_call *c, json_t **ret_out)
{
	json_t *list = json_new_list(c->arena), *row;
	const char *name;

	json_object_foreach(cloud_table(c->cloud, SM_CLUSTERS), name, row)
		if (cloud_listed(c->cloud, row))
			list_cluster(c, name, row, list);
	json_object_foreach(others(c->cloud), name, row)
		list_cluster(c, name, other_row(c, name), list);
	return sm_page(c, "ClusterSummaries",
		       sm_sorted(c, list, "CreationTime", "ClusterName"), ret_out);
}
