/*
 * tls_bucket.c - where the inference operator keeps the certificates it makes.
 *
 * Named so that AWS's managed policy reaches it; closed to the public; its content
 * is the operator's own and goes with it.
 */
#include "core/domain/feature/toggle.h"
#include "core/domain/hyperpod/bucket.h"
#include "core/domain/hyperpod/bucket_keys.h"
#include "core/domain/step/absent.h"
#include "core/domain/step/read.h"
#include "core/domain/step/removal.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

static json_t *by_bucket(struct step_ctx *c)
{
	return json_packf(c->arena, "{s:s}", "Bucket", name_tls_bucket(c));
}

static bool is_ours(const struct step_ctx *c)
{
	return step_tagged_cluster(c, json_at(saw(c, "tags"), "TagSet"));
}

bool tls_bucket_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in = by_bucket(c);

	return read_aws(c, x, "bucket", AWS_S3_HeadBucket, in) ||
	       (saw_ok(c, "bucket") &&
		(read_aws(c, x, "tags", AWS_S3_GetBucketTagging, in) ||
		 read_aws(c, x, "closed", AWS_S3_GetPublicAccessBlock, in) ||
		 read_aws(c, x, "objects", AWS_S3_ListObjectsV2, in)));
}

/* Says nothing of anybody. */
static bool is_untagged(const struct step_ctx *c)
{
	return owner_of_tags(c, json_at(saw(c, "tags"), "TagSet")) == OWNER_NOBODY;
}

/* Untagged and empty: a stop between two calls of ours. With content it is a matter of
 * consent, because the content goes with the feature. */
static void keep_bucket(struct step_ctx *c)
{
	const bool adopt = json_bool_or(c->input, "adopt", false);
	const char *key = json_str_at(saw(c, "objects"), "Contents.0.Key");
	const bool left = is_untagged(c) && !key;
	struct err *e;

	if (is_ours(c) || adopt || left) {
		step_own(c, "s3:bucket", name_tls_bucket(c), NULL,
			 is_ours(c) || left ? "made" : "adopted");
		return;
	}
	e = step_fail(
		c, ERR_FOREIGN_OBJECT,
		key ? "The bucket %s contains objects and has no tag of this cluster"
		    : "The bucket %s exists and does not belong to this cluster",
		name_tls_bucket(c));
	owner_tell(c, e, json_at(saw(c, "tags"), "TagSet"));
	err_field(e, "", key, "an empty bucket, or one that is tagged for this cluster");
	err_fix(e,
		"Set adopt to take it over (its objects are deleted when the feature is "
		"disabled), or empty it.");
}

void tls_bucket_create_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *in = by_bucket(c);

	if (saw_ok(c, "bucket")) {
		keep_bucket(c);
		return;
	}
	if (!streq(c->where->region, "us-east-1"))
		json_put_str(in, "CreateBucketConfiguration.LocationConstraint",
			     c->where->region);
	exchange_aws(x, AWS_S3_CreateBucket, in);
	x->what = arena_printf(c->arena, "Create the certificate bucket %s",
			       name_tls_bucket(c));
}

void tls_bucket_create_absorb(struct step_ctx *c, const struct answer *a)
{
	struct err *e;

	if (answer_is(a, "BucketAlreadyExists")) {
		e = step_fail(c, ERR_FOREIGN_OBJECT,
			      "The bucket %s belongs to another account",
			      name_tls_bucket(c));
		err_fix(e,
			"The bucket name consists of account, region and cluster, and is "
			"in use. Use another name for the cluster.");
	} else if (!a->ok && !answer_is(a, "BucketAlreadyOwnedByYou")) {
		step_fail_answer(c, a, "the bucket %s was rejected", name_tls_bucket(c));
	} else {
		step_own(c, "s3:bucket", name_tls_bucket(c), NULL, "made");
		step_advance(c);
	}
}

/* The call replaces all tags: those of others stay. */
static json_t *tags_with_ours(struct step_ctx *c)
{
	json_t *all = json_copy(step_tags(c)), *tag;
	size_t i;

	json_array_foreach(json_at(saw(c, "tags"), "TagSet"), i, tag)
		if (!json_find(all, "Key", json_str_or(tag, "Key", "")))
			json_array_append(all, tag);
	return all;
}

