/*
 * Every capability that may lose something, with something at stake and with nothing:
 * plan, word, hint and run agree. The rows come from the table of capabilities: a new
 * one that destroys fails here until it has a world of its own below.
 */
#include "tests/unit/domain_scene.h"

struct world {
	const char *capability; /* also the kind, unless "capability/kind of a stage" */
	const char *input;
	const char *calm;  /* answers of a world in which nothing is lost */
	const char *taken; /* answers in which something is, over those */
	const char *lost;  /* a text of at_stake then */
};

#define EKS                                                                              \
	"'eks:DescribeCluster':{'cluster':{'name':'demo','status':'ACTIVE','endpoint':"  \
	"'https://k','arn':'arn:aws:eks:us-west-2:1:cluster/demo','accessConfig':{"      \
	"'authenticationMode':'API'},'certificateAuthority':{'data':'eA=='}}}"
#define NODE                                                                             \
	"'InstanceGroupName':'gpu','InstanceId':'i-0000000a','NodeLogicalId':'n-1',"     \
	"'InstanceStatus':{'Status':'Running'},'LaunchTime':'2026-01-01T00:00:00Z'"
#define CLUSTER(mode)                                                                    \
	"'sagemaker:DescribeCluster':{'ClusterName':'demo','ClusterStatus':'InService'," \
	"'ClusterArn':'arn:c'," mode                                                     \
	"'InstanceGroups':[{'InstanceGroupName':'gpu','CurrentCount':1,'TargetCount':1," \
	"'InstanceType':'ml.g5.12xlarge','ExecutionRole':"                               \
	"'arn:aws:iam::123456789012:role/r','Status':'InService'}]},"                    \
	"'sagemaker:ListClusterNodes':{'ClusterNodeSummaries':[{" NODE "}]},"            \
	"'sagemaker:DescribeClusterNode':{'NodeDetails':{" NODE "}}"
#define CONTINUOUS "'NodeProvisioningMode':'Continuous',"
#define WORLD      "{" EKS "," CLUSTER(CONTINUOUS) "}"
#define POD                                                                              \
	"{'kubernetes:list pods':{'items':[{'metadata':{'name':'train-0','namespace':"   \
	"'team'},'spec':{'nodeName':'hyperpod-i-0000000a'},'status':{'phase':"           \
	"'Running'}}]}}"
#define LOCAL_CLAIM                                                                      \
	"{'kubernetes:list persistentvolumes':{'items':[{'metadata':{'name':'nvme'},"    \
	"'spec':{'claimRef':{'namespace':'team','name':'scratch'},'nodeAffinity':{"      \
	"'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':"                  \
	"'kubernetes.io/hostname','values':['hyperpod-i-0000000a']}]}]}}}}]}}"
/* Autoscaling and tiered checkpointing are on; a class that lists the groups. */
#define SWITCHED_ON                                                                      \
	EKS ",'sagemaker:DescribeCluster':{'ClusterName':'demo','ClusterStatus':"        \
	    "'InService','ClusterArn':'arn:c'," CONTINUOUS                               \
	    "'AutoScaling':{'Mode':'Enable','Status':'InService'},'ClusterRole':"        \
	    "'arn:aws:iam::123456789012:role/is-demo-autoscaling-us-west-2',"            \
	    "'TieredStorageConfig':{'Mode':'Enable',"                                    \
	    "'InstanceMemoryAllocationPercentage':40},'InstanceGroups':[{"               \
	    "'InstanceGroupName':'e','InstanceType':'ml.g5.12xlarge'},{"                 \
	    "'InstanceGroupName':'f','InstanceType':'ml.p5.48xlarge'}]}"
#define SCALING                                                                          \
	"{" SWITCHED_ON ",'kubernetes:list hyperpodnodeclasses':{'items':[{'metadata':{" \
	"'name':'gpu'},'spec':{'instanceGroups':['e','f']}}]}}"
