/* Quotas and capacity. */
#include "tests/cloud/ec2.h"
#include "tests/cloud/quotas.h"
#include "tests/cloud/sagemaker/sagemaker.h"

/* Nodes of the type in the account; all clusters count. */
static int64_t in_use(struct cloud *c, const char *type, bool spot, bool launched)
{
	const char *id;
	json_t *node;
	int64_t n = 0;

	json_object_foreach(cloud_table(c, SM_NODES), id, node)
		if (streq(json_str_at(node, "InstanceType"), type) &&
		    streq(json_str_at(node, "CapacityType"), "Spot") == spot &&
		    (!launched || json_object_get(node, "InstanceId")))
			n++;
	return n;
}

bool sm_check_quota(struct cloud_call *c, const char *type, bool spot, int64_t more)
{
	const char *name = arena_printf(c->arena, "%s for cluster %s", type,
					spot ? "spot instance usage" : "usage");
	int64_t used = in_use(c->cloud, type, spot, false);
	double limit = spot ? quota_cluster_spot(c->cloud, type)
			    : quota_cluster_usage(c->cloud, type);

	if (more <= 0 || (double)(used + more) <= limit)
		return true;
	return cloud_fault(
		c, "ResourceLimitExceeded",
		"The account-level service limit '%s' is %lld Instances, with current "
		"utilization of %lld Instances and a request delta of %lld Instances. "
		"Please use AWS Service Quotas to request an increase for this quota. If "
		"AWS Service Quotas is not available, contact AWS support to request an "
		"increase for this quota.",
		name, (long long)limit, (long long)used, (long long)more);
}

/* In the zone of one of the group's subnets. */
static bool offered_somewhere(struct sm_work *w, const struct ec2_type *t,
			      const json_t *group)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_object_get(sm_group_vpc(w->cluster, group), "Subnets"), i,
			   v) {
		const json_t *subnet = ec2_subnet(w->cloud, json_string_value(v));
		struct ec2_zone zone;

		if (ec2_find_zone(w->cloud, json_str_or(subnet, "AvailabilityZone", ""),
				  &zone) &&
		    ec2_type_offered(w->cloud, t, &zone))
			return true;
	}
	return false;
}

/* settings.capacity {type: how many exist}; what is not named is plenty. */
const char *sm_no_capacity(struct sm_work *w, const json_t *group)
{
	const char *type = sm_group_type(group);
	const struct ec2_type *t = ec2_type_find(type);
	const json_t *all = json_object_get(cloud_settings(w->cloud), "capacity");
	const json_t *limit = json_object_get(all, type);
	bool used_up = limit && in_use(w->cloud, type, false, true) +
						in_use(w->cloud, type, true, true) >=
					json_integer_value(limit);

	if (!used_up && t && offered_somewhere(w, t, group))
		return NULL;
	return arena_printf(
		w->arena,
		"We currently do not have sufficient capacity to launch new %s "
		"instances. Please try again.",
		type);
}
