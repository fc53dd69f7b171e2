#include "core/domain/karpenter/karpenter.h"
#include "core/json/tree.h"

static enum karpenter_state state_of(const json_t *autoscaling)
{
	const char *status = json_str_or(autoscaling, "Status", "");

	if (streq(status, "Deleting"))
		return KARPENTER_TURNING_OFF;
	if (!streq(json_str_at(autoscaling, "Mode"), "Enable"))
		return KARPENTER_OFF;
	if (streq(status, "Failed"))
		return KARPENTER_FAILED;
	return streq(status, "InService") ? KARPENTER_ON : KARPENTER_TURNING_ON;
}

struct karpenter karpenter_state(const json_t *cluster, const char *our_role_arn)
{
	const json_t *autoscaling = json_at(cluster, "AutoScaling");
	struct karpenter k = {.state = state_of(autoscaling),
			      .role_arn = json_str_at(cluster, "ClusterRole"),
			      .failure = json_str_at(autoscaling, "FailureMessage")};

	k.foreign = k.state != KARPENTER_OFF && !streq(k.role_arn, our_role_arn);
	return k;
}
