/* The managed autoscaler: its switch and its objects against recorded answers. Each row
 * is named by what went wrong for somebody. */
#include "core/domain/karpenter/karpenter.h"
#include "tests/unit/domain_scene.h"

#define EKS                                                                              \
	"'eks':{'name':'demo','arn':'arn:aws:eks:us-west-2:111122223333:cluster/demo'}"
#define ON   "{'enabled':true}"
#define OFF  "{'enabled':false}"
#define OURS "arn:aws:iam::111122223333:role/is-demo-autoscaling-us-west-2"
#define CLUSTER(more)                                                                    \
	"'sagemaker:DescribeCluster':{'ClusterName':'demo','ClusterArn':'arn:aws:"       \
	"sagemaker:us-west-2:111122223333:cluster/abc','ClusterStatus':'InService',"     \
	"'NodeRecovery':'Automatic'" more "}"
#define CONTINUOUS ",'NodeProvisioningMode':'Continuous'"
#define AGENT(tag)                                                                       \
	"'kubernetes:list daemonsets':{'items':[{'metadata':{'name':"                    \
	"'health-monitoring-agent'},'spec':{'template':{'spec':{'containers':[{'image'"  \
	":'1.dkr.ecr/hyperpod-health-monitoring-agent:" tag "'}]}}}}]}"
#define NEW_AGENT AGENT("1.0.1035.0_1.0.310.0")
#define ROLE(service)                                                                    \
	"'iam:GetRole':{'Role':{'RoleName':'r','CreateDate':'2026-01-02T03:03:57Z',"     \
	"'AssumeRolePolicyDocument':'{\\'Principal\\':{\\'Service\\':\\'" service        \
	"\\'}}'}}"
#define STATE(mode, status)                                                              \
	CONTINUOUS ",'ClusterRole':'" OURS "','AutoScaling':{'Mode':'" mode              \
		   "','AutoScalerType':'Karpenter','Status':'" status                    \
		   "','FailureMessage':'the role may not add nodes'}"
#define POOLS                                                                            \
	"'kubernetes:list nodepools':{'items':[{'metadata':{'name':'train'},'spec':{"    \
	"'template':{'spec':{'nodeClassRef':{'name':'gpu'}}}}}]}"
#define CLASSES                                                                          \
	"'kubernetes:list hyperpodnodeclasses':{'items':[{'metadata':{'name':'gpu'}}]}"
#define BUSY                                                                              \
	"'kubernetes:list nodes':{'items':[{'metadata':{'name':'hyperpod-i-1','labels':{" \
	"'karpenter.sh/nodepool':'train','sagemaker.amazonaws.com/instance-group-name':"  \
	"'a'}}}]},'kubernetes:list pods':{'items':[{'metadata':{'name':'job-0',"          \
	"'namespace':'team'},'spec':{'nodeName':'hyperpod-i-1'},'status':{'phase':"       \
	"'Running'}},{'metadata':{'name':'agent','namespace':'kube-system',"              \
	"'ownerReferences':[{'kind':'DaemonSet'}]},'spec':{'nodeName':'hyperpod-i-1'}}]}"

#define ROW(id_, step_, input_, data_, answers_)                                         \
	.id = (id_), .kind = "set_autoscaling", .step = (step_), .input = (input_),      \
	.data = (data_), .answers = "{" answers_ "}"

