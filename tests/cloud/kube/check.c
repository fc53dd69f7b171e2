#include <stdlib.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

/* https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ */
bool ks_quantity(const json_t *value, double *ret)
{
	static const struct {
		const char *suffix;
		double factor;
	} suffixes[] = {
		{"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},
		{"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
		{"P", 1e15},    {"E", 1e18},    {"Ki", 1024.0}, {"Mi", 1048576.0},
		{"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60},
	};
	const char *text = json_string_value(value);
	char *end = NULL;
	double n = 0;

	if (json_is_number(value)) {
		if (ret)
			*ret = json_number_value(value);
		return true;
	}
	if (!text || !*text || strspn(text, "+-.0123456789") == 0)
		return false;
	n = strtod(text, &end);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (!streq(end, suffixes[i].suffix))
			continue;
		if (ret)
			*ret = n * suffixes[i].factor;
		return true;
	}
	return false;
}

static bool is_label(const char *z, bool letter_first)
{
	const size_t n = strlen(z);

	if (n == 0 || n > 63 || z[0] == '-' || z[n - 1] == '-')
		return false;
	if (letter_first && !(z[0] >= 'a' && z[0] <= 'z'))
		return false;
	return strspn(z, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static bool is_subdomain(const char *z)
{
	struct str rest = str_of(z);

	if (rest.n == 0 || rest.n > 253)
		return false;
	while (rest.p) {
		char part[256];
		const struct str piece = str_cut(&rest, '.');

		str_copy(part, sizeof(part), "");
		memcpy(part, piece.p, piece.n);
		part[piece.n] = '\0';
		/* Parts of a subdomain may be longer than a label. */
		if (piece.n == 0 || part[0] == '-' || part[piece.n - 1] == '-' ||
		    strspn(part, "abcdefghijklmnopqrstuvwxyz0123456789-") != piece.n)
			return false;
	}
	return true;
}

static bool is_label_name(const char *z)
{
	const size_t n = strlen(z);
	const char *outer =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

	if (n == 0 || n > 63 || !strchr(outer, z[0]) || !strchr(outer, z[n - 1]))
		return false;
	return strspn(z,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
	       n;
}

static bool is_label_key(struct arena *a, const char *z)
{
	const char *slash = strchr(z, '/');

	if (!slash)
		return is_label_name(z);
	return is_subdomain(arena_strndup(a, z, (size_t)(slash - z))) &&
	       is_label_name(slash + 1);
}

static bool is_group(const struct ks_kind *kind, const char *group)
{
	return streq(kind->group, group);
}

static void check_name(struct ks_req *q, const char *name, json_t *causes)
{
	if (is_group(q->kind, "rbac.authorization.k8s.io")) {
		if (!*name || strchr(name, '/') || strchr(name, '%') ||
		    streq(name, ".") || streq(name, ".."))
			ks_add_cause(causes, "FieldValueInvalid", "metadata.name",
				     "Invalid value: may not contain '/' or '%'");
		return;
	}
	if (streq(q->kind->plural, "namespaces") || streq(q->kind->plural, "services")) {
		const bool service = streq(q->kind->plural, "services");

		if (!is_label(name, service))
			ks_add_cause(
				causes, "FieldValueInvalid", "metadata.name",
				arena_printf(
					q->a,
					"Invalid value: \"%s\": a %s label must consist "
					"of lower case alphanumeric characters or '-'",
					name, service ? "DNS-1035" : "RFC 1123"));
		return;
	}
	if (!is_subdomain(name))
		ks_add_cause(
			causes, "FieldValueInvalid", "metadata.name",
			arena_printf(
				q->a,
				"Invalid value: \"%s\": a lowercase RFC 1123 subdomain "
				"must consist of lower case alphanumeric characters, "
				"'-' or '.', and must start and end with an "
				"alphanumeric character",
				name));
	else if (streq(q->kind->plural, "jobs") && strlen(name) > 63)
		ks_add_cause(causes, "FieldValueInvalid", "metadata.name",
			     "Invalid value: must be no more than 63 characters");
}

static void check_labels(struct ks_req *q, const json_t *obj, json_t *causes)
{
	const char *key = NULL;
	const json_t *v = NULL;
	size_t bytes = 0;

	json_object_foreach(json_at(obj, "metadata.labels"), key, v) {
		const char *text = json_string_value(v);

		if (!is_label_key(q->a, key))
			ks_add_cause(
				causes, "FieldValueInvalid", "metadata.labels",
				arena_printf(
					q->a,
					"Invalid value: \"%s\": name part must consist "
					"of alphanumeric characters",
					key));
		if (text && *text && !is_label_name(text))
			ks_add_cause(
				causes, "FieldValueInvalid", "metadata.labels",
				arena_printf(
					q->a,
					"Invalid value: \"%s\": a valid label must be an "
					"empty string or consist of alphanumeric "
					"characters, '-', '_' or '.'",
					text));
	}
	json_object_foreach(json_at(obj, "metadata.annotations"), key, v) {
		bytes += strlen(key) + (json_is_string(v) ? json_string_length(v) : 0);
		if (!is_label_key(q->a, key))
			ks_add_cause(causes, "FieldValueInvalid", "metadata.annotations",
				     arena_printf(q->a, "Invalid value: \"%s\"", key));
	}
	if (bytes > 256 * 1024)
		ks_add_cause(causes, "FieldValueTooLong", "metadata.annotations",
			     "Too long: must have at most 262144 bytes");
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

	if (!is_label(json_str_or(container, "name", ""), false))
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
		check_name(q, name, causes);
	check_labels(q, obj, causes);
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
