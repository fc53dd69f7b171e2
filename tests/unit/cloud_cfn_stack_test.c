#include "tests/unit/cloud_lab.h"

#include "tests/cloud/ec2.h"

static const json_t *event_of(const json_t *events, const char *logical,
			      const char *status)
{
	size_t i;
	json_t *e;

	json_array_foreach(json_object_get(events, "StackEvents"), i, e)
		if (streq(json_str_at(e, "LogicalResourceId"), logical) &&
		    streq(json_str_at(e, "ResourceStatus"), status))
			return e;
	return NULL;
}

static json_t *events_of(struct lab *l, const char *stack)
{
	return lab_call(l, "cloudformation", "DescribeStackEvents", "{s:s}", "StackName",
			stack);
}

static void nothing_left(struct lab *l, size_t vpcs)
{
	static const char *const tables[] = {
		"eks.cluster", "eks.addon", "eks.access_entry", "iam.role",
		"ec2.address", "ec2.igw",   "ec2.interface",
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		cr_expect(lab_rows(l, tables[i]) == 0, "%zu left in %s",
			  lab_rows(l, tables[i]), tables[i]);
	cr_expect(lab_rows(l, "ec2.vpc") == vpcs);
}

static const char *tag_of(const json_t *thing, const char *key)
{
	return json_str_or(json_find(json_object_get(thing, "Tags"), "Key", key), "Value",
			   "");
}

/* Tags alone are an update; the same once more is none. */
static void retagged(struct lab *l, const char *vpc)
{
	json_t *in = json_own(&l->arena, lab_stack_input(l, "demo")), *out;

	json_put_str(in, "Tags.0.Value", "other");
	json_put_str(in, "ClientRequestToken", "tags");
	cr_assert(cloud_invoke(l->cloud, &l->arena, "cloudformation", "UpdateStack", in,
			       NULL, &out, &l->code, &l->message),
		  "%s", l->message);
	lab_until(l, "cloudformation", "DescribeStacks",
		  json_pack("{s:s}", "StackName", "demo"), "Stacks.0.StackStatus",
		  "UPDATE_COMPLETE", 5);
	cr_expect_str_eq(tag_of(ec2_vpc(l->cloud, vpc), "instantstart:cluster"), "other");
	cr_expect_str_eq(tag_of(ec2_vpc(l->cloud, vpc), "aws:cloudformation:stack-name"),
			 "demo");
	out = lab_call(l, "eks", "DescribeCluster", "{s:s}", "name", "demo");
	cr_expect_str_eq(json_str_at(out, "cluster.tags.instantstart:cluster"), "other");
	json_put_str(in, "ClientRequestToken", "tags-again");
	cr_expect_not(cloud_invoke(l->cloud, &l->arena, "cloudformation", "UpdateStack",
				   in, NULL, &out, &l->code, &l->message));
	cr_expect_str_eq(l->message, "No updates are to be performed.");
}

Test(cfn_stack, stands_and_goes_without_a_trace)
{
	struct lab l;
	json_t *stacks, *out;
	const char *id, *vpc;
	size_t vpcs;

	lab_start(&l);
	vpcs = lab_rows(&l, "ec2.vpc");
	stacks = lab_stack(&l, "demo");
	id = json_str_at(stacks, "Stacks.0.StackId");
	vpc = lab_output(stacks, "VpcId");

	/* What it made is what the other services know. */
	out = lab_call(&l, "eks", "DescribeCluster", "{s:s}", "name", "demo");
	cr_expect_str_eq(json_str_at(out, "cluster.status"), "ACTIVE");
	cr_expect_str_eq(json_str_at(out, "cluster.arn"),
			 lab_output(stacks, "ClusterArn"));
	cr_expect_str_eq(json_str_at(out, "cluster.accessConfig.authenticationMode"),
			 "API_AND_CONFIG_MAP");
	cr_expect(json_len_at(out, "cluster.logging.clusterLogging.0.types") == 5);
	cr_expect_str_eq(json_str_at(out, "cluster.tags.instantstart:cluster"), "demo");
	cr_expect_str_eq(tag_of(ec2_vpc(l.cloud, vpc), "instantstart:cluster"), "demo");
	cr_expect_str_eq(tag_of(ec2_vpc(l.cloud, vpc), "aws:cloudformation:stack-name"),
			 "demo");
	cr_expect(
		ec2_group_allows_itself(l.cloud, lab_output(stacks, "SecurityGroupId")));
	out = lab_call(&l, "ec2", "DescribeSubnets", "{s:[{s:s,s:[s]}]}", "Filters",
		       "Name", "vpc-id", "Values", vpc);
	cr_expect(json_len_at(out, "Subnets") == 4);
	cr_expect_not_null(cloud_kube_get(l.cloud, "demo", "v1", "configmaps",
					  "kube-system", "aws-auth"));

	out = lab_call(&l, "eks", "ListAddons", "{s:s}", "clusterName", "demo");
	cr_expect(json_len_at(out, "addons") == 2);

	out = events_of(&l, "demo");
	cr_expect_str_eq(json_str_at(out, "StackEvents.0.ResourceStatus"),
			 "CREATE_COMPLETE");
	cr_expect_not_null(event_of(out, "Cluster", "CREATE_COMPLETE"));

	retagged(&l, vpc);
	lab_call(&l, "cloudformation", "DeleteStack", "{s:s}", "StackName", "demo");
	lab_until(&l, "cloudformation", "DescribeStacks",
		  json_pack("{s:s}", "StackName", id), "Stacks.0.StackStatus",
		  "DELETE_COMPLETE", 30);
	cr_expect_null(lab_try(&l, "cloudformation", "DescribeStacks", "{s:s}",
			       "StackName", "demo"));
	cr_expect_str_eq(l.message, "Stack with id demo does not exist");
	nothing_left(&l, vpcs);
	lab_stop(&l);
}

static json_t *changed(json_t *in, const char *key, const char *value)
{
	json_t *params = json_object_get(in, "Parameters");
	json_t *p = json_find(params, "ParameterKey", key);

	if (p)
		json_put_str(p, "ParameterValue", value);
	else
		json_array_append_new(params, lab_param(key, value));
	return in;
}

static bool create(struct lab *l, json_t *in, const char **ret_id)
{
	json_t *out = NULL;
	bool ok =
		cloud_invoke(l->cloud, &l->arena, "cloudformation", "CreateStack",
			     json_own(&l->arena, in), NULL, &out, &l->code, &l->message);

	*ret_id = json_str_at(out, "StackId");
	return ok;
}

Test(cfn_stack, requests_are_checked_and_repeated_safely)
{
	static const struct {
		const char *key, *value, *message;
	} bad[] = {
		{"ClusterName", "", "Parameter 'ClusterName' must match pattern"},
		{"KubernetesVersion", "v1.34", "must match pattern"},
		{"NatPerZone", "maybe", "must be one of AllowedValues"},
		{"Nonsense", "x", "do not exist in the template"},
		{"AvailabilityZone2", "us-west-2a",
		 "The two availability zones must differ."},
	};
	struct lab l;
	const char *first, *again;
	json_t *in;

	lab_start(&l);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		in = changed(lab_stack_input(&l, "demo"), bad[i].key, bad[i].value);
		json_object_del(in, "ClientRequestToken");
		cr_expect_not(create(&l, in, &first));
		cr_expect_str_eq(l.code, "ValidationError");
		cr_expect(lab_has(l.message, bad[i].message), "%s", l.message);
	}
	in = lab_stack_input(&l, "demo");
	json_object_del(in, "Capabilities");
	cr_expect_not(create(&l, in, &first));
	cr_expect_str_eq(l.code, "InsufficientCapabilitiesException");

	cr_assert(create(&l, lab_stack_input(&l, "demo"), &first), "%s", l.message);
	cr_assert(create(&l, lab_stack_input(&l, "demo"), &again));
	cr_expect_str_eq(first, again);
	cr_expect_not(create(
		&l, changed(lab_stack_input(&l, "demo"), "NatPerZone", "true"), &again));
	cr_expect_str_eq(l.code, "TokenAlreadyExistsException");
	in = lab_stack_input(&l, "demo");
	json_put_str(in, "ClientRequestToken", "token-2");
	cr_expect_not(create(&l, in, &again));
	cr_expect_str_eq(l.code, "AlreadyExistsException");
	lab_stop(&l);
}

