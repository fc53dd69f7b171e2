#include "core/domain/offer/group_takes.h"

#include "core/domain/step/texts.h"
#include "core/json/tree.h"

static int64_t count(const json_t *group, const char *member)
{
	const int64_t n = json_int_or(group, member, 0);

	return n > 0 ? n : 0;
}

int64_t group_is_owed(const json_t *group)
{
	const int64_t owed = count(group, "TargetCount") - count(group, "CurrentCount");

	return owed > 0 ? owed : 0;
}

int64_t group_takes_all(const json_t *group)
{
	return count(group, "CurrentCount") + group_is_owed(group);
}

json_t *group_types(struct arena *a, const json_t *group)
{
	json_t *types = json_new_list(a);

	texts_add(types, json_at(group, "InstanceRequirements.CurrentInstanceTypes"));
	texts_add(types, json_at(group, "InstanceRequirements.DesiredInstanceTypes"));
	if (json_array_size(types) == 0 && json_str_at(group, "InstanceType"))
		json_push(types, json_string(json_str_at(group, "InstanceType")));
	return types;
}

/* Both lists: while the types of a group change, nodes of either come. */
static bool may_be(const json_t *group, const char *type)
{
	return texts_have(json_at(group, "InstanceRequirements.CurrentInstanceTypes"),
			  type) ||
	       texts_have(json_at(group, "InstanceRequirements.DesiredInstanceTypes"),
			  type);
}

int64_t group_takes(const json_t *group, const char *type, bool spot)
{
	const json_t *details = json_at(group, "InstanceTypeDetails");
	const json_t *row;

	if (json_str_at(group, "TrainingPlanArn") ||
	    spot != (json_at(group, "CapacityRequirements.Spot") != NULL))
		return 0;
	if (!json_at(group, "InstanceRequirements"))
		return streq(json_str_or(group, "InstanceType", ""), type)
			       ? group_takes_all(group)
			       : 0;
	row = json_find(details, "InstanceType", type);
	/* Without details each node may be of it. */
	if (json_array_size(details) == 0)
		return may_be(group, type) ? group_takes_all(group) : 0;
	return count(row, "CurrentCount") +
	       (may_be(group, type) ? group_is_owed(group) : 0);
}
