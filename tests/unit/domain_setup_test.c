/*
 * What AWS's own set-up code does, held as rules: nodes that can take pods, tags by
 * which load balancers find subnets, rights of the roles that we make.
 */
#include "core/domain/dependency/component.h"
#include "core/domain/hyperpod/nodes_role.h"
#include "core/domain/step/usable.h"
#include "tests/unit/domain_scene.h"

/* --- nodes: every combination of what may stand on one --------------------------------
 */

static const struct taint_row {
	const char *key, *effect;
	bool of_system, keeps_off;
} taint_rows[] = {
	{"sagemaker.amazonaws.com/node-health-status", "NoSchedule", true, true},
	{"node.kubernetes.io/not-ready", "NoSchedule", true, true},
	{"node.kubernetes.io/disk-pressure", "NoSchedule", true, true},
	{"node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule", true, true},
	{"karpenter.sh/disrupted", "NoSchedule", true, true},
	{"node.kubernetes.io/unschedulable", "NoSchedule", false, true},
	{"nvidia.com/gpu", "NoSchedule", false, true},
	{"team", "NoExecute", false, true},
	{"sagemaker.amazonaws.com/hint", "PreferNoSchedule", true, false},
};
enum { N_TAINTS = sizeof(taint_rows) / sizeof(taint_rows[0]) };

Test(domain_setup, a_node_is_usable_when_it_is_ready_and_nothing_keeps_pods_off)
{
	struct arena a;

	for (unsigned set = 0; set < 4u << N_TAINTS; set++) {
		const bool ready = set & 1, cordoned = set & 2;
		bool system = false, kept = false;
		json_t *taints, *node;

		arena_init(&a, 0);
		taints = json_new_list(&a);
		for (unsigned t = 0; t < N_TAINTS; t++) {
			const struct taint_row *r = &taint_rows[t];

			if (!(set & (4u << t)))
				continue;
			json_push(taints, json_pack("{s:s, s:s}", "key", r->key, "effect",
						    r->effect));
			system |= r->of_system && r->keeps_off;
			kept |= r->keeps_off;
		}
		node = json_packf(&a, "{s:{s:b, s:O}, s:{s:[{s:s, s:s}]}}", "spec",
				  "unschedulable", cordoned, "taints", taints, "status",
				  "conditions", "type", "Ready", "status",
				  ready ? "True" : "False");
		cr_assert_eq(node_has_arrived(node), ready && !system, "%s",
			     json_text(&a, node));
		cr_assert_eq(node_takes_pods(node), ready && !kept && !cordoned, "%s",
			     json_text(&a, node));
		cr_assert_eq(node_taint(node) != NULL, kept);
		arena_free(&a);
	}
}

#define TAINTED                                                                          \
	"{'metadata':{'labels':{'sagemaker.amazonaws.com/instance-group-name':'gpu'}},"  \
	"'spec':{'taints':[{'key':'sagemaker.amazonaws.com/node-health-status','value':" \
	"'Unschedulable','effect':'NoSchedule'}]},'status':{'conditions':[{'type':"      \
	"'Ready','status':'True'}]}}"

/* Every add-on of the table: an hour under deep health checks is no failure. */
Test(domain_setup, no_component_fails_while_all_nodes_are_under_health_checks)
{
	size_t tried = 0;

	for (size_t i = 0; component_list()[i]; i++) {
		const struct component *k = component_list()[i];
		struct arena a;
		struct scene row = {.id = k->name,
				    .kind = "reconcile_dependencies",
				    .age_s = 3600,
				    .says = {"advance", "!fail", "waiting_for_nodes"}};

		if (k->via != COMPONENT_ADDON)
			continue;
		arena_init(&a, 0);
		row.step = arena_printf(&a, "%s_wait", k->name);
		row.answers =
			"{'eks:DescribeAddon':{'addon':{'status':'DEGRADED','health':{"
			"'issues':[{'code':'InsufficientNumberOfReplicas','message':'0 "
			"of 2'}]}}},'kubernetes:list nodes':{'items':[" TAINTED
			"," TAINTED "]}}";
		scenes_hold(&row, 1);
		arena_free(&a);
		tried++;
	}
	cr_expect_gt(tried, 3);
}

#define NODES_WAIT                                                                       \
	.kind = "create_hyperpod_cluster", .step = "wait_nodes",                         \
	.input = "{'group_name':'gpu','count':2,'instance_type':'ml.p5.48xlarge'}"