/* The first failure is the cause; what is cancelled after it says so. */
static void expect_rollback(struct lab *l, const char *logical, const char *reason)
{
	json_t *stacks = lab_until(l, "cloudformation", "DescribeStacks",
				   json_pack("{s:s}", "StackName", "demo"),
				   "Stacks.0.StackStatus", "ROLLBACK_COMPLETE", 30);
	json_t *events = events_of(l, "demo");
	const json_t *list = json_object_get(events, "StackEvents");
	const json_t *failed = NULL;

	for (size_t i = json_array_size(list); i-- > 0 && !failed;)
		if (streq(json_str_at(json_array_get(list, i), "ResourceStatus"),
			  "CREATE_FAILED"))
			failed = json_array_get(list, i);
	cr_expect_str_eq(json_str_or(failed, "LogicalResourceId", ""), logical);
	cr_expect(lab_has(json_str_or(failed, "ResourceStatusReason", ""), reason), "%s",
		  json_str_or(failed, "ResourceStatusReason", ""));
	cr_expect_not_null(event_of(events, "demo", "ROLLBACK_IN_PROGRESS"));
	cr_expect(lab_has(json_str_or(event_of(events, "demo", "ROLLBACK_IN_PROGRESS"),
				      "ResourceStatusReason", ""),
			  logical));
	cr_expect_str_eq(json_str_at(stacks, "Stacks.0.StackName"), "demo");
}

