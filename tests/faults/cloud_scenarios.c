/*
 * What is done in the cloud world: one scenario for each of the product's kinds,
 * each from where another one ended.
 */
#include "core/domain/capability.h"
#include "tests/faults/cloud_lab.h"

#define NODES                                                                             \
	"\"zone\": \"us-west-2a\", \"instance_type\": \"ml.g5.12xlarge\", \"count\": 1, " \
	"\"capacity_type\": \"on_demand\", \"group_name\": \"workers\", "                 \
	"\"volume_size_gb\": 500"
#define STORAGE_OF(name)                                                                 \
	"\"name\": \"" name "\", \"namespace\": \"default\", \"uid\": -1, \"gid\": -1"
#define STORAGE STORAGE_OF("data")
#define PIPELINE                                                                         \
	.kind = "create_cluster",                                                        \
	.input =                                                                         \
		"{\"kubernetes_version\": \"1.33\", \"selected_by\": \"tester\", " NODES \
		"}"

static const struct scenario control_plane = {
	.name = "create_eks_control_plane",
	.kind = "create_eks_control_plane",
	.input = "{\"kubernetes_version\": \"1.33\"}"};
static const struct scenario dependencies = {.name = "reconcile_dependencies",
					     .kind = "reconcile_dependencies",
					     .before = &control_plane};
const struct scenario cloud_pipeline = {.name = "create_cluster", PIPELINE};

/* A group at zero, the autoscaler, what it works by. */
#define SWITCH(on)                                                                       \
	.kind = "set_autoscaling",                                                       \
	.input = "{\"feature\": \"autoscaling\", \"enabled\": " on "}"
#define NODE_CLASS                                                                       \
	.kind = "create_node_class",                                                     \
	.input = "{\"name\": \"gpu\", \"instance_groups\": [\"idle\"]}"
#define NODE_POOL                                                                        \
	.kind = "create_node_pool",                                                      \
	.input = "{\"name\": \"train\", \"node_class_ref\": {\"name\": \"gpu\"}}"

static const struct scenario idle_group = {
	.name = "add_instance_group",
	.kind = "add_instance_group",
	.input = "{\"group_name\": \"idle\", \"instance_type\": \"ml.g5.12xlarge\", "
		 "\"count\": 0, \"zone\": \"us-west-2a\", \"capacity_type\": "
		 "\"on_demand\"}",
	.before = &cloud_pipeline};
static const struct scenario autoscaling = {
	.name = "set_autoscaling", SWITCH("true"), .before = &idle_group};
static const struct scenario node_class = {
	.name = "create_node_class", NODE_CLASS, .before = &autoscaling};
static const struct scenario node_pool = {
	.name = "create_node_pool", NODE_POOL, .before = &node_class};

/* Features: each on and off; the rows of the parent. */
#define FEATURE(name, on)                                                                \
	.kind = "set_" name, .input = "{\"feature\": \"" name "\", \"enabled\": " on "}"
#define FEATURES                                                                         \
	.kind = "update_features",                                                       \
	.input = "{\"training_operator\": {\"enabled\": true}, "                         \
		 "\"tiered_checkpointing\": {\"enabled\": true}}"

static const struct scenario training = {.name = "training_on",
					 FEATURE("training_operator", "true"),
					 .before = &cloud_pipeline};
static const struct scenario inference = {.name = "inference_on",
					  FEATURE("inference_operator", "true"),
					  .before = &cloud_pipeline};
static const struct scenario tiered = {.name = "tiered_on",
				       FEATURE("tiered_checkpointing", "true"),
				       .before = &cloud_pipeline};

