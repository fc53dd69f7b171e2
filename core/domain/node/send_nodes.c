/*
 * send_nodes.c - asks for the action, never twice for the same node.
 *
 * An answer is read node by node. Only InternalServerError, AWS's own fault and a
 * definite no, is asked again. When an answer was lost, the nodes themselves tell
 * whether the request arrived; when they tell nothing, the runner asks a person.
 */
#include <string.h>

#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/node/node_action.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

enum { TRIES = 4 };
static const int64_t AGAIN_MS = 10 * 1000;

static const struct node_action *action_of(const struct step_ctx *c)
{
	return ((const struct node_send *)c->step->arg)->action;
}

/* Whether the node goes with the call that this row makes. */
static bool is_sent_here(const struct step_ctx *c, const json_t *node)
{
	const struct node_send *send = c->step->arg;

	if (send->batch)
		return node_is(node, "") && json_int_or(node, "batch", 0) == send->batch;
	return node_is(node, "again");
}

/* Those of the call, as many as it may have. */
static json_t *batch_of(const struct step_ctx *c)
{
	json_t *batch = json_new_list(c->arena), *node;
	size_t i;

	json_array_foreach(node_list(c), i, node)
		if (is_sent_here(c, node) && json_array_size(batch) < NODE_BATCH)
			json_array_append(batch, node);
	return batch;
}

/* Only after a lost answer: what do the nodes tell? */
bool send_nodes_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *node;
	size_t i;

	if (!c->issued_before)
		return false;
	json_array_foreach(node_list(c), i, node)
		if (is_sent_here(c, node) &&
		    (node_read_cloud(c, x, i, node) ||
		     node_read_kube(c, x, i, json_str_or(node, "id", ""))))
			return true;
	return hyperpod_read(c, x);
}

/* --- evidence -------------------------------------------------------------- */

static bool target_was_lowered(const struct step_ctx *c, const json_t *node)
{
	const char *group = json_str_or(node, "group", "");
	const json_t *g = json_find(json_at(saw(c, "hyperpod"), "InstanceGroups"),
				    "InstanceGroupName", group);
	const json_t *before = json_object_get(json_at(c->data, "targets"), group);

	return g && before &&
	       json_int_or(g, "TargetCount", 0) < json_integer_value(before);
}

static bool is_evidence(const struct step_ctx *c, size_t i, const json_t *node)
{
	const json_t *now = node_saw_cloud(c, i), *kube = node_saw_kube(c, i);
	const char *status = json_str_or(now, "InstanceStatus.Status", "");
	const char *boot = json_str_at(kube, "status.nodeInfo.bootID");
	const bool moved = now && !streq(status, json_str_or(node, "status", ""));

	if (node_saw_gone(c, i) || streq(status, "ShuttingDown"))
		return action_of(c)->goal != NODE_REBOOT;
	switch (action_of(c)->goal) {
	case NODE_REBOOT:
		return (moved && streq(status, "Pending")) ||
		       (boot && json_str_at(node, "boot_id") &&
			!streq(boot, json_str_at(node, "boot_id")));
	case NODE_REPLACE:
		return (moved && streq(status, "Pending")) ||
		       (now && !streq(json_str_or(now, "InstanceId", ""),
				      json_str_or(node, "id", "")));
	case NODE_DELETE:
		return target_was_lowered(c, node);
	}
	return false;
}

/*
 * One request carries the whole batch: a sign of one node is a sign of it. Those
 * that show none may have been refused; they are watched, and never sent again.
 */
static bool has_arrived(struct step_ctx *c)
{
	json_t *node;
	size_t i;

	json_array_foreach(node_list(c), i, node)
		if (is_sent_here(c, node) && is_evidence(c, i, node))
			return true;
	return false;
}

static void take_as_sent(struct step_ctx *c)
{
	json_t *list = json_own(c->arena, json_deep_copy(node_list(c))), *node;
	json_t *batch = batch_of(c);
	size_t i;

	json_array_foreach(list, i, node)
		if (json_find(batch, "asked", json_str_or(node, "asked", "")))
			json_put_str(node, "state", "accepted");
	step_save(c, "nodes", json_incref(list));
}

/* --- the call -------------------------------------------------------------- */

static void build(struct step_ctx *c, struct exchange *x, json_t *batch)
{
	json_t *ids = json_array(), *logical = json_array(), *node;
	json_t *in = json_packf(c->arena, "{s:s}", "ClusterName", hyperpod_name(c));
	const size_t n = json_array_size(batch);
	size_t i;

	json_array_foreach(batch, i, node) {
		const char *id = json_str_at(node, "id");

		json_push(id && *id ? ids : logical,
			  json_string(id && *id ? id
						: json_str_or(node, "logical_id", "")));
	}
	if (json_array_size(ids))
		json_object_set(in, "NodeIds", ids);
	if (json_array_size(logical))
		json_object_set(in, "NodeLogicalIds", logical);
	json_decref(ids);
	json_decref(logical);
	exchange_aws(x, action_of(c)->op, in);
	x->what = arena_printf(c->arena, "%c%s %zu node%s of %s",
			       action_of(c)->verb[0] - 'a' + 'A', action_of(c)->verb + 1,
			       n, n == 1 ? "" : "s", hyperpod_name(c));
}

