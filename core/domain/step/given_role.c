/*
 * The refusal would come after network and scripts are made, in words that also fit a
 * role that is too young; and a right that is missing shows on nodes that never join.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites-iam.html
 */
#include "core/domain/step/given_role.h"

#include <string.h>

#include "core/aws/simulate.h"
#include "core/base/listing.h"
#include "core/domain/step/names.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/rights.h"

/* --- what roles must be allowed -------------------------------------------------------
 */

/* As AmazonEKS_CNI_Policy, the registry's policy and nodes_role.c give it to ours. */
static const struct role_need nodes_needs[] = {
	{"ec2:CreateNetworkInterface ec2:CreateNetworkInterfacePermission "
	 "ec2:DeleteNetworkInterface ec2:DeleteNetworkInterfacePermission "
	 "ec2:AttachNetworkInterface ec2:DetachNetworkInterface "
	 "ec2:ModifyNetworkInterfaceAttribute ec2:AssignPrivateIpAddresses "
	 "ec2:UnassignPrivateIpAddresses",
	 "arn:{p}:ec2:{r}:{a}:network-interface/*"},
	{"ec2:DescribeNetworkInterfaces ec2:DescribeVpcs ec2:DescribeDhcpOptions "
	 "ec2:DescribeSubnets ec2:DescribeSecurityGroups ec2:DescribeInstances "
	 "ec2:DescribeInstanceTypes ec2:DescribeTags",
	 "*"},
	{"ecr:GetAuthorizationToken", "*"},
	{"ecr:BatchCheckLayerAvailability ecr:GetDownloadUrlForLayer ecr:BatchGetImage",
	 "arn:{p}:ecr:{r}:{a}:repository/*"},
	{"eks-auth:AssumeRoleForPodIdentity", "arn:{p}:eks:{r}:{a}:cluster/{eks}"},
	{"s3:ListBucket", "arn:{p}:s3:::{bucket}"},
	{"s3:GetObject", "arn:{p}:s3:::{bucket}/*"},
	{.actions = NULL}};

const struct given_role given_role_nodes = {
	.member = "execution_role_arn",
	.of_group = "group_role",
	.what = "execution role",
	.service = "sagemaker.amazonaws.com",
	.who = "SageMaker",
	.needs = nodes_needs,
	.policies = "AmazonSageMakerClusterInstanceRolePolicy, AmazonEKS_CNI_Policy and "
		    "AmazonEC2ContainerRegistryReadOnly",
};

/* The least that EKS names for a role of one's own.
 * https://docs.aws.amazon.com/eks/latest/userguide/cluster-iam-role.html */
static const struct role_need control_plane_needs[] = {
	{"ec2:DescribeInstances ec2:DescribeNetworkInterfaces ec2:DescribeVpcs "
	 "ec2:DescribeDhcpOptions ec2:DescribeAvailabilityZones",
	 "*"},
	{.actions = NULL}};

const struct given_role given_role_control_plane = {
	.member = "cluster_role_arn",
	.what = "cluster role",
	.service = "eks.amazonaws.com",
	.who = "EKS",
	.needs = control_plane_needs,
	.policies = "AmazonEKSClusterPolicy",
};

/* As set_autoscaling.c gives it to ours. */
static const struct role_need autoscaling_needs[] = {
	{"sagemaker:BatchAddClusterNodes sagemaker:BatchDeleteClusterNodes",
	 "arn:{p}:sagemaker:{r}:{a}:cluster/*"},
	{.actions = NULL}};

const struct given_role given_role_autoscaling = {
	.what = "cluster role",
	.service = "hyperpod.sagemaker.amazonaws.com",
	.who = "HyperPod",
	.needs = autoscaling_needs,
	.policies = "a policy with sagemaker:BatchAddClusterNodes and "
		    "sagemaker:BatchDeleteClusterNodes",
};

/* --- whom it trusts
 * ---------------------------------------------------------------------- */

static const char *first_principal(struct step_ctx *c, const json_t *role)
{
	const char *text = json_str_at(role, "AssumeRolePolicyDocument");
	struct err ignored;
	const json_t *doc = text ? json_parse(c->arena, str_of(text), &ignored) : NULL;
	const json_t *service = json_at(doc, "Statement.0.Principal.Service");

	if (json_is_array(service))
		return json_str_at(service, "0");
	return json_string_value(service);
}

