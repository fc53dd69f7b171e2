#include "tests/cloud/authorize.h"

#include <string.h>

#include "tests/cloud/core.h"
#include "tests/cloud/sagemaker/sagemaker.h"

/* One call, and the first right that it lacks. */
struct question {
	struct cloud *c;
	struct arena *a;
	const json_t *policy, *in;
	const char *service, *op;
	const char *action, *resource; /* what is lacking; NULL: nothing */
};

static void need(struct question *q, const char *action, const char *resource,
		 const json_t *context)
{
	if (q->action || policy_allows(q->policy, action, resource, context))
		return;
	q->action = action;
	q->resource = resource;
}

static const char *arn(const struct question *q, const char *service, const char *rest)
{
	bool global = streq(service, "iam") || streq(service, "s3");

	return arena_printf(q->a, "arn:%s:%s:%s:%s:%s", cloud_partition(q->c), service,
			    global ? "" : q->c->o.region,
			    streq(service, "s3") ? "" : q->c->o.account, rest);
}

static const char *text(const struct question *q, const char *path)
{
	return json_str_at(q->in, path);
}

/* The action, by its operation where IAM calls it so. */
static const char *action_of(const struct question *q)
{
	static const struct {
		const char *service, *op, *action;
	} odd[] = {
		{"s3", "HeadBucket", "s3:ListBucket"},
		{"s3", "ListObjectsV2", "s3:ListBucket"},
		{"s3", "ListObjects", "s3:ListBucket"},
		{"s3", "ListBuckets", "s3:ListAllMyBuckets"},
		{"s3", "HeadObject", "s3:GetObject"},
		{"s3", "CopyObject", "s3:PutObject"},
		{"s3", "DeleteObjects", "s3:DeleteObject"},
		{"s3", "ListObjectVersions", "s3:ListBucketVersions"},
		{"s3", "ListMultipartUploads", "s3:ListBucketMultipartUploads"},
		{"s3", "GetObjectLockConfiguration",
		 "s3:GetBucketObjectLockConfiguration"},
		{"s3", "PutObjectLockConfiguration",
		 "s3:PutBucketObjectLockConfiguration"},
		{"s3", "CreateMultipartUpload", "s3:PutObject"},
		{"s3", "PutPublicAccessBlock", "s3:PutBucketPublicAccessBlock"},
		{"s3", "GetPublicAccessBlock", "s3:GetBucketPublicAccessBlock"},
		{"s3", "PutBucketEncryption", "s3:PutEncryptionConfiguration"},
		{"s3", "GetBucketEncryption", "s3:GetEncryptionConfiguration"},
	};
	const char *prefix = streq(q->service, "service-quotas") ? "servicequotas"
			     : streq(q->service, "elbv2")        ? "elasticloadbalancing"
								 : q->service;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (streq(odd[i].service, q->service) && streq(odd[i].op, q->op))
			return odd[i].action;
	return arena_printf(q->a, "%s:%s", prefix, q->op);
}

static json_t *tag_context(struct arena *a, const json_t *tags)
{
	json_t *out = json_new_object(a), *t;
	size_t i;

	json_array_foreach(tags, i, t)
		json_object_set_new(
			out,
			arena_printf(a, "aws:ResourceTag/%s", json_str_or(t, "Key", "")),
			json_string(json_str_or(t, "Value", "")));
	return out;
}

static void pass_role(struct question *q, const char *role, const char *to)
{
	json_t *context = json_new_object(q->a);

	if (!role)
		return;
	json_object_set_new(context, "iam:PassedToService", json_string(to));
	need(q, "iam:PassRole", role, context);
}

/* Made by the service, in the caller's name, with the first thing of its kind. */
static void linked_role(struct question *q, const char *service, const char *name)
{
	json_t *context = json_new_object(q->a);

	if (cloud_get(q->c, "iam.linked_role", name))
		return;
	json_object_set_new(context, "iam:AWSServiceName", json_string(service));
	need(q, "iam:CreateServiceLinkedRole",
	     arn(q, "iam",
		 arena_printf(q->a, "role/aws-service-role/%s/%s", service, name)),
	     context);
	if (!q->action)
		cloud_put(q->c, "iam.linked_role", name,
			  json_pack("{s:s}", "AWSServiceName", service));
}

