/*
 * scale_up.c - more nodes by BatchAddClusterNodes, fifty a call.
 *
 * data.added is a list of batches, each the logical ids that its answer named:
 * by them the nodes are known when the token is not valid any more (case IG-01).
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_BatchAddClusterNodes.html
 */
#include "core/domain/group/group.h"
#include "core/domain/group/scale.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/offer/wish.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

enum { ADD_MAX = 50, BUSY_S = 30 };

static const int64_t TOKEN_LIFE_MS = INT64_C(8) * 3600 * 1000;

static int64_t n_batches(const struct step_ctx *c)
{
	return (int64_t)json_len_at(c->data, "added");
}

static int64_t batch_size(const struct step_ctx *c)
{
	const int64_t left = scale_more(c) - n_batches(c) * ADD_MAX;

	return left > ADD_MAX ? ADD_MAX : left;
}

static bool is_token_dead(const struct step_ctx *c)
{
	return c->issued_before && c->now_ms - c->issued_at_ms >= TOKEN_LIFE_MS;
}

/* The call says how many more, not how many: of the first it is looked at again. */
static bool is_first_send(const struct step_ctx *c)
{
	return n_batches(c) == 0 && !c->issued_before;
}

bool scale_add_observe(struct step_ctx *c, struct exchange *x)
{
	if (!scale_is_continuous(c) || batch_size(c) <= 0)
		return false;
	return (is_token_dead(c) && scale_read_observe(c, x)) ||
	       (is_first_send(c) && hyperpod_read(c, x));
}

static void keep_batch(struct step_ctx *c, json_t *ids)
{
	if (!json_at(c->data, "added"))
		step_save(c, "added", json_array());
	json_push(json_at(c->data, "added"), ids);
}

static void remember(json_t *set, const json_t *ids)
{
	size_t i;
	json_t *id;

	json_array_foreach(ids, i, id)
		if (json_is_string(id))
			json_object_set_new(set, json_string_value(id), json_true());
}

/* Logical ids that were not there before us and that no answer has named. */
static json_t *new_ids(struct step_ctx *c)
{
	json_t *now = json_own(c->arena, scale_logical_ids(c));
	json_t *list = json_array(), *known = json_new_object(c->arena);
	size_t i;
	json_t *v;

	remember(known, json_at(c->data, "known"));
	json_array_foreach(json_at(c->data, "added"), i, v)
		remember(known, v);
	json_array_foreach(now, i, v)
		if (!json_object_get(known, json_string_value(v)))
			json_array_append(list, v);
	return list;
}

/* The token protects nothing any more: the group itself says what came of it. */
static bool settle_by_evidence(struct step_ctx *c)
{
	json_t *ids = json_own(c->arena, new_ids(c));

	if ((int64_t)json_array_size(ids) < batch_size(c))
		return false;
	step_event(c, "nodes_found", json_deep_copy(ids));
	keep_batch(c, json_incref(ids));
	return true;
}

void scale_add_plan(struct step_ctx *c, struct exchange *x)
{
	const int64_t n = batch_size(c);

	if (!scale_is_continuous(c) || n <= 0)
		return;
	if (is_token_dead(c) && settle_by_evidence(c)) {
		if (batch_size(c) > 0)
			step_wait(c, 0, "the next nodes");
		else
			step_advance(c);
		return;
	}
	if (is_first_send(c) && scale_is_outdated(c)) {
		step_goto(c, "read_group");
		return;
	}
	c->item = arena_printf(c->arena, "batch %lld.%lld", (long long)n_batches(c) + 1,
			       (long long)json_int_or(c->data, "refusals", 0));
	exchange_aws(x, AWS_SAGEMAKER_BatchAddClusterNodes,
		     json_packf(c->arena, "{s:s, s:[{s:s, s:I}]}", "ClusterName",
				hyperpod_name(c), "NodesToAdd", "InstanceGroupName",
				group_name(c), "IncrementTargetCountBy", (json_int_t)n));
	x->what = arena_printf(
		c->arena, "Add %lld nodes to %s (%lld now, %lld requested)", (long long)n,
		group_name(c), (long long)json_int_or(c->data, "from", 0),
		(long long)wish_count(c));
}

/* HTTP 200 with the refusal inside. */
static void add_refused(struct step_ctx *c, const json_t *fault)
{
	const char *code = json_str_or(fault, "ErrorCode", "");
	struct err *e;

	if (str_starts(code, "InvalidInstanceGroupStat")) {
		step_save(c, "refusals",
			  json_integer(json_int_or(c->data, "refusals", 0) + 1));
		step_wait(c, BUSY_S, "the instance group %s, which accepts no nodes now",
			  group_name(c));
		return;
	}
	if (streq(code, "InstanceGroupNotFound"))
		step_gone(c, group_name(c));
	e = step_fail(c,
		      streq(code, "InstanceGroupNotFound") ? ERR_CLOUD_NOT_FOUND
							   : ERR_CLOUD_REFUSED,
		      "SageMaker did not add %lld nodes to %s: %s",
		      (long long)json_int_or(fault, "FailedCount", 0), group_name(c),
		      json_str_or(fault, "Message", code));
	err_because(e, "sagemaker:BatchAddClusterNodes", code,
		    json_str_or(fault, "Message", ""), NULL);
}

void scale_add_absorb(struct step_ctx *c, const struct answer *a)
{
	json_t *ids = json_array();
	size_t i;
	json_t *node;

	if (!a->ok) {
		json_decref(ids);
		if (a->errc == ERR_CLOUD_CONFLICT)
			step_retry(c, ERR_CLOUD_CONFLICT, "%s accepts no nodes now: %s",
				   group_name(c), a->message);
		else
			step_fail_answer(c, a, "adding nodes to %s was rejected",
					 group_name(c));
		return;
	}
	json_array_foreach(json_at(a->out, "Successful"), i, node)
		json_push(ids, json_string(json_str_or(node, "NodeLogicalId", "?")));
	if (json_array_size(ids) == 0 && json_len_at(a->out, "Failed") > 0) {
		json_decref(ids);
		add_refused(c, json_at(a->out, "Failed.0"));
		return;
	}
	if (json_len_at(a->out, "Failed") > 0)
		step_warn(c, "SageMaker added fewer nodes to %s: %s", group_name(c),
			  json_str_or(a->out, "Failed.0.Message",
				      json_str_or(a->out, "Failed.0.ErrorCode", "")));
	keep_batch(c, ids);
	step_event(c, "nodes_added", json_deep_copy(ids));
	if (batch_size(c) > 0)
		step_wait(c, 0, "the next nodes");
	else
		step_advance(c);
}
