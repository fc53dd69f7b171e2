/* add_instance_group: what is fixed for the group's life is said here. */
#include "core/domain/group/group.h"
#include "core/domain/offer/cluster_check.h"
#include "core/domain/operation_out.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/group_in.h"
#include "core/json/tree.h"

struct add_group {
	const char *cluster;
	const char *name;
	const char *instance_type;
	struct str_list instance_types;
	bool accept_unknown_type;
	int64_t count;
	const char *capacity_type;
	const char *training_plan_arn;
	const char *interface_mode;
	const char *zone;
	const char *subnet_id;
	bool tag_subnets;
	const char *security_group_id;
	int64_t volume_size_gb;
	MEMBERS_GROUP_SOFT
	MEMBERS_MADE
};

#define TYPE_PATTERN "ml\\.[a-z0-9-]+\\.[a-z0-9]+"

static const struct field add_group_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct add_group, cluster),
	FIELD(struct add_group, name, .flags = FIELD_REQUIRED,
	      .pattern = GROUP_NAME_PATTERN, .min = 1, .max = 63,
	      .meant = meant_group_name, .example = "\"gpu\"",
	      .doc = "Name of the group: letters, digits and inner hyphens."),
	FIELD(struct add_group, instance_type, .pattern = TYPE_PATTERN,
	      .meant = meant_instance_type, .example = "\"ml.g5.12xlarge\"",
	      .doc = "Instance type, with its ml. prefix. Cannot be changed later."),
	FIELD(struct add_group, instance_types, .max = 20, .pattern = TYPE_PATTERN,
	      .doc = "Several instance types instead of one, preferred first."),
	FIELD_NEW_TYPE(struct add_group),
	FIELD(struct add_group, count, .min = 0, .max = GROUP_COUNT_MAX, .dflt = "1",
	      .unit = "nodes", .doc = "Number of nodes. May be 0."),
	FIELD(struct add_group, capacity_type, .one_of = capacity_types,
	      .dflt = "\"on_demand\"",
	      .doc = "Source of the capacity. Cannot be changed later."),
	FIELD(struct add_group, training_plan_arn,
	      .pattern = "arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:[0-9]{12}:training-plan/.+",
	      .doc = "Training plan, with capacity_type training_plan."),
	FIELD(struct add_group, interface_mode, .one_of = interface_modes,
	      .doc = "EFA interfaces with or without IP addresses."),
	FIELD_ZONE(struct add_group, 0),
	FIELD(struct add_group, subnet_id, .pattern = "subnet-[0-9a-f]{8,17}",
	      .doc = "Private subnet, instead of zone. Cannot be changed later."),
	FIELD_TAG_SUBNETS(struct add_group),
	FIELD(struct add_group, security_group_id, .pattern = "sg-[0-9a-f]{8,17}",
	      .doc = "Security group of the nodes. Default: those of the cluster."),
	FIELD(struct add_group, volume_size_gb, .min = 100, .max = 16384, .dflt = "500",
	      .unit = "GB", .doc = "Size of the additional volume per node."),
	FIELDS_GROUP_SOFT(struct add_group),
	FIELDS_MADE(struct add_group),
	FIELD_END};

static bool run_add_group(struct call *c, const void *in, struct reply *ret,
			  struct err *e)
{
	const struct add_group *q = in;
	struct cluster k;
	json_t *input;

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	input = cluster_input(c, &k, in);
	json_object_del(input, "name");
	json_put_str(input, "group_name", q->name);
	return cluster_check(input, c->cfg, c->arena, e) &&
	       call_submit(c, &kind_add_instance_group, k.name, input, ret, e);
}

extern const struct capability cap_add_instance_group;
const struct capability cap_add_instance_group = {
	.name = "add_instance_group",
	.method = "POST",
	.path = "/clusters/{cluster}/groups",
	.title = "Add an instance group",
	.doc = "Adds an instance group. Its capacity type, interface mode and location "
	       "cannot be changed later. Checks quota, capacity, network, role and "
	       "script first, and reports all problems at once. Succeeds when every node "
	       "is Ready.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG,
	.in = add_group_in,
	.in_size = sizeof(struct add_group),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "name",
	.run = run_add_group,
};
