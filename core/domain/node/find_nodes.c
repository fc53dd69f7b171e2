/*
 * find_nodes.c - which nodes are meant, as they are before anything is sent.
 *
 * A retry comes here, too: what has happened meanwhile counts, and only the nodes
 * that still failed are sent again.
 */
#include <string.h>

#include "core/base/listing.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/node/node_action.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* The list as the request names it; a node that it names twice counts once. */
static json_t *begin_list(struct step_ctx *c)
{
	json_t *list = json_new_list(c->arena);
	size_t i;
	json_t *v;

	json_array_foreach(json_at(c->input, "nodes"), i, v) {
		const char *asked = json_string_value(v) ? json_string_value(v) : "";
		const char *id = node_instance_id(c->arena, asked);
		const char *key = id ? "id" : "logical_id";

		if (!json_find(list, key, id ? id : asked))
			json_push(list, json_pack("{s:s, s:s}", "asked", asked, key,
						  id ? id : asked));
	}
	return list;
}

static const struct node_action *action_of(const struct step_ctx *c)
{
	return c->step->arg;
}

/* AWS took it before the retry, whatever came of it. */
static bool was_taken(const json_t *node)
{
	return node_is(node, "accepted") || node_is(node, "busy") ||
	       node_is(node, "late");
}

static json_t *list_of(struct step_ctx *c)
{
	json_t *list = node_list(c);

	return list ? list : begin_list(c);
}

bool find_nodes_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *list, *node;
	size_t i;

	if (hyperpod_read(c, x))
		return true;
	if (!saw(c, "hyperpod"))
		return false;
	list = list_of(c);
	json_array_foreach(list, i, node)
		if (!node_is(node, "done") &&
		    (node_read_cloud(c, x, i, node) ||
		     (was_taken(node) && action_of(c)->goal == NODE_REBOOT &&
		      node_read_kube(c, x, i, json_str_or(node, "id", "")))))
			return true;
	return false;
}

/* --- what was found -------------------------------------------------------- */

static bool fail_unknown(struct step_ctx *c, const json_t *list)
{
	struct listing names = listing_new(c->arena, ", ", LISTING_SHORT);
	const char *all;
	size_t i;
	json_t *node;
	struct err *e;

	json_array_foreach(list, i, node)
		if (node_saw_gone(c, i) && !json_at(c->data, "nodes"))
			listing_add(&names, "%s", json_str_or(node, "asked", "?"));
	if (!names.n)
		return false;
	all = listing_text(&names);
	e = step_fail(c, ERR_NOT_FOUND, "The cluster %s has no node %s", hyperpod_name(c),
		      all);
	err_field(e, "/nodes", all, "names from list_nodes");
	err_fix(e, "Use only nodes of this cluster. list_nodes shows them.");
	return true;
}

