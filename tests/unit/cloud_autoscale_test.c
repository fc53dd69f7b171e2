/* The managed autoscaler of the simulated cloud: its switch, its objects, its nodes. */
#include "tests/cloud/iam.h"
#include "tests/unit/cloud_site.h"

static const char service_trust[] =
	"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{"
	"\"Service\":\"hyperpod.sagemaker.amazonaws.com\"},\"Action\":\"sts:AssumeRole\"}]}";
static const char rights[] =
	"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Action\":["
	"\"sagemaker:BatchAddClusterNodes\",\"sagemaker:BatchDeleteClusterNodes\"],"
	"\"Resource\":\"*\"}]}";
static const char type[] = "ml.g5.12xlarge"; /* four GPUs */

static json_t *role_of(struct site *s, const char *name, const char *document)
{
	json_t *out = lab_call(&s->l, "iam", "CreateRole", "{s:s,s:s}", "RoleName", name,
			       "AssumeRolePolicyDocument", document);

	return json_at(out, "Role.Arn");
}

static bool call(struct site *s, const char *op, json_t *in)
{
	return cloud_invoke(s->l.cloud, &s->l.arena, "sagemaker", op,
			    json_own(&s->l.arena, in), NULL, NULL, &s->l.code,
			    &s->l.message);
}

static bool update(struct site *s, const char *mode, const char *role)
{
	json_t *in = json_pack("{s:s,s:{s:s,s:s}}", "ClusterName", "pod", "AutoScaling",
			       "Mode", mode, "AutoScalerType", "Karpenter");

	json_put_str(in, "ClusterRole", role);
	return call(s, "UpdateCluster", in);
}

static const char *status_of(struct site *s)
{
	return json_str_or(lab_call(&s->l, "sagemaker", "DescribeCluster", "{s:s}",
				    "ClusterName", "pod"),
			   "AutoScaling.Status", "absent");
}

static void until_status(struct site *s, const char *want)
{
	for (int i = 0; i < 120 && !streq(status_of(s), want); i++)
		lab_wait(&s->l, 5000);
	cr_assert_str_eq(status_of(s), want);
}

static int64_t count_of(struct site *s, const char *name, const char *member)
{
	const json_t *out = lab_call(&s->l, "sagemaker", "DescribeCluster", "{s:s}",
				     "ClusterName", "pod");

	return json_int_or(
		json_find(json_at(out, "InstanceGroups"), "InstanceGroupName", name),
		member, -1);
}

