/* Kinds with stages, deletes, questions and refusals. */
#include <string.h>

#include "core/json/tree.h"
#include "tests/faults/kinds_step.h"

/* Above the provider's lag: two reads that far apart agree. */
enum { ABSENCE_MS = 30 * 1000 };

/* --- pipeline ---------------------------------------------------------- */

static const struct step leaf_steps[] = {
	{.name = "make",
	 .phase = "make",
	 .title = "Make by name",
	 .effect = EFFECT_NAMED,
	 .on_cancel = CANCEL_FINISH,
	 .observe = kinds_observe_named,
	 .seen = kinds_keep_object,
	 .plan = kinds_plan_named,
	 .absorb = kinds_absorb_named},
	{.name = "settle",
	 .phase = "make",
	 .title = "Wait until active",
	 .on_cancel = CANCEL_STOP,
	 .observe = kinds_observe_named,
	 .seen = kinds_wait_active},
	{.name = "finish", .phase = "make", .title = "Finish", .plan = kinds_plan_done},
	{.name = NULL},
};
const struct kind fault_leaf = {
	.name = "leaf", .title = "One object", .steps = leaf_steps};

static bool spawn_leaf(struct step_ctx *c, struct spawn *ret)
{
	ret->kind = "leaf";
	ret->target = arena_printf(c->arena, "%s-%s", c->target, c->step->name);
	ret->input = json_packf(c->arena, "{s:s}", "cluster", step_input(c, "cluster"));
	return true;
}

static bool undo_pipeline(struct step_ctx *c, struct spawn *ret)
{
	ret->kind = "teardown";
	ret->target = c->target;
	ret->input = json_packf(c->arena, "{s:s}", "cluster", step_input(c, "cluster"));
	return true;
}

static const struct step pipeline_steps[] = {
	{.name = "first", .phase = "first", .title = "First", .spawn = spawn_leaf},
	{.name = "second", .phase = "second", .title = "Second", .spawn = spawn_leaf},
	{.name = "finish", .phase = "second", .title = "Finish", .plan = kinds_plan_done},
	{.name = NULL},
};
const struct kind fault_pipeline = {.name = "pipeline",
				    .title = "Two objects",
				    .steps = pipeline_steps,
				    .undo = undo_pipeline};

static const char *doomed(const struct step_ctx *c)
{
	return arena_printf(c->arena, "%s-%s", c->target, c->step->name);
}

static bool observe_doomed(struct step_ctx *c, struct exchange *x)
{
	return kinds_get_once(c, x, "named", doomed(c));
}

static void see_doomed(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok)
		return;
	json_object_set(c->seen, "object", a->out);
	json_drop(c->data, "absent_since");
}

static void plan_doomed(struct step_ctx *c, struct exchange *x)
{
	const int64_t since = json_int_or(c->data, "absent_since", 0);

	if (json_at(c->seen, "object")) {
		json_t *just = kinds_tags(c);

		json_put_str(just, "preconditions.uid",
			     json_str_at(c->seen, "object.id"));
		kinds_ask(x, KUBE_DELETE, "named", doomed(c), just);
	} else if (since == 0 || c->now_ms - since < ABSENCE_MS) {
		if (since == 0)
			json_put_int(c->data, "absent_since", c->now_ms);
		step_wait(c, 10, "a second look that finds nothing");
	} else {
		step_own(c, "named", doomed(c), NULL, "gone");
		json_drop(c->data, "absent_since");
		step_advance(c);
	}
}

static void absorb_doomed(struct step_ctx *c, const struct answer *a)
{
	if (a->ok || a->errc == ERR_CLOUD_NOT_FOUND)
		step_wait(c, 10, "the deleted object to disappear");
}

static const struct step teardown_steps[] = {
	{.name = "second",
	 .phase = "delete",
	 .title = "Delete the second",
	 .effect = EFFECT_CONVERGENT,
	 .observe = observe_doomed,
	 .seen = see_doomed,
	 .plan = plan_doomed,
	 .absorb = absorb_doomed},
	{.name = "first",
	 .phase = "delete",
	 .title = "Delete the first",
	 .effect = EFFECT_CONVERGENT,
	 .observe = observe_doomed,
	 .seen = see_doomed,
	 .plan = plan_doomed,
	 .absorb = absorb_doomed},
	{.name = NULL},
};
const struct kind fault_teardown = {
	.name = "teardown", .title = "Delete both", .steps = teardown_steps};

/* --- questions and refusals -------------------------------------------- */

static void plan_ask(struct step_ctx *c, struct exchange *x)
{
	const char *choice = json_str_at(c->answer_given, "choice");
	json_t *choices;

	(void)x;
	if (streq(choice, "yes")) {
		step_advance(c);
		return;
	}
	choices = json_array();
	json_push(choices, json_pack("{s:s, s:s, s:s}", "id", "yes", "title", "Yes",
				     "consequence", "The object is made"));
	step_hold(c, "Shall it be made?",
		  json_packf(c->arena, "{s:s}", "target", c->target), choices);
}

static const struct step asks_steps[] = {
	{.name = "ask", .phase = "ask", .title = "Ask", .plan = plan_ask},
	{.name = "named",
	 .phase = "make",
	 .title = "Make by name",
	 .effect = EFFECT_NAMED,
	 .observe = kinds_observe_named,
	 .seen = kinds_keep_object,
	 .plan = kinds_plan_named,
	 .absorb = kinds_absorb_named},
	{.name = NULL},
};
const struct kind fault_asks = {
	.name = "asks", .title = "With a question", .steps = asks_steps};

static void plan_limited(struct step_ctx *c, struct exchange *x)
{
	kinds_ask(x, KUBE_CREATE, "limited", c->target, kinds_tags(c));
}

static const struct step limited_steps[] = {
	{.name = "make",
	 .phase = "make",
	 .title = "Make within a quota",
	 .effect = EFFECT_TOKEN,
	 .plan = plan_limited,
	 .absorb = kinds_own_made},
	{.name = "finish", .phase = "make", .title = "Finish", .plan = kinds_plan_done},
	{.name = NULL},
};
const struct kind fault_limited = {
	.name = "limited", .title = "Over a quota at first", .steps = limited_steps};
