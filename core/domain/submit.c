/* From a decoded request to a durable operation, or to its plan. */
#include <string.h>

#include "core/domain/capability.h"
#include "core/json/tree.h"
#include "core/op/journal.h"
#include "core/op/plan_shown.h"
#include "core/op/rights.h"
#include "core/op/runner.h"
#include "gen/queries.h"

static bool answer_plan(struct call *c, struct reply *ret, const json_t *plan)
{
	reply_tree(c, ret, plan_shown(c->arena, plan));
	ret->planned = true;
	return true;
}

/* Plans anew and compares: what was approved is what will run. */
static bool check_digest(struct call *c, struct reply *ret, const json_t *plan,
			 struct err *e)
{
	const char *now = json_str_or(plan, "plan_digest", "");

	if (streq(now, c->opt.plan_digest))
		return true;
	reply_tree(c, ret, plan_shown(c->arena, plan));
	err_set(e, ERR_PLAN_CHANGED, "The plan is not the one that was approved");
	err_field(e, "/plan_digest", c->opt.plan_digest, now);
	return err_fix(e, "Review the plan in this answer, then send its plan_digest.");
}

/* A repeat, after a lost answer perhaps: the first one's own work has changed what
 * a plan would be. What it started decides, not what it has done since. */
static bool is_repeat(struct call *c, bool *ret, struct err *e)
{
	struct db_rows rows;

	*ret = false;
	if (!c->opt.idempotency_key || c->opt.dry_run)
		return true;
	if (!DB(c->db, c->arena, &Q_idempotency_known, &rows, e, c->who->id,
		c->opt.idempotency_key))
		return false;
	*ret = rows.n > 0;
	return true;
}

static bool asks_stakes(const struct call *c)
{
	return c->cap->flags & CAP_STAKES || c->stakes;
}

/* The word of a plan that has none any more: the target itself is still lost. */
static bool check_name(const struct call *c, const char *target, struct err *e)
{
	if (!(c->cap->flags & CAP_MORE_STAKES) || c->opt.dry_run ||
	    streq(c->opt.confirm, target))
		return true;
	err_set(e, ERR_CONFIRM_NEEDED, "%s: confirm must be \"%s\"", c->cap->title,
		target);
	err_field(e, "/confirm", c->opt.confirm, target);
	return err_fix(e, "Send the name of the target. Nothing else would be lost now.");
}

/* Who confirms has seen what is lost: the word is of the list as it is now. */
static bool check_stakes(struct call *c, const char *target, const json_t *plan,
			 struct reply *ret, struct err *e)
{
	const char *word = json_str_at(plan, "confirm");

	if (!asks_stakes(c) || !word)
		return check_name(c, target, e);
	if (streq(c->opt.confirm, word))
		return true;
	reply_tree(c, ret, plan_shown(c->arena, plan));
	err_set(e, ERR_LOSS_NOT_CONFIRMED, "%s: %s", c->cap->title,
		c->opt.confirm ? "The losses differ from those that were confirmed"
			       : "The losses must be confirmed");
	err_field(e, "/confirm", c->opt.confirm ? c->opt.confirm : "", word);
	return err_fix(
		e, "Review at_stake in the plan of this answer, then send its confirm "
		   "value.");
}

/* Only what may be lost is looked for; the whole plan is for who must confirm it. */
static bool ask_stakes(struct call *c, const struct kind *k, const char *target,
		       const json_t *input, json_t **ret_plan, struct reply *ret,
		       struct err *e)
{
	const char *word;

	if (!runner_stakes(c->cloud, c->arena, k, target, input, ret_plan, e))
		return false;
	word = json_str_at(*ret_plan, "confirm");
	if (word && !streq(c->opt.confirm, word) &&
	    !runner_plan_whole(c->cloud, c->arena, k, target, input, ret_plan, e))
		return false;
	return check_stakes(c, target, *ret_plan, ret, e);
}

