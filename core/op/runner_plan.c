/*
 * The dry run: the same rows, the same pure functions, real reads, no intent
 * and no mutation. What does not exist yet reads "(known after apply)".
 */
#include "core/aws/rights.h"
#include "core/base/limits.h"
#include "core/json/tree.h"
#include "core/op/plan_shown.h"
#include "core/op/rights.h"
#include "core/op/walk.h"

/* PLAN_MS leaves room for one more call below nginx's 60 seconds. */
enum { PLAN_DEPTH = 4, PLAN_STEPS = 400, PLAN_MS = 35000 };

/* What the walk is for: all of it; what may be lost; what must be allowed. */
enum purpose { FOR_PLAN, FOR_STAKES, FOR_RIGHTS };

struct planner {
	struct runner *r;
	struct arena *a;
	json_t *steps;
	json_t *resources;
	json_t *warnings;
	json_t *at_stake; /* what a person must confirm to be lost */
	json_t *digested; /* [{call, request}], in order */
	int n_calls;      /* mutations planned so far: objects that do not exist yet */
	int n_steps;
	enum purpose purpose;
	json_t *rights; /* what the calls must be allowed: rows of aws_rights() */
	json_t *facts;  /* for them, from reads */
	json_t *unread; /* rows whose reads had no answer: [{step, title, code, why}] */
	bool cut;       /* the last of them is no check: the plan ends there */
	size_t noted_unread; /* of the events, those that are among the unread */
	bool whole;          /* it must not end there: what is unread is a failure */
	int64_t deadline_ms; /* monotonic: who asked waits behind a proxy */
	bool noted;          /* a row has failed, and a later one decides what of it */
	struct err *e;
};

/* One operation of the walk: the outermost or a stage's. */
struct level {
	const struct kind *kind;
	const char *prefix; /* "" or "stage/" */
	int depth;
	struct step_ctx ctx;
	bool unread; /* the step's last read had no answer: its verdict is that */
};

static bool plan_level(struct planner *p, struct level *l);

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

static json_t *list_step(struct planner *p, const struct level *l, const char *action,
			 const char *what)
{
	const struct step *s = l->ctx.step;
	json_t *row = json_object();

	json_put(row, "step", json_sprintf("%s%s", l->prefix, s->name));
	json_put_str(row, "phase", s->phase ? s->phase : "");
	json_put_str(row, "title", s->title ? s->title : s->name);
	json_put_str(row, "action", action);
	json_put_str(row, "what", what ? what : "");
	json_push(p->steps, row);
	return row;
}

/* What the call, and those that it clears the way for, must be allowed. */
static void note_rights(struct planner *p, const struct exchange *x)
{
	const struct where *w = p->r->where;
	const struct rights_place place = {w->partition, w->region, w->account};
	size_t i;
	json_t *next;

	if (x->via == VIA_AWS)
		aws_rights(x->aws, x->in, p->facts, &place, p->a, p->rights);
	json_array_foreach(x->then, i, next)
		aws_rights((enum aws_op_id)json_int_or(next, "op", 0),
			   json_at(next, "in"), p->facts, &place, p->a, p->rights);
}

static void list_call(struct planner *p, const struct level *l, const struct exchange *x)
{
	json_t *request = exchange_tree(x, p->a);
	const char *name = exchange_name(x, p->a);
	json_t *row = list_step(p, l, "call", x->what ? x->what : name);

	json_put_str(row, "call", name);
	json_put(row, "request", json_incref(request));
	json_put_str(row, "class", effect_class_name(l->ctx.step->effect));
	json_push(p->digested, json_incref(request));
	p->n_calls++;
	note_rights(p, x);
}

/* --- one step ---------------------------------------------------------- */

static bool is_late(const struct planner *p)
{
	struct clock *c = p->r->clock;

	return c->mono_ms(c) > p->deadline_ms;
}

/*
 * Transient failures of a read are repeated a few times at once: a plan is
 * asked for by somebody who waits. Who is silent is not asked again: he would be
 * silent once more, and others wait behind this plan.
 */
static void ask(struct planner *p, const struct exchange *x, struct answer *ans)
{
	enum { TRIES = 3 };

	if (p->purpose == FOR_RIGHTS) {
		runner_look(p->r, x, p->a, ans);
		return;
	}
	for (int i = 0; i < TRIES && (i == 0 || !is_late(p)); i++) {
		runner_look(p->r, x, p->a, ans);
		if (ans->ok || runner_open_ms(p->r, x, p->a) > 0 ||
		    !(ans->ambiguous || backoff_is_transient(ans->errc)))
			return;
	}
}

