/*
 * update_cluster_software.c - a new system image for the nodes, batch by batch.
 *
 * It rewrites root volumes and runs the lifecycle scripts again. The call takes
 * no token, so that a repeat would roll everything once more: it is sent once,
 * and the groups' own status is the evidence (Pending, InProgress, then
 * Succeeded, or RollbackInProgress and RollbackComplete or Failed).
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_UpdateClusterSoftware.html
 */
#include <string.h>

#include "core/base/listing.h"
#include "core/domain/group/group.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/nodes_role.h"
#include "core/domain/hyperpod/update_cluster.h"
#include "core/domain/site/lock.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/leaves.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

enum { LOOK_S = 60, LOOKS_MAX = 3, BUSY_S = 30 };

static bool cluster_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x);
}

/* --- which groups --------------------------------------------------------------------
 */

static bool is_chosen(const struct step_ctx *c, const json_t *group)
{
	const json_t *wanted = json_at(c->input, "groups");
	const char *name = json_str_or(group, "InstanceGroupName", "");
	size_t i;
	json_t *v;

	if (json_array_size(wanted) == 0)
		return !streq(json_str_at(group, "Status"), "Deleting");
	json_array_foreach(wanted, i, v)
		if (streq(json_string_value(v), name))
			return true;
	return false;
}

static const char *status_of(const json_t *group)
{
	return json_str_or(group, "SoftwareUpdateStatus", "");
}

static bool is_moving(const char *status)
{
	return streq(status, "Pending") || streq(status, "InProgress") ||
	       streq(status, "RollbackInProgress");
}

static bool all_known(struct step_ctx *c, const json_t *cluster)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(c->input, "groups"), i, v)
		if (!group_in(cluster, json_string_value(v))) {
			struct err *e = step_fail(c, ERR_CLOUD_NOT_FOUND,
						  "%s has no instance group named %s",
						  hyperpod_name(c), json_string_value(v));
			err_field(e, "/groups", json_string_value(v),
				  "names from list_instance_groups");
			return false;
		}
	return true;
}

/* What the groups say before we ask: a status that differs later is of ours. */
static json_t *state_of(struct step_ctx *c, const json_t *cluster)
{
	json_t *state = json_new_object(c->arena);
	size_t i;
	json_t *g;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
		if (is_chosen(c, g))
			json_object_set_new(
				state, json_str_or(g, "InstanceGroupName", "?"),
				json_pack("{s:s, s:s}", "status", status_of(g), "image",
					  json_str_or(g, "DesiredImageReleaseVersion",
						      "")));
	return state;
}

/*
 * The alarms are read by the nodes' roles. Ours gets the right if an earlier version
 * has made it without; of others only their owner knows.
 */
static void look_at_roles(struct step_ctx *c, const json_t *cluster)
{
	const char *ours = name_role_arn(c, ROLE_NODES);
	struct listing others = listing_new(c->arena, ", ", LISTING_LONG);
	json_t *named = json_new_list(c->arena);
	size_t i;
	json_t *g;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g) {
		const char *role = json_str_or(g, "ExecutionRole", "");

		if (!is_chosen(c, g))
			continue;
		if (streq(role, ours))
			step_save(c, "alarms_by_us", json_true());
		else if (!texts_have(named, role)) {
			json_push(named, json_string(role));
			listing_add(&others, "%s", role);
		}
	}
	if (others.n)
		step_warn(c,
			  "the nodes' role reads the alarms and needs "
			  "cloudwatch:DescribeAlarms: %s",
			  listing_text(&others));
}

static bool role_stays(const struct step_ctx *c)
{
	return !json_bool_or(c->data, "alarms_by_us", false);
}

static json_t *alarm_statements(struct step_ctx *c)
{
	return nodes_role.statements(c);
}

static const struct role_spec alarm_role = {
	.purpose = ROLE_NODES,
	.description = "HyperPod nodes",
	.statements = alarm_statements,
	.given = role_stays,
};

