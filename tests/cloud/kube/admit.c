/* What the admission plugins of a server do to what is written.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/ */
#include <string.h>

#include "tests/cloud/kube/server.h"

static bool forbidden(struct ks_req *q, const char *why)
{
	return ks_fail(q, 403, "Forbidden", "%s \"%s\" is forbidden: %s",
		       ks_qualified(q->a, q->kind), q->name, why);
}

/* --- ServiceAccount ---------------------------------------------------------------- */

static bool with_account(struct ks_req *q, json_t *spec)
{
	const char *name = json_str_or(spec, "serviceAccountName", "");

	if (!*name)
		name = json_str_or(spec, "serviceAccount", "default");
	if (!*name)
		name = "default";
	if (!ks_at(&q->k, "/serviceaccounts", q->ns, name))
		return forbidden(q,
				 arena_printf(q->a,
					      "error looking up service account %s/%s: "
					      "serviceaccount \"%s\" not found",
					      q->ns, name, name));
	name = arena_strdup(q->a, name);
	json_put_str(spec, "serviceAccountName", name);
	json_put_str(spec, "serviceAccount", name);
	return true;
}

#define TOKEN_PATH "/var/run/secrets/kubernetes.io/serviceaccount"

static bool is_mounted(const json_t *container)
{
	return json_find(json_at(container, "volumeMounts"), "mountPath", TOKEN_PATH) !=
	       NULL;
}

static size_t mount_token(json_t *containers, const char *name)
{
	json_t *c = NULL;
	size_t n = 0;
	size_t i = 0;

	json_array_foreach(containers, i, c) {
		if (is_mounted(c))
			continue;
		if (!json_at(c, "volumeMounts"))
			json_put(c, "volumeMounts", json_array());
		json_push(json_at(c, "volumeMounts"),
			  json_pack("{s:s,s:b,s:s}", "name", name, "readOnly", 1,
				    "mountPath", TOKEN_PATH));
		n++;
	}
	return n;
}

/* The account's token, the authority's certificate and the namespace, as files. */
static void with_token(struct ks_req *q, json_t *spec)
{
	const json_t *account = ks_at(&q->k, "/serviceaccounts", q->ns,
				      json_str_or(spec, "serviceAccountName", ""));
	const bool wanted = json_bool_or(account, "automountServiceAccountToken", true);
	const char *name =
		arena_printf(q->a, "kube-api-access-%s", ks_suffix(&q->k, q->a, 5));

	if (!json_bool_or(spec, "automountServiceAccountToken", wanted) ||
	    mount_token(json_at(spec, "initContainers"), name) +
			    mount_token(json_at(spec, "containers"), name) ==
		    0)
		return;
	if (!json_at(spec, "volumes"))
		json_put(spec, "volumes", json_array());
	json_push(json_at(spec, "volumes"),
		  json_pack("{s:s,s:{s:i,s:[{s:{s:i,s:s}},{s:{s:s,s:[{s:s,s:s}]}},"
			    "{s:{s:[{s:s,s:{s:s,s:s}}]}}]}}",
			    "name", name, "projected", "defaultMode", 0644, "sources",
			    "serviceAccountToken", "expirationSeconds", 3607, "path",
			    "token", "configMap", "name", "kube-root-ca.crt", "items",
			    "key", "ca.crt", "path", "ca.crt", "downwardAPI", "items",
			    "path", "namespace", "fieldRef", "apiVersion", "v1",
			    "fieldPath", "metadata.namespace"));
}

/* --- Priority ---------------------------------------------------------------------- */

static bool with_priority(struct ks_req *q, json_t *spec)
{
	const char *name = json_str_or(spec, "priorityClassName", "");
	const json_t *class =
		*name ? ks_at(&q->k, "scheduling.k8s.io/priorityclasses", NULL, name)
		      : NULL;
	const bool system = str_starts(name, "system-");

	if (*name && !class && !system)
		return forbidden(
			q, arena_printf(q->a, "no PriorityClass with name %s was found",
					name));
	json_put_int(spec, "priority",
		     system ? 2000000000 : json_int_or(class, "value", 0));
	if (!json_at(spec, "preemptionPolicy"))
		json_put_str(
			spec, "preemptionPolicy",
			json_str_or(class, "preemptionPolicy", "PreemptLowerPriority"));
	return true;
}

/* --- DefaultTolerationSeconds ------------------------------------------------------ */

static bool tolerates(const json_t *spec, const char *key)
{
	const json_t *t = NULL;
	size_t i = 0;

	json_array_foreach(json_at(spec, "tolerations"), i, t) {
		const char *own = json_str_or(t, "key", "");
		const char *effect = json_str_or(t, "effect", "");

		if ((!*own || streq(own, key)) &&
		    (!*effect || streq(effect, "NoExecute")))
			return true;
	}
	return false;
}

static void with_tolerations(json_t *spec)
{
	static const char *const keys[] = {"node.kubernetes.io/not-ready",
					   "node.kubernetes.io/unreachable"};

	for (size_t i = 0; i < 2; i++) {
		if (tolerates(spec, keys[i]))
			continue;
		if (!json_at(spec, "tolerations"))
			json_put(spec, "tolerations", json_array());
		json_push(json_at(spec, "tolerations"),
			  json_pack("{s:s,s:s,s:s,s:i}", "key", keys[i], "operator",
				    "Exists", "effect", "NoExecute", "tolerationSeconds",
				    300));
	}
}

/* --- by kind ------------------------------------------------------------------------ */

bool ks_admit(struct ks_req *q, const json_t *live, json_t *obj)
{
	const json_t *crd = NULL;
	json_t *spec = json_at(obj, "spec");

	if (live)
		return true;
	if (q->kind->schema) {
		crd = ks_at(&q->k, "apiextensions.k8s.io/customresourcedefinitions", NULL,
			    ks_qualified(q->a, q->kind));
		return !json_str_at(crd, "metadata.deletionTimestamp") ||
		       forbidden(q,
				 "create not allowed while custom resource definition is "
				 "terminating");
	}
	if (*q->kind->group || !streq(q->kind->kind, "Pod") || !spec)
		return true;
	if (!with_account(q, spec) || !with_priority(q, spec))
		return false;
	with_tolerations(spec);
	with_token(q, spec);
	return true;
}
