#include <string.h>

#include "tests/cloud/kube/server.h"

#define VOLUMES ks_builtin("/persistentvolumes")
#define CLAIMS  ks_builtin("/persistentvolumeclaims")

static const json_t *claim_of(struct ks *k, const json_t *pv)
{
	const json_t *claim = ks_at(k, "/persistentvolumeclaims",
				    json_str_at(pv, "spec.claimRef.namespace"),
				    json_str_at(pv, "spec.claimRef.name"));
	const char *uid = json_str_at(pv, "spec.claimRef.uid");

	if (claim && uid && !streq(uid, json_str_at(claim, "metadata.uid")))
		return NULL;
	return claim;
}

static bool modes_cover(const json_t *pv, const json_t *claim)
{
	const json_t *want = NULL;
	const json_t *have = NULL;
	size_t i = 0;
	size_t j = 0;

	json_array_foreach(json_at(claim, "spec.accessModes"), i, want) {
		bool found = false;

		json_array_foreach(json_at(pv, "spec.accessModes"), j, have) {
			found |= json_equal(want, have);
		}
		if (!found)
			return false;
	}
	return true;
}

static bool fits(const json_t *pv, const json_t *claim)
{
	double want = 0;
	double have = 0;
	const char *reserved = json_str_at(pv, "spec.claimRef.name");

	if (reserved && (!streq(reserved, json_str_at(claim, "metadata.name")) ||
			 !streq(json_str_at(pv, "spec.claimRef.namespace"),
				json_str_at(claim, "metadata.namespace"))))
		return false;
	if (reserved && json_str_at(pv, "spec.claimRef.uid") &&
	    !streq(json_str_at(pv, "spec.claimRef.uid"),
		   json_str_at(claim, "metadata.uid")))
		return false;
	if (!streq(json_str_or(pv, "spec.storageClassName", ""),
		   json_str_or(claim, "spec.storageClassName", "")) ||
	    json_str_at(pv, "metadata.deletionTimestamp") || !modes_cover(pv, claim))
		return false;
	ks_quantity(json_at(claim, "spec.resources.requests.storage"), &want);
	ks_quantity(json_at(pv, "spec.capacity.storage"), &have);
	return have >= want;
}

static json_t *volume_for(struct ks *k, const json_t *claim)
{
	const char *named = json_str_at(claim, "spec.volumeName");
	const char *key = NULL;
	json_t *pv = NULL;

	if (named && *named) {
		pv = ks_at(k, "/persistentvolumes", NULL, named);
		return pv && fits(pv, claim) ? pv : NULL;
	}
	json_object_foreach(ks_all(k, "/persistentvolumes"), key, pv) {
		const char *phase = json_str_or(pv, "status.phase", "");

		if ((streq(phase, "Available") || streq(phase, "Pending")) &&
		    fits(pv, claim))
			return pv;
	}
	return NULL;
}

static void bind_pair(struct ks *k, const json_t *pv, const json_t *claim)
{
	json_t *v = json_deep_copy(pv);
	json_t *c = json_deep_copy(claim);

	json_put(v, "spec.claimRef",
		 json_pack("{s:s,s:s,s:O,s:O,s:O}", "kind", "PersistentVolumeClaim",
			   "apiVersion", "v1", "namespace",
			   json_at(claim, "metadata.namespace"), "name",
			   json_at(claim, "metadata.name"), "uid",
			   json_at(claim, "metadata.uid")));
	json_put_str(v, "status.phase", "Bound");
	ks_update_if_changed(k, VOLUMES, pv, v);
	json_put(c, "spec.volumeName", json_incref(json_at(pv, "metadata.name")));
	json_put_str(c, "status.phase", "Bound");
	json_put(c, "status.accessModes",
		 json_deep_copy(json_at(pv, "spec.accessModes")));
	json_put(c, "status.capacity", json_deep_copy(json_at(pv, "spec.capacity")));
	if (!json_at(c, "metadata.annotations"))
		json_put(c, "metadata.annotations", json_object());
	json_object_set_new(json_at(c, "metadata.annotations"),
			    "pv.kubernetes.io/bind-completed", json_string("yes"));
	ks_update_if_changed(k, CLAIMS, claim, c);
}

