/* Aggregated ClusterRoles in the simulated API server: what bites who applies them. */
#include "tests/unit/kube_lab.h"

#define RBAC "rbac.authorization.k8s.io/v1"
#define ROLE(name, more)                                                                 \
	"{'apiVersion':'" RBAC "','kind':'ClusterRole','metadata':{'name':'" name "'" more
#define ALL                                                                              \
	ROLE("all", "},'aggregationRule':{'clusterRoleSelectors':[{'matchLabels':{"      \
		    "'to':'all'}}]},'rules':[]}")
#define PART(name, what)                                                                 \
	ROLE(name, ",'labels':{'to':'all'}},'rules':[{'apiGroups':['']," what "]}")
#define PODS "'resources':['pods'],'verbs':['get']}"
#define MAPS "'resources':['configmaps'],'verbs':['list']}"

static const struct kube_result *put_role(struct klab *k, const char *name,
					  const char *body)
{
	return apply(k, RBAC, "clusterroles", NULL, name, body);
}

static const char *seen_rules(struct klab *k)
{
	const json_t *role = stored(k, RBAC, "clusterroles", NULL, "all");

	return json_text(&k->lab.arena, json_at(role, "rules"));
}

Test(cloud_kube_roles, aggregated_rules_are_those_of_the_roles_that_are_selected)
{
	struct kube_request gone = on(KUBE_DELETE, RBAC, "clusterroles", NULL, "b");
	struct klab k;

	set_up(&k);
	cr_assert(put_role(&k, "all", ALL)->ok, "%s", k.res.message);
	cr_assert(put_role(&k, "b", PART("b", MAPS))->ok, "%s", k.res.message);
	cr_assert(put_role(&k, "a", PART("a", PODS))->ok, "%s", k.res.message);
	/* The same rule of another role is not there twice. */
	cr_assert(put_role(&k, "c", PART("c", PODS))->ok, "%s", k.res.message);
	pass(&k, 1000);
	cr_expect_str_eq(
		seen_rules(&k),
		"[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]},"
		"{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":[\"list\"]}"
		"]");
	cr_assert(call(&k, &gone)->ok, "%s", k.res.message);
	pass(&k, 1000);
	cr_expect_str_eq(
		seen_rules(&k),
		"[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]}]");
	tear_down(&k);
}

/* Why a chart with such a role could be installed, and never upgraded (helm.c). */
Test(cloud_kube_roles, the_controller_owns_them_and_the_next_apply_conflicts)
{
	struct kube_request merge =
		on(KUBE_MERGE_PATCH, RBAC, "clusterroles", NULL, "all");
	struct klab k;

	set_up(&k);
	cr_assert(put_role(&k, "all", ALL)->ok, "%s", k.res.message);
	cr_assert(put_role(&k, "all", ALL)->ok, "nothing to gather yet: %s",
		  k.res.message);
	cr_assert(put_role(&k, "a", PART("a", PODS))->ok, "%s", k.res.message);
	pass(&k, 1000);
	cr_expect_eq(put_role(&k, "all", ALL)->status, 409);
	cr_expect_eq(k.res.errc, ERR_FOREIGN_OBJECT);
	cr_expect(strstr(k.res.message, "conflict with "
					"\"clusterrole-aggregation-controller\": .rules"),
		  "%s", k.res.message);
	/* Who leaves the rules alone has no quarrel; who writes them loses. */
	merge.body = js(&k, "{'metadata':{'labels':{'x':'y'}}}");
	cr_expect(call(&k, &merge)->ok, "%s", k.res.message);
	merge.body = js(&k, "{'rules':[]}");
	cr_expect(call(&k, &merge)->ok, "%s", k.res.message);
	pass(&k, 1000);
	cr_expect(strstr(seen_rules(&k), "\"pods\""), "%s", seen_rules(&k));
	tear_down(&k);
}
