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
		 .says = {"advance", "warning: the HyperPod cluster closed could not"}},
		{.id = "IG-11 asked for by name",
		 IMPORT = EKS,
		 .input = "{'hyperpod_name':'slurm'}",
		 .answers = "{" THREE "}",
		 .says = {"fail invalid-input never", "/hyperpod_name",
			  "a cluster that EKS orchestrates"}},
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
		{.id = "IA-04 no way there",
		 ACCESS = EKS,
		 .overdue = true,
		 .answers = "{'kubernetes:list nodes':{'!':'x','status':503}}",
		 .says = {"fail cloud-unreachable human", "10.9.0.0/16"}},
	};

	SCENES_HOLD(rows);
}

/* --- dependencies
 * --------------------------------------------------------------------------- */

#define RECONCILE .kind = "reconcile_dependencies", .step
#define READY(n)  "'kubernetes:list nodes':{'items':[" n "]}"
#define NODE      "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}"
#define DEGRADED                                                                         \
	"'eks:DescribeAddon':{'addon':{'status':'DEGRADED','health':{'issues':[{"        \
	"'code':'InsufficientNumberOfReplicas','message':'0 of 2'}]}}}"

#define CERT_MANAGER                                                                     \
	"'kubernetes:get deployments cert-manager-webhook':{'kind':'Deployment'}"

Test(domain_parts, DP_09_what_a_chart_has_installed_is_not_written_over)
{
	static const struct scene rows[] = {
		{.id = "DP-09 it is used as it is",
		 RECONCILE = "cert_manager_install",
		 .answers = "{" CERT_MANAGER "}",
		 .says = {"advance", "!call", "used as it is", "'elsewhere'", "'ready'"}},
		{.id = "the add-on is there, too",
		 RECONCILE = "cert_manager_install",
		 .answers = "{" CERT_MANAGER
			    ",'eks:DescribeAddon':{'addon':{'status':'ACTIVE'}}}",
		 .says = {"advance", "!call", "!elsewhere"}},
		{.id = "what is left of an add-on that we have cleared",
		 RECONCILE = "cert_manager_install",
		 .data = "{'cleared':{'cert_manager':true}}",
		 .answers = "{" CERT_MANAGER "}",
		 .says = {"call eks:CreateAddon"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_parts, an_addon_without_nodes_waits_for_them_and_with_nodes_not_for_ever)
{
	static const struct scene rows[] = {
		{.id = "DP-04 no node",
		 RECONCILE = "coredns_wait",
		 .age_s = 3000,
		 .answers = "{" DEGRADED "," READY("") "}",
		 .says = {"advance", "!fail"}},
		{.id = "DP-04 nodes since a minute",
		 RECONCILE = "coredns_wait",
		 .age_s = 60,
		 .answers = "{" DEGRADED "," READY(NODE "," NODE) "}",
		 .says = {"wait: the add-on coredns, which is DEGRADED: 0 of 2"}},
		{.id = "DP-04 nodes, and 10 minutes",
		 RECONCILE = "coredns_wait",
		 .age_s = 660,
		 .answers = "{" DEGRADED "," READY(NODE "," NODE) "}",
		 .says = {"component_failed:", "dependency-failed", "0 of 2"}},
	};

	SCENES_HOLD(rows);
}

#define RECORD(revision, status, at, more)                                               \
	"{'metadata':{'labels':{'version':'" revision "','status':'" status              \
	"','modifiedAt':'" at "'" more "}}}"
#define OURS          ",'instantstart/cluster':'demo'"
#define OLD           "1767320345" /* 45 minutes ago */
#define YOUNG         "1767323025" /* 20 seconds ago */
#define RECORDS(list) "{'kubernetes:list secrets':{'items':[" list "]}}"

Test(domain_parts, a_release_that_lost_its_helm_is_recovered_if_it_is_ours)
{
	static const struct scene rows[] = {
		{.id = "DP-02 first install",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("1", "pending-install", OLD, OURS)),
		 .says = {"call helm:uninstall", "recovery:"}},
		{.id = "DP-02 upgrade goes back to what was deployed, not to what failed",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("4", "pending-upgrade", OLD, OURS) "," RECORD(
			 "3", "failed", OLD, OURS) "," RECORD("2", "deployed", OLD,
							      OURS)),
		 .says = {"call helm:rollback", "'back_to':2", "!helm:uninstall"}},
		{.id = "DP-02 alive",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("4", "pending-upgrade", YOUNG, OURS)),
		 .says = {"wait: the release hyperpod-dependencies"}},
		{.id = "DP-02 somebody else's",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("4", "pending-upgrade", OLD,
					   "") "," RECORD("3", "deployed", OLD, "")),
		 .says = {"component_failed:", "foreign-object", "helm rollback",
			  "!call helm"}},
		{.id = "DP-02 what was uninstalled a moment ago is not gone yet",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(""),
		 .answered =
			 "{'!':'Conflict','status':409,'message':'Installing it now.\\n"
			 "Error: n is being terminated'}",
		 .says = {"wait: Helm to be let at the release hyperpod-dependencies: "
			  "Error: n is",
			  "!component_failed"}},
	};

	SCENES_HOLD(rows);
}

