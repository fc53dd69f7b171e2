/*
 * account.h - keys are used only where they belong.
 *
 * Keys are renewed while a program runs, and may come back as another account's: a
 * profile was edited, somebody signed in elsewhere. Sent there, every read would find
 * nothing, which a deletion takes for done. So keys that are new are asked who they are
 * before anything else is sent with them; while STS gives no answer, they are believed.
 */
#ifndef INSTANTSTART_AWS_ACCOUNT_H
#define INSTANTSTART_AWS_ACCOUNT_H

#include "core/aws/aws.h"
#include "core/aws/credentials.h"

/* The keys in use, of aws->account where that is known. CREDENTIALS, for a person, when
 * they are another's: looked for again every few seconds. */
bool aws_keys(struct aws *aws, int64_t until_ms, struct arena *a, struct aws_keys *ret,
	      struct err *e) __attribute__((warn_unused_result));
/* The same of GetCallerIdentity's answer. */
bool aws_is_ours(const struct aws *aws, const json_t *caller, struct err *e)
	__attribute__((warn_unused_result));

#endif