/* --- CloudFormation ----------------------------------------------------------------- */

static const char *stack_arn(const struct question *q)
{
	const char *name = json_str_or(q->in, "StackName", "*"), *id;
	json_t *stack;

	if (str_starts(name, "arn:"))
		return name;
	json_object_foreach(cloud_table(q->c, "cloudformation.stack"), id, stack)
		if (streq(json_str_at(stack, "StackName"), name))
			return json_str_or(stack, "StackId", name);
	return arn(q, "cloudformation", arena_printf(q->a, "stack/%s/new", name));
}

/* --- EC2: each thing that the call names, by its tags ----------------------------------
 */

static const struct {
	const char *member, *table, *kind;
} ec2_things[] = {
	{"VpcId", "ec2.vpc", "vpc"},
	{"SubnetId", "ec2.subnet", "subnet"},
	{"InternetGatewayId", "ec2.igw", "internet-gateway"},
	{"NatGatewayId", "ec2.nat", "natgateway"},
	{"RouteTableId", "ec2.route_table", "route-table"},
	{"GroupId", "ec2.group", "security-group"},
	{"AllocationId", "ec2.address", "elastic-ip"},
	{"NetworkInterfaceId", "ec2.interface", "network-interface"},
	{"VpcEndpointIds.0", "ec2.endpoint", "vpc-endpoint"},
	{"Resources.0", NULL, "*"},
};

/* The table that an association with a subnet belongs to. */
static const char *table_of(struct question *q)
{
	const char *wanted = text(q, "AssociationId"), *id;
	json_t *table;

	if (wanted && streq(q->op, "DisassociateRouteTable"))
		json_object_foreach(cloud_table(q->c, "ec2.route_table"), id, table)
			if (json_find(json_at(table, "Associations"),
				      "RouteTableAssociationId", wanted))
				return id;
	return NULL;
}

static const json_t *tags_of(struct question *q, const char *table, const char *id)
{
	const json_t *thing = cloud_get(q->c, table, id);

	return json_at(thing, "Tags") ? json_at(thing, "Tags") : json_at(thing, "TagSet");
}

static void ask_ec2(struct question *q, const char *action)
{
	bool named = false;

	for (size_t i = 0; i < sizeof(ec2_things) / sizeof(ec2_things[0]); i++) {
		const char *id = streq(ec2_things[i].kind, "route-table") && table_of(q)
					 ? table_of(q)
					 : text(q, ec2_things[i].member);
		const json_t *tags =
			ec2_things[i].table ? tags_of(q, ec2_things[i].table, id) : NULL;

		if (!id || str_starts(q->op, "Describe"))
			continue;
		named = true;
		need(q, action,
		     arn(q, "ec2", arena_printf(q->a, "%s/%s", ec2_things[i].kind, id)),
		     tag_context(q->a, tags));
	}
	if (!named)
		need(q, action, "*", NULL);
	if (json_at(q->in, "TagSpecifications"))
		need(q, "ec2:CreateTags", "*", NULL);
}

/* --- EKS -------------------------------------------------------------------------------
 */

static const char *eks_resource(const struct question *q)
{
	const char *cluster = text(q, "clusterName") ? text(q, "clusterName")
						     : json_str_or(q->in, "name", "*");

	if (text(q, "resourceArn"))
		return text(q, "resourceArn");
	if (text(q, "addonName") && !streq(q->op, "CreateAddon"))
		return arn(q, "eks",
			   arena_printf(q->a, "addon/%s/%s/1", cluster,
					text(q, "addonName")));
	if (text(q, "principalArn") && !streq(q->op, "CreateAccessEntry"))
		return arn(q, "eks",
			   arena_printf(q->a, "access-entry/%s/role/1", cluster));
	if (text(q, "associationId"))
		return arn(q, "eks",
			   arena_printf(q->a, "podidentityassociation/%s/%s", cluster,
					text(q, "associationId")));
	return arn(q, "eks", arena_printf(q->a, "cluster/%s", cluster));
}

