/*
 * provider.h - where keys come from; the parts of the credential chain.
 *
 * Every provider says NONE (not configured: the next one is asked), KEYS, or
 * FAILED (configured, but it does not work: the chain ends there, so that a
 * wrong setting is not hidden by another account's keys). Words for the error
 * are added to `tried`. A fault that does not mend itself has a fix: what a person
 * does about it.
 */
#ifndef INSTANTSTART_AWS_PROVIDER_H
#define INSTANTSTART_AWS_PROVIDER_H

#include <jansson.h>

#include "core/aws/credentials.h"
#include "core/base/buf.h"

enum provided { PROVIDED_NONE, PROVIDED_KEYS, PROVIDED_FAILED };

struct provider {
	struct arena *arena; /* of this attempt */
	struct transport *net;
	struct clock *clock;
	const char *region;
	const char *(*lookup)(void *ctx, const char *name);
	void *lookup_ctx;
	struct buf *tried;
	const char *source; /* of the keys, in words: "the profile dev"; set with KEYS */
	const char *fix;    /* NULL: it may pass */
};

enum provided provide_environment(struct provider *p, struct aws_keys *ret);
/* name NULL: "default", which need not exist. */
enum provided provide_profile(struct provider *p, const char *name, struct aws_keys *ret);
enum provided provide_web_identity(struct provider *p, struct aws_keys *ret);
enum provided provide_container(struct provider *p, struct aws_keys *ret);
enum provided provide_instance(struct provider *p, struct aws_keys *ret);

/* The credential_process of a profile: one run, bounded in time and output. */
enum provided provide_process(struct provider *p, const char *profile,
			      const char *command, struct aws_keys *ret);
/* IAM Identity Center: a role's keys by the token that `aws sso login` has left. */
struct sso_session {
	const char *name; /* of the [sso-session]; NULL: the older form */
	const char *start_url, *region, *account_id, *role_name;
};
enum provided provide_sso(struct provider *p, const char *profile,
			  const struct sso_session *s, struct aws_keys *ret);
/* Its token by the cache file at path (may be NULL), which is renewed when it can be and
 * its end is near, and rewritten. fix: how a person signs in. */
enum provided sso_token(struct provider *p, const char *profile,
			const struct sso_session *s, const char *path, const char *fix,
			const char **ret);
/* The keys that `aws login` has left. */
enum provided provide_login(struct provider *p, const char *profile, const char *session,
			    struct aws_keys *ret);
/* ~/.aws/FILE, or NULL without a home. */
const char *provider_home(struct provider *p, const char *file);

/* STS; session_name, external_id and duration_s (0) may be unset. */
struct assumed_role {
	const char *role_arn;
	const char *session_name;
	const char *external_id;
	int64_t duration_s;
	const char *token_file; /* web identity */
};
enum provided assume_role(struct provider *p, const struct assumed_role *r,
			  const struct aws_keys *source, struct aws_keys *ret);

/* NULL when unset or empty. */
const char *provider_setting(struct provider *p, const char *name);
/* Adds "name: words; " and returns PROVIDED_FAILED. */
enum provided provider_failed(struct provider *p, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same of a fault that only a person can mend. */
#define provider_broken(p, the_fix, name, ...)                                           \
	((p)->fix = (the_fix), provider_failed(p, name, __VA_ARGS__))
/* A small file's text; NULL when it cannot be read. */
const char *provider_file(struct provider *p, const char *path);
/* The same of JSON; path may be NULL. */
json_t *provider_json(struct provider *p, const char *path);

#endif
