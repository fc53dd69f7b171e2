/*
 * The first claim of an operation: are we allowed all of it? Nothing has been made yet,
 * and a run that is denied halfway leaves halves.
 */
#include "core/json/tree.h"
#include "core/op/rights.h"
#include "core/op/walk.h"

/* Once a try, at the first row of what was asked for; a stage is part of that. */
static bool is_due(const struct walk *w)
{
	const struct claim *c = &w->claim;

	return w->r->rights && w->kind->steps == w->step && !c->parent_id &&
	       !c->cancel_requested && !c->answer && !w->effect_open &&
	       !json_bool_or(w->ctx.input, RIGHTS_ACCEPT, false) &&
	       json_int_or(w->ctx.data, "_rights", -1) != c->try;
}

/* The plan's own failure is the steps' to tell; what it has planned by then counts. */
static bool ask(struct walk *w, struct arena *a, int64_t until_ms,
		const char **ret_unknown, struct err *e)
{
	struct rights_found f;
	struct err ignored = {0};
	json_t *needs;

	(void)!runner_rights(w->r, a, w->kind, w->claim.target, w->ctx.input, until_ms,
			     &needs, &ignored);
	rights_ask(w->r, needs, until_ms, a, &f);
	if (json_array_size(f.denied))
		return rights_refuse(&f, w->r->where->caller_arn, a, e);
	*ret_unknown = rights_unknown(&f, w->a);
	return true;
}

void walk_rights(struct walk *w)
{
	struct clock *clock = w->r->clock;
	const char *unknown = NULL;
	struct err e = {0};
	struct arena own;
	bool allowed;

	if (!is_due(w))
		return;
	/* Its reads must not fill the step's arena. */
	arena_init(&own, w->a->cap);
	allowed = ask(w, &own, w->start_mono_ms + w->lease_ms / 2, &unknown, &e);
	arena_free(&own);
	step_save(&w->ctx, "_rights", json_integer(w->claim.try));
	if (!allowed) {
		w->final = true;
		step_fail(&w->ctx, e.code, "%s", e.detail);
		w->ctx.verdict.error = e;
		return;
	}
	if (unknown)
		step_warn(&w->ctx, "not known: %s", unknown);
	if (clock->mono_ms(clock) - w->start_mono_ms > w->lease_ms / 4) {
		step_wait(&w->ctx, 0, "the check of InstantStart's permissions");
		w->exact_due = true;
	}
}
