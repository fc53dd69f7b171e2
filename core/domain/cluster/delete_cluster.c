/*
 * delete_cluster.c - everything of ours, in the order that works.
 *
 * Load balancers first, while the controller that made them runs; then HyperPod (the
 * service removes its interfaces by the nodes' role), then roles, left-over interfaces
 * and subnets, then the stack, then logs and our objects. Resumable at every row, also
 * after a create that stopped anywhere. The user's data stays: buckets with objects,
 * unless named in the request.
 */
#include <string.h>

#include "core/domain/cluster/balancers.h"
#include "core/domain/cluster/kinds.h"
#include "core/domain/cluster/stack.h"
#include "core/domain/cluster/teardown.h"
#include "core/domain/feature/toggle.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/absent.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* --- the stack ------------------------------------------------------------------------
 */

static bool interfaces_in_vpc(struct step_ctx *c, struct exchange *x)
{
	const char *vpc = stack_output(stack_seen(c), "VpcId");

	if (!vpc)
		vpc = json_str_at(c->data, "eks.vpc_id");
	return vpc && read_all(c, x, "interfaces", AWS_EC2_DescribeNetworkInterfaces,
			       json_packf(c->arena, "{s:[{s:s, s:[s]}]}", "Filters",
					  "Name", "vpc-id", "Values", vpc));
}

static bool stack_observe(struct step_ctx *c, struct exchange *x)
{
	if (stack_read(c, x))
		return true;
	if (!streq(stack_status(c), "DELETE_FAILED"))
		return false;
	return read_all(c, x, "events", AWS_CFN_DescribeStackEvents,
			json_packf(
				c->arena, "{s:s}", "StackName",
				json_str_or(stack_seen(c), "StackId", name_stack(c)))) ||
	       interfaces_in_vpc(c, x);
}

/* The newest failure: earlier ones may have been mended since. */
static const json_t *newest_failure(const json_t *events)
{
	size_t i;
	json_t *e;

	json_array_foreach(events, i, e)
		if (streq(json_str_or(e, "ResourceStatus", ""), "DELETE_FAILED") &&
		    !streq(json_str_or(e, "ResourceType", ""),
			   "AWS::CloudFormation::Stack"))
			return e;
	return NULL;
}

static void stack_blocked(struct step_ctx *c)
{
	const json_t *cause = newest_failure(json_at(saw(c, "events"), "StackEvents"));
	const char *left = interface_names(
		c->arena, json_at(saw(c, "interfaces"), "NetworkInterfaces"));
	struct err *e =
		step_fail(c, ERR_BLOCKED, "The stack %s could not be deleted: %s (%s)",
			  name_stack(c), json_str_or(cause, "LogicalResourceId", "?"),
			  json_str_or(cause, "ResourceStatusReason", "no reason given"));

	err_because(e, json_str_or(cause, "ResourceType", "cloudformation"),
		    "DELETE_FAILED", json_str_at(cause, "ResourceStatusReason"), NULL);
	if (left)
		err_because(e, "ec2:network-interfaces", "", left, NULL);
	err_fix(e, "%s",
		left ? "Remove what uses these network interfaces, then retry."
		     : "Remove what the reason names, then retry.");
}

static void stack_plan(struct step_ctx *c, struct exchange *x)
{
	const char *status = stack_status(c);

	if (stack_refused(c))
		return;
	if (stack_missing(c)) {
		if (!is_absent_twice(c, "cloudformation:stack", name_stack(c),
				     TEARDOWN_SPACING_S, "the stack"))
			return;
		step_own(c, "cloudformation:stack", name_stack(c), NULL, "gone");
		return;
	}
	is_there(c, "cloudformation:stack");
	if (!step_tagged_cluster(c, json_at(stack_seen(c), "Tags"))) {
		teardown_leave_foreign(c, "cloudformation:stack", name_stack(c),
				       json_at(stack_seen(c), "Tags"));
		return;
	}
	/* A call whose outcome nobody told us of has arrived. */
	if (streq(status, "DELETE_IN_PROGRESS") && c->issued_before &&
	    step_count(c, "stack_deletes") == 0)
		step_counted(c, "stack_deletes");
	if (streq(status, "DELETE_IN_PROGRESS") ||
	    strstr(status, "ROLLBACK_IN_PROGRESS")) {
		step_wait(c, 20, "the stack %s in state %s", name_stack(c), status);
		return;
	}
	/* A failed delete is sent again once in every try. */
	if (streq(status, "DELETE_FAILED") && step_count(c, "stack_deletes") > 0) {
		stack_blocked(c);
		return;
	}
	/* A create that is still under way is stopped by the delete. */
	exchange_aws(x, AWS_CFN_DeleteStack,
		     json_packf(c->arena, "{s:s}", "StackName",
				json_str_or(stack_seen(c), "StackId", name_stack(c))));
	x->what = arena_printf(c->arena, "Delete the stack %s: EKS cluster, NAT, network",
			       name_stack(c));
}

