/* A tick: claim, step, settle. The rest is in the runner_*.c files. */
#include "core/op/runner.h"

#include "core/json/tree.h"
#include "core/op/walk.h"

#ifdef CRASHPOINTS
void (*crashpoint_hook)(const char *point, const struct step *s);
#endif

int64_t walk_now_ms(const struct walk *w)
{
	struct clock *c = w->r->clock;

	return w->claim.now_ms + (c->mono_ms(c) - w->start_mono_ms);
}

bool walk_has_time(const struct walk *w, const struct exchange *x)
{
	struct clock *c = w->r->clock;
	const int64_t left = w->start_mono_ms + w->lease_ms - c->mono_ms(c);

	return left >= runner_call_ms(w->r, x) + runner_margin_ms(w->lease_ms);
}

static void fill_context(struct walk *w)
{
	const struct claim *cl = &w->claim;

	w->ctx = (struct step_ctx){
		.arena = w->a,
		.cfg = w->r->cfg,
		.where = w->r->where,
		.op_id = cl->op_id,
		.root_id = cl->root_id ? cl->root_id : cl->op_id,
		.target = cl->target,
		.input = cl->input ? cl->input : json_new_object(w->a),
		.data = cl->data ? cl->data : json_new_object(w->a),
		.seen = json_new_object(w->a),
		.answer_given = cl->answer,
		.ledger = cl->ledger,
		.step = w->step,
		.now_ms = cl->now_ms,
		.step_since_ms = cl->step_since_ms,
		.blind_ms = cl->blind_ms,
		.try = cl->try,
		.issued_before = cl->issued,
		.issued_at_ms = cl->issued_at_ms,
		.resources = json_new_list(w->a),
		.catalog = json_new_list(w->a),
		.events = json_new_list(w->a),
	};
	w->effect_open = cl->issued;
}

/* Rows of another version of the program: the settlement still needs names. */
static void find_rows(struct walk *w)
{
	struct step *s;
	struct kind *k;

	w->kind = kind_find(w->r->kinds, w->claim.kind);
	if (streq(w->claim.step, undo_step.name))
		w->step = &undo_step;
	else if (w->kind)
		w->step = kind_step(w->kind, w->claim.step);
	fill_context(w);
	if (!w->kind)
		step_fail(&w->ctx, ERR_INTERNAL,
			  "This program does not support operations of kind \"%s\"",
			  w->claim.kind);
	else if (!w->step)
		step_fail(&w->ctx, ERR_INTERNAL,
			  "This program has no step \"%s\" of \"%s\"", w->claim.step,
			  w->claim.kind);
	if (!w->step) {
		s = arena_new(w->a, struct step);
		*s = (struct step){.name = w->claim.step, .phase = "", .title = ""};
		w->step = s;
	}
	if (!w->kind) {
		k = arena_new(w->a, struct kind);
		*k = (struct kind){
			.name = w->claim.kind, .title = "", .steps = &undo_step};
		w->kind = k;
	}
	w->ctx.step = w->step;
	if (w->ctx.verdict.kind != VERDICT_NONE)
		err_fix(&w->ctx.verdict.error,
			"Run the version that accepted the operation, then retry it.");
}

static void log_step(const struct walk *w)
{
	const struct verdict *v = &w->ctx.verdict;
	struct clock *c = w->r->clock;

	if (!w->r->log)
		return;
	log_info(w->r->log, w->given_up ? "gave_up_claim" : "step",
		 LOG_S("op", w->claim.op_id), LOG_S("kind", w->claim.kind),
		 LOG_S("step", w->claim.step), LOG_N("gen", w->claim.gen),
		 LOG_S("verdict", verdict_name(v->kind)), LOG_S("call", w->out.call),
		 LOG_S("waiting_for", v->kind == VERDICT_WAIT ? v->waiting_for : NULL),
		 LOG_S("error", v->error.code ? v->error.detail : NULL),
		 LOG_N("ms", c->mono_ms(c) - w->start_mono_ms));
}

/* Carries out what was claimed. Split off so that *w is as short-lived as a claim. */
static bool carry_out(struct walk *w, struct err *e)
{
	struct exchange x = {.via = VIA_NONE};

	find_rows(w);
	CRASHPOINT("after-claim", w->step);
	if (w->ctx.verdict.kind == VERDICT_NONE)
		walk_rights(w);
	if (w->ctx.verdict.kind == VERDICT_NONE)
		walk_step(w);
	if (w->ctx.verdict.kind == VERDICT_NONE && !goal_moved(&w->ctx) &&
	    w->step->plan) {
		walk_intend(w);
		w->step->plan(&w->ctx, &x);
	}
	CRASHPOINT("after-plan", w->step);
	if (w->ctx.verdict.kind == VERDICT_NONE) {
		if (!walk_effect(w, &x, e))
			return false;
		if (exchange_mutates(&x) && !w->done)
			walk_forget_intended(w);
	}
	log_step(w);
	if (w->given_up)
		return true;
	if (!walk_settle(w, e))
		return false;
	CRASHPOINT("after-settle", w->step);
	return true;
}

bool runner_tick(struct runner *r, struct arena *a, bool *ret_worked, struct err *e)
{
	struct walk *w = arena_new(a, struct walk);

	*ret_worked = false;
	w->r = r;
	w->a = a;
	w->lease_ms = runner_lease_ms(r);
	/* Before the claim is asked for: our lease is never longer than the row's. */
	w->start_mono_ms = r->clock->mono_ms(r->clock);
	if (!journal_claim(r->db, a, r->worker, w->lease_ms, &w->claim, ret_worked, e))
		return false;
	if (!*ret_worked)
		return true;
	return carry_out(w, e);
}
