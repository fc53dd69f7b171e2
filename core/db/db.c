/* One connection: opened when needed, re-opened with back-off after it broke. */
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
	BACKOFF_FIRST_MS = 50,
	BACKOFF_LAST_MS = 5000,
	PREPARED_SLOTS = 512, /* a power of two, well above the number of queries */
	TRIES = 3,
	CHANNELS_MAX = 2
};

struct db {
	struct secret url;
	const char *application;
	struct clock *clock;
	struct rng *rng;
	PGconn *conn;
	int64_t connects;
	int64_t delay_ms;               /* of the next back-off; 0 after a success */
	int64_t not_before_ms;          /* monotonic; no attempt earlier */
	char channel[CHANNELS_MAX][64]; /* LISTENed to again after a reconnect */
	/* What this connection has prepared: open addressing by the query's address. */
	const struct db_query *prepared[PREPARED_SLOTS];
};

static void close_it(void *p)
{
	db_close(p);
}

struct db *db_new(struct arena *a, struct secret url, const char *application,
		  struct clock *clock, struct rng *rng)
{
	struct db *db = arena_new(a, struct db);

	db->url = url;
	db->application = arena_strdup(a, application);
	db->clock = clock;
	db->rng = rng;
	arena_defer(a, close_it, db);
	return db;
}

void db_close(struct db *db)
{
	if (db->conn)
		PQfinish(db->conn);
	db->conn = NULL;
	memset(db->prepared, 0, sizeof(db->prepared));
}

/* --- connecting -------------------------------------------------------- */

static void clear_result(void *p)
{
	PQclear(p);
}

static PGresult *own(struct arena *a, PGresult *res)
{
	if (res)
		arena_defer(a, clear_result, res);
	return res;
}

static bool succeeded(const PGresult *res)
{
	const ExecStatusType s = PQresultStatus(res);

	return s == PGRES_TUPLES_OK || s == PGRES_COMMAND_OK;
}

/* Decorrelated jitter: between the first delay and three times the last one. */
static void back_off(struct db *db)
{
	const int64_t last = db->delay_ms ? db->delay_ms : BACKOFF_FIRST_MS;
	const uint64_t span = (uint64_t)(last * 3 - BACKOFF_FIRST_MS + 1);
	const int64_t next = BACKOFF_FIRST_MS + (int64_t)rng_below(db->rng, span);

	db->delay_ms = next < BACKOFF_LAST_MS ? next : BACKOFF_LAST_MS;
	db->not_before_ms = db->clock->mono_ms(db->clock) + db->delay_ms;
}

static bool unavailable(struct db *db, struct arena *a, const char *why, struct err *e)
{
	char *text = str_dup(a, str_trim(str_of(why)));

	db_close(db);
	back_off(db);
	err_set(e, ERR_UNAVAILABLE, "The database cannot be reached");
	return err_because(e, "postgresql", "connect", text, "");
}

static PGconn *open_connection(const struct db *db)
{
	/* The URL comes first, so that what it says itself wins nothing it must not. */
	const char *const keys[] = {"dbname",
				    "fallback_application_name",
				    "connect_timeout",
				    "keepalives_idle",
				    "tcp_user_timeout",
				    "client_encoding",
				    NULL};
	const char *const values[] = {secret_reveal(db->url),
				      db->application,
				      "5",
				      "30",
				      "20000",
				      "UTF8",
				      NULL};

	return PQconnectdbParams(keys, values, 1);
}

static bool listen_to(struct db *db, struct arena *a, const char *channel, struct err *e)
{
	char *quoted = PQescapeIdentifier(db->conn, channel, strlen(channel));
	char *text = arena_printf(a, "listen %s", quoted ? quoted : "\"\"");
	PGresult *res;

	PQfreemem(quoted);
	res = own(a, PQexec(db->conn, text));
	return succeeded(res) || db_fail(a, db->conn, res, e);
}

static bool listen_again(struct db *db, struct arena *a, struct err *e)
{
	for (int i = 0; i < CHANNELS_MAX && db->channel[i][0]; i++)
		if (!listen_to(db, a, db->channel[i], e))
			return false;
	return true;
}

static bool connect_now(struct db *db, struct arena *a, struct err *e)
{
	const int64_t now = db->clock->mono_ms(db->clock);

	if (db->conn && PQstatus(db->conn) == CONNECTION_OK)
		return true;
	db_close(db);
	if (now < db->not_before_ms)
		return err_set(e, ERR_UNAVAILABLE,
			       "The database cannot be reached; next try in %lld ms",
			       (long long)(db->not_before_ms - now));
	if (!secret_reveal(db->url))
		return err_set(e, ERR_CONFIG, "No database is configured");
	db->conn = open_connection(db);
	if (PQstatus(db->conn) != CONNECTION_OK)
		return unavailable(db, a, PQerrorMessage(db->conn), e);
	if (!succeeded(own(a, PQexec(db->conn, Q_session_setup.text))))
		return unavailable(db, a, PQerrorMessage(db->conn), e);
	if (!listen_again(db, a, e)) {
		db_close(db);
		return false;
	}
	db->delay_ms = 0;
	db->connects++;
	return true;
}

/*
 * A server that went away has closed the socket: seen here, before anything is
 * sent, so that the statement is certainly not committed.
 */
static void notice_end(struct db *db)
{
	/* A last message first, then the end: each takes a read of its own. */
	while (db->conn) {
		struct pollfd p = {.fd = PQsocket(db->conn), .events = POLLIN};

		if (poll(&p, 1, 0) <= 0)
			return;
		if (!PQconsumeInput(db->conn) || PQstatus(db->conn) != CONNECTION_OK)
			db_close(db);
	}
}

