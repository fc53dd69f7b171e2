/* What EKS puts into the customer's VPC. */
#include "tests/cloud/ec2.h"
#include "tests/cloud/eks/eks.h"

static const char *owner_of(struct arena *a, const char *cluster)
{
	return arena_printf(a, "eks:%s/", cluster);
}

void eks_network_create(struct cloud_call *c, json_t *cluster, const char *vpc)
{
	const char *name = json_str_or(cluster, "name", "");
	const char *mark = arena_printf(c->arena, "kubernetes.io/cluster/%s", name);
	json_t *tags = json_packf(c->arena, "[{s:s,s:s},{s:s,s:s}]", "Key", mark, "Value",
				  "owned", "Key", "aws:eks:cluster-name", "Value", name);
	const char *group = ec2_create_group(
		c->cloud, c->arena, vpc,
		arena_printf(c->arena, "eks-cluster-sg-%s-%s", name,
			     cloud_id(c->cloud, c->arena, "", 9)),
		"EKS created security group applied to ENI that is attached to EKS Control Plane "
		"master nodes, as well as any managed workloads.",
		tags);
	json_t *groups = json_own(
		c->arena,
		json_deep_copy(json_at(cluster, "resourcesVpcConfig.securityGroupIds")));
	size_t i;
	json_t *v;

	json_push(groups, json_string(group));
	json_put_str(cluster, "resourcesVpcConfig.clusterSecurityGroupId", group);
	json_array_foreach(json_at(cluster, "resourcesVpcConfig.subnetIds"), i, v) {
		struct ec2_interface_spec spec = {
			.subnet_id = json_string_value(v),
			.groups = groups,
			.description = arena_printf(c->arena, "Amazon EKS %s", name),
			.owner = owner_of(c->arena, name),
		};

		ec2_create_interface(c->cloud, c->arena, &spec);
	}
}

void eks_network_remove(struct cloud *c, const json_t *cluster)
{
	struct arena a;

	arena_init(&a, 0);
	ec2_delete_interfaces_of(c, owner_of(&a, json_str_or(cluster, "name", "")));
	ec2_delete_group(
		c, json_str_or(cluster, "resourcesVpcConfig.clusterSecurityGroupId", ""));
	arena_free(&a);
}
