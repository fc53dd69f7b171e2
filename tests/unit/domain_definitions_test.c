/* What a chart has in crds/ is brought up to date before the chart is upgraded. */
#include "tests/unit/domain_scene.h"

#define INSTALL .kind = "reconcile_dependencies", .step = "kuberay_install"
#define RECORD(status, more)                                                             \
	"'kubernetes:list secrets':{'items':[{'metadata':{'labels':{'version':'3',"      \
	"'status':'" status "','modifiedAt':'1767320345'" more "}}}]}"
#define OURS                                                                             \
	",'instantstart/cluster':'demo'"                                                 \
	",'instantstart/installation':'here','instantstart/pin':'of before'"
#define DEFINITION(name, mark, managers)                                                 \
	"'kubernetes:get customresourcedefinitions " name "':{'metadata':{'name':'" name \
	"','annotations':{'instantstart/definition':'" mark                              \
	"'},'managedFields':[" managers "]}}"
#define BY(who, what) "{'manager':'" who "','fieldsV1':{'" what "':{}}}"
#define BY_HELM       BY("helm", "f:spec") "," BY("kube-apiserver", "f:status")
#define CLUSTERS      "rayclusters.ray.io"
#define JOBS          "rayjobs.ray.io"

Test(domain_definitions, each_that_differs_is_applied_before_the_chart)
{
	static const struct scene rows[] = {
		{.id = "made by Helm at the first install",
		 INSTALL,
		 .answers = "{" RECORD("deployed", OURS) "," DEFINITION(CLUSTERS, "",
									BY_HELM) "}",
		 .says = {"call kubernetes:apply customresourcedefinitions", CLUSTERS,
			  "!helm:upgrade"}},
		{.id = "the first is as it should be",
		 INSTALL,
		 .answers = "{" RECORD("deployed", OURS) "," DEFINITION(
			 CLUSTERS, "c2", BY_HELM) "," DEFINITION(JOBS, "j1", BY_HELM) "}",
		 .says = {"call kubernetes:apply customresourcedefinitions", JOBS}},
		{.id = "all are: the chart",
		 INSTALL,
		 .answers = "{" RECORD("deployed", OURS) "," DEFINITION(
			 CLUSTERS, "c2", BY_HELM) "," DEFINITION(JOBS, "j2", BY_HELM) "}",
		 .says = {"call helm:upgrade", "!customresourcedefinitions"}},
		{.id = "applied: on to the next",
		 INSTALL,
		 .answers = "{" RECORD("deployed", OURS) "," DEFINITION(CLUSTERS, "",
									BY_HELM) "}",
		 .answered = "{'kind':'CustomResourceDefinition'}",
		 .says = {"goto kuberay_install"}},
		{.id = "none is there: Helm makes them",
		 INSTALL,
		 .answers = "{}",
		 .says = {"call helm:upgrade", "!customresourcedefinitions"}},
		{.id = "left by a release that was uninstalled",
		 INSTALL,
		 .answers = "{" DEFINITION(JOBS, "", BY_HELM) "}",
		 .says = {"call kubernetes:apply customresourcedefinitions", JOBS}},
		{.id = "a release that failed midway",
		 INSTALL,
		 .answers =
			 "{" RECORD("failed", OURS) "," DEFINITION(JOBS, "", BY_HELM) "}",
		 .says = {"call kubernetes:apply customresourcedefinitions", JOBS}},
	};

	SCENES_HOLD(rows);
}

Test(domain_definitions, what_others_write_or_refuse_is_said)
{
	static const struct scene rows[] = {
		{.id = "somebody applies it by hand",
		 INSTALL,
		 .answers = "{" RECORD("deployed", OURS) "," DEFINITION(
			 CLUSTERS, "", BY("kubectl-client-side-apply", "f:spec")) "}",
		 .says = {"call helm:upgrade",
			  "warning: The definition rayclusters.ray.io is written by "
			  "kubectl-client-side-apply"}},
		{.id = "who fills in a certificate or a status is no other",
		 INSTALL,
		 .answers = "{" RECORD("deployed", OURS) "," DEFINITION(
			 CLUSTERS, "",
			 BY_HELM "," BY("cainjector", "f:spec") "," BY("argocd",
								       "f:metadata")) "}",
		 .says = {"call kubernetes:apply customresourcedefinitions", "!warning"}},
		{.id = "and we are asked to adopt",
		 INSTALL,
		 .input = "{'adopt':true}",
		 .answers = "{" RECORD("deployed", OURS) "," DEFINITION(
			 CLUSTERS, "", BY("argocd-controller", "f:spec")) "}",
		 .says = {"call kubernetes:apply customresourcedefinitions", "!warning"}},
		{.id = "a release of another's is left alone, with its definitions",
		 INSTALL,
		 .answers = "{" RECORD("deployed", "") "," DEFINITION(CLUSTERS, "",
								      BY_HELM) "}",
		 .says = {"used unchanged", "!call"}},
		{.id = "the server refuses it: the chart is not touched",
		 INSTALL,
		 .answers = "{" RECORD("deployed", OURS) "," DEFINITION(CLUSTERS, "",
									BY_HELM) "}",
		 .answered =
			 "{'!':'Invalid','status':422,'message':'status.storedVersions[0]: "
			 "Invalid value: \\\"v1alpha1\\\": missing from spec.versions'}",
		 .says = {"component_failed:",
			  "the definition rayclusters.ray.io was not",
			  "missing from spec.versions", "The chart was not changed"}},
	};

	SCENES_HOLD(rows);
}

#define HYPERPOD .kind = "reconcile_dependencies", .step = "hyperpod_install"
#define KUBEFLOW                                                                         \
	"'kubernetes:get namespaces kubeflow':{'metadata':{'name':'kubeflow',"           \
	"'annotations':{'meta.helm.sh/release-name':'hyperpod-dependencies'}}}"

/* Of a part that is off, what is there is another's; with the part on it is ours. */
Test(domain_definitions, of_a_part_they_come_with_the_part)
{
	static const struct scene rows[] = {
		{.id = "nobody asked for the part",
		 HYPERPOD,
		 .answers = "{" RECORD("deployed", OURS) "," DEFINITION(JOBS, "",
									BY_HELM) "}",
		 .says = {"call helm:upgrade", "!customresourcedefinitions", "!warning"}},
		{.id = "the part is there by our release",
		 HYPERPOD,
		 .answers = "{" RECORD("deployed", OURS) "," KUBEFLOW "," DEFINITION(
			 JOBS, "", BY_HELM) "}",
		 /* Which is read, and is not among the test's charts. */
		 .says = {"definitions/hyperpod/rayjobs.ray.io.json", "!helm:upgrade"}},
		{.id = "and as it should be",
		 HYPERPOD,
		 .answers = "{" RECORD("deployed", OURS) "," KUBEFLOW "," DEFINITION(
			 JOBS, "j2", BY_HELM) "}",
		 .says = {"call helm:upgrade", "!customresourcedefinitions"}},
	};

	SCENES_HOLD(rows);
}