/* Dynamic: a volume of the class's driver, once that driver is installed. */
static void provision(struct ks *k, const json_t *claim)
{
	const char *class = json_str_or(claim, "spec.storageClassName", "");
	const json_t *sc = ks_at(k, "storage.k8s.io/storageclasses", NULL, class);
	const char *driver = json_str_or(sc, "provisioner", "");
	const char *uid = json_str_or(claim, "metadata.uid", "");
	json_t *pv = NULL;

	if (!*class || !ks_at(k, "storage.k8s.io/csidrivers", NULL, driver)) {
		if (*class)
			ks_event(k, claim, "Warning", "ProvisioningFailed",
				 "persistentvolume-controller",
				 sc ? "the provisioner is not installed"
				    : "storageclass.storage.k8s.io not found");
		return;
	}
	pv = json_pack("{s:s,s:s,s:{s:o},s:{s:{s:O},s:O,s:s,s:s,s:{s:s,s:s}}}",
		       "apiVersion", "v1", "kind", "PersistentVolume", "metadata", "name",
		       json_sprintf("pvc-%s", uid), "spec", "capacity", "storage",
		       json_at(claim, "spec.resources.requests.storage"), "accessModes",
		       json_at(claim, "spec.accessModes"), "storageClassName", class,
		       "persistentVolumeReclaimPolicy",
		       json_str_or(sc, "reclaimPolicy", "Delete"), "csi", "driver",
		       driver, "volumeHandle", uid);
	if (!pv)
		return;
	ks_stamp_new(k, pv);
	ks_complete(k, VOLUMES, pv);
	bind_pair(k, ks_write(k, VOLUMES, pv), claim);
}

static bool in_use(struct ks *k, const json_t *claim)
{
	const char *key = NULL;
	json_t *pod = NULL;

	json_object_foreach(ks_all(k, "/pods"), key, pod) {
		const json_t *v = NULL;
		size_t i = 0;

		if (ks_pod_done(pod) || !streq(json_str_at(pod, "metadata.namespace"),
					       json_str_at(claim, "metadata.namespace")))
			continue;
		json_array_foreach(json_at(pod, "spec.volumes"), i, v) {
			if (streq(json_str_at(v, "persistentVolumeClaim.claimName"),
				  json_str_at(claim, "metadata.name")))
				return true;
		}
	}
	return false;
}

static void run_claim(struct ks *k, const json_t *claim)
{
	json_t *pv = NULL;

	if (json_str_at(claim, "metadata.deletionTimestamp")) {
		if (!in_use(k, claim))
			ks_drop_finalizer(k, CLAIMS, claim,
					  "kubernetes.io/pvc-protection");
		return;
	}
	if (streq(json_str_at(claim, "status.phase"), "Bound")) {
		if (!ks_at(k, "/persistentvolumes", NULL,
			   json_str_at(claim, "spec.volumeName"))) {
			json_t *next = json_deep_copy(claim);

			json_put_str(next, "status.phase", "Lost");
			ks_update_if_changed(k, CLAIMS, claim, next);
		}
		return;
	}
	pv = volume_for(k, claim);
	if (pv)
		bind_pair(k, pv, claim);
	else if (!json_str_at(claim, "spec.volumeName"))
		provision(k, claim);
}

static void run_volume(struct ks *k, const json_t *pv)
{
	const bool claimed = json_str_at(pv, "spec.claimRef.uid") != NULL;
	const json_t *claim = claim_of(k, pv);
	const char *phase = !claimed ? "Available" : claim ? "Bound" : "Released";
	json_t *next = NULL;

	if (json_str_at(pv, "metadata.deletionTimestamp")) {
		if (!claimed || !claim)
			ks_drop_finalizer(k, VOLUMES, pv, "kubernetes.io/pv-protection");
		return;
	}
	if (streq(phase, "Released") &&
	    streq(json_str_at(pv, "spec.persistentVolumeReclaimPolicy"), "Delete")) {
		ks_delete(k, VOLUMES, pv, "Background");
		return;
	}
	next = json_deep_copy(pv);
	json_put_str(next, "status.phase", phase);
	ks_update_if_changed(k, VOLUMES, pv, next);
}

void ks_run_storage(struct ks *k)
{
	struct arena a;
	json_t *list = NULL;
	json_t *obj = NULL;
	size_t i = 0;

	arena_init(&a, 0);
	list = ks_snapshot(k, &a, "/persistentvolumes");
	json_array_foreach(list, i, obj) {
		run_volume(k, obj);
	}
	list = ks_snapshot(k, &a, "/persistentvolumeclaims");
	json_array_foreach(list, i, obj) {
		run_claim(k, obj);
	}
	arena_free(&a);
}
