/* What users met with the operators: prerequisites, identities, users. */
#include "core/domain/feature/feature.h"
#include "core/domain/step/version.h"
#include "tests/unit/domain_scene.h"

#define EKS                                                                              \
	"'eks':{'name':'demo','endpoint':'https://k','ca_pem':'x','vpc_id':'vpc-1',"     \
	"'issuer':'https://oidc.eks.us-west-2.amazonaws.com/id/BBBB'},"                  \
	"'hyperpod_arn':'arn:aws:sagemaker:us-west-2:111122223333:cluster/c1'"
#define ON   .input = "{'feature':'training_operator','enabled':true}"
#define OFF  .input = "{'feature':'training_operator','enabled':false}"
#define OURS "'tags':{" TAG_MAP_OURS "}"

/* A cluster whose one subnet leads to NAT unless rows say otherwise. */
#define POD                                                                               \
	"'sagemaker:DescribeCluster':{'ClusterStatus':'InService','ClusterArn':'arn:c1'," \
	"'VpcConfig':{'Subnets':['subnet-1'],'SecurityGroupIds':['sg-n']},"               \
	"'InstanceGroups':[{'InstanceGroupName':'gpu'}]}"
#define NAT                                                                              \
	"'ec2:DescribeRouteTables':{'RouteTables':[{'Associations':[{'SubnetId':"        \
	"'subnet-1'}],'Routes':[{'DestinationCidrBlock':'0.0.0.0/0','NatGatewayId':"     \
	"'nat-1','State':'active'}]}]}"
#define SHUT                                                                             \
	"'ec2:DescribeRouteTables':{'RouteTables':[{'Associations':[{'SubnetId':"        \
	"'subnet-1'}],'Routes':[{'DestinationCidrBlock':'10.0.0.0/16','GatewayId':"      \
	"'local','State':'active'}]}]}"
#define ADDON(name, version, status)                                                     \
	"'eks:DescribeAddon " name "':{'addon':{'addonName':'" name                      \
	"','addonVersion':'" version "','status':'" status "'," OURS "}}"
#define AGENT    ADDON("eks-pod-identity-agent", "v1.3.9-eksbuild.3", "ACTIVE")
#define CERTS    ADDON("cert-manager", "v1.18.2-eksbuild.2", "ACTIVE")
#define OPERATOR "amazon-sagemaker-hyperpod-training-operator"
#define UNTAGGED                                                                         \
	"'eks:DescribeAddon " OPERATOR "':{'addon':{'addonName':'" OPERATOR              \
	"','status':'ACTIVE','tags':{}}}"
#define CHECK                                                                            \
	.kind = "set_training_operator", .step = "check_feature", .data = "{" EKS "}"

Test(domain_features, versions_are_compared_by_number)
{
	cr_expect_gt(version_compare("v1.10.0-eksbuild.1", "v1.3.0-eksbuild.1"), 0);
	cr_expect_lt(version_compare("v1.2.0-eksbuild.1", "v1.3.0-eksbuild.1"), 0);
	cr_expect_lt(version_compare("v1.3.0-eksbuild.1", "v1.3.0-eksbuild.12"), 0);
	cr_expect_eq(version_compare("v1.3.0-eksbuild.1", "1.3.0-eksbuild.1"), 0);
	cr_expect_lt(version_compare("1.0.742.0_1.0.241.0", "1.0.742.0_1.0.300.0"), 0);
	cr_expect_lt(version_compare(NULL, "v0.1"), 0);
	cr_expect_lt(version_compare("latest", "v0.1"), 0);
}

