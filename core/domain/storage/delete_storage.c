/*
 * delete_storage.c - unmounts: claim, volume, the driver's right. The bucket
 * and its objects are the user's and stay.
 */
#include "core/base/listing.h"
#include "core/domain/site/lock.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/absent.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/held.h"
#include "core/domain/step/kube_delete.h"
#include "core/domain/step/names.h"
#include "core/domain/step/object.h"
#include "core/domain/step/read.h"
#include "core/domain/storage/kinds.h"
#include "core/domain/storage/storage.h"
#include "core/json/tree.h"

/* --- who uses it -------------------------------------------------------------- */

static json_t *things(struct step_ctx *c)
{
	return json_packf(c->arena, "[{s:s, s:s, s:s}]", "type", "storage", "name",
			  storage_name(c), "namespace", storage_namespace(c));
}

static bool users_observe(struct step_ctx *c, struct exchange *x)
{
	return mount_bound_observe(c, x) ||
	       read_kube(c, x, "pods",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "v1",
						.plural = "pods",
						.ns = storage_namespace(c)}) ||
	       stake_read(c, x, things(c));
}

/* Both are looked at before the first goes. True: the step has failed. */
static bool is_foreign(struct step_ctx *c, const char *what, const char *type,
		       const char *name, const json_t *object)
{
	struct err *e;

	if (!object || object_is_ours(c, object, type))
		return false;
	e = step_fail(c, ERR_FOREIGN_OBJECT, "The %s %s does not belong to InstantStart",
		      what, name);
	object_tell_owner(c, e, object, type);
	err_fix(e, "Nothing was removed. Ask its owner to delete it.");
	return true;
}

static bool uses_claim(const json_t *pod, const char *claim)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(pod, "spec.volumes"), i, v)
		if (streq(json_str_or(v, "persistentVolumeClaim.claimName", ""), claim))
			return true;
	return false;
}

static bool has_ended(const json_t *pod)
{
	const char *phase = json_str_or(pod, "status.phase", "");

	return streq(phase, "Succeeded") || streq(phase, "Failed");
}

/* Of the job that proves a mount: it goes with it, whoever cancelled in between. */
static bool is_probe(const struct step_ctx *c, const json_t *pod)
{
	const json_t *labels = json_at(pod, "metadata.labels");
	const char *job = json_string_value(json_object_get(labels, "job-name"));

	if (!job)
		job = json_string_value(
			json_object_get(labels, "batch.kubernetes.io/job-name"));
	return streq(job, storage_probe(c));
}

/* A claim in use stays Terminating: named instead of waited for. */
static void users_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *pods = json_at(saw(c, "pods"), "items");
	struct listing names = listing_new(c->arena, ", ", LISTING_LONG);
	size_t i;
	json_t *pod;

	(void)x;
	if (is_foreign(c, "claim", STORAGE_CLAIM_TYPE, storage_name(c),
		       saw(c, "claim")) ||
	    is_foreign(c, "volume", STORAGE_VOLUME_TYPE, storage_volume(c),
		       saw(c, "volume")))
		return;
	json_array_foreach(pods, i, pod)
		if (uses_claim(pod, storage_name(c)) && !has_ended(pod) &&
		    !is_probe(c, pod))
			listing_add(&names, "%s", json_str_or(pod, "metadata.name", "?"));
	if (names.n == 0)
		(void)stake_settle(c, stake_rows(c, things(c)), "the storage");
	if (names.n) {
		struct err *e =
			step_fail(c, ERR_BLOCKED, "Pods still use the storage %s: %s",
				  storage_name(c), listing_text(&names));
		err_fix(e, "Stop the workloads of these pods, then retry.");
	}
}

/* --- removing one object --------------------------------------------------------- */

struct removal {
	const char *plural;
	const char *type; /* of the resource row */
	const char *what;
	bool namespaced;
	bool probe; /* the job of a mount that was cancelled while it was being proved */
};
static const struct removal claim_removal = {"persistentvolumeclaims",
					     "kubernetes:persistentvolumeclaim", "claim",
					     true, false};
static const struct removal volume_removal = {
	"persistentvolumes", "kubernetes:persistentvolume", "volume", false, false};
static const struct removal probe_removal = {"jobs", "kubernetes:job", "job", true, true};

static const char *object_name(const struct step_ctx *c)
{
	const struct removal *r = c->step->arg;

	if (r->probe)
		return storage_probe(c);
	return r->namespaced ? storage_name(c) : storage_volume(c);
}

static const char *object_id(const struct step_ctx *c)
{
	const struct removal *r = c->step->arg;

	return r->namespaced ? arena_printf(c->arena, "%s/%s", storage_namespace(c),
					    object_name(c))
			     : storage_volume(c);
}

static struct kube_request object_request(const struct step_ctx *c, enum kube_verb verb)
{
	const struct removal *r = c->step->arg;

	return (struct kube_request){.verb = verb,
				     .api = r->probe ? "batch/v1" : "v1",
				     .plural = r->plural,
				     .ns = r->namespaced ? storage_namespace(c) : NULL,
				     .name = object_name(c)};
}

