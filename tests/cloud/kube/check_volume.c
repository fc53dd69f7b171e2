/* Volumes, claims, classes.
 * https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go
 */
#include <string.h>

#include "tests/cloud/kube/server.h"

static bool differs(const struct ks_check *c, const char *path)
{
	const json_t *was = json_at(c->live, path);
	const json_t *now = json_at(c->obj, path);

	return was != now && !(was && now && json_equal(was, now));
}

static bool listed(const char *const *list, const char *word)
{
	for (; *list; list++) {
		if (streq(*list, word))
			return true;
	}
	return false;
}

static void check_modes(struct ks_check *c)
{
	static const char *const modes[] = {"ReadOnlyMany", "ReadWriteMany",
					    "ReadWriteOnce", "ReadWriteOncePod", NULL};
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(json_at(c->obj, "spec.accessModes"), i, v) {
		if (!listed(modes, json_string_value(v)))
			ks_refuse(
				c, NOT_SUPPORTED, "spec.accessModes",
				"Unsupported value: \"%s\": supported values: "
				"\"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", "
				"\"ReadWriteOncePod\"",
				json_string_value(v));
	}
}

static void check_sources(struct ks_check *c)
{
	static const char *const sources[] = {"hostPath", "nfs", "local",
					      "awsElasticBlockStore", "csi"};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		const char *at = arena_printf(c->a, "spec.%s", sources[i]);

		if (json_at(c->obj, at) && ++n > 1)
			ks_refuse(c, FORBIDDEN, at,
				  "Forbidden: may not specify more than 1 volume type");
	}
	if (n == 0)
		ks_refuse(c, REQUIRED, "spec",
			  "Required value: must specify a volume type");
	if (json_at(c->obj, "spec.csi") && !*json_str_or(c->obj, "spec.csi.driver", ""))
		ks_refuse(c, REQUIRED, "spec.csi.driver", "Required value");
	if (json_at(c->obj, "spec.csi") &&
	    !*json_str_or(c->obj, "spec.csi.volumeHandle", ""))
		ks_refuse(c, REQUIRED, "spec.csi.volumeHandle", "Required value");
}

void ks_check_volume(struct ks_check *c)
{
	const json_t *storage = json_at(c->obj, "spec.capacity.storage");
	double n = 0;

	if (json_len_at(c->obj, "spec.accessModes") == 0)
		ks_refuse(c, REQUIRED, "spec.accessModes", "Required value");
	check_modes(c);
	if (!json_at(c->obj, "spec.capacity"))
		ks_refuse(c, REQUIRED, "spec.capacity", "Required value");
	if (!storage)
		ks_refuse(c, NOT_SUPPORTED, "spec.capacity",
			  "Unsupported value: null: supported values: \"storage\"");
	ks_quantity(storage, &n);
	if (storage && n < 0)
		ks_refuse(c, INVALID, "spec.capacity[storage]",
			  "Invalid value: %lld: must be a valid resource quantity",
			  (long long)n);
	if (storage && n <= 0)
		ks_refuse(c, INVALID, "spec.capacity[storage]",
			  "Invalid value: \"%s\": must be greater than zero",
			  json_string_value(storage));
	check_sources(c);
	if (c->live && (differs(c, "spec.csi") || differs(c, "spec.hostPath") ||
			differs(c, "spec.nfs") || differs(c, "spec.local")))
		ks_refuse(c, FORBIDDEN, "spec.persistentvolumesource",
			  "Forbidden: spec.persistentvolumesource is immutable after "
			  "creation");
	if (c->live && differs(c, "spec.volumeMode"))
		ks_refuse(c, INVALID, "spec.volumeMode",
			  "Invalid value: \"%s\": field is immutable",
			  json_str_or(c->obj, "spec.volumeMode", ""));
}

/* Before it is bound nothing may change but the volume's name. */
static bool claim_changed(struct ks_check *c)
{
	const bool bound = streq(json_str_at(c->live, "status.phase"), "Bound");
	json_t *was = json_own(c->a, json_deep_copy(json_at(c->live, "spec")));
	json_t *now = json_own(c->a, json_deep_copy(json_at(c->obj, "spec")));

	if (bound) {
		json_drop(was, "resources.requests");
		json_drop(now, "resources.requests");
	}
	if (!*json_str_or(was, "volumeName", ""))
		json_drop(now, "volumeName");
	return !json_equal(was, now);
}

void ks_check_claim(struct ks_check *c)
{
	const json_t *storage = json_at(c->obj, "spec.resources.requests.storage");
	double n = 0;

	if (json_len_at(c->obj, "spec.accessModes") == 0)
		ks_refuse(c, REQUIRED, "spec.accessModes",
			  "Required value: at least 1 access mode is required");
	check_modes(c);
	if (!storage)
		ks_refuse(c, REQUIRED, "spec.resources[storage]", "Required value");
	else if (ks_quantity(storage, &n) && n <= 0)
		ks_refuse(c, INVALID, "spec.resources[storage]",
			  "Invalid value: \"%s\": must be greater than zero",
			  json_string_value(storage));
	if (c->live && claim_changed(c))
		ks_refuse(c, FORBIDDEN, "spec",
			  "Forbidden: spec is immutable after creation except "
			  "resources.requests and volumeAttributesClassName for bound "
			  "claims");
}

void ks_check_class(struct ks_check *c)
{
	static const char *const frozen[] = {"provisioner", "parameters", "reclaimPolicy",
					     "volumeBindingMode"};

	if (!*json_str_or(c->obj, "provisioner", ""))
		ks_refuse(c, REQUIRED, "provisioner", "Required value");
	for (size_t i = 0; c->live && i < sizeof(frozen) / sizeof(frozen[0]); i++) {
		if (differs(c, frozen[i]))
			ks_refuse(c, FORBIDDEN, frozen[i],
				  "Forbidden: updates to %s are forbidden.", frozen[i]);
	}
}
