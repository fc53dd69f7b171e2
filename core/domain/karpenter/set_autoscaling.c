/*
 * set_autoscaling.c - the managed autoscaler on or off.
 *
 * On: prerequisites, the cluster role, one UpdateCluster without groups, then
 * InService and served definitions. Off: pools and classes that work by it are at
 * stake, then Mode=Disable, and the role that we made goes. The service cannot change
 * ClusterRole while it is on: a role of others is used as it is, when asked.
 */
#include <string.h>

#include "core/aws/partition.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/update_cluster.h"
#include "core/domain/karpenter/autoscaling.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/leaves.h"
#include "core/domain/step/owners.h"
#include "core/domain/step/read.h"
#include "core/domain/step/removal.h"
#include "core/domain/step/role.h"
#include "core/json/tree.h"

enum { LOOK_S = 15, BUSY_S = 20 };

/* --- the cluster role -------------------------------------------------------------- */

static bool role_is_not_made(const struct step_ctx *c)
{
	return !autoscaling_enabled(c) || autoscaling_others_role(c) != NULL;
}

/*
 * The second statement lets the service use the key of encrypted volumes.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-autoscaling.html
 */
static json_t *statements(struct step_ctx *c)
{
	const char *arn = step_get(c, "cluster_arn");
	/* A host name, unlike the principals: another in each partition. */
	const char *suffix = aws_partition_of(c->where->region)->dns_suffix;

	return json_pack(
		"[{s:s, s:[s,s], s:s},"
		" {s:s, s:[s,s], s:s, s:{s:{s:s}, s:{s:s}, s:{s:[s,s,s,s,s,s,s]}}}]",
		"Effect", "Allow", "Action", "sagemaker:BatchAddClusterNodes",
		"sagemaker:BatchDeleteClusterNodes", "Resource", arn ? arn : STEP_UNKNOWN,
		"Effect", "Allow", "Action", "kms:CreateGrant", "kms:DescribeKey",
		"Resource",
		arena_printf(c->arena, "arn:%s:kms:*:%s:key/*", c->where->partition,
			     c->where->account),
		"Condition", "StringLike", "kms:ViaService",
		arena_printf(c->arena, "sagemaker.*.%s", suffix), "Bool",
		"kms:GrantIsForAWSResource", "true", "ForAllValues:StringEquals",
		"kms:GrantOperations", "CreateGrant", "Decrypt", "DescribeKey",
		"GenerateDataKeyWithoutPlaintext", "ReEncryptTo", "ReEncryptFrom",
		"RetireGrant");
}

static json_t *trust(struct step_ctx *c)
{
	(void)c;
	return json_pack("[{s:s, s:{s:s}, s:s}]", "Effect", "Allow", "Principal",
			 "Service", KARPENTER_SERVICE, "Action", "sts:AssumeRole");
}

static const struct role_spec cluster_role = {
	.purpose = ROLE_AUTOSCALING,
	.description = "HyperPod autoscaling",
	.service = KARPENTER_SERVICE,
	.self_tag = "aws-sagemaker-hyperpod-prerequisite",
	.trust = trust,
	.statements = statements,
	.given = role_is_not_made,
};

/* --- the switch --------------------------------------------------------------------- */

static bool switch_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) ||
	       (autoscaling_enabled(c) &&
		read_aws(c, x, "role", AWS_IAM_GetRole,
			 autoscaling_by_arn(c, autoscaling_role_arn(c))));
}

/* False: a verdict was set. */
static bool may_switch(struct step_ctx *c, const struct karpenter *k)
{
	const char *status = json_str_or(saw(c, "hyperpod"), "ClusterStatus", "");

	if (update_cluster_is_busy(status) && !c->planning) {
		step_wait(c, BUSY_S, "the HyperPod cluster %s in status %s",
			  hyperpod_name(c), status);
		return false;
	}
	if (autoscaling_enabled(c) && k->state == KARPENTER_TURNING_OFF && !c->planning) {
		step_wait(c, BUSY_S, "autoscaling of %s to be turned off",
			  hyperpod_name(c));
		return false;
	}
	return true;
}

static bool is_as_wanted(const struct step_ctx *c, const struct karpenter *k)
{
	if (!autoscaling_enabled(c))
		return k->state == KARPENTER_OFF || k->state == KARPENTER_TURNING_OFF;
	return (k->state == KARPENTER_ON || k->state == KARPENTER_TURNING_ON) &&
	       streq(json_str_or(saw(c, "hyperpod"), "NodeRecovery", "Automatic"),
		     "Automatic");
}

static json_t *request(struct step_ctx *c, const struct karpenter *k)
{
	json_t *in = json_packf(c->arena, "{s:s}", "ClusterName", hyperpod_name(c));

	if (!autoscaling_enabled(c)) {
		json_put(in, "AutoScaling",
			 json_pack("{s:s, s:s}", "Mode", "Disable", "AutoScalerType",
				   "Karpenter"));
		return in;
	}
	if (k->state != KARPENTER_ON && k->state != KARPENTER_TURNING_ON) {
		json_put(in, "AutoScaling",
			 json_pack("{s:s, s:s}", "Mode", "Enable", "AutoScalerType",
				   "Karpenter"));
		json_put_str(in, "ClusterRole", autoscaling_role_arn(c));
	}
	if (!streq(json_str_at(saw(c, "hyperpod"), "NodeRecovery"), "Automatic"))
		json_put_str(in, "NodeRecovery", "Automatic");
	return in;
}

