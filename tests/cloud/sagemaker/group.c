/* Instance groups: from specification to details, and nodes to the target. */
#include <string.h>

#include "tests/cloud/sagemaker/sagemaker.h"

json_t *sm_group(const json_t *cluster, const char *name)
{
	return json_find(json_object_get(cluster, "InstanceGroups"), "InstanceGroupName",
			 name);
}

const char *sm_group_type(const json_t *group)
{
	/* Details and specification name several types differently. */
	const char *first = json_str_or(
		group, "InstanceRequirements.CurrentInstanceTypes.0",
		json_str_or(group, "InstanceRequirements.InstanceTypes.0", ""));

	return json_str_or(group, "InstanceType", first);
}

static void copy(json_t *to, const json_t *from, const char *name)
{
	json_t *v = json_object_get(from, name);

	if (v)
		json_object_set(to, name, v);
}

static json_t *kubernetes_config(const json_t *spec)
{
	json_t *labels = json_at(spec, "KubernetesConfig.Labels");
	json_t *taints = json_at(spec, "KubernetesConfig.Taints");
	json_t *out = json_object();

	if (labels) {
		json_object_set(out, "CurrentLabels", labels);
		json_object_set(out, "DesiredLabels", labels);
	}
	if (taints) {
		json_object_set(out, "CurrentTaints", taints);
		json_object_set(out, "DesiredTaints", taints);
	}
	return out;
}

/* A member of the specification that the details have twice. */
static void both(json_t *g, const json_t *spec, const char *from, const char *current,
		 const char *desired)
{
	json_t *v = json_object_get(spec, from);

	if (v) {
		json_object_set(g, current, v);
		json_object_set(g, desired, v);
	}
}

static void put_auto_patch(json_t *g, const json_t *spec)
{
	const json_t *config = json_object_get(spec, "AutoPatchConfig");
	json_t *out = json_object();

	copy(out, config, "PatchingStrategy");
	copy(out, config, "DeploymentConfig");
	both(out, config, "PatchSchedule", "CurrentPatchSchedule",
	     "DesiredPatchSchedule");
	if (config)
		json_object_set(g, "AutoPatchConfig", out);
	json_decref(out);
}

/* What the service itself keeps of a group while its specification is replaced. */
static void keep_state(json_t *g, const json_t *was)
{
	static const char *const kept[] = {"SoftwareUpdateStatus",
					   "ActiveSoftwareUpdateConfig",
					   "_software",
					   "_min_until_ms",
					   "_was_target",
					   "_health"};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		copy(g, was, kept[i]);
}

/*
 * A specification is whole: what it leaves out falls back to its default, also
 * in a group that exists. Only what cannot change is kept.
 */
json_t *sm_group_from(const json_t *spec, const json_t *was)
{
	static const char *const taken[] = {
		"InstanceGroupName",      "LifeCycleConfig",         "ExecutionRole",
		"InstanceStorageConfigs", "OnStartDeepHealthChecks", "TrainingPlanArn",
		"ScheduledUpdateConfig",
	};
	static const char *const fixed[] = {"InstanceType", "InstanceRequirements",
					    "OverrideVpcConfig", "CapacityRequirements",
					    "NetworkInterface"};
	json_t *g = json_object();
	json_t *types = json_at(spec, "InstanceRequirements.InstanceTypes");

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		copy(g, spec, taken[i]);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		copy(g, was ? was : spec, fixed[i]);
	if (!was && types)
		json_object_set_new(g, "InstanceRequirements",
				    json_pack("{s:O,s:O}", "CurrentInstanceTypes", types,
					      "DesiredInstanceTypes", types));
	json_put_int(g, "TargetCount", json_int_or(spec, "InstanceCount", 0));
	json_put_int(g, "CurrentCount", json_int_or(was, "CurrentCount", 0));
	if (json_object_get(spec, "MinInstanceCount"))
		json_put_int(g, "MinCount", json_int_or(spec, "MinInstanceCount", 0));
	both(g, spec, "ImageId", "CurrentImageId", "DesiredImageId");
	both(g, spec, "ImageReleaseVersion", "CurrentImageReleaseVersion",
	     "DesiredImageReleaseVersion");
	put_auto_patch(g, spec);
	keep_state(g, was);
	json_put_int(g, "ThreadsPerCore", json_int_or(spec, "ThreadsPerCore", 1));
	if (json_object_get(spec, "KubernetesConfig"))
		json_object_set_new(g, "KubernetesConfig", kubernetes_config(spec));
	json_put_str(g, "Status", json_str_or(was, "Status", "Creating"));
	json_put_str(g, "ImageVersionStatus", "UpToDate");
	return g;
}

