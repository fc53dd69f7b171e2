/*
 * policy.h - the least that the program's credentials must be allowed.
 *
 * From policy.def: the operations of ops.def that the program calls, each with the
 * resources that it needs; what CloudFormation's handlers do with those credentials
 * for our template; the roles that are passed on. Operations are written by their
 * descriptors: an operation that ops.def does not have does not compile.
 *
 * https://docs.aws.amazon.com/service-authorization/latest/reference/
 */
#ifndef INSTANTSTART_AWS_POLICY_H
#define INSTANTSTART_AWS_POLICY_H

#include <jansson.h>

#include "core/aws/aws.h"
#include "core/base/arena.h"

/* An IAM policy document, owned by the arena. */
json_t *aws_policy(struct arena *a);
/* "s3:ListBucket": IAM's name of what an operation does. */
const char *aws_policy_action(enum aws_op_id op, struct arena *a);
/*
 * Sid of the (first) statement that allows the action on the resource to a call with
 * that context ({key: text}; NULL: any). NULL: none does, as for a role of the caller's
 * own that is passed to EKS.
 */
const char *aws_policy_statement(const char *action, const char *resource,
				 const json_t *context, struct arena *a);

#endif
