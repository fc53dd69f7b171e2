/* cloud_site.h - where a HyperPod cluster named "pod" can be made, on the EKS cluster
 * "demo": a stack, a subnet for nodes, a role, scripts in a bucket. */
#ifndef INSTANTSTART_TESTS_UNIT_CLOUD_SITE_H
#define INSTANTSTART_TESTS_UNIT_CLOUD_SITE_H

#include "tests/unit/cloud_lab.h"

static const char trust[] =
	"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{"
	"\"Service\":\"sagemaker.amazonaws.com\"},\"Action\":\"sts:AssumeRole\"}]}";

struct site {
	struct lab l;
	json_t *stack;
	const char *subnet, *role, *bucket;
};

static inline void build(struct site *s, const char *bucket)
{
	struct lab *l = &s->l;
	json_t *out;

	lab_start(l);
	s->stack = lab_stack(l, "demo");
	s->bucket = bucket;
	out = lab_call(l, "ec2", "CreateSubnet", "{s:s,s:s,s:s}", "VpcId",
		       lab_output(s->stack, "VpcId"), "CidrBlock", "10.90.32.0/20",
		       "AvailabilityZone", "us-west-2a");
	s->subnet = json_str_at(out, "Subnet.SubnetId");
	lab_wait(l, 5000);
	lab_call(l, "ec2", "AssociateRouteTable", "{s:s,s:s}", "RouteTableId",
		 lab_output(s->stack, "PrivateRouteTable1Id"), "SubnetId", s->subnet);
	out = lab_call(l, "iam", "CreateRole", "{s:s,s:s}", "RoleName", "nodes",
		       "AssumeRolePolicyDocument", trust);
	s->role = json_str_at(out, "Role.Arn");
	lab_call(l, "s3", "CreateBucket", "{s:s,s:{s:s}}", "Bucket", bucket,
		 "CreateBucketConfiguration", "LocationConstraint", "us-west-2");
	lab_call(l, "s3", "PutObject", "{s:s,s:s,s:s}", "Bucket", bucket, "Key",
		 "lifecycle/on_create.sh", "Body", "#!/bin/bash\nexit 0\n");
	cloud_configure(
		l->cloud,
		json_own(&l->arena, json_pack("{s:{s:i,s:i,s:i}}", "quota", "L-03FD2ADF",
					      8, "L-8762A75F", 4, "L-2CE978FC", 20)));
}

static inline json_t *group(const struct site *s, const char *name, const char *type,
			    int count)
{
	return json_pack("{s:s,s:s,s:i,s:s,s:{s:s+,s:s}}", "InstanceGroupName", name,
			 "InstanceType", type, "InstanceCount", count, "ExecutionRole",
			 s->role, "LifeCycleConfig", "SourceS3Uri",
			 arena_printf((struct arena *)(uintptr_t)&s->l.arena, "s3://%s",
				      s->bucket),
			 "/lifecycle", "OnCreate", "on_create.sh");
}

static inline json_t *request(const struct site *s, json_t *one_group, bool continuous)
{
	json_t *in = json_pack(
		"{s:s,s:{s:{s:s}},s:{s:[s],s:[s]},s:[o],s:s,s:[{s:s,s:s},{s:s,s:s},"
		"{s:s,s:s}]}",
		"ClusterName", "pod", "Orchestrator", "Eks", "ClusterArn",
		lab_output(s->stack, "ClusterArn"), "VpcConfig", "Subnets", s->subnet,
		"SecurityGroupIds", lab_output(s->stack, "SecurityGroupId"),
		"InstanceGroups", one_group, "NodeRecovery", "Automatic", "Tags", "Key",
		"instantstart:cluster", "Value", "demo", "Key",
		"instantstart:installation", "Value", "here", "Key",
		"instantstart:operation", "Value", "op_0");

	if (continuous)
		json_put_str(in, "NodeProvisioningMode", "Continuous");
	return in;
}

/* Of the HyperPod chart; what autoscaling wants to see. */
static inline void put_agent(struct lab *l)
{
	static const char text[] =
		"{\"apiVersion\":\"apps/v1\",\"kind\":\"DaemonSet\",\"metadata\":{\"name\":"
		"\"health-monitoring-agent\",\"namespace\":\"aws-hyperpod\"},\"spec\":{"
		"\"selector\":{\"matchLabels\":{\"app\":\"hma\"}},\"template\":{\"metadata\":{"
		"\"labels\":{\"app\":\"hma\"}},\"spec\":{\"containers\":[{\"name\":\"hma\","
		"\"image\":\"example.com/hyperpod-health-monitoring-agent:1.0.1035.0_1.0.310.0\""
		"}]}}}}";
	struct err e;
	json_t *ns = json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind",
			       "Namespace", "metadata", "name", "aws-hyperpod");

	cloud_kube_put(l->cloud, "demo", ns);
	cloud_kube_put(l->cloud, "demo",
		       json_incref(json_parse(&l->arena, STR(text), &e)));
}

#endif
