/* Objects of S3, in the order of their keys when listed; their versions: s3_version.c. */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/s3_ops.h"

enum { LIST_MAX = 1000 };

static json_t *objects_of(const json_t *bucket)
{
	return json_object_get(bucket, "_objects");
}

static json_t *body_or_empty(const json_t *body)
{
	return body ? json_deep_copy(body) : json_string("");
}

static size_t body_size(const json_t *body)
{
	const char *b64 = json_str_at(body, "$base64");
	size_t n = b64 ? strlen(b64) : 0;

	if (json_is_string(body))
		return json_string_length(body);
	return n / 4 * 3 - (n > 0 && b64[n - 1] == '=') - (n > 1 && b64[n - 2] == '=');
}

static const char *etag_of(struct arena *a, const json_t *body)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	struct buf b;
	const char *text =
		json_is_string(body) ? json_string_value(body) : json_text(a, body);

	EVP_Digest(text, json_is_string(body) ? json_string_length(body) : strlen(text),
		   md, &len, EVP_md5(), NULL);
	buf_init(&b, a, 64);
	buf_addc(&b, '"');
	for (unsigned i = 0; i < len; i++)
		buf_printf(&b, "%02x", md[i]);
	buf_addc(&b, '"');
	return buf_cstr(&b);
}

static bool precondition(struct cloud_call *call, const json_t *old)
{
	const char *match = json_str_at(call->in, "IfMatch");

	if ((streq(json_str_at(call->in, "IfNoneMatch"), "*") && old) ||
	    (match && !streq(match, json_str_at(old, "ETag")))) {
		call->fault_status = 412;
		return cloud_fault(
			call, "PreconditionFailed",
			"At least one of the pre-conditions you specified did not "
			"hold");
	}
	return true;
}

bool s3_put_object(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);
	const char *key = json_str_at(call->in, "Key");
	json_t *old = json_object_get(objects_of(bucket), key);
	json_t *body = body_or_empty(json_object_get(call->in, "Body"));

	json_own(call->arena, body);
	if (!bucket || !precondition(call, old))
		return false;
	json_t *object =
		json_pack("{s:O, s:s, s:o, s:I, s:s, s:I}", "Body", body, "ETag",
			  etag_of(call->arena, body), "LastModified",
			  cloud_seconds(call->now_ms / 1000 * 1000), "ContentLength",
			  (json_int_t)body_size(body), "ContentType",
			  json_str_or(call->in, "ContentType", "binary/octet-stream"),
			  "_created_ms", (json_int_t)call->now_ms);

	json_object_set(object, "Metadata", json_object_get(call->in, "Metadata"));
	/* The same object once more, as after a lost answer, is no change. */
	if (!old || !streq(json_str_at(old, "ETag"), json_str_at(object, "ETag")))
		cloud_effect(call->cloud, "s3.object", key, old ? "update" : "create");
	json_put_str(object, "VersionId", s3_new_version(call, bucket));
	s3_lock_object(call, bucket, object);
	s3_set_aside(bucket, key);
	json_object_set_new(objects_of(bucket), key, object);
	*ret_out =
		json_packf(call->arena, "{s:s, s:s}", "ETag", json_str_at(object, "ETag"),
			   "ServerSideEncryption", "AES256");
	return true;
}

static json_t *object_of(struct cloud_call *call)
{
	json_t *bucket = s3_bucket(call);
	const char *key = json_str_at(call->in, "Key");
	json_t *object = s3_version(bucket, key, json_str_at(call->in, "VersionId"));

	if (bucket && json_at(object, "_marker")) {
		call->fault_status = 405;
		cloud_fault(call, "MethodNotAllowed",
			    "The specified method is not allowed against this resource.");
		return NULL;
	}
	if (bucket && !object) {
		s3_missing(call, "NoSuchKey", "The specified key does not exist.");
		call->fault_members = json_packf(call->arena, "{s:s}", "Key", key);
	}
	return object;
}

static json_t *head_of(struct cloud_call *call, const json_t *object)
{
	static const char *const members[] = {"ETag",
					      "LastModified",
					      "ContentLength",
					      "ContentType",
					      "Metadata",
					      "ObjectLockMode",
					      "ObjectLockRetainUntilDate",
					      "ObjectLockLegalHoldStatus"};
	json_t *out = json_new_object(call->arena);

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		json_t *value = json_object_get(object, members[i]);

		if (value)
			json_object_set(out, members[i], value);
	}
	json_put_str(out, "AcceptRanges", "bytes");
	json_put_str(out, "ServerSideEncryption", "AES256");
	return out;
}

