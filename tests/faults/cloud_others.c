/*
 * Somebody else at work while an operation waits: what it waits for is moved, goes, or
 * can never come. By the cloud's own calls, with another caller's name.
 */
#include <string.h>

#include "core/domain/hyperpod/group_spec.h"
#include "core/json/tree.h"
#include "tests/faults/cloud_lab.h"

static const char somebody[] = "arn:aws:iam::123456789012:user/somebody";

static bool ask(struct harness *h, const char *service, const char *op, json_t *in)
{
	const char *code, *message;
	json_t *out;

	return cloud_invoke(lab(h)->cloud, &h->run, service, op, in, somebody, &out,
			    &code, &message);
}

/* What the cloud was asked for by the operation: the group differs from before. */
static bool is_changed(struct harness *h, const char *cluster, const json_t *g)
{
	const json_t *was = json_object_get(json_object_get(lab(h)->wanted, cluster),
					    json_str_or(g, "InstanceGroupName", "?"));
	json_t *now = json_own(&h->run, cloud_wanted_of_group(g));

	return !was || !json_equal(now, was);
}

static json_t *spec_of(struct harness *h, const json_t *g)
{
	json_t *copy = json_own(&h->run, json_deep_copy(g)), *v;
	struct err e = {0};
	const char *key;
	void *next;

	json_object_foreach_safe(copy, next, key, v)
		if (key[0] == '_')
			json_object_del(copy, key);
	return group_spec(copy, &h->run, &e);
}

static bool move_group(struct harness *h, const char *cluster, const json_t *g)
{
	const int64_t target = json_int_or(g, "TargetCount", 0);
	json_t *spec = spec_of(h, g);

	if (!spec || streq(json_str_at(g, "Status"), "Deleting") ||
	    !is_changed(h, cluster, g))
		return false;
	json_put_int(spec, "InstanceCount", target > 0 ? target - 1 : 1);
	json_put(spec, "KubernetesConfig.Labels",
		 json_pack("{s:s}", "owner", "somebody"));
	return ask(h, "sagemaker", "UpdateCluster",
		   json_packf(&h->run, "{s:s, s:[O]}", "ClusterName", cluster,
			      "InstanceGroups", spec));
}

static bool drop_group(struct harness *h, const char *cluster, const json_t *g)
{
	return !streq(json_str_at(g, "Status"), "Deleting") &&
	       is_changed(h, cluster, g) &&
	       ask(h, "sagemaker", "UpdateCluster",
		   json_packf(&h->run, "{s:s, s:[s]}", "ClusterName", cluster,
			      "InstanceGroupsToDelete",
			      json_str_or(g, "InstanceGroupName", "?")));
}

static bool each_group(struct harness *h,
		       bool (*act)(struct harness *, const char *, const json_t *))
{
	json_t *clusters = json_own(
		&h->run, json_deep_copy(cloud_table(lab(h)->cloud, "sagemaker.cluster")));
	json_t *cluster, *g;
	const char *id;
	size_t i;
	bool acted = false;

	json_object_foreach(clusters, id, cluster)
		json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
			acted |= act(h, id, g);
	return acted;
}

static bool drop_cluster(struct harness *h)
{
	const char *id;
	json_t *cluster;

	json_object_foreach(cloud_table(lab(h)->cloud, "sagemaker.cluster"), id, cluster)
		if (!json_object_get(lab(h)->wanted, id) &&
		    !streq(json_str_at(cluster, "ClusterStatus"), "Deleting"))
			return ask(h, "sagemaker", "DeleteCluster",
				   json_packf(&h->run, "{s:s}", "ClusterName", id));
	return false;
}

/* The switch that the operation has thrown is thrown back. */
static bool move_switch(struct harness *h)
{
	const char *id;
	json_t *cluster;

	json_object_foreach(cloud_table(lab(h)->cloud, "sagemaker.cluster"), id,
			    cluster) {
		const char *was = json_string_value(json_object_get(
			json_object_get(lab(h)->wanted, id), "(autoscaling)"));
		const char *mode = json_str_or(cluster, "AutoScaling.Mode", "Disable");

		if (!was || streq(was, mode))
			continue;
		return ask(h, "sagemaker", "UpdateCluster",
			   json_packf(&h->run, "{s:s, s:{s:s, s:s}}", "ClusterName", id,
				      "AutoScaling", "Mode", was, "AutoScalerType",
				      "Karpenter"));
	}
	return false;
}

static bool drop_addon(struct harness *h)
{
	const char *id;
	json_t *addon;

	json_object_foreach(cloud_table(lab(h)->cloud, "eks.addon"), id, addon)
		if (!json_object_get(lab(h)->wanted, id) &&
		    streq(json_str_at(addon, "status"), "CREATING"))
			return ask(h, "eks", "DeleteAddon",
				   json_packf(&h->run, "{s:s, s:s}", "clusterName",
					      h->target, "addonName",
					      json_str_or(addon, "addonName", "?")));
	return false;
}

static bool drop_stack(struct harness *h)
{
	const char *id;
	json_t *stack;

	json_object_foreach(cloud_table(lab(h)->cloud, "cloudformation.stack"), id,
			    stack) {
		const char *name = json_str_or(stack, "StackName", id);

		if (!json_object_get(lab(h)->wanted, name) &&
		    str_starts(json_str_or(stack, "StackStatus", ""), "CREATE_IN"))
			return ask(h, "cloudformation", "DeleteStack",
				   json_packf(&h->run, "{s:s}", "StackName", name));
	}
	return false;
}

static bool is_short(struct harness *h, const char *cluster, const json_t *g)
{
	(void)h;
	(void)cluster;
	return json_int_or(g, "CurrentCount", 0) < json_int_or(g, "TargetCount", 0);
}

static bool no_capacity(struct harness *h)
{
	if (!each_group(h, is_short))
		return false;
	cloud_configure(lab(h)->cloud, json_packf(&h->run, "{s:{s:i}}", "capacity",
						  "ml.g5.12xlarge", 0));
	return true;
}

bool cloud_others(struct harness *h, enum act a)
{
	bool acted = false;

	cloud_advance(lab(h)->cloud);
	if (a == ACT_MOVED)
		acted = move_switch(h) || each_group(h, move_group);
	else if (a == ACT_GONE)
		acted = drop_cluster(h) || each_group(h, drop_group) || drop_addon(h) ||
			drop_stack(h);
	else if (a == ACT_IMPOSSIBLE)
		acted = no_capacity(h);
	return acted;
}
