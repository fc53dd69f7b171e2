#include "tests/integration/sql_session.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/pg.h"

static void finish(void *p)
{
	PQfinish(p);
}

struct session *session_open(struct arena *a, const char *url)
{
	struct session *s = arena_new(a, struct session);

	s->a = a;
	s->url = url;
	s->conn = PQconnectdb(url);
	arena_defer(a, finish, s->conn);
	cr_assert_eq(PQstatus(s->conn), CONNECTION_OK, "%s", PQerrorMessage(s->conn));
	want(session_do(s, "set search_path = instantstart; set timezone = 'UTC';"
			   "set deadlock_timeout = '10s'"),
	     "");
	return s;
}

static const char *answer(struct session *s, PGresult *res)
{
	const ExecStatusType status = PQresultStatus(res);
	const char *text = "";
	const char *state;

	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
		const char *detail = PQresultErrorField(res, PG_DIAG_MESSAGE_DETAIL);

		state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
		s->message = arena_strdup(s->a, PQresultErrorMessage(res));
		s->detail = arena_strdup(s->a, detail ? detail : "");
		text = arena_printf(s->a, "!%s", state ? state : "broken");
		if (!state || strncmp(state, "IS", 2) != 0)
			fprintf(stderr, "%s\n", s->message);
	} else if (PQntuples(res) > 0 && PQnfields(res) > 0) {
		text = arena_strdup(s->a, PQgetvalue(res, 0, 0));
	}
	PQclear(res);
	return text;
}

const char *session_do(struct session *s, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(s->a, fmt, ap);
	va_end(ap);
	return answer(s, PQexec(s->conn, text));
}

void session_send(struct session *s, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(s->a, fmt, ap);
	va_end(ap);
	cr_assert(PQsendQuery(s->conn, text));
}

const char *session_take(struct session *s)
{
	const char *text = "";
	PGresult *res;

	while ((res = PQgetResult(s->conn)))
		text = answer(s, res);
	return text;
}

bool session_blocked(struct session *s)
{
	const time_t end = time(NULL) + 10;

	while (time(NULL) < end) {
		const char *n = pg_sql(s->a, s->url,
				       "select count(*) from pg_locks"
				       " where pid = %d and not granted",
				       PQbackendPID(s->conn));

		if (strcmp(n, "0") != 0)
			return true;
		PQconsumeInput(s->conn);
		if (!PQisBusy(s->conn))
			return false;
		usleep(2000); /* between looks; the deadline is above */
	}
	return false;
}

void session_at(struct session *s, long long ms)
{
	session_do(s, "set instantstart.now = '%lld'", ms);
}

const char *submission(struct arena *a, const char *id, const char *more)
{
	return arena_printf(
		a,
		"('{\"id\":\"%s\",\"kind\":\"make\",\"title\":\"Make it\","
		"\"target\":\"demo\",\"input\":{\"size\":1},\"digest\":\"d1\","
		"\"principal\":\"ann\",\"face\":\"rest\",\"queue\":false,"
		"\"locks\":[\"cluster/demo/update\"],\"step\":\"one\",\"phase\":\"first\","
		"\"phases\":[{\"name\":\"first\",\"title\":\"First\"},"
		"{\"name\":\"second\",\"title\":\"Second\"}],\"deadline_s\":3600}'::jsonb"
		" || '%s')",
		id, more ? more : "{}");
}

const char *submit(struct session *s, const char *id, const char *more)
{
	return session_do(s, "select outcome || ' ' || id from op_submit(%s)",
			  submission(s->a, id, more));
}

const char *claim(struct session *s)
{
	return session_do(s, "select concat_ws(' ', c->>'op_id', c->>'gen', c->>'step')"
			     " from op_claim('w', 60000) c");
}

const char *settle(struct session *s, const char *id, long long gen, const char *more)
{
	return session_do(
		s,
		"select op_settle(jsonb_build_object('op', '%s', 'gen', %lld,"
		" 'step', (select step from operation where id = '%s')) || '%s')",
		id, gen, id, more);
}

const char *order(struct session *s, const char *verb, const char *id, const char *more)
{
	return session_do(
		s,
		"select op_%s('{\"op\":\"%s\",\"principal\":\"ann\","
		"\"face\":\"rest\",\"args\":{}}'::jsonb || '%s')::json->>'state'",
		verb, id, more ? more : "{}");
}

const char *shown(struct session *s, const char *id, const char *path)
{
	return session_do(s, "select doc::json #>> '%s' from operation where id = '%s'",
			  path, id);
}
