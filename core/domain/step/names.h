/*
 * names.h - names of what we make: functions of the cluster's name alone, so
 * that a repeat finds what the first try made, and delete finds all of it.
 *
 * All go through name_join() (step/name.h). Where an installation has made a thing
 * under a name of an earlier rule, what is recorded counts: `roles` of the input.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_NAMES_H
#define INSTANTSTART_DOMAIN_STEP_NAMES_H

#include "core/domain/step/name.h"
#include "core/op/kind.h"

/* What a role is for; the list is what delete walks. */
enum role_purpose {
	ROLE_NODES, /* execution role of the instance groups */
	ROLE_S3_CSI,
	ROLE_FSX_CSI,
	ROLE_LOAD_BALANCERS,
	ROLE_AUTOSCALING, /* of the cluster: adds and removes nodes */
	ROLE_TRAINING_OPERATOR,
	ROLE_INFERENCE,       /* of the inference operator */
	ROLE_INFERENCE_SCALE, /* of the KEDA that it brings */
	ROLE_INFERENCE_LOAD,  /* of the load-balancer controller that it brings */
	ROLE_GATED_MODELS,    /* of pods that fetch models which ask for consent */
	ROLE_PURPOSES_
};

const char *name_stack(const struct step_ctx *c); /* instantstart-CLUSTER */
const char *name_role(const struct step_ctx *c, enum role_purpose p);
const char *name_role_arn(const struct step_ctx *c, enum role_purpose p);
/* The configured bucket, or sagemaker-instantstart-ACCOUNT-REGION. */
const char *name_bucket(const struct step_ctx *c);
bool name_bucket_is_ours(const struct step_ctx *c);
/* hyperpod-tls-ACCOUNT-REGION-…: where the inference operator keeps certificates. */
const char *name_tls_bucket(const struct step_ctx *c);
/* What the service takes of the cluster's name for a HyperPod cluster. */
const char *name_hyperpod(const struct step_ctx *c);
/* The cluster's name as the value of a label in Kubernetes. */
const char *name_label(const struct step_ctx *c);
/* clusters/CLUSTER/lifecycle */
const char *name_lifecycle_prefix(const struct step_ctx *c);

#endif
