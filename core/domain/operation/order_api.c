/* What a person may ask of an operation: go on, stop, this choice. */
#include "core/domain/capability.h"
#include "core/domain/operation/operation.h"
#include "core/json/tree.h"
#include "core/op/journal.h"

#define OP_ID "op_[0-9a-z]{1,40}"

/* Their transactions write the audit row with the change. */
#define ORDER_FLAGS (CAP_AUDITED | CAP_IDEMPOTENT)

static struct order order_of(struct call *c, const char *id, const json_t *args)
{
	return (struct order){.op_id = id,
			      .principal = c->who->id,
			      .face = face_name(c->face),
			      .idem_key = c->opt.idempotency_key,
			      .args = args,
			      .request_id = c->request_id};
}

static bool accepted(struct call *c, const char *id, struct reply *ret)
{
	ret->status = 202;
	ret->location = arena_printf(c->arena, "/api/v1/operations/%s", id);
	ret->retry_after_s = 1;
	return true;
}

/* The operation as it is, or NULL. */
static const json_t *operation_now(struct call *c, const char *id, struct err *e)
{
	struct str doc;
	int64_t version;

	if (!journal_get(c->db, c->arena, id, &doc, &version, e))
		return NULL;
	return json_parse(c->arena, doc, e);
}

/* In the words of order_refuse_state() in sql/migrations. */
static bool refuse_state(const char *id, const json_t *op, const char *wanted,
			 struct err *e)
{
	const char *status = json_str_or(op, "status", "?");

	err_set(e, ERR_STATE_CONFLICT, "Operation %s is %s.", id, status);
	return err_field(e, "", status, wanted);
}

/* --- retry ------------------------------------------------------------- */

struct retry_operation {
	const char *id;
};

static const struct field retry_operation_in[] = {
	FIELD(struct retry_operation, id, .flags = FIELD_REQUIRED | FIELD_PATH,
	      .pattern = OP_ID, .doc = "Operation ID."),
	FIELD_END};

static bool run_retry(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct retry_operation *r = in;
	const struct order o = order_of(c, r->id, json_new_object(c->arena));

	return journal_retry(c->db, c->arena, &o, &ret->json, e) &&
	       accepted(c, r->id, ret);
}

static bool first_retry(struct call *c, const void *in, struct err *e)
{
	const char *id = ((const struct retry_operation *)in)->id;
	const json_t *op = operation_now(c, id, e);

	if (!op || json_bool_or(op, "retryable", false))
		return op != NULL;
	return refuse_state(id, op,
			    "an operation that failed or was cancelled without undo", e);
}

extern const struct capability cap_retry_operation;
const struct capability cap_retry_operation = {
	.name = "retry_operation",
	.method = "POST",
	.path = "/operations/{id}:retry",
	.title = "Retry a failed operation",
	.doc = "Resumes at the failed step. Completed steps are not repeated. Use "
	       "get_operation to wait for the end.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = ORDER_FLAGS,
	.in = retry_operation_in,
	.in_size = sizeof(struct retry_operation),
	.out = operation_out,
	.done_by = "get_operation",
	.first = first_retry,
	.run = run_retry,
};

/* --- cancel ------------------------------------------------------------ */

struct cancel_operation {
	const char *id;
	bool undo;
};

static const struct field cancel_operation_in[] = {
	FIELD(struct cancel_operation, id, .flags = FIELD_REQUIRED | FIELD_PATH,
	      .pattern = OP_ID, .doc = "Operation ID."),
	FIELD(struct cancel_operation, undo,
	      .doc = "Also remove what was added and restore what was changed. Refused "
		     "if not possible."),
	FIELD_END};

/*
 * Undo is promised only where a kind has one; else said before anything stops. One that
 * was cancelled without is not undone any more.
 */