Test(cfn_stack, a_failure_rolls_back_and_names_its_cause)
{
	struct lab l;
	const char *id;
	size_t vpcs;
	json_t *settings;

	lab_start(&l);
	vpcs = lab_rows(&l, "ec2.vpc");
	settings = json_own(&l.arena, json_pack("{s:{s:s}}", "stack_failure", "Cluster",
						"Internal error, please try again"));
	cloud_configure(l.cloud, settings);
	cr_assert(create(&l, lab_stack_input(&l, "demo"), &id));
	expect_rollback(&l, "Cluster", "Internal error, please try again");
	nothing_left(&l, vpcs);

	/* It can only be deleted; then its name is free. */
	cr_expect_null(lab_try(&l, "cloudformation", "UpdateStack", "{s:s,s:b}",
			       "StackName", "demo", "UsePreviousTemplate", 1));
	cr_expect(lab_has(l.message, "ROLLBACK_COMPLETE state and can not be updated"));
	lab_call(&l, "cloudformation", "DeleteStack", "{s:s}", "StackName", "demo");
	lab_until(&l, "cloudformation", "DescribeStacks",
		  json_pack("{s:s}", "StackName", id), "Stacks.0.StackStatus",
		  "DELETE_COMPLETE", 5);

	/* A cause that another service finds. */
	settings = json_own(&l.arena, json_pack("{s:n,s:[s]}", "stack_failure",
						"eks_unsupported_zones", "us-west-2b"));
	cloud_configure(l.cloud, settings);
	json_t *in = lab_stack_input(&l, "demo");

	json_put_str(in, "ClientRequestToken", "token-2");
	cr_assert(create(&l, in, &id), "%s", l.message);
	expect_rollback(&l, "Cluster",
			"does not support creating control plane instances in "
			"us-west-2b");
	nothing_left(&l, vpcs);
	lab_stop(&l);
}

Test(cfn_stack, deletion_names_what_holds_it_and_is_resumable)
{
	struct lab l;
	struct ec2_interface_spec foreign = {.description = "ELB app/k8s-web",
					     .owner = "elb:web"};
	json_t *stacks, *events;
	const char *id, *eni;

	lab_start(&l);
	stacks = lab_stack(&l, "demo");
	id = json_str_at(stacks, "Stacks.0.StackId");
	foreign.subnet_id =
		arena_strndup(&l.arena, lab_output(stacks, "PublicSubnetIds"),
			      strcspn(lab_output(stacks, "PublicSubnetIds"), ","));
	eni = ec2_create_interface(l.cloud, &l.arena, &foreign);
	cr_assert_not_null(eni);

	lab_call(&l, "cloudformation", "DeleteStack", "{s:s}", "StackName", "demo");
	stacks = lab_until(&l, "cloudformation", "DescribeStacks",
			   json_pack("{s:s}", "StackName", id), "Stacks.0.StackStatus",
			   "DELETE_FAILED", 60);
	cr_expect(lab_has(json_str_at(stacks, "Stacks.0.StackStatusReason"),
			  "PublicSubnet1"),
		  "%s", json_str_at(stacks, "Stacks.0.StackStatusReason"));
	events = events_of(&l, id);
	cr_expect(lab_has(json_str_or(event_of(events, "PublicSubnet1", "DELETE_FAILED"),
				      "ResourceStatusReason", ""),
			  "DependencyViolation"));
	cr_expect_null(lab_try(&l, "eks", "DescribeCluster", "{s:s}", "name", "demo"));

	ec2_delete_interface(l.cloud, eni);
	lab_call(&l, "cloudformation", "DeleteStack", "{s:s}", "StackName", id);
	lab_until(&l, "cloudformation", "DescribeStacks",
		  json_pack("{s:s}", "StackName", id), "Stacks.0.StackStatus",
		  "DELETE_COMPLETE", 30);
	lab_stop(&l);
}

