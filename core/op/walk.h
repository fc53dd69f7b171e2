/*
 * walk.h - one claim of one operation, while the runner carries it out.
 *
 * Internal to core/op: the runner's files meet here. Everything lives in the
 * step's arena; nothing outlives the claim.
 */
#ifndef INSTANTSTART_OP_WALK_H
#define INSTANTSTART_OP_WALK_H

#include "core/op/backoff.h"
#include "core/op/journal.h"
#include "core/op/runner.h"

struct walk {
	struct runner *r;
	struct arena *a;
	struct claim claim;
	const struct kind *kind;
	const struct step *step;
	struct step_ctx ctx;
	int64_t start_mono_ms; /* just before the claim was asked for */
	int64_t lease_ms;
	struct settlement out; /* effect, item, epoch, response, spawn */
	struct spawn spawn;
	bool effect_open; /* issued by somebody, outcome unknown, as of now */
	bool exact_due;   /* WAIT: verdict.due_ms is neither grown nor jittered */
	bool done;        /* the effect has come true, now or at an earlier claim */
	bool final;       /* the verdict ends the operation, whatever on_fail() says */
	/* How much of these lists was seen, not intended: before plan(). */
	size_t seen_resources, seen_catalog;
	bool given_up; /* the lease is too short for the call: settle nothing */
	json_t *left;  /* what the call of this claim leaves behind; NULL: nothing */
};

/* Where the operation of a cancel with undo goes: a stage of its own. */
extern const struct step undo_step;

/* Fixed choices of the runner's own questions. */
#define CHOICE_HAPPENED     "effect_happened"
#define CHOICE_NOT_HAPPENED "effect_not_happened"
#define CHOICE_STOP         "effect_stop"

/* runner_step.c: deadline, cancel, stage, observe, plan. Sets the verdict. */
void walk_step(struct walk *w);
/* runner_first.c: before anything else, what may be denied. Sets the verdict. */
void walk_rights(struct walk *w);
/* runner_stage.c: the step is a stage, or the undo of a cancelled operation. */
void walk_stage(struct walk *w);
/* Nothing is under way: end as cancelled, by way of undo when asked. */
void walk_cancel(struct walk *w);
/* runner_effect.c: intent, deadline check, call, absorb. */
bool walk_effect(struct walk *w, const struct exchange *x, struct err *e)
	__attribute__((warn_unused_result));
/*
 * The person's choice in answer to the runner's own question, once. The journal
 * keeps an answer until the step ends; a word that was acted on must not be
 * taken for an answer to the next unknown outcome.
 */
const char *walk_word(const struct walk *w);
void walk_word_taken(struct walk *w);
void walk_word_forget(struct walk *w);
/* Fails: the step's reads fit into no claim, and it keeps none of them. */
void walk_too_much(struct step_ctx *c);
/* Asks what became of an effect that must not be repeated. */
void walk_hold_unknown(struct walk *w, const char *name, const json_t *request);
/* runner_webhook.c: waits for the webhook that has refused the exchange. */
void walk_webhook(struct walk *w, const struct exchange *x, const struct answer *ans);
/* runner_ending.c: waits for the namespace in which nothing can be made because it is
 * being deleted; false: the exchange was not refused for that. */
bool walk_ending(struct walk *w, const struct exchange *x, const struct answer *ans);

/* runner_service.c */
struct walk_service {
	const char *ns, *name;
	const char *why; /* what is said of it when it shows nothing itself */
};
/* Reads from the cluster that has refused an exchange; NULL: no answer. */
json_t *walk_look(struct walk *w, const struct exchange *refused,
		  const struct kube_request *r);
/* "0 of its 2 pods are ready: a (…)"; *ret_owner: who made the service, else its name. */
const char *walk_service_state(struct walk *w, const struct exchange *x,
			       const struct walk_service *s, const char **ret_owner);
/* runner_settle.c: verdict to settlement, growth of waits, step deadline. */
bool walk_settle(struct walk *w, struct err *e) __attribute__((warn_unused_result));

/*
 * left.c: what stays wanted in the cloud. gone: it does not, without its object. note:
 * the call is about to be sent, or may have been; keep: with what came of it, at settle;
 * listed: rows that no wait has seen come, our stages' too, or NULL; from_stage: takes
 * over what a stage has listed.
 */
void left_note(struct walk *w, const struct exchange *x);
void left_keep(struct walk *w);
void left_met(struct walk *w);
void left_gone(struct walk *w);
void left_from_stage(struct walk *w);
void left_undone(struct walk *w); /* the undo has succeeded: nothing is wanted */
void left_tell(struct walk *w);

/*
 * ledger.c: what an answer says of the effect. intend: from here on, what the step says
 * of resources and of the catalog holds once the effect has come true; forget: it has
 * not.
 */
enum effect_outcome walk_outcome(const struct walk *w, const struct answer *ans,
				 bool repeat);
void walk_intend(struct walk *w);
void walk_forget_intended(struct walk *w);
const json_t *walk_with_ledger(struct walk *w, const json_t *request);

/* goal.c: true when what the step waits for was moved: a verdict is set. */
bool goal_moved(struct step_ctx *c);

/* choice.c: at a failure, what we chose between there and where a retry begins. */
void choice_put_aside(struct walk *w);

/* Whether the exchange can end, whatever happens, before the lease does. */
bool walk_has_time(const struct walk *w, const struct exchange *x);
/* Milliseconds of the journal's clock now. */
int64_t walk_now_ms(const struct walk *w);

/* runner_exchange.c */
bool exchange_mutates(const struct exchange *x);
int64_t runner_lease_ms(const struct runner *r);
int64_t runner_margin_ms(int64_t lease_ms);
int64_t runner_call_ms(const struct runner *r, const struct exchange *x);
/* Spends from the service's budget and learns from the answer. */
void runner_call(struct runner *r, const struct exchange *x, const char *token,
		 struct arena *a, struct answer *ret);
/* 0, or how long the service's budget asks to wait. */
int64_t runner_budget_ms(struct runner *r, const struct exchange *x);
/* How long the one who must answer is left alone, because calls of it have hung. */
int64_t runner_open_ms(struct runner *r, const struct exchange *x, struct arena *a);
/* Waits for one who is left alone. */
void walk_silent(struct walk *w, const struct exchange *x, int64_t due_ms);
/* What absorb needs after a crash; bounded by LIMIT_STORED_RESPONSE. */
json_t *answer_store(const struct answer *ans, struct arena *a);
void answer_restore(const json_t *stored, const struct exchange *x, struct arena *a,
		    struct answer *ret);
/* step_fail_answer with a sentence of the runner's, or a retry when transient. */
void walk_answer_failed(struct step_ctx *c, const struct answer *ans);
/* Takes a read's answer as step_take() says; false: the step has its verdict. */
bool walk_take(struct step_ctx *c, const struct answer *ans);

enum { LIMIT_STORED_RESPONSE = 64 * 1024 };

#endif
