/* S3 buckets. https://docs.aws.amazon.com/AmazonS3/latest/API/ */
#include "tests/cloud/s3.h"

#include <ctype.h>
#include <string.h>

#include "tests/cloud/quotas.h"
#include "tests/cloud/s3_ops.h"

bool s3_missing(struct cloud_call *call, const char *code, const char *message)
{
	call->fault_status = 404;
	return cloud_fault(call, code, "%s", message);
}

static bool is_listed(struct cloud_call *call, const char *setting, const char *name)
{
	size_t i;
	json_t *one;

	json_array_foreach(json_at(cloud_settings(call->cloud), setting), i, one)
		if (streq(json_string_value(one), name))
			return true;
	return false;
}

static const char *region_set(struct cloud_call *call, const char *name)
{
	return json_string_value(json_object_get(
		json_at(cloud_settings(call->cloud), "bucket_regions"), name));
}

/*
 * A regional endpoint answers for a bucket of another region with where it is.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/Redirects.html
 */
static bool is_elsewhere(struct cloud_call *call, const char *name)
{
	const char *region = region_set(call, name);

	if (!region || streq(region, cloud_opts(call->cloud)->region))
		return false;
	call->bucket_region = region;
	call->fault_status = 301;
	cloud_fault(call, "PermanentRedirect",
		    "The bucket you are attempting to access must be addressed using "
		    "the specified endpoint.");
	return true;
}

json_t *s3_bucket(struct cloud_call *call)
{
	const char *name = json_str_at(call->in, "Bucket");
	const char *owner = json_str_at(call->in, "ExpectedBucketOwner");
	json_t *bucket = cloud_get(call->cloud, "s3.bucket", name);

	if (is_elsewhere(call, name))
		return NULL;
	if (!bucket && !is_listed(call, "foreign_buckets", name)) {
		s3_missing(call, "NoSuchBucket", "The specified bucket does not exist");
		call->fault_members =
			json_packf(call->arena, "{s:s}", "BucketName", name);
		return NULL;
	}
	if (!bucket || json_object_get(bucket, "_foreign") ||
	    (owner && !streq(owner, cloud_opts(call->cloud)->account))) {
		call->fault_status = 403;
		call->bucket_region = cloud_opts(call->cloud)->region;
		cloud_fault(call, "AccessDenied", "Access Denied");
		return NULL;
	}
	return bucket;
}

