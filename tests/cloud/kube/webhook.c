#include <string.h>

#include "tests/cloud/kube/server.h"

/*
 * Admission webhooks are not called; but a write that one guards fails as on a
 * real server while the webhook's service has no ready pod, and for some
 * seconds after that, until its authority is injected.
 */
enum { INJECTION_MS = 5000 };

static bool named(const json_t *list, const char *word)
{
	const json_t *v = NULL;
	size_t i = 0;

	json_array_foreach(list, i, v) {
		const char *have = json_string_value(v);

		if (streq(have, "*") || streq(have, "*/*") || streq(have, word))
			return true;
	}
	return false;
}

/* "*" is every resource, without what is below it; a scope may be told, too. */
static bool rule_covers(struct ks_req *q, const json_t *rule, const char *operation)
{
	const char *scope = json_str_or(rule, "scope", "*");

	if (!streq(scope, "*") && streq(scope, "Namespaced") != q->kind->namespaced)
		return false;
	return named(json_at(rule, "apiGroups"), q->kind->group) &&
	       named(json_at(rule, "apiVersions"), q->kind->version) &&
	       named(json_at(rule, "resources"), q->kind->plural) &&
	       named(json_at(rule, "operations"), operation);
}

/* By the labels of the namespace that the object is in, or of the one that it is;
 * other things of the whole cluster have none and are never left out by it. */
static bool in_namespaces(struct ks_req *q, const json_t *selector, const json_t *live,
			  const json_t *obj)
{
	const json_t *ns = ks_at(&q->k, "/namespaces", NULL, q->ns);

	if (!selector)
		return true;
	if (streq(ks_resource(q->a, q->kind), "/namespaces"))
		ns = obj ? obj : live;
	else if (!q->kind->namespaced)
		return true;
	return ks_labels_match(selector, json_at(ns, "metadata.labels"));
}

/* By the labels of the object before or after. */
static bool among_objects(const json_t *selector, const json_t *live, const json_t *obj)
{
	return !selector ||
	       (obj && ks_labels_match(selector, json_at(obj, "metadata.labels"))) ||
	       (live && ks_labels_match(selector, json_at(live, "metadata.labels")));
}

static bool guards(struct ks_req *q, const json_t *webhook, const char *operation,
		   const json_t *live, const json_t *obj)
{
	const json_t *rule = NULL;
	size_t i = 0;

	if (!in_namespaces(q, json_at(webhook, "namespaceSelector"), live, obj) ||
	    !among_objects(json_at(webhook, "objectSelector"), live, obj))
		return false;
	json_array_foreach(json_at(webhook, "rules"), i, rule) {
		if (rule_covers(q, rule, operation))
			return true;
	}
	return false;
}

int64_t ks_served_since(struct ks *k, const char *ns, const json_t *service)
{
	const char *key = NULL;
	json_t *pod = NULL;
	const char *label = NULL;
	const json_t *want = NULL;
	int64_t first = -1;

	json_object_foreach(ks_all(k, "/pods"), key, pod) {
		const json_t *c =
			json_find(json_at(pod, "status.conditions"), "type", "Ready");
		bool ours = ks_pod_ready(pod) &&
			    streq(json_str_at(pod, "metadata.namespace"), ns);
		int64_t at = 0;

		json_object_foreach(json_at(service, "spec.selector"), label, want) {
			const json_t *have =
				json_object_get(json_at(pod, "metadata.labels"), label);

			ours = ours && have && json_equal(have, want);
		}
		if (ours &&
		    time_parse_rfc3339(json_str_or(c, "lastTransitionTime", ""), &at) &&
		    (first < 0 || at < first))
			first = at;
	}
	return first;
}

