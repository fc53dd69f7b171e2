/* Kinds of the core group, and small ones.
 * https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go
 */
#include <string.h>

#include "tests/cloud/kube/server.h"

enum { DATA_MAX = 1024 * 1024 };

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

/* --- config maps and secrets ----------------------------------------------------- */

static void check_key(struct ks_check *c, const char *member, const char *key)
{
	const size_t n =
		strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-_.");

	if (!*key || key[n] || n > 253)
		ks_refuse(
			c, INVALID, arena_printf(c->a, "%s[%s]", member, key),
			"Invalid value: \"%s\": a valid config key must consist of "
			"alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
			"'KEY_NAME',  or 'key-name', regex used for validation is "
			"'[-._a-zA-Z0-9]+')",
			key);
}

static void check_frozen(struct ks_check *c)
{
	static const char *const members[] = {"data", "binaryData"};

	if (!json_bool_or(c->live, "immutable", false))
		return;
	if (!json_bool_or(c->obj, "immutable", false))
		ks_refuse(c, FORBIDDEN, "immutable",
			  "Forbidden: field is immutable when `immutable` is set");
	for (size_t i = 0; i < 2; i++) {
		if (differs(c, members[i]))
			ks_refuse(
				c, FORBIDDEN, members[i],
				"Forbidden: field is immutable when `immutable` is set");
	}
}

/* base64 counts as what it stands for. */
static size_t bytes_of(struct ks_check *c, const char *member, bool encoded)
{
	const char *key = NULL;
	const json_t *v = NULL;
	size_t bytes = 0;

	json_object_foreach(json_at(c->obj, member), key, v) {
		const size_t n = json_string_length(v);

		check_key(c, member, key);
		bytes += encoded ? n / 4 * 3 : n;
	}
	return bytes;
}

static void check_data(struct ks_check *c, bool secret)
{
	const size_t bytes =
		bytes_of(c, "data", secret) + bytes_of(c, "binaryData", true);
	const char *key = NULL;
	const json_t *v = NULL;

	json_object_foreach(json_at(c->obj, "binaryData"), key, v) {
		if (json_object_get(json_at(c->obj, "data"), key))
			ks_refuse(c, INVALID, arena_printf(c->a, "data[%s]", key),
				  "Invalid value: \"%s\": duplicate of key present in "
				  "binaryData",
				  key);
	}
	if (bytes > DATA_MAX)
		ks_refuse(c, TOO_LONG, secret ? "data" : "[]",
			  "Too long: may not be more than %d bytes", DATA_MAX);
	check_frozen(c);
}

static void need_key(struct ks_check *c, const char *key)
{
	if (!json_object_get(json_at(c->obj, "data"), key))
		ks_refuse(c, REQUIRED, arena_printf(c->a, "data[%s]", key),
			  "Required value");
}

static void check_secret(struct ks_check *c)
{
	const char *type = json_str_or(c->obj, "type", "");

	check_data(c, true);
	if (streq(type, "kubernetes.io/tls")) {
		need_key(c, "tls.crt");
		need_key(c, "tls.key");
	}
	if (streq(type, "kubernetes.io/dockerconfigjson"))
		need_key(c, ".dockerconfigjson");
	if (c->live && differs(c, "type"))
		ks_refuse(c, INVALID, "type", "Invalid value: \"%s\": field is immutable",
			  type);
}

/* --- services and nodes -------------------------------------------------------- */

static void check_port(struct ks_check *c, const json_t *port, size_t i,
		       const char *member)
{
	const json_t *v = json_at(port, member);
	const int64_t n = json_integer_value(v);

	if (json_is_integer(v) && (n < 1 || n > 65535))
		ks_refuse(c, INVALID, arena_printf(c->a, "spec.ports[%zu].%s", i, member),
			  "Invalid value: %lld: must be between 1 and 65535, inclusive",
			  (long long)n);
}

static void check_service(struct ks_check *c)
{
	static const char *const types[] = {"ClusterIP", "ExternalName", "LoadBalancer",
					    "NodePort", NULL};
	const char *type = json_str_or(c->obj, "spec.type", "");
	const json_t *ports = json_at(c->obj, "spec.ports");
	const json_t *port = NULL;
	size_t i = 0;

	if (!listed(types, type))
		ks_refuse(c, NOT_SUPPORTED, "spec.type",
			  "Unsupported value: \"%s\": supported values: \"ClusterIP\", "
			  "\"ExternalName\", \"LoadBalancer\", \"NodePort\"",
			  type);
	if (json_array_size(ports) == 0 && !streq(type, "ExternalName") &&
	    !streq(json_str_at(c->obj, "spec.clusterIP"), "None"))
		ks_refuse(c, REQUIRED, "spec.ports", "Required value");
	json_array_foreach(ports, i, port) {
		if (json_array_size(ports) > 1 && !*json_str_or(port, "name", ""))
			ks_refuse(c, REQUIRED,
				  arena_printf(c->a, "spec.ports[%zu].name", i),
				  "Required value");
		check_port(c, port, i, "port");
		check_port(c, port, i, "targetPort");
	}
	if (json_at(c->live, "spec.clusterIP") && differs(c, "spec.clusterIP") &&
	    streq(json_str_at(c->live, "spec.type"), type))
		ks_refuse(c, INVALID, "spec.clusterIPs[0]",
			  "Invalid value: [\"%s\"]: may not change once set",
			  json_str_or(c->obj, "spec.clusterIP", ""));
}