void send_nodes_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *batch = batch_of(c);

	if (json_array_size(batch) == 0)
		return;
	c->item = arena_printf(c->arena, "round/%lld",
			       (long long)json_int_or(c->data, "round", 1));
	if (c->issued_before && has_arrived(c)) {
		take_as_sent(c);
		step_advance(c);
		return;
	}
	build(c, x, batch);
}

/* --- its answer ------------------------------------------------------------ */

static void refused(json_t *node, const char *code, const char *message)
{
	const int64_t tries = json_int_or(node, "tries", 0) + 1;

	if (streq(code, "InstanceIdInUse") || streq(code, "NodeIdInUse"))
		json_put_str(node, "state", "busy");
	else if (streq(code, "InternalServerError") && tries < TRIES)
		json_put_str(node, "state", "again");
	else
		json_put_str(node, "state", "refused");
	json_put_int(node, "tries", tries);
	json_put_str(node, "code", code);
	json_put_str(node, "message", message);
}

/* Of one node: what the answer says under its id. */
static const json_t *refusal_of(const json_t *out, const json_t *node)
{
	const json_t *f =
		json_find(json_at(out, "Failed"), "NodeId", json_str_or(node, "id", ""));

	return f ? f
		 : json_find(json_at(out, "FailedNodeLogicalIds"), "NodeLogicalId",
			     json_str_or(node, "logical_id", ""));
}

static void take_answer(struct step_ctx *c, const struct answer *a)
{
	json_t *list = json_own(c->arena, json_deep_copy(node_list(c))), *node;
	json_t *batch = batch_of(c);
	size_t i;

	json_array_foreach(list, i, node) {
		const json_t *f = refusal_of(a->out, node);

		if (!json_find(batch, "asked", json_str_or(node, "asked", "")))
			continue;
		if (f)
			refused(node,
				json_str_or(f, "ErrorCode", json_str_or(f, "Code", "")),
				json_str_or(f, "Message", ""));
		else
			json_put_str(node, "state", "accepted");
	}
	step_save(c, "nodes", json_incref(list));
}

/* Whether an earlier call has asked for nodes that are not of this one. */
static bool others_are_sent(const struct step_ctx *c)
{
	json_t *node;
	size_t i;

	json_array_foreach(node_list(c), i, node)
		if (node_is(node, "accepted") || node_is(node, "busy") ||
		    (node_is(node, "again") && !is_sent_here(c, node)))
			return true;
	return false;
}

/*
 * The call itself was refused: nothing of it was done. False: the operation fails.
 * Those that were sent before are waited for all the same, and the sum tells.
 */
static bool note_whole(struct step_ctx *c, const struct answer *a)
{
	json_t *list, *batch, *node;
	size_t i;
	struct err *e;

	if (!others_are_sent(c)) {
		e = step_fail_answer(c, a, "the nodes of %s could not be %s",
				     hyperpod_name(c), action_of(c)->done);
		err_fix(e,
			"These nodes were not changed. Resolve the cause, then retry.");
		return false;
	}
	list = json_own(c->arena, json_deep_copy(node_list(c)));
	batch = batch_of(c);
	json_array_foreach(list, i, node) {
		if (!json_find(batch, "asked", json_str_or(node, "asked", "")))
			continue;
		json_put_str(node, "state", "refused");
		json_put_str(node, "code", a->code);
		json_put_str(node, "message", a->message);
	}
	step_save(c, "nodes", json_incref(list));
	return true;
}

void send_nodes_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok && !note_whole(c, a))
		return;
	if (a->ok)
		take_answer(c, a);
	step_advance(c);
}

/* --- once more ------------------------------------------------------------- */

void send_again_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *batch = batch_of(c);
	const int64_t nth = json_int_or(c->data, "again", 0) + 1;
	const int64_t since = step_waited_ms(c);

	if (json_array_size(batch) == 0)
		return;
	c->item = arena_printf(c->arena, "again/%lld", (long long)nth);
	if (c->issued_before && has_arrived(c)) {
		take_as_sent(c);
		step_save(c, "again", json_integer(nth));
		step_goto(c, c->step->name);
		return;
	}
	if (!c->issued_before && since < AGAIN_MS * c->cfg->poll_scale_percent / 100) {
		step_wait(c, AGAIN_MS / 1000,
			  "another attempt for %zu nodes after an AWS error",
			  json_array_size(batch));
		return;
	}
	build(c, x, batch);
}

void send_again_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok && !note_whole(c, a))
		return;
	if (a->ok)
		take_answer(c, a);
	step_save(c, "again", json_integer(json_int_or(c->data, "again", 0) + 1));
	step_goto(c, c->step->name);
}
