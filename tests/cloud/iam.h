/*
 * iam.h - roles, for the services that assume them.
 *
 * Roles live in the table "iam.role" under their name (which is unique
 * whatever the case), policies under their ARN. Borrowed trees.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_IAM_H
#define INSTANTSTART_TESTS_CLOUD_IAM_H

#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloud.h"

/* By ARN; NULL when there is none (or its path differs). */
json_t *iam_find_role(struct cloud *c, const char *arn);
/* settings.role_assumable_after_ms have passed since its creation. */
bool iam_role_ready(struct cloud *c, const json_t *role);
/* Whether the trust document allows sts:AssumeRole to a service such as
 * "eks.amazonaws.com" or "sagemaker.amazonaws.com". */
bool iam_role_trusts_service(struct cloud *c, const json_t *role, const char *service);
bool iam_role_trusts_principal(struct cloud *c, const json_t *role, const char *arn);
bool iam_role_trusts_federated(struct cloud *c, const json_t *role, const char *provider);
/* All three at once: exists, ready, trusts the service. */
bool iam_role_assumable(struct cloud *c, const char *arn, const char *service);
/* Whether a managed policy is attached to it. */
bool iam_role_has_policy(struct cloud *c, const json_t *role, const char *policy_arn);
/* Whether an inline policy names the action. What attached ones allow is not read:
 * a role that has any is taken at its word. */
bool iam_role_mentions(const json_t *role, const char *action);
/* Whether its policies allow the action on anything: inline and customer-managed ones
 * are evaluated; of AWS's own those count that are known to. */
bool iam_role_allows(struct cloud *c, const json_t *role, const char *action);
/* Claims of a JWT from its middle part on; NULL when unreadable. */
json_t *iam_jwt_claims(struct arena *a, const char *payload);
struct clock *cloud_auth_clock(struct cloud *c);

#endif
