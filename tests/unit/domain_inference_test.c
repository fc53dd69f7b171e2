/* What users met with the inference operator: trust, values, users. */
#include "core/domain/feature/feature.h"
#include "tests/unit/domain_scene.h"

#define EKS                                                                              \
	"'eks':{'name':'demo','endpoint':'https://k','ca_pem':'x','vpc_id':'vpc-1',"     \
	"'issuer':'https://oidc.eks.us-west-2.amazonaws.com/id/BBBB'},"                  \
	"'hyperpod_arn':'arn:aws:sagemaker:us-west-2:111122223333:cluster/c1'"
#define OURS "'tags':{" TAG_MAP_OURS "}"

#define INFERENCE(row)                                                                   \
	.input = "{'feature':'inference_operator'}", .kind = "set_inference_operator",   \
	.step = row
#define INFERENCE_OFF(row)                                                               \
	.input = "{'feature':'inference_operator','enabled':false,'confirmed':[]}",      \
	.kind = "set_inference_operator", .step = row
#define TRUST(id)                                                                        \
	"{'Version':'2012-10-17','Statement':[{'Effect':'Allow','Principal':{'Service':" \
	"'sagemaker.amazonaws.com'},'Action':'sts:AssumeRole'},{'Effect':'Allow',"       \
	"'Principal':{'Federated':'arn:aws:iam::111122223333:oidc-provider/"             \
	"oidc.eks.us-west-2.amazonaws.com/id/" id "'},'Action':"                         \
	"'sts:AssumeRoleWithWebIdentity','Condition':{'StringEquals':{"                  \
	"'oidc.eks.us-west-2.amazonaws.com/id/" id ":aud':'sts.amazonaws.com',"          \
	"'oidc.eks.us-west-2.amazonaws.com/id/" id ":sub':'system:serviceaccount:"       \
	"hyperpod-inference-system:hyperpod-inference-controller-manager'}}}]}"

#define SCALED                                                                           \
	"'kubernetes:list scaledobjects':{'items':[{'metadata':{'name':'web',"           \
	"'namespace':'team'}}]}"
#define BUCKET                                                                           \
	"'s3:HeadBucket':{},'s3:GetBucketTagging':{'TagSet':[{'Key':'cost-center',"      \
	"'Value':'7'}]}"
#define PROVIDER                                                                         \
	"'iam:GetOpenIDConnectProvider':{'ClientIDList':['sts.amazonaws.com'],"          \
	"'Tags':[" TAGS_OURS "]}"

/* The text of a policy inside JSON. */
static const char *quoted(struct arena *a, const char *policy)
{
	const char *z = "";

	for (; *policy; policy++)
		z = *policy == '\'' ? arena_printf(a, "%s\\'", z)
				    : arena_printf(a, "%s%c", z, *policy);
	return z;
}

static const char *role_with(struct arena *a, const char *policy)
{
	return arena_printf(a,
			    "{'iam:GetRole':{'Role':{'Arn':'arn:r','Tags':[" TAGS_OURS
			    "],"
			    "'AssumeRolePolicyDocument':'%s'}}}",
			    quoted(a, policy));
}

Test(domain_features, IA_08_the_trust_of_the_inference_operator)
{
	struct arena a;

	arena_init(&a, 0);
	const struct scene rows[] = {
		{.id = "exactly this service account, exactly this audience",
		 INFERENCE("inference_operator_role"),
		 .data = "{" EKS "}",
		 .answers = "{}",
		 .says = {"call iam:CreateRole", "StringEquals",
			  "system:serviceaccount:hyperpod-inference-system:"
			  "hyperpod-inference-controller-manager",
			  "id/BBBB:aud", "sts.amazonaws.com", "!StringLike"}},
		{.id = "what it is for is said",
		 INFERENCE("inference_operator_role"),
		 .data = "{" EKS "}",
		 .answers = "{}",
		 .says = {"call iam:CreateRole", ": HyperPod inference operator",
			  "!(null)"}},
		{.id = "IA-08 it trusts AAAA, the cluster is BBBB",
		 INFERENCE("inference_operator_role_trust"),
		 .data = "{" EKS "}",
		 .answers = role_with(&a, TRUST("AAAA")),
		 .says = {"call iam:UpdateAssumeRolePolicy", "id/BBBB", "trust_differs",
			  "id/AAAA"}},
		{.id = "IA-08 as it should be: no call",
		 INFERENCE("inference_operator_role_trust"),
		 .data = "{" EKS "}",
		 .answers = role_with(&a, TRUST("BBBB")),
		 .says = {"advance", "!call"}},
	};

	SCENES_HOLD(rows);
	arena_free(&a);
}