/* "bytes=0-99" of a text; other objects are given whole. */
static void apply_range(struct cloud_call *call, json_t *out)
{
	const char *range = json_str_at(call->in, "Range");
	json_t *body = json_object_get(out, "Body");
	size_t n = json_string_length(body), from, to;
	char *end;

	if (!range || !json_is_string(body) || !str_starts(range, "bytes="))
		return;
	from = strtoul(range + strlen("bytes="), &end, 10);
	to = end[0] == '-' && end[1] ? strtoul(end + 1, NULL, 10) : n;
	if (from >= n)
		return;
	if (to >= n)
		to = n - 1;
	json_t *part = json_stringn(json_string_value(body) + from, to - from + 1);

	if (!part)
		return;
	json_object_set_new(out, "Body", part);
	json_put_int(out, "ContentLength", (int64_t)(to - from + 1));
	json_put_str(out, "ContentRange",
		     arena_printf(call->arena, "bytes %zu-%zu/%zu", from, to, n));
}

bool s3_get_object(struct cloud_call *call, json_t **ret_out)
{
	json_t *object = object_of(call);

	if (!object)
		return false;
	*ret_out = head_of(call, object);
	json_object_set(*ret_out, "Body", json_object_get(object, "Body"));
	apply_range(call, *ret_out);
	return true;
}

bool s3_head_object(struct cloud_call *call, json_t **ret_out)
{
	json_t *object = object_of(call);

	if (object)
		*ret_out = head_of(call, object);
	return object;
}

static bool refuse_locked(struct cloud_call *call)
{
	call->fault_status = 403;
	return cloud_fault(call, "AccessDenied",
			   "Access Denied because object protected by object lock.");
}

/* A key that is not there is deleted just as well: 204. */
bool s3_delete_object(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);

	(void)ret_out;
	if (!bucket)
		return false;
	if (s3_delete_version(call, bucket, json_str_at(call->in, "Key"),
			      json_str_at(call->in, "VersionId")))
		return refuse_locked(call);
	return true;
}

bool s3_delete_objects(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call), *done = json_new_list(call->arena), *one;
	json_t *errors = json_new_list(call->arena);
	size_t i;

	if (!bucket)
		return false;
	json_array_foreach(json_at(call->in, "Delete.Objects"), i, one) {
		const char *key = json_str_at(one, "Key");
		const char *id = json_str_at(one, "VersionId");
		const char *code = s3_delete_version(call, bucket, key, id);

		if (code)
			json_array_append_new(
				errors,
				json_pack("{s:s, s:s*, s:s, s:s}", "Key", key,
					  "VersionId", id, "Code", code, "Message",
					  "Access Denied because object protected by "
					  "object lock."));
		else
			json_array_append_new(done, json_pack("{s:s, s:s*}", "Key", key,
							      "VersionId", id));
	}
	*ret_out = json_packf(call->arena, "{s:O, s:O}", "Deleted",
			      json_bool_or(call->in, "Delete.Quiet", false)
				      ? json_new_list(call->arena)
				      : done,
			      "Errors", errors);
	return true;
}

/* --- listing --------------------------------------------------------------------- */

