/* STS: who am I, and temporary keys. https://docs.aws.amazon.com/STS/latest/APIReference/
 */
#include <string.h>

#include "tests/cloud/iam.h"

enum { DEFAULT_SECONDS = 3600 };

/* "arn:aws:sts::123456789012:assumed-role/NAME/SESSION" -> its parts. */
static const char *user_id(struct cloud_call *call)
{
	const char *slash = strrchr(call->caller_arn, '/');

	if (strstr(call->caller_arn, ":assumed-role/")) {
		const char *name = strstr(call->caller_arn, ":assumed-role/") +
				   strlen(":assumed-role/");
		json_t *role =
			cloud_get(call->cloud, "iam.role",
				  arena_strndup(call->arena, name, strcspn(name, "/")));

		return arena_printf(call->arena, "%s:%s",
				    json_str_or(role, "RoleId", "AROAEXAMPLE"),
				    slash ? slash + 1 : "session");
	}
	return strstr(call->caller_arn, ":root") ? cloud_opts(call->cloud)->account
						 : "AIDACKCEVSQ6C2EXAMPLE";
}

static bool get_caller_identity(struct cloud_call *call, json_t **ret_out)
{
	*ret_out = json_packf(call->arena, "{s:s, s:s, s:s}", "UserId", user_id(call),
			      "Account", cloud_opts(call->cloud)->account, "Arn",
			      call->caller_arn);
	return true;
}

static const char *upper_id(struct cloud_call *call, const char *prefix, int n)
{
	char *id =
		arena_strdup(call->arena, cloud_id(call->cloud, call->arena, prefix, n));

	for (char *p = id + strlen(prefix); *p; p++)
		*p = "ABCDEFGHIJKLMNOP"[strchr("0123456789abcdef", *p) -
					"0123456789abcdef"];
	return id;
}

static bool open_session(struct cloud_call *call, const json_t *role, json_t **ret_out)
{
	const char *session = json_str_at(call->in, "RoleSessionName");
	int64_t seconds = json_int_or(call->in, "DurationSeconds", DEFAULT_SECONDS);
	struct clock *clock = cloud_auth_clock(call->cloud);
	int64_t expires = clock->wall_ms(clock) + seconds * 1000;
	const char *key = upper_id(call, "ASIA", 16);
	const char *secret = cloud_id(call->cloud, call->arena, "", 40);
	const char *token =
		cloud_id(call->cloud, call->arena, "IQoJb3JpZ2luX2VjE+/=", 320);
	const char *arn =
		cloud_arn_global(call->cloud, call->arena, "sts",
				 arena_printf(call->arena, "assumed-role/%s/%s",
					      json_str_at(role, "RoleName"), session));
	const char *id =
		arena_printf(call->arena, "%s:%s", json_str_at(role, "RoleId"), session);

	if (seconds > json_int_or(role, "MaxSessionDuration", DEFAULT_SECONDS))
		return cloud_fault(call, "ValidationError",
				   "The requested DurationSeconds exceeds the "
				   "MaxSessionDuration set for this role.");
	cloud_put(call->cloud, "sts.session", key,
		  json_pack("{s:s, s:s, s:s, s:I}", "SecretAccessKey", secret,
			    "SessionToken", token, "Arn", arn, "_expires_ms",
			    (json_int_t)expires));
	*ret_out =
		json_packf(call->arena, "{s:{s:s, s:s, s:s, s:o}, s:{s:s, s:s}}",
			   "Credentials", "AccessKeyId", key, "SecretAccessKey", secret,
			   "SessionToken", token, "Expiration", cloud_seconds(expires),
			   "AssumedRoleUser", "AssumedRoleId", id, "Arn", arn);
	return true;
}

static bool assume_role(struct cloud_call *call, json_t **ret_out)
{
	const char *arn = json_str_at(call->in, "RoleArn");
	const json_t *role = iam_find_role(call->cloud, arn);

	if (!role || !iam_role_ready(call->cloud, role) ||
	    !iam_role_trusts_principal(call->cloud, role, call->caller_arn)) {
		call->fault_status = 403;
		return cloud_fault(
			call, "AccessDenied",
			"User: %s is not authorized to perform: sts:AssumeRole "
			"on resource: %s",
			call->caller_arn, arn);
	}
	return open_session(call, role, ret_out);
}

/* The token's claims are read, its signature is not: there is no issuer here. */
static const char *issuer_of(struct cloud_call *call, const char *token)
{
	const char *dot = strchr(token, '.');

	return dot ? json_str_at(iam_jwt_claims(call->arena, dot + 1), "iss") : NULL;
}

static bool assume_role_with_web_identity(struct cloud_call *call, json_t **ret_out)
{
	const json_t *role = iam_find_role(call->cloud, json_str_at(call->in, "RoleArn"));
	const char *issuer = issuer_of(call, json_str_at(call->in, "WebIdentityToken"));

	if (!issuer || !str_starts(issuer, "https://"))
		return cloud_fault(call, "InvalidIdentityToken",
				   "The ID Token provided is not a valid JWT.");
	const char *provider =
		cloud_arn_global(call->cloud, call->arena, "iam",
				 arena_printf(call->arena, "oidc-provider/%s",
					      issuer + strlen("https://")));

	if (!cloud_get(call->cloud, "iam.oidc_provider", provider))
		return cloud_fault(
			call, "InvalidIdentityToken",
			"No OpenIDConnect provider found in your account for %s", issuer);
	if (!role || !iam_role_ready(call->cloud, role) ||
	    !iam_role_trusts_federated(call->cloud, role, provider)) {
		call->fault_status = 403;
		return cloud_fault(call, "AccessDenied",
				   "Not authorized to perform "
				   "sts:AssumeRoleWithWebIdentity");
	}
	return open_session(call, role, ret_out);
}

static const struct cloud_op ops[] = {
	{"GetCallerIdentity", false, get_caller_identity},
	{"AssumeRole", false, assume_role},
	{"AssumeRoleWithWebIdentity", false, assume_role_with_web_identity},
	{NULL, false, NULL},
};

const struct cloud_service cloud_sts = {"sts", ops, NULL};