static bool can_undo(const char *id, const json_t *op, struct err *e)
{
	const struct kind *k = kind_find(kinds, json_str_or(op, "kind", ""));

	if (streq(json_str_at(op, "state"), "cancelled") &&
	    json_bool_or(op, "retryable", false)) {
		refuse_state(id, op, "an operation that has not ended", e);
		return err_fix(e, "result.still_wanted lists what continues and the call "
				  "that stops it.");
	}
	if (!k || k->undo || json_bool_or(op, "done", false))
		return true;
	err_set(e, ERR_STATE_CONFLICT, "\"%s\" cannot be undone", k->title);
	err_field(e, "/undo", "true", "false");
	return err_fix(e,
		       "%s Cancel it without undo: result.still_wanted lists what "
		       "continues.",
		       k->no_undo);
}

static bool first_cancel(struct call *c, const void *in, struct err *e)
{
	const struct cancel_operation *x = in;
	const json_t *op = operation_now(c, x->id, e);
	const char *state = json_str_or(op, "state", "");

	if (!op)
		return false;
	if (streq(state, "succeeded") || streq(state, "failed"))
		return refuse_state(x->id, op, "an operation that has not ended", e);
	return !x->undo || can_undo(x->id, op, e);
}

static bool run_cancel(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct cancel_operation *x = in;
	const struct order o =
		order_of(c, x->id, json_packf(c->arena, "{s:b}", "undo", x->undo));

	const json_t *op = x->undo ? operation_now(c, x->id, e) : NULL;

	if (x->undo && (!op || !can_undo(x->id, op, e)))
		return false;
	return journal_cancel(c->db, c->arena, &o, &ret->json, e) &&
	       accepted(c, x->id, ret);
}

extern const struct capability cap_cancel_operation;
const struct capability cap_cancel_operation = {
	.name = "cancel_operation",
	.method = "POST",
	.path = "/operations/{id}:cancel",
	.title = "Cancel an operation",
	.doc = "Stops at the next safe point. Created objects stay unless undo is set. "
	       "result.still_wanted lists what the cloud continues to do, its possible "
	       "cost, and the call that stops it.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = ORDER_FLAGS | CAP_UNDO,
	.in = cancel_operation_in,
	.in_size = sizeof(struct cancel_operation),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "id",
	.first = first_cancel,
	.run = run_cancel,
};

/* --- answer ------------------------------------------------------------ */

struct answer_operation {
	const char *id;
	const char *choice;
	const char *note;
};

static const struct field answer_operation_in[] = {
	FIELD(struct answer_operation, id, .flags = FIELD_REQUIRED | FIELD_PATH,
	      .pattern = OP_ID, .doc = "Operation ID."),
	FIELD(struct answer_operation, choice, .flags = FIELD_REQUIRED, .min = 1,
	      .max = 64, .doc = "ID of one of the choices."),
	FIELD(struct answer_operation, note, .max = 500,
	      .doc = "Reason, for the event history."),
	FIELD_END};

static bool run_answer(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct answer_operation *x = in;
	const struct order o = order_of(
		c, x->id,
		json_packf(c->arena, "{s:s,s:s*}", "choice", x->choice, "note", x->note));

	return journal_answer(c->db, c->arena, &o, &ret->json, e) &&
	       accepted(c, x->id, ret);
}

static bool first_answer(struct call *c, const void *in, struct err *e)
{
	const char *id = ((const struct answer_operation *)in)->id;
	const json_t *op = operation_now(c, id, e);

	if (!op || streq(json_str_at(op, "state"), "held"))
		return op != NULL;
	return refuse_state(id, op, "an operation that needs a decision", e);
}

extern const struct capability cap_answer_operation;
const struct capability cap_answer_operation = {
	.name = "answer_operation",
	.method = "POST",
	.path = "/operations/{id}:answer",
	.title = "Answer a held operation",
	.doc = "Answers the question of a held operation. The question lists the choices "
	       "and their consequences.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = ORDER_FLAGS,
	.in = answer_operation_in,
	.in_size = sizeof(struct answer_operation),
	.out = operation_out,
	.done_by = "get_operation",
	.first = first_answer,
	.run = run_answer,
};
