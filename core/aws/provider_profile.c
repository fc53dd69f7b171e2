/*
 * Keys from the shared files: static ones, or a role assumed with those of
 * another profile, of a web identity, or of the machine.
 *
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-assume-role-credentials.html
 */
#include <string.h>

#include "core/aws/ini.h"
#include "core/aws/provider.h"
#include "core/json/tree.h"

enum { PROFILE_CHAIN_MAX = 5 };

static const char *path_of(struct provider *p, const char *variable, const char *file)
{
	const char *path = provider_setting(p, variable);
	const char *home = provider_setting(p, "HOME");

	if (!path)
		return home ? arena_printf(p->arena, "%s/.aws/%s", home, file) : NULL;
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

static bool static_keys(const json_t *profile, struct aws_keys *ret)
{
	const char *id = setting(profile, "aws_access_key_id");
	const char *secret = setting(profile, "aws_secret_access_key");

	if (!id || !secret)
		return false;
	*ret = (struct aws_keys){
		.access_key = secret_of(id),
		.secret_key = secret_of(secret),
		.session_token = secret_of(setting(profile, "aws_session_token")),
	};
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
		return provider_failed(p, name, "duration_seconds is no number");
	if (role.token_file)
		return assume_role(p, &role, NULL, ret);
	if (setting(profile, "mfa_serial"))
		return provider_failed(p, name, "needs a one-time password (mfa_serial)");
	if (streq(source, name)) /* its own static keys assume its role */
		got = static_keys(profile, &keys) ? PROVIDED_KEYS : PROVIDED_NONE;
	else if (source)
		got = resolve(p, profiles, source, depth + 1, &keys);
	else if (machine)
		got = keys_of_machine(p, machine, &keys);
	if (got == PROVIDED_FAILED)
		return got;
	if (got == PROVIDED_NONE)
		return provider_failed(p, name, "role_arn without keys to assume it");
	return assume_role(p, &role, &keys, ret);
}

static enum provided resolve(struct provider *p, const json_t *profiles, const char *name,
			     int depth, struct aws_keys *ret)
{
	const json_t *profile = json_object_get(profiles, name);

	if (!profile)
		return provider_failed(p, name, "no such profile");
	if (depth > PROFILE_CHAIN_MAX)
		return provider_failed(p, name, "source_profile goes round in a circle");
	/* A source's static keys are used before a role that it names. */
	if (depth > 0 && static_keys(profile, ret))
		return PROVIDED_KEYS;
	if (setting(profile, "role_arn"))
		return role_of(p, profiles, name, depth, ret);
	if (static_keys(profile, ret))
		return PROVIDED_KEYS;
	if (setting(profile, "credential_process") || setting(profile, "sso_session") ||
	    setting(profile, "sso_start_url"))
		return provider_failed(p, name,
				       "credential_process and SSO are not supported");
	return PROVIDED_NONE;
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
		return provider_failed(p, name, "the profile has no keys");
	buf_adds(p->tried, "shared files: the default profile has no keys; ");
	return PROVIDED_NONE;
}
