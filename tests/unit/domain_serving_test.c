/* Operators come when what judges their objects answers. */
#include "core/domain/dependency/component.h"
#include "tests/unit/domain_scene.h"

#define EKS "'eks':{'name':'demo','endpoint':'https://k','ca_pem':'x','vpc_id':'vpc-1'}"
#define TRAINING                                                                         \
	.input = "{'feature':'training_operator'}", .kind = "set_training_operator"
#define INFERENCE                                                                        \
	.input = "{'feature':'inference_operator'}", .kind = "set_inference_operator"
#define NODES(list) "'kubernetes:list nodes':{'items':[" list "]}"
#define NODE(taints)                                                                     \
	"{'spec':{'taints':[" taints "]},'status':{'conditions':[" READY "]}}"
#define READY "{'type':'Ready','status':'True'}"
#define CHECKED                                                                          \
	"{'key':'sagemaker.amazonaws.com/node-health-status','value':'Unschedulable',"   \
	"'effect':'NoSchedule'}"
#define OTHER  "{'key':'team','value':'x','effect':'NoSchedule'}"
#define DOWN   "{'status':{'conditions':[{'type':'Ready','status':'False'}]}}"
#define CORDON "{'spec':{'unschedulable':true},'status':{'conditions':[" READY "]}}"

Test(domain_serving, an_operator_waits_for_a_node_that_runs_what_answers)
{
	static const struct scene rows[] = {
		{.id = "no node",
		 TRAINING,
		 .step = "cert_manager_node",
		 .data = "{" EKS "}",
		 .answers = "{" NODES("") "}",
		 .says = {"wait: a node for cert-manager's webhook", "!call"}},
		{.id = "none that is ready",
		 TRAINING,
		 .step = "cert_manager_node",
		 .data = "{" EKS "}",
		 .answers = "{" NODES(DOWN "," CORDON "," NODE(OTHER)) "}",
		 .says = {"wait: a node for cert-manager's webhook"}},
		{.id = "one under the service's checks: cert-manager tolerates them",
		 TRAINING,
		 .step = "cert_manager_node",
		 .data = "{" EKS "}",
		 .answers = "{" NODES(NODE(CHECKED)) "}",
		 .says = {"advance"}},
		{.id = "the controller that comes along does not",
		 INFERENCE,
		 .step = "cert_manager_node",
		 .data = "{" EKS ",'bundled':{'load':true}}",
		 .answers = "{" NODES(NODE(CHECKED)) "}",
		 .says = {"wait: a node that accepts pods", "webhooks reject services"}},
		{.id = "it does not come along",
		 INFERENCE,
		 .step = "cert_manager_node",
		 .data = "{" EKS ",'bundled':{'load':false}}",
		 .answers = "{" NODES(NODE(CHECKED)) "}",
		 .says = {"advance"}},
		{.id = "a node that takes pods",
		 INFERENCE,
		 .step = "cert_manager_node",
		 .data = "{" EKS ",'bundled':{'load':true}}",
		 .answers = "{" NODES(NODE(CHECKED) "," NODE("")) "}",
		 .says = {"advance"}},
		{.id = "none ever",
		 TRAINING,
		 .step = "cert_manager_node",
		 .data = "{" EKS "}",
		 .answers = "{" NODES("") "}",
		 .overdue = true,
		 .says = {"fail dependency-failed human", "no node became ready",
			  "Training operator was not installed"}},
	};

	SCENES_HOLD(rows);
}

#define CLUSTER(more)                                                                         \
	"'sagemaker:DescribeCluster':{'ClusterStatus':'InService','ClusterArn':'arn:c1'" more \
	"}"
#define CHECK .step = "check_feature", .data = "{" EKS "}"

