/* Whom a role trusts, read from its trust document. */
#include <openssl/evp.h>
#include <string.h>

#include "tests/cloud/authorize.h"
#include "tests/cloud/iam_ops.h"

json_t *iam_find_role(struct cloud *c, const char *arn)
{
	const char *slash = arn ? strrchr(arn, '/') : NULL;
	json_t *role = slash ? cloud_get(c, "iam.role", slash + 1) : NULL;

	return role && streq(json_str_at(role, "Arn"), arn) ? role : NULL;
}

bool iam_role_ready(struct cloud *c, const json_t *role)
{
	int64_t now = c->o.clock->wall_ms(c->o.clock);
	int64_t wait = json_int_or(c->settings, "role_assumable_after_ms", 0);

	return now - json_int_or(role, "_created_ms", 0) >= wait;
}

static bool has_text(const json_t *value, const char *text)
{
	json_t *one;
	size_t i;

	if (json_is_string(value))
		return streq(json_string_value(value), text);
	json_array_foreach(value, i, one)
		if (streq(json_string_value(one), text))
			return true;
	return false;
}

/* The account's root stands for everyone in the account. */
static bool principal_fits(struct cloud *c, const json_t *principal, const char *kind,
			   const char *who)
{
	struct arena a;
	const json_t *value = json_object_get(principal, kind);
	bool ok;

	if (has_text(principal, "*"))
		return true;
	arena_init(&a, 0);
	ok = has_text(value, who) || has_text(value, "*");
	if (streq(kind, "AWS")) {
		ok |= has_text(value, c->o.account);
		ok |= has_text(value, cloud_arn_global(c, &a, "iam", "root"));
	}
	arena_free(&a);
	return ok;
}

static bool trusts(struct cloud *c, const json_t *role, const char *kind, const char *who,
		   const char *action)
{
	const char *text = json_str_at(role, "_trust");
	json_t *doc = text ? json_loads(text, 0, NULL) : NULL;
	json_t *list = json_object_get(doc, "Statement"), *one;
	bool yes = false;
	size_t i = 0;

	for (one = json_is_object(list) ? list : json_array_get(list, 0); one;
	     one = json_is_object(list) ? NULL : json_array_get(list, ++i)) {
		const json_t *act = json_object_get(one, "Action");
		bool fits = has_text(act, action) || has_text(act, "sts:*") ||
			    has_text(act, "*");

		if (!fits ||
		    !principal_fits(c, json_object_get(one, "Principal"), kind, who))
			continue;
		if (streq(json_str_at(one, "Effect"), "Deny")) {
			yes = false;
			break;
		}
		yes = true;
	}
	json_decref(doc);
	return yes;
}

bool iam_role_trusts_service(struct cloud *c, const json_t *role, const char *service)
{
	return trusts(c, role, "Service", service, "sts:AssumeRole");
}

bool iam_role_trusts_principal(struct cloud *c, const json_t *role, const char *arn)
{
	return trusts(c, role, "AWS", arn, "sts:AssumeRole");
}

bool iam_role_trusts_federated(struct cloud *c, const json_t *role, const char *provider)
{
	return trusts(c, role, "Federated", provider, "sts:AssumeRoleWithWebIdentity");
}

bool iam_role_assumable(struct cloud *c, const char *arn, const char *service)
{
	const json_t *role = iam_find_role(c, arn);

	return role && iam_role_ready(c, role) &&
	       iam_role_trusts_service(c, role, service);
}

bool iam_role_mentions(const json_t *role, const char *action)
{
	json_t *text;
	const char *name;

	json_object_foreach(json_object_get(role, "_inline"), name, text)
		if (strstr(json_string_value(text), action))
			return true;
	return json_array_size(json_object_get(role, "_attached")) > 0;
}

static bool document_allows(const char *text, const char *action)
{
	json_t *doc = text ? json_loads(text, 0, NULL) : NULL;
	const bool yes = doc && policy_allows(doc, action, "*", NULL);

	json_decref(doc);
	return yes;
}

static bool attached_allows(struct cloud *c, const char *arn, const char *action)
{
	static const struct {
		const char *policy, *action;
	} known[] = {
		{"AmazonSageMakerFullAccess", "cloudwatch:DescribeAlarms"},
		{"CloudWatchReadOnlyAccess", "cloudwatch:DescribeAlarms"},
		{"CloudWatchFullAccess", "cloudwatch:DescribeAlarms"},
	};
	const json_t *own = cloud_get(c, "iam.policy", arn);
	const char *slash = strrchr(arn, '/');

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (slash && streq(slash + 1, known[i].policy) &&
		    streq(action, known[i].action))
			return true;
	return own &&
	       document_allows(
		       json_str_at(json_find(json_at(own, "_versions"), "VersionId",
					     json_str_or(own, "DefaultVersionId", "")),
				   "_text"),
		       action);
}

bool iam_role_allows(struct cloud *c, const json_t *role, const char *action)
{
	json_t *text, *one;
	const char *name;
	size_t i;

	json_object_foreach(json_object_get(role, "_inline"), name, text)
		if (document_allows(json_string_value(text), action))
			return true;
	json_array_foreach(json_object_get(role, "_attached"), i, one)
		if (attached_allows(c, json_str_or(one, "PolicyArn", ""), action))
			return true;
	return false;
}

bool iam_role_has_policy(struct cloud *c, const json_t *role, const char *policy_arn)
{
	(void)c;
	return json_find(json_object_get(role, "_attached"), "PolicyArn", policy_arn);
}

json_t *iam_jwt_claims(struct arena *a, const char *payload)
{
	size_t n = strcspn(payload, "."), padded = (n + 3) / 4 * 4;
	char *b64 = arena_alloc(a, padded + 1);
	unsigned char *out = arena_alloc(a, padded + 1);
	struct err e = {0};

	for (size_t i = 0; i < padded; i++) {
		char ch = i < n ? payload[i] : '=';

		b64[i] = ch == '-' ? '+' : ch == '_' ? '/' : ch;
	}
	int got = EVP_DecodeBlock(out, (unsigned char *)b64, (int)padded);

	if (got <= 0)
		return NULL;
	return json_parse(a, (struct str){(char *)out, (size_t)got - (padded - n)}, &e);
}
