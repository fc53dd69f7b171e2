/*
 * create_eks_control_plane.c - one CloudFormation stack becomes a control plane.
 *
 * The stack is the object we own; everything else follows from it. Zones and
 * address blocks are chosen once and frozen in data, so that a repeat sends
 * the same template with the same parameters.
 */
#include <string.h>

#include "core/domain/cluster/check_name.h"
#include "core/domain/cluster/check_version.h"
#include "core/domain/cluster/choose_network.h"
#include "core/domain/cluster/kinds.h"
#include "core/domain/cluster/stack.h"
#include "core/domain/network/given_network.h"
#include "core/domain/network/subnet_role.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/given_role.h"
#include "core/domain/step/leaves.h"
#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/denial.h"
#include "core/op/owner.h"
#include "gen/cloudformation.h"

/* --- a stack that failed before ------------------------------------------ */

static bool stack_observe(struct step_ctx *c, struct exchange *x)
{
	return stack_read(c, x);
}

static bool is_wreck(const char *status)
{
	static const char *const wrecks[] = {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED",
					     "CREATE_FAILED", "DELETE_FAILED", NULL};

	for (size_t i = 0; wrecks[i]; i++)
		if (streq(status, wrecks[i]))
			return true;
	return false;
}

/* A rolled-back stack keeps its name and can only be deleted. */
static void clear_wreck_plan(struct step_ctx *c, struct exchange *x)
{
	const char *status = stack_status(c);

	if (stack_refused(c) || stack_missing(c))
		return;
	if (streq(status, "DELETE_IN_PROGRESS") ||
	    streq(status, "ROLLBACK_IN_PROGRESS")) {
		step_wait(c, 15, "the earlier stack %s in state %s", name_stack(c),
			  status);
		return;
	}
	if (!is_wreck(status))
		return;
	exchange_aws(x, AWS_CFN_DeleteStack,
		     json_packf(c->arena, "{s:s}", "StackName",
				json_str_or(stack_seen(c), "StackId", name_stack(c))));
	x->what = arena_printf(c->arena, "Delete the failed stack %s", name_stack(c));
}

static void clear_wreck_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok)
		step_fail_answer(c, a, "the failed stack %s could not be deleted",
				 name_stack(c));
	else
		step_wait(c, 10, "the failed stack %s to be deleted", name_stack(c));
}

/* --- the stack ----------------------------------------------------------- */

static void param(json_t *list, const char *key, const char *value)
{
	if (value && value[0])
		json_array_append_new(list, json_pack("{s:s, s:s}", "ParameterKey", key,
						      "ParameterValue", value));
}

static json_t *stack_parameters(struct step_ctx *c)
{
	json_t *list = json_new_list(c->arena);
	const json_t *n = json_at(c->data, "network");

	param(list, "ClusterName", c->target);
	param(list, "KubernetesVersion", step_get(c, "kubernetes_version"));
	param(list, "ExistingClusterRoleArn", step_input(c, "cluster_role_arn"));
	param(list, "ManagerArn", step_input(c, "manager_arn"));
	param(list, "PermissionsBoundary", step_input(c, "permissions_boundary"));
	if (json_at(n, "vpc_id")) {
		param(list, "ExistingVpcId", json_str_at(n, "vpc_id"));
		param(list, "ExistingSubnet1Id", json_str_at(n, "subnet_ids.0"));
		param(list, "ExistingSubnet2Id", json_str_at(n, "subnet_ids.1"));
		return list;
	}
	param(list, "VpcCidr", json_str_at(n, "vpc_cidr"));
	param(list, "AvailabilityZone1", json_str_at(n, "zones.0"));
	param(list, "AvailabilityZone2", json_str_at(n, "zones.1"));
	param(list, "PublicSubnet1Cidr", json_str_at(n, "public1"));
	param(list, "PublicSubnet2Cidr", json_str_at(n, "public2"));
	param(list, "PrivateSubnet1Cidr", json_str_at(n, "private1"));
	param(list, "PrivateSubnet2Cidr", json_str_at(n, "private2"));
	return list;
}

