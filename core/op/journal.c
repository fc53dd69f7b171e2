/* The journal's calls: C structs to the SQL functions' JSON, and back. */
#include "core/op/journal.h"

#include <string.h>

#include "core/json/tree.h"
#include "gen/queries.h"

enum { KIND_DEADLINE_S = 6 * 3600 };

static const char *number(struct arena *a, int64_t v)
{
	return arena_printf(a, "%lld", (long long)v);
}

/* A borrowed tree as a member; absent when NULL. */
static void put_tree(json_t *o, const char *name, const json_t *tree)
{
	if (tree)
		json_object_set_new(o, name, json_deep_copy(tree));
}

static json_t *read_tree(struct arena *a, const char *text, struct err *e)
{
	return json_parse(a, str_of(text), e);
}

/* "node groups" and "node_groups" read "Node groups". */
static json_t *phase_title(struct arena *a, const struct kind *k, const char *name)
{
	char *title = arena_strdup(a, name);

	for (const struct phase_title *t = k->phase_titles; t && t->name; t++)
		if (streq(t->name, name))
			return json_string(t->title);
	for (char *p = title; *p; p++)
		if (*p == '_' || *p == '-')
			*p = ' ';
	if (*title >= 'a' && *title <= 'z')
		*title = (char)(*title - 'a' + 'A');
	return json_string(title);
}

/* First step, phases and length: what the journal keeps of a kind. */
static void put_kind(struct arena *a, json_t *o, const struct kind *k)
{
	json_t *phases = json_array();
	const char *last = "";

	for (const struct step *s = k->steps; s->name; s++) {
		if (streq(s->phase, last))
			continue;
		last = s->phase;
		json_push(phases, json_pack("{s:s, s:o}", "name", s->phase, "title",
					    phase_title(a, k, s->phase)));
	}
	json_put_str(o, "kind", k->name);
	json_put_str(o, "title", k->title);
	json_put_str(o, "step", k->steps[0].name);
	json_put_str(o, "phase", k->steps[0].phase);
	json_put(o, "phases", phases);
	json_put_int(o, "deadline_s", k->deadline_s ? k->deadline_s : KIND_DEADLINE_S);
}

static void put_locks(struct arena *a, json_t *o, const struct submission *s)
{
	struct str_list keys = {0};
	json_t *list = json_array();

	if (s->kind->locks)
		s->kind->locks(s->target, s->input, a, &keys);
	for (size_t i = 0; i < keys.n; i++)
		json_push(list, json_string(keys.v[i]));
	json_put(o, "locks", list);
}

bool journal_submit(struct db *db, struct arena *a, const struct submission *s,
		    struct submitted *ret, struct err *e)
{
	json_t *o = json_new_object(a);
	struct db_rows rows;

	put_kind(a, o, s->kind);
	put_locks(a, o, s);
	json_put_str(o, "id", s->id);
	json_put_str(o, "target", s->target);
	json_put(o, "input", s->input ? json_deep_copy(s->input) : json_object());
	json_put_str(o, "digest", s->digest);
	json_put_str(o, "principal", s->principal);
	json_put_str(o, "face", s->face);
	json_put_str(o, "idem_key", s->idem_key);
	json_put_str(o, "plan_digest", s->plan_digest);
	json_put_str(o, "capability", s->capability);
	put_tree(o, "audit", s->audit);
	json_put_bool(o, "queue", s->queue);
	json_put_str(o, "traceparent", s->traceparent);
	json_put_str(o, "request_id", s->request_id);
	if (!DB(db, a, &Q_op_submit, &rows, e, json_text(a, o)))
		return false;
	ret->outcome =
		streq(db_text(&rows, 0, "outcome"), "new") ? SUBMIT_NEW : SUBMIT_SAME;
	ret->id = db_text(&rows, 0, "id");
	ret->operation = db_text(&rows, 0, "doc");
	ret->operation_len = db_text_len(&rows, 0, "doc");
	return true;
}

