/* What stands in the way of an instance group, and what its names and sizes may be. */
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

/* --- adding, and what stands in the way ----------------------------------------------
 */

#define ADD                                                                              \
	"{'group_name':'big','instance_type':'ml.p5.48xlarge','count':4,"                \
	"'capacity_type':'on_demand','zone':'us-west-2b'}"

Test(domain_group_add, everything_that_stands_in_the_way_is_said_at_once)
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
			  "!requirements are not met"}},
		{.id = "several are told together",
		 .kind = "add_instance_group",
		 .step = "check_verdict",
		 .input = ADD,
		 .data = "{'preflight':[{'step':'check_quota','code':'quota','detail':"
			 "'too few','field':'/count'},{'step':'check_role','code':"
			 "'invalid-input','detail':'no trust','field':'/role'}]}",
		 .says = {"2 requirements are not met: (1) too few; (2) no trust",
			  "invalid-input no trust (/role"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_group_add, what_cannot_work_is_known_before_anything_is_made)
{
	static const struct scene rows[] = {
		{.id = "a name that is taken",
		 .kind = "add_instance_group",
		 .step = "read_cluster",
		 .input = "{'group_name':'gpu','instance_type':'ml.g5.xlarge'}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"'code':'state-conflict'",
			  "already has an instance group named gpu"}},
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
		 .says = {"6 in use, 4 needed", "'expected':'at most 2'"}},
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

Test(domain_group_add, every_security_group_of_an_efa_group_must_allow_itself)
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
		 .says = {"call ec2:AuthorizeSecurityGroupEgress: Allow sg-1 to send to itself (required for EFA)",
			  "!sg-2 send"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_group_add, an_unmet_least_number_of_nodes_is_said_and_not_waited_for)
{
	static const struct scene rows[] = {
		{.id = "a read may be older than the call",
		 .kind = "scale_instance_group",
		 .step = "wait_group",
		 .age_s = 5,
		 .input = "{'group_name':'gpu','count':6}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"wait: a second check"}},
		{.id = "taken back by AWS after three hours",
		 .kind = "add_instance_group",
		 .step = "wait_group",
		 .age_s = 3 * 3600,
		 .input = "{'group_name':'gpu','count':6}",
		 .data = "{'_moved':{'wait_group':1767322925000}}",
		 .answers = "{" LIVE(GPU "}") "}",
		 .says = {"fail goal-moved human",
			  "set to 6 nodes and now has a target of 4"}},
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
		 .says = {"advance",
			  "lost with the instance group: 1 pods: default/train-0",
			  "!agent"}},
		{.id = "pods that came after it was confirmed were confirmed by nobody",
		 .kind = "delete_instance_group",
		 .step = "check_users",
		 .input = "{'group_name':'gpu','confirmed':[]}",
		 .data = "{'eks':{'name':'e','endpoint':'https://x','ca_pem':'c'}}",
		 .answers = "{" LIVE(
			 GPU
			 "}") ",'sagemaker:ListClusterNodes':{"
			      "'ClusterNodeSummaries':[{'InstanceGroupName':'gpu','InstanceId':"
			      "'i-0000000a'}]},'kubernetes:list pods':{'items':[{'metadata':{"
			      "'name':'train-0','namespace':'default'},'spec':{'nodeName':"
			      "'hyperpod-i-0000000a'},'status':{'phase':'Running'}}]}}",
		 .says = {"fail loss-not-confirmed", "default/train-0 (pods)"}},
		{.id = "a node class lists the group",
		 .kind = "delete_instance_group",
		 .step = "check_users",
		 .input = "{'group_name':'gpu','confirmed':[]}",
		 .data = "{'eks':{'name':'e','endpoint':'https://x','ca_pem':'c'}}",
		 .answers = "{" LIVE(
			 GPU
			 "}") ",'sagemaker:ListClusterNodes':{'ClusterNodeSummaries':[]},"
			      "'kubernetes:list hyperpodnodeclasses':{'items':[{'metadata':{"
			      "'name':'big'},'spec':{'instanceGroups':['gpu']}}]}}",
		 .says = {"fail loss-not-confirmed", "big (node_classes)"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_group_add, a_software_update_is_told_from_those_of_others)
{
	static const struct scene rows[] = {
		{.id = "what the groups say is in the journal before it is sent",
		 .kind = "update_cluster_software",
		 .step = "start_update",
		 .input = "{'groups':[]}",
		 .data = "{'before':{'gpu':{'status':'InProgress','image':''}}}",
		 .answers = "{" LIVE(GPU ",'SoftwareUpdateStatus':'Succeeded'}") "}",
		 .says = {"wait: the current software of the groups of demo to be recorded",
			  "'gpu':{'image':'','status':'Succeeded'}", "!call"}},
		{.id = "an update of somebody else's that goes on is no evidence of ours",
		 .kind = "update_cluster_software",
		 .step = "start_update",
		 .input = "{'groups':[]}",
		 .issued = true,
		 .data = "{'before':{'gpu':{'status':'InProgress','image':''}}}",
		 .answers = "{" LIVE(GPU ",'SoftwareUpdateStatus':'InProgress'}") "}",
		 .says = {"call sagemaker:UpdateClusterSoftware",
			  "!software_update_found"}},
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

Test(domain_group_add, names_and_sizes_are_judged_in_words)
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

Test(domain_group_add, a_member_is_set_or_cleared)
{
	const struct capability *cap = capability_find("update_instance_group");
	struct arena a;
	struct reply ret = {0};
	struct err e = {0};
	struct call c = {.arena = &a, .cap = cap};
	void *in;

	arena_init(&a, 0);
	c.raw = scene_tree(&a, "{'cluster':'demo','group':'gpu','labels':{'a':'1'},"
			       "'clear':['taints','labels']}");
	in = arena_alloc(&a, cap->in_size);
	cr_assert(field_decode(cap->in, c.raw, &a, in, &e), "%s", e.detail);
	cr_expect_not(cap->run(&c, in, &ret, &e));
	cr_expect_eq(e.code, ERR_INVALID_INPUT);
	cr_expect_str_eq(e.field, "/clear");
	cr_expect_str_eq(e.seen, "labels");
	arena_free(&a);
}

Test(domain_group_add, what_is_fixed_is_refused_with_the_way_out)
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
		cr_expect(strstr(e.fix, "Create a new group") && strstr(e.fix, "drain"),
			  "%s", e.fix);
		cr_expect(strstr(e.field, fixed[i]), "%s", e.field);
	}
	arena_free(&a);
}
