/*
 * credentials.h - the standard AWS credential chain.
 *
 * AWS_PROFILE if set, and then nothing else; else environment, shared config
 * and credentials files (static keys, role_arn with source_profile or
 * credential_source, web identity, credential_process, and what `aws sso login` and
 * `aws login` have left), web identity by environment, container endpoint and EKS Pod
 * Identity, IMDSv2. The first that is configured decides: when it fails, no other
 * account's keys are taken. A session of `aws sso login` is renewed as the AWS CLI does
 * it, in its file, for as long as it has a refresh token; one of `aws login` is used
 * while it is valid. One-time passwords cannot be asked for, which is said.
 *
 * A fault that does not mend itself (a missing profile, a session that has ended) is
 * for a person: its retry word is `human`, and the fix has the command.
 *
 * Cached, refreshed five minutes before expiry; when a refresh fails while the
 * old keys are still valid, they are used on; the instance's also afterwards,
 * for it is the called service that decides (static stability). Blocking: a
 * refresh may take some seconds.
 *
 * https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
 */
#ifndef INSTANTSTART_AWS_CREDENTIALS_H
#define INSTANTSTART_AWS_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/secret.h"
#include "core/net/transport.h"

struct aws_keys {
	struct secret access_key; /* the id is shown in no log either */
	struct secret secret_key;
	struct secret session_token; /* NULL inside when there is none */
	int64_t expires_ms;          /* wall; 0: never */
};

struct aws_credentials;

/* lookup is getenv in the programs. The provider lives in `a`. */
struct aws_credentials *
aws_credentials_new(struct arena *a, struct transport *net, struct clock *clock,
		    const char *region,
		    const char *(*lookup)(void *ctx, const char *name), void *lookup_ctx);

/* CREDENTIALS when no provider has any; the detail names what was tried. After a fault
 * that only a person can mend, it is looked again every few seconds only. */
bool aws_credentials_get(struct aws_credentials *c, struct arena *a, struct aws_keys *ret,
			 struct err *e) __attribute__((warn_unused_result));
/* The service said that they are no longer good: forget them. */
void aws_credentials_drop(struct aws_credentials *c);
/* From 1 on. Another number: other keys, or the same that were looked up anew. */
int64_t aws_credentials_generation(const struct aws_credentials *c);
/* Where the present keys come from, in words; NULL while there are none. */
const char *aws_credentials_source(const struct aws_credentials *c);

/* What the profile in use (AWS_PROFILE, or "default") says of a setting that is not
 * about keys: "region", "ca_bundle". NULL: nothing. */
const char *aws_profile_setting(const char *(*lookup)(void *ctx, const char *name),
				void *lookup_ctx, const char *key, struct arena *a);
/* Where the instance that we run on is, by its metadata service; NULL: there is none, it
 * is disabled, or it does not say. */
const char *aws_instance_region(struct transport *net,
				const char *(*lookup)(void *ctx, const char *name),
				void *lookup_ctx, struct arena *a);

#endif
