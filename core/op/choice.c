/*
 * What we chose is chosen again.
 *
 * The caller's input is frozen; what a step chose itself is not: a retry that goes
 * back to it may need another one (a zone that takes no control plane). At a failure
 * the choices between the row where a retry begins and the row that failed are put
 * aside, so that the step finds none and can see what it chose before.
 */
#include "core/json/tree.h"
#include "core/op/walk.h"

static const char aside[] = "_chosen";

const json_t *step_chosen_before(const struct step_ctx *c, const char *name)
{
	return json_object_get(json_object_get(c->data, aside), name);
}

static void put_aside(struct walk *w, const struct step *s)
{
	struct step_ctx *c = &w->ctx;
	json_t *was = json_object_get(c->data, s->choice);

	if (!was)
		return;
	if (!json_object_get(c->data, aside))
		json_object_set_new(c->data, aside, json_object());
	json_object_set(json_object_get(c->data, aside), s->choice, was);
	json_object_del(c->data, s->choice);
	step_event(c, "choice_put_aside",
		   json_pack("{s:s, s:s, s:O}", "step", s->name, "choice", s->choice,
			     "was", step_chosen_before(c, s->choice)));
}

void choice_put_aside(struct walk *w)
{
	const struct step *s =
		w->step->retry_step ? kind_step(w->kind, w->step->retry_step) : w->step;

	for (; s && s->name && s <= w->step; s++)
		if (s->choice)
			put_aside(w, s);
}
