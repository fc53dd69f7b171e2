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

static void probe(json_t *p)
{
	if (!json_is_object(p))
		return;
	if (json_at(p, "httpGet"))
		dflt(p, "httpGet.scheme", json_string("HTTP"));
	if (json_at(p, "httpGet"))
		dflt(p, "httpGet.path", json_string("/"));
	dflt(p, "timeoutSeconds", json_integer(1));
	dflt(p, "periodSeconds", json_integer(10));
	dflt(p, "successThreshold", json_integer(1));
	dflt(p, "failureThreshold", json_integer(3));
}

static void container(json_t *c)
{
	const char *image = json_str_or(c, "image", "");
	const char *tag = strrchr(image, ':');
	const bool latest = !tag || strchr(tag, '/') || streq(tag, ":latest");
	json_t *item = NULL;
	size_t i = 0;

	dflt(c, "imagePullPolicy", json_string(latest ? "Always" : "IfNotPresent"));
	dflt(c, "terminationMessagePath", json_string("/dev/termination-log"));
	dflt(c, "terminationMessagePolicy", json_string("File"));
	dflt(c, "resources", json_object());
	json_array_foreach(json_at(c, "ports"), i, item) {
		dflt(item, "protocol", json_string("TCP"));
	}
	json_array_foreach(json_at(c, "env"), i, item) {
		if (json_at(item, "valueFrom.fieldRef"))
			dflt(item, "valueFrom.fieldRef.apiVersion", json_string("v1"));
	}
	probe(json_at(c, "livenessProbe"));
	probe(json_at(c, "readinessProbe"));
	probe(json_at(c, "startupProbe"));
}

static void pod_volume(json_t *v)
{
	static const char *const files[] = {"secret", "configMap", "projected",
					    "downwardAPI"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		json_t *source = json_object_get(v, files[i]);

		if (json_is_object(source))
			dflt(source, "defaultMode", json_integer(0644));
	}
	if (json_is_object(json_object_get(v, "hostPath")))
		dflt(v, "hostPath.type", json_string(""));
	/* A volume that says nothing is an empty one. */
	if (json_object_size(v) == 1)
		json_put(v, "emptyDir", json_object());
}

/* Of a pod itself a limit without a request is the request too. */
static void pod_requests(json_t *c)
{
	const char *name = NULL;
	json_t *q = NULL;

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
	json_array_foreach(json_at(spec, "volumes"), i, c) {
		pod_volume(c);
	}
	if (json_at(spec, "serviceAccountName") && !json_at(spec, "serviceAccount"))
		json_put(spec, "serviceAccount",
			 json_incref(json_at(spec, "serviceAccountName")));
}

static void pod(json_t *obj)
{
	json_t *spec = json_at(obj, "spec");
	json_t *c = NULL;
	size_t i = 0;

	if (!spec)
		return;
	json_array_foreach(json_at(spec, "containers"), i, c) {
		pod_requests(c);
	}
	json_array_foreach(json_at(spec, "initContainers"), i, c) {
		pod_requests(c);
	}
	pod_spec(spec);
	dflt(spec, "enableServiceLinks", json_true());
}

static void service(json_t *obj)
{
	const bool external = streq(json_str_at(obj, "spec.type"), "ExternalName");
	json_t *port = NULL;
	size_t i = 0;

	dflt(obj, "spec.type", json_string("ClusterIP"));
	dflt(obj, "spec.sessionAffinity", json_string("None"));
	if (!external)
		dflt(obj, "spec.internalTrafficPolicy", json_string("Cluster"));
	json_array_foreach(json_at(obj, "spec.ports"), i, port) {
		dflt(port, "protocol", json_string("TCP"));
		if (!json_at(port, "targetPort"))
			json_put(port, "targetPort", json_incref(json_at(port, "port")));
	}
}

static void template(json_t *owner)
{
	dflt(owner, "spec.template.metadata", json_object());
	dflt(owner, "spec.template.spec", json_object());
	pod_spec(json_at(owner, "spec.template.spec"));
}

