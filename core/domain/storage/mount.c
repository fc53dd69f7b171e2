/*
 * mount.c - what a storage is in Kubernetes: namespace, claim, volume.
 */
#include "core/domain/step/eks_access.h"
#include "core/domain/step/held.h"
#include "core/domain/step/object.h"
#include "core/domain/step/read.h"
#include "core/domain/storage/storage.h"
#include "core/json/tree.h"

static void apply(struct step_ctx *c, struct exchange *x, const char *plural,
		  const char *ns, const char *name, json_t *body, const char *what)
{
	struct kube_target t;
	struct kube_request r = {.verb = KUBE_APPLY,
				 .api = "v1",
				 .plural = plural,
				 .ns = ns,
				 .name = name,
				 .body = body};

	eks_target(c, &t);
	exchange_kube(x, &t, &r);
	x->what = what;
}

void mount_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok)
		step_fail_answer(c, a, "Kubernetes rejected the request: %s", a->message);
	else
		step_advance(c);
}

bool mount_namespace_observe(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "ns",
			 &(struct kube_request){.verb = KUBE_GET,
						.api = "v1",
						.plural = "namespaces",
						.name = storage_namespace(c)}) ||
	       held_read(c, x, saw(c, "ns"));
}

/* Nothing is made of what is on its way out: it would go all the same. */
static bool waits_for_end(struct step_ctx *c, const char *what, const char *name,
			  const json_t *there)
{
	const char *apis;

	if (!json_at(there, "metadata.deletionTimestamp"))
		return false;
	apis = held_by_apis(c);
	step_wait(c, 5, "the %s %s to be deleted%s", what, name,
		  apis ? apis : held_text(c->arena, there));
	return true;
}

void mount_namespace_plan(struct step_ctx *c, struct exchange *x)
{
	if (saw_ok(c, "ns") &&
	    waits_for_end(c, "namespace", storage_namespace(c), saw(c, "ns")))
		return;
	if (saw_ok(c, "ns") || streq(storage_namespace(c), "default"))
		return;
	apply(c, x, "namespaces", NULL, storage_namespace(c), storage_namespace_object(c),
	      arena_printf(c->arena, "Create the namespace %s", storage_namespace(c)));
}

static bool read_volumes(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "volumes",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "v1",
						.plural = "persistentvolumes"});
}

bool mount_claim_observe(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "claim",
			 &(struct kube_request){.verb = KUBE_GET,
						.api = "v1",
						.plural = "persistentvolumeclaims",
						.ns = storage_namespace(c),
						.name = storage_name(c)});
}

bool mount_volume_observe(struct step_ctx *c, struct exchange *x)
{
	return read_volumes(c, x) || mount_claim_observe(c, x);
}

/* Case ST-01: another volume with our handle would hang the pods of both. */
static const char *handle_twin(const struct step_ctx *c, const json_t *volumes,
			       const json_t *wanted)
{
	const char *handle = json_str_at(wanted, "spec.csi.volumeHandle");
	size_t i;
	json_t *v;

	json_array_foreach(volumes, i, v)
		if (streq(json_str_or(v, "spec.csi.volumeHandle", ""), handle) &&
		    !streq(json_str_or(v, "metadata.name", ""), storage_volume(c)))
			return json_str_at(v, "metadata.name");
	return NULL;
}

static const json_t *named(const json_t *items, const char *name)
{
	size_t i;
	json_t *v;

	json_array_foreach(items, i, v)
		if (streq(json_str_or(v, "metadata.name", ""), name))
			return v;
	return NULL;
}

/*
 * A claim that somebody deleted leaves its volume Released: bound to that claim's
 * uid for ever, so that a new one of the same name waits in vain. What is in the
 * bucket stays, so the volume is let go of.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#retain
 */
static bool let_go(struct step_ctx *c, struct exchange *x, const json_t *there)
{
	struct kube_target t;
	struct kube_request r = {.verb = KUBE_MERGE_PATCH,
				 .api = "v1",
				 .plural = "persistentvolumes",
				 .name = storage_volume(c)};

	if (!streq(json_str_or(there, "status.phase", ""), "Released"))
		return false;
	r.body = json_packf(c->arena, "{s:{s:{s:n,s:n}}}", "spec", "claimRef", "uid",
			    "resourceVersion");
	c->item = json_str_or(there, "spec.claimRef.uid", "released");
	eks_target(c, &t);
	exchange_kube(x, &t, &r);
	x->what = arena_printf(c->arena, "Release the volume %s of a deleted claim",
			       storage_volume(c));
	return true;
}