static void create_stack_plan(struct step_ctx *c, struct exchange *x)
{
	if (stack_refused(c))
		return;
	if (stack_seen(c) && !stack_missing(c)) {
		if (!step_tagged_ours(c, json_at(stack_seen(c), "Tags"))) {
			struct err *e = step_fail(
				c, ERR_FOREIGN_OBJECT,
				"A stack named %s exists and does not belong to "
				"InstantStart",
				name_stack(c));
			owner_tell(c, e, json_at(stack_seen(c), "Tags"));
			err_fix(e, "Choose another name for the cluster.");
			return;
		}
		step_own(c, "cloudformation:stack", name_stack(c),
			 json_str_at(stack_seen(c), "StackId"), "made");
		return;
	}
	exchange_aws(x, AWS_CFN_CreateStack,
		     json_packf(c->arena, "{s:s, s:s, s:O, s:[s], s:O, s:s}", "StackName",
				name_stack(c), "TemplateBody", CFN_EKS_CONTROL_PLANE,
				"Parameters", stack_parameters(c), "Capabilities",
				"CAPABILITY_IAM", "Tags", step_tags(c), "OnFailure",
				"ROLLBACK"));
	x->what = arena_printf(
		c->arena, "Create the stack %s: VPC, subnets, NAT, roles, EKS cluster %s",
		name_stack(c), c->target);
}

static void create_stack_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "AlreadyExistsException")) {
		step_wait(c, 5, "the existing stack %s to be checked", name_stack(c));
		return;
	}
	if (!a->ok) {
		step_fail_answer(c, a, "the stack %s was rejected", name_stack(c));
		return;
	}
	step_own(c, "cloudformation:stack", name_stack(c), json_str_at(a->out, "StackId"),
		 "made");
	step_save_str(c, "stack_id", json_str_at(a->out, "StackId"));
	step_advance(c);
}

/* --- until it stands ------------------------------------------------------ */

/* Also when somebody has updated it since. */
static bool stack_stands(const char *status)
{
	return streq(status, "CREATE_COMPLETE") || streq(status, "UPDATE_COMPLETE") ||
	       streq(status, "UPDATE_ROLLBACK_COMPLETE");
}

static bool wait_stack_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in = json_packf(c->arena, "{s:s}", "StackName",
				json_str_or(stack_seen(c), "StackId", name_stack(c)));

	if (stack_read(c, x))
		return true;
	if (stack_missing(c) || stack_stands(stack_status(c)))
		return false;
	if (str_starts(stack_status(c), "ROLLBACK") || strstr(stack_status(c), "FAILED"))
		return read_all(c, x, "events", AWS_CFN_DescribeStackEvents, in);
	return read_aws(c, x, "resources", AWS_CFN_DescribeStackResources, in);
}

static void stack_failed(struct step_ctx *c)
{
	const json_t *first =
		stack_first_failure(json_at(saw(c, "events"), "StackEvents"));
	const char *logical = json_str_or(first, "LogicalResourceId", "");
	const char *reason = json_str_or(first, "ResourceStatusReason", "");
	struct err *e =
		step_fail(c, ERR_STACK_FAILED, "The stack %s failed at %s: %s",
			  name_stack(c), logical[0] ? logical : "an unnamed resource",
			  reason[0] ? reason : stack_status(c));

	err_because(e, json_str_or(first, "ResourceType", "cloudformation"),
		    json_str_or(first, "ResourceStatus", stack_status(c)), reason, NULL);
	choose_network_refused(c, reason);
	err_fix(e,
		"Resolve the cause, then retry the operation. The failed stack is deleted "
		"and created again, with newly chosen zones and address blocks.");
	denial_explain(e, reason, c->arena);
}

