/* Instance groups of a cluster made by hand, with every member set: what an operation
 * did not plan to change is afterwards as it was, by the published model's own list. */
#include "core/domain/hyperpod/group_spec.h"
#include "tests/unit/cloud_operate.h"
#include "tests/unit/cloud_site.h"

#define PLAN "arn:aws:sagemaker:us-west-2:111122223333:training-plan/spring"

struct world {
	struct site s;
	struct operate o;
};

static json_t *tree(struct world *w, const char *text)
{
	char *z = arena_strdup(&w->s.l.arena, text);
	struct err e = {0};
	json_t *t;

	for (char *p = z; *p; p++)
		if (*p == '\'')
			*p = '"';
	t = json_parse(&w->s.l.arena, str_of(z), &e);
	cr_assert(t, "%s: %s", text, e.detail);
	return t;
}

/* Everything but what excludes it: several instance types, and Slurm. */
static json_t *full_group(struct world *w)
{
	json_t *g = tree(
		w,
		"{'InstanceGroupName':'full','InstanceType':'ml.p5.48xlarge',"
		"'InstanceCount':2,'MinInstanceCount':1,'ThreadsPerCore':2,"
		"'InstanceStorageConfigs':[{'EbsVolumeConfig':{'VolumeSizeInGB':300}}],"
		"'OnStartDeepHealthChecks':['InstanceStress'],'TrainingPlanArn':'" PLAN
		"',"
		"'ScheduledUpdateConfig':{'ScheduleExpression':'cron(0 3 ? * SUN *)',"
		"'DeploymentConfig':{'RollingUpdatePolicy':{'MaximumBatchSize':{'Type':"
		"'INSTANCE_COUNT','Value':1}},'WaitIntervalInSeconds':60,"
		"'AutoRollbackConfiguration':[{'AlarmName':'loss'}]}},"
		"'ImageId':'ami-0123456789abcdef0','ImageReleaseVersion':'1.2.3',"
		"'AutoPatchConfig':{'PatchingStrategy':'WhenIdle','PatchSchedule':"
		"{'NextPatchDate':1798761600},'DeploymentConfig':{"
		"'WaitIntervalInSeconds':30}},"
		"'KubernetesConfig':{'Labels':{'team':'red','a.b/c':'d'},'Taints':[{'Key':"
		"'gpu','Value':'yes','Effect':'NoSchedule'}]},"
		"'CapacityRequirements':{'OnDemand':{}},"
		"'NetworkInterface':{'InterfaceType':'efa-only'}}");

	json_object_set_new(g, "LifeCycleConfig",
			    json_pack("{s:o,s:s,s:s}", "SourceS3Uri",
				      json_sprintf("s3://%s/lifecycle", w->s.bucket),
				      "OnCreate", "on_create.sh", "OnInitComplete",
				      "on_create.sh"));
	json_object_set_new(g, "ExecutionRole", json_string(w->s.role));
	json_object_set_new(g, "OverrideVpcConfig",
			    json_pack("{s:[s],s:[s]}", "SecurityGroupIds",
				      lab_output(w->s.stack, "SecurityGroupId"),
				      "Subnets", w->s.subnet));
	return g;
}

static json_t *mixed_group(struct world *w)
{
	json_t *g = json_own(&w->s.l.arena, group(&w->s, "mixed", "ml.m6i.xlarge", 1));

	json_object_del(g, "InstanceType");
	json_put(g, "InstanceRequirements.InstanceTypes",
		 json_pack("[s,s]", "ml.p5.48xlarge", "ml.m6i.xlarge"));
	json_put(g, "CapacityRequirements.Spot", json_object());
	return g;
}

static json_t *live(struct world *w, const char *name)
{
	json_t *out = lab_call(&w->s.l, "sagemaker", "DescribeCluster", "{s:s}",
			       "ClusterName", "pod");

	json_t *g = json_find(json_at(out, "InstanceGroups"), "InstanceGroupName", name);
	const char *key;
	json_t *v;
	void *next;

	/* The simulated cloud's own, which the wire does not carry. */
	g = g ? json_own(&w->s.l.arena, json_deep_copy(g)) : NULL;
	json_object_foreach_safe(g, next, key, v)
		if (key[0] == '_')
			json_object_del(g, key);
	return g;
}

