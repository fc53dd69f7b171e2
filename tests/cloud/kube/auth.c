#include <string.h>

#include "tests/cloud/kube/server.h"

/*
 * EKS: a bearer token names an IAM principal; its access entry decides.
 * https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
 */

/* "arn:aws:sts::A:assumed-role/R/session" is the role "arn:aws:iam::A:role/R". */
static const char *principal_of(struct arena *a, const char *arn)
{
	const char *role = strstr(arn, ":assumed-role/");
	const char *account = NULL;
	const char *name = NULL;

	if (!role)
		return arn;
	account = role;
	while (account > arn && account[-1] != ':')
		account--;
	name = role + strlen(":assumed-role/");
	return arena_printf(a, "arn:aws:iam::%.*s:role/%.*s", (int)(role - account),
			    account, (int)strcspn(name, "/"), name);
}

static bool reads(const char *verb)
{
	return streq(verb, "get") || streq(verb, "list") || streq(verb, "watch");
}

static bool policy_allows(const char *policy, const char *verb, const char *plural)
{
	if (strstr(policy, "AdminViewPolicy"))
		return reads(verb);
	if (strstr(policy, "AdminPolicy")) /* AmazonEKSClusterAdminPolicy too */
		return true;
	if (strstr(policy, "ViewPolicy"))
		return reads(verb) && !streq(plural, "secrets");
	return strstr(policy, "EditPolicy") != NULL;
}

static bool scope_covers(const json_t *association, const char *ns)
{
	const json_t *allowed = NULL;
	size_t i = 0;

	if (!streq(json_str_at(association, "accessScope.type"), "namespace"))
		return true;
	json_array_foreach(json_at(association, "accessScope.namespaces"), i, allowed) {
		if (ns && streq(json_string_value(allowed), ns))
			return true;
	}
	return false;
}

static json_t *entry_of(struct ks *k, const char *arn)
{
	char key[512];
	struct arena a;
	json_t *entry = NULL;

	arena_init(&a, 0);
	str_copy(key, sizeof(key),
		 arena_printf(&a, "%s|%s", k->name, principal_of(&a, arn)));
	arena_free(&a);
	entry = cloud_get(k->cloud, "eks.access_entry", key);
	return entry;
}

static bool is_creator(struct ks *k, const char *arn)
{
	const json_t *cluster = cloud_get(k->cloud, "eks.cluster", k->name);

	return streq(json_str_at(cluster, "_creator"), arn) &&
	       json_bool_or(cluster,
			    "accessConfig.bootstrapClusterCreatorAdminPermissions", true);
}

static bool rule_covers(const json_t *list, const char *word)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(list, i, v) {
		if (streq(json_string_value(v), "*") || streq(json_string_value(v), word))
			return true;
	}
	return false;
}

static bool role_allows(const json_t *role, const char *verb, const struct ks_kind *kind)
{
	const json_t *rule = NULL;
	size_t i = 0;

	json_array_foreach(json_at(role, "rules"), i, rule) {
		if (rule_covers(json_at(rule, "verbs"), verb) && kind &&
		    rule_covers(json_at(rule, "apiGroups"), kind->group) &&
		    rule_covers(json_at(rule, "resources"), kind->plural))
			return true;
	}
	return false;
}

static bool subject_is(const json_t *binding, const json_t *entry)
{
	const json_t *s = NULL;
	size_t i = 0;

	json_array_foreach(json_at(binding, "subjects"), i, s) {
		const char *name = json_str_or(s, "name", "");

		if (streq(json_str_at(s, "kind"), "User") &&
		    streq(json_str_at(entry, "username"), name))
			return true;
		if (streq(json_str_at(s, "kind"), "Group") &&
		    rule_covers(json_at(entry, "kubernetesGroups"), name))
			return true;
	}
	return false;
}

static bool rbac_allows(struct ks *k, const json_t *entry, const char *verb,
			const struct ks_kind *kind)
{
	const char *key = NULL;
	json_t *b = NULL;

	json_object_foreach(ks_all(k, "rbac.authorization.k8s.io/clusterrolebindings"),
			    key, b) {
		if (subject_is(b, entry) &&
		    role_allows(ks_at(k, "rbac.authorization.k8s.io/clusterroles", NULL,
				      json_str_at(b, "roleRef.name")),
				verb, kind))
			return true;
	}
	return false;
}

bool ks_user_may(struct ks *k, const char *user, const char *verb, const char *ns,
		 const struct ks_kind *kind)
{
	const json_t *entry = NULL;
	const json_t *association = NULL;
	const char *policy = NULL;

	if (streq(user, "system:admin") || is_creator(k, user))
		return true;
	entry = entry_of(k, user);
	json_object_foreach(json_at(entry, "_policies"), policy, association) {
		if (scope_covers(association, ns) &&
		    policy_allows(policy, verb, kind ? kind->plural : ""))
			return true;
	}
	return rbac_allows(k, entry, verb, kind);
}

const char *ks_verb(const struct ks_req *q)
{
	const char *m = q->raw->method;

	if (streq(m, "POST"))
		return "create";
	if (streq(m, "PUT"))
		return "update";
	if (streq(m, "PATCH"))
		return "patch";
	if (streq(m, "DELETE"))
		return q->name ? "delete" : "deletecollection";
	if (q->name)
		return "get";
	return ks_query(q, "watch") ? "watch" : "list";
}

static bool unauthorized(struct ks_req *q)
{
	q->kind = NULL;
	return ks_fail(q, 401, "Unauthorized", "Unauthorized");
}

static bool forbidden(struct ks_req *q)
{
	const char *what = *q->kind->group ? arena_printf(q->a, "%s.%s", q->kind->plural,
							  q->kind->group)
					   : q->kind->plural;
	const char *where = q->ns ? arena_printf(q->a, " in the namespace \"%s\"", q->ns)
				  : " at the cluster scope";

	return ks_fail(
		q, 403, "Forbidden",
		"%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s\" in API "
		"group \"%s\"%s",
		what, q->name ? " \"" : "", q->name ? q->name : "", q->name ? "\"" : "",
		q->user, ks_verb(q), q->kind->plural, q->kind->group, where);
}

/* Settings may name tokens of their own: {"kube_tokens": {"secret": "arn:…"}}. */
static const char *user_of(struct ks_req *q, const char *token)
{
	const json_t *tokens = json_at(cloud_settings(q->k.cloud), "kube_tokens");
	const char *named = json_string_value(json_object_get(tokens, token));
	const char *arn = NULL;

	if (named)
		return named;
	return cloud_verify_eks_token_of(q->k.cloud, q->k.name, token, &arn) ? arn : NULL;
}

bool ks_authorize(struct ks_req *q)
{
	const char *header = ks_header(q, "authorization");

	if (!header || strncasecmp(header, "Bearer ", 7) != 0)
		return unauthorized(q);
	/* Answering as if it had not been asked for would be the wrong answer. */
	if (ks_header(q, "impersonate-user"))
		return ks_fail(q, 501, "NotImplemented",
			       "The simulated API server does not impersonate");
	q->user = user_of(q, header + 7);
	/* Without an access entry EKS does not know who that is: 401, not 403. */
	if (!q->user || (!streq(q->user, "system:admin") && !is_creator(&q->k, q->user) &&
			 !entry_of(&q->k, q->user)))
		return unauthorized(q);
	if (q->kind && !(q->kind->has & KS_NO_STORE) &&
	    !ks_user_may(&q->k, q->user, ks_verb(q), q->ns, q->kind))
		return forbidden(q);
	return true;
}
