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
			  "a HyperPod cluster on EKS"}},
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
		 .says = {"advance", "!call", "used unchanged", "'elsewhere'",
			  "'ready'"}},
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
		 .says = {"wait: the add-on coredns in state DEGRADED: 0 of 2"}},
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
#define OURS          ",'instantstart/cluster':'demo','instantstart/installation':'here'"
#define OLD           "1767320345" /* 45 minutes ago */
#define YOUNG         "1767323025" /* 20 seconds ago */
#define RECORDS(list) "{'kubernetes:list secrets':{'items':[" list "]}}"

Test(domain_parts, a_release_that_lost_its_helm_is_recovered_if_it_is_ours)
{
	static const struct scene rows[] = {
		/* Never uninstalled: that would take the chart's namespaces. */
		{.id = "DP-02 first install",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("1", "pending-install", OLD, OURS)),
		 .says = {"call kubernetes:delete secrets",
			  "recovery:", "!helm:uninstall"}},
		{.id = "DP-02 an uninstall that stopped midway",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("2", "uninstalling", OLD, OURS)),
		 .says = {"call kubernetes:delete secrets",
			  "recovery:", "!helm:uninstall"}},
		{.id = "DP-02 the record is being deleted: Helm would still see it",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(
			 "{'metadata':{'deletionTimestamp':'2026-01-02T03:04:00Z',"
			 "'labels':{'version':'1','status':'pending-install',"
			 "'modifiedAt':'" OLD "'" OURS "}}}"),
		 .says = {"wait: the record of the release hyperpod-dependencies to be "
			  "deleted",
			  "!call"}},
		{.id = "DP-02 a person uninstalls it right now",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("2", "uninstalling", YOUNG, OURS)),
		 .says = {"wait: the Helm release hyperpod-dependencies in state uninstalling",
			  "!call"}},
		{.id = "what Helm refuses has a fix",
		 RECONCILE = "hyperpod_install",
		 .answered = "{'!':'exit 1','status':1,'message':'Error: boom'}",
		 .says = {"component_failed:", "dependency-failed",
			  "pin another version of the chart"}},
		{.id = "the record is forgotten: installed anew",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("1", "pending-install", OLD, OURS)),
		 .answered = "{'kind':'Status'}",
		 .says = {"goto hyperpod_install"}},
		{.id = "another's that works is used as it is",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("2", "deployed", OLD, "")),
		 .says = {"warning: The Helm release kube-system/hyperpod-dependencies",
			  "was not created by InstantStart", "!call"}},
		{.id = "another's that failed is for a person to judge",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("2", "failed", OLD, "")),
		 .says = {"foreign-object", "is failed", "!call"}},
		{.id = "another's with adopt",
		 RECONCILE = "hyperpod_install",
		 .input = "{'adopt':true}",
		 .answers = RECORDS(RECORD("2", "failed", OLD, "")),
		 .says = {"call helm:upgrade"}},
		{.id = "ours under the same version, with other content or values",
		 RECONCILE = "hyperpod_install",
		 .answers =
			 RECORDS(RECORD("2", "deployed", OLD,
					OURS ",'instantstart/pin':'0123456789abcdef'")),
		 .says = {"call helm:upgrade"}},
		{.id = "DP-02 upgrade goes back to what was deployed, not to what failed",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("4", "pending-upgrade", OLD, OURS) "," RECORD(
			 "3", "failed", OLD, OURS) "," RECORD("2", "deployed", OLD,
							      OURS)),
		 .says = {"call helm:rollback", "'back_to':2", "!helm:uninstall"}},
		{.id = "DP-02 alive",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("4", "pending-upgrade", YOUNG, OURS)),
		 .says = {"wait: the Helm release hyperpod-dependencies in state pending-upgrade"}},
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
		 .says = {"wait: Helm to get access to the release hyperpod-dependencies: "
			  "Error: n is",
			  "!component_failed"}},
	};

	SCENES_HOLD(rows);
}

#define HELD(release)                                                                    \
	"{'metadata':{'annotations':{'meta.helm.sh/release-name':'" release "'}}}"

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

/* --- what the HyperPod chart is told ------------------------------------------- */

static const struct {
	const char *partition, *suffix, *regions;
} partitions[] = {
	{"aws", "amazonaws.com",
	 "af-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 "
	 "ap-south-1 ap-south-2 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 "
	 "ap-southeast-5 ap-southeast-6 ap-southeast-7 ca-central-1 ca-west-1 eu-central-1 "
	 "eu-central-2 eu-north-1 eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3 "
	 "il-central-1 me-central-1 me-south-1 mx-central-1 sa-east-1 us-east-1 us-east-2 "
	 "us-west-1 us-west-2 xx-new-1"},
	{"aws-cn", "amazonaws.com.cn", "cn-north-1 cn-northwest-1"},
	{"aws-us-gov", "amazonaws.com", "us-gov-east-1 us-gov-west-1"},
	{"aws-iso", "c2s.ic.gov", "us-iso-east-1 us-iso-west-1"},
	{"aws-iso-b", "sc2s.sgov.gov", "us-isob-east-1"},
	{"aws-iso-e", "cloud.adc-e.uk", "eu-isoe-west-1"},
	{"aws-iso-f", "csp.hci.ic.gov", "us-isof-south-1"},
	{"aws-eusc", "amazonaws.eu", "eusc-de-east-1"},
};

