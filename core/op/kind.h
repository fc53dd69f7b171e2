/*
 * kind.h - operation kinds as tables of steps made of pure functions.
 *
 * A step owns one cloud object and makes at most one mutating exchange, after
 * the reads it needs. The runner calls, in this order, after every claim:
 *
 *   observe(c, x)  builds the next read, or returns false when it has seen
 *                  enough; c->reads counts the answers so far in this claim
 *   seen(c, a)     takes the answer into c->seen (this claim only) or, by
 *                  step_save(), into c->data (persisted); may set a verdict
 *   plan(c, x)     builds the mutation, or sets a verdict ("already so",
 *                  "not yet"); neither means: nothing to do, advance
 *   absorb(c, a)   turns the mutation's answer into a verdict
 *
 * They do no I/O, keep nothing between calls but c->data, and give the same
 * result for the same context. After a crash a step starts again at observe.
 * A step without functions advances. Step names are the stored contract:
 * renaming one is a migration.
 *
 * Default handling: a read that fails with anything but CLOUD_NOT_FOUND never
 * reaches seen(): the runner retries it (throttling, transient, credentials)
 * or fails the step with the cloud's words. A step that wants to see other
 * failures sets `sees_errors`; what only says "not now" it never sees. The one
 * rule is step_take(): claims, plans and the faces' reads go by it. A mutation that ends
 * AMBIGUOUS never reaches absorb(): the runner settles retry(observe-first). A throttled
 * or transient refusal is retried by the runner. Anything else reaches absorb().
 */
#ifndef INSTANTSTART_OP_KIND_H
#define INSTANTSTART_OP_KIND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/config.h"
#include "core/base/err.h"
#include "core/base/str.h"
#include "core/op/exchange.h"

/* How a repeat of the step's mutation is made safe: operations table below. */
enum effect_class {
	EFFECT_READ,       /* the step never mutates */
	EFFECT_TOKEN,      /* the API takes a client token: the runner fills it in */
	EFFECT_NAMED,      /* a second create is refused by name */
	EFFECT_TAGGED,     /* tagged at creation; looked up until the window passed */
	EFFECT_CONVERGENT, /* full desired state after a fresh read */
	EFFECT_ONCE        /* never repeated: evidence, or held with one question */
};

enum on_cancel {
	CANCEL_STOP,  /* nothing is under way between claims: stop here */
	CANCEL_FINISH /* go on until the step advances, then stop */
};

enum verdict_kind {
	VERDICT_NONE,
	VERDICT_ADVANCE, /* to the next row, or to `step` */
	VERDICT_WAIT,    /* look again in due_ms; consumes no attempt */
	VERDICT_RETRY,   /* back off and start the step again */
	VERDICT_SPAWN,   /* set by the runner for stages */
	VERDICT_HOLD,    /* a person must answer */
	VERDICT_FAIL,
	VERDICT_DONE,
	VERDICT_CANCELLED
};

/* As it is stored and logged. */
const char *verdict_name(enum verdict_kind kind);

struct verdict {
	enum verdict_kind kind;
	const char *step; /* ADVANCE: NULL is the next row */
	int64_t due_ms;
	const char *waiting_for; /* WAIT: one sentence that names the thing */
	json_t *result;          /* DONE; FAIL: what was reached before, or NULL */
	json_t *question; /* HOLD: {question, evidence, choices:[{id,title,consequence}]}
			   */
	struct err error; /* FAIL, RETRY */
	bool certain;     /* FAIL: see step_certain() */
	bool unread;      /* FAIL: see step_unread() */
};

/* Where we work; known at start, shown everywhere. */
struct where {
	const char *account; /* 12 digits */
	const char *region;
	const char *partition;    /* "aws", "aws-cn", "aws-us-gov" */
	const char *caller_arn;   /* the role we run as */
	const json_t *charts;     /* the pinned charts of this installation; NULL: none */
	const char *installation; /* its identity, on everything that it makes */
	const json_t *earlier;    /* what it made before that: see op/owner.h */
};

