/* What the steps of several kinds of the tests have in common. */
#include "tests/faults/kinds_step.h"

#include "core/json/tree.h"

/* What the API's delete takes: the name where names are unique. */
const char *kinds_key_of(const json_t *o)
{
	return json_str_at(o, streq(json_str_at(o, "type"), "named") ? "name" : "id");
}

void kinds_ask(struct exchange *x, enum kube_verb verb, const char *type,
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

json_t *kinds_tags(const struct step_ctx *c)
{
	return json_packf(c->arena, "{s:s, s:s, s:s}", "root", c->root_id, "op", c->op_id,
			  "item", c->item ? c->item : "");
}

bool kinds_get_once(const struct step_ctx *c, struct exchange *x, const char *type,
		    const char *name)
{
	if (c->reads > 0)
		return false;
	kinds_ask(x, KUBE_GET, type, name, NULL);
	return true;
}

void kinds_keep_object(struct step_ctx *c, const struct answer *a)
{
	if (a->ok)
		json_object_set(c->seen, "object", a->out);
}

void kinds_own_and_advance(struct step_ctx *c, const json_t *o)
{
	step_own(c, json_str_at(o, "type"), kinds_key_of(o), NULL, "made");
	step_save_str(c, c->step->name, json_str_at(o, "id"));
	step_advance(c);
}

void kinds_own_made(struct step_ctx *c, const struct answer *a)
{
	if (a->ok)
		kinds_own_and_advance(c, a->out);
}

void kinds_wait_active(struct step_ctx *c, const struct answer *a)
{
	if (streq(json_str_at(a->out, "state"), "ACTIVE"))
		step_advance(c);
	else
		step_wait(c, 15, "the object to be active");
}

bool kinds_observe_named(struct step_ctx *c, struct exchange *x)
{
	return kinds_get_once(c, x, "named", c->target);
}

void kinds_plan_named(struct step_ctx *c, struct exchange *x)
{
	const json_t *o = json_at(c->seen, "object");

	if (!o)
		kinds_ask(x, KUBE_CREATE, "named", c->target, kinds_tags(c));
	else if (streq(json_str_at(o, "root"), c->root_id))
		kinds_own_and_advance(c, o);
	else
		step_fail(c, ERR_FOREIGN_OBJECT, "\"%s\" is not ours", c->target);
}

void kinds_absorb_named(struct step_ctx *c, const struct answer *a)
{
	if (a->ok)
		kinds_own_and_advance(c, a->out);
	else if (answer_is(a, "AlreadyExists"))
		step_wait(c, 5, "the list to show what exists already");
}

void kinds_plan_done(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	step_done(c, json_pack("{s:s}", "target", c->target));
}
