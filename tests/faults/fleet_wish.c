/* What an operation may change of a group's members, and to which values. */
#include "core/json/tree.h"
#include "tests/faults/fleet.h"

static json_t *taints_sent(const json_t *taints)
{
	json_t *list = json_array(), *t;
	size_t i;

	json_array_foreach(taints, i, t)
		json_push(list,
			  json_pack("{s:s, s:s, s:s}", "Key", json_str_or(t, "key", ""),
				    "Value", json_str_or(t, "value", ""), "Effect",
				    json_str_or(t, "effect", "")));
	return list;
}

static void set(json_t *wish, const char *member, json_t *value)
{
	json_object_set_new(json_object_get(wish, "set"), member, value);
}

/* Input's member, specification's member. */
static const char *const members[][2] = {
	{"count", "InstanceCount"},
	{"instance_type", "InstanceType"},
	{"threads_per_core", "ThreadsPerCore"},
	{"min_count", "MinInstanceCount"},
	{"labels", "KubernetesConfig.Labels"},
	{"taints", "KubernetesConfig.Taints"},
	{"deep_health_checks", "OnStartDeepHealthChecks"},
};

static void set_members(json_t *wish, const json_t *input)
{
	size_t k;
	json_t *v;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		json_t *value = json_object_get(input, members[i][0]);

		if (streq(members[i][0], "taints") && value)
			set(wish, members[i][1], taints_sent(value));
		else if (value)
			set(wish, members[i][1], json_deep_copy(value));
		json_array_foreach(json_at(input, "clear"), k, v)
			if (streq(json_string_value(v), members[i][0]))
				set(wish, members[i][1], json_null());
	}
}

static void may(json_t *wish, const char *member)
{
	json_push(json_object_get(wish, "may"), json_string(member));
}

static void set_cluster(json_t *wish, const char *kind, const json_t *input)
{
	const bool on = json_bool_or(input, "enabled", true);

	if (streq(kind, "set_tiered_checkpointing")) {
		set(wish, "TieredStorageConfig.Mode",
		    on ? json_string("Enable") : json_null());
		may(wish, "TieredStorageConfig.InstanceMemoryAllocationPercentage");
	} else if (streq(kind, "set_autoscaling")) {
		set(wish, "AutoScaling.Mode", on ? json_string("Enable") : json_null());
		may(wish, "ClusterRole");
		may(wish, "NodeRecovery");
	}
}

json_t *fleet_wish(struct fleet *f, const json_t *op)
{
	const char *kind = json_str_or(op, "kind", "");
	const json_t *input = json_at(op, "input");
	json_t *wish = json_packf(&f->arena, "{s:s*, s:{}, s:[], s:b, s:b}", "group",
				  json_str_at(input, "group_name"), "set", "may", "add",
				  streq(kind, "add_instance_group"), "delete",
				  streq(kind, "delete_instance_group"));

	if (streq(kind, "add_instance_group") || streq(kind, "scale_instance_group") ||
	    streq(kind, "update_instance_group"))
		set_members(wish, input);
	else if (streq(kind, "delete_nodes"))
		may(wish, "InstanceCount");
	else if (streq(kind, "update_cluster_software"))
		may(wish, "ImageReleaseVersion");
	else
		set_cluster(wish, kind, input);
	return wish;
}
