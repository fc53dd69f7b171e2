/* s3_ops.h - what the files of S3 share. */
#ifndef INSTANTSTART_TESTS_CLOUD_S3_OPS_H
#define INSTANTSTART_TESTS_CLOUD_S3_OPS_H

#include "tests/cloud/core.h"
#include "tests/cloud/s3.h"

/* Sets NoSuchBucket (404) or AccessDenied for another owner and returns NULL. */
json_t *s3_bucket(struct cloud_call *call);
bool s3_missing(struct cloud_call *call, const char *code, const char *message);

cloud_handler s3_put_object, s3_get_object, s3_head_object, s3_delete_object,
	s3_delete_objects, s3_list_objects, s3_list_versions;

#endif
