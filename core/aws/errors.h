/*
 * errors.h - from a service's error to ours; see errors.def.
 */
#ifndef INSTANTSTART_AWS_ERRORS_H
#define INSTANTSTART_AWS_ERRORS_H

#include <stdbool.h>

#include "core/aws/service.h"
#include "core/base/arena.h"
#include "core/base/err.h"

/* "a.b#Code:http://…" becomes "Code". */
const char *aws_clean_code(struct arena *a, const char *raw);
enum errc aws_errc(enum aws_service_id service, const char *code, const char *message,
		   int http_status);
/* Codes of denials that no permission helps against: the account may not use the service
 * or the region. What to do; NULL: another code. */
const char *aws_account_fix(const char *code);
/* Codes that a wrong clock can cause. */
bool aws_may_be_skew(const char *code);

#endif
