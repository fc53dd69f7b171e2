/*
 * users.c - what needs a feature that is turned off: at stake, and ended first.
 *
 * Their operator holds them by finalizers: without it they would neither work nor go.
 * Each must have been confirmed; one that came since ends the operation before anything
 * of the feature is removed.
 */
#include "core/domain/feature/toggle.h"
#include "core/domain/stake/feature_users.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/kube_delete.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

static json_t *things(struct step_ctx *c)
{
	return toggle_is_enabling(c)
		       ? NULL
		       : json_packf(c->arena, "[{s:s, s:s}]", "type", "feature", "name",
				    toggle_feature(c)->name);
}

const struct stake_spec toggle_stake = {.things = things, .what = "the feature"};

bool toggle_end_observe(struct step_ctx *c, struct exchange *x)
{
	return !toggle_is_enabling(c) &&
	       feature_users_read(c, x, toggle_feature(c)->name);
}

static bool is_confirmed(const struct step_ctx *c, const char *text)
{
	const json_t *row = json_find(json_at(c->input, "confirmed"), "feature",
				      toggle_feature(c)->name);

	return texts_have(json_at(row, "workloads"), text);
}

static void refuse(struct step_ctx *c, const struct feature_user *u)
{
	struct err *e = step_fail(c, ERR_LOSS_NOT_CONFIRMED,
				  "%s depends on the %s and was not confirmed", u->text,
				  toggle_feature(c)->title);

	err_fix(e, "The feature is still enabled. Request the plan again, then send "
		   "its confirm value.");
}

/* One at a time, each an effect of its own. */
static bool end_one(struct step_ctx *c, const struct feature_user *u, void *arg)
{
	struct exchange *x = arg;

	if (!c->planning && !is_confirmed(c, u->text)) {
		refuse(c, u);
		return false;
	}
	if (u->going) {
		step_wait(c, 5, "%s to be deleted", u->text);
		return true;
	}
	c->verdict = (struct verdict){.kind = VERDICT_NONE};
	kube_delete(c, x, u->request, u->object, KUBE_SEEN_CONTENT);
	x->what = arena_printf(c->arena, "Delete %s", u->text);
	return false;
}

void toggle_end_plan(struct step_ctx *c, struct exchange *x)
{
	const char *name = toggle_feature(c)->name;
	const json_t *all = toggle_is_enabling(c) ? NULL : feature_users(c, name);

	if (json_array_size(all) == 0)
		return;
	feature_users_each(c, name, end_one, x);
	if (c->planning && x->via != VIA_NONE)
		x->what = arena_printf(c->arena, "Delete %s",
				       texts_named(c->arena, all, NULL, LISTING_LONG));
}

void toggle_end_absorb(struct step_ctx *c, const struct answer *a)
{
	if (kube_delete_was_another(c, a))
		return;
	if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		step_fail_answer(c, a, "what depends on the %s could not be deleted",
				 toggle_feature(c)->title);
	else
		step_goto(c, c->step->name);
}

void toggle_way_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (!toggle_is_enabling(c))
		step_goto(c,
			  arena_printf(c->arena, "%s_remove", toggle_feature(c)->name));
}
