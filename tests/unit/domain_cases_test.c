/* What users met: each row is one failure and the words that must come of it. */
#include "tests/unit/domain_scene.h"

/* --- refused before anything is asked of the cloud -----------------------------------
 */

Test(domain_cases, near_misses_get_the_value_that_would_work)
{
	static const struct {
		const char *id, *input, *field, *hint; /* NULL hint: accepted there */
	} rows[] = {
		{"CC-02 prefix forgotten", "{'instance_type':'g5.12xlarge'}",
		 "/instance_type", "did you mean \"ml.g5.12xlarge\"?"},
		{"CC-02", "{'instance_type':'ml.g5.12xlarge'}", "/instance_type", NULL},
		{"CC-13 with v", "{'kubernetes_version':'v1.33'}", "/kubernetes_version",
		 "did you mean \"1.33\"?"},
		{"CC-13 number of YAML", "{'kubernetes_version':1.3}",
		 "/kubernetes_version", "did you mean \"1.30\"?"},
		{"CC-13", "{'kubernetes_version':'1.33'}", "/kubernetes_version", NULL},
		{"IG-12 underscore", "{'group_name':'gpu_group'}", "/group_name",
		 "did you mean \"gpu-group\"?"},
		{"IG-12 at its end", "{'group_name':'gpu-'}", "/group_name",
		 "did you mean \"gpu\"?"},
		{"IG-12 64 letters",
		 "{'group_name':'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		 "'}",
		 "/group_name", "63 characters"},
		{"IG-12 count", "{'count':-1}", "/count", "1 to 1000"},
		{"CC-10 bucket", "{'lifecycle_s3_uri':'s3://my-team-bucket/scripts'}",
		 "/lifecycle_s3_uri", "s3://sagemaker-"},
		{"TJ-01 name", "{'name':'My_Cluster'}", "/name",
		 "did you mean \"my-cluster\"?"},
		{"DP-11 namespace", "{'dependencies':{'namespace':'infra'}}",
		 "/dependencies", "one of"},
	};
	const struct capability *cap = capability_find("create_cluster");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct violation *found = NULL;
		struct arena a;
		struct err e = {0};

		arena_init(&a, 0);
		/* Required members are missing: never accepted as a whole. */
		cr_assert_not(field_decode(cap->in, scene_tree(&a, rows[i].input), &a,
					   arena_alloc(&a, cap->in_size), &e));
		for (size_t j = 0; j < e.n_violations; j++)
			if (streq(e.violations[j].field, rows[i].field))
				found = &e.violations[j];
		cr_assert_eq(found != NULL, rows[i].hint != NULL, "%s", rows[i].id);
		if (found)
			cr_assert(strstr(found->expected, rows[i].hint), "%s: %s",
				  rows[i].id, found->expected);
		arena_free(&a);
	}
}

/* What would lose letters was not meant; what other APIs call a dry run is. */
Test(domain_cases, nothing_else_is_suggested)
{
	static const char *const names[] = {"\xc3\xbcn\xc3\xaf", "\xd0\xb0lpha",
					    "caf\xc3\xa9",
					    "\xe6\xbc\xa2"
					    "a"};
	static const char *const switches[] = {"{'dry_run':true}", "{'dry_run':'true'}",
					       "{'dry_run':'1'}"};
	const struct capability *cap = capability_find("create_cluster");
	struct call_options options;
	json_t *in;
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct err e = {0};

		cr_assert_not(field_decode(cap->in,
					   json_packf(&a, "{s:s}", "name", names[i]), &a,
					   arena_alloc(&a, cap->in_size), &e));
		for (size_t j = 0; j < e.n_violations; j++)
			cr_expect_null(strstr(e.violations[j].expected, "did you mean"),
				       "%s: %s", names[i], e.violations[j].expected);
	}
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
		struct err e = {0};

		cr_assert_not(capability_split(cap, scene_tree(&a, switches[i]), false,
					       &a, &in, &options, &e));
		cr_expect(strstr(e.expected, "did you mean \"plan\"?"), "%s", e.expected);
	}
	arena_free(&a);
}

