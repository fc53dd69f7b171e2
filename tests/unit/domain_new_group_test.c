/* The first group of a cluster and one that is added are asked for in the same words. */
#include "core/domain/capability.h"
#include "core/domain/hyperpod/new_group.h"
#include "core/domain/offer/cluster_check.h"
#include "tests/unit/domain_scene.h"

static const char *const makers[] = {"create_cluster", "create_hyperpod_cluster",
				     "add_instance_group"};
enum { MAKERS = sizeof(makers) / sizeof(makers[0]) };

static const struct field *field_of(const char *capability, const char *name)
{
	const struct capability *cap = capability_find(capability);

	cr_assert(cap, "%s", capability);
	for (const struct field *f = cap->in; f->name; f++)
		if (streq(f->name, name))
			return f;
	return NULL;
}

/* Of one cluster, not of the group; or one that only a second group can have. */
static bool is_apart(const char *name)
{
	static const char *const apart[] = {"cluster", "name", "instance_types", NULL};

	for (size_t i = 0; apart[i]; i++)
		if (streq(apart[i], name))
			return true;
	return false;
}

Test(domain_new_group, what_a_group_takes_the_first_takes_too)
{
	const struct capability *add = capability_find("add_instance_group");

	for (const struct field *f = add->in; f->name; f++)
		for (int i = 0; i < MAKERS; i++) {
			const struct field *same = field_of(makers[i], f->name);

			if (is_apart(f->name))
				continue;
			cr_expect(same, "%s lacks %s", makers[i], f->name);
			if (!same)
				continue;
			cr_expect_eq(same->type, f->type, "%s", f->name);
			cr_expect(streq(same->pattern, f->pattern), "%s", f->name);
		}
}

/* Each member, and what becomes of it in the request. */
static const struct {
	const char *member, *sent;
} rows[] = {
	{"'group_name':'gpu'", "'InstanceGroupName':'gpu'"},
	{"'instance_type':'ml.g5.xlarge'", "'InstanceType':'ml.g5.xlarge'"},
	{"'count':7", "'InstanceCount':7"},
	{"'capacity_type':'spot'", "'CapacityRequirements':{'Spot':{}}"},
	{"'training_plan_arn':'arn:p'", "'TrainingPlanArn':'arn:p'"},
	{"'interface_mode':'efa-only'",
	 "'NetworkInterface':{'InterfaceType':'efa-only'}"},
	{"'volume_size_gb':700", "'VolumeSizeInGB':700"},
	{"'min_count':3", "'MinInstanceCount':3"},
	{"'labels':{'team':'red'}", "'Labels':{'team':'red'}"},
	{"'taints':[{'key':'k','value':'v','effect':'NoExecute'}]",
	 "'Taints':[{'Effect':'NoExecute','Key':'k','Value':'v'}]"},
	{"'deep_health_checks':['InstanceStress']",
	 "'OnStartDeepHealthChecks':['InstanceStress']"},
	{"'threads_per_core':2", "'ThreadsPerCore':2"},
	{"'execution_role_arn':'arn:aws:iam::111122223333:role/own'",
	 "'ExecutionRole':'arn:aws:iam::111122223333:role/own'"},
	{"'lifecycle_s3_uri':'s3://sagemaker-x/y'", "'SourceS3Uri':'s3://sagemaker-x/y'"},
	{"'lifecycle_s3_uri':'s3://sagemaker-x/y','lifecycle_on_create':'go.sh'",
	 "'OnCreate':'go.sh'"},
	{"'image_release_version':'1.2.3'", "'ImageReleaseVersion':'1.2.3'"},
};

#define PLACE                                                                            \
	"{'subnet':{'id':'subnet-1'},'security_group_id':'sg-1','eks':{'arn':'arn:eks'}}"
#define ROLE "'iam:GetRole':{'Role':{'RoleName':'own'}}"

static const struct {
	const char *kind, *step, *answers;
} ways[] = {
	{"create_hyperpod_cluster", "create_cluster", "{" ROLE "}"},
	{"add_instance_group", "add_group",
	 "{" ROLE ",'sagemaker:DescribeCluster':{'ClusterName':'demo','ClusterStatus':"
	 "'InService','NodeProvisioningMode':'Continuous','InstanceGroups':[]}}"},
};

/* The request that a group with this member makes, as text with ' for ". */
static const char *request_of(struct arena *a, size_t way, const char *member)
{
	json_t *in = scene_tree(a, "{'group_name':'w','instance_type':'ml.g5.12xlarge',"
				   "'count':1,'capacity_type':'on_demand'}"),
	       *request = NULL;
	char *text;

	json_object_update(in, scene_tree(a, arena_printf(a, "{%s}", member)));
	text = arena_strdup(a, json_text(a, in));
	(void)scene_play(a, &(struct scene){.kind = ways[way].kind,
					    .step = ways[way].step,
					    .input = text,
					    .data = PLACE,
					    .answers = ways[way].answers,
					    .ret_request = &request});
	cr_assert(request, "%s, %s", ways[way].kind, member);
	text = arena_strdup(a, json_text(a, request));
	for (char *p = text; *p; p++)
		if (*p == '"')
			*p = '\'';
	return text;
}