static void stack_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok) {
		step_fail_answer(c, a, "the stack %s could not be deleted",
				 name_stack(c));
		return;
	}
	step_counted(c, "stack_deletes");
	teardown_going(c, "the stack", name_stack(c));
}

/* --- the end
 * ---------------------------------------------------------------------------- */

static void finish_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *kept = json_array();

	(void)x;
	if (json_str_at(c->data, "kept_bucket"))
		json_array_append_new(kept,
				      json_sprintf("s3://%s (%s)",
						   json_str_at(c->data, "kept_bucket"),
						   json_str_or(c->data, "kept_because",
							       "holds objects")));
	/* What lived inside the EKS cluster went with it. */
	step_own(c, "kubernetes:%", "*", NULL, "gone");
	step_own(c, "helm:%", "*", NULL, "gone");
	step_own(c, "eks:%", "*", NULL, "gone");
	step_uncatalog(c, "cluster", c->target);
	step_done(c, json_pack("{s:s, s:s, s:o}", "cluster", c->target, "status",
			       "deleted", "kept", kept));
}

/* It stopped on the way: what is left is no cluster in service. */
static void stopped(struct step_ctx *c)
{
	if (step_has_sent_any(c))
		step_catalog(c, "cluster", c->target, NULL,
			     json_pack("{s:s}", "status", "partly_deleted"));
}

