/*
 * A goal that somebody else moves, a choice that is made again, a protection that is
 * read before anything goes: each wait and each protection of the tables.
 */
#include "tests/unit/domain_scene.h"

/* Seen so for two minutes. */
#define SEEN(step)  "'_moved':{'" step "':1767322925000}"
#define CLUSTER(of) "{'sagemaker:DescribeCluster':{'ClusterStatus':'InService'," of "}}"
#define GROUP(of)                                                                        \
	CLUSTER("'ClusterArn':'arn:c','InstanceGroups':[{'InstanceGroupName':'g'," of    \
		"}]")
#define SCALE                                                                            \
	.kind = "scale_instance_group", .step = "wait_group",                            \
	.input = "{'group_name':'g','count':6}"

static const struct scene moved[] = {
	{"first look is not believed", SCALE,
	 .answers = GROUP("'TargetCount':0,'CurrentCount':0"),
	 .says = {"wait: a second check", "set to 6 nodes and now has a target of 0"}},
	{"moved by somebody", SCALE, .data = "{" SEEN("wait_group") "}",
	 .answers = GROUP("'TargetCount':0,'CurrentCount':0"),
	 .says = {"fail goal-moved human", "set to 6 nodes and now has a target of 0",
		  "!gone:", "changed by another user", "A retry requests them again",
		  "!done"}},
	{"moved by the autoscaler", SCALE, .data = "{" SEEN("wait_group") "}",
	 .answers = CLUSTER("'AutoScaling':{'Mode':'Enable'},'InstanceGroups':[{"
			    "'InstanceGroupName':'g','TargetCount':1,'CurrentCount':1}]"),
	 .says = {"fail goal-moved", "changed by the autoscaler or another user"}},
	{"taken back by the service", SCALE,
	 .data = "{'from':2,'_least':6,'_reached':4," SEEN("wait_group") "}",
	 .answers = GROUP("'TargetCount':2,'CurrentCount':2"),
	 .says = {"fail goal-moved",
		  "rolled the instance group g back to 2: it reached 4 of min 6 nodes "
		  "within three hours"}},
	{"the least number is waited for beyond our patience", SCALE, .age_s = 2 * 3600,
	 .answers =
		 "{'sagemaker:DescribeCluster':{'ClusterStatus':'InService','InstanceGroups':"
		 "[{'InstanceGroupName':'g','TargetCount':6,'CurrentCount':4,'MinCount':6}]},"
		 "'sagemaker:ListClusterEvents':{'Events':[{'EventLevel':'Error','Description':"
		 "'We currently do not have sufficient capacity to launch new instances.'}]}}",
	 .says = {"wait: 4 of 6 nodes", "!no-capacity"}},
	{"without a least number it ends", SCALE, .age_s = 2 * 3600,
	 .answers =
		 "{'sagemaker:DescribeCluster':{'ClusterStatus':'InService','InstanceGroups':"
		 "[{'InstanceGroupName':'g','TargetCount':6,'CurrentCount':4}]},"
		 "'sagemaker:ListClusterEvents':{'Events':[{'EventLevel':'Error','Description':"
		 "'We currently do not have sufficient capacity to launch new instances.'}]}}",
	 .says = {"fail no-capacity"}},
	{"group gone", SCALE, .data = "{" SEEN("wait_group") "}",
	 .answers = CLUSTER("'InstanceGroups':[]"),
	 .says = {"fail goal-moved", "gone: g",
		  "the instance group g was deleted outside InstantStart"}},
	{"group on its way out", SCALE, .data = "{" SEEN("wait_group") "}",
	 .answers = GROUP("'TargetCount':6,'CurrentCount':6,'Status':'Deleting'"),
	 .says = {"fail goal-moved", "gone: g",
		  "the instance group g was deleted outside InstantStart"}},
	{"cluster gone", SCALE, .data = "{" SEEN("wait_group") "}",
	 .says = {"fail goal-moved", "gone: g",
		  "the HyperPod cluster demo was deleted outside InstantStart"}},
	{"not allowed to look is not gone", SCALE, .data = "{" SEEN("wait_group") "}",
	 .answers = "{'sagemaker:DescribeCluster':{'!':'AccessDeniedException'}}",
	 .says = {"fail cloud-denied", "cannot be read", "!was deleted", "!gone:"}},
	{"a later try finds the group gone", .kind = "scale_instance_group",
	 .step = "read_group", .input = "{'group_name':'g','count':6}",
	 .answers = CLUSTER("'InstanceGroups':[]"),
	 .says = {"no instance group named g", "gone: g"}},
	{"the next batch finds the group gone", .kind = "scale_instance_group",
	 .step = "add_nodes", .input = "{'group_name':'g','count':60}",
	 .data = "{'continuous':true,'more':60,'from':0,'added':[['a']],'wish':{'count':60}}",
	 .answered = "{'Failed':[{'ErrorCode':'InstanceGroupNotFound','FailedCount':10,"
		     "'Message':'no group g'}],'Successful':[]}",
	 .says = {"fail cloud-not-found", "gone: g"}},
	{"labels of a group that was deleted", .kind = "update_instance_group",
	 .step = "wait_update", .input = "{'group_name':'g','labels':{'team':'red'}}",
	 .data = "{" SEEN("wait_update") "}", .answers = CLUSTER("'InstanceGroups':[]"),
	 .says = {"fail goal-moved", "was deleted outside", "gone: g"}},
	{"another cluster of the name", .kind = "create_hyperpod_cluster",
	 .step = "wait_nodes", .input = "{'group_name':'g','count':2}",
	 .data = "{'hyperpod_arn':'arn:ours'," SEEN("wait_nodes") "}",
	 .answers = GROUP("'TargetCount':2,'CurrentCount':2"),
	 .says = {"fail goal-moved",
		  "the HyperPod cluster demo was replaced outside InstantStart by another of the same name"}},
	{"set to 0 while a create waits", .kind = "create_hyperpod_cluster",
	 .step = "wait_nodes", .input = "{'group_name':'g','count':2}",
	 .data = "{" SEEN("wait_nodes") "}",
	 .answers = GROUP("'TargetCount':0,'CurrentCount':0"),
	 .says = {"fail goal-moved", "set to 2 nodes and now has a target of 0",
		  "!done"}},
	{"added again while it goes", .kind = "delete_instance_group",
	 .step = "wait_gone", .input = "{'group_name':'g'}",
	 .data = "{" SEEN("wait_gone") "}",
	 .answers = GROUP("'TargetCount':2,'Status':'InService'"),
	 .says = {"fail goal-moved",
		  "the instance group g is InService and not being deleted: it was added again outside InstantStart"}},
	{"labels of somebody else", .kind = "update_instance_group",
	 .step = "wait_update", .input = "{'group_name':'g','labels':{'team':'red'}}",
	 .data = "{" SEEN("wait_update") "}",
	 .answers = GROUP(
		 "'KubernetesConfig':{'CurrentLabels':{'team':'blue'},'DesiredLabels':"
		 "{'team':'blue'}}"),
	 .says = {"fail goal-moved", "labels of the instance group g", "blue"}},
	{"labels as asked, by whomever", .kind = "update_instance_group",
	 .step = "wait_update", .input = "{'group_name':'g','labels':{'team':'red'}}",
	 .data = "{" SEEN("wait_update") "}",
	 .answers = GROUP(
		 "'KubernetesConfig':{'CurrentLabels':{'team':'red'},'DesiredLabels':"
		 "{'team':'red'}}"),
	 .says = {"done"}},
	{"stack deleted by somebody", .kind = "create_eks_control_plane",
	 .step = "wait_stack", .data = "{" SEEN("wait_stack") "}",
	 .says = {"fail goal-moved", "gone: instantstart-demo",
		  "the stack instantstart-demo was deleted outside InstantStart"}},
	{"stack of the name, another one", .kind = "create_eks_control_plane",
	 .step = "wait_stack", .data = "{'stack_id':'ours'," SEEN("wait_stack") "}",
	 .answers = "{'cloudformation:DescribeStacks':{'Stacks':[{'StackId':'theirs',"
		    "'StackStatus':'CREATE_COMPLETE'}]}}",
	 .says = {"fail goal-moved",
		  "the stack instantstart-demo was replaced outside InstantStart by another of the same name"}},
	{"stack on its way out", .kind = "create_eks_control_plane", .step = "wait_stack",
	 .data = "{" SEEN("wait_stack") "}",
	 .answers = "{'cloudformation:DescribeStacks':{'Stacks':[{'StackId':'ours',"
		    "'StackStatus':'DELETE_IN_PROGRESS'}]}}",
	 .says = {"fail goal-moved", "gone: instantstart-demo",
		  "the stack instantstart-demo is being deleted outside InstantStart (DELETE_IN_PROGRESS)"}},
	/* It is billed as before. */
	{"stack whose deletion has failed", .kind = "create_eks_control_plane",
	 .step = "wait_stack", .data = "{" SEEN("wait_stack") "}",
	 .answers = "{'cloudformation:DescribeStacks':{'Stacks':[{'StackId':'ours',"
		    "'StackStatus':'DELETE_FAILED'}]}}",
	 .says = {"fail goal-moved", "(DELETE_FAILED)", "!gone:"}},
	{"stack updated by somebody since", .kind = "create_eks_control_plane",
	 .step = "wait_stack",
	 .answers = "{'cloudformation:DescribeStacks':{'Stacks':[{'StackId':'ours',"
		    "'StackStatus':'UPDATE_COMPLETE'}]}}",
	 .says = {"advance"}},
	{"add-on removed while it came", .kind = "reconcile_dependencies",
	 .step = "pod_identity_wait",
	 .data = "{'eks':{'name':'demo'},'_left':{'a':{'step':'pod_identity_install'}}," SEEN(
		 "pod_identity_wait") "}",
	 .says = {"noted: fail goal-moved", "gone: eks-pod-identity-agent",
		  "the add-on eks-pod-identity-agent was removed outside InstantStart during its installation"}},
	{"operator removed before it was ready", .kind = "set_training_operator",
	 .step = "ready", .input = "{'feature':'training_operator'}",
	 .data = "{'eks':{'name':'demo'},'_left':{'a':{'step':"
		 "'training_operator_install'}}," SEEN("ready") "}",
	 .says = {"fail goal-moved", "gone: ",
		  "was removed outside InstantStart during its installation", "!done"}},
	{"node pool removed while it came", .kind = "create_node_pool",
	 .step = "wait_ready", .input = "{'name':'p'}",
	 .data = "{" SEEN("wait_ready") "}",
	 .says = {"fail goal-moved", "the node pool p was deleted outside InstantStart",
		  "gone: p"}},
	{"group gone during an update", .kind = "update_cluster_software",
	 .step = "follow_update",
	 .data = "{'before':{'g':{'status':''}}," SEEN("follow_update") "}",
	 .answers = CLUSTER("'InstanceGroups':[]"),
	 /* The others are updated all the same. */
	 .says = {"fail goal-moved",
		  "the instance group g was deleted outside InstantStart", "!done",
		  "!gone:"}},
	{"cluster gone during an update", .kind = "update_cluster_software",
	 .step = "follow_update",
	 .data = "{'before':{'g':{'status':''}}," SEEN("follow_update") "}",
	 .says = {"fail goal-moved", "the HyperPod cluster demo was deleted",
		  "gone: demo"}},
	{"cluster gone before autoscaling was on", .kind = "set_autoscaling",
	 .step = "wait_autoscaling", .input = "{'enabled':true}",
	 .data = "{" SEEN("wait_autoscaling") "}",
	 .says = {"fail goal-moved", "no longer exists", "gone: demo"}},
	{"cluster gone before tiered checkpointing was on",
	 .kind = "set_tiered_checkpointing", .step = "conclude",
	 .input = "{'enabled':true}", .data = "{" SEEN("conclude") "}",
	 .says = {"fail goal-moved", "no longer exists", "gone: demo"}},
	{"switched back meanwhile", .kind = "set_tiered_checkpointing",
	 .step = "conclude", .input = "{'enabled':true}",
	 .data = "{" SEEN("conclude") "}", .answers = CLUSTER("'InstanceGroups':[]"),
	 .says = {"fail goal-moved",
		  "tiered checkpointing is off: it was switched outside InstantStart",
		  "!done"}},
};