/* Its pool, as we have made it, with a node on which a pod runs. */
#define POOLED                                                                           \
	"{'kubernetes:list nodepools':{'items':[{'metadata':{'name':'train'},'spec':{"   \
	"'disruption':{'consolidationPolicy':'WhenEmpty','consolidateAfter':'5m'},"      \
	"'template':{'metadata':{},'spec':{'nodeClassRef':{'name':'gpu'},"               \
	"'expireAfter':'Never','requirements':[{'key':'node.kubernetes.io/"              \
	"instance-type','operator':'Exists'}]}}}}]},'kubernetes:list nodes':{'items':[{" \
	"'metadata':{'name':'hyperpod-i-0000000a','labels':{'karpenter.sh/nodepool':"    \
	"'train','node.kubernetes.io/instance-type':'ml.g5.12xlarge',"                   \
	"'sagemaker.amazonaws.com/instance-group-name':'e'}}}]},'kubernetes:list pods':" \
	"{'items':[{'metadata':{'name':'train-0','namespace':'team'},'spec':{"           \
	"'nodeName':'hyperpod-i-0000000a'},'status':{'phase':'Running'}}]}}"
#define POOL_AS(more) "{'name':'train','node_class_ref':{'name':'gpu'}" more "}"
#define JOB                                                                              \
	"{'kubernetes:list hyperpodpytorchjobs':{'items':[{'metadata':{'name':'llama',"  \
	"'namespace':'team'}}]}}"
#define DEFAULT_NAME "'name':'data','namespace':'team'"

