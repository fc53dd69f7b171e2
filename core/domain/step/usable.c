#include "core/domain/step/usable.h"

#include "core/base/str.h"
#include "core/json/tree.h"

static const char HEALTH[] = "sagemaker.amazonaws.com/node-health-status";

static bool is_ready(const json_t *node)
{
	const json_t *ready =
		json_find(json_at(node, "status.conditions"), "type", "Ready");

	return streq(json_str_at(ready, "status"), "True");
}

static bool keeps_off(const json_t *taint)
{
	return !streq(json_str_at(taint, "effect"), "PreferNoSchedule");
}

/* Of Kubernetes, the cloud provider and the autoscaler: they go by themselves. */
static bool is_of_system(const char *key)
{
	static const char *const prefixes[] = {
		"sagemaker.amazonaws.com/",
		"node.kubernetes.io/",
		"node.cloudprovider.kubernetes.io/",
		"karpenter.sh/",
	};

	/* What cordon writes is a person's. */
	if (streq(key, "node.kubernetes.io/unschedulable"))
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (str_starts(key, prefixes[i]))
			return true;
	return false;
}

bool node_has_arrived(const json_t *node)
{
	size_t i;
	json_t *t;

	json_array_foreach(json_at(node, "spec.taints"), i, t)
		if (keeps_off(t) && is_of_system(json_str_or(t, "key", "")))
			return false;
	return is_ready(node);
}

const char *node_taint(const json_t *node)
{
	size_t i;
	json_t *t;

	json_array_foreach(json_at(node, "spec.taints"), i, t)
		if (keeps_off(t))
			return json_str_or(t, "key", "");
	return NULL;
}

bool node_takes_pods(const json_t *node)
{
	return is_ready(node) && !node_taint(node) &&
	       !json_bool_or(node, "spec.unschedulable", false);
}

bool node_takes_tolerant(const json_t *node)
{
	size_t i;
	json_t *t;

	json_array_foreach(json_at(node, "spec.taints"), i, t)
		if (keeps_off(t) && !streq(json_str_at(t, "key"), HEALTH))
			return false;
	return is_ready(node) && !json_bool_or(node, "spec.unschedulable", false);
}

bool node_is_checked(const json_t *node)
{
	return json_find(json_at(node, "spec.taints"), "key", HEALTH) != NULL;
}
