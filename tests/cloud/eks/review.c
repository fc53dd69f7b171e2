/*
 * The two webhooks by which the API server of an EKS cluster asks who presents a
 * token, and what the access policies of that principal allow. A real kube-apiserver
 * may stand behind a cluster then: the setting kube_external.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#webhook-token-authentication
 * https://github.com/kubernetes-sigs/aws-iam-authenticator
 */
#include <string.h>

#include "tests/cloud/eks/eks.h"
#include "tests/cloud/kube/server.h"

/* What an entry calls its principal; a session's name where it asks for it. */
static const char *username(struct arena *a, const json_t *entry, const char *arn)
{
	static const char mark[] = "{{SessionName}}";
	const char *name = json_str_or(entry, "username", arn);
	const char *at = strstr(name, mark);
	const char *session = strrchr(arn, '/');

	if (!at || !session)
		return name;
	return arena_printf(a, "%.*s%s%s", (int)(at - name), name, session + 1,
			    at + strlen(mark));
}

static json_t *groups_of(const json_t *entry)
{
	json_t *groups = json_pack("[s]", "system:authenticated");

	json_array_extend(groups, json_at(entry, "kubernetesGroups"));
	return groups;
}

/* Without an entry EKS knows only who made the cluster. */
static json_t *who(struct ks *k, struct arena *a, const json_t *asked)
{
	const json_t *cluster = cloud_get(k->cloud, EKS_CLUSTERS, k->name);
	const char *token = json_str_or(asked, "spec.token", "");
	const char *principal;
	const char *arn = NULL;
	const json_t *entry;

	if (!cloud_verify_eks_token_of(k->cloud, k->name, token, &arn))
		return json_pack("{s:b}", "authenticated", 0);
	principal = eks_principal(k->cloud, a, arn);
	entry = cloud_get(k->cloud, EKS_ENTRIES, eks_key(a, k->name, principal));
	if (!entry && !streq(json_str_at(cluster, "_creator"), principal))
		return json_pack("{s:b}", "authenticated", 0);
	return json_pack("{s:b,s:{s:s,s:s,s:o,s:{s:[s]}}}", "authenticated", 1, "user",
			 "username", username(a, entry, arn), "uid", arn, "groups",
			 groups_of(entry), "extra", "arn", arn);
}

/* No opinion, not a refusal, when no policy allows it: RBAC is asked too. */
static json_t *whether(struct ks *k, struct arena *a, const json_t *asked)
{
	const json_t *extra = json_at(asked, "spec.extra");
	const json_t *r = json_at(asked, "spec.resourceAttributes");
	const json_t *path = json_at(asked, "spec.nonResourceAttributes");
	const char *ns = json_str_at(r, "namespace");
	const struct ks_user user = {
		.name = json_str_or(asked, "spec.user", ""),
		.groups = json_new_list(a),
		.arn = json_string_value(
			json_array_get(json_object_get(extra, "arn"), 0)),
	};
	const struct ks_ask ask = {
		.verb = json_str_or(r ? r : path, "verb", ""),
		.path = json_str_at(path, "path"),
		.group = json_str_or(r, "group", ""),
		.plural = json_str_at(r, "resource"),
		.sub = json_str_at(r, "subresource"),
		.ns = ns && *ns ? ns : NULL,
		.name = json_str_at(r, "name"),
	};

	return json_pack("{s:b}", "allowed", user.arn && ks_may(k, a, &user, &ask));
}

json_t *eks_review(struct cloud *c, struct arena *a, const char *cluster,
		   const json_t *asked)
{
	const char *kind = json_str_or(asked, "kind", "");
	const bool is_token = streq(kind, "TokenReview");
	struct ks k = {0};
	json_t *status = NULL;

	if (!is_token && !streq(kind, "SubjectAccessReview"))
		return NULL;
	if (!ks_by_name(c, cluster, &k))
		status = json_pack("{s:b}", is_token ? "authenticated" : "allowed", 0);
	else
		status = is_token ? who(&k, a, asked) : whether(&k, a, asked);
	return json_packf(a, "{s:s,s:s,s:o}", "apiVersion",
			  json_str_or(asked, "apiVersion", ""), "kind", kind, "status",
			  status);
}
