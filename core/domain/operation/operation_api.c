/* Looking at operations: one, many, and what happened to one. */
#include "core/base/nearest.h"
#include "core/domain/capability.h"
#include "core/domain/operation_out.h"
#include "core/domain/page.h"
#include "core/json/tree.h"
#include "core/op/journal.h"
#include "gen/queries.h"

#define OP_ID "op_[0-9a-z]{1,40}"

static const char *number(struct call *c, int64_t n)
{
	return arena_printf(c->arena, "%lld", (long long)n);
}

/* --- list_operations --------------------------------------------------- */

static const char *const states[] = {"live",   "held",      "succeeded",
				     "failed", "cancelled", NULL};

struct list_operations {
	const char *state;
	const char *kind;
	const char *cluster;
	int64_t limit;
	const char *cursor;
};

static const struct field list_operations_in[] = {
	FIELD(struct list_operations, state, .one_of = states, .doc = "Filter by state."),
	FIELD(struct list_operations, kind, .max = 64, .doc = "Filter by kind."),
	FIELD(struct list_operations, cluster, .max = 128, .doc = "Filter by cluster."),
	PAGE_LIMIT(struct list_operations),
	PAGE_CURSOR(struct list_operations, .pattern = OP_ID),
	FIELD_END};

static const struct field list_operations_out[] = {PAGE_OUT(operation_out), FIELD_END};

/* An empty list of a kind that there is not would read as "nothing runs". */
static bool is_kind(struct call *c, const char *kind, struct err *e)
{
	struct nearest n = {.wanted = kind};

	if (!kind || kind_find(kinds, kind))
		return true;
	for (size_t i = 0; kinds[i]; i++)
		nearest_offer(&n, kinds[i]->name);
	err_set(e, ERR_INVALID_INPUT, "There is no kind of operation named %s", kind);
	return err_field(e, "/kind", kind,
			 nearest_hint(&n, c->arena,
				      "a kind that list_operations shows, "
				      "for example create_cluster"));
}

static bool is_cluster(struct call *c, const char *name, struct err *e)
{
	struct nearest n = {.wanted = name};
	struct db_rows rows;

	if (!DB(c->db, c->arena, &Q_cluster_mean, &rows, e, name, c->who->id))
		return false;
	if (rows.n > 0)
		return true;
	if (!db_query(c->db, c->arena, &Q_cluster_names, NULL, 0, &rows, e))
		return false;
	for (int i = 0; i < rows.n; i++)
		nearest_offer(&n, db_text(&rows, i, "name"));
	err_set(e, ERR_INVALID_INPUT, "There is no cluster named %s", name);
	return err_field(e, "/cluster", name,
			 nearest_hint(&n, c->arena, "a name from list_clusters"));
}

/* False: of a cluster that was never there; those of one that is gone stay. */
static bool is_of_cluster(struct call *c, const struct list_operations *l,
			  const json_t *doc, struct err *e)
{
	struct db_rows rows;
	json_t *any;

	if (!l->cluster || l->cursor || json_len_at(doc, "items"))
		return true;
	if (!DB(c->db, c->arena, &Q_operation_list, &rows, e, NULL, NULL, l->cluster,
		NULL, number(c, 1)))
		return false;
	any = json_parse(c->arena, str_of(db_text(&rows, 0, "doc")), e);
	return any && (json_len_at(any, "items") || is_cluster(c, l->cluster, e));
}

static bool run_list_operations(struct call *c, const void *in, struct reply *ret,
				struct err *e)
{
	const struct list_operations *l = in;
	struct db_rows rows;
	const json_t *doc;

	if (!is_kind(c, l->kind, e))
		return false;
	if (!DB(c->db, c->arena, &Q_operation_list, &rows, e, l->state, l->kind,
		l->cluster, l->cursor, number(c, l->limit)))
		return false;
	doc = json_parse(c->arena, str_of(db_text(&rows, 0, "doc")), e);
	if (!doc || !is_of_cluster(c, l, doc, e))
		return false;
	reply_text(ret, str_of(db_text(&rows, 0, "doc")));
	return true;
}

extern const struct capability cap_list_operations;
const struct capability cap_list_operations = {
	.name = "list_operations",
	.method = "GET",
	.path = "/operations",
	.title = "List operations",
	.doc = "Lists operations, newest first: running, waiting for a decision, and "
	       "ended.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_LIST,
	.in = list_operations_in,
	.in_size = sizeof(struct list_operations),
	.out = list_operations_out,
	.run = run_list_operations,
};

/* --- get_operation ----------------------------------------------------- */

