/*
 * scale_instance_group.c - more nodes or fewer, by the calls made for it.
 *
 * In Continuous mode nodes are added by BatchAddClusterNodes with a client token
 * (case IG-01: valid eight hours; afterwards the group's target and its logical
 * ids tell) and taken away by BatchDeleteClusterNodes, so that we choose which:
 * those that never worked, then those without work. Neither sends the group's
 * specification, so nothing else can change. Other clusters know UpdateCluster
 * alone.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_BatchAddClusterNodes.html
 */
#include "core/domain/group/group.h"
#include "core/domain/group/scale.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/hyperpod/subnet_room.h"
#include "core/domain/hyperpod/update_cluster.h"
#include "core/domain/offer/wish.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* --- what there is ----------------------------------------------------------------- */

bool scale_read_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) || (group_live(c) && group_list_observe(c, x));
}

json_t *scale_logical_ids(struct step_ctx *c)
{
	json_t *list = json_array();
	size_t i;
	json_t *node;

	json_array_foreach(group_nodes(c), i, node)
		if (json_str_or(node, "NodeLogicalId", "")[0])
			json_push(list, json_string(json_str_at(node, "NodeLogicalId")));
	return list;
}

static void read_plan(struct step_ctx *c, struct exchange *x)
{
	const int64_t wanted = wish_count(c);
	const json_t *g = group_live(c);
	int64_t target, least;
	struct err *e;

	(void)x;
	if (!group_must_be(c))
		return;
	target = json_int_or(g, "TargetCount", 0);
	least = json_int_or(g, "MinCount", 0);
	if (wanted < least) {
		e = step_fail(c, ERR_STATE_CONFLICT, "%s has a minimum of %lld nodes",
			      group_name(c), (long long)least);
		err_field(e, "/count", arena_printf(c->arena, "%lld", (long long)wanted),
			  arena_printf(c->arena, "at least %lld", (long long)least));
		err_fix(e, "Lower min_count with update_instance_group first.");
		return;
	}
	wish_save(c, saw(c, "hyperpod"), g);
	step_save(c, "subnet.id",
		  json_string(json_str_or(c->data, "wish.subnet_id", "")));
	step_save(c, "continuous", json_boolean(group_is_continuous(saw(c, "hyperpod"))));
	step_save(c, "from", json_integer(target));
	group_note_count(c, target);
	step_save(c, "more", json_integer(wanted - target));
	step_save(c, "group_role",
		  wanted > target && json_str_at(g, "ExecutionRole")
			  ? json_string(json_str_at(g, "ExecutionRole"))
			  : json_null());
	step_save(c, "known", scale_logical_ids(c));
}

int64_t scale_more(const struct step_ctx *c)
{
	return json_int_or(c->data, "more", 0);
}

bool scale_is_outdated(const struct step_ctx *c)
{
	const int64_t from = json_int_or(c->data, "from", 0);

	return group_live(c) && json_int_or(group_live(c), "TargetCount", from) != from;
}

bool scale_is_continuous(const struct step_ctx *c)
{
	return json_bool_or(c->data, "continuous", false);
}

static bool room_observe(struct step_ctx *c, struct exchange *x)
{
	return scale_more(c) > 0 && subnet_room_observe(c, x);
}

static void room_plan(struct step_ctx *c, struct exchange *x)
{
	if (scale_more(c) > 0)
		subnet_room_plan(c, x);
}

static bool network_observe(struct step_ctx *c, struct exchange *x)
{
	return scale_more(c) > 0 && given_network_observe(c, x);
}

static void network_plan(struct step_ctx *c, struct exchange *x)
{
	if (scale_more(c) > 0)
		given_network_plan(c, x);
}

static bool plan_observe(struct step_ctx *c, struct exchange *x)
{
	return scale_more(c) > 0 && training_plan_observe(c, x);
}

static void plan_plan(struct step_ctx *c, struct exchange *x)
{
	if (scale_more(c) > 0)
		training_plan_plan(c, x);
}

/* --- without batch calls
 * ----------------------------------------------------------------- */

static const char *count_want(struct step_ctx *c, const json_t *live, json_t *in)
{
	json_t *g;

	if (scale_is_continuous(c))
		return NULL;
	g = update_group(c, live, in, group_name(c));
	if (!g)
		return NULL;
	json_put_int(g, "InstanceCount", wish_count(c));
	return arena_printf(c->arena, "Set the count of %s to %lld", group_name(c),
			    (long long)wish_count(c));
}

static const struct update_cluster set_count = {.want = count_want};

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	{.name = "read_group",
	 .phase = "check",
	 .title = "Read the instance group",
	 .effect = EFFECT_READ,
	 .observe = scale_read_observe,
	 .seen = read_seen,
	 .plan = read_plan,
	 .on_fail = preflight_note},
	STAKE_STEP("check_users", "Find pods on nodes to remove", &scale_leaving),
	PREFLIGHT_QUOTA_STEP(preflight_note),
	{.name = "check_training_plan",
	 .phase = "check",
	 .title = "Check the training plan",
	 .effect = EFFECT_READ,
	 .check = true,
	 .observe = plan_observe,
	 .seen = read_seen,
	 .plan = plan_plan,
	 .on_fail = preflight_note},
	{.name = "check_addresses",
	 .phase = "check",
	 .title = "Check that the subnet has enough addresses",
	 .effect = EFFECT_READ,
	 .check = true,
	 .sees_errors = true,
	 .sees_silence = true,
	 .observe = room_observe,
	 .seen = read_seen,
	 .plan = room_plan,
	 .on_fail = preflight_note},
	PREFLIGHT_STEP("check_network", "Check the network of the nodes", network, true,
		       preflight_note),
	PREFLIGHT_ROLE_STEP(preflight_note),
	PREFLIGHT_VERDICT("read_group"),
	{.name = "add_nodes",
	 .phase = "nodes",
	 .title = "Add nodes",
	 .effect = EFFECT_TOKEN,
	 .deadline_s = 2 * 3600,
	 .observe = scale_add_observe,
	 .seen = read_seen,
	 .plan = scale_add_plan,
	 .absorb = scale_add_absorb,
	 .leaves = &group_leaves_count,
	 .retry_step = "read_group"},
	{.name = "choose_nodes",
	 .phase = "nodes",
	 .title = "Choose the nodes to remove",
	 .effect = EFFECT_READ,
	 .observe = scale_choose_observe,
	 .seen = read_seen,
	 .plan = scale_choose_plan,
	 .choice = "victims"},
	{.name = "delete_nodes",
	 .phase = "nodes",
	 .title = "Remove nodes",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 2 * 3600,
	 .observe = scale_delete_observe,
	 .seen = read_seen,
	 .plan = scale_delete_plan,
	 .absorb = scale_delete_absorb,
	 .leaves = &group_leaves_count,
	 .retry_step = "read_group"},
	UPDATE_CLUSTER_STEP_WITH("set_count", "nodes", "Set the number of nodes",
				 &set_count, .leaves = &group_leaves_count),
	WATCH_GROUP_STEP("wait_group", "read_group"),
	{.name = NULL},
};

const struct kind kind_scale_instance_group = {
	.name = "scale_instance_group",
	.title = "Scale an instance group",
	.steps = steps,
	.deadline_s = 8 * 3600,
	.locks = lock_cluster,
	.undo = group_undo_count,
};