void mount_volume_absorb(struct step_ctx *c, const struct answer *a)
{
	mount_absorb(c, a);
	if (a->ok && c->item)
		step_goto(c, c->step->name); /* it was let go of; now what it is like */
}

/* --- whose they are: asked of all before the first is made ----------------------- */

/* True: somebody else's, and the step has failed. */
static bool is_foreign(struct step_ctx *c, const char *what, const char *type,
		       const char *name, const json_t *there)
{
	struct err *e;

	if (!there || object_is_ours(c, there, type))
		return false;
	e = step_fail(c, ERR_FOREIGN_OBJECT,
		      "A %s named %s exists and does not belong to InstantStart", what,
		      name);
	object_tell_owner(c, e, there, type);
	err_field(e, "/name", storage_name(c), "a name that is not in use");
	err_fix(e,
		"Choose another name or namespace for the storage. Nothing was created.");
	return true;
}

static const char *claim_id(const struct step_ctx *c)
{
	return arena_printf(c->arena, "%s/%s", storage_namespace(c), storage_name(c));
}

/* A volume that serves our claim, whatever rule named it. */
static const json_t *volume_of_claim(const struct step_ctx *c, const json_t *volumes)
{
	size_t i;
	json_t *v;

	json_array_foreach(volumes, i, v)
		if (object_is_ours(c, v, STORAGE_VOLUME_TYPE) &&
		    streq(json_str_or(v, "spec.claimRef.name", ""), storage_name(c)) &&
		    streq(json_str_or(v, "spec.claimRef.namespace", ""),
			  storage_namespace(c)))
			return v;
	return NULL;
}

/* True: it cannot be ours as it is, and the step has failed. */
static bool volume_refused(struct step_ctx *c)
{
	const json_t *volumes = json_at(saw(c, "volumes"), "items");
	const json_t *there = named(volumes, storage_volume(c));
	const json_t *wanted = storage_volume_object(c);
	const char *twin = handle_twin(c, volumes, wanted);
	struct err *e;

	if (twin) {
		e = step_fail(
			c, ERR_STATE_CONFLICT,
			"The volume %s already has the required handle. Pods of both "
			"volumes would hang",
			twin);
		err_fix(e,
			"Choose another name for the storage. The existing volume is not "
			"changed.");
		return true;
	}
	if (is_foreign(c, "volume", STORAGE_VOLUME_TYPE, storage_volume(c), there))
		return true;
	if (!there || json_at(there, "metadata.deletionTimestamp") ||
	    object_covers(json_at(there, "spec.csi"), json_at(wanted, "spec.csi")))
		return false;
	e = step_fail(
		c, ERR_STATE_CONFLICT,
		"The storage %s already mounts the bucket %s, and the source of a volume "
		"cannot be changed",
		storage_name(c),
		json_str_or(there, "spec.csi.volumeAttributes.bucketName", "?"));
	err_field(e, "/bucket", storage_bucket(c),
		  json_str_at(there, "spec.csi.volumeAttributes.bucketName"));
	err_fix(e,
		"Choose another name, or unmount that storage with delete_storage first.");
	return true;
}

static bool claim_refused(struct step_ctx *c)
{
	const json_t *there = saw(c, "claim");
	const char *volume = json_str_or(there, "spec.volumeName", storage_volume(c));
	struct err *e;

	if (is_foreign(c, "claim", STORAGE_CLAIM_TYPE, claim_id(c), there))
		return true;
	if (!there || json_at(there, "metadata.deletionTimestamp") ||
	    streq(volume, storage_volume(c)))
		return false;
	e = step_fail(c, ERR_STATE_CONFLICT, "The claim %s belongs to another volume, %s",
		      claim_id(c), volume);
	err_fix(e, "Choose another name for the storage. The existing claim is not "
		   "changed.");
	return true;
}

