/* What users met with instance groups, as recorded answers: cases IG, CC and NW. */
#include "tests/unit/domain_scene.h"

#include "core/domain/capability.h"

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
		 .says = {"fail state-conflict never: unknown live field NewField2027 of "
			  "the instance group gpu",
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
		 .says = {"wait: the HyperPod cluster demo, which is Updating"}},
		{.id = "ConflictException is no failure",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .answered = "{'!':'ConflictException','message':'busy'}",
		 .says = {"wait: the HyperPod cluster demo, which takes no update now"}},
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
		 .says = {"wait: the HyperPod cluster demo, which takes no update now"}},
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

Test(domain_group, a_race_lost_to_another_writer_is_told_and_not_forgotten)
{
	static const struct scene rows[] = {
		{.id = "a read may be older than our call",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .data = "{'_update':{'update_group':{'sends':1,'looks':0,'sent':["
			 "{'InstanceGroupName':'gpu','InstanceCount':9}]}}}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"wait: demo to show what was sent", "!warning"}},
		{.id = "I10 group, field, wanted and seen are named; ours is sent again",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .data = "{'_update':{'update_group':{'sends':1,'looks':2,'sent':["
			 "{'InstanceGroupName':'gpu','InstanceCount':9}]}}}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"warning: somebody else changed InstanceCount of the instance "
			  "group gpu while we updated it: we sent 9, now it is 4",
			  "call sagemaker:UpdateCluster", "'MinInstanceCount':3",
			  "'InstanceCount':4"}},
		{.id = "a fight is given to a person",
		 .kind = "update_instance_group",
		 .step = "update_group",
		 .input = "{'group_name':'gpu','min_count':3}",
		 .data = "{'_update':{'update_group':{'sends':5,'sent':[]}}}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"fail state-conflict human", "changed it back each time"}},
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
		{.id = "IG-01 the answer's ids go into the journal",
		 SCALING,
		 .step = "add_nodes",
		 .data = "{'continuous':true,'from':4,'more':2,'known':['n0']}",
		 .answered = "{'Successful':[{'NodeLogicalId':'n1'},{'NodeLogicalId':"
			     "'n2'}],'Failed':[]}",
		 .says = {"advance", "'added':[['n1','n2']]"}},
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
		 .says = {"wait: the instance group gpu, which takes no nodes now"}},
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
		 .says = {"'detail':'gpu has a least number of nodes of 2'",
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
	};

	SCENES_HOLD(rows);
}

/* --- adding, and what stands in the way ----------------------------------------------
 */

#define ADD                                                                              \
	"{'group_name':'big','instance_type':'ml.p5.48xlarge','count':4,"                \
	"'capacity_type':'on_demand','zone':'us-west-2b'}"

Test(domain_group, everything_that_stands_in_the_way_is_said_at_once)
{
	static const struct scene rows[] = {
		{.id = "a fault is noted and the next check is made",
		 .kind = "add_instance_group",
		 .step = "check_offering",
		 .input = ADD,
		 .answers =
			 "{'ec2:DescribeAvailabilityZones':{'AvailabilityZones':[{"
			 "'ZoneName':'us-west-2b','ZoneId':'usw2-az2'}]},"
			 "'ec2:DescribeInstanceTypeOfferings':{'InstanceTypeOfferings':[{"
			 "'Location':'usw2-az1'}]}}",
		 .says = {"advance", "'code':'not-offered'",
			  "'expected':'one of usw2-az1'"}},
		{.id = "one is told as it was found",
		 .kind = "add_instance_group",
		 .step = "check_verdict",
		 .input = ADD,
		 .data = "{'preflight':[{'step':'check_quota','code':'quota','detail':"
			 "'too few','field':'/count','seen':'4','expected':'at most 1',"
			 "'fix':'ask','retry':5}]}",
		 .says = {"fail quota", "too few / /count / 4 / at most 1 / ask",
			  "!stand in the way"}},
		{.id = "several are told together",
		 .kind = "add_instance_group",
		 .step = "check_verdict",
		 .input = ADD,
		 .data = "{'preflight':[{'step':'check_quota','code':'quota','detail':"
			 "'too few','field':'/count'},{'step':'check_role','code':"
			 "'invalid-input','detail':'no trust','field':'/role'}]}",
		 .says = {"2 things stand in the way: (1) too few; (2) no trust",
			  "invalid-input no trust (/role"}},
		{.id = "a name that is taken",
		 .kind = "add_instance_group",
		 .step = "read_cluster",
		 .input = "{'group_name':'gpu','instance_type':'ml.g5.xlarge'}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"'code':'state-conflict'", "named gpu already"}},
		{.id = "spot needs Continuous",
		 .kind = "add_instance_group",
		 .step = "read_cluster",
		 .input = "{'group_name':'x','instance_type':'ml.g5.xlarge',"
			  "'capacity_type':'spot'}",
		 .answers = "{'sagemaker:DescribeCluster':{'ClusterStatus':'InService',"
			    "'InstanceGroups':[]}}",
		 .says = {"not in Continuous mode", "'field':'/capacity_type'"}},
		{.id = "a role that SageMaker may not take",
		 .kind = "add_instance_group",
		 .step = "check_role",
		 .input = "{'group_name':'x','execution_role_arn':"
			  "'arn:aws:iam::111122223333:role/own'}",
		 .answers = "{'iam:GetRole':{'Role':{'AssumeRolePolicyDocument':'x "
			    "ec2.amazonaws.com'}}}",
		 .says = {"'field':'/execution_role_arn'",
			  "not sagemaker.amazonaws.com"}},
		{.id = "CC-06 the group's own cluster counts as well",
		 .kind = "add_instance_group",
		 .step = "check_quota",
		 .input = ADD,
		 .answers =
			 "{'service-quotas:ListServiceQuotas':{'Quotas':[{'QuotaName':"
			 "'ml.p5.48xlarge for cluster usage','QuotaCode':'L-1','Value':8}]},"
			 "'sagemaker:ListClusters':{'ClusterSummaries':[{'ClusterName':"
			 "'demo'}]},'sagemaker:DescribeCluster':{'InstanceGroups':[{"
			 "'InstanceGroupName':'gpu','InstanceType':'ml.p5.48xlarge',"
			 "'TargetCount':6},{'InstanceGroupName':'big','InstanceType':"
			 "'ml.p5.48xlarge','TargetCount':4}]}}",
		 .says = {"6 are in use, 4 are needed", "'expected':'at most 2'"}},
		{.id = "somebody else's group of that name, made meanwhile",
		 .kind = "add_instance_group",
		 .step = "add_group",
		 .input = "{'group_name':'gpu','instance_type':'ml.g5.xlarge','count':1}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"fail foreign-object human", "!call"}},
		{.id = "ours, after an answer that was lost",
		 .kind = "add_instance_group",
		 .step = "add_group",
		 .input = "{'group_name':'gpu','instance_type':'ml.g5.xlarge','count':1}",
		 .data = "{'_update':{'add_group':{'sends':1,'sent':[]}}}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"advance", "!call"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_group, every_security_group_of_an_efa_group_must_allow_itself)
{
	static const struct scene rows[] = {
		{.id = "NW-01 one rule for the one that lacks it",
		 .kind = "add_instance_group",
		 .step = "security_group_egress",
		 .input = ADD,
		 .data = "{'security_group_ids':['sg-1','sg-2']}",
		 .answers = "{'ec2:DescribeSecurityGroups':{'SecurityGroups':["
			    "{'GroupId':'sg-1','IpPermissionsEgress':[{'IpProtocol':'-1',"
			    "'IpRanges':[{'CidrIp':'0.0.0.0/0'}]}]},"
			    "{'GroupId':'sg-2','IpPermissionsEgress':[{'IpProtocol':'-1',"
			    "'UserIdGroupPairs':[{'GroupId':'sg-2'}]}]}]}}",
		 .says = {"call ec2:AuthorizeSecurityGroupEgress: Let sg-1 send to itself",
			  "!sg-2 send"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_group, an_unmet_least_number_of_nodes_is_said_and_not_waited_for)
{
	static const struct scene rows[] = {
		{.id = "taken back by AWS after three hours",
		 .kind = "add_instance_group",
		 .step = "wait_group",
		 .input = "{'group_name':'gpu','count':6}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"fail state-conflict human",
			  "asked for 6 nodes and has a target of 4 now"}},
		{.id = "pods that work there are named before it goes",
		 .kind = "delete_instance_group",
		 .step = "check_users",
		 .input = "{'group_name':'gpu'}",
		 .data = "{'eks':{'name':'e','endpoint':'https://x','ca_pem':'c'}}",
		 .answers = "{" LIVE(
			 GPU
			 "}") ",'sagemaker:ListClusterNodes':{"
			      "'ClusterNodeSummaries':[{'InstanceGroupName':'gpu','InstanceId':"
			      "'i-0000000a'}]},'kubernetes:list pods':{'items':[{'metadata':{"
			      "'name':'train-0','namespace':'default'},'spec':{'nodeName':"
			      "'hyperpod-i-0000000a'},'status':{'phase':'Running'}},{'metadata':{"
			      "'name':'agent','namespace':'kube-system','ownerReferences':[{'kind':"
			      "'DaemonSet'}]},'spec':{'nodeName':'hyperpod-i-0000000a'},'status':{"
			      "'phase':'Running'}}]}}",
		 .says = {"fail blocked human", "default/train-0 on hyperpod-i-0000000a",
			  "!agent"}},
		{.id = "a software update whose answer was lost is found by the status",
		 .kind = "update_cluster_software",
		 .step = "follow_update",
		 .input = "{'groups':[]}",
		 .data = "{'before':{'gpu':{'status':''}}}",
		 .answers =
			 "{" LIVE(GPU ",'SoftwareUpdateStatus':'RollbackComplete'}") "}",
		 .says = {"fail cluster-failed human", "gpu RollbackComplete"}},
		{.id = "what was Succeeded before is no news",
		 .kind = "update_cluster_software",
		 .step = "follow_update",
		 .input = "{'groups':[]}",
		 .data = "{'before':{'gpu':{'status':'Succeeded'}}}",
		 .answers = "{" LIVE(GPU ",'SoftwareUpdateStatus':'Succeeded'}") "}",
		 .says = {"wait: the software update of demo: gpu Succeeded"}},
	};

	SCENES_HOLD(rows);
}

/* --- IG-06, IG-12 --------------------------------------------------------------------
 */

static const char *hint_of(struct arena *a, const char *name)
{
	const struct capability *cap = capability_find("add_instance_group");
	void *in = arena_alloc(a, cap->in_size);
	struct err e = {0};

	if (field_decode(cap->in,
			 json_packf(a, "{s:s,s:s,s:s,s:s}", "cluster", "demo", "name",
				    name, "instance_type", "ml.g5.xlarge", "zone",
				    "us-west-2a"),
			 a, in, &e))
		return "taken";
	return arena_printf(a, "%s %s", e.expected, e.fix);
}

static bool takes_count(struct arena *a, const char *cap_name, int count)
{
	const struct capability *cap = capability_find(cap_name);
	void *in = arena_alloc(a, cap->in_size);
	struct err e = {0};

	return field_decode(cap->in,
			    json_packf(a, "{s:s,s:s,s:i}", "cluster", "demo", "group",
				       "gpu", "count", count),
			    a, in, &e);
}

Test(domain_group, names_and_sizes_are_judged_in_words)
{
	char long_name[65];
	struct arena a;

	arena_init(&a, 0);
	memset(long_name, 'a', 64);
	long_name[64] = '\0';
	cr_expect(strstr(hint_of(&a, "gpu_group"), "gpu-group"), "%s",
		  hint_of(&a, "gpu_group"));
	cr_expect_str_neq(hint_of(&a, "gpu-"), "taken");
	cr_expect_str_neq(hint_of(&a, long_name), "taken");
	cr_expect_str_eq(hint_of(&a, "gpu-group"), "taken");
	cr_expect_not(takes_count(&a, "scale_instance_group", -1));
	cr_expect_not(takes_count(&a, "scale_instance_group", 6759));
	cr_expect(takes_count(&a, "scale_instance_group", 0));
	arena_free(&a);
}

Test(domain_group, what_is_fixed_is_refused_with_the_way_out)
{
	static const char *const fixed[] = {"instance_type", "capacity_type",
					    "interface_mode", "subnet_id"};
	const struct capability *cap = capability_find("update_instance_group");
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < 4; i++) {
		const json_t *raw = json_packf(&a, "{s:s,s:s,s:s}", "cluster", "demo",
					       "group", "gpu", fixed[i], "x");
		struct call c = {.arena = &a, .cap = cap, .raw = raw};
		void *in = arena_alloc(&a, cap->in_size);
		struct reply ret = {0};
		struct err e = {0};

		cr_assert(field_decode(cap->in, raw, &a, in, &e), "%s", e.detail);
		cr_expect_not(cap->run(&c, in, &ret, &e));
		cr_expect_eq(errc_info(e.code)->http_status, 409);
		cr_expect(strstr(e.fix, "Make a new group") && strstr(e.fix, "drain"),
			  "%s", e.fix);
		cr_expect(strstr(e.field, fixed[i]), "%s", e.field);
	}
	arena_free(&a);
}
