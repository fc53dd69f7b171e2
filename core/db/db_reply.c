/* What the server answers, read to its end: ReadyForQuery, or no connection. */
#include <poll.h>

#include "core/base/str.h"
#include "core/db/db_internal.h"

static void clear_result(void *p)
{
	PQclear(p);
}

/* false: the deadline has passed. A broken socket is ready: reading it tells. */
static bool wait_for(const PGconn *conn, short events, struct clock *clock,
		     int64_t end_ms)
{
	struct pollfd p = {.fd = PQsocket(conn), .events = events};

	for (;;) {
		const int64_t left = end_ms - clock->mono_ms(clock);

		if (p.fd < 0)
			return true;
		if (left <= 0)
			return false;
		/* In slices: a test's clock moves by itself. */
		if (poll(&p, 1, (int)(left < 1000 ? left : 1000)) > 0)
			return true;
	}
}

/* A server that reads nothing while it writes must be read. */
static bool flush(PGconn *conn, struct clock *clock, int64_t end_ms)
{
	while (PQflush(conn) == 1) {
		if (!wait_for(conn, POLLIN | POLLOUT, clock, end_ms))
			return false;
		if (!PQconsumeInput(conn))
			return true; /* broken: what it said last is still to be read */
	}
	return true;
}

/* NULL at the end of the answer; *ret_late: the deadline has passed. */
static PGresult *next_result(PGconn *conn, struct arena *a, struct clock *clock,
			     int64_t end_ms, bool *ret_late)
{
	PGresult *res;

	while (PQisBusy(conn)) {
		if (!wait_for(conn, POLLIN, clock, end_ms)) {
			*ret_late = true;
			return NULL;
		}
		if (!PQconsumeInput(conn))
			break;
	}
	res = PQgetResult(conn);
	if (res)
		arena_defer(a, clear_result, res);
	return res;
}

static bool is_success(const PGresult *res)
{
	const ExecStatusType s = PQresultStatus(res);

	return s == PGRES_TUPLES_OK || s == PGRES_COMMAND_OK || s == PGRES_EMPTY_QUERY;
}

const char *db_state(const struct db_reply *r)
{
	const char *state =
		r->error ? PQresultErrorField(r->error, PG_DIAG_SQLSTATE) : NULL;

	return state ? state : "";
}

/* ReadyForQuery was the last thing that we read. */
static bool is_ready(const PGconn *conn)
{
	const PGTransactionStatusType s = PQtransactionStatus(conn);

	return PQstatus(conn) == CONNECTION_OK &&
	       (s == PQTRANS_IDLE || s == PQTRANS_INTRANS || s == PQTRANS_INERROR);
}

/*
 * Why the server ended the session before it had finished the statement, in its
 * own words: then the statement is rolled back. What a pooler says of a server
 * that it has lost (08...) is no such word.
 */
static bool is_servers_end(const char *state)
{
	return str_starts(state, "57P") || str_starts(state, "53") ||
	       str_starts(state, "25P") || str_starts(state, "28") ||
	       str_starts(state, "3D");
}

void db_collect(PGconn *conn, struct arena *a, struct clock *clock, int64_t end_ms,
		struct db_reply *ret)
{
	PGresult *res;

	*ret = (struct db_reply){.outcome = DB_UNKNOWN};
	if (!flush(conn, clock, end_ms)) {
		ret->late = true;
		return;
	}
	while ((res = next_result(conn, a, clock, end_ms, &ret->late))) {
		if (is_success(res))
			ret->rows = res;
		else if (!ret->error)
			ret->error = res; /* the server's reason comes before the end */
		if (PQresultStatus(res) == PGRES_COPY_IN ||
		    PQresultStatus(res) == PGRES_COPY_OUT)
			return; /* no statement of ours copies */
	}
	if (ret->late)
		return;
	if (is_ready(conn))
		ret->outcome = ret->error ? DB_REFUSED : DB_DONE;
	else if (!ret->rows && is_servers_end(db_state(ret)))
		ret->outcome = DB_LOST;
}