Test(cfn_stack, a_creation_can_be_called_off)
{
	struct lab l;
	const char *id;
	size_t vpcs;

	lab_start(&l);
	vpcs = lab_rows(&l, "ec2.vpc");
	cr_assert(create(&l, lab_stack_input(&l, "demo"), &id));
	lab_wait(&l, 3 * 60000);
	cr_assert(lab_rows(&l, "eks.cluster") == 1, "the cluster is on its way");
	lab_call(&l, "cloudformation", "DeleteStack", "{s:s,s:s}", "StackName", id,
		 "ClientRequestToken", "delete-1");
	lab_wait(&l, 60000);
	/* The same again: nothing new. */
	lab_call(&l, "cloudformation", "DeleteStack", "{s:s,s:s}", "StackName", id,
		 "ClientRequestToken", "delete-1");
	lab_until(&l, "cloudformation", "DescribeStacks",
		  json_pack("{s:s}", "StackName", id), "Stacks.0.StackStatus",
		  "DELETE_COMPLETE", 40);
	nothing_left(&l, vpcs);
	lab_stop(&l);
}

static json_t *complete(struct lab *l, const char *name)
{
	return lab_until(l, "cloudformation", "DescribeStacks",
			 json_pack("{s:s}", "StackName", name), "Stacks.0.StackStatus",
			 "CREATE_COMPLETE", 30);
}

/* A second cluster in the first one's network, with its role, for a manager. */
Test(cfn_stack, an_existing_network_and_role_are_used_and_kept)
{
	const char *manager = "arn:aws:iam::111122223333:user/operator";
	const char *admin =
		"arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy";
	struct lab l;
	const char *id, *subnets;
	json_t *first, *guest, *out, *in;

	lab_start(&l);
	first = lab_stack(&l, "demo");
	subnets = lab_output(first, "ControlPlaneSubnetIds");
	in = changed(lab_stack_input(&l, "guest"), "ExistingVpcId",
		     lab_output(first, "VpcId"));
	changed(in, "ExistingSubnet1Id",
		arena_strndup(&l.arena, subnets, strcspn(subnets, ",")));
	changed(in, "ExistingSubnet2Id", strchr(subnets, ',') + 1);
	changed(in, "ExistingClusterRoleArn", lab_output(first, "ClusterRoleArn"));
	changed(in, "ManagerArn", manager);
	json_object_del(in, "Capabilities");
	json_put_str(in, "ClientRequestToken", "token-2");
	/* The role's definition is in the template all the same. */
	cr_expect_not(create(&l, json_incref(in), &id));
	cr_expect_str_eq(l.code, "InsufficientCapabilitiesException");
	json_object_set_new(in, "Capabilities", json_pack("[s]", "CAPABILITY_IAM"));
	cr_assert(create(&l, in, &id), "%s", l.message);
	guest = complete(&l, "guest");

	cr_expect_str_eq(lab_output(guest, "VpcId"), lab_output(first, "VpcId"));
	cr_expect_str_eq(lab_output(guest, "VpcCidr"), "");
	cr_expect_str_eq(lab_output(guest, "ClusterRoleArn"),
			 lab_output(first, "ClusterRoleArn"));
	out = lab_call(&l, "cloudformation", "ListStackResources", "{s:s}", "StackName",
		       "guest");
	cr_expect_null(json_find(json_object_get(out, "StackResourceSummaries"),
				 "LogicalResourceId", "Vpc"));
	/* The manager's entry comes from the stack, not from the bootstrap. */
	out = lab_call(&l, "eks", "DescribeCluster", "{s:s}", "name", "guest");
	cr_expect_not(json_bool_or(
		out, "cluster.accessConfig.bootstrapClusterCreatorAdminPermissions",
		true));
	out = lab_call(&l, "eks", "ListAssociatedAccessPolicies", "{s:s,s:s}",
		       "clusterName", "guest", "principalArn", manager);
	cr_expect_str_eq(json_str_at(out, "associatedAccessPolicies.0.policyArn"), admin);

	lab_call(&l, "cloudformation", "DeleteStack", "{s:s}", "StackName", "guest");
	lab_until(&l, "cloudformation", "DescribeStacks",
		  json_pack("{s:s}", "StackName", id), "Stacks.0.StackStatus",
		  "DELETE_COMPLETE", 30);
	cr_expect_not_null(ec2_vpc(l.cloud, lab_output(first, "VpcId")));
	cr_expect(lab_rows(&l, "iam.role") == 1);
	lab_stop(&l);
}
