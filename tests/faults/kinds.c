#include "tests/faults/kinds.h"

#include <string.h>

#include "core/json/tree.h"

/* Above the provider's lag: two reads that far apart agree. */
enum { ABSENCE_MS = 30 * 1000 };

static void ask(struct exchange *x, enum kube_verb verb, const char *type,
		const char *name, json_t *body)
{
	const struct kube_target t = {.endpoint = "test", .cluster_name = "test"};
	const struct kube_request r = {
		.verb = verb,
		.api = "test/v1",
		.plural = type,
		.name = name,
		.body = body,
	};

	exchange_kube(x, &t, &r);
	x->what = "Change the test's world";
}

static bool list_ours(const struct step_ctx *c, struct exchange *x, const char *type)
{
	if (c->reads > 0)
		return false;
	ask(x, KUBE_LIST, type, NULL, NULL);
	x->kube.label_selector = c->root_id;
	return true;
}

static bool get_once(const struct step_ctx *c, struct exchange *x, const char *type,
		     const char *name)
{
	if (c->reads > 0)
		return false;
	ask(x, KUBE_GET, type, name, NULL);
	return true;
}

static json_t *tags(const struct step_ctx *c)
{
	return json_packf(c->arena, "{s:s, s:s, s:s}", "root", c->root_id, "op", c->op_id,
			  "item", c->item ? c->item : "");
}

static void keep_object(struct step_ctx *c, const struct answer *a)
{
	if (a->ok)
		json_object_set(c->seen, "object", a->out);
}

static void keep_items(struct step_ctx *c, const struct answer *a)
{
	json_object_set(c->seen, "items", json_at(a->out, "items"));
}

/* What the API's delete takes: the name where names are unique. */
static const char *key_of(const json_t *o)
{
	return json_str_at(o, streq(json_str_at(o, "type"), "named") ? "name" : "id");
}

static void own_and_advance(struct step_ctx *c, const json_t *o)
{
	step_own(c, json_str_at(o, "type"), key_of(o), NULL, "made");
	step_save_str(c, c->step->name, json_str_at(o, "id"));
	step_advance(c);
}

static void own_made(struct step_ctx *c, const struct answer *a)
{
	if (a->ok)
		own_and_advance(c, a->out);
}

/* --- token ------------------------------------------------------------- */

static void plan_tokened(struct step_ctx *c, struct exchange *x)
{
	ask(x, KUBE_CREATE, "tokened", c->target, tags(c));
}

static bool observe_tokened(struct step_ctx *c, struct exchange *x)
{
	return get_once(c, x, "tokened", step_get(c, "token"));
}

static void wait_active(struct step_ctx *c, const struct answer *a)
{
	if (streq(json_str_at(a->out, "state"), "ACTIVE"))
		step_advance(c);
	else
		step_wait(c, 15, "the object to be active");
}

/* --- named ------------------------------------------------------------- */

static bool observe_named(struct step_ctx *c, struct exchange *x)
{
	return get_once(c, x, "named", c->target);
}

static void plan_named(struct step_ctx *c, struct exchange *x)
{
	const json_t *o = json_at(c->seen, "object");

	if (!o)
		ask(x, KUBE_CREATE, "named", c->target, tags(c));
	else if (streq(json_str_at(o, "root"), c->root_id))
		own_and_advance(c, o);
	else
		step_fail(c, ERR_FOREIGN_OBJECT, "\"%s\" is not ours", c->target);
}

static void absorb_named(struct step_ctx *c, const struct answer *a)
{
	if (a->ok)
		own_and_advance(c, a->out);
	else if (answer_is(a, "AlreadyExists"))
		step_wait(c, 5, "the list to show what exists already");
}

/* --- tagged ------------------------------------------------------------ */

static bool observe_tagged(struct step_ctx *c, struct exchange *x)
{
	return list_ours(c, x, "tagged");
}

static void plan_tagged(struct step_ctx *c, struct exchange *x)
{
	const json_t *o = json_at(c->seen, "items.0");

	if (o)
		own_and_advance(c, o);
	else
		ask(x, KUBE_CREATE, "tagged", c->target, tags(c));
}

/* --- two items in one step --------------------------------------------- */

static bool observe_pair(struct step_ctx *c, struct exchange *x)
{
	const bool second = step_get(c, "pair.one") != NULL;

	c->item = second ? "two" : "one";
	return get_once(c, x, "named",
			arena_printf(c->arena, "%s-%s", c->target, c->item));
}

static void take_pair(struct step_ctx *c, const json_t *o)
{
	const bool last = streq(c->item, "two");

	step_own(c, "named", key_of(o), NULL, "made");
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
		ask(x, KUBE_CREATE, "named",
		    arena_printf(c->arena, "%s-%s", c->target, c->item), tags(c));
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
	return get_once(c, x, "converged", c->target);
}