static bool remove_observe(struct step_ctx *c, struct exchange *x)
{
	struct kube_request r = object_request(c, KUBE_GET);

	return read_kube(c, x, "object", &r);
}

static void remove_plan(struct step_ctx *c, struct exchange *x)
{
	const struct removal *r = c->step->arg;
	const json_t *object = saw(c, "object");

	if (!object) {
		step_own(c, r->type, object_id(c), NULL, "gone");
		return;
	}
	if (r->probe && !object_is_ours(c, object, r->type))
		return;
	if (is_foreign(c, r->what, r->type, object_id(c), object))
		return;
	if (json_at(object, "metadata.deletionTimestamp")) {
		step_wait(c, 3, "the %s %s to be deleted%s", r->what, object_id(c),
			  held_text(c->arena, object));
		return;
	}
	kube_delete(c, x, object_request(c, KUBE_DELETE), object, KUBE_SEEN_CONTENT);
	x->what = arena_printf(c->arena, "Delete the %s %s", r->what, object_id(c));
}

static void remove_absorb(struct step_ctx *c, const struct answer *a)
{
	const struct removal *r = c->step->arg;

	if (kube_delete_was_another(c, a))
		return;
	if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		step_fail_answer(c, a, "the %s %s could not be deleted", r->what,
				 object_id(c));
	else
		step_wait(c, 2, "the %s %s to be deleted", r->what, object_id(c));
}

/* --- the driver's right ------------------------------------------------------------- */

static json_t *by_policy(struct step_ctx *c)
{
	return json_packf(c->arena, "{s:s, s:s}", "RoleName", name_role(c, ROLE_S3_CSI),
			  "PolicyName", storage_policy(c));
}

static bool revoke_observe(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "policy", AWS_IAM_GetRolePolicy, by_policy(c)) ||
	       (saw_ok(c, "policy") && read_aws(c, x, "role", AWS_IAM_GetRole,
						json_packf(c->arena, "{s:s}", "RoleName",
							   name_role(c, ROLE_S3_CSI))));
}

static void revoke_plan(struct step_ctx *c, struct exchange *x)
{
	if (saw_missing(c, "policy") &&
	    is_absent(c, "iam:role-policy", storage_grant_id(c),
		      arena_printf(c->arena, "the policy %s", storage_policy(c))))
		step_own(c, "iam:role-policy", storage_grant_id(c), NULL, "gone");
	if (!saw_ok(c, "policy"))
		return;
	if (!step_tagged_cluster(c, json_at(saw(c, "role"), "Role.Tags"))) {
		step_warn(c, "the role %s was not made for %s: its policy %s stays",
			  name_role(c, ROLE_S3_CSI), c->target, storage_policy(c));
		return;
	}
	step_promise(c, "iam:role-policy", storage_grant_id(c), "gone");
	exchange_aws(x, AWS_IAM_DeleteRolePolicy, by_policy(c));
	x->what = arena_printf(c->arena,
			       "Remove the driver's permission for the bucket of %s",
			       storage_name(c));
}

static void revoke_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		step_fail_answer(c, a, "the policy %s could not be deleted",
				 storage_policy(c));
	else if (removal_is_done(c, a))
		step_advance(c);
}

static void finish_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	step_uncatalog(
		c, "storage",
		arena_printf(c->arena, "%s/%s", storage_namespace(c), storage_name(c)));
	step_done(c,
		  json_pack("{s:s, s:s}", "name", storage_name(c), "deleted", "storage"));
}

#define REMOVE_STEP(row, words, removal)                                                 \
	{                                                                                \
		.name = (row), .phase = "unmount", .title = (words),                     \
		.effect = EFFECT_CONVERGENT, .observe = remove_observe,                  \
		.seen = read_seen, .plan = remove_plan, .absorb = remove_absorb,         \
		.arg = (removal)                                                         \
	}

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	{.name = "check_users",
	 .phase = "check",
	 .title = "Check that no pod uses it",
	 .effect = EFFECT_READ,
	 .stakes = true,
	 .observe = users_observe,
	 .seen = read_seen,
	 .plan = users_plan},
	REMOVE_STEP("delete_probe", "Delete the verification job", &probe_removal),
	REMOVE_STEP("delete_claim", "Delete the claim", &claim_removal),
	REMOVE_STEP("delete_volume", "Delete the volume", &volume_removal),
	{.name = "revoke_bucket",
	 .phase = "access",
	 .title = "Remove the driver's permission",
	 .effect = EFFECT_CONVERGENT,
	 .observe = revoke_observe,
	 .seen = read_seen,
	 .plan = revoke_plan,
	 .absorb = revoke_absorb},
	{.name = "finish",
	 .phase = "access",
	 .title = "Remove the storage from the catalog",
	 .effect = EFFECT_READ,
	 .plan = finish_plan},
	{.name = NULL},
};

const struct kind kind_delete_storage = {
	.name = "delete_storage",
	.title = "Delete storage",
	.steps = steps,
	.deadline_s = 2 * 3600,
	.locks = lock_cluster,
	.no_undo = "Deleted claims and volumes cannot be restored. The data in the "
		   "bucket stays. Mount it again with create_s3_storage.",
};
