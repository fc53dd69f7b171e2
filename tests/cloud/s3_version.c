/*
 * Versions of objects, what locks them, and uploads that were begun.
 *
 * _objects holds the version that a plain read gets; _versions[key] the others, the
 * newest first, delete markers among them ("_marker"). A key whose newest entry is a
 * marker has no object.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/DeletingObjectVersions.html
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lock.html
 */
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/s3_ops.h"

enum { LIST_MAX = 1000 };

static json_t *child(json_t *bucket, const char *name)
{
	json_t *o = json_object_get(bucket, name);

	if (!o) {
		o = json_object();
		json_object_set_new(bucket, name, o);
	}
	return o;
}

static bool is_versioned(const json_t *bucket)
{
	return streq(json_str_at(bucket, "_versioning"), "Enabled");
}

const char *s3_new_version(struct cloud_call *call, const json_t *bucket)
{
	return is_versioned(bucket) ? cloud_id(call->cloud, call->arena, "", 32) : "null";
}

static json_t *others_of(json_t *bucket, const char *key)
{
	json_t *all = child(bucket, "_versions"), *list = json_object_get(all, key);

	if (!list) {
		list = json_array();
		json_object_set_new(all, key, list);
	}
	return list;
}

static void drop_empty(json_t *bucket, const char *key)
{
	json_t *all = json_object_get(bucket, "_versions");

	if (json_array_size(json_object_get(all, key)) == 0)
		json_object_del(all, key);
}

void s3_set_aside(json_t *bucket, const char *key)
{
	json_t *objects = json_object_get(bucket, "_objects");
	json_t *now = json_object_get(objects, key);

	if (now && !streq(json_str_or(now, "VersionId", "null"), "null"))
		json_array_insert(others_of(bucket, key), 0, now);
	else if (now && is_versioned(bucket))
		json_array_insert(others_of(bucket, key), 0, now);
	json_object_del(objects, key);
}

/* --- locks ---------------------------------------------------------------------------
 */

/* By the bucket's rule, or as the request says. */
void s3_lock_object(struct cloud_call *call, const json_t *bucket, json_t *object)
{
	const json_t *rule = json_at(bucket, "_lock.Rule.DefaultRetention");
	const char *mode = json_str_at(call->in, "ObjectLockMode");
	json_t *until = json_object_get(call->in, "ObjectLockRetainUntilDate");

	if (mode && until) {
		json_put_str(object, "ObjectLockMode", mode);
		json_object_set(object, "ObjectLockRetainUntilDate", until);
	} else if (rule) {
		const int64_t days = json_int_or(rule, "Days", 0) +
				     365 * json_int_or(rule, "Years", 0);

		json_put_str(object, "ObjectLockMode", json_str_at(rule, "Mode"));
		json_object_set_new(object, "ObjectLockRetainUntilDate",
				    cloud_seconds(call->now_ms / 1000 * 1000 +
						  days * 24 * 3600 * 1000));
	}
	if (json_object_get(call->in, "ObjectLockLegalHoldStatus"))
		json_object_set(object, "ObjectLockLegalHoldStatus",
				json_object_get(call->in, "ObjectLockLegalHoldStatus"));
}

static bool is_held(struct cloud_call *call, const json_t *version)
{
	return json_num_or(version, "ObjectLockRetainUntilDate", 0) * 1000 >
		       (double)call->now_ms ||
	       streq(json_str_at(version, "ObjectLockLegalHoldStatus"), "ON");
}

bool s3_put_lock(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	(void)ret_out;
	if (!bucket)
		return false;
	if (!is_versioned(bucket)) {
		call->fault_status = 409;
		return cloud_fault(
			call, "InvalidBucketState",
			"Versioning must be 'Enabled' on the bucket to apply a "
			"Object Lock configuration");
	}
	json_object_set_new(bucket, "_lock",
			    json_deep_copy(json_at(call->in, "ObjectLockConfiguration")));
	cloud_effect(call->cloud, "s3.bucket", json_str_at(call->in, "Bucket"), "update");
	return true;
}

bool s3_get_lock(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	if (!bucket)
		return false;
	if (!json_object_get(bucket, "_lock"))
		return s3_missing(call, "ObjectLockConfigurationNotFoundError",
				  "Object Lock configuration does not exist for this "
				  "bucket");
	*ret_out = json_packf(call->arena, "{s:O}", "ObjectLockConfiguration",
			      json_object_get(bucket, "_lock"));
	return true;
}

