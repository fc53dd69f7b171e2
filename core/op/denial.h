/*
 * denial.h - what a person can do about "not authorized", in words.
 *
 * AWS names who, the action and, when a deny was explicit, the kind of policy:
 * "User: ARN is not authorized to perform: ACTION on resource: … with an
 * explicit deny in a service control policy". An explicit deny is never
 * answered with "allow it" (case CC-12).
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
 */
#ifndef INSTANTSTART_OP_DENIAL_H
#define INSTANTSTART_OP_DENIAL_H

#include "core/base/arena.h"
#include "core/base/err.h"

/* Sets the error's fix when the message is a denial and says enough. */
void denial_explain(struct err *e, const char *message, struct arena *a);

#endif
