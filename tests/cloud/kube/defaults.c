#include <string.h>

#include <openssl/evp.h>

#include "tests/cloud/kube/server.h"

static void dflt(json_t *obj, const char *path, json_t *value)
{
	if (json_at(obj, path))
		json_decref(value);
	else
		json_put(obj, path, value);
}

static void finalizer(json_t *obj, const char *name)
{
	const json_t *v = NULL;
	size_t i = 0;

	if (!json_at(obj, "metadata.finalizers"))
		json_put(obj, "metadata.finalizers", json_array());
	json_array_foreach(json_at(obj, "metadata.finalizers"), i, v) {
		if (streq(json_string_value(v), name))
			return;
	}
	json_push(json_at(obj, "metadata.finalizers"), json_string(name));
}

static void container(json_t *c)
{
	const char *image = json_str_or(c, "image", "");
	const char *tag = strrchr(image, ':');
	const bool latest = !tag || strchr(tag, '/') || streq(tag, ":latest");
	json_t *port = NULL;
	const char *name = NULL;
	json_t *q = NULL;
	size_t i = 0;

	dflt(c, "imagePullPolicy", json_string(latest ? "Always" : "IfNotPresent"));
	dflt(c, "terminationMessagePath", json_string("/dev/termination-log"));
	dflt(c, "terminationMessagePolicy", json_string("File"));
	dflt(c, "resources", json_object());
	json_array_foreach(json_at(c, "ports"), i, port) {
		dflt(port, "protocol", json_string("TCP"));
	}
	/* A limit without a request is the request too. */
	json_object_foreach(json_at(c, "resources.limits"), name, q) {
		if (!json_at(c, "resources.requests"))
			json_put(c, "resources.requests", json_object());
		if (!json_object_get(json_at(c, "resources.requests"), name))
			json_object_set(json_at(c, "resources.requests"), name, q);
	}
}

static void pod_spec(json_t *spec)
{
	json_t *c = NULL;
	size_t i = 0;

	if (!json_is_object(spec))
		return;
	dflt(spec, "restartPolicy", json_string("Always"));
	dflt(spec, "terminationGracePeriodSeconds", json_integer(30));
	dflt(spec, "dnsPolicy", json_string("ClusterFirst"));
	dflt(spec, "schedulerName", json_string("default-scheduler"));
	dflt(spec, "securityContext", json_object());
	json_array_foreach(json_at(spec, "containers"), i, c) {
		container(c);
	}
	json_array_foreach(json_at(spec, "initContainers"), i, c) {
		container(c);
	}
}

static void pod(struct ks *k, json_t *obj)
{
	json_t *spec = json_at(obj, "spec");

	(void)k;
	pod_spec(spec);
	if (!spec)
		return;
	dflt(spec, "serviceAccountName", json_string("default"));
	dflt(spec, "enableServiceLinks", json_true());
	if (!json_at(obj, "status"))
		json_put(obj, "status",
			 json_pack("{s:s,s:s}", "phase", "Pending", "qosClass",
				   "BestEffort"));
}

static void service(struct ks *k, json_t *obj)
{
	json_t *port = NULL;
	size_t i = 0;

	dflt(obj, "spec.type", json_string("ClusterIP"));
	dflt(obj, "spec.sessionAffinity", json_string("None"));
	if (!json_at(obj, "spec.clusterIP") &&
	    !streq(json_str_at(obj, "spec.type"), "ExternalName"))
		json_put(obj, "spec.clusterIP",
			 json_sprintf("172.20.%d.%d", (int)(ks_rv(k) / 250 % 250),
				      (int)(ks_rv(k) % 250 + 2)));
	json_array_foreach(json_at(obj, "spec.ports"), i, port) {
		dflt(port, "protocol", json_string("TCP"));
		if (!json_at(port, "targetPort"))
			json_put(port, "targetPort", json_incref(json_at(port, "port")));
	}
	dflt(obj, "status", json_pack("{s:{}}", "loadBalancer"));
}

static void workload(struct ks *k, json_t *obj)
{
	(void)k;
	pod_spec(json_at(obj, "spec.template.spec"));
	if (streq(json_str_at(obj, "kind"), "DaemonSet")) {
		dflt(obj, "spec.updateStrategy.type", json_string("RollingUpdate"));
		dflt(obj, "spec.revisionHistoryLimit", json_integer(10));
		return;
	}
	dflt(obj, "spec.replicas", json_integer(1));
	if (!streq(json_str_at(obj, "kind"), "Deployment"))
		return;
	dflt(obj, "spec.strategy.type", json_string("RollingUpdate"));
	if (streq(json_str_at(obj, "spec.strategy.type"), "RollingUpdate"))
		dflt(obj, "spec.strategy.rollingUpdate",
		     json_pack("{s:s,s:s}", "maxSurge", "25%", "maxUnavailable", "25%"));
	dflt(obj, "spec.revisionHistoryLimit", json_integer(10));
	dflt(obj, "spec.progressDeadlineSeconds", json_integer(600));
}