static void save_outputs(struct step_ctx *c, const json_t *stack)
{
	static const char *const outputs[][2] = {
		{"VpcId", "vpc_id"},
		{"SecurityGroupId", "security_group_id"},
		{"ControlPlaneSubnetIds", "control_plane_subnet_ids"},
		{"ClusterArn", "cluster_arn"},
		{"ClusterRoleArn", "cluster_role_arn"},
		{"PrivateRouteTable1Id", "private_route_table_1"},
		{"PrivateRouteTable2Id", "private_route_table_2"},
	};

	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		step_save_str(c, arena_printf(c->arena, "stack.%s", outputs[i][1]),
			      stack_output(stack, outputs[i][0]));
}

static void wait_stack_plan(struct step_ctx *c, struct exchange *x)
{
	const char *status = stack_status(c);

	(void)x;
	if (c->planning || stack_refused(c))
		return;
	if (stack_stands(status)) {
		save_outputs(c, stack_seen(c));
		return;
	}
	if (streq(status, "ROLLBACK_IN_PROGRESS")) {
		const json_t *first =
			stack_first_failure(json_at(saw(c, "events"), "StackEvents"));
		step_wait(c, 15, "the stack to roll back after %s failed: %s",
			  json_str_or(first, "LogicalResourceId", "a resource"),
			  json_str_or(first, "ResourceStatusReason", "no reason given"));
		return;
	}
	if (str_starts(status, "ROLLBACK") || strstr(status, "FAILED")) {
		stack_failed(c);
		return;
	}
	step_wait(
		c, 20, "the stack %s: %s", name_stack(c),
		stack_progress(c->arena, json_at(saw(c, "resources"), "StackResources")));
}

/* --- the API answers us ---------------------------------------------------- */

static bool api_observe(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "api",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "v1",
						.plural = "namespaces",
						.limit = 10});
}

static void api_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (c->planning)
		return;
	if (saw_ok(c, "api")) {
		step_catalog(c, "cluster", c->target, NULL,
			     json_pack("{s:s, s:O, s:O}", "status", "control_plane_ready",
				       "eks", json_at(c->data, "eks"), "stack",
				       json_at(c->data, "stack")));
		step_done(c, json_pack("{s:s, s:s, s:s*, s:s*}", "cluster", c->target,
				       "eks_arn", step_get(c, "eks.arn"), "vpc_id",
				       step_get(c, "eks.vpc_id"), "endpoint",
				       step_get(c, "eks.endpoint")));
		return;
	}
	/* The access entry of a new cluster works after some seconds. */
	step_wait(c, 5, "access to the Kubernetes API of %s (%s)", c->target,
		  saw_why(c, "api"));
}

static bool tell_stack(struct step_ctx *c, json_t *row)
{
	json_put_str(row, "object", name_stack(c));
	step_stop(row, "delete_cluster", json_pack("{s:s}", "cluster", c->target));
	return true;
}

static const struct leaves leaves_stack = {
	.cost = "The control plane and the NAT gateway are billed per hour while they "
		"exist.",
	.tell = tell_stack,
};

/* The stack of ours, or another that took its name. */
static const char *stack_moved(struct step_ctx *c)
{
	const char *made = json_str_at(c->data, "stack_id");
	const char *status = stack_status(c);

	/* One whose deletion has failed is still there, and billed. */
	if (stack_missing(c) ||
	    (str_starts(status, "DELETE_") && !streq(status, "DELETE_FAILED")))
		step_gone(c, name_stack(c));
	if (stack_missing(c))
		return arena_printf(c->arena,
				    "the stack %s was deleted outside InstantStart",
				    name_stack(c));
	if (!stack_seen(c))
		return NULL;
	if (made && !streq(made, json_str_or(stack_seen(c), "StackId", made)))
		return arena_printf(c->arena,
				    "the stack %s was replaced outside InstantStart by "
				    "another of the same name",
				    name_stack(c));
	if (str_starts(status, "DELETE_"))
		return arena_printf(
			c->arena,
			"the stack %s is being deleted outside InstantStart (%s)",
			name_stack(c), status);
	return NULL;
}

