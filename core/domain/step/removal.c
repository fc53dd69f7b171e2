#include "core/domain/step/removal.h"

#include "core/domain/step/absent.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

const enum role_purpose removal_role_nodes = ROLE_NODES;
const enum role_purpose removal_role_s3_csi = ROLE_S3_CSI;
const enum role_purpose removal_role_fsx_csi = ROLE_FSX_CSI;
const enum role_purpose removal_role_load_balancers = ROLE_LOAD_BALANCERS;
const enum role_purpose removal_role_training = ROLE_TRAINING_OPERATOR;
const enum role_purpose removal_role_inference = ROLE_INFERENCE;
const enum role_purpose removal_role_inference_scale = ROLE_INFERENCE_SCALE;
const enum role_purpose removal_role_inference_load = ROLE_INFERENCE_LOAD;
const enum role_purpose removal_role_gated_models = ROLE_GATED_MODELS;
const enum role_purpose removal_role_autoscaling = ROLE_AUTOSCALING;

/* A list has missed what was put or attached a moment ago: it is seen soon. */
static bool holds_something_young(const struct step_ctx *c, const struct answer *a)
{
	return answer_is(a, "DeleteConflict") &&
	       step_waited_ms(c) < c->cfg->visibility_ms;
}

void removal_absorb(struct step_ctx *c, const struct answer *a)
{
	if (holds_something_young(c, a))
		step_wait(c, 3, "everything in %s to be shown", c->item);
	else if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		step_fail_answer(c, a, "%s could not be removed",
				 c->item ? c->item : c->target);
	else if (removal_is_done(c, a))
		step_goto(c, c->step->name);
}

/* One removal: its item is the object, so that each has an effect of its own. */
void removal_send(struct step_ctx *c, struct exchange *x, enum aws_op_id op, json_t *in,
		  const char *item, const char *what)
{
	c->item = item;
	exchange_aws(x, op, in);
	x->what = arena_printf(c->arena, "%s %s", what, item);
}

/* --- roles --------------------------------------------------------------------- */

static const char *role_of(const struct step_ctx *c)
{
	return name_role(c, *(const enum role_purpose *)c->step->arg);
}

static json_t *by_role(struct step_ctx *c)
{
	return json_packf(c->arena, "{s:s}", "RoleName", role_of(c));
}

bool removal_role_observe(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "role", AWS_IAM_GetRole, by_role(c)) ||
	       (saw_ok(c, "role") &&
		(read_all(c, x, "attached", AWS_IAM_ListAttachedRolePolicies,
			  by_role(c)) ||
		 read_all(c, x, "inline", AWS_IAM_ListRolePolicies, by_role(c))));
}

void removal_role_plan(struct step_ctx *c, struct exchange *x)
{
	const char *arn = json_str_at(saw(c, "attached"), "AttachedPolicies.0.PolicyArn");
	const char *inlined = json_str_at(saw(c, "inline"), "PolicyNames.0");
	json_t *in = by_role(c);

	if (!saw_ok(c, "role")) {
		if (!is_absent(c, "iam:role", role_of(c),
			       arena_printf(c->arena, "the role %s", role_of(c))))
			return;
		step_own(c, "iam:role", role_of(c), NULL, "gone");
		/* The storages' rights went with the driver's role. */
		if (*(const enum role_purpose *)c->step->arg == ROLE_S3_CSI)
			step_own(c, "iam:role-policy", "*", NULL, "gone");
		return;
	}
	if (!step_tagged_cluster(c, json_at(saw(c, "role"), "Role.Tags"))) {
		/* Of that name by chance: not ours to remove. */
		step_event(
			c, "left_alone",
			json_pack("{s:s, s:s}", "type", "iam:role", "name", role_of(c)));
		return;
	}
	if (arn) {
		json_put_str(in, "PolicyArn", arn);
		removal_send(c, x, AWS_IAM_DetachRolePolicy, in,
			     arena_printf(c->arena, "%s from %s", arn, role_of(c)),
			     "Detach");
		if (inlined)
			exchange_then(x, AWS_IAM_DeleteRolePolicy, by_role(c), c->arena);
		exchange_then(x, AWS_IAM_DeleteRole, by_role(c), c->arena);
	} else if (inlined) {
		json_put_str(in, "PolicyName", inlined);
		removal_send(c, x, AWS_IAM_DeleteRolePolicy, in,
			     arena_printf(c->arena, "%s of %s", inlined, role_of(c)),
			     "Delete the policy");
		exchange_then(x, AWS_IAM_DeleteRole, by_role(c), c->arena);
	} else {
		step_promise(c, "iam:role", role_of(c), "gone");
		removal_send(c, x, AWS_IAM_DeleteRole, in, role_of(c), "Delete the role");
	}
}

/* --- blocks that we added to somebody's VPC -------------------------------------------
 */
const char *removal_owned(const struct step_ctx *c, const char *type)
{
	return json_str_at(ledger_row(c, type, NULL), "id");
}
