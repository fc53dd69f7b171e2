/* s3_ops.h - what the files of S3 share. */
#ifndef INSTANTSTART_TESTS_CLOUD_S3_OPS_H
#define INSTANTSTART_TESTS_CLOUD_S3_OPS_H

#include "tests/cloud/core.h"
#include "tests/cloud/s3.h"

/* Sets NoSuchBucket (404) or AccessDenied for another owner and returns NULL. */
json_t *s3_bucket(struct cloud_call *call);
bool s3_missing(struct cloud_call *call, const char *code, const char *message);

/* --- s3_version.c --- */
const char *s3_new_version(struct cloud_call *call, const json_t *bucket);
/* What a plain read got becomes an older version, or goes where there are none. */
void s3_set_aside(json_t *bucket, const char *key);
void s3_lock_object(struct cloud_call *call, const json_t *bucket, json_t *object);
/* id NULL: what a plain read gets. A delete marker has "_marker". */
json_t *s3_version(json_t *bucket, const char *key, const char *id);
const char *s3_delete_version(struct cloud_call *call, json_t *bucket, const char *key,
			      const char *id);
bool s3_holds_anything(const json_t *bucket);

cloud_handler s3_put_lock, s3_get_lock, s3_begin_upload, s3_list_uploads, s3_abort_upload;
cloud_handler s3_put_object, s3_get_object, s3_head_object, s3_delete_object,
	s3_delete_objects, s3_list_objects, s3_list_versions;

#endif