Test(domain_setup, nodes_have_come_when_the_service_lets_pods_onto_them)
{
	static const struct scene rows[] = {
		{.id = "Ready, and under deep health checks",
		 NODES_WAIT,
		 .answers =
			 "{'sagemaker:DescribeCluster':{'ClusterStatus':'InService',"
			 "'ClusterArn':'arn:x/abc','InstanceGroups':[{'InstanceGroupName':"
			 "'gpu','CurrentCount':2,'TargetCount':2}]},'kubernetes:list nodes':{"
			 "'items':[" TAINTED "," TAINTED "]}}",
		 .says = {"wait: 0 of 2 nodes to be Ready in Kubernetes; 2 in health checks"}},
	};

	SCENES_HOLD(rows);
}

/* --- subnets that somebody gave us
 * ------------------------------------------------------ */

#define PLANE                                                                            \
	.kind = "create_eks_control_plane", .step = "tag_subnets",                       \
	.data = "{'network':{'vpc_id':'vpc-1','subnet_ids':['subnet-1','subnet-2']}}"
#define SUBNET(id, free, tags)                                                           \
	"{'SubnetId':'" id "','CidrBlock':'10.0.0.0/28','AvailableIpAddressCount':" free \
	",'Tags':[" tags "]}"
#define ROLE(which) "{'Key':'kubernetes.io/role/" which "','Value':'1'}"
#define TABLES                                                                           \
	"'ec2:DescribeRouteTables':{'RouteTables':[{'Associations':[{'Main':true}],"     \
	"'Routes':[{'DestinationCidrBlock':'0.0.0.0/0','NatGatewayId':'nat-1'}]},{"      \
	"'Associations':[{'SubnetId':'subnet-2'}],'Routes':[{'DestinationCidrBlock':"    \
	"'0.0.0.0/0','GatewayId':'igw-1'}]}]}"
#define GIVEN(one, two) "{'ec2:DescribeSubnets':{'Subnets':[" one "," two "]}," TABLES "}"

Test(domain_setup, given_subnets_are_tagged_with_consent_and_spoken_of_without)
{
	static const struct scene rows[] = {
		{.id = "without consent the plan says so, by role",
		 PLANE,
		 .answers = GIVEN(SUBNET("subnet-1", "200", ""),
				  SUBNET("subnet-2", "200", "")),
		 .says = {"advance", "!call",
			  "warning: ['subnet-1'] has no tag kubernetes.io/role/internal-elb",
			  "warning: ['subnet-2'] has no tag kubernetes.io/role/elb"}},
		{.id = "with it each gets the tag of its role",
		 PLANE,
		 .input = "{'tag_subnets':true}",
		 .answers = GIVEN(SUBNET("subnet-1", "200", ""),
				  SUBNET("subnet-2", "200", "")),
		 .says = {"call ec2:CreateTags", "'Resources':['subnet-1']",
			  "kubernetes.io/role/internal-elb"}},
		{.id = "one after the other",
		 PLANE,
		 .input = "{'tag_subnets':true}",
		 .answers = GIVEN(SUBNET("subnet-1", "200", ROLE("internal-elb")),
				  SUBNET("subnet-2", "200", "")),
		 .says = {"call ec2:CreateTags", "'Resources':['subnet-2']",
			  "kubernetes.io/role/elb'"}},
		{.id = "what has a role keeps it",
		 PLANE,
		 .input = "{'tag_subnets':true}",
		 .answers = GIVEN(SUBNET("subnet-1", "200", ROLE("elb")),
				  SUBNET("subnet-2", "200", ROLE("elb"))),
		 .says = {"advance", "!call", "!warning"}},
		{.id = "subnets of ours are not asked about",
		 .kind = "create_eks_control_plane",
		 .step = "tag_subnets",
		 .data = "{'network':{'vpc_cidr':'10.0.0.0/16'}}",
		 .answers = "{}",
		 .says = {"advance", "!warning"}},
		{.id = "a given subnet of nodes, too",
		 .kind = "create_hyperpod_cluster",
		 .step = "tag_subnets",
		 .input = "{'subnet_id':'subnet-1','tag_subnets':true}",
		 .data = "{'eks':{'vpc_id':'vpc-1'},'subnet':{'id':'subnet-1','given':true}}",
		 .answers = "{'ec2:DescribeSubnets':{'Subnets':[" SUBNET(
			 "subnet-1", "200", "") "]}," TABLES "}",
		 .says = {"call ec2:CreateTags", "internal-elb"}},
	};

	SCENES_HOLD(rows);
}

