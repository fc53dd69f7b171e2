#include "tests/cloud/ec2.h"
#include "tests/unit/cloud_site.h"

static bool call(struct site *s, const char *op, json_t *in)
{
	return cloud_invoke(s->l.cloud, &s->l.arena, "sagemaker", op,
			    json_own(&s->l.arena, in), NULL, NULL, &s->l.code,
			    &s->l.message);
}

static json_t *describe(struct site *s)
{
	return lab_call(&s->l, "sagemaker", "DescribeCluster", "{s:s}", "ClusterName",
			"pod");
}

static json_t *nodes(struct site *s)
{
	return json_object_get(lab_call(&s->l, "sagemaker", "ListClusterNodes",
					"{s:s,s:b}", "ClusterName", "pod",
					"IncludeNodeLogicalIds", 1),
			       "ClusterNodeSummaries");
}

static void until_count(struct site *s, const char *group_name, int64_t want, int minutes)
{
	int64_t seen = -1;

	for (int i = 0; i < minutes * 12 && seen != want; i++) {
		seen = json_int_or(json_find(json_at(describe(s), "InstanceGroups"),
					     "InstanceGroupName", group_name),
				   "CurrentCount", -1);
		if (seen != want)
			lab_wait(&s->l, 5000);
	}
	cr_assert(seen == want, "group %s has %lld nodes, not %lld", group_name,
		  (long long)seen, (long long)want);
}

static const char *ready_of(struct site *s, const json_t *node)
{
	const json_t *obj =
		cloud_kube_get(s->l.cloud, "demo", "v1", "nodes", NULL,
			       arena_printf(&s->l.arena, "hyperpod-%s",
					    json_str_or(node, "InstanceId", "")));

	return json_str_or(json_find(json_at(obj, "status.conditions"), "type", "Ready"),
			   "status", "absent");
}

static const char *label_of(struct site *s, const json_t *node, const char *key)
{
	const json_t *obj =
		cloud_kube_get(s->l.cloud, "demo", "v1", "nodes", NULL,
			       arena_printf(&s->l.arena, "hyperpod-%s",
					    json_str_or(node, "InstanceId", "")));

	return json_string_value(json_object_get(json_at(obj, "metadata.labels"), key));
}

static json_t *newest_error(struct site *s)
{
	json_t *list = json_object_get(lab_call(&s->l, "sagemaker", "ListClusterEvents",
						"{s:s}", "ClusterName", "pod"),
				       "Events");

	return json_find(list, "EventLevel", "Error");
}