struct step;

struct step_ctx {
	struct arena *arena;
	const struct config *cfg;
	const struct where *where;
	const char *op_id;
	const char *root_id; /* of the outermost parent; op_id when there is none */
	const char *target;  /* mostly the cluster's name */
	const json_t *input;
	json_t *data;               /* persisted with settle; {} at first */
	json_t *seen;               /* of this claim; {} at first */
	const json_t *answer_given; /* of a held step: {choice, …}; NULL else */
	/* What the ledger has of the cluster's things that a read may not tell: rows
	 * {type, id, state, made_ms}; NULL: not known (a plan). See domain/step/absent.h.
	 */
	const json_t *ledger;
	const struct step *step;
	int reads;
	int64_t now_ms;        /* wall */
	int64_t step_since_ms; /* wall: when the step was first claimed */
	int64_t blind_ms;      /* since then, when nothing could be seen */
	/*
	 * The try: begins with the arrival at the step and with every retry that a
	 * person asks for, never comes twice in an operation, and stays through all
	 * back-off. What "already sent" is about: see step_count().
	 */
	int64_t try;
	/* The last issue of this step's effect whose outcome is unknown. */
	bool issued_before;
	int64_t issued_at_ms;
	const char *item;      /* effect item; plan() may set it: "addon/vpc-cni" */
	bool planning;         /* dry_run: nothing will be sent */
	const json_t *planned; /* planning: the plan's rows so far; NULL else */
	struct verdict verdict;
	const char *gone;  /* see step_gone() */
	json_t *resources; /* list, applied at settle: see step_own() */
	json_t *promised;  /* list or NULL: see step_promise() */
	json_t *catalog;   /* list, applied at settle: see step_catalog() */
	json_t *events;    /* list, applied at settle: see step_event() */
	json_t *at_stake;  /* planning: list, see step_stake(); NULL else */
	json_t *stake_set; /* of step_stake(): the texts of these rows; NULL: none yet */
};

/* What a stage step starts. */
struct spawn {
	const char *kind;
	const char *target;
	json_t *input;
};

/*
 * What stays wanted in the cloud once a step's call was taken and the cloud goes on
 * by itself (exchange_goes_on()): nodes that a raised count brings, an add-on that
 * comes up. The runner keeps a row of it with the call's outcome; when the operation
 * is cancelled or fails before a wait of the same phase was passed, the row stands in
 * result.still_wanted. A step without this leaves a row without `stop`.
 */
struct leaves {
	const char *cost;    /* what it may cost, in words; NULL: nothing by itself */
	const char *until;   /* step of another phase that has seen it come, or NULL */
	const char *no_stop; /* why no call of ours stops it; NULL: tell() gives one */
	/*
	 * Adds `object`, `wanted` and `before` to the row, and step_stop(); `goes_on`
	 * where the answer was the call's end but what it gave stays. false:
	 * nothing goes on after all. NULL: the row stays as it is. Pure; after absorb().
	 */
	bool (*tell)(struct step_ctx *c, json_t *row);
};

/*
 * What a waiting step waits for, by the cloud's rules. Passing such a step means that
 * what the steps of its phase have asked for has come.
 */
struct wait {
	/*
	 * How long the cloud itself goes on with it, by `rule`; our own deadline ends
	 * after that. 0: no limit is published, the step's deadline_s is our patience.
	 */
	int64_t cloud_s;
	const char *rule;
	/*
	 * NULL: the cloud is still asked for what we have asked for. Else what it is
	 * asked for now, as a sentence with whoever changed it; the runner believes it
	 * when it has been so for lag_s, and ends the operation with ERR_GOAL_MOVED.
	 * Called after the reads; pure but for step_save(). NULL: nobody else can move
	 * it.
	 */
	const char *(*moved)(struct step_ctx *c);
	int64_t lag_s; /* a read may be older than our call; 0: 20 seconds */
};

