#include <stdlib.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

static bool is_group(const struct ks_kind *kind, const char *group)
{
	return streq(kind->group, group);
}

static const struct {
	const char *resource, *path, *says;
} immutable[] = {
	{"batch/jobs", "spec.template", "field is immutable"},
	{"batch/jobs", "spec.selector", "field is immutable"},
	{"batch/jobs", "spec.completions", "field is immutable"},
	{"batch/jobs", "spec.completionMode", "field is immutable"},
	{"apps/deployments", "spec.selector", "field is immutable"},
	{"apps/daemonsets", "spec.selector", "field is immutable"},
	{"apps/replicasets", "spec.selector", "field is immutable"},
	{"apps/statefulsets", "spec.selector", "field is immutable"},
	{"apps/statefulsets", "spec.serviceName", "field is immutable"},
	{"apps/statefulsets", "spec.volumeClaimTemplates", "field is immutable"},
	{"/persistentvolumes", "spec.csi",
	 "spec.persistentvolumesource is immutable after creation"},
	{"/persistentvolumes", "spec.hostPath",
	 "spec.persistentvolumesource is immutable after creation"},
	{"/persistentvolumes", "spec.volumeMode", "field is immutable"},
	{"/persistentvolumeclaims", "spec.accessModes",
	 "spec is immutable after creation except resources.requests and "
	 "volumeAttributesClassName for bound claims"},
	{"/persistentvolumeclaims", "spec.storageClassName",
	 "spec is immutable after creation except resources.requests and "
	 "volumeAttributesClassName for bound claims"},
	{"/persistentvolumeclaims", "spec.selector",
	 "spec is immutable after creation except resources.requests and "
	 "volumeAttributesClassName for bound claims"},
	{"/pods", "spec.containers",
	 "pod updates may not change fields other than `spec.containers[*].image`"},
	{"/pods", "spec.volumes",
	 "pod updates may not change fields other than `spec.containers[*].image`"},
	{"/secrets", "type", "field is immutable"},
	{"storage.k8s.io/storageclasses", "provisioner",
	 "updates to provisioner are forbidden."},
	{"storage.k8s.io/storageclasses", "parameters",
	 "updates to parameters are forbidden."},
	{"rbac.authorization.k8s.io/rolebindings", "roleRef", "cannot change roleRef"},
	{"rbac.authorization.k8s.io/clusterrolebindings", "roleRef",
	 "cannot change roleRef"},
	{"apiextensions.k8s.io/customresourcedefinitions", "spec.scope",
	 "field is immutable"},
	{"apiextensions.k8s.io/customresourcedefinitions", "spec.names.plural",
	 "field is immutable"},
};

static void check_immutable(struct ks_req *q, const json_t *live, const json_t *obj,
			    json_t *causes)
{
	const char *resource = ks_resource(q->a, q->kind);

	for (size_t i = 0; i < sizeof(immutable) / sizeof(immutable[0]); i++) {
		const json_t *was = json_at(live, immutable[i].path);
		const json_t *now = json_at(obj, immutable[i].path);

		if (!streq(immutable[i].resource, resource) || was == now ||
		    (was && now && json_equal(was, now)))
			continue;
		ks_add_cause(causes, "FieldValueInvalid", immutable[i].path,
			     arena_printf(q->a, "Invalid value: %s", immutable[i].says));
	}
	/* A claim is bound once; volumeName may be set then. */
	if (streq(resource, "/persistentvolumeclaims") &&
	    json_str_at(live, "spec.volumeName") &&
	    !streq(json_str_at(live, "spec.volumeName"),
		   json_str_at(obj, "spec.volumeName")))
		ks_add_cause(
			causes, "FieldValueForbidden", "spec",
			"Forbidden: spec is immutable after creation except "
			"resources.requests and volumeAttributesClassName for bound claims");
}

static void check_selector(struct ks_req *q, const json_t *obj, json_t *causes)
{
	const json_t *labels = json_at(obj, "spec.template.metadata.labels");

	if (!is_group(q->kind, "apps") || !json_at(obj, "spec.template"))
		return;
	if (!ks_labels_match(json_at(obj, "spec.selector"), labels))
		ks_add_cause(
			causes, "FieldValueInvalid", "spec.template.metadata.labels",
			"Invalid value: `selector` does not match template `labels`");
}

static void check_volume(struct ks_req *q, const json_t *obj, json_t *causes)
{
	if (is_group(q->kind, "") && streq(q->kind->plural, "persistentvolumes")) {
		if (!json_at(obj, "spec.capacity.storage"))
			ks_add_cause(causes, "FieldValueRequired", "spec.capacity",
				     "Required value");
		if (json_len_at(obj, "spec.accessModes") == 0)
			ks_add_cause(causes, "FieldValueRequired", "spec.accessModes",
				     "Required value");
		if (!json_at(obj, "spec.csi") && !json_at(obj, "spec.hostPath") &&
		    !json_at(obj, "spec.nfs") && !json_at(obj, "spec.local"))
			ks_add_cause(causes, "FieldValueRequired", "spec",
				     "Required value: must specify a volume type");
	}
	if (is_group(q->kind, "") && streq(q->kind->plural, "persistentvolumeclaims")) {
		if (json_len_at(obj, "spec.accessModes") == 0)
			ks_add_cause(
				causes, "FieldValueRequired", "spec.accessModes",
				"Required value: at least 1 access mode is required");
		if (!json_at(obj, "spec.resources.requests.storage"))
			ks_add_cause(causes, "FieldValueRequired",
				     "spec.resources[storage]", "Required value");
	}
}

