/* What users met with instance groups, as recorded answers: cases IG, CC and NW. */
#include "tests/unit/domain_scene.h"

#define LIVE(members)                                                                    \
	"'sagemaker:DescribeCluster':{'ClusterName':'demo','ClusterStatus':'InService'," \
	"'NodeProvisioningMode':'Continuous','InstanceGroups':[" members "]}"
/* Case IG-04, with what else its list names. */
#define GPU                                                                              \
	"{'InstanceGroupName':'gpu','InstanceType':'ml.p5.48xlarge','TargetCount':4,"    \
	"'CurrentCount':4,'MinCount':2,'Status':'InService','ThreadsPerCore':2,"         \
	"'OnStartDeepHealthChecks':['InstanceStress'],'TrainingPlanArn':null,"           \
	"'ExecutionRole':'arn:r','InstanceStorageConfigs':[{'EbsVolumeConfig':"          \
	"{'VolumeSizeInGB':500}}],'OverrideVpcConfig':{'Subnets':['subnet-1'],"          \
	"'SecurityGroupIds':['sg-1']},'CapacityRequirements':{'Spot':{}},"               \
	"'ScheduledUpdateConfig':{'ScheduleExpression':'cron(x)'},"                      \
	"'CurrentImageId':'ami-1','KubernetesConfig':{'CurrentLabels':{},"               \
	"'DesiredLabels':{'team':'red'},'CurrentTaints':[],'DesiredTaints':[{'Key':'k'," \
	"'Effect':'NoSchedule'}]},'NetworkInterface':{'InterfaceType':'efa-only'}"
#define GPU_TWO "{'InstanceGroupName':'other','TargetCount':1,'ExecutionRole':'arn:o'}"