static void grows(struct site *s, size_t enis)
{
	json_t *list, *out;

	lab_call(&s->l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", "coredns");
	cr_assert(call(s, "CreateCluster",
		       request(s, group(s, "workers", "ml.m6i.xlarge", 2), true)),
		  "%s", s->l.message);
	cr_expect_not(call(s, "CreateCluster",
			   request(s, group(s, "workers", "ml.m6i.xlarge", 2), true)));
	cr_expect_str_eq(s->l.code, "ResourceInUse");
	cr_expect_not(call(s, "DeleteCluster", json_pack("{s:s}", "ClusterName", "pod")));
	cr_expect_str_eq(s->l.code, "ConflictException");

	/* InService says nothing about nodes. */
	out = lab_until(&s->l, "sagemaker", "DescribeCluster",
			json_pack("{s:s}", "ClusterName", "pod"), "ClusterStatus",
			"InService", 10);
	cr_expect(json_int_or(out, "InstanceGroups.0.CurrentCount", -1) == 0);
	cr_expect(json_int_or(out, "InstanceGroups.0.TargetCount", -1) == 2);
	until_count(s, "workers", 2, 20);
	lab_wait(&s->l, 60000);
	list = nodes(s);
	cr_expect(json_array_size(list) == 2);
	cr_expect_str_eq(ready_of(s, json_array_get(list, 0)), "True");
	cr_expect_str_eq(label_of(s, json_array_get(list, 0),
				  "sagemaker.amazonaws.com/instance-group-name"),
			 "workers");
	cr_expect_str_eq(
		label_of(s, json_array_get(list, 0), "node.kubernetes.io/instance-type"),
		"ml.m6i.xlarge");
	cr_expect(lab_rows(&s->l, "ec2.interface") == enis + 2);
	/* CoreDNS heals by itself. */
	lab_until(&s->l, "eks", "DescribeAddon",
		  json_pack("{s:s,s:s}", "clusterName", "demo", "addonName", "coredns"),
		  "addon.status", "ACTIVE", 5);
}

/* A group that is not mentioned stays; what a mentioned one leaves out goes. */
static void updates(struct site *s)
{
	json_t *g = json_own(&s->l.arena, group(s, "big", "ml.m6i.xlarge", 1));
	json_t *labelled = json_own(&s->l.arena, json_copy(g));

	json_object_set_new(labelled, "KubernetesConfig",
			    json_pack("{s:{s:s}}", "Labels", "team", "red"));
	cr_assert(call(s, "UpdateCluster",
		       json_pack("{s:s,s:[O]}", "ClusterName", "pod", "InstanceGroups",
				 labelled)),
		  "%s", s->l.message);
	until_count(s, "big", 1, 20);
	until_count(s, "workers", 3, 1);
	cr_expect_str_eq(
		label_of(s, json_find(nodes(s), "InstanceGroupName", "big"), "team"),
		"red");
	cr_assert(call(
		s, "UpdateCluster",
		json_pack("{s:s,s:[O]}", "ClusterName", "pod", "InstanceGroups", g)));
	g = json_find(json_at(describe(s), "InstanceGroups"), "InstanceGroupName", "big");
	cr_expect_null(json_object_get(g, "KubernetesConfig"));
}

static void batches(struct site *s)
{
	const json_t *node = json_find(nodes(s), "InstanceGroupName", "workers");
	const char *victim = json_str_at(node, "InstanceId"), *logical;
	json_t *out;

	/* Chosen victims lower the target; unknown ones fail alone. */
	out = lab_call(&s->l, "sagemaker", "BatchDeleteClusterNodes", "{s:s,s:[s,s]}",
		       "ClusterName", "pod", "NodeIds", victim, "i-0123456789abcdef0");
	cr_expect_str_eq(json_str_at(out, "Successful.0"), victim);
	cr_expect_str_eq(json_str_at(out, "Failed.0.Code"), "NodeIdNotFound");
	cr_expect_null(json_object_get(out, "SuccessfulNodeLogicalIds"));
	until_count(s, "workers", 2, 5);

	/* Replaced: another instance, the same logical id. */
	node = json_find(nodes(s), "InstanceGroupName", "big");
	victim = json_str_at(node, "InstanceId");
	logical = json_str_at(node, "NodeLogicalId");
	out = lab_call(&s->l, "sagemaker", "BatchReplaceClusterNodes", "{s:s,s:[s]}",
		       "ClusterName", "pod", "NodeIds", victim);
	cr_expect_str_eq(json_str_at(out, "Successful.0"), victim);
	out = lab_call(&s->l, "sagemaker", "BatchReplaceClusterNodes", "{s:s,s:[s]}",
		       "ClusterName", "pod", "NodeLogicalIds", logical);
	cr_expect_str_eq(json_str_at(out, "FailedNodeLogicalIds.0.ErrorCode"),
			 "InstanceIdInUse");
	lab_wait(&s->l, 5000);
	until_count(s, "big", 1, 25);
	out = lab_call(&s->l, "sagemaker", "DescribeClusterNode", "{s:s,s:s}",
		       "ClusterName", "pod", "NodeLogicalId", logical);
	cr_expect_str_neq(json_str_at(out, "NodeDetails.InstanceId"), victim);
}

Test(sagemaker, a_cluster_grows_changes_and_goes)
{
	struct site s;
	size_t enis;

	build(&s, "sagemaker-demo");
	enis = lab_rows(&s.l, "ec2.interface");
	grows(&s, enis);
	/* The same token adds once. */
	for (int i = 0; i < 2; i++)
		cr_assert(call(&s, "BatchAddClusterNodes",
			       json_pack("{s:s,s:[{s:s,s:i}],s:s}", "ClusterName", "pod",
					 "NodesToAdd", "InstanceGroupName", "workers",
					 "IncrementTargetCountBy", 1, "ClientToken",
					 "add-1")),
			  "%s", s.l.message);
	until_count(&s, "workers", 3, 20);
	updates(&s);
	batches(&s);

	/* Without their role the interfaces stay, and so does the cluster. */
	lab_call(&s.l, "iam", "DeleteRole", "{s:s}", "RoleName", "nodes");
	cr_assert(call(&s, "DeleteCluster", json_pack("{s:s}", "ClusterName", "pod")));
	lab_wait(&s.l, 10 * 60000);
	cr_expect_str_eq(json_str_at(describe(&s), "ClusterStatus"), "Deleting");
	cr_expect(lab_has(
		json_str_at(json_array_get(nodes(&s), 0), "InstanceStatus.Message"),
		"does not have permission to perform"));
	lab_call(&s.l, "iam", "CreateRole", "{s:s,s:s}", "RoleName", "nodes",
		 "AssumeRolePolicyDocument", trust);
	lab_until(&s.l, "sagemaker", "DescribeCluster",
		  json_pack("{s:s}", "ClusterName", "pod"), "", "ResourceNotFound", 20);
	cr_expect(lab_rows(&s.l, "sagemaker.node") == 0);
	cr_expect(lab_rows(&s.l, "ec2.interface") == enis);
	lab_stop(&s.l);
}

static const char plan_arn[] =
	"arn:aws:sagemaker:us-west-2:111122223333:training-plan/tp";

static void plans_and_spot(struct site *s)
{
	static const struct {
		const char *type, *status;
		int available;
		const char *text;
	} bad[] = {
		{"ml.p5e.48xlarge", "Active", 4, "is for instance type ml.p5e.48xlarge"},
		{"ml.p5.48xlarge", "Expired", 4, "is Expired"},
		{"ml.p5.48xlarge", "Active", 1, "has 1 instances available"},
	};
	json_t *g = json_own(&s->l.arena, group(s, "tp", "ml.p5.48xlarge", 2)), *out;

	json_put_str(g, "TrainingPlanArn", plan_arn);
	cr_expect_not(call(s, "CreateCluster", request(s, json_incref(g), true)));
	cr_expect(lab_has(s->l.message, "does not exist"), "%s", s->l.message);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cloud_configure(
			s->l.cloud,
			json_own(&s->l.arena,
				 json_pack("{s:{s:{s:s,s:i,s:[{s:s,s:i,s:s,s:s}]}}}",
					   "training_plans", "tp", "Status",
					   bad[i].status, "AvailableInstanceCount",
					   bad[i].available, "ReservedCapacitySummaries",
					   "InstanceType", bad[i].type,
					   "TotalInstanceCount", 4, "Status", "Active",
					   "ReservedCapacityArn",
					   "arn:aws:sagemaker:us-west-2:111122223333:"
					   "reserved-capacity/rc")));
		cr_expect_not(call(s, "CreateCluster", request(s, json_incref(g), true)));
		cr_expect(lab_has(s->l.message, bad[i].text), "%s", s->l.message);
	}
	out = lab_call(&s->l, "sagemaker", "DescribeTrainingPlan", "{s:s}",
		       "TrainingPlanName", "tp");
	cr_expect_str_eq(json_str_at(out, "TrainingPlanArn"), plan_arn);

	/* Spot has a quota of its own, and it is zero. */
	g = group(s, "spot", "ml.m6i.xlarge", 1);
	json_object_set_new(g, "CapacityRequirements", json_pack("{s:{}}", "Spot"));
	cr_expect_not(call(s, "CreateCluster", request(s, g, true)));
	cr_expect_str_eq(s->l.code, "ResourceLimitExceeded");
	cr_expect(
		lab_has(s->l.message, "'ml.m6i.xlarge for cluster spot instance usage'"),
		"%s", s->l.message);
}

