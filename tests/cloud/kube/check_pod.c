/* Pods and their templates.
 * https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go
 */
#include <string.h>

#include "tests/cloud/kube/server.h"

/* The first `n` items have that name? */
static bool seen(const json_t *list, size_t n, const char *member, const char *value)
{
	for (size_t i = 0; i < n; i++) {
		if (streq(json_str_at(json_array_get(list, i), member), value))
			return true;
	}
	return false;
}

static void check_env(struct ks_check *c, const json_t *container, const char *at)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(json_at(container, "env"), i, v) {
		const char *name = json_str_or(v, "name", "");

		if (strchr(name, '='))
			ks_refuse(
				c, INVALID, arena_printf(c->a, "%s.env[%zu].name", at, i),
				"Invalid value: \"%s\": a valid environment variable name "
				"must consist only of printable ASCII characters other "
				"than '='",
				name);
		if (json_at(v, "valueFrom") && *json_str_or(v, "value", ""))
			ks_refuse(
				c, INVALID,
				arena_printf(c->a, "%s.env[%zu].valueFrom", at, i),
				"Invalid value: \"\": may not be specified when `value` is "
				"not empty");
	}
}

static void check_ports(struct ks_check *c, const json_t *container, const char *at)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(json_at(container, "ports"), i, v) {
		const int64_t port = json_int_or(v, "containerPort", 0);
		const char *here =
			arena_printf(c->a, "%s.ports[%zu].containerPort", at, i);

		if (port == 0)
			ks_refuse(c, REQUIRED, here, "Required value");
		else if (port < 0 || port > 65535)
			ks_refuse(c, INVALID, here,
				  "Invalid value: %lld: must be between 1 and 65535, "
				  "inclusive",
				  (long long)port);
	}
}

static void check_mounts(struct ks_check *c, const json_t *spec, const json_t *container,
			 const char *at)
{
	const json_t *mounts = json_at(container, "volumeMounts");
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(mounts, i, v) {
		const char *name = json_str_or(v, "name", "");
		const char *path = json_str_or(v, "mountPath", "");
		const char *here = arena_printf(c->a, "%s.volumeMounts[%zu]", at, i);

		if (!*name)
			ks_refuse(c, REQUIRED, arena_printf(c->a, "%s.name", here),
				  "Required value");
		else if (!json_find(json_at(spec, "volumes"), "name", name))
			ks_refuse(c, NOT_FOUND, arena_printf(c->a, "%s.name", here),
				  "Not found: \"%s\"", name);
		if (!*path)
			ks_refuse(c, REQUIRED, arena_printf(c->a, "%s.mountPath", here),
				  "Required value");
		else if (seen(mounts, i, "mountPath", path))
			ks_refuse(c, INVALID, arena_printf(c->a, "%s.mountPath", here),
				  "Invalid value: \"%s\": must be unique", path);
	}
}

static bool is_native(const char *name)
{
	return streq(name, "cpu") || streq(name, "memory") ||
	       streq(name, "ephemeral-storage") || str_starts(name, "hugepages-");
}

static void check_amounts(struct ks_check *c, const json_t *amounts, const char *at)
{
	const char *name = NULL;
	const json_t *v = NULL;

	json_object_foreach((json_t *)(uintptr_t)amounts, name, v) {
		const char *here = arena_printf(c->a, "%s[%s]", at, name);
		double n = 0;

		ks_quantity(v, &n);
		if (!strchr(name, '/') && !is_native(name)) {
			ks_refuse(
				c, INVALID, here,
				"Invalid value: \"%s\": must be a standard resource type or "
				"fully qualified",
				name);
			ks_refuse(
				c, INVALID, here,
				"Invalid value: \"%s\": must be a standard resource for "
				"containers",
				name);
		} else if (n < 0) {
			ks_refuse(
				c, INVALID, here,
				"Invalid value: \"%s\": must be greater than or equal to 0",
				json_string_value(v));
		} else if (!is_native(name) && n > (double)(int64_t)n) {
			ks_refuse(c, INVALID, here,
				  "Invalid value: \"%s\": must be an integer",
				  json_string_value(v));
		}
	}
}

