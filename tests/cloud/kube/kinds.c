#include <string.h>

#include "tests/cloud/kube/server.h"

#define ST KS_STATUS
#define SC (KS_STATUS | KS_SCALE)

const struct ks_kind ks_kinds[] = {
	{"", "v1", "namespaces", "namespace", "Namespace", "ns", false, ST,
	 .type = "Namespace"},
	{"", "v1", "nodes", "node", "Node", "no", false, ST, .type = "Node"},
	{"", "v1", "pods", "pod", "Pod", "po", true, ST, .type = "Pod"},
	{"", "v1", "services", "service", "Service", "svc", true, ST, .type = "Service"},
	{"", "v1", "endpoints", "endpoints", "Endpoints", "ep", true, 0, .type = NULL},
	{"", "v1", "configmaps", "configmap", "ConfigMap", "cm", true, 0,
	 .type = "ConfigMap"},
	{"", "v1", "secrets", "secret", "Secret", "", true, 0, .type = "Secret"},
	{"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", "sa", true, 0,
	 .type = "ServiceAccount"},
	{"", "v1", "events", "event", "Event", "ev", true, 0, .type = NULL},
	{"", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume", "pv",
	 false, ST, .type = "PersistentVolume"},
	{"", "v1", "persistentvolumeclaims", "persistentvolumeclaim",
	 "PersistentVolumeClaim", "pvc", true, ST, .type = "PersistentVolumeClaim"},
	{"", "v1", "limitranges", "limitrange", "LimitRange", "limits", true, 0,
	 .type = NULL},
	{"", "v1", "resourcequotas", "resourcequota", "ResourceQuota", "quota", true, ST,
	 .type = NULL},
	{"", "v1", "replicationcontrollers", "replicationcontroller",
	 "ReplicationController", "rc", true, SC, .type = NULL},
	{"", "v1", "podtemplates", "podtemplate", "PodTemplate", "", true, 0,
	 .type = NULL},
	{"apps", "v1", "deployments", "deployment", "Deployment", "deploy", true, SC,
	 .type = "Deployment"},
	{"apps", "v1", "daemonsets", "daemonset", "DaemonSet", "ds", true, ST,
	 .type = "DaemonSet"},
	{"apps", "v1", "statefulsets", "statefulset", "StatefulSet", "sts", true, SC,
	 .type = "StatefulSet"},
	{"apps", "v1", "replicasets", "replicaset", "ReplicaSet", "rs", true, SC,
	 .type = "ReplicaSet"},
	{"apps", "v1", "controllerrevisions", "controllerrevision", "ControllerRevision",
	 "", true, 0, .type = NULL},
	{"batch", "v1", "jobs", "job", "Job", "", true, ST, .type = "Job"},
	{"batch", "v1", "cronjobs", "cronjob", "CronJob", "cj", true, ST,
	 .type = "CronJob"},
	{"rbac.authorization.k8s.io", "v1", "roles", "role", "Role", "", true, 0,
	 .type = "Role"},
	{"rbac.authorization.k8s.io", "v1", "rolebindings", "rolebinding", "RoleBinding",
	 "", true, 0, .type = "RoleBinding"},
	{"rbac.authorization.k8s.io", "v1", "clusterroles", "clusterrole", "ClusterRole",
	 "", false, 0, .type = "ClusterRole"},
	{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "clusterrolebinding",
	 "ClusterRoleBinding", "", false, 0, .type = "RoleBinding"},
	{"storage.k8s.io", "v1", "csidrivers", "csidriver", "CSIDriver", "", false, 0,
	 .type = "CSIDriver"},
	{"storage.k8s.io", "v1", "csinodes", "csinode", "CSINode", "", false, 0,
	 .type = NULL},
	{"storage.k8s.io", "v1", "storageclasses", "storageclass", "StorageClass", "sc",
	 false, 0, .type = "StorageClass"},
	{"storage.k8s.io", "v1", "volumeattachments", "volumeattachment",
	 "VolumeAttachment", "", false, ST, .type = NULL},
	{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
	 "customresourcedefinition", "CustomResourceDefinition", "crd,crds", false, ST,
	 .type = "CustomResourceDefinition"},
	{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
	 "validatingwebhookconfiguration", "ValidatingWebhookConfiguration", "", false, 0,
	 .type = NULL},
	{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
	 "mutatingwebhookconfiguration", "MutatingWebhookConfiguration", "", false, 0,
	 .type = NULL},
	{"scheduling.k8s.io", "v1", "priorityclasses", "priorityclass", "PriorityClass",
	 "pc", false, 0, .type = NULL},
	{"policy", "v1", "poddisruptionbudgets", "poddisruptionbudget",
	 "PodDisruptionBudget", "pdb", true, ST, .type = NULL},
	{"coordination.k8s.io", "v1", "leases", "lease", "Lease", "", true, 0,
	 .type = NULL},
	{"networking.k8s.io", "v1", "ingresses", "ingress", "Ingress", "ing", true, ST,
	 .type = NULL},
	{"networking.k8s.io", "v1", "ingressclasses", "ingressclass", "IngressClass", "",
	 false, 0, .type = NULL},
	{"networking.k8s.io", "v1", "networkpolicies", "networkpolicy", "NetworkPolicy",
	 "netpol", true, 0, .type = NULL},
	{"autoscaling", "v2", "horizontalpodautoscalers", "horizontalpodautoscaler",
	 "HorizontalPodAutoscaler", "hpa", true, ST, .type = NULL},
	{"discovery.k8s.io", "v1", "endpointslices", "endpointslice", "EndpointSlice", "",
	 true, 0, .type = NULL},
	{"apiregistration.k8s.io", "v1", "apiservices", "apiservice", "APIService", "",
	 false, ST, .type = NULL},
	{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
	 "selfsubjectaccessreview", "SelfSubjectAccessReview", "", false, KS_NO_STORE,
	 .type = NULL},
	{"authorization.k8s.io", "v1", "selfsubjectrulesreviews",
	 "selfsubjectrulesreview", "SelfSubjectRulesReview", "", false, KS_NO_STORE,
	 .type = NULL},
	{"authentication.k8s.io", "v1", "selfsubjectreviews", "selfsubjectreview",
	 "SelfSubjectReview", "", false, KS_NO_STORE, .type = NULL},
	{.plural = NULL},
};