static void ask_eks(struct question *q, const char *action)
{
	const char *on = eks_resource(q);
	size_t i;
	json_t *v;

	need(q, action, on, NULL);
	if (json_object_size(json_at(q->in, "tags")) > 0)
		need(q, "eks:TagResource", on, NULL);
	if (streq(q->op, "CreateCluster")) {
		pass_role(q, text(q, "roleArn"), "eks.amazonaws.com");
		linked_role(q, "eks.amazonaws.com", "AWSServiceRoleForAmazonEKS");
	}
	if (strstr(q->op, "PodIdentityAssociation"))
		pass_role(q, text(q, "roleArn"), "pods.eks.amazonaws.com");
	pass_role(q, text(q, "serviceAccountRoleArn"), "eks.amazonaws.com");
	json_array_foreach(json_at(q->in, "podIdentityAssociations"), i, v)
		pass_role(q, json_str_at(v, "roleArn"), "pods.eks.amazonaws.com");
}

/* --- SageMaker
 * --------------------------------------------------------------------------- */

static const json_t *cluster_named(const struct question *q)
{
	const char *name = json_str_or(q->in, "ClusterName", ""), *other;
	json_t *cluster;

	json_object_foreach(cloud_table(q->c, SM_CLUSTERS), other, cluster)
		if (streq(other, name) || streq(json_str_at(cluster, "ClusterArn"), name))
			return cluster;
	return NULL;
}

static const char *sagemaker_resource(const struct question *q)
{
	const char *found = json_str_at(cluster_named(q), "ClusterArn");

	if (found || text(q, "ResourceArn"))
		return found ? found : text(q, "ResourceArn");
	if (text(q, "TrainingPlanName"))
		return arn(q, "sagemaker",
			   arena_printf(q->a, "training-plan/%s",
					text(q, "TrainingPlanName")));
	return text(q, "ClusterName") ? arn(q, "sagemaker", "cluster/newnewnewnew") : "*";
}

/* A group that takes its nodes from a plan. */
static void ask_plan(struct question *q, const char *action, const char *plan)
{
	const json_t *found = sm_plan_by_arn(q->c, plan), *part;
	size_t i;

	need(q, action, plan, NULL);
	for (i = 0; i < json_len_at(found, "ReservedCapacitySummaries"); i++) {
		part = json_array_get(json_at(found, "ReservedCapacitySummaries"), i);
		need(q, action,
		     json_str_or(part, "ReservedCapacityArn",
				 arn(q, "sagemaker", "reserved-capacity/unnamed")),
		     NULL);
	}
}

static const char *eks_of(const struct question *q)
{
	const char *given = text(q, "Orchestrator.Eks.ClusterArn");

	return json_str_or(cluster_named(q), "Orchestrator.Eks.ClusterArn",
			   given ? given : "*");
}

/* What HyperPod does to the EKS cluster in the caller's name. */
static void ask_access(struct question *q, bool makes)
{
	const char *eks = eks_of(q), *slash = strrchr(eks, '/');
	const char *entry = arn(
		q, "eks",
		arena_printf(q->a, "access-entry/%s/role/1", slash ? slash + 1 : "*"));

	need(q, "eks:DescribeCluster", eks, NULL);
	if (makes) {
		need(q, "eks:CreateAccessEntry", eks, NULL);
		need(q, "eks:DescribeAccessEntry", entry, NULL);
		need(q, "eks:AssociateAccessPolicy", entry, NULL);
	}
	need(q, "eks:DeleteAccessEntry", entry, NULL);
}

static void ask_sagemaker(struct question *q, const char *action)
{
	const bool makes = streq(q->op, "CreateCluster");
	size_t i;
	json_t *g;

	need(q, action, sagemaker_resource(q), NULL);
	if (json_array_size(json_at(q->in, "Tags")) > 0)
		need(q, "sagemaker:AddTags", sagemaker_resource(q), NULL);
	if (!makes && !streq(q->op, "UpdateCluster") && !streq(q->op, "DeleteCluster"))
		return;
	json_array_foreach(json_at(q->in, "InstanceGroups"), i, g) {
		pass_role(q, json_str_at(g, "ExecutionRole"), "sagemaker.amazonaws.com");
		if (json_str_at(g, "TrainingPlanArn"))
			ask_plan(q, action, json_str_at(g, "TrainingPlanArn"));
	}
	pass_role(q, text(q, "ClusterRole"), "hyperpod.sagemaker.amazonaws.com");
	ask_access(q, !streq(q->op, "DeleteCluster"));
	if (makes)
		linked_role(q, "hyperpod.sagemaker.amazonaws.com",
			    "AWSServiceRoleForSageMakerHyperPod");
}

