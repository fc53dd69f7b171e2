/*
 * Faults of nodes, and what the service does about them.
 *
 * settings.node_faults: {instance id: {"type", "reason", "action": "reboot" |
 * "replace"}}. The health agent labels and taints the node; with NodeRecovery
 * Automatic the service acts on it a while later. A label set by hand asks for the
 * same, but not on a cluster that an autoscaler manages.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-resiliency-node-labels.html
 */
#include "tests/cloud/sagemaker/sagemaker.h"

enum { RECOVER_MS = 2 * 60 * 1000 };

#define LABEL "sagemaker.amazonaws.com/"

static const char *pending(const char *action)
{
	return streq(action, "reboot") ? "UnschedulablePendingReboot"
				       : "UnschedulablePendingReplacement";
}

const char *sm_health_word(const json_t *node)
{
	const char *action = json_str_at(node, "_fault.action");

	return action ? pending(action) : "Schedulable";
}

void sm_health_clean(const json_t *node, json_t *labels)
{
	if (json_object_get(node, "_fault"))
		return;
	json_object_del(labels, LABEL "fault-types");
	json_object_del(labels, LABEL "fault-reasons");
}

static void tell(struct sm_work *w, const json_t *node, const char *level,
		 const char *text)
{
	sm_event(w, &(struct sm_event){.level = level,
				       .type = "Instance",
				       .group = json_str_at(node, "InstanceGroupName"),
				       .instance = json_str_at(node, "InstanceId"),
				       .logical_id = json_str_at(node, "NodeLogicalId"),
				       .text = text,
				       .failure = streq(level, "Info") ? NULL : text});
}

/* What somebody has asked for by a label; NULL: nothing. */
static const char *asked_by_label(struct sm_work *w, const json_t *node)
{
	const json_t *kube = cloud_kube_get(
		w->cloud, json_str_or(node, "_eks", ""), "v1", "nodes", NULL,
		arena_printf(w->arena, "hyperpod-%s",
			     json_str_or(node, "InstanceId", "")));
	const char *word = json_string_value(json_object_get(
		json_at(kube, "metadata.labels"), LABEL "node-health-status"));

	if (json_at(w->cluster, "AutoScaling"))
		return NULL;
	if (streq(word, "UnschedulablePendingReboot"))
		return "reboot";
	return streq(word, "UnschedulablePendingReplacement") ? "replace" : NULL;
}

static void begin(struct sm_work *w, json_t *node, const json_t *fault)
{
	const char *type = json_str_or(fault, "type", "NvidiaGPUUnhealthy");
	const char *reason = json_str_or(fault, "reason", "XidHardwareFailure");
	const char *action = json_str_or(fault, "action", "replace");

	json_put(node, "_fault",
		 json_pack("{s:s,s:s,s:s,s:{s:s,s:s}}", "type", type, "reason", reason,
			   "action", action, "labels", LABEL "fault-types", type,
			   LABEL "fault-reasons", reason));
	json_put_int(node, "_until_ms", w->now_ms + cloud_ms(w->cloud, RECOVER_MS));
	sm_kube_put(w, sm_group(w->cluster, json_str_or(node, "InstanceGroupName", "")),
		    node, true);
	tell(w, node, "Warn",
	     arena_printf(w->arena, "Instance %s is unhealthy: %s (%s).",
			  json_str_or(node, "InstanceId", ""), reason, type));
}

static void recover(struct sm_work *w, json_t *node)
{
	const bool reboot = streq(json_str_at(node, "_fault.action"), "reboot");

	tell(w, node, "Info",
	     arena_printf(w->arena, "Automatic recovery: instance %s is being %s.",
			  json_str_or(node, "InstanceId", ""),
			  reboot ? "rebooted" : "replaced"));
	cloud_configure(w->cloud, json_packf(w->arena, "{s:{s:n}}", "node_faults",
					     json_str_or(node, "InstanceId", "")));
	json_drop(node, "_fault");
	if (reboot)
		sm_node_reboot(w, node);
	else
		sm_node_replace(w, node);
}

void sm_health_advance(struct sm_work *w, json_t *node)
{
	const json_t *faults = json_object_get(cloud_settings(w->cloud), "node_faults");
	const json_t *fault =
		json_object_get(faults, json_str_or(node, "InstanceId", ""));
	const char *asked;

	if (json_object_get(node, "_fault")) {
		if (w->now_ms >= json_int_or(node, "_until_ms", 0) &&
		    !streq(json_str_at(w->cluster, "NodeRecovery"), "None"))
			recover(w, node);
		return;
	}
	if (fault) {
		begin(w, node, fault);
		return;
	}
	asked = json_bool_or(node, "_fleet", false) ? NULL : asked_by_label(w, node);
	if (asked)
		begin(w, node,
		      json_packf(w->arena, "{s:s,s:s,s:s}", "type", "Manual", "reason",
				 "Label", "action", asked));
}