static const struct world worlds[] = {
	{"reboot_nodes", "{'nodes':['i-0000000a']}", WORLD, POD, "team/train-0"},
	{"replace_nodes", "{'nodes':['i-0000000a']}", WORLD, POD, "team/train-0"},
	{"replace_nodes", "{'nodes':['i-0000000a']}", WORLD, LOCAL_CLAIM, "team/scratch"},
	{"delete_nodes", "{'nodes':['i-0000000a']}", WORLD, POD, "team/train-0"},
	{"scale_instance_group", "{'group_name':'gpu','count':0}", WORLD, POD,
	 "team/train-0"},
	{"scale_instance_group", "{'group_name':'gpu','count':0}",
	 "{" EKS "," CLUSTER("") "}", POD, "team/train-0"},
	{"update_instance_group",
	 "{'group_name':'gpu','taints':[{'key':'k','value':'v','effect':'NoExecute'}]}",
	 WORLD, POD, "team/train-0"},
	{"delete_instance_group", "{'group_name':'gpu'}", WORLD, POD, "team/train-0"},
	{"delete_instance_group", "{'group_name':'gpu'}", WORLD,
	 "{'kubernetes:list hyperpodnodeclasses':{'items':[{'metadata':{'name':'big'},"
	 "'spec':{'instanceGroups':['gpu']}}]}}",
	 "big"},
	{"update_cluster_software", "{'groups':['gpu']}", WORLD, POD, "team/train-0"},
	{"update_cluster_software", "{}", WORLD, POD, "team/train-0"},
	{"delete_storage", "{" DEFAULT_NAME "}", WORLD,
	 "{'kubernetes:list cronjobs':{'items':[{'metadata':{'name':'nightly',"
	 "'namespace':'team'},'spec':{'jobTemplate':{'spec':{'template':{'spec':{"
	 "'volumes':[{'persistentVolumeClaim':{'claimName':'data'}}]}}}}}}]}}",
	 "cronjobs team/nightly"},
	{"delete_node_pool", "{'name':'big'}",
	 "{" EKS ",'kubernetes:get nodepools':{'metadata':{'name':'big'}},"
	 "'kubernetes:list nodes':{'items':[]}}",
	 "{'kubernetes:list nodes':{'items':[{'metadata':{'name':'hyperpod-i-0000000a',"
	 "'labels':{'karpenter.sh/nodepool':'big'}}}]},'kubernetes:list pods':{'items':[{"
	 "'metadata':{'name':'train-0','namespace':'team'},'spec':{'nodeName':"
	 "'hyperpod-i-0000000a'},'status':{'phase':'Running'}}]}}",
	 "team/train-0"},
	{"delete_cluster",
	 "{'delete_buckets':['sagemaker-instantstart-123456789012-us-west-2']}",
	 "{" EKS
	 ",'s3:ListObjectVersions':{'Versions':[{'Key':'clusters/other/lifecycle/x',"
	 "'Size':5}]}}",
	 "{'s3:ListObjectVersions':{'Versions':[{'Key':'clusters/other/lifecycle/x','Size':5},"
	 "{'Key':'models/a','Size':7},{'Key':'models/b','Size':8}]}}",
	 "models/: 2 objects, 15 bytes"},
	{"delete_node_class", "{'name':'big'}",
	 "{" EKS "," CLUSTER(
		 CONTINUOUS) ",'kubernetes:get hyperpodnodeclasses':{'metadata':{'name':'"
			     "big'}}}",
	 "{'kubernetes:list nodepools':{'items':[{'metadata':{'name':'train'},'spec':{"
	 "'template':{'spec':{'nodeClassRef':{'name':'big'}}}}},{'metadata':{'name':"
	 "'other'},'spec':{'template':{'spec':{'nodeClassRef':{'name':'small'}}}}}]}}",
	 "'node_pools':['train']"},
	/* A pool that is there and becomes another one: which nodes go by that. */
	{"create_node_pool", POOL_AS(""), SCALING, POOLED, NULL},
	{"create_node_pool", POOL_AS(",'weight':50,'limits':{'nvidia.com/gpu':'16'}"),
	 SCALING, POOLED, NULL},
	{"create_node_pool", POOL_AS(",'instance_types':['ml.g5.12xlarge']"), SCALING,
	 POOLED, NULL},
	{"create_node_pool", POOL_AS(",'instance_types':['ml.p5.48xlarge']"), SCALING,
	 POOLED, "team/train-0"},
	{"create_node_pool", POOL_AS(",'labels':{'team':'red'}"), SCALING, POOLED,
	 "team/train-0"},
	{"create_node_pool",
	 POOL_AS(",'taints':[{'key':'k','value':'v','effect':'NoSchedule'}]"), SCALING,
	 POOLED, "team/train-0"},
	{"create_node_pool", POOL_AS(",'expire_after':'24h'"), SCALING, POOLED,
	 "team/train-0"},
	{"create_node_pool", POOL_AS(",'consolidation':'WhenEmptyOrUnderutilized'"),
	 SCALING, POOLED, "team/train-0"},
	/* A class: groups that come to it, and groups that leave. */
	{"create_node_class",
	 "{'name':'gpu','instance_groups':['e'],'scale_to_zero':true}", SCALING, POOLED,
	 NULL},
	{"create_node_class",
	 "{'name':'new','instance_groups':['e'],'scale_to_zero':true}", SCALING, POOLED,
	 "team/train-0"},
	{"create_node_class",
	 "{'name':'gpu','instance_groups':['f'],'scale_to_zero':true}", SCALING, POOLED,
	 "team/train-0"},
	/* Features. */
	{"update_features/set_training_operator",
	 "{'feature':'training_operator','enabled':false}", SCALING, JOB,
	 "HyperPodPyTorchJob team/llama"},
	{"update_features/set_inference_operator",
	 "{'feature':'inference_operator','enabled':false}", SCALING,
	 "{'kubernetes:list jumpstartmodels':{'items':[{'metadata':{'name':'phi',"
	 "'namespace':'team'}}]}}",
	 "JumpStartModel team/phi"},
	{"update_features/set_tiered_checkpointing",
	 "{'feature':'tiered_checkpointing','enabled':false}", SCALING, JOB,
	 "HyperPodPyTorchJob team/llama"},
	{"update_features/set_tiered_checkpointing",
	 "{'feature':'tiered_checkpointing','enabled':true,'memory_percent':60}", SCALING,
	 JOB, "HyperPodPyTorchJob team/llama"},
	{"update_features/set_tiered_checkpointing",
	 "{'feature':'tiered_checkpointing','enabled':true,'memory_percent':40}", SCALING,
	 JOB, NULL},
	{"update_features/set_tiered_checkpointing",
	 "{'feature':'tiered_checkpointing','enabled':true}", WORLD, JOB, NULL},
	{"update_features/set_tiered_checkpointing",
	 "{'feature':'tiered_checkpointing','enabled':false}", SCALING,
	 "{'kubernetes:list inferenceendpointconfigs':{'items':[{'metadata':{'name':'a',"
	 "'namespace':'team'},'spec':{'kvCacheSpec':{'enableL2Cache':true,'l2CacheSpec':{"
	 "'l2CacheBackend':'tieredstorage'}}}},{'metadata':{'name':'b','namespace':"
	 "'team'},'spec':{'kvCacheSpec':{'enableL2Cache':true,'l2CacheSpec':{"
	 "'l2CacheBackend':'redis'}}}}]}}",
	 "['InferenceEndpointConfig team/a']"},
	{"update_features/set_autoscaling", "{'feature':'autoscaling','enabled':false}",
	 "{" SWITCHED_ON "}", POOLED, "NodePool train"},
};

