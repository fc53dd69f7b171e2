/*
 * set_inference_operator.c - the operator of model endpoints, on or off.
 *
 * AWS's add-on, not the older chart: it takes the roles of itself, of the KEDA and
 * of the load-balancer controller that it brings, each bound to one service account
 * by web identity. What the cluster has already is not brought a second time.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-model-deployment-setup.html
 */
#include "core/domain/dependency/install.h"
#include "core/domain/dependency/remove.h"
#include "core/domain/feature/kinds.h"
#include "core/domain/feature/toggle.h"
#include "core/domain/hyperpod/bucket.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/owners.h"
#include "core/domain/step/read.h"
#include "core/domain/step/role.h"

static const enum role_purpose inference = ROLE_INFERENCE;
static const enum role_purpose scale = ROLE_INFERENCE_SCALE;
static const enum role_purpose load = ROLE_INFERENCE_LOAD;
static const enum role_purpose gated = ROLE_GATED_MODELS;

#define BROUGHT_DRIVER_STEPS(prefix, spec)                                               \
	ROLE_STEPS(prefix, prefix, spec), BROUGHT_IDENTITY_STEP(prefix),                 \
		BROUGHT_ADDON_STEPS(prefix), BROUGHT_REFRESH_STEP(prefix)
#define REMOVE_DRIVER_STEPS(prefix, purpose)                                             \
	REMOVE_ADDON_STEP(prefix), REMOVE_IDENTITY_STEP(prefix),                         \
		REMOVE_ROLE_STEP(prefix, prefix, purpose)
#define OPERATOR_ROLE_STEPS(row, spec)                                                   \
	ROLE_STEPS(row, "inference_operator", spec),                                     \
		ROLE_TRUST_STEP(row, "inference_operator", spec)
#define BUCKET_STEP(row, words, class, f, done)                                          \
	{                                                                                \
		.name = (row), .phase = "certificates", .title = (words),                \
		.effect = (class), .observe = tls_bucket_observe, .seen = read_seen,     \
		.plan = (f), .absorb = (done)                                            \
	}

#define REMOVE_BUCKET_STEP(row, words, f, done)                                          \
	{                                                                                \
		.name = (row), .phase = "certificates", .title = (words),                \
		.effect = EFFECT_CONVERGENT, .observe = tls_objects_observe,             \
		.seen = read_seen, .plan = (f), .absorb = (done)                         \
	}

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	TOGGLE_CHECK_STEP,
	TOGGLE_USERS_STEPS,
	OWNERS_STEP,
	BROUGHT_ADDON_STEPS("pod_identity"),
	BROUGHT_ADDON_STEPS("cert_manager"),
	WEBHOOK_STEPS,
	BROUGHT_ADDON_STEPS("metrics"),
	BROUGHT_DRIVER_STEPS("s3_csi", &role_s3_csi),
	BROUGHT_DRIVER_STEPS("fsx_csi", &role_fsx_csi),
	{.name = "oidc_provider",
	 .phase = "inference_operator",
	 .title = "Register the cluster's OIDC issuer with IAM",
	 .effect = EFFECT_NAMED,
	 .observe = oidc_observe,
	 .seen = read_seen,
	 .plan = oidc_plan,
	 .absorb = oidc_absorb},
	BUCKET_STEP("tls_bucket", "Create the certificate bucket", EFFECT_NAMED,
		    tls_bucket_create_plan, tls_bucket_create_absorb),
	BUCKET_STEP("tls_bucket_tag", "Tag the certificate bucket", EFFECT_CONVERGENT,
		    tls_bucket_tag_plan, tls_bucket_absorb),
	BUCKET_STEP("tls_bucket_close", "Block public access to the certificate bucket",
		    EFFECT_CONVERGENT, tls_bucket_close_plan, tls_bucket_absorb),
	{.name = "tls_bucket_policy",
	 .phase = "certificates",
	 .title = "Require TLS for the certificate bucket",
	 .effect = EFFECT_CONVERGENT,
	 .sees_errors = true,
	 .observe = tls_bucket_policy_observe,
	 .seen = read_seen,
	 .plan = tls_bucket_policy_plan,
	 .absorb = bucket_policy_absorb},
	OPERATOR_ROLE_STEPS("inference_operator", &role_inference),
	OPERATOR_ROLE_STEPS("inference_scale", &role_inference_scale),
	OPERATOR_ROLE_STEPS("inference_load", &role_inference_load),
	OPERATOR_ROLE_STEPS("gated_models", &role_gated_models),
	BROUGHT_ADDON_STEPS("inference_operator"),
	{.name = "inference_operator_binding",
	 .phase = "inference_operator",
	 .title = "Bind its service accounts to their roles",
	 .effect = EFFECT_CONVERGENT,
	 .observe = binding_observe,
	 .seen = read_seen,
	 .plan = binding_plan,
	 .absorb = binding_absorb},
	TOGGLE_ENABLED_STEPS,

	REMOVE_ADDON_STEP("inference_operator"),
	REMOVE_ROLE_STEP("gated_models", "inference_operator", &gated),
	REMOVE_ROLE_STEP("inference_load", "inference_operator", &load),
	REMOVE_ROLE_STEP("inference_scale", "inference_operator", &scale),
	REMOVE_ROLE_STEP("inference_operator", "inference_operator", &inference),
	REMOVE_BUCKET_STEP("tls_objects_remove", "Delete the certificates",
			   tls_objects_plan, tls_objects_absorb),
	REMOVE_BUCKET_STEP("tls_bucket_remove", "Delete the certificate bucket",
			   tls_bucket_remove_plan, removal_absorb),
	{.name = "oidc_provider_remove",
	 .phase = "inference_operator",
	 .title = "Delete the identity provider",
	 .effect = EFFECT_CONVERGENT,
	 .observe = oidc_remove_observe,
	 .seen = read_seen,
	 .plan = oidc_remove_plan,
	 .absorb = removal_absorb},
	TOGGLE_JUDGE_STEP,
	REMOVE_DRIVER_STEPS("fsx_csi", &removal_role_fsx_csi),
	REMOVE_DRIVER_STEPS("s3_csi", &removal_role_s3_csi),
	REMOVE_ADDON_STEP("metrics"),
	REMOVE_ADDON_STEP("cert_manager"),
	REMOVE_ADDON_STEP("pod_identity"),
	TOGGLE_DISABLED_STEP,
	{.name = NULL},
};

static const struct phase_title phase_titles[] = {
	{"pod_identity", "EKS Pod Identity agent"},
	{"cert_manager", "cert-manager"},
	{"metrics", "Kubernetes Metrics Server"},
	{"s3_csi", "Mountpoint for Amazon S3 CSI driver"},
	{"fsx_csi", "Amazon FSx CSI driver"},
	{"certificates", "Certificates"},
	{"inference_operator", "Inference operator"},
	{NULL, NULL},
};

const struct kind kind_set_inference_operator = {
	.name = "set_inference_operator",
	.title = "Set the inference operator",
	.steps = steps,
	.phase_titles = phase_titles,
	.deadline_s = 6 * 3600,
	.locks = lock_cluster,
	.undo = toggle_undo,
};