Test(domain_new_group, every_member_reaches_the_cloud_in_both_ways)
{
	for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct arena a;
			const char *sent;

			arena_init(&a, 0);
			sent = request_of(&a, w, rows[i].member);
			cr_expect(strstr(sent, rows[i].sent), "%s, %s: no %s in %s",
				  ways[w].kind, rows[i].member, rows[i].sent, sent);
			arena_free(&a);
		}
}

/* Those that say how the request is made, not what is in the group. */
Test(domain_new_group, no_member_is_untried)
{
	static const char *const others[] = {"accept_unknown_type",
					     "zone",
					     "subnet_id",
					     "tag_subnets",
					     "security_group_id",
					     "tags",
					     "permissions_boundary",
					     NULL};
	const struct capability *add = capability_find("add_instance_group");

	for (const struct field *f = add->in; f->name; f++) {
		char quoted[80];
		bool found = is_apart(f->name);

		snprintf(quoted, sizeof(quoted), "'%s':", f->name);
		for (size_t i = 0; others[i]; i++)
			found = found || streq(others[i], f->name);
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			found = found || strstr(rows[i].member, quoted);
		cr_expect(found, "%s", f->name);
	}
}

Test(domain_new_group, least_and_count_and_place_are_judged_together_for_both)
{
	static const struct {
		const char *input, *field;
	} wrong[] = {
		{"{'group_name':'w','capacity_type':'on_demand','zone':'us-west-2a','instance_type':'ml.g5.xlarge',"
		 "'count':2,'min_count':3}",
		 "/min_count"},
		{"{'group_name':'w','capacity_type':'spot','instance_type':'ml.g5.xlarge'}",
		 "/zone"},
		{"{'group_name':'w','capacity_type':'spot','zone':'us-west-2a'}",
		 "/instance_type"},
		{"{'group_name':'w','zone':'us-west-2a','instance_types':['ml.g5.xlarge',"
		 "'ml.g6.xlarge'],'training_plan_arn':'p','capacity_type':'training_plan'}",
		 "/instance_types"},
	};
	const struct config cfg = {.kubernetes_oldest = "1.28",
				   .kubernetes_newest = "1.33"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct arena a;
		struct err e = {0};

		arena_init(&a, 0);
		cr_expect_not(
			cluster_check(scene_tree(&a, wrong[i].input), &cfg, &a, &e));
		cr_expect_str_eq(e.field, wrong[i].field, "%s", e.detail);
		arena_free(&a);
	}
}

/* The pipeline hands on all that its stages take. */
Test(domain_new_group, no_member_is_lost_between_the_pipeline_and_its_stages)
{
	const struct kind *pipeline = kind_find(kinds, "create_cluster");
	const struct capability *whole = capability_find("create_cluster");

	for (const struct step *s = pipeline->steps; s->name; s++) {
		struct step_ctx c = {.target = "demo", .step = s};
		const struct capability *part;
		struct spawn started = {0};
		struct arena a;
		json_t *request;

		if (!s->spawn)
			continue;
		arena_init(&a, 0);
		c.arena = &a;
		c.input = request = json_new_object(&a);
		c.data = json_new_object(&a);
		for (const struct field *f = whole->in; f->name; f++)
			if (!streq(f->name, "name") && !streq(f->name, "storage"))
				json_put_str(request, f->name, "given");
		(void)s->spawn(&c, &started);
		part = capability_find(started.kind);
		cr_assert(part, "%s", s->name);
		for (const struct field *f = part->in; f->name; f++)
			if (json_object_get(c.input, f->name) &&
			    !streq(started.kind, "create_s3_storage"))
				cr_expect(json_object_get(started.input, f->name),
					  "%s loses %s", s->name, f->name);
		arena_free(&a);
	}
}

/* Of a new cluster it is refused; beside nodes of others it is said. */
Test(domain_new_group, a_first_group_that_keeps_all_pods_out)
{
	static const struct {
		const char *taints;
		bool repels;
	} taints[] = {
		{"{}", false},
		{"{'taints':[]}", false},
		{"{'taints':[{'key':'a','effect':'PreferNoSchedule'}]}", false},
		{"{'taints':[{'key':'a','effect':'PreferNoSchedule'},"
		 "{'key':'b','effect':'NoSchedule'}]}",
		 true},
		{"{'taints':[{'key':'a','effect':'NoExecute'}]}", true},
		{"{'taints':[{'key':'a'}]}", true}, /* NoSchedule is the default */
	};
	static const struct scene warned[] = {
		{.id = "a tainted group beside nodes that may be there",
		 .kind = "create_hyperpod_cluster",
		 .step = "create_cluster",
		 .planning = true,
		 .input = "{'group_name':'w','instance_type':'ml.g5.12xlarge','count':1,"
			  "'taints':[{'key':'b','effect':'NoExecute'}]}",
		 .data = PLACE,
		 .answers = "{" ROLE "}",
		 .says = {"taint b:NoExecute", "need other nodes"}},
	};

	for (size_t i = 0; i < sizeof(taints) / sizeof(taints[0]); i++) {
		struct arena a;

		arena_init(&a, 0);
		cr_expect_eq(new_group_repels(scene_tree(&a, taints[i].taints)) != NULL,
			     taints[i].repels, "%s", taints[i].taints);
		arena_free(&a);
	}
	SCENES_HOLD(warned);
}