const struct scenario cloud_scenarios[] = {
	{.name = "create_eks_control_plane",
	 .kind = "create_eks_control_plane",
	 .input = "{\"kubernetes_version\": \"1.33\"}"},
	{.name = "reconcile_dependencies",
	 .kind = "reconcile_dependencies",
	 .before = &control_plane},
	{.name = "create_hyperpod_cluster",
	 .kind = "create_hyperpod_cluster",
	 .input = "{" NODES "}",
	 .before = &dependencies},
	{.name = "create_s3_storage",
	 .kind = "create_s3_storage",
	 .input = "{" STORAGE_OF("more") "}",
	 .before = &cloud_pipeline},
	{.name = "delete_storage",
	 .kind = "delete_storage",
	 .input = "{" STORAGE "}",
	 .before = &cloud_pipeline},
	{.name = "import_cluster",
	 .kind = "import_cluster",
	 .target = "imported",
	 .input = "{\"eks_name\": \"w000001\"}",
	 .before = &cloud_pipeline},
	{.name = "autoscaling_on", SWITCH("true"), .before = &cloud_pipeline},
	{.name = "autoscaling_off", SWITCH("false"), .before = &autoscaling},
	{.name = "create_node_class", NODE_CLASS, .before = &autoscaling},
	{.name = "create_node_pool", NODE_POOL, .before = &node_class},
	{.name = "delete_node_pool",
	 .kind = "delete_node_pool",
	 .input = "{\"name\": \"train\"}",
	 .before = &node_pool},
	{.name = "delete_node_class",
	 .kind = "delete_node_class",
	 .input = "{\"name\": \"gpu\"}",
	 .before = &node_class},
	{.name = "training_on",
	 FEATURE("training_operator", "true"),
	 .before = &cloud_pipeline},
	{.name = "training_off",
	 FEATURE("training_operator", "false"),
	 .before = &training},
	{.name = "inference_on",
	 FEATURE("inference_operator", "true"),
	 .before = &cloud_pipeline},
	{.name = "inference_off",
	 FEATURE("inference_operator", "false"),
	 .before = &inference},
	{.name = "tiered_on",
	 FEATURE("tiered_checkpointing", "true"),
	 .before = &cloud_pipeline},
	{.name = "tiered_off",
	 FEATURE("tiered_checkpointing", "false"),
	 .before = &tiered},
	{.name = "update_features",
	 .has_stages = true,
	 FEATURES,
	 .before = &cloud_pipeline},
	{.name = "create_cluster", .has_stages = true, PIPELINE},
	/* In another zone: a subnet is made for it. */
	{.name = "add_instance_group",
	 .kind = "add_instance_group",
	 .input = "{\"group_name\": \"more\", \"instance_type\": \"ml.g5.12xlarge\", "
		  "\"count\": 2, \"zone\": \"us-west-2b\", \"capacity_type\": "
		  "\"on_demand\", \"labels\": {\"team\": \"red\"}, "
		  "\"volume_size_gb\": 200}",
	 .before = &cloud_pipeline},
	{.name = "scale_up",
	 .kind = "scale_instance_group",
	 .input = "{\"group_name\": \"workers\", \"count\": 3}",
	 .before = &cloud_pipeline},
	{.name = "scale_down",
	 .kind = "scale_instance_group",
	 .input = "{\"group_name\": \"workers\", \"count\": 0}",
	 .before = &cloud_pipeline},
	{.name = "update_instance_group",
	 .kind = "update_instance_group",
	 .input = "{\"group_name\": \"workers\", \"labels\": {\"team\": \"red\"}}",
	 .before = &cloud_pipeline},
	{.name = "delete_instance_group",
	 .kind = "delete_instance_group",
	 .input = "{\"group_name\": \"idle\"}",
	 .before = &idle_group},
	{.name = "update_cluster_software",
	 .kind = "update_cluster_software",
	 .input = "{\"groups\": [\"workers\"]}",
	 .before = &cloud_pipeline},
	{.name = "reboot_nodes",
	 .kind = "reboot_nodes",
	 .input = "{\"nodes\": []}",
	 .before = &cloud_pipeline},
	{.name = "replace_nodes",
	 .kind = "replace_nodes",
	 .input = "{\"nodes\": []}",
	 .before = &cloud_pipeline},
	{.name = "delete_nodes",
	 .kind = "delete_nodes",
	 .input = "{\"nodes\": []}",
	 .before = &cloud_pipeline},
	{.name = "delete_cluster", .kind = "delete_cluster", .before = &cloud_pipeline},
	{.name = "delete_unreachable",
	 .kind = "delete_cluster",
	 .silent = true,
	 .before = &cloud_pipeline},
	{.name = "delete_control_plane",
	 .kind = "delete_cluster",
	 .before = &control_plane},
	{.name = NULL},
};