enum { WORLDS = sizeof(worlds) / sizeof(worlds[0]) };

/* Long changes that take no word, with the reason. */
static const struct {
	const char *capability, *why;
} elsewhere[] = {
	/* These take no word, and every other long change of the table does. */
	{"create_cluster", "nothing of the kind is there before it"},
	{"create_eks_control_plane", "nothing of the kind is there before it"},
	{"create_hyperpod_cluster", "a second one of the name is refused"},
	{"import_cluster", "reads alone"},
	{"reconcile_dependencies",
	 "what others have installed or changed is left, or taken over with adopt"},
	{"create_s3_storage", "claim, volume and bucket of others are refused"},
	{"add_instance_group", "a group of the name is refused; the others stay"},
};

/* --- a walk up to the last row that may put something at stake ---------------------- */

struct outcome {
	json_t *at_stake;
	bool failed;
	enum errc code;
	const char *detail;
};

static const char *kind_of(const struct world *w)
{
	const char *slash = strchr(w->capability, '/');

	return slash ? slash + 1 : w->capability;
}

static bool is_of(const struct world *w, const char *capability)
{
	const size_t n = strcspn(w->capability, "/");

	return strlen(capability) == n && strncmp(w->capability, capability, n) == 0;
}

static const struct step *last_stake(const struct kind *k)
{
	const struct step *last = NULL;

	for (const struct step *s = k->steps; s->name; s++)
		if (s->stakes)
			last = s;
	return last;
}

