/* What users met with access, dependencies, storage and deletion. */
#include "core/domain/dependency/component.h"
#include "tests/unit/domain_scene.h"

/* --- clusters of others
 * ------------------------------------------------------------------- */

#define IMPORT .kind = "import_cluster", .step = "find_hyperpod", .data
#define EKS    "{'eks':{'arn':'arn:eks','public_cidrs':['10.9.0.0/16']}}"
#define THREE                                                                            \
	"'sagemaker:ListClusters':{'ClusterSummaries':[{'ClusterName':'slurm'},"         \
	"{'ClusterName':'closed'},{'ClusterName':'mine'}]},"                             \
	"'sagemaker:DescribeCluster slurm':{'ClusterName':'slurm'},"                     \
	"'sagemaker:DescribeCluster closed':{'!':'AccessDeniedException'}"

Test(domain_parts, one_odd_cluster_does_not_hide_the_others)
{
	static const struct scene rows[] = {
		{.id = "IG-11 Slurm, closed, ours",
		 IMPORT = EKS,
		 .answers = "{" THREE
			    ",'sagemaker:DescribeCluster mine':{'ClusterName':'mine',"
			    "'Orchestrator':{'Eks':{'ClusterArn':'arn:eks'}}}}",
		 .says = {"advance", "!warning"}},
		{.id = "IG-11 none is ours: the closed one is said",
		 IMPORT = EKS,
		 .answers = "{" THREE "}",
		 .says = {"advance", "warning: not known: the HyperPod cluster closed "
				     "could not"}},
		{.id = "IG-11 asked for by name",
		 IMPORT = EKS,
		 .input = "{'hyperpod_name':'slurm'}",
		 .answers = "{" THREE "}",
		 .says = {"fail invalid-input never", "/hyperpod_name",
			  "a HyperPod cluster on EKS"}},
		{.id = "IG-11 none may be listed: that is not known, and said",
		 IMPORT = EKS,
		 .answers = "{'sagemaker:ListClusters':{'!':'AccessDeniedException'}}",
		 .says = {"advance", "warning: not known: HyperPod clusters could not be",
			  "AccessDeniedException"}},
		{.id = "IG-11 asked for, closed",
		 IMPORT = EKS,
		 .input = "{'hyperpod_name':'closed'}",
		 .answers = "{" THREE "}",
		 .says = {"fail cloud-denied human", "AccessDeniedException"}},
	};

	SCENES_HOLD(rows);
}

#define ACCESS .kind = "import_cluster", .step = "check_access", .data

Test(domain_parts, three_reasons_why_kubernetes_does_not_let_us_in)
{
	static const struct scene rows[] = {
		{.id = "IA-04 no entry",
		 ACCESS = EKS,
		 .overdue = true,
		 .answers = "{'kubernetes:list nodes':{'!':'Unauthorized','status':401}}",
		 .says = {"fail cloud-denied human", "no access entry",
			  "create-access-entry --cluster-name demo --principal-arn "
			  "arn:aws:iam::111122223333:role/us",
			  "associate-access-policy"}},
		{.id = "IA-04 an entry propagates: not at the first refusal",
		 ACCESS = EKS,
		 .answers = "{'kubernetes:list nodes':{'!':'Unauthorized','status':401}}",
		 .says = {"retry"}},
		{.id = "IA-04 no policy",
		 ACCESS = EKS,
		 .answers = "{'kubernetes:list nodes':{'!':'Forbidden','status':403}}",
		 .says = {"fail cloud-denied human", "has no policy",
			  "Run: aws eks associate-access-policy",
			  "!create-access-entry"}},
		{.id = "not refused for rights: nothing is said of a policy",
		 ACCESS = EKS,
		 .answers = "{'kubernetes:list nodes':{'!':'BadRequest','status':400}}",
		 .says = {"fail cloud-refused", "HTTP 400 BadRequest, request req-1",
			  "!policy", "retry"}},
		{.id = "IA-04 no way there",
		 ACCESS = EKS,
		 .overdue = true,
		 .answers = "{'kubernetes:list nodes':{'!':'x','status':503}}",
		 .says = {"fail cloud-unreachable human", "10.9.0.0/16"}},
	};

	SCENES_HOLD(rows);
}

