/* One node's life, from wanted to gone. */
#include <string.h>

#include "tests/cloud/iam.h"
#include "tests/cloud/sagemaker/sagemaker.h"

enum {
	LAUNCH_MS = 90 * 1000,      /* until an instance is there */
	BOOT_MS = 5 * 60 * 1000,    /* lifecycle scripts */
	JOIN_MS = 45 * 1000,        /* until Kubernetes calls it Ready */
	CHECK_MS = 60 * 60 * 1000,  /* deep health checks */
	RETRY_MS = 5 * 60 * 1000,   /* after a lack of capacity */
	REPLACE_MS = 3 * 60 * 1000, /* a failed one is kept that long */
	LEAVE_MS = 3 * 60 * 1000,
	REBOOT_MS = 2 * 60 * 1000
};

bool sm_node_phase(const json_t *node, const char *phase)
{
	return streq(json_str_at(node, "_phase"), phase);
}

static void set_phase(struct sm_work *w, json_t *node, const char *phase, int64_t real_ms)
{
	json_put_str(node, "_phase", phase);
	json_put_int(node, "_until_ms", w->now_ms + cloud_ms(w->cloud, real_ms));
}

static void set_status(json_t *node, const char *status, const char *message)
{
	json_put_str(node, "InstanceStatus.Status", status);
	/* An old message stays, as it does there. */
	json_put_str(node, "InstanceStatus.Message", message);
}

json_t *sm_node_find(struct cloud *c, const char *cluster, const char *instance_id)
{
	const char *id;
	json_t *node;

	json_object_foreach(cloud_table(c, SM_NODES), id, node)
		if (streq(json_str_at(node, "_cluster"), cluster) &&
		    streq(json_str_at(node, "InstanceId"), instance_id))
			return node;
	return NULL;
}

static const json_t *group_of(struct sm_work *w, const json_t *node)
{
	return sm_group(w->cluster, json_str_or(node, "InstanceGroupName", ""));
}

json_t *sm_node_add(struct sm_work *w, const json_t *group)
{
	static const char *const copied[] = {
		"InstanceGroupName",      "LifeCycleConfig",  "OverrideVpcConfig",
		"InstanceStorageConfigs", "KubernetesConfig", "ThreadsPerCore"};
	const char *id = cloud_id(w->cloud, w->arena, "", 32);
	json_t *node = json_pack("{s:s,s:s,s:{s:s},s:s,s:s}", "NodeLogicalId", id,
				 "InstanceType", sm_group_type(group), "InstanceStatus",
				 "Status", "Pending", "_cluster", w->name, "_eks",
				 json_str_or(w->cluster, "_eks", ""));

	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
		json_t *v = json_object_get(group, copied[i]);

		if (v)
			json_object_set(node, copied[i], v);
	}
	json_put_str(node, "CapacityType",
		     json_at(group, "CapacityRequirements.Spot") ? "Spot" : "OnDemand");
	json_object_set_new(node, "LaunchTime", cloud_seconds(w->now_ms));
	set_phase(w, node, "wanted", LAUNCH_MS);
	cloud_put(w->cloud, SM_NODES, id, node);
	cloud_effect(w->cloud, SM_NODES, id, "create");
	return node;
}

void sm_node_remove(struct sm_work *w, json_t *node)
{
	sm_kube_remove(w, node);
	set_status(node, "ShuttingDown", NULL);
	set_phase(w, node, "leaving", json_str_at(node, "InstanceId") ? LEAVE_MS : 0);
	cloud_effect(w->cloud, SM_NODES, json_str_or(node, "NodeLogicalId", ""),
		     "delete");
}

void sm_node_replace(struct sm_work *w, json_t *node)
{
	sm_kube_remove(w, node);
	set_status(node, "ShuttingDown", NULL);
	set_phase(w, node, "replacing", LEAVE_MS);
	cloud_effect(w->cloud, SM_NODES, json_str_or(node, "NodeLogicalId", ""),
		     "update");
}

void sm_node_reboot(struct sm_work *w, json_t *node)
{
	sm_kube_put(w, group_of(w, node), node, false);
	set_status(node, "Pending", NULL);
	set_phase(w, node, "rebooting", REBOOT_MS);
	cloud_effect(w->cloud, SM_NODES, json_str_or(node, "NodeLogicalId", ""),
		     "update");
}

/* --- failures -------------------------------------------------------------- */

static void report(struct sm_work *w, const json_t *node, const char *text,
		   const char *failure, const char *lcs)
{
	struct sm_event e = {.level = "Error",
			     .type = "Instance",
			     .group = json_str_at(node, "InstanceGroupName"),
			     .instance = json_str_at(node, "InstanceId"),
			     .logical_id = json_str_at(node, "NodeLogicalId"),
			     .text = text,
			     .failure = failure,
			     .lcs_state = lcs};

	sm_event(w, &e);
}

/* All or nothing: the whole operation goes back. */
static void classic_failure(struct sm_work *w, const char *why)
{
	bool creating = streq(json_str_at(w->cluster, "ClusterStatus"), "Creating");
	const char *id;
	json_t *node, *group;
	size_t i;

	if (!creating && !streq(json_str_at(w->cluster, "ClusterStatus"), "Updating"))
		return;
	sm_set_status(w, "RollingBack", why);
	json_put_bool(w->cluster, "_stillborn", creating);
	json_array_foreach(json_object_get(w->cluster, "InstanceGroups"), i, group)
		json_put_int(group, "TargetCount",
			     creating ? 0 : json_int_or(group, "CurrentCount", 0));
	json_object_foreach(cloud_table(w->cloud, SM_NODES), id, node)
		if (streq(json_str_at(node, "_cluster"), w->name) &&
		    (creating || !sm_is_counted(node)) && !sm_node_phase(node, "leaving"))
			sm_node_remove(w, node);
}

