/*
 * operator.h - what add-ons put into Kubernetes, what they need there, and what of it
 * goes with them.
 *
 * The objects of an add-on are a list that depends on its configuration; those that
 * exist are remembered in its "_objects". CustomResourceDefinitions and namespaces
 * stay when the add-on is deleted, as with the real ones.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_EKS_OPERATOR_H
#define INSTANTSTART_TESTS_CLOUD_EKS_OPERATOR_H

#include "tests/cloud/eks/eks.h"

/* Makes what is missing, takes away what the configuration no longer has. */
void operator_apply(struct cloud *c, struct arena *a, json_t *addon);
void operator_remove(struct cloud *c, struct arena *a, json_t *addon);
/* NULL: it works; else what is wrong, with the code of health.issues. */
const char *operator_trouble(struct cloud *c, struct arena *a, const json_t *addon,
			     const char **ret_code);
/* NULL, or why its objects cannot be made: what is wrong, or a webhook that judges them
 * and does not answer. */
const char *operator_refusal(struct cloud *c, struct arena *a, const json_t *addon,
			     const char **ret_code);
/* Its configuration; NULL: it has none. */
json_t *operator_values(struct arena *a, const json_t *addon);
/* NULL, or why CreateAddon refuses the configuration. */
const char *operator_bad_values(struct arena *a, const char *addon, const char *values);
/* CustomResourceDefinitions of an add-on: JSON with ' for ", NULL-ended; NULL: none. */
const char *const *operator_definitions(const char *addon);

#endif