const char *ks_api_version(struct arena *a, const struct ks_kind *kind)
{
	if (!*kind->group)
		return kind->version;
	return arena_printf(a, "%s/%s", kind->group, kind->version);
}

const char *ks_resource(struct arena *a, const struct ks_kind *kind)
{
	return arena_printf(a, "%s/%s", kind->group, kind->plural);
}

const struct ks_kind *ks_builtin(const char *resource)
{
	const char *slash = strchr(resource, '/');

	for (const struct ks_kind *row = ks_kinds; slash && row->plural; row++) {
		if (streq(row->plural, slash + 1) &&
		    strlen(row->group) == (size_t)(slash - resource) &&
		    strncmp(row->group, resource, strlen(row->group)) == 0)
			return row;
	}
	return NULL;
}

static bool established(const json_t *crd)
{
	const json_t *c =
		json_find(json_at(crd, "status.conditions"), "type", "Established");

	return streq(json_str_at(c, "status"), "True");
}

static const char *joined(struct arena *a, const json_t *list)
{
	const char *all = "";
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(list, i, item) {
		all = arena_printf(a, "%s%s%s", all, *all ? "," : "",
				   json_string_value(item));
	}
	return all;
}

static struct ks_kind of_crd(struct arena *a, const json_t *crd, const json_t *version)
{
	struct ks_kind kind = {
		.group = json_str_or(crd, "spec.group", ""),
		.version = json_str_or(version, "name", ""),
		.plural = json_str_or(crd, "spec.names.plural", ""),
		.kind = json_str_or(crd, "spec.names.kind", ""),
		.short_names = joined(a, json_at(crd, "spec.names.shortNames")),
		.namespaced = streq(json_str_at(crd, "spec.scope"), "Namespaced"),
		.schema = json_at(version, "schema.openAPIV3Schema"),
		.columns = json_at(version, "additionalPrinterColumns"),
	};

	kind.singular = json_str_or(crd, "spec.names.singular", "");
	if (json_at(version, "subresources.status"))
		kind.has |= KS_STATUS;
	if (json_at(version, "subresources.scale"))
		kind.has |= KS_SCALE;
	if (!kind.schema)
		kind.schema = json_packf(a, "{s:s,s:b}", "type", "object",
					 "x-kubernetes-preserve-unknown-fields", 1);
	return kind;
}

const struct ks_kind *ks_kinds_served(struct ks *k, struct arena *a, size_t *ret_n)
{
	json_t *crds = ks_all(k, "apiextensions.k8s.io/customresourcedefinitions");
	struct ks_kind *v = NULL;
	const char *key = NULL;
	const json_t *crd = NULL;
	size_t n = 0;
	size_t room = sizeof(ks_kinds) / sizeof(ks_kinds[0]);

	json_object_foreach(crds, key, crd) {
		room += json_len_at(crd, "spec.versions");
	}
	v = arena_array(a, struct ks_kind, room);
	for (; ks_kinds[n].plural; n++)
		v[n] = ks_kinds[n];
	json_object_foreach(crds, key, crd) {
		const json_t *version = NULL;
		size_t i = 0;

		if (!established(crd))
			continue;
		json_array_foreach(json_at(crd, "spec.versions"), i, version) {
			if (json_bool_or(version, "served", false))
				v[n++] = of_crd(a, crd, version);
		}
	}
	*ret_n = n;
	return v;
}

const struct ks_kind *ks_kind_find(struct ks *k, struct arena *a, const char *group,
				   const char *version, const char *plural)
{
	size_t n = 0;
	const struct ks_kind *v = NULL;

	for (const struct ks_kind *row = ks_kinds; row->plural; row++) {
		if ((!group || streq(row->group, group)) && streq(row->plural, plural) &&
		    (!version || streq(row->version, version)))
			return row;
	}
	v = ks_kinds_served(k, a, &n);
	for (size_t i = 0; i < n; i++) {
		if ((!group || streq(v[i].group, group)) && streq(v[i].plural, plural) &&
		    (!version || streq(v[i].version, version)))
			return &v[i];
	}
	return NULL;
}

const struct ks_kind *ks_kind_of(struct ks *k, struct arena *a, const char *api_version,
				 const char *kind)
{
	size_t n = 0;
	const struct ks_kind *v = ks_kinds_served(k, a, &n);

	for (size_t i = 0; i < n; i++) {
		if (streq(v[i].kind, kind) &&
		    streq(ks_api_version(a, &v[i]), api_version))
			return &v[i];
	}
	return NULL;
}