/* --- storage
 * ------------------------------------------------------------------------------- */

#define STORE .kind = "create_s3_storage", .step
#define VOLUME(name, handle, bucket)                                                      \
	"{'metadata':{'name':'" name                                                      \
	"','labels':{'app.kubernetes.io/managed-by':'instantstart'"                       \
	",'instantstart/installation':'here'}},'spec':{'csi':{'driver':'s3.csi.aws.com'," \
	"'volumeHandle':'" handle "','volumeAttributes':{'bucketName':'" bucket "'}}}}"
#define VOLUMES(list)                                                                    \
	"{'kubernetes:list persistentvolumes':{'items':[" list                           \
	"]},'kubernetes:get persistentvolumeclaims':{'metadata':{'uid':'u-1','labels':{" \
	"'app.kubernetes.io/managed-by':'instantstart','instantstart/installation':'here'}}}}"
#define DATA_B "{'bucket':'data-b','namespace':'team1','name':'s3'}"

Test(domain_parts, no_two_volumes_get_one_handle)
{
	static const struct scene rows[] = {
		{.id = "ST-01 differs from what is there, and from its own of another bucket",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES(VOLUME("theirs", "s3-csi-driver-volume", "data-a")),
		 .says = {"call kubernetes:apply persistentvolumes",
			  "'volumeHandle':'is-demo-team1-s3-", "!s3-csi-driver-volume"}},
		{.id = "ST-01 somebody typed ours",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES(VOLUME("theirs", "is-demo-team1-s3-5620ab22", "x")),
		 .says = {"fail state-conflict never: The volume theirs already has the required handle"}},
		{.id = "ST-01 another bucket under the same name",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES(VOLUME("is-demo-team1-s3", "h", "data-a")),
		 .says = {"fail state-conflict never", "mounts the bucket data-a",
			  "/bucket"}},
		{.id = "ST-04 written, not by root",
		 STORE = "apply_volume",
		 .input = "{'bucket':'b','uid':1000,'gid':1000}",
		 .answers = VOLUMES(""),
		 .says = {"'mountOptions':['allow-other','allow-delete','allow-overwrite',"
			  "'region us-west-2','uid=1000','gid=1000']"}},
		{.id = "ST-04 read only",
		 STORE = "apply_volume",
		 .input = "{'bucket':'b','read_only':true}",
		 .answers = VOLUMES(""),
		 .says = {"'mountOptions':['allow-other','read-only','region us-west-2']",
			  "ReadOnlyMany", "!allow-delete"}},
	};

	SCENES_HOLD(rows);
}

#define PROBE                                                                            \
	"'kubernetes:get jobs':{'metadata':{'name':'j'}},"                               \
	"'kubernetes:list pods default':{'items':[{'metadata':{'name':'p'},"             \
	"'status':{'phase':'Pending'}}]},"
#define MOUNT_EVENT                                                                      \
	"'kubernetes:list events':{'items':[{'message':'Mountpoint pod is not running'}]}"

Test(domain_parts, a_mount_helper_that_does_not_fit_is_no_fault_of_the_bucket)
{
	static const struct scene rows[] = {
		{.id = "ST-07 node is full",
		 STORE = "wait_probe",
		 .answers =
			 "{" PROBE MOUNT_EVENT
			 ",'kubernetes:list pods mount-s3':{'items':[{"
			 "'metadata':{'name':'mp-1'},'status':{'conditions':[{'type':"
			 "'PodScheduled','status':'False','message':'0/1 nodes are available: "
			 "1 Too many pods.'}]}}]}}",
		 .says = {"wait: the verification job of data",
			  "mount helper mp-1 cannot be scheduled", "Too many pods",
			  "!Mountpoint pod is not running"}},
		{.id = "ST-07 helper runs: the event is the reason",
		 STORE = "wait_probe",
		 .answers = "{" PROBE MOUNT_EVENT "}",
		 .says = {"wait: the verification job of data",
			  "Mountpoint pod is not running"}},
	};

	SCENES_HOLD(rows);
}

/* --- the shared bucket
 * ------------------------------------------------------------------------------- */

