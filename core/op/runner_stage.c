/* Stages: child operations of their own, and the undo of a cancelled one. */
#include "core/json/tree.h"
#include "core/op/walk.h"

const struct step undo_step = {
	.name = "undo",
	.phase = "undo",
	.title = "Undo the changes",
	.on_cancel = CANCEL_FINISH,
};

static const char *title_of(const struct step *s)
{
	return s->title ? s->title : s->name;
}

void walk_cancel(struct walk *w)
{
	if (w->claim.cancel_undo && w->kind->undo && w->step != &undo_step) {
		w->ctx.verdict = (struct verdict){
			.kind = VERDICT_ADVANCE,
			.step = undo_step.name,
		};
		return;
	}
	w->ctx.verdict = (struct verdict){.kind = VERDICT_CANCELLED};
	err_set(&w->ctx.verdict.error, ERR_CANCELLED, "Cancelled at \"%s\"",
		title_of(w->step));
}

static void start_child(struct walk *w)
{
	enum { SIZE = sizeof("op_") + ID_RANDOM };
	struct step_ctx *c = &w->ctx;
	const bool undoing = w->step == &undo_step;
	char *id = arena_alloc(w->a, SIZE);
	bool wanted;

	wanted = undoing ? w->kind->undo && w->kind->undo(c, &w->spawn)
			 : w->step->spawn(c, &w->spawn);
	if (c->verdict.kind != VERDICT_NONE)
		return;
	if (!wanted) {
		if (undoing)
			walk_cancel(w);
		else
			step_advance(c);
		return;
	}
	w->out.child_kind = kind_find(w->r->kinds, w->spawn.kind);
	if (!w->out.child_kind) {
		step_fail(c, ERR_INTERNAL, "Stage \"%s\" is of the unknown kind \"%s\"",
			  title_of(w->step), w->spawn.kind);
		return;
	}
	id_make(w->r->rng, w->claim.now_ms, "op_", id, SIZE);
	w->out.child_id = id;
	w->out.spawn = &w->spawn;
	c->verdict.kind = VERDICT_SPAWN;
}

/* The child's error becomes ours, with the stage's name in front. */
static void fail_by_child(struct walk *w)
{
	const json_t *why = w->claim.child_error;
	const json_t *cause;
	struct err *e;
	size_t i;

	e = step_fail(&w->ctx, ERR_CHILD_FAILED, "Stage \"%s\" failed: %s",
		      title_of(w->step),
		      json_str_or(why, "detail", "No reason is recorded"));
	if (json_str_at(why, "fix"))
		err_fix(e, "%s", json_str_at(why, "fix"));
	err_because(e, w->claim.child_id, json_str_or(why, "code", ""),
		    json_str_or(why, "detail", ""), "");
	json_array_foreach(json_at(why, "cause"), i, cause)
		err_because(e, json_str_at(cause, "source"), json_str_at(cause, "code"),
			    json_str_at(cause, "message"),
			    json_str_at(cause, "request_id"));
}

/* Looked at rarely: the child's end and its questions wake us. */
static void wait_for_child(struct walk *w, const char *fmt)
{
	enum { LOOK_S = 60 };
	struct step_ctx *c = &w->ctx;

	step_wait(c, LOOK_S, "%s \"%s\"", fmt, title_of(w->step));
}

static void child_succeeded(struct walk *w)
{
	struct step_ctx *c = &w->ctx;

	if (w->step == &undo_step) {
		left_undone(w);
		walk_cancel(w);
		return;
	}
	if (w->claim.child_result)
		json_object_set(c->data, w->step->name, w->claim.child_result);
	step_advance(c);
}

void walk_stage(struct walk *w)
{
	const char *state = w->claim.child_state;

	left_from_stage(w);
	if (!w->claim.child_id) {
		if (w->claim.cancel_requested && w->step != &undo_step)
			walk_cancel(w);
		else
			start_child(w);
	} else if (streq(state, "succeeded")) {
		child_succeeded(w);
	} else if (streq(state, "failed") &&
		   !(w->claim.cancel_requested && w->step != &undo_step)) {
		fail_by_child(w);
	} else if (streq(state, "failed") || streq(state, "cancelled")) {
		walk_cancel(w);
	} else if (streq(state, "held")) {
		wait_for_child(w, "a decision in stage");
	} else {
		wait_for_child(w, w->claim.cancel_requested ? "the cancellation of stage"
							    : "stage");
	}
}
