/*
 * s3.h - buckets and their objects, for the services that read them.
 *
 * Objects are texts, or {"$base64": …} when they are not UTF-8 (cloud.h).
 */
#ifndef INSTANTSTART_TESTS_CLOUD_S3_H
#define INSTANTSTART_TESTS_CLOUD_S3_H

#include "core/json/tree.h"
#include "tests/cloud/cloud.h"

bool s3_has_bucket(struct cloud *c, const char *bucket);
/* Its text, or NULL: no such bucket or key, or not a text. Borrowed. */
const char *s3_object_text(struct cloud *c, const char *bucket, const char *key);
/* Whether any key begins with this prefix. */
bool s3_has_prefix(struct cloud *c, const char *bucket, const char *prefix);
/* "s3://bucket/key" taken apart; key may be "". */
bool s3_parse_uri(struct arena *a, const char *uri, const char **ret_bucket,
		  const char **ret_key);

#endif
