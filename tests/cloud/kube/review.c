/* Who am I, what may I: reviews, and tokens of service accounts. */
#include <string.h>

#include "tests/cloud/kube/server.h"

enum { TOKEN_S = 3600, TOKEN_MIN_S = 600 };

static const char *text_at(const json_t *obj, const char *path)
{
	const char *z = json_str_at(obj, path);

	return z && *z ? z : NULL;
}

static bool review_access(struct ks_req *q, json_t *out)
{
	const json_t *r = json_at(q->body, "spec.resourceAttributes");
	const json_t *p = json_at(q->body, "spec.nonResourceAttributes");
	json_t *causes = json_new_list(q->a);
	struct ks_ask ask = {0};

	if (!r && !p)
		ks_add_cause(
			causes, "FieldValueInvalid", "spec.resourceAttributes",
			"Invalid value: null: exactly one of nonResourceAttributes or "
			"resourceAttributes must be specified");
	if (r && p)
		ks_add_cause(causes, "FieldValueInvalid", "spec.nonResourceAttributes",
			     "Invalid value: cannot be specified in combination with "
			     "resourceAttributes");
	if (json_array_size(causes) > 0)
		return ks_invalid_as(q, q->kind->group, "", "", causes);
	if (p)
		ask = (struct ks_ask){.verb = json_str_or(p, "verb", ""),
				      .path = json_str_or(p, "path", "")};
	else
		ask = (struct ks_ask){.verb = json_str_or(r, "verb", ""),
				      .group = json_str_or(r, "group", ""),
				      .plural = json_str_or(r, "resource", ""),
				      .sub = text_at(r, "subresource"),
				      .ns = text_at(r, "namespace"),
				      .name = text_at(r, "name")};
	json_put(out, "status",
		 json_pack("{s:b}", "allowed", ks_may(&q->k, q->a, &q->who, &ask)));
	return true;
}

static json_t *rules_review(struct ks_req *q)
{
	const json_t *rules =
		ks_rules_of(&q->k, q->a, &q->who, json_str_at(q->body, "spec.namespace"));
	json_t *resources = json_new_list(q->a);
	json_t *paths = json_new_list(q->a);
	json_t *rule = NULL;
	size_t i = 0;

	json_array_foreach(rules, i, rule) {
		json_array_append(json_at(rule, "nonResourceURLs") ? paths : resources,
				  rule);
	}
	return json_pack("{s:O,s:O,s:b}", "resourceRules", resources, "nonResourceRules",
			 paths, "incomplete", 0);
}

bool ks_serve_review(struct ks_req *q)
{
	const char *what = q->kind->plural;
	json_t *out = NULL;

	if (!streq(q->raw->method, "POST") || q->name)
		return ks_fail(
			q, 405, "MethodNotAllowed",
			"the server does not allow this method on the requested resource");
	if (!json_is_object(q->body))
		return ks_fail(q, 400, "BadRequest", "a review is an object");
	out = json_own(q->a, json_deep_copy(q->body));
	json_put_str(out, "kind", q->kind->kind);
	json_put_str(out, "apiVersion", ks_api_version(q->a, q->kind));
	if (!json_at(out, "metadata"))
		json_put(out, "metadata", json_object());
	if (streq(what, "selfsubjectaccessreviews") && !review_access(q, out))
		return false;
	if (streq(what, "selfsubjectreviews"))
		json_put(out, "status",
			 json_pack("{s:{s:s,s:O}}", "userInfo", "username", q->who.name,
				   "groups", q->who.groups));
	if (streq(what, "selfsubjectrulesreviews"))
		json_put(out, "status", rules_review(q));
	return ks_answer(q, 201, out);
}

/* --- tokens ------------------------------------------------------------------------ */

static const char *new_token(struct ks_req *q, const json_t *account, int64_t until_ms)
{
	/* The shape of a JWT; nobody but this server reads it. */
	const char *token = arena_printf(q->a, "eyJhbGciOiJSUzI1NiJ9.%s.%s",
					 cloud_id(q->k.cloud, q->a, "", 40),
					 cloud_id(q->k.cloud, q->a, "", 40));

	if (!json_at(q->k.root, "tokens"))
		json_put(q->k.root, "tokens", json_object());
	json_object_set_new(json_at(q->k.root, "tokens"), token,
			    json_pack("{s:s,s:s,s:O,s:I}", "namespace", q->ns, "name",
				      q->name, "uid", json_at(account, "metadata.uid"),
				      "until_ms", (json_int_t)until_ms));
	return token;
}

void ks_serve_token(struct ks_req *q)
{
	const json_t *account = ks_get(&q->k, q->kind, q->ns, q->name);
	const int64_t seconds = json_int_or(q->body, "spec.expirationSeconds", TOKEN_S);
	const int64_t until_ms = q->k.now_ms + seconds * 1000;
	const char *pod = json_str_at(q->body, "spec.boundObjectRef.name");
	json_t *causes = json_new_list(q->a);
	char when[TIME_TEXT];
	json_t *out = NULL;

	if (!account) {
		ks_not_found(q);
		return;
	}
	if (seconds < TOKEN_MIN_S)
		ks_add_cause(
			causes, "FieldValueInvalid", "spec.expirationSeconds",
			arena_printf(q->a,
				     "Invalid value: %lld: may not specify a duration "
				     "less than 10 minutes",
				     (long long)seconds));
	if (json_array_size(causes) > 0) {
		ks_invalid_as(q, "authentication.k8s.io", "TokenRequest", "", causes);
		return;
	}
	if (pod && !ks_at(&q->k, "/pods", q->ns, pod)) {
		q->kind = ks_builtin("/pods");
		q->name = pod;
		ks_not_found(q);
		return;
	}
	out = json_packf(q->a, "{s:s,s:s,s:{s:s,s:s,s:s},s:{s:[s],s:I,s:n},s:{s:s,s:s}}",
			 "kind", "TokenRequest", "apiVersion", "authentication.k8s.io/v1",
			 "metadata", "name", q->name, "namespace", q->ns,
			 "creationTimestamp", ks_time(q->k.now_ms, when), "spec",
			 "audiences", "https://kubernetes.default.svc",
			 "expirationSeconds", (json_int_t)seconds, "boundObjectRef",
			 "status", "token", new_token(q, account, until_ms),
			 "expirationTimestamp", ks_time(until_ms, when));
	ks_answer(q, 201, out);
}