static const struct scene prerequisites[] = {
	{ROW("AS-01 a cluster that is not Continuous and an old agent: both at once",
	     "check_autoscaling", ON, "{" EKS "}",
	     CLUSTER("") "," AGENT("1.0.741.9_1.0.241.0")),
	 .says = {"fail state-conflict human", "NodeProvisioningMode is not set",
		  "older than 1.0.742.0_1.0.241.0", "1.0.741.9"}},
	{ROW("AS-01 no health agent", "check_autoscaling", ON, "{" EKS "}",
	     CLUSTER(CONTINUOUS) ",'kubernetes:list daemonsets':{'items':[]}"),
	 .says = {"no health-monitoring agent", "reconcile_dependencies", "!Continuous"}},
	{ROW("an image without a version is not judged", "check_autoscaling", ON,
	     "{" EKS "}", CLUSTER(CONTINUOUS) "," AGENT("latest")),
	 .says = {"advance"}},
	{ROW("node recovery off is switched on, and told", "check_autoscaling", ON,
	     "{" EKS "}",
	     "'sagemaker:DescribeCluster':{'ClusterStatus':'InService','NodeRecovery':"
	     "'None','NodeProvisioningMode':'Continuous'}," NEW_AGENT),
	 .says = {"advance", "node recovery is off"}},
	{ROW("a cluster role of others is not changed", "check_autoscaling", ON,
	     "{" EKS "}",
	     CLUSTER(CONTINUOUS ",'ClusterRole':'arn:aws:iam::1:role/theirs'") "," NEW_AGENT "," ROLE(
		     "hyperpod.sagemaker.amazonaws.com")),
	 .says = {"fail foreign-object human", "arn:aws:iam::1:role/theirs", "adopt"}},
	{ROW("adopted, it is used as it is", "check_autoscaling",
	     "{'enabled':true,'adopt':true}", "{" EKS "}",
	     CLUSTER(CONTINUOUS ",'ClusterRole':'arn:aws:iam::1:role/theirs'") "," NEW_AGENT "," ROLE(
		     "hyperpod.sagemaker.amazonaws.com")),
	 .says = {"advance", "'others_role':'arn:aws:iam::1:role/theirs'"}},
	{ROW("IA-02 an adopted role that trusts another service", "check_autoscaling",
	     "{'enabled':true,'adopt':true}", "{" EKS "}",
	     CLUSTER(CONTINUOUS ",'ClusterRole':'arn:aws:iam::1:role/theirs'") "," NEW_AGENT "," ROLE(
		     "sagemaker.amazonaws.com")),
	 .says = {"fail", "trusts", "hyperpod.sagemaker.amazonaws.com"}},
	{ROW("on already: nothing is asked for", "check_autoscaling", ON, "{" EKS "}",
	     CLUSTER(STATE("Enable", "InService")) ",'kubernetes:list daemonsets':{"
						   "'items':[]}"),
	 .says = {"advance"}},
	{ROW("off while pools and classes are there: what was not confirmed is named",
	     "check_autoscaling",
	     "{'enabled':false,'confirmed':[{'feature':'autoscaling','workloads':["
	     "'NodePool train']}]}",
	     "{" EKS "}",
	     CLUSTER(STATE("Enable", "InService")) "," POOLS "," CLASSES "," BUSY),
	 .says = {"fail loss-not-confirmed", "HyperpodNodeClass gpu", "!NodePool train"}},
	{ROW("off with pools and classes that were confirmed: it says what stays",
	     "check_autoscaling",
	     "{'enabled':false,'confirmed':[{'feature':'autoscaling','workloads':["
	     "'NodePool train','HyperpodNodeClass gpu']}]}",
	     "{" EKS "}",
	     CLUSTER(STATE("Enable", "InService")) "," POOLS "," CLASSES "," BUSY),
	 .says = {"advance", "warning: lost with autoscaling", "are billed"}},
	{ROW("off when nothing uses it", "check_autoscaling", OFF, "{" EKS "}",
	     CLUSTER(STATE("Enable", "InService"))),
	 .says = {"advance"}},
};