static json_t *spec(struct world *w, const char *name)
{
	struct err e = {0};
	json_t *g = live(w, name), *s;

	cr_assert(g, "no group %s", name);
	s = group_spec(g, &w->s.l.arena, &e);
	cr_assert(s, "%s", e.detail);
	return s;
}

static void world_make(struct world *w)
{
	json_t *in;

	build(&w->s, "sagemaker-demo-scripts");
	cloud_configure(
		w->s.l.cloud,
		tree(w,
		     "{'quota':{'L-F742E2D7':4},'training_plans':{'spring':{'Status':"
		     "'Active','AvailableInstanceCount':16,'TotalInstanceCount':16,"
		     "'ReservedCapacitySummaries':[{'ReservedCapacityArn':'arn:aws:"
		     "sagemaker:us-west-2:111122223333:reserved-capacity/r1','Status':"
		     "'Active','TotalInstanceCount':16,'InstanceType':'ml.p5.48xlarge',"
		     "'AvailabilityZone':'us-west-2a'}]}}}"));
	lab_call(&w->s.l, "eks", "CreateAddon", "{s:s,s:s}", "clusterName", "demo",
		 "addonName", "coredns");
	in = json_own(&w->s.l.arena, request(&w->s, json_deep_copy(full_group(w)), true));
	cr_assert(cloud_invoke(w->s.l.cloud, &w->s.l.arena, "sagemaker", "CreateCluster",
			       in, NULL, NULL, &w->s.l.code, &w->s.l.message),
		  "%s", w->s.l.message);
	for (int i = 0; i < 400; i++) {
		if (json_int_or(live(w, "full"), "CurrentCount", 0) == 2)
			break;
		lab_wait(&w->s.l, 10000);
	}
	lab_wait(&w->s.l, 120000);
	operate_init(&w->o, &w->s.l);
}

static void update_by_hand(struct world *w, json_t *one_group)
{
	json_t *in = json_packf(&w->s.l.arena, "{s:s,s:[O]}", "ClusterName", "pod",
				"InstanceGroups", one_group);

	cr_assert(cloud_invoke(w->s.l.cloud, &w->s.l.arena, "sagemaker", "UpdateCluster",
			       in, NULL, NULL, &w->s.l.code, &w->s.l.message),
		  "%s", w->s.l.message);
	lab_wait(&w->s.l, 900000);
}

static void world_end(struct world *w)
{
	operate_free(&w->o);
	lab_stop(&w->s.l);
}

static void run(struct world *w, const char *kind, const char *input)
{
	json_t *in = tree(w, input);

	json_put_str(in, "hyperpod_name", "pod");
	cr_assert(operate(&w->o, kind, in, 0), "%s %s: %s\n%s", kind, input, w->o.failed,
		  w->o.log ? w->o.log : "");
}

struct against {
	const char *allowed; /* the one member that was planned to change */
	const char *when, *group;
};