#define OBJECTS .kind = "delete_cluster", .step = "delete_objects"
#define PAGE(more)                                                                       \
	"{'s3:ListObjectVersions':{'IsTruncated':" more                                  \
	",'Versions':[{'Key':'clusters/demo/lifecycle/a'},"                              \
	"{'Key':'clusters/other/lifecycle/a'},{'Key':'models/a'}]}}"
#define GIVEN_UP "{'delete_buckets':['sagemaker-instantstart-111122223333-us-west-2']}"

Test(domain_parts, objects_go_by_the_thousand_and_never_those_of_other_clusters)
{
	static const struct scene rows[] = {
		{.id = "given up: all but another cluster's, in one call",
		 OBJECTS,
		 .input = GIVEN_UP,
		 .answers = PAGE("false"),
		 .says = {"call s3:DeleteObjects: Delete 2 objects",
			  "'Key':'clusters/demo/lifecycle/a'", "'Key':'models/a'",
			  "!clusters/other"}},
		{.id = "not given up: our own alone",
		 OBJECTS,
		 .answers = PAGE("false"),
		 .says = {"Delete 1 objects", "'Key':'clusters/demo/lifecycle/a'",
			  "!models", "!clusters/other"}},
		{.id = "a page of others alone is passed over, and that is kept",
		 OBJECTS,
		 .input = GIVEN_UP,
		 .answers =
			 "{'s3:ListObjectVersions':{'IsTruncated':true,'NextKeyMarker':"
			 "'clusters/other/b','NextVersionIdMarker':'v1','Versions':[{"
			 "'Key':'clusters/other/a'},{'Key':'clusters/other/b',"
			 "'VersionId':'v1'}]}}",
		 .says = {"goto delete_objects",
			  "'objects_after':{'id':'v1','key':'clusters/other/b'}",
			  "!call"}},
		{.id = "older versions and markers go by their ids",
		 OBJECTS,
		 .answers = "{'s3:ListObjectVersions':{'Versions':[{'Key':"
			    "'clusters/demo/a','VersionId':'v1','IsLatest':false}],"
			    "'DeleteMarkers':[{'Key':'clusters/demo/a','VersionId':'v2',"
			    "'IsLatest':true}]}}",
		 .says = {"Delete 2 objects", "'VersionId':'v1'", "'VersionId':'v2'"}},
		{.id = "what a lock keeps is passed over, with a word",
		 OBJECTS,
		 .input = GIVEN_UP,
		 .answers = PAGE("false"),
		 .answered = "{'Errors':[{'Key':'models/a','VersionId':'null','Code':"
			     "'AccessDenied','Message':'Access Denied because object "
			     "protected by object lock.'}]}",
		 .says = {"goto delete_objects", "warning: object lock keeps 1 versions",
			  "'objects_after':{'key':'models/a'}"}},
		{.id = "what is deleted is looked for again",
		 OBJECTS,
		 .input = GIVEN_UP,
		 .answers = PAGE("false"),
		 .answered = "{}",
		 .says = {"goto delete_objects"}},
		{.id = "one that may not be deleted is named",
		 OBJECTS,
		 .input = GIVEN_UP,
		 .answers = PAGE("false"),
		 .answered = "{'Errors':[{'Key':'models/a','Code':'AccessDenied',"
			     "'Message':'locked'}]}",
		 .says = {"fail blocked human: models/a in", "AccessDenied locked"}},
		{.id = "a bucket that we have not made",
		 .kind = "delete_cluster",
		 .step = "check_buckets",
		 .input = "{'delete_buckets':['theirs']}",
		 .says = {"fail invalid-input", "theirs"}},
	};

	SCENES_HOLD(rows);
}

/* --- deletion
 * ------------------------------------------------------------------------------- */

#define LEAVE .kind = "delete_cluster", .step = "delete_interfaces"
#define IN_SUBNET(list)                                                                  \
	"{'ec2:DescribeSubnets':{'Subnets':[{'SubnetId':'subnet-a','Tags':[" TAGS_OURS   \
	"]}]},"                                                                          \
	"'ec2:DescribeNetworkInterfaces':{'NetworkInterfaces':[" list "]}}"