static int by_key(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Keys that are listed already, sorted. */
static size_t sorted_keys(struct cloud_call *call, const json_t *bucket,
			  const char *prefix, const char ***ret)
{
	json_t *objects = objects_of(bucket), *object;
	const char *key;
	size_t n = 0;

	*ret = arena_array(call->arena, const char *, json_object_size(objects) + 1);
	json_object_foreach(objects, key, object)
		if (cloud_listed(call->cloud, object) && str_starts(key, prefix))
			(*ret)[n++] = key;
	qsort(*ret, n, sizeof(**ret), by_key);
	return n;
}

/* Lists come percent-encoded when EncodingType asks for it. */
static const char *spell(struct cloud_call *call, const char *text)
{
	struct buf b;

	if (!streq(json_str_at(call->in, "EncodingType"), "url"))
		return text;
	buf_init(&b, call->arena, 8192);
	percent_encode(&b, text, true);
	return buf_cstr(&b);
}

struct listing {
	json_t *contents, *prefixes;
	const char *last_prefix, *last_key;
	int64_t count;
	bool truncated;
};

static void list_key(struct cloud_call *call, struct listing *l, const json_t *bucket,
		     const char *key, int64_t max)
{
	const char *prefix = json_str_or(call->in, "Prefix", "");
	const char *delimiter = json_str_at(call->in, "Delimiter");
	const char *cut = delimiter ? strstr(key + strlen(prefix), delimiter) : NULL;
	const char *common = cut ? arena_strndup(call->arena, key,
						 (size_t)(cut - key) + strlen(delimiter))
				 : NULL;

	if (common && streq(common, l->last_prefix)) {
		l->last_key = key;
		return;
	}
	if (l->count >= max) {
		l->truncated = true;
		return;
	}
	l->count++;
	l->last_key = key;
	if (common) {
		l->last_prefix = common;
		json_array_append_new(l->prefixes,
				      json_pack("{s:s}", "Prefix", spell(call, common)));
		return;
	}
	const json_t *o = json_object_get(objects_of(bucket), key);

	json_array_append_new(l->contents,
			      json_pack("{s:s, s:O, s:O, s:O, s:s}", "Key",
					spell(call, key), "LastModified",
					json_object_get(o, "LastModified"), "ETag",
					json_object_get(o, "ETag"), "Size",
					json_object_get(o, "ContentLength"),
					"StorageClass", "STANDARD"));
}

bool s3_list_objects(struct cloud_call *call, json_t **ret_out)
{
	json_t *bucket = s3_bucket(call);
	const char *prefix = json_str_or(call->in, "Prefix", "");
	const char *token = json_str_at(call->in, "ContinuationToken"), **keys;
	const char *after = token ? token : json_str_or(call->in, "StartAfter", "");
	int64_t max = json_int_or(call->in, "MaxKeys", LIST_MAX);
	struct listing l = {json_new_list(call->arena),
			    json_new_list(call->arena),
			    NULL,
			    NULL,
			    0,
			    false};

	if (!bucket)
		return false;
	if (max > LIST_MAX)
		max = LIST_MAX;
	size_t n = sorted_keys(call, bucket, prefix, &keys);

	for (size_t i = 0; i < n && !l.truncated; i++)
		if (strcmp(keys[i], after) > 0)
			list_key(call, &l, bucket, keys[i], max);
	*ret_out = json_packf(
		call->arena, "{s:O, s:O, s:s, s:s, s:I, s:I, s:b, s:s*, s:s*, s:s*}",
		"Contents", l.contents, "CommonPrefixes", l.prefixes, "Name",
		json_str_at(call->in, "Bucket"), "Prefix", spell(call, prefix), "MaxKeys",
		(json_int_t)max, "KeyCount", (json_int_t)l.count, "IsTruncated",
		l.truncated, "NextContinuationToken", l.truncated ? l.last_key : NULL,
		"Delimiter", json_str_at(call->in, "Delimiter"), "EncodingType",
		json_str_at(call->in, "EncodingType"));
	return true;
}

/* --- for other services ------------------------------------------------------------ */

const char *s3_object_text(struct cloud *c, const char *bucket, const char *key)
{
	const json_t *o =
		json_object_get(objects_of(cloud_get(c, "s3.bucket", bucket)), key);

	return json_string_value(json_object_get(o, "Body"));
}

bool s3_has_prefix(struct cloud *c, const char *bucket, const char *prefix)
{
	json_t *objects = objects_of(cloud_get(c, "s3.bucket", bucket)), *o;
	const char *key;

	json_object_foreach(objects, key, o)
		if (str_starts(key, prefix))
			return true;
	return false;
}

bool s3_parse_uri(struct arena *a, const char *uri, const char **ret_bucket,
		  const char **ret_key)
{
	static const char scheme[] = "s3://";

	if (!uri || !str_starts(uri, scheme))
		return false;
	struct str rest = str_of(uri + strlen(scheme));

	*ret_bucket = str_dup(a, str_cut(&rest, '/'));
	*ret_key = rest.p ? str_dup(a, rest) : "";
	return **ret_bucket;
}