#define SA "'spec':{'serviceAccountName':'s3-csi-driver-sa','containers':[{'name':'c'}]}"
#define POD(name, at)                                                                    \
	"{'metadata':{'name':'" name "','creationTimestamp':'" at "'}," SA "}"
#define BOUND                                                                            \
	"'eks:ListPodIdentityAssociations':{'associations':[{'associationId':'a-1'}]},"  \
	"'eks:DescribePodIdentityAssociation a-1':{'association':{"                      \
	"'roleArn':'arn:aws:iam::111122223333:role/is-demo-s3-csi-us-west-2',"           \
	"'createdAt':'2026-01-02T03:00:10Z'}}"

Test(domain_parts, a_pod_identity_reaches_the_pods_that_need_it)
{
	static const struct scene rows[] = {
		{.id = "IA-07 pod older than its identity",
		 RECONCILE = "s3_csi_refresh",
		 .answers = "{" BOUND ",'kubernetes:list pods':{'items':[" POD(
			 "old", "2026-01-02T03:00:00Z") "]}}",
		 .says = {"call kubernetes:delete pods: Restart the pod kube-system/old"}},
		{.id = "IA-07 younger: replay restarts nothing",
		 RECONCILE = "s3_csi_refresh",
		 .answers = "{" BOUND ",'kubernetes:list pods':{'items':[" POD(
			 "new", "2026-01-02T03:00:20Z") "]}}",
		 .says = {"advance"}},
		{.id = "DP-01 the association is a step of its own, described first",
		 RECONCILE = "s3_csi_identity",
		 .answers = "{" BOUND "}",
		 .says = {"advance"}},
		{.id = "DP-07 a kept role says nothing of this cluster's association",
		 RECONCILE = "s3_csi_identity",
		 .answers = "{'iam:GetRole':{'Role':{'Arn':'arn:x'}},"
			    "'eks:ListPodIdentityAssociations':{'associations':[]}}",
		 .says = {"call eks:CreatePodIdentityAssociation"}},
		{.id = "DP-01 the add-on's own call has no associations",
		 RECONCILE = "s3_csi_install",
		 .says = {"call eks:CreateAddon", "!podIdentity"}},
	};

	SCENES_HOLD(rows);
}

/* Case DP-08: pods on HyperPod nodes cannot ask instance metadata for it. */
Test(domain_parts, the_load_balancer_controller_is_told_where_it_is)
{
	static const char *const keys[] = {"clusterName", "region", "vpcId"};
	const struct where where = {.region = "us-west-2"};
	struct arena a;
	struct step_ctx c = {.arena = &a, .where = &where, .target = "demo"};
	const json_t *values;

	arena_init(&a, 0);
	c.data = scene_tree(&a, "{'eks':{'name':'theirs','vpc_id':'vpc-1'}}");
	values = component_load_balancers.values(&c);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		cr_assert_neq(json_str_or(values, keys[i], "")[0], '\0', "%s", keys[i]);
	cr_assert_str_eq(json_str_at(values, "clusterName"), "theirs");
	arena_free(&a);
}