const char *role_trusts(struct step_ctx *c, const json_t *role, const char *service)
{
	const char *text = json_str_or(role, "AssumeRolePolicyDocument", "");
	const char *seen;

	/* Not as a part of a longer name: "hyperpod.sagemaker.amazonaws.com". */
	for (const char *p = strstr(text, service); p; p = strstr(p + 1, service))
		if (p == text || (p[-1] != '.' && p[-1] != '-'))
			return NULL;
	seen = first_principal(c, role);
	return seen ? seen : "no known principal";
}

/* --- what it may do
 * ---------------------------------------------------------------------- */

/* The bucket of the nodes' scripts: the caller's, or ours. */
static const char *bucket(const struct step_ctx *c)
{
	const char *uri = step_input(c, "lifecycle_s3_uri");
	struct str rest = str_of(uri ? uri + strlen("s3://") : NULL);

	return uri ? str_dup(c->arena, str_cut(&rest, '/')) : name_bucket(c);
}

static const char *meaning(const struct step_ctx *c, char which)
{
	const char *eks;

	switch (which) {
	case 'p':
		return c->where->partition;
	case 'r':
		return c->where->region;
	case 'a':
		return c->where->account;
	case 'b':
		return bucket(c);
	default:
		eks = step_input(c, "eks_name");
		return eks ? eks : c->target;
	}
}

static const char *resource_of(const struct step_ctx *c, const struct role_need *n)
{
	enum { LONGEST = 2048 };
	struct buf b;

	buf_init(&b, c->arena, LONGEST);
	for (const char *p = n->resource; *p; p++) {
		if (*p != '{') {
			buf_add(&b, p, 1);
			continue;
		}
		buf_adds(&b, meaning(c, p[1]));
		p = strchr(p, '}');
	}
	return buf_cstr(&b);
}

static json_t *actions_of(const struct step_ctx *c, const struct role_need *n)
{
	struct str rest = str_of(n->actions);
	json_t *list = json_new_list(c->arena);

	while (rest.n > 0)
		json_array_append_new(
			list, json_string(str_dup(c->arena, str_cut(&rest, ' '))));
	return list;
}

static const char *key_of(const struct step_ctx *c, const struct given_role *g,
			  const struct role_need *n)
{
	return arena_printf(c->arena, "may_%zu", (size_t)(n - g->needs));
}

bool given_role_read(struct step_ctx *c, struct exchange *x, const struct given_role *g,
		     const char *arn)
{
	for (const struct role_need *n = g->needs; n->actions; n++) {
		const json_t *on = json_packf(c->arena, "[s]", resource_of(c, n));

		if (!read_all(c, x, key_of(c, g, n), AWS_IAM_SimulatePrincipalPolicy,
			      simulate_input(c->arena, arn, actions_of(c, n), on, NULL)))
			continue;
		x->may_fail = true;
		return true;
	}
	return false;
}

static void judge(struct step_ctx *c, const struct role_need *n, const json_t *out,
		  struct listing *lacks, struct listing *unknown)
{
	json_t *actions = actions_of(c, n), *one;
	size_t i;

	json_array_foreach(actions, i, one) {
		const char *action = json_string_value(one);
		struct right_verdict v =
			simulate_verdict(out, action, resource_of(c, n), c->arena);

		if (v.word == RIGHT_DENIED)
			listing_add(lacks, "%s (%s)", action, v.why);
		else if (v.word == RIGHT_NOT_KNOWN)
			listing_add(unknown, "%s (%s)", action, v.why);
	}
}

const char *given_role_lacks(struct step_ctx *c, const struct given_role *g,
			     const char *arn)
{
	struct listing lacks = listing_new(c->arena, ", ", LISTING_LONG);
	struct listing unknown = listing_new(c->arena, ", ", LISTING_LONG);

	for (const struct role_need *n = g->needs; n->actions; n++) {
		const char *key = key_of(c, g, n);

		if (saw_ok(c, key)) {
			judge(c, n, saw(c, key), &lacks, &unknown);
			continue;
		}
		step_not_known(c, "role_rights",
			       "the permissions of the %s %s could not be checked (%s)",
			       g->what, arn, saw_why(c, key));
		break;
	}
	if (unknown.n)
		step_not_known(c, "role_rights", "whether the %s %s is allowed %s",
			       g->what, arn, listing_text(&unknown));
	return lacks.n ? listing_text(&lacks) : NULL;
}

