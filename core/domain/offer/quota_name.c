#include "core/domain/offer/quota_name.h"

#include "core/base/str.h"

const char *ec2_type(const char *instance_type)
{
	return str_starts(instance_type, "ml.") ? instance_type + 3 : instance_type;
}

const char *quota_name(struct arena *a, const char *instance_type,
		       const char *capacity_type)
{
	if (streq(capacity_type, "training_plan"))
		return NULL;
	return arena_printf(a,
			    streq(capacity_type, "spot")
				    ? "%s for cluster spot instance usage"
				    : "%s for cluster usage",
			    instance_type);
}
