#include <string.h>

#include "core/base/clock.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/step/given_role.h"
#include "core/json/tree.h"

/* IAM needs seconds to a minute to tell a new role to everybody. */
static const int64_t ROLE_YOUNG_MS = 3 * 60 * 1000;

static bool is_assume_refusal(const struct answer *a)
{
	return !a->ok && a->message &&
	       (strcasestr(a->message, "could not be assumed") ||
		strcasestr(a->message, "cannot assume") ||
		strcasestr(a->message, "unable to assume") ||
		strcasestr(a->message, "not authorized to perform: sts:AssumeRole"));
}

bool hyperpod_role_trouble(struct step_ctx *c, const struct answer *a, const json_t *role)
{
	return hyperpod_trust_trouble(c, a, role, "sagemaker.amazonaws.com",
				      "/execution_role_arn");
}

bool hyperpod_trust_trouble(struct step_ctx *c, const struct answer *a,
			    const json_t *role, const char *wanted, const char *field)
{
	const char *name = json_str_or(role, "RoleName", "the role");
	const char *seen;
	int64_t made_ms = 0;
	struct err *e;

	if (!is_assume_refusal(a))
		return false;
	seen = role ? role_trusts(c, role, wanted) : NULL;
	if (seen) {
		e = step_fail_answer(c, a, "The role %s trusts %s, not %s", name, seen,
				     wanted);
		e->retry = RETRY_NEVER;
		err_field(e, field, seen, wanted);
		err_fix(e, "Add %s to the trust policy of %s.", wanted, name);
		return true;
	}
	if (!time_parse_rfc3339(json_str_or(role, "CreateDate", ""), &made_ms) ||
	    c->now_ms - made_ms < ROLE_YOUNG_MS) {
		step_retry(c, ERR_ROLE_NOT_READY,
			   "the role %s is new and cannot be assumed yet", name);
		return true;
	}
	e = step_fail_answer(c, a, "the role %s cannot be assumed although it trusts %s",
			     name, wanted);
	e->code = ERR_ROLE_NOT_READY;
	e->retry = RETRY_HUMAN;
	err_fix(e,
		"Check for a service control policy or permissions boundary that denies "
		"it.");
	return true;
}
