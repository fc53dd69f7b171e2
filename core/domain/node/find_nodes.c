/*
 * find_nodes.c - which nodes are meant, as they are before anything is sent.
 *
 * A retry comes here, too: what has happened meanwhile counts, and only the nodes
 * that still failed are sent again.
 */
#include <string.h>

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
		if (!node_is(node, "done") && node_read_cloud(c, x, i, node))
			return true;
	return false;
}

/* --- what was found -------------------------------------------------------- */

static bool fail_unknown(struct step_ctx *c, const json_t *list)
{
	struct buf names;
	size_t i;
	json_t *node;
	struct err *e;

	buf_init(&names, c->arena, 400);
	json_array_foreach(list, i, node)
		if (node_saw_gone(c, i) && !json_at(c->data, "nodes"))
			buf_printf(&names, "%s%s", names.len ? ", " : "",
				   json_str_or(node, "asked", "?"));
	if (!names.len)
		return false;
	e = step_fail(c, ERR_NOT_FOUND, "the cluster %s has no node %s", hyperpod_name(c),
		      buf_cstr(&names));
	err_field(e, "/nodes", buf_cstr(&names), "names from list_nodes");
	err_fix(e, "Look at list_nodes, and name nodes of this cluster only.");
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

/* Since the action before the retry: it may have come true after all. */
static bool came_true(struct step_ctx *c, json_t *node, size_t i)
{
	const struct node_action *action = c->step->arg;
	const char *now = json_str_or(node_saw_cloud(c, i), "InstanceId", "");

	if (action->goal == NODE_DELETE)
		return node_saw_gone(c, i);
	if (action->goal != NODE_REPLACE || !*now ||
	    streq(now, json_str_or(node, "id", "")) ||
	    !streq(json_str_at(node_saw_cloud(c, i), "InstanceStatus.Status"), "Running"))
		return false;
	json_put_str(node, "new_id", now);
	return true;
}

static void take(struct step_ctx *c, json_t *node, size_t i, bool again, int *n)
{
	if (node_is(node, "done"))
		return;
	if (again && came_true(c, node, i)) {
		json_put_str(node, "state", "done");
		return;
	}
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

/* AWS leaves it to the autoscaler whether a node of its groups comes back. */
static void warn_of_autoscaler(struct step_ctx *c)
{
	const struct node_action *action = c->step->arg;

	if (action->goal == NODE_REPLACE &&
	    streq(json_str_at(saw(c, "hyperpod"), "AutoScaling.Mode"), "Enable"))
		step_warn(c,
			  "Karpenter scales %s: whether a node of its groups is "
			  "replaced is its decision.",
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
	json_t *list, *node;
	size_t i;
	int n = 0;

	(void)x;
	if (!saw(c, "hyperpod")) {
		step_fail(c, ERR_CLOUD_NOT_FOUND, "there is no HyperPod cluster %s",
			  hyperpod_name(c));
		return;
	}
	list = json_own(c->arena, json_deep_copy(list_of(c)));
	if (fail_unknown(c, list))
		return;
	json_array_foreach(list, i, node)
		take(c, node, i, again, &n);
	warn_of_autoscaler(c);
	keep_targets(c);
	step_save(c, "nodes", json_incref(list));
	step_save(c, "round", json_integer(round + 1));
	step_advance(c);
}
