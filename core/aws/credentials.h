/*
 * credentials.h - the standard AWS credential chain.
 *
 * Environment, shared config and credentials files (AWS_PROFILE, static keys,
 * role_arn with source_profile), web identity, container endpoint and EKS Pod
 * Identity, IMDSv2. Cached, refreshed five minutes before expiry; when a
 * refresh fails while the old keys are still valid, they are used on.
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

/* CREDENTIALS when no provider has any; the detail names what was tried. */
bool aws_credentials_get(struct aws_credentials *c, struct arena *a, struct aws_keys *ret,
			 struct err *e) __attribute__((warn_unused_result));
/* The service said that they are no longer good: forget them. */
void aws_credentials_drop(struct aws_credentials *c);

#endif