static void must_be_same(void *about, const char *member, const json_t *wanted,
			 const json_t *now)
{
	const struct against *k = about;
	char *a = wanted ? json_dumps(wanted, JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;
	char *b = now ? json_dumps(now, JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;

	cr_expect(streq(member, k->allowed), "after %s: %s of %s was %s and is %s",
		  k->when, member, k->group, a ? a : "absent", b ? b : "absent");
	free(a);
	free(b);
}

/* Takes over what was planned, so that the next round starts from there. */
static void survives(struct world *w, json_t **before, const char *name,
		     const char *allowed, const char *when)
{
	struct against k = {.allowed = allowed, .when = when, .group = name};
	json_t *now = spec(w, name);

	group_spec_compare(*before, now, must_be_same, &k);
	*before = now;
}

/* --- the published model ---------------------------------------------------------- */

static json_t *model_members(struct world *w, const char *shape)
{
	json_t *all = json_own(&w->s.l.arena,
			       json_load_file(lab_models(&w->s.l.arena), 0, NULL));
	json_t *m = json_at(
		all, arena_printf(&w->s.l.arena, "sagemaker.shapes.%s.members", shape));

	cr_assert(json_object_size(m) > 3, "the model has no %s", shape);
	return m;
}

/* A member that the service gets fails here until the hand-made group sets it. */
static void every_member_is_set(struct world *w)
{
	const json_t *full = spec(w, "full"), *mixed = spec(w, "mixed");
	json_t *members = model_members(w, "ClusterInstanceGroupSpecification");
	const char *name;
	json_t *v;

	json_object_foreach(members, name, v)
		cr_expect(streq(name, "SlurmConfig") || json_object_get(full, name) ||
				  json_object_get(mixed, name),
			  "%s of the model does not come back from a live group", name);
}

static void every_detail_is_known(struct world *w)
{
	json_t *members = model_members(w, "ClusterInstanceGroupDetails"), *v;
	const char *name;
	struct err e = {0};

	json_object_foreach(members, name, v)
		cr_expect(group_spec(json_packf(&w->s.l.arena, "{s:i}", name, 1),
				     &w->s.l.arena, &e),
			  "%s: %s", name, e.detail);
	cr_expect_null(group_spec(json_packf(&w->s.l.arena, "{s:s,s:i}",
					     "InstanceGroupName", "g", "NewField2027", 1),
				  &w->s.l.arena, &e));
	cr_expect(strstr(e.detail, "Unknown field NewField2027"), "%s", e.detail);
}

Test(cloud_groups, every_member_of_a_hand_made_group_survives_add_scale_update_and_delete,
     .timeout = 120)
{
	static struct world w;
	json_t *full, *mixed;

	world_make(&w);
	update_by_hand(&w, mixed_group(&w));
	full = spec(&w, "full");
	mixed = spec(&w, "mixed");
	cr_expect_eq(group_spec_compare(full_group(&w), full, NULL, NULL), 0,
		     "sent and described differ: %s", json_text(&w.s.l.arena, full));
	every_member_is_set(&w);
	every_detail_is_known(&w);

	run(&w, "add_instance_group",
	    "{'group_name':'more','instance_type':'ml.m6i.xlarge','count':1,"
	    "'capacity_type':'on_demand','zone':'us-west-2a','volume_size_gb':200,"
	    "'labels':{'team':'blue'},'taints':[{'key':'x','value':'y','effect':"
	    "'NoExecute'}],'min_count':1,'threads_per_core':1}");
	survives(&w, &full, "full", "-", "adding a group");
	survives(&w, &mixed, "mixed", "-", "adding a group");
	cr_expect_str_eq(json_str_at(spec(&w, "more"), "KubernetesConfig.Labels.team"),
			 "blue");
	cr_expect_str_eq(json_str_at(spec(&w, "more"), "ExecutionRole"), w.s.role);
	cr_expect(json_at(spec(&w, "more"), "OverrideVpcConfig.Subnets.0"));

	run(&w, "scale_instance_group", "{'group_name':'full','count':4}");
	survives(&w, &full, "full", "InstanceCount", "scaling up");
	cr_expect_eq(json_int_or(full, "InstanceCount", 0), 4);
	cr_expect(strstr(w.o.log, "add_nodes: Add 2 nodes to full"), "%s", w.o.log);
	cr_expect(!strstr(w.o.log, "set_count"), "%s", w.o.log);
	run(&w, "scale_instance_group", "{'group_name':'full','count':4}");
	cr_expect_eq(w.o.mutations, 0, "desired is actual: %s", w.o.log);

	run(&w, "update_instance_group",
	    "{'group_name':'full','labels':{'team':'green'},'taints':[],'clear':[],"
	    "'min_count':0,'threads_per_core':0}");
	survives(&w, &full, "full", "KubernetesConfig", "changing labels");
	cr_expect_str_eq(json_str_at(full, "KubernetesConfig.Labels.team"), "green");
	cr_expect_str_eq(json_str_at(full, "KubernetesConfig.Taints.0.Key"), "gpu");
	run(&w, "update_instance_group",
	    "{'group_name':'full','labels':{'team':'green'}}");
	cr_expect_eq(w.o.mutations, 0, "desired is actual: %s", w.o.log);

	run(&w, "scale_instance_group", "{'group_name':'full','count':1}");
	survives(&w, &full, "full", "InstanceCount", "scaling down");
	run(&w, "delete_instance_group", "{'group_name':'more'}");
	cr_expect_null(live(&w, "more"));
	survives(&w, &full, "full", "-", "deleting a group");
	survives(&w, &mixed, "mixed", "-", "deleting a group");
	world_end(&w);
}

/* --- features ------------------------------------------------------------------------
 */

static bool is_tiered(const json_t *in)
{
	return json_object_get(in, "TieredStorageConfig") != NULL;
}

/* What UpdateCluster carried when it last set that, tiered storage or else the
 * autoscaler. */
static const json_t *last_update(struct world *w, bool tiered)
{
	const json_t *all = cloud_ledger(w->s.l.cloud);
	const json_t *in;

	for (size_t i = json_array_size(all); i-- > 0;) {
		in = json_at(json_array_get(all, i), "input");
		if (streq(json_str_at(json_array_get(all, i), "op"), "UpdateCluster") &&
		    is_tiered(in) == tiered)
			return in;
	}
	cr_assert(false, "no such UpdateCluster in the ledger");
	return NULL;
}

/* IG-04: with every group, each as it was, and nothing that is null. */
static void carried_whole(struct world *w, const json_t *full, const json_t *mixed,
			  const char *when)
{
	const json_t *sent = json_at(last_update(w, true), "InstanceGroups");
	const json_t *const live[] = {full, mixed};

	cr_expect_eq(json_array_size(sent), 2, "%s: %s", when,
		     json_text(&w->s.l.arena, sent));
	cr_expect(!strstr(json_text(&w->s.l.arena, sent), "null"), "%s", when);
	for (size_t i = 0; i < 2; i++) {
		const char *name = json_str_or(live[i], "InstanceGroupName", "");
		const json_t *g = json_find(sent, "InstanceGroupName", name);
		struct against k = {.allowed = "-", .when = when, .group = name};

		cr_expect(g, "%s does not go along", name);
		group_spec_compare(live[i], g, must_be_same, &k);
	}
}

/* On, off, and once more off: no call. */
static void toggle(struct world *w, const char *feature, json_t **full, json_t **mixed)
{
	for (int round = 0; round < 3; round++) {
		const char *input = arena_printf(&w->s.l.arena, "{'%s':{'enabled':%s}}",
						 feature, round == 0 ? "true" : "false");

		run(w, "update_features", input);
		cr_expect_eq(w->o.mutations > 0, round < 2, "%s: %s", input, w->o.log);
		survives(w, full, "full", "-", input);
		survives(w, mixed, "mixed", "-", input);
		if (streq(feature, "tiered_checkpointing"))
			carried_whole(w, *full, *mixed, input);
		else
			cr_expect_null(
				json_object_get(last_update(w, false), "InstanceGroups"));
	}
}

Test(cloud_groups, every_member_of_a_hand_made_group_survives_features_on_and_off,
     .timeout = 120)
{
	static struct world w;
	json_t *full, *mixed;

	world_make(&w);
	put_agent(&w.s.l);
	update_by_hand(&w, mixed_group(&w));
	full = spec(&w, "full");
	mixed = spec(&w, "mixed");
	cr_expect_eq(group_spec_compare(full_group(&w), full, NULL, NULL), 0);
	toggle(&w, "tiered_checkpointing", &full, &mixed);
	run(&w, "update_features",
	    "{'tiered_checkpointing':{'enabled':true,'memory_percent':30}}");
	carried_whole(&w, full, mixed, "a share of memory");
	toggle(&w, "autoscaling", &full, &mixed);
	cr_expect_eq(json_int_or(lab_call(&w.s.l, "sagemaker", "DescribeCluster", "{s:s}",
					  "ClusterName", "pod"),
				 "TieredStorageConfig.InstanceMemoryAllocationPercentage",
				 0),
		     30, "the autoscaler's switch took the share of memory along");
	run(&w, "scale_instance_group", "{'group_name':'full','count':1}");
	survives(&w, &full, "full", "InstanceCount", "scaling down");
	world_end(&w);
}

Test(cloud_groups, a_software_update_is_followed_to_its_end_good_or_bad, .timeout = 120)
{
	static struct world w;
	json_t *in;

	world_make(&w);
	run(&w, "update_cluster_software",
	    "{'groups':['full'],'image_release_version':'2.0.0','batch_count':1}");
	cr_expect_str_eq(json_str_at(live(&w, "full"), "SoftwareUpdateStatus"),
			 "Succeeded");
	cr_expect_str_eq(json_str_at(spec(&w, "full"), "ImageReleaseVersion"), "2.0.0");
	cloud_configure(w.s.l.cloud, tree(&w, "{'software':{'fail':'full'}}"));
	in = tree(&w, "{'hyperpod_name':'pod'}");
	cr_expect_not(operate(&w.o, "update_cluster_software", in, 0));
	cr_expect(strstr(w.o.failed, "full RollbackComplete"), "%s", w.o.failed);
	world_end(&w);
}
