/*
 * Mutations: intent, deadline check, call, absorb.
 *
 * The journal knows that we are about to send before we send; what a repeat
 * may do is decided here, by the effect's class, from what the journal says
 * about the last time.
 */
#include "core/json/tree.h"
#include "core/op/walk.h"

enum {
	/* Shortest life of a client token in the services we call
	 * (BatchAddClusterNodes; CloudFormation and EKS keep theirs longer). */
	TOKEN_LIFE_MS = 8 * 60 * 60 * 1000,
};

struct effect {
	const struct exchange *x;
	const char *name;
	const char *item;
	const json_t *request;
	const char *digest;
	struct intent_answer intent;
};

/* --- questions --------------------------------------------------------- */

static json_t *choice(const char *id, const char *title, const char *consequence)
{
	return json_pack("{s:s, s:s, s:s}", "id", id, "title", title, "consequence",
			 consequence);
}

void walk_hold_unknown(struct walk *w, const char *name, const json_t *request)
{
	struct step_ctx *c = &w->ctx;
	const char *title = w->step->title ? w->step->title : w->step->name;
	json_t *evidence = json_new_object(w->a);
	json_t *choices = json_array();
	char when[TIME_TEXT];

	json_put_str(evidence, "step", w->step->name);
	json_put_str(evidence, "call", name);
	if (w->claim.issued_item && w->claim.issued_item[0])
		json_put_str(evidence, "item", w->claim.issued_item);
	if (w->claim.issued_at_ms)
		json_put_str(evidence, "sent_at",
			     time_rfc3339(w->claim.issued_at_ms, when));
	if (request)
		json_put(evidence, "request", json_deep_copy(request));
	json_push(choices, choice(CHOICE_HAPPENED, "It happened",
				  "The step counts as completed. Nothing is sent "
				  "again"));
	json_push(choices, choice(CHOICE_NOT_HAPPENED, "It did not happen",
				  "The request is sent again"));
	json_push(choices, choice(CHOICE_STOP, "Stop",
				  "The operation ends here. Nothing is sent or undone"));
	step_hold(
		c,
		arena_printf(w->a,
			     "A request of \"%s\" on \"%s\" was sent, but its outcome is "
			     "unknown and the cloud shows no trace of it. Did it "
			     "happen?",
			     title, c->target),
		evidence, choices);
}

static const char word_taken[] = "_word_taken";

const char *walk_word(const struct walk *w)
{
	const char *choice_id = json_str_at(w->claim.answer, "choice");

	if (!choice_id || json_bool_or(w->ctx.data, word_taken, false))
		return NULL;
	return streq(choice_id, CHOICE_HAPPENED) ||
			       streq(choice_id, CHOICE_NOT_HAPPENED) ||
			       streq(choice_id, CHOICE_STOP)
		       ? choice_id
		       : NULL;
}

void walk_word_taken(struct walk *w)
{
	json_put_bool(w->ctx.data, word_taken, true);
}

void walk_word_forget(struct walk *w)
{
	json_drop(w->ctx.data, word_taken);
}

/* --- class rules ------------------------------------------------------- */

static void wait_for_visibility(struct walk *w, int64_t issued_at_ms)
{
	const int64_t left = issued_at_ms + w->r->cfg->visibility_ms - walk_now_ms(w);

	step_wait(&w->ctx, 0,
		  "the cloud's lists to show the requested object, if it was created");
	w->ctx.verdict.due_ms = left > 0 ? left : 1;
	w->exact_due = true;
}

/*
 * The effect was issued at that time and its outcome is unknown; observe() has
 * found nothing of it and plan() wants to send. Sets a verdict unless sending
 * again is safe. TAGGED: the window counts from the latest issue, so nothing
 * may be re-stamped before it has passed (measured: a window counted from the
 * first issue leaves duplicates).
 */
