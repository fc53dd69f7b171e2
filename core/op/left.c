/*
 * What stays wanted in the cloud when an operation ends before its time.
 *
 * data._left: {"step item": {what, goes_on, call, phase, met, …}}; a call that is
 * done with its answer leaves a row that is met, for who asks what was sent. A row
 * comes with the call's outcome, in the transaction that stores it; a call that crashed
 * after its intent is brought to its end before anything is cancelled, and leaves its row
 * then. data._left_stages: rows that a stage has listed at its own end.
 */
#include "core/json/tree.h"
#include "core/op/walk.h"

static const char member[] = "_left";
static const char of_stages[] = "_left_stages";

void step_stop(json_t *row, const char *tool, json_t *arguments)
{
	json_put(row, "stop",
		 json_pack("{s:s, s:o}", "tool", tool, "arguments",
			   arguments ? arguments : json_object()));
}

bool step_has_sent(const struct step_ctx *c, const char *step)
{
	const char *key;
	json_t *row;

	json_object_foreach(json_object_get(c->data, member), key, row)
		if (streq(json_str_at(row, "step"), step))
			return true;
	return false;
}

bool step_has_sent_any(const struct step_ctx *c)
{
	return json_object_size(json_object_get(c->data, member)) > 0;
}

/* --- rows ----------------------------------------------------------------------- */

static json_t *row_of(const struct step_ctx *c, const struct step *s,
		      const struct exchange *x)
{
	const char *goes_on = exchange_goes_on(x);
	const char *name = exchange_name(x, c->arena);

	return json_packf(c->arena, "{s:s, s:s*, s:s, s:s, s:s, s:b}", "what",
			  x->what ? x->what : name, "goes_on", goes_on, "call", name,
			  "step", s->name, "phase", s->phase ? s->phase : "", "met",
			  goes_on == NULL);
}

void left_note(struct walk *w, const struct exchange *x)
{
	w->left = row_of(&w->ctx, w->step, x);
}

static void keep(struct step_ctx *c, const struct step *s, const char *item, json_t *row)
{
	const struct leaves *l = s->leaves;

	if (l && l->tell)
		json_put_bool(row, "met", !l->tell(c, row) || !json_at(row, "goes_on"));
	if (l) {
		json_put_str(row, "cost", l->cost);
		json_put_str(row, "until", l->until);
	}
	if (json_at(row, "goes_on") && !json_at(row, "stop"))
		json_put_str(row, "no_stop",
			     l && l->no_stop ? l->no_stop
					     : "InstantStart has no call to stop it.");
	if (!json_object_get(c->data, member))
		json_object_set_new(c->data, member, json_object());
	json_object_set(json_object_get(c->data, member),
			json_at(row, "goes_on")
				? arena_printf(c->arena, "%s %s", s->name, item)
				: s->name,
			row);
}

void left_keep(struct walk *w)
{
	if (w->left && w->out.effect != EFFECT_REFUSED && !w->given_up)
		keep(&w->ctx, w->step, w->out.item ? w->out.item : "", w->left);
}

void step_left_behind(struct step_ctx *c, const struct exchange *x)
{
	if (!c->planning)
		keep(c, c->step, c->item ? c->item : "", row_of(c, c->step, x));
}

/* Those that the step is about, and those of the object, if one is named. */
static void meet(struct walk *w, const char *object)
{
	const char *phase = w->step->phase ? w->step->phase : "";
	const char *key;
	json_t *row;

	json_object_foreach(json_object_get(w->ctx.data, member), key, row)
		if (streq(json_str_at(row, "phase"), phase) ||
		    streq(json_str_at(row, "until"), w->step->name) ||
		    (object && streq(json_str_at(row, "object"), object)))
			json_put_bool(row, "met", true);
}

void left_met(struct walk *w)
{
	if (w->step->wait)
		meet(w, NULL);
}

void left_gone(struct walk *w)
{
	if (w->ctx.gone)
		meet(w, w->ctx.gone);
}

void left_from_stage(struct walk *w)
{
	json_t *rows = json_at(w->claim.child_result, "still_wanted");

	json_object_del(json_object_get(w->ctx.data, of_stages), w->step->name);
	if (json_array_size(rows) == 0)
		return;
	if (!json_object_get(w->ctx.data, of_stages))
		json_object_set_new(w->ctx.data, of_stages, json_object());
	json_object_set(json_object_get(w->ctx.data, of_stages), w->step->name, rows);
}

void left_undone(struct walk *w)
{
	const char *key;
	json_t *row;

	json_object_foreach(json_object_get(w->ctx.data, member), key, row)
		json_put_bool(row, "met", true);
	json_object_del(w->ctx.data, of_stages);
}

static json_t *shown(const json_t *row)
{
	json_t *copy = json_deep_copy(row);

	json_object_del(copy, "met");
	json_object_del(copy, "phase");
	json_object_del(copy, "until");
	return copy;
}

static json_t *listed(const struct walk *w)
{
	json_t *list = json_array(), *row, *rows;
	const char *key;
	size_t i;

	json_object_foreach(json_object_get(w->ctx.data, member), key, row)
		if (!json_bool_or(row, "met", false))
			json_push(list, shown(row));
	json_object_foreach(json_object_get(w->ctx.data, of_stages), key, rows)
		json_array_foreach(rows, i, row)
			json_array_append(list, row);
	return list;
}

/* Into the result of an operation that ends as cancelled or failed. */
void left_tell(struct walk *w)
{
	struct verdict *v = &w->ctx.verdict;
	json_t *list = json_own(w->a, listed(w));

	if (json_array_size(list) == 0)
		return;
	if (!v->result)
		v->result = json_new_object(w->a);
	json_object_set(v->result, "still_wanted", list);
	step_event(&w->ctx, "still_wanted", json_pack("{s:O}", "rows", list));
}
