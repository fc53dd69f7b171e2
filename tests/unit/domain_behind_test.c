/* What others do behind our back while we wait: said by its name, not by a guess. */
#include "core/aws/errors.h"
#include "core/aws/service.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/held.h"
#include "tests/unit/domain_scene.h"

/* --- a cluster that does not know us -------------------------------------------------
 */

#define UNKNOWN "{'!':'Unauthorized','message':'Unauthorized','status':401}"

/* The first thing that each kind asks of Kubernetes. */
Test(domain_behind, a_cluster_that_does_not_know_us_is_no_fault_of_our_keys)
{
	static const struct scene rows[] = {
		{"mount", "create_s3_storage", "check_objects",
		 .data = "{'eks':{'name':'research','endpoint':'https://k'}}",
		 .answers = "{'kubernetes:list persistentvolumes':" UNKNOWN
			    ",'kubernetes:get persistentvolumeclaims':" UNKNOWN
			    ",'kubernetes:get persistentvolumes':" UNKNOWN "}",
		 .says = {"retry credentials", "the cluster does not know us",
			  "cluster research", "arn:aws:iam::111122223333:role/us",
			  "create-access-entry", "!Check the credentials"}},
		{"unmount", "delete_storage", "delete_claim",
		 .data = "{'eks':{'endpoint':'https://k'}}", .input = "{'name':'data'}",
		 .answers = "{'kubernetes:get persistentvolumeclaims':" UNKNOWN "}",
		 .says = {"retry credentials", "EKS cluster demo", "created again"}},
		/* AWS that takes our keys no longer is another matter. */
		{"AWS", "delete_storage", "read_eks",
		 .answers =
			 "{'eks:DescribeCluster':{'!':'ExpiredTokenException','message':"
			 "'expired','status':403}}",
		 .says = {"retry credentials", "!access-entry"}},
	};

	SCENES_HOLD(rows);
}

/* --- what keeps an object that is being deleted --------------------------------------
 */

#define GOING(more)                                                                         \
	"{'metadata':{'name':'x','uid':'u','deletionTimestamp':'2026-01-02T03:04:05Z'" more \
	"}"
#define OURS                                                                             \
	",'labels':{'app.kubernetes.io/managed-by':'instantstart'"                       \
	",'instantstart/installation':'here','instantstart.io/cluster':'demo'}"
#define KEPT ",'finalizers':['kubernetes.io/pvc-protection','example.com/backup']"