static void check_resources(struct ks_check *c, const json_t *container, const char *at)
{
	const json_t *limits = json_at(container, "resources.limits");
	const json_t *requests = json_at(container, "resources.requests");
	const char *name = NULL;
	const json_t *v = NULL;

	check_amounts(c, limits, arena_printf(c->a, "%s.resources.limits", at));
	check_amounts(c, requests, arena_printf(c->a, "%s.resources.requests", at));
	json_object_foreach((json_t *)(uintptr_t)requests, name, v) {
		const json_t *limit = json_object_get(limits, name);
		double most = 0;
		double n = 0;

		ks_quantity(v, &n);
		if (!limit && strchr(name, '/'))
			ks_refuse(
				c, REQUIRED,
				arena_printf(c->a, "%s.resources.limits", at),
				"Required value: Limit must be set for non overcommitable "
				"resources");
		if (limit && ks_quantity(limit, &most) && n > most)
			ks_refuse(
				c, INVALID,
				arena_printf(c->a, "%s.resources.requests", at),
				"Invalid value: \"%s\": must be less than or equal to %s "
				"limit of %s",
				json_string_value(v), name, json_string_value(limit));
	}
}

static void check_probes(struct ks_check *c, const json_t *container, const char *at)
{
	static const char *const probes[] = {"livenessProbe", "readinessProbe",
					     "startupProbe"};

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		const json_t *p = json_at(container, probes[i]);

		if (p && !json_at(p, "exec") && !json_at(p, "httpGet") &&
		    !json_at(p, "tcpSocket") && !json_at(p, "grpc"))
			ks_refuse(c, REQUIRED, arena_printf(c->a, "%s.%s", at, probes[i]),
				  "Required value: must specify a handler type");
	}
}

static void check_container(struct ks_check *c, const json_t *spec, const json_t *list,
			    size_t i, const char *at)
{
	const json_t *container = json_array_get(list, i);
	const char *name = json_str_or(container, "name", "");
	const char *here = arena_printf(c->a, "%s.name", at);

	if (!*name)
		ks_refuse(c, REQUIRED, here, "Required value");
	else if (!ks_is_label(name, false))
		ks_refuse(c, INVALID, here, "Invalid value: \"%s\": " LABEL_RULE, name);
	else if (seen(list, i, "name", name))
		ks_refuse(c, DUPLICATE, here, "Duplicate value: \"%s\"", name);
	if (!*json_str_or(container, "image", ""))
		ks_refuse(c, REQUIRED, arena_printf(c->a, "%s.image", at),
			  "Required value");
	check_env(c, container, at);
	check_ports(c, container, at);
	check_mounts(c, spec, container, at);
	check_resources(c, container, at);
	check_probes(c, container, at);
}

static void check_volumes(struct ks_check *c, const json_t *spec, const char *base)
{
	const json_t *volumes = json_at(spec, "volumes");
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(volumes, i, v) {
		const char *at = arena_printf(c->a, "%s.volumes[%zu]", base, i);
		const char *name = NULL;
		const json_t *source = NULL;
		size_t sources = 0;

		if (seen(volumes, i, "name", json_str_or(v, "name", "")))
			ks_refuse(c, DUPLICATE, arena_printf(c->a, "%s.name", at),
				  "Duplicate value: \"%s\"", json_str_or(v, "name", ""));
		json_object_foreach((json_t *)(uintptr_t)v, name, source) {
			if (!streq(name, "name") && ++sources > 1)
				ks_refuse(
					c, FORBIDDEN,
					arena_printf(c->a, "%s.%s", at, name),
					"Forbidden: may not specify more than 1 volume type");
		}
		if (json_at(v, "persistentVolumeClaim") &&
		    !*json_str_or(v, "persistentVolumeClaim.claimName", ""))
			ks_refuse(c, REQUIRED,
				  arena_printf(c->a, "%s.persistentVolumeClaim.claimName",
					       at),
				  "Required value");
	}
}