Test(goals, moved)
{
	scenes_hold(moved, sizeof(moved) / sizeof(moved[0]));
}

/* What was asked of it does not come, and its stop call would find nothing. */
Test(goals, what_is_gone_is_not_still_wanted)
{
	static const struct {
		const char *gone, *listed; /* the rows that stay, by their call */
	} rows[] = {
		{NULL, "add group other "},
		{"g", "other "},
		{"h", "group "},
	};
	const struct kind *kind = kind_find(kinds, "scale_instance_group");

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct arena a;
		struct walk w;
		struct buf calls;
		size_t j;
		json_t *row;

		arena_init(&a, 0);
		w = (struct walk){.a = &a, .step = kind_step(kind, "wait_group")};
		w.ctx = (struct step_ctx){
			.arena = &a,
			.step = w.step,
			.gone = rows[i].gone,
			.events = json_new_list(&a),
			.data = scene_tree(
				&a,
				"{'_left':{"
				"'a':{'call':'add','phase':'nodes','object':'g','goes_on':'x'},"
				"'b':{'call':'group','phase':'group','object':'g','goes_on':'x'},"
				"'c':{'call':'other','phase':'group','object':'h','goes_on':'x'}}}")};
		left_gone(&w);
		left_tell(&w);
		buf_init(&calls, &a, 256);
		json_array_foreach(json_at(w.ctx.verdict.result, "still_wanted"), j, row)
			buf_printf(&calls, "%s ", json_str_or(row, "call", "?"));
		cr_expect_str_eq(buf_cstr(&calls), rows[i].listed);
		arena_free(&a);
	}
}

