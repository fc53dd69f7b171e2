/*
 * create_s3_storage.c - a bucket becomes a mounted, proven volume.
 */
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/domain/storage/kinds.h"
#include "core/domain/storage/storage.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

/* --- the bucket -------------------------------------------------------------- */

static bool bucket_observe(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "bucket", AWS_S3_HeadBucket,
			json_packf(c->arena, "{s:s}", "Bucket", storage_bucket(c)));
}

static void bucket_plan(struct step_ctx *c, struct exchange *x)
{
	const char *bucket = storage_bucket(c);
	struct err *e;

	(void)x;
	if (saw_ok(c, "bucket")) {
		step_save_str(
			c, "bucket_region",
			json_str_or(saw(c, "bucket"), "BucketRegion", c->where->region));
		return;
	}
	if (saw_missing(c, "bucket")) {
		if (step_is_coming(c, "s3:CreateBucket", bucket))
			return;
		e = step_fail(c, ERR_CLOUD_NOT_FOUND, "There is no bucket named %s",
			      bucket);
		e->retry = RETRY_HUMAN;
		err_field(e, "/bucket", bucket, "an existing bucket");
		err_fix(e, "Create it, or omit `bucket` to use the shared bucket.");
		return;
	}
	e = step_fail_saw(c, "bucket", "the bucket %s is not accessible: %s", bucket,
			  saw_why(c, "bucket"));
	str_copy(e->field, sizeof(e->field), "/bucket");
	if (!e->seen[0])
		err_field(e, "/bucket", bucket,
			  "a bucket that the InstantStart role can list");
}

/* --- what the catalog says of it ------------------------------------------------------
 */

static json_t *described(struct step_ctx *c, const char *status)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s, s:s, s:b}", "name",
			 storage_name(c), "type", "s3", "bucket", storage_bucket(c),
			 "namespace", storage_namespace(c), "prefix",
			 step_input(c, "prefix"), "volume", storage_volume(c), "status",
			 status, "read_only", json_bool_or(c->input, "read_only", false));
}

static void note(struct step_ctx *c, const char *status)
{
	step_catalog(
		c, "storage",
		arena_printf(c->arena, "%s/%s", storage_namespace(c), storage_name(c)),
		json_deep_copy(c->input), described(c, status));
}

/* --- the driver's right to it --------------------------------------------------- */

static json_t *policy_document(struct step_ctx *c)
{
	const char *arn = arena_printf(c->arena, "arn:%s:s3:::%s", c->where->partition,
				       storage_bucket(c));
	const char *objects = arena_printf(c->arena, "%s/%s*", arn,
					   json_str_or(c->input, "prefix", ""));

	if (json_bool_or(c->input, "read_only", false))
		return json_packf(c->arena,
				  "{s:s, s:[{s:s, s:s, s:s}, {s:s, s:[s], s:s}]}",
				  "Version", "2012-10-17", "Statement", "Effect", "Allow",
				  "Action", "s3:ListBucket", "Resource", arn, "Effect",
				  "Allow", "Action", "s3:GetObject", "Resource", objects);
	return json_packf(c->arena, "{s:s, s:[{s:s, s:s, s:s}, {s:s, s:[s,s,s,s], s:s}]}",
			  "Version", "2012-10-17", "Statement", "Effect", "Allow",
			  "Action", "s3:ListBucket", "Resource", arn, "Effect", "Allow",
			  "Action", "s3:AbortMultipartUpload", "s3:DeleteObject",
			  "s3:GetObject", "s3:PutObject", "Resource", objects);
}

static json_t *by_policy(struct step_ctx *c)
{
	return json_packf(c->arena, "{s:s, s:s}", "RoleName", name_role(c, ROLE_S3_CSI),
			  "PolicyName", storage_policy(c));
}

/* It was mounted before this operation: what it has is not this one's to take away. */
static bool stands(const struct step_ctx *c)
{
	return json_bool_or(c->data, "stands", false);
}

/* It stays when the operation ends before its time, whatever becomes of the mount. */
static bool tell_grant(struct step_ctx *c, json_t *row)
{
	json_put_str(row, "object", storage_bucket(c));
	json_put_str(row, "goes_on",
		     arena_printf(c->arena,
				  "the S3 CSI driver may still use the bucket %s",
				  storage_bucket(c)));
	step_stop(row, "delete_storage",
		  json_pack("{s:s, s:s, s:s}", "cluster", c->target, "name",
			    storage_name(c), "namespace", storage_namespace(c)));
	return !stands(c);
}

static const struct leaves leaves_grant = {.tell = tell_grant};

static bool grant_observe(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "role", AWS_IAM_GetRole,
			json_packf(c->arena, "{s:s}", "RoleName",
				   name_role(c, ROLE_S3_CSI))) ||
	       (saw_ok(c, "role") &&
		read_aws(c, x, "policy", AWS_IAM_GetRolePolicy, by_policy(c)));
}

