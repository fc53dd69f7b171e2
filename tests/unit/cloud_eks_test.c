#include "tests/unit/cloud_lab.h"

#include "tests/cloud/ec2.h"

static const char eks_trust[] =
	"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{"
	"\"Service\":\"eks.amazonaws.com\"},\"Action\":\"sts:AssumeRole\"}]}";
static const char pods_trust[] =
	"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{"
	"\"Service\":\"pods.eks.amazonaws.com\"},\"Action\":[\"sts:AssumeRole\","
	"\"sts:TagSession\"]}]}";

static const char *role(struct lab *l, const char *name, const char *trust)
{
	json_t *out = lab_call(l, "iam", "CreateRole", "{s:s,s:s}", "RoleName", name,
			       "AssumeRolePolicyDocument", trust);

	return json_str_at(out, "Role.Arn");
}

static const char *subnet(struct lab *l, const char *vpc, const char *cidr,
			  const char *zone)
{
	json_t *out = lab_call(l, "ec2", "CreateSubnet", "{s:s,s:s,s:s}", "VpcId", vpc,
			       "CidrBlock", cidr, "AvailabilityZone", zone);

	return json_str_at(out, "Subnet.SubnetId");
}

static json_t *request(const char *name, const char *role_arn, const char *s1,
		       const char *s2)
{
	return json_pack("{s:s,s:s,s:{s:[s,s]},s:{s:s},s:s}", "name", name, "roleArn",
			 role_arn, "resourcesVpcConfig", "subnetIds", s1, s2,
			 "accessConfig", "authenticationMode", "API_AND_CONFIG_MAP",
			 "clientRequestToken", "once");
}

static bool create(struct lab *l, json_t *in)
{
	return cloud_invoke(l->cloud, &l->arena, "eks", "CreateCluster",
			    json_own(&l->arena, in), NULL, NULL, &l->code, &l->message);
}

static void refused(struct lab *l, json_t *in, const char *code, const char *text)
{
	json_object_del(in, "clientRequestToken");
	cr_expect_not(create(l, in));
	cr_expect_str_eq(l->code, code);
	cr_expect(lab_has(l->message, text), "%s", l->message);
}

static void checks(struct lab *l, const char *a, const char *a2, const char *b,
		   const char *good, const char *wrong)
{
	json_t *in;

	refused(l, request("one", wrong, a, b), "InvalidParameterException",
		"could not be assumed because it does not exist or the trusted entity is not "
		"correct");
	refused(l, request("one", "arn:aws:iam::111122223333:role/none", a, b),
		"InvalidParameterException", "could not be assumed");
	refused(l, request("one", good, a, a2), "InvalidParameterException",
		"at least two different AZs");
	refused(l, request("one", good, a, "subnet-0123456789abcdef0"),
		"InvalidParameterException", "does not exist");
	in = request("one", good, a, b);
	json_put_str(in, "version", "1.19");
	refused(l, in, "InvalidParameterException", "unsupported Kubernetes version");
	cloud_configure(
		l->cloud,
		json_own(&l->arena,
			 json_pack("{s:[s],s:i}", "eks_unsupported_zones", "us-west-2b",
				   "role_assumable_after_ms", 60000)));
	refused(l, request("one", good, a, b), "InvalidParameterException",
		"could not be assumed");
	lab_wait(l, 60000);
	refused(l, request("one", good, a, b), "UnsupportedAvailabilityZoneException",
		"us-west-2b, the targeted availability zone");
	cloud_configure(l->cloud,
			json_own(&l->arena, json_pack("{s:n}", "eks_unsupported_zones")));
}

static void becomes_active(struct lab *l)
{
	json_t *out;

	out = lab_call(l, "eks", "DescribeCluster", "{s:s}", "name", "one");
	cr_expect_str_eq(json_str_at(out, "cluster.status"), "CREATING");
	cr_expect_null(json_at(out, "cluster.endpoint"));
	cr_expect_null(lab_try(l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "one",
			       "addonName", "vpc-cni"));
	cr_expect_str_eq(l->code, "InvalidRequestException");
	out = lab_until(l, "eks", "DescribeCluster", json_pack("{s:s}", "name", "one"),
			"cluster.status", "ACTIVE", 15);
	cr_expect(str_starts(json_str_at(out, "cluster.endpoint"),
			     "https://127.0.0.1:4567/k8s/"));
	cr_expect(str_starts(json_str_at(out, "cluster.identity.oidc.issuer"),
			     "https://oidc."));
	cr_expect_not_null(json_str_at(out, "cluster.certificateAuthority.data"));
	cr_expect_not_null(ec2_group(
		l->cloud,
		json_str_at(out, "cluster.resourcesVpcConfig.clusterSecurityGroupId")));
}

