/*
 * cluster_in.h - inputs of the cluster capabilities, declared once.
 *
 * create_cluster takes the union of what its stages take; each stage's own
 * capability takes its part. The macros are rows of descriptors so that the
 * same member has the same rule and sentence wherever it appears.
 */
#ifndef INSTANTSTART_DOMAIN_SITE_CLUSTER_IN_H
#define INSTANTSTART_DOMAIN_SITE_CLUSTER_IN_H

#include "core/domain/step/path.h"
#include "core/json/field.h"

/* 1 to 40: role names of 64 must hold it with purpose and region. */
#define CLUSTER_NAME_PATTERN "[a-z][a-z0-9]*(-[a-z0-9]+)*"
#define CLUSTER_NAME_MAX     30
/* Of HyperPod clusters and their instance groups. */
#define GROUP_NAME_PATTERN "[a-zA-Z0-9](-*[a-zA-Z0-9])*"
#define ARN_ROLE_PATTERN   "arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512}"

/* What was probably meant (cases CC-02, CC-13, IG-12): "ml.g5.xlarge" by
 * "g5.xlarge", "1.33" by "v1.33" or the number 1.33, "gpu-group" by
 * "gpu_group", "gpu-group" by "GPU group". */
const char *meant_instance_type(struct arena *a, const json_t *value);
const char *meant_version(struct arena *a, const json_t *value);
const char *meant_group_name(struct arena *a, const json_t *value);
const char *meant_cluster_name(struct arena *a, const json_t *value);

#define FIELD_CLUSTER_NAME(S, m, sentence)                                               \
	FIELD(S, m, .flags = FIELD_REQUIRED, .pattern = CLUSTER_NAME_PATTERN, .min = 1,  \
	      .max = CLUSTER_NAME_MAX, .meant = meant_cluster_name,                      \
	      .example = "\"demo\"", .doc = (sentence))
#define FIELD_CLUSTER_PATH(S, m)                                                         \
	FIELD(S, m, .flags = FIELD_REQUIRED | FIELD_PATH,                                \
	      .pattern = "[A-Za-z0-9][A-Za-z0-9_-]*", .min = 1, .max = 100,              \
	      .example = "\"demo\"", .doc = "Name of the cluster.")

/* "-" means the caller's selected cluster; so does leaving it out. */
#define FIELD_CLUSTER_OR_SELECTED(S, m)                                                  \
	FIELD(S, m, .flags = FIELD_PATH, .pattern = "-|[A-Za-z0-9][A-Za-z0-9_-]*",       \
	      .min = 1, .max = 100, .dflt = "\"-\"", .example = "\"demo\"",              \
	      .doc = "Cluster, or - for the selected one.")

/*
 * What all services take that we tag: no empty key, none of AWS's own, no control
 * characters. https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html
 */
#define TAG_LETTER        "[^\\x00-\\x1f\\x7f!-*,;<>?\\[\\\\\\]^`{-~]"
#define TAG_KEY_PATTERN   "(?![aA][wW][sS]:)" TAG_LETTER "{1,128}"
#define TAG_VALUE_PATTERN TAG_LETTER "{0,256}"

/* https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */
#define LABEL_WORD_PATTERN  "[A-Za-z0-9]([-\\w.]{0,61}[A-Za-z0-9])?"
#define LABEL_KEY_PATTERN   "([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?" LABEL_WORD_PATTERN
#define LABEL_VALUE_PATTERN "(" LABEL_WORD_PATTERN ")?"

/* What every kind that makes AWS objects takes. */
#define FIELDS_MADE(S)                                                                   \
	/* IAM: "Duplicate tag keys found. Tag keys are case insensitive." */            \
	FIELD_MAP_OF(S, tags, .flags = FIELD_NOCASE, .max = 40, .keys = TAG_KEY_PATTERN, \
		     .pattern = TAG_VALUE_PATTERN, .doc = "Additional tags."),           \
		FIELD(S, permissions_boundary,                                           \
		      .pattern = "arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/.{1,512}",  \
		      .doc = "Permissions boundary for new roles.")

#define FIELDS_CONTROL_PLANE(S)                                                          \
	FIELD(S, kubernetes_version, .pattern = "1\\.[0-9]{2}", .meant = meant_version,  \
	      .doc = "Version as a string, such as 1.33. Default: the EKS default if "   \
		     "HyperPod supports it."),                                           \
		FIELD(S, vpc_cidr, .pattern = "[0-9.]{7,15}/[0-9]{1,2}",                 \
		      .example = "\"10.42.0.0/16\"",                                     \
		      .doc = "CIDR block of the new VPC. Default: a free block."),       \
		FIELD(S, vpc_id, .pattern = "vpc-[0-9a-f]{8,17}",                        \
		      .doc = "Existing VPC to use. Default: create one."),               \
		FIELD(S, subnet_ids, .min = 2, .max = 2,                                 \
		      .doc = "With vpc_id: two subnets in different zones for the "      \
			     "control plane."),                                          \
		FIELD(S, cluster_role_arn, .pattern = ARN_ROLE_PATTERN,                  \
		      .doc = "Existing role for the control plane."),                    \
		FIELD(S, manager_arn,                                                    \
		      .pattern = "arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.{1,512}",   \
		      .doc = "Role or user to make cluster administrator. Default: "     \
			     "the InstantStart role.")

