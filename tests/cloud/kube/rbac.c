/* Roles, bindings and what they allow.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/ */
#include <string.h>

#include "tests/cloud/kube/server.h"

#define GROUP "rbac.authorization.k8s.io/"

static bool listed(const json_t *list, const char *word)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(list, i, v) {
		if (streq(json_string_value(v), "*") || streq(json_string_value(v), word))
			return true;
	}
	return false;
}

bool ks_user_in(const struct ks_user *u, const char *group)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(u->groups, i, v) {
		if (streq(json_string_value(v), group))
			return true;
	}
	return false;
}

/* A rule that ends in a star covers what begins so. */
static bool path_covered(const json_t *list, const char *path)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(list, i, v) {
		const char *rule = json_string_value(v);
		const size_t n = rule ? strlen(rule) : 0;

		if (n > 0 && rule[n - 1] == '*' ? strncmp(rule, path, n - 1) == 0
						: streq(rule, path))
			return true;
	}
	return false;
}

static bool rule_allows(struct arena *a, const json_t *rule, const struct ks_ask *ask)
{
	const char *resource = ask->plural;
	const json_t *names = json_at(rule, "resourceNames");

	if (!listed(json_at(rule, "verbs"), ask->verb))
		return false;
	if (ask->path)
		return path_covered(json_at(rule, "nonResourceURLs"), ask->path);
	if (ask->sub && *ask->sub)
		resource = arena_printf(a, "%s/%s", ask->plural, ask->sub);
	if (!listed(json_at(rule, "apiGroups"), ask->group) ||
	    (!listed(json_at(rule, "resources"), resource) &&
	     !(ask->sub &&
	       listed(json_at(rule, "resources"), arena_printf(a, "*/%s", ask->sub)))))
		return false;
	return json_array_size(names) == 0 ||
	       (ask->name && *ask->name && listed(names, ask->name));
}

static bool subject_is(struct arena *a, const json_t *binding, const struct ks_user *u)
{
	const json_t *s = NULL;
	size_t i = 0;

	json_array_foreach(json_at(binding, "subjects"), i, s) {
		const char *kind = json_str_or(s, "kind", "");
		const char *name = json_str_or(s, "name", "");

		if ((streq(kind, "User") && streq(u->name, name)) ||
		    (streq(kind, "Group") && ks_user_in(u, name)) ||
		    (streq(kind, "ServiceAccount") &&
		     streq(u->name, arena_printf(a, "system:serviceaccount:%s:%s",
						 json_str_or(s, "namespace", ""), name))))
			return true;
	}
	return false;
}

static const json_t *role_of(struct ks *k, const json_t *binding)
{
	const char *name = json_str_at(binding, "roleRef.name");

	if (streq(json_str_at(binding, "roleRef.kind"), "ClusterRole"))
		return ks_at(k, GROUP "clusterroles", NULL, name);
	return ks_at(k, GROUP "roles", json_str_at(binding, "metadata.namespace"), name);
}

/* What every server gives who has proven who he is. */
static const json_t *basic_rules(struct arena *a)
{
	return json_packf(a,
			  "[{s:[s],s:[s,s,s,s,s,s,s,s,s,s,s,s,s]},{s:[s],s:[s],s:[s,s]},"
			  "{s:[s],s:[s],s:[s]}]",
			  "verbs", "get", "nonResourceURLs", "/api", "/api/*", "/apis",
			  "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*",
			  "/readyz", "/version", "/version/", "/livez/*", "/readyz/*",
			  "verbs", "create", "apiGroups", "authorization.k8s.io",
			  "resources", "selfsubjectaccessreviews",
			  "selfsubjectrulesreviews", "verbs", "create", "apiGroups",
			  "authentication.k8s.io", "resources", "selfsubjectreviews");
}

/* And everybody. */
static const json_t *public_rules(struct arena *a)
{
	return json_packf(a, "[{s:[s],s:[s,s,s,s]}]", "verbs", "get", "nonResourceURLs",
			  "/healthz", "/livez", "/readyz", "/version");
}

static void add_rules(json_t *all, const json_t *rules)
{
	json_t *rule = NULL;
	size_t i = 0;

	json_array_foreach(rules, i, rule) {
		json_array_append(all, rule);
	}
}

json_t *ks_rules_of(struct ks *k, struct arena *a, const struct ks_user *u,
		    const char *ns)
{
	json_t *all = json_new_list(a);
	const char *key = NULL;
	json_t *b = NULL;

	add_rules(all, public_rules(a));
	if (ks_user_in(u, "system:authenticated"))
		add_rules(all, basic_rules(a));
	json_object_foreach(ks_all(k, GROUP "clusterrolebindings"), key, b) {
		if (subject_is(a, b, u))
			add_rules(all, json_at(role_of(k, b), "rules"));
	}
	json_object_foreach(ks_all(k, GROUP "rolebindings"), key, b) {
		if (ns && streq(json_str_at(b, "metadata.namespace"), ns) &&
		    subject_is(a, b, u))
			add_rules(all, json_at(role_of(k, b), "rules"));
	}
	return all;
}

bool ks_rbac_allows(struct ks *k, struct arena *a, const struct ks_user *u,
		    const struct ks_ask *ask)
{
	const json_t *rules = ks_rules_of(k, a, u, ask->ns);
	const json_t *rule = NULL;
	size_t i = 0;

	if (ks_user_in(u, "system:masters"))
		return true;
	json_array_foreach(rules, i, rule) {
		if (rule_allows(a, rule, ask))
			return true;
	}
	return false;
}