/* --- chosen again ---------------------------------------------------------------------
 */

#define ZONE(name, id) "{'ZoneName':'" name "','ZoneId':'" id "','State':'available'}"
#define ZONES                                                                                \
	"{'ec2:DescribeAvailabilityZones':{'AvailabilityZones':[" ZONE(                      \
		"us-west-2a",                                                                \
		"usw2-az1") "," ZONE("us-west-2b",                                           \
				     "usw2-az2") "," ZONE("us-west-2c",                      \
							  "usw2-az3") "," ZONE("us-west-2d", \
									       "usw2-az4") "]}}"

static const struct scene chosen[] = {
	{"the first two", .kind = "create_eks_control_plane", .step = "choose_network",
	 .answers = ZONES,
	 .says = {"'zones':['us-west-2a','us-west-2b']", "network_chosen",
		  "!instead_of"}},
	{"not what was refused", .kind = "create_eks_control_plane",
	 .step = "choose_network",
	 .data = "{'refused_zones':['us-west-2a'],'_chosen':{'network':{'zones':"
		 "['us-west-2a','us-west-2b']}}}",
	 .answers = ZONES, .says = {"'zones':['us-west-2b','us-west-2c']", "instead_of"}},
	{"the caller's wish for a zone stays where it can",
	 .kind = "create_eks_control_plane", .step = "choose_network",
	 .input = "{'zone':'us-west-2d'}", .data = "{'refused_zones':['us-west-2a']}",
	 .answers = ZONES, .says = {"'zones':['us-west-2d','us-west-2b']"}},
	{"a role that was refused is not taken again", .kind = "add_instance_group",
	 .step = "read_cluster",
	 .input = "{'group_name':'new','instance_type':'ml.g5.xlarge','count':1}",
	 .data = "{'refused_role':'arn:bad'}",
	 .answers = CLUSTER("'InstanceGroups':[{'InstanceGroupName':'a','ExecutionRole':"
			    "'arn:bad','LifeCycleConfig':{'SourceS3Uri':'s3://x'}},"
			    "{'InstanceGroupName':'b','ExecutionRole':'arn:good',"
			    "'LifeCycleConfig':{'SourceS3Uri':'s3://y'}}]"),
	 .says = {"'role':'arn:good'"}},
	{"our own group of an earlier try is no conflict", .kind = "add_instance_group",
	 .step = "read_cluster",
	 .input = "{'group_name':'g','instance_type':'ml.g5.xlarge','count':1}",
	 .data = "{'_left':{'a':{'step':'add_group'}}}",
	 .answers = CLUSTER("'InstanceGroups':[{'InstanceGroupName':'g'}]"),
	 .says = {"advance"}},
	{"what is refused is kept", .kind = "create_eks_control_plane",
	 .step = "wait_stack",
	 .data = "{'network':{'zones':['us-west-2a','us-west-2b']}}",
	 .answers =
		 "{'cloudformation:DescribeStacks':{'Stacks':[{'StackId':'ours',"
		 "'StackStatus':'ROLLBACK_COMPLETE'}]},'cloudformation:DescribeStackEvents':"
		 "{'StackEvents':[{'LogicalResourceId':'Cluster','ResourceType':"
		 "'AWS::EKS::Cluster','ResourceStatus':'CREATE_FAILED','ResourceStatusReason':"
		 "'Cannot create cluster because EKS does not support creating control plane "
		 "instances in us-west-2a, the targeted availability zone. Retry with subnets "
		 "in at least two of these availability zones: us-west-2b, us-west-2c'}]}}",
	 .says = {"fail stack-failed", "'refused_zones':['us-west-2a']",
		  "newly chosen zones"}},
};

