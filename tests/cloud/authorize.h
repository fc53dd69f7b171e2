/*
 * authorize.h - what a caller's policy must allow for a call to go on.
 *
 * settings.policies {access key: policy document} binds calls that are signed with
 * that key, as a session policy binds a session; keys without one may do everything.
 * settings.keys {access key: secret} are more keys of the caller. A stack's handlers
 * are bound by the policy of whoever sent the stack's call.
 *
 * Which rights a call needs is a table by the service authorization reference: the
 * action itself on what it names, and those of others that the service uses in the
 * caller's name: passed roles, tags at creation, access entries, training plans,
 * service-linked roles that are not there yet.
 * https://docs.aws.amazon.com/service-authorization/latest/reference/
 */
#ifndef INSTANTSTART_TESTS_CLOUD_AUTHORIZE_H
#define INSTANTSTART_TESTS_CLOUD_AUTHORIZE_H

#include "core/base/str.h"
#include "core/json/tree.h"
#include "tests/cloud/cloud.h"

/* A policy document as a tree; context: {key: text}. */
bool policy_allows(const json_t *policy, const char *action, const char *resource,
		   const json_t *context);

enum policy_word { POLICY_SILENT, POLICY_ALLOWS, POLICY_DENIES };

/*
 * The same in three words. missing: gets the keys that conditions ask for and the context
 * does not have; NULL: not wanted. ret_statement: the place of the one that matched.
 */
enum policy_word policy_judge(const json_t *policy, const char *action,
			      const char *resource, const json_t *context,
			      json_t *missing, size_t *ret_statement);

#endif
