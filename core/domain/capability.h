/*
 * capability.h - one row per API operation; everything else follows from it.
 *
 * From the rows come, at run time: REST routing, MCP tools with annotations
 * and schemas, OpenAPI, decoding and validation, the authorisation matrix and
 * the reference. MCP has no logic of its own: both faces end in
 * capability_invoke().
 *
 * Handlers read the decoded input and write one JSON answer. They run in a
 * unit of work: everything lives in call->arena.
 */
#ifndef INSTANTSTART_DOMAIN_CAPABILITY_H
#define INSTANTSTART_DOMAIN_CAPABILITY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/config.h"
#include "core/base/err.h"
#include "core/base/rng.h"
#include "core/base/str.h"
#include "core/db/db.h"
#include "core/json/field.h"
#include "core/op/kind.h"

enum cap_effect { CAP_READ, CAP_CHANGE, CAP_DESTROY, CAP_SPEND };
enum role { ROLE_NONE, ROLE_VIEWER, ROLE_OPERATOR, ROLE_ADMIN };
/* "viewer", "operator", "admin"; ROLE_NONE for any other text. */
const char *role_name(enum role r);
enum role role_from_name(const char *name);
/* "read", "change", "destroy", "spend". */
const char *cap_effect_name(enum cap_effect x);

enum cap_flags {
	CAP_LONG = 1 << 0,       /* answers 202 with an operation */
	CAP_CLOUD = 1 << 1,      /* asks the cloud now: served by the slow pool */
	CAP_IDEMPOTENT = 1 << 2, /* MCP idempotentHint */
	CAP_REST_ONLY = 1 << 3,  /* no MCP tool (session and token plumbing) */
	CAP_LIST = 1 << 4,       /* takes limit and cursor, answers {items,next_cursor} */
	CAP_WAITS = 1 << 5,      /* may be parked: wait / wait_seconds */
	CAP_AUDITED = 1 << 6,    /* a change that writes its own audit row */
	CAP_STAKES = 1 << 7,     /* confirm is the plan's word for what is lost */
	CAP_TEXT = 1 << 8,       /* answers text/plain, by reply.stream */
	/* confirm is the target's name; where more is lost than the target (the handler
	 * sets call.stakes), the plan's word. */
	CAP_MORE_STAKES = 1 << 10,
	CAP_UNDO = 1 << 9 /* destroys when its member undo is true: wants confirm then */
};

struct principal {
	const char *id;
	const char *name;
	enum role role;
};

enum face { FACE_REST, FACE_MCP, FACE_CONSOLE };
const char *face_name(enum face f); /* "rest", "mcp", "console" */

/* What every mutating call takes besides its own input. */
struct call_options {
	const char *idempotency_key;
	bool dry_run; /* dry_run=plan */
	const char *plan_digest;
	const char *confirm; /* CAP_DESTROY, CAP_SPEND: the target's name; CAP_STAKES:
			      * `confirm` of the plan */
	bool queue;
	bool accept_missing_rights; /* what our role lacks is a warning */
	const char *if_match;
	const char *if_none_match;
	const char *traceparent;
};

struct runner;
struct capability;

struct call {
	struct arena *arena;
	struct db *db;
	struct runner *cloud; /* reads and plans; its db is this one */
	const struct config *cfg;
	const struct where *where;
	struct clock *clock;
	struct rng *rng;
	const struct capability *cap;
	const struct principal *who;
	enum face face;
	struct call_options opt;
	bool stakes;       /* set by a handler of CAP_MORE_STAKES */
	const json_t *raw; /* the input as sent, for the audit row (masked) */
	/* Decoded and defaulted, before anything of ours was added to it: what the
	 * same request means again. */
	const json_t *meant;
	const char *request_id;
	const char *session; /* the console's cookie, or NULL */
	int64_t until_ms;    /* monotonic: all reads of the cloud end by then; 0: unset */
};

struct reply {
	int status; /* 200 unless set */
	/* The answer: JSON text, in the arena. Beside ERR_PLAN_CHANGED and
	 * ERR_LOSS_NOT_CONFIRMED it is the plan as it would be now. */
	struct str json;
	const char *location; /* path, or NULL */
	int retry_after_s;    /* 0: none */
	const char *etag;     /* without quotes, or NULL */
	/* A worker must not wait: the face parks the request until the operation's
	 * version differs from park_version or park_s have passed. NULL: answered. */
	const char *park_op;
	int64_t park_version;
	int64_t park_s;
	/* A read of any length: the grant with which instantstart-live gives the
	 * answer. NULL: answered. */
	const char *stream;
	bool planned;      /* the answer is a plan: nothing was changed */
	bool too_large;    /* json is not whole; a read then fails */
	bool ends_session; /* the console's cookie goes */
};