/* Of a claim's reads: how many there were when it began, and what was known then. */
struct share {
	int from;
	const json_t *data;
};

/*
 * What a claim cannot read a plan cannot either. Half a look would say less than is
 * there; and answers stay in the arena, whose cap ends the process.
 */
static bool may_read(const struct planner *p, struct step_ctx *c, struct share *share)
{
	if (is_late(p)) {
		step_fail(c, ERR_DEADLINE,
			  "The plan was not complete within %d seconds: the cloud "
			  "answers too slowly",
			  PLAN_MS / 1000);
		return false;
	}
	/* One that keeps a cursor would go on in its next claim; here it does at once. */
	if (c->reads - share->from >= LIMIT_READS_PER_CLAIM &&
	    !json_equal(share->data, c->data)) {
		share->from = c->reads;
		share->data = json_own(p->a, json_deep_copy(c->data));
	}
	if (c->reads - share->from < LIMIT_READS_PER_CLAIM && p->a->used <= p->a->cap / 2)
		return true;
	walk_too_much(c);
	return false;
}

/* Helm and add-ons bring objects that no request of ours names. */
static bool brings_objects(const json_t *row)
{
	const char *call = json_str_or(row, "call", "");

	return str_starts(call, "helm:") || streq(call, "eks:CreateAddon") ||
	       streq(call, "cloudformation:CreateStack");
}

/* What was not found is made by an earlier call of this plan. */
static bool is_coming(const struct planner *p, const struct exchange *x)
{
	size_t i;
	json_t *row;

	if (x->via == VIA_AWS)
		return step_all_coming(p->steps, x->in);
	json_array_foreach(p->steps, i, row)
		if (brings_objects(row) ||
		    (x->kube.name &&
		     streq(json_str_at(row, "request.name"), x->kube.name)))
			return true;
	return false;
}

/* Neither the thing nor its absence, and the step does not judge refusals itself. */
static bool is_no_answer(const struct answer *ans)
{
	return !ans->ok && ans->errc != ERR_CLOUD_NOT_FOUND;
}

/* Silence is told as well to a step that says by itself what it could not see. */
static bool hands_silence(const struct level *l, const struct answer *ans)
{
	const struct step *s = l->ctx.step;

	/* What goes anyway need not answer; a plan does not wait for it. */
	return s->sees_errors && step_take(s, ans) == TAKE_AGAIN &&
	       (s->sees_silence || (l->kind->kube_silent_s > 0 && ans->via == VIA_KUBE));
}

/* *ret_missing: something that was looked for is not known, or made by this plan. */
static void observe(struct planner *p, struct level *l, bool *ret_missing)
{
	struct step_ctx *c = &l->ctx;
	struct share share = {.data = c->step->observe
					      ? json_own(p->a, json_deep_copy(c->data))
					      : NULL};

	while (c->step->observe && c->verdict.kind == VERDICT_NONE) {
		struct exchange x = {.via = VIA_NONE};
		struct answer ans;

		if (!c->step->observe(c, &x) || x.via == VIA_NONE)
			return;
		if (has_unknown(exchange_tree(&x, p->a)) ||
		    step_is_unknown(x.target.endpoint) ||
		    step_is_unknown(x.target.ca_pem)) {
			*ret_missing = true;
			if (++c->reads >= LIMIT_READS_PER_CLAIM)
				return;
			continue;
		}
		if (!may_read(p, c, &share)) {
			l->unread = is_late(p);
			return;
		}
		ask(p, &x, &ans);
		if (ans.ok && x.via == VIA_AWS)
			aws_rights_learn(p->facts, x.aws, ans.out);
		*ret_missing |= ans.errc == ERR_CLOUD_NOT_FOUND && is_coming(p, &x);
		if (p->purpose != FOR_RIGHTS && hands_silence(l, &ans)) {
			if (c->step->seen)
				c->step->seen(c, &ans);
			c->reads++;
			continue;
		}
		/* Not told: no word for what is missing, and none against it. */
		if (!walk_take(c, &ans) && is_no_answer(&ans)) {
			*ret_missing = false;
			l->unread = true;
		}
	}
}

/*
 * A step that looks for what an earlier planned call will make cannot find it:
 * that is a wait, not a failure.
 */
static bool is_wait_for_planned(const struct planner *p, const struct level *l,
				bool missing)
{
	return missing && p->n_calls > 0 && l->ctx.step->effect == EFFECT_READ;
}

