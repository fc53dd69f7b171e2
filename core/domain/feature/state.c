/*
 * state.c - one word for how a feature stands.
 *
 * The service's transitional states are "pending": never taken for absence. A
 * feature whose add-on waits for its first node is pending, too (case DP-04).
 */
#include <string.h>

#include "core/domain/feature/feature.h"
#include "core/domain/hyperpod/update_cluster.h"
#include "core/domain/karpenter/karpenter.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

static const json_t *addon_of(const struct step_ctx *c, const struct feature *f)
{
	return json_at(saw(c, survey_key(c, "addon", f->name)), "addon");
}

static bool is_one_of(const char *status, const char *words)
{
	return status && *status && strstr(words, status);
}

const char *feature_status(const struct step_ctx *c, const struct feature *f)
{
	const json_t *cluster = saw(c, "hyperpod");

	if (f->component)
		return json_str_at(addon_of(c, f), "status");
	if (f->id == FEATURE_TIERED)
		return json_str_at(cluster, "TieredStorageConfig.Mode");
	return json_str_or(cluster, "AutoScaling.Status",
			   json_str_at(cluster, "AutoScaling.Mode"));
}

const char *feature_version(const struct step_ctx *c, const struct feature *f)
{
	return f->component ? json_str_at(addon_of(c, f), "addonVersion") : NULL;
}

const char *feature_trouble(const struct step_ctx *c, const struct feature *f)
{
	if (f->component)
		return json_str_at(addon_of(c, f), "health.issues.0.message");
	if (f->id == FEATURE_AUTOSCALING)
		return json_str_at(saw(c, "hyperpod"), "AutoScaling.FailureMessage");
	return NULL;
}

static bool has_state(const json_t *chain, const char *state)
{
	return json_find(chain, "state", state) != NULL;
}

/* A provider alone is no part of the feature: it is the cluster's, for all that bind
 * roles by web identity. */
static bool is_left_over(const json_t *chain)
{
	size_t i;
	json_t *part;

	json_array_foreach(chain, i, part) {
		const char *state = json_str_or(part, "state", "");

		if (!streq(json_str_at(part, "part"), "oidc_provider") &&
		    (streq(state, "present") || streq(state, "differs")))
			return true;
	}
	return false;
}

static const char *addon_state(const struct step_ctx *c, const struct feature *f,
			       const json_t *chain)
{
	const json_t *addon = addon_of(c, f);
	const char *status = json_str_or(addon, "status", "");
	const char *issue = json_str_or(addon, "health.issues.0.code", "");

	if (!addon)
		return is_left_over(chain) ? "partial" : "disabled";
	if (is_one_of(status, "CREATING UPDATING DELETING"))
		return "pending";
	if (!step_tagged_cluster(c, json_at(addon, "tags")))
		return "foreign";
	if (streq(status, "DEGRADED") && streq(issue, "InsufficientNumberOfReplicas"))
		return "pending";
	if (!streq(status, "ACTIVE"))
		return "failed";
	return has_state(chain, "missing") || has_state(chain, "differs") ? "partial"
									  : "enabled";
}

static const char *scaler_state(const struct step_ctx *c, const json_t *chain)
{
	const struct karpenter k =
		karpenter_state(saw(c, "hyperpod"), name_role_arn(c, ROLE_AUTOSCALING));

	switch (k.state) {
	case KARPENTER_OFF:
		return has_state(chain, "present") ? "partial" : "disabled";
	case KARPENTER_TURNING_ON:
	case KARPENTER_TURNING_OFF:
		return "pending";
	case KARPENTER_FAILED:
		return "failed";
	case KARPENTER_ON:
		break;
	}
	return k.foreign                     ? "foreign"
	       : has_state(chain, "missing") ? "partial"
					     : "enabled";
}

static const char *tiered_state(const struct step_ctx *c)
{
	const json_t *cluster = saw(c, "hyperpod");

	if (update_cluster_is_busy(json_str_or(cluster, "ClusterStatus", "")))
		return "pending";
	return streq(json_str_or(cluster, "TieredStorageConfig.Mode", "Disable"),
		     "Enable")
		       ? "enabled"
		       : "disabled";
}

const char *feature_state(struct step_ctx *c, const struct feature *f,
			  const json_t *chain)
{
	if (f->component)
		return addon_state(c, f, chain);
	return f->id == FEATURE_TIERED ? tiered_state(c) : scaler_state(c, chain);
}
