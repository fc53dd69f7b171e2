#include "core/domain/hyperpod/group_spec.h"

#include "core/base/str.h"
#include "core/json/tree.h"

/*
 * Every member of the details, and what becomes of it. Of two that mean the
 * same member the first that has a value is taken: what is desired comes before
 * what is there now. Without `to` the service alone says it.
 */
struct member {
	const char *from;
	const char *to;
	const struct member *inner;
};

static const struct member requirements[] = {
	{"DesiredInstanceTypes", "InstanceTypes", NULL},
	{"CurrentInstanceTypes", "InstanceTypes", NULL},
	{NULL, NULL, NULL},
};

static const struct member kubernetes[] = {
	{"DesiredLabels", "Labels", NULL},
	{"CurrentLabels", NULL, NULL},
	{"DesiredTaints", "Taints", NULL},
	{"CurrentTaints", NULL, NULL},
	{NULL, NULL, NULL},
};

static const struct member auto_patch[] = {
	{"PatchingStrategy", "PatchingStrategy", NULL},
	{"DesiredPatchSchedule", "PatchSchedule", NULL},
	{"CurrentPatchSchedule", "PatchSchedule", NULL},
	{"DeploymentConfig", "DeploymentConfig", NULL},
	{NULL, NULL, NULL},
};

static const struct member group[] = {
	{"InstanceGroupName", "InstanceGroupName", NULL},
	{"TargetCount", "InstanceCount", NULL},
	{"MinCount", "MinInstanceCount", NULL},
	{"InstanceRequirements", "InstanceRequirements", requirements},
	{"InstanceType", "InstanceType", NULL},
	{"LifeCycleConfig", "LifeCycleConfig", NULL},
	{"ExecutionRole", "ExecutionRole", NULL},
	{"ThreadsPerCore", "ThreadsPerCore", NULL},
	{"InstanceStorageConfigs", "InstanceStorageConfigs", NULL},
	{"OnStartDeepHealthChecks", "OnStartDeepHealthChecks", NULL},
	{"TrainingPlanArn", "TrainingPlanArn", NULL},
	{"OverrideVpcConfig", "OverrideVpcConfig", NULL},
	{"ScheduledUpdateConfig", "ScheduledUpdateConfig", NULL},
	{"AutoPatchConfig", "AutoPatchConfig", auto_patch},
	{"DesiredImageId", "ImageId", NULL},
	{"CurrentImageId", "ImageId", NULL},
	{"DesiredImageReleaseVersion", "ImageReleaseVersion", NULL},
	{"CurrentImageReleaseVersion", "ImageReleaseVersion", NULL},
	{"KubernetesConfig", "KubernetesConfig", kubernetes},
	{"CapacityRequirements", "CapacityRequirements", NULL},
	{"SlurmConfig", "SlurmConfig", NULL},
	{"NetworkInterface", "NetworkInterface", NULL},
	{"CurrentCount", NULL, NULL},
	{"InstanceTypeDetails", NULL, NULL},
	{"Status", NULL, NULL},
	{"TrainingPlanStatus", NULL, NULL},
	{"ImageVersionStatus", NULL, NULL},
	{"ActiveOperations", NULL, NULL},
	{"TargetStateCount", NULL, NULL},
	{"SoftwareUpdateStatus", NULL, NULL},
	{"ActiveSoftwareUpdateConfig", NULL, NULL},
	{NULL, NULL, NULL},
};

static bool is_empty(const json_t *v)
{
	return !v || json_is_null(v) || streq(json_string_value(v), "") ||
	       (json_is_array(v) && json_array_size(v) == 0) ||
	       (json_is_object(v) && json_object_size(v) == 0);
}

/*
 * A copy without nulls and empty strings at any depth. Empty objects inside
 * stay: {"Spot": {}} says something.
 */
static json_t *without_nulls(const json_t *v)
{
	json_t *out, *item;
	const char *key;
	size_t i;

	if (json_is_array(v)) {
		out = json_array();
		json_array_foreach(v, i, item)
			json_array_append_new(out, without_nulls(item));
		return out;
	}
	if (!json_is_object(v))
		return json_deep_copy(v);
	out = json_object();
	json_object_foreach((json_t *)(uintptr_t)v, key, item)
		if (!json_is_null(item) && !streq(json_string_value(item), ""))
			json_object_set_new(out, key, without_nulls(item));
	return out;
}

static const char *unknown_in(const json_t *details, const struct member *known)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)details, key, v) {
		const struct member *m = known;

		while (m->from && !streq(m->from, key))
			m++;
		if (!m->from && !json_is_null(v))
			return key;
	}
	return NULL;
}

/* NULL: a member is unknown, *ret_unknown. */
static json_t *mapped(const json_t *details, const struct member *known,
		      const char **ret_unknown)
{
	json_t *out;

	*ret_unknown = unknown_in(details, known);
	if (*ret_unknown)
		return NULL;
	out = json_object();
	for (const struct member *m = known; m->from; m++) {
		const json_t *v = json_object_get(details, m->from);
		json_t *copy;

		if (!m->to || is_empty(v) || json_object_get(out, m->to))
			continue;
		copy = m->inner ? mapped(v, m->inner, ret_unknown) : without_nulls(v);
		if (!copy) {
			json_decref(out);
			return NULL;
		}
		if (is_empty(copy))
			json_decref(copy);
		else
			json_object_set_new(out, m->to, copy);
	}
	return out;
}

json_t *group_spec(const json_t *details, struct arena *a, struct err *e)
{
	const char *name = json_str_or(details, "InstanceGroupName", "?");
	const char *unknown;
	json_t *spec = mapped(details, group, &unknown);

	if (!spec) {
		err_set(e, ERR_STATE_CONFLICT,
			"Unknown field %s of the instance group %s: an update would "
			"reset it",
			unknown, name);
		err_field(e, unknown, name, "fields that this version knows");
		err_fix(e, "Upgrade InstantStart, or change this group by other means.");
		return NULL;
	}
	json_own(a, spec);
	/* A group of several types names one all the same; only one may be sent. */
	if (json_object_get(spec, "InstanceRequirements"))
		json_object_del(spec, "InstanceType");
	return spec;
}

size_t group_spec_compare(const json_t *wanted, const json_t *live,
			  void (*differs)(void *about, const char *member,
					  const json_t *wanted, const json_t *live),
			  void *about)
{
	size_t n = 0;

	for (const struct member *m = group; m->from; m++) {
		const json_t *w = m->to ? json_object_get(wanted, m->to) : NULL;
		const json_t *l = m->to ? json_object_get(live, m->to) : NULL;
		/* The second row of a pair names the same member. */
		const bool again = m > group && streq(m->to, m[-1].to);

		if (again || (!w && !l) || (w && l && json_equal(w, l)))
			continue;
		n++;
		if (differs)
			differs(about, m->to, w, l);
	}
	return n;
}
