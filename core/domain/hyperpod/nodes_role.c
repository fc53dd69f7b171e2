#include "core/domain/hyperpod/nodes_role.h"

#include "core/domain/step/names.h"
#include "core/json/tree.h"

static bool role_is_given(const struct step_ctx *c)
{
	return step_input(c, "execution_role_arn") || json_at(c->data, "model_role");
}

/*
 * The service deletes the nodes' interfaces by this role: without
 * DeleteNetworkInterface a cluster stays in Deleting for ever. It looks at the alarms
 * of a software update by it, too. DescribeInstances, DescribeTags and
 * DescribeInstanceTypes are in AmazonEKS_CNI_Policy, pulls in the registry's policy.
 */
static json_t *nodes_statements(struct step_ctx *c)
{
	const char *bucket = arena_printf(c->arena, "arn:%s:s3:::%s", c->where->partition,
					  name_bucket(c));

	return json_pack(
		"[{s:s, s:[s,s,s,s,s,s,s,s,s,s,s,s,s,s], s:s},"
		" {s:s, s:s, s:o},"
		" {s:s, s:[s,s], s:s},"
		" {s:s, s:[s,s], s:[s,o]}]",
		"Effect", "Allow", "Action", "ec2:AssignPrivateIpAddresses",
		"ec2:AttachNetworkInterface", "ec2:CreateNetworkInterface",
		"ec2:CreateNetworkInterfacePermission", "ec2:DeleteNetworkInterface",
		"ec2:DeleteNetworkInterfacePermission", "ec2:DescribeDhcpOptions",
		"ec2:DescribeNetworkInterfaces", "ec2:DescribeSecurityGroups",
		"ec2:DescribeSubnets", "ec2:DescribeVpcs", "ec2:DetachNetworkInterface",
		"ec2:ModifyNetworkInterfaceAttribute", "ec2:UnassignPrivateIpAddresses",
		"Resource", "*", "Effect", "Allow", "Action", "ec2:CreateTags",
		"Resource",
		json_sprintf("arn:%s:ec2:*:*:network-interface/*", c->where->partition),
		"Effect", "Allow", "Action", "cloudwatch:DescribeAlarms",
		"eks-auth:AssumeRoleForPodIdentity", "Resource", "*", "Effect", "Allow",
		"Action", "s3:GetObject", "s3:ListBucket", "Resource", bucket,
		json_sprintf("%s/clusters/%s/*", bucket, c->target));
}

const struct role_spec nodes_role = {
	.purpose = ROLE_NODES,
	.description = "HyperPod nodes",
	.service = "sagemaker.amazonaws.com",
	.statements = nodes_statements,
	.managed = {"AmazonSageMakerClusterInstanceRolePolicy", "AmazonEKS_CNI_Policy",
		    "AmazonEC2ContainerRegistryReadOnly"},
	.given = role_is_given,
};