/* --- statements -------------------------------------------------------- */

/* Where q stands, or the free slot for it. */
static const struct db_query **slot_of(struct db *db, const struct db_query *q)
{
	size_t i = ((uintptr_t)q >> 3) & (PREPARED_SLOTS - 1);

	while (db->prepared[i] && db->prepared[i] != q)
		i = (i + 1) & (PREPARED_SLOTS - 1);
	return &db->prepared[i];
}

/*
 * PQexecPrepared() would give the last of several failures: the end of the
 * connection, not the server's reason for it, which comes first.
 */
static PGresult *first_result(struct db *db, struct arena *a)
{
	PGresult *first = own(a, PQgetResult(db->conn));
	PGresult *more = first;

	while (more && PQstatus(db->conn) == CONNECTION_OK)
		more = own(a, PQgetResult(db->conn));
	return first;
}

/* false with *ret_res NULL or failed. */
static bool execute(struct db *db, struct arena *a, const struct db_query *q,
		    const char *const *params, PGresult **ret_res, bool *ret_sent)
{
	const struct db_query **slot = slot_of(db, q);

	*ret_sent = false;
	if (!*slot) {
		*ret_res = own(a, PQprepare(db->conn, q->name, q->text, 0, NULL));
		if (!succeeded(*ret_res))
			return false;
		*slot = q;
	}
	*ret_sent = true;
	*ret_res = NULL;
	if (!PQsendQueryPrepared(db->conn, q->name, q->n_params, params, NULL, NULL, 0))
		return false;
	*ret_res = first_result(db, a);
	return succeeded(*ret_res);
}

/* Failures after which the same statement may go out again at once. */
static bool may_repeat(struct db *db, const PGresult *res, bool sent)
{
	const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;

	if (!state)
		return !sent;
	/* Deadlock and serialisation: rolled back. 57P01: the server shut the
	 * connection down and rolled back what ran in it. 0A000: a migration
	 * changed the type of a prepared statement's result. */
	if (streq(state, "57P01") || streq(state, "0A000")) {
		db_close(db);
		return true;
	}
	return streq(state, "40001") || streq(state, "40P01");
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

bool db_query(struct db *db, struct arena *a, const struct db_query *q,
	      const char *const *params, size_t n, struct db_rows *ret_rows,
	      struct err *e)
{
	PGresult *res = NULL;
	bool sent;

	assert((int)n == q->n_params);
	(void)n;
	if (too_large(q, params, e))
		return false;
	for (int i = 1;; i++) {
		notice_end(db);
		if (!connect_now(db, a, e))
			return false;
		if (execute(db, a, q, params, &res, &sent))
			break;
		db_fail(a, db->conn, res, e);
		if (!may_repeat(db, res, sent) || i == TRIES) {
			if (db->conn && PQstatus(db->conn) != CONNECTION_OK)
				db_close(db);
			return false;
		}
	}
	if (ret_rows)
		*ret_rows = (struct db_rows){.n = PQntuples(res), .result_ = res};
	return true;
}

bool db_exec(struct db *db, struct arena *a, const char *text, struct err *e)
{
	PGresult *res;

	notice_end(db);
	if (!connect_now(db, a, e))
		return false;
	res = own(a, PQexec(db->conn, text));
	return succeeded(res) || db_fail(a, db->conn, res, e);
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

/* --- notifications ----------------------------------------------------- */

bool db_listen(struct db *db, const char *channel, struct err *e)
{
	struct arena scratch;
	int i = 0;
	bool ok;

	while (i < CHANNELS_MAX - 1 && db->channel[i][0] &&
	       !streq(db->channel[i], channel))
		i++;
	arena_init(&scratch, 0);
	str_copy(db->channel[i], sizeof(db->channel[i]), channel);
	notice_end(db);
	/* A new connection listens by itself. */
	if (db->conn && PQstatus(db->conn) == CONNECTION_OK)
		ok = listen_again(db, &scratch, e);
	else
		ok = connect_now(db, &scratch, e);
	arena_free(&scratch);
	return ok;
}

int db_fd(struct db *db)
{
	return db->conn && PQstatus(db->conn) == CONNECTION_OK ? PQsocket(db->conn) : -1;
}

int64_t db_connects(const struct db *db)
{
	return db->connects;
}

const char *db_take_notify(struct db *db, struct arena *a)
{
	const char *payload = NULL;
	PGnotify *n;

	if (!db->conn)
		return NULL;
	if (!PQconsumeInput(db->conn)) {
		db_close(db);
		return NULL;
	}
	n = PQnotifies(db->conn);
	if (n)
		payload = arena_strdup(a, n->extra);
	PQfreemem(n);
	return payload;
}

const char *db_wait_notify(struct db *db, struct arena *a, int64_t timeout_ms,
			   int wake_fd)
{
	const int64_t end = db->clock->mono_ms(db->clock) + timeout_ms;
	struct err ignored;

	for (;;) {
		const int64_t left = end - db->clock->mono_ms(db->clock);
		struct pollfd p[2] = {{.fd = -1, .events = POLLIN},
				      {.fd = wake_fd, .events = POLLIN}};
		const char *payload;

		if (connect_now(db, a, &ignored)) {
			payload = db_take_notify(db, a);
			if (payload)
				return payload;
		}
		p[0].fd = db_fd(db);
		if (left <= 0 || poll(p, 2, (int)(left < 1000 ? left : 1000)) < 0)
			return NULL;
		if (p[1].revents)
			return NULL;
	}
}