static void not_launched(struct sm_work *w, json_t *node, const char *why)
{
	const char *type = json_str_or(node, "InstanceType", "");

	set_status(node, "Pending", why);
	report(w, node,
	       arena_printf(w->arena, "Failed to provision EC2 Instance of type %s: %s",
			    type, why),
	       why, NULL);
	report(w, node,
	       arena_printf(w->arena,
			    "Instance creation for instance group %s failed: %s",
			    json_str_or(node, "InstanceGroupName", ""), why),
	       why, NULL);
	set_phase(w, node, "wanted", RETRY_MS);
	if (!sm_is_continuous(w->cluster))
		classic_failure(w, why);
}

static void boot_failed(struct sm_work *w, json_t *node, const char *why,
			bool scripts_ran)
{
	set_status(node, "Failure", why);
	report(w, node,
	       arena_printf(w->arena, "Instance %s failed: %s",
			    json_str_or(node, "InstanceId", ""), why),
	       why, scripts_ran ? "Failed" : NULL);
	set_phase(w, node, "failed", REPLACE_MS);
	if (!sm_is_continuous(w->cluster))
		classic_failure(w, why);
}

/* --- steps ----------------------------------------------------------------- */

static void launch(struct sm_work *w, json_t *node)
{
	const json_t *group = group_of(w, node);
	const char *why = sm_no_capacity(w, group);
	struct sm_event e = {.level = "Info",
			     .type = "Instance",
			     .group = json_str_at(node, "InstanceGroupName"),
			     .logical_id = json_str_at(node, "NodeLogicalId")};

	if (!why && !sm_boot_interface(w, group, node, &why) && !why)
		why = "Customer ENI creation failed.";
	if (why) {
		not_launched(w, node, why);
		return;
	}
	json_put_str(node, "InstanceId", cloud_id(w->cloud, w->arena, "i-", 17));
	json_object_set_new(node, "LaunchTime", cloud_seconds(w->now_ms));
	json_put_int(node, "_boots", 1);
	set_phase(w, node, "booting", BOOT_MS);
	e.instance = json_str_at(node, "InstanceId");
	e.text = arena_printf(w->arena, "Instance %s provisioned successfully.",
			      e.instance);
	sm_event(w, &e);
}

static void booted(struct sm_work *w, json_t *node)
{
	const json_t *group = group_of(w, node);
	int64_t ready = json_int_or(cloud_settings(w->cloud), "node_ready_after_ms",
				    cloud_ms(w->cloud, JOIN_MS));
	bool scripts_ran = false;
	const char *why = sm_boot_failure(w, group, node, &scripts_ran);

	if (scripts_ran)
		sm_boot_log(w, group, node, why != NULL);
	if (why) {
		boot_failed(w, node, why, scripts_ran);
		return;
	}
	sm_kube_put(w, group, node, false);
	set_phase(w, node, "joining", 0);
	json_put_int(node, "_until_ms", w->now_ms + ready);
	set_status(node, "Running", NULL);
}

static void joined(struct sm_work *w, json_t *node)
{
	const json_t *group = group_of(w, node);
	bool check =
		json_array_size(json_object_get(group, "OnStartDeepHealthChecks")) > 0 &&
		!json_bool_or(node, "_checked", false);

	json_put_bool(node, "_checked", true);
	set_phase(w, node, check ? "checking" : "running", check ? CHECK_MS : 0);
	set_status(node, check ? "DeepHealthCheckInProgress" : "Running", NULL);
	sm_kube_put(w, group, node, true);
}

static void settled(struct sm_work *w, json_t *node)
{
	if (sm_node_phase(node, "rebooting"))
		json_put_int(node, "_boots", json_int_or(node, "_boots", 0) + 1);
	set_phase(w, node, "running", 0);
	set_status(node, "Running", NULL);
	sm_kube_put(w, group_of(w, node), node, true);
}

/* The interfaces are removed with the group's role: without it nothing ends. */
static bool detached(struct sm_work *w, json_t *node)
{
	const char *role = json_str_or(group_of(w, node), "ExecutionRole", "");

	if (!json_object_get(node, "_eni"))
		return true;
	if (!iam_find_role(w->cloud, role)) {
		set_status(
			node, "ShuttingDown",
			arena_printf(
				w->arena,
				"The execution role %s does not have permission to perform "
				"ec2:DeleteNetworkInterface.",
				role));
		return false;
	}
	sm_boot_detach(w, node);
	return true;
}

static void left(struct sm_work *w, const char *id, json_t *node)
{
	bool again = sm_node_phase(node, "replacing");

	if (!detached(w, node))
		return;
	if (!again) {
		json_object_del(cloud_table(w->cloud, SM_NODES), id);
		return;
	}
	json_drop(node, "InstanceId");
	json_drop(node, "_checked");
	json_drop(node, "_fault");
	set_status(node, "Pending", NULL);
	set_phase(w, node, "wanted", LAUNCH_MS);
}

void sm_node_advance(struct sm_work *w, const char *id, json_t *node)
{
	if (sm_node_phase(node, "running")) {
		sm_health_advance(w, node);
		return;
	}
	if (w->now_ms < json_int_or(node, "_until_ms", 0))
		return;
	if (sm_node_phase(node, "wanted"))
		launch(w, node);
	else if (sm_node_phase(node, "booting"))
		booted(w, node);
	else if (sm_node_phase(node, "joining"))
		joined(w, node);
	else if (sm_node_phase(node, "checking") || sm_node_phase(node, "rebooting"))
		settled(w, node);
	else if (sm_node_phase(node, "failed"))
		sm_node_replace(w, node);
	else
		left(w, id, node);
}