Test(domain_features, what_is_needed_is_looked_for_before_anything_is_made)
{
	static const struct scene rows[] = {
		{.id = "all is there",
		 ON,
		 CHECK,
		 .answers = "{" POD "," NAT "," AGENT "," CERTS "}",
		 .says = {"advance", "needs:", "'state':'ok'", "!blocked"}},
		{.id = "what is missing is brought along",
		 ON,
		 CHECK,
		 .answers = "{" POD "," NAT "," AGENT "}",
		 .says = {"advance", "'found':'missing'", "'state':'brought'"}},
		{.id = "DP-09 not without consent",
		 .input = "{'feature':'training_operator','enabled':true,"
			  "'install_prerequisites':false}",
		 CHECK,
		 .answers = "{" POD "," NAT "}",
		 .says = {"fail state-conflict never", "pod_identity, cert_manager",
			  "/install_prerequisites"}},
		{.id = "DP-09 installed otherwise: not a second time",
		 ON,
		 CHECK,
		 .answers = "{" POD "," NAT "," AGENT
			    ",'kubernetes:get deployments cert-manager-webhook':{'kind':"
			    "'Deployment'}}",
		 .says = {"advance", "installed by another method", "'elsewhere'",
			  "!'state':'brought'"}},
		{.id = "DP-09 an agent of somebody's chart is not written over",
		 ON,
		 CHECK,
		 .answers = "{" POD "," NAT "," CERTS
			    ",'kubernetes:get daemonsets eks-pod-identity-agent':{'kind':"
			    "'DaemonSet'}}",
		 .says = {"advance", "installed by another method", "'elsewhere'",
			  "!'state':'brought'"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_features, what_does_not_fit_is_refused_before_anything_is_made)
{
	static const struct scene rows[] = {
		{.id = "TC-06 task governance is too old",
		 ON,
		 CHECK,
		 .answers = "{" POD "," NAT "," AGENT "," CERTS
			    "," ADDON("amazon-sagemaker-hyperpod-taskgovernance",
				      "v1.2.0-eksbuild.1", "ACTIVE") "}",
		 .says = {"fail state-conflict never", "Task governance",
			  "v1.2.0-eksbuild.1", "v1.3.0-eksbuild.1"}},
		{.id = "TC-06 1.10 is newer than 1.3",
		 ON,
		 CHECK,
		 .answers = "{" POD "," NAT "," AGENT "," CERTS
			    "," ADDON("amazon-sagemaker-hyperpod-taskgovernance",
				      "v1.10.0-eksbuild.1", "ACTIVE") "}",
		 .says = {"advance"}},
		{.id = "one group has a way out, the other does not",
		 ON,
		 CHECK,
		 .answers = "{'sagemaker:DescribeCluster':{'ClusterStatus':'InService',"
			    "'VpcConfig':{'Subnets':['subnet-2'],'SecurityGroupIds':["
			    "'sg-n']},'InstanceGroups':[{'InstanceGroupName':'a',"
			    "'OverrideVpcConfig':{'Subnets':['subnet-1']}},{"
			    "'InstanceGroupName':'b'}]}," NAT "," AGENT "," CERTS "}",
		 .says = {"fail state-conflict never", "no route to NAT"}},
		{.id = "an add-on of others: refused before anything is made",
		 ON,
		 CHECK,
		 .answers = "{" POD "," NAT "," AGENT "," CERTS "," UNTAGGED "}",
		 .says = {"fail foreign-object human",
			  "addon " OPERATOR " was not created by InstantStart", "adopt"}},
		{.id = "an add-on of others, and asked to adopt",
		 .input = "{'feature':'training_operator','adopt':true}",
		 CHECK,
		 .answers = "{" POD "," NAT "," AGENT "," CERTS "," UNTAGGED "}",
		 .says = {"advance"}},
		{.id = "there is no HyperPod cluster",
		 ON,
		 CHECK,
		 .answers = "{" NAT "," AGENT "," CERTS "}",
		 .says = {"fail state-conflict never", "HyperPod cluster is missing",
			  "Create it first"}},
		{.id = "off: what is needed does not matter",
		 OFF,
		 CHECK,
		 .answers = "{}",
		 .says = {"goto refuse_users"}},
	};

	SCENES_HOLD(rows);
}

#define ENDPOINT(service, id)                                                            \
	"{'ServiceName':'com.amazonaws.us-west-2." service "','VpcEndpointId':'" id      \
	"','Groups':[{'GroupId':'sg-e'}]}"
#define ENDPOINTS(list) "'ec2:DescribeVpcEndpoints':{'VpcEndpoints':[" list "]}"
#define LETS_IN(from)                                                                    \
	"'ec2:DescribeSecurityGroups':{'SecurityGroups':[{'GroupId':'sg-e',"             \
	"'IpPermissions':[{'IpProtocol':'tcp','FromPort':443,'ToPort':443,"              \
	"'UserIdGroupPairs':[{'GroupId':'" from "'}]}]}]}"
#define SHUT_POD POD "," SHUT "," AGENT "," CERTS ","

Test(domain_features, TC_08_an_operator_in_a_private_vpc)
{
	static const struct scene rows[] = {
		{.id = "TC-08 eks-auth is missing",
		 ON,
		 CHECK,
		 .answers = "{" SHUT_POD ENDPOINTS(ENDPOINT("s3", "vpce-1") "," ENDPOINT(
			 "sagemaker.api", "vpce-2")) "," LETS_IN("sg-n") "}",
		 .says = {"fail state-conflict never",
			  "no endpoint com.amazonaws.us-west-2.eks-auth"}},
		{.id = "TC-08 SageMaker's is missing",
		 ON,
		 CHECK,
		 .answers = "{" SHUT_POD ENDPOINTS(
			 ENDPOINT("eks-auth", "vpce-3")) "," LETS_IN("sg-n") "}",
		 .says = {"fail state-conflict never",
			  "no endpoint com.amazonaws.us-west-2.sagemaker.api"}},
		{.id = "TC-08 the endpoint does not let the nodes in",
		 ON,
		 CHECK,
		 .answers = "{" SHUT_POD ENDPOINTS(
			 ENDPOINT("eks-auth", "vpce-3") "," ENDPOINT(
				 "sagemaker.api", "vpce-2")) "," LETS_IN("sg-other") "}",
		 .says = {"fail state-conflict never", "vpce-2", "sg-n", "port 443"}},
		{.id = "TC-08 both are there and open",
		 ON,
		 CHECK,
		 .answers = "{" SHUT_POD ENDPOINTS(
			 ENDPOINT("eks-auth", "vpce-3") "," ENDPOINT(
				 "sagemaker.api", "vpce-2")) "," LETS_IN("sg-n") "}",
		 .says = {"advance"}},
	};

	SCENES_HOLD(rows);
}

#define PROBE .kind = "set_training_operator", .step = "cert_manager_webhook"
#define X509                                                                             \
	"{'kubernetes:create certificates':{'!':'InternalError','status':500,"           \
	"'message':'failed calling webhook: x509: certificate signed by unknown "        \
	"authority'}}"

Test(domain_features, DP_06_a_webhook_that_does_not_answer_yet)
{
	static const struct scene rows[] = {
		{.id = "DP-06 not yet",
		 ON,
		 PROBE,
		 .data = "{" EKS "}",
		 .answers = X509,
		 .age_s = 20,
		 .says = {"retry", "backoff", "x509"}},
		{.id = "DP-06 not any more",
		 ON,
		 PROBE,
		 .data = "{" EKS "}",
		 .answers = X509,
		 .overdue = true,
		 .says = {"fail dependency-failed human", "does not answer", "x509"}},
		{.id = "DP-06 it answers",
		 ON,
		 PROBE,
		 .data = "{" EKS "}",
		 .answers = "{'kubernetes:create certificates':{'kind':'Certificate'}}",
		 .says = {"advance"}},
	};

	SCENES_HOLD(rows);
}

#define TRAINING(row) .kind = "set_training_operator", .step = row, .data = "{" EKS "}"
#define ROLE          "arn:aws:iam::111122223333:role/is-demo-training-us-west-2"
#define ONE(role, tags)                                                                  \
	"{'eks:ListPodIdentityAssociations':{'associations':[{'associationId':'a-1'}]}," \
	"'eks:DescribePodIdentityAssociation':{'association':{'associationId':'a-1',"    \
	"'associationArn':'arn:a-1','roleArn':'" role "','tags':{" tags "}}}}"

Test(domain_features, the_identity_of_the_training_operator)
{
	static const struct scene rows[] = {
		{.id = "DP-01 bound before the add-on, by a call of its own",
		 ON,
		 TRAINING("training_operator_identity"),
		 .answers = "{}",
		 .says = {"call eks:CreatePodIdentityAssociation",
			  "hp-training-operator-controller-manager", ROLE}},
		{.id = "DP-01 the add-on takes no associations",
		 ON,
		 TRAINING("training_operator_install"),
		 .answers = "{}",
		 .says = {"call eks:CreateAddon", "instantstart:feature",
			  "!podIdentityAssociations"}},
		{.id = "DP-01 after a stop between the two: not made again",
		 ON,
		 TRAINING("training_operator_identity"),
		 .answers = ONE(ROLE, TAG_MAP_OURS),
		 .says = {"advance", "!call"}},
		{.id = "bound by somebody to another role",
		 ON,
		 TRAINING("training_operator_identity"),
		 .answers = ONE("arn:other", ""),
		 .says = {"fail foreign-object human", "is bound to arn:other"}},
		{.id = "bound by somebody, and asked to adopt",
		 .input = "{'feature':'training_operator','adopt':true}",
		 TRAINING("training_operator_identity"),
		 .answers = ONE("arn:other", ""),
		 .says = {"call eks:DeletePodIdentityAssociation", "Unbind"}},
		{.id = "ours, bent by a hand",
		 ON,
		 TRAINING("training_operator_identity"),
		 .answers = ONE("arn:other", TAG_MAP_OURS),
		 .says = {"call eks:DeletePodIdentityAssociation"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_features, rights_and_pods_of_the_training_operator)
{
	static const struct scene rows[] = {
		{.id = "the policy that AWS keeps up with the operator's versions",
		 ON,
		 TRAINING("training_operator_role_managed"),
		 .answers = "{'iam:ListAttachedRolePolicies':{'AttachedPolicies':[]}}",
		 .says = {"call iam:AttachRolePolicy",
			  "AmazonSageMakerHyperPodTrainingOperatorAccess"}},
		{.id = "and nothing besides it",
		 ON,
		 TRAINING("training_operator_role_policy"),
		 .answers = "{}",
		 .says = {"advance", "!call iam"}},
		{.id = "IA-07 a pod older than its binding is made anew",
		 ON,
		 TRAINING("training_operator_refresh"),
		 .answers =
			 "{'eks:ListPodIdentityAssociations':{'associations':[{"
			 "'associationId':'a-1'}]},'eks:DescribePodIdentityAssociation':{"
			 "'association':{'associationId':'a-1','createdAt':"
			 "'2026-01-02T03:00:10Z'}},'kubernetes:list pods':{'items':[{"
			 "'metadata':{'name':'old','uid':'u1','creationTimestamp':"
			 "'2026-01-02T03:00:00Z'},'spec':{'serviceAccountName':"
			 "'hp-training-operator-controller-manager','containers':[]}}]}}",
		 .says = {"call kubernetes:delete pods", "old"}},
		{.id = "IA-07 a younger one is left alone",
		 ON,
		 TRAINING("training_operator_refresh"),
		 .answers =
			 "{'eks:ListPodIdentityAssociations':{'associations':[{"
			 "'associationId':'a-1'}]},'eks:DescribePodIdentityAssociation':{"
			 "'association':{'associationId':'a-1','createdAt':"
			 "'2026-01-02T03:00:10Z'}},'kubernetes:list pods':{'items':[{"
			 "'metadata':{'name':'new','uid':'u1','creationTimestamp':"
			 "'2026-01-02T03:00:20Z'},'spec':{'serviceAccountName':"
			 "'hp-training-operator-controller-manager','containers':[]}}]}}",
		 .says = {"advance", "!call"}},
	};

	SCENES_HOLD(rows);
}

#define FOREIGN                                                                          \
	"{'eks:DescribeAddon':{'addon':{'addonName':'" OPERATOR                          \
	"','addonArn':'arn:addon','addonVersion':'v1.2.1','status':'ACTIVE','tags':{}}}}"

Test(domain_features, states_of_the_add_on)
{
	static const struct scene rows[] = {
		{.id = "somebody else's",
		 ON,
		 TRAINING("training_operator_install"),
		 .answers = FOREIGN,
		 .says = {"fail foreign-object human",
			  "exists and was not created by InstantStart", "v1.2.1",
			  "adopt"}},
		{.id = "somebody else's, and asked to adopt",
		 .input = "{'feature':'training_operator','adopt':true}",
		 TRAINING("training_operator_install"),
		 .answers = FOREIGN,
		 .says = {"call eks:TagResource", "instantstart:cluster"}},
		{.id = "somebody else's is not removed",
		 OFF,
		 TRAINING("training_operator_remove"),
		 .answers = FOREIGN,
		 .says = {"fail foreign-object human",
			  "was not created by InstantStart"}},
		{.id = "being created is not absent",
		 ON,
		 TRAINING("training_operator_install"),
		 .answers = "{" ADDON(OPERATOR, "v1.2.1", "CREATING") "}",
		 .says = {"advance", "!call"}},
		{.id = "and is waited for",
		 ON,
		 TRAINING("training_operator_wait"),
		 .answers = "{" ADDON(OPERATOR, "v1.2.1", "CREATING") "}",
		 .says = {"wait: the add-on", "CREATING"}},
		{.id = "being deleted is waited for",
		 ON,
		 TRAINING("training_operator_install"),
		 .answers = "{" ADDON(OPERATOR, "v1.2.1", "DELETING") "}",
		 .says = {"wait: the add-on", "to be deleted"}},
		{.id = "IN-05 the kind is there but not established",
		 ON,
		 TRAINING("ready"),
		 .answers = "{'kubernetes:get customresourcedefinitions':{'spec':{"
			    "'versions':[{'name':'v1','served':true}]},'status':{"
			    "'conditions':[]}}}",
		 .says = {"wait: hyperpodpytorchjobs", "not established"}},
		{.id = "IN-05 another version is served",
		 ON,
		 TRAINING("ready"),
		 .answers = "{'kubernetes:get customresourcedefinitions':{'spec':{"
			    "'versions':[{'name':'v2','served':true}]},'status':{"
			    "'conditions':[{'type':'Established','status':'True'}]}}}",
		 .says = {"wait: hyperpodpytorchjobs", "not served"}},
		{.id = "jobs that run are at stake",
		 .input =
			 "{'feature':'training_operator','enabled':false,'confirmed':[]}",
		 TRAINING("refuse_users"),
		 .answers = "{'kubernetes:list hyperpodpytorchjobs':{'items':[{'metadata'"
			    ":{'name':'llama','namespace':'team'}},{'metadata':{'name':"
			    "'over','namespace':'team'},'status':{'conditions':[{'type':"
			    "'Completed','status':'True'}]}}]}}",
		 .says = {"fail loss-not-confirmed", "HyperPodPyTorchJob team/llama",
			  "Nothing was changed", "!over"}},
		{.id = "what was confirmed ends before the operator goes",
		 .input =
			 "{'feature':'training_operator','enabled':false,'confirmed':[{"
			 "'feature':'training_operator','workloads':['HyperPodPyTorchJob "
			 "team/llama']}]}",
		 TRAINING("end_users"),
		 .answers = "{'kubernetes:list hyperpodpytorchjobs':{'items':[{'metadata'"
			    ":{'name':'llama','namespace':'team'}}]}}",
		 .says = {"call kubernetes:delete hyperpodpytorchjobs",
			  "Delete HyperPodPyTorchJob team/llama"}},
		{.id = "and is waited for while its operator runs",
		 .input =
			 "{'feature':'training_operator','enabled':false,'confirmed':[{"
			 "'feature':'training_operator','workloads':['HyperPodPyTorchJob "
			 "team/llama']}]}",
		 TRAINING("end_users"),
		 .answers = "{'kubernetes:list hyperpodpytorchjobs':{'items':[{'metadata'"
			    ":{'name':'llama','namespace':'team','deletionTimestamp':"
			    "'2026-01-02T03:04:05Z'}}]}}",
		 .says = {"wait: HyperPodPyTorchJob team/llama to be deleted"}},
		{.id = "what came since was confirmed by nobody",
		 .input =
			 "{'feature':'training_operator','enabled':false,'confirmed':[{"
			 "'feature':'training_operator','workloads':['HyperPodPyTorchJob "
			 "team/llama']}]}",
		 TRAINING("end_users"),
		 .answers = "{'kubernetes:list hyperpodpytorchjobs':{'items':[{'metadata'"
			    ":{'name':'new','namespace':'team'}}]}}",
		 .says = {"fail loss-not-confirmed", "HyperPodPyTorchJob team/new",
			  "The feature is still enabled"}},
		{.id = "on: nobody ends",
		 ON,
		 TRAINING("end_users"),
		 .answers = "{'kubernetes:list hyperpodpytorchjobs':{'items':[{'metadata'"
			    ":{'name':'llama','namespace':'team'}}]}}",
		 .says = {"advance"}},
		{.id = "off goes on behind what turns it on",
		 OFF,
		 TRAINING("choose_way"),
		 .answers = "{}",
		 .says = {"goto training_operator_remove"}},
	};

	SCENES_HOLD(rows);
}

/* --- back ----------------------------------------------------------------------------
 */

/* What an undo of update_features asks for; "none" when it has nothing to set back. */
static const char *undo_of(struct arena *a, const char *input, const char *data)
{
	const struct kind *k = kind_find(kinds, "update_features");
	struct step_ctx c = {.arena = a,
			     .target = "demo",
			     .input = scene_tree(a, input),
			     .data = scene_tree(a, data),
			     .events = json_new_list(a)};
	struct spawn sp = {0};

	cr_assert(k && k->undo, "update_features has no undo");
	if (!k->undo(&c, &sp))
		return "none";
	cr_expect_str_eq(sp.kind, "update_features");
	return json_text(a, sp.input);
}

Test(domain_features, an_undo_sets_back_what_was_begun_and_nothing_else)
{
	static const struct {
		const char *input, *data, *says[4];
	} rows[] = {
		{"{'training_operator':{'enabled':true}}", "{}", {"none"}},
		{"{'training_operator':{'enabled':true}}",
		 "{'before':{'training_operator':{'enabled':false}}}",
		 {"none"}},
		{"{'training_operator':{'enabled':true},'autoscaling':{'enabled':false},"
		 "'hyperpod_name':'pod'}",
		 "{'before':{'training_operator':{'enabled':false},'autoscaling':{"
		 "'enabled':true}},'begun':{'autoscaling':true}}",
		 {"\"autoscaling\":{\"enabled\":true}", "\"hyperpod_name\":\"pod\"",
		  "\"confirmed\":[]", "!training"}},
		{"{'tiered_checkpointing':{'enabled':true,'memory_percent':60}}",
		 "{'before':{'tiered_checkpointing':{'enabled':true,'memory_percent':40}},"
		 "'begun':{'tiered_checkpointing':true}}",
		 {"\"enabled\":true", "\"memory_percent\":40", "!60"}},
		/* Who ran before it was there has nothing in it to lose. */
		{"{'tiered_checkpointing':{'enabled':true}}",
		 "{'before':{'tiered_checkpointing':{'enabled':false}},'begun':{"
		 "'tiered_checkpointing':true},'users_before':[{'feature':"
		 "'tiered_checkpointing','workloads':['HyperPodPyTorchJob a/b']}]}",
		 {"\"enabled\":false", "HyperPodPyTorchJob a/b"}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena a;
		const char *said;

		arena_init(&a, 0);
		said = undo_of(&a, rows[i].input, rows[i].data);
		for (size_t n = 0; n < 4 && rows[i].says[n]; n++) {
			const bool not_so = rows[i].says[n][0] == '!';

			cr_expect_eq(strstr(said, rows[i].says[n] + not_so) == NULL,
				     not_so, "row %zu: %s in %s", i, rows[i].says[n],
				     said);
		}
		arena_free(&a);
	}
}