/* --- denied ----------------------------------------------------------------------------
 */

#define GROUP "'instance_type':'ml.g5.12xlarge','group_name':'w','count':1"
#define PLACE                                                                            \
	"'eks':{'arn':'arn:eks'},'security_group_id':'sg-1','subnet':{'id':'subnet-1'}"
#define DENIED(action, how)                                                                        \
	"User: arn:aws:sts::111122223333:assumed-role/Ops/x is not authorized to perform: " action \
	" on resource: r" how

Test(domain_cases, an_explicit_deny_is_never_answered_with_allow_it)
{
	static const struct scene rows[] = {
		{.id = "CC-12 service control policy",
		 .kind = "create_hyperpod_cluster",
		 .step = "create_cluster",
		 .input = "{" GROUP "}",
		 .data = "{" PLACE "}",
		 .answered = "{'!':'AccessDeniedException','message':'" DENIED(
			 "iam:CreateServiceLinkedRole",
			 " with an explicit deny in a service control policy") "'}",
		 .says = {"fail cloud-forbidden human",
			  "A service control policy denies iam:CreateServiceLinkedRole to "
			  "arn:aws:sts::111122223333:assumed-role/Ops/x",
			  "!/ Allow"}},
		{.id = "CC-12 plain denial",
		 .kind = "create_hyperpod_cluster",
		 .step = "create_cluster",
		 .input = "{" GROUP "}",
		 .data = "{" PLACE "}",
		 .answered = "{'!':'AccessDeniedException','message':'" DENIED(
			 "sagemaker:CreateCluster", "") "'}",
		 .says = {"fail cloud-denied human",
			  "/ Allow sagemaker:CreateCluster to arn:"}},
		{.id = "CC-12 in a stack",
		 .kind = "create_eks_control_plane",
		 .step = "wait_stack",
		 .answers =
			 "{'cloudformation:DescribeStacks':{'Stacks':[{'StackStatus':"
			 "'ROLLBACK_COMPLETE'}]},'cloudformation:DescribeStackEvents':"
			 "{'StackEvents':[{'LogicalResourceId':'Cluster','ResourceStatus':"
			 "'CREATE_FAILED','ResourceStatusReason':'" DENIED(
				 "iam:CreateServiceLinkedRole",
				 " with an explicit deny in a permissions boundary") "'}]}}",
		 .says = {"fail stack-failed human", "A permissions boundary denies",
			  "!/ Allow"}},
		{.id = "MC-07 a code nobody knows",
		 .kind = "create_hyperpod_cluster",
		 .step = "create_cluster",
		 .input = "{" GROUP "}",
		 .data = "{" PLACE "}",
		 .answered = "{'!':'FooException','message':'no foo'}",
		 .says = {"fail cloud-refused never", "FooException no foo"}},
	};

	SCENES_HOLD(rows);
}

/* --- before anything is made
 * ------------------------------------------------------------ */

#define CREATE .kind = "create_cluster", .input
#define ZONES                                                                            \
	"'ec2:DescribeAvailabilityZones':{'AvailabilityZones':["                         \
	"{'ZoneName':'us-west-2a','ZoneId':'usw2-az2'},"                                 \
	"{'ZoneName':'us-west-2b','ZoneId':'usw2-az1'}]}"
#define OFFERED(zones)                                                                   \
	"'ec2:DescribeInstanceTypeOfferings':{'InstanceTypeOfferings':[" zones "]}"
#define QUOTA(limit)                                                                     \
	"'service-quotas:ListServiceQuotas':{'Quotas':[{'QuotaName':"                    \
	"'ml.p5.48xlarge for cluster usage','QuotaCode':'L-1','Value':" limit "}]}"
