/*
 * delete_instance_group.c - a group and all of its nodes.
 *
 * Only through InstanceGroupsToDelete does a group go. Its disks go with it and
 * whatever runs on it ends: what that is, and which node classes list the group, is
 * confirmed first.
 */
#include "core/domain/group/group.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/update_cluster.h"
#include "core/domain/site/lock.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/absent.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/leaves.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

enum { GONE_SPACING_S = 5 };

static bool going_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) || (group_live(c) && group_list_observe(c, x));
}

/* Its nodes, and the group as such: node classes may list it. */
static json_t *going(struct step_ctx *c)
{
	json_t *things;

	/* An undo of what never came to be: nothing is lost, nothing is left to do. */
	if (json_at(c->input, "young") && saw(c, "hyperpod") && !group_live(c)) {
		(void)is_absent(c, GROUP_TYPE, group_name(c), "the instance group");
		return NULL;
	}
	if (!group_must_be(c))
		return NULL;
	things = group_things(c, group_nodes(c));
	json_push(things, json_pack("{s:s, s:s}", "type", "instance_group", "name",
				    group_name(c)));
	return things;
}

static const struct stake_spec leaving = {going_observe, going, "the instance group"};

static const char *delete_want(struct step_ctx *c, const json_t *live, json_t *in)
{
	json_t *g = group_in(live, group_name(c));

	if (!g)
		return NULL;
	json_put(in, "InstanceGroupsToDelete", json_pack("[s]", group_name(c)));
	return arena_printf(c->arena, "Delete the instance group %s with its %lld nodes",
			    group_name(c), (long long)json_int_or(g, "CurrentCount", 0));
}

static const struct update_cluster delete_group = {.want = delete_want};

static bool gone_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x);
}

static void gone_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *g = group_live(c);

	(void)x;
	if (c->planning)
		return;
	if (g) {
		is_there(c, GROUP_TYPE);
		if (streq(json_str_at(g, "Status"), "Failed")) {
			struct err *e = step_fail(
				c, ERR_CLUSTER_FAILED,
				"The instance group %s could not be deleted: %s",
				group_name(c),
				json_str_or(saw(c, "hyperpod"), "FailureMessage",
					    "SageMaker gives no reason"));
			err_fix(e,
				"Its execution role must exist and must be allowed to "
				"delete network interfaces. Check the role, then retry.");
			return;
		}
		step_wait(c, 20,
			  "the instance group %s to be deleted (%s, %lld nodes left)",
			  group_name(c), json_str_or(g, "Status", "?"),
			  (long long)json_int_or(g, "CurrentCount", 0));
		return;
	}
	if (!is_absent_twice(c, GROUP_TYPE, group_name(c), GONE_SPACING_S,
			     "the instance group"))
		return;
	step_uncatalog(c, "instance_group", group_name(c));
	step_done(c, json_pack("{s:s, s:s, s:s}", "cluster", c->target, "group",
			       group_name(c), "deleted", "instance_group"));
}

/* Somebody has added it again, or taken the deletion for something else. */
static const char *gone_moved(struct step_ctx *c)
{
	const json_t *g = group_live(c);

	if (!g || streq(json_str_at(g, "Status"), "Deleting") ||
	    streq(json_str_at(g, "Status"), "Failed"))
		return NULL;
	return arena_printf(
		c->arena,
		"the instance group %s is %s and not being deleted: it was added again "
		"outside InstantStart",
		group_name(c), json_str_or(g, "Status", "?"));
}

static const struct wait gone_wait = {
	.rule = "AWS publishes no time limit for a deletion",
	.moved = gone_moved,
	.lag_s = 60,
};

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	STAKE_STEP("check_users", "Find what uses the group", &leaving),
	UPDATE_CLUSTER_STEP_WITH("delete_group", "group", "Delete the instance group",
				 &delete_group, .leaves = &leaves_deletion),
	{.name = "wait_gone",
	 .phase = "group",
	 .title = "Wait until the group is deleted",
	 .effect = EFFECT_READ,
	 .deadline_s = 3 * 3600,
	 .observe = gone_observe,
	 .seen = read_seen,
	 .plan = gone_plan,
	 .retry_step = "delete_group",
	 .wait = &gone_wait},
	{.name = NULL},
};

const struct kind kind_delete_instance_group = {
	.name = "delete_instance_group",
	.title = "Delete an instance group",
	.steps = steps,
	.deadline_s = 6 * 3600,
	.locks = lock_cluster,
	.no_undo = "A deleted group loses its nodes and disks. Add it again.",
};
