/* What comes before a mutation: deadline, cancel, stages, reads. */
#include "core/base/limits.h"
#include "core/json/tree.h"
#include "core/op/refusal.h"
#include "core/op/walk.h"

/* Nothing was learnt; what was said goes along. */
static void walk_answer_missing(struct step_ctx *c, const struct answer *ans)
{
	const bool known =
		backoff_is_transient(ans->errc) || ans->errc == ERR_CLOUD_CONFLICT;
	const enum errc why = known ? ans->errc : ERR_CLOUD_UNREACHABLE;

	step_retry(c, why, "%s failed: %s", ans->call,
		   refusal_is_unknown_caller(ans) ? "the cluster does not know us"
						  : errc_info(why)->title);
	err_because(&c->verdict.error, ans->call, ans->code, ans->message,
		    ans->request_id);
	if (refusal_is_unknown_caller(ans))
		refusal_unknown_caller(c, &c->verdict.error);
}

void walk_answer_failed(struct step_ctx *c, const struct answer *ans)
{
	if (backoff_is_transient(ans->errc)) {
		walk_answer_missing(c, ans);
		return;
	}
	step_fail_answer(c, ans, "%s failed: %s", ans->call,
			 ans->message[0] ? ans->message : errc_info(ans->errc)->title);
}

/*
 * The operation's own deadline. Not while a stage is under way: the child has
 * one of its own and must not be left without a parent. Not in the claim that
 * brings a person's answer: it decides what the deadline left open.
 */
static bool is_overdue(const struct walk *w)
{
	const struct claim *c = &w->claim;

	if (c->deadline_ms == 0 || c->now_ms < c->deadline_ms || c->answer)
		return false;
	return !(streq(c->child_state, "live") || streq(c->child_state, "held"));
}

static void fail_overdue(struct walk *w)
{
	if (w->effect_open) {
		walk_hold_unknown(w, NULL, NULL);
		return;
	}
	/* The operation's time is over, not this part's: nothing is noted of it as
	 * failed, and nothing goes on. */
	w->final = true;
	step_fail(&w->ctx, ERR_DEADLINE,
		  "The operation was not complete by its deadline. It was at \"%s\"",
		  w->step->title ? w->step->title : w->step->name);
	err_fix(&w->ctx.verdict.error, "Retry it. It continues where it stopped.");
}

/*
 * A step says whether it may be left at all. One that has sent something whose
 * outcome is unknown is always brought to its end first: what it made must be
 * owned before the operation ends.
 */
static bool may_cancel_now(const struct walk *w)
{
	return w->claim.cancel_requested && w->step->on_cancel == CANCEL_STOP &&
	       !w->effect_open;
}

/* Answers of the runner's own questions that need no look at the cloud. */
static bool take_stop(struct walk *w)
{
	if (!streq(walk_word(w), CHOICE_STOP))
		return false;
	if (w->claim.cancel_requested) {
		walk_cancel(w);
		return true;
	}
	w->final = true;
	step_fail(&w->ctx, ERR_AMBIGUOUS,
		  "Stopped by decision. The outcome of \"%s\" is unknown",
		  w->step->title ? w->step->title : w->step->name);
	w->ctx.verdict.error.retry = RETRY_HUMAN;
	return true;
}

enum take step_take(const struct step *s, const struct answer *a)
{
	if (a->ok || a->errc == ERR_CLOUD_NOT_FOUND || a->may_fail)
		return TAKE_SEEN;
	if (backoff_is_transient(a->errc) || a->ambiguous)
		return TAKE_AGAIN;
	if (s->sees_errors)
		return TAKE_SEEN;
	return a->errc == ERR_CLOUD_CONFLICT ? TAKE_AGAIN : TAKE_REFUSED;
}

bool walk_take(struct step_ctx *c, const struct answer *ans)
{
	switch (step_take(c->step, ans)) {
	case TAKE_SEEN:
		if (c->step->seen)
			c->step->seen(c, ans);
		break;
	case TAKE_AGAIN:
		walk_answer_missing(c, ans);
		break;
	case TAKE_REFUSED:
		walk_answer_failed(c, ans);
		break;
	}
	c->reads++;
	return c->verdict.kind == VERDICT_NONE;
}