static const struct scene switching[] = {
	{ROW("on: one call without groups", "switch_autoscaling", ON, "{" EKS "}",
	     CLUSTER(CONTINUOUS)),
	 .says = {"call sagemaker:UpdateCluster", "'Mode':'Enable'", OURS,
		  "!InstanceGroups", "!NodeRecovery"}},
	{ROW("equal: no call", "switch_autoscaling", ON, "{" EKS "}",
	     CLUSTER(STATE("Enable", "InService"))),
	 .says = {"advance"}},
	{ROW("on its way: no second call", "switch_autoscaling", ON, "{" EKS "}",
	     CLUSTER(STATE("Enable", "Creating"))),
	 .says = {"advance"}},
	{ROW("asked for while it goes off: waits", "switch_autoscaling", ON, "{" EKS "}",
	     CLUSTER(STATE("Disable", "Deleting"))),
	 .says = {"wait: autoscaling of demo to be turned off"}},
	{ROW("IA-02 a role of some seconds cannot be assumed yet", "switch_autoscaling",
	     ON, "{" EKS "}",
	     CLUSTER(CONTINUOUS) "," ROLE("hyperpod.sagemaker.amazonaws.com")),
	 .answered = "{'!':'ValidationException','message':'it could not be assumed "
		     "because it does not exist'}",
	 .says = {"retry role-not-ready backoff"}},
	{ROW("IA-02 a role that never can", "switch_autoscaling", ON, "{" EKS "}",
	     CLUSTER(CONTINUOUS) "," ROLE("sagemaker.amazonaws.com")),
	 .answered = "{'!':'ValidationException','message':'it could not be assumed "
		     "because it does not exist'}",
	 .says = {"fail", "never", "hyperpod.sagemaker.amazonaws.com"}},
	{ROW("it failed, and we have asked: AWS's words", "wait_autoscaling", ON,
	     "{" EKS ",'asked':true}", CLUSTER(STATE("Enable", "Failed"))),
	 .says = {"fail cluster-failed human", "the role may not add nodes"}},
	{ROW("it failed, and others had asked: we ask", "wait_autoscaling", ON,
	     "{" EKS "}", CLUSTER(STATE("Enable", "Failed"))),
	 .says = {"goto switch_autoscaling"}},
	{ROW("a retry asks again", "switch_autoscaling", ON, "{" EKS ",'asked':true}",
	     CLUSTER(STATE("Enable", "Failed"))),
	 .says = {"call sagemaker:UpdateCluster", "'Mode':'Enable'", "'asked':true"}},
	{ROW("off: the role stays out of it", "switch_autoscaling", OFF, "{" EKS "}",
	     CLUSTER(STATE("Enable", "InService"))),
	 .says = {"call sagemaker:UpdateCluster", "'Mode':'Disable'", "!ClusterRole"}},
	{ROW("in service but not served: waits for the definitions", "wait_autoscaling",
	     ON, "{" EKS "}", CLUSTER(STATE("Enable", "InService"))),
	 .says = {"wait: the resource types hyperpodnodeclasses and nodepools to be served"}},
	{ROW("switched off by somebody while it comes up", "wait_autoscaling", ON,
	     "{" EKS ",'asked':true,'_moved':{'wait_autoscaling':1767322925000}}",
	     CLUSTER(CONTINUOUS)),
	 .says = {"fail goal-moved human", "was disabled outside InstantStart",
		  "A retry requests them again", "!goto"}},
	{ROW("switched on again while it goes off", "wait_autoscaling", OFF,
	     "{" EKS ",'asked':true,'_moved':{'wait_autoscaling':1767322925000}}",
	     CLUSTER(STATE("Enable", "InService"))),
	 .says = {"fail goal-moved human", "was enabled outside InstantStart", "!goto"}},
	{ROW("a read may be older than our call", "wait_autoscaling", ON,
	     "{" EKS ",'asked':true}", CLUSTER(CONTINUOUS)),
	 .says = {"wait: a second check"}},
	{ROW("gone off: advances", "wait_autoscaling", OFF, "{" EKS "}",
	     CLUSTER(CONTINUOUS)),
	 .says = {"advance"}},
	{ROW("the catalog has it, as it has the other features", "finish", OFF,
	     "{" EKS "}", ""),
	 .says = {"done", "'cluster':'demo'", "'state':'disabled'"}},
	{ROW("the role lets nothing but this cluster's nodes", "autoscaling_role_policy",
	     ON, "{" EKS ",'cluster_arn':'arn:aws:sagemaker:us-west-2:1:cluster/abc'}",
	     ""),
	 .says = {"call iam:PutRolePolicy", "sagemaker:BatchAddClusterNodes",
		  "arn:aws:sagemaker:us-west-2:1:cluster/abc", "kms:CreateGrant"}},
	{ROW("and says what it is for", "autoscaling_role", ON, "{" EKS "}", ""),
	 .says = {"call iam:CreateRole", "hyperpod.sagemaker.amazonaws.com",
		  "aws-sagemaker-hyperpod-prerequisite"}},
};

