/*
 * group_in.h - inputs of the instance group capabilities.
 */
#ifndef INSTANTSTART_DOMAIN_GROUP_GROUP_IN_H
#define INSTANTSTART_DOMAIN_GROUP_GROUP_IN_H

#include "core/domain/cluster/cluster_in.h"

#define GROUP_NAME_PATTERN "[a-zA-Z0-9](-*[a-zA-Z0-9])*"
#define GROUP_COUNT_MAX    6758 /* of the service */

struct taint {
	const char *key;
	const char *value;
	const char *effect;
};
extern const struct field taint_in[];

#define FIELD_GROUP_PATH(S, m)                                                           \
	FIELD(S, m, .flags = FIELD_REQUIRED | FIELD_PATH, .meant = meant_group_name,     \
	      .pattern = GROUP_NAME_PATTERN, .max = 63, .example = "\"gpu\"",            \
	      .doc = "Name of the instance group.")

/* What a group can be given when it is added and also later. */
#define FIELDS_GROUP_SOFT(S)                                                             \
	FIELD(S, min_count, .min = 0, .max = GROUP_COUNT_MAX,                            \
	      .doc = "Fewer than these are no use: after three hours AWS takes the "     \
		     "group back."),                                                     \
		FIELD_MAP_OF(S, labels, .max = 50, .keys = LABEL_KEY_PATTERN,            \
			     .pattern = LABEL_VALUE_PATTERN,                             \
			     .doc = "Kubernetes labels of its nodes."),                  \
		FIELD_STRUCT(S, taints, struct taint, taint_in, .flags = FIELD_MANY,     \
			     .max = 50, .doc = "Kubernetes taints of its nodes."),       \
		FIELD(S, deep_health_checks, .max = 2, .one_of = deep_health_checks,     \
		      .doc = "Run before a node takes work."),                           \
		FIELD(S, threads_per_core, .min = 1, .max = 2, .unit = "threads",        \
		      .doc = "1 or 2 threads per core."),                                \
		FIELD(S, execution_role_arn, .pattern = ARN_ROLE_PATTERN,                \
		      .doc = "Role of the nodes; that of another group, else ours."),    \
		FIELD(S, lifecycle_s3_uri, .pattern = "s3://sagemaker-.+", .max = 1000,  \
		      .normal = path_s3_uri,                                             \
		      .doc = "Folder of own lifecycle scripts; that of another group, "  \
			     "else ours."),                                              \
		FIELD(S, lifecycle_on_create, .min = 1, .max = 128, .normal = path_file, \
		      .doc = "File name of the own script."),                            \
		FIELD(S, image_release_version, .pattern = "[0-9]+\\.[0-9]+\\.[0-9]+",   \
		      .max = 64, .doc = "Release of the system image; the newest one.")

#define MEMBERS_GROUP_SOFT                                                               \
	int64_t min_count;                                                               \
	json_t *labels;                                                                  \
	struct field_list taints;                                                        \
	struct str_list deep_health_checks;                                              \
	int64_t threads_per_core;                                                        \
	const char *execution_role_arn;                                                  \
	const char *lifecycle_s3_uri;                                                    \
	const char *lifecycle_on_create;                                                 \
	const char *image_release_version;

extern const char *const deep_health_checks[];

#endif