struct capability {
	const char *name; /* [a-z0-9_]{1,30}; also the MCP tool name */
	const char *method;
	const char *path; /* below /api/v1, with {member} parts */
	const char *title;
	const char *doc; /* what it does, for people and agents */
	enum cap_effect effect;
	enum role role; /* least role */
	unsigned flags;
	const struct field *in; /* NULL: no input */
	size_t in_size;
	const struct field *out;
	const char *done_by; /* CAP_LONG: the capability that tells completion */
	const char *target;  /* name of the input member that `confirm` must equal */
	/* Asked for a plan, and before a confirmation is asked for: refuses what run()
	 * would refuse with it, too. Changes nothing; NULL: nothing. */
	bool (*first)(struct call *c, const void *in, struct err *e);
	bool (*run)(struct call *c, const void *in, struct reply *ret, struct err *e);
};

/* NULL-ended; assembled from the <noun>_api.c files. */
extern const struct capability *const capabilities[];
const struct capability *capability_find(const char *name);

/*
 * The one door: role, confirmation, decode, audit of what is refused, handler.
 * `in` is the merged input (path, query, body or tool arguments) without the
 * call options. false: e says why, in words for the caller.
 */
bool capability_invoke(struct call *c, const json_t *in, struct reply *ret, struct err *e)
	__attribute__((warn_unused_result));

/* Asks the cloud in this call: a plan, or a row that always does. The faces
 * hand such calls to the slow pool. */
bool capability_is_slow(const struct capability *cap, const struct call_options *o);
/* Whether the row changes something: it takes the call options then. */
bool capability_mutates(const struct capability *cap);
/* The call options that the row takes, as descriptors; ended as all are. */
const struct field *capability_options(const struct capability *cap);
/*
 * Takes the call options out of what was sent: *ret_in keeps the rest, which
 * goes to capability_invoke(). Sets the options' members of *ret only. What is blank
 * counts as not given, and with `texts` values may come as text: see field_sent().
 */
bool capability_split(const struct capability *cap, const json_t *all, bool texts,
		      struct arena *a, json_t **ret_in, struct call_options *ret,
		      struct err *e) __attribute__((warn_unused_result));

/* FORBIDDEN. capability_invoke() asks it as well. */
bool capability_check_role(const struct call *c, struct err *e)
	__attribute__((warn_unused_result));

/* The input of an MCP tool: own members and call options, as a model needs them. */
json_t *capability_tool_schema(const struct capability *cap, struct arena *a);
json_t *capability_output_schema(const struct capability *cap, struct arena *a);
/* What dry_run=plan answers, for every row that mutates. */
extern const struct field plan_out[];

/*
 * For handlers of CAP_LONG rows: with dry_run answers the plan; with
 * plan_digest compares first; else submits in one transaction and answers 202
 * with the operation. A CAP_STAKES row is planned first: without the word for what
 * would be lost now it is refused with the plan (LOSS_NOT_CONFIRMED), else the
 * list goes into the operation's input as `confirmed`.
 */
/*
 * The plan of what another operation will start by itself, as call_submit() makes it:
 * false as there, when it is a dry run (ret->planned), too, *ret_confirmed is what was
 * confirmed to be lost, of the arena; NULL: it is a repeat, which was asked before.
 */
bool call_confirm(struct call *c, const struct kind *k, const char *target,
		  const json_t *input, json_t **ret_confirmed, struct reply *ret,
		  struct err *e) __attribute__((warn_unused_result));
bool call_submit(struct call *c, const struct kind *k, const char *target,
		 const json_t *input, struct reply *ret, struct err *e)
	__attribute__((warn_unused_result));

/* The form of a plan's confirm. */
bool call_is_word(const char *confirm);
/* Sets the answer from a tree or from SQL's text. */
void reply_tree(struct call *c, struct reply *ret, const json_t *tree);
void reply_text(struct reply *ret, struct str json);

/* Audits a call that was refused or that changes without an operation. */
bool call_audit(struct call *c, const char *outcome, const struct err *why, struct err *e)
	__attribute__((warn_unused_result));

/* A page of the cloud that could not be read: false, and when the cloud does not
 * know the caller's cursor (NULL: none), e says that. */
bool call_page_failed(const char *cursor, struct err *e);
/* Of two moments (NULL: none) that bound what is looked for: false when the second is not
 * the later one, since an empty list would read as "there is none". */
bool call_window(const char *from, const char *to, const char *pointer, struct err *e)
	__attribute__((warn_unused_result));
/* The monotonic moment by which all reads of the cloud for this call have ended: one
 * for all of them, from when it came in. */
int64_t call_read_deadline(const struct call *c);

/* All operation kinds, NULL-ended; handed to runners. */
extern const struct kind *const kinds[];

#endif
