#include "core/domain/node/node_row.h"

#include <string.h>

static const char prefix[] = "hyperpod-";

#define LABEL "sagemaker.amazonaws.com/"

/* --- SageMaker --------------------------------------------------------- */

static json_t *one_row(const json_t *s)
{
	const char *id = json_str_or(s, "InstanceId", "");
	const char *logical = json_str_at(s, "NodeLogicalId");

	return json_pack("{s:s, s:{s:s, s:s*, s:s, s:s*, s:s, s:s*, s:s*, s:s*}}", "name",
			 logical ? logical : id, "observed", "instance_id", id,
			 "logical_id", logical, "group",
			 json_str_or(s, "InstanceGroupName", "?"), "instance_type",
			 json_str_at(s, "InstanceType"), "status",
			 json_str_or(s, "InstanceStatus.Status", "unknown"), "message",
			 json_str_at(s, "InstanceStatus.Message"), "launched_at",
			 json_str_at(s, "LaunchTime"), "image",
			 json_str_at(s, "ImageVersionStatus"));
}

json_t *node_rows(const json_t *summaries)
{
	json_t *rows = json_array(), *s;
	size_t i;

	json_array_foreach(summaries, i, s)
		if (json_str_at(s, "NodeLogicalId") ||
		    json_str_or(s, "InstanceId", "")[0])
			json_push(rows, one_row(s));
	return rows;
}

/* --- Kubernetes -------------------------------------------------------- */

static const char *label(const json_t *node, const char *key)
{
	return json_string_value(json_object_get(json_at(node, "metadata.labels"), key));
}

int64_t node_count_of(const json_t *list, const char *resource)
{
	const char *text = json_string_value(json_object_get(list, resource));
	int64_t n = 0;

	return text && str_to_i64(str_of(text), &n) ? n : 0;
}

static json_t *taints_of(const json_t *node)
{
	json_t *list = json_array(), *t;
	size_t i;

	json_array_foreach(json_at(node, "spec.taints"), i, t)
		json_push(list, json_sprintf("%s=%s:%s", json_str_or(t, "key", ""),
					     json_str_or(t, "value", ""),
					     json_str_or(t, "effect", "")));
	return list;
}

/* The agent writes plural labels, a page of AWS has singular ones: both count. */
static json_t *faults_of(const json_t *node)
{
	static const char *const keys[] = {LABEL "fault-types", LABEL "fault-type",
					   LABEL "fault-reasons", LABEL "fault-reason"};
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (label(node, keys[i]))
			json_push(list, json_string(label(node, keys[i])));
	return list;
}

json_t *node_kube_facts(const json_t *node)
{
	const json_t *ready =
		json_find(json_at(node, "status.conditions"), "type", "Ready");
	const json_t *has = json_at(node, "status.allocatable");
	int64_t gpus = node_count_of(has, "nvidia.com/gpu");

	if (!gpus)
		gpus = node_count_of(has, "aws.amazon.com/neuron");
	return json_pack(
		"{s:b, s:b, s:o, s:s*, s:s*, s:o, s:s*, s:I, s:I, s:s*, s:s*}", "ready",
		streq(json_str_at(ready, "status"), "True"), "schedulable",
		!json_bool_or(node, "spec.unschedulable", false), "taints",
		taints_of(node), "health", label(node, LABEL "node-health-status"),
		"deep_health", label(node, LABEL "deep-health-check-status"), "faults",
		faults_of(node), "zone", label(node, "topology.kubernetes.io/zone"),
		"gpus", (json_int_t)gpus, "efas",
		(json_int_t)node_count_of(has, "vpc.amazonaws.com/efa"), "boot_id",
		json_str_at(node, "status.nodeInfo.bootID"), "group",
		label(node, LABEL "instance-group-name"));
}

json_t *node_kube_rows(const json_t *nodes)
{
	json_t *rows = json_array(), *node;
	size_t i;

	json_array_foreach(nodes, i, node) {
		const char *name = json_str_or(node, "metadata.name", "");

		if (str_starts(name, prefix))
			json_push(rows, json_pack("{s:s, s:o}", "instance_id",
						  name + sizeof(prefix) - 1, "kubernetes",
						  node_kube_facts(node)));
	}
	return rows;
}

bool node_pod_is_there(const json_t *pod)
{
	const char *phase = json_str_or(pod, "status.phase", "");

	return !streq(phase, "Succeeded") && !streq(phase, "Failed");
}

static int64_t limits_of(const json_t *pod, const char *resource)
{
	int64_t n = 0;
	size_t i;
	json_t *c;

	json_array_foreach(json_at(pod, "spec.containers"), i, c)
		n += node_count_of(json_at(c, "resources.limits"), resource);
	return n;
}

static void add(json_t *row, const char *member, int64_t n)
{
	json_put_int(row, member, json_int_or(row, member, 0) + n);
}

json_t *node_pod_rows(struct arena *a, const json_t *pods)
{
	json_t *by_id = json_new_object(a), *rows = json_array(), *pod, *row;
	const char *id;
	size_t i;

	json_array_foreach(pods, i, pod) {
		const char *node = json_str_or(pod, "spec.nodeName", "");

		if (!str_starts(node, prefix) || !node_pod_is_there(pod))
			continue;
		id = node + sizeof(prefix) - 1;
		if (!json_object_get(by_id, id))
			json_object_set_new(by_id, id,
					    json_pack("{s:s}", "instance_id", id));
		row = json_object_get(by_id, id);
		add(row, "pods", 1);
		add(row, "gpus",
		    limits_of(pod, "nvidia.com/gpu") +
			    limits_of(pod, "aws.amazon.com/neuron"));
		add(row, "efas", limits_of(pod, "vpc.amazonaws.com/efa"));
	}
	json_object_foreach(by_id, id, row)
		json_array_append(rows, row);
	return rows;
}