static void check_node(struct ks_check *c)
{
	static const char *const effects[] = {"NoSchedule", "PreferNoSchedule",
					      "NoExecute", NULL};
	const json_t *taints = json_at(c->obj, "spec.taints");
	const json_t *t = NULL;
	size_t i = 0;

	json_array_foreach(taints, i, t) {
		const char *effect = json_str_or(t, "effect", "");
		const char *at = arena_printf(c->a, "metadata.taints[%zu]", i);

		if (!listed(effects, effect))
			ks_refuse(c, NOT_SUPPORTED, arena_printf(c->a, "%s.effect", at),
				  "Unsupported value: \"%s\": supported values: "
				  "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
				  effect);
		for (size_t j = 0; j < i; j++) {
			const json_t *other = json_array_get(taints, j);

			if (streq(json_str_at(other, "key"), json_str_at(t, "key")) &&
			    streq(json_str_at(other, "effect"), effect))
				ks_refuse(
					c, DUPLICATE, at,
					"Duplicate value: %s: taints must be unique by key "
					"and effect pair",
					json_text(c->a, t));
		}
	}
}

/* --- small ones --------------------------------------------------------------- */

static void check_lease(struct ks_check *c)
{
	const json_t *seconds = json_at(c->obj, "spec.leaseDurationSeconds");

	if (json_is_integer(seconds) && json_integer_value(seconds) <= 0)
		ks_refuse(c, INVALID, "spec.leaseDurationSeconds",
			  "Invalid value: %lld: must be greater than 0",
			  (long long)json_integer_value(seconds));
}

static bool is_share(const json_t *v)
{
	const char *z = json_string_value(v);
	const size_t n = z ? strspn(z, "0123456789") : 0;

	return !z || (n > 0 && streq(z + n, "%"));
}

static void check_budget(struct ks_check *c)
{
	static const char *const members[] = {"spec.minAvailable", "spec.maxUnavailable"};

	if (json_at(c->obj, members[0]) && json_at(c->obj, members[1]))
		ks_refuse(c, INVALID, "spec",
			  "Invalid value: %s: minAvailable and maxUnavailable cannot be "
			  "both set",
			  json_text(c->a, json_at(c->obj, "spec")));
	for (size_t i = 0; i < 2; i++) {
		if (!is_share(json_at(c->obj, members[i])))
			ks_refuse(
				c, INVALID, members[i],
				"Invalid value: \"%s\": a valid percent string must be a "
				"numeric string followed by an ending '%%'",
				json_str_or(c->obj, members[i], ""));
	}
}

static void check_event(struct ks_check *c)
{
	const char *other = json_str_or(c->obj, "involvedObject.namespace", "");
	const char *own = json_str_or(c->obj, "metadata.namespace", "");

	if (*other && !streq(other, own))
		ks_refuse(c, INVALID, "involvedObject.namespace",
			  "Invalid value: \"%s\": does not match event.namespace", other);
}

static void check_config_map(struct ks_check *c)
{
	check_data(c, false);
}

static void check_pod(struct ks_check *c)
{
	ks_check_pod_spec(c, json_at(c->obj, "spec"), "spec");
	if (c->live)
		ks_check_pod_update(c);
}

void ks_check_kind(struct ks_check *c)
{
	static const struct {
		const char *kind;
		void (*check)(struct ks_check *c);
	} rows[] = {
		{"Pod", check_pod},
		{"ConfigMap", check_config_map},
		{"Secret", check_secret},
		{"Service", check_service},
		{"Node", check_node},
		{"PersistentVolume", ks_check_volume},
		{"PersistentVolumeClaim", ks_check_claim},
		{"StorageClass", ks_check_class},
		{"Lease", check_lease},
		{"PodDisruptionBudget", check_budget},
		{"Event", check_event},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (streq(rows[i].kind, c->q->kind->kind))
			rows[i].check(c);
	}
}