#define P5(n) "{'zone':'us-west-2a','instance_type':'ml.p5.48xlarge','count':" n "}"
#define TYPE(slots, efa)                                                                 \
	"{'ec2:DescribeInstanceTypes':{'InstanceTypes':[{'VCpuInfo':{'DefaultCores':8,"  \
	"'DefaultVCpus':16},'MemoryInfo':{'SizeInMiB':65536},'GpuInfo':{'Gpus':[{"       \
	"'Manufacturer':'NVIDIA'}]},'NetworkInfo':{"                                     \
	"'Ipv4AddressesPerInterface':" slots ",'EfaInfo':{'MaximumEfaInterfaces':" efa   \
	"}}}]}}"

Test(domain_cases, a_zone_that_cannot_is_refused_with_those_that_can)
{
	static const struct scene rows[] = {
		{.id = "CC-01 not offered there",
		 CREATE = P5("2"),
		 .step = "check_offering",
		 .answers = "{" ZONES "," OFFERED("{'Location':'usw2-az1'}") "}",
		 .says = {"fail not-offered never", "/zone", "one of usw2-az1"}},
		{.id = "CC-02 nowhere at all",
		 CREATE = P5("2"),
		 .step = "check_offering",
		 .answers = "{" ZONES "," OFFERED("") "}",
		 .says = {"advance",
			  "warning: not known: EC2 does not list p5.48xlarge in any zone of us-west-2"}},
		{.id = "CC-08 zone of another region",
		 CREATE = "{'zone':'euw1-az2','instance_type':'ml.p5.48xlarge'}",
		 .step = "check_offering",
		 .answers = "{" ZONES "," OFFERED("") "}",
		 .says = {"fail invalid-input never",
			  "euw1-az2 is not a zone of us-west-2"}},
		{.id = "CC-05 subnet in another zone",
		 CREATE = "{'zone':'us-west-2a','instance_type':'ml.p5.48xlarge',"
			  "'subnet_id':'subnet-b'}",
		 .step = "check_offering",
		 .answers = "{" ZONES "," OFFERED(
			 "{'Location':'usw2-az2'}") ","
						    "'ec2:DescribeSubnets subnet-b':{'Subnets':[{'VpcId':'vpc-1',"
						    "'AvailabilityZoneId':'usw2-az1'}]},"
						    "'ec2:DescribeSubnets vpc-id':{'Subnets':[{'SubnetId':'subnet-a'}]}}",
		 .says = {"fail invalid-input never", "usw2-az1", "usw2-az2",
			  "/subnet_id", "one of subnet-a"}},
		{.id = "CC-08 two subnets, one zone",
		 .kind = "create_eks_control_plane",
		 .step = "choose_network",
		 .input = "{'vpc_id':'vpc-1','subnet_ids':['subnet-a','subnet-b']}",
		 .answers =
			 "{" ZONES ",'ec2:DescribeSubnets':{'Subnets':["
			 "{'SubnetId':'subnet-a','VpcId':'vpc-1','AvailabilityZoneId':'usw2-az1'},"
			 "{'SubnetId':'subnet-b','VpcId':'vpc-1','AvailabilityZoneId':'usw2-az1'}]}}",
		 .says = {"fail invalid-input never", "two zones", "/subnet_ids"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_cases, a_quota_is_used_requested_and_limit)
{
	static const struct scene rows[] = {
		{.id = "CC-06 zero",
		 CREATE = P5("1"),
		 .step = "check_quota",
		 .answers = "{" QUOTA("0") "}",
		 .says = {"fail quota human", "is 0: 0 in use, 1 needed", "L-1"}},
		{.id = "CC-06 used by others",
		 CREATE = P5("2"),
		 .step = "check_quota",
		 .answers = "{" QUOTA(
			 "4") ",'sagemaker:ListClusters':{'ClusterSummaries':["
			      "{'ClusterName':'a'},{'ClusterName':'b'},{'ClusterName':'demo'}]},"
			      "'sagemaker:DescribeCluster a':{'InstanceGroups':["
			      "{'InstanceType':'ml.p5.48xlarge','CurrentCount':1,'TargetCount':3},"
			      "{'InstanceType':'ml.g5.xlarge','TargetCount':9},"
			      "{'InstanceType':'ml.p5.48xlarge','TargetCount':9,'TrainingPlanArn':'p'},"
			      "{'InstanceType':'ml.p5.48xlarge','TargetCount':9,"
			      "'CapacityRequirements':{'Spot':{}}}]},"
			      "'sagemaker:DescribeCluster b':{'InstanceGroups':[]}}",
		 .says = {"fail quota human", "3 in use, 2 needed", "at most 1"}},
		{.id = "CC-06 a cluster that may not be seen",
		 CREATE = P5("1"),
		 .step = "check_quota",
		 .answers = "{" QUOTA(
			 "4") ",'sagemaker:ListClusters':{'ClusterSummaries':["
			      "{'ClusterName':'a'}]},'sagemaker:DescribeCluster a':"
			      "{'!':'AccessDeniedException'}}",
		 .says = {"advance", "warning: not known: not all HyperPod clusters"}},
		{.id = "CC-06 fake3 unreadable",
		 CREATE = P5("1"),
		 .step = "check_quota",
		 .answers = "{'service-quotas:ListServiceQuotas':"
			    "{'!':'AccessDeniedException'}}",
		 .says = {"advance",
			  "warning: not known: whether the quota 'ml.p5.48xlarge for "
			  "cluster usage' is sufficient: it could not be read, HTTP 400 "
			  "AccessDeniedException"}},
		{.id = "CC-06 fake2 refused by SageMaker",
		 .kind = "create_hyperpod_cluster",
		 .step = "create_cluster",
		 .input = "{" GROUP "}",
		 .data = "{" PLACE "}",
		 .answered =
			 "{'!':'ResourceLimitExceeded','message':'account-level service "
			 "limit'}",
		 .says = {"fail quota human", "Service Quotas"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_cases, an_instance_type_is_asked_what_it_can_do)
{
	static const struct scene rows[] = {
		{.id = "CC-09 too small for the system's pods",
		 CREATE = "{'instance_type':'ml.g5.xlarge','count':1}",
		 .step = "check_type",
		 .answers = TYPE("15", "0"),
		 .says = {"advance", "warning: 1 × ml.g5.xlarge has 7 pod slots left",
			  "need about 12", "14 slots a node"}},
		{.id = "CC-09 large enough",
		 CREATE = "{'instance_type':'ml.p5.48xlarge','count':1}",
		 .step = "check_type",
		 .answers = TYPE("50", "32"),
		 .says = {"advance", "!warning"}},
		{.id = "a type that the chart places no plugin on",
		 CREATE = "{'instance_type':'ml.g4dn.xlarge','count':9}",
		 .step = "check_type",
		 .answers =
			 "{'ec2:DescribeInstanceTypes':{'InstanceTypes':[{'InstanceType':"
			 "'g4dn.xlarge','VCpuInfo':{'DefaultCores':2},'MemoryInfo':{"
			 "'SizeInMiB':16384},'GpuInfo':{'Gpus':[{'Manufacturer':'NVIDIA'}]},"
			 "'NetworkInfo':{'Ipv4AddressesPerInterface':10}}]}}",
		 .says = {"advance", "places no nvidia-device-plugin on ml.g4dn.xlarge",
			  "stay Pending", "places no health-monitoring-agent",
			  "not repaired", "!offers pods"}},
		{.id = "NW-03 EFA on a type without",
		 CREATE = "{'instance_type':'ml.g5.xlarge','interface_mode':'efa'}",
		 .step = "check_type",
		 .answers = TYPE("15", "0"),
		 .says = {"fail not-offered never",
			  "ml.g5.xlarge supports no EFA interfaces", "/interface_mode"}},
		{.id = "NW-03 EFA on a type with",
		 CREATE =
			 "{'instance_type':'ml.g5.8xlarge','count':4,'interface_mode':'efa'}",
		 .step = "check_type",
		 .answers = TYPE("30", "1"),
		 .says = {"advance", "!warning"}},
		{.id = "a type that EC2 does not list",
		 CREATE = "{'instance_type':'ml.new.1xlarge','interface_mode':'efa'}",
		 .step = "check_type",
		 .answers = "{'ec2:DescribeInstanceTypes':{'InstanceTypes':[]}}",
		 .says = {"advance",
			  "warning: not known: the capabilities of ml.new.1xlarge"}},
	};

	SCENES_HOLD(rows);
}

#define VERSION .kind = "create_eks_control_plane", .step = "check_version", .input
#define VERSIONS                                                                         \
	"{'eks:DescribeClusterVersions':{'clusterVersions':[{'clusterVersion':'1.34',"   \
	"'defaultVersion':true,'endOfStandardSupportDate':'2026-12-02T00:00:00Z'},"      \
	"{'clusterVersion':'1.33','versionStatus':'STANDARD_SUPPORT',"                   \
	"'endOfStandardSupportDate':'2026-07-29T00:00:00Z'},{'clusterVersion':'1.32',"   \
	"'versionStatus':'STANDARD_SUPPORT','endOfStandardSupportDate':"                 \
	"'2026-03-23T00:00:00Z'},{'clusterVersion':'1.31','versionStatus':"              \
	"'EXTENDED_SUPPORT','endOfStandardSupportDate':'2025-11-26T00:00:00Z',"          \
	"'endOfExtendedSupportDate':'2026-11-26T00:00:00Z'},{'clusterVersion':'1.29',"   \
	"'versionStatus':'UNSUPPORTED'}]}}"

Test(domain_cases, a_version_that_eks_has_not_is_refused_before_the_stack)
{
	static const struct scene rows[] = {
		{.id = "CC-13 aged out",
		 VERSION = "{'kubernetes_version':'1.30'}",
		 .answers = VERSIONS,
		 .says = {"fail invalid-input never", "/kubernetes_version",
			  "one of 1.34, 1.33, 1.32, 1.31"}},
		{.id = "CC-13 accepted",
		 VERSION = "{'kubernetes_version':'1.33'}",
		 .answers = VERSIONS,
		 .says = {"advance", "!warning"}},
		{.id = "CC-13 newer than HyperPod is known to take",
		 VERSION = "{'kubernetes_version':'1.34'}",
		 .answers = VERSIONS,
		 .says = {"advance",
			  "warning: HyperPod is known to support Kubernetes up to 1.33: 1.34 may be rejected"}},
		{.id = "CC-13 the list may not be read",
		 VERSION = "{'kubernetes_version':'1.33'}",
		 .answers =
			 "{'eks:DescribeClusterVersions':{'!':'AccessDeniedException'}}",
		 .says = {"advance", "warning: not known: whether EKS supports",
			  "AccessDeniedException", "'kubernetes_version':'1.33'"}},
		{.id = "none given: EKS's default is not taken by HyperPod, the next one is",
		 VERSION = "{}",
		 .answers = VERSIONS,
		 .says = {"advance", "chosen: ", "'kubernetes_version':'1.33'",
			  "!warning"}},
		{.id = "extended support costs",
		 VERSION = "{'kubernetes_version':'1.31'}",
		 .answers = VERSIONS,
		 .says = {"advance", "extended support since 2025-11-26", "0.60 USD",
			  "EKS upgrades it automatically on 2026-11-26"}},
		{.id = "standard support ends soon",
		 VERSION = "{'kubernetes_version':'1.32'}",
		 .answers = VERSIONS,
		 .says = {"advance", "ends on 2026-03-23", "0.60 USD"}},
		{.id = "without a date",
		 VERSION = "{'kubernetes_version':'1.33'}",
		 .answers =
			 "{'eks:DescribeClusterVersions':{'clusterVersions':[{"
			 "'clusterVersion':'1.33','versionStatus':'STANDARD_SUPPORT'}]}}",
		 .says = {"advance", "not known: how long EKS supports Kubernetes 1.33"}},
		{.id = "no longer made",
		 VERSION = "{'kubernetes_version':'1.29'}",
		 .answers = VERSIONS,
		 .says = {"fail invalid-input",
			  "EKS no longer creates clusters with Kubernetes"}},
	};

	SCENES_HOLD(rows);
}

#define SCRIPT                                                                           \
	"{'lifecycle_s3_uri':'s3://sagemaker-mine/scripts','lifecycle_on_create':'on.sh'}"

Test(domain_cases, an_own_script_is_looked_at_before_it_kills_a_node)
{
	static const struct scene rows[] = {
		{.id = "CC-10 CRLF",
		 CREATE = SCRIPT,
		 .step = "check_script",
		 .answers =
			 "{'s3:GetObject scripts/on.sh':{'Body':'#!/bin/bash\\r\\necho hi\\r\\n'}}",
		 .says = {"fail invalid-input never", "CRLF line endings", "dos2unix"}},
		{.id = "CC-10 sound",
		 CREATE = SCRIPT,
		 .step = "check_script",
		 .answers =
			 "{'s3:GetObject scripts/on.sh':{'Body':'#!/bin/bash\\necho hi\\n'}}",
		 .says = {"advance", "!warning"}},
		{.id = "CC-10 not there",
		 CREATE = SCRIPT,
		 .step = "check_script",
		 .says = {"fail invalid-input never", "no script on.sh",
			  "/lifecycle_on_create"}},
		{.id = "CC-10 ours may not read it",
		 CREATE = SCRIPT,
		 .step = "check_script",
		 .answers = "{'s3:GetObject':{'!':'AccessDenied'}}",
		 .says = {"advance", "warning: not known: the script on.sh"}},
	};

	SCENES_HOLD(rows);
}

/* --- the same request, and answers that agents can hold
 * ------------------------------------ */

static const char *digest_of(struct arena *a, const struct capability *cap,
			     const char *text)
{
	void *in = arena_alloc(a, cap->in_size);
	struct err e = {0};

	cr_assert(field_decode(cap->in, scene_tree(a, text), a, in, &e), "%s", e.detail);
	return json_digest(a, field_encode(cap->in, in, a));
}

/* Case MC-02. */
Test(domain_cases, a_default_spelt_out_and_another_order_are_the_same_request)
{
	const struct capability *cap = capability_find("create_cluster");
	struct arena a;
	const char *plain;

	arena_init(&a, 0);
	plain = digest_of(
		&a, cap,
		"{'name':'a','zone':'us-west-2a','instance_type':'ml.g5.xlarge'}");
	cr_assert_str_eq(
		digest_of(
			&a, cap,
			"{'count':1,'instance_type':'ml.g5.xlarge','group_name':'workers',"
			"'zone':'us-west-2a','name':'a','capacity_type':'on_demand'}"),
		plain);
	cr_assert_str_neq(digest_of(&a, cap,
				    "{'name':'a','zone':'us-west-2a','instance_type':"
				    "'ml.g5.xlarge','count':2}"),
			  plain);
	arena_free(&a);
}

/* Case MC-06: what an agent reads before it can do anything: 1 KiB a tool. */
Test(domain_cases, the_list_of_tools_leaves_room_for_work)
{
	struct arena a;
	size_t n = 0, bytes = 0;

	arena_init(&a, 0);
	for (; capabilities[n]; n++)
		bytes += strlen(json_text(&a,
					  capability_tool_schema(capabilities[n], &a))) +
			 strlen(capabilities[n]->doc);
	cr_log_info("%zu tools, %zu bytes", n, bytes);
	cr_assert_leq(n, 72);
	cr_assert_leq(bytes, 66 * 1024, "%zu bytes of schemas", bytes);
	arena_free(&a);
}
