/* What can be protected of a cluster that goes: stack, control plane, logs. */
#include "core/domain/cluster/stack.h"
#include "core/domain/cluster/teardown.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static const char *not_read(struct step_ctx *c, const char *key)
{
	if (saw_ok(c, key) || saw_missing(c, key))
		return NULL;
	return saw_why(c, key);
}

/* --- the stack ---------------------------------------------------------------------- */

static const char *stack_holds(struct step_ctx *c)
{
	return !stack_missing(c) &&
			       step_tagged_cluster(c, json_at(stack_seen(c), "Tags")) &&
			       json_bool_or(stack_seen(c), "EnableTerminationProtection",
					    false)
		       ? name_stack(c)
		       : NULL;
}

static const char *stack_unread(struct step_ctx *c)
{
	return stack_missing(c) ? NULL : not_read(c, "stack");
}

static const struct protection stack = {
	"termination protection of the stack",
	stack_read,
	stack_holds,
	stack_unread,
	"Turn it off: aws cloudformation update-termination-protection --stack-name %s "
	"--no-enable-termination-protection.",
	.optional = false};

/* --- the control plane -------------------------------------------------------------- */

static bool eks_read(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "eks", AWS_EKS_DescribeCluster,
			json_packf(c->arena, "{s:s}", "name", eks_name(c)));
}

/* It goes with the stack; somebody else's, which was imported, stays. */
static const char *eks_holds(struct step_ctx *c)
{
	const json_t *cluster = json_at(saw(c, "eks"), "cluster");

	return step_tagged_cluster(c, json_at(stack_seen(c), "Tags")) &&
			       !stack_missing(c) &&
			       json_bool_or(cluster, "deletionProtection", false)
		       ? eks_name(c)
		       : NULL;
}

static const char *eks_unread(struct step_ctx *c)
{
	return not_read(c, "eks");
}

static const struct protection control_plane = {
	"deletion protection of the EKS cluster",
	eks_read,
	eks_holds,
	eks_unread,
	"Turn it off: aws eks update-cluster-config --name %s --no-deletion-protection.",
	.optional = false};

/* --- load balancers ------------------------------------------------------------------
 */

/*
 * The controller cannot delete one that is protected, by whatever hand: an attribute of
 * the load balancer, not always of an annotation. Until it goes the network cannot.
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_LoadBalancerAttribute.html
 */
enum { BALANCERS_MAX = 30 };

static const char *own_vpc(struct step_ctx *c)
{
	return !stack_missing(c) && step_tagged_cluster(c, json_at(stack_seen(c), "Tags"))
		       ? stack_output(stack_seen(c), "VpcId")
		       : NULL;
}

static json_t *balancers_in_vpc(struct step_ctx *c)
{
	json_t *list = json_new_list(c->arena), *b;
	size_t i;

	json_array_foreach(json_at(saw(c, "balancers"), "LoadBalancers"), i, b)
		if (streq(json_str_at(b, "VpcId"), own_vpc(c)))
			json_array_append(list, b);
	return list;
}

/* Of one: what a claim has no room for is not known. */
static bool attributes_read(struct step_ctx *c, struct exchange *x)
{
	const json_t *list = balancers_in_vpc(c);

	for (size_t i = 0; i < json_array_size(list) && i < BALANCERS_MAX; i++) {
		const char *arn = json_str_at(json_array_get(list, i), "LoadBalancerArn");

		if (arn &&
		    read_aws(c, x, arn, AWS_ELB_DescribeLoadBalancerAttributes,
			     json_packf(c->arena, "{s:s}", "LoadBalancerArn", arn)))
			return true;
	}
	return false;
}

static bool balancers_read(struct step_ctx *c, struct exchange *x)
{
	return own_vpc(c) &&
	       (read_all(c, x, "balancers", AWS_ELB_DescribeLoadBalancers, NULL) ||
		attributes_read(c, x));
}

static const char *balancers_hold(struct step_ctx *c)
{
	const json_t *list = balancers_in_vpc(c);
	size_t i;
	json_t *b;

	json_array_foreach(list, i, b) {
		const char *arn = json_str_or(b, "LoadBalancerArn", "");
		const json_t *row = json_find(json_at(saw(c, arn), "Attributes"), "Key",
					      "deletion_protection.enabled");

		if (streq(json_str_at(row, "Value"), "true"))
			return arn;
	}
	return NULL;
}

