/* What a server adds to an object that nobody asked for: see check.h. */
#include <stdio.h>
#include <string.h>

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

/* https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/ */
static const char *quality_of(const json_t *spec)
{
	static const char *const both[] = {"cpu", "memory"};
	bool any = false;
	bool all = true;
	const json_t *c = NULL;
	size_t i = 0;

	json_array_foreach(json_at(spec, "containers"), i, c) {
		for (size_t r = 0; r < 2; r++) {
			const json_t *limit =
				json_object_get(json_at(c, "resources.limits"), both[r]);
			const json_t *asked = json_object_get(
				json_at(c, "resources.requests"), both[r]);

			any |= limit || asked;
			all &= limit && asked && json_equal(limit, asked);
		}
	}
	return all ? "Guaranteed" : any ? "Burstable" : "BestEffort";
}

static void pod(struct ks *k, json_t *obj)
{
	json_t *spec = json_at(obj, "spec");

	(void)k;
	if (!spec)
		return;
	dflt(spec, "serviceAccountName", json_string("default"));
	dflt(obj, "status.phase", json_string("Pending"));
	dflt(obj, "status.qosClass", json_string(quality_of(spec)));
}

static const char *new_address(struct ks *k)
{
	static char text[32]; /* used at once */

	snprintf(text, sizeof(text), "172.20.%d.%d", (int)(ks_rv(k) / 250 % 250),
		 (int)(ks_rv(k) % 250 + 2));
	return text;
}

static void service(struct ks *k, json_t *obj)
{
	if (!streq(json_str_at(obj, "spec.type"), "ExternalName")) {
		dflt(obj, "spec.clusterIP", json_string(new_address(k)));
		dflt(obj, "spec.clusterIPs",
		     json_pack("[O]", json_at(obj, "spec.clusterIP")));
		/* Without addresses and without pods it may stand for both families. */
		if (streq(json_str_at(obj, "spec.clusterIP"), "None") &&
		    !json_at(obj, "spec.selector")) {
			dflt(obj, "spec.ipFamilies", json_pack("[s,s]", "IPv4", "IPv6"));
			dflt(obj, "spec.ipFamilyPolicy", json_string("RequireDualStack"));
		}
		dflt(obj, "spec.ipFamilies", json_pack("[s]", "IPv4"));
		dflt(obj, "spec.ipFamilyPolicy", json_string("SingleStack"));
	}
	dflt(obj, "status", json_pack("{s:{}}", "loadBalancer"));
}

static void stateful_set(struct ks *k, json_t *obj)
{
	(void)k;
	dflt(obj, "spec.serviceName", json_string(""));
}

/* By which a job knows its pods: by the uid that it has from now on. */
static void job_labels(json_t *obj)
{
	const char *uid = json_str_or(obj, "metadata.uid", "");
	const char *name = json_str_or(obj, "metadata.name", "");
	json_t *labels = NULL;

	dflt(obj, "spec.template.metadata", json_object());
	dflt(obj, "spec.template.metadata.labels", json_object());
	labels = json_at(obj, "spec.template.metadata.labels");
	if (!*uid || json_object_get(labels, "batch.kubernetes.io/controller-uid"))
		return;
	json_object_set_new(labels, "batch.kubernetes.io/controller-uid",
			    json_string(uid));
	json_object_set_new(labels, "batch.kubernetes.io/job-name", json_string(name));
	json_object_set_new(labels, "controller-uid", json_string(uid));
	json_object_set_new(labels, "job-name", json_string(name));
	dflt(obj, "spec.selector", json_object());
	dflt(obj, "spec.selector.matchLabels", json_object());
	json_object_set_new(json_at(obj, "spec.selector.matchLabels"),
			    "batch.kubernetes.io/controller-uid", json_string(uid));
}

static void job(struct ks *k, json_t *obj)
{
	(void)k;
	if (!json_bool_or(obj, "spec.manualSelector", false))
		job_labels(obj);
	/* Without labels of its own a job is labelled as its pods are. */
	if (!json_at(obj, "metadata.labels"))
		json_put(obj, "metadata.labels",
			 json_deep_copy(json_at(obj, "spec.template.metadata.labels")));
}

static void volume(struct ks *k, json_t *obj)
{
	(void)k;
	if (!json_str_at(obj, "metadata.deletionTimestamp"))
		finalizer(obj, "kubernetes.io/pv-protection");
	dflt(obj, "status.phase", json_string("Pending"));
}

static void claim(struct ks *k, json_t *obj)
{
	(void)k;
	if (!json_str_at(obj, "metadata.deletionTimestamp"))
		finalizer(obj, "kubernetes.io/pvc-protection");
	dflt(obj, "status.phase", json_string("Pending"));
}

static void name_space(struct ks *k, json_t *obj)
{
	(void)k;
	if (!json_str_at(obj, "metadata.deletionTimestamp"))
		dflt(obj, "spec.finalizers", json_pack("[s]", "kubernetes"));
	dflt(obj, "status.phase", json_string("Active"));
}

static void event(struct ks *k, json_t *obj)
{
	static const char *const times[] = {"eventTime", "firstTimestamp",
					    "lastTimestamp"};
	static const char *const texts[] = {"reportingComponent", "reportingInstance"};

	(void)k;
	for (size_t i = 0; i < 3; i++) {
		if (!json_object_get(obj, times[i]))
			json_object_set_new(obj, times[i], json_null());
	}
	for (size_t i = 0; i < 2; i++)
		dflt(obj, texts[i], json_string(""));
	dflt(obj, "involvedObject", json_object());
	dflt(obj, "source", json_object());
}

static const struct {
	const char *resource;
	void (*fill)(struct ks *k, json_t *obj);
} rows[] = {
	{"/pods", pod},
	{"/services", service},
	{"/persistentvolumes", volume},
	{"/persistentvolumeclaims", claim},
	{"/namespaces", name_space},
	{"/events", event},
	{"apps/statefulsets", stateful_set},
	{"batch/jobs", job},
};

void ks_prepare(struct ks *k, const struct ks_kind *kind, json_t *obj)
{
	char resource[256];

	snprintf(resource, sizeof(resource), "%s/%s", kind->group, kind->plural);
	for (size_t i = 0; !kind->schema && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (streq(rows[i].resource, resource))
			rows[i].fill(k, obj);
	}
}

void ks_complete(struct ks *k, const struct ks_kind *kind, json_t *obj)
{
	ks_defaults(kind, obj);
	ks_prepare(k, kind, obj);
}