/* --- what had no answer --------------------------------------------------- */

/* What has been found out: with nothing of it a plan would say less than the error. */
static bool has_begun(const struct planner *p)
{
	size_t i;
	json_t *row;

	json_array_foreach(p->steps, i, row)
		if (!streq(json_str_at(row, "action"), "stage"))
			return true;
	return false;
}

/*
 * The one rule for what a plan could not see. A check is not known, and the plan goes
 * on; of anything else later rows are made, so that the plan ends there and says so. A
 * run looks again by itself, and refuses where it must know.
 */
static bool tell_unread(struct planner *p, struct level *l)
{
	struct step_ctx *c = &l->ctx;
	const struct err e = c->verdict.error;
	const char *why = arena_strdup(p->a, e.detail);
	const char *title = c->step->title ? c->step->title : c->step->name;
	const char *check =
		str_starts(c->step->name, "check_") ? c->step->name + 6 : c->step->name;

	if (p->purpose != FOR_PLAN || (!c->step->check && (p->whole || !has_begun(p)))) {
		*p->e = e;
		return false;
	}
	c->verdict = (struct verdict){.kind = VERDICT_NONE};
	step_not_known(c, check,
		       c->step->check ? "\"%s\": %s"
				      : "the rest of the plan from \"%s\" on: %s",
		       title, why);
	p->noted_unread = json_array_size(c->events);
	list_step(p, l, "not_known", why);
	json_push(p->unread, json_pack("{s:s, s:s, s:s, s:s, s:s}", "step", c->step->name,
				       "title", title, "code", errc_info(e.code)->slug,
				       "why", why, "fix", e.fix));
	p->cut = !c->step->check;
	return !p->cut;
}

/* What the step has said by itself that it could not see: it goes on without. */
static void note_unread(struct planner *p, struct level *l)
{
	const struct step *s = l->ctx.step;

	for (; p->noted_unread < json_array_size(l->ctx.events); p->noted_unread++) {
		json_t *note = json_array_get(l->ctx.events, p->noted_unread);

		if (streq(json_str_at(note, "what"), "not_known"))
			json_push(p->unread,
				  json_pack("{s:s, s:s, s:s}", "step", s->name, "title",
					    s->title ? s->title : s->name, "why",
					    json_str_or(note, "data.why", "")));
	}
}

static bool plan_verdict(struct planner *p, struct level *l, bool missing)
{
	const struct verdict *v = &l->ctx.verdict;

	switch (v->kind) {
	case VERDICT_WAIT:
		list_step(p, l, "wait", v->waiting_for);
		return true;
	case VERDICT_HOLD:
		json_push(p->warnings,
			  json_sprintf("%s will require: %s", l->ctx.step->title,
				       json_str_or(v->question, "question", "")));
		list_step(p, l, "wait", json_str_or(v->question, "question", ""));
		return true;
	case VERDICT_RETRY:
	case VERDICT_FAIL:
		if (v->unread)
			return tell_unread(p, l);
		if (!v->certain && is_wait_for_planned(p, l, missing)) {
			list_step(p, l, "wait", l->ctx.step->title);
			return true;
		}
		if (v->kind == VERDICT_FAIL && l->ctx.step->on_fail) {
			const char *why = arena_strdup(p->a, v->error.detail);

			json_push(p->warnings, json_string(why));
			l->ctx.step->on_fail(&l->ctx);
			p->noted = true;
			list_step(p, l, "none", why);
			return true;
		}
		*p->e = v->error;
		return false;
	case VERDICT_NONE:
	case VERDICT_ADVANCE:
	case VERDICT_SPAWN:
	case VERDICT_DONE:
	case VERDICT_CANCELLED:
		break;
	}
	if (v->kind == VERDICT_NONE && is_wait_for_planned(p, l, missing))
		list_step(p, l, "wait", l->ctx.step->title);
	else if (l->ctx.step->plan || l->ctx.step->observe)
		list_step(p, l, "none", NULL);
	return true;
}