static const struct wait stack_wait = {
	.rule = "A stack has no time limit by default. An EKS control plane takes 8 to "
		"20 minutes",
	.moved = stack_moved,
};

static bool undo(struct step_ctx *c, struct spawn *ret)
{
	if (!step_has_sent(c, "create_stack"))
		return false;
	ret->kind = "delete_cluster";
	ret->target = c->target;
	ret->input = json_new_object(c->arena);
	if (json_object_get(c->input, "cluster"))
		json_object_set(ret->input, "cluster",
				json_object_get(c->input, "cluster"));
	return true;
}

static const struct step steps[] = {
	{.name = "check_name",
	 .phase = "check",
	 .title = "Check that the name is free",
	 .effect = EFFECT_READ,
	 .check = true,
	 .sees_errors = true,
	 .observe = control_plane_name_observe,
	 .seen = read_seen,
	 .plan = control_plane_name_plan},
	{.name = "check_version",
	 .phase = "check",
	 .title = "Check that EKS offers the Kubernetes version",
	 .effect = EFFECT_READ,
	 .check = true,
	 .sees_silence = true,
	 .sees_errors = true,
	 .observe = check_version_observe,
	 .seen = read_seen,
	 .plan = check_version_plan},
	GIVEN_NETWORK_STEP(NULL),
	{.name = "choose_network",
	 .phase = "check",
	 .title = "Choose zones and address blocks",
	 .effect = EFFECT_READ,
	 .observe = choose_network_observe,
	 .seen = read_seen,
	 .plan = choose_network_plan,
	 .choice = "network"},
	GIVEN_ROLE_STEP("check_cluster_role", "Check the role of the control plane",
			&given_role_control_plane, NULL),
	SUBNET_ROLE_STEP("check"),
	{.name = "clear_failed_stack",
	 .phase = "stack",
	 .title = "Remove the stack of an earlier failed attempt",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 3600,
	 .sees_errors = true,
	 .observe = stack_observe,
	 .seen = read_seen,
	 .plan = clear_wreck_plan,
	 .absorb = clear_wreck_absorb,
	 .leaves = &leaves_deletion,
	 .wait = &wait_deletion},
	{.name = "create_stack",
	 .phase = "stack",
	 .title = "Create the stack",
	 .effect = EFFECT_TOKEN,
	 .sees_errors = true,
	 .observe = stack_observe,
	 .seen = read_seen,
	 .plan = create_stack_plan,
	 .absorb = create_stack_absorb,
	 .leaves = &leaves_stack,
	 .retry_step = "choose_network"},
	{.name = "wait_stack",
	 .phase = "stack",
	 .title = "Wait for the stack to complete",
	 .effect = EFFECT_READ,
	 .deadline_s = 5400,
	 .sees_errors = true,
	 .observe = wait_stack_observe,
	 .seen = read_seen,
	 .plan = wait_stack_plan,
	 .retry_step = "choose_network",
	 .wait = &stack_wait},
	EKS_ACCESS_STEP,
	{.name = "wait_api",
	 .phase = "access",
	 .title = "Wait for access to the Kubernetes API",
	 .effect = EFFECT_READ,
	 .deadline_s = 900,
	 .sees_errors = true,
	 .observe = api_observe,
	 .seen = read_seen,
	 .plan = api_plan,
	 .wait = &wait_kubernetes},
	{.name = NULL},
};

const struct kind kind_create_eks_control_plane = {
	.name = "create_eks_control_plane",
	.title = "Create an EKS control plane",
	.steps = steps,
	.deadline_s = 3 * 3600,
	.locks = lock_cluster,
	.undo = undo,
};