Test(domain_serving, without_any_prospect_of_a_node_nothing_is_begun)
{
	static const struct scene rows[] = {
		{.id = "no node, and none is wanted",
		 TRAINING,
		 CHECK,
		 .answers = "{" CLUSTER(",'InstanceGroups':[{'InstanceGroupName':'gpu',"
					"'TargetCount':0}]") "," NODES("") "}",
		 .says = {"fail state-conflict never",
			  "A node for cert-manager's webhook is missing, and every group has a count of 0",
			  "Scale a group to at least one node"}},
		{.id = "one is on its way",
		 TRAINING,
		 CHECK,
		 .answers = "{" CLUSTER(",'InstanceGroups':[{'InstanceGroupName':'gpu',"
					"'TargetCount':1}]") "," NODES("") "}",
		 .says = {"advance", "the first one is waited for"}},
		{.id = "the autoscaler makes one for the pods that wait",
		 INFERENCE,
		 CHECK,
		 .answers = "{" CLUSTER(",'AutoScaling':{'Mode':'Enable'}") "," NODES(
			 "") "}",
		 .says = {"advance", "the first one is waited for"}},
		{.id = "nobody knows: the row before the operator waits",
		 TRAINING,
		 CHECK,
		 .answers = "{" CLUSTER(",'InstanceGroups':[]") "}",
		 .says = {"advance", "!A node for"}},
		{.id = "there is one",
		 TRAINING,
		 CHECK,
		 .answers = "{" CLUSTER(",'InstanceGroups':[]") "," NODES(NODE("")) "}",
		 .says = {"advance", "available"}},
	};

	SCENES_HOLD(rows);
}

#define REFUSED(name)                                                                      \
	"{'eks:DescribeAddon':{'addon':{'addonName':'" name "','tags':{" TAG_MAP_OURS      \
	"},'status':'CREATE_FAILED','health':{'issues':[{'code':'AdmissionRequestDenied'," \
	"'message':'Internal error occurred: failed calling webhook "                      \
	"\\\"webhook.cert-manager.io\\\": failed to call webhook: Post "                   \
	"\\\"https://cert-manager-webhook.cert-manager.svc:443/validate?timeout=30s\\\": " \
	"no endpoints available for service \\\"cert-manager-webhook\\\"'}]}}}}"

Test(domain_serving, an_add_on_that_a_silent_webhook_refused_is_made_anew)
{
	static const struct scene rows[] = {
		{.id = "its pods were on their way",
		 TRAINING,
		 .step = "training_operator_wait",
		 .data = "{" EKS "}",
		 .answers = REFUSED("x"),
		 .says = {"goto training_operator_install", "webhook_unserved",
			  "webhook.cert-manager.io", "!fail"}},
		{.id = "and cleared first",
		 TRAINING,
		 .step = "training_operator_install",
		 .data = "{" EKS ",'unserved':{'training_operator':1}}",
		 .answers = REFUSED("x"),
		 .says = {"call eks:DeleteAddon"}},
		{.id = "not for ever",
		 TRAINING,
		 .step = "training_operator_wait",
		 .data = "{" EKS ",'unserved':{'training_operator':3}}",
		 .answers = REFUSED("x"),
		 .says = {"fail dependency-failed", "no endpoints available"}},
		{.id = "refused for another reason: at once",
		 TRAINING,
		 .step = "training_operator_wait",
		 .data = "{" EKS "}",
		 .answers =
			 "{'eks:DescribeAddon':{'addon':{'status':'CREATE_FAILED',"
			 "'health':{'issues':[{'code':'AdmissionRequestDenied','message':"
			 "'admission webhook \\\"p\\\" denied the request: no'}]}}}}",
		 .says = {"fail dependency-failed", "denied the request"}},
	};

	SCENES_HOLD(rows);
}

/* Every operation that makes what others judge asks them first: a new row is in here
 * by being in a table. */
Test(domain_serving, whoever_is_guarded_comes_after_the_guard_answers)
{
	size_t guarded = 0;

	for (const struct kind *const *k = kinds; *k; k++)
		for (const struct step *s = (*k)->steps; s->name; s++) {
			const struct component *one = component_find(s->phase);
			struct arena a;

			arena_init(&a, 0);
			if (one && one->guarded_by &&
			    streq(s->name, arena_printf(&a, "%s_install", one->name))) {
				const char *const before[] = {
					arena_printf(&a, "%s_install", one->guarded_by),
					arena_printf(&a, "%s_node", one->guarded_by),
					arena_printf(&a, "%s_webhook", one->guarded_by)};

				guarded++;
				for (size_t i = 0; i < 3; i++) {
					const struct step *b = kind_step(*k, before[i]);

					cr_expect(b && b < s &&
							  (i == 0 ||
							   b > kind_step(*k,
									 before[i - 1])),
						  "%s/%s: %s comes before", (*k)->name,
						  s->name, before[i]);
				}
				cr_expect_str_eq(one->needs, one->guarded_by);
			}
			arena_free(&a);
		}
	cr_expect_eq(guarded, 2, "both operators");
}
