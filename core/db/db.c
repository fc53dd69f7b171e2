/* Statements: sent, brought to their end, and looked up when nobody has told it. */
#include "core/db/db.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/str.h"
#include "core/db/db_internal.h"
#include "gen/queries.h"

enum {
	LOOK_UP_MS = 2000, /* for the outcome of a write that nobody has told us */
	TRIES = 3,
};

/* --- statements -------------------------------------------------------- */

/* Where q stands, or the free slot for it. */
static const struct db_query **slot_of(struct db *db, const struct db_query *q)
{
	size_t i = ((uintptr_t)q >> 3) & (DB_PREPARED_SLOTS - 1);

	while (db->prepared[i] && db->prepared[i] != q)
		i = (i + 1) & (DB_PREPARED_SLOTS - 1);
	return &db->prepared[i];
}

/* What cannot even be sent, or prepared, is not committed. */
static void execute(struct db *db, struct arena *a, const struct db_query *q,
		    const char *const *params, struct db_reply *ret)
{
	const struct db_query **slot = slot_of(db, q);

	*ret = (struct db_reply){.outcome = DB_LOST};
	if (!*slot) {
		if (!PQsendPrepare(db->conn, q->name, q->text, 0, NULL))
			return;
		db_collect(db->conn, a, db->clock, db_deadline(db), ret);
		if (ret->outcome != DB_DONE) {
			ret->outcome = ret->outcome == DB_REFUSED ? DB_REFUSED : DB_LOST;
			return;
		}
		*slot = q;
		*ret = (struct db_reply){.outcome = DB_LOST};
	}
	if (PQsendQueryPrepared(db->conn, q->name, q->n_params, params, NULL, NULL, 0))
		db_collect(db->conn, a, db->clock, db_deadline(db), ret);
}

/* --- telling ------------------------------------------------------------- */

void db_hear_told(struct db *db, struct arena *a)
{
	struct db_reply r;

	if (!db->telling)
		return;
	if (!db->conn) {
		db->telling = false;
		return;
	}
	db_collect(db->conn, a, db->clock, db_deadline(db), &r);
	if (r.outcome == DB_LOST || r.outcome == DB_UNKNOWN) {
		db_close(db); /* says that it is lost */
		return;
	}
	db->telling = false;
}

void db_tell(struct db *db, struct arena *a)
{
	const char *const lost[] = {db->lost ? "t" : "f"};
	const struct db_query *q = &Q_tell_now;
	const struct db_query **slot = slot_of(db, q);
	struct db_reply r;

	if (!db->conn || PQstatus(db->conn) != CONNECTION_OK) {
		db->lost = true;
		return;
	}
	db_hear_told(db, a);
	if (db->conn && !*slot && PQsendPrepare(db->conn, q->name, q->text, 0, NULL)) {
		db_collect(db->conn, a, db->clock, db_deadline(db), &r);
		*slot = r.outcome == DB_DONE ? q : NULL;
	}
	db->lost = !db->conn || !*slot ||
		   !PQsendQueryPrepared(db->conn, q->name, 1, lost, NULL, NULL, 0);
	db->telling = !db->lost;
}

enum next { GIVE_UP, SEND_AGAIN, LOOK_UP };

/* What may be done about a statement that has not succeeded. */
static enum next next_of(struct db *db, const struct db_query *q,
			 const struct db_reply *r)
{
	const char *state = db_state(r);

	switch (r->outcome) {
	case DB_LOST:
		return r->late ? GIVE_UP : SEND_AGAIN;
	case DB_UNKNOWN:
		if (q->again == DB_READS && !r->late)
			return SEND_AGAIN;
		return q->again == DB_AGAIN ? LOOK_UP : GIVE_UP;
	case DB_REFUSED:
		/* 0A000: a migration changed the type of a prepared statement's
		 * result. 25006: it writes no more; another one may. The others: this
		 * is not the session that we have set up. */
		if (streq(state, "0A000") || streq(state, "25006") ||
		    db_is_other_session(state)) {
			db_close(db);
			return SEND_AGAIN;
		}
		/* Serialisation and deadlock: rolled back. */
		return streq(state, "40001") || streq(state, "40P01") ? SEND_AGAIN
								      : GIVE_UP;
	case DB_DONE:
		break;
	}
	return GIVE_UP;
}

static bool too_large(const struct db_query *q, const char *const *params, struct err *e)
{
	for (int i = 0; i < q->n_params; i++)
		if (params[i] && strlen(params[i]) > LIMIT_DB_PARAM) {
			err_set(e, ERR_TOO_LARGE,
				"Parameter %d of \"%s\" is larger than %d bytes", i + 1,
				q->name, (int)LIMIT_DB_PARAM);
			return true;
		}
	return false;
}

/* The connection is back, or worth another try, before `end_ms`. */
bool db_await(struct db *db, struct arena *a, int64_t end_ms)
{
	enum { SLICE_MS = 50, STILL_MAX = 200 }; /* a test's clock may stand still */
	int64_t before = -1;
	struct err ignored;

	for (int still = 0; still < STILL_MAX;) {
		const int64_t now = db->clock->mono_ms(db->clock);
		const int64_t left = db->not_before_ms - now;

		db_notice_end(db);
		if (left <= 0 && db_connect(db, a, &ignored))
			return true;
		if (now >= end_ms || db->not_before_ms >= end_ms)
			return false;
		poll(NULL, 0, left > 0 && left < SLICE_MS ? (int)left : SLICE_MS);
		still = now == before ? still + 1 : 0;
		before = now;
	}
	return false;
}