Test(domain_features, what_others_have_of_the_inference_operator_stays)
{
	static const struct scene rows[] = {
		{.id = "DP-09 what is there is not brought a second time",
		 INFERENCE("inference_operator_install"),
		 .data = "{" EKS ",'bundled':{'scale':true,'load':false}}",
		 .answers = "{}",
		 .says = {"call eks:CreateAddon", "is-demo-inference-keda-us-west-2",
			  "!inference-alb", "hyperpod-tls-111122223333"}},
		{.id = "values of others stay",
		 INFERENCE("inference_operator_install"),
		 .data = "{" EKS ",'bundled':{'scale':false,'load':false}}",
		 .answers = "{'eks:DescribeAddon':{'addon':{'status':'ACTIVE'," OURS
			    ",'configurationValues':'{\\'logging\\':1}'}}}",
		 .says = {"call eks:UpdateAddon", "logging", "executionRoleArn"}},
		{.id = "endpoints are at stake",
		 INFERENCE_OFF("refuse_users"),
		 .data = "{" EKS "}",
		 .answers = "{'kubernetes:list inferenceendpointconfigs':{'items':[{"
			    "'metadata':{'name':'llama','namespace':'prod'}}]},"
			    "'kubernetes:list jumpstartmodels':{'items':[{'metadata':{"
			    "'name':'phi','namespace':'prod'}}]}}",
		 .says = {"fail loss-not-confirmed",
			  "InferenceEndpointConfig prod/llama"}},
		{.id = "each of them",
		 .input = "{'feature':'inference_operator','enabled':false,'confirmed':[{"
			  "'feature':'inference_operator','workloads':["
			  "'InferenceEndpointConfig prod/llama']}]}",
		 .kind = "set_inference_operator",
		 .step = "refuse_users",
		 .data = "{" EKS "}",
		 .answers = "{'kubernetes:list inferenceendpointconfigs':{'items':[{"
			    "'metadata':{'name':'llama','namespace':'prod'}}]},"
			    "'kubernetes:list jumpstartmodels':{'items':[{'metadata':{"
			    "'name':'phi','namespace':'prod'}}]}}",
		 .says = {"fail loss-not-confirmed", "JumpStartModel prod/phi"}},
		{.id = "objects that the operator's own KEDA serves are at stake",
		 INFERENCE_OFF("refuse_users"),
		 .data = "{" EKS "}",
		 .answers = "{" SCALED "}",
		 .says = {"fail loss-not-confirmed", "ScaledObject team/web"}},
		{.id = "not those that a KEDA of others serves",
		 INFERENCE_OFF("refuse_users"),
		 .data = "{" EKS "}",
		 .answers = "{" SCALED ",'kubernetes:list deployments':{'items':[{"
			    "'metadata':{'name':'keda-operator','namespace':'keda'}}]}}",
		 .says = {"advance", "!loss"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_features, the_bucket_of_certificates_is_ours_or_asked_for)
{
	static const struct scene rows[] = {
		{.id = "an operator that Helm has installed is not joined by a second",
		 INFERENCE("check_feature"),
		 .data = "{" EKS "}",
		 .answers = "{'sagemaker:DescribeCluster':{'ClusterStatus':'InService'},"
			    "'kubernetes:list deployments':{'items':[{'metadata':{'name':"
			    "'hyperpod-inference-operator-controller-manager',"
			    "'namespace':'hyperpod-inference-system'}}]}}",
		 .says = {"fail state-conflict never", "installed by Helm",
			  "Uninstall its Helm release"}},
		{.id = "a bucket with objects of others: before anything is made",
		 INFERENCE("check_feature"),
		 .data = "{" EKS "}",
		 .answers =
			 "{'sagemaker:DescribeCluster':{'ClusterStatus':'InService'}," BUCKET
			 ",'s3:ListObjectsV2':{'Contents':[{'Key':'a.pem'}]}}",
		 .says = {"fail foreign-object human", "it contains a.pem", "adopt"}},
		{.id = "a bucket of that name with objects of others",
		 INFERENCE("tls_bucket"),
		 .data = "{" EKS "}",
		 .answers =
			 "{" BUCKET ",'s3:ListObjectsV2':{'Contents':[{'Key':'a.pem'}]}}",
		 .says = {"fail foreign-object human", "a.pem", "adopt"}},
		{.id = "with objects, and asked to adopt",
		 .input = "{'feature':'inference_operator','adopt':true}",
		 .kind = "set_inference_operator",
		 .step = "tls_bucket",
		 .data = "{" EKS "}",
		 .answers =
			 "{" BUCKET ",'s3:ListObjectsV2':{'Contents':[{'Key':'a.pem'}]}}",
		 .says = {"advance", "!fail"}},
		{.id = "an empty one: a stop before its tag",
		 INFERENCE("tls_bucket"),
		 .data = "{" EKS "}",
		 .answers = "{" BUCKET ",'s3:ListObjectsV2':{}}",
		 .says = {"advance", "!fail"}},
		{.id = "tags of others stay on it",
		 INFERENCE("tls_bucket_tag"),
		 .data = "{" EKS "}",
		 .answers = "{" BUCKET ",'s3:ListObjectsV2':{}}",
		 .says = {"call s3:PutBucketTagging", "instantstart:cluster",
			  "cost-center"}},
	};

	SCENES_HOLD(rows);
}

Test(domain_features, an_identity_provider_goes_when_nobody_else_is_bound_by_it)
{
	static const struct scene rows[] = {
		{.id = "a provider that we made goes",
		 INFERENCE("oidc_provider_remove"),
		 .data = "{" EKS "}",
		 .answers = "{" PROVIDER ",'kubernetes:list serviceaccounts':{'items':["
			    "{'metadata':{'name':'keda-operator','annotations':{"
			    "'eks.amazonaws.com/role-arn':'arn:aws:iam::111122223333:"
			    "role/is-demo-inference-keda-us-west-2'}}}]}}",
		 .says = {"call iam:DeleteOpenIDConnectProvider"}},
		{.id = "not while others have bound roles by it",
		 INFERENCE("oidc_provider_remove"),
		 .data = "{" EKS "}",
		 .answers = "{" PROVIDER ",'kubernetes:list serviceaccounts':{'items':["
			    "{'metadata':{'name':'loki','namespace':'logs',"
			    "'annotations':{'eks.amazonaws.com/role-arn':'arn:aws:iam::"
			    "111122223333:role/loki'}}}]}}",
		 .says = {"advance", "!call", "it binds the service account logs/loki"}},
		{.id = "a provider of others is used as it is",
		 INFERENCE("oidc_provider"),
		 .data = "{" EKS "}",
		 .answers = "{'iam:GetOpenIDConnectProvider':{'ClientIDList':["
			    "'sts.amazonaws.com'],'Tags':[]}}",
		 .says = {"advance", "!call"}},
		{.id = "and stays",
		 INFERENCE("oidc_provider_remove"),
		 .data = "{" EKS "}",
		 .answers = "{'iam:GetOpenIDConnectProvider':{'ClientIDList':["
			    "'sts.amazonaws.com'],'Tags':[]}}",
		 .says = {"advance", "!call"}},
		{.id = "autoscalers of pods keep the metrics",
		 INFERENCE("judge"),
		 .data = "{" EKS "}",
		 .answers =
			 "{'eks:DescribeAddon':{'addon':{'status':'ACTIVE','tags':{" TAG_MAP_OURS
			 ",'instantstart:feature':"
			 "'inference_operator'}}},'kubernetes:list "
			 "horizontalpodautoscalers':{'items':[{'metadata':{'name':"
			 "'web'}}]}}",
		 .says = {"kept:", "pod autoscalers read its metrics", "'metrics'",
			  "!'fsx_csi'"}},
		{.id = "volumes keep their driver",
		 INFERENCE("judge"),
		 .data = "{" EKS "}",
		 .answers =
			 "{'eks:DescribeAddon':{'addon':{'status':'ACTIVE','tags':{" TAG_MAP_OURS
			 ",'instantstart:feature':"
			 "'inference_operator'}}},'kubernetes:list persistentvolumes':{"
			 "'items':[{'spec':{'csi':{'driver':'s3.csi.aws.com'}}}]}}",
		 .says = {"kept:", "it has volumes", "'s3_csi'", "!'fsx_csi'"}},
	};

	SCENES_HOLD(rows);
}

/* Issuers are made known to IAM for much else: that alone is no half of an operator. */
Test(domain_features, a_provider_alone_is_no_part_of_the_operator)
{
	static const struct {
		const char *chain, *state;
	} rows[] = {
		{"[{'part':'oidc_provider','state':'present'},"
		 "{'part':'role','state':'missing'}]",
		 "disabled"},
		{"[{'part':'oidc_provider','state':'differs'}]", "disabled"},
		{"[{'part':'role','state':'present'}]", "partial"},
		{"[{'part':'bucket','state':'differs'}]", "partial"},
		{"[{'part':'role','state':'foreign'}]", "disabled"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena a;
		struct step_ctx c = {.arena = &a};

		arena_init(&a, 0);
		c.seen = json_new_object(&a);
		cr_expect_str_eq(feature_state(&c, &features[FEATURE_INFERENCE],
					       scene_tree(&a, rows[i].chain)),
				 rows[i].state, "%s", rows[i].chain);
		arena_free(&a);
	}
}

/* What may be done to anything at all: of a controller that any pod's service can drive.
 */
Test(domain_features, the_load_balancer_controller_changes_only_what_it_has_made)
{
	static const char *const tagged[] = {
		"ec2:CreateTags",
		"ec2:DeleteTags",
		"ec2:DeleteSecurityGroup",
		"elasticloadbalancing:AddTags",
		"elasticloadbalancing:DeleteLoadBalancer",
		"elasticloadbalancing:DeleteTargetGroup",
		"elasticloadbalancing:ModifyLoadBalancerAttributes",
		"elasticloadbalancing:RegisterTargets",
	};
	const struct where where = {
		.account = "111122223333", .installation = "here", .partition = "aws-cn"};
	struct arena a;
	struct step_ctx c = {.arena = &a, .where = &where};
	json_t *list, *s;
	size_t i, found = 0;

	arena_init(&a, 0);
	list = json_own(&a, load_balancer_statements(&c));
	json_array_foreach(list, i, s) {
		const char *text = json_text(&a, s);
		const bool any = streq(json_str_at(s, "Resource"), "*") &&
				 !json_at(s, "Condition");

		cr_expect_null(strstr(text, "arn:aws:"), "%s", text);
		for (size_t k = 0; k < sizeof(tagged) / sizeof(tagged[0]); k++) {
			const bool has = strstr(text, tagged[k]) != NULL;

			found += has;
			cr_expect_not(has && any, "%s of anything", tagged[k]);
		}
	}
	cr_expect_geq(found, sizeof(tagged) / sizeof(tagged[0]));
	/* All inline policies of a role together. */
	cr_expect_lt(strlen(json_text(&a, list)), 10000);
	arena_free(&a);
}