static void grant_plan(struct step_ctx *c, struct exchange *x)
{
	const char *text = json_str_at(saw(c, "policy"), "PolicyDocument");
	json_t *wanted = policy_document(c), *in;
	struct exchange put = {.via = VIA_NONE};
	struct err ignored;
	const json_t *present =
		text ? json_parse(c->arena, str_of(text), &ignored) : NULL;

	if (saw_missing(c, "role") &&
	    !step_is_coming(c, "iam:CreateRole", name_role(c, ROLE_S3_CSI))) {
		struct err *e = step_fail(c, ERR_STATE_CONFLICT,
					  "The S3 CSI driver of %s has no role from "
					  "InstantStart",
					  c->target);
		err_fix(e, "Run reconcile_dependencies for %s first.", c->target);
		return;
	}
	if (saw_ok(c, "role") &&
	    !step_tagged_cluster(c, json_at(saw(c, "role"), "Role.Tags"))) {
		struct err *e = step_fail(c, ERR_FOREIGN_OBJECT,
					  "the role %s was not made for %s",
					  name_role(c, ROLE_S3_CSI), c->target);
		owner_tell(c, e, json_at(saw(c, "role"), "Role.Tags"));
		err_fix(e,
			"The role is not changed. Run reconcile_dependencies for %s to see why "
			"InstantStart could not create its own role.",
			c->target);
		return;
	}
	step_own(c, "iam:role-policy", storage_grant_id(c), NULL, "made");
	/* From here on there is something that delete_storage takes away. */
	if (!stands(c) && !c->planning)
		note(c, "partial");
	in = by_policy(c);
	json_put_str(in, "PolicyDocument", json_text(c->arena, wanted));
	exchange_aws(&put, AWS_IAM_PutRolePolicy, in);
	put.what = arena_printf(c->arena, "Allow the S3 CSI driver to use the bucket %s",
				storage_bucket(c));
	if (!present || !json_equal(present, wanted))
		*x = put;
	else if (!stands(c))
		step_left_behind(c, &put);
}

static void grant_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok)
		step_fail_answer(c, a,
				 "the driver could not be allowed to use the bucket %s",
				 storage_bucket(c));
	else
		step_advance(c);
}

/* --- done --------------------------------------------------------------------------- */

static void finish_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (c->planning) {
		step_done(c, json_object());
		return;
	}
	note(c, "mounted");
	step_done(c, described(c, "mounted"));
}

#define KUBE_STEP(row, words, f, taken)                                                  \
	{                                                                                \
		.name = (row), .phase = "mount", .title = (words),                       \
		.effect = EFFECT_CONVERGENT, .observe = f##_observe, .seen = read_seen,  \
		.plan = f##_plan, .absorb = (taken)                                      \
	}

/* Its claim, its volume, the driver's right; the data stays. */
static bool undo(struct step_ctx *c, struct spawn *ret)
{
	if (!step_has_sent_any(c) || stands(c))
		return false;
	ret->kind = "delete_storage";
	ret->target = c->target;
	ret->input = json_own(c->arena, json_copy((json_t *)(uintptr_t)c->input));
	json_object_set(ret->input, "confirmed", json_new_list(c->arena));
	return true;
}

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	{.name = "check_bucket",
	 .phase = "check",
	 .title = "Check the bucket",
	 .effect = EFFECT_READ,
	 .check = true,
	 .sees_errors = true,
	 .observe = bucket_observe,
	 .seen = read_seen,
	 .plan = bucket_plan},
	{.name = "check_objects",
	 .phase = "check",
	 .title = "Check that existing objects belong to InstantStart",
	 .effect = EFFECT_READ,
	 .owners = true,
	 .observe = mount_check_observe,
	 .seen = read_seen,
	 .plan = mount_check_plan},
	{.name = "grant_bucket",
	 .phase = "access",
	 .title = "Allow the driver to use the bucket",
	 .effect = EFFECT_CONVERGENT,
	 .observe = grant_observe,
	 .seen = read_seen,
	 .plan = grant_plan,
	 .absorb = grant_absorb,
	 .leaves = &leaves_grant},
	KUBE_STEP("apply_namespace", "Create the namespace", mount_namespace,
		  mount_absorb),
	KUBE_STEP("apply_claim", "Apply the claim", mount_claim, mount_absorb),
	KUBE_STEP("apply_volume", "Apply the volume", mount_volume, mount_volume_absorb),
	{.name = "wait_bound",
	 .phase = "mount",
	 .title = "Wait until the claim is bound",
	 .effect = EFFECT_READ,
	 .observe = mount_bound_observe,
	 .seen = read_seen,
	 .plan = mount_bound_plan},
	{.name = "clear_probe",
	 .phase = "proof",
	 .title = "Remove the job of an earlier attempt",
	 .effect = EFFECT_CONVERGENT,
	 .observe = probe_observe,
	 .seen = read_seen,
	 .plan = probe_clear_plan,
	 .absorb = probe_remove_absorb},
	{.name = "probe",
	 .phase = "proof",
	 .title = "Start a job that writes, reads and deletes an object",
	 .effect = EFFECT_NAMED,
	 .on_cancel = CANCEL_FINISH,
	 .observe = probe_observe,
	 .seen = read_seen,
	 .plan = probe_plan,
	 .absorb = probe_absorb},
	{.name = "wait_probe",
	 .phase = "proof",
	 .title = "Wait for the job",
	 .effect = EFFECT_READ,
	 .deadline_s = 1200,
	 .sees_errors = true,
	 .observe = probe_wait_observe,
	 .seen = read_seen,
	 .plan = probe_wait_plan,
	 .wait = &wait_kubernetes,
	 .retry_step = "clear_probe"},
	{.name = "remove_probe",
	 .phase = "proof",
	 .title = "Remove the job",
	 .effect = EFFECT_CONVERGENT,
	 .observe = probe_observe,
	 .seen = read_seen,
	 .plan = probe_remove_plan,
	 .absorb = probe_remove_absorb},
	{.name = "finish",
	 .phase = "proof",
	 .title = "Record the storage",
	 .effect = EFFECT_READ,
	 .plan = finish_plan},
	{.name = NULL},
};

const struct kind kind_create_s3_storage = {
	.name = "create_s3_storage",
	.title = "Mount S3 storage",
	.steps = steps,
	.deadline_s = 2 * 3600,
	.locks = lock_cluster,
	.undo = undo,
};
