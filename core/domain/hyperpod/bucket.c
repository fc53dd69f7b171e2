#include "core/domain/hyperpod/bucket.h"

#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "gen/cloudformation.h"

const struct lifecycle_script script_on_create = {"on_create.sh", LIFECYCLE_ON_CREATE};
const struct lifecycle_script script_on_create_main = {"on_create_main.sh",
						       LIFECYCLE_ON_CREATE_MAIN};

static json_t *by_bucket(struct step_ctx *c)
{
	return json_packf(c->arena, "{s:s}", "Bucket", name_bucket(c));
}

/* --- the bucket ---------------------------------------------------------------- */

bool bucket_create_observe(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "bucket", AWS_S3_HeadBucket, by_bucket(c));
}

void bucket_create_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *in = by_bucket(c);
	struct err *e;

	if (saw_ok(c, "bucket")) {
		/* Ours by a request whose answer we never saw; else it was there. */
		if (c->issued_before)
			step_own(c, "s3:bucket", name_bucket(c), NULL, "made");
		return;
	}
	if (saw_refused(c, "bucket")) {
		step_fail_saw(
			c, "bucket",
			"the script bucket %s (INSTANTSTART_BUCKET) is not accessible: "
			"%s",
			name_bucket(c), saw_why(c, "bucket"));
		return;
	}
	if (!name_bucket_is_ours(c)) {
		e = step_fail(c, ERR_CLOUD_NOT_FOUND,
			      "The configured bucket %s does not exist", name_bucket(c));
		err_fix(e, "Create it, or leave INSTANTSTART_BUCKET empty.");
		return;
	}
	/* us-east-1 is the one region that must not be named. */
	if (!streq(c->where->region, "us-east-1"))
		json_put_str(in, "CreateBucketConfiguration.LocationConstraint",
			     c->where->region);
	exchange_aws(x, AWS_S3_CreateBucket, in);
	x->what = arena_printf(c->arena, "Create the bucket %s", name_bucket(c));
}

void bucket_create_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok && !answer_is(a, "BucketAlreadyOwnedByYou")) {
		step_fail_answer(c, a, "the bucket %s was rejected", name_bucket(c));
		return;
	}
	step_own(c, "s3:bucket", name_bucket(c), NULL, "made");
	step_advance(c);
}

/* --- closed and tagged: only the bucket that we made ------------------------------
 *
 * The tag is put last, so it says that the bucket is complete: both rows look
 * for it alone.
 */

static bool bucket_is_complete(const struct step_ctx *c)
{
	return !name_bucket_is_ours(c) ||
	       json_find(json_at(saw(c, "tags"), "TagSet"), "Key", "instantstart:shared");
}

/* Ours is tagged before anything is put into it. */
bool bucket_tags_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *one = by_bucket(c);

	json_put_int(one, "MaxKeys", 1);
	return name_bucket_is_ours(c) &&
	       (read_aws(c, x, "tags", AWS_S3_GetBucketTagging, by_bucket(c)) ||
		(!bucket_is_complete(c) &&
		 read_aws(c, x, "content", AWS_S3_ListObjectsV2, one)));
}

/* Untagged, and with objects in it: somebody's, who has not asked to have it changed. */
static bool bucket_is_theirs(struct step_ctx *c)
{
	if (bucket_is_complete(c) || !json_at(saw(c, "content"), "Contents.0"))
		return false;
	step_warn(c,
		  "the bucket %s already exists and contains objects (%s): it is used "
		  "unchanged",
		  name_bucket(c), json_str_or(saw(c, "content"), "Contents.0.Key", "?"));
	return true;
}

void bucket_close(struct step_ctx *c, struct exchange *x, const char *bucket)
{
	json_t *in = json_packf(c->arena, "{s:s}", "Bucket", bucket);

	json_put(in, "PublicAccessBlockConfiguration",
		 json_pack("{s:b, s:b, s:b, s:b}", "BlockPublicAcls", 1,
			   "IgnorePublicAcls", 1, "BlockPublicPolicy", 1,
			   "RestrictPublicBuckets", 1));
	exchange_aws(x, AWS_S3_PutPublicAccessBlock, in);
	x->what = arena_printf(c->arena, "Block public access to the bucket %s", bucket);
}

/* Tags are replaced as a whole: what cannot be read is not written over. */
static bool bucket_is_hidden(struct step_ctx *c)
{
	const char *hidden = saw_refused(c, "tags")      ? "tags"
			     : saw_refused(c, "content") ? "content"
							 : NULL;

	if (!hidden)
		return false;
	step_not_known(
		c, "bucket",
		"whether the bucket %s was created for clusters: its %s could not be read (%s). It is used unchanged",
		name_bucket(c), hidden, saw_why(c, hidden));
	return true;
}

void bucket_close_plan(struct step_ctx *c, struct exchange *x)
{
	if (!bucket_is_hidden(c) && !bucket_is_theirs(c) && !bucket_is_complete(c))
		bucket_close(c, x, name_bucket(c));
}

