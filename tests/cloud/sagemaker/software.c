/*
 * UpdateClusterSoftware: groups one after the other, nodes by batches.
 *
 * A group is Pending, then InProgress for as long as its batches take, then
 * Succeeded. settings.software.fail names a group whose update does not succeed:
 * it goes RollbackInProgress, then RollbackComplete. The cluster is SystemUpdating
 * meanwhile and takes no other change.
 */
#include "tests/cloud/iam.h"
#include "tests/cloud/sagemaker/sagemaker.h"

enum { BATCH_MS = 4 * 60 * 1000, ROLLBACK_MS = 3 * 60 * 1000 };

static const char *status_of(const json_t *group)
{
	return json_str_or(group, "SoftwareUpdateStatus", "");
}

static bool is_moving(const json_t *group)
{
	return streq(status_of(group), "Pending") ||
	       streq(status_of(group), "InProgress") ||
	       streq(status_of(group), "RollbackInProgress");
}

static bool any_moving(const json_t *cluster)
{
	size_t i;
	json_t *g;

	json_array_foreach(json_object_get(cluster, "InstanceGroups"), i, g)
		if (is_moving(g))
			return true;
	return false;
}

static bool check(struct cloud_call *c, const json_t *cluster)
{
	const char *status = json_str_or(cluster, "ClusterStatus", "");
	size_t i;
	json_t *g;

	if (!streq(status, "InService"))
		return cloud_fault(c, "ConflictException",
				   "Cluster is in %s status and cannot be updated.",
				   status);
	json_array_foreach(json_object_get(c->in, "InstanceGroups"), i, g)
		if (!sm_group(cluster, json_str_or(g, "InstanceGroupName", "")))
			return cloud_fault(c, "ValidationException",
					   "Instance group %s does not exist.",
					   json_str_or(g, "InstanceGroupName", ""));
	return true;
}

/* The alarms that roll an update back are read by the groups' execution roles. */
static bool check_alarms(struct cloud_call *c, const json_t *cluster)
{
	const json_t *named = json_object_get(c->in, "InstanceGroups");
	size_t i;
	json_t *g;

	if (json_len_at(c->in, "DeploymentConfig.AutoRollbackConfiguration") == 0)
		return true;
	json_array_foreach(json_object_get(cluster, "InstanceGroups"), i, g) {
		const char *role = json_str_or(g, "ExecutionRole", "");

		if (named && !json_find(named, "InstanceGroupName",
					json_str_or(g, "InstanceGroupName", "")))
			continue;
		if (!iam_role_allows(c->cloud, iam_find_role(c->cloud, role),
				     "cloudwatch:DescribeAlarms"))
			return cloud_fault(c, "ValidationException",
					   "The execution role %s is not authorized to "
					   "perform cloudwatch:DescribeAlarms.",
					   role);
	}
	return true;
}

static void begin(struct cloud_call *c, json_t *group)
{
	const json_t *wanted =
		json_find(json_object_get(c->in, "InstanceGroups"), "InstanceGroupName",
			  json_str_or(group, "InstanceGroupName", ""));
	json_t *config = json_object_get(c->in, "DeploymentConfig");
	json_t *software = json_object();

	json_put_str(software, "image", json_str_at(c->in, "ImageId"));
	json_put_str(software, "version", json_str_at(wanted, "ImageReleaseVersion"));
	json_object_set_new(group, "_software", software);
	json_put_str(group, "SoftwareUpdateStatus", "Pending");
	if (config)
		json_object_set(group, "ActiveSoftwareUpdateConfig", config);
}

bool sm_update_software(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster = sm_need_cluster(c), *g;
	const json_t *named = json_object_get(c->in, "InstanceGroups");
	struct sm_work w = sm_work_of(c, cluster);
	size_t i;

	if (!cluster || !check(c, cluster) || !check_alarms(c, cluster))
		return false;
	json_array_foreach(json_object_get(cluster, "InstanceGroups"), i, g)
		if (!named || json_find(named, "InstanceGroupName",
					json_str_or(g, "InstanceGroupName", "")))
			begin(c, g);
	sm_set_status(&w, "SystemUpdating", NULL);
	sm_cluster_event(
		&w, arena_printf(c->arena, "Software update of %s started.", w.name));
	cloud_effect(c->cloud, SM_CLUSTERS, w.name, "software");
	*ret_out = json_packf(c->arena, "{s:O}", "ClusterArn",
			      json_object_get(cluster, "ClusterArn"));
	return true;
}

/* --- as time passes ------------------------------------------------------------ */

static int64_t batches(const json_t *group)
{
	const json_t *size = json_at(group, "ActiveSoftwareUpdateConfig."
					    "RollingUpdatePolicy.MaximumBatchSize");
	const int64_t nodes = json_int_or(group, "CurrentCount", 0);
	int64_t each = json_int_or(size, "Value", nodes);

	if (streq(json_str_at(size, "Type"), "CAPACITY_PERCENTAGE"))
		each = nodes * each / 100;
	each = each > 0 ? each : 1;
	return nodes > 0 ? (nodes + each - 1) / each : 1;
}

static void set_state(struct sm_work *w, json_t *group, const char *state, int64_t ms)
{
	json_put_str(group, "SoftwareUpdateStatus", state);
	json_put_int(group, "_software.until_ms", w->now_ms + cloud_ms(w->cloud, ms));
}

static void finish(json_t *group)
{
	const char *version = json_str_at(group, "_software.version");
	const char *image = json_str_at(group, "_software.image");

	json_put_str(group, "CurrentImageReleaseVersion", version);
	json_put_str(group, "DesiredImageReleaseVersion", version);
	json_put_str(group, "CurrentImageId", image);
	json_put_str(group, "DesiredImageId", image);
	json_put_str(group, "SoftwareUpdateStatus", "Succeeded");
	json_put_str(group, "ImageVersionStatus", "UpToDate");
	json_drop(group, "ActiveSoftwareUpdateConfig");
}

static void advance_group(struct sm_work *w, json_t *group)
{
	const bool due = w->now_ms >= json_int_or(group, "_software.until_ms", 0);
	const char *fails = json_str_at(cloud_settings(w->cloud), "software.fail");
	const char *name = json_str_or(group, "InstanceGroupName", "");

	if (streq(status_of(group), "Pending")) {
		set_state(w, group, "InProgress", batches(group) * BATCH_MS);
	} else if (streq(status_of(group), "InProgress") && due) {
		if (streq(fails, name))
			set_state(w, group, "RollbackInProgress", ROLLBACK_MS);
		else
			finish(group);
	} else if (streq(status_of(group), "RollbackInProgress") && due) {
		json_put_str(group, "SoftwareUpdateStatus", "RollbackComplete");
		json_drop(group, "ActiveSoftwareUpdateConfig");
	}
}

void sm_software_advance(struct sm_work *w)
{
	json_t *groups = json_object_get(w->cluster, "InstanceGroups"), *g;
	size_t i;

	if (!streq(json_str_at(w->cluster, "ClusterStatus"), "SystemUpdating"))
		return;
	/* One group after the other. */
	json_array_foreach(groups, i, g)
		if (is_moving(g)) {
			advance_group(w, g);
			break;
		}
	if (!any_moving(w->cluster))
		sm_set_status(w, "InService", NULL);
}