Test(sagemaker, refusals)
{
	struct site s;
	json_t *in;

	build(&s, "sagemaker-demo");
	cr_expect_not(call(&s, "CreateCluster",
			   request(&s, group(&s, "gpu", "ml.p5.48xlarge", 5), true)));
	cr_expect_str_eq(s.l.code, "ResourceLimitExceeded");
	cr_expect(
		lab_has(s.l.message, "'ml.p5.48xlarge for cluster usage' is 4 Instances"),
		"%s", s.l.message);

	in = request(&s, group(&s, "w", "ml.m6i.xlarge", 1), true);
	json_put_str(in, "InstanceGroups.0.ExecutionRole",
		     "arn:aws:iam::111122223333:role/nobody");
	cr_expect_not(call(&s, "CreateCluster", in));
	cr_expect_str_eq(s.l.code, "ValidationException");
	cr_expect(lab_has(s.l.message, "cannot assume the execution role"), "%s",
		  s.l.message);

	in = request(&s, group(&s, "w", "ml.m6i.xlarge", 1), true);
	json_drop(json_at(in, "InstanceGroups.0"), "LifeCycleConfig");
	cr_expect_not(call(&s, "CreateCluster", in));
	cr_expect(lab_has(s.l.message, "LifeCycleConfig"), "%s", s.l.message);

	in = request(&s, group(&s, "w", "ml.m6i.xlarge", 1), true);
	json_put_str(in, "Orchestrator.Eks.ClusterArn",
		     "arn:aws:eks:us-west-2:111122223333:cluster/none");
	cr_expect_not(call(&s, "CreateCluster", in));
	cr_expect(lab_has(s.l.message, "does not exist"), "%s", s.l.message);

	in = request(&s, group(&s, "w", "ml.m6i.xlarge", 1), false);
	json_object_set_new(json_at(in, "InstanceGroups.0"), "CapacityRequirements",
			    json_pack("{s:{}}", "Spot"));
	cr_expect_not(call(&s, "CreateCluster", in));
	cr_expect(lab_has(s.l.message, "Continuous"), "%s", s.l.message);

	plans_and_spot(&s);
	cr_expect(lab_rows(&s.l, "sagemaker.cluster") == 0);
	lab_stop(&s.l);
}