/* --- one version ---------------------------------------------------------------------
 */

json_t *s3_version(json_t *bucket, const char *key, const char *id)
{
	json_t *now = json_object_get(json_object_get(bucket, "_objects"), key), *v;
	size_t i;

	if (!id || (now && streq(json_str_or(now, "VersionId", "null"), id)))
		return now;
	json_array_foreach(json_object_get(json_object_get(bucket, "_versions"), key), i,
			   v)
		if (streq(json_str_at(v, "VersionId"), id))
			return v;
	return NULL;
}

/* The newest of the others is what a read gets, unless it is a marker. */
static void promote(json_t *bucket, const char *key)
{
	json_t *list = json_object_get(json_object_get(bucket, "_versions"), key);
	json_t *first = json_array_get(list, 0);

	if (!first || json_at(first, "_marker") ||
	    json_object_get(json_object_get(bucket, "_objects"), key))
		return;
	json_object_set(json_object_get(bucket, "_objects"), key, first);
	json_array_remove(list, 0);
}

static void remove_version(json_t *bucket, const char *key, const char *id)
{
	json_t *objects = json_object_get(bucket, "_objects");
	json_t *list = json_object_get(json_object_get(bucket, "_versions"), key), *v;
	size_t i;

	if (streq(json_str_or(json_object_get(objects, key), "VersionId", "null"), id) &&
	    json_object_get(objects, key)) {
		json_object_del(objects, key);
	} else {
		json_array_foreach(list, i, v)
			if (streq(json_str_at(v, "VersionId"), id)) {
				json_array_remove(list, i);
				break;
			}
	}
	promote(bucket, key);
	drop_empty(bucket, key);
}

static void mark_deleted(struct cloud_call *call, json_t *bucket, const char *key)
{
	s3_set_aside(bucket, key);
	json_array_insert_new(others_of(bucket, key), 0,
			      json_pack("{s:s, s:o, s:b}", "VersionId",
					s3_new_version(call, bucket), "LastModified",
					cloud_seconds(call->now_ms / 1000 * 1000),
					"_marker", 1));
	cloud_effect(call->cloud, "s3.object", key, "delete");
}

/* NULL: it is gone, or was not there: both are 204. Else the refusal's code. */
const char *s3_delete_version(struct cloud_call *call, json_t *bucket, const char *key,
			      const char *id)
{
	json_t *there = s3_version(bucket, key, id);

	if (!id && json_str_at(bucket, "_versioning")) {
		mark_deleted(call, bucket, key);
		return NULL;
	}
	if (!there)
		return NULL;
	if (is_held(call, there))
		return "AccessDenied";
	remove_version(bucket, key, id ? id : "null");
	cloud_effect(call->cloud, "s3.object", key, "delete");
	return NULL;
}

bool s3_holds_anything(const json_t *bucket)
{
	return json_object_size(json_object_get(bucket, "_objects")) > 0 ||
	       json_object_size(json_object_get(bucket, "_versions")) > 0 ||
	       json_object_size(json_object_get(bucket, "_uploads")) > 0;
}

/* --- all versions --------------------------------------------------------------------
 */

struct page {
	json_t *versions, *markers;
	const char *key_marker, *id_marker, *last_key, *last_id;
	int64_t max;
	bool truncated, passed;
};