Test(domain_parts, nodes_come_after_the_chart_that_they_need)
{
	static const struct scene rows[] = {
		{.id = "DP-11 no chart",
		 .kind = "create_hyperpod_cluster",
		 .step = "check_chart",
		 .says = {"advance", "saved: ", "'installed':false"}},
		{.id = "DP-11 our release",
		 .kind = "create_hyperpod_cluster",
		 .step = "check_chart",
		 .answers = RECORDS(RECORD("1", "deployed", OLD, OURS)),
		 .says = {"'installed':true"}},
		{.id = "DP-11 a release of another name",
		 .kind = "create_hyperpod_cluster",
		 .step = "check_chart",
		 .answers = "{'kubernetes:list daemonsets':{'items':[{'metadata':{'name':"
			    "'health-monitoring-agent'}}]}}",
		 .says = {"'installed':true"}},
		{.id = "DP-11 the stage before has done it",
		 .kind = "create_hyperpod_cluster",
		 .step = "check_chart",
		 .input = "{'installed':true}",
		 .says = {"'installed':true"}},
	};

	SCENES_HOLD(rows);
}

/* --- storage
 * ------------------------------------------------------------------------------- */

#define STORE .kind = "create_s3_storage", .step
#define VOLUME(name, handle, bucket)                                                        \
	"{'metadata':{'name':'" name "','labels':{'app.kubernetes.io/managed-by':"          \
	"'instantstart'}},'spec':{'csi':{'driver':'s3.csi.aws.com','volumeHandle':'" handle \
	"','volumeAttributes':{'bucketName':'" bucket "'}}}}"
#define VOLUMES(list) "{'kubernetes:list persistentvolumes':{'items':[" list "]}}"
#define DATA_B        "{'bucket':'data-b','namespace':'team1','name':'s3-data'}"

Test(domain_parts, no_two_volumes_get_one_handle)
{
	static const struct scene rows[] = {
		{.id = "ST-01 differs from what is there, and from its own of another bucket",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES(VOLUME("theirs", "s3-csi-driver-volume", "data-a")),
		 .says = {"call kubernetes:apply persistentvolumes",
			  "'volumeHandle':'is-demo-team1-s3-data-",
			  "!s3-csi-driver-volume"}},
		{.id = "ST-01 somebody typed ours",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers =
			 VOLUMES(VOLUME("theirs", "is-demo-team1-s3-data-5620ab22", "x")),
		 .says = {"fail state-conflict never: the volume theirs has the handle"}},
		{.id = "ST-01 another bucket under the same name",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES(VOLUME("is-demo-team1-s3-data", "h", "data-a")),
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
		 .says = {"wait: the probe job of data", "mount helper mp-1 does not fit",
			  "Too many pods", "!Mountpoint pod is not running"}},
		{.id = "ST-07 helper runs: the event is the reason",
		 STORE = "wait_probe",
		 .answers = "{" PROBE MOUNT_EVENT "}",
		 .says = {"wait: the probe job of data",
			  "Mountpoint pod is not running"}},
	};

	SCENES_HOLD(rows);
}

/* --- deletion
 * ------------------------------------------------------------------------------- */

#define LEAVE .kind = "delete_cluster", .step = "delete_interfaces"
#define IN_SUBNET(list)                                                                  \
	"{'ec2:DescribeSubnets':{'Subnets':[{'SubnetId':'subnet-a'}]},"                  \
	"'ec2:DescribeNetworkInterfaces':{'NetworkInterfaces':[" list "]}}"
#define ENI_2                                                                            \
	"{'NetworkInterfaceId':'eni-2','Status':'in-use','Description':'ELB app/x',"     \
	"'Attachment':{'InstanceOwnerId':'amazon-elb'}}"

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
		{.id = "OP-07 a service with a load balancer is named before anything is deleted",
		 .kind = "delete_cluster",
		 .step = "check_load_balancers",
		 .answers =
			 "{'eks:DescribeCluster':{'cluster':{'status':'ACTIVE','name':'demo'}},"
			 "'kubernetes:list services':{'items':[{'metadata':{'namespace':'web',"
			 "'name':'front'},'spec':{'type':'LoadBalancer'}}]}}",
		 .says = {"fail blocked human", "web/front"}},
		{.id = "OP-07 gone is seen twice",
		 .kind = "delete_cluster",
		 .step = "delete_hyperpod",
		 .says = {"wait: a second look that the HyperPod cluster is gone"}},
	};

	SCENES_HOLD(rows);
}