static void read_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *cluster = saw(c, "hyperpod");

	(void)x;
	if (!cluster)
		hyperpod_absent(c);
	else
		(void)all_known(c, cluster);
	if (cluster && json_len_at(c->input, "rollback_alarms") > 0)
		look_at_roles(c, cluster);
	step_save(c, "before", json_incref(state_of(c, cluster)));
}

/* --- what runs on them ---------------------------------------------------------------
 */

static bool nodes_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) ||
	       read_all(c, x, "all_nodes", AWS_SAGEMAKER_ListClusterNodes,
			json_packf(c->arena, "{s:s, s:b, s:i}", "ClusterName",
				   hyperpod_name(c), "IncludeNodeLogicalIds", 1,
				   "MaxResults", 100));
}

/* Root volumes are written anew and scripts run again: what runs there ends. */
static json_t *updated(struct step_ctx *c)
{
	json_t *nodes = json_new_list(c->arena), *node;
	size_t i;

	json_array_foreach(json_at(saw(c, "all_nodes"), "ClusterNodeSummaries"), i, node)
		if (json_object_get(json_at(c->data, "before"),
				    json_str_or(node, "InstanceGroupName", "")))
			json_array_append(nodes, node);
	return group_things(c, nodes);
}

static const struct stake_spec rewritten = {nodes_observe, updated,
					    "the nodes to update"};

/* --- the call ------------------------------------------------------------------------
 */

static bool has_begun(const struct step_ctx *c, const json_t *cluster)
{
	size_t i;
	json_t *g;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g) {
		const json_t *before =
			json_object_get(json_at(c->data, "before"),
					json_str_or(g, "InstanceGroupName", "?"));

		if (is_chosen(c, g) &&
		    !streq(status_of(g), json_str_or(before, "status", "")))
			return true;
	}
	return streq(json_str_at(cluster, "ClusterStatus"), "SystemUpdating");
}

static json_t *groups_member(struct step_ctx *c)
{
	const char *version = step_input(c, "image_release_version");
	json_t *list = json_array();
	const char *name;
	json_t *v;

	json_object_foreach(json_at(c->data, "before"), name, v)
		json_push(list, json_pack("{s:s, s:s*}", "InstanceGroupName", name,
					  "ImageReleaseVersion", version));
	return list;
}

static json_t *batch_of(const struct step_ctx *c, const char *percent, const char *count)
{
	const int64_t p = json_int_or(c->input, percent, 0);
	const int64_t n = json_int_or(c->input, count, 0);

	if (p > 0)
		return json_pack("{s:s, s:I}", "Type", "CAPACITY_PERCENTAGE", "Value",
				 (json_int_t)p);
	return n > 0 ? json_pack("{s:s, s:I}", "Type", "INSTANCE_COUNT", "Value",
				 (json_int_t)n)
		     : NULL;
}

static void put_deployment(struct step_ctx *c, json_t *in)
{
	json_t *batch = batch_of(c, "batch_percent", "batch_count");
	json_t *alarms = json_at(c->input, "rollback_alarms");
	size_t i;
	json_t *v;

	if (batch)
		json_put(in, "DeploymentConfig.RollingUpdatePolicy.MaximumBatchSize",
			 batch);
	if (json_int_or(c->input, "wait_between_s", 0) > 0)
		json_put_int(in, "DeploymentConfig.WaitIntervalInSeconds",
			     json_int_or(c->input, "wait_between_s", 0));
	if (json_array_size(alarms) > 0)
		json_put(in, "DeploymentConfig.AutoRollbackConfiguration", json_array());
	json_array_foreach(alarms, i, v)
		json_push(json_at(in, "DeploymentConfig.AutoRollbackConfiguration"),
			  json_pack("{s:s}", "AlarmName", json_string_value(v)));
}

/*
 * True: waits, since what the groups say has changed and must be in the journal before
 * anything is sent. An update of somebody else's that has ended is none of ours.
 */
