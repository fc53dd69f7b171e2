#include "core/domain/group/group_out.h"

#include "core/domain/not_known.h"
#include "core/domain/offer/wish.h"
#include "core/json/tree.h"

#define TEXT(member, sentence) OUT(member, FIELD_STR, .doc = (sentence))
#define OPEN(member, sentence)                                                           \
	OUT(member, FIELD_OBJECT, .flags = FIELD_OPEN, .doc = (sentence))
#define OPEN_LIST(member, sentence)                                                      \
	OUT(member, FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY, .doc = (sentence))

#define GROUP_ITEM_ROWS                                                                  \
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the group."),    \
		TEXT("status", "Status reported by SageMaker."),                         \
		OUT("current_count", FIELD_INT, .flags = FIELD_REQUIRED,                 \
		    .doc = "Current number of nodes."),                                  \
		OUT("target_count", FIELD_INT, .flags = FIELD_REQUIRED,                  \
		    .doc = "Requested number of nodes."),                                \
		OUT("joined", FIELD_INT,                                                 \
		    .doc = "Instances that are also Kubernetes nodes, as of the last "   \
			   "look at the nodes."),                                        \
		OUT("no_node", FIELD_INT,                                                \
		    .doc = "Instances without a Kubernetes node."),                      \
		OUT("no_instance", FIELD_INT,                                            \
		    .doc = "Kubernetes nodes without an instance."),                     \
		OUT("min_count", FIELD_INT, .doc = "Minimum number of nodes."),          \
		TEXT("instance_type", "Instance type."),                                 \
		OUT("instance_types", FIELD_STRS,                                        \
		    .doc = "Instance types of a flexible group."),                       \
		OUT("capacity_type", FIELD_STR, .flags = FIELD_REQUIRED,                 \
		    .doc = "on_demand, spot or training_plan."),                         \
		TEXT("training_plan_arn", "ARN of the training plan."),                  \
		TEXT("training_plan_status", "Status of the training plan."),            \
		TEXT("interface_mode", "efa or efa-only."),                              \
		OUT("subnet_ids", FIELD_STRS, .doc = "Subnets of the nodes."),           \
		TEXT("image_release_version", "Release of the system image."),           \
		TEXT("image_status",                                                     \
		     "UpToDate, UpdateAvailable, SecurityUpdateRequired or "             \
		     "EndOfLife."),                                                      \
		TEXT("software_update_status",                                           \
		     "Pending, InProgress, Succeeded, RollbackInProgress, "              \
		     "RollbackComplete or Failed. Absent if never updated.")

const struct field group_item_out[] = {GROUP_ITEM_ROWS, FIELD_END};

static const struct field addresses_out[] = {
	TEXT("subnet_id", "Subnet used for the calculation."),
	OUT("each_node", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Addresses that one node needs in its interface mode."),
	OUT("free_now", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Free addresses in the subnet."),
	OUT("nodes_that_fit", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Additional nodes that fit in the subnet."),
	FIELD_END};

const struct field get_group_out[] = {
	OUT("cluster", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the cluster."),
	GROUP_ITEM_ROWS,
	OUT("security_group_ids", FIELD_STRS, .doc = "Security groups of the nodes."),
	TEXT("execution_role_arn", "Role of the nodes."),
	OUT("threads_per_core", FIELD_INT, .doc = "Threads per core."),
	OUT("deep_health_checks", FIELD_STRS,
	    .doc = "Checks that run before a node accepts work."),
	OPEN("labels", "Kubernetes labels of the nodes."),
	OPEN_LIST("taints", "Kubernetes taints of the nodes."),
	{.name = "addresses",
	 .type = FIELD_OBJECT,
	 .fields = addresses_out,
	 .doc = "Addresses that each node needs, and addresses left in the subnet."},
	NOT_KNOWN_OUT,
	OPEN("details", "All details of the group from SageMaker, unchanged."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of the observation."),
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
