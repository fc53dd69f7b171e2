/*
 * Keys from STS: a role assumed with other keys, or with a web identity token
 * (IAM roles for service accounts), which is read anew at each refresh.
 */
#include <string.h>

#include "core/aws/aws.h"
#include "core/aws/errors.h"
#include "core/aws/provider.h"
#include "core/json/tree.h"

enum { STS_TIMEOUT_MS = 5000 };

static enum provided keys_of_answer(struct provider *p, const struct aws_result *r,
				    struct aws_keys *ret)
{
	const char *id = json_str_at(r->out, "Credentials.AccessKeyId");
	const char *secret = json_str_at(r->out, "Credentials.SecretAccessKey");
	const char *token = json_str_at(r->out, "Credentials.SessionToken");
	const char *expires = json_str_at(r->out, "Credentials.Expiration");
	int64_t ms;

	if (!id || !secret || !token || !expires || !time_parse_rfc3339(expires, &ms))
		return provider_failed(p, "STS", "the answer has no keys");
	*ret = (struct aws_keys){
		.access_key = secret_of(id),
		.secret_key = secret_of(secret),
		.session_token = secret_of(token),
		.expires_ms = ms,
	};
	return PROVIDED_KEYS;
}

static const char *session_name(struct provider *p, const struct assumed_role *r)
{
	return r->session_name ? r->session_name
			       : arena_printf(p->arena, "instantstart-%lld",
					      (long long)p->clock->wall_ms(p->clock));
}

static json_t *input_of(struct provider *p, const struct assumed_role *r)
{
	json_t *in = json_new_object(p->arena);

	json_put_str(in, "RoleArn", r->role_arn);
	json_put_str(in, "RoleSessionName", session_name(p, r));
	json_put_str(in, "ExternalId", r->external_id);
	if (r->duration_s > 0)
		json_put_int(in, "DurationSeconds", r->duration_s);
	return in;
}

/* Who can change that STS refuses: by who it is that denies. */
static const char *refused_fix(const struct assumed_role *r,
			       const struct aws_result *result)
{
	if (aws_account_fix(result->code))
		return aws_account_fix(result->code);
	if (result->errc == ERR_CLOUD_FORBIDDEN)
		return "Ask the owner of the policy that the message names for an "
		       "exemption. A change of the role's trust policy does not help.";
	return r->token_file ? "In the role's trust policy, allow this cluster's "
			       "identity provider and this service account."
			     : "In the role's trust policy, allow the caller, and "
			       "allow the caller to use sts:AssumeRole.";
}

enum provided assume_role(struct provider *p, const struct assumed_role *r,
			  const struct aws_keys *source, struct aws_keys *ret)
{
	const struct aws_op *op = aws_op(r->token_file ? AWS_STS_AssumeRoleWithWebIdentity
						       : AWS_STS_AssumeRole);
	struct aws aws = {
		.clock = p->clock,
		.region = p->region && *p->region ? p->region : "us-east-1",
		.timeout_ms = STS_TIMEOUT_MS,
		.lookup = p->lookup,
		.lookup_ctx = p->lookup_ctx,
	};
	json_t *in = input_of(p, r);
	struct http_request req;
	struct http_answer ans = {.body = ""};
	struct aws_result result;
	struct err e = {0};

	if (r->token_file) {
		const char *token = provider_file(p, r->token_file);

		if (!token || !*token)
			return provider_broken(p,
					       "Allow this user to read the file, or "
					       "unset AWS_WEB_IDENTITY_TOKEN_FILE.",
					       "web identity", "%s cannot be read",
					       r->token_file);
		json_put_str(in, "WebIdentityToken",
			     str_dup(p->arena, str_trim(str_of(token))));
	}
	if (!aws_build(&aws, op, in, source, p->clock->wall_ms(p->clock), p->arena, &req,
		       &e) ||
	    !p->net->send(p->net, p->arena, &req, &ans, &e))
		return provider_failed(p, "STS", "%s", e.detail);
	aws_parse(op, &ans, p->arena, &result);
	if (!result.ok && !errc_is_denial(result.errc) &&
	    result.errc != ERR_CLOUD_REFUSED && result.errc != ERR_CREDENTIALS)
		return provider_failed(p, "STS", "%s for %s: %s: %s", aws_op_name(op),
				       r->role_arn, result.code, result.message);
	if (!result.ok)
		return provider_broken(p, refused_fix(r, &result), "STS",
				       "%s refused for %s: %s: %s", aws_op_name(op),
				       r->role_arn, result.code, result.message);
	p->source = arena_printf(p->arena, "the role %s, assumed by %s", r->role_arn,
				 r->token_file ? "a web identity" : p->source);
	return keys_of_answer(p, &result, ret);
}

enum provided provide_web_identity(struct provider *p, struct aws_keys *ret)
{
	struct assumed_role role = {
		.role_arn = provider_setting(p, "AWS_ROLE_ARN"),
		.session_name = provider_setting(p, "AWS_ROLE_SESSION_NAME"),
		.token_file = provider_setting(p, "AWS_WEB_IDENTITY_TOKEN_FILE"),
	};

	if (!role.token_file) {
		buf_adds(p->tried, "web identity: not set; ");
		return PROVIDED_NONE;
	}
	if (!role.role_arn)
		return provider_broken(p, "Set AWS_ROLE_ARN.", "web identity",
				       "AWS_ROLE_ARN is not set");
	return assume_role(p, &role, NULL, ret);
}