Test(sagemaker, continuous_keeps_trying_classic_rolls_back)
{
	struct site s;
	json_t *out, *event;

	build(&s, "sagemaker-demo");
	cloud_configure(s.l.cloud, json_own(&s.l.arena, json_pack("{s:{s:i}}", "capacity",
								  "ml.m6i.xlarge", 1)));
	cr_assert(call(&s, "CreateCluster",
		       request(&s, group(&s, "workers", "ml.m6i.xlarge", 2), true)));
	until_count(&s, "workers", 1, 20);
	lab_wait(&s.l, 600000);
	out = describe(&s);
	cr_expect_str_eq(json_str_at(out, "ClusterStatus"), "InService");
	cr_expect(json_int_or(out, "InstanceGroups.0.CurrentCount", -1) == 1);
	cr_expect(json_int_or(out, "InstanceGroups.0.ActiveOperations.Scaling", 0) == 1);
	event = newest_error(&s);
	out = lab_call(&s.l, "sagemaker", "DescribeClusterEvent", "{s:s,s:s}",
		       "ClusterName", "pod", "EventId", json_str_at(event, "EventId"));
	cr_expect(lab_has(json_str_or(out,
				      "EventDetails.EventDetails.EventMetadata.Instance."
				      "FailureMessage",
				      ""),
			  "We currently do not have sufficient capacity to launch new "
			  "ml.m6i.xlarge instances"));
	/* Capacity comes back: it goes on by itself. */
	cloud_configure(s.l.cloud, json_own(&s.l.arena, json_pack("{s:n}", "capacity")));
	until_count(&s, "workers", 2, 20);
	cr_assert(call(&s, "DeleteCluster", json_pack("{s:s}", "ClusterName", "pod")));
	lab_until(&s.l, "sagemaker", "DescribeCluster",
		  json_pack("{s:s}", "ClusterName", "pod"), "", "ResourceNotFound", 20);

	cloud_configure(s.l.cloud, json_own(&s.l.arena, json_pack("{s:{s:i}}", "capacity",
								  "ml.m6i.xlarge", 1)));
	cr_assert(call(&s, "CreateCluster",
		       request(&s, group(&s, "workers", "ml.m6i.xlarge", 2), false)));
	out = lab_until(&s.l, "sagemaker", "DescribeCluster",
			json_pack("{s:s}", "ClusterName", "pod"), "ClusterStatus",
			"Failed", 30);
	cr_expect(lab_has(json_str_at(out, "FailureMessage"), "sufficient capacity"));
	cr_expect_not(
		call(&s, "ListClusterEvents", json_pack("{s:s}", "ClusterName", "pod")));
	lab_stop(&s.l);
}

