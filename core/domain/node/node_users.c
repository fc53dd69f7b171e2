/* node_users.c - what runs on the nodes and what is kept on their disks: see stake.h. */
#include "core/domain/node/node_action.h"
#include "core/domain/stake/stake.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* Those that have not been asked for yet. */
static json_t *things(struct step_ctx *c)
{
	const struct node_action *action = c->step->arg;
	json_t *list = json_new_list(c->arena), *node;
	size_t i;

	json_array_foreach(node_list(c), i, node) {
		const char *id = json_str_or(node, "id", "");

		if (node_is(node, ""))
			json_push(list,
				  json_pack("{s:s, s:s, s:s*, s:s*, s:b}", "type", "node",
					    "name",
					    id[0] ? id
						  : json_str_or(node, "logical_id", "?"),
					    "kube", node_kube_name(c->arena, id), "group",
					    json_str_at(node, "group"), "keeps_disks",
					    action->goal == NODE_REBOOT));
	}
	return list;
}

bool node_users_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *node;
	size_t i;

	json_array_foreach(node_list(c), i, node) {
		const char *id = json_str_or(node, "id", "");

		if (node_is(node, "") && id[0] && node_read_kube(c, x, i, id))
			return true;
	}
	return stake_read(c, x, things(c));
}

/* The boot after the action before this retry is the one that was asked for. */
static void note_boots(struct step_ctx *c)
{
	json_t *list = json_own(c->arena, json_deep_copy(node_list(c))), *node;
	size_t i;

	json_array_foreach(list, i, node)
		if (node_is(node, ""))
			json_put_str(node, "boot_id",
				     json_str_at(node_saw_kube(c, i),
						 "status.nodeInfo.bootID"));
	step_save(c, "nodes", json_incref(list));
}

void node_users_plan(struct step_ctx *c, struct exchange *x)
{
	const struct node_action *action = c->step->arg;
	const char *what = arena_printf(c->arena, "the nodes to be %s", action->done);

	(void)x;
	if (!stake_settle(c, stake_rows(c, things(c)), what))
		return;
	note_boots(c);
	step_advance(c);
}
