/*
 * check_role.c - whether SageMaker may take the nodes' execution role.
 *
 * The refusal would come after network and scripts are made, in words that also
 * fit a role that is too young.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites-iam.html
 */
#include <string.h>

#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static const char principal[] = "sagemaker.amazonaws.com";

/* Given by the caller, else of the group that gets more nodes. */
static const char *role_arn(const struct step_ctx *c)
{
	const char *given = step_input(c, "execution_role_arn");

	return given ? given : json_str_at(c->data, "group_role");
}

bool role_trust_observe(struct step_ctx *c, struct exchange *x)
{
	const char *arn = role_arn(c);
	const char *slash = arn ? strrchr(arn, '/') : NULL;

	return slash && read_aws(c, x, "given_role", AWS_IAM_GetRole,
				 json_packf(c->arena, "{s:s}", "RoleName", slash + 1));
}

void role_trust_plan(struct step_ctx *c, struct exchange *x)
{
	const bool given = step_input(c, "execution_role_arn");
	const char *arn = role_arn(c);
	const json_t *role = json_at(saw(c, "given_role"), "Role");
	const char *trusts;
	struct err *e;

	(void)x;
	if (!arn)
		return;
	if (saw_missing(c, "given_role")) {
		e = step_fail(c, given ? ERR_INVALID_INPUT : ERR_STATE_CONFLICT,
			      "There is no role %s", arn);
		err_field(e, given ? "/execution_role_arn" : "", arn,
			  given ? "an existing role of this account. Default: a new role"
				: "the role of the group's nodes");
		if (!given)
			err_fix(e,
				"Nodes start with this role. Make it again: of the same "
				"name, trusting %s, with the policies that it had.",
				principal);
		return;
	}
	if (!role) {
		step_not_known(c, "role", "the role %s could not be read (%s)", arn,
			       saw_why(c, "given_role"));
		return;
	}
	trusts = hyperpod_role_trusts(c, role, principal);
	if (!trusts)
		return;
	e = step_fail(c, given ? ERR_INVALID_INPUT : ERR_STATE_CONFLICT,
		      "The role %s trusts %s, not %s", arn, trusts, principal);
	err_field(e, given ? "/execution_role_arn" : "", arn,
		  "a role that SageMaker can assume");
	err_fix(e, "Add %s to the role's trust policy (sts:AssumeRole).", principal);
}