static const struct step steps[] = {
	PROTECT_STEP(cluster_protections),
	{.name = "check_buckets",
	 .phase = "check",
	 .title = "Count the objects in the buckets to delete",
	 .effect = EFFECT_READ,
	 .stakes = true,
	 .sees_errors = true,
	 .observe = teardown_contents_observe,
	 .seen = read_seen,
	 .plan = teardown_contents_plan},
	{.name = "check_subnets",
	 .phase = "check",
	 .title = "Check that no other cluster shares the compute subnets",
	 .effect = EFFECT_READ,
	 .stakes = true,
	 .observe = shared_subnets_observe,
	 .seen = read_seen,
	 .plan = shared_subnets_plan},
	{.name = "check_load_balancers",
	 .phase = "check",
	 .title = "Find what uses the network",
	 .effect = EFFECT_READ,
	 .sees_errors = true,
	 .observe = balancers_check_observe,
	 .seen = read_seen,
	 .plan = balancers_check_plan},
	{.name = "delete_load_balancers",
	 .phase = "balancers",
	 .title = "Delete load balancers while their controller is running",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 1800,
	 .sees_errors = true,
	 .observe = balancers_observe,
	 .seen = read_seen,
	 .plan = balancers_plan,
	 .absorb = balancers_absorb,
	 .leaves = &leaves_deletion,
	 .wait = &wait_deletion},
	TEARDOWN_HYPERPOD_STEP,
	TEARDOWN_STEP("delete_interfaces", "network",
		      "Remove remaining network interfaces", teardown_interfaces, NULL),
	{.name = "delete_balancer_groups",
	 .phase = "network",
	 .title = "Delete the security groups of load balancers",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 1800,
	 .sees_errors = true,
	 .observe = balancer_groups_observe,
	 .seen = read_seen,
	 .plan = balancer_groups_plan,
	 .absorb = balancer_groups_absorb,
	 .leaves = &leaves_deletion,
	 .wait = &wait_deletion},
	{.name = "delete_subnets",
	 .phase = "network",
	 .title = "Delete the compute subnets",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 1800,
	 .observe = teardown_subnets_observe,
	 .seen = read_seen,
	 .plan = teardown_subnets_plan,
	 .absorb = teardown_subnets_absorb},
	TEARDOWN_STEP("delete_blocks", "network", "Remove added address blocks",
		      teardown_blocks, NULL),
	{.name = "delete_stack",
	 .phase = "stack",
	 .title = "Delete the stack",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 2 * 3600,
	 .sees_errors = true,
	 .observe = stack_observe,
	 .seen = read_seen,
	 .plan = stack_plan,
	 .absorb = stack_absorb,
	 .leaves = &leaves_deletion,
	 .wait = &wait_deletion},
	TEARDOWN_STEP("delete_nodes_role", "roles", "Delete the nodes' role",
		      removal_role, &removal_role_nodes),
	TEARDOWN_STEP("delete_s3_csi_role", "roles", "Delete the S3 CSI driver's role",
		      removal_role, &removal_role_s3_csi),
	TEARDOWN_STEP("delete_fsx_csi_role", "roles", "Delete the FSx CSI driver's role",
		      removal_role, &removal_role_fsx_csi),
	TEARDOWN_STEP("delete_load_balancers_role", "roles",
		      "Delete the AWS Load Balancer Controller's role", removal_role,
		      &removal_role_load_balancers),
	TEARDOWN_STEP("delete_autoscaling_role", "roles",
		      "Delete the role for autoscaling", removal_role,
		      &removal_role_autoscaling),
	TEARDOWN_STEP("delete_training_role", "roles",
		      "Delete the training operator's role", removal_role,
		      &removal_role_training),
	TEARDOWN_STEP("delete_inference_role", "roles",
		      "Delete the inference operator's role", removal_role,
		      &removal_role_inference),
	TEARDOWN_STEP("delete_inference_scale_role", "roles", "Delete KEDA's role",
		      removal_role, &removal_role_inference_scale),
	TEARDOWN_STEP("delete_inference_load_role", "roles",
		      "Delete the role of the inference operator's load balancers",
		      removal_role, &removal_role_inference_load),
	TEARDOWN_STEP("delete_gated_models_role", "roles",
		      "Delete the role for gated model downloads", removal_role,
		      &removal_role_gated_models),
	TEARDOWN_STEP("delete_identity_provider", "roles", "Delete the identity provider",
		      oidc_remove, NULL),
	{.name = "delete_certificates",
	 .phase = "remains",
	 .title = "Delete the certificates",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 3600,
	 .observe = tls_objects_observe,
	 .seen = read_seen,
	 .plan = tls_objects_plan,
	 .absorb = tls_objects_absorb,
	 .leaves = &leaves_deletion,
	 .wait = &wait_deletion},
	TEARDOWN_STEP("delete_certificate_bucket", "remains",
		      "Delete the certificate bucket", tls_bucket_remove, NULL),
	TEARDOWN_STEP("delete_logs", "remains", "Delete the log groups", teardown_logs,
		      NULL),
	{.name = "delete_objects",
	 .phase = "remains",
	 .title = "Delete the created objects",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 6 * 3600,
	 .observe = teardown_objects_observe,
	 .seen = read_seen,
	 .plan = teardown_objects_plan,
	 .absorb = teardown_objects_absorb},
	{.name = "delete_bucket",
	 .phase = "remains",
	 .title = "Delete the shared bucket if it is empty",
	 .effect = EFFECT_CONVERGENT,
	 .sees_errors = true,
	 .observe = teardown_bucket_observe,
	 .seen = read_seen,
	 .plan = teardown_bucket_plan,
	 .absorb = teardown_bucket_absorb},
	{.name = "finish",
	 .phase = "remains",
	 .title = "Remove the cluster from the catalog",
	 .effect = EFFECT_READ,
	 .plan = finish_plan},
	{.name = NULL},
};

static const struct phase_title phase_titles[] = {
	{"balancers", "Load balancers"},
	{"hyperpod", "HyperPod cluster"},
	{.name = NULL},
};

const struct kind kind_delete_cluster = {
	.name = "delete_cluster",
	.title = "Delete a cluster",
	.steps = steps,
	.phase_titles = phase_titles,
	.deadline_s = 8 * 3600,
	.locks = lock_cluster,
	.no_undo =
		"A deletion cannot be undone. Without undo, it stops where it is, and a "
		"retry continues it.",
	.stopped = stopped,
	.kube_silent_s = 3 * 60,
};