/* A server that cannot serve, or takes no writes, is not asked again at once. */
static void leave_alone(struct db *db, const struct db_reply *r, const struct err *e)
{
	if (r->outcome != DB_REFUSED || e->code != ERR_UNAVAILABLE)
		return;
	if (streq(db_state(r), "25006"))
		db_close(db);
	db_back_off(db);
}

/*
 * One statement to its end. The outcome of a write that nobody has told us is
 * looked up by sending it again: it finds what it did. *ret_unknown says that an
 * earlier sending may have been committed.
 */
static bool carry_out(struct db *db, struct arena *a, const struct db_query *q,
		      const char *const *params, struct db_reply *r, bool *ret_unknown,
		      struct err *e)
{
	int64_t look_up_end_ms = 0;

	for (int i = 1;; i++) {
		enum next next;

		db_hear_told(db, a);
		db_notice_end(db);
		if (*ret_unknown ? !db_await(db, a, look_up_end_ms)
				 : !db_connect(db, a, e))
			return false;
		execute(db, a, q, params, r);
		if (r->outcome == DB_DONE) {
			db->delay_ms = 0;
			return true;
		}
		db_fail(a, db->conn, r, q->again != DB_READS, e);
		next = next_of(db, q, r);
		if (r->late || !db->conn || PQstatus(db->conn) != CONNECTION_OK)
			db_close(db);
		if (next == LOOK_UP && !*ret_unknown) {
			*ret_unknown = true;
			look_up_end_ms = db->clock->mono_ms(db->clock) + LOOK_UP_MS;
		}
		if (next == GIVE_UP || i == TRIES) {
			leave_alone(db, r, e);
			return false;
		}
	}
}

/* A refusal of ours to the second sending has seen what the first had done: it was
 * rolled back. Anything else leaves it open. */
static bool fail_open(const struct db_reply *last, struct err *e)
{
	const struct err why = *e;

	if (last->outcome == DB_REFUSED && str_starts(db_state(last), "IS"))
		return false;
	db_fail_unknown(e, "The database connection was lost");
	return why.n_causes ? err_because(e, why.cause[0].source, why.cause[0].code,
					  why.cause[0].message, "")
			    : false;
}

bool db_query(struct db *db, struct arena *a, const struct db_query *q,
	      const char *const *params, size_t n, struct db_rows *ret_rows,
	      struct err *e)
{
	struct db_reply r = {.outcome = DB_LOST};
	bool unknown = false;

	assert((int)n == q->n_params);
	(void)n;
	if (too_large(q, params, e))
		return false;
	if (!carry_out(db, a, q, params, &r, &unknown, e)) {
		db->lost |= unknown && q->tells;
		return unknown ? fail_open(&r, e) : false;
	}
	/* What the first sending had kept went with its connection. */
	db->lost |= unknown && q->tells;
	if (q->tells)
		db_tell(db, a);
	if (ret_rows)
		*ret_rows = (struct db_rows){.n = PQntuples(r.rows), .result_ = r.rows};
	return true;
}

/* Statements of a migration: none is sent twice, and none outside the transaction
 * that the first of them began. They take what they take. */
bool db_exec(struct db *db, struct arena *a, const char *text, struct err *e)
{
	const int64_t patience_ms = db->patience_ms;
	struct db_reply r;

	db_hear_told(db, a);
	db_notice_end(db);
	if (!db_connect(db, a, e))
		return false;
	db->patience_ms = INT32_MAX;
	db_run_text(db, a, text, &r);
	db->patience_ms = patience_ms;
	db->in_transaction =
		r.outcome == DB_DONE && PQtransactionStatus(db->conn) != PQTRANS_IDLE;
	if (r.outcome == DB_REFUSED)
		db->in_transaction = PQtransactionStatus(db->conn) != PQTRANS_IDLE;
	return r.outcome == DB_DONE || db_fail(a, db->conn, &r, false, e);
}

/* --- rows -------------------------------------------------------------- */

static int column_of(const struct db_rows *r, int row, const char *column)
{
	const int c = PQfnumber(r->result_, column);

	assert(c >= 0 && "no such column");
	assert(row >= 0 && row < r->n);
	(void)row;
	return c;
}

const char *db_text(const struct db_rows *r, int row, const char *column)
{
	const int c = column_of(r, row, column);

	return PQgetisnull(r->result_, row, c) ? NULL : PQgetvalue(r->result_, row, c);
}

size_t db_text_len(const struct db_rows *r, int row, const char *column)
{
	return (size_t)PQgetlength(r->result_, row, column_of(r, row, column));
}

int64_t db_int(const struct db_rows *r, int row, const char *column)
{
	const char *z = db_text(r, row, column);
	int64_t v = 0;

	return z && str_to_i64(str_of(z), &v) ? v : 0;
}

bool db_bool(const struct db_rows *r, int row, const char *column)
{
	return streq(db_text(r, row, column), "t");
}
