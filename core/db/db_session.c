/* One connection: opened when needed, re-opened with back-off after it broke. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/db/db_internal.h"
#include "gen/queries.h"

enum {
	BACKOFF_FIRST_MS = 50,
	BACKOFF_LAST_MS = 2000,
	PATIENCE_MS = 35000,
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
	db->patience_ms = PATIENCE_MS;
	arena_defer(a, close_it, db);
	return db;
}

void db_set_patience(struct db *db, int64_t ms)
{
	db->patience_ms = ms;
}

void db_close(struct db *db)
{
	if (db->conn)
		PQfinish(db->conn);
	db->conn = NULL;
	db->lost |= db->telling;
	db->telling = false;
	memset(db->prepared, 0, sizeof(db->prepared));
}

/* --- connecting -------------------------------------------------------- */

/* Decorrelated jitter: between the first delay and three times the last one. */
void db_back_off(struct db *db)
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
	db_back_off(db);
	err_set(e, ERR_UNAVAILABLE, "The database cannot be reached");
	return err_because(e, "postgresql", "connect", text, "");
}

static PGconn *open_connection(const struct db *db)
{
	/*
	 * What comes before the URL is what it may say otherwise; what comes after
	 * it is ours. A standby is no place for us: of several hosts, the one that
	 * takes writes is looked for.
	 */
	const char *const keys[] = {"target_session_attrs",      "dbname",
				    "fallback_application_name", "connect_timeout",
				    "keepalives_idle",           "tcp_user_timeout",
				    "client_encoding",           NULL};
	const char *const values[] = {"primary",
				      secret_reveal(db->url),
				      db->application,
				      "5",
				      "30",
				      "20000",
				      "UTF8",
				      NULL};

	return PQconnectdbParams(keys, values, 1);
}

int64_t db_deadline(const struct db *db)
{
	return db->clock->mono_ms(db->clock) + db->patience_ms;
}

/* The simple protocol; the reply of its last statement. */
bool db_run_text(struct db *db, struct arena *a, const char *text, struct db_reply *ret)
{
	*ret = (struct db_reply){.outcome = DB_LOST};
	db_hear_told(db, a);
	if (!db->conn || !PQsendQuery(db->conn, text))
		return false;
	db_collect(db->conn, a, db->clock, db_deadline(db), ret);
	return ret->outcome == DB_DONE;
}

static bool say_channel(struct db *db, struct arena *a, const char *verb,
			const char *channel, struct err *e)
{
	char *quoted = PQescapeIdentifier(db->conn, channel, strlen(channel));
	char *text = arena_printf(a, "%s %s", verb, quoted ? quoted : "\"\"");
	struct db_reply r;

	PQfreemem(quoted);
	return db_run_text(db, a, text, &r) || db_fail(a, db->conn, &r, false, e);
}

static bool listen_again(struct db *db, struct arena *a, struct err *e)
{
	for (int i = 0; i < DB_CHANNELS_MAX && db->channel[i][0]; i++)
		if (!say_channel(db, a, "listen", db->channel[i], e))
			return false;
	return true;
}

/* What was begun has ended with its connection: no statement of it may follow. */
static bool leave_transaction(struct db *db, struct err *e)
{
	db->in_transaction = false;
	err_set(e, ERR_UNAVAILABLE,
		"The database connection was lost in a transaction. Nothing was "
		"changed");
	e->retry = RETRY_SAME_KEY;
	return false;
}

bool db_connect(struct db *db, struct arena *a, struct err *e)
{
	const int64_t now = db->clock->mono_ms(db->clock);
	struct db_reply r;

	if (db->conn && PQstatus(db->conn) == CONNECTION_OK)
		return true;
	db_close(db);
	if (db->in_transaction)
		return leave_transaction(db, e);
	if (now < db->not_before_ms)
		return err_set(e, ERR_UNAVAILABLE,
			       "The database cannot be reached. The next attempt is in "
			       "%lld ms",
			       (long long)(db->not_before_ms - now));
	if (!secret_reveal(db->url))
		return err_set(e, ERR_CONFIG, "No database is configured");
	db->conn = open_connection(db);
	if (PQstatus(db->conn) != CONNECTION_OK)
		return unavailable(db, a, PQerrorMessage(db->conn), e);
	PQsetnonblocking(db->conn, 1);
	if (!db_run_text(db, a, Q_session_setup.text, &r))
		return unavailable(db, a, PQerrorMessage(db->conn), e);
	if (!listen_again(db, a, e)) {
		db_close(db);
		db_back_off(db);
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
void db_notice_end(struct db *db)
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

/* --- notifications ----------------------------------------------------- */

bool db_listen(struct db *db, const char *channel, struct err *e)
{
	struct arena scratch;
	int i = 0;
	bool ok;

	while (i < DB_CHANNELS_MAX - 1 && db->channel[i][0] &&
	       !streq(db->channel[i], channel))
		i++;
	arena_init(&scratch, 0);
	str_copy(db->channel[i], sizeof(db->channel[i]), channel);
	db_notice_end(db);
	/* A new connection listens by itself. */
	if (db->conn && PQstatus(db->conn) == CONNECTION_OK)
		ok = listen_again(db, &scratch, e);
	else
		ok = db_connect(db, &scratch, e);
	arena_free(&scratch);
	return ok;
}

bool db_unlisten(struct db *db, const char *channel, struct err *e)
{
	struct arena scratch;
	bool ok = true;

	for (int i = 0; i < DB_CHANNELS_MAX; i++) {
		if (!streq(db->channel[i], channel))
			continue;
		for (int n = i; n + 1 < DB_CHANNELS_MAX; n++)
			memcpy(db->channel[n], db->channel[n + 1],
			       sizeof(db->channel[n]));
		db->channel[DB_CHANNELS_MAX - 1][0] = '\0';
	}
	arena_init(&scratch, 0);
	if (db->conn && PQstatus(db->conn) == CONNECTION_OK)
		ok = say_channel(db, &scratch, "unlisten", channel, e);
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

		if (db_connect(db, a, &ignored)) {
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