Test(eks, clusters_are_checked_grow_and_go)
{
	struct lab l;
	const char *vpc, *a, *a2, *b, *good, *wrong;

	lab_start(&l);
	vpc = json_str_at(
		lab_call(&l, "ec2", "CreateVpc", "{s:s}", "CidrBlock", "10.1.0.0/16"),
		"Vpc.VpcId");
	lab_wait(&l, 10000);
	a = subnet(&l, vpc, "10.1.0.0/24", "us-west-2a");
	a2 = subnet(&l, vpc, "10.1.1.0/24", "us-west-2a");
	b = subnet(&l, vpc, "10.1.2.0/24", "us-west-2b");
	good = role(&l, "control", eks_trust);
	wrong = role(&l, "pods", pods_trust);

	checks(&l, a, a2, b, good, wrong);

	/* The same token: the same cluster. Another request with it: refused. */
	cr_assert(create(&l, request("one", good, a, b)), "%s", l.message);
	cr_expect(create(&l, request("one", good, a, b)));
	cr_expect_not(create(&l, request("two", good, a, b)));
	cr_expect_str_eq(l.code, "InvalidParameterException");
	refused(&l, request("one", good, a, b), "ResourceInUseException",
		"Cluster already exists with name: one");

	becomes_active(&l);

	/* Its interfaces hold the subnets until it is gone. */
	cr_expect_null(lab_try(&l, "ec2", "DeleteSubnet", "{s:s}", "SubnetId", a));
	cr_expect_str_eq(l.code, "DependencyViolation");
	lab_call(&l, "eks", "DeleteCluster", "{s:s}", "name", "one");
	lab_until(&l, "eks", "DescribeCluster", json_pack("{s:s}", "name", "one"), "",
		  "ResourceNotFoundException", 10);
	lab_call(&l, "ec2", "DeleteSubnet", "{s:s}", "SubnetId", a);
	lab_stop(&l);
}

static void entries(struct lab *l, const char *pods)
{
	const char *admin =
		"arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy";
	json_t *out;

	/* The creator has an entry already: it made the stack. */
	out = lab_call(l, "eks", "ListAssociatedAccessPolicies", "{s:s,s:s}",
		       "clusterName", "demo", "principalArn",
		       "arn:aws:iam::111122223333:user/operator");
	cr_expect_str_eq(json_str_at(out, "associatedAccessPolicies.0.policyArn"), admin);
	cr_expect_null(lab_try(l, "eks", "CreateAccessEntry", "{s:s,s:s}", "clusterName",
			       "demo", "principalArn",
			       "arn:aws:iam::111122223333:user/operator"));
	cr_expect_str_eq(l->code, "ResourceInUseException");
	lab_call(l, "eks", "CreateAccessEntry", "{s:s,s:s,s:s}", "clusterName", "demo",
		 "principalArn", pods, "type", "EC2_LINUX");
	cr_expect_null(lab_try(l, "eks", "AssociateAccessPolicy", "{s:s,s:s,s:s,s:{s:s}}",
			       "clusterName", "demo", "principalArn", pods, "policyArn",
			       admin, "accessScope", "type", "cluster"));
	cr_expect_str_eq(l->code, "InvalidRequestException");
	lab_call(l, "eks", "DeleteAccessEntry", "{s:s,s:s}", "clusterName", "demo",
		 "principalArn", pods);
	cr_expect_null(lab_try(l, "eks", "DescribeAccessEntry", "{s:s,s:s}",
			       "clusterName", "demo", "principalArn", pods));
	cr_expect_str_eq(l->code, "ResourceNotFoundException");
}

Test(eks, addons_entries_and_identities)
{
	struct lab l;
	const char *pods, *operator_name = "amazon-sagemaker-hyperpod-training-operator";
	json_t *out;

	lab_start(&l);
	lab_stack(&l, "demo");
	pods = role(&l, "pods", pods_trust);

	/* That version takes no associations in the create call, and says so. */
	out = lab_call(&l, "eks", "DescribeAddonVersions", "{s:s}", "addonName",
		       operator_name);
	cr_expect_not(json_bool_or(out, "addons.0.addonVersions.0.requiresIamPermissions",
				   true));
	cr_expect_null(lab_try(&l, "eks", "CreateAddon", "{s:s,s:s,s:[{s:s,s:s}]}",
			       "clusterName", "demo", "addonName", operator_name,
			       "podIdentityAssociations", "serviceAccount", "hp",
			       "roleArn", pods));
	cr_expect_str_eq(l.code, "InvalidParameterException");
	out = lab_call(&l, "eks", "CreatePodIdentityAssociation", "{s:s,s:s,s:s,s:s}",
		       "clusterName", "demo", "namespace", "aws-hyperpod",
		       "serviceAccount", "hp", "roleArn", pods);
	cr_expect(str_starts(json_str_at(out, "association.associationId"), "a-"));
	cr_expect_null(lab_try(&l, "eks", "CreatePodIdentityAssociation",
			       "{s:s,s:s,s:s,s:s}", "clusterName", "demo", "namespace",
			       "aws-hyperpod", "serviceAccount", "hp", "roleArn", pods));
	cr_expect_str_eq(l.code, "ResourceInUseException");
	lab_call(&l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", operator_name);
	cr_expect_null(lab_try(&l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName",
			       "demo", "addonName", operator_name));
	cr_expect_str_eq(l.code, "ResourceInUseException");

	/* No node yet: what has replicas is degraded. */
	lab_call(&l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", "coredns");
	out = lab_until(
		&l, "eks", "DescribeAddon",
		json_pack("{s:s,s:s}", "clusterName", "demo", "addonName", "coredns"),
		"addon.status", "DEGRADED", 5);
	cr_expect_str_eq(json_str_at(out, "addon.health.issues.0.code"),
			 "InsufficientNumberOfReplicas");

	/* A driver brings what the Kubernetes side looks for. */
	lab_call(&l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", "aws-mountpoint-s3-csi-driver");
	lab_until(&l, "eks", "DescribeAddon",
		  json_pack("{s:s,s:s}", "clusterName", "demo", "addonName",
			    "aws-mountpoint-s3-csi-driver"),
		  "addon.status", "ACTIVE", 5);
	cr_expect_not_null(cloud_kube_get(l.cloud, "demo", "storage.k8s.io/v1",
					  "csidrivers", NULL, "s3.csi.aws.com"));

	entries(&l, pods);
	lab_stop(&l);
}