/* --- rights
 * -------------------------------------------------------------------------------- */

/* --- charts that others have installed
 * --------------------------------------------------- */

/* Every chart of the table, under a name that we would not give. */
Test(domain_setup, a_chart_is_found_by_what_it_brings_not_by_its_release)
{
	static const char *const made_by[] = {
		"'annotations':{'meta.helm.sh/release-name':'dependencies','meta.helm.sh/"
		"release-namespace':'kube-system'}",
		"'annotations':{'meta.helm.sh/release-name':'rig-dependencies',"
		"'meta.helm.sh/release-namespace':'kube-system'}",
		"'annotations':{}",
	};
	size_t tried = 0;

	for (size_t i = 0; component_list()[i]; i++) {
		const struct component *k = component_list()[i];

		for (size_t m = 0; k->via == COMPONENT_CHART && m < 3; m++) {
			struct arena a;
			struct scene row = {
				.id = k->name,
				.kind = "reconcile_dependencies",
				.data = "{'eks':{'name':'demo','vpc_id':'vpc-1'}}",
				.says = {"advance", "!call", "is used unchanged",
					 "'ready'"}};

			arena_init(&a, 0);
			cr_assert(k->mark.plural, "%s has no mark", k->name);
			row.step = arena_printf(&a, "%s_install", k->name);
			row.answers = arena_printf(
				&a,
				"{'kubernetes:list secrets':{'items':[]},'kubernetes:list "
				"%s':{'items':[{'metadata':{'name':'%s-x',%s}}]}}",
				k->mark.plural, k->mark_name, made_by[m]);
			scenes_hold(&row, 1);
			/* Ours, whose record was lost, is installed anew. */
			row.answers = arena_printf(
				&a,
				"{'kubernetes:list secrets':{'items':[]},'kubernetes:list "
				"%s':{'items':[{'metadata':{'name':'%s-x','annotations':{"
				"'meta.helm.sh/release-name':'%s','meta.helm.sh/release-"
				"namespace':'%s'}}}]}}",
				k->mark.plural, k->mark_name, k->release, k->ns);
			row.says[0] = "!is used unchanged";
			row.says[1] = row.says[2] = row.says[3] = NULL;
			scenes_hold(&row, 1);
			arena_free(&a);
			tried++;
		}
	}
	cr_expect_geq(tried, 9);
}

Test(domain_setup, nodes_may_do_what_the_published_role_may)
{
	/* Of the published inline policy; what AmazonEKS_CNI_Policy and the registry's
	 * policy have besides is attached. */
	static const char *const actions[] = {
		"ec2:AttachNetworkInterface",
		"ec2:DescribeNetworkInterfaces",
		"ec2:DescribeSubnets",
		"ec2:DescribeVpcs",
		"ec2:DescribeDhcpOptions",
		"ec2:DescribeSecurityGroups",
		"ec2:DetachNetworkInterface",
		"ec2:CreateTags",
		"ec2:AssignPrivateIpAddresses",
		"ec2:CreateNetworkInterface",
		"ec2:CreateNetworkInterfacePermission",
		"ec2:DeleteNetworkInterface",
		"ec2:DeleteNetworkInterfacePermission",
		"ec2:ModifyNetworkInterfaceAttribute",
		"ec2:UnassignPrivateIpAddresses",
		"cloudwatch:DescribeAlarms",
		"eks-auth:AssumeRoleForPodIdentity",
		"s3:ListBucket",
		"s3:GetObject",
	};
	struct arena a;
	struct config cfg = {0};
	struct where where = {.partition = "aws",
			      .account = "123456789012",
			      .installation = "here",
			      .region = "us-west-2"};
	struct step_ctx c = {.arena = &a, .target = "demo", .where = &where, .cfg = &cfg};
	const char *text;

	arena_init(&a, 0);
	text = json_text(&a, role_policy_wanted(&c, &nodes_role));
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		cr_expect(strstr(text, arena_printf(&a, "\"%s\"", actions[i])),
			  "%s in %s", actions[i], text);
	arena_free(&a);
}
