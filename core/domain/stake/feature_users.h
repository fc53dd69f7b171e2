/*
 * feature_users.h - the objects in Kubernetes that need a managed feature.
 *
 * They are what is lost when it is turned off: for the plan's word, for get_features,
 * and for the row that ends them while their operator still runs.
 */
#ifndef INSTANTSTART_DOMAIN_STAKE_FEATURE_USERS_H
#define INSTANTSTART_DOMAIN_STAKE_FEATURE_USERS_H

#include "core/op/kind.h"

/* Builds the next read. Needs data.eks. */
bool feature_users_read(struct step_ctx *c, struct exchange *x, const char *feature);
/* ["HyperPodPyTorchJob team/llama"] of the arena. */
json_t *feature_users(struct step_ctx *c, const char *feature);

/* One of them: as the list above says it, and what names it. */
struct feature_user {
	const char *text;
	struct kube_request request;
	const json_t *object;
	bool going; /* it is being deleted */
};
/* Calls each() for those in the list until it answers false. */
void feature_users_each(struct step_ctx *c, const char *feature,
			bool (*each)(struct step_ctx *c, const struct feature_user *u,
				     void *arg),
			void *arg);

#endif