static void daemon_set(json_t *obj)
{
	template(obj);
	dflt(obj, "metadata.annotations", json_object());
	json_object_set_new(json_at(obj, "metadata.annotations"),
			    "deprecated.daemonset.template.generation",
			    json_sprintf("%lld", (long long)json_int_or(
							 obj, "metadata.generation", 1)));
	dflt(obj, "spec.updateStrategy.type", json_string("RollingUpdate"));
	if (streq(json_str_at(obj, "spec.updateStrategy.type"), "RollingUpdate")) {
		dflt(obj, "spec.updateStrategy.rollingUpdate", json_object());
		dflt(obj, "spec.updateStrategy.rollingUpdate.maxSurge", json_integer(0));
		dflt(obj, "spec.updateStrategy.rollingUpdate.maxUnavailable",
		     json_integer(1));
	}
	dflt(obj, "spec.revisionHistoryLimit", json_integer(10));
}

static void claim_template(json_t *c)
{
	dflt(c, "apiVersion", json_string("v1"));
	dflt(c, "kind", json_string("PersistentVolumeClaim"));
	dflt(c, "spec.volumeMode", json_string("Filesystem"));
	dflt(c, "status.phase", json_string("Pending"));
}

static void stateful_set(json_t *obj)
{
	json_t *c = NULL;
	size_t i = 0;

	template(obj);
	dflt(obj, "spec.replicas", json_integer(1));
	dflt(obj, "spec.podManagementPolicy", json_string("OrderedReady"));
	dflt(obj, "spec.revisionHistoryLimit", json_integer(10));
	dflt(obj, "spec.updateStrategy.type", json_string("RollingUpdate"));
	if (streq(json_str_at(obj, "spec.updateStrategy.type"), "RollingUpdate")) {
		dflt(obj, "spec.updateStrategy.rollingUpdate", json_object());
		dflt(obj, "spec.updateStrategy.rollingUpdate.partition", json_integer(0));
	}
	dflt(obj, "spec.persistentVolumeClaimRetentionPolicy",
	     json_pack("{s:s,s:s}", "whenDeleted", "Retain", "whenScaled", "Retain"));
	json_array_foreach(json_at(obj, "spec.volumeClaimTemplates"), i, c) {
		claim_template(c);
	}
}

static void workload(json_t *obj)
{
	template(obj);
	dflt(obj, "spec.replicas", json_integer(1));
	if (!streq(json_str_at(obj, "kind"), "Deployment"))
		return;
	dflt(obj, "spec.strategy.type", json_string("RollingUpdate"));
	if (streq(json_str_at(obj, "spec.strategy.type"), "RollingUpdate")) {
		dflt(obj, "spec.strategy.rollingUpdate", json_object());
		dflt(obj, "spec.strategy.rollingUpdate.maxSurge", json_string("25%"));
		dflt(obj, "spec.strategy.rollingUpdate.maxUnavailable",
		     json_string("25%"));
	}
	dflt(obj, "spec.revisionHistoryLimit", json_integer(10));
	dflt(obj, "spec.progressDeadlineSeconds", json_integer(600));
}

static void job(json_t *obj)
{
	template(obj);
	dflt(obj, "spec.manualSelector", json_false());
	dflt(obj, "spec.podReplacementPolicy", json_string("TerminatingOrFailed"));
	if (!json_at(obj, "spec.completions") && !json_at(obj, "spec.parallelism"))
		json_put(obj, "spec.completions", json_integer(1));
	dflt(obj, "spec.parallelism", json_integer(1));
	dflt(obj, "spec.backoffLimit", json_integer(6));
	dflt(obj, "spec.completionMode", json_string("NonIndexed"));
	dflt(obj, "spec.suspend", json_false());
}

static void cron_job(json_t *obj)
{
	dflt(obj, "spec.jobTemplate.metadata", json_object());
	dflt(obj, "spec.jobTemplate.spec.template.metadata", json_object());
	pod_spec(json_at(obj, "spec.jobTemplate.spec.template.spec"));
	dflt(obj, "spec.concurrencyPolicy", json_string("Allow"));
	dflt(obj, "spec.suspend", json_false());
	dflt(obj, "spec.successfulJobsHistoryLimit", json_integer(3));
	dflt(obj, "spec.failedJobsHistoryLimit", json_integer(1));
}