static const json_t *pod_spec_of(const json_t *obj, const char *kind)
{
	if (streq(kind, "Pod"))
		return json_at(obj, "spec");
	if (streq(kind, "CronJob"))
		return json_at(obj, "spec.jobTemplate.spec.template.spec");
	return json_at(obj, "spec.template.spec");
}

static void check_mounts(struct ks_req *q, const json_t *spec, const json_t *container,
			 const char *path, json_t *causes)
{
	const json_t *mount = NULL;
	size_t i = 0;

	if (!ks_is_label(json_str_or(container, "name", ""), false))
		ks_add_cause(causes, "FieldValueInvalid",
			     arena_printf(q->a, "%s.name", path),
			     "Invalid value: a lowercase RFC 1123 label is needed");
	if (!json_str_at(container, "image") || !*json_str_at(container, "image"))
		ks_add_cause(causes, "FieldValueRequired",
			     arena_printf(q->a, "%s.image", path), "Required value");
	json_array_foreach(json_at(container, "volumeMounts"), i, mount) {
		const char *name = json_str_or(mount, "name", "");

		if (!json_find(json_at(spec, "volumes"), "name", name))
			ks_add_cause(
				causes, "FieldValueNotFound",
				arena_printf(q->a, "%s.volumeMounts[%zu].name", path, i),
				arena_printf(q->a, "Not found: \"%s\"", name));
	}
}

static void check_pod_spec(struct ks_req *q, const json_t *obj, json_t *causes)
{
	const char *base = streq(q->kind->kind, "Pod") ? "spec" : "spec.template.spec";
	const json_t *spec = pod_spec_of(obj, q->kind->kind);
	const json_t *container = NULL;
	const char *restart = json_str_or(spec, "restartPolicy", "Always");
	size_t i = 0;

	if (q->kind->schema || !json_is_array(json_at(spec, "containers")))
		return;
	if (json_len_at(spec, "containers") == 0)
		ks_add_cause(causes, "FieldValueRequired",
			     arena_printf(q->a, "%s.containers", base), "Required value");
	json_array_foreach(json_at(spec, "containers"), i, container) {
		check_mounts(q, spec, container,
			     arena_printf(q->a, "%s.containers[%zu]", base, i), causes);
	}
	if (is_group(q->kind, "batch") && streq(restart, "Always"))
		ks_add_cause(causes, "FieldValueRequired",
			     arena_printf(q->a, "%s.restartPolicy", base),
			     "Required value: valid values: \"OnFailure\", \"Never\"");
	if (is_group(q->kind, "apps") && !streq(restart, "Always"))
		ks_add_cause(
			causes, "FieldValueNotSupported",
			arena_printf(q->a, "%s.restartPolicy", base),
			arena_printf(
				q->a,
				"Unsupported value: \"%s\": supported values: \"Always\"",
				restart));
}

static void check_crd(struct ks_req *q, const json_t *obj, json_t *causes)
{
	const char *want = NULL;
	size_t storage = 0;
	size_t i = 0;
	const json_t *v = NULL;

	if (!streq(q->kind->plural, "customresourcedefinitions"))
		return;
	want = arena_printf(q->a, "%s.%s", json_str_or(obj, "spec.names.plural", ""),
			    json_str_or(obj, "spec.group", ""));
	if (!streq(want, json_str_at(obj, "metadata.name")))
		ks_add_cause(
			causes, "FieldValueInvalid", "metadata.name",
			arena_printf(q->a,
				     "Invalid value: must be spec.names.plural+\".\"+"
				     "spec.group, %s",
				     want));
	json_array_foreach(json_at(obj, "spec.versions"), i, v) {
		storage += json_bool_or(v, "storage", false);
		if (!json_at(v, "schema.openAPIV3Schema"))
			ks_add_cause(
				causes, "FieldValueRequired",
				arena_printf(q->a,
					     "spec.versions[%zu].schema.openAPIV3Schema",
					     i),
				"Required value: schemas are required");
	}
	if (storage != 1)
		ks_add_cause(
			causes, "FieldValueInvalid", "spec.versions",
			"Invalid value: must have exactly one version marked as storage "
			"version");
}

static void check_size(struct ks_req *q, const json_t *obj, json_t *causes)
{
	if (!streq(q->kind->plural, "configmaps") && !streq(q->kind->plural, "secrets"))
		return;
	if (strlen(json_text(q->a, json_at(obj, "data") ? json_at(obj, "data")
							: json_new_object(q->a))) >
	    1024 * 1024 * (streq(q->kind->plural, "secrets") ? 4 : 3) / 3)
		ks_add_cause(causes, "FieldValueTooLong", "data",
			     "Too long: may not be more than 1048576 bytes");
}

bool ks_check_object(struct ks_req *q, const json_t *live, const json_t *obj)
{
	json_t *causes = json_new_list(q->a);
	const char *name = json_str_or(obj, "metadata.name", "");

	if (!live)
		ks_check_name(q, name, causes);
	ks_check_labels(q, obj, causes);
	check_selector(q, obj, causes);
	check_volume(q, obj, causes);
	check_pod_spec(q, obj, causes);
	check_crd(q, obj, causes);
	check_size(q, obj, causes);
	if (live)
		check_immutable(q, live, obj, causes);
	if (json_array_size(causes) > 0)
		return ks_invalid(q, name, causes);
	return true;
}

void ks_check_types(struct ks_req *q, json_t *obj, json_t *unknown, json_t *causes)
{
	if (q->kind->schema)
		ks_schema_check(q->a, q->kind->schema, obj, "", true, unknown, causes);
	else if (q->kind->type)
		ks_type_check(q->a, q->kind->type, obj, "", unknown, causes);
}