static void check_tolerations(struct ks_check *c, const json_t *spec, const char *base)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(json_at(spec, "tolerations"), i, v) {
		const char *operator= json_str_or(v, "operator", "Equal");
		const char *here =
			arena_printf(c->a, "%s.tolerations[%zu].operator", base, i);

		if (!streq(operator, "Exists") && !streq(operator, "Equal"))
			ks_refuse(
				c, NOT_SUPPORTED, here,
				"Unsupported value: \"%s\": supported values: \"Equal\", "
				"\"Exists\"",
				operator);
		if (streq(operator, "Exists") && *json_str_or(v, "value", ""))
			ks_refuse(c, INVALID, here,
				  "Invalid value: \"%s\": value must be empty when "
				  "`operator` is 'Exists'",
				  json_str_or(v, "value", ""));
	}
}

void ks_check_pod_spec(struct ks_check *c, const json_t *spec, const char *base)
{
	static const char *const lists[] = {"containers", "initContainers"};
	const char *key = NULL;
	const json_t *v = NULL;

	if (json_len_at(spec, "containers") == 0)
		ks_refuse(c, REQUIRED, arena_printf(c->a, "%s.containers", base),
			  "Required value");
	for (size_t l = 0; l < 2; l++) {
		const json_t *list = json_at(spec, lists[l]);

		for (size_t i = 0; i < json_array_size(list); i++)
			check_container(
				c, spec, list, i,
				arena_printf(c->a, "%s.%s[%zu]", base, lists[l], i));
	}
	check_volumes(c, spec, base);
	check_tolerations(c, spec, base);
	json_object_foreach(json_at(spec, "nodeSelector"), key, v) {
		if (!ks_is_label_key(c->a, key))
			ks_refuse(c, INVALID, arena_printf(c->a, "%s.nodeSelector", base),
				  "Invalid value: \"%s\": " NAME_RULE, key);
	}
	if (json_at(spec, "activeDeadlineSeconds") &&
	    json_int_or(spec, "activeDeadlineSeconds", 0) < 1)
		ks_refuse(
			c, INVALID, arena_printf(c->a, "%s.activeDeadlineSeconds", base),
			"Invalid value: %lld: must be between 1 and 2147483647, inclusive",
			(long long)json_int_or(spec, "activeDeadlineSeconds", 0));
}

/* --- updates ------------------------------------------------------------------- */

static bool begins_with(const json_t *list, const json_t *part)
{
	for (size_t i = 0; i < json_array_size(part); i++) {
		if (!json_equal(json_array_get(list, i), json_array_get(part, i)))
			return false;
	}
	return true;
}

/* A copy of the spec without what may change. */
static json_t *frozen(struct arena *a, const json_t *spec)
{
	static const char *const lists[] = {"containers", "initContainers"};
	json_t *copy = json_own(a, json_deep_copy(spec));
	json_t *c = NULL;
	size_t i = 0;

	for (size_t l = 0; l < 2; l++) {
		json_array_foreach(json_at(copy, lists[l]), i, c) {
			json_object_del(c, "image");
		}
	}
	json_object_del(copy, "activeDeadlineSeconds");
	json_object_del(copy, "tolerations");
	json_object_del(copy, "nodeName");
	return copy;
}

void ks_check_pod_update(struct ks_check *c)
{
	const json_t *was = json_at(c->live, "spec");
	const json_t *now = json_at(c->obj, "spec");

	if (json_equal(frozen(c->a, was), frozen(c->a, now)) &&
	    begins_with(json_at(now, "tolerations"), json_at(was, "tolerations")))
		return;
	ks_refuse(c, FORBIDDEN, "spec",
		  "Forbidden: pod updates may not change fields other than "
		  "`spec.containers[*].image`,`spec.initContainers[*].image`,"
		  "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
		  "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it "
		  "to be set to 1 if it was previously negative)");
}