static bool note_state(struct step_ctx *c, const json_t *cluster)
{
	json_t *state = state_of(c, cluster);

	if (json_equal(state, json_at(c->data, "before")))
		return false;
	step_save(c, "before", json_incref(state));
	step_wait(c, 0, "the current software of the groups of %s to be recorded",
		  hyperpod_name(c));
	return true;
}

static void start_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *cluster = saw(c, "hyperpod");
	const char *status = json_str_or(cluster, "ClusterStatus", "");
	json_t *in;

	if (c->issued_before && has_begun(c, cluster)) {
		step_event(c, "software_update_found", NULL);
		step_advance(c);
		return;
	}
	if (!c->issued_before && !c->planning && update_cluster_is_busy(status)) {
		step_wait(c, BUSY_S, "the HyperPod cluster %s in status %s",
			  hyperpod_name(c), status);
		return;
	}
	if (!c->issued_before && !c->planning && note_state(c, cluster))
		return;
	in = json_packf(c->arena, "{s:s}", "ClusterName", hyperpod_name(c));
	if (json_len_at(c->input, "groups") > 0 || step_input(c, "image_release_version"))
		json_put(in, "InstanceGroups", groups_member(c));
	json_put_str(in, "ImageId", step_input(c, "image_id"));
	put_deployment(c, in);
	exchange_aws(x, AWS_SAGEMAKER_UpdateClusterSoftware, in);
	x->what = arena_printf(
		c->arena, "Update the software of %zu instance groups of %s",
		json_object_size(json_at(c->data, "before")), hyperpod_name(c));
}

static void start_absorb(struct step_ctx *c, const struct answer *a)
{
	if (a->errc == ERR_CLOUD_CONFLICT && !a->ok && !c->issued_before) {
		step_wait(c, BUSY_S,
			  "the HyperPod cluster %s, which accepts no update now",
			  hyperpod_name(c));
	} else if (!a->ok) {
		step_fail_answer(c, a, "the software update of %s was rejected",
				 hyperpod_name(c));
	} else {
		step_advance(c);
	}
}

/* --- to its end ----------------------------------------------------------------------
 */

static void update_failed(struct step_ctx *c, const char *names)
{
	struct err *e =
		step_fail(c, ERR_CLUSTER_FAILED, "The software update failed: %s", names);
	const char *why = json_str_or(saw(c, "hyperpod"), "FailureMessage", "");

	if (why[0])
		err_because(e, "sagemaker:DescribeCluster", "", why, NULL);
	err_fix(e,
		"The nodes of a group that was rolled back have their earlier software. "
		"Check the cluster events, then start the update again.");
}

/* A read may be older than our call: what was "Succeeded" before is no news. */
static bool is_old_news(struct step_ctx *c)
{
	const int64_t looks = step_count(c, "looks");

	if (json_at(c->data, "began") || has_begun(c, saw(c, "hyperpod"))) {
		step_save(c, "began", json_true());
		return false;
	}
	step_counted(c, "looks");
	return looks < LOOKS_MAX;
}

static void follow_plan(struct step_ctx *c, struct exchange *x)
{
	const bool old = is_old_news(c);
	size_t i, moving = 0, failed = 0, done = 0;
	struct listing names = listing_new(c->arena, ", ", LISTING_LONG);
	const char *all;
	json_t *g;

	(void)x;
	if (c->planning)
		return;
	json_array_foreach(json_at(saw(c, "hyperpod"), "InstanceGroups"), i, g) {
		const char *status = status_of(g);

		if (!json_object_get(json_at(c->data, "before"),
				     json_str_or(g, "InstanceGroupName", "?")))
			continue;
		moving += is_moving(status) ||
			  (!status[0] && json_int_or(g, "TargetCount", 0) > 0);
		done += streq(status, "Succeeded");
		failed += streq(status, "Failed") || streq(status, "RollbackComplete");
		listing_add(&names, "%s %s", json_str_or(g, "InstanceGroupName", "?"),
			    status[0] ? status : "not started");
	}
	all = listing_text(&names);
	if (old || moving > 0 ||
	    update_cluster_is_busy(
		    json_str_or(saw(c, "hyperpod"), "ClusterStatus", ""))) {
		step_wait(c, LOOK_S, "the software update of %s: %s", hyperpod_name(c),
			  all);
		return;
	}
	group_record(c);
	if (failed > 0) {
		update_failed(c, all);
		return;
	}
	step_done(c, json_pack("{s:s, s:s, s:I}", "cluster", c->target, "hyperpod_name",
			       hyperpod_name(c), "groups", (json_int_t)done));
}