Test(sagemaker, nodes_that_fail_before_they_join)
{
	struct site s;
	json_t *out, *node;
	const char *id;

	build(&s, "sagemaker-demo");
	cloud_configure(
		s.l.cloud,
		json_own(&s.l.arena, json_pack("{s:s}", "lifecycle_script", "fail")));
	cr_assert(call(&s, "CreateCluster",
		       request(&s, group(&s, "workers", "ml.m6i.xlarge", 1), true)));
	lab_wait(&s.l, 8 * 60000);
	node = json_array_get(nodes(&s), 0);
	id = json_str_at(node, "InstanceId");
	cr_expect_str_eq(json_str_at(node, "InstanceStatus.Status"), "Failure");
	cr_expect(lab_has(json_str_or(node, "InstanceStatus.Message", ""),
			  "Lifecycle scripts did not run successfully."));
	cr_expect_str_eq(ready_of(&s, node), "absent");
	out = describe(&s);
	id = arena_printf(&s.l.arena, "LifecycleConfig/workers/%s", id);
	out = lab_call(&s.l, "logs", "GetLogEvents", "{s:s,s:s}", "logGroupName",
		       arena_printf(&s.l.arena, "/aws/sagemaker/Clusters/pod/%s",
				    strrchr(json_str_at(out, "ClusterArn"), '/') + 1),
		       "logStreamName", id);
	cr_expect(json_len_at(out, "events") >= 2);

	/* Mended: the node is made anew, under another id. */
	cloud_configure(s.l.cloud,
			json_own(&s.l.arena, json_pack("{s:n}", "lifecycle_script")));
	until_count(&s, "workers", 1, 25);

	/* EFA needs the group open to itself in both directions; then no log exists. */
	lab_call(&s.l, "ec2", "RevokeSecurityGroupEgress", "{s:s,s:[{s:s,s:[{s:s}]}]}",
		 "GroupId", lab_output(s.stack, "SecurityGroupId"), "IpPermissions",
		 "IpProtocol", "-1", "UserIdGroupPairs", "GroupId",
		 lab_output(s.stack, "SecurityGroupId"));
	cr_assert(call(&s, "UpdateCluster",
		       json_pack("{s:s,s:[o]}", "ClusterName", "pod", "InstanceGroups",
				 group(&s, "gpu", "ml.p5.48xlarge", 1))),
		  "%s", s.l.message);
	lab_wait(&s.l, 8 * 60000);
	node = json_find(nodes(&s), "InstanceGroupName", "gpu");
	cr_expect(lab_has(json_str_or(node, "InstanceStatus.Message", ""),
			  "EFA health checks did not run successfully."),
		  "%s", json_str_or(node, "InstanceStatus.Message", "no message"));
	lab_stop(&s.l);
}

Test(sagemaker, deep_health_checks_come_before_work)
{
	struct site s;
	json_t *g, *node;

	build(&s, "sagemaker-demo");
	g = group(&s, "workers", "ml.m6i.xlarge", 1);
	json_object_set_new(g, "OnStartDeepHealthChecks",
			    json_pack("[s]", "InstanceStress"));
	cr_assert(call(&s, "CreateCluster", request(&s, g, true)), "%s", s.l.message);
	until_count(&s, "workers", 1, 20);
	lab_wait(&s.l, 5 * 60000);
	node = json_array_get(nodes(&s), 0);
	cr_expect_str_eq(json_str_at(node, "InstanceStatus.Status"),
			 "DeepHealthCheckInProgress");
	cr_expect_str_eq(label_of(&s, node, "sagemaker.amazonaws.com/node-health-status"),
			 "Unschedulable");
	lab_wait(&s.l, 60 * 60000);
	node = json_array_get(nodes(&s), 0);
	cr_expect_str_eq(json_str_at(node, "InstanceStatus.Status"), "Running");
	cr_expect_str_eq(label_of(&s, node, "sagemaker.amazonaws.com/node-health-status"),
			 "Schedulable");
	cr_expect_str_eq(
		label_of(&s, node, "sagemaker.amazonaws.com/deep-health-check-status"),
		"Passed");
	lab_stop(&s.l);
}
