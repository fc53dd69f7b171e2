/*
 * db.h - PostgreSQL behind a narrow seam: the only user of libpq.
 *
 * A struct db is one connection, opened at first use and re-opened with
 * jittered back-off after it broke. Statements are named queries from
 * sql/queries, embedded at build time and prepared once per connection.
 * Parameters are text and always bound; NULL is SQL null. Rows live in the
 * arena of the call.
 *
 * A statement has succeeded when the server says that it is ready for the next
 * one: rows alone are no commit. When the connection breaks in between, the
 * statement is sent again on a new one, as its DB_* word allows; nobody is
 * answered before its outcome is known, or the patience for it has ended.
 *
 * Errors: DATABASE (refused statement; SQLSTATE and message in the cause),
 * UNAVAILABLE (no connection; nothing was committed), AMBIGUOUS (it may have been
 * committed, and nobody could be asked), and the journal's own SQLSTATEs, mapped in one
 * table: IS001 fenced -> FENCED, IS409 -> CONFLICT, IS422 -> KEY_REUSED, IS404 ->
 * NOT_FOUND, IS412 -> PRECONDITION, IS400 -> INVALID_INPUT, IS410 -> STATE_CONFLICT;
 * their DETAIL is JSON {"field","seen","expected","fix","cause"} copied into the err.
 */
#ifndef INSTANTSTART_DB_DB_H
#define INSTANTSTART_DB_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/rng.h"
#include "core/base/secret.h"

struct db;

/* What a second sending of the statement does: the word after its name. */
enum db_again {
	DB_READS, /* no word: it changes nothing */
	DB_AGAIN, /* "again": an identity of its own, or its effect, makes two of it one
		   */
	DB_ONCE   /* "once": sent once; its caller knows how to look for what it did */
};

struct db_query {
	const char *name;
	const char *text;
	int n_params;
	enum db_again again;
	bool tells; /* others are to hear of it once it is committed: db_tell() */
};

struct db_rows {
	int n;
	void *result_; /* PGresult, released with the arena */
};

/* Never connects by itself; lives in `a`, which outlives it. */
struct db *db_new(struct arena *a, struct secret url, const char *application,
		  struct clock *clock, struct rng *rng);
/* Closes the connection; the next statement opens a new one. */
void db_close(struct db *db);
/* How long a statement may take, seen from here; 35 s at first, which is longer
 * than the server lets one run. Longer ones break the connection. */
void db_set_patience(struct db *db, int64_t ms);

/* Waits until there is a connection again, or until `end_ms` (monotonic) has
 * passed: then false. */
bool db_await(struct db *db, struct arena *a, int64_t end_ms)
	__attribute__((warn_unused_result));

#define DB_PARAMS(...) ((const char *const[]){__VA_ARGS__})

/* One statement, one implicit transaction. n must equal q->n_params. */
bool db_query(struct db *db, struct arena *a, const struct db_query *q,
	      const char *const *params, size_t n, struct db_rows *ret_rows,
	      struct err *e) __attribute__((warn_unused_result));
/* DB(db, a, &Q_x, &rows, e, p1, p2): counts the parameters. */
#define DB(db, a, q, ret_rows, e, ...)                                                   \
	db_query((db), (a), (q), DB_PARAMS(__VA_ARGS__),                                 \
		 sizeof(DB_PARAMS(__VA_ARGS__)) / sizeof(char *), (ret_rows), (e))

/* Text of a column; NULL for SQL null. An unknown column is a bug. */
const char *db_text(const struct db_rows *r, int row, const char *column);
size_t db_text_len(const struct db_rows *r, int row, const char *column);
int64_t db_int(const struct db_rows *r, int row, const char *column);
bool db_bool(const struct db_rows *r, int row, const char *column);

/* LISTEN on a channel, also after every reconnect; up to two of them. */
bool db_listen(struct db *db, const char *channel, struct err *e)
	__attribute__((warn_unused_result));
/*
 * Waits up to timeout_ms for a notification or for `wake_fd` (-1: none) to
 * become readable. Returns the payload (in a) or NULL.
 */
const char *db_wait_notify(struct db *db, struct arena *a, int64_t timeout_ms,
			   int wake_fd);
/* No longer; what comes meanwhile is not kept. */
bool db_unlisten(struct db *db, const char *channel, struct err *e)
	__attribute__((warn_unused_result));
/*
 * Tells others (NOTIFY) what committed statements of this connection have kept for
 * them. Done by itself after every statement that says `tells`; sent only, so that
 * nobody waits for it. When the connection goes first, the next one tells that
 * something was lost.
 */
void db_tell(struct db *db, struct arena *a);
/* For event loops: the socket, or -1; then db_take_notify() until NULL. */
int db_fd(struct db *db);
/* How many connections there have been: another one means another socket, and
 * that notifications may have been missed. */
int64_t db_connects(const struct db *db);
const char *db_take_notify(struct db *db, struct arena *a);

/* Applies what is missing of sql/migrations, under an advisory lock. Refuses
 * (SCHEMA_VERSION) a database that is newer or whose applied texts differ. */
bool db_migrate(struct db *owner, struct arena *a, struct err *e)
	__attribute__((warn_unused_result));
/* SCHEMA_VERSION unless the database has exactly our migrations. */
bool db_check_schema(struct db *db, struct arena *a, struct err *e)
	__attribute__((warn_unused_result));

#endif