static bool plan_stage(struct planner *p, struct level *l)
{
	struct spawn sp = {0};
	struct level child = {.depth = l->depth + 1};
	bool wanted = l->ctx.step->spawn(&l->ctx, &sp);

	if (!wanted || l->ctx.verdict.kind != VERDICT_NONE)
		return plan_verdict(p, l, false);
	child.kind = kind_find(p->r->kinds, sp.kind);
	if (!child.kind || child.depth > PLAN_DEPTH)
		return err_set(p->e, ERR_INTERNAL,
			       "Stage \"%s\" cannot be planned: kind \"%s\"",
			       l->ctx.step->name, sp.kind);
	json_put_str(list_step(p, l, "stage", child.kind->title), "call",
		     child.kind->name);
	child.prefix = arena_printf(p->a, "%s%s/", l->prefix, l->ctx.step->name);
	child.ctx = l->ctx;
	child.ctx.target = sp.target;
	child.ctx.input = sp.input;
	child.ctx.data = json_new_object(p->a);
	return plan_level(p, &child);
}

static bool plan_step(struct planner *p, struct level *l)
{
	struct step_ctx *c = &l->ctx;
	struct exchange x = {.via = VIA_NONE};
	bool missing = false;

	if (c->step->spawn)
		return plan_stage(p, l);
	observe(p, l, &missing);
	if (l->unread)
		return tell_unread(p, l);
	if (c->verdict.kind == VERDICT_NONE && c->step->plan)
		c->step->plan(c, &x);
	if (c->verdict.kind == VERDICT_NONE && x.via != VIA_NONE &&
	    exchange_mutates(&x)) {
		list_call(p, l, &x);
		return true;
	}
	return plan_verdict(p, l, missing);
}

static void begin_step(struct planner *p, struct level *l, const struct step *s)
{
	struct step_ctx *c = &l->ctx;

	c->step = s;
	c->seen = json_new_object(p->a);
	c->reads = 0;
	c->planned = p->steps;
	c->item = NULL;
	c->verdict = (struct verdict){.kind = VERDICT_NONE};
	l->unread = false;
}

/* The row to go on with: only ever forward, so that every walk ends. */
static const struct step *after(const struct level *l, const struct step *s)
{
	const struct verdict *v = &l->ctx.verdict;
	const struct step *named;

	if (v->kind == VERDICT_DONE)
		return NULL;
	if (v->kind == VERDICT_ADVANCE && v->step) {
		named = kind_step(l->kind, v->step);
		if (named && named > s)
			return named;
	}
	return kind_step_after(l->kind, s);
}

/* The last row that is worth planning; NULL: all of them are. */
static const struct step *last_of(const struct planner *p, const struct level *l)
{
	const struct step *last = NULL;

	for (const struct step *s = l->kind->steps; p->purpose == FOR_STAKES && s->name;
	     s++)
		if (s->stakes || s->spawn)
			last = s;
	return last;
}

static bool plan_level(struct planner *p, struct level *l)
{
	const struct step *s = l->kind->steps, *last = last_of(p, l);

	while (s && s->name && (!last || s <= last)) {
		if (++p->n_steps > PLAN_STEPS)
			return err_set(p->e, ERR_INTERNAL,
				       "The plan of \"%s\" has no end", l->kind->name);
		begin_step(p, l, s);
		if (!plan_step(p, l))
			return false;
		note_unread(p, l);
		s = after(l, s);
	}
	return true;
}

/* A pipeline checks first what its stages check again: said once. */
static void push_once(json_t *list, json_t *value)
{
	size_t i;
	json_t *there;

	json_array_foreach(list, i, there)
		if (json_equal(there, value)) {
			json_decref(value);
			return;
		}
	json_push(list, value);
}

/* What steps noted on the way: warnings, and figures that were checked. */
static json_t *sort_notes(struct planner *p, json_t *events)
{
	json_t *checks = json_new_list(p->a);
	size_t i;
	json_t *note;

	json_array_foreach(events, i, note) {
		if (streq(json_str_at(note, "what"), "warning"))
			push_once(p->warnings,
				  json_string(json_str_or(note, "data.text", "")));
		else
			push_once(checks, json_incref(note));
	}
	return checks;
}

/* The list, and the word that confirms it: a function of what it says. */
static void put_stake(struct planner *p, json_t *plan)
{
	if (json_array_size(p->at_stake) == 0)
		return;
	json_put(plan, "at_stake", json_incref(p->at_stake));
	/* Half a list is nothing to confirm. */
	if (p->cut)
		return;
	json_put_str(plan, "confirm", plan_word(p->a, p->at_stake));
}