#define IN_THEIR_SUBNET(list)                                                            \
	"{'ec2:DescribeSubnets':{'Subnets':[{'SubnetId':'subnet-a','Tags':[{'Key':"      \
	"'instantstart:cluster','Value':'demo'},{'Key':'instantstart:operation',"        \
	"'Value':'op_theirs'}]}]},"                                                      \
	"'ec2:DescribeNetworkInterfaces':{'NetworkInterfaces':[" list "]}}"
#define ENI_2                                                                            \
	"{'NetworkInterfaceId':'eni-2','Status':'in-use','Description':'ELB app/x',"     \
	"'Attachment':{'InstanceOwnerId':'amazon-elb'}}"

/* The stack that made the EKS cluster, and what stands in it. */
#define OUR_STACK                                                                        \
	"'eks:DescribeCluster':{'cluster':{'status':'ACTIVE','name':'demo'}},"           \
	"'cloudformation:DescribeStacks':{'Stacks':[{'StackName':'instantstart-demo',"   \
	"'StackStatus':'CREATE_COMPLETE','Tags':[" TAGS_OURS "]}]}"
#define FRONT                                                                            \
	"{'metadata':{'namespace':'web','name':'front'},'spec':{'type':'LoadBalancer'}}"
#define API_INGRESS                                                                      \
	"{'metadata':{'namespace':'web','name':'api'},'spec':{'ingressClassName':"       \
	"'alb'}}"
#define GATEWAY                                                                          \
	"{'metadata':{'namespace':'web','name':'in','finalizers':['gateway.k8s.aws/"     \
	"alb'],'deletionTimestamp':'2026-01-02T03:00:00Z'}}"

