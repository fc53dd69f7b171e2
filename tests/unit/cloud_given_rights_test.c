/* Roles that the caller brings are judged by what they may do, not by their trust alone.
 */
#include "tests/unit/cloud_rights_world.h"

#define NODES_TRUST                                                                       \
	"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":" \
	"{\"Service\":[\"sagemaker.amazonaws.com\",\"eks.amazonaws.com\"]},\"Action\":"   \
	"\"sts:AssumeRole\"}]}"

static const char *const node_policies[] = {"AmazonSageMakerClusterInstanceRolePolicy",
					    "AmazonEKS_CNI_Policy",
					    "AmazonEC2ContainerRegistryReadOnly"};
/* What AWS's own set-up puts beside its managed policies. */
static const char node_inline[] =
	"{'Statement':[{'Effect':'Allow','Resource':'*','Action':["
	"'ec2:CreateNetworkInterfacePermission','ec2:DeleteNetworkInterfacePermission',"
	"'ec2:DescribeVpcs','ec2:DescribeDhcpOptions','ec2:DescribeSecurityGroups',"
	"'eks-auth:AssumeRoleForPodIdentity']}]}";

static void attach(const char *role, const char *policy)
{
	lab_call(&w.s.l, "iam", "AttachRolePolicy", "{s:s,s:s+}", "RoleName", role,
		 "PolicyArn", "arn:aws:iam::aws:policy/", policy);
}

static void bring_role(const char *name)
{
	lab_call(&w.s.l, "iam", "CreateRole", "{s:s,s:s}", "RoleName", name,
		 "AssumeRolePolicyDocument", NODES_TRUST);
	for (size_t i = 0; i < sizeof(node_policies) / sizeof(node_policies[0]); i++)
		attach(name, node_policies[i]);
	lab_call(&w.s.l, "iam", "PutRolePolicy", "{s:s,s:s,s:s}", "RoleName", name,
		 "PolicyName", "more", "PolicyDocument",
		 json_text(&trial, tree(node_inline)));
}

static struct scene with_role(const char *kind, const char *input)
{
	return (struct scene){kind, "demo", input, false};
}

#define GIVEN                                                                            \
	"'execution_role_arn':'arn:aws:iam::111122223333:role/theirs'," POD "," NODES

Test(given_rights, a_given_role_has_what_aws_policies_give_or_the_plan_says_what_lacks)
{
	const struct scene whole = with_role("add_instance_group", "{" GIVEN "}"),
			   insists = with_role("add_instance_group",
					       "{" GIVEN ",'" RIGHTS_ACCEPT "':true}");
	json_t *out = NULL;
	struct err e = {0};

	world_up();
	bind(NULL);
	bring_role("theirs");
	cr_assert(plan(&whole, &out, &e), "%s / %s", e.detail, e.fix);
	for (size_t i = 0; i < sizeof(node_policies) / sizeof(node_policies[0]); i++) {
		lab_call(&w.s.l, "iam", "DetachRolePolicy", "{s:s,s:s+}", "RoleName",
			 "theirs", "PolicyArn", "arn:aws:iam::aws:policy/",
			 node_policies[i]);
		err_clear(&e);
		cr_assert_not(plan(&whole, &out, &e), "without %s", node_policies[i]);
		cr_expect_eq(e.code, ERR_INVALID_INPUT);
		cr_expect_str_eq(e.field, "/execution_role_arn");
		cr_expect(strstr(e.detail, "is not allowed") &&
				  strstr(e.fix, node_policies[i]),
			  "%s / %s", e.detail, e.fix);
		cr_assert(plan(&insists, &out, &e), "%s", e.detail);
		cr_expect(strstr(json_text(&trial, json_at(out, "warnings")),
				 "role/theirs is not allowed"));
		attach("theirs", node_policies[i]);
	}
	/* Its boundary bounds it. */
	lab_call(&w.s.l, "iam", "PutRolePermissionsBoundary", "{s:s,s:s}", "RoleName",
		 "theirs", "PermissionsBoundary",
		 "arn:aws:iam::aws:policy/AmazonEC2FullAccess");
	cr_assert_not(plan(&whole, &out, &e));
	cr_expect(strstr(e.detail, "permissions boundary"), "%s", e.detail);
	/* Not told: said, and no fault. */
	bind("iam:SimulatePrincipalPolicy");
	cr_assert(plan(&whole, &out, &e), "%s", e.detail);
	cr_expect(strstr(json_text(&trial, json_at(out, "warnings")),
			 "role/theirs could not be checked"));
	world_down();
}

Test(given_rights, a_given_role_of_the_control_plane_too)
{
	const struct scene plane = {"create_eks_control_plane", "fresh",
				    "{'kubernetes_version':'1.33','cluster_role_arn':"
				    "'arn:aws:iam::111122223333:role/theirs'}",
				    false};
	json_t *out = NULL;
	struct err e = {0};

	world_up();
	bind(NULL);
	lab_call(&w.s.l, "iam", "CreateRole", "{s:s,s:s}", "RoleName", "theirs",
		 "AssumeRolePolicyDocument", NODES_TRUST);
	cr_assert_not(plan(&plane, &out, &e));
	cr_expect_str_eq(e.field, "/cluster_role_arn");
	cr_expect(strstr(e.detail, "ec2:DescribeInstances") &&
			  strstr(e.fix, "AmazonEKSClusterPolicy"),
		  "%s / %s", e.detail, e.fix);
	attach("theirs", "AmazonEKSClusterPolicy");
	/* The printed policy passes roles of ours to EKS, and no others. */
	cr_assert_not(plan(&plane, &out, &e));
	cr_expect(strstr(e.fix, "Allow iam:PassRole on "
				"arn:aws:iam::111122223333:role/theirs to"),
		  "%s", e.fix);
	cloud_configure(w.s.l.cloud, json_packf(&trial, "{s:{s:n}}", "policies", key));
	cr_assert(plan(&plane, &out, &e), "%s / %s", e.detail, e.fix);
	world_down();
}

/* Made by others, and adopted. */
Test(given_rights, a_cluster_role_of_others_that_autoscaling_goes_on_with)
{
	const struct scene adopts = with_role(
		"set_autoscaling",
		"{" POD ",'feature':'autoscaling','enabled':true,'adopt':true}");
	json_t *out = NULL;
	struct err e = {0};

	world_up();
	lab_call(&w.s.l, "iam", "CreateRole", "{s:s,s:s}", "RoleName", "theirs",
		 "AssumeRolePolicyDocument",
		 "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\","
		 "\"Principal\":{\"Service\":\"hyperpod.sagemaker.amazonaws.com\"},"
		 "\"Action\":\"sts:AssumeRole\"}]}");
	json_put_str(cloud_get(w.s.l.cloud, "sagemaker.cluster", "pod"), "ClusterRole",
		     "arn:aws:iam::111122223333:role/theirs");
	cr_assert_not(plan(&adopts, &out, &e));
	cr_expect(strstr(e.detail, "sagemaker:BatchAddClusterNodes"), "%s", e.detail);
	attach("theirs", "AmazonSageMakerFullAccess");
	cr_assert(plan(&adopts, &out, &e), "%s / %s", e.detail, e.fix);
	world_down();
}