/* A group that went, or that somebody pointed at another image since we asked. */
static const char *follow_moved(struct step_ctx *c)
{
	const char *wanted = step_input(c, "image_release_version");
	const json_t *cluster = saw(c, "hyperpod");
	const char *name;
	json_t *before;

	if (saw_missing(c, "hyperpod") ||
	    streq(json_str_at(cluster, "ClusterStatus"), "Deleting")) {
		step_gone(c, hyperpod_name(c));
		return arena_printf(c->arena,
				    "the HyperPod cluster %s was deleted outside "
				    "InstantStart",
				    hyperpod_name(c));
	}
	/* The update of the other groups goes on without it. */
	json_object_foreach(json_at(c->data, "before"), name, before) {
		const json_t *g = cluster ? group_in(cluster, name) : before;
		const char *image = json_str_at(g, "DesiredImageReleaseVersion");

		if (!g || streq(json_str_at(g, "Status"), "Deleting"))
			return arena_printf(
				c->arena,
				"the instance group %s was deleted outside InstantStart",
				name);
		if (wanted && image && !streq(image, wanted) && is_moving(status_of(g)))
			return arena_printf(
				c->arena,
				"the instance group %s is being updated to %s instead of "
				"%s: another update was started outside InstantStart",
				name, image, wanted);
	}
	return NULL;
}

static const struct wait follow_wait = {
	.rule = "A software update takes 20 to 60 minutes per batch",
	.moved = follow_moved,
	.lag_s = 60,
};

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	{.name = "read_groups",
	 .phase = "check",
	 .title = "Read the instance groups",
	 .effect = EFFECT_READ,
	 .observe = cluster_observe,
	 .seen = read_seen,
	 .plan = read_plan},
	STAKE_STEP("check_users", "Find pods on the nodes", &rewritten),
	{.name = "allow_alarms",
	 .phase = "check",
	 .title = "Allow the nodes' role to read the alarms",
	 .effect = EFFECT_CONVERGENT,
	 .observe = role_policy_observe,
	 .seen = read_seen,
	 .plan = role_policy_plan,
	 .absorb = role_absorb,
	 .arg = &alarm_role},
	{.name = "start_update",
	 .phase = "software",
	 .title = "Start the software update",
	 .effect = EFFECT_ONCE,
	 .deadline_s = 2 * 3600,
	 .observe = cluster_observe,
	 .seen = read_seen,
	 .plan = start_plan,
	 .absorb = start_absorb,
	 .leaves = &leaves_action},
	{.name = "follow_update",
	 .phase = "software",
	 .title = "Wait until every group is updated",
	 .effect = EFFECT_READ,
	 .deadline_s = 12 * 3600,
	 .observe = cluster_observe,
	 .seen = read_seen,
	 .plan = follow_plan,
	 .wait = &follow_wait},
	{.name = NULL},
};

const struct kind kind_update_cluster_software = {
	.name = "update_cluster_software",
	.title = "Update the cluster's software",
	.steps = steps,
	.deadline_s = 15 * 3600,
	.locks = lock_cluster,
	.no_undo = "A software update cannot be undone. Start another one with the "
		   "earlier image_release_version.",
};
