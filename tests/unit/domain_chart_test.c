/* Dependencies: what is found, what charts are told, and the order in which they come. */
#include "core/domain/dependency/component.h"
#include "tests/unit/domain_scene.h"

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

Test(domain_chart, DP_09_what_a_chart_has_installed_is_not_written_over)
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

Test(domain_chart, an_addon_without_nodes_waits_for_them_and_with_nodes_not_for_ever)
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

Test(domain_chart, a_release_that_lost_its_helm_is_recovered_if_it_is_ours)
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
		{.id = "DP-02 what cannot be rolled back is upgraded from what was deployed",
		 RECONCILE = "hyperpod_install",
		 .answers = RECORDS(RECORD("4", "pending-upgrade", OLD,
					   OURS) "," RECORD("2", "deployed", OLD, OURS)),
		 .answered = "{'!':'exit 1','status':1,'message':'Error: original object "
			     "Namespace with the name kubeflow not found'}",
		 .says = {"goto hyperpod_install", "warning: Helm could not roll back",
			  "original object", "!component_failed"}},
		{.id = "DP-02 a rollback that Helm does not even note is told",
		 RECONCILE = "hyperpod_install",
		 .data = "{'not_rolled_back':{'hyperpod':'recover/4'}}",
		 .answers = RECORDS(RECORD("4", "pending-upgrade", OLD,
					   OURS) "," RECORD("2", "deployed", OLD, OURS)),
		 .answered = "{'!':'exit 1','status':1,'message':'Error: boom'}",
		 .says = {"component_failed:", "dependency-failed"}},
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

Test(domain_chart, a_pod_identity_reaches_the_pods_that_need_it)
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
Test(domain_chart, the_load_balancer_controller_is_told_where_it_is)
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

Test(domain_chart, the_HyperPod_chart_is_told_every_region_of_every_partition)
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
Test(domain_chart, a_registry_is_not_taken_from_any_image)
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
Test(domain_chart, an_operator_that_is_there_stays)
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

Test(domain_chart, what_refuses_others_objects_comes_when_its_pods_can_run)
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
Test(domain_chart, a_chart_is_waited_for_by_what_it_brings)
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

Test(domain_chart, nodes_come_after_the_chart_that_they_need)
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