static int by_key(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static void list_one(struct page *p, const char *key, json_t *v, bool latest)
{
	const char *id = json_str_or(v, "VersionId", "null");
	const bool marker = json_at(v, "_marker");
	json_t *row;

	/* Behind the markers: of the marker's key only what is older. */
	if (!p->passed) {
		p->passed = strcmp(key, p->key_marker) > 0;
		if (!p->passed) {
			p->passed = p->id_marker && streq(id, p->id_marker) &&
				    streq(key, p->key_marker);
			return;
		}
	}
	if ((int64_t)(json_array_size(p->versions) + json_array_size(p->markers)) >=
	    p->max) {
		p->truncated = true;
		return;
	}
	row = json_pack("{s:s, s:s, s:b, s:O}", "Key", key, "VersionId", id, "IsLatest",
			latest, "LastModified", json_object_get(v, "LastModified"));
	if (!marker) {
		json_object_set(row, "ETag", json_object_get(v, "ETag"));
		json_object_set(row, "Size", json_object_get(v, "ContentLength"));
	}
	json_array_append_new(marker ? p->markers : p->versions, row);
	p->last_key = key;
	p->last_id = id;
}

static void list_key(struct page *p, json_t *bucket, const char *key)
{
	json_t *now = json_object_get(json_object_get(bucket, "_objects"), key), *v;
	size_t i;

	if (now)
		list_one(p, key, now, true);
	json_array_foreach(json_object_get(json_object_get(bucket, "_versions"), key), i,
			   v)
		if (!p->truncated)
			list_one(p, key, v, !now && i == 0);
}

/* Of both tables, sorted, each once; markers and all. */
static size_t all_keys(struct cloud_call *call, json_t *bucket, const char ***ret)
{
	const char *prefix = json_str_or(call->in, "Prefix", ""), *key;
	json_t *objects = json_object_get(bucket, "_objects"), *v;
	json_t *versions = child(bucket, "_versions");
	size_t n = 0;

	*ret = arena_array(call->arena, const char *,
			   json_object_size(objects) + json_object_size(versions) + 1);
	json_object_foreach(objects, key, v)
		if (str_starts(key, prefix))
			(*ret)[n++] = key;
	json_object_foreach(versions, key, v)
		if (str_starts(key, prefix) && !json_object_get(objects, key))
			(*ret)[n++] = key;
	qsort(*ret, n, sizeof(**ret), by_key);
	return n;
}

bool s3_list_versions(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);
	const char *key_marker = json_str_at(call->in, "KeyMarker"), **keys;
	struct page p = {.versions = json_new_list(call->arena),
			 .markers = json_new_list(call->arena),
			 .key_marker = key_marker ? key_marker : "",
			 .id_marker = json_str_at(call->in, "VersionIdMarker"),
			 .passed = !key_marker,
			 .max = json_int_or(call->in, "MaxKeys", LIST_MAX)};

	if (!bucket)
		return false;
	if (p.id_marker && !key_marker)
		return cloud_fault(call, "InvalidArgument",
				   "A version-id marker cannot be specified without a "
				   "key marker.");
	if (p.max > LIST_MAX)
		p.max = LIST_MAX;
	size_t n = all_keys(call, bucket, &keys);

	for (size_t i = 0; i < n && !p.truncated; i++)
		list_key(&p, bucket, keys[i]);
	*ret_out = json_packf(
		call->arena, "{s:O, s:O, s:b, s:s, s:I, s:s*, s:s*}", "Versions",
		p.versions, "DeleteMarkers", p.markers, "IsTruncated", p.truncated,
		"Name", json_str_at(call->in, "Bucket"), "MaxKeys", (json_int_t)p.max,
		"NextKeyMarker", p.truncated ? p.last_key : NULL, "NextVersionIdMarker",
		p.truncated ? p.last_id : NULL);
	return true;
}

/* --- uploads -------------------------------------------------------------------------
 */

bool s3_begin_upload(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);
	const char *key = json_str_at(call->in, "Key"), *id;

	if (!bucket)
		return false;
	id = cloud_id(call->cloud, call->arena, "", 32);
	json_object_set_new(child(bucket, "_uploads"), id,
			    json_pack("{s:s, s:s, s:o}", "Key", key, "UploadId", id,
				      "Initiated",
				      cloud_seconds(call->now_ms / 1000 * 1000)));
	cloud_effect(call->cloud, "s3.upload", id, "create");
	*ret_out =
		json_packf(call->arena, "{s:s, s:s, s:s}", "Bucket",
			   json_str_at(call->in, "Bucket"), "Key", key, "UploadId", id);
	return true;
}

bool s3_list_uploads(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call), *list = json_new_list(call->arena), *u;
	const char *prefix = json_str_or(call->in, "Prefix", ""), *id;

	if (!bucket)
		return false;
	json_object_foreach(child(bucket, "_uploads"), id, u)
		if (str_starts(json_str_or(u, "Key", ""), prefix))
			json_array_append(list, u);
	*ret_out =
		json_packf(call->arena, "{s:O, s:b, s:s}", "Uploads", list, "IsTruncated",
			   0, "Bucket", json_str_at(call->in, "Bucket"));
	return true;
}

bool s3_abort_upload(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);
	const char *id = json_str_at(call->in, "UploadId");

	(void)ret_out;
	if (!bucket)
		return false;
	if (json_object_del(json_object_get(bucket, "_uploads"), id) != 0)
		return s3_missing(call, "NoSuchUpload",
				  "The specified upload does not exist. The upload ID "
				  "may be invalid, or the upload may have been aborted "
				  "or completed.");
	cloud_effect(call->cloud, "s3.upload", id, "delete");
	return true;
}