/* The plans that the request asks for; *ret_plan NULL: none. */
static bool plan_first(struct call *c, const struct kind *k, const char *target,
		       const json_t *input, json_t **ret_plan, struct reply *ret,
		       struct err *e)
{
	const bool bound = c->opt.plan_digest || asks_stakes(c);
	bool repeat = false;

	if (bound && !is_repeat(c, &repeat, e))
		return false;
	if (!c->opt.dry_run && (!bound || repeat))
		return repeat || check_name(c, target, e);
	if (!c->opt.dry_run && !c->opt.plan_digest)
		return ask_stakes(c, k, target, input, ret_plan, ret, e);
	if (c->opt.dry_run)
		return runner_plan(c->cloud, c->arena, k, target, input, ret_plan, e) &&
		       answer_plan(c, ret, *ret_plan);
	if (!runner_plan_whole(c->cloud, c->arena, k, target, input, ret_plan, e))
		return false;
	return (!c->opt.plan_digest || check_digest(c, ret, *ret_plan, e)) &&
	       check_stakes(c, target, *ret_plan, ret, e);
}

/* The word is of the call, and goes with what it starts. */
static const json_t *with_rights(struct call *c, const json_t *input)
{
	json_t *in;

	if (!c->opt.accept_missing_rights)
		return input;
	in = json_own(c->arena, json_copy((json_t *)(uintptr_t)input));
	json_object_set_new(in, RIGHTS_ACCEPT, json_true());
	return in;
}

/* An empty list, too: then nothing was confirmed, and nothing may be lost. */
static json_t *stakes_of(struct call *c, const json_t *plan)
{
	json_t *rows = json_at(plan, "at_stake");

	return rows ? rows : json_new_list(c->arena);
}

bool call_confirm(struct call *c, const struct kind *k, const char *target,
		  const json_t *input, json_t **ret_confirmed, struct reply *ret,
		  struct err *e)
{
	json_t *plan = NULL;

	c->stakes = true;
	if (!plan_first(c, k, target, input, &plan, ret, e))
		return false;
	*ret_confirmed = plan ? stakes_of(c, plan) : NULL;
	return true;
}

bool call_submit(struct call *c, const struct kind *k, const char *target,
		 const json_t *input, struct reply *ret, struct err *e)
{
	char id[sizeof("op_") + ID_RANDOM];
	struct submission s = {
		.kind = k,
		.target = target,
		.principal = c->who->id,
		.face = face_name(c->face),
		.idem_key = c->opt.idempotency_key,
		.plan_digest = c->opt.plan_digest,
		.capability = c->cap->name,
		.queue = c->opt.queue,
		.traceparent = c->opt.traceparent,
		.request_id = c->request_id,
	};
	struct submitted done = {0};
	json_t *plan = NULL, *confirmed;

	input = with_rights(c, input);
	s.input = input;
	if (!plan_first(c, k, target, input, &plan, ret, e))
		return false;
	if (c->opt.dry_run)
		return true;
	if (plan && asks_stakes(c)) {
		confirmed = json_own(c->arena, json_copy((json_t *)(uintptr_t)input));
		json_object_set(confirmed, "confirmed", stakes_of(c, plan));
		s.input = confirmed;
	}
	id_make(c->rng, c->clock->wall_ms(c->clock), "op_", id, sizeof(id));
	s.id = id;
	s.digest = json_digest(c->arena, json_packf(c->arena, "{s:s,s:s,s:O}", "kind",
						    k->name, "target", target, "input",
						    c->meant ? c->meant : input));
	s.audit = c->cap->in ? field_mask(c->cap->in, c->raw, c->arena) : c->raw;
	if (!journal_submit(c->db, c->arena, &s, &done, e))
		return false;
	ret->status = 202;
	ret->json = (struct str){done.operation, done.operation_len};
	ret->location = arena_printf(c->arena, "/api/v1/operations/%s", done.id);
	ret->retry_after_s = 1;
	return true;
}
