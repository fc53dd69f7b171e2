/*
 * Keys from the shared files: static ones, a role assumed with those of another
 * profile, of a web identity or of the machine, a program's, or a person's session.
 *
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-assume-role-credentials.html
 */
#include <string.h>

#include "core/aws/ini.h"
#include "core/aws/provider.h"
#include "core/json/tree.h"

enum { PROFILE_CHAIN_MAX = 5 };

const char *provider_home(struct provider *p, const char *file)
{
	const char *home = provider_setting(p, "HOME");

	return home ? arena_printf(p->arena, "%s/.aws/%s", home, file) : NULL;
}

static const char *path_of(struct provider *p, const char *variable, const char *file)
{
	const char *path = provider_setting(p, variable);
	const char *home = provider_setting(p, "HOME");

	if (!path)
		return provider_home(p, file);
	if (str_starts(path, "~/") && home)
		return arena_printf(p->arena, "%s%s", home, path + 1);
	return path;
}

/* Both files; what the credentials file says of a profile wins. */
static json_t *read_profiles(struct provider *p)
{
	json_t *profiles = json_new_object(p->arena);
	const char *config = path_of(p, "AWS_CONFIG_FILE", "config");
	const char *secrets = path_of(p, "AWS_SHARED_CREDENTIALS_FILE", "credentials");

	config = config ? provider_file(p, config) : NULL;
	secrets = secrets ? provider_file(p, secrets) : NULL;
	if (config)
		ini_read(profiles, str_of(config), true, p->arena);
	if (secrets)
		ini_read(profiles, str_of(secrets), false, p->arena);
	return profiles;
}

static const char *setting(const json_t *profile, const char *key)
{
	const char *z = json_string_value(json_object_get(profile, key));

	return z && *z ? z : NULL;
}

static bool static_keys(struct provider *p, const json_t *profiles, const char *name,
			struct aws_keys *ret)
{
	const json_t *profile = json_object_get(profiles, name);
	const char *id = setting(profile, "aws_access_key_id");
	const char *secret = setting(profile, "aws_secret_access_key");

	if (!id || !secret)
		return false;
	*ret = (struct aws_keys){
		.access_key = secret_of(id),
		.secret_key = secret_of(secret),
		.session_token = secret_of(setting(profile, "aws_session_token")),
	};
	p->source = arena_printf(p->arena, "the keys of the profile %s", name);
	return true;
}

static enum provided resolve(struct provider *p, const json_t *profiles, const char *name,
			     int depth, struct aws_keys *ret);

static enum provided keys_of_machine(struct provider *p, const char *source,
				     struct aws_keys *ret)
{
	if (streq(source, "Environment"))
		return provide_environment(p, ret);
	if (streq(source, "EcsContainer"))
		return provide_container(p, ret);
	if (streq(source, "Ec2InstanceMetadata"))
		return provide_instance(p, ret);
	return PROVIDED_NONE;
}

static enum provided role_of(struct provider *p, const json_t *profiles, const char *name,
			     int depth, struct aws_keys *ret)
{
	const json_t *profile = json_object_get(profiles, name);
	const char *source = setting(profile, "source_profile");
	const char *machine = setting(profile, "credential_source");
	const char *seconds = setting(profile, "duration_seconds");
	struct assumed_role role = {
		.role_arn = setting(profile, "role_arn"),
		.session_name = setting(profile, "role_session_name"),
		.external_id = setting(profile, "external_id"),
		.token_file = setting(profile, "web_identity_token_file"),
	};
	struct aws_keys keys = {0};
	enum provided got = PROVIDED_NONE;

	if (seconds && !str_to_i64(str_of(seconds), &role.duration_s))
		return provider_broken(p, "Correct duration_seconds.", name,
				       "duration_seconds is not a number");
	if (role.token_file)
		return assume_role(p, &role, NULL, ret);
	if (setting(profile, "mfa_serial"))
		return provider_broken(p,
				       "Use a role that does not need a one-time "
				       "password, or a credential_process that provides "
				       "one.",
				       name, "needs a one-time password (mfa_serial)");
	if (streq(source, name)) /* its own static keys assume its role */
		got = static_keys(p, profiles, name, &keys) ? PROVIDED_KEYS
							    : PROVIDED_NONE;
	else if (source)
		got = resolve(p, profiles, source, depth + 1, &keys);
	else if (machine)
		got = keys_of_machine(p, machine, &keys);
	if (got == PROVIDED_FAILED)
		return got;
	if (got == PROVIDED_NONE)
		return provider_broken(p,
				       "Add source_profile, credential_source or "
				       "web_identity_token_file to the profile.",
				       name, "role_arn without keys to assume it");
	return assume_role(p, &role, &keys, ret);
}

