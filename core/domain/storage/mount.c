/*
 * mount.c - what a storage is in Kubernetes: namespace, volume, claim.
 */
#include "core/domain/cluster/eks_access.h"
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
		step_fail_answer(c, a, "Kubernetes refused: %s", a->message);
	else
		step_advance(c);
}

bool mount_namespace_observe(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "ns",
			 &(struct kube_request){.verb = KUBE_GET,
						.api = "v1",
						.plural = "namespaces",
						.name = storage_namespace(c)});
}

/* Nothing is made of what is on its way out: it would go all the same. */
static bool waits_for_end(struct step_ctx *c, const char *what, const char *name,
			  const json_t *there)
{
	if (!json_at(there, "metadata.deletionTimestamp"))
		return false;
	step_wait(c, 5, "the %s %s, which is being deleted, to be gone", what, name);
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

bool mount_volume_observe(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "volumes",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "v1",
						.plural = "persistentvolumes"});
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
	x->what = arena_printf(c->arena, "Free the volume %s of a claim that is gone",
			       storage_volume(c));
	return true;
}

void mount_volume_absorb(struct step_ctx *c, const struct answer *a)
{
	mount_absorb(c, a);
	if (a->ok && c->item)
		step_goto(c, c->step->name); /* it was let go of; now what it is like */
}

void mount_volume_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *volumes = json_at(saw(c, "volumes"), "items");
	const json_t *there = named(volumes, storage_volume(c));
	json_t *wanted = storage_volume_object(c);
	const char *twin = handle_twin(c, volumes, wanted);
	struct err *e;

	if (twin) {
		e = step_fail(
			c, ERR_STATE_CONFLICT,
			"the volume %s has the handle we need: pods of both would hang",
			twin);
		err_fix(e, "Delete that volume, or choose another name for the storage.");
		return;
	}
	if (there && !object_is_ours(there)) {
		step_fail(c, ERR_FOREIGN_OBJECT,
			  "a volume named %s exists and is not ours", storage_volume(c));
		return;
	}
	if (there &&
	    (waits_for_end(c, "volume", storage_volume(c), there) || let_go(c, x, there)))
		return;
	if (there &&
	    !object_covers(json_at(there, "spec.csi"), json_at(wanted, "spec.csi"))) {
		e = step_fail(
			c, ERR_STATE_CONFLICT,
			"the storage %s mounts the bucket %s; a volume's source cannot change",
			storage_name(c),
			json_str_or(there, "spec.csi.volumeAttributes.bucketName", "?"));
		err_field(e, "/bucket", storage_bucket(c),
			  json_str_at(there, "spec.csi.volumeAttributes.bucketName"));
		err_fix(e, "Delete the storage first, or choose another name.");
		return;
	}
	if (there && object_covers(there, wanted)) {
		step_own(c, "kubernetes:persistentvolume", storage_volume(c), NULL,
			 "made");
		return;
	}
	step_own(c, "kubernetes:persistentvolume", storage_volume(c), NULL, "made");
	apply(c, x, "persistentvolumes", NULL, storage_volume(c), wanted,
	      arena_printf(c->arena, "Apply the volume %s for the bucket %s",
			   storage_volume(c), storage_bucket(c)));
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

void mount_claim_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *there = saw(c, "claim");
	json_t *wanted = storage_claim_object(c);

	if (there && !object_is_ours(there)) {
		step_fail(c, ERR_FOREIGN_OBJECT,
			  "a claim named %s/%s exists and is not ours",
			  storage_namespace(c), storage_name(c));
		return;
	}
	if (there && waits_for_end(c, "claim", storage_name(c), there))
		return;
	step_own(c, "kubernetes:persistentvolumeclaim",
		 arena_printf(c->arena, "%s/%s", storage_namespace(c), storage_name(c)),
		 NULL, "made");
	if (there && object_covers(there, wanted))
		return;
	apply(c, x, "persistentvolumeclaims", storage_namespace(c), storage_name(c),
	      wanted,
	      arena_printf(c->arena, "Apply the claim %s/%s", storage_namespace(c),
			   storage_name(c)));
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
		step_fail(c, ERR_STORAGE_FAILED, "the claim %s/%s has lost its volume",
			  storage_namespace(c), storage_name(c));
	else
		step_wait(c, 3, "the claim %s/%s to be bound (%s)", storage_namespace(c),
			  storage_name(c), phase);
}