static void apply_class(struct walk *w, const struct effect *f, int64_t issued_at_ms)
{
	const int64_t age_ms = walk_now_ms(w) - issued_at_ms;

	switch (w->step->effect) {
	case EFFECT_TAGGED:
		if (age_ms < w->r->cfg->visibility_ms)
			wait_for_visibility(w, issued_at_ms);
		return;
	case EFFECT_TOKEN:
		/* A token past its life protects nothing: as if there were none. */
		if (age_ms >= TOKEN_LIFE_MS)
			walk_hold_unknown(w, f->name, f->request);
		return;
	case EFFECT_ONCE:
		/* Evidence may still come; nobody is asked what a list will tell. */
		if (age_ms < w->r->cfg->visibility_ms)
			wait_for_visibility(w, issued_at_ms);
		else
			walk_hold_unknown(w, f->name, f->request);
		return;
	case EFFECT_READ:
	case EFFECT_NAMED:
	case EFFECT_CONVERGENT:
		return;
	}
}

/* A person's word on the open effect; true when it settles the matter. */
static bool take_word(struct walk *w)
{
	const char *word = walk_word(w);

	if (streq(word, CHOICE_HAPPENED)) {
		w->done = true;
		w->out.effect = EFFECT_DONE;
		step_advance(&w->ctx);
		step_event(&w->ctx, "effect_confirmed", NULL);
		return true;
	}
	if (streq(word, CHOICE_NOT_HAPPENED)) {
		/* As after a definite refusal: the next claim gets a new epoch. */
		w->out.effect = EFFECT_REFUSED;
		walk_word_taken(w);
		step_retry(&w->ctx, ERR_AMBIGUOUS,
			   "Sent again because it did not happen, by decision");
		w->exact_due = true;
		step_event(&w->ctx, "effect_denied", NULL);
		return true;
	}
	return false;
}

/* --- the call ---------------------------------------------------------- */

static void absorb(struct walk *w, const struct answer *ans)
{
	struct step_ctx *c = &w->ctx;

	if (w->step->absorb)
		w->step->absorb(c, ans);
	if (c->verdict.kind != VERDICT_NONE)
		return;
	if (ans->ok)
		step_advance(c);
	else
		walk_answer_failed(c, ans);
}

/* What never reached the cloud for want of a way or of credentials. */
static bool is_our_outage(enum errc errc)
{
	return errc == ERR_CREDENTIALS || errc == ERR_CLOUD_UNREACHABLE;
}

static void send(struct walk *w, struct effect *f)
{
	const bool repeat = f->intent.status == INTENT_ISSUED;
	struct answer ans;

	CRASHPOINT("before-check", w->step);
	if (!walk_has_time(w, f->x)) {
		/*
		 * Nothing was sent by us. A first intent is taken back for
		 * certain; a repeat leaves the older issue as it was.
		 */
		w->given_up = repeat;
		w->out.effect = EFFECT_REFUSED;
		step_retry(&w->ctx, ERR_DEADLINE, "Not enough time was left to send %s",
			   f->name);
		w->exact_due = true;
		return;
	}
	CRASHPOINT("before-send", w->step);
	runner_call(w->r, f->x, w->step->effect == EFFECT_TOKEN ? f->intent.token : NULL,
		    w->a, &ans);
	CRASHPOINT("after-response", w->step);
	w->out.call = f->name;
	w->out.request_id = ans.request_id;
	if (ans.ambiguous) {
		step_retry(&w->ctx, ERR_AMBIGUOUS, "The outcome of %s is unknown",
			   f->name);
		err_because(&w->ctx.verdict.error, f->name, ans.code, ans.message,
			    ans.request_id);
	} else if (!ans.ok && ans.errc == ERR_WEBHOOK_UNSERVED) {
		walk_webhook(w, f->x, &ans);
	} else if (walk_ending(w, f->x, &ans)) {
		/* It has said what is waited for. */
	} else if (!ans.ok && backoff_is_transient(ans.errc)) {
		walk_answer_failed(&w->ctx, &ans);
	} else {
		absorb(w, &ans);
	}
	w->out.effect = walk_outcome(w, &ans, repeat);
	w->done = w->out.effect == EFFECT_DONE;
	w->out.blind = !ans.ok && !ans.ambiguous && is_our_outage(ans.errc);
	w->out.response =
		w->out.effect == EFFECT_UNKNOWN ? NULL : answer_store(&ans, w->a);
}

