/* A node as the Kubernetes API shows it. */
#include <string.h>

#include "tests/cloud/ec2.h"
#include "tests/cloud/sagemaker/sagemaker.h"

static const char *node_name(struct sm_work *w, const json_t *node)
{
	return arena_printf(w->arena, "hyperpod-%s", json_str_or(node, "InstanceId", ""));
}

static bool is_checking(const json_t *node)
{
	return streq(json_str_at(node, "InstanceStatus.Status"),
		     "DeepHealthCheckInProgress");
}

static const char *node_arch(const json_t *node)
{
	const struct ec2_type *t = ec2_type_find(json_str_or(node, "InstanceType", ""));

	return t && str_starts(t->arch, "arm") ? "arm64" : "amd64";
}

static json_t *labels_of(struct sm_work *w, const json_t *group, const json_t *node)
{
	const char *zone = json_str_or(node, "Placement.AvailabilityZone", "");
	const char *type = json_str_or(node, "InstanceType", "");
	const char *pairs[][2] = {
		{"kubernetes.io/hostname", node_name(w, node)},
		{"kubernetes.io/os", "linux"},
		{"kubernetes.io/arch", node_arch(node)},
		{"beta.kubernetes.io/os", "linux"},
		{"beta.kubernetes.io/arch", node_arch(node)},
		{"node.kubernetes.io/instance-type", type},
		{"beta.kubernetes.io/instance-type", type},
		{"topology.kubernetes.io/zone", zone},
		{"topology.kubernetes.io/region", cloud_opts(w->cloud)->region},
		{"topology.k8s.aws/zone-id",
		 json_str_or(node, "Placement.AvailabilityZoneId", "")},
		{"sagemaker.amazonaws.com/compute-type", "hyperpod"},
		{"sagemaker.amazonaws.com/cluster-name", w->name},
		{"sagemaker.amazonaws.com/instance-group-name",
		 json_str_or(node, "InstanceGroupName", "")},
		{"sagemaker.amazonaws.com/node-health-status",
		 is_checking(node) ? "Unschedulable" : sm_health_word(node)},
	};
	json_t *labels = json_object();

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		json_object_set_new(labels, pairs[i][0], json_string(pairs[i][1]));
	if (json_array_size(json_object_get(group, "OnStartDeepHealthChecks")) > 0)
		json_object_set_new(
			labels, "sagemaker.amazonaws.com/deep-health-check-status",
			json_string(is_checking(node) ? "InProgress" : "Passed"));
	json_object_update(labels, json_at(group, "KubernetesConfig.DesiredLabels"));
	json_object_update(labels, json_object_get(node, "_labels"));
	json_object_update(labels, json_at(node, "_fault.labels"));
	return labels;
}

static json_t *taint(const char *key, const char *value, const char *effect)
{
	return json_pack("{s:s,s:s,s:s}", "key", key, "value", value, "effect", effect);
}

static json_t *taints_of(const json_t *group, const json_t *node, bool ready)
{
	json_t *list = json_array(), *t;
	size_t i;

	if (!ready)
		json_push(list, taint("node.kubernetes.io/not-ready", "", "NoSchedule"));
	if (is_checking(node) || json_object_get(node, "_fault"))
		json_push(list, taint("sagemaker.amazonaws.com/node-health-status",
				      "Unschedulable", "NoSchedule"));
	json_array_foreach(json_at(group, "KubernetesConfig.DesiredTaints"), i, t)
		json_push(list,
			  taint(json_str_or(t, "Key", ""), json_str_or(t, "Value", ""),
				json_str_or(t, "Effect", "")));
	json_array_foreach(json_object_get(node, "_taints"), i, t)
		json_array_append(list, t);
	return list;
}

static void put_number(struct sm_work *w, json_t *cap, const char *key, int64_t n,
		       const char *unit)
{
	if (n > 0)
		json_object_set_new(cap, key,
				    json_string(arena_printf(w->arena, "%lld%s",
							     (long long)n, unit)));
}

/* What the instance type has, in Kubernetes' words. */
static json_t *capacity_of(struct sm_work *w, const json_t *node)
{
	const struct ec2_type *t = ec2_type_find(json_str_or(node, "InstanceType", ""));
	json_t *cap = json_object();

	put_number(w, cap, "cpu", t ? t->vcpus : 4, "");
	put_number(w, cap, "memory", t ? t->memory_mib : 16384, "Mi");
	put_number(w, cap, "pods", 110, "");
	put_number(w, cap, "ephemeral-storage", 104845292, "Ki");
	put_number(w, cap, "nvidia.com/gpu", t ? t->gpus : 0, "");
	put_number(w, cap, "aws.amazon.com/neuron", t ? t->neurons : 0, "");
	put_number(w, cap, "vpc.amazonaws.com/efa", t ? t->efas : 0, "");
	return cap;
}

