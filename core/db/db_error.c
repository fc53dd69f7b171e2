/* From SQLSTATEs to our errors, in one table. */
#include <string.h>

#include "core/base/str.h"
#include "core/db/db_internal.h"
#include "core/json/tree.h"

static const struct {
	const char *prefix; /* of the SQLSTATE; the first match counts */
	enum errc code;
	enum retry_word retry;
	const char *fix; /* what somebody has to do; NULL: it passes, or it is ours */
} map[] = {
	{"IS001", ERR_FENCED, RETRY_UNSET, NULL},
	{"IS400", ERR_INVALID_INPUT, RETRY_UNSET, NULL},
	{"IS404", ERR_NOT_FOUND, RETRY_UNSET, NULL},
	{"IS409", ERR_CONFLICT, RETRY_UNSET, NULL},
	{"IS410", ERR_STATE_CONFLICT, RETRY_UNSET, NULL},
	{"IS412", ERR_PRECONDITION, RETRY_UNSET, NULL},
	{"IS422", ERR_KEY_REUSED, RETRY_UNSET, NULL},
	/* Rolled back by the server: safe to send again. 25006: a standby, or a
	 * server that was told to take no writes. */
	{"08", ERR_UNAVAILABLE, RETRY_SAME_KEY, NULL},
	{"25006", ERR_UNAVAILABLE, RETRY_SAME_KEY,
	 "Check that a database server accepts writes: a standby may need to be promoted."},
	{"53100", ERR_UNAVAILABLE, RETRY_SAME_KEY,
	 "Free disk space on the database server. Waiting operations then continue."},
	{"53200", ERR_UNAVAILABLE, RETRY_SAME_KEY,
	 "Give the database server more memory."},
	{"53300", ERR_UNAVAILABLE, RETRY_SAME_KEY,
	 "Raise max_connections of the database server, or use fewer workers."},
	{"53", ERR_UNAVAILABLE, RETRY_SAME_KEY, NULL},
	{"57P", ERR_UNAVAILABLE, RETRY_SAME_KEY, NULL},
	{"58", ERR_UNAVAILABLE, RETRY_SAME_KEY,
	 "Check the log and the disks of the database server."},
	{"", ERR_DATABASE, RETRY_UNSET, NULL},
};

/* DETAIL of our own SQLSTATEs: {"field","seen","expected","fix","cause"}. */
static void copy_detail(struct arena *a, const char *text, struct err *e)
{
	struct err ignored;
	json_t *d = json_parse(a, str_of(text), &ignored);

	if (!d)
		return;
	err_field(e, json_str_or(d, "field", ""), json_str_or(d, "seen", ""),
		  json_str_or(d, "expected", ""));
	if (json_str_at(d, "fix"))
		err_fix(e, "%s", json_str_at(d, "fix"));
	if (json_at(d, "cause"))
		err_because(e, json_str_or(d, "cause.source", "postgresql"),
			    json_str_or(d, "cause.code", ""),
			    json_str_or(d, "cause.message", ""), "");
}

bool db_is_other_session(const char *state)
{
	return streq(state, "26000") || streq(state, "42P05") || streq(state, "42P01") ||
	       streq(state, "42883") || streq(state, "3F000");
}

void db_fail_unknown(struct err *e, const char *what)
{
	err_set(e, ERR_AMBIGUOUS, "%s: it is unknown whether the request was recorded",
		what);
	e->retry = RETRY_SAME_KEY;
	err_fix(e, "Send the same request again, with the same idempotency key if it had "
		   "one. A recorded request is found and not repeated.");
}

/* The connection broke, or was given up, before anybody said how it ended. */
static bool fail_connection(struct arena *a, const PGconn *conn, const struct db_reply *r,
			    bool writes, struct err *e)
{
	const char *message = r->error ? PQresultErrorMessage(r->error)
			      : conn   ? PQerrorMessage(conn)
				       : "out of memory";
	const char *what = r->late ? "The database did not answer in time"
				   : "The database connection was lost";

	if (writes) {
		db_fail_unknown(e, what);
	} else {
		err_set(e, ERR_UNAVAILABLE, "%s", what);
		e->retry = RETRY_SAME_KEY;
	}
	return err_because(e, "postgresql", r->late ? "deadline" : db_state(r),
			   str_dup(a, str_trim(str_of(message))), "");
}

bool db_fail(struct arena *a, const PGconn *conn, const struct db_reply *r, bool writes,
	     struct err *e)
{
	const char *state = db_state(r);
	const char *message;
	size_t i = 0;

	if (r->outcome == DB_UNKNOWN)
		return fail_connection(a, conn, r, writes, e);
	if (!*state)
		return fail_connection(a, conn, r, false, e);
	message = PQresultErrorField(r->error, PG_DIAG_MESSAGE_PRIMARY);
	while (!str_starts(state, map[i].prefix))
		i++;
	if (str_starts(state, "IS")) {
		err_set(e, map[i].code, "%s", message);
		copy_detail(a, PQresultErrorField(r->error, PG_DIAG_MESSAGE_DETAIL), e);
		return false;
	}
	if (streq(state, "25006"))
		err_set(e, map[i].code, "The database does not accept writes now");
	else if (map[i].code == ERR_UNAVAILABLE)
		err_set(e, map[i].code, "The database is not available now");
	else
		err_set(e, map[i].code, "The database rejected a statement");
	e->retry = map[i].retry;
	if (map[i].fix)
		err_fix(e, "%s", map[i].fix);
	if (db_is_other_session(state))
		err_fix(e,
			"Set pool_mode = session in the database pooler, or connect to "
			"the server directly.");
	return err_because(e, "postgresql", state, message, "");
}