static void switch_plan(struct step_ctx *c, struct exchange *x)
{
	struct karpenter k = autoscaling_actual(c);

	if (!saw(c, "hyperpod")) {
		if (!autoscaling_enabled(c) || c->planning)
			return;
		hyperpod_absent(c);
		return;
	}
	if (is_as_wanted(c, &k) || !may_switch(c, &k))
		return;
	step_save(c, "asked", json_true());
	exchange_aws(x, AWS_SAGEMAKER_UpdateCluster, request(c, &k));
	x->what = arena_printf(c->arena, "Turn autoscaling of %s %s", hyperpod_name(c),
			       autoscaling_enabled(c) ? "on" : "off");
}

static void switch_absorb(struct step_ctx *c, const struct answer *a)
{
	if (a->ok)
		step_advance(c);
	else if (a->errc == ERR_CLOUD_CONFLICT)
		step_wait(c, BUSY_S,
			  "the HyperPod cluster %s, which accepts no update now",
			  hyperpod_name(c));
	else if (a->message && strcasestr(a->message, "no changes"))
		step_advance(c);
	else if (!hyperpod_trust_trouble(c, a, json_at(saw(c, "role"), "Role"),
					 KARPENTER_SERVICE, "/adopt"))
		step_fail_answer(c, a, "turning autoscaling of %s %s was rejected",
				 hyperpod_name(c), autoscaling_enabled(c) ? "on" : "off");
}

/* --- until it is so ------------------------------------------------------------------
 */

static bool read_definition(struct step_ctx *c, struct exchange *x, const char *key,
			    const char *name)
{
	return read_kube(c, x, key,
			 &(struct kube_request){.verb = KUBE_GET,
						.api = "apiextensions.k8s.io/v1",
						.plural = "customresourcedefinitions",
						.name = name});
}

static bool wait_observe(struct step_ctx *c, struct exchange *x)
{
	if (hyperpod_read(c, x))
		return true;
	return autoscaling_enabled(c) && autoscaling_actual(c).state == KARPENTER_ON &&
	       (read_definition(c, x, "class_crd",
				KARPENTER_CLASSES "." KARPENTER_CLASS_GROUP) ||
		read_definition(c, x, "pool_crd", KARPENTER_POOLS ".karpenter.sh"));
}

static bool is_served(const struct step_ctx *c, const char *key)
{
	return streq(json_str_at(json_find(json_at(saw(c, key), "status.conditions"),
					   "type", "Established"),
				 "status"),
		     "True");
}

/*
 * What we have asked for has failed: AWS's words are the answer. It is said here and
 * not by the switch, to which each way back is a new try; a retry asks again there.
 */
static void fail_asked(struct step_ctx *c, const struct karpenter *k)
{
	struct err *e =
		step_fail(c, ERR_CLUSTER_FAILED, "Autoscaling of %s failed: %s",
			  hyperpod_name(c), k->failure ? k->failure : "no reason given");

	err_because(e, "sagemaker:DescribeCluster", "AutoScaling.FailureMessage",
		    k->failure, NULL);
	err_fix(e, "Resolve the problem that the message names, then retry.");
}

static void wait_on(struct step_ctx *c, const struct karpenter *k)
{
	if (k->state == KARPENTER_FAILED && json_bool_or(c->data, "asked", false))
		fail_asked(c, k);
	else if (k->state == KARPENTER_FAILED)
		step_goto(c, "switch_autoscaling");
	else if (k->state != KARPENTER_ON)
		step_wait(c, LOOK_S, "autoscaling of %s to be in service (%s)",
			  hyperpod_name(c),
			  json_str_or(saw(c, "hyperpod"), "AutoScaling.Status", "?"));
	else if (!is_served(c, "class_crd") || !is_served(c, "pool_crd"))
		step_wait(c, LOOK_S, "the resource types %s and %s to be served",
			  KARPENTER_CLASSES, KARPENTER_POOLS);
}

static void wait_plan(struct step_ctx *c, struct exchange *x)
{
	struct karpenter k = autoscaling_actual(c);

	(void)x;
	if (c->planning)
		return;
	if (autoscaling_enabled(c))
		wait_on(c, &k);
	else if (k.state == KARPENTER_TURNING_OFF)
		step_wait(c, LOOK_S, "autoscaling of %s to be off", hyperpod_name(c));
	else if (k.state == KARPENTER_FAILED)
		fail_asked(c, &k);
}