/* What counts as before: the first look's, unless the node is sent anew. */
static void describe(json_t *node, const json_t *details)
{
	static const char *const names[][2] = {
		{"id", "InstanceId"},
		{"logical_id", "NodeLogicalId"},
		{"group", "InstanceGroupName"},
		{"type", "InstanceType"},
		{"status", "InstanceStatus.Status"},
		{"zone", "Placement.AvailabilityZone"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_put_str(node, names[i][0], json_str_at(details, names[i][1]));
}

/* Since the action before the retry: another boot, another instance. */
static bool has_begun(struct step_ctx *c, json_t *node, size_t i)
{
	const char *now = json_str_or(node_saw_cloud(c, i), "InstanceId", "");
	const char *boot = json_str_or(node_saw_kube(c, i), "status.nodeInfo.bootID", "");

	switch (action_of(c)->goal) {
	case NODE_REBOOT:
		return was_taken(node) && *boot && json_str_at(node, "boot_id") &&
		       !streq(boot, json_str_at(node, "boot_id"));
	case NODE_REPLACE:
		return *now && !streq(now, json_str_or(node, "id", ""));
	case NODE_DELETE:
		return node_saw_gone(c, i);
	}
	return false;
}

static bool came_true(struct step_ctx *c, json_t *node, size_t i)
{
	const enum node_goal goal = action_of(c)->goal;

	if (!has_begun(c, node, i))
		return false;
	if (goal == NODE_DELETE)
		return true;
	if (!streq(json_str_at(node_saw_cloud(c, i), "InstanceStatus.Status"),
		   "Running") ||
	    (goal == NODE_REBOOT && !node_kube_ready(node_saw_kube(c, i))))
		return false;
	if (goal == NODE_REPLACE)
		json_put_str(node, "new_id",
			     json_str_at(node_saw_cloud(c, i), "InstanceId"));
	return true;
}

/* True: it is not sent. One that is under way is waited for, not asked for twice. */
static bool is_settled_before(struct step_ctx *c, json_t *node, size_t i)
{
	if (came_true(c, node, i))
		json_put_str(node, "state", "done");
	else if (has_begun(c, node, i))
		json_put_str(node, "state", "accepted");
	return node_is(node, "done") || node_is(node, "accepted") ||
	       node_is(node, "busy");
}

static void take(struct step_ctx *c, json_t *node, size_t i, bool again, int *n)
{
	if (node_is(node, "done") || (again && is_settled_before(c, node, i)))
		return;
	if (again) {
		json_drop(node, "state");
		json_drop(node, "code");
		json_drop(node, "message");
		json_drop(node, "tries");
		json_drop(node, "boot_id");
	}
	describe(node, node_saw_cloud(c, i));
	json_put_int(node, "batch", 1 + *n / NODE_BATCH);
	++*n;
}

/* Named by its instance and by its logical id: it counts once, too. */
static bool is_twin(struct step_ctx *c, const json_t *taken, size_t i)
{
	const char *id = json_str_or(node_saw_cloud(c, i), "InstanceId", "");
	const char *logical = json_str_or(node_saw_cloud(c, i), "NodeLogicalId", "");

	return (*id && json_find(taken, "id", id)) ||
	       (*logical && json_find(taken, "logical_id", logical));
}

/* AWS leaves it to the autoscaler whether a node of its groups comes back. */
static void warn_of_autoscaler(struct step_ctx *c)
{
	if (action_of(c)->goal == NODE_REPLACE &&
	    streq(json_str_at(saw(c, "hyperpod"), "AutoScaling.Mode"), "Enable"))
		step_warn(c,
			  "Karpenter scales %s and decides whether a removed node of its "
			  "groups is replaced.",
			  hyperpod_name(c));
}

static void keep_targets(struct step_ctx *c)
{
	json_t *targets = json_new_object(c->arena);
	size_t i;
	json_t *g;

	json_array_foreach(json_at(saw(c, "hyperpod"), "InstanceGroups"), i, g)
		json_object_set_new(targets, json_str_or(g, "InstanceGroupName", "?"),
				    json_integer(json_int_or(g, "TargetCount", 0)));
	step_save(c, "targets", json_incref(targets));
}

void find_nodes_plan(struct step_ctx *c, struct exchange *x)
{
	const int64_t round = json_int_or(c->data, "round", 0);
	const bool again = json_at(c->data, "nodes") != NULL;
	json_t *list, *taken = json_new_list(c->arena), *node;
	size_t i;
	int n = 0;

	(void)x;
	if (!saw(c, "hyperpod")) {
		hyperpod_absent(c);
		return;
	}
	list = json_own(c->arena, json_deep_copy(list_of(c)));
	if (fail_unknown(c, list))
		return;
	json_array_foreach(list, i, node) {
		if (is_twin(c, taken, i))
			continue;
		take(c, node, i, again, &n);
		json_array_append(taken, node);
	}
	warn_of_autoscaler(c);
	keep_targets(c);
	step_save(c, "nodes", json_incref(taken));
	step_save(c, "round", json_integer(round + 1));
	step_advance(c);
}
