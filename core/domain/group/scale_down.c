/*
 * scale_down.c - fewer nodes by BatchDeleteClusterNodes, so that we choose which.
 *
 * Those that have no instance go first, then those that do not work, then those
 * with the fewest pods, the youngest of equals. Chosen once: what is repeated
 * after a crash is the removal of the same nodes.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_BatchDeleteClusterNodes.html
 */
#include <string.h>

#include "core/domain/group/group.h"
#include "core/domain/group/scale.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

enum { DELETE_MAX = 50, BUSY_S = 30 };

static bool is_leaving_wanted(const struct step_ctx *c)
{
	return scale_is_continuous(c) && scale_more(c) < 0;
}

bool scale_choose_observe(struct step_ctx *c, struct exchange *x)
{
	return is_leaving_wanted(c) && !json_at(c->data, "victims") &&
	       group_nodes_observe(c, x);
}

/* Lower goes first: without an instance, not working, by pods, youngest. */
static int64_t worth(struct step_ctx *c, const json_t *node)
{
	if (!json_str_or(node, "InstanceId", "")[0])
		return 0;
	if (!streq(json_str_at(node, "InstanceStatus.Status"), "Running"))
		return 1;
	return 2 + (int64_t)group_pods_on(c, node);
}

static json_t *least_worthy(struct step_ctx *c, json_t *nodes)
{
	size_t i, best = 0;
	json_t *node;

	json_array_foreach(nodes, i, node) {
		const json_t *now = json_array_get(nodes, best);
		const int64_t a = worth(c, node), b = worth(c, now);

		if (a < b || (a == b && strcmp(json_str_or(node, "LaunchTime", ""),
					       json_str_or(now, "LaunchTime", "")) > 0))
			best = i;
	}
	node = json_own(c->arena, json_incref(json_array_get(nodes, best)));
	json_array_remove(nodes, best);
	return node;
}

void scale_choose_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *nodes, *chosen = json_new_list(c->arena), *victims;
	const char *users;
	size_t i;
	json_t *node;

	(void)x;
	if (!is_leaving_wanted(c) || json_at(c->data, "victims"))
		return;
	nodes = group_nodes(c);
	for (int64_t n = scale_more(c); n < 0 && json_array_size(nodes) > 0; n++)
		json_array_append(chosen, least_worthy(c, nodes));
	users = group_users(c, chosen);
	if (users)
		step_warn(c, "pods end with the nodes that go: %s", users);
	victims = json_array();
	json_array_foreach(chosen, i, node)
		json_push(victims,
			  json_pack("{s:s, s:s}", "id",
				    json_str_or(node, "InstanceId", ""), "logical_id",
				    json_str_or(node, "NodeLogicalId", "")));
	step_event(c, "nodes_chosen", json_deep_copy(victims));
	step_save(c, "victims", victims);
}

bool scale_delete_observe(struct step_ctx *c, struct exchange *x)
{
	return is_leaving_wanted(c) && group_list_observe(c, x);
}

/* One that a read just now still shows, and that is not going. */
static bool is_there(struct step_ctx *c, const json_t *victim)
{
	const char *id = json_str_or(victim, "id", "");
	const json_t *nodes = group_nodes(c);

	return id[0] ? json_find(nodes, "InstanceId", id) != NULL
		     : json_find(nodes, "NodeLogicalId",
				 json_str_or(victim, "logical_id", "-")) != NULL;
}

void scale_delete_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *ids = json_array(), *logical = json_array(), *in;
	size_t i;
	json_t *v;

	if (is_leaving_wanted(c))
		json_array_foreach(json_at(c->data, "victims"), i, v) {
			const char *id = json_str_or(v, "id", "");

			if (json_array_size(ids) + json_array_size(logical) >=
				    DELETE_MAX ||
			    !is_there(c, v))
				continue;
			if (id[0])
				json_push(ids, json_string(id));
			else
				json_push(logical,
					  json_string(json_str_or(v, "logical_id", "")));
		}
	in = json_packf(c->arena, "{s:s}", "ClusterName", hyperpod_name(c));
	x->what = arena_printf(c->arena, "Take %zu nodes from %s",
			       json_array_size(ids) + json_array_size(logical),
			       group_name(c));
	if (json_array_size(ids) > 0)
		json_put(in, "NodeIds", json_incref(ids));
	if (json_array_size(logical) > 0)
		json_put(in, "NodeLogicalIds", json_incref(logical));
	json_decref(ids);
	json_decref(logical);
	if (json_object_size(in) > 1)
		exchange_aws(x, AWS_SAGEMAKER_BatchDeleteClusterNodes, in);
}

void scale_delete_absorb(struct step_ctx *c, const struct answer *a)
{
	const json_t *fault = json_at(a->out, "Failed.0");

	if (!a->ok && a->errc != ERR_CLOUD_CONFLICT) {
		step_fail_answer(c, a, "taking nodes from %s was refused", group_name(c));
		return;
	}
	if (!fault)
		fault = json_at(a->out, "FailedNodeLogicalIds.0");
	if (fault)
		step_wait(c, BUSY_S, "nodes of %s that cannot be taken now: %s",
			  group_name(c), json_str_or(fault, "Message", ""));
	else
		step_wait(c, 5, "the nodes of %s to leave", group_name(c));
}
