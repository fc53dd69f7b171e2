#include "core/domain/step/owners.h"

#include "core/domain/capability.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

enum { STAGES_DEEP = 3 };

/* One row that is asked: a context of its own, whose reads live in c->seen.<key>. */
struct ask {
	struct step_ctx at;
	const char *key;
};

/* What the rows are walked for; true: the walk ends here. */
typedef bool visit(struct step_ctx *c, struct ask *a, void *ctx);

/*
 * As in a plan, whatever this is: nothing of it is kept, and what is not known yet reads
 * so. Its verdict and its reads are all that comes of it.
 */
static void begin(struct step_ctx *c, const struct step *s, const struct step_ctx *level,
		  struct ask *ret)
{
	json_t *seen;

	ret->key = arena_printf(c->arena, "%s of %s", s->name, level->target);
	seen = json_object_get(c->seen, ret->key);
	if (!seen) {
		seen = json_object();
		json_object_set_new(c->seen, ret->key, seen);
	}
	ret->at = *level;
	ret->at.step = s;
	ret->at.seen = seen;
	ret->at.planning = true;
	ret->at.reads = 0;
	ret->at.item = NULL;
	ret->at.verdict = (struct verdict){.kind = VERDICT_NONE};
	ret->at.data = json_own(c->arena, json_deep_copy(level->data));
	ret->at.resources = json_new_list(c->arena);
	ret->at.catalog = json_new_list(c->arena);
	ret->at.events = json_new_list(c->arena);
	ret->at.at_stake = json_new_list(c->arena);
	ret->at.stake_set = NULL;
}

static bool walk_rows(struct step_ctx *c, const struct step_ctx *level,
		      const struct step *s, int depth, visit *f, void *ctx);

static bool walk_stage(struct step_ctx *c, const struct step_ctx *level,
		       const struct step *s, int depth, visit *f, void *ctx)
{
	struct spawn sp = {0};
	struct ask a;
	const struct kind *k;

	begin(c, s, level, &a);
	if (depth >= STAGES_DEEP || !s->spawn(&a.at, &sp))
		return false;
	k = kind_find(kinds, sp.kind);
	/* What is switched off makes nothing. */
	if (!k || !json_bool_or(sp.input, "enabled", true))
		return false;
	a.at.target = sp.target;
	a.at.input = sp.input;
	a.at.data = json_new_object(c->arena);
	if (json_at(level->data, "eks")) /* the same cluster's */
		json_object_set(a.at.data, "eks", json_at(level->data, "eks"));
	return walk_rows(c, &a.at, k->steps, depth + 1, f, ctx);
}

static bool walk_rows(struct step_ctx *c, const struct step_ctx *level,
		      const struct step *s, int depth, visit *f, void *ctx)
{
	for (; s->name; s++) {
		struct ask a;

		if (s->spawn && walk_stage(c, level, s, depth, f, ctx))
			return true;
		if (s->spawn || !(s->effect == EFFECT_NAMED || s->owners) ||
		    !s->observe || !s->plan)
			continue;
		begin(c, s, level, &a);
		if (f(c, &a, ctx))
			return true;
	}
	return false;
}

/* --- reads ---------------------------------------------------------------------------
 */

static bool has_unknown(const json_t *tree)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_string(tree))
		return step_is_unknown(json_string_value(tree));
	json_object_foreach((json_t *)(uintptr_t)tree, key, value)
		if (has_unknown(value))
			return true;
	json_array_foreach(tree, i, value)
		if (has_unknown(value))
			return true;
	return false;
}

/* What cannot be asked yet is nobody's: its cluster is not there. */
static bool can_be_asked(struct step_ctx *c, const struct exchange *x)
{
	return !has_unknown(exchange_tree(x, c->arena)) &&
	       !step_is_unknown(x->target.endpoint);
}

static bool read_next(struct step_ctx *c, struct ask *a, void *ctx)
{
	struct exchange *x = ctx;

	while (a->at.verdict.kind == VERDICT_NONE && a->at.step->observe(&a->at, x)) {
		if (!can_be_asked(c, x))
			continue;
		json_object_set_new(c->seen, "_asking", json_string(a->key));
		return true;
	}
	*x = (struct exchange){.via = VIA_NONE};
	return false;
}

bool owners_observe(struct step_ctx *c, struct exchange *x)
{
	return json_bool_or(c->input, "enabled", true) &&
	       walk_rows(c, c, c->step + 1, 0, read_next, x);
}

void owners_seen(struct step_ctx *c, const struct answer *a)
{
	struct step_ctx at = *c;

	at.seen = json_object_get(c->seen, json_str_or(c->seen, "_asking", ""));
	if (!at.seen)
		return;
	read_seen(&at, a);
	if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		json_put_str(at.seen, "_unread",
			     saw_why(&at, json_str_at(at.seen, "_reading")));
}

/* --- judgement ------------------------------------------------------------------------
 */

static bool judge(struct step_ctx *c, struct ask *a, void *ctx)
{
	struct exchange ignored = {.via = VIA_NONE};
	const char *why = json_str_at(a->at.seen, "_unread");

	(void)ctx;
	if (why) {
		step_not_known(
			c, "owners",
			"whether what \"%s\" creates already exists, and who owns it (%s)",
			a->at.step->title, why);
		return false;
	}
	a->at.step->plan(&a->at, &ignored);
	if (a->at.verdict.kind != VERDICT_FAIL ||
	    a->at.verdict.error.code != ERR_FOREIGN_OBJECT)
		return false;
	c->verdict = a->at.verdict;
	return true;
}

void owners_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (json_bool_or(c->input, "enabled", true))
		(void)walk_rows(c, c, c->step + 1, 0, judge, NULL);
}
