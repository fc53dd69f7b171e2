/*
 * check_autoscaling.c - before anything is switched: what autoscaling needs, all of
 * it at once, or who would lose what it gives.
 */
#include <string.h>

#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/karpenter/autoscaling.h"
#include "core/domain/karpenter/prerequisites.h"
#include "core/domain/karpenter/users.h"
#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

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

static bool read_list(struct step_ctx *c, struct exchange *x, const char *key,
		      const char *api, const char *plural, const char *selector)
{
	return read_kube(c, x, key,
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = api,
						.plural = plural,
						.label_selector = selector});
}

static bool read_prerequisites(struct step_ctx *c, struct exchange *x)
{
	const char *arn = autoscaling_actual(c).role_arn;

	if (read_kube(c, x, "agents",
		      &(struct kube_request){.verb = KUBE_LIST,
					     .api = "apps/v1",
					     .plural = "daemonsets",
					     .ns = "aws-hyperpod"}))
		return true;
	return arn && !streq(arn, name_role_arn(c, ROLE_AUTOSCALING)) &&
	       read_aws(c, x, "others_role", AWS_IAM_GetRole, autoscaling_by_arn(c, arn));
}

static bool read_users(struct step_ctx *c, struct exchange *x)
{
	return read_list(c, x, "pools", KARPENTER_API, KARPENTER_POOLS, NULL) ||
	       read_list(c, x, "classes", KARPENTER_CLASS_API, KARPENTER_CLASSES, NULL) ||
	       (json_len_at(saw(c, "pools"), "items") &&
		(read_list(c, x, "nodes", "v1", "nodes", KARPENTER_POOL_LABEL) ||
		 read_list(c, x, "pods", "v1", "pods", NULL)));
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
	       read_users(c, x);
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
		"autoscaling of %s is set up with the cluster role %s, which we did "
		"not make",
		hyperpod_name(c), k->role_arn);
	err_field(e, "/adopt", k->role_arn, name_role_arn(c, ROLE_AUTOSCALING));
	err_fix(e, "Ask again with adopt: that role is used and stays as it is.");
	return false;
}

static void check_others_role(struct step_ctx *c, struct findings *f)
{
	const json_t *role = json_at(saw(c, "others_role"), "Role");
	const char *seen;

	if (!autoscaling_others_role(c))
		return;
	seen = role ? hyperpod_role_trusts(c, role, KARPENTER_SERVICE)
		    : "nobody: it is gone";
	if (seen)
		finding_add(f, "/adopt",
			    arena_printf(c->arena, "the cluster role %s trusts %s",
					 autoscaling_others_role(c), seen),
			    seen, KARPENTER_SERVICE);
}

static void check_on(struct step_ctx *c)
{
	struct findings f = findings_new(c->arena);
	struct err why;

	if (autoscaling_actual(c).state == KARPENTER_ON)
		return;
	prerequisites_check(saw(c, "hyperpod"), json_at(saw(c, "agents"), "items"), &f);
	check_others_role(c, &f);
	if (findings_none(&f, ERR_STATE_CONFLICT, "autoscaling cannot be switched on",
			  &why)) {
		if (streq(json_str_at(saw(c, "hyperpod"), "NodeRecovery"), "None"))
			step_warn(c, "node recovery is off and is switched on: "
				     "autoscaling needs it");
		return;
	}
	why.retry = RETRY_HUMAN;
	err_fix(&why, "Mend what is listed (%s), then retry.", why.expected);
	*step_fail(c, why.code, "%s", why.detail) = why;
}

/* Case AS: nodes would stay without a keeper, and pods with them. */
static void check_off(struct step_ctx *c)
{
	const json_t *pods = users_on_nodes(c->arena, json_at(saw(c, "pods"), "items"),
					    json_at(saw(c, "nodes"), "items"));
	const char *pools = users_names(c->arena, json_at(saw(c, "pools"), "items"));
	const char *classes = users_names(c->arena, json_at(saw(c, "classes"), "items"));
	const char *names = users_names(c->arena, pods);
	struct err *e;

	if (!pools && !classes)
		return;
	e = step_fail(c, ERR_BLOCKED, "autoscaling is in use: %s%s%s%s%s%s%s",
		      pools ? "node pools " : "", pools ? pools : "",
		      pools && classes ? "; " : "", classes ? "node classes " : "",
		      classes ? classes : "", names ? "; pods on their nodes: " : "",
		      names ? names : "");
	err_fix(e, "Remove the node pools with delete_node_pool, then the classes with "
		   "delete_node_class, then retry; or leave autoscaling on.");
}

void autoscaling_check_plan(struct step_ctx *c, struct exchange *x)
{
	struct karpenter k = autoscaling_actual(c);

	(void)x;
	if (!saw(c, "hyperpod")) {
		/* Planned together with the cluster, or gone: nothing is on. */
		if (autoscaling_enabled(c) && !c->planning)
			step_fail(c, ERR_CLOUD_NOT_FOUND,
				  "there is no HyperPod cluster %s", hyperpod_name(c));
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