struct get_operation {
	const char *id;
	int64_t wait_seconds;
	int64_t seen_version;
};

static const struct field get_operation_in[] = {
	FIELD(struct get_operation, id, .flags = FIELD_REQUIRED | FIELD_PATH,
	      .pattern = OP_ID, .doc = "Operation ID."),
	FIELD(struct get_operation, wait_seconds, .min = 0, .max = 25, .dflt = "0",
	      .unit = "s", .doc = "Wait up to this long for a change."),
	FIELD(struct get_operation, seen_version, .min = 0, .max = INT64_MAX, .dflt = "0",
	      .doc = "Version that you have. With wait_seconds, a newer version is "
		     "returned immediately."),
	FIELD_END};

static bool is_live(struct call *c, struct str operation, struct err *e)
{
	const json_t *tree = json_parse(c->arena, operation, e);

	return streq(json_str_at(tree, "state"), "live");
}

static bool run_get_operation(struct call *c, const void *in, struct reply *ret,
			      struct err *e)
{
	const struct get_operation *g = in;
	int64_t seen = g->seen_version, version;

	if (!journal_get(c->db, c->arena, g->id, &ret->json, &version, e))
		return false;
	ret->etag = number(c, version);
	if (seen == 0 &&
	    (!c->opt.if_none_match || !str_to_i64(str_of(c->opt.if_none_match), &seen)))
		seen = 0;
	if (g->wait_seconds == 0)
		return true;
	/* A held one changes when a person answers: only who has seen the question
	 * waits for that. */
	if (seen ? seen == version : is_live(c, ret->json, e)) {
		ret->park_op = g->id;
		ret->park_version = version;
		ret->park_s = g->wait_seconds < c->cfg->max_wait_s ? g->wait_seconds
								   : c->cfg->max_wait_s;
	}
	return true;
}

extern const struct capability cap_get_operation;
const struct capability cap_get_operation = {
	.name = "get_operation",
	.method = "GET",
	.path = "/operations/{id}",
	.title = "Get an operation",
	.doc = "Returns state, phases, what it is waiting for, and the result or error. "
	       "With wait_seconds, waits for a change. done is true when the operation "
	       "has ended.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_WAITS,
	.in = get_operation_in,
	.in_size = sizeof(struct get_operation),
	.out = operation_out,
	.run = run_get_operation,
};

/* --- list_events ------------------------------------------------------- */

struct list_events {
	const char *id;
	int64_t limit;
	const char *cursor;
};

static const struct field list_events_in[] = {
	FIELD(struct list_events, id, .flags = FIELD_REQUIRED | FIELD_PATH,
	      .pattern = OP_ID, .doc = "Operation ID."),
	FIELD(struct list_events, limit, .min = 1, .max = 100, .dflt = "20",
	      .doc = "Maximum number of items per page."),
	FIELD(struct list_events, cursor, .pattern = "[0-9]{1,18}",
	      .doc = "Number of the last event that you have."),
	FIELD_END};

static const struct field event_out[] = {
	OUT("seq", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Event number within the operation."),
	OUT("at", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "When."),
	OUT("what", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "What happened."),
	OUT("state", FIELD_STR, .doc = "New state, if it changed."),
	OUT("step", FIELD_STR, .doc = "New step, if it changed."),
	OUT("phase", FIELD_STR, .doc = "New phase, if it changed."),
	OUT("data", FIELD_OBJECT, .flags = FIELD_OPEN, .doc = "Particulars."),
	FIELD_END};

static const struct field list_events_out[] = {PAGE_OUT(event_out), FIELD_END};

static bool run_list_events(struct call *c, const void *in, struct reply *ret,
			    struct err *e)
{
	const struct list_events *l = in;
	struct db_rows rows;
	struct str operation;
	int64_t version;

	/* No such operation is not an operation without events. */
	if (!journal_get(c->db, c->arena, l->id, &operation, &version, e) ||
	    !DB(c->db, c->arena, &Q_event_list, &rows, e, l->id,
		l->cursor ? l->cursor : "0", number(c, l->limit)))
		return false;
	reply_text(ret, str_of(db_text(&rows, 0, "doc")));
	return true;
}

extern const struct capability cap_list_events;
const struct capability cap_list_events = {
	.name = "list_events",
	.method = "GET",
	.path = "/operations/{id}/events",
	.title = "List the events of an operation",
	.doc = "Lists the events of an operation, oldest first: phases, calls, waits, "
	       "decisions and errors.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_LIST,
	.in = list_events_in,
	.in_size = sizeof(struct list_events),
	.out = list_events_out,
	.run = run_list_events,
};