static struct outcome play(struct arena *a, const struct world *w, const char *taken,
			   const json_t *confirmed)
{
	const struct kind *k = kind_find(kinds, kind_of(w));
	const struct where where = {.account = "123456789012",
				    .installation = "here",
				    .region = "us-west-2",
				    .partition = "aws",
				    .caller_arn = "arn:aws:iam::123456789012:role/us"};
	static struct config cfg;
	json_t *answers = scene_tree(a, w->calm);
	struct outcome ret = {.at_stake = json_new_list(a)};
	const struct step *last;
	struct step_ctx c = {.arena = a,
			     .cfg = &cfg,
			     .where = &where,
			     .op_id = "op_1",
			     .root_id = "op_1",
			     .target = "demo",
			     .input = scene_tree(a, w->input),
			     .data = json_new_object(a),
			     .now_ms = scene_now_ms,
			     .step_since_ms = scene_now_ms,
			     .planning = !confirmed,
			     .resources = json_new_list(a),
			     .catalog = json_new_list(a),
			     .events = json_new_list(a),
			     .at_stake = confirmed ? NULL : ret.at_stake};

	cfg.poll_scale_percent = 100;
	if (taken)
		json_object_update(answers, scene_tree(a, taken));
	if (confirmed)
		json_object_set((json_t *)(uintptr_t)c.input, "confirmed",
				(json_t *)(uintptr_t)confirmed);
	cr_assert(k, "%s has no kind of its name", w->capability);
	last = last_stake(k);
	cr_assert(last, "no row of %s may put anything at stake", w->capability);
	for (c.step = k->steps; c.step <= last && !ret.failed; c.step++) {
		struct exchange x = {.via = VIA_NONE};

		c.seen = json_new_object(a);
		c.reads = 0;
		c.verdict = (struct verdict){.kind = VERDICT_NONE};
		scene_observe(&c, answers);
		if (c.verdict.kind == VERDICT_NONE && c.step->plan)
			c.step->plan(&c, &x);
		cr_expect(x.via == VIA_NONE || !exchange_mutates(&x),
			  "%s changes something at %s, before all is asked",
			  w->capability, c.step->name);
		ret.failed = c.verdict.kind == VERDICT_FAIL;
		ret.code = c.verdict.error.code;
		ret.detail = arena_strdup(a, c.verdict.error.detail);
	}
	return ret;
}

/* ' in the text stands for ". */
static bool has_text(struct arena *a, const json_t *tree, const char *text)
{
	char *z = arena_strdup(a, json_text(a, tree));

	for (char *p = z; *p; p++)
		if (*p == '"')
			*p = '\'';
	return strstr(z, text) != NULL;
}

Test(domain_stakes, plan_word_and_run_agree_with_something_at_stake_and_with_nothing)
{
	for (size_t i = 0; i < WORLDS; i++) {
		const struct world *w = &worlds[i];
		struct outcome calm, taken, run;
		struct arena a;

		arena_init(&a, 0);
		calm = play(&a, w, NULL, NULL);
		cr_expect_not(calm.failed, "%s: %s", w->capability, calm.detail);
		cr_expect_eq(json_array_size(calm.at_stake), 0, "%s: at stake: %s",
			     w->capability, json_text(&a, calm.at_stake));
		taken = play(&a, w, w->taken, NULL);
		cr_expect_not(taken.failed, "%s: %s", w->capability, taken.detail);
		if (!w->lost) {
			cr_expect_eq(json_array_size(taken.at_stake), 0,
				     "%s %s: at stake: %s", w->capability, w->input,
				     json_text(&a, taken.at_stake));
			arena_free(&a);
			continue;
		}
		cr_expect(has_text(&a, taken.at_stake, w->lost), "%s %s: %s in %s",
			  w->capability, w->input, w->lost,
			  json_text(&a, taken.at_stake));
		run = play(&a, w, NULL, json_new_list(&a));
		cr_expect_not(run.failed, "%s with nothing at stake: %s", w->capability,
			      run.detail);
		run = play(&a, w, w->taken, taken.at_stake);
		cr_expect_not(run.failed, "%s, confirmed: %s", w->capability, run.detail);
		/* Objects of a bucket come and go: the word is for its name and parts. */
		if (!streq(w->capability, "delete_cluster")) {
			run = play(&a, w, w->taken, json_new_list(&a));
			cr_expect(run.failed && run.code == ERR_LOSS_NOT_CONFIRMED,
				  "%s runs over what nobody has confirmed",
				  w->capability);
		}
		arena_free(&a);
	}
}

/* --- the table ------------------------------------------------------------------------
 */

static bool has_world(const char *capability)
{
	for (size_t i = 0; i < WORLDS; i++)
		if (is_of(&worlds[i], capability))
			return true;
	return false;
}

static bool takes_word(const struct capability *cap)
{
	return (cap->flags & (CAP_STAKES | CAP_MORE_STAKES)) != 0;
}

/* Every long change: it takes the word, or says here why nothing can be lost by it. */
static bool may_lose(const struct capability *cap)
{
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (streq(elsewhere[i].capability, cap->name))
			return false;
	return true;
}

