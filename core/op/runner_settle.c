/* From a verdict to a settlement: intervals, deadlines, cancel, next row. */
#include "core/json/tree.h"
#include "core/op/walk.h"

/* No wait is longer: what is due later has been written by another clock (op_claim). */
enum { DUE_MAX_MS = 15 * 60 * 1000 };

static int64_t deadline_left_ms(const struct walk *w)
{
	return w->claim.step_since_ms + w->claim.blind_ms +
	       step_deadline_s(w->step) * 1000 - walk_now_ms(w);
}

/*
 * A stage waits as long as its child lives: the child has deadlines. What sees nothing
 * waits until it sees, for a day.
 */
static bool has_deadline(const struct walk *w)
{
	enum { BLIND_MAX_MS = 24 * 3600 * 1000 };
	const int64_t blind_ms =
		w->claim.blind_since_ms ? w->claim.now_ms - w->claim.blind_since_ms : 0;

	if (w->out.blind && blind_ms < BLIND_MAX_MS)
		return false;
	return !w->step->spawn && w->step != &undo_step;
}

static bool effect_is_unknown(const struct walk *w)
{
	if (w->out.effect == EFFECT_UNKNOWN)
		return true;
	return w->effect_open && w->out.effect == EFFECT_NONE;
}

static void time_out(struct walk *w)
{
	struct verdict *v = &w->ctx.verdict;
	const struct err last = v->error;
	const char *what = v->kind == VERDICT_WAIT ? v->waiting_for : last.detail;
	const int64_t minutes =
		(walk_now_ms(w) - w->claim.step_since_ms - w->claim.blind_ms) / 60000;
	const char *title = w->step->title ? w->step->title : w->step->name;
	struct err *e;

	if (effect_is_unknown(w)) {
		walk_hold_unknown(w, w->out.call, NULL);
		return;
	}
	what = arena_strdup(w->a, what ? what : "");
	e = step_fail(&w->ctx, ERR_STEP_TIMEOUT,
		      "\"%s\" was not complete after %lld minutes; last: %s", title,
		      (long long)minutes, what);
	if (last.code == ERR_NONE)
		return;
	/* What kept it from happening is the cause; its own causes follow. */
	e->retry = err_retry(&last);
	err_because(e, w->step->name, errc_info(last.code)->slug, last.detail, "");
	for (size_t i = 0; i < last.n_causes; i++)
		err_because(e, last.cause[i].source, last.cause[i].code,
			    last.cause[i].message, last.cause[i].request_id);
	if (last.fix[0])
		err_fix(e, "%s", last.fix);
}

/* The operation's own end is seen when it comes, not at the look after it. */
static int64_t before_the_end(const struct walk *w, int64_t due_ms)
{
	const int64_t left = w->claim.deadline_ms - walk_now_ms(w);

	return w->claim.deadline_ms && left > 0 && due_ms > left ? left : due_ms;
}

/* The interval until the next look or try, clipped to a last one in time. */
static void schedule(struct walk *w)
{
	struct verdict *v = &w->ctx.verdict;
	const int64_t left = deadline_left_ms(w);
	int64_t due;

	if (has_deadline(w) && left <= 0) {
		time_out(w);
		return;
	}
	if (w->exact_due)
		due = v->due_ms;
	else if (v->kind == VERDICT_WAIT)
		due = backoff_look_ms(w->r->rng, v->due_ms, w->claim.waits,
				      w->r->cfg->poll_scale_percent);
	else
		due = backoff_ms(w->r->rng, v->error.code, w->claim.attempt);
	if (due > DUE_MAX_MS)
		due = DUE_MAX_MS;
	if (has_deadline(w) && due > left)
		due = left;
	w->out.due_ms = before_the_end(w, due);
}

/* A cancel seen at the claim takes effect once the step has come to its end. */
static void apply_cancel(struct walk *w)
{
	const struct verdict *v = &w->ctx.verdict;

	if (!w->claim.cancel_requested || w->step == &undo_step)
		return;
	if (v->kind == VERDICT_ADVANCE && !streq(v->step, undo_step.name))
		walk_cancel(w);
	else if (v->kind == VERDICT_DONE && w->claim.cancel_undo)
		walk_cancel(w);
	else if (v->kind == VERDICT_HOLD && !effect_is_unknown(w))
		walk_cancel(w);
}

static void find_next(struct walk *w)
{
	struct verdict *v = &w->ctx.verdict;

	if (streq(v->step, undo_step.name)) {
		w->out.next = &undo_step;
		return;
	}
	if (v->step) {
		w->out.next = kind_step(w->kind, v->step);
		if (!w->out.next)
			step_fail(&w->ctx, ERR_INTERNAL, "\"%s\" is not a step of \"%s\"",
				  v->step, w->kind->name);
		return;
	}
	w->out.next = kind_step_after(w->kind, w->step);
	if (!w->out.next)
		step_done(&w->ctx, json_object());
}

/*
 * The step came to its end without sending: observe() has found what an issue
 * of unknown outcome had made. The ledger learns that it happened.
 */
static void close_open_effect(struct walk *w)
{
	const struct claim *c = &w->claim;

	if (!c->issued || w->out.effect != EFFECT_NONE || w->out.item)
		return;
	w->out.effect = EFFECT_DONE;
	w->out.item = c->issued_item;
	w->out.epoch = c->issued_epoch;
	w->out.response = json_packf(w->a, "{s:b, s:b}", "ok", 1, "observed", 1);
}

/*
 * The answer of the call is in our hands only: it is worth all the time that the
 * claim has. One that was committed although nobody has told us is found settled.
 */
static bool store(struct walk *w, struct err *e)
{
	const int64_t end_ms = w->start_mono_ms + w->lease_ms;

	for (;;) {
		if (journal_settle(w->r->db, w->a, &w->claim, &w->out, e))
			return true;
		if (e->code != ERR_UNAVAILABLE && e->code != ERR_AMBIGUOUS)
			return false;
		if (!db_await(w->r->db, w->a, end_ms))
			return false;
	}
}

bool walk_settle(struct walk *w, struct err *e)
{
	struct verdict *v = &w->ctx.verdict;

	if (v->kind == VERDICT_ADVANCE || v->kind == VERDICT_DONE) {
		close_open_effect(w);
		left_met(w);
	}
	left_keep(w);
	apply_cancel(w);
	if (v->kind == VERDICT_ADVANCE || v->kind == VERDICT_HOLD)
		walk_word_forget(w);
	if (v->kind == VERDICT_ADVANCE)
		find_next(w);
	if (v->kind == VERDICT_WAIT || v->kind == VERDICT_RETRY)
		schedule(w);
	if (v->kind == VERDICT_FAIL)
		left_gone(w);
	if (v->kind == VERDICT_FAIL && w->step->on_fail && !w->final &&
	    !effect_is_unknown(w)) {
		w->step->on_fail(&w->ctx);
		if (v->kind == VERDICT_ADVANCE)
			find_next(w);
	}
	if (v->kind == VERDICT_FAIL && !effect_is_unknown(w))
		choice_put_aside(w);
	if (v->kind == VERDICT_FAIL || v->kind == VERDICT_CANCELLED) {
		left_tell(w);
		if (w->kind->stopped)
			w->kind->stopped(&w->ctx);
	}
	w->out.kind = w->kind;
	w->out.step = w->step;
	w->out.ctx = &w->ctx;
	return store(w, e);
}
