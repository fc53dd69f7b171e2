/*
 * caller.h - the role or user we run as, as IAM knows it.
 *
 * STS names a session, "arn:aws:sts::ACCOUNT:assumed-role/NAME/SESSION", which
 * is no principal of an EKS access entry and has lost the role's path (case
 * IA-05: roles of Identity Center live under a path with the region).
 * https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
 */
#ifndef INSTANTSTART_OP_CALLER_H
#define INSTANTSTART_OP_CALLER_H

#include "core/aws/aws.h"

/*
 * The ARN of the session's role, asked of IAM; without the path when IAM may
 * not be asked. Other ARNs as they are. until_ms: of the monotonic clock.
 */
const char *caller_principal(struct aws *aws, const char *arn, int64_t until_ms,
			     struct arena *a);

#endif
