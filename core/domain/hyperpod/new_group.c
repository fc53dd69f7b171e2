#include "core/domain/hyperpod/new_group.h"

#include "core/domain/hyperpod/bucket.h"
#include "core/domain/offer/wish.h"
#include "core/domain/step/names.h"
#include "core/json/tree.h"

json_t *new_group_taints(const json_t *taints)
{
	json_t *list = json_array();
	size_t i;
	json_t *t;

	json_array_foreach(taints, i, t)
		json_push(list,
			  json_pack("{s:s, s:s*, s:s}", "Key", json_str_or(t, "key", ""),
				    "Value", json_str_at(t, "value"), "Effect",
				    json_str_or(t, "effect", "NoSchedule")));
	return list;
}

const json_t *new_group_repels(const json_t *input)
{
	size_t i;
	json_t *t;

	json_array_foreach(json_at(input, "taints"), i, t)
		if (!streq(json_str_at(t, "effect"), "PreferNoSchedule"))
			return t;
	return NULL;
}

static json_t *script_of(struct step_ctx *c, const json_t *model)
{
	const char *uri = step_input(c, "lifecycle_s3_uri");
	const char *name = step_input(c, "lifecycle_on_create");

	if (!uri && model)
		return json_deep_copy(model);
	return json_pack("{s:o, s:s}", "SourceS3Uri",
			 uri ? json_string(uri)
			     : json_sprintf("s3://%s/%s", name_bucket(c),
					    name_lifecycle_prefix(c)),
			 "OnCreate", name ? name : script_on_create.name);
}

static void put_capacity(struct step_ctx *c, json_t *g)
{
	json_t *types = json_at(c->input, "instance_types");

	if (json_array_size(types) > 0)
		json_put(g, "InstanceRequirements.InstanceTypes", json_deep_copy(types));
	else
		json_put_str(g, "InstanceType", step_input(c, "instance_type"));
	if (streq(step_input(c, "capacity_type"), "spot"))
		json_put(g, "CapacityRequirements.Spot", json_object());
	json_put_str(g, "TrainingPlanArn", step_input(c, "training_plan_arn"));
	if (step_input(c, "interface_mode"))
		json_put_str(g, "NetworkInterface.InterfaceType",
			     step_input(c, "interface_mode"));
}

static void put_kubernetes(struct step_ctx *c, json_t *g)
{
	json_t *labels = json_at(c->input, "labels");
	json_t *taints = json_at(c->input, "taints");

	if (json_object_size(labels) > 0)
		json_put(g, "KubernetesConfig.Labels", json_deep_copy(labels));
	if (json_array_size(taints) > 0)
		json_put(g, "KubernetesConfig.Taints", new_group_taints(taints));
}

/* The service refuses what is empty; 0 is as if it were not given. */
static void put_positive(struct step_ctx *c, json_t *g, const char *to, const char *from)
{
	const int64_t n = json_int_or(c->input, from, 0);

	if (n > 0)
		json_put_int(g, to, n);
}

json_t *new_group_spec(struct step_ctx *c, const struct new_group *given)
{
	json_t *checks = json_at(c->input, "deep_health_checks");
	json_t *g =
		json_packf(c->arena, "{s:s, s:I, s:s, s:o, s:[{s:{s:I}}]}",
			   "InstanceGroupName", step_input(c, "group_name"),
			   "InstanceCount", (json_int_t)wish_count(c), "ExecutionRole",
			   given->role, "LifeCycleConfig", script_of(c, given->script),
			   "InstanceStorageConfigs", "EbsVolumeConfig", "VolumeSizeInGB",
			   (json_int_t)json_int_or(c->input, "volume_size_gb", 500));

	if (given->subnet)
		json_put(g, "OverrideVpcConfig",
			 json_pack("{s:o, s:[s]}", "SecurityGroupIds",
				   given->security_groups, "Subnets", given->subnet));
	put_capacity(c, g);
	put_kubernetes(c, g);
	put_positive(c, g, "MinInstanceCount", "min_count");
	put_positive(c, g, "ThreadsPerCore", "threads_per_core");
	if (json_array_size(checks) > 0)
		json_put(g, "OnStartDeepHealthChecks", json_deep_copy(checks));
	json_put_str(g, "ImageReleaseVersion", step_input(c, "image_release_version"));
	return g;
}
