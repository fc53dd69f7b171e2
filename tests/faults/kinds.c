#include "tests/faults/kinds.h"

#include <string.h>

#include "core/json/tree.h"
#include "tests/faults/kinds_step.h"

static bool list_ours(const struct step_ctx *c, struct exchange *x, const char *type)
{
	if (c->reads > 0)
		return false;
	kinds_ask(x, KUBE_LIST, type, NULL, NULL);
	x->kube.label_selector = c->root_id;
	return true;
}

static void keep_items(struct step_ctx *c, const struct answer *a)
{
	json_object_set(c->seen, "items", json_at(a->out, "items"));
}

/* --- token ------------------------------------------------------------- */

static void plan_tokened(struct step_ctx *c, struct exchange *x)
{
	kinds_ask(x, KUBE_CREATE, "tokened", c->target, kinds_tags(c));
}

static bool observe_tokened(struct step_ctx *c, struct exchange *x)
{
	return kinds_get_once(c, x, "tokened", step_get(c, "token"));
}

/* --- named ------------------------------------------------------------- */

/* --- tagged ------------------------------------------------------------ */

static bool observe_tagged(struct step_ctx *c, struct exchange *x)
{
	return list_ours(c, x, "tagged");
}

static void plan_tagged(struct step_ctx *c, struct exchange *x)
{
	const json_t *o = json_at(c->seen, "items.0");

	if (o)
		kinds_own_and_advance(c, o);
	else
		kinds_ask(x, KUBE_CREATE, "tagged", c->target, kinds_tags(c));
}

/* --- two items in one step --------------------------------------------- */

static bool observe_pair(struct step_ctx *c, struct exchange *x)
{
	const bool second = step_get(c, "pair.one") != NULL;

	c->item = second ? "two" : "one";
	return kinds_get_once(c, x, "named",
			      arena_printf(c->arena, "%s-%s", c->target, c->item));
}

static void take_pair(struct step_ctx *c, const json_t *o)
{
	const bool last = streq(c->item, "two");

	step_own(c, "named", kinds_key_of(o), NULL, "made");
	step_save_str(c, arena_printf(c->arena, "pair.%s", c->item),
		      json_str_at(o, "id"));
	if (last)
		step_advance(c);
	else
		step_goto(c, "pair");
}

static void plan_pair(struct step_ctx *c, struct exchange *x)
{
	const json_t *o = json_at(c->seen, "object");

	if (o && streq(json_str_at(o, "root"), c->root_id))
		take_pair(c, o);
	else
		kinds_ask(x, KUBE_CREATE, "named",
			  arena_printf(c->arena, "%s-%s", c->target, c->item),
			  kinds_tags(c));
}

static void absorb_pair(struct step_ctx *c, const struct answer *a)
{
	if (a->ok)
		take_pair(c, a->out);
	else if (answer_is(a, "AlreadyExists"))
		step_wait(c, 5, "the list to show what exists already");
}

/* --- convergent -------------------------------------------------------- */

enum { WANTED = 7 };

static bool observe_converged(struct step_ctx *c, struct exchange *x)
{
	return kinds_get_once(c, x, "converged", c->target);
}

static void plan_converged(struct step_ctx *c, struct exchange *x)
{
	const json_t *o = json_at(c->seen, "object");
	json_t *body = kinds_tags(c);

	if (json_int_or(o, "value", 0) == WANTED)
		return;
	/* All that was read, with the planned value changed. */
	json_put_str(body, "keep", json_str_at(o, "keep"));
	json_put_int(body, "value", WANTED);
	kinds_ask(x, KUBE_APPLY, "converged", c->target, body);
}

static void see_converged(struct step_ctx *c, const struct answer *a)
{
	if (json_int_or(a->out, "value", 0) == WANTED)
		step_advance(c);
	else
		step_wait(c, 10, "the new value to be read");
}

/* --- once -------------------------------------------------------------- */

static bool observe_action(struct step_ctx *c, struct exchange *x)
{
	return list_ours(c, x, "actions");
}

/* An action is no object: nothing to own or to delete. */
static void plan_action(struct step_ctx *c, struct exchange *x)
{
	if (json_at(c->seen, "items.0"))
		step_advance(c);
	else
		kinds_ask(x, KUBE_CREATE, "actions", c->target, kinds_tags(c));
}

static void plan_blind(struct step_ctx *c, struct exchange *x)
{
	kinds_ask(x, KUBE_CREATE, "actions", c->target, kinds_tags(c));
}

static const struct step classes_steps[] = {
	{.name = "token",
	 .phase = "make",
	 .title = "Make by token",
	 .effect = EFFECT_TOKEN,
	 .on_cancel = CANCEL_FINISH,
	 .plan = plan_tokened,
	 .absorb = kinds_own_made},
	{.name = "active",
	 .phase = "make",
	 .title = "Wait until active",
	 .observe = observe_tokened,
	 .seen = kinds_wait_active},
	{.name = "named",
	 .phase = "make",
	 .title = "Make by name",
	 .effect = EFFECT_NAMED,
	 .observe = kinds_observe_named,
	 .seen = kinds_keep_object,
	 .plan = kinds_plan_named,
	 .absorb = kinds_absorb_named},
	{.name = "tagged",
	 .phase = "make",
	 .title = "Make by tag",
	 .effect = EFFECT_TAGGED,
	 .deadline_s = 3600,
	 .observe = observe_tagged,
	 .seen = keep_items,
	 .plan = plan_tagged,
	 .absorb = kinds_own_made},
	{.name = "pair",
	 .phase = "make",
	 .title = "Make two",
	 .effect = EFFECT_NAMED,
	 .observe = observe_pair,
	 .seen = kinds_keep_object,
	 .plan = plan_pair,
	 .absorb = absorb_pair},
	{.name = "converge",
	 .phase = "change",
	 .title = "Change a value",
	 .effect = EFFECT_CONVERGENT,
	 .observe = observe_converged,
	 .seen = kinds_keep_object,
	 .plan = plan_converged},
	{.name = "verify",
	 .phase = "change",
	 .title = "Read the value",
	 .observe = observe_converged,
	 .seen = see_converged},
	{.name = "action",
	 .phase = "act",
	 .title = "Act once",
	 .effect = EFFECT_ONCE,
	 .observe = observe_action,
	 .seen = keep_items,
	 .plan = plan_action},
	{.name = "finish", .phase = "act", .title = "Finish", .plan = kinds_plan_done},
	{.name = NULL},
};
const struct kind fault_classes = {
	.name = "classes", .title = "All effect classes", .steps = classes_steps};

static const struct step blind_steps[] = {
	{.name = "act",
	 .phase = "act",
	 .title = "Act without evidence",
	 .effect = EFFECT_ONCE,
	 .plan = plan_blind},
	{.name = "finish", .phase = "act", .title = "Finish", .plan = kinds_plan_done},
	{.name = NULL},
};
const struct kind fault_blind = {
	.name = "blind", .title = "An action without evidence", .steps = blind_steps};

const struct kind *const fault_kinds[] = {
	&fault_classes,  &fault_blind, &fault_leaf,    &fault_pipeline,
	&fault_teardown, &fault_asks,  &fault_limited, NULL};