static bool told(const json_t *values, const char *name, const char *path)
{
	return json_bool_or(json_object_get(values, name), path, true);
}

static void one_region(const char *partition, const char *suffix, const char *region,
		       bool mirror)
{
	static const char *const off[] = {
		"trainingOperators",  "mpi-operator", "cert-manager", "mlflow",
		"inferenceOperators", "storage",      "gpu-operator"};
	const struct where where = {.region = region, .partition = partition};
	const struct config cfg = {.image_mirror = mirror ? "m.example/a" : NULL};
	struct arena a;
	struct step_ctx c = {.arena = &a, .where = &where, .cfg = &cfg, .target = "demo"};
	const json_t *values, *agent, *plugin;
	const char *end, *image;

	arena_init(&a, 0);
	c.data = json_new_object(&a);
	/* What EKS itself runs there. */
	c.seen = scene_tree(
		&a, arena_printf(&a,
				 "{'network_plugin':{'out':{'spec':{'template':{'spec':{"
				 "'containers':[{'image':'123456789012.dkr.ecr.%s.%s/"
				 "amazon-k8s-cni:v1'}]}}}}}}",
				 region, suffix));
	values = component_hyperpod.values(&c);
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		cr_expect_not(told(values, off[i], "enabled"), "%s: %s", region, off[i]);
	agent = json_object_get(values, "health-monitoring-agent");
	cr_expect_str_eq(json_str_or(agent, "region", ""), region);
	cr_expect_str_eq(json_str_or(values, "global.region", ""), region);
	cr_expect_eq(json_bool_or(agent, "enabled", false),
		     mirror || streq(partition, "aws"), "%s", region);
	plugin = json_object_get(values, "aws-efa-k8s-device-plugin");
	image = json_str_or(plugin, "image.repository", "");
	end = arena_printf(&a, ".dkr.ecr.%s.%s/eks/aws-efa-k8s-device-plugin", region,
			   suffix);
	cr_expect_eq(strspn(image, "0123456789"), 12, "%s: %s", region, image);
	cr_expect_str_eq(image + strspn(image, "0123456789"), end);
	cr_expect_eq(component_hyperpod.lacks(&c) == NULL,
		     mirror || streq(partition, "aws"), "%s", region);
	arena_free(&a);
}

Test(domain_parts, the_HyperPod_chart_is_told_every_region_of_every_partition)
{
	for (size_t i = 0; i < sizeof(partitions) / sizeof(partitions[0]); i++) {
		char names[512];
		char *rest = names;

		str_copy(names, sizeof(names), partitions[i].regions);
		for (const char *region = strtok_r(names, " ", &rest); region;
		     region = strtok_r(NULL, " ", &rest)) {
			one_region(partitions[i].partition, partitions[i].suffix, region,
				   false);
			one_region(partitions[i].partition, partitions[i].suffix, region,
				   true);
		}
	}
}

/* An image that is not EKS's own in this very region says nothing about EKS's. */
Test(domain_parts, a_registry_is_not_taken_from_any_image)
{
	static const char *const images[] = {
		"",
		"amazon-k8s-cni:v1",
		"registry.example.com/amazon-k8s-cni:v1",
		"123456789012.dkr.ecr.us-west-2.amazonaws.com/x",
		"12345678901.dkr.ecr.xx-new-1.amazonaws.com/x",
		"123456789012.dkr.ecr.xx-new-1.amazonaws.com.evil/x"};
	const struct where where = {.region = "xx-new-1", .partition = "aws"};

	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		struct arena a;
		struct step_ctx c = {.arena = &a, .where = &where, .target = "demo"};
		const json_t *plugin;

		arena_init(&a, 0);
		c.data = json_new_object(&a);
		c.seen = scene_tree(
			&a, arena_printf(
				    &a,
				    "{'network_plugin':{'out':{'spec':{'template':{'spec'"
				    ":{'containers':[{'image':'%s'}]}}}}}}",
				    images[i]));
		plugin = json_object_get(component_hyperpod.values(&c),
					 "aws-efa-k8s-device-plugin");
		cr_expect_not(json_bool_or(plugin, "devicePlugin.enabled", true), "%s",
			      images[i]);
		cr_expect(strstr(component_hyperpod.lacks(&c), "EFA"), "%s", images[i]);
		arena_free(&a);
	}
}