/* --- the check
 * --------------------------------------------------------------------------- */

static const struct given_role *given(const struct step_ctx *c)
{
	return c->step->arg;
}

static bool is_given(const struct step_ctx *c)
{
	return step_input(c, given(c)->member) != NULL;
}

static const char *arn_of(const struct step_ctx *c)
{
	const struct given_role *g = given(c);

	if (is_given(c) || !g->of_group)
		return step_input(c, g->member);
	return json_str_at(c->data, g->of_group);
}

bool given_role_observe(struct step_ctx *c, struct exchange *x)
{
	const char *arn = arn_of(c), *slash = arn ? strrchr(arn, '/') : NULL;
	const json_t *role;

	if (!slash)
		return false;
	if (read_aws(c, x, "given_role", AWS_IAM_GetRole,
		     json_packf(c->arena, "{s:s}", "RoleName", slash + 1)))
		return true;
	role = json_at(saw(c, "given_role"), "Role");
	return role && is_given(c) && !role_trusts(c, role, given(c)->service) &&
	       given_role_read(c, x, given(c), arn);
}

static void refuse_rights(struct step_ctx *c, const char *arn, const char *lacks)
{
	const struct given_role *g = given(c);
	struct err *e;

	if (json_bool_or(c->input, RIGHTS_ACCEPT, false)) {
		step_warn(c, "The %s %s is not allowed %s", g->what, arn, lacks);
		return;
	}
	e = step_fail(c, ERR_INVALID_INPUT, "The %s %s is not allowed %s", g->what, arn,
		      lacks);
	err_field(e, arena_printf(c->arena, "/%s", g->member), arn,
		  "a role with the permissions listed in the fix");
	err_fix(e,
		"Attach %s to the role, or allow these actions in its own policy. If a policy "
		"that IAM cannot simulate allows them, set " RIGHTS_ACCEPT " to true.",
		g->policies);
}

static void refuse_missing(struct step_ctx *c, const char *arn, const char *field)
{
	const struct given_role *g = given(c);
	const bool is_new = is_given(c);
	struct err *e = step_fail(c, is_new ? ERR_INVALID_INPUT : ERR_STATE_CONFLICT,
				  "There is no role %s", arn);

	err_field(e, field, arn,
		  is_new ? "an existing role of this account. Default: a new role"
			 : "the role of the group's nodes");
	if (!is_new)
		err_fix(e,
			"Nodes start with this role. Create it again with the same name, a trust policy for %s, and its earlier policies.",
			g->service);
}

static void refuse_trust(struct step_ctx *c, const char *arn, const char *field,
			 const char *trusts)
{
	const struct given_role *g = given(c);
	struct err *e =
		step_fail(c, is_given(c) ? ERR_INVALID_INPUT : ERR_STATE_CONFLICT,
			  "The role %s trusts %s, not %s", arn, trusts, g->service);

	err_field(e, field, arn,
		  arena_printf(c->arena, "a role that %s can assume", g->who));
	err_fix(e, "Add %s to the role's trust policy (sts:AssumeRole).", g->service);
}

void given_role_plan(struct step_ctx *c, struct exchange *x)
{
	const struct given_role *g = given(c);
	const char *arn = arn_of(c), *trusts, *lacks;
	const json_t *role = json_at(saw(c, "given_role"), "Role");
	const char *field = is_given(c) ? arena_printf(c->arena, "/%s", g->member) : "";

	(void)x;
	if (!arn)
		return;
	if (saw_missing(c, "given_role")) {
		refuse_missing(c, arn, field);
		return;
	}
	if (!role) {
		step_not_known(c, "role", "the role %s could not be read (%s)", arn,
			       saw_why(c, "given_role"));
		return;
	}
	trusts = role_trusts(c, role, g->service);
	if (trusts) {
		refuse_trust(c, arn, field, trusts);
		return;
	}
	lacks = is_given(c) ? given_role_lacks(c, g, arn) : NULL;
	if (lacks)
		refuse_rights(c, arn, lacks);
}