static void plan_converged(struct step_ctx *c, struct exchange *x)
{
	const json_t *o = json_at(c->seen, "object");
	json_t *body = tags(c);

	if (json_int_or(o, "value", 0) == WANTED)
		return;
	/* All that was read, with the planned value changed. */
	json_put_str(body, "keep", json_str_at(o, "keep"));
	json_put_int(body, "value", WANTED);
	ask(x, KUBE_APPLY, "converged", c->target, body);
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
		ask(x, KUBE_CREATE, "actions", c->target, tags(c));
}

static void plan_blind(struct step_ctx *c, struct exchange *x)
{
	ask(x, KUBE_CREATE, "actions", c->target, tags(c));
}

static void plan_done(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	step_done(c, json_pack("{s:s}", "target", c->target));
}

static const struct step classes_steps[] = {
	{.name = "token",
	 .phase = "make",
	 .title = "Make by token",
	 .effect = EFFECT_TOKEN,
	 .on_cancel = CANCEL_FINISH,
	 .plan = plan_tokened,
	 .absorb = own_made},
	{.name = "active",
	 .phase = "make",
	 .title = "Wait until active",
	 .observe = observe_tokened,
	 .seen = wait_active},
	{.name = "named",
	 .phase = "make",
	 .title = "Make by name",
	 .effect = EFFECT_NAMED,
	 .observe = observe_named,
	 .seen = keep_object,
	 .plan = plan_named,
	 .absorb = absorb_named},
	{.name = "tagged",
	 .phase = "make",
	 .title = "Make by tag",
	 .effect = EFFECT_TAGGED,
	 .deadline_s = 3600,
	 .observe = observe_tagged,
	 .seen = keep_items,
	 .plan = plan_tagged,
	 .absorb = own_made},
	{.name = "pair",
	 .phase = "make",
	 .title = "Make two",
	 .effect = EFFECT_NAMED,
	 .observe = observe_pair,
	 .seen = keep_object,
	 .plan = plan_pair,
	 .absorb = absorb_pair},
	{.name = "converge",
	 .phase = "change",
	 .title = "Change a value",
	 .effect = EFFECT_CONVERGENT,
	 .observe = observe_converged,
	 .seen = keep_object,
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
	{.name = "finish", .phase = "act", .title = "Finish", .plan = plan_done},
	{.name = NULL},
};
static const struct kind classes = {
	.name = "classes", .title = "All effect classes", .steps = classes_steps};

static const struct step blind_steps[] = {
	{.name = "act",
	 .phase = "act",
	 .title = "Act without evidence",
	 .effect = EFFECT_ONCE,
	 .plan = plan_blind},
	{.name = "finish", .phase = "act", .title = "Finish", .plan = plan_done},
	{.name = NULL},
};
static const struct kind blind = {
	.name = "blind", .title = "An action without evidence", .steps = blind_steps};

/* --- pipeline ---------------------------------------------------------- */

static const struct step leaf_steps[] = {
	{.name = "make",
	 .phase = "make",
	 .title = "Make by name",
	 .effect = EFFECT_NAMED,
	 .on_cancel = CANCEL_FINISH,
	 .observe = observe_named,
	 .seen = keep_object,
	 .plan = plan_named,
	 .absorb = absorb_named},
	{.name = "settle",
	 .phase = "make",
	 .title = "Wait until active",
	 .on_cancel = CANCEL_STOP,
	 .observe = observe_named,
	 .seen = wait_active},
	{.name = "finish", .phase = "make", .title = "Finish", .plan = plan_done},
	{.name = NULL},
};
static const struct kind leaf = {
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
	{.name = "finish", .phase = "second", .title = "Finish", .plan = plan_done},
	{.name = NULL},
};
static const struct kind pipeline = {.name = "pipeline",
				     .title = "Two objects",
				     .steps = pipeline_steps,
				     .undo = undo_pipeline};

static const char *doomed(const struct step_ctx *c)
{
	return arena_printf(c->arena, "%s-%s", c->target, c->step->name);
}

static bool observe_doomed(struct step_ctx *c, struct exchange *x)
{
	return get_once(c, x, "named", doomed(c));
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
		ask(x, KUBE_DELETE, "named", doomed(c), tags(c));
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
static const struct kind teardown = {
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
	 .observe = observe_named,
	 .seen = keep_object,
	 .plan = plan_named,
	 .absorb = absorb_named},
	{.name = NULL},
};
static const struct kind asks = {
	.name = "asks", .title = "With a question", .steps = asks_steps};

static void plan_limited(struct step_ctx *c, struct exchange *x)
{
	ask(x, KUBE_CREATE, "limited", c->target, tags(c));
}

static const struct step limited_steps[] = {
	{.name = "make",
	 .phase = "make",
	 .title = "Make within a quota",
	 .effect = EFFECT_TOKEN,
	 .plan = plan_limited,
	 .absorb = own_made},
	{.name = "finish", .phase = "make", .title = "Finish", .plan = plan_done},
	{.name = NULL},
};
static const struct kind limited = {
	.name = "limited", .title = "Over a quota at first", .steps = limited_steps};

const struct kind *const fault_kinds[] = {&classes,  &blind, &leaf,    &pipeline,
					  &teardown, &asks,  &limited, NULL};