Test(domain_karpenter, the_switch)
{
	SCENES_HOLD(prerequisites);
	SCENES_HOLD(switching);
}

/* --- node classes and node pools ---------------------------------------------------- */

#define GROUP(name, count, more)                                                         \
	"{'InstanceGroupName':'" name "','InstanceType':'ml.g5.12xlarge','Status':"      \
	"'InService','CurrentCount':" count ",'TargetCount':" count more "}"
#define GROUPS                                                                                                                                                                                                              \
	",'VpcConfig':{'Subnets':['subnet-1']},'InstanceGroups':[" GROUP("a", "3", "") "," GROUP("b", "0", ",'TrainingPlanArn':'arn:plan'") "," GROUP("c", "0", ",'OnStartDeepHealthChecks':['InstanceStress']") "," GROUP( \
		"d", "0",                                                                                                                                                                                                   \
		",'CapacityRequirements':{'Spot':{}}") "," GROUP("e", "0",                                                                                                                                                  \
								 "") "," GROUP("f", "0",                                                                                                                                    \
									       ",'OverrideVpcConfig':{'Subnets':['subnet-1','subnet-2']}") "]"
#define RUNNING CLUSTER(STATE("Enable", "InService") GROUPS)
#define SUBNETS                                                                          \
	"'ec2:DescribeSubnets':{'Subnets':[{'SubnetId':'subnet-1','AvailabilityZone':"   \
	"'us-west-2a'},{'SubnetId':'subnet-2','AvailabilityZone':'us-west-2b'}]}"
#define ON_A                                                                             \
	"'kubernetes:list nodes':{'items':[{'metadata':{'name':'n','labels':{'sagemaker" \
	".amazonaws.com/instance-group-name':'a'}}}]},'kubernetes:list pods':{'items':[" \
	"{'metadata':{'name':'job-0','namespace':'team'},'spec':{'nodeName':'n'}}]}"
#define WORLD RUNNING "," SUBNETS "," ON_A
#define CLASS_ROW(id_, input_, answers_)                                                 \
	.id = (id_), .kind = "create_node_class", .step = "check_groups",                \
	.input = (input_), .data = "{" EKS "}", .answers = "{" answers_ "}"