static json_t *condition(const char *type, bool on, const char *reason, const char *at)
{
	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "type", type, "status",
			 on ? "True" : "False", "reason", reason, "message", reason,
			 "lastHeartbeatTime", at, "lastTransitionTime", at);
}

/* As old as the control plane it joined. */
static const char *kubelet_version(struct sm_work *w, const json_t *node)
{
	const json_t *eks =
		cloud_get(w->cloud, "eks.cluster", json_str_or(node, "_eks", ""));

	return arena_printf(w->arena, "v%s.0-eks-ba24e9c",
			    json_str_or(eks, "version", "1.34"));
}

/* Another one after every boot of every instance. */
static const char *boot_id(struct sm_work *w, const json_t *node)
{
	const char *h = json_digest(
		w->arena,
		json_packf(w->arena, "[s,I]", json_str_or(node, "InstanceId", ""),
			   (json_int_t)json_int_or(node, "_boots", 0)));

	return arena_printf(w->arena, "%.8s-%.4s-%.4s-%.4s-%.12s", h, h + 8, h + 12,
			    h + 16, h + 20);
}

static json_t *status_of(struct sm_work *w, const json_t *node, bool ready)
{
	json_t *cap = capacity_of(w, node), *conditions = json_array();
	char at[TIME_TEXT];

	/* Kubernetes writes whole seconds. */
	time_rfc3339(w->now_ms, at);
	memcpy(at + 19, "Z", 2);
	json_push(conditions,
		  condition("MemoryPressure", false, "KubeletHasSufficientMemory", at));
	json_push(conditions,
		  condition("DiskPressure", false, "KubeletHasNoDiskPressure", at));
	json_push(conditions,
		  condition("PIDPressure", false, "KubeletHasSufficientPID", at));
	if (json_object_get(node, "_fault"))
		json_push(conditions,
			  condition(json_str_or(node, "_fault.type", ""), true,
				    json_str_or(node, "_fault.reason", ""), at));
	json_push(conditions, condition("Ready", ready,
					ready ? "KubeletReady" : "KubeletNotReady", at));
	return json_pack(
		"{s:O,s:o,s:o,s:[{s:s,s:s},{s:s,s:s}],s:{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}}",
		"capacity", cap, "allocatable", cap, "conditions", conditions,
		"addresses", "type", "InternalIP", "address",
		json_str_or(node, "PrivatePrimaryIp", "10.0.0.1"), "type", "Hostname",
		"address", node_name(w, node), "nodeInfo", "machineID", "", "systemUUID",
		"", "bootID", boot_id(w, node), "kernelVersion",
		"6.1.140-154.222.amzn2023.x86_64", "osImage", "Amazon Linux 2023",
		"containerRuntimeVersion", "containerd://2.0.5", "kubeletVersion",
		kubelet_version(w, node), "kubeProxyVersion", "", "operatingSystem",
		"linux", "architecture", node_arch(node));
}

void sm_kube_put(struct sm_work *w, const json_t *group, const json_t *node, bool ready)
{
	const char *eks = json_str_or(node, "_eks", "");
	const char *name = node_name(w, node);
	const json_t *old = cloud_kube_get(w->cloud, eks, "v1", "nodes", NULL, name);
	json_t *obj = json_pack(
		"{s:s,s:s,s:{s:s,s:o},s:{s:s,s:o},s:o}", "apiVersion", "v1", "kind",
		"Node", "metadata", "name", name, "labels", labels_of(w, group, node),
		"spec", "providerID",
		arena_printf(w->arena, "aws:///%s/sagemaker/cluster/%s",
			     json_str_or(node, "Placement.AvailabilityZoneId", ""), name),
		"taints", taints_of(group, node, ready), "status",
		status_of(w, node, ready));

	/* What others wrote outlives what the node reports of itself. */
	json_object_update_missing(json_at(obj, "metadata.labels"),
				   json_at(old, "metadata.labels"));
	sm_health_clean(node, json_at(obj, "metadata.labels"));
	if (json_at(old, "metadata.annotations"))
		json_object_set(json_at(obj, "metadata"), "annotations",
				json_at(old, "metadata.annotations"));
	if (json_bool_or(old, "spec.unschedulable", false))
		json_put_bool(obj, "spec.unschedulable", true);
	cloud_kube_put(w->cloud, eks, obj);
}

void sm_kube_remove(struct sm_work *w, const json_t *node)
{
	const char *eks = json_str_or(node, "_eks", "");

	if (json_str_at(node, "InstanceId") && cloud_get(w->cloud, "eks.cluster", eks))
		cloud_kube_remove(w->cloud, eks, "v1", "nodes", NULL, node_name(w, node));
}