/* What the whole walk has found, beside its steps. */
static bool tell(struct planner *p, const struct level *l, json_t **ret_plan)
{
	json_t *checks = sort_notes(p, l->ctx.events);
	const bool accepted = json_bool_or(l->ctx.input, RIGHTS_ACCEPT, false);

	if (p->purpose == FOR_PLAN && p->r->rights &&
	    !rights_tell(p->r, p->rights, accepted, p->deadline_ms, p->a, checks,
			 p->warnings, p->e))
		return false;
	if (json_array_size(p->at_stake))
		json_push(p->digested, json_incref(p->at_stake));
	/* No whole plan has the digest of one that ends early. */
	if (p->cut)
		json_push(p->digested, json_string("cut"));
	*ret_plan =
		json_packf(p->a, "{s:s, s:s, s:O, s:O, s:O, s:O, s:s}", "kind",
			   l->kind->name, "target", l->ctx.target, "steps", p->steps,
			   "resources", p->resources, "checks", checks, "warnings",
			   p->warnings, "plan_digest", json_digest(p->a, p->digested));
	put_stake(p, *ret_plan);
	if (json_array_size(p->unread)) {
		json_put_str(*ret_plan, "incomplete", p->cut ? "rest" : "checks");
		json_put(*ret_plan, "not_known", json_incref(p->unread));
	}
	return true;
}

static struct planner planner_new(struct runner *r, struct arena *a, enum purpose purpose,
				  struct err *e)
{
	return (struct planner){
		.r = r,
		.a = a,
		.steps = json_new_list(a),
		.resources = json_new_list(a),
		.warnings = json_new_list(a),
		.at_stake = json_new_list(a),
		.digested = json_new_list(a),
		.rights = json_new_list(a),
		.facts = json_new_object(a),
		.unread = json_new_list(a),
		.purpose = purpose,
		.deadline_ms = r->clock->mono_ms(r->clock) + PLAN_MS,
		.e = e,
	};
}

static struct level outermost(struct planner *p, const struct kind *k, const char *target,
			      const json_t *input)
{
	struct runner *r = p->r;

	return (struct level){
		.kind = k,
		.prefix = "",
		.ctx =
			{
				.arena = p->a,
				.cfg = r->cfg,
				.where = r->where,
				.op_id = STEP_UNKNOWN,
				.root_id = STEP_UNKNOWN,
				.target = target,
				.input = input ? input : json_new_object(p->a),
				.data = json_new_object(p->a),
				.now_ms = r->clock->wall_ms(r->clock),
				.step_since_ms = r->clock->wall_ms(r->clock),
				.planning = true,
				.resources = p->resources,
				.catalog = json_new_list(p->a),
				.events = json_new_list(p->a),
				.at_stake = p->at_stake,
				.stake_set = json_new_object(p->a),
			},
	};
}

static bool plan(struct runner *r, struct arena *a, const struct kind *k,
		 const char *target, const json_t *input, bool whole, json_t **ret_plan,
		 struct err *e)
{
	struct planner p = planner_new(r, a, FOR_PLAN, e);
	struct level l = outermost(&p, k, target, input);

	p.whole = whole;
	return (plan_level(&p, &l) || p.cut) && tell(&p, &l, ret_plan);
}

bool runner_plan(struct runner *r, struct arena *a, const struct kind *k,
		 const char *target, const json_t *input, json_t **ret_plan,
		 struct err *e)
{
	return plan(r, a, k, target, input, false, ret_plan, e);
}

bool runner_plan_whole(struct runner *r, struct arena *a, const struct kind *k,
		       const char *target, const json_t *input, json_t **ret_plan,
		       struct err *e)
{
	return plan(r, a, k, target, input, true, ret_plan, e);
}

bool runner_stakes(struct runner *r, struct arena *a, const struct kind *k,
		   const char *target, const json_t *input, json_t **ret_plan,
		   struct err *e)
{
	struct planner p = planner_new(r, a, FOR_STAKES, e);
	struct level l = outermost(&p, k, target, input);

	if (!plan_level(&p, &l))
		return false;
	/* What was noted is refused by a row behind the last that is at stake: nobody is
	 * told "accepted" of what is known to fail. */
	return p.noted ? plan(r, a, k, target, input, true, ret_plan, e)
		       : tell(&p, &l, ret_plan);
}

bool runner_rights(struct runner *r, struct arena *a, const struct kind *k,
		   const char *target, const json_t *input, int64_t until_ms,
		   json_t **ret_needs, struct err *e)
{
	struct planner p = planner_new(r, a, FOR_RIGHTS, e);
	struct level l = outermost(&p, k, target, input);

	p.deadline_ms = until_ms;
	*ret_needs = p.rights;
	return plan_level(&p, &l);
}