Test(domain_stakes, whatever_may_lose_something_takes_the_word_and_has_a_world)
{
	int n = 0;

	for (const struct capability *const *c = capabilities; *c; c++) {
		const struct capability *cap = *c;

		if (!capability_mutates(cap) || !(cap->flags & CAP_LONG))
			continue;
		cr_expect(may_lose(cap) == takes_word(cap),
			  "%s loses without a word, or takes one for nothing", cap->name);
		if (!takes_word(cap))
			continue;
		n++;
		cr_expect(has_world(cap->name), "%s has no world in this test",
			  cap->name);
		cr_expect(field_find(capability_options(cap), "confirm"),
			  "%s takes no confirm", cap->name);
	}
	cr_expect_geq(n, 14);
}

/* No capability starts it: cancel_operation with undo does, and asks for its plan's
 * word itself (domain_kinds). */
static bool only_undoes(const struct kind *k)
{
	return streq(k->name, "remove_hyperpod_cluster");
}

/* A kind with rows that may lose something is reached by such a capability alone, its
 * own or that of which it is a stage. */
Test(domain_stakes, every_kind_that_asks_is_started_by_a_row_that_takes_the_word)
{
	for (size_t i = 0; kinds[i]; i++) {
		bool known = false;

		for (const struct capability *const *c = capabilities; *c; c++)
			for (size_t n = 0; n < WORLDS; n++)
				if (streq(kind_of(&worlds[n]), kinds[i]->name) &&
				    is_of(&worlds[n], (*c)->name)) {
					known = true;
					cr_expect(takes_word(*c),
						  "%s asks, and %s takes no word",
						  kinds[i]->name, (*c)->name);
				}
		cr_expect(known != only_undoes(kinds[i]) || !last_stake(kinds[i]),
			  "%s asks, and no world starts it", kinds[i]->name);
	}
}

/* --- what others have made -------------------------------------------------------------
 */

#define FAILED_ADDON(tags)                                                               \
	"{'eks:DescribeAddon':{'addon':{'status':'CREATE_FAILED','tags':{" tags          \
	"},'health':{'issues':[{'code':'ConfigurationConflict','message':'coredns is "   \
	"there'}]}}}}"
#define COREDNS                                                                          \
	.kind = "reconcile_dependencies", .step = "coredns_install",                     \
	.data = "{'eks':{'name':'demo'}}"

/* CoreDNS that people run or have changed is replaced with adopt alone. */
Test(domain_stakes, what_others_run_is_replaced_with_adopt_alone)
{
	static const struct scene rows[] = {
		{.id = "a failed add-on of ours is made anew",
		 COREDNS,
		 .answers = FAILED_ADDON(TAG_MAP_OURS),
		 .says = {"call eks:DeleteAddon", "!preserve"}},
		{.id = "one of others stays",
		 COREDNS,
		 .answers = FAILED_ADDON(""),
		 .says = {"noted: fail foreign-object", "coredns is there", "adopt",
			  "!call eks:DeleteAddon"}},
		{.id = "adopted, what runs goes on running",
		 COREDNS,
		 .input = "{'adopt':true}",
		 .answers = FAILED_ADDON(""),
		 .says = {"call eks:DeleteAddon", "'preserve':true"}},
		{.id = "a Deployment without an add-on is used as it is",
		 COREDNS,
		 .answers = "{'kubernetes:get deployments':{'metadata':{'name':"
			    "'coredns'}}}",
		 .says = {"advance", "!call eks:CreateAddon"}},
		{.id = "and replaced when that is asked for",
		 COREDNS,
		 .input = "{'adopt':true}",
		 .answers = "{'kubernetes:get deployments':{'metadata':{'name':"
			    "'coredns'}}}",
		 .says = {"call eks:CreateAddon", "OVERWRITE"}},
	};

	SCENES_HOLD(rows);
}
