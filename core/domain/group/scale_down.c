/*
 * scale_down.c - fewer nodes by BatchDeleteClusterNodes, so that we choose which.
 *
 * Those that have no instance go first, then those that do not work, then those
 * with the fewest pods, the youngest of equals. Chosen once: what is repeated
 * after a crash is the removal of the same nodes.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_BatchDeleteClusterNodes.html
 */
#include <stdlib.h>
#include <string.h>

#include "core/domain/group/group.h"
#include "core/domain/group/scale.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

enum { DELETE_MAX = 50, BUSY_S = 30 };

static bool is_leaving_wanted(const struct step_ctx *c)
{
	return scale_is_continuous(c) && scale_more(c) < 0;
}

static json_t *least_worthy(struct step_ctx *c, const json_t *by_node, size_t wanted);

bool scale_choose_observe(struct step_ctx *c, struct exchange *x)
{
	if (!is_leaving_wanted(c) || json_at(c->data, "victims"))
		return false;
	return hyperpod_read(c, x) || group_nodes_observe(c, x) ||
	       stake_read(c, x,
			  group_things(c, least_worthy(c, group_pods(c),
						       (size_t)-scale_more(c))));
}

/* --- what is lost, before anything is asked for --------------------------------------
 */

static bool leaving_observe(struct step_ctx *c, struct exchange *x)
{
	return scale_more(c) < 0 && group_nodes_observe(c, x);
}

/* Without batch calls the service chooses: it may be any node of the group. */
static json_t *leaving(struct step_ctx *c)
{
	if (scale_more(c) >= 0)
		return NULL;
	return group_things(
		c, scale_is_continuous(c)
			   ? least_worthy(c, group_pods(c), (size_t)-scale_more(c))
			   : group_nodes(c));
}

const struct stake_spec scale_leaving = {leaving_observe, leaving, "the nodes to remove"};

struct candidate {
	json_t *node;
	int64_t worth;
	const char *launched;
	size_t nth;
};

/* Lower goes first: without an instance, not working, by pods. */
static int64_t worth(struct step_ctx *c, const json_t *by_node, const json_t *node)
{
	if (!json_str_or(node, "InstanceId", "")[0])
		return 0;
	if (!streq(json_str_at(node, "InstanceStatus.Status"), "Running"))
		return 1;
	return 2 + (int64_t)json_array_size(group_pods_on(c, by_node, node));
}

/* The youngest of equals; of twins the first of the list. */
static int first_to_go(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	const int age = strcmp(y->launched, x->launched);

	if (x->worth != y->worth)
		return x->worth < y->worth ? -1 : 1;
	return age ? age : x->nth < y->nth ? -1 : 1;
}

static json_t *least_worthy(struct step_ctx *c, const json_t *by_node, size_t wanted)
{
	json_t *nodes = group_nodes(c), *chosen = json_new_list(c->arena), *node;
	const size_t n = json_array_size(nodes);
	struct candidate *v = arena_array(c->arena, struct candidate, n + 1);
	size_t i;

	json_array_foreach(nodes, i, node)
		v[i] = (struct candidate){node, worth(c, by_node, node),
					  json_str_or(node, "LaunchTime", ""), i};
	qsort(v, n, sizeof(*v), first_to_go);
	for (i = 0; i < n && i < wanted; i++)
		json_array_append(chosen, v[i].node);
	return chosen;
}

void scale_choose_plan(struct step_ctx *c, struct exchange *x)
{
	const size_t needed = (size_t)-scale_more(c);
	json_t *chosen, *victims;
	size_t i;
	json_t *node;

	(void)x;
	if (!is_leaving_wanted(c) || json_at(c->data, "victims"))
		return;
	if (scale_is_outdated(c)) {
		step_goto(c, "read_group");
		return;
	}
	chosen = least_worthy(c, group_pods(c), needed);
	/* Lists lag: of nodes that somebody has just asked for one shows less. */
	if (json_array_size(chosen) < needed && !c->planning) {
		step_wait(c, 10,
			  "the list of nodes to be complete: it shows %zu of the %zu "
			  "nodes of %s",
			  json_array_size(chosen), needed, group_name(c));
		return;
	}
	if (!stake_settle(c, stake_rows(c, group_things(c, chosen)),
			  "the nodes to remove"))
		return;
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

/* {id: true} of what a read just now still shows, and that is not going. */
static json_t *ids_there(struct step_ctx *c, const char *member)
{
	json_t *set = json_new_object(c->arena), *node;
	size_t i;

	json_array_foreach(group_nodes(c), i, node)
		if (json_str_or(node, member, "")[0])
			json_object_set_new(set, json_str_at(node, member), json_true());
	return set;
}

/* The ids of victims that are there, in the request: as many as it may have. */
static size_t put_victims(struct step_ctx *c, json_t *in)
{
	json_t *ids = json_new_list(c->arena), *logical = json_new_list(c->arena);
	const json_t *by_id = ids_there(c, "InstanceId");
	const json_t *by_logical = ids_there(c, "NodeLogicalId");
	size_t i, n = 0;
	json_t *v;

	json_array_foreach(json_at(c->data, "victims"), i, v) {
		const char *id = json_str_or(v, "id", "");
		const char *any = id[0] ? id : json_str_or(v, "logical_id", "");

		if (n < DELETE_MAX && json_object_get(id[0] ? by_id : by_logical, any)) {
			json_push(id[0] ? ids : logical, json_string(any));
			n++;
		}
	}
	if (json_array_size(ids) > 0)
		json_object_set(in, "NodeIds", ids);
	if (json_array_size(logical) > 0)
		json_object_set(in, "NodeLogicalIds", logical);
	return n;
}

void scale_delete_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *in = json_packf(c->arena, "{s:s}", "ClusterName", hyperpod_name(c));
	const size_t n = is_leaving_wanted(c) ? put_victims(c, in) : 0;

	if (n == 0)
		return;
	exchange_aws(x, AWS_SAGEMAKER_BatchDeleteClusterNodes, in);
	x->what = arena_printf(c->arena, "Remove %zu nodes from %s", n, group_name(c));
}

void scale_delete_absorb(struct step_ctx *c, const struct answer *a)
{
	const json_t *fault = json_at(a->out, "Failed.0");

	if (!a->ok && a->errc != ERR_CLOUD_CONFLICT) {
		step_fail_answer(c, a, "the removal of nodes from %s was rejected",
				 group_name(c));
		return;
	}
	if (!fault)
		fault = json_at(a->out, "FailedNodeLogicalIds.0");
	if (fault || !a->ok)
		step_wait(c, BUSY_S, "nodes of %s that cannot be removed now: %s",
			  group_name(c),
			  a->ok ? json_str_or(fault, "Message", "") : a->message);
	else
		step_wait(c, 5, "the nodes of %s to be removed", group_name(c));
}