bool sm_is_counted(const json_t *node)
{
	const char *status = json_str_or(node, "InstanceStatus.Status", "");

	return streq(status, "Running") || streq(status, "DeepHealthCheckInProgress") ||
	       streq(status, "SystemUpdating");
}

static bool in_group(struct sm_work *w, const json_t *node, const char *group)
{
	return streq(json_str_at(node, "_cluster"), w->name) &&
	       streq(json_str_at(node, "InstanceGroupName"), group);
}

static void put_count(json_t *group, int64_t now)
{
	json_put_int(group, "CurrentCount", now);
	if (now == json_int_or(group, "TargetCount", 0))
		json_drop(group, "ActiveOperations");
	else
		json_object_set_new(group, "ActiveOperations",
				    json_pack("{s:i}", "Scaling", 1));
}

void sm_groups_count(struct sm_work *w)
{
	json_t *counts = json_new_object(w->arena), *node, *g;
	const char *id;
	size_t i;

	json_object_foreach(cloud_table(w->cloud, SM_NODES), id, node) {
		const char *name =
			json_string_value(json_object_get(node, "InstanceGroupName"));
		json_t *n = json_object_get(counts, name);

		if (!sm_is_counted(node) || !in_group(w, node, name))
			continue;
		if (n)
			json_integer_set(n, json_integer_value(n) + 1);
		else
			json_object_set_new(counts, name, json_integer(1));
	}
	json_array_foreach(json_object_get(w->cluster, "InstanceGroups"), i, g)
		put_count(g, json_int_or(counts, json_str_or(g, "InstanceGroupName", ""),
					 0));
}

void sm_group_count(struct sm_work *w, json_t *group)
{
	const char *name = json_str_or(group, "InstanceGroupName", ""), *id;
	int64_t now = 0;
	json_t *node;

	json_object_foreach(cloud_table(w->cloud, SM_NODES), id, node)
		if (in_group(w, node, name) && sm_is_counted(node))
			now++;
	put_count(group, now);
}

/* The youngest that never ran go first: AWS chooses, and so do we. */
static json_t *victim(struct sm_work *w, const char *group)
{
	json_t *best = NULL, *node;
	const char *id;

	json_object_foreach(cloud_table(w->cloud, SM_NODES), id, node) {
		if (!in_group(w, node, group) || sm_node_phase(node, "leaving"))
			continue;
		if (!best || !sm_is_counted(node) || sm_is_counted(best))
			best = node;
	}
	return best;
}

void sm_group_reconcile(struct sm_work *w, json_t *group)
{
	const char *name = json_str_or(group, "InstanceGroupName", ""), *id;
	int64_t target = json_int_or(group, "TargetCount", 0), have = 0;
	json_t *node;

	json_object_foreach(cloud_table(w->cloud, SM_NODES), id, node)
		if (in_group(w, node, name) && !sm_node_phase(node, "leaving"))
			have++;
	for (; have < target; have++)
		sm_node_add(w, group);
	for (; have > target && (node = victim(w, name)) != NULL; have--)
		sm_node_remove(w, node);
	sm_group_count(w, group);
}

void sm_group_drop(struct sm_work *w, const char *name)
{
	json_t *group = sm_group(w->cluster, name);

	json_put_str(group, "Status", "Deleting");
	json_put_int(group, "TargetCount", 0);
	sm_group_reconcile(w, group);
}
