#include <string.h>

#include "tests/cloud/kube/server.h"

/*
 * EKS: a bearer token names an IAM principal; its access entry decides. Besides,
 * tokens of service accounts, and impersonation.
 * https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/
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
	/* "arn:PARTITION" stays. */
	return arena_printf(a, "%.*s:iam::%.*s:role/%.*s",
			    (int)(strcspn(arn + 4, ":") + 4), arn, (int)(role - account),
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

bool ks_may(struct ks *k, struct arena *a, const struct ks_user *u,
	    const struct ks_ask *ask)
{
	const json_t *entry = NULL;
	const json_t *association = NULL;
	const char *policy = NULL;

	if (ks_user_in(u, "system:masters") || (u->arn && is_creator(k, u->arn)))
		return true;
	entry = u->arn ? entry_of(k, u->arn) : NULL;
	json_object_foreach(json_at(entry, "_policies"), policy, association) {
		if (scope_covers(association, ask->ns) &&
		    policy_allows(policy, ask->verb, ask->plural ? ask->plural : ""))
			return true;
	}
	return ks_rbac_allows(k, a, u, ask);
}

const char *ks_verb(const struct ks_req *q)
{
	const char *m = q->raw->method;
	const char *watch = ks_query(q, "watch");

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
	return watch && !streq(watch, "0") && !streq(watch, "false") ? "watch" : "list";
}

static bool unauthorized(struct ks_req *q)
{
	q->kind = NULL;
	return ks_fail(q, 401, "Unauthorized", "Unauthorized");
}

/* "configmaps \"c\" is forbidden: User \"u\" cannot get resource …" */
static bool forbidden(struct ks_req *q, const struct ks_user *u, const struct ks_ask *ask)
{
	const char *what = NULL;
	const char *full = NULL;
	const char *where =
		ask->ns ? arena_printf(q->a, " in the namespace \"%s\"", ask->ns)
			: " at the cluster scope";

	if (ask->path)
		return ks_fail(q, 403, "Forbidden",
			       "forbidden: User \"%s\" cannot %s path \"%s\"", u->name,
			       ask->verb, ask->path);
	what = *ask->group ? arena_printf(q->a, "%s.%s", ask->plural, ask->group)
			   : ask->plural;
	full = ask->sub ? arena_printf(q->a, "%s/%s", ask->plural, ask->sub)
			: ask->plural;
	return ks_fail(
		q, 403, "Forbidden",
		"%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s\" in API "
		"group \"%s\"%s",
		what, ask->name ? " \"" : "", ask->name ? ask->name : "",
		ask->name ? "\"" : "", u->name, ask->verb, full, ask->group, where);
}

/* --- who asks ------------------------------------------------------------------ */

static void add_group(struct ks_user *u, const char *name)
{
	json_array_append_new(u->groups, json_string(name));
}

static struct ks_user plain_user(struct ks_req *q, const char *name)
{
	struct ks_user u = {.name = name, .groups = json_new_list(q->a)};
	const char *account = "system:serviceaccount:";
	struct str rest = str_of(name);

	if (str_starts(name, account)) {
		rest = (struct str){name + strlen(account),
				    strlen(name) - strlen(account)};
		add_group(&u, "system:serviceaccounts");
		add_group(&u, arena_printf(q->a, "system:serviceaccounts:%s",
					   str_dup(q->a, str_cut(&rest, ':'))));
	}
	return u;
}

static bool by_account_token(struct ks_req *q, const char *token)
{
	const json_t *t = json_object_get(json_at(q->k.root, "tokens"), token);
	const char *ns = json_str_or(t, "namespace", "");
	const char *name = json_str_or(t, "name", "");
	const json_t *account = t ? ks_at(&q->k, "/serviceaccounts", ns, name) : NULL;

	if (!account ||
	    !streq(json_str_at(account, "metadata.uid"), json_str_at(t, "uid")) ||
	    q->k.now_ms >= json_int_or(t, "until_ms", 0))
		return false;
	q->who = plain_user(q,
			    arena_printf(q->a, "system:serviceaccount:%s:%s", ns, name));
	add_group(&q->who, "system:authenticated");
	return true;
}

/* Settings may name tokens of their own: {"kube_tokens": {"secret": "arn:…"}}. */
static bool by_token(struct ks_req *q, const char *token)
{
	const json_t *tokens = json_at(cloud_settings(q->k.cloud), "kube_tokens");
	const char *arn = json_string_value(json_object_get(tokens, token));
	const json_t *entry = NULL;
	const json_t *group = NULL;
	size_t i = 0;

	if (by_account_token(q, token))
		return true;
	if (!arn && !cloud_verify_eks_token_of(q->k.cloud, q->k.name, token, &arn))
		return false;
	q->who = plain_user(q, arn);
	add_group(&q->who, "system:authenticated");
	if (streq(arn, "system:admin")) {
		add_group(&q->who, "system:masters");
		return true;
	}
	q->who.arn = arn;
	entry = entry_of(&q->k, arn);
	json_array_foreach(json_at(entry, "kubernetesGroups"), i, group) {
		add_group(&q->who, json_string_value(group));
	}
	if (json_str_at(entry, "username"))
		q->who.name = json_str_at(entry, "username");
	/* Without an access entry EKS does not know who that is: 401, not 403. */
	return entry || is_creator(&q->k, arn);
}

static bool may_be(struct ks_req *q, const char *plural, const char *ns, const char *name)
{
	const struct ks_ask ask = {.verb = "impersonate",
				   .group = "",
				   .plural = plural,
				   .ns = ns,
				   .name = name};

	if (ks_may(&q->k, q->a, &q->who, &ask))
		return true;
	q->kind = NULL;
	return forbidden(q, &q->who, &ask);
}

static bool impersonate(struct ks_req *q)
{
	const char *name = ks_header(q, "impersonate-user");
	const char *group = ks_header(q, "impersonate-group");
	struct ks_user u;
	struct str rest;

	if (!name && group)
		return ks_fail(q, 400, "BadRequest",
			       "requested [{Group  %s    }] without impersonating a user",
			       group);
	if (!name)
		return true;
	u = plain_user(q, name);
	if (json_array_size(u.groups) > 0) {
		rest = str_of(name + strlen("system:serviceaccount:"));
		const char *ns = str_dup(q->a, str_cut(&rest, ':'));

		if (!may_be(q, "serviceaccounts", ns, str_dup(q->a, rest)))
			return false;
	} else if (!may_be(q, "users", NULL, name)) {
		return false;
	}
	for (size_t i = 0; i < q->raw->n_headers; i++) {
		const struct http_header *h = &q->raw->header[i];

		if (strcasecmp(h->name, "impersonate-group") != 0)
			continue;
		if (!may_be(q, "groups", NULL, h->value))
			return false;
		add_group(&u, h->value);
	}
	if (!ks_user_in(&u, "system:authenticated") && !streq(name, "system:anonymous"))
		add_group(&u, "system:authenticated");
	q->who = u;
	return true;
}

bool ks_authorize(struct ks_req *q)
{
	const char *header = ks_header(q, "authorization");
	struct ks_ask ask;

	if (!header || strncasecmp(header, "Bearer ", 7) != 0) {
		q->who = plain_user(q, "system:anonymous");
		add_group(&q->who, "system:unauthenticated");
	} else if (!by_token(q, header + 7)) {
		return unauthorized(q);
	}
	q->user = q->who.arn ? q->who.arn : q->who.name;
	if (!impersonate(q))
		return false;
	ask = q->kind ? (struct ks_ask){.verb = ks_verb(q),
					.group = q->kind->group,
					.plural = q->kind->plural,
					.sub = q->sub,
					.ns = q->ns,
					.name = q->name}
		      : (struct ks_ask){.verb = "get", .path = q->path};
	/* Everybody may ask what he may. */
	if (q->kind && (q->kind->has & KS_NO_STORE) &&
	    ks_user_in(&q->who, "system:authenticated"))
		return true;
	if (!q->kind && q->who.arn)
		return true;
	return ks_may(&q->k, q->a, &q->who, &ask) || forbidden(q, &q->who, &ask);
}