static void by_intent(struct walk *w, struct effect *f)
{
	struct answer stored;
	const int64_t issued_at_ms =
		f->intent.issued_at_ms ? f->intent.issued_at_ms : w->claim.issued_at_ms;

	w->out.item = f->item;
	w->out.epoch = f->intent.epoch;
	if (f->intent.status == INTENT_DONE) {
		answer_restore(f->intent.response, f->x, w->a, &stored);
		w->done = true;
		absorb(w, &stored);
		return;
	}
	if (f->intent.status == INTENT_ISSUED) {
		w->effect_open = true;
		if (take_word(w))
			return;
		apply_class(w, f, issued_at_ms);
		/*
		 * The same token with other parameters is an error on the
		 * service's side and tells nothing about the first request.
		 */
		if (w->ctx.verdict.kind == VERDICT_NONE &&
		    w->step->effect == EFFECT_TOKEN && f->intent.digest &&
		    !streq(f->intent.digest, f->digest))
			walk_hold_unknown(w, f->name, f->request);
	}
	if (w->ctx.verdict.kind == VERDICT_NONE)
		send(w, f);
}

/* A step that never mutates may plan a read; one that mutates must say how. */
static bool read_in_plan(struct walk *w, const struct exchange *x)
{
	struct answer ans;

	if (exchange_mutates(x)) {
		if (w->step->effect != EFFECT_READ)
			return false;
		step_fail(&w->ctx, ERR_INTERNAL,
			  "Step \"%s\" has no effect class but wants to send %s",
			  w->step->name, exchange_name(x, w->a));
		return true;
	}
	runner_call(w->r, x, NULL, w->a, &ans);
	w->out.blind = !ans.ok && (ans.ambiguous || backoff_is_transient(ans.errc));
	if (w->out.blind)
		step_retry(&w->ctx, ans.ambiguous ? ERR_CLOUD_UNREACHABLE : ans.errc,
			   "%s: %s", ans.call, ans.message);
	else
		absorb(w, &ans);
	return true;
}

/*
 * By name alone nothing is deleted in Kubernetes: by then the name may stand for what
 * somebody else has made.
 */
static bool deletes_unseen(struct walk *w, const struct exchange *x)
{
	if (x->via != VIA_KUBE || x->kube.verb != KUBE_DELETE ||
	    json_str_at(x->kube.body, "preconditions.uid"))
		return false;
	step_fail(&w->ctx, ERR_INTERNAL,
		  "Step \"%s\" wants to delete %s/%s without saying which it has seen",
		  w->step->name, x->kube.plural, x->kube.name);
	return true;
}

/* Before anything is stamped: time, budget, and what is known to be open. */
static bool may_intend(struct walk *w, const struct effect *f)
{
	const struct claim *cl = &w->claim;
	const int64_t wait_ms = w->ctx.reads ? 0 : runner_budget_ms(w->r, f->x);
	const int64_t silent_ms = runner_open_ms(w->r, f->x, w->a);
	const bool same_item = streq(cl->issued_item ? cl->issued_item : "", f->item);

	if (silent_ms) {
		walk_silent(w, f->x, silent_ms);
		return false;
	}
	if (wait_ms || !walk_has_time(w, f->x)) {
		step_wait(&w->ctx, 0, "a free slot to call %s", f->name);
		w->ctx.verdict.due_ms = wait_ms;
		w->exact_due = true;
		return false;
	}
	if (cl->issued && same_item && !walk_word(w))
		apply_class(w, f, cl->issued_at_ms);
	return w->ctx.verdict.kind == VERDICT_NONE;
}

bool walk_effect(struct walk *w, const struct exchange *x, struct err *e)
{
	struct effect f = {.x = x, .item = w->ctx.item ? w->ctx.item : ""};
	struct intent i;

	if (x->via == VIA_NONE) {
		step_advance(&w->ctx);
		return true;
	}
	if (read_in_plan(w, x) || deletes_unseen(w, x))
		return true;
	f.name = exchange_name(x, w->a);
	f.request = exchange_tree(x, w->a);
	f.digest = json_digest(w->a, f.request);
	if (!may_intend(w, &f))
		return true;
	left_note(w, x);
	i = (struct intent){
		.step = w->step->name,
		.item = f.item,
		.effect = w->step->effect,
		.name = f.name,
		.digest = f.digest,
		.request = walk_with_ledger(w, f.request),
	};
	if (!journal_intent(w->r->db, w->a, &w->claim, &i, &f.intent, e))
		return false;
	CRASHPOINT("after-intent", w->step);
	by_intent(w, &f);
	return true;
}
