#include <string.h>

#include "tests/cloud/kube/server.h"

enum { ROUNDS = 16 };

static void put(struct ks *k, const char *resource, json_t *obj)
{
	const struct ks_kind *kind = ks_builtin(resource);

	ks_stamp_new(k, obj);
	ks_complete(k, kind, obj);
	ks_write(k, kind, obj);
}

void cloud_kube_create(struct cloud *c, const char *cluster_name, const char *id)
{
	static const char *const namespaces[] = {"default", "kube-system", "kube-public",
						 "kube-node-lease"};
	struct ks k;

	if (ks_by_name(c, cluster_name, &k))
		return;
	cloud_put(c, "kube.history", cluster_name,
		  json_pack("{s:[],s:i}", "events", "floor", 0));
	cloud_put(c, "kube", cluster_name,
		  json_pack("{s:s,s:s,s:i,s:{},s:{}}", "id", id, "name", cluster_name,
			    "rv", 1, "objects", "due"));
	if (!ks_by_name(c, cluster_name, &k))
		return;
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		put(&k, "/namespaces",
		    json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind",
			      "Namespace", "metadata", "name", namespaces[i]));
	put(&k, "/services",
	    json_pack("{s:s,s:s,s:{s:s,s:s},s:{s:s,s:[{s:s,s:i}]}}", "apiVersion", "v1",
		      "kind", "Service", "metadata", "name", "kubernetes", "namespace",
		      "default", "spec", "clusterIP", "172.20.0.1", "ports", "name",
		      "https", "port", 443));
	put(&k, "rbac.authorization.k8s.io/clusterroles",
	    json_pack("{s:s,s:s,s:{s:s},s:[{s:[s],s:[s],s:[s]}]}", "apiVersion",
		      "rbac.authorization.k8s.io/v1", "kind", "ClusterRole", "metadata",
		      "name", "cluster-admin", "rules", "apiGroups", "*", "resources",
		      "*", "verbs", "*"));
	put(&k, "storage.k8s.io/storageclasses",
	    json_pack("{s:s,s:s,s:{s:s},s:s,s:s}", "apiVersion", "storage.k8s.io/v1",
		      "kind", "StorageClass", "metadata", "name", "gp2", "provisioner",
		      "kubernetes.io/aws-ebs", "volumeBindingMode",
		      "WaitForFirstConsumer"));
}

void cloud_kube_destroy(struct cloud *c, const char *cluster_name)
{
	cloud_delete(c, "kube", cluster_name);
	cloud_delete(c, "kube.history", cluster_name);
}

static const struct ks_kind *kind_at(struct ks *k, struct arena *a, const char *api,
				     const char *plural)
{
	struct str version = str_of(api);
	const struct str first = str_cut(&version, '/');

	if (!version.p)
		return ks_kind_find(k, a, "", api, plural);
	return ks_kind_find(k, a, str_dup(a, first), str_dup(a, version), plural);
}

json_t *cloud_kube_get(struct cloud *c, const char *cluster_name, const char *api,
		       const char *plural, const char *ns, const char *name)
{
	struct ks k;
	struct arena a;
	const struct ks_kind *kind = NULL;
	json_t *obj = NULL;

	if (!ks_by_name(c, cluster_name, &k))
		return NULL;
	arena_init(&a, 0);
	kind = kind_at(&k, &a, api, plural);
	if (kind)
		obj = ks_get(&k, kind, ns, name);
	arena_free(&a);
	return obj;
}

/* A node's owner does not undo what others did to it: cordon, labels. */
static void keep_of_node(const json_t *live, json_t *obj)
{
	const char *name = NULL;
	json_t *v = NULL;

	if (json_bool_or(live, "spec.unschedulable", false) &&
	    !json_at(obj, "spec.unschedulable"))
		json_put_bool(obj, "spec.unschedulable", true);
	json_object_foreach(json_at(live, "metadata.labels"), name, v) {
		if (!json_at(obj, "metadata.labels"))
			json_put(obj, "metadata.labels", json_object());
		if (!json_object_get(json_at(obj, "metadata.labels"), name))
			json_object_set(json_at(obj, "metadata.labels"), name, v);
	}
}

