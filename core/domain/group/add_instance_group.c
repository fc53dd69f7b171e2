/*
 * add_instance_group.c - one more group, with what can never change afterwards.
 *
 * Capacity, interface mode and place are fixed by one UpdateCluster that carries
 * the new group alone. Everything that can be known to fail is said before, all
 * of it at once. A role or a script that is not given is that of a group that
 * works already; without any, ours.
 */
#include <string.h>

#include "core/domain/group/group.h"
#include "core/domain/hyperpod/bucket.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/new_group.h"
#include "core/domain/hyperpod/nodes_role.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/hyperpod/subnet_room.h"
#include "core/domain/hyperpod/update_cluster.h"
#include "core/domain/network/compute_subnet.h"
#include "core/domain/network/security_group.h"
#include "core/domain/offer/group_takes.h"
#include "core/domain/offer/quota_name.h"
#include "core/domain/offer/wish.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/owners.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

/* --- the cluster as it is ---------------------------------------------------------- */

static bool read_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x);
}

static bool needs_continuous(const struct step_ctx *c)
{
	return streq(step_input(c, "capacity_type"), "spot") ||
	       json_len_at(c->input, "instance_types") > 0;
}

/*
 * The group whose role and script the new one takes; NULL: there is none. Not one
 * whose role an earlier try has been refused with.
 */
static const json_t *model_group(const struct step_ctx *c, const json_t *cluster)
{
	const char *refused = json_str_or(c->data, "refused_role", "");
	size_t i;
	json_t *g;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
		if (!streq(json_str_at(g, "Status"), "Deleting") &&
		    json_str_at(g, "ExecutionRole") &&
		    !streq(json_str_at(g, "ExecutionRole"), refused) &&
		    json_str_at(g, "LifeCycleConfig.SourceS3Uri"))
			return g;
	return NULL;
}

#define KEPT "TieredStorageConfig.InstanceMemoryAllocationPercentage"

/* What the checks reckon with: nodes that are there, memory that nodes keep. */
static void keep_size(struct step_ctx *c, const json_t *cluster)
{
	json_t *types = json_new_list(c->arena), *g, *t;
	int64_t n = 0;
	size_t i, k;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g) {
		n += json_int_or(g, "CurrentCount", 0);
		json_array_foreach(group_types(c->arena, g), k, t)
			texts_add(types, json_packf(c->arena, "[s]",
						    ec2_type(json_string_value(t))));
	}
	step_save(c, "nodes_there", json_integer(n));
	step_save(c, "types_there", json_incref(types));
	if (!streq(json_str_at(cluster, "TieredStorageConfig.Mode"), "Enable"))
		return;
	if (json_at(cluster, KEPT))
		step_save(c, "kept_percent", json_integer(json_int_or(cluster, KEPT, 0)));
	else
		step_not_known(c, "share",
			       "how much memory tiered checkpointing keeps of each node");
}

static void keep_model(struct step_ctx *c, const json_t *cluster)
{
	const json_t *model = model_group(c, cluster);
	json_t *script = json_at(model, "LifeCycleConfig");

	if (json_at(cluster, "VpcConfig.SecurityGroupIds"))
		step_save(c, "security_group_ids",
			  json_deep_copy(json_at(cluster, "VpcConfig.SecurityGroupIds")));
	step_save_str(c, "model.role", json_str_at(model, "ExecutionRole"));
	if (script)
		step_save(c, "model.script", json_deep_copy(script));
}

static void read_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *cluster = saw(c, "hyperpod");
	struct err *e;

	(void)x;
	if (!cluster) {
		hyperpod_absent(c);
		return;
	}
	keep_model(c, cluster);
	keep_size(c, cluster);
	/* Of an earlier try, that is ours. */
	if (group_live(c) && !step_has_sent(c, "add_group")) {
		e = step_fail(c, ERR_STATE_CONFLICT,
			      "%s already has an instance group named %s (%s)",
			      hyperpod_name(c), group_name(c),
			      json_str_or(group_live(c), "Status", "?"));
		err_field(e, "/name", group_name(c), "a name that is not in use");
		err_fix(e, "Scale it with scale_instance_group, or choose another name.");
	} else if (needs_continuous(c) && !group_is_continuous(cluster)) {
		e = step_fail(c, ERR_STATE_CONFLICT,
			      "%s is not in Continuous mode. Groups cannot use spot "
			      "capacity or several instance types",
			      hyperpod_name(c));
		err_field(e,
			  json_len_at(c->input, "instance_types") ? "/instance_types"
								  : "/capacity_type",
			  wish_types_text(c),
			  "one instance type, on-demand or from a training plan");
		e->retry = RETRY_NEVER;
	}
}

/* --- whose role, whose script --------------------------------------------------------
 */

static const char *role_of(struct step_ctx *c)
{
	const char *given = step_input(c, "execution_role_arn");

	if (!given)
		given = json_str_at(c->data, "model.role");
	return given ? given : name_role_arn(c, ROLE_NODES);
}

/* With both at hand nothing of ours is needed. */
static void choose_plan(struct step_ctx *c, struct exchange *x)
{
	const bool role =
		step_input(c, "execution_role_arn") || json_str_at(c->data, "model.role");
	const bool script =
		step_input(c, "lifecycle_s3_uri") || json_at(c->data, "model.script");

	(void)x;
	if (role && script)
		step_goto(c, "find_subnet");
}