Test(goals, chosen_again)
{
	scenes_hold(chosen, sizeof(chosen) / sizeof(chosen[0]));
}

/* --- protections ----------------------------------------------------------------------
 */

#define DELETE .kind = "delete_cluster", .step = "check_protections"
#define TAGS   "'Tags':[" TAGS_OURS "]"
#define STACK(on)                                                                           \
	"'cloudformation:DescribeStacks':{'Stacks':[{'StackStatus':'CREATE_COMPLETE'," TAGS \
	",'EnableTerminationProtection':" on "}]}"
#define EKS(on)                                                                          \
	"'eks:DescribeCluster':{'cluster':{'name':'demo','deletionProtection':" on "}}"
#define LOGS(on)                                                                         \
	"'logs:DescribeLogGroups':{'logGroups':[{'logGroupName':'/aws/x',"               \
	"'deletionProtectionEnabled':" on "}]}"

#define STACK_IN(vpc)                                                                       \
	"'cloudformation:DescribeStacks':{'Stacks':[{'StackStatus':'CREATE_COMPLETE'," TAGS \
	",'Outputs':[{'OutputKey':'VpcId','OutputValue':'" vpc "'}]}]}"
#define BALANCERS(vpc)                                                                   \
	"'elbv2:DescribeLoadBalancers':{'LoadBalancers':[{'LoadBalancerArn':'arn:lb',"   \
	"'VpcId':" vpc "}]},'elbv2:DescribeLoadBalancerAttributes':{'Attributes':[{"     \
	"'Key':'deletion_protection.enabled','Value':'true'}]}"

