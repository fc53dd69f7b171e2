/* The managed autoscaler: its switch and its objects against recorded answers. Each row
 * is named by what went wrong for somebody. */
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
	{ROW("off while pools, classes and pods are there: each is named",
	     "check_autoscaling", OFF, "{" EKS "}",
	     CLUSTER(STATE("Enable", "InService")) "," POOLS "," CLASSES "," BUSY),
	 .says = {"fail blocked human", "node pools train", "node classes gpu",
		  "team/job-0", "!agent"}},
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
	 .says = {"wait: autoscaling of demo, which is being switched off"}},
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
	{ROW("it failed, and the try has asked: AWS's words", "switch_autoscaling", ON,
	     "{" EKS ",'asked':true}", CLUSTER(STATE("Enable", "Failed"))),
	 .says = {"fail cluster-failed human", "the role may not add nodes",
		  "'asked':false"}},
	{ROW("a retry asks again", "switch_autoscaling", ON, "{" EKS ",'asked':false}",
	     CLUSTER(STATE("Enable", "Failed"))),
	 .says = {"call sagemaker:UpdateCluster", "'Mode':'Enable'", "'asked':true"}},
	{ROW("off: the role stays out of it", "switch_autoscaling", OFF, "{" EKS "}",
	     CLUSTER(STATE("Enable", "InService"))),
	 .says = {"call sagemaker:UpdateCluster", "'Mode':'Disable'", "!ClusterRole"}},
	{ROW("in service but not served: waits for the definitions", "wait_autoscaling",
	     ON, "{" EKS "}", CLUSTER(STATE("Enable", "InService"))),
	 .says = {"wait: the definitions hyperpodnodeclasses and nodepools"}},
	{ROW("gone off: advances", "wait_autoscaling", OFF, "{" EKS "}",
	     CLUSTER(CONTINUOUS)),
	 .says = {"advance"}},
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
