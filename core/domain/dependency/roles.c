/* Least-privilege policies of the controllers that act for pods. */
#include "core/aws/partition.h"
#include "core/domain/dependency/install.h"
#include "core/json/tree.h"

static bool role_is_unwanted(const struct step_ctx *c)
{
	return !component_bound(c, component_here(c));
}

/* Buckets are granted one by one, by the storages that mount them. */
static json_t *s3_statements(struct step_ctx *c)
{
	(void)c;
	return json_pack("[{s:s, s:s, s:s}]", "Effect", "Allow", "Action",
			 "s3:ListAllMyBuckets", "Resource", "*");
}

const struct role_spec role_s3_csi = {
	.purpose = ROLE_S3_CSI,
	.description = "Mountpoint for Amazon S3 CSI driver",
	.service = "pods.eks.amazonaws.com",
	.tag_session = true,
	.given = role_is_unwanted,
	.statements = s3_statements,
};

const struct role_spec role_fsx_csi = {
	.purpose = ROLE_FSX_CSI,
	.description = "Amazon FSx CSI driver",
	.service = "pods.eks.amazonaws.com",
	.tag_session = true,
	.given = role_is_unwanted,
	.managed = {"AmazonFSxFullAccess"},
};

const struct role_spec role_load_balancers = {
	.purpose = ROLE_LOAD_BALANCERS,
	.description = "AWS Load Balancer Controller",
	.service = "pods.eks.amazonaws.com",
	.tag_session = true,
	.given = role_is_unwanted,
	.statements = load_balancer_statements,
};

/* --- features -------------------------------------------------------------------- */

const struct role_spec role_training = {
	.purpose = ROLE_TRAINING_OPERATOR,
	.description = "HyperPod training operator",
	.service = "pods.eks.amazonaws.com",
	.tag_session = true,
	.given = role_is_unwanted,
	/* AWS adds to it what newer versions of the operator need. */
	.managed = {"AmazonSageMakerHyperPodTrainingOperatorAccess"},
};

/*
 * Exactly one service account of this cluster, for exactly one audience: a pattern
 * would let any pod of the cluster become the operator.
 * https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
 */
static json_t *trusted_account(struct step_ctx *c, const char *account)
{
	const char *issuer = step_get(c, "eks.issuer");
	const char *host = issuer && str_starts(issuer, "https://") ? issuer + 8 : issuer;
	json_t *equals = json_object();

	if (!host)
		host = STEP_UNKNOWN;
	json_object_set_new(equals, arena_printf(c->arena, "%s:aud", host),
			    json_string(AWS_TOKEN_AUDIENCE));
	json_object_set_new(equals, arena_printf(c->arena, "%s:sub", host),
			    json_sprintf("system:serviceaccount:%s:%s",
					 component_inference.ns, account));
	return json_pack("{s:s, s:{s:s}, s:s, s:{s:o}}", "Effect", "Allow", "Principal",
			 "Federated",
			 arena_printf(c->arena, "arn:%s:iam::%s:oidc-provider/%s",
				      c->where->partition, c->where->account, host),
			 "Action", "sts:AssumeRoleWithWebIdentity", "Condition",
			 "StringEquals", equals);
}

/*
 * The operator makes a service account for each model, in the model's namespace: no
 * exact name can be told. AWS's own set-up trusts the same pattern; the role may only
 * fetch models of the public hub.
 */
static json_t *gated_trust(struct step_ctx *c)
{
	json_t *one = trusted_account(c, "x");
	json_t *equals = json_at(one, "Condition.StringEquals"), *like = json_object();
	const char *key, *sub = NULL;
	json_t *v;

	json_object_foreach(equals, key, v)
		if (str_starts(json_string_value(v), "system:serviceaccount:"))
			sub = arena_strdup(c->arena, key);
	json_object_set_new(
		like, sub,
		json_string(
			"system:serviceaccount:*:hyperpod-inference-service-account*"));
	json_object_del(equals, sub);
	json_object_set_new(json_at(one, "Condition"), "StringLike", like);
	return json_pack("[o]", one);
}

const struct role_spec role_gated_models = {
	.purpose = ROLE_GATED_MODELS,
	.description = "Download of gated models for HyperPod inference",
	.trust = gated_trust,
	.given = role_is_unwanted,
	.managed = {"AmazonSageMakerHyperPodGatedModelAccess"},
};

static json_t *inference_trust(struct step_ctx *c)
{
	return json_pack("[{s:s, s:{s:s}, s:s}, o]", "Effect", "Allow", "Principal",
			 "Service", "sagemaker.amazonaws.com", "Action", "sts:AssumeRole",
			 trusted_account(c, component_inference.service_account));
}

/* The bucket of its certificates; models' buckets are granted one by one. */
static json_t *inference_statements(struct step_ctx *c)
{
	const char *bucket = arena_printf(c->arena, "arn:%s:s3:::%s", c->where->partition,
					  name_tls_bucket(c));

	return json_pack("[{s:s, s:s, s:s}, {s:s, s:[s,s,s,s], s:s}]", "Effect", "Allow",
			 "Action", "s3:ListBucket", "Resource", bucket, "Effect", "Allow",
			 "Action", "s3:GetObject", "s3:PutObject", "s3:PutObjectTagging",
			 "s3:DeleteObject", "Resource",
			 arena_printf(c->arena, "%s/*", bucket));
}

const struct role_spec role_inference = {
	.purpose = ROLE_INFERENCE,
	.description = "HyperPod inference operator",
	.trust = inference_trust,
	.given = role_is_unwanted,
	.statements = inference_statements,
	.managed = {"AmazonSageMakerHyperPodInferenceAccess"},
};

static bool scale_is_unwanted(const struct step_ctx *c)
{
	return role_is_unwanted(c) || !json_bool_or(c->data, "bundled.scale", true);
}

static bool load_is_unwanted(const struct step_ctx *c)
{
	return role_is_unwanted(c) || !json_bool_or(c->data, "bundled.load", true);
}

static json_t *scale_trust(struct step_ctx *c)
{
	return json_pack("[o]", trusted_account(c, "keda-operator"));
}

static json_t *load_trust(struct step_ctx *c)
{
	return json_pack("[o]", trusted_account(c, "aws-load-balancer-controller"));
}

/* Reads of the metrics that endpoints scale by. */
static json_t *scale_statements(struct step_ctx *c)
{
	(void)c;
	return json_pack("[{s:s, s:[s,s,s,s,s,s,s], s:s}]", "Effect", "Allow", "Action",
			 "cloudwatch:GetMetricData", "cloudwatch:GetMetricStatistics",
			 "cloudwatch:ListMetrics", "aps:QueryMetrics", "aps:GetLabels",
			 "aps:GetSeries", "aps:GetMetricMetadata", "Resource", "*");
}

const struct role_spec role_inference_scale = {
	.purpose = ROLE_INFERENCE_SCALE,
	.description = "KEDA of the HyperPod inference operator",
	.trust = scale_trust,
	.given = scale_is_unwanted,
	.statements = scale_statements,
};

const struct role_spec role_inference_load = {
	.purpose = ROLE_INFERENCE_LOAD,
	.description = "Load balancers of the HyperPod inference operator",
	.trust = load_trust,
	.given = load_is_unwanted,
	.statements = load_balancer_statements,
};