/* --- claim and intent --------------------------------------------------- */

/* JSON null is NULL. */
static json_t *tree_at(const json_t *o, const char *name)
{
	json_t *v = json_object_get(o, name);

	return json_is_null(v) ? NULL : v;
}

static void read_claim(const json_t *o, struct claim *ret)
{
	*ret = (struct claim){
		.op_id = json_str_at(o, "op_id"),
		.gen = json_int_or(o, "gen", 0),
		.root_id = json_str_at(o, "root_id"),
		.parent_id = json_str_at(o, "parent_id"),
		.kind = json_str_at(o, "kind"),
		.target = json_str_at(o, "target"),
		.step = json_str_at(o, "step"),
		.input = tree_at(o, "input"),
		.data = tree_at(o, "data"),
		.answer = tree_at(o, "answer"),
		.ledger = tree_at(o, "ledger"),
		.attempt = (int)json_int_or(o, "attempt", 0),
		.waits = (int)json_int_or(o, "waits", 0),
		.try = json_int_or(o, "try", 0),
		.blind_ms = json_int_or(o, "blind_ms", 0),
		.blind_since_ms = json_int_or(o, "blind_since_ms", 0),
		.cancel_requested = json_bool_or(o, "cancel_requested", false),
		.cancel_undo = json_bool_or(o, "cancel_undo", false),
		.now_ms = json_int_or(o, "now_ms", 0),
		.created_ms = json_int_or(o, "created_ms", 0),
		.step_since_ms = json_int_or(o, "step_since_ms", 0),
		.deadline_ms = json_int_or(o, "deadline_ms", 0),
		.issued = json_bool_or(o, "issued", false),
		.issued_at_ms = json_int_or(o, "issued_at_ms", 0),
		.issued_item = json_str_at(o, "issued_item"),
		.issued_epoch = (int)json_int_or(o, "issued_epoch", 0),
		.child_id = json_str_at(o, "child_id"),
		.child_state = json_str_at(o, "child_state"),
		.child_result = tree_at(o, "child_result"),
		.child_error = tree_at(o, "child_error"),
	};
}

bool journal_claim(struct db *db, struct arena *a, const char *worker, int64_t lease_ms,
		   struct claim *ret, bool *ret_any, struct err *e)
{
	char ask[sizeof("ask_") + ID_RANDOM];
	struct db_rows rows;
	const char *text;
	json_t *o;

	*ret_any = false;
	id_make(rng_system(), 0, "ask_", ask, sizeof(ask));
	/* A claim whose answer was lost would stand until its lease passes. */
	if (!DB(db, a, &Q_op_claim, &rows, e, worker, number(a, lease_ms), ask) &&
	    (e->code != ERR_AMBIGUOUS || !DB(db, a, &Q_op_claimed, &rows, e, ask)))
		return false;
	text = db_text(&rows, 0, "claim");
	o = text ? read_tree(a, text, e) : NULL;
	/* The first claim of an operation shows; looking for one may start another. */
	if (!o || json_bool_or(o, "tells", false))
		db_tell(db, a);
	if (!o)
		return !text;
	read_claim(o, ret);
	*ret_any = true;
	return true;
}

bool journal_intent(struct db *db, struct arena *a, const struct claim *c,
		    const struct intent *i, struct intent_answer *ret, struct err *e)
{
	const char *request = i->request ? json_text(a, i->request) : NULL;
	struct db_rows rows;
	const char *status;
	const char *response;

	if (!DB(db, a, &Q_op_intent, &rows, e, c->op_id, number(a, c->gen), i->step,
		i->item ? i->item : "", effect_class_name(i->effect), i->name, i->digest,
		request))
		return false;
	status = db_text(&rows, 0, "status");
	response = db_text(&rows, 0, "response");
	*ret = (struct intent_answer){
		.status = streq(status, "new")    ? INTENT_NEW
			  : streq(status, "done") ? INTENT_DONE
						  : INTENT_ISSUED,
		.token = db_text(&rows, 0, "token"),
		.epoch = (int)db_int(&rows, 0, "epoch"),
		.issued_at_ms = db_int(&rows, 0, "issued_at_ms"),
		.digest = db_text(&rows, 0, "digest"),
	};
	if (!response)
		return true;
	ret->response = read_tree(a, response, e);
	return ret->response != NULL;
}