static const struct scene classes[] = {
	{CLASS_ROW("AS-01 five groups, four findings, one accepted",
		   "{'name':'gpu','instance_groups':['a','b','c','d','e']}", WORLD),
	 .says = {"fail invalid-input never",
		  "a has 3 nodes that run 1 pods, and would be scaled to zero",
		  "b takes its capacity from a training plan",
		  "c has deep health checks on start", "d is a spot group",
		  "!/instance_groups/4"}},
	{CLASS_ROW("AS-01 subnets of several zones",
		   "{'name':'gpu','instance_groups':['f']}", WORLD),
	 .says = {"f has subnets in several zones: us-west-2a, us-west-2b"}},
	{CLASS_ROW("a group that is not there", "{'name':'gpu','instance_groups':['x']}",
		   WORLD),
	 .says = {"x is not an instance group of the cluster", "a, b, c, d, e, f"}},
	{CLASS_ROW("AS-01 the cluster is not Continuous",
		   "{'name':'gpu','instance_groups':['e']}", CLUSTER(GROUPS) "," SUBNETS),
	 .says = {"fail invalid-input", "NodeProvisioningMode is not set"}},
	{CLASS_ROW("autoscaling is off", "{'name':'gpu','instance_groups':['e']}",
		   CLUSTER(CONTINUOUS GROUPS) "," SUBNETS),
	 .says = {"fail invalid-input", "autoscaling is not in service"}},
	{CLASS_ROW("a good group", "{'name':'gpu','instance_groups':['e']}", WORLD),
	 .says = {"advance"}},
	{CLASS_ROW("spot when it is asked for",
		   "{'name':'gpu','instance_groups':['d'],'allow_spot':true}", WORLD),
	 .says = {"advance"}},
	{CLASS_ROW("AS-01 running pods need a word of their own",
		   "{'name':'gpu','instance_groups':['a'],'scale_to_zero':true,"
		   "'confirmed':[]}",
		   WORLD),
	 .says = {"fail loss-not-confirmed human", "team/job-0"}},
	{CLASS_ROW("confirmed",
		   "{'name':'gpu','instance_groups':['a'],'scale_to_zero':true,"
		   "'confirmed':[{'node':'n','pods':['team/job-0']}]}",
		   WORLD),
	 .says = {"advance"}},
	{CLASS_ROW("its own nodes are no loss when a group is added",
		   "{'name':'gpu','instance_groups':['a','e']}",
		   WORLD
		   ",'kubernetes:list hyperpodnodeclasses':{'items':[{'metadata':{'name'"
		   ":'gpu'},'spec':{'instanceGroups':['a']}}]}"),
	 .says = {"advance"}},
	{CLASS_ROW("a group of another class is told",
		   "{'name':'new','instance_groups':['e']}",
		   WORLD
		   ",'kubernetes:list hyperpodnodeclasses':{'items':[{'metadata':{'name'"
		   ":'gpu'},'spec':{'instanceGroups':['e']}}]}"),
	 .says = {"advance",
		  "the node class gpu also lists the instance group e: both count its nodes"}},
	{.id = "it is applied with our label",
	 .kind = "create_node_class",
	 .step = "apply",
	 .input = "{'name':'gpu','instance_groups':['e']}",
	 .data = "{" EKS "}",
	 .says = {"call kubernetes:apply hyperpodnodeclasses", "'instanceGroups':['e']",
		  "'app.kubernetes.io/managed-by':'instantstart','instantstart/installation':'here'"}},
	{.id = "one of others is left alone",
	 .kind = "create_node_class",
	 .step = "apply",
	 .input = "{'name':'gpu','instance_groups':['e']}",
	 .data = "{" EKS "}",
	 .answers =
		 "{'kubernetes:get hyperpodnodeclasses':{'metadata':{'name':'gpu'},'spec'"
		 ":{'instanceGroups':['e']}}}",
	 .says = {"fail foreign-object human"}},
	{.id = "a group that was deleted since: its reason is what is waited for",
	 .kind = "create_node_class",
	 .step = "wait_ready",
	 .input = "{'name':'gpu','instance_groups':['e']}",
	 .data = "{" EKS "}",
	 .answers =
		 "{'kubernetes:get hyperpodnodeclasses':{'apiVersion':'" KARPENTER_CLASS_API
		 "','kind':'HyperpodNodeClass','metadata':{'name':'gpu','labels':{"
		 "'app.kubernetes.io/managed-by':'instantstart'"
		 ",'instantstart/installation':'here'}},"
		 "'spec':{'instanceGroups':["
		 "'e']},'status':{'conditions':[{'type':'Ready','status':'False','message':"
		 "'Instance group e was not found'}]}}}",
	 .says = {"wait: the node class gpu to be ready: Instance group e was not found"}},
	{.id = "a class that pools refer to",
	 .kind = "delete_node_class",
	 .step = "check_users",
	 .input = "{'name':'gpu','confirmed':[]}",
	 .data = "{" EKS "}",
	 .answers = "{" POOLS "}",
	 .says = {"fail loss-not-confirmed human", "train (node_pools)"}},
};

#define GPU_CLASS                                                                        \
	"'kubernetes:list hyperpodnodeclasses':{'items':[{'metadata':{'name':'gpu'},"    \
	"'spec':{'instanceGroups':['e']},'status':{'instanceGroups':[{'name':'e',"       \
	"'subnets':[{'zone':'us-west-2a'}]}]}}]}"