struct step {
	const char *name;
	const char *phase; /* steps in a row share one */
	const char *title; /* shown in plans and timelines */
	enum effect_class effect;
	enum on_cancel on_cancel;
	/* Of waiting and retrying; 0: 15 minutes. Time in which nothing could be seen
	 * (no credentials, no way to the API, no database) does not count. */
	int64_t deadline_s;
	bool sees_errors;
	/*
	 * It judges, and no later row is made of what it finds. When its reads have no
	 * answer it is not known in a plan, which goes on; a plan in which another row
	 * has none ends there (see runner_plan()).
	 */
	bool check;
	/* With sees_errors: in a plan it sees silence, too, and says itself what it could
	 * not see. */
	bool sees_silence;
	/* It may put something at stake: a request is asked for its word before it is
	 * accepted, by a walk up to the last such row. */
	bool stakes;
	/* It makes nothing by name, and refuses what is somebody else's: asked before
	 * the first change, as rows that create by name are (domain/step/owners.h). */
	bool owners;
	bool (*observe)(struct step_ctx *c, struct exchange *ret_x);
	void (*seen)(struct step_ctx *c, const struct answer *a);
	void (*plan)(struct step_ctx *c, struct exchange *ret_x);
	void (*absorb)(struct step_ctx *c, const struct answer *a);
	/*
	 * A stage: a child operation of its own. false skips the stage. When the
	 * child has succeeded its result is saved as data.<step name> and the
	 * parent advances; a failed child fails the parent at this step.
	 */
	bool (*spawn)(struct step_ctx *c, struct spawn *ret);
	/* Where a retry of a failure at this step goes on; NULL: here. Here, too, while
	 * the outcome of something that this step has sent is unknown. */
	const char *retry_step;
	/*
	 * Called when the step has failed for good (not while an effect's outcome
	 * is unknown): may record c->verdict.error and go on elsewhere, so that
	 * one failure does not hide the rest. NULL: the operation fails.
	 */
	void (*on_fail)(struct step_ctx *c);
	/* For functions that several rows share: what this row is about. */
	const void *arg;
	const struct leaves *leaves; /* a mutating step whose call goes on; or NULL */
	const struct wait *wait;     /* the step waits for the cloud; or NULL */
	/*
	 * Member of c->data that holds what *we* chose here, not the caller. A retry
	 * that goes back to this step or before it chooses again: the runner moves the
	 * choice of a failed try to data._chosen.<member>, see step_chosen_before().
	 */
	const char *choice;
};

/* A phase whose name alone does not read well. */
struct phase_title {
	const char *name;
	const char *title;
};

struct kind {
	const char *name; /* stored */
	const char *title;
	const struct step *steps;               /* ended by a row without a name */
	const struct phase_title *phase_titles; /* ended by a NULL name; NULL: none */
	int64_t deadline_s;                     /* of the whole operation; 0: 6 hours */
	/* Lock keys taken at submit ("cluster/NAME/update"). NULL: none. */
	void (*locks)(const char *target, const json_t *input, struct arena *a,
		      struct str_list *ret);
	/* Undoes what the kind made, after a cancel with undo: the old value comes
	 * back, or what was added goes. false: nothing was sent yet. */
	bool (*undo)(struct step_ctx *c, struct spawn *ret);
	/* It ends as failed or cancelled: may call step_catalog(). NULL: nothing. */
	void (*stopped)(struct step_ctx *c);
	/*
	 * The Kubernetes API goes with what the kind deletes: after so many seconds
	 * without any answer from it seen() gets the failure, in steps that see
	 * errors, instead of waiting on. 0: it is waited for.
	 */
	int64_t kube_silent_s;
	/* Why a cancel cannot undo it, as a sentence; one of the two is set. */
	const char *no_undo;
};