/* --- the group ------------------------------------------------------------------------
 */

static json_t *security_groups(struct step_ctx *c)
{
	const char *given = step_input(c, "security_group_id");
	json_t *several = json_at(c->data, "security_group_ids");

	if (!given && json_array_size(several) > 0)
		return json_deep_copy(several);
	return json_pack("[s]", given ? given : step_get(c, "security_group_id"));
}

static json_t *spec_of(struct step_ctx *c)
{
	const struct new_group g = {.role = role_of(c),
				    .script = json_at(c->data, "model.script"),
				    .security_groups = security_groups(c),
				    .subnet = step_get(c, "subnet.id")};

	return json_incref(new_group_spec(c, &g));
}

/* A group cannot carry our tag: it is ours when we have asked for it. */
static bool is_asked_for(const struct step_ctx *c)
{
	return c->issued_before || json_int_or(c->data, "_update.add_group.sends", 0) > 0;
}

static const char *role_name(struct step_ctx *c)
{
	const char *arn = role_of(c), *slash = strrchr(arn, '/');

	return slash ? slash + 1 : arn;
}

/* The role of the group that was the model, or the caller's: SageMaker would refuse it
 * when all else is made. True: the step has failed. */
static bool role_is_gone(struct step_ctx *c)
{
	struct err *e;

	if (!c->planning || !saw_missing(c, "role") ||
	    step_is_coming(c, "iam:CreateRole", role_name(c)))
		return false;
	e = step_fail(c, ERR_CLOUD_NOT_FOUND, "There is no role %s", role_of(c));
	err_field(e, "/execution_role_arn", role_of(c), "a role of this account");
	err_fix(e,
		"Set execution_role_arn to an existing role. Other groups use the missing one.");
	return true;
}

static const char *add_want(struct step_ctx *c, const json_t *live, json_t *in)
{
	if (group_in(live, group_name(c)) && !is_asked_for(c)) {
		struct err *e = step_fail(
			c, ERR_FOREIGN_OBJECT,
			"An instance group named %s was added outside InstantStart",
			group_name(c));
		err_field(e, "/name", group_name(c), "a name that is not in use");
		return NULL;
	}
	if (group_in(live, group_name(c)) || role_is_gone(c))
		return NULL;
	update_add_group(in, spec_of(c));
	return arena_printf(c->arena, "Add the instance group %s: %lld × %s (%s), in %s",
			    group_name(c), (long long)wish_count(c), wish_types_text(c),
			    step_input(c, "capacity_type"), step_get(c, "subnet.id"));
}

static const struct update_cluster add_group = {.want = add_want};

/* The role as well: "cannot be assumed" means two things. */
static bool add_observe(struct step_ctx *c, struct exchange *x)
{
	return update_cluster_observe(c, x) ||
	       (!group_live(c) &&
		read_aws(c, x, "role", AWS_IAM_GetRole,
			 json_packf(c->arena, "{s:s}", "RoleName", role_name(c))));
}

/* A role of our choice that SageMaker cannot use is not chosen again by a retry. */
static void add_absorb(struct step_ctx *c, const struct answer *a)
{
	update_cluster_absorb(c, a);
	if (c->verdict.kind == VERDICT_FAIL && !step_input(c, "execution_role_arn") &&
	    strcasestr(a->message ? a->message : "", "role"))
		step_save_str(c, "refused_role", role_of(c));
}

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	{.name = "read_cluster",
	 .phase = "check",
	 .title = "Read the HyperPod cluster",
	 .effect = EFFECT_READ,
	 .observe = read_observe,
	 .seen = read_seen,
	 .plan = read_plan,
	 .on_fail = preflight_note,
	 .choice = "model"},
	PREFLIGHT_STEPS_WITH(preflight_note),
	PREFLIGHT_ROLE_STEP(preflight_note),
	PREFLIGHT_VERDICT("read_cluster"),
	{.name = "choose_role",
	 .phase = "check",
	 .title = "Choose the role and the lifecycle script",
	 .effect = EFFECT_READ,
	 .plan = choose_plan},
	OWNERS_STEP,
	BUCKET_STEPS,
	ROLE_STEPS("nodes", "roles", &nodes_role),
	COMPUTE_SUBNET_STEPS,
	SUBNET_ROOM_STEP,
	SECURITY_GROUP_STEPS,
	{.name = "add_group",
	 .phase = "group",
	 .title = "Add the instance group",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 2 * 3600,
	 .observe = add_observe,
	 .seen = read_seen,
	 .plan = update_cluster_plan,
	 .absorb = add_absorb,
	 .retry_step = "read_cluster",
	 .arg = &add_group,
	 .leaves = &group_leaves_group},
	WATCH_GROUP_STEP("wait_group", "add_group"),
	{.name = NULL},
};

const struct kind kind_add_instance_group = {
	.name = "add_instance_group",
	.title = "Add an instance group",
	.steps = steps,
	.deadline_s = 8 * 3600,
	.locks = lock_cluster,
	.undo = group_undo_group,
};