/* --- settle ------------------------------------------------------------- */

static const char *const outcome_names[] = {
	[EFFECT_DONE] = "done",
	[EFFECT_REFUSED] = "refused",
	[EFFECT_UNKNOWN] = "unknown",
};

static void put_some(json_t *o, const char *name, const char *z)
{
	json_put_str(o, name, z && *z ? z : NULL);
}

/* As faces show it; the journal adds phase and step. */
static json_t *error_tree(const struct err *err)
{
	json_t *o = json_object();
	json_t *causes = json_array();

	json_put_str(o, "code", errc_info(err->code)->slug);
	json_put_str(o, "title", errc_info(err->code)->title);
	json_put_str(o, "detail", err->detail);
	put_some(o, "field", err->field);
	put_some(o, "seen", err->seen);
	put_some(o, "expected", err->expected);
	put_some(o, "fix", err_fix_text(err));
	json_put_str(o, "retry", retry_word_name(err_retry(err)));
	for (size_t i = 0; i < err->n_causes; i++) {
		json_t *c = json_object();

		put_some(c, "source", err->cause[i].source);
		put_some(c, "code", err->cause[i].code);
		put_some(c, "message", err->cause[i].message);
		put_some(c, "request_id", err->cause[i].request_id);
		json_push(causes, c);
	}
	json_put(o, "cause", causes);
	return o;
}

static void put_step(json_t *o, const char *name, const struct step *s)
{
	json_t *w;

	if (!s)
		return;
	w = json_object();
	json_put_str(w, "step", s->name);
	json_put_str(w, "phase", s->phase);
	if (step_is_quick(s))
		json_put_bool(w, "quick", true);
	json_put(o, name, w);
}

static void put_verdict(json_t *o, const struct settlement *s)
{
	const struct verdict *v = &s->ctx->verdict;

	json_put_str(o, "verdict", verdict_name(v->kind));
	json_put_int(o, "due_ms", s->due_ms);
	if (v->kind == VERDICT_WAIT)
		json_put_str(o, "waiting_for",
			     v->waiting_for ? v->waiting_for : "the next check");
	if (v->kind == VERDICT_ADVANCE)
		put_step(o, "next", s->next);
	if (v->kind == VERDICT_DONE || v->kind == VERDICT_FAIL ||
	    v->kind == VERDICT_CANCELLED)
		put_tree(o, "result", v->result);
	if (v->kind == VERDICT_HOLD)
		put_tree(o, "question", v->question);
	if (v->kind == VERDICT_FAIL || v->kind == VERDICT_RETRY ||
	    v->kind == VERDICT_CANCELLED)
		json_put(o, "error", error_tree(&v->error));
	if (v->kind == VERDICT_FAIL && s->step->retry_step)
		put_step(o, "resume", kind_step(s->kind, s->step->retry_step));
}

static void put_effect(json_t *o, const struct settlement *s)
{
	json_t *f;

	if (s->effect == EFFECT_NONE)
		return;
	f = json_object();
	json_put_str(f, "outcome", outcome_names[s->effect]);
	json_put_str(f, "item", s->item ? s->item : "");
	json_put_int(f, "epoch", s->epoch);
	put_tree(f, "response", s->response);
	put_some(f, "request_id", s->request_id);
	json_put_str(f, "call", s->call);
	json_put(o, "effect", f);
}