/* https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
static bool good_name(const char *name)
{
	size_t n = strlen(name);

	if (n < 3 || n > 63 || strstr(name, "..") || str_starts(name, "xn--") ||
	    strspn(name, "0123456789.") == n)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool edge = i == 0 || i == n - 1;
		char ch = name[i];

		if (!islower((unsigned char)ch) && !isdigit((unsigned char)ch) &&
		    (edge || (ch != '-' && ch != '.')))
			return false;
	}
	return true;
}

static bool check_location(struct cloud_call *call)
{
	const char *region = cloud_opts(call->cloud)->region;
	const char *want =
		json_str_at(call->in, "CreateBucketConfiguration.LocationConstraint");
	bool east = streq(region, "us-east-1");

	if (east && want)
		return cloud_fault(call, "InvalidLocationConstraint",
				   "The specified location-constraint is not valid");
	if (!east && !streq(want, region))
		return cloud_fault(
			call, "IllegalLocationConstraintException",
			"The %s location constraint is incompatible for the region "
			"specific endpoint this request was sent to.",
			want ? want : "unspecified");
	return true;
}

static bool create_bucket(struct cloud_call *call, json_t **ret_out)
{
	const char *name = json_str_at(call->in, "Bucket");
	json_t *old = cloud_get(call->cloud, "s3.bucket", name);

	if (!good_name(name))
		return cloud_fault(call, "InvalidBucketName",
				   "The specified bucket is not valid.");
	if (!check_location(call))
		return false;
	if (is_listed(call, "foreign_buckets", name) || region_set(call, name))
		return cloud_fault(call, "BucketAlreadyExists",
				   "The requested bucket name is not available. The "
				   "bucket namespace is shared by all users of the "
				   "system. Please select a different name and try "
				   "again.");
	if (old && !streq(cloud_opts(call->cloud)->region, "us-east-1"))
		return cloud_fault(call, "BucketAlreadyOwnedByYou",
				   "Your previous request to create the named bucket "
				   "succeeded and you already own it.");
	if (!old) {
		if (json_object_size(cloud_table(call->cloud, "s3.bucket")) >=
		    (size_t)quota_value(call->cloud, "s3", "L-DC2B2D3D"))
			return cloud_fault(
				call, "TooManyBuckets",
				"You have attempted to create more buckets than "
				"allowed");
		cloud_put(call->cloud, "s3.bucket", name,
			  json_pack("{s:o, s:{}, s:s, s:{s:b, s:b, s:b, s:b}}",
				    "CreationDate", cloud_seconds(call->now_ms),
				    "_objects", "_encryption", "AES256", "_public_block",
				    "BlockPublicAcls", 1, "IgnorePublicAcls", 1,
				    "BlockPublicPolicy", 1, "RestrictPublicBuckets", 1));
		if (json_bool_or(call->in, "ObjectLockEnabledForBucket", false)) {
			json_put_str(cloud_get(call->cloud, "s3.bucket", name),
				     "_versioning", "Enabled");
			json_put_str(cloud_get(call->cloud, "s3.bucket", name),
				     "_lock.ObjectLockEnabled", "Enabled");
		}
		cloud_effect(call->cloud, "s3.bucket", name, "create");
	}
	*ret_out = json_packf(call->arena, "{s:s}", "Location",
			      arena_printf(call->arena, "/%s", name));
	return true;
}

static bool head_bucket(struct cloud_call *call, json_t **ret_out)
{
	if (!s3_bucket(call))
		return false;
	*ret_out = json_packf(call->arena, "{s:s}", "BucketRegion",
			      cloud_opts(call->cloud)->region);
	return true;
}

static bool delete_bucket(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);
	const char *name = json_str_at(call->in, "Bucket");

	(void)ret_out;
	if (!bucket)
		return false;
	if (s3_holds_anything(bucket)) {
		call->fault_status = 409;
		return cloud_fault(call, "BucketNotEmpty",
				   "The bucket you tried to delete is not empty");
	}
	cloud_effect(call->cloud, "s3.bucket", name, "delete");
	cloud_delete(call->cloud, "s3.bucket", name);
	return true;
}

static bool list_buckets(struct cloud_call *call, json_t **ret_out)
{
	json_t *list = json_new_list(call->arena), *bucket;
	const char *prefix = json_str_or(call->in, "Prefix", ""), *name;

	json_object_foreach(cloud_table(call->cloud, "s3.bucket"), name, bucket)
		if (cloud_listed(call->cloud, bucket) && str_starts(name, prefix))
			json_array_append_new(
				list,
				json_pack("{s:s, s:O}", "Name", name, "CreationDate",
					  json_object_get(bucket, "CreationDate")));
	const char *next;
	json_t *page = cloud_page(call, list, json_str_at(call->in, "ContinuationToken"),
				  json_int_or(call->in, "MaxBuckets", 0), &next);

	if (!page)
		return cloud_fault(call, "InvalidArgument",
				   "The continuation token provided is incorrect");
	*ret_out = json_packf(call->arena, "{s:O, s:s*, s:{s:s}}", "Buckets", page,
			      "ContinuationToken", next, "Owner", "ID",
			      cloud_opts(call->cloud)->account);
	return true;
}

static bool get_location(struct cloud_call *call, json_t **ret_out)
{
	const char *region = cloud_opts(call->cloud)->region;

	if (!s3_bucket(call))
		return false;
	*ret_out = json_packf(call->arena, "{s:s*}", "LocationConstraint",
			      streq(region, "us-east-1") ? NULL : region);
	return true;
}

static bool changed(struct cloud_call *call)
{
	cloud_effect(call->cloud, "s3.bucket", json_str_at(call->in, "Bucket"), "update");
	return true;
}

/* Steals value. What is there already is no change. */
static bool put_member(struct cloud_call *call, json_t *bucket, const char *name,
		       json_t *value)
{
	const bool same = json_equal(json_object_get(bucket, name), value);

	json_object_set_new(bucket, name, value);
	return same || changed(call);
}

static bool put_tagging(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	(void)ret_out;
	if (!bucket)
		return false;
	return put_member(call, bucket, "_tags",
			  json_deep_copy(json_at(call->in, "Tagging.TagSet")));
}

static bool get_tagging(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);
	json_t *tags = json_object_get(bucket, "_tags");

	if (!bucket)
		return false;
	if (json_array_size(tags) == 0)
		return s3_missing(call, "NoSuchTagSet", "The TagSet does not exist");
	*ret_out = json_packf(call->arena, "{s:O}", "TagSet", tags);
	return true;
}

static bool delete_tagging(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	(void)ret_out;
	if (!bucket)
		return false;
	json_object_del(bucket, "_tags");
	return changed(call);
}