/* Whoever has an operator of the chart keeps it: its namespace goes with it. */
Test(domain_parts, an_operator_that_is_there_stays)
{
	static const struct scene rows[] = {
		{.id = "ours has both",
		 RECONCILE = "hyperpod_install",
		 .answers = "{'kubernetes:list secrets':{'items':[" RECORD(
			 "2", "deployed", OLD,
			 OURS) "]},"
			       "'kubernetes:get namespaces kubeflow':" HELD(
				       "hyperpod-dependencies") ","
								"'kubernetes:get namespaces mpi-operator':" HELD(
									"hyperpod-dependencies") "}",
		 .says = {"'mpi-operator':{'enabled':true}",
			  "'trainingOperators':{'enabled':true}"}},
		{.id = "another release's is its own matter",
		 RECONCILE = "hyperpod_install",
		 .answers = "{'kubernetes:list secrets':{'items':[" RECORD(
			 "2", "deployed", OLD,
			 OURS) "]},"
			       "'kubernetes:get namespaces kubeflow':" HELD(
				       "kubeflow") "}",
		 .says = {"'mpi-operator':{'enabled':false}",
			  "'trainingOperators':{'enabled':false}"}},
		{.id = "at first there is none",
		 RECONCILE = "hyperpod_install",
		 .says = {"'mpi-operator':{'enabled':false}",
			  "'trainingOperators':{'enabled':false}"}},
	};

	SCENES_HOLD(rows);
}

/* --- order by what intercepts ---------------------------------------------------- */

#define PLACE "{'eks':{'name':'demo','vpc_id':'vpc-1'}}"

Test(domain_parts, what_refuses_others_objects_comes_when_its_pods_can_run)
{
	static const struct scene rows[] = {
		{.id = "no node",
		 RECONCILE = "load_balancers_install",
		 .data = PLACE,
		 .answers = "{" READY("") "}",
		 .says = {"advance", "!call", "when a node is ready",
			  "waiting_for_nodes"}},
		{.id = "a node that is not ready",
		 RECONCILE = "load_balancers_install",
		 .data = PLACE,
		 .answers = "{" READY("{'status':{}}") "}",
		 .says = {"advance", "!call"}},
		{.id = "a node",
		 RECONCILE = "load_balancers_install",
		 .data = PLACE,
		 .answers = "{" READY(NODE) "}",
		 .says = {"call helm:upgrade"}},
		{.id = "what is installed is kept up to date without nodes, too",
		 RECONCILE = "load_balancers_install",
		 .data = PLACE,
		 .answers = "{" READY("") ",'kubernetes:list secrets':{'items':[" RECORD(
			 "2", "deployed", OLD, OURS) "]}}",
		 .says = {"call helm:upgrade"}},
		{.id = "then there is nothing to wait for",
		 RECONCILE = "load_balancers_wait",
		 .data = "{'early':{'load_balancers':true}}",
		 .says = {"advance", "!goto"}},
		{.id = "what refuses nobody comes before the nodes",
		 RECONCILE = "kuberay_install",
		 .answers = "{" READY("") "}",
		 .says = {"call helm:upgrade"}},
	};

	SCENES_HOLD(rows);
}

#define MADE(release, ns)                                                                \
	"'annotations':{'meta.helm.sh/release-name':'" release                           \
	"','meta.helm.sh/release-namespace':'" ns "'}"
#define BRINGS(kind, object, made, status)                                               \
	"{'kubernetes:list secrets':{'items':[" RECORD(                                  \
		"1", "deployed", OLD, OURS) "]},"                                        \
					    "'kubernetes:list nodes':{'items':[" NODE    \
					    "]},'kubernetes:list " kind                  \
					    "':{'items':[{'metadata':{'name':'" object   \
					    "','namespace':'elsewhere'," made            \
					    "},'status':{" status "}}]}}"
#define CHART MADE("hyperpod-dependencies", "kube-system")

/* By Helm's own marks, in whatever namespace, and where its pods are wanted. */
Test(domain_parts, a_chart_is_waited_for_by_what_it_brings)
{
	static const struct scene rows[] = {
		{.id = "an agent that no node has the device for",
		 RECONCILE = "hyperpod_wait",
		 .answers = BRINGS("daemonsets", "health-monitoring-agent", CHART,
				   "'desiredNumberScheduled':0"),
		 .says = {"advance", "'ready'"}},
		{.id = "an agent that is wanted",
		 RECONCILE = "hyperpod_wait",
		 .answers = BRINGS("daemonsets", "health-monitoring-agent", CHART,
				   "'desiredNumberScheduled':2,'numberReady':0"),
		 .says = {"wait: the daemon set health-monitoring-agent", "0 of 2 pods"}},
		{.id = "one of two: a node may be down",
		 RECONCILE = "hyperpod_wait",
		 .answers = BRINGS("daemonsets", "health-monitoring-agent", CHART,
				   "'desiredNumberScheduled':2,'numberReady':1"),
		 .says = {"advance", "'ready'"}},
		{.id = "an operator in a namespace of its own",
		 RECONCILE = "hyperpod_wait",
		 .answers = BRINGS("deployments", "training-operator", CHART, ""),
		 .says = {"wait: the deployment training-operator", "0 of 1 replicas"}},
		{.id = "that of another release",
		 RECONCILE = "hyperpod_wait",
		 .answers = BRINGS("deployments", "training-operator",
				   MADE("hyperpod-dependencies", "other"), ""),
		 .says = {"advance", "'ready'"}},
	};

	SCENES_HOLD(rows);
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