/* With the subnets of FIELDS_CONTROL_PLANE or FIELDS_NODES. */
#define FIELD_TAG_SUBNETS(S)                                                             \
	FIELD(S, tag_subnets, .dflt = "false",                                           \
	      .doc = "Tag these subnets for load balancers.")

static const char *const capacity_types[] = {"on_demand", "spot", "training_plan", NULL};
static const char *const interface_modes[] = {"efa", "efa-only", NULL};

/* The list of types is as old as the program. */
#define FIELD_NEW_TYPE(S)                                                                \
	FIELD(S, accept_unknown_type, .doc = "Accept an unknown instance type.")

/* Of the first group, with FIELDS_GROUP_SOFT of group_in.h. */
#define FIELDS_NODES(S)                                                                         \
	FIELD(S, instance_type, .flags = FIELD_REQUIRED,                                        \
	      .pattern = "ml\\.[a-z0-9-]+\\.[a-z0-9]+", .meant = meant_instance_type,           \
	      .example = "\"ml.g5.12xlarge\"",                                                  \
	      .doc = "Instance type, with its ml. prefix."),                                    \
		FIELD_NEW_TYPE(S),                                                              \
		FIELD(S, count, .min = 1, .max = 1000, .dflt = "1", .unit = "nodes",            \
		      .doc = "Number of nodes."),                                               \
		FIELD(S, capacity_type, .one_of = capacity_types,                               \
		      .dflt = "\"on_demand\"",                                                  \
		      .doc = "Source of the capacity. Cannot be changed later."),               \
		FIELD(S, training_plan_arn,                                                     \
		      .pattern =                                                                \
			      "arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:[0-9]{12}:training-plan/.+", \
		      .doc = "Training plan, with capacity_type training_plan."),               \
		FIELD(S, interface_mode, .one_of = interface_modes,                             \
		      .doc = "EFA interfaces with or without IP addresses."),                   \
		FIELD(S, group_name, .meant = meant_group_name,                                 \
		      .pattern = GROUP_NAME_PATTERN, .max = 63, .dflt = "\"workers\"",          \
		      .doc = "Name of the instance group."),                                    \
		FIELD(S, hyperpod_name, .meant = meant_group_name,                              \
		      .pattern = GROUP_NAME_PATTERN, .max = 63,                                 \
		      .doc = "Name of the HyperPod cluster. Default: the cluster "              \
			     "name."),                                                          \
		FIELD(S, volume_size_gb, .min = 100, .max = 16384, .dflt = "500",               \
		      .unit = "GB", .doc = "Size of the additional volume per node."),          \
		FIELD(S, subnet_id, .pattern = "subnet-[0-9a-f]{8,17}",                         \
		      .doc = "Existing private subnet for the nodes."),                         \
		FIELD(S, security_group_id, .pattern = "sg-[0-9a-f]{8,17}",                     \
		      .doc = "Existing security group for the nodes.")

#define FIELD_ZONE(S, more)                                                              \
	FIELD(S, zone, .flags = (more), .pattern = "[a-z0-9]+(-[a-z0-9]+)+", .max = 64,  \
	      .example = "\"us-west-2a\"",                                               \
	      .doc = "Zone name or ID from list_availability_zones.")

#define MEMBERS_MADE                                                                     \
	json_t *tags;                                                                    \
	const char *permissions_boundary;
#define MEMBERS_CONTROL_PLANE                                                            \
	const char *kubernetes_version;                                                  \
	const char *vpc_cidr;                                                            \
	const char *vpc_id;                                                              \
	struct str_list subnet_ids;                                                      \
	const char *cluster_role_arn;                                                    \
	const char *manager_arn;
#define MEMBERS_NODES                                                                    \
	const char *instance_type;                                                       \
	bool accept_unknown_type;                                                        \
	int64_t count;                                                                   \
	const char *capacity_type;                                                       \
	const char *training_plan_arn;                                                   \
	const char *interface_mode;                                                      \
	const char *group_name;                                                          \
	const char *hyperpod_name;                                                       \
	int64_t volume_size_gb;                                                          \
	const char *subnet_id;                                                           \
	const char *security_group_id;

#endif