bool mount_check_observe(struct step_ctx *c, struct exchange *x)
{
	return mount_volume_observe(c, x) || probe_observe(c, x);
}

void mount_check_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *volumes = json_at(saw(c, "volumes"), "items");
	const json_t *known = volume_of_claim(c, volumes);

	(void)x;
	/* What a create that ended before its time has left is no storage yet. */
	step_save(c, "stands",
		  json_boolean(
			  streq(json_str_at(saw(c, "claim"), "status.phase"), "Bound") &&
			  !json_at(saw(c, "claim"), "metadata.deletionTimestamp")));
	if (known)
		step_save_str(c, "volume", json_str_at(known, "metadata.name"));
	if (!claim_refused(c) && !volume_refused(c))
		is_foreign(c, "job", STORAGE_JOB_TYPE,
			   arena_printf(c->arena, "%s/%s", storage_namespace(c),
					storage_probe(c)),
			   saw(c, "job"));
}

/* --- the claim, then the volume for it -------------------------------------------- */

void mount_claim_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *there = saw(c, "claim");
	json_t *wanted = storage_claim_object(c);

	if (claim_refused(c) ||
	    (there && waits_for_end(c, "claim", storage_name(c), there)))
		return;
	step_own(c, "kubernetes:persistentvolumeclaim", claim_id(c), NULL, "made");
	if (there && object_is_current(c, there, wanted))
		return;
	apply(c, x, "persistentvolumeclaims", storage_namespace(c), storage_name(c),
	      wanted, arena_printf(c->arena, "Apply the claim %s", claim_id(c)));
}

/* Reserved for this very claim: one of the same name made later does not bind. */
static json_t *reserved_volume(struct step_ctx *c)
{
	json_t *wanted = storage_volume_object(c);
	const char *uid = json_str_at(saw(c, "claim"), "metadata.uid");

	if (c->planning && !uid)
		uid = STEP_UNKNOWN;
	json_put_str(wanted, "spec.claimRef.uid", uid);
	return wanted;
}

void mount_volume_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *there =
		named(json_at(saw(c, "volumes"), "items"), storage_volume(c));
	const json_t *claim = saw(c, "claim");
	json_t *wanted = reserved_volume(c);

	if (volume_refused(c) ||
	    is_foreign(c, "claim", STORAGE_CLAIM_TYPE, claim_id(c), claim))
		return;
	if (there && waits_for_end(c, "volume", storage_volume(c), there))
		return;
	if (!c->planning && (!claim || json_at(claim, "metadata.deletionTimestamp"))) {
		step_goto(c, "apply_claim"); /* somebody has deleted it since */
		return;
	}
	if (there && let_go(c, x, there))
		return;
	step_own(c, "kubernetes:persistentvolume", storage_volume(c), NULL, "made");
	if (there && object_is_current(c, there, wanted))
		return;
	apply(c, x, "persistentvolumes", NULL, storage_volume(c), wanted,
	      arena_printf(c->arena, "Apply the volume %s for the bucket %s",
			   storage_volume(c), storage_bucket(c)));
}

bool mount_bound_observe(struct step_ctx *c, struct exchange *x)
{
	return mount_claim_observe(c, x) ||
	       read_kube(c, x, "volume",
			 &(struct kube_request){.verb = KUBE_GET,
						.api = "v1",
						.plural = "persistentvolumes",
						.name = storage_volume(c)});
}

void mount_bound_plan(struct step_ctx *c, struct exchange *x)
{
	const char *phase = json_str_or(saw(c, "claim"), "status.phase", "Pending");
	const char *volume = json_str_or(saw(c, "volume"), "status.phase", "");

	(void)x;
	if (c->planning || streq(phase, "Bound"))
		return;
	/* Until a moment ago it was that of a claim which has gone since. */
	if (streq(volume, "Released"))
		step_goto(c, "apply_volume");
	else if (streq(phase, "Lost"))
		step_fail(c, ERR_STORAGE_FAILED, "The claim %s/%s has lost its volume",
			  storage_namespace(c), storage_name(c));
	else
		step_wait(c, 3, "the claim %s/%s to be bound (%s)", storage_namespace(c),
			  storage_name(c), phase);
}
