#include "core/domain/group/group_out.h"

#include "core/domain/hyperpod/wish.h"
#include "core/json/tree.h"

#define TEXT(member, sentence) OUT(member, FIELD_STR, .doc = (sentence))
#define OPEN(member, sentence)                                                           \
	OUT(member, FIELD_OBJECT, .flags = FIELD_OPEN, .doc = (sentence))
#define OPEN_LIST(member, sentence)                                                      \
	OUT(member, FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY, .doc = (sentence))

#define GROUP_ITEM_ROWS                                                                  \
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the group."),    \
		TEXT("status", "As SageMaker says."),                                    \
		OUT("current_count", FIELD_INT, .flags = FIELD_REQUIRED,                 \
		    .doc = "Nodes there are."),                                          \
		OUT("target_count", FIELD_INT, .flags = FIELD_REQUIRED,                  \
		    .doc = "Nodes asked for."),                                          \
		OUT("min_count", FIELD_INT, .doc = "Fewer are no use."),                 \
		TEXT("instance_type", "Its instance type."),                             \
		OUT("instance_types", FIELD_STRS, .doc = "Of a flexible group."),        \
		OUT("capacity_type", FIELD_STR, .flags = FIELD_REQUIRED,                 \
		    .doc = "on_demand, spot or training_plan; fixed."),                  \
		TEXT("training_plan_arn", "Its training plan."),                         \
		TEXT("training_plan_status", "Of that plan."),                           \
		TEXT("interface_mode", "efa or efa-only; fixed."),                       \
		OUT("subnet_ids", FIELD_STRS, .doc = "Where its nodes are; fixed."),     \
		TEXT("image_release_version", "Release of its system image."),           \
		TEXT("image_status",                                                     \
		     "UpToDate, UpdateAvailable, SecurityUpdateRequired or "             \
		     "EndOfLife."),                                                      \
		TEXT("software_update_status",                                           \
		     "Pending, InProgress, Succeeded, RollbackInProgress, "              \
		     "RollbackComplete or Failed; absent when never updated.")

const struct field group_item_out[] = {GROUP_ITEM_ROWS, FIELD_END};

static const struct field addresses_out[] = {
	TEXT("subnet_id", "The subnet that is reckoned with."),
	OUT("each_node", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Addresses that a node of it takes in its interface mode."),
	OUT("free_now", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Addresses that the subnet has free."),
	OUT("nodes_that_fit", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Further nodes that these addresses suffice for."),
	FIELD_END};

const struct field get_group_out[] = {
	OUT("cluster", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "The cluster."),
	GROUP_ITEM_ROWS,
	OUT("security_group_ids", FIELD_STRS, .doc = "Security groups of its nodes."),
	TEXT("execution_role_arn", "Role of its nodes."),
	OUT("threads_per_core", FIELD_INT, .doc = "Threads per core."),
	OUT("deep_health_checks", FIELD_STRS, .doc = "Run before a node takes work."),
	OPEN("labels", "Kubernetes labels of its nodes."),
	OPEN_LIST("taints", "Kubernetes taints of its nodes."),
	{.name = "addresses",
	 .type = FIELD_OBJECT,
	 .fields = addresses_out,
	 .doc = "What each node takes of the subnet, and what is left."},
	OPEN("details", "Everything that SageMaker says of the group, in its words."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "When that was seen."),
	FIELD_END};

static void put_copy(json_t *item, const char *name, const json_t *from, const char *path)
{
	json_t *v = json_at(from, path);

	if (v && !json_is_null(v))
		json_put(item, name, json_deep_copy(v));
}

json_t *group_item(struct arena *a, const json_t *cluster, const json_t *group)
{
	static const struct {
		const char *name, *path;
	} copied[] = {
		{"status", "Status"},
		{"min_count", "MinCount"},
		{"training_plan_status", "TrainingPlanStatus"},
		{"image_status", "ImageVersionStatus"},
		{"software_update_status", "SoftwareUpdateStatus"},
		{"image_release_version", "CurrentImageReleaseVersion"},
		{"subnet_ids", "OverrideVpcConfig.Subnets"},
	};
	json_t *item = json_own(a, json_deep_copy(wish_of_group(a, group)));

	json_put_str(item, "name", json_str_or(group, "InstanceGroupName", "?"));
	json_put_int(item, "current_count", json_int_or(group, "CurrentCount", 0));
	json_put_int(item, "target_count", json_int_or(group, "TargetCount", 0));
	put_copy(item, "subnet_ids", cluster, "VpcConfig.Subnets");
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
		put_copy(item, copied[i].name, group, copied[i].path);
	return item;
}
