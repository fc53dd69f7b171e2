/*
 * The controller of aggregated ClusterRoles: their rules are those of all roles that
 * their selectors name, applied on the server's side by a manager of its own, whoever
 * has written something else there.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
 */
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/kube/server.h"

#define ROLES "rbac.authorization.k8s.io/clusterroles"

static int by_name(const void *a, const void *b)
{
	return strcmp(json_str_or(*(json_t *const *)a, "metadata.name", ""),
		      json_str_or(*(json_t *const *)b, "metadata.name", ""));
}

static bool has_rule(const json_t *rules, const json_t *rule)
{
	const json_t *one = NULL;
	size_t i = 0;

	json_array_foreach(rules, i, one) {
		if (json_equal(one, rule))
			return true;
	}
	return false;
}

/* Roles in the order of their names; each rule once. */
static json_t *rules_of(struct arena *a, const json_t *all, const json_t *role)
{
	const size_t n = json_array_size(all);
	json_t **sorted = arena_array(a, json_t *, n + 1);
	json_t *rules = json_new_list(a);
	const json_t *selector = NULL;
	json_t *rule = NULL;
	size_t s = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = json_array_get(all, i);
	qsort((void *)sorted, n, sizeof(*sorted), by_name);
	json_array_foreach(json_at(role, "aggregationRule.clusterRoleSelectors"), s,
			   selector) {
		for (size_t i = 0; i < n; i++) {
			size_t r = 0;

			if (json_equal(json_at(sorted[i], "metadata.uid"),
				       json_at(role, "metadata.uid")) ||
			    !ks_labels_match(selector,
					     json_at(sorted[i], "metadata.labels")))
				continue;
			json_array_foreach(json_at(sorted[i], "rules"), r, rule) {
				if (!has_rule(rules, rule))
					json_array_append(rules, rule);
			}
		}
	}
	return rules;
}

static void aggregate(struct ks *k, struct arena *a, const json_t *all,
		      const json_t *role)
{
	struct ks_req q = {.k = *k,
			   .a = a,
			   .kind = ks_builtin(ROLES),
			   .manager = "clusterrole-aggregation-controller"};
	json_t *rules = rules_of(a, all, role);
	json_t *config = NULL;

	if (json_array_size(rules) == 0 ? json_len_at(role, "rules") == 0
					: json_equal(rules, json_at(role, "rules")))
		return;
	config = json_packf(a, "{s:s,s:s,s:{s:s}}", "apiVersion",
			    "rbac.authorization.k8s.io/v1", "kind", "ClusterRole",
			    "metadata", "name", json_str_or(role, "metadata.name", ""));
	if (json_array_size(rules) > 0)
		json_put(config, "rules", json_incref(rules));
	ks_write(k, q.kind, ks_apply(&q, role, config, true));
}

void ks_run_roles(struct ks *k)
{
	struct arena a;
	const json_t *all = NULL;
	const json_t *role = NULL;
	size_t i = 0;

	arena_init(&a, 0);
	all = ks_snapshot(k, &a, ROLES);
	json_array_foreach(all, i, role) {
		if (json_at(role, "aggregationRule") &&
		    !json_str_at(role, "metadata.deletionTimestamp"))
			aggregate(k, &a, all, role);
	}
	arena_free(&a);
}