Test(domain_group, an_update_of_one_field_resets_no_other)
{
	static const struct scene rows[] = {
		{.id = "IG-04 labels change, everything else is sent as it was read",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','labels':{'team':'blue'}}",
		 .answers = "{" LIVE(GPU "}," GPU_TWO) "}",
		 .says = {"'InstanceCount':4", "'ThreadsPerCore':2",
			  "'Labels':{'team':'blue'},'Taints':[{'Effect':'NoSchedule',"
			  "'Key':'k'}]",
			  "'CapacityRequirements':{'Spot':{}}", "!TrainingPlanArn",
			  "!other"}},
		{.id = "IG-04 the rest of the list",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"'MinInstanceCount':3", "'ImageId':'ami-1'",
			  "'OnStartDeepHealthChecks':['InstanceStress']",
			  "'ScheduledUpdateConfig':{'ScheduleExpression':'cron(x)'}",
			  "'NetworkInterface':{'InterfaceType':'efa-only'}",
			  "'VolumeSizeInGB':500"}},
		{.id = "IG-04 a member that we do not know blocks",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .answers = "{" LIVE(GPU ",'NewField2027':1}") "}",
		 .says = {"fail state-conflict never: Unknown field NewField2027 of the instance group gpu",
			  "!call"}},
		{.id = "IG-04 another group's unknown member is none of our business",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .answers =
			 "{" LIVE(GPU "},{'InstanceGroupName':'x','NewField2027':1}") "}",
		 .says = {"call sagemaker:UpdateCluster", "!NewField"}},
		{.id = "desired is actual: no call",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','labels':{'team':'red'},'min_count':2}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"advance", "!call"}},
		{.id = "cleared members are left out",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','clear':['taints','min_count']}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"call sagemaker:UpdateCluster", "!Taints", "!MinInstanceCount",
			  "'Labels':{'team':'red'}"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_group, a_cluster_that_takes_no_update_is_waited_for)
{
	static const struct scene rows[] = {
		{.id = "a state that refuses updates",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .answers = "{'sagemaker:DescribeCluster':{'ClusterStatus':'Updating',"
			    "'InstanceGroups':[" GPU "}]}}",
		 .says = {"wait: the HyperPod cluster demo in status Updating"}},
		{.id = "ConflictException is no failure",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .answered = "{'!':'ConflictException','message':'busy'}",
		 .says = {"wait: the HyperPod cluster demo, which accepts no update now"}},
		{.id = "nothing to change is success",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .answered =
			 "{'!':'ValidationException','message':'No changes detected'}",
		 .says = {"advance"}},
		{.id = "deep health checks that run refuse it for a while",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .answered =
			 "{'!':'ValidationException','message':'Deep health checks are "
			 "in progress'}",
		 .says = {"wait: the HyperPod cluster demo, which accepts no update now"}},
		{.id = "a failed one never takes it",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .answers = "{'sagemaker:DescribeCluster':{'ClusterStatus':'Failed',"
			    "'FailureMessage':'no','InstanceGroups':[" GPU "}]}}",
		 .says = {"fail cluster-failed human"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_group, labels_are_waited_for_and_a_group_without_taints_is_not)
{
	static const struct scene rows[] = {
#define WAITS(words, asked, kubernetes, what)                                              \
	{                                                                                  \
		.id = (words), .kind = "update_instance_group", .step = "wait_update",     \
		.input = "{'group_name':'gpu'," asked "}",                                 \
		.answers =                                                                 \
			"{'sagemaker:DescribeCluster':{'ClusterStatus':'InService',"       \
			"'InstanceGroups':[{'InstanceGroupName':'gpu','KubernetesConfig':" \
			"{" kubernetes "}}]}}",                                            \
		.says = {                                                                  \
			what                                                               \
		}                                                                          \
	}
		WAITS("on their way", "'labels':{'a':'1'}",
		      "'DesiredLabels':{'a':'1'},'CurrentLabels':{'a':'0'}",
		      "wait: labels and taints of gpu"),
		WAITS("none there yet", "'labels':{'a':'1'}", "'DesiredLabels':{'a':'1'}",
		      "wait: labels and taints of gpu"),
		WAITS("there, and no taints are said at all", "'labels':{'a':'1'}",
		      "'DesiredLabels':{'a':'1'},'CurrentLabels':{'a':'1'}", "done"),
		WAITS("an empty list is none", "'clear':['labels','taints']",
		      "'DesiredTaints':[],'CurrentLabels':{},'CurrentTaints':[]", "done"),
		WAITS("not yet gone", "'clear':['taints']",
		      "'DesiredTaints':[],'CurrentTaints':[{'Key':'k'}]",
		      "wait: labels and taints of gpu"),
	};

	SCENES_HOLD(rows);
}

Test(domain_group, a_race_lost_to_another_writer_is_told_and_not_forgotten)
{
	static const struct scene rows[] = {
		{.id = "a read may be older than our call",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .data = "{'_update':{'update_group':{'sends':1,'sent':["
			 "{'InstanceGroupName':'gpu','InstanceCount':9}]}}}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"wait: demo to show the sent values", "!warning"}},
		{.id = "I10 group, field, wanted and seen are named; ours is sent again",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .data = "{'_update':{'update_group':{'sends':1,'looks':{'try':0,'n':2},'sent':["
			 "{'InstanceGroupName':'gpu','InstanceCount':9}]}}}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"warning: InstanceCount of the instance group gpu was changed outside "
			  "InstantStart during the update: sent 9, now 4",
			  "call sagemaker:UpdateCluster", "'MinInstanceCount':3",
			  "'InstanceCount':4"}},
		{.id = "what was throttled or refused is held against nobody",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .data = "{'_update':{'update_group':{'trying':[{'InstanceGroupName':"
			 "'gpu','InstanceCount':9}]}}}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .answered = "{'!':'ConflictException','message':'busy'}",
		 .says = {"wait: the HyperPod cluster demo, which accepts no update now",
			  "!warning", "!'sends'"}},
		{.id = "what was taken is compared",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .answered = "{}",
		 .says = {"wait: demo to show the update", "'sends':1",
			  "'sent':[{'CapacityRequirements'"}},
		{.id = "a fight is given to a person",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .data = "{'_update':{'update_group':{'sends_now':{'try':0,'n':5},'sent':[]}}}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"fail state-conflict human",
			  "each update was reverted outside InstantStart"}},
	};

	SCENES_HOLD(rows);
}

/* --- IG-01 -------------------------------------------------------------------------- */

#define SCALING .kind = "scale_instance_group", .input = "{'group_name':'gpu','count':6}"

Test(domain_group, adding_nodes_twice_after_a_lost_answer_adds_them_once)
{
	static const struct scene rows[] = {
		{.id = "IG-01 what there was is kept before the call",
		 SCALING,
		 .step = "read_group",
		 .answers = "{" LIVE(
			 GPU "}") ",'sagemaker:ListClusterNodes':{"
				  "'ClusterNodeSummaries':[{'InstanceGroupName':'gpu',"
				  "'NodeLogicalId':'n0','InstanceId':'i-0'},"
				  "{'InstanceGroupName':'gpu-2','NodeLogicalId':'z'}]}}",
		 .says = {"'from':4", "'more':2", "'known':['n0']", "!'z'"}},
		{.id = "IG-01 a number of nodes more, never the specification",
		 SCALING,
		 .step = "add_nodes",
		 .data = "{'continuous':true,'from':4,'more':2,'known':['n0']}",
		 .says = {"call sagemaker:BatchAddClusterNodes",
			  "'IncrementTargetCountBy':2", "!UpdateCluster"}},
		{.id = "somebody else has changed the count meanwhile: reckoned anew",
		 SCALING,
		 .step = "add_nodes",
		 .data = "{'continuous':true,'from':3,'more':3,'known':['n0']}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"goto read_group", "!call"}},
		{.id = "but what may have arrived is sent as it was, under its token",
		 SCALING,
		 .step = "add_nodes",
		 .issued = true,
		 .data = "{'continuous':true,'from':3,'more':3,'known':['n0']}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"'IncrementTargetCountBy':3"}},
		{.id = "nor are nodes chosen for a count that is another one now",
		 .kind = "scale_instance_group",
		 .step = "choose_nodes",
		 .input = "{'group_name':'gpu','count':2}",
		 .data = "{'continuous':true,'from':5,'more':-3}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"goto read_group", "!victims"}},
		{.id = "IG-01 the answer's ids go into the journal",
		 SCALING,
		 .step = "add_nodes",
		 .data = "{'continuous':true,'from':4,'more':2,'known':['n0']}",
		 .answered = "{'Successful':[{'NodeLogicalId':'n1'},{'NodeLogicalId':"
			     "'n2'}],'Failed':[]}",
		 .says = {"advance", "'added':[['n1','n2']]"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_group, nodes_are_added_as_the_group_takes_them)
{
	static const struct scene rows[] = {
		{.id = "fifty a call",
		 .kind = "scale_instance_group",
		 .step = "add_nodes",
		 .input = "{'group_name':'gpu','count':124}",
		 .data = "{'continuous':true,'from':4,'more':120,'known':[],'added':[[],[]]}",
		 .says = {"'IncrementTargetCountBy':20"}},
		{.id = "a group that takes none now is waited for",
		 SCALING,
		 .step = "add_nodes",
		 .data = "{'continuous':true,'from':4,'more':2,'known':[]}",
		 .answered =
			 "{'Successful':[],'Failed':[{'InstanceGroupName':'gpu',"
			 "'ErrorCode':'InvalidInstanceGroupStatus','FailedCount':2}]}",
		 .says = {"wait: the instance group gpu, which accepts no nodes now"}},
		{.id = "IG-01 refused where the call does not exist: the count is set",
		 SCALING,
		 .step = "add_nodes",
		 .data = "{'continuous':false,'from':4,'more':2,'known':[]}",
		 .says = {"advance", "!call"}},
		{.id = "and there every value survives",
		 SCALING,
		 .step = "set_count",
		 .data = "{'continuous':false,'from':4,'more':2}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"'InstanceCount':6", "'ThreadsPerCore':2",
			  "'MinInstanceCount':2"}},
		{.id = "fewer than its least",
		 .kind = "scale_instance_group",
		 .step = "read_group",
		 .input = "{'group_name':'gpu','count':1}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"'detail':'gpu has a minimum of 2 nodes'",
			  "'expected':'at least 2'"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_group, those_who_go_are_those_that_do_least)
{
	static const struct scene rows[] = {
		{.id = "without instance, not working, fewest pods",
		 .kind = "scale_instance_group",
		 .step = "choose_nodes",
		 .input = "{'group_name':'gpu','count':1}",
		 .data = "{'continuous':true,'from':4,'more':-3,'eks':{'name':'e',"
			 "'endpoint':'https://x','ca_pem':'c'}}",
		 .answers =
			 "{'sagemaker:ListClusterNodes':{'ClusterNodeSummaries':["
			 "{'InstanceGroupName':'gpu','InstanceId':'i-0000000a','NodeLogicalId':"
			 "'a','InstanceStatus':{'Status':'Running'}},"
			 "{'InstanceGroupName':'gpu','InstanceId':'i-0000000b','NodeLogicalId':"
			 "'b','InstanceStatus':{'Status':'Running'}},"
			 "{'InstanceGroupName':'gpu','InstanceId':'i-0000000c','NodeLogicalId':"
			 "'c','InstanceStatus':{'Status':'Failure'}},"
			 "{'InstanceGroupName':'gpu','InstanceId':'','NodeLogicalId':'d',"
			 "'InstanceStatus':{'Status':'Pending'}}]},"
			 "'kubernetes:list pods':{'items':[{'metadata':{'name':'train-0',"
			 "'namespace':'default'},'spec':{'nodeName':'hyperpod-i-0000000a'},"
			 "'status':{'phase':'Running'}}]}}",
		 .says = {"{'id':'','logical_id':'d'}", "{'id':'i-0000000c'",
			  "{'id':'i-0000000b'", "!{'id':'i-0000000a'", "!warning"}},
		{.id = "I10 the list shows fewer than go: it lags, half of them is not it",
		 .kind = "scale_instance_group",
		 .step = "choose_nodes",
		 .input = "{'group_name':'gpu','count':0}",
		 .data = "{'continuous':true,'from':2,'more':-2,'eks':{'name':'e',"
			 "'endpoint':'https://x','ca_pem':'c'}}",
		 .answers =
			 "{'sagemaker:ListClusterNodes':{'ClusterNodeSummaries':["
			 "{'InstanceGroupName':'gpu','InstanceId':'i-0000000a','NodeLogicalId':"
			 "'a','InstanceStatus':{'Status':'Running'}}]},"
			 "'kubernetes:list pods':{'items':[]}}",
		 .says = {"wait: the list of nodes to be complete: it shows 1 of the 2 nodes of gpu",
			  "!victims"}},
	};

	SCENES_HOLD(rows);
}
