/*
 * db_internal.h - what the files of core/db share; nobody else includes it.
 *
 * Owns: nothing. The connection belongs to struct db, results to the arena of
 * the call.
 */
#ifndef INSTANTSTART_DB_DB_INTERNAL_H
#define INSTANTSTART_DB_DB_INTERNAL_H

#include <libpq-fe.h>

#include "core/db/db.h"

/*
 * How a statement ended. Rows are no success: the commit comes after them, and
 * only ReadyForQuery says that it went well.
 */
enum db_outcome {
	DB_DONE,    /* ReadyForQuery without an error: committed */
	DB_REFUSED, /* ReadyForQuery after an error: rolled back */
	DB_LOST,    /* no connection any more; certainly not committed */
	DB_UNKNOWN  /* no connection any more; committed or not, nobody has said */
};

struct db_reply {
	enum db_outcome outcome;
	PGresult *rows;  /* DONE */
	PGresult *error; /* the server's reason, or NULL: the connection's */
	bool late;       /* given up at the deadline */
};

/*
 * Reads all that the server answers to what was sent, until ReadyForQuery, the
 * end of the connection or `end_ms` (monotonic). A connection that is not OK
 * afterwards, or late, must be closed. Needs a non-blocking connection.
 */
void db_collect(PGconn *conn, struct arena *a, struct clock *clock, int64_t end_ms,
		struct db_reply *ret);

/* Fills e from a reply that is not DONE. `writes`: what an unknown outcome means. */
bool db_fail(struct arena *a, const PGconn *conn, const struct db_reply *r, bool writes,
	     struct err *e);

/* SQLSTATE of the refusal; "" when the server gave none. */
const char *db_state(const struct db_reply *r);

/* Our prepared statements or our search path are not there: a pooler between us and
 * the server has given us another session. */
bool db_is_other_session(const char *state);

/* A write of unknown outcome, in words. */
void db_fail_unknown(struct err *e, const char *what);

enum {
	DB_PREPARED_SLOTS = 512, /* a power of two, well above the number of queries */
	DB_CHANNELS_MAX = 2
};

struct db {
	struct secret url;
	const char *application;
	struct clock *clock;
	struct rng *rng;
	PGconn *conn;
	int64_t connects;
	int64_t delay_ms;      /* of the next back-off; 0 after a success */
	int64_t not_before_ms; /* monotonic; no attempt earlier */
	int64_t patience_ms;   /* for the answer to one statement */
	bool telling;          /* tell_now was sent, and its answer not read yet */
	bool lost;             /* what was to be told went with its connection */
	bool in_transaction;   /* begun by db_exec(): ends with its connection */
	char channel[DB_CHANNELS_MAX][64]; /* LISTENed to again after a reconnect */
	/* What this connection has prepared: open addressing by the query's address. */
	const struct db_query *prepared[DB_PREPARED_SLOTS];
};

/* db_session.c: a connection that serves, or UNAVAILABLE; never waits for the
 * back-off. A session that was lost in a transaction is not replaced silently. */
bool db_connect(struct db *db, struct arena *a, struct err *e)
	__attribute__((warn_unused_result));
void db_notice_end(struct db *db);
/* db.c: reads the answer to what db_tell() has sent; before anything else is sent. */
void db_hear_told(struct db *db, struct arena *a);
void db_back_off(struct db *db);
int64_t db_deadline(const struct db *db);
/* The simple protocol; false: not DONE. */
bool db_run_text(struct db *db, struct arena *a, const char *text, struct db_reply *ret);

/* Several statements without parameters, by the simple protocol. */
bool db_exec(struct db *db, struct arena *a, const char *text, struct err *e)
	__attribute__((warn_unused_result));

#endif