/* What goes anyway need not answer: its silence is one, after a while. */
static bool is_silence(const struct walk *w, const struct answer *ans)
{
	return ans->via == VIA_KUBE && w->kind->kube_silent_s > 0 &&
	       w->step->sees_errors &&
	       walk_now_ms(w) - w->claim.step_since_ms >= w->kind->kube_silent_s * 1000;
}

static bool take_read(struct walk *w, const struct answer *ans)
{
	const bool again = step_take(w->step, ans) == TAKE_AGAIN;

	if (again && is_silence(w, ans)) {
		if (w->step->seen)
			w->step->seen(&w->ctx, ans);
		w->ctx.reads++;
		return w->ctx.verdict.kind == VERDICT_NONE;
	}
	/* Nothing was observed; a refusal for now is an answer of a kind. */
	if (again && ans->errc != ERR_CLOUD_CONFLICT)
		w->out.blind = true;
	return walk_take(&w->ctx, ans);
}

/*
 * Answers stay in the step's arena, whose cap ends the process: a claim that has
 * read half of it full goes on in the next.
 */
static bool has_room(const struct walk *w)
{
	return w->a->used <= w->a->cap / 2;
}

/*
 * Whether one more read fits into the claim. It need not end before the lease
 * does, whatever happens: one that comes late changes nothing, its settlement is
 * refused.
 */
static bool has_time_to_read(const struct walk *w)
{
	struct clock *clock = w->r->clock;
	const int64_t left = w->start_mono_ms + w->lease_ms - clock->mono_ms(clock);

	return left >= w->r->cfg->call_timeout_ms + runner_margin_ms(w->lease_ms);
}

void walk_too_much(struct step_ctx *c)
{
	struct err *e = step_fail(c, ERR_STATE_CONFLICT,
				  "\"%s\" has too many objects to check at once",
				  c->step->title ? c->step->title : c->step->name);

	e->retry = RETRY_HUMAN;
	err_fix(e, "Use smaller parts, or a cluster with fewer objects.");
}

/* The claim's share of reading is over: go on in the next, from the cursor. */
static void read_on(struct walk *w, int64_t due_ms)
{
	step_wait(&w->ctx, 0, "more pages of the cloud's answer");
	w->ctx.verdict.due_ms = due_ms;
	w->exact_due = true;
}

void walk_silent(struct walk *w, const struct exchange *x, int64_t due_ms)
{
	const long long due_s = due_ms / 1000 + 1;

	step_wait(&w->ctx, 0, "%s: no answer recently, next attempt in %lld s",
		  exchange_name(x, w->a), due_s);
	w->ctx.verdict.due_ms = due_ms;
	w->exact_due = true;
}

static void observe(struct walk *w)
{
	struct step_ctx *c = &w->ctx;
	const json_t *before =
		w->step->observe ? json_own(w->a, json_deep_copy(c->data)) : NULL;

	while (w->step->observe && c->verdict.kind == VERDICT_NONE) {
		struct exchange x = {.via = VIA_NONE};
		const bool full = c->reads >= LIMIT_READS_PER_CLAIM || !has_room(w);
		struct answer ans;
		int64_t wait_ms, silent_ms;

		if (!w->step->observe(c, &x) || x.via == VIA_NONE ||
		    c->verdict.kind != VERDICT_NONE)
			return;
		wait_ms = c->reads ? 0 : runner_budget_ms(w->r, &x);
		/* Without a cursor the next claim would come just as far, for ever. */
		if (full && json_equal(before, c->data)) {
			walk_too_much(c);
			return;
		}
		silent_ms = runner_open_ms(w->r, &x, w->a);
		if (silent_ms) {
			walk_silent(w, &x, silent_ms);
			return;
		}
		if (wait_ms || full || !has_time_to_read(w)) {
			read_on(w, wait_ms);
			return;
		}
		runner_call(w->r, &x, NULL, w->a, &ans);
		if (!ans.ok && ans.errc == ERR_WEBHOOK_UNSERVED)
			walk_webhook(w, &x, &ans);
		else if (!walk_ending(w, &x, &ans))
			(void)take_read(w, &ans);
		if (c->verdict.kind != VERDICT_NONE)
			return;
	}
}

void walk_step(struct walk *w)
{
	if (is_overdue(w))
		fail_overdue(w);
	else if (w->step == &undo_step || w->step->spawn)
		walk_stage(w);
	else if (may_cancel_now(w))
		walk_cancel(w);
	else if (!take_stop(w))
		observe(w);
}