Test(domain_parts, left_over_interfaces_go_others_are_named)
{
	static const struct scene rows[] = {
		{.id = "NW-08 of the CNI, detached",
		 LEAVE,
		 .answers =
			 IN_SUBNET("{'NetworkInterfaceId':'eni-1','Status':'available',"
				   "'Description':'aws-K8S-i-0abc'}," ENI_2),
		 .says = {"call ec2:DeleteNetworkInterface", "eni-1", "!eni-2"}},
		{.id = "NW-08 of another service: waited for by name and owner",
		 LEAVE,
		 .answers = IN_SUBNET(ENI_2),
		 .says = {"wait:", "eni-2 (in-use, ELB app/x, of amazon-elb)"}},
		{.id = "NW-08 and then a person's",
		 LEAVE,
		 .age_s = 3000,
		 .answers = IN_SUBNET(ENI_2),
		 .says = {"fail blocked human",
			  "eni-2 (in-use, ELB app/x, of amazon-elb)"}},
		{.id = "NW-08 detached, but nobody says it is of our nodes",
		 LEAVE,
		 .answers =
			 IN_SUBNET("{'NetworkInterfaceId':'eni-3','Status':'available',"
				   "'Description':'by hand'}"),
		 .says = {"wait:", "eni-3", "!DeleteNetworkInterface"}},
		{.id = "a subnet that somebody else has tagged with our cluster's name",
		 LEAVE,
		 .answers = IN_THEIR_SUBNET(
			 "{'NetworkInterfaceId':'eni-1','Status':'available',"
			 "'Description':'aws-K8S-i-0abc'}"),
		 .says = {"advance", "!call", "!eni-1"}},
		{.id = "of the nodes of another cluster in the same subnet",
		 LEAVE,
		 .answers = IN_SUBNET(
			 "{'NetworkInterfaceId':'eni-1','Status':'available',"
			 "'Description':'aws-K8S-i-0abc','TagSet':[{'Key':"
			 "'cluster.k8s.amazonaws.com/name','Value':'theirs'}]}"),
		 .says = {"wait:", "eni-1", "!DeleteNetworkInterface"}},
		{.id = "OP-07 a service with a load balancer is named before anything is deleted",
		 .kind = "delete_cluster",
		 .step = "check_load_balancers",
		 .answers = "{" OUR_STACK ",'kubernetes:list services':{'items':[" FRONT
			    "]},'kubernetes:list ingresses':{'items':[" API_INGRESS "]}}",
		 .says = {"advance",
			  "warning: the load balancers of these are also deleted: ",
			  "Ingress web/api, Service web/front"}},
		{.id = "a load balancer with deletion protection stops it before all else",
		 .kind = "delete_cluster",
		 .step = "check_load_balancers",
		 .answers =
			 "{" OUR_STACK
			 ",'kubernetes:list ingresses':{'items':[{'metadata':{"
			 "'namespace':'web','name':'api','annotations':{"
			 "'alb.ingress.kubernetes.io/load-balancer-attributes':"
			 "'idle_timeout.timeout_seconds=60,deletion_protection.enabled="
			 "true'}},'spec':{'ingressClassName':'alb'}}]},'kubernetes:list "
			 "services':{'items':[{'metadata':{'namespace':'web','name':"
			 "'front','annotations':{"
			 "'service.beta.kubernetes.io/aws-load-balancer-attributes':"
			 "'deletion_protection.enabled=true'}},'spec':{'type':"
			 "'LoadBalancer'}}]}}",
		 .says = {"fail blocked human", "Ingress web/api, Service web/front",
			  "deletion_protection.enabled=false"}},
		{.id = "a file system that the driver made for a claim is the user's",
		 .kind = "delete_cluster",
		 .step = "check_load_balancers",
		 .answers = "{" OUR_STACK
			    ",'kubernetes:list services':{'items':[]},'kubernetes:list "
			    "persistentvolumes':{'items':[{'metadata':{'name':'pvc-1',"
			    "'annotations':{'pv.kubernetes.io/provisioned-by':"
			    "'fsx.csi.aws.com'}},'spec':{'claimRef':{'namespace':'team',"
			    "'name':'scratch'},'csi':{'driver':'fsx.csi.aws.com',"
			    "'volumeHandle':'fs-1'}}}]}}",
		 .says = {"fail blocked human", "team/scratch (fs-1)"}},
		{.id = "each goes with its object, the outer ones first",
		 .kind = "delete_cluster",
		 .step = "delete_load_balancers",
		 .answers = "{" OUR_STACK ",'kubernetes:list services':{'items':[" FRONT
			    "]},'kubernetes:list ingresses':{'items':[" API_INGRESS "]}}",
		 .says = {"call kubernetes:delete ingresses",
			  "Delete Ingress web/api and its load balancer"}},
		{.id = "one that is held by a finalizer is waited for",
		 .kind = "delete_cluster",
		 .step = "delete_load_balancers",
		 .answers = "{" OUR_STACK ",'kubernetes:list gateways':{'items':[" GATEWAY
			    "]}}",
		 .says = {"wait: the load balancers of Gateway web/in to be deleted"}},
		{.id = "for ten minutes: then its controller does not answer",
		 .kind = "delete_cluster",
		 .step = "delete_load_balancers",
		 .age_s = 700,
		 .answers = "{" OUR_STACK ",'kubernetes:list gateways':{'items':[" GATEWAY
			    "]}}",
		 .says = {"fail blocked human", "Gateway web/in",
			  "Check its pods and their events"}},
		{.id = "a binding that an Ingress brought goes with it",
		 .kind = "delete_cluster",
		 .step = "delete_load_balancers",
		 .answers = "{" OUR_STACK
			    ",'kubernetes:list targetgroupbindings':{'items':[{"
			    "'metadata':{'namespace':'web','name':'k8s-1','finalizers':["
			    "'elbv2.k8s.aws/resources'],'labels':{'ingress.k8s.aws/"
			    "stack-name':'api'}}}]}}",
		 .says = {"advance", "!call"}},
		{.id = "an EKS cluster that stays keeps its load balancers",
		 .kind = "delete_cluster",
		 .step = "delete_load_balancers",
		 .answers =
			 "{'eks:DescribeCluster':{'cluster':{'status':'ACTIVE','name':'demo'}},"
			 "'cloudformation:DescribeStacks':{'Stacks':[{'StackName':"
			 "'instantstart-demo','StackStatus':'CREATE_COMPLETE','Tags':[]}]},"
			 "'kubernetes:list services':{'items':[" FRONT "]}}",
		 .says = {"advance", "!call"}},
		{.id = "groups that the controller left: the rule that names one goes first",
		 .kind = "delete_cluster",
		 .step = "delete_balancer_groups",
		 .answers =
			 "{" OUR_STACK
			 ",'ec2:DescribeSecurityGroups demo':{'SecurityGroups':["
			 "{'GroupId':'sg-lb'}]},'ec2:DescribeSecurityGroups sg-lb':{"
			 "'SecurityGroups':[{'GroupId':'sg-nodes','IpPermissions':[{"
			 "'IpProtocol':'-1','UserIdGroupPairs':[{'GroupId':'sg-nodes'},{"
			 "'GroupId':'sg-lb'}]}]}]},'ec2:DescribeNetworkInterfaces':{"
			 "'NetworkInterfaces':[]}}",
		 .says = {"call ec2:RevokeSecurityGroupIngress",
			  "'GroupId':'sg-nodes','IpPermissions':[{",
			  "'UserIdGroupPairs':[{'GroupId':'sg-lb'}]"}},
		{.id = "and then the group",
		 .kind = "delete_cluster",
		 .step = "delete_balancer_groups",
		 .answers = "{" OUR_STACK
			    ",'ec2:DescribeSecurityGroups demo':{'SecurityGroups':["
			    "{'GroupId':'sg-lb'}]},'ec2:DescribeSecurityGroups sg-lb':{"
			    "'SecurityGroups':[]},'ec2:DescribeNetworkInterfaces':{"
			    "'NetworkInterfaces':[]}}",
		 .says = {"call ec2:DeleteSecurityGroup", "sg-lb"}},
		{.id = "OP-07 gone is seen twice",
		 .kind = "delete_cluster",
		 .step = "delete_hyperpod",
		 .says = {"wait: a second check that the HyperPod cluster was deleted"}},
	};

	SCENES_HOLD(rows);
}

