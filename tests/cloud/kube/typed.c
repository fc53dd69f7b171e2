#include <string.h>

#include "tests/cloud/kube/server.h"

#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Merge rules of the built-in types, from the x-kubernetes-* members of the
 * published OpenAPI document. A row without a parent holds everywhere. */
static const struct {
	const char *parent, *field;
	enum ks_merge merge;
	const char *const *keys;
} rules[] = {
	{NULL, "containers", KS_MAP, KEYS("name")},
	{NULL, "initContainers", KS_MAP, KEYS("name")},
	{NULL, "ephemeralContainers", KS_MAP, KEYS("name")},
	{NULL, "env", KS_MAP, KEYS("name")},
	{NULL, "volumes", KS_MAP, KEYS("name")},
	{NULL, "volumeMounts", KS_MAP, KEYS("mountPath")},
	{NULL, "volumeDevices", KS_MAP, KEYS("devicePath")},
	{NULL, "imagePullSecrets", KS_MAP, KEYS("name")},
	{NULL, "secrets", KS_MAP, KEYS("name")},
	{NULL, "hostAliases", KS_MAP, KEYS("ip")},
	{NULL, "topologySpreadConstraints", KS_MAP,
	 KEYS("topologyKey", "whenUnsatisfiable")},
	{NULL, "conditions", KS_MAP, KEYS("type")},
	{NULL, "ownerReferences", KS_MAP, KEYS("uid")},
	{NULL, "webhooks", KS_MAP, KEYS("name")},
	{NULL, "schedulingGates", KS_MAP, KEYS("name")},
	{NULL, "resourceClaims", KS_MAP, KEYS("name")},
	{NULL, "claims", KS_MAP, KEYS("name")},
	{NULL, "matchConditions", KS_MAP, KEYS("name")},
	{"containers", "ports", KS_MAP, KEYS("containerPort", "protocol")},
	{"initContainers", "ports", KS_MAP, KEYS("containerPort", "protocol")},
	{"spec", "ports", KS_MAP, KEYS("port", "protocol")},
	{"status", "addresses", KS_MAP, KEYS("type")},
	{"metadata", "finalizers", KS_SET, NULL},
	{"spec", "finalizers", KS_SET, NULL},
	{NULL, "nodeSelector", KS_ATOMIC, NULL},
	/* https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
	 */
	{"nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", KS_ATOMIC,
	 NULL},
	{NULL, "namespaceSelector", KS_ATOMIC, NULL},
	{NULL, "involvedObject", KS_ATOMIC, NULL},
	{"spec", "volumeLifecycleModes", KS_SET, NULL},
	{NULL, "matchLabels", KS_GRANULAR, NULL},
	{NULL, "labelSelector", KS_ATOMIC, NULL},
	{"spec", "selector", KS_ATOMIC, NULL},
	{NULL, "roleRef", KS_ATOMIC, NULL},
	{NULL, "aggregationRule", KS_GRANULAR, NULL},
	{NULL, "secretKeyRef", KS_ATOMIC, NULL},
	{NULL, "configMapKeyRef", KS_ATOMIC, NULL},
	{NULL, "fieldRef", KS_ATOMIC, NULL},
	{NULL, "resourceFieldRef", KS_ATOMIC, NULL},
};

struct ks_typed ks_typed_root(const struct ks_kind *kind)
{
	return (struct ks_typed){.kind = kind, .schema = kind->schema};
}

/* Metadata of a custom resource is as built in; its schema says nothing of it. */
struct ks_typed ks_typed_child(const struct ks_typed *t, const char *field)
{
	struct ks_typed c = {.kind = t->kind, .field = field, .parent = t->field};
	const json_t *properties = json_object_get(t->schema, "properties");

	c.schema = json_object_get(properties, field);
	if (!c.schema &&
	    json_is_object(json_object_get(t->schema, "additionalProperties")))
		c.schema = json_object_get(t->schema, "additionalProperties");
	return c;
}

struct ks_typed ks_typed_item(const struct ks_typed *t)
{
	struct ks_typed c = *t;

	c.schema = json_object_get(t->schema, "items");
	return c;
}

static bool built_in_place(const struct ks_typed *t)
{
	return !t->kind->schema || streq(t->field, "metadata") ||
	       streq(t->parent, "metadata");
}

static enum ks_merge by_schema(const struct ks_typed *t, const json_t *value,
			       const char *const **ret_keys)
{
	/* Turns: the walks nest, and none is deeper than JSON may be. */
	static const char *turns[128][8];
	static unsigned turn;
	const char **keys = turns[turn++ % 128];
	const char *list_type =
		json_string_value(json_object_get(t->schema, "x-kubernetes-list-type"));
	const json_t *key = NULL;
	size_t i = 0;
	size_t n = 0;

	if (json_is_object(value))
		return streq(json_string_value(
				     json_object_get(t->schema, "x-kubernetes-map-type")),
			     "atomic")
			       ? KS_ATOMIC
			       : KS_GRANULAR;
	if (streq(list_type, "set"))
		return KS_SET;
	if (!streq(list_type, "map"))
		return KS_ATOMIC;
	json_array_foreach(json_object_get(t->schema, "x-kubernetes-list-map-keys"), i,
			   key) {
		if (n + 1 < 8)
			keys[n++] = json_string_value(key);
	}
	keys[n] = NULL;
	*ret_keys = keys;
	return KS_MAP;
}

enum ks_merge ks_merge_of(const struct ks_typed *t, const json_t *value,
			  const char *const **ret_keys)
{
	*ret_keys = NULL;
	if (!json_is_object(value) && !json_is_array(value))
		return KS_ATOMIC;
	if (!built_in_place(t))
		return by_schema(t, value, ret_keys);
	for (size_t i = 0; t->field && i < sizeof(rules) / sizeof(rules[0]); i++) {
		const bool list = rules[i].merge == KS_MAP || rules[i].merge == KS_SET;

		if (!streq(rules[i].field, t->field) ||
		    (rules[i].parent && !streq(rules[i].parent, t->parent)) ||
		    (list && !json_is_array(value)))
			continue;
		*ret_keys = rules[i].keys;
		return rules[i].merge;
	}
	return json_is_object(value) ? KS_GRANULAR : KS_ATOMIC;
}

bool ks_item_is_atomic(const struct ks_typed *t)
{
	return built_in_place(t) &&
	       (streq(t->field, "imagePullSecrets") || streq(t->field, "secrets"));
}

/* Of a custom resource: a member of an open object or map. */
bool ks_is_undeclared(const struct ks_typed *parent, const char *field)
{
	return !built_in_place(parent) && parent->field &&
	       !json_object_get(json_object_get(parent->schema, "properties"), field);
}

static bool same_key(const json_t *x, const json_t *y, const char *key)
{
	const json_t *a = json_object_get(x, key);
	const json_t *b = json_object_get(y, key);

	/* The only key with a default. */
	if (streq(key, "protocol"))
		return streq(json_is_string(a) ? json_string_value(a) : "TCP",
			     json_is_string(b) ? json_string_value(b) : "TCP");
	return a && b && json_equal(a, b);
}

int ks_item_find(const json_t *list, const json_t *item, const char *const *keys)
{
	const json_t *other = NULL;
	size_t i = 0;

	json_array_foreach(list, i, other) {
		bool same = keys != NULL;

		if (!keys && json_equal(other, item))
			return (int)i;
		for (const char *const *key = keys; key && *key; key++)
			same = same && same_key(other, item, *key);
		if (same)
			return (int)i;
	}
	return -1;
}