Test(domain_behind, a_wait_for_an_end_names_what_keeps_it)
{
	static const struct scene rows[] = {
		{"a claim", "delete_storage", "delete_claim", .input = "{'name':'data'}",
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:get persistentvolumeclaims':" GOING(
			 OURS KEPT) "}}",
		 .says = {"wait: the claim default/data to be deleted (kept by",
			  "a pod that uses it", "the finalizer example.com/backup"}},
		{"a node pool", "delete_node_pool", "delete", .input = "{'name':'x'}",
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:get nodepools':" GOING(
			 ",'finalizers':['karpenter.sh/termination']") "}}",
		 .says = {"wait: the ", "the finalizer karpenter.sh/termination"}},
		{"a namespace", "create_s3_storage", "apply_namespace",
		 .input = "{'name':'data','namespace':'x'}",
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:get namespaces':" GOING(
			 "") ",'status':{'conditions':["
			     "{'type':'NamespaceContentRemaining','status':'False','message':'no'},"
			     "{'type':'NamespaceFinalizersRemaining','status':'True','message':"
			     "'Some content in the namespace has finalizers remaining: "
			     "example.com/hold in 1 resource instances'}]}}}",
		 .says = {"wait: the namespace x", "example.com/hold in 1", "!(no)"}},
		{"a namespace that waits for an API", "create_s3_storage",
		 "apply_namespace", .input = "{'name':'data','namespace':'x'}",
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:get namespaces':" GOING(
			 "") ",'status':{'conditions':["
			     "{'type':'NamespaceDeletionDiscoveryFailure','status':'True',"
			     "'message':'Discovery failed'}]}},'kubernetes:list apiservices':{"
			     "'items':[{'spec':{'group':'metrics.k8s.io','version':'v1beta1',"
			     "'service':{'name':'m','namespace':'n'}},'status':{'conditions':[{"
			     "'type':'Available','status':'False','message':'no addresses'}]}}"
			     "]}}",
		 .says = {"wait: the namespace x",
			  "metrics.k8s.io/v1beta1 (no addresses)"}},
		{"nothing is known", "create_s3_storage", "apply_namespace",
		 .input = "{'name':'data','namespace':'x'}",
		 .data = "{'eks':{'endpoint':'https://k'}}",
		 .answers = "{'kubernetes:get namespaces':" GOING("") "}}",
		 .says = {"to be deleted", "!kept", "!()"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_behind, what_is_not_being_deleted_is_kept_by_nothing)
{
	struct arena a;

	arena_init(&a, 0);
	cr_expect_str_eq(
		held_text(&a, scene_tree(&a, "{'metadata':{'finalizers':['a/b']}}")), "");
	cr_expect_str_eq(held_text(&a, NULL), "");
	/* However many there are, the text stays a text. */
	cr_expect_lt(
		strlen(held_text(
			&a,
			scene_tree(
				&a,
				GOING(",'finalizers':["
				      "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1',"
				      "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2',"
				      "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa3',"
				      "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa4',"
				      "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa5']") "}"))),
		340);
	arena_free(&a);
}

/* --- a role that is gone, a log that is another node's ---------------------------------
 */

#define WATCH .kind = "scale_instance_group", .step = "wait_group", .input
#define TWO   "{'group_name':'gpu','count':2}"
#define GROUP_WITH(role)                                                                 \
	"'sagemaker:DescribeCluster':{'ClusterStatus':'InService','ClusterArn':"         \
	"'arn:x/abc','NodeProvisioningMode':'Continuous','InstanceGroups':[{"            \
	"'InstanceGroupName':'gpu','CurrentCount':1,'TargetCount':2,'ExecutionRole':"    \
	"'arn:aws:iam::111122223333:role/" role "'}]}"
#define FAILED(more)                                                                     \
	"'sagemaker:ListClusterEvents':{'Events':[{'EventLevel':'Error','Description':"  \
	"'Lifecycle scripts did not run successfully.'" more "}]}"
#define TRUSTS(service)                                                                  \
	"'iam:GetRole':{'Role':{'RoleName':'r','AssumeRolePolicyDocument':"              \
	"'{\\'Statement\\':[{\\'Principal\\':{\\'Service\\':\\'" service "\\'}}]}'}}"
#define LOGS                                                                              \
	"'logs:DescribeLogStreams':{'logStreams':["                                       \
	"{'logStreamName':'LifecycleConfig/gpu/i-0a','lastEventTimestamp':100},"          \
	"{'logStreamName':'LifecycleConfig/gpu/i-0b','lastEventTimestamp':300},"          \
	"{'logStreamName':'LifecycleConfig/gpu/i-0c','lastEventTimestamp':200}]},"        \
	"'logs:DescribeLogStreams LifecycleConfig/gpu/i-0c':{'logStreams':["              \
	"{'logStreamName':'LifecycleConfig/gpu/i-0c','lastEventTimestamp':200}]},"        \
	"'logs:GetLogEvents LifecycleConfig/gpu/i-0a':{'events':[{'message':'well'}]},"   \
	"'logs:GetLogEvents LifecycleConfig/gpu/i-0b':{'events':[{'message':'newest'}]}," \
	"'logs:GetLogEvents LifecycleConfig/gpu/i-0c':{'events':[{'message':'its own'}]}"

Test(domain_behind, a_node_that_cannot_begin_is_not_its_script_s_fault)
{
	static const struct scene rows[] = {
		{"deleted", WATCH = TWO,
		 .answers = "{" GROUP_WITH("gone") "," FAILED("") "," LOGS "}",
		 .says = {"fail node-failed human",
			  "have no role: arn:aws:iam::111122223333:role/gone",
			  "Create the role again", "!Correct the script"}},
		{"made anew for another service", WATCH = TWO,
		 .answers = "{" GROUP_WITH("r") "," FAILED("") "," TRUSTS(
			 "ec2.amazonaws.com") "," LOGS "}",
		 .says = {"fail node-failed human", "it trusts ec2.amazonaws.com",
			  "Add sagemaker.amazonaws.com", "!Correct the script"}},
		{"the script's after all, by the newest log", WATCH = TWO,
		 .answers = "{" GROUP_WITH("r") "," FAILED("") "," TRUSTS(
			 "sagemaker.amazonaws.com") "," LOGS "}",
		 .says = {"fail lifecycle-script human", "on a node of gpu: i-0b",
			  "newest", "!well"}},
		{"by the log of the node that failed", WATCH = TWO,
		 .answers =
			 "{" GROUP_WITH("r") "," FAILED(",'InstanceId':'i-0c'") "," TRUSTS(
				 "sagemaker.amazonaws.com") "," LOGS "}",
		 .says = {"fail lifecycle-script human", "on a node of gpu: i-0c",
			  "its own", "!newest"}},
		/* Who may not look at roles learns of the script as before. */
		{"a role that may not be looked at", WATCH = TWO,
		 .answers = "{" GROUP_WITH("r") "," FAILED(
			 "") ",'iam:GetRole':{'!':"
			     "'AccessDenied','status':403}," LOGS "}",
		 .says = {"fail lifecycle-script human"}},
	};

	SCENES_HOLD(rows);
}

/* The plan of more nodes knows it before any is asked for. */
Test(domain_behind, more_nodes_are_not_asked_for_with_a_role_that_is_gone)
{
#define SCALE(n)                                                                         \
	.kind = "scale_instance_group", .input = "{'group_name':'gpu','count':" n "}"
	static const struct scene rows[] = {
		{"read", SCALE("3"), .step = "read_group",
		 .answers = "{" GROUP_WITH("gone") "}",
		 .says = {"'group_role':'arn:aws:iam::111122223333:role/gone'"}},
		{"fewer need none", SCALE("1"), .step = "read_group",
		 .answers = "{" GROUP_WITH("gone") "}", .says = {"!role/gone'"}},
		{"gone", SCALE("3"), .step = "check_role",
		 .data = "{'group_role':'arn:aws:iam::111122223333:role/gone'}",
		 .says = {"fail state-conflict", "There is no role", "Create it again",
			  "!/execution_role_arn"}},
		{"of another service", SCALE("3"), .step = "check_role",
		 .data = "{'group_role':'arn:aws:iam::111122223333:role/r'}",
		 .answers = "{" TRUSTS("ec2.amazonaws.com") "}",
		 .says = {"fail state-conflict", "trusts ec2.amazonaws.com"}},
		{"well", SCALE("3"), .step = "check_role",
		 .data = "{'group_role':'arn:aws:iam::111122223333:role/r'}",
		 .answers = "{" TRUSTS("sagemaker.amazonaws.com") "}",
		 .says = {"advance"}},
	};

	SCENES_HOLD(rows);
}

/* --- a cluster that somebody upgrades meanwhile ---------------------------------------
 */

#define BUSY "Cannot update it: the cluster is in UPDATING state"

Test(domain_behind, a_cluster_that_is_being_upgraded_by_hand_is_waited_for)
{
#define RECONCILING .kind = "reconcile_dependencies", .step
	static const struct scene rows[] = {
		{"add-on", RECONCILING = "coredns_install",
		 .answered = "{'!':'ResourceInUseException','message':'" BUSY "'}",
		 .says = {"wait: EKS to accept the add-on coredns: " BUSY, "!fail"}},
		{"identity", RECONCILING = "s3_csi_identity",
		 .answered = "{'!':'ResourceInUseException','message':'" BUSY "'}",
		 .says = {"wait: EKS to accept the pod identity of", BUSY, "!fail"}},
		/* What is final keeps the cloud's own words to the end. */
		{"the reason is not lost", RECONCILING = "conclude",
		 .input = "{'components':['s3_csi']}",
		 .data = "{'components':{'s3_csi':{'state':'failed','error':{'code':"
			 "'cloud-refused','detail':'the add-on was refused','cause':"
			 "'Addon version is not supported','fix':''}}}}",
		 .says = {"fail dependency-failed",
			  "the add-on was refused: Addon version is not supported"}},
	};

	SCENES_HOLD(rows);
	cr_expect_eq(aws_errc(AWS_SERVICE_EKS, "InvalidRequestException", BUSY, 400),
		     ERR_CLOUD_CONFLICT);
	cr_expect_eq(aws_errc(AWS_SERVICE_EKS, "InvalidRequestException",
			      "Cluster 'x' is not in ACTIVE status", 400),
		     ERR_CLOUD_REFUSED);
}

/* --- hundreds of nodes ----------------------------------------------------------------
 */

Test(domain_behind, what_hundreds_of_nodes_lose_is_one_sentence)
{
	static struct config cfg;
	struct arena a;
	struct step_ctx c;
	json_t *rows;

	arena_init(&a, 0);
	rows = json_new_list(&a);
	for (int i = 0; i < 600; i++)
		json_array_append_new(rows,
				      json_pack("{s:o, s:[s, s], s:[s]}", "node",
						json_sprintf("i-%d", i), "pods", "team/a",
						"team/b", "local_volumes", "nvme"));
	c = (struct step_ctx){.arena = &a,
			      .cfg = &cfg,
			      .planning = true,
			      .input = json_new_object(&a),
			      .data = json_new_object(&a),
			      .events = json_new_list(&a),
			      .at_stake = json_new_list(&a)};
	cr_expect(stake_settle(&c, rows, "the nodes that go"));
	cr_expect_eq(json_array_size(c.at_stake), 600);
	cr_assert_eq(json_array_size(c.events), 2);
	cr_expect_str_eq(
		json_str_or(c.events, "0.data.text", ""),
		"lost with the nodes that go: 1200 pods: team/a, team/b, team/a, "
		"team/b, team/a, team/b, team/a, team/b, team/a, team/b, team/a "
		"and 1189 more");
	cr_expect_str_eq(
		json_str_or(c.events, "1.data.text", ""),
		"lost with the nodes that go: 600 local_volumes: nvme, nvme, nvme, "
		"nvme, nvme, nvme, nvme, nvme, nvme, nvme, nvme, nvme, nvme, "
		"nvme, nvme and 585 more");
	arena_free(&a);
}

/* --- what is said of a value is about it -----------------------------------------------
 */

#define QUOTA                                                                              \
	"{'service-quotas:ListServiceQuotas':{'Quotas':[{'QuotaName':'ml.g5.12xlarge for " \
	"cluster usage','QuotaCode':'L-1','Value':5}]},"                                   \
	"'sagemaker:ListClusters':{'ClusterSummaries':[{'ClusterName':'demo'}]},"          \
	"'sagemaker:DescribeCluster':{'ClusterName':'demo','InstanceGroups':["             \
	"{'InstanceGroupName':'gpu','InstanceType':'ml.g5.12xlarge','CurrentCount':4,"     \
	"'TargetCount':4},{'InstanceGroupName':'more','InstanceType':'ml.g5.12xlarge',"    \
	"'CurrentCount':6,'TargetCount':6}]}}"

/* A quota that was lowered, or that others have used up: nobody must go. */
Test(domain_behind, nodes_that_a_group_has_are_not_asked_for_once_more)
{
	static const struct scene rows[] = {
		{"grown elsewhere", .kind = "scale_instance_group", .step = "check_quota",
		 .input = "{'group_name':'gpu','count':6}",
		 .data = "{'more':2,'wish':{'instance_type':'ml.g5.12xlarge','capacity_type':"
			 "'on_demand'}}",
		 .answers = QUOTA,
		 .says = {"fail quota",
			  "is 5: 10 in use (4 of them by this group), 6 needed",
			  "at most 4"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_behind, a_refused_value_of_a_map_is_told_what_would_work)
{
	static const struct {
		const char *capability, *input, *field, *expected;
	} rows[] = {
		{"add_instance_group", "{'name':'g','labels':{'team':'Ä'}}",
		 "/labels/team", "a string matching"},
		{"add_instance_group", "{'name':'g','labels':{'team':1}}", "/labels/team",
		 "a string matching"},
		{"add_instance_group", "{'name':'g','labels':'team=a'}", "/labels",
		 "an object of strings"},
		/* Numbers that large directories give. */
		{"create_s3_storage", "{'cluster':'a','uid':1500000000}", "/uid", NULL},
		{"create_s3_storage", "{'cluster':'a','uid':3000000000}", "/uid",
		 "2147483647"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct capability *cap = capability_find(rows[i].capability);
		const struct violation *found = NULL;
		struct arena a;
		struct err e = {0};

		arena_init(&a, 0);
		/* Members are missing all the same. */
		cr_expect_not(field_decode(cap->in, scene_tree(&a, rows[i].input), &a,
					   arena_alloc(&a, cap->in_size), &e) &&
			      rows[i].expected);
		for (size_t j = 0; j < e.n_violations; j++)
			if (streq(e.violations[j].field, rows[i].field))
				found = &e.violations[j];
		cr_expect_eq(found != NULL, rows[i].expected != NULL, "%s",
			     rows[i].input);
		if (found)
			cr_expect(strstr(found->expected, rows[i].expected), "%s: %s",
				  rows[i].input, found->expected);
		arena_free(&a);
	}
}

/* --- what may be there only once
 * ---------------------------------------------------------
 */

#define POOL(taints)  "{'name':'p','node_class_ref':{'name':'c'},'taints':[" taints "]}"
#define ONE(effect)   "{'key':'dedicated','effect':'" effect "'}"
#define OTHER(effect) "{'key':'dedicated','value':'b','effect':'" effect "'}"

/* Each of these would be refused by Kubernetes or IAM when the cluster is half made. */
Test(domain_behind, what_a_node_or_a_role_has_once_is_refused_twice)
{
	static const struct {
		const char *capability, *input, *field, *seen, *expected;
	} rows[] = {
		{"add_instance_group",
		 "{'taints':[" ONE("NoExecute") "," OTHER("NoExecute") "]}", "/taints/1",
		 "key \"dedicated\", effect \"NoExecute\"", "each key and effect once"},
		/* The default is a value like any other. */
		{"add_instance_group",
		 "{'taints':[{'key':'dedicated'}," ONE("NoSchedule") "]}", "/taints/1",
		 "key \"dedicated\", effect \"NoSchedule\"", "each key and effect once"},
		{"update_instance_group",
		 "{'taints':[{'key':'x'}," ONE("NoExecute") "," OTHER("NoExecute") "]}",
		 "/taints/2", "key \"dedicated\", effect \"NoExecute\"",
		 "each key and effect once"},
		{"create_node_pool", POOL(ONE("NoSchedule") "," OTHER("NoSchedule")),
		 "/taints/1", "key \"dedicated\", effect \"NoSchedule\"",
		 "each key and effect once"},
		/* Two effects of one key are two taints. */
		{"add_instance_group",
		 "{'taints':[" ONE("NoExecute") "," OTHER("NoSchedule") "]}", "/taints/1",
		 NULL, NULL},
		{"create_cluster", "{'tags':{'Team':'a','team':'b'}}", "/tags/team",
		 "team", "one of the two names"},
		{"create_cluster", "{'tags':{'team':'a','teams':'b'}}", "/tags/teams",
		 NULL, NULL},
		/* Kubernetes tells the case of its labels. */
		{"add_instance_group", "{'labels':{'Team':'a','team':'b'}}",
		 "/labels/team", NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct capability *cap = capability_find(rows[i].capability);
		const struct violation *found = NULL;
		struct arena a;
		struct err e = {0};

		arena_init(&a, 0);
		(void)!field_validate(cap->in, scene_tree(&a, rows[i].input), &a, &e);
		for (size_t j = 0; j < e.n_violations; j++)
			if (streq(e.violations[j].field, rows[i].field))
				found = &e.violations[j];
		cr_expect_eq(found != NULL, rows[i].seen != NULL, "%s", rows[i].input);
		if (found) {
			cr_expect_str_eq(found->seen, rows[i].seen);
			cr_expect_str_eq(found->expected, rows[i].expected);
		}
		arena_free(&a);
	}
}

static bool has_unique(const struct field *f)
{
	return f->unique && streq(f->unique[0], "key") && streq(f->unique[1], "effect");
}

/* Whatever takes taints or tags, by whatever name, knows the rule. */
Test(domain_behind, every_input_of_taints_and_tags_has_the_rule)
{
	size_t taints = 0, tags = 0;

	for (size_t i = 0; capabilities[i]; i++)
		for (const struct field *f = capabilities[i]->in; f && f->name; f++) {
			if (f->flags & FIELD_MANY && field_find(f->fields, "effect")) {
				cr_expect(has_unique(f), "%s", capabilities[i]->name);
				taints++;
			}
			if (f->type == FIELD_MAP && strstr(f->name, "tags")) {
				cr_expect(f->flags & FIELD_NOCASE, "%s",
					  capabilities[i]->name);
				tags++;
			}
		}
	cr_expect_geq(taints, 3);
	cr_expect_geq(tags, 3);
}

/* Ours, the configuration's and the caller's: one key, whatever its case. */
Test(domain_behind, a_tag_of_another_case_takes_the_place_of_the_configured)
{
	static struct config cfg = {.default_tags = "Team=a,InstantStart:Cluster=x"};
	static const struct where where = {.installation = "here"};
	struct arena a;
	struct step_ctx c;
	const json_t *map;

	arena_init(&a, 0);
	c = (struct step_ctx){.arena = &a,
			      .cfg = &cfg,
			      .where = &where,
			      .target = "demo",
			      .root_id = "op_1",
			      .input = scene_tree(&a, "{'tags':{'team':'b'}}")};
	map = step_tag_map(&c);
	cr_expect_str_eq(
		json_text(&a, map),
		"{\"instantstart:cluster\":\"demo\",\"instantstart:installation\":"
		"\"here\",\"instantstart:operation\":\"op_1\",\"team\":"
		"\"b\"}");
	arena_free(&a);
}
