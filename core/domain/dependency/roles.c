/* Least-privilege policies of the controllers that act for pods. */
#include "core/domain/dependency/install.h"
#include "core/json/tree.h"

static bool role_is_unwanted(const struct step_ctx *c)
{
	return !component_wanted(c, component_here(c));
}

/* Buckets are granted one by one, by the storages that mount them. */
static json_t *s3_statements(struct step_ctx *c)
{
	(void)c;
	return json_pack("[{s:s, s:s, s:s}]", "Effect", "Allow", "Action",
			 "s3:ListAllMyBuckets", "Resource", "*");
}

const struct role_spec role_s3_csi = {
	.purpose = ROLE_S3_CSI,
	.description = "Mountpoint for Amazon S3 CSI driver",
	.service = "pods.eks.amazonaws.com",
	.tag_session = true,
	.given = role_is_unwanted,
	.statements = s3_statements,
};

const struct role_spec role_fsx_csi = {
	.purpose = ROLE_FSX_CSI,
	.description = "Amazon FSx CSI driver",
	.service = "pods.eks.amazonaws.com",
	.tag_session = true,
	.given = role_is_unwanted,
	.managed = {"AmazonFSxFullAccess"},
};

/* The controller's own published policy, in groups of actions. */
static json_t *load_balancer_statements(struct step_ctx *c)
{
	json_t *list = json_pack(
		"[{s:s, s:[s,s,s,s,s], s:s}, {s:s, s:[s,s,s,s], s:s},"
		" {s:s, s:[s,s,s,s,s,s], s:s},"
		" {s:s, s:s, s:s, s:{s:{s:s}}}]",
		"Effect", "Allow", "Action", "ec2:Describe*", "ec2:GetCoipPoolUsage",
		"ec2:GetSecurityGroupsForVpc", "elasticloadbalancing:Describe*",
		"acm:ListCertificates", "Resource", "*", "Effect", "Allow", "Action",
		"acm:DescribeCertificate", "wafv2:GetWebACLForResource",
		"wafv2:AssociateWebACL", "wafv2:DisassociateWebACL", "Resource", "*",
		"Effect", "Allow", "Action", "ec2:AuthorizeSecurityGroupIngress",
		"ec2:RevokeSecurityGroupIngress", "ec2:CreateSecurityGroup",
		"ec2:CreateTags", "ec2:DeleteTags", "ec2:DeleteSecurityGroup", "Resource",
		"*", "Effect", "Allow", "Action", "iam:CreateServiceLinkedRole",
		"Resource", "*", "Condition", "StringEquals", "iam:AWSServiceName",
		"elasticloadbalancing.amazonaws.com");

	(void)c;
	json_array_append_new(
		list,
		json_pack("{s:s, s:[s,s,s,s,s,s], s:s}", "Effect", "Allow", "Action",
			  "elasticloadbalancing:Create*", "elasticloadbalancing:Delete*",
			  "elasticloadbalancing:Modify*", "elasticloadbalancing:Set*",
			  "elasticloadbalancing:*Targets", "elasticloadbalancing:*Tags",
			  "Resource", "*"));
	return list;
}

const struct role_spec role_load_balancers = {
	.purpose = ROLE_LOAD_BALANCERS,
	.description = "AWS Load Balancer Controller",
	.service = "pods.eks.amazonaws.com",
	.tag_session = true,
	.given = role_is_unwanted,
	.statements = load_balancer_statements,
};
