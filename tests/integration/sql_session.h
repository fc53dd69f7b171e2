/*
 * sql_session.h - psql-like sessions that can be interleaved.
 *
 * Statements run as text; the answer is the first column of the first row, or
 * "!SQLSTATE" when refused. Answers live in the session's arena.
 */
#ifndef INSTANTSTART_TESTS_INTEGRATION_SQL_SESSION_H
#define INSTANTSTART_TESTS_INTEGRATION_SQL_SESSION_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "core/base/arena.h"

struct session {
	struct arena *a;
	const char *url;
	PGconn *conn;
	const char *message; /* of the last refusal */
	const char *detail;
};

/* Also sets the search path; the connection ends with the arena. */
struct session *session_open(struct arena *a, const char *url);
/* "" for no row, NULL or a command. */
const char *session_do(struct session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sends without waiting; session_take() gives the answer. */
void session_send(struct session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
const char *session_take(struct session *s);
/* Waits until the sent statement is blocked by another session. */
bool session_blocked(struct session *s);
/* The sessions' clock, in milliseconds since the epoch. */
void session_at(struct session *s, long long ms);

/* A valid submission of kind "make" on target "demo"; `more` is merged in. */
const char *submission(struct arena *a, const char *id, const char *more);
/* The same through op_submit: "new" or "same" or "!IS409". */
const char *submit(struct session *s, const char *id, const char *more);
/* Claims and answers "id gen step", or "" when nothing is due. */
const char *claim(struct session *s);
/* op_settle of {op,gen,step,data} merged with `more`: the state, or "!IS001". */
const char *settle(struct session *s, const char *id, long long gen, const char *more);
/* op_cancel, op_retry, op_answer: the state afterwards, or the refusal. */
const char *order(struct session *s, const char *verb, const char *id, const char *more);
/* A member of the operation as faces show it, by path: "{error,code}". */
const char *shown(struct session *s, const char *id, const char *path);

#define want(got, expected)                                                              \
	cr_assert_str_eq((got), (expected), "%s:%d: got '%s', expected '%s'", __FILE__,  \
			 __LINE__, (got), (expected))

#endif