static const struct scene protections[] = {
	{"none", DELETE,
	 .answers = "{" STACK("false") "," EKS("false") "," LOGS("false") "}",
	 .says = {"advance"}},
	{"nothing there", DELETE,
	 .answers = "{'logs:DescribeLogGroups':{'logGroups':[]}}", .says = {"advance"}},
	{"stack", DELETE,
	 .answers = "{" STACK("true") "," EKS("false") "," LOGS("false") "}",
	 .says = {"fail blocked human", "Nothing was deleted", "termination protection",
		  "--no-enable-termination-protection"}},
	{"control plane", DELETE,
	 .answers = "{" STACK("false") "," EKS("true") "," LOGS("false") "}",
	 .says = {"fail blocked human", "deletion protection of the EKS cluster demo",
		  "--no-deletion-protection"}},
	{"logs", DELETE,
	 .answers = "{" STACK("false") "," EKS("false") "," LOGS("true") "}",
	 .says = {"fail blocked human", "log group /aws/x"}},
	{"a load balancer in our network, by whatever hand", DELETE,
	 .answers = "{" STACK_IN("vpc-1") "," BALANCERS("'vpc-1'") "," LOGS("false") "}",
	 .says = {"fail blocked human", "deletion protection of the load balancer arn:lb",
		  "modify-load-balancer-attributes --load-balancer-arn arn:lb "}},
	{"one in another network", DELETE,
	 .answers = "{" STACK_IN("vpc-1") "," BALANCERS("'vpc-2'") "," LOGS("false") "}",
	 .says = {"advance", "!load balancer"}},
	{"load balancers that we may not look at: said, no reason to stop", DELETE,
	 .answers =
		 "{" STACK_IN("vpc-1") ",'elbv2:DescribeLoadBalancers':{'!':"
				       "'AccessDenied','status':403}," LOGS("false") "}",
	 .says = {"advance", "warning: not known: ", "of the load balancer"}},
	{"all at once", DELETE,
	 .answers = "{" STACK("true") "," EKS("true") "," LOGS("true") "}",
	 .says = {"termination protection of the stack", "EKS cluster demo", "/aws/x",
		  "update-termination-protection", "update-cluster-config"}},
	{"somebody else's stack and cluster stay anyway", DELETE,
	 .answers =
		 "{'cloudformation:DescribeStacks':{'Stacks':[{'StackStatus':"
		 "'CREATE_COMPLETE','Tags':[],'EnableTerminationProtection':true}]}," EKS(
			 "true") "," LOGS("false") "}",
	 .says = {"advance"}},
	{"a policy of the organization", DELETE,
	 .answers = "{" STACK("false") "," EKS("false") "," LOGS(
		 "false") ","
			  "'iam:SimulatePrincipalPolicy':{'EvaluationResults':[{'EvalActionName':"
			  "'ec2:DeleteSubnet','EvalDecision':'explicitDeny',"
			  "'OrganizationsDecisionDetail':{'AllowedByOrganizations':false}}]}}",
	 .says = {"fail blocked human", "denies the InstantStart role ec2:DeleteSubnet",
		  "service control policy"}},
	{"an implicit deny may be of the resource alone", DELETE,
	 .answers = "{" STACK("false") "," EKS("false") "," LOGS(
		 "false") ","
			  "'iam:SimulatePrincipalPolicy':{'EvaluationResults':[{'EvalActionName':"
			  "'ec2:DeleteSubnet','EvalDecision':'implicitDeny'}]}}",
	 .says = {"advance"}},
	{"rights that nobody lets us simulate are a warning", DELETE,
	 .answers = "{" STACK("false") "," EKS("false") "," LOGS(
		 "false") ","
			  "'iam:SimulatePrincipalPolicy':{'!':'AccessDenied'}}",
	 .says = {"advance", "warning: not known", "denies the InstantStart role"}},
	{"not readable is not off", DELETE,
	 .answers =
		 "{" STACK("false") ",'eks:DescribeCluster':{'!':'AccessDeniedException'}," LOGS(
			 "false") "}",
	 .says = {"fail cloud-denied human", "could not be checked", "EKS cluster"}},
};

Test(goals, protections)
{
	scenes_hold(protections, sizeof(protections) / sizeof(protections[0]));
}
