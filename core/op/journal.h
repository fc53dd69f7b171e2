/*
 * journal.h - operations, effects and events in PostgreSQL.
 *
 * Thin: each call is one SQL function of sql/migrations (op_submit, op_claim,
 * op_intent, op_settle, op_cancel, op_retry, op_answer), one round trip, atomic
 * and fenced. The rules are written there. Trees and texts live in the arena.
 */
#ifndef INSTANTSTART_OP_JOURNAL_H
#define INSTANTSTART_OP_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"
#include "core/db/db.h"
#include "core/op/kind.h"

struct submission {
	const char *id; /* made by id_make(…, "op_", …) */
	const struct kind *kind;
	const char *target;
	const json_t *input;     /* decoded, defaulted; secrets as references */
	const char *digest;      /* json_digest() of {kind, target, input} */
	const char *principal;   /* id */
	const char *face;        /* "rest", "mcp", "console" */
	const char *idem_key;    /* NULL: none */
	const char *plan_digest; /* NULL: not bound to a plan */
	const char *capability;
	const json_t *audit;     /* masked parameters for the audit row */
	bool queue;              /* wait for the lock instead of 409 */
	const char *traceparent; /* or NULL */
	const char *request_id;  /* of the audit row; or NULL */
};

enum submit_outcome { SUBMIT_NEW, SUBMIT_SAME };

struct submitted {
	enum submit_outcome outcome;
	const char *id;
	const char *operation; /* the operation as JSON text, as get_operation gives it */
	size_t operation_len;
};

/* CONFLICT (names the operation that holds the lock), KEY_REUSED. */
bool journal_submit(struct db *db, struct arena *a, const struct submission *s,
		    struct submitted *ret, struct err *e)
	__attribute__((warn_unused_result));

struct claim {
	const char *op_id;
	int64_t gen; /* the fence */
	const char *root_id;
	const char *parent_id; /* or NULL */
	const char *kind;
	const char *target;
	const char *step;
	json_t *input;
	json_t *data;
	json_t *answer; /* or NULL */
	json_t *ledger; /* see step_ctx */
	int attempt;
	int waits;              /* looks of the present wait, for the growing interval */
	int64_t try;            /* see step_ctx */
	int64_t blind_ms;       /* of this step, up to now; at most a day at a time */
	int64_t blind_since_ms; /* 0: the last look saw something */
	bool cancel_requested;
	bool cancel_undo;
	int64_t now_ms; /* the journal's clock */
	int64_t created_ms;
	int64_t step_since_ms;
	int64_t deadline_ms;
	/* The step's open effect, if any was issued without a known outcome. */
	bool issued;
	int64_t issued_at_ms;
	const char *issued_item;
	int issued_epoch;
	/* A stage's child, if spawned: state and JSON of its result or error. */
	const char *child_id;
	const char *child_state;
	json_t *child_result;
	json_t *child_error;
};

/* One due operation, or *ret_any = false. */
bool journal_claim(struct db *db, struct arena *a, const char *worker, int64_t lease_ms,
		   struct claim *ret, bool *ret_any, struct err *e)
	__attribute__((warn_unused_result));

enum intent_status {
	INTENT_NEW,    /* never issued: send */
	INTENT_ISSUED, /* issued before, outcome unknown: by class */
	INTENT_DONE    /* the outcome is stored: absorb it, send nothing */
};

struct intent {
	const char *step;
	const char *item; /* "" mostly */
	enum effect_class effect;
	const char *name;      /* exchange_name(): "eks:CreateCluster" */
	const char *digest;    /* of the request */
	const json_t *request; /* masked, for the ledger */
};

struct intent_answer {
	enum intent_status status;
	const char *token; /* function of (operation, step, item, epoch) */
	int epoch;
	int64_t issued_at_ms; /* of the issue before this one; 0: none */
	const char *digest;   /* frozen with the token (TOKEN class) */
	json_t *response;     /* INTENT_DONE */
};

/* Locks the operation, checks the fence, stores or re-stamps. FENCED. */
bool journal_intent(struct db *db, struct arena *a, const struct claim *c,
		    const struct intent *i, struct intent_answer *ret, struct err *e)
	__attribute__((warn_unused_result));

/* How the step's effect ended, stored in the same transaction as the state. */
enum effect_outcome {
	EFFECT_NONE,    /* no mutation was sent */
	EFFECT_DONE,    /* a definite success: response is stored */
	EFFECT_REFUSED, /* a definite refusal: a retry gets a new epoch */
	EFFECT_UNKNOWN  /* stays issued */
};

struct settlement {
	const struct kind *kind;
	const struct step *step;    /* the one just carried out */
	const struct step *next;    /* ADVANCE */
	const struct step_ctx *ctx; /* data, resources, catalog, events, verdict */
	int64_t due_ms;             /* from now; WAIT, RETRY */
	enum effect_outcome effect;
	const char *item;
	int epoch;
	const json_t *response; /* bounded; what absorb needs after a crash */
	const char *request_id;
	const char *call;          /* exchange_name() for the event; NULL: none */
	const struct spawn *spawn; /* SPAWN */
	const char *child_id;      /* id for the child, made by the runner */
	bool blind;                /* the look saw nothing: its time does not count */
	const struct kind *child_kind;
};

/* One transaction: operation, effect, events, resources, catalog, parent,
 * locks. FENCED when claim.gen is no longer the operation's. */
bool journal_settle(struct db *db, struct arena *a, const struct claim *c,
		    const struct settlement *s, struct err *e)
	__attribute__((warn_unused_result));

/* What a person asks of an operation. */
struct order {
	const char *op_id;
	const char *principal;
	const char *face;
	const char *idem_key;   /* or NULL */
	const json_t *args;     /* cancel: {undo}; answer: {choice, note}; retry: {} */
	const char *request_id; /* of the audit row; or NULL */
};

/* Each answers with the operation's JSON text, as journal_get does. */
bool journal_cancel(struct db *db, struct arena *a, const struct order *o,
		    struct str *ret_operation, struct err *e)
	__attribute__((warn_unused_result));
bool journal_retry(struct db *db, struct arena *a, const struct order *o,
		   struct str *ret_operation, struct err *e)
	__attribute__((warn_unused_result));
bool journal_answer(struct db *db, struct arena *a, const struct order *o,
		    struct str *ret_operation, struct err *e)
	__attribute__((warn_unused_result));

/* NOT_FOUND. ret_version grows with every change (ETag, long poll). */
bool journal_get(struct db *db, struct arena *a, const char *op_id,
		 struct str *ret_operation, int64_t *ret_version, struct err *e)
	__attribute__((warn_unused_result));

#endif