/* Shared by clusters: it carries the product's tag, not one cluster's. */
void bucket_tag_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *in = by_bucket(c);

	if (bucket_is_hidden(c) || bucket_is_theirs(c) || bucket_is_complete(c))
		return;
	json_put(
		in, "Tagging.TagSet",
		json_pack("[{s:s, s:s}]", "Key", "instantstart:shared", "Value", "true"));
	exchange_aws(x, AWS_S3_PutBucketTagging, in);
	x->what = arena_printf(c->arena, "Tag the bucket %s", name_bucket(c));
}

void bucket_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok)
		step_fail_answer(c, a, "a change of the bucket %s was rejected",
				 name_bucket(c));
	else
		step_advance(c);
}

/* --- TLS alone ------------------------------------------------------------------- */

bool bucket_policy_read(struct step_ctx *c, struct exchange *x, const char *bucket)
{
	return read_aws(c, x, "policy", AWS_S3_GetBucketPolicy,
			json_packf(c->arena, "{s:s}", "Bucket", bucket));
}

static bool is_policy(struct step_ctx *c, const char *text)
{
	struct err ignored;

	return text && json_at(json_parse(c->arena, str_of(text), &ignored), "Statement");
}

void bucket_policy_put(struct step_ctx *c, struct exchange *x, const char *bucket)
{
	const char *arn =
		arena_printf(c->arena, "arn:%s:s3:::%s", c->where->partition, bucket);
	const json_t *policy = json_packf(
		c->arena, "{s:s, s:[{s:s, s:s, s:s, s:s, s:[s,o], s:{s:{s:s}}}]}",
		"Version", "2012-10-17", "Statement", "Sid", "TlsOnly", "Effect", "Deny",
		"Principal", "*", "Action", "s3:*", "Resource", arn,
		json_sprintf("%s/*", arn), "Condition", "Bool", "aws:SecureTransport",
		"false");

	if (is_policy(c, json_str_at(saw(c, "policy"), "Policy")))
		return; /* somebody's, or ours */
	if (saw_ok(c, "policy") || saw_refused(c, "policy")) {
		step_warn(c,
			  "the policy of the bucket %s could not be read (%s): it is "
			  "used unchanged",
			  bucket,
			  saw_ok(c, "policy") ? "the answer is not a policy"
					      : saw_why(c, "policy"));
		return;
	}
	exchange_aws(x, AWS_S3_PutBucketPolicy,
		     json_packf(c->arena, "{s:s, s:s}", "Bucket", bucket, "Policy",
				json_text(c->arena, policy)));
	x->what = arena_printf(c->arena, "Require TLS for the bucket %s", bucket);
}

bool bucket_policy_observe(struct step_ctx *c, struct exchange *x)
{
	return name_bucket_is_ours(c) &&
	       (bucket_tags_observe(c, x) || bucket_policy_read(c, x, name_bucket(c)));
}

void bucket_policy_plan(struct step_ctx *c, struct exchange *x)
{
	if (name_bucket_is_ours(c) && !bucket_is_hidden(c) && !bucket_is_theirs(c))
		bucket_policy_put(c, x, name_bucket(c));
}

/* An organisation may keep policies of buckets to itself: no reason to stop. */
void bucket_policy_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok && errc_is_denial(a->errc))
		step_warn(c, "the bucket policy was rejected: %s",
			  a->message ? a->message : a->code);
	else if (!a->ok) {
		step_fail_answer(c, a, "the bucket policy was rejected");
		return;
	}
	step_advance(c);
}

/* --- scripts ----------------------------------------------------------------------- */

static const char *script_key(const struct step_ctx *c)
{
	const struct lifecycle_script *s = c->step->arg;

	return arena_printf(c->arena, "%s/%s", name_lifecycle_prefix(c), s->name);
}

static bool script_is_given(const struct step_ctx *c)
{
	return step_input(c, "lifecycle_s3_uri") != NULL;
}

bool script_observe(struct step_ctx *c, struct exchange *x)
{
	return !script_is_given(c) &&
	       read_aws(c, x, "object", AWS_S3_GetObject,
			json_packf(c->arena, "{s:s, s:s}", "Bucket", name_bucket(c),
				   "Key", script_key(c)));
}

void script_plan(struct step_ctx *c, struct exchange *x)
{
	const struct lifecycle_script *s = c->step->arg;
	const char *now = json_str_at(saw(c, "object"), "Body");

	if (script_is_given(c))
		return;
	if (now && streq(now, s->text)) {
		step_own(c, "s3:object",
			 arena_printf(c->arena, "%s/%s", name_bucket(c), script_key(c)),
			 NULL, "made");
		return;
	}
	exchange_aws(x, AWS_S3_PutObject,
		     json_packf(c->arena, "{s:s, s:s, s:s, s:s}", "Bucket",
				name_bucket(c), "Key", script_key(c), "Body", s->text,
				"ContentType", "text/x-shellscript"));
	x->what = arena_printf(c->arena, "Upload the lifecycle script %s", script_key(c));
	step_own(c, "s3:object",
		 arena_printf(c->arena, "%s/%s", name_bucket(c), script_key(c)), NULL,
		 "made");
}