/* The older form has everything in the profile. */
static enum provided sso_of(struct provider *p, const json_t *profiles, const char *name,
			    struct aws_keys *ret)
{
	const json_t *profile = json_object_get(profiles, name);
	const char *session = setting(profile, "sso_session");
	const json_t *from =
		session ? json_object_get(
				  profiles,
				  arena_printf(p->arena, INI_SSO_SESSION "%s", session))
			: profile;
	const struct sso_session s = {
		.name = session,
		.start_url = setting(from, "sso_start_url"),
		.region = setting(from, "sso_region"),
		.account_id = setting(profile, "sso_account_id"),
		.role_name = setting(profile, "sso_role_name"),
	};

	if (session && !from)
		return provider_broken(p, "Run `aws configure sso`.", name,
				       "there is no [sso-session %s]", session);
	if (!s.start_url || !s.region || !s.account_id || !s.role_name)
		return provider_broken(
			p, "Run `aws configure sso`.", name,
			"sso_start_url, sso_region, sso_account_id or sso_role_name is "
			"missing");
	return provide_sso(p, name, &s, ret);
}

/* What is not in the files themselves. */
static enum provided session_of(struct provider *p, const json_t *profiles,
				const char *name, struct aws_keys *ret)
{
	const json_t *profile = json_object_get(profiles, name);

	if (setting(profile, "sso_session") || setting(profile, "sso_start_url"))
		return sso_of(p, profiles, name, ret);
	if (setting(profile, "login_session"))
		return provide_login(p, name, setting(profile, "login_session"), ret);
	if (setting(profile, "credential_process"))
		return provide_process(p, name, setting(profile, "credential_process"),
				       ret);
	return PROVIDED_NONE;
}

static enum provided resolve(struct provider *p, const json_t *profiles, const char *name,
			     int depth, struct aws_keys *ret)
{
	const json_t *profile = json_object_get(profiles, name);

	if (!profile)
		return provider_broken(
			p,
			"Set AWS_PROFILE to a profile in the files of this user's HOME, "
			"or set AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE to other "
			"files.",
			name, "no such profile");
	if (depth > PROFILE_CHAIN_MAX)
		return provider_broken(
			p, "Use a profile with keys as the last source_profile.", name,
			"the source_profile settings form a loop");
	/* A source's static keys are used before a role that it names. */
	if (depth > 0 && static_keys(p, profiles, name, ret))
		return PROVIDED_KEYS;
	if (setting(profile, "role_arn"))
		return role_of(p, profiles, name, depth, ret);
	if (static_keys(p, profiles, name, ret))
		return PROVIDED_KEYS;
	return session_of(p, profiles, name, ret);
}

enum provided provide_profile(struct provider *p, const char *name, struct aws_keys *ret)
{
	json_t *profiles = read_profiles(p);
	enum provided got;

	if (!name && !json_object_get(profiles, "default")) {
		buf_adds(p->tried, "shared files: no default profile; ");
		return PROVIDED_NONE;
	}
	got = resolve(p, profiles, name ? name : "default", 0, ret);
	if (got != PROVIDED_NONE)
		return got;
	if (name)
		return provider_broken(
			p,
			"Add keys, role_arn, sso_session or credential_process to the "
			"profile.",
			name, "the profile has no keys");
	buf_adds(p->tried, "shared files: the default profile has no keys; ");
	return PROVIDED_NONE;
}

const char *aws_profile_setting(const char *(*lookup)(void *ctx, const char *name),
				void *lookup_ctx, const char *key, struct arena *a)
{
	struct provider p = {.arena = a, .lookup = lookup, .lookup_ctx = lookup_ctx};
	const char *name = provider_setting(&p, "AWS_PROFILE");

	return setting(json_object_get(read_profiles(&p), name ? name : "default"), key);
}
