#include "core/domain/group/group.h"
#include "core/base/nearest.h"

#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/step/absent.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

const char *group_name(const struct step_ctx *c)
{
	const char *name = step_input(c, "group_name");

	return name ? name : "";
}

json_t *group_in(const json_t *cluster, const char *name)
{
	return json_find(json_at(cluster, "InstanceGroups"), "InstanceGroupName", name);
}

json_t *group_live(const struct step_ctx *c)
{
	return group_in(saw(c, "hyperpod"), group_name(c));
}

bool group_is_continuous(const json_t *cluster)
{
	return streq(json_str_at(cluster, "NodeProvisioningMode"), "Continuous");
}

const char *group_hint(struct arena *a, const json_t *cluster, const char *name)
{
	struct nearest near = {.wanted = name};
	const json_t *g;
	size_t i;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
		nearest_offer(&near, json_str_or(g, "InstanceGroupName", ""));
	return nearest_hint(&near, a, "a name from list_instance_groups");
}

bool group_must_be(struct step_ctx *c)
{
	const json_t *cluster = saw(c, "hyperpod");
	struct err *e;

	if (cluster && !group_live(c) &&
	    !is_absent(c, GROUP_TYPE, group_name(c),
		       arena_printf(c->arena, "the instance group %s", group_name(c))))
		return false;
	/* What an earlier try has asked for does not come to it any more. */
	if (!group_live(c))
		step_gone(c, group_name(c));
	if (!cluster) {
		hyperpod_absent(c);
		return false;
	}
	if (streq(json_str_at(cluster, "ClusterStatus"), "Failed")) {
		e = step_fail(c, ERR_CLUSTER_FAILED,
			      "The HyperPod cluster %s is Failed: %s", hyperpod_name(c),
			      json_str_or(cluster, "FailureMessage", "no reason given"));
		err_fix(e,
			"A failed cluster cannot be changed. Retry the operation that "
			"created it: the failed cluster is deleted and created again.");
		return false;
	}
	if (!group_live(c)) {
		e = step_fail(c, ERR_CLOUD_NOT_FOUND, "%s has no instance group named %s",
			      hyperpod_name(c), group_name(c));
		err_field(e, "/group", group_name(c),
			  group_hint(c->arena, cluster, group_name(c)));
		return false;
	}
	return true;
}

void group_record(struct step_ctx *c)
{
	size_t i;
	json_t *g;

	json_array_foreach(json_at(saw(c, "hyperpod"), "InstanceGroups"), i, g)
		step_catalog(c, "instance_group",
			     json_str_or(g, "InstanceGroupName", "?"), NULL,
			     json_deep_copy(g));
}