static void put_spawn(struct arena *a, json_t *o, const struct settlement *s)
{
	json_t *c;
	json_t *of;

	if (s->ctx->verdict.kind != VERDICT_SPAWN)
		return;
	c = json_object();
	put_kind(a, c, s->child_kind);
	json_put_str(c, "id", s->child_id);
	json_put_str(c, "target", s->spawn->target);
	json_put(c, "input",
		 s->spawn->input ? json_deep_copy(s->spawn->input) : json_object());
	of = json_packf(a, "{s:s, s:s, s:O}", "kind", s->child_kind->name, "target",
			s->spawn->target, "input", json_object_get(c, "input"));
	json_put_str(c, "digest", json_digest(a, of));
	json_put(o, "spawn", c);
}

bool journal_settle(struct db *db, struct arena *a, const struct claim *c,
		    const struct settlement *s, struct err *e)
{
	json_t *o = json_new_object(a);
	struct db_rows rows;

	json_put_str(o, "op", c->op_id);
	json_put_int(o, "gen", c->gen);
	json_put_str(o, "step", s->step->name);
	json_put_str(o, "phase", s->step->phase);
	put_tree(o, "data", s->ctx->data);
	put_verdict(o, s);
	if (s->blind)
		json_put_bool(o, "blind", true);
	put_effect(o, s);
	put_tree(o, "resources", s->ctx->resources);
	put_tree(o, "catalog", s->ctx->catalog);
	put_tree(o, "events", s->ctx->events);
	put_spawn(a, o, s);
	return DB(db, a, &Q_op_settle, &rows, e, json_text(a, o));
}

/* --- what people ask ------------------------------------------------------ */

static bool give_order(struct db *db, struct arena *a, const struct db_query *q,
		       const struct order *w, struct str *ret_operation, struct err *e)
{
	char own_key[sizeof("order_") + ID_RANDOM];
	json_t *o = json_new_object(a);
	struct db_rows rows;

	/* Sent again, since nobody had told how it ended, it must be known again. */
	id_make(rng_system(), 0, "order_", own_key, sizeof(own_key));
	json_put_str(o, "op", w->op_id);
	json_put_str(o, "principal", w->principal);
	json_put_str(o, "face", w->face);
	json_put_str(o, "idem_key", w->idem_key ? w->idem_key : own_key);
	json_put_str(o, "request_id", w->request_id);
	json_put(o, "args", w->args ? json_deep_copy(w->args) : json_object());
	if (!DB(db, a, q, &rows, e, json_text(a, o)))
		return false;
	*ret_operation =
		(struct str){db_text(&rows, 0, "doc"), db_text_len(&rows, 0, "doc")};
	return true;
}

bool journal_cancel(struct db *db, struct arena *a, const struct order *o,
		    struct str *ret_operation, struct err *e)
{
	return give_order(db, a, &Q_op_cancel, o, ret_operation, e);
}

bool journal_retry(struct db *db, struct arena *a, const struct order *o,
		   struct str *ret_operation, struct err *e)
{
	return give_order(db, a, &Q_op_retry, o, ret_operation, e);
}

bool journal_answer(struct db *db, struct arena *a, const struct order *o,
		    struct str *ret_operation, struct err *e)
{
	return give_order(db, a, &Q_op_answer, o, ret_operation, e);
}

bool journal_get(struct db *db, struct arena *a, const char *op_id,
		 struct str *ret_operation, int64_t *ret_version, struct err *e)
{
	struct db_rows rows;

	if (!DB(db, a, &Q_operation_get, &rows, e, op_id))
		return false;
	if (rows.n == 0) {
		err_set(e, ERR_NOT_FOUND, "There is no operation %s", op_id);
		err_field(e, "/id", op_id, "");
		return err_fix(e, "Find its ID with list_operations.");
	}
	*ret_operation =
		(struct str){db_text(&rows, 0, "doc"), db_text_len(&rows, 0, "doc")};
	*ret_version = db_int(&rows, 0, "version");
	return true;
}