/* --- an account of many ---------------------------------------------------------------
 */

/* One claim of a step: as many reads as it may make. False: it has nothing to read. */
static bool claim_once(const struct step *s, struct step_ctx *c, const char *ours,
		       int *ret_reads)
{
	for (*ret_reads = 0;; (*ret_reads)++) {
		struct exchange x = {.via = VIA_NONE};
		struct answer ans = {
			.via = VIA_AWS, .ok = true, .code = "", .message = ""};
		const char *name;

		if (!s->observe(c, &x) || x.via == VIA_NONE)
			return false;
		if (*ret_reads == 128)
			return true;
		name = json_str_at(x.in, "ClusterName");
		ans.out = json_new_object(c->arena);
		if (streq(name, ours))
			ans.out = scene_tree(c->arena,
					     "{'Orchestrator':{'Eks':{'ClusterArn':"
					     "'arn:eks'}}}");
		for (int i = 0; !name && i < 1000; i++) {
			json_t *row = json_packf(c->arena, "{s:s}", "ClusterName",
						 arena_printf(c->arena, "c%d", i));
			if (i == 0)
				json_put(ans.out, "ClusterSummaries", json_array());
			json_push(json_at(ans.out, "ClusterSummaries"), json_incref(row));
		}
		s->seen(c, &ans);
	}
}

/* More clusters than one claim may look at: each claim goes on behind the one before. */
Test(domain_parts, an_import_looks_at_any_number_of_clusters)
{
	const struct kind *k = kind_find(kinds, "import_cluster");
	const struct step *s = k->steps;
	struct arena a;
	json_t *data;
	int claims = 0, reads = 0, all = 0;
	bool more = true;

	while (!streq(s->name, "find_hyperpod"))
		s++;
	arena_init(&a, 0);
	data = scene_tree(&a, EKS);
	while (more && claims < 20) {
		struct step_ctx c = {.arena = &a,
				     .step = s,
				     .data = data,
				     .seen = json_new_object(&a),
				     .input = json_new_object(&a),
				     .events = json_new_list(&a)};

		more = claim_once(s, &c, "c977", &reads);
		claims++;
		all += reads;
		if (more)
			continue;
		s->plan(&c, NULL);
		cr_expect_str_eq(
			json_str_or(data, "hyperpod.Orchestrator.Eks.ClusterArn", ""),
			"arn:eks");
		cr_expect_null(json_at(data, "looked_at"));
	}
	cr_expect_not(more);
	cr_expect_lt(claims, 10);
	/* None of them twice: a list a claim, and each cluster once. */
	cr_expect_eq(all, 1000 + claims, "%d reads in %d claims", all, claims);
	arena_free(&a);
}