static void job(struct ks *k, json_t *obj)
{
	(void)k;
	pod_spec(json_at(obj, "spec.template.spec"));
	dflt(obj, "spec.parallelism", json_integer(1));
	if (!json_at(obj, "spec.completions") &&
	    json_int_or(obj, "spec.parallelism", 1) == 1)
		json_put(obj, "spec.completions", json_integer(1));
	dflt(obj, "spec.backoffLimit", json_integer(6));
	dflt(obj, "spec.completionMode", json_string("NonIndexed"));
	dflt(obj, "spec.suspend", json_false());
}

static void cron_job(struct ks *k, json_t *obj)
{
	(void)k;
	pod_spec(json_at(obj, "spec.jobTemplate.spec.template.spec"));
	dflt(obj, "spec.concurrencyPolicy", json_string("Allow"));
	dflt(obj, "spec.suspend", json_false());
}

static void volume(struct ks *k, json_t *obj)
{
	(void)k;
	if (!json_str_at(obj, "metadata.deletionTimestamp"))
		finalizer(obj, "kubernetes.io/pv-protection");
	dflt(obj, "spec.persistentVolumeReclaimPolicy", json_string("Retain"));
	dflt(obj, "spec.volumeMode", json_string("Filesystem"));
	dflt(obj, "status.phase", json_string("Pending"));
}

static void claim(struct ks *k, json_t *obj)
{
	(void)k;
	if (!json_str_at(obj, "metadata.deletionTimestamp"))
		finalizer(obj, "kubernetes.io/pvc-protection");
	dflt(obj, "spec.volumeMode", json_string("Filesystem"));
	dflt(obj, "status.phase", json_string("Pending"));
}

static void secret(struct ks *k, json_t *obj)
{
	const char *name = NULL;
	const json_t *v = NULL;

	(void)k;
	dflt(obj, "type", json_string("Opaque"));
	json_object_foreach(json_at(obj, "stringData"), name, v) {
		const char *text = json_string_value(v);
		struct arena a;
		char *out = NULL;

		arena_init(&a, 0);
		out = arena_alloc(&a, strlen(text) * 4 / 3 + 8);
		EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text,
				(int)strlen(text));
		if (!json_at(obj, "data"))
			json_put(obj, "data", json_object());
		json_object_set_new(json_at(obj, "data"), name, json_string(out));
		arena_free(&a);
	}
	json_object_del(obj, "stringData");
}

static void name_space(struct ks *k, json_t *obj)
{
	(void)k;
	if (!json_str_at(obj, "metadata.deletionTimestamp"))
		dflt(obj, "spec.finalizers", json_pack("[s]", "kubernetes"));
	dflt(obj, "status.phase", json_string("Active"));
	if (!json_at(obj, "metadata.labels"))
		json_put(obj, "metadata.labels", json_object());
	json_object_set(json_at(obj, "metadata.labels"), "kubernetes.io/metadata.name",
			json_at(obj, "metadata.name"));
}

static void crd(struct ks *k, json_t *obj)
{
	struct arena a;
	const char *kind = json_str_or(obj, "spec.names.kind", "");

	(void)k;
	arena_init(&a, 0);
	dflt(obj, "spec.names.listKind", json_sprintf("%sList", kind));
	if (!json_at(obj, "spec.names.singular")) {
		char *lower = arena_strdup(&a, kind);

		for (char *p = lower; *p; p++)
			*p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
		json_put_str(obj, "spec.names.singular", lower);
	}
	dflt(obj, "spec.conversion.strategy", json_string("None"));
	arena_free(&a);
}

static void storage_class(struct ks *k, json_t *obj)
{
	(void)k;
	dflt(obj, "reclaimPolicy", json_string("Delete"));
	dflt(obj, "volumeBindingMode", json_string("Immediate"));
}

static void csi_driver(struct ks *k, json_t *obj)
{
	(void)k;
	dflt(obj, "spec.attachRequired", json_true());
	dflt(obj, "spec.podInfoOnMount", json_false());
	dflt(obj, "spec.volumeLifecycleModes", json_pack("[s]", "Persistent"));
}

static const struct {
	const char *resource;
	void (*fill)(struct ks *k, json_t *obj);
} rows[] = {
	{"/pods", pod},
	{"/services", service},
	{"/persistentvolumes", volume},
	{"/persistentvolumeclaims", claim},
	{"/secrets", secret},
	{"/namespaces", name_space},
	{"apps/deployments", workload},
	{"apps/daemonsets", workload},
	{"apps/statefulsets", workload},
	{"apps/replicasets", workload},
	{"batch/jobs", job},
	{"batch/cronjobs", cron_job},
	{"apiextensions.k8s.io/customresourcedefinitions", crd},
	{"storage.k8s.io/storageclasses", storage_class},
	{"storage.k8s.io/csidrivers", csi_driver},
};

void ks_defaults(struct ks *k, const struct ks_kind *kind, json_t *obj)
{
	char resource[256];

	if (kind->schema) {
		ks_schema_defaults(kind->schema, obj);
		return;
	}
	str_copy(resource, sizeof(resource), kind->group);
	str_copy(resource + strlen(resource), sizeof(resource) - strlen(resource), "/");
	str_copy(resource + strlen(resource), sizeof(resource) - strlen(resource),
		 kind->plural);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (streq(rows[i].resource, resource))
			rows[i].fill(k, obj);
	}
}