void tls_bucket_tag_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *in = by_bucket(c);

	if (is_ours(c))
		return;
	json_put(in, "Tagging.TagSet", tags_with_ours(c));
	exchange_aws(x, AWS_S3_PutBucketTagging, in);
	x->what = arena_printf(c->arena, "Tag the bucket %s", name_tls_bucket(c));
}

static bool is_closed(const struct step_ctx *c)
{
	const json_t *block = json_at(saw(c, "closed"), "PublicAccessBlockConfiguration");

	return json_bool_or(block, "BlockPublicAcls", false) &&
	       json_bool_or(block, "IgnorePublicAcls", false) &&
	       json_bool_or(block, "BlockPublicPolicy", false) &&
	       json_bool_or(block, "RestrictPublicBuckets", false);
}

void tls_bucket_close_plan(struct step_ctx *c, struct exchange *x)
{
	if (!is_closed(c))
		bucket_close(c, x, name_tls_bucket(c));
}

bool tls_bucket_policy_observe(struct step_ctx *c, struct exchange *x)
{
	return bucket_policy_read(c, x, name_tls_bucket(c));
}

void tls_bucket_policy_plan(struct step_ctx *c, struct exchange *x)
{
	bucket_policy_put(c, x, name_tls_bucket(c));
}

void tls_bucket_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok)
		step_fail_answer(c, a, "a change of the bucket %s was rejected",
				 name_tls_bucket(c));
	else
		step_advance(c);
}

/* To be removed: versions and markers, too (cluster/bucket_keys.h). */
bool tls_objects_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in = by_bucket(c);

	return read_aws(c, x, "bucket", AWS_S3_HeadBucket, in) ||
	       (saw_ok(c, "bucket") &&
		(read_aws(c, x, "tags", AWS_S3_GetBucketTagging, in) ||
		 read_aws(c, x, "versions", AWS_S3_ListObjectVersions, in)));
}

bool tls_bucket_remove_observe(struct step_ctx *c, struct exchange *x)
{
	return tls_objects_observe(c, x);
}

void tls_objects_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *all = bucket_versions(c, saw(c, "versions"), true);

	if (json_array_size(all) > 0 && is_ours(c))
		bucket_delete_versions(c, x, name_tls_bucket(c), all);
}

void tls_objects_absorb(struct step_ctx *c, const struct answer *a)
{
	const json_t *fault = json_at(a->out, "Errors.0");
	struct err *e;

	if (!fault) {
		removal_absorb(c, a);
		return;
	}
	e = step_fail(c, ERR_BLOCKED, "the certificate %s in %s could not be deleted",
		      json_str_or(fault, "Key", "?"), name_tls_bucket(c));
	err_because(e, a->call, json_str_at(fault, "Code"), json_str_at(fault, "Message"),
		    a->request_id);
	err_fix(e, "Allow the InstantStart role to delete it (bucket policy, "
		   "s3:DeleteObjectVersion, Object Lock), then retry. The deletion "
		   "continues with the remaining objects.");
}

void tls_bucket_remove_plan(struct step_ctx *c, struct exchange *x)
{
	if (!saw_ok(c, "bucket")) {
		if (!is_absent(
			    c, "s3:bucket", name_tls_bucket(c),
			    arena_printf(c->arena, "the bucket %s", name_tls_bucket(c))))
			return;
		step_own(c, "s3:bucket", name_tls_bucket(c), NULL, "gone");
		return;
	}
	if (!is_ours(c) && (!is_untagged(c) || json_array_size(bucket_versions(
						       c, saw(c, "versions"), true)) > 0))
		return; /* somebody's, or somebody keeps something in it */
	c->item = name_tls_bucket(c);
	step_promise(c, "s3:bucket", name_tls_bucket(c), "gone");
	exchange_aws(x, AWS_S3_DeleteBucket, by_bucket(c));
	x->what = arena_printf(c->arena, "Delete the bucket %s", name_tls_bucket(c));
}
