/*
 * A fleet at once: groups and nodes as they are long after they were made.
 *
 * POST /_cloud/fleet {"cluster", "groups": 100, "nodes": 5000, "type":
 * "ml.g5.12xlarge", "pods": 2}. Nodes are Running and Ready; they have no network
 * interfaces, since no subnet of the account holds thousands.
 */
#include "tests/cloud/sagemaker/sagemaker.h"

struct fleet {
	const char *type, *zone, *zone_id, *role;
	int64_t groups, nodes, pods;
};

static json_t *fleet_group(struct sm_work *w, const struct fleet *f, int64_t n)
{
	json_t *g =
		json_pack("{s:o, s:s, s:s, s:s, s:s, s:i, s:I, s:I}", "InstanceGroupName",
			  json_sprintf("fleet-%03lld", (long long)n), "InstanceType",
			  f->type, "Status", "InService", "ImageVersionStatus",
			  "UpToDate", "ExecutionRole", f->role, "ThreadsPerCore", 1,
			  "TargetCount", (json_int_t)(f->nodes / f->groups),
			  "CurrentCount", (json_int_t)(f->nodes / f->groups));

	json_push(json_object_get(w->cluster, "InstanceGroups"), g);
	return g;
}

static void fleet_pod(struct sm_work *w, const char *eks, const char *node, int64_t n)
{
	cloud_kube_put(
		w->cloud, eks,
		json_pack("{s:s, s:s, s:{s:o, s:s, s:{s:s}}, s:{s:s, s:[{s:s, s:s, "
			  "s:{s:{s:s, s:s}}}]}, s:{s:s, s:[{s:s, s:s}]}}",
			  "apiVersion", "v1", "kind", "Pod", "metadata", "name",
			  json_sprintf("work-%s-%lld", node, (long long)n), "namespace",
			  "default", "labels", "cloud/fleet", "true", "spec", "nodeName",
			  node, "containers", "name", "main", "image", "registry/work:1",
			  "resources", "limits", "nvidia.com/gpu", "1",
			  "vpc.amazonaws.com/efa", "1", "status", "phase", "Running",
			  "conditions", "type", "Ready", "status", "True"));
}

static void fleet_node(struct sm_work *w, const struct fleet *f, const json_t *group,
		       int64_t n)
{
	const char *id = cloud_id(w->cloud, w->arena, "", 32);
	const char *instance = cloud_id(w->cloud, w->arena, "i-", 17);
	const char *eks = json_str_or(w->cluster, "_eks", "");
	json_t *node = json_pack(
		"{s:s, s:s, s:O, s:s, s:{s:s}, s:o, s:s, s:s, s:s, s:i, s:b, s:{s:s, s:s}, "
		"s:o, s:s, s:{s:s}}",
		"NodeLogicalId", id, "InstanceId", instance, "InstanceGroupName",
		json_object_get(group, "InstanceGroupName"), "InstanceType", f->type,
		"InstanceStatus", "Status", "Running", "LaunchTime",
		cloud_seconds(w->now_ms), "_cluster", w->name, "_eks", eks, "_phase",
		"running", "_boots", 1, "_fleet", 1, "Placement", "AvailabilityZone",
		f->zone, "AvailabilityZoneId", f->zone_id, "PrivatePrimaryIp",
		json_sprintf("10.%lld.%lld.%lld", (long long)(100 + n / 62500),
			     (long long)(n / 250 % 250), (long long)(n % 250 + 1)),
		"CapacityType", "OnDemand", "_labels", "cloud/fleet", "true");
	const char *name = arena_printf(w->arena, "hyperpod-%s", instance);

	cloud_put(w->cloud, SM_NODES, id, node);
	sm_kube_put(w, group, node, true);
	for (int64_t k = 0; k < f->pods; k++)
		fleet_pod(w, eks, name, k);
}

bool cloud_fleet(struct cloud *c, struct arena *a, const json_t *body)
{
	json_t *cluster = cloud_get(c, SM_CLUSTERS, json_str_or(body, "cluster", ""));
	struct fleet f = {.type = json_str_or(body, "type", "ml.g5.12xlarge"),
			  .zone = json_str_or(body, "zone", "us-west-2a"),
			  .zone_id = json_str_or(body, "zone_id", "usw2-az1"),
			  .role = json_str_or(cluster, "InstanceGroups.0.ExecutionRole",
					      "arn:aws:iam::111122223333:role/fleet"),
			  .groups = json_int_or(body, "groups", 1),
			  .nodes = json_int_or(body, "nodes", 1),
			  .pods = json_int_or(body, "pods", 0)};
	struct sm_work w = {.cloud = c,
			    .arena = a,
			    .cluster = cluster,
			    .name = json_str_or(cluster, "ClusterName", ""),
			    .now_ms = cloud_clock(c)->wall_ms(cloud_clock(c))};

	if (!cluster || f.groups < 1)
		return false;
	for (int64_t g = 0; g < f.groups; g++) {
		const json_t *group = fleet_group(&w, &f, g + 1);

		for (int64_t n = 0; n < f.nodes / f.groups; n++)
			fleet_node(&w, &f, group, g * (f.nodes / f.groups) + n);
	}
	return true;
}
