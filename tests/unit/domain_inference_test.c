/* What users met with the inference operator: trust, values, users. */
#include "tests/unit/domain_scene.h"

#define EKS                                                                              \
	"'eks':{'name':'demo','endpoint':'https://k','ca_pem':'x','vpc_id':'vpc-1',"     \
	"'issuer':'https://oidc.eks.us-west-2.amazonaws.com/id/BBBB'},"                  \
	"'hyperpod_arn':'arn:aws:sagemaker:us-west-2:111122223333:cluster/c1'"
#define OURS "'tags':{'instantstart:cluster':'demo'}"

#define INFERENCE(row)                                                                   \
	.input = "{'feature':'inference_operator'}", .kind = "set_inference_operator",   \
	.step = row
#define TRUST(id)                                                                        \
	"{'Version':'2012-10-17','Statement':[{'Effect':'Allow','Principal':{'Service':" \
	"'sagemaker.amazonaws.com'},'Action':'sts:AssumeRole'},{'Effect':'Allow',"       \
	"'Principal':{'Federated':'arn:aws:iam::111122223333:oidc-provider/"             \
	"oidc.eks.us-west-2.amazonaws.com/id/" id "'},'Action':"                         \
	"'sts:AssumeRoleWithWebIdentity','Condition':{'StringEquals':{"                  \
	"'oidc.eks.us-west-2.amazonaws.com/id/" id ":aud':'sts.amazonaws.com',"          \
	"'oidc.eks.us-west-2.amazonaws.com/id/" id ":sub':'system:serviceaccount:"       \
	"hyperpod-inference-system:hyperpod-inference-controller-manager'}}}]}"

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
			    "{'iam:GetRole':{'Role':{'Arn':'arn:r','Tags':[{'Key':"
			    "'instantstart:cluster','Value':'demo'}],"
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
		{.id = "endpoints hold it",
		 INFERENCE("refuse_users"),
		 .data = "{" EKS "}",
		 .answers = "{'kubernetes:list inferenceendpointconfigs':{'items':[{"
			    "'metadata':{'name':'llama','namespace':'prod'}}]},"
			    "'kubernetes:list jumpstartmodels':{'items':[{'metadata':{"
			    "'name':'phi','namespace':'prod'}}]}}",
		 .says = {"fail blocked human", "2 things",
			  "InferenceEndpointConfig prod/llama",
			  "JumpStartModel prod/phi"}},
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
		{.id = "volumes keep their driver",
		 INFERENCE("judge"),
		 .data = "{" EKS "}",
		 .answers =
			 "{'eks:DescribeAddon':{'addon':{'status':'ACTIVE','tags':{"
			 "'instantstart:cluster':'demo','instantstart:feature':"
			 "'inference_operator'}}},'kubernetes:list persistentvolumes':{"
			 "'items':[{'spec':{'csi':{'driver':'s3.csi.aws.com'}}}]}}",
		 .says = {"kept:", "there are volumes of it", "'s3_csi'", "!'fsx_csi'"}},
	};

	SCENES_HOLD(rows);
	arena_free(&a);
}
