/*
 * Every capability, one line each. The order is that of the tools list, of
 * the OpenAPI document and of the reference: it is fixed, new rows go to the
 * end of their group.
 */
#include <stddef.h>

#include "core/domain/capability.h"

/* operations */
extern const struct capability cap_list_operations;
extern const struct capability cap_get_operation;
extern const struct capability cap_list_events;
extern const struct capability cap_retry_operation;
extern const struct capability cap_cancel_operation;
extern const struct capability cap_answer_operation;
/* access */
extern const struct capability cap_get_me;
extern const struct capability cap_sign_out;
extern const struct capability cap_create_token;
extern const struct capability cap_list_tokens;
extern const struct capability cap_revoke_token;
extern const struct capability cap_list_audit;
extern const struct capability cap_verify_audit;

const struct capability *const capabilities[] = {
	/* operations */
	&cap_list_operations,
	&cap_get_operation,
	&cap_list_events,
	&cap_retry_operation,
	&cap_cancel_operation,
	&cap_answer_operation,
	/* access */
	&cap_get_me,
	&cap_sign_out,
	&cap_create_token,
	&cap_list_tokens,
	&cap_revoke_token,
	&cap_list_audit,
	&cap_verify_audit,
	NULL,
};
