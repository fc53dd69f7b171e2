/*
 * set_training_operator.c - the operator of HyperPodPyTorchJobs, on or off.
 *
 * The binding comes before the add-on (its version takes none in the create call:
 * case DP-01), so that the controller's first pod has its role.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-eks-operator-install.html
 */
#include "core/domain/dependency/install.h"
#include "core/domain/dependency/remove.h"
#include "core/domain/feature/kinds.h"
#include "core/domain/feature/toggle.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/owners.h"
#include "core/domain/step/read.h"
#include "core/domain/step/role.h"

static const enum role_purpose training = ROLE_TRAINING_OPERATOR;

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	TOGGLE_CHECK_STEP,
	TOGGLE_USERS_STEPS,
	OWNERS_STEP,
	BROUGHT_ADDON_STEPS("pod_identity"),
	BROUGHT_ADDON_STEPS("cert_manager"),
	WEBHOOK_STEPS,
	ROLE_STEPS("training_operator", "training_operator", &role_training),
	ROLE_TRUST_STEP("training_operator", "training_operator", &role_training),
	BROUGHT_IDENTITY_STEP("training_operator"),
	BROUGHT_ADDON_STEPS("training_operator"),
	BROUGHT_REFRESH_STEP("training_operator"),
	TOGGLE_ENABLED_STEPS,

	REMOVE_ADDON_STEP("training_operator"),
	REMOVE_IDENTITY_STEP("training_operator"),
	REMOVE_ROLE_STEP("training_operator", "training_operator", &training),
	TOGGLE_JUDGE_STEP,
	REMOVE_ADDON_STEP("cert_manager"),
	REMOVE_ADDON_STEP("pod_identity"),
	TOGGLE_DISABLED_STEP,
	{.name = NULL},
};

static const struct phase_title phase_titles[] = {
	{"pod_identity", "EKS Pod Identity agent"},
	{"cert_manager", "cert-manager"},
	{"training_operator", "Training operator"},
	{NULL, NULL},
};

const struct kind kind_set_training_operator = {
	.name = "set_training_operator",
	.title = "Set the training operator",
	.steps = steps,
	.phase_titles = phase_titles,
	.deadline_s = 5 * 3600,
	.locks = lock_cluster,
	.undo = toggle_undo,
};