static const char *balancers_unread(struct step_ctx *c)
{
	const json_t *list = balancers_in_vpc(c);
	size_t i;
	json_t *b;

	if (own_vpc(c) && not_read(c, "balancers"))
		return not_read(c, "balancers");
	if (json_array_size(list) > BALANCERS_MAX)
		return arena_printf(c->arena, "only %d of %zu were read", BALANCERS_MAX,
				    json_array_size(list));
	json_array_foreach(list, i, b) {
		const char *arn = json_str_or(b, "LoadBalancerArn", "");

		if (not_read(c, arn))
			return not_read(c, arn);
	}
	return NULL;
}

static const struct protection load_balancers = {
	"deletion protection of the load balancer",
	balancers_read,
	balancers_hold,
	balancers_unread,
	"Turn it off: aws elbv2 modify-load-balancer-attributes --load-balancer-arn %s "
	"--attributes Key=deletion_protection.enabled,Value=false. If an annotation sets "
	"it, change that first.",
	.optional = true};

/* --- log groups --------------------------------------------------------------------- */

static const char *logs_hold(struct step_ctx *c)
{
	static const char *const keys[] = {"nodes", "plane"};
	size_t i;
	json_t *g;

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
		json_array_foreach(json_at(saw(c, keys[k]), "logGroups"), i, g)
			if (json_bool_or(g, "deletionProtectionEnabled", false))
				return json_str_or(g, "logGroupName", "?");
	return NULL;
}

static const char *logs_unread(struct step_ctx *c)
{
	const char *why = not_read(c, "nodes");

	return why ? why : not_read(c, "plane");
}

static const struct protection log_groups = {
	"deletion protection of the log group",
	teardown_logs_observe,
	logs_hold,
	logs_unread,
	"Turn it off: aws logs put-log-group-deletion-protection --log-group-identifier %s "
	"--no-deletion-protection-enabled.",
	.optional = false};

/* --- policies above our role ----------------------------------------------------------
 */

static const char *const deletions[] = {
	"sagemaker:DeleteCluster", "cloudformation:DeleteStack",
	"eks:DeleteCluster",       "ec2:DeleteSubnet",
	"ec2:DeleteVpc",           "iam:DeleteRole",
};

static bool rights_read(struct step_ctx *c, struct exchange *x)
{
	json_t *names = json_new_list(c->arena);

	for (size_t i = 0; i < sizeof(deletions) / sizeof(deletions[0]); i++)
		json_push(names, json_string(deletions[i]));
	return read_all(c, x, "rights", AWS_IAM_SimulatePrincipalPolicy,
			json_packf(c->arena, "{s:s, s:O}", "PolicySourceArn",
				   c->where->caller_arn, "ActionNames", names));
}

/*
 * Only what no resource and no condition changes: an explicit deny, and what the
 * organization does not allow. An implicit one may be of the resource alone.
 */
static const char *rights_hold(struct step_ctx *c)
{
	size_t i;
	json_t *row;

	json_array_foreach(json_at(saw(c, "rights"), "EvaluationResults"), i, row)
		if (streq(json_str_at(row, "EvalDecision"), "explicitDeny") ||
		    !json_bool_or(row,
				  "OrganizationsDecisionDetail.AllowedByOrganizations",
				  true))
			return json_str_or(row, "EvalActionName", "?");
	return NULL;
}

/* Nobody of that name to simulate is no answer either. */
static const char *rights_unread(struct step_ctx *c)
{
	return saw_ok(c, "rights") ? NULL : saw_why(c, "rights");
}

static const struct protection rights = {
	"a policy that denies the InstantStart role",
	rights_read,
	rights_hold,
	rights_unread,
	"A service control policy or an explicit deny denies %s to the InstantStart "
	"role. Ask its owner to allow it until the deletion is complete.",
	.optional = true};

const struct protection *const cluster_protections[] = {
	&stack, &control_plane, &load_balancers, &log_groups, &rights, NULL};