/* What becomes of the answer to a read of a step. */
enum take {
	TAKE_SEEN,   /* an answer: seen() gets it */
	TAKE_AGAIN,  /* none: throttled, unreachable, garbled; asked again */
	TAKE_REFUSED /* a refusal that the step does not want to see: it fails */
};

enum take step_take(const struct step *s, const struct answer *a);

const struct step *kind_step(const struct kind *k, const char *name);
const struct step *kind_step_after(const struct kind *k, const struct step *s);
const struct kind *kind_find(const struct kind *const *kinds, const char *name);
/* Asks nobody: a stage, or nothing to look at. Claimed before what waits for a cloud. */
bool step_is_quick(const struct step *s);
const char *effect_class_name(enum effect_class c);
/* Of waiting and retrying, in seconds: never before the cloud's own ends. */
int64_t step_deadline_s(const struct step *s);

/* --- what steps call -------------------------------------------------- */

void step_advance(struct step_ctx *c);
void step_goto(struct step_ctx *c, const char *step);
/* Seconds until the next look; scaled by POLL_SCALE_PERCENT, jittered and
 * grown by the runner the longer the wait lasts. */
void step_wait(struct step_ctx *c, int64_t seconds, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* As wait, but counts as an attempt and backs off. */
void step_retry(struct step_ctx *c, enum errc code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Fails; returns the error for fix, field and causes. */
struct err *step_fail(struct step_ctx *c, enum errc code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), returns_nonnull));
/*
 * What the step has failed for was seen: in a plan it stays a failure although something
 * else that was looked for is missing, which calls planned before may still make.
 */
void step_certain(struct step_ctx *c);
/* Of a failure: its source refused to tell, and later rows are made of what it would have
 * told. A plan ends here and says so; a run fails. */
void step_unread(struct step_ctx *c);
/* Fails with the answer's mapped code and the cloud's words as the cause. */
struct err *step_fail_answer(struct step_ctx *c, const struct answer *a, const char *fmt,
			     ...) __attribute__((format(printf, 3, 4), returns_nonnull));
void step_done(struct step_ctx *c, json_t *result); /* stolen */
/* One exact question. choices: list of {id,title,consequence}; stolen.
 * evidence is borrowed. */
void step_hold(struct step_ctx *c, const char *question, json_t *evidence,
	       json_t *choices);

/* c->data by path. step_get answers "(known after apply)" for what is not
 * known yet while planning, and NULL otherwise. */
void step_save(struct step_ctx *c, const char *path, json_t *value);
void step_save_str(struct step_ctx *c, const char *path, const char *value);
const char *step_get(const struct step_ctx *c, const char *path);
const char *step_input(const struct step_ctx *c, const char *path);

/*
 * A cloud object that is ours from now on (state "made", "adopted") or no
 * longer ("gone"): one row of the resource table. `id` is the name or id that
 * the API's delete takes. With id "*" and state "gone" every row whose type is
 * like the pattern `type` ("kubernetes:%") went with the thing that held it.
 */
void step_own(struct step_ctx *c, const char *type, const char *id, const char *arn,
	      const char *state);
/*
 * plan() says beside its call what step_own() will say of the answer: stored with the
 * intent, and written when the answer never comes but a later look at the step's
 * objects finds that the call has come true. Then nobody knows the row but the intent.
 */
void step_promise(struct step_ctx *c, const char *type, const char *id,
		  const char *state);
/* A row of the catalog: desired and observed state; one of them may be NULL:
 * unchanged. Both are stolen. Without either the step fails: a tree that could
 * not be built must not be taken for a removal. */
void step_catalog(struct step_ctx *c, const char *kind, const char *name, json_t *desired,
		  json_t *observed);
