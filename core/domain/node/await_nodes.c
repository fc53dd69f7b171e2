/*
 * await_nodes.c - done is what the clouds show, node by node (case IG-09).
 *
 * A node that was Ready all the time has not been rebooted: its boot must be
 * another one. A replaced node is another instance under the same logical id.
 */
#include <string.h>

#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/node/node_action.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* Beyond the lag of AWS's lists. */
enum { GONE_SPACING_S = 20 };
/* After that long on its feet a busy node was not ours to have. */
static const int64_t BUSY_MS = 10 * 60 * 1000;

static const struct node_action *action_of(const struct step_ctx *c)
{
	return c->step->arg;
}

static const char *id_now(const struct step_ctx *c, size_t i, const json_t *node)
{
	return json_str_or(node_saw_cloud(c, i), "InstanceId",
			   json_str_or(node, "id", ""));
}

bool await_nodes_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *node;
	size_t i;

	json_array_foreach(node_list(c), i, node) {
		if (node_is_settled(node))
			continue;
		if (node_read_cloud(c, x, i, node))
			return true;
		if (action_of(c)->goal != NODE_DELETE && node_saw_cloud(c, i) &&
		    node_read_kube(c, x, i, id_now(c, i, node)))
			return true;
	}
	return hyperpod_read(c, x);
}

/* --- one node -------------------------------------------------------------- */

/* Seen missing before, long enough ago: two reads agree. */
static bool is_gone(struct step_ctx *c, json_t *node, size_t i)
{
	const int64_t first = json_int_or(node, "gone_ms", 0);
	const int64_t spacing_ms =
		GONE_SPACING_S * INT64_C(10) * c->cfg->poll_scale_percent;

	if (!node_saw_gone(c, i)) {
		json_drop(node, "gone_ms");
		return false;
	}
	if (first == 0)
		json_put_int(node, "gone_ms", c->now_ms);
	return first != 0 && c->now_ms - first >= spacing_ms;
}

static bool is_up(const struct step_ctx *c, size_t i)
{
	return streq(json_str_at(node_saw_cloud(c, i), "InstanceStatus.Status"),
		     "Running") &&
	       node_kube_ready(node_saw_kube(c, i));
}

/* Without logical ids nothing says which instance came for which. */
static bool is_refilled(const struct step_ctx *c, const json_t *node)
{
	const json_t *g = json_find(json_at(saw(c, "hyperpod"), "InstanceGroups"),
				    "InstanceGroupName", json_str_or(node, "group", ""));

	return g && json_int_or(g, "CurrentCount", 0) == json_int_or(g, "TargetCount", 0);
}

static bool is_done(struct step_ctx *c, json_t *node, size_t i)
{
	const char *old = json_str_or(node, "id", ""), *now = id_now(c, i, node);
	const char *boot = json_str_or(node_saw_kube(c, i), "status.nodeInfo.bootID", "");

	switch (action_of(c)->goal) {
	case NODE_REBOOT:
		return streq(now, old) && is_up(c, i) && *boot &&
		       !streq(boot, json_str_or(node, "boot_id", ""));
	case NODE_REPLACE:
		if (!json_str_at(node, "logical_id"))
			return is_gone(c, node, i) && is_refilled(c, node);
		if (!*now || streq(now, old) || !is_up(c, i))
			return false;
		json_put_str(node, "new_id", now);
		return true;
	case NODE_DELETE:
		return is_gone(c, node, i);
	}
	return false;
}

/* Gone instead of changed: somebody else has deleted it, or the autoscaler has. */
static bool is_lost(struct step_ctx *c, json_t *node, size_t i)
{
	const bool traced = json_str_at(node, "logical_id") != NULL;

	if (action_of(c)->goal == NODE_DELETE || !is_gone(c, node, i) ||
	    (action_of(c)->goal == NODE_REPLACE && !traced))
		return false;
	json_put_str(node, "code", "NotFound");
	json_put_str(node, "message",
		     action_of(c)->goal == NODE_REPLACE
			     ? "the node was removed and not replaced"
			     : "the node was removed");
	return true;
}

/* The other action is over, and it was not what we wanted. */
static bool is_passed_over(struct step_ctx *c, const json_t *node, size_t i)
{
	return node_is(node, "busy") && is_up(c, i) &&
	       step_waited_ms(c) > BUSY_MS * c->cfg->poll_scale_percent / 100;
}