static void put(struct site *s, const char *text)
{
	char *z = arena_strdup(&s->l.arena, text);
	struct err e = {0};
	json_t *t;

	for (char *p = z; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	t = json_parse(&s->l.arena, str_of(z), &e);
	cr_assert_not_null(t, "%s: %s", e.detail, text);
	cloud_kube_put(s->l.cloud, "demo", json_deep_copy(t));
}

static void put_class(struct site *s, const char *groups)
{
	put(s, arena_printf(&s->l.arena,
			    "{'apiVersion':'karpenter.sagemaker.amazonaws.com/v1','kind':"
			    "'HyperpodNodeClass','metadata':{'name':'gpu'},'spec':{"
			    "'instanceGroups':[%s]}}",
			    groups));
}

static void put_pool(struct site *s, const char *more)
{
	put(s, arena_printf(
		       &s->l.arena,
		       "{'apiVersion':'karpenter.sh/v1','kind':'NodePool','metadata':{"
		       "'name':'train'},'spec':{'disruption':{'consolidationPolicy':"
		       "'WhenEmpty','consolidateAfter':'1m'},'template':{'spec':{"
		       "'nodeClassRef':{'group':'karpenter.sagemaker.amazonaws.com',"
		       "'kind':'HyperpodNodeClass','name':'gpu'},'requirements':[{'key':"
		       "'node.kubernetes.io/instance-type','operator':'Exists'}]}}%s}}",
		       more));
}

static void put_pod(struct site *s, const char *name, int gpus)
{
	put(s,
	    arena_printf(
		    &s->l.arena,
		    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','namespace':"
		    "'default'},'spec':{'containers':[{'name':'c','image':'i','resources':"
		    "{'requests':{'nvidia.com/gpu':'%d'}}}]}}",
		    name, gpus));
}

static const json_t *object(struct site *s, const char *api, const char *plural,
			    const char *name)
{
	return cloud_kube_get(s->l.cloud, "demo", api, plural,
			      streq(plural, "pods") ? "default" : NULL, name);
}

static const char *condition_of(const json_t *obj, const char *name)
{
	return json_str_or(json_find(json_at(obj, "status.conditions"), "type", name),
			   "status", "absent");
}

static void until_phase(struct site *s, const char *pod, const char *want)
{
	const char *seen = "absent";

	for (int i = 0; i < 300; i++) {
		seen = json_str_or(object(s, "v1", "pods", pod), "status.phase",
				   "absent");
		if (streq(seen, want))
			return;
		lab_wait(&s->l, 5000);
	}
	cr_assert(false, "%s is %s, not %s", pod, seen, want);
}

/* How many events have that reason; *ret_text: of one of them. */
static int events_of(struct site *s, const char *reason, const char **ret_text)
{
	const json_t *all = json_at(cloud_get(s->l.cloud, "kube", "demo"), "objects");
	const char *key;
	json_t *e;
	int n = 0;

	json_object_foreach(json_object_get(all, "/events"), key, e)
		if (streq(json_str_at(e, "reason"), reason) &&
		    streq(json_str_at(e, "source.component"), "karpenter")) {
			*ret_text = json_str_or(e, "message", "");
			n++;
		}
	return n;
}

static void make(struct site *s, bool continuous)
{
	build(s, "sagemaker-scripts");
	cr_assert(call(s, "CreateCluster",
		       request(s, group(s, "ig-a", type, 0), continuous)),
		  "%s", s->l.message);
	lab_until(&s->l, "sagemaker", "DescribeCluster",
		  json_pack("{s:s}", "ClusterName", "pod"), "ClusterStatus", "InService",
		  30);
	cloud_configure(s->l.cloud, json_own(&s->l.arena, json_pack("{s:{s:i}}", "quota",
								    "L-4C3F99F6", 8)));
}

static void refused(struct site *s, const char *mode, const char *role, const char *words)
{
	cr_assert(!update(s, mode, role), "%s with %s was taken", mode, role);
	cr_expect(lab_has(s->l.message, words), "%s: %s", words, s->l.message);
}

/* The switch: prerequisites, a role that is trusted and allowed, states, fixed role. */
Test(cloud_autoscale, switch_on_and_off)
{
	struct site s = {0};
	const char *ours, *theirs;

	make(&s, true);
	ours = json_string_value(role_of(&s, "scaler", service_trust));
	theirs = json_string_value(role_of(&s, "wrong", trust));
	refused(&s, "Enable", NULL, "ClusterRole is required");
	refused(&s, "Enable", theirs, "could not be assumed");
	cr_assert(update(&s, "Enable", ours), "%s", s.l.message);
	until_status(&s, "Failed");
	lab_call(&s.l, "iam", "PutRolePolicy", "{s:s,s:s,s:s}", "RoleName", "scaler",
		 "PolicyName", "p", "PolicyDocument", rights);
	cr_assert(!object(&s, "apiextensions.k8s.io/v1", "customresourcedefinitions",
			  "nodepools.karpenter.sh"));
	cr_assert(update(&s, "Enable", ours));
	cr_assert_str_eq(status_of(&s), "Creating");
	until_status(&s, "InService");
	cr_assert_str_eq(condition_of(object(&s, "apiextensions.k8s.io/v1",
					     "customresourcedefinitions",
					     "nodepools.karpenter.sh"),
				      "Established"),
			 "True");
	refused(&s, "Enable", theirs, "cannot be changed while AutoScaling is enabled");
	cr_assert(update(&s, "Disable", NULL));
	cr_assert_str_eq(status_of(&s), "Deleting");
	refused(&s, "Enable", ours, "is being disabled");
	until_status(&s, "absent");
	cr_assert(!object(&s, "apiextensions.k8s.io/v1", "customresourcedefinitions",
			  "nodepools.karpenter.sh"));
	lab_stop(&s.l);
	s = (struct site){0};
	make(&s, false);
	refused(&s, "Enable", json_string_value(role_of(&s, "scaler", service_trust)),
		"NodeProvisioningMode to be Continuous");
	lab_stop(&s.l);
}

static void turn_on(struct site *s)
{
	const char *arn = json_string_value(role_of(s, "scaler", service_trust));

	lab_call(&s->l, "iam", "PutRolePolicy", "{s:s,s:s,s:s}", "RoleName", "scaler",
		 "PolicyName", "p", "PolicyDocument", rights);
	cr_assert(update(s, "Enable", arn), "%s", s->l.message);
	until_status(s, "InService");
}

/* A pod that waits gets a node, two small ones share it, and it goes when they do;
 * what the limits and the type forbid is told at the pod. */
Test(cloud_autoscale, pods_get_nodes_and_give_them_back, .timeout = 60)
{
	struct site s = {0};
	const char *text = "";
	const json_t *pool;

	make(&s, true);
	turn_on(&s);
	put_class(&s, "'ig-a','ig-none'");
	lab_wait(&s.l, 10000);
	cr_assert_str_eq(condition_of(object(&s, "karpenter.sagemaker.amazonaws.com/v1",
					     "hyperpodnodeclasses", "gpu"),
				      "InstanceGroupReady"),
			 "False");
	put_class(&s, "'ig-a'");
	put_pool(&s, ",'limits':{'nvidia.com/gpu':'4'}");
	put_pod(&s, "a", 2);
	put_pod(&s, "b", 2);
	until_phase(&s, "a", "Running");
	until_phase(&s, "b", "Running");
	cr_assert_eq(count_of(&s, "ig-a", "TargetCount"), 1);
	pool = object(&s, "karpenter.sh/v1", "nodepools", "train");
	cr_assert_str_eq(condition_of(pool, "Ready"), "True");
	cr_assert_eq(json_int_or(pool, "status.nodes", 0), 1);
	cr_assert_str_eq(json_string_value(json_object_get(
				 json_at(pool, "status.resources"), "nvidia.com/gpu")),
			 "4");
	put_pod(&s, "c", 4);
	put_pod(&s, "huge", 8);
	lab_wait(&s.l, 60000);
	cr_assert_eq(events_of(&s, "FailedScheduling", &text), 2, "%s", text);
	cr_assert_eq(count_of(&s, "ig-a", "TargetCount"), 1, "the limit holds");
	for (const char *const *p = (const char *const[]){"a", "b", "c", "huge", NULL};
	     *p; p++)
		cloud_kube_remove(s.l.cloud, "demo", "v1", "pods", "default", *p);
	for (int i = 0; i < 120 && count_of(&s, "ig-a", "TargetCount") > 0; i++)
		lab_wait(&s.l, 5000);
	cr_assert_eq(count_of(&s, "ig-a", "TargetCount"), 0);
	lab_stop(&s.l);
}

/* Without capacity each try is an object that says so and an event; the pod waits on,
 * and has its node when there is one. Nodes that were there before are taken down. */
Test(cloud_autoscale, no_capacity_is_tried_again_and_told, .timeout = 60)
{
	struct site s = {0};
	const char *text = "";

	make(&s, true);
	cr_assert(call(&s, "BatchAddClusterNodes",
		       json_pack("{s:s,s:[{s:s,s:i}]}", "ClusterName", "pod",
				 "NodesToAdd", "InstanceGroupName", "ig-a",
				 "IncrementTargetCountBy", 1)));
	turn_on(&s);
	put_class(&s, "'ig-a'");
	put_pool(&s, "");
	lab_wait(&s.l, 600000);
	cr_assert_eq(count_of(&s, "ig-a", "TargetCount"), 0, "nobody's node goes");
	cloud_configure(s.l.cloud, json_own(&s.l.arena,
					    json_pack("{s:{s:i}}", "capacity", type, 0)));
	put_pod(&s, "a", 4);
	for (int i = 0; i < 240 && events_of(&s, "InsufficientCapacityError", &text) < 3;
	     i++)
		lab_wait(&s.l, 5000);
	cr_assert_eq(events_of(&s, "InsufficientCapacityError", &text), 3);
	cr_assert(lab_has(text, "sufficient capacity"), "%s", text);
	cr_assert(count_of(&s, "ig-a", "TargetCount") <= 1);
	until_phase(&s, "a", "Pending");
	cloud_configure(s.l.cloud, json_own(&s.l.arena,
					    json_pack("{s:{s:i}}", "capacity", type, 1)));
	until_phase(&s, "a", "Running");
	lab_stop(&s.l);
}