/* Removes the row; of kind "cluster": all rows of the cluster. */
void step_uncatalog(struct step_ctx *c, const char *kind, const char *name);
/*
 * What the step would send is so already, by an operation that ended before its time
 * and left it behind: from here on this one answers for it, in what it lists and undoes.
 * The step has `leaves`. Nothing comes of it in a plan.
 */
void step_left_behind(struct step_ctx *c, const struct exchange *x);
/*
 * `object`, of which something was asked, exists no longer or is on its way out, by
 * somebody else's hand: when the step fails for it, what it was asked for does not come
 * any more, and the call that would stop it finds nothing. Rows of the step's phase,
 * and those that are about `object`, then leave result.still_wanted.
 */
void step_gone(struct step_ctx *c, const char *object);
/* A line of the operation's timeline. data is stolen; NULL: none. */
void step_event(struct step_ctx *c, const char *what, json_t *data);
/* What is lost with it, for the plan: whoever confirms, confirms this list. Stolen;
 * nothing comes of it but in a plan. */
void step_stake(struct step_ctx *c, json_t *row);
/* Fails as step_fail() does, with what was reached before as the result. Stolen. */
struct err *step_fail_with(struct step_ctx *c, json_t *result, enum errc code,
			   const char *fmt, ...)
	__attribute__((format(printf, 4, 5), returns_nonnull));
/* A line of it that plans show among their warnings. */
void step_warn(struct step_ctx *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The call that ends what `row` is about; arguments are stolen. See struct leaves. */
void step_stop(json_t *row, const char *tool, json_t *arguments);
/* Whether the named step's call was taken, or may have been, since the operation began.
 */
bool step_has_sent(const struct step_ctx *c, const char *step);
/* Whether any was. */
bool step_has_sent_any(const struct step_ctx *c);
/* What an earlier try chose under that member of data, or NULL. */
const json_t *step_chosen_before(const struct step_ctx *c, const char *member);

/*
 * The third outcome of a check: neither "fits" nor "does not". A warning that says
 * why, an event of its own ("not_known": {check, why}) among the plan's checks, and a row
 * of the plan's not_known: the plan is incomplete.
 */
void step_not_known(struct step_ctx *c, const char *check, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Planning: an earlier call of the same plan makes the thing of that name, which is not
 * there yet; or an earlier row waits for it by name. The one excuse for not having found
 * what a step needs: what nothing makes is absent, in a plan as in a run. `by` is the
 * call ("s3:CreateBucket"), `name` a value in its request, tags aside.
 */
bool step_is_coming(const struct step_ctx *c, const char *by, const char *name);
/* Whether the planned rows name every text of what a read asks for. */
bool step_all_coming(const json_t *planned, const json_t *in);

/* Tags of every AWS object: instantstart:installation, instantstart:cluster,
 * instantstart:operation (the root's id), the caller's and the configured ones.
 * [{Key,Value}]. Whose a thing is, they tell by owner.h. */
json_t *step_tags(struct step_ctx *c);
/* The same as an object {key: value}, for EKS. */
json_t *step_tag_map(struct step_ctx *c);
/* Whether a tag list or map carries our operation (root id): made by this very one. */
bool step_tagged_ours(const struct step_ctx *c, const json_t *tags);
/* Whether it says that the thing is ours and our cluster's. */
bool step_tagged_cluster(const struct step_ctx *c, const json_t *tags);

/*
 * What was counted under `path` of c->data in this try; 0 in a new one. step_counted
 * adds one. "Sent in this try" is step_count() > 0: a retry sends again.
 */
int64_t step_count(const struct step_ctx *c, const char *path);
void step_counted(struct step_ctx *c, const char *path);
void step_count_forget(struct step_ctx *c, const char *path);
/* How long the step has been at it, without the time in which nothing could be seen:
 * what every patience is measured by. */
int64_t step_waited_ms(const struct step_ctx *c);

#define STEP_UNKNOWN "(known after apply)"
bool step_is_unknown(const char *value);

#endif
