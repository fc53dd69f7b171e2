/*
 * Keys from the sessions of a person: what `aws sso login` and `aws login` have left in
 * files. Those of `aws sso login` are renewed while they can be; those of `aws login` are
 * not, and one that has ended needs the person.
 *
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-sso-credentials.html
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-login-credentials.html
 */
#include <openssl/evp.h>
#include <string.h>

#include "core/aws/partition.h"
#include "core/aws/provider.h"
#include "core/aws/uri.h"
#include "core/json/tree.h"

enum { PORTAL_TIMEOUT_MS = 5000, QUERY_MAX = 1024 };

/* The name of a cache file: a digest of the session's name. */
static const char *digest(struct arena *a, const EVP_MD *how, const char *text)
{
	unsigned char out[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (EVP_Digest(text, strlen(text), out, &n, how, NULL) != 1)
		return "";
	return str_hex(a, out, n);
}

/* ---------------------------------------------------------------- identity center */

static const char *sso_fix(struct provider *p, const char *profile,
			   const struct sso_session *s)
{
	return arena_printf(
		p->arena,
		"Run `aws sso login %s %s` as this user. For a long-running service, use "
		"a role instead.",
		s->name ? "--sso-session" : "--profile", s->name ? s->name : profile);
}

static const char *portal_url(struct provider *p, const struct sso_session *s)
{
	const char *own = provider_setting(p, "AWS_ENDPOINT_URL_SSO");
	struct buf b;
	const char *query;

	buf_init(&b, p->arena, QUERY_MAX);
	buf_adds(&b, "role_name=");
	uri_encode(&b, str_of(s->role_name), false);
	buf_adds(&b, "&account_id=");
	uri_encode(&b, str_of(s->account_id), false);
	query = buf_cstr(&b);

	if (own)
		return arena_printf(p->arena, "%s/federation/credentials?%s", own, query);
	return arena_printf(p->arena,
			    "https://portal.sso.%s.%s/federation/credentials?%s",
			    s->region, aws_partition_of(s->region)->dns_suffix, query);
}

static enum provided keys_of_role(struct provider *p, const char *profile,
				  const struct http_answer *ans, struct aws_keys *ret)
{
	struct err ignored = {0};
	json_t *doc =
		json_parse(p->arena, (struct str){ans->body, ans->body_len}, &ignored);
	const json_t *keys = json_at(doc, "roleCredentials");
	const char *id = json_str_at(keys, "accessKeyId");
	const char *secret = json_str_at(keys, "secretAccessKey");
	const char *token = json_str_at(keys, "sessionToken");
	const int64_t ends_ms = json_int_or(keys, "expiration", 0);

	if (!id || !secret || !token || ends_ms <= 0)
		return provider_failed(p, profile,
				       "IAM Identity Center returned no keys");
	*ret = (struct aws_keys){
		.access_key = secret_of(id),
		.secret_key = secret_of(secret),
		.session_token = secret_of(token),
		.expires_ms = ends_ms,
	};
	p->source =
		arena_printf(p->arena, "IAM Identity Center by the profile %s", profile);
	return PROVIDED_KEYS;
}

static enum provided ask_portal(struct provider *p, const char *profile,
				const struct sso_session *s, const char *token,
				struct aws_keys *ret)
{
	struct http_request req = {.method = "GET", .timeout_ms = PORTAL_TIMEOUT_MS};
	struct http_answer ans = {.body = ""};
	struct err e = {0};

	req.url = portal_url(p, s);
	if (!http_is_private(req.url))
		return provider_broken(p,
				       "Set AWS_ENDPOINT_URL_SSO to an https:// address.",
				       profile, "%s is not encrypted", req.url);
	if (strpbrk(token, "\r\n"))
		return provider_broken(p, sso_fix(p, profile, s), profile,
				       "the cached token contains a line break");
	http_add_header(&req, "x-amz-sso_bearer_token", token);
	if (!p->net->send(p->net, p->arena, &req, &ans, &e))
		return provider_failed(p, profile, "IAM Identity Center: %s", e.detail);
	if (ans.status == 401)
		return provider_broken(p, sso_fix(p, profile, s), profile,
				       "IAM Identity Center no longer accepts the "
				       "session");
	if (ans.status == 403 || ans.status == 404)
		return provider_broken(
			p,
			"Ask for the permission set to be assigned to you, or correct "
			"sso_account_id and sso_role_name.",
			profile, "IAM Identity Center does not grant you %s in %s (%d)",
			s->role_name, s->account_id, ans.status);
	if (ans.status != 200)
		return provider_failed(p, profile, "IAM Identity Center answered %d",
				       ans.status);
	return keys_of_role(p, profile, &ans, ret);
}

enum provided provide_sso(struct provider *p, const char *profile,
			  const struct sso_session *s, struct aws_keys *ret)
{
	const char *key = digest(p->arena, EVP_sha1(), s->name ? s->name : s->start_url);
	const char *path =
		provider_home(p, arena_printf(p->arena, "sso/cache/%s.json", key));
	const char *token;

	if (!aws_is_region(s->region))
		return provider_broken(p, "Correct sso_region.", profile,
				       "sso_region is not a region: %.40s", s->region);
	if (sso_token(p, profile, s, path, sso_fix(p, profile, s), &token) !=
	    PROVIDED_KEYS)
		return PROVIDED_FAILED;
	return ask_portal(p, profile, s, token, ret);
}

/* ---------------------------------------------------------------- aws login */

enum provided provide_login(struct provider *p, const char *profile, const char *session,
			    struct aws_keys *ret)
{
	const char *file = arena_printf(p->arena, "%s.json",
					digest(p->arena, EVP_sha256(), session));
	const char *folder = provider_setting(p, "AWS_LOGIN_CACHE_DIRECTORY");
	const json_t *keys = json_at(
		provider_json(p, folder ? arena_printf(p->arena, "%s/%s", folder, file)
					: provider_home(p, arena_printf(p->arena,
									"login/cache/%s",
									file))),
		"accessToken");
	const char *id = json_str_at(keys, "accessKeyId");
	const char *secret = json_str_at(keys, "secretAccessKey");
	const char *token = json_str_at(keys, "sessionToken");
	const char *ends = json_str_at(keys, "expiresAt");
	const char *fix = arena_printf(
		p->arena,
		"Run `aws login --profile %s` as this user. To let the AWS CLI renew the "
		"session, use another profile with credential_process = aws configure "
		"export-credentials --profile %s --format process.",
		profile, profile);
	int64_t ends_ms;

	if (!id || !secret || !token || !ends || !time_parse_rfc3339(ends, &ends_ms))
		return provider_broken(p, fix, profile, "no user has signed in here");
	if (ends_ms <= p->clock->wall_ms(p->clock))
		return provider_broken(p, fix, profile,
				       "the keys of `aws login` expired at %s", ends);
	*ret = (struct aws_keys){
		.access_key = secret_of(id),
		.secret_key = secret_of(secret),
		.session_token = secret_of(token),
		.expires_ms = ends_ms,
	};
	p->source = arena_printf(p->arena, "`aws login` by the profile %s", profile);
	return PROVIDED_KEYS;
}
