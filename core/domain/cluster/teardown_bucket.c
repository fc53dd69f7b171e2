/*
 * teardown_bucket.c - our objects in the shared bucket, and the bucket when it is empty.
 *
 * The bucket is shared by the clusters of an account and region. What lies under
 * clusters/OTHER/ is another cluster's and is never touched. What lies elsewhere is the
 * user's: it goes only with the bucket's name in delete_buckets and the plan's word for
 * what is in it (teardown_contents.c). Versions and markers go by the thousand; what is
 * left is listed anew each time, so that a removal that was stopped goes on where it was.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
 */
#include <string.h>

#include "core/domain/cluster/teardown.h"
#include "core/domain/hyperpod/bucket_keys.h"
#include "core/domain/step/absent.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static json_t *by_bucket(struct step_ctx *c)
{
	return json_packf(c->arena, "{s:s}", "Bucket", name_bucket(c));
}

/* --- objects: every version ----------------------------------------------------------
 */

static json_t *going(struct step_ctx *c)
{
	return bucket_versions(c, saw(c, "objects"), false);
}

bool teardown_objects_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in = bucket_list_request(c);

	json_put_str(in, "KeyMarker", json_str_at(c->data, "objects_after.key"));
	json_put_str(in, "VersionIdMarker", json_str_at(c->data, "objects_after.id"));
	if (read_aws(c, x, "objects", AWS_S3_ListObjectVersions, in))
		return true;
	return bucket_is_given_up(c) && saw_ok(c, "objects") &&
	       json_array_size(going(c)) == 0 &&
	       !json_bool_or(saw(c, "objects"), "IsTruncated", false) &&
	       read_all(c, x, "uploads", AWS_S3_ListMultipartUploads, by_bucket(c));
}

static const char *greater(const char *a, const char *b)
{
	return !a || (b && strcmp(b, a) > 0) ? b : a;
}

static const char *last_key(const json_t *rows)
{
	const size_t n = json_array_size(rows);

	return n ? json_str_at(json_array_get(rows, n - 1), "Key") : NULL;
}

/* Nothing of this page is looked at again. */
static void pass_page(struct step_ctx *c)
{
	const json_t *page = saw(c, "objects");
	const char *key = greater(last_key(json_at(page, "Versions")),
				  last_key(json_at(page, "DeleteMarkers")));

	if (json_bool_or(page, "IsTruncated", false))
		step_save(c, "objects_after",
			  json_pack("{s:s*, s:s*}", "key",
				    json_str_at(page, "NextKeyMarker"), "id",
				    json_str_at(page, "NextVersionIdMarker")));
	else
		step_save(c, "objects_after", json_pack("{s:s*}", "key", key));
}

/* An upload that nobody has finished is parts without an object: billed, in no list. */
static void abort_one(struct step_ctx *c, struct exchange *x)
{
	size_t i;
	json_t *u;

	json_array_foreach(json_at(saw(c, "uploads"), "Uploads"), i, u) {
		const char *key = json_str_or(u, "Key", "");

		if (!bucket_may_go(c, key))
			continue;
		c->item = json_str_or(u, "UploadId", key);
		exchange_aws(x, AWS_S3_AbortMultipartUpload,
			     json_packf(c->arena, "{s:s, s:s, s:s}", "Bucket",
					name_bucket(c), "Key", key, "UploadId",
					json_str_or(u, "UploadId", "")));
		x->what =
			arena_printf(c->arena, "Abort the unfinished upload of %s", key);
		return;
	}
}

static const char *object_id(struct step_ctx *c, const json_t *version)
{
	return arena_printf(c->arena, "%s/%s", name_bucket(c),
			    json_str_or(version, "Key", ""));
}

static void promise_gone(struct step_ctx *c, const json_t *versions)
{
	size_t i;
	json_t *v;

	json_array_foreach(versions, i, v)
		step_promise(c, "s3:object", object_id(c, v), "gone");
}

void teardown_objects_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *versions = going(c);

	if (json_array_size(versions) > 0) {
		/* A batch is told from the one before it, whose answer may be lost. */
		c->item = object_id(c, json_array_get(versions, 0));
		promise_gone(c, versions);
		bucket_delete_versions(c, x, name_bucket(c), versions);
	} else if (json_bool_or(saw(c, "objects"), "IsTruncated", false)) {
		pass_page(c); /* of other clusters alone: passed over, once and for all */
		step_goto(c, c->step->name);
	} else {
		abort_one(c, x);
	}
}

static bool is_locked(const json_t *fault)
{
	return streq(json_str_at(fault, "Code"), "AccessDenied") &&
	       strcasestr(json_str_or(fault, "Message", ""), "object lock") != NULL;
}

/* Of the answer's refusals: those that no right of ours ends, and the first other. */
static const json_t *sort_faults(const json_t *faults, size_t *ret_locked)
{
	const json_t *other = NULL;
	size_t i;
	json_t *v;

	*ret_locked = 0;
	json_array_foreach(faults, i, v) {
		if (is_locked(v))
			++*ret_locked;
		else if (!other)
			other = v;
	}
	return other;
}