static void tell(struct step_ctx *c, const json_t *node)
{
	step_event(c, "node",
		   json_pack("{s:s, s:s, s:s*, s:s*}", "node",
			     json_str_or(node, "id", json_str_or(node, "asked", "?")),
			     "outcome",
			     node_is(node, "done") ? action_of(c)->done : "failed",
			     "new_instance_id", json_str_at(node, "new_id"), "why",
			     json_str_at(node, "message")));
}

static bool look(struct step_ctx *c, json_t *node, size_t i)
{
	if (is_done(c, node, i)) {
		json_put_str(node, "state", "done");
		json_drop(node, "code");
		json_drop(node, "message");
	} else if (is_lost(c, node, i) || is_passed_over(c, node, i)) {
		json_put_str(node, "state", "refused");
	} else {
		return false;
	}
	tell(c, node);
	return true;
}

/* --- all of them ------------------------------------------------------------ */

void await_nodes_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *list = json_own(c->arena, json_deep_copy(node_list(c))), *node;
	size_t i, open = 0, first = 0;

	(void)x;
	if (c->planning)
		return;
	json_array_foreach(list, i, node)
		if (!node_is_settled(node) && !look(c, node, i) && open++ == 0)
			first = i;
	step_save(c, "nodes", json_incref(list));
	if (open == 0) {
		step_advance(c);
		return;
	}
	node = json_array_get(list, first);
	step_wait(c, action_of(c)->goal == NODE_REBOOT ? 10 : 20,
		  "%zu of %zu nodes to be %s; %s is %s", open, json_array_size(list),
		  action_of(c)->done,
		  json_str_or(node, "id", json_str_or(node, "asked", "?")),
		  node_saw_gone(c, first)
			  ? "gone"
			  : json_str_or(node_saw_cloud(c, first), "InstanceStatus.Status",
					"unknown"));
}

/* Its time is over: the nodes that are done are done. */
void await_nodes_late(struct step_ctx *c)
{
	json_t *list, *node;
	size_t i;

	if (c->verdict.error.code != ERR_STEP_TIMEOUT)
		return;
	list = json_own(c->arena, json_deep_copy(node_list(c)));
	json_array_foreach(list, i, node) {
		if (node_is_settled(node))
			continue;
		json_put_str(node, "state", "late");
		json_put_str(node, "code", "Timeout");
		json_put_str(node, "message",
			     arena_printf(c->arena, "it was not %s in time",
					  action_of(c)->done));
		tell(c, node);
	}
	step_save(c, "nodes", json_incref(list));
	step_goto(c, "finish");
}

static json_t *row_of(const struct step_ctx *c, const json_t *node)
{
	return json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*}", "node",
			 json_str_or(node, "asked", "?"), "instance_id",
			 json_str_or(node, "id", ""), "outcome",
			 node_is(node, "done") ? action_of(c)->done : "failed",
			 "new_instance_id", json_str_at(node, "new_id"), "code",
			 node_is(node, "done") ? NULL : json_str_at(node, "code"),
			 "message",
			 node_is(node, "done") ? NULL : json_str_at(node, "message"));
}

static void fail_partly(struct step_ctx *c, json_t *result, size_t ok, size_t all)
{
	struct err *e = step_fail_with(c, result, ERR_PARTIAL,
				       "%zu of %zu nodes were %s, %zu were not", ok, all,
				       action_of(c)->done, all - ok);
	size_t i;
	json_t *node;

	json_array_foreach(node_list(c), i, node)
		if (!node_is(node, "done"))
			err_because(
				e,
				json_str_or(node, "id", json_str_or(node, "asked", "?")),
				json_str_or(node, "code", ""),
				json_str_or(node, "message", ""), NULL);
	err_fix(e, "Check the nodes in the result. A retry includes only those that "
		   "failed.");
}

void finish_nodes_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *rows = json_array(), *failed = json_array(), *node, *result;
	const size_t all = json_array_size(node_list(c));
	size_t i, ok = 0;

	(void)x;
	json_array_foreach(node_list(c), i, node) {
		json_push(rows, row_of(c, node));
		if (node_is(node, "done"))
			ok++;
		else
			json_push(failed, json_string(json_str_or(node, "asked", "?")));
	}
	result = json_pack("{s:s, s:I, s:o, s:o}", "cluster", c->target, "ok",
			   (json_int_t)ok, "failed", failed, "nodes", rows);
	if (ok == all || c->planning)
		step_done(c, result);
	else
		fail_partly(c, result, ok, all);
}
