/*
 * check_autoscaling.c - before anything is switched: what autoscaling needs, all of
 * it at once, or who would lose what it gives.
 */
#include <string.h>

#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/karpenter/autoscaling.h"
#include "core/domain/karpenter/prerequisites.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/given_role.h"
#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/rights.h"

bool autoscaling_enabled(const struct step_ctx *c)
{
	return json_bool_or(c->input, "enabled", false);
}

static bool may_adopt(const struct step_ctx *c)
{
	return json_bool_or(c->input, "adopt", false);
}

struct karpenter autoscaling_actual(const struct step_ctx *c)
{
	return karpenter_state(saw(c, "hyperpod"), name_role_arn(c, ROLE_AUTOSCALING));
}

const char *autoscaling_others_role(const struct step_ctx *c)
{
	return json_str_at(c->data, "others_role");
}

const char *autoscaling_role_arn(const struct step_ctx *c)
{
	return autoscaling_others_role(c) ? autoscaling_others_role(c)
					  : name_role_arn(c, ROLE_AUTOSCALING);
}

json_t *autoscaling_by_arn(struct step_ctx *c, const char *arn)
{
	const char *slash = strrchr(arn, '/');

	return json_packf(c->arena, "{s:s}", "RoleName", slash ? slash + 1 : arn);
}

/* --- may it be done? -------------------------------------------------------------- */

static bool read_prerequisites(struct step_ctx *c, struct exchange *x)
{
	const char *arn = autoscaling_actual(c).role_arn;

	if (read_kube(c, x, "agents",
		      &(struct kube_request){.verb = KUBE_LIST,
					     .api = "apps/v1",
					     .plural = "daemonsets",
					     .ns = "aws-hyperpod"}))
		return true;
	if (!arn || streq(arn, name_role_arn(c, ROLE_AUTOSCALING)))
		return false;
	return read_aws(c, x, "others_role", AWS_IAM_GetRole,
			autoscaling_by_arn(c, arn)) ||
	       (saw_ok(c, "others_role") &&
		given_role_read(c, x, &given_role_autoscaling, arn));
}

/* What works by it; it stays, and nothing keeps it any more. */
static json_t *things(struct step_ctx *c)
{
	return json_packf(c->arena, "[{s:s, s:s}]", "type", "feature", "name",
			  "autoscaling");
}

bool autoscaling_check_observe(struct step_ctx *c, struct exchange *x)
{
	enum karpenter_state state;

	if (hyperpod_read(c, x))
		return true;
	state = autoscaling_actual(c).state;
	if (!saw(c, "hyperpod"))
		return false;
	if (autoscaling_enabled(c))
		return read_prerequisites(c, x);
	return state != KARPENTER_OFF && state != KARPENTER_TURNING_OFF &&
	       stake_read(c, x, things(c));
}

/* False: refused. A role of others stays as it is, and is used when asked. */
static bool settle_role(struct step_ctx *c, const struct karpenter *k)
{
	struct err *e;

	if (!k->role_arn || streq(k->role_arn, name_role_arn(c, ROLE_AUTOSCALING)))
		return true;
	if (may_adopt(c) || (!autoscaling_enabled(c) && k->state == KARPENTER_OFF)) {
		step_save_str(c, "others_role", k->role_arn);
		return true;
	}
	e = step_fail(
		c, ERR_FOREIGN_OBJECT,
		"Autoscaling of %s uses the cluster role %s, which InstantStart did not "
		"create",
		hyperpod_name(c), k->role_arn);
	err_field(e, "/adopt", k->role_arn, name_role_arn(c, ROLE_AUTOSCALING));
	err_fix(e, "Set adopt to use that role unchanged.");
	return false;
}

static void check_others_role(struct step_ctx *c, struct findings *f)
{
	const json_t *role = json_at(saw(c, "others_role"), "Role");
	const char *seen, *lacks, *arn = autoscaling_others_role(c);

	if (!arn)
		return;
	seen = role ? role_trusts(c, role, KARPENTER_SERVICE)
		    : "nothing: the role does not exist";
	if (seen)
		finding_add(f, "/adopt",
			    arena_printf(c->arena, "the cluster role %s trusts %s",
					 autoscaling_others_role(c), seen),
			    seen, KARPENTER_SERVICE);
	lacks = seen ? NULL : given_role_lacks(c, &given_role_autoscaling, arn);
	if (lacks && json_bool_or(c->input, RIGHTS_ACCEPT, false))
		step_warn(c, "The cluster role %s is not allowed %s", arn, lacks);
	else if (lacks)
		finding_add(f, "/adopt",
			    arena_printf(c->arena,
					 "the cluster role %s is not allowed %s", arn,
					 lacks),
			    lacks, given_role_autoscaling.policies);
}

static void check_on(struct step_ctx *c)
{
	struct findings f = findings_new(c->arena);
	struct err why;

	if (autoscaling_actual(c).state == KARPENTER_ON)
		return;
	prerequisites_check(saw(c, "hyperpod"), json_at(saw(c, "agents"), "items"), &f);
	check_others_role(c, &f);
	if (findings_none(&f, ERR_STATE_CONFLICT, "Autoscaling cannot be enabled",
			  &why)) {
		if (streq(json_str_at(saw(c, "hyperpod"), "NodeRecovery"), "None"))
			step_warn(c, "node recovery is off and is turned on because "
				     "autoscaling needs it");
		return;
	}
	why.retry = RETRY_HUMAN;
	err_fix(&why, "Resolve the listed problems (%s), then retry.", why.expected);
	*step_fail(c, why.code, "%s", why.detail) = why;
}

/* Case AS: nodes stay without a keeper, and pods with them: whoever asks has seen it. */
static void check_off(struct step_ctx *c)
{
	const json_t *rows = stake_rows(c, things(c));

	if (json_array_size(rows) == 0 || !stake_settle(c, rows, "autoscaling"))
		return;
	step_warn(c, "Nodes that the autoscaler has launched stay, and are billed, until "
		     "delete_nodes: no node pool removes or replaces them any more.");
}

void autoscaling_check_plan(struct step_ctx *c, struct exchange *x)
{
	struct karpenter k = autoscaling_actual(c);

	(void)x;
	if (!saw(c, "hyperpod")) {
		/* Planned together with the cluster, or gone: nothing is on. */
		if (autoscaling_enabled(c) && !c->planning)
			hyperpod_absent(c);
		return;
	}
	step_save_str(c, "cluster_arn", json_str_at(saw(c, "hyperpod"), "ClusterArn"));
	if (!settle_role(c, &k))
		return;
	if (autoscaling_enabled(c))
		check_on(c);
	else
		check_off(c);
}