/* --- the others
 * ---------------------------------------------------------------------------- */

static const char *iam_resource(const struct question *q)
{
	const char *role = text(q, "RoleName"), *path = json_str_or(q->in, "Path", "/");
	const char *url = text(q, "Url");

	if (role) {
		const json_t *has = cloud_get(q->c, "iam.role", role);

		return json_str_or(
			has, "Arn",
			arn(q, "iam", arena_printf(q->a, "role%s%s", path, role)));
	}
	if (url)
		return arn(q, "iam",
			   arena_printf(q->a, "oidc-provider/%s",
					str_starts(url, "https://") ? url + 8 : url));
	return text(q, "OpenIDConnectProviderArn") ? text(q, "OpenIDConnectProviderArn")
						   : "*";
}

static void ask_iam(struct question *q, const char *action)
{
	const char *on = iam_resource(q);

	need(q, action, on, NULL);
	if (!json_at(q->in, "Tags"))
		return;
	if (streq(q->op, "CreateRole"))
		need(q, "iam:TagRole", on, NULL);
	if (streq(q->op, "CreateOpenIDConnectProvider"))
		need(q, "iam:TagOpenIDConnectProvider", on, NULL);
}

/* Of a version another action is asked for, object by object. */
static const char *of_version(const char *action, bool version)
{
	if (version && streq(action, "s3:DeleteObject"))
		return "s3:DeleteObjectVersion";
	return version && streq(action, "s3:GetObject") ? "s3:GetObjectVersion" : action;
}

static void ask_s3(struct question *q, const char *action)
{
	const char *bucket = text(q, "Bucket"), *key = text(q, "Key");
	const json_t *objects = json_at(q->in, "Delete.Objects");
	size_t i;
	json_t *one;

	json_array_foreach(objects, i, one)
		need(q, of_version(action, json_at(one, "VersionId")),
		     arn(q, "s3",
			 arena_printf(q->a, "%s/%s", bucket,
				      json_str_or(one, "Key", ""))),
		     NULL);
	if (json_array_size(objects) > 0)
		return;
	need(q, of_version(action, text(q, "VersionId")),
	     !bucket ? "*"
		     : arn(q, "s3",
			   key ? arena_printf(q->a, "%s/%s", bucket, key) : bucket),
	     NULL);
}

static void ask_logs(struct question *q, const char *action)
{
	const char *group = text(q, "logGroupName");

	need(q, action,
	     group ? arn(q, "logs", arena_printf(q->a, "log-group:%s", group)) : "*",
	     NULL);
}

static void ask(struct question *q)
{
	static const struct {
		const char *service;
		void (*ask)(struct question *q, const char *action);
	} by[] = {
		{"ec2", ask_ec2}, {"eks", ask_eks}, {"sagemaker", ask_sagemaker},
		{"iam", ask_iam}, {"s3", ask_s3},   {"logs", ask_logs},
	};
	const char *action = action_of(q);

	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++)
		if (streq(by[i].service, q->service)) {
			by[i].ask(q, action);
			return;
		}
	need(q, action, streq(q->service, "cloudformation") ? stack_arn(q) : "*", NULL);
}

const char *cloud_may(struct cloud *c, struct arena *a, const char *access_key,
		      const char *caller_arn, const char *service, const char *op,
		      const json_t *in)
{
	const json_t *policy = json_object_get(json_object_get(c->settings, "policies"),
					       access_key ? access_key : "");
	struct question q = {
		.c = c, .a = a, .policy = policy, .in = in, .service = service, .op = op};

	/* Who am I is always answered. */
	if (!policy || (streq(service, "sts") && streq(op, "GetCallerIdentity")))
		return NULL;
	ask(&q);
	if (!q.action)
		return NULL;
	return arena_printf(a,
			    "%sUser: %s is not authorized to perform: %s on resource: %s "
			    "because no identity-based policy allows the %s action",
			    streq(service, "ec2") ? "You are not authorized to perform "
						    "this operation. "
						  : "",
			    caller_arn, q.action, q.resource, q.action);
}

const char *cloud_acting(struct cloud *c)
{
	return c->acting;
}
