/* Roles, bindings, custom resource definitions. */
#include <string.h>

#include "tests/cloud/kube/server.h"

static void check_role(struct ks_check *c)
{
	const json_t *rule = NULL;
	size_t i = 0;

	json_array_foreach(json_at(c->obj, "rules"), i, rule) {
		const char *at = arena_printf(c->a, "rules[%zu]", i);
		const json_t *paths = json_at(rule, "nonResourceURLs");

		if (json_len_at(rule, "verbs") == 0)
			ks_refuse(
				c, REQUIRED, arena_printf(c->a, "%s.verbs", at),
				"Required value: verbs must contain at least one value");
		if (json_array_size(paths) > 0 && c->q->kind->namespaced)
			ks_refuse(c, INVALID,
				  arena_printf(c->a, "%s.nonResourceURLs", at),
				  "Invalid value: %s: namespaced rules cannot apply to "
				  "non-resource URLs",
				  json_text(c->a, paths));
		if (json_array_size(paths) > 0)
			continue;
		if (json_len_at(rule, "apiGroups") == 0)
			ks_refuse(
				c, REQUIRED, arena_printf(c->a, "%s.apiGroups", at),
				"Required value: resource rules must supply at least one "
				"api group");
		if (json_len_at(rule, "resources") == 0)
			ks_refuse(
				c, REQUIRED, arena_printf(c->a, "%s.resources", at),
				"Required value: resource rules must supply at least one "
				"resource");
	}
}

static void check_binding(struct ks_check *c)
{
	const char *kind = json_str_or(c->obj, "roleRef.kind", "");
	const json_t *was = json_at(c->live, "roleRef");
	const json_t *s = NULL;
	size_t i = 0;

	if (!streq(kind, "ClusterRole") &&
	    !(c->q->kind->namespaced && streq(kind, "Role")))
		ks_refuse(
			c, NOT_SUPPORTED, "roleRef.kind",
			"Unsupported value: \"%s\": supported values: %s\"ClusterRole\"",
			kind, c->q->kind->namespaced ? "\"Role\", " : "");
	if (!*json_str_or(c->obj, "roleRef.name", ""))
		ks_refuse(c, REQUIRED, "roleRef.name", "Required value");
	json_array_foreach(json_at(c->obj, "subjects"), i, s) {
		const char *who = json_str_or(s, "kind", "");

		if (!streq(who, "ServiceAccount") && !streq(who, "User") &&
		    !streq(who, "Group"))
			ks_refuse(c, NOT_SUPPORTED,
				  arena_printf(c->a, "subjects[%zu].kind", i),
				  "Unsupported value: \"%s\": supported values: "
				  "\"ServiceAccount\", \"User\", \"Group\"",
				  who);
	}
	if (was && !json_equal(was, json_at(c->obj, "roleRef")))
		ks_refuse(c, INVALID, "roleRef",
			  "Invalid value: %s: cannot change roleRef",
			  json_text(c->a, json_at(c->obj, "roleRef")));
}

/* --- definitions ------------------------------------------------------------------ */

static bool shapeless(const json_t *schema)
{
	return !json_object_get(schema, "type") &&
	       !json_is_true(json_object_get(schema, "x-kubernetes-int-or-string")) &&
	       !json_is_true(
		       json_object_get(schema, "x-kubernetes-preserve-unknown-fields"));
}

/* https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
static void check_structural(struct ks_check *c, const json_t *schema, const char *at)
{
	const json_t *items = json_object_get(schema, "items");
	const char *name = NULL;
	const json_t *sub = NULL;

	if (shapeless(schema))
		ks_refuse(
			c, REQUIRED, arena_printf(c->a, "%s.type", at),
			"Required value: must not be empty for specified object fields");
	json_object_foreach(json_object_get(schema, "properties"), name, sub) {
		check_structural(c, sub,
				 arena_printf(c->a, "%s.properties[%s]", at, name));
	}
	if (json_is_object(items))
		check_structural(c, items, arena_printf(c->a, "%s.items", at));
}

static void check_names(struct ks_check *c)
{
	static const char *const names[] = {"plural", "singular", "kind", "listKind"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *at = arena_printf(c->a, "spec.names.%s", names[i]);

		if (!*json_str_or(c->obj, at, ""))
			ks_refuse(c, REQUIRED, at, "Required value");
	}
}

static void check_versions(struct ks_check *c)
{
	const json_t *versions = json_at(c->obj, "spec.versions");
	const bool many = json_array_size(versions) > 1;
	const json_t *v = NULL;
	size_t storage = 0;
	size_t i = 0;

	json_array_foreach(versions, i, v) {
		const json_t *schema = json_at(v, "schema.openAPIV3Schema");

		storage += json_bool_or(v, "storage", false);
		if (!schema)
			ks_refuse(c, REQUIRED,
				  arena_printf(
					  c->a,
					  "spec.versions[%zu].schema.openAPIV3Schema", i),
				  "Required value: schemas are required");
		else
			check_structural(
				c, schema,
				many ? arena_printf(
					       c->a,
					       "spec.versions[%zu].schema.openAPIV3Schema",
					       i)
				     : "spec.validation.openAPIV3Schema");
	}
	if (storage == 1)
		return;
	ks_refuse(
		c, INVALID, "spec.versions",
		"Invalid value: must have exactly one version marked as storage version");
	if (!c->live)
		ks_refuse(c, INVALID, "status.storedVersions",
			  "Invalid value: must have at least one stored version");
}

static void check_definition(struct ks_check *c)
{
	static const char *const frozen[] = {"spec.scope", "spec.names.plural",
					     "spec.group"};
	const char *want =
		arena_printf(c->a, "%s.%s", json_str_or(c->obj, "spec.names.plural", ""),
			     json_str_or(c->obj, "spec.group", ""));
	const char *name = json_str_or(c->obj, "metadata.name", "");

	if (!c->live && !streq(want, name))
		ks_refuse(
			c, INVALID, "metadata.name",
			"Invalid value: \"%s\": must be spec.names.plural+\".\"+spec.group",
			name);
	check_names(c);
	check_versions(c);
	for (size_t i = 0; c->live && i < sizeof(frozen) / sizeof(frozen[0]); i++) {
		if (!streq(json_str_at(c->live, frozen[i]),
			   json_str_at(c->obj, frozen[i])))
			ks_refuse(c, INVALID, frozen[i],
				  "Invalid value: \"%s\": field is immutable",
				  json_str_or(c->obj, frozen[i], ""));
	}
}

void ks_check_policy(struct ks_check *c)
{
	const char *plural = c->q->kind->plural;

	if (streq(plural, "roles") || streq(plural, "clusterroles"))
		check_role(c);
	else if (streq(plural, "rolebindings") || streq(plural, "clusterrolebindings"))
		check_binding(c);
	else if (streq(plural, "customresourcedefinitions"))
		check_definition(c);
}