#define POOL_ROW(id_, step_, input_, answers_)                                           \
	.id = (id_), .kind = "create_node_pool", .step = (step_),                        \
	.input = "{'name':'train','node_class_ref':{'name':'gpu'}" input_ "}",           \
	.data = "{" EKS "}", .answers = "{" answers_ "}"

static const struct scene pools[] = {
	{POOL_ROW(
		 "AS-03 a type that no group has, a zone, and a label it refuses: all told",
		 "check_class",
		 ",'instance_types':['ml.p5.48xlarge'],'zones':['us-west-2b'],'labels':{"
		 "'karpenter.sh/x':'1','node.kubernetes.io/y':'2','example.com/z':'3'}",
		 RUNNING "," GPU_CLASS),
	 .says = {"fail invalid-input never",
		  "ml.p5.48xlarge is not the type of any group of the node class gpu",
		  "us-west-2b is not the zone of any group",
		  "rejects the label karpenter.sh/x",
		  "rejects the label node.kubernetes.io/y", "!example.com/z"}},
	{POOL_ROW("no such class", "check_class", "", RUNNING),
	 .says = {"fail invalid-input", "there is no node class gpu",
		  "create_node_class"}},
	{POOL_ROW("good", "check_class", ",'instance_types':['ml.g5.12xlarge']",
		  RUNNING "," GPU_CLASS),
	 .says = {"advance"}},
	{POOL_ROW("AS-04 pods that run are not evicted by default", "apply",
		  ",'limits':{'nvidia.com/gpu':'16'},'weight':10", ""),
	 .says = {"'consolidationPolicy':'WhenEmpty'", "'expireAfter':'Never'",
		  "'group':'karpenter.sagemaker.amazonaws.com'", "'operator':'Exists'",
		  "'limits':{'nvidia.com/gpu':'16'}"}},
	{.id = "pods on its nodes end with it: each was confirmed or it stays",
	 .kind = "delete_node_pool",
	 .step = "check_users",
	 .input = "{'name':'train','confirmed':[]}",
	 .data = "{" EKS "}",
	 .answers = "{" BUSY "}",
	 .says = {"fail loss-not-confirmed human", "team/job-0", "!agent"}},
	{.id = "without pods it goes",
	 .kind = "delete_node_pool",
	 .step = "check_users",
	 .input = "{'name':'train'}",
	 .data = "{" EKS "}",
	 .says = {"advance"}},
};

#define NEAR(list)                                                                       \
	"{'kubernetes:get " list "':{'!':'NotFound','status':404,'message':'no'},"       \
	"'kubernetes:list " list "':{'items':[{'metadata':{'name':'train'}}]}}"
#define TYPO .step = "check_object", .data = "{" EKS "}"

static const struct scene unknown[] = {
	{.id = "a pool that is not there: asked, it is refused",
	 .kind = "delete_node_pool",
	 TYPO,
	 .planning = true,
	 .input = "{'name':'trainx'}",
	 .answers = NEAR("nodepools"),
	 .says = {"fail not-found", "no node pool named trainx", "did you mean train?"}},
	{.id = "a class likewise",
	 .kind = "delete_node_class",
	 TYPO,
	 .planning = true,
	 .input = "{'name':'gpu'}",
	 .answers = NEAR("hyperpodnodeclasses"),
	 .says = {"fail not-found", "a name from list_node_classes"}},
	{.id = "accepted, it has gone meanwhile",
	 .kind = "delete_node_pool",
	 TYPO,
	 .input = "{'name':'trainx','confirmed':[]}",
	 .says = {"advance"}},
	{.id = "an undo has nothing to find",
	 .kind = "delete_node_pool",
	 TYPO,
	 .planning = true,
	 .input = "{'name':'trainx','confirmed':[]}",
	 .says = {"advance"}},
};

Test(domain_karpenter, what_is_not_there_is_refused_when_asked_for)
{
	SCENES_HOLD(unknown);
}

Test(domain_karpenter, classes_and_pools)
{
	SCENES_HOLD(classes);
	SCENES_HOLD(pools);
}