/* Steals the object. What has not changed is not written: watches stay quiet. */
static void put_object(struct ks *k, const struct ks_kind *kind, json_t *obj)
{
	const json_t *live = ks_get(k, kind, json_str_at(obj, "metadata.namespace"),
				    json_str_or(obj, "metadata.name", ""));
	static const char *const kept[] = {"metadata.uid", "metadata.creationTimestamp",
					   "metadata.resourceVersion",
					   "metadata.deletionTimestamp"};

	if (!live) {
		ks_stamp_new(k, obj);
		if (json_at(obj, "spec"))
			json_put_int(obj, "metadata.generation", 1);
		ks_complete(k, kind, obj);
		ks_write(k, kind, obj);
		return;
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (json_at(live, kept[i]))
			json_put(obj, kept[i], json_incref(json_at(live, kept[i])));
	}
	if (streq(kind->kind, "Node"))
		keep_of_node(live, obj);
	if (json_at(live, "metadata.generation"))
		json_put_int(
			obj, "metadata.generation",
			json_int_or(live, "metadata.generation", 1) +
				!json_equal(json_at(live, "spec"), json_at(obj, "spec")));
	ks_complete(k, kind, obj);
	if (!json_at(obj, "status") && json_at(live, "status"))
		json_put(obj, "status", json_deep_copy(json_at(live, "status")));
	ks_update_if_changed(k, kind, live, obj);
}

void cloud_kube_put(struct cloud *c, const char *cluster_name, json_t *object)
{
	struct ks k;
	struct arena a;
	const struct ks_kind *kind = NULL;

	arena_init(&a, 0);
	if (ks_by_name(c, cluster_name, &k))
		kind = ks_kind_of(&k, &a, json_str_or(object, "apiVersion", ""),
				  json_str_or(object, "kind", ""));
	if (kind)
		put_object(&k, kind, object);
	else
		json_decref(object);
	arena_free(&a);
}

const char *cloud_kube_silent(struct cloud *c, struct arena *a, const char *cluster_name,
			      const char *api, const char *plural, const char *ns)
{
	const struct ks_kind *kind = NULL;
	struct ks k;

	if (ks_by_name(c, cluster_name, &k))
		kind = kind_at(&k, a, api, plural);
	return kind ? ks_webhook_silent(&k, a, kind, ns) : NULL;
}

void cloud_kube_remove(struct cloud *c, const char *cluster_name, const char *api,
		       const char *plural, const char *ns, const char *name)
{
	struct ks k;
	struct arena a;
	const struct ks_kind *kind = NULL;

	arena_init(&a, 0);
	if (ks_by_name(c, cluster_name, &k))
		kind = kind_at(&k, &a, api, plural);
	if (kind)
		ks_erase(&k, kind, ns, name);
	arena_free(&a);
}

/* Those that act on what is stored alone. */
static void run_reactive(struct ks *k)
{
	ks_run_crds(k);
	ks_run_api_services(k);
	ks_run_namespaces(k);
	ks_run_storage(k);
	ks_run_workloads(k);
	ks_run_scheduler(k);
	ks_run_garbage(k);
	ks_run_balancers(k);
	ks_run_roles(k);
}

/* Controllers feed each other; a round without a write is the end. When nothing
 * was written since the last time, only those that watch the clock have work. */
static void settle(struct ks *k)
{
	bool settled = json_int_or(k->root, "idle_rv", 0) == ks_rv(k);

	for (int round = 0; round < ROUNDS; round++) {
		const int64_t before = ks_rv(k);

		if (!settled)
			run_reactive(k);
		ks_run_jobs(k);
		ks_run_kubelet(k);
		if (ks_rv(k) == before)
			return;
		settled = false;
	}
}

void cloud_kube_advance(struct cloud *c, int64_t now_ms)
{
	const char *name = NULL;
	json_t *root = NULL;

	json_object_foreach(cloud_table(c, "kube"), name, root) {
		struct ks k;

		if (!ks_by_name(c, name, &k))
			continue;
		/* Nothing written and no time passed: nothing to do. */
		if (json_int_or(root, "idle_rv", 0) == ks_rv(&k) &&
		    json_int_or(root, "idle_ms", 0) == now_ms)
			continue;
		settle(&k);
		json_put_int(root, "idle_rv", ks_rv(&k));
		json_put_int(root, "idle_ms", now_ms);
	}
}
