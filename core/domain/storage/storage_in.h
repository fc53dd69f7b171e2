/*
 * storage_in.h - what describes a storage in requests.
 */
#ifndef INSTANTSTART_DOMAIN_STORAGE_STORAGE_IN_H
#define INSTANTSTART_DOMAIN_STORAGE_STORAGE_IN_H

#include "core/domain/step/path.h"
#include "core/json/field.h"

/* As in Kubernetes; people of large directories have numbers beyond 65535. */
#define UID_MAX INT32_MAX

#define DNS_LABEL "[a-z0-9]([a-z0-9-]*[a-z0-9])?"

#define MEMBERS_STORAGE                                                                  \
	const char *name;                                                                \
	const char *namespace;                                                           \
	const char *bucket;                                                              \
	const char *prefix;                                                              \
	bool read_only;                                                                  \
	int64_t uid;                                                                     \
	int64_t gid;

#define FIELDS_STORAGE(S)                                                                \
	FIELD(S, name, .pattern = DNS_LABEL, .min = 1, .max = 40, .dflt = "\"data\"",    \
	      .doc = "Name of the storage and of its claim."),                           \
		FIELD(S, namespace, .pattern = DNS_LABEL, .min = 1, .max = 63,           \
		      .dflt = "\"default\"",                                             \
		      .doc = "Kubernetes namespace of the claim."),                      \
		FIELD(S, bucket, .pattern = "[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]",          \
		      .doc = "S3 bucket. Default: the shared bucket."),                  \
		FIELD(S, prefix, .pattern = "[" PATH_CHARS "]+", .max = 512,             \
		      .normal = path_prefix, .example = "\"models/\"",                   \
		      .doc = "Prefix of the bucket to mount. Default: the whole "        \
			     "bucket."),                                                 \
		FIELD(S, read_only, .doc = "Mount read-only."),                          \
		FIELD(S, uid, .min = -1, .max = UID_MAX, .dflt = "-1",                   \
		      .doc = "Owner of the files in pods. -1: root."),                   \
		FIELD(S, gid, .min = -1, .max = UID_MAX, .dflt = "-1",                   \
		      .doc = "Group of the files in pods. -1: root.")

/* The part of create_cluster that is about storage. */
struct storage_part {
	bool skip;
	MEMBERS_STORAGE
};
extern const struct field storage_part_in[];

#endif