/* The mode is what the cluster is asked for; the status is how far it has come. */
static const char *autoscaling_moved(struct step_ctx *c)
{
	const bool on = autoscaling_enabled(c);
	const json_t *cluster = saw(c, "hyperpod");
	const enum karpenter_state state = autoscaling_actual(c).state;
	const bool is_on = state == KARPENTER_ON || state == KARPENTER_TURNING_ON;

	if (saw_missing(c, "hyperpod") && on)
		step_gone(c, hyperpod_name(c));
	if (saw_missing(c, "hyperpod"))
		/* Off is off, when it goes with the cluster, too. */
		return on ? arena_printf(c->arena,
					 "the HyperPod cluster %s no longer exists",
					 hyperpod_name(c))
			  : NULL;
	/* What has failed is AWS's word, and the plan's. */
	if (!cluster || state == KARPENTER_FAILED || is_on == on)
		return NULL;
	return arena_printf(c->arena, "autoscaling of %s was %s outside InstantStart",
			    hyperpod_name(c), on ? "disabled" : "enabled");
}

static const struct wait autoscaling_wait = {
	.rule = "AWS publishes no time limit for UpdateCluster",
	.moved = autoscaling_moved,
	.lag_s = 60,
};

/* --- what enabling made ----------------------------------------------------------------
 */

static bool drop_role_observe(struct step_ctx *c, struct exchange *x)
{
	return !autoscaling_enabled(c) && removal_role_observe(c, x);
}

static void drop_role_plan(struct step_ctx *c, struct exchange *x)
{
	if (!autoscaling_enabled(c))
		removal_role_plan(c, x);
}

static void finish_plan(struct step_ctx *c, struct exchange *x)
{
	const bool on = autoscaling_enabled(c);
	const char *state = on ? "enabled" : "disabled";

	(void)x;
	step_catalog(
		c, "feature", "autoscaling", json_pack("{s:b}", "enabled", on),
		json_pack("{s:s, s:s}", "state", state, "title", "Node autoscaling"));
	step_done(c, json_pack("{s:s, s:s, s:b, s:s, s:s*}", "cluster", c->target,
			       "feature", "autoscaling", "enabled", on, "state", state,
			       "role_arn", on ? autoscaling_role_arn(c) : NULL));
}

static bool tell(struct step_ctx *c, json_t *row)
{
	const bool on = autoscaling_enabled(c);

	json_put_bool(row, "wanted", on);
	json_put_bool(row, "before", !on);
	step_stop(row, "update_features",
		  json_pack("{s:s, s:{s:b}}", "cluster", c->target, "autoscaling",
			    "enabled", !on));
	return true;
}

/* switch_plan() sends only what changes it. */
static const struct leaves leaves_switch = {
	.cost = "While autoscaling is on, nodes are launched for pending pods. Each node "
		"is billed.",
	.tell = tell,
};

static bool undo(struct step_ctx *c, struct spawn *ret)
{
	if (!step_has_sent(c, "switch_autoscaling"))
		return false;
	ret->kind = "set_autoscaling";
	ret->target = c->target;
	ret->input = json_own(c->arena, json_copy((json_t *)(uintptr_t)c->input));
	json_put_bool(ret->input, "enabled", !autoscaling_enabled(c));
	/* What has come to work by it since was never confirmed to be lost. */
	json_object_set(ret->input, "confirmed", json_new_list(c->arena));
	return true;
}

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	{.name = "check_autoscaling",
	 .phase = "check",
	 .title = "Check the prerequisites and users of autoscaling",
	 .effect = EFFECT_READ,
	 .stakes = true,
	 .observe = autoscaling_check_observe,
	 .seen = read_seen,
	 .plan = autoscaling_check_plan},
	OWNERS_STEP,
	ROLE_STEPS("autoscaling", "roles", &cluster_role),
	ROLE_TRUST_STEP("autoscaling", "roles", &cluster_role),
	{.name = "switch_autoscaling",
	 .phase = "autoscaling",
	 .title = "Update autoscaling",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 2 * 3600,
	 .observe = switch_observe,
	 .seen = read_seen,
	 .plan = switch_plan,
	 .absorb = switch_absorb,
	 .leaves = &leaves_switch},
	{.name = "wait_autoscaling",
	 .phase = "autoscaling",
	 .title = "Wait for the service to apply the change",
	 .effect = EFFECT_READ,
	 .deadline_s = 3600,
	 .observe = wait_observe,
	 .seen = read_seen,
	 .plan = wait_plan,
	 .retry_step = "switch_autoscaling",
	 .wait = &autoscaling_wait},
	{.name = "delete_autoscaling_role",
	 .phase = "roles",
	 .title = "Delete the role for autoscaling",
	 .effect = EFFECT_CONVERGENT,
	 .observe = drop_role_observe,
	 .seen = read_seen,
	 .plan = drop_role_plan,
	 .absorb = removal_absorb,
	 .arg = &removal_role_autoscaling},
	{.name = "finish",
	 .phase = "autoscaling",
	 .title = "Finish",
	 .effect = EFFECT_READ,
	 .plan = finish_plan},
	{.name = NULL},
};

const struct kind kind_set_autoscaling = {
	.name = "set_autoscaling",
	.title = "Update autoscaling",
	.steps = steps,
	.deadline_s = 4 * 3600,
	.locks = lock_cluster,
	.undo = undo,
};