/* NULL: it would answer. */
static const char *trouble(struct ks_req *q, const json_t *webhook)
{
	const char *ns = json_str_at(webhook, "clientConfig.service.namespace");
	const char *name = json_str_at(webhook, "clientConfig.service.name");
	const json_t *service = NULL;
	int64_t since = 0;

	if (!name || streq(json_str_at(webhook, "failurePolicy"), "Ignore"))
		return NULL;
	service = ks_at(&q->k, "/services", ns, name);
	if (!service)
		return arena_printf(q->a, "service \"%s\" not found", name);
	since = ks_served_since(&q->k, ns, service);
	if (since < 0)
		return arena_printf(q->a, "no endpoints available for service \"%s\"",
				    name);
	/* Its authority stands in the configuration: nothing has to be injected. */
	if (*json_str_or(webhook, "clientConfig.caBundle", ""))
		return NULL;
	if (q->k.now_ms <
	    since + cloud_ms(q->k.cloud,
			     ks_setting(&q->k, "kube_injection_ms", INJECTION_MS)))
		return "tls: failed to verify certificate: x509: certificate signed by unknown "
		       "authority";
	return NULL;
}

/* What the server says for a webhook that does not answer; NULL: it does. */
static const char *unanswered(struct ks_req *q, const json_t *webhook)
{
	const char *why = trouble(q, webhook);

	if (!why)
		return NULL;
	return arena_printf(
		q->a,
		"Internal error occurred: failed calling webhook \"%s\": failed to call "
		"webhook: Post \"https://%s.%s.svc:443%s?timeout=%ds\": %s",
		json_str_or(webhook, "name", ""),
		json_str_or(webhook, "clientConfig.service.name", ""),
		json_str_or(webhook, "clientConfig.service.namespace", ""),
		json_str_or(webhook, "clientConfig.service.path", "/"),
		(int)json_int_or(webhook, "timeoutSeconds", 10), why);
}

static bool pass(struct ks_req *q, const json_t *webhook)
{
	const char *effects = json_str_or(webhook, "sideEffects", "None");
	const char *text;

	/* Said before anybody is called, by webhooks that are ignored as well. */
	if (q->dry_run && !str_starts(effects, "None"))
		return ks_fail(q, 400, "BadRequest",
			       "admission webhook \"%s\" does not support dry run",
			       json_str_or(webhook, "name", ""));
	text = unanswered(q, webhook);
	return !text || ks_fail(q, 500, "InternalError", "%s", text);
}

/* The next one that guards the write; NULL: there are no more. *at: where to go on. */
static const json_t *next_guard(struct ks_req *q, const char *operation,
				const json_t *live, const json_t *obj, size_t *at)
{
	static const char *const resources[] = {
		"admissionregistration.k8s.io/mutatingwebhookconfigurations",
		"admissionregistration.k8s.io/validatingwebhookconfigurations",
	};
	size_t n = 0;

	for (size_t r = 0; r < sizeof(resources) / sizeof(resources[0]); r++) {
		const char *key = NULL;
		json_t *config = NULL;

		json_object_foreach(ks_all(&q->k, resources[r]), key, config) {
			const json_t *webhook = NULL;
			size_t i = 0;

			json_array_foreach(json_at(config, "webhooks"), i, webhook) {
				if (n++ < *at ||
				    !guards(q, webhook, operation, live, obj))
					continue;
				*at = n;
				return webhook;
			}
		}
	}
	return NULL;
}

bool ks_webhooks_pass(struct ks_req *q, const char *operation, const json_t *live,
		      const json_t *obj)
{
	const json_t *webhook;
	size_t at = 0;

	/* Nobody could get rid of a webhook that refused its own removal. */
	if (streq(q->kind->group, "admissionregistration.k8s.io"))
		return true;
	while ((webhook = next_guard(q, operation, live, obj, &at)))
		if (!pass(q, webhook))
			return false;
	return true;
}

const char *ks_webhook_silent(struct ks *k, struct arena *a, const struct ks_kind *kind,
			      const char *ns)
{
	struct ks_req q = {.k = *k, .a = a, .kind = kind, .ns = ns};
	const json_t *webhook;
	const char *text;
	size_t at = 0;

	while ((webhook = next_guard(&q, "CREATE", NULL, NULL, &at)))
		if ((text = unanswered(&q, webhook)))
			return text;
	return NULL;
}
