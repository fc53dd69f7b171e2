/* What a person may ask of an operation: go on, stop, this choice. */
#include "core/domain/capability.h"
#include "core/domain/operation_out.h"
#include "core/json/tree.h"
#include "core/op/journal.h"
#include "core/op/runner.h"
#include "gen/queries.h"

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

/* What the undo would start now; false: nothing was sent yet, or the operation ended. */
static bool undo_of(struct call *c, const struct db_rows *rows, const char *id,
		    struct spawn *ret, struct err *e)
{
	struct step_ctx x = {
		.arena = c->arena,
		.cfg = c->cfg,
		.where = c->where,
		.op_id = id,
		.now_ms = c->clock->wall_ms(c->clock),
		.seen = json_new_object(c->arena),
		.resources = json_new_list(c->arena),
		.catalog = json_new_list(c->arena),
		.events = json_new_list(c->arena),
	};
	const struct kind *k =
		rows->n ? kind_find(kinds, db_text(rows, 0, "kind")) : NULL;

	if (!k || !k->undo)
		return false;
	x.root_id = db_text(rows, 0, "root_id");
	x.target = db_text(rows, 0, "target");
	x.input = json_parse(c->arena, str_of(db_text(rows, 0, "input")), e);
	x.data = json_parse(c->arena, str_of(db_text(rows, 0, "data")), e);
	return x.input && x.data && k->undo(&x, ret);
}

/* The caller was told what is lost, or asked for the plan: that is the answer. What could
 * not be looked at now holds up no cancel: the undo looks before it removes anything. */
static bool is_answer(const struct err *e)
{
	return e->code == ERR_LOSS_NOT_CONFIRMED || e->code == ERR_PLAN_CHANGED;
}

/* The word of a plan that has none any more. */
static bool check_word(const struct call *c, const char *id, struct err *e)
{
	if (streq(c->opt.confirm, id))
		return true;
	err_set(e, ERR_CONFIRM_NEEDED, "%s: confirm must be \"%s\"", c->cap->title, id);
	err_field(e, "/confirm", c->opt.confirm, id);
	return err_fix(e, "Send the ID of the operation. The undo would lose nothing "
			  "else now.");
}

static const json_t *nothing_to_undo(struct call *c, const json_t *op)
{
	const json_t *none = json_new_list(c->arena);

	return json_packf(c->arena, "{s:s, s:s, s:O, s:O, s:O, s:O, s:s}", "kind",
			  json_str_or(op, "kind", ""), "target",
			  json_str_or(op, "target", ""), "steps", none, "resources", none,
			  "checks", none, "warnings", none, "plan_digest",
			  json_digest(c->arena, none));
}

/* An undo that ends others' pods, or loses their data, has the plan's word for it. */
static bool confirm_undo(struct call *c, const char *id, json_t **ret_confirmed,
			 struct reply *ret, struct err *e)
{
	struct db_rows rows;
	struct spawn undo = {0};
	const struct kind *k;

	*ret_confirmed = json_new_list(c->arena);
	if (!DB(c->db, c->arena, &Q_operation_undo, &rows, e, id))
		return false;
	if (!undo_of(c, &rows, id, &undo, e))
		return c->opt.dry_run || check_word(c, id, e);
	k = kind_find(kinds, undo.kind);
	if (!call_confirm(c, k, undo.target, undo.input, ret_confirmed, ret, e)) {
		if (c->opt.dry_run || is_answer(e))
			return false;
		err_clear(e);
		*ret_confirmed = NULL; /* the kind's own rule: nothing */
		return call_is_word(c->opt.confirm) || check_word(c, id, e);
	}
	return ret->planned || !*ret_confirmed || json_array_size(*ret_confirmed) > 0 ||
	       check_word(c, id, e);
}

static bool run_cancel(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct cancel_operation *x = in;
	json_t *args = json_packf(c->arena, "{s:b}", "undo", x->undo), *confirmed = NULL;
	const struct order o = order_of(c, x->id, args);
	const json_t *op = x->undo ? operation_now(c, x->id, e) : NULL;

	if (x->undo && (!op || !can_undo(x->id, op, e) ||
			!confirm_undo(c, x->id, &confirmed, ret, e)))
		return false;
	if (c->opt.dry_run) {
		if (!ret->planned) /* nothing was sent yet: nothing is undone */
			reply_tree(c, ret, nothing_to_undo(c, op));
		ret->planned = true;
		return true;
	}
	if (confirmed)
		json_put(args, "confirmed", json_incref(confirmed));
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
	       "dry_run shows what an undo removes. "
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
