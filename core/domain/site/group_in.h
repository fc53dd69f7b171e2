/*
 * group_in.h - inputs of instance groups: of the first, which a cluster is created with,
 * of those that are added, and of changes.
 */
#ifndef INSTANTSTART_DOMAIN_SITE_GROUP_IN_H
#define INSTANTSTART_DOMAIN_SITE_GROUP_IN_H

#include "core/domain/site/cluster_in.h"

#define GROUP_COUNT_MAX 6758 /* of the service */

struct taint {
	const char *key;
	const char *value;
	const char *effect;
};
extern const struct field taint_in[];
extern const char *const taint_unique[]; /* a node has each key and effect once */

#define FIELD_GROUP_PATH(S, m)                                                           \
	FIELD(S, m, .flags = FIELD_REQUIRED | FIELD_PATH, .meant = meant_group_name,     \
	      .pattern = GROUP_NAME_PATTERN, .max = 63, .example = "\"gpu\"",            \
	      .doc = "Name of the instance group.")

/* What every group can be given when it is made, and also later. */
#define FIELDS_GROUP_SOFT(S)                                                             \
	FIELD(S, min_count, .min = 0, .max = GROUP_COUNT_MAX,                            \
	      .doc = "Minimum number of nodes. If not reached within three hours, AWS "  \
		     "deletes the group."),                                              \
		FIELD_MAP_OF(S, labels, .max = 50, .keys = LABEL_KEY_PATTERN,            \
			     .pattern = LABEL_VALUE_PATTERN,                             \
			     .doc = "Kubernetes labels of the nodes."),                  \
		FIELD_STRUCT(S, taints, struct taint, taint_in, .flags = FIELD_MANY,     \
			     .max = 50, .unique = taint_unique,                          \
			     .doc = "Kubernetes taints of the nodes."),                  \
		FIELD(S, deep_health_checks, .max = 2, .one_of = deep_health_checks,     \
		      .doc = "Checks to run before a node accepts work."),               \
		FIELD(S, threads_per_core, .min = 1, .max = 2, .unit = "threads",        \
		      .doc = "Threads per core."),                                       \
		FIELD(S, execution_role_arn, .pattern = ARN_ROLE_PATTERN,                \
		      .doc = "Role of the nodes. Default: that of another group, or a "  \
			     "new one."),                                                \
		FIELD(S, lifecycle_s3_uri, .pattern = "s3://sagemaker-.+", .max = 1000,  \
		      .normal = path_s3_uri,                                             \
		      .doc = "S3 folder of your lifecycle scripts. Default: that of "    \
			     "another group, or the standard scripts."),                 \
		FIELD(S, lifecycle_on_create, .min = 1, .max = 128, .normal = path_file, \
		      .doc = "File name of your lifecycle script."),                     \
		FIELD(S, image_release_version, .pattern = "[0-9]+\\.[0-9]+\\.[0-9]+",   \
		      .max = 64,                                                         \
		      .doc = "Release of the system image. Default: the "                \
			     "newest.")

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