static bool put_public_block(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	(void)ret_out;
	if (!bucket)
		return false;
	return put_member(
		call, bucket, "_public_block",
		json_deep_copy(json_at(call->in, "PublicAccessBlockConfiguration")));
}

static bool get_public_block(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	if (!bucket)
		return false;
	if (!json_object_get(bucket, "_public_block"))
		return s3_missing(call, "NoSuchPublicAccessBlockConfiguration",
				  "The public access block configuration was not found");
	*ret_out = json_packf(call->arena, "{s:O}", "PublicAccessBlockConfiguration",
			      json_object_get(bucket, "_public_block"));
	return true;
}

static bool put_policy(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);
	const char *text = json_str_at(call->in, "Policy");
	struct err e;

	(void)ret_out;
	if (!bucket)
		return false;
	if (!text || !json_at(json_parse(call->arena, str_of(text), &e), "Statement"))
		return cloud_fault(call, "MalformedPolicy",
				   "Policies must be valid JSON and the first byte must "
				   "be '{'");
	return put_member(call, bucket, "_policy", json_string(text));
}

static bool get_policy(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	if (!bucket)
		return false;
	if (!json_object_get(bucket, "_policy"))
		return s3_missing(call, "NoSuchBucketPolicy",
				  "The bucket policy does not exist");
	*ret_out = json_packf(call->arena, "{s:O}", "Policy",
			      json_object_get(bucket, "_policy"));
	return true;
}

static bool put_encryption(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	(void)ret_out;
	if (!bucket)
		return false;
	json_object_set_new(
		bucket, "_encryption_rules",
		json_deep_copy(json_at(call->in, "ServerSideEncryptionConfiguration")));
	return changed(call);
}

static bool get_encryption(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);
	json_t *rules = json_object_get(bucket, "_encryption_rules");

	if (!bucket)
		return false;
	if (!rules)
		rules = json_packf(call->arena, "{s:[{s:{s:s}, s:b}]}", "Rules",
				   "ApplyServerSideEncryptionByDefault", "SSEAlgorithm",
				   "AES256", "BucketKeyEnabled", 0);
	*ret_out = json_packf(call->arena, "{s:O}", "ServerSideEncryptionConfiguration",
			      rules);
	return true;
}

static bool put_versioning(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	(void)ret_out;
	if (!bucket)
		return false;
	json_put_str(bucket, "_versioning",
		     json_str_at(call->in, "VersioningConfiguration.Status"));
	return changed(call);
}

static bool get_versioning(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	if (!bucket)
		return false;
	*ret_out = json_packf(call->arena, "{s:s*}", "Status",
			      json_str_at(bucket, "_versioning"));
	return true;
}

bool s3_has_bucket(struct cloud *c, const char *bucket)
{
	return cloud_get(c, "s3.bucket", bucket);
}

static const struct cloud_op ops[] = {
	{"CreateBucket", true, create_bucket},
	{"HeadBucket", false, head_bucket},
	{"DeleteBucket", true, delete_bucket},
	{"ListBuckets", false, list_buckets},
	{"GetBucketLocation", false, get_location},
	{"PutBucketTagging", true, put_tagging},
	{"GetBucketTagging", false, get_tagging},
	{"DeleteBucketTagging", true, delete_tagging},
	{"PutPublicAccessBlock", true, put_public_block},
	{"GetPublicAccessBlock", false, get_public_block},
	{"PutBucketPolicy", true, put_policy},
	{"GetBucketPolicy", false, get_policy},
	{"PutBucketEncryption", true, put_encryption},
	{"GetBucketEncryption", false, get_encryption},
	{"PutBucketVersioning", true, put_versioning},
	{"GetBucketVersioning", false, get_versioning},
	{"PutObject", true, s3_put_object},
	{"GetObject", false, s3_get_object},
	{"HeadObject", false, s3_head_object},
	{"DeleteObject", true, s3_delete_object},
	{"DeleteObjects", true, s3_delete_objects},
	{"ListObjectsV2", false, s3_list_objects},
	{"ListObjectVersions", false, s3_list_versions},
	{"PutObjectLockConfiguration", true, s3_put_lock},
	{"GetObjectLockConfiguration", false, s3_get_lock},
	{"CreateMultipartUpload", true, s3_begin_upload},
	{"ListMultipartUploads", false, s3_list_uploads},
	{"AbortMultipartUpload", true, s3_abort_upload},
	{NULL, false, NULL},
};

const struct cloud_service cloud_s3 = {"s3", ops, NULL};