static bool failed(const json_t *faults, const json_t *version)
{
	size_t i;
	json_t *v;

	json_array_foreach(faults, i, v)
		if (streq(json_str_at(v, "Key"), json_str_at(version, "Key")) &&
		    streq(json_str_or(v, "VersionId", "null"),
			  json_str_at(version, "VersionId")))
			return true;
	return false;
}

static void note_gone(struct step_ctx *c, const json_t *faults)
{
	size_t i;
	json_t *v;

	json_array_foreach(going(c), i, v)
		if (!failed(faults, v))
			step_own(c, "s3:object", object_id(c, v), NULL, "gone");
}

static void not_deleted(struct step_ctx *c, const struct answer *a, const json_t *fault)
{
	struct err *e;

	if (streq(json_str_at(fault, "Code"), "InternalError")) {
		step_retry(c, ERR_CLOUD_REFUSED, "S3 could not delete %s",
			   json_str_or(fault, "Key", "?"));
		return;
	}
	e = step_fail(c, ERR_BLOCKED, "%s in %s could not be deleted",
		      json_str_or(fault, "Key", "?"), name_bucket(c));
	err_because(e, "s3:DeleteObjects", json_str_at(fault, "Code"),
		    json_str_at(fault, "Message"), a->request_id);
	err_fix(e, "Allow the InstantStart role to delete it (bucket policy, "
		   "s3:DeleteObjectVersion), then retry. The deletion continues with the "
		   "remaining objects.");
}

void teardown_objects_absorb(struct step_ctx *c, const struct answer *a)
{
	const json_t *faults = json_at(a->out, "Errors"), *other;
	size_t locked;

	if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND) {
		step_fail_answer(c, a, "the objects in %s could not be deleted",
				 name_bucket(c));
		return;
	}
	if (json_array_size(going(c)) == 0) { /* an upload was aborted */
		step_goto(c, c->step->name);
		return;
	}
	other = sort_faults(faults, &locked);
	note_gone(c, faults);
	if (other) {
		not_deleted(c, a, other);
		return;
	}
	if (locked) {
		step_warn(c, "object lock keeps %zu versions in the bucket %s: %s%s",
			  locked, name_bucket(c), json_str_or(faults, "0.Key", "?"),
			  locked > 1 ? ", …" : "");
		pass_page(c);
	}
	step_goto(c, c->step->name);
}

/* --- the bucket ------------------------------------------------------------------------
 */

bool teardown_bucket_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *one = by_bucket(c);

	if (!name_bucket_is_ours(c))
		return false;
	if (read_aws(c, x, "bucket", AWS_S3_HeadBucket, by_bucket(c)))
		return true;
	json_put_int(one, "MaxKeys", 1);
	return saw_ok(c, "bucket") &&
	       (read_aws(c, x, "tags", AWS_S3_GetBucketTagging, by_bucket(c)) ||
		read_aws(c, x, "objects", AWS_S3_ListObjectVersions, one) ||
		read_aws(c, x, "uploads", AWS_S3_ListMultipartUploads, by_bucket(c)));
}

static void keep(struct step_ctx *c, const char *why)
{
	step_save_str(c, "kept_bucket", name_bucket(c));
	step_save_str(c, "kept_because", why);
}

/* What could not be looked at stays; that is no reason to keep the cluster. True: so. */
static bool is_hidden(struct step_ctx *c)
{
	static const char *const keys[] = {"bucket", "tags", "objects", "uploads"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!saw_refused(c, keys[i]))
			continue;
		step_warn(c, "the bucket %s is kept: it could not be read (%s)",
			  name_bucket(c), saw_why(c, keys[i]));
		keep(c, "could not be read");
		return true;
	}
	return false;
}

void teardown_bucket_plan(struct step_ctx *c, struct exchange *x)
{
	if (!name_bucket_is_ours(c) || is_hidden(c))
		return;
	if (!saw_ok(c, "bucket")) {
		if (!is_absent(c, "s3:bucket", name_bucket(c),
			       arena_printf(c->arena, "the bucket %s", name_bucket(c))))
			return;
		step_own(c, "s3:bucket", name_bucket(c), NULL, "gone");
		return;
	}
	if (!json_find(json_at(saw(c, "tags"), "TagSet"), "Key", "instantstart:shared"))
		return; /* of that name, but not made by us */
	if (json_array_size(bucket_versions(c, saw(c, "objects"), true)) > 0) {
		keep(c, "holds objects");
		return;
	}
	if (json_at(saw(c, "uploads"), "Uploads.0")) {
		keep(c, "holds unfinished uploads");
		return;
	}
	c->item = name_bucket(c);
	step_promise(c, "s3:bucket", name_bucket(c), "gone");
	exchange_aws(x, AWS_S3_DeleteBucket, by_bucket(c));
	x->what = arena_printf(c->arena, "Delete the empty bucket %s", name_bucket(c));
}

void teardown_bucket_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "BucketNotEmpty")) {
		keep(c, "holds objects"); /* others use it */
		step_advance(c);
		return;
	}
	removal_absorb(c, a);
}