static void volume(json_t *obj)
{
	dflt(obj, "spec.persistentVolumeReclaimPolicy", json_string("Retain"));
	dflt(obj, "spec.volumeMode", json_string("Filesystem"));
}

static void claim(json_t *obj)
{
	dflt(obj, "spec.volumeMode", json_string("Filesystem"));
}

static void secret(json_t *obj)
{
	const char *name = NULL;
	const json_t *v = NULL;

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

static void name_space(json_t *obj)
{
	dflt(obj, "metadata.labels", json_object());
	json_object_set(json_at(obj, "metadata.labels"), "kubernetes.io/metadata.name",
			json_at(obj, "metadata.name"));
}

static void crd(json_t *obj)
{
	struct arena a;
	const char *kind = json_str_or(obj, "spec.names.kind", "");

	arena_init(&a, 0);
	if (*kind)
		dflt(obj, "spec.names.listKind", json_sprintf("%sList", kind));
	if (*kind && !json_at(obj, "spec.names.singular")) {
		char *lower = arena_strdup(&a, kind);

		for (char *p = lower; *p; p++)
			*p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
		json_put_str(obj, "spec.names.singular", lower);
	}
	dflt(obj, "spec.conversion.strategy", json_string("None"));
	arena_free(&a);
}

static void storage_class(json_t *obj)
{
	dflt(obj, "reclaimPolicy", json_string("Delete"));
	dflt(obj, "volumeBindingMode", json_string("Immediate"));
}

static void csi_driver(json_t *obj)
{
	dflt(obj, "spec.attachRequired", json_true());
	dflt(obj, "spec.podInfoOnMount", json_false());
	dflt(obj, "spec.volumeLifecycleModes", json_pack("[s]", "Persistent"));
	dflt(obj, "spec.fsGroupPolicy", json_string("ReadWriteOnceWithFSType"));
	dflt(obj, "spec.storageCapacity", json_false());
	dflt(obj, "spec.requiresRepublish", json_false());
	dflt(obj, "spec.seLinuxMount", json_false());
}

static void binding(json_t *obj)
{
	const char *group = "rbac.authorization.k8s.io";
	json_t *s = NULL;
	size_t i = 0;

	if (!*json_str_or(obj, "roleRef.apiGroup", ""))
		json_put_str(obj, "roleRef.apiGroup", group);
	json_array_foreach(json_at(obj, "subjects"), i, s) {
		if (!streq(json_str_at(s, "kind"), "ServiceAccount"))
			dflt(s, "apiGroup", json_string(group));
	}
}

static void role(json_t *obj)
{
	if (json_len_at(obj, "rules") == 0)
		json_object_set_new(obj, "rules", json_null());
}

static const struct {
	const char *resource;
	void (*fill)(json_t *obj);
} rows[] = {
	{"/pods", pod},
	{"/services", service},
	{"/persistentvolumes", volume},
	{"/persistentvolumeclaims", claim},
	{"/secrets", secret},
	{"/namespaces", name_space},
	{"apps/deployments", workload},
	{"apps/daemonsets", daemon_set},
	{"apps/statefulsets", stateful_set},
	{"apps/replicasets", workload},
	{"batch/jobs", job},
	{"batch/cronjobs", cron_job},
	{"apiextensions.k8s.io/customresourcedefinitions", crd},
	{"storage.k8s.io/storageclasses", storage_class},
	{"storage.k8s.io/csidrivers", csi_driver},
	{"rbac.authorization.k8s.io/roles", role},
	{"rbac.authorization.k8s.io/clusterroles", role},
	{"rbac.authorization.k8s.io/rolebindings", binding},
	{"rbac.authorization.k8s.io/clusterrolebindings", binding},
};

void ks_defaults(const struct ks_kind *kind, json_t *obj)
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
			rows[i].fill(obj);
	}
}
