/*
 * bare - the limit that GET /operations/{id} is held against.
 *
 *   bare DATABASE_URL SOCKET WORKERS
 *
 * As many processes behind the same nginx, the same way of taking requests, one
 * prepared SELECT of the same text, jansson for the one argument, the same
 * headers; no routing, no access, no checks, no log.
 */
#include <fcntl.h>
#include <jansson.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/prefork.h"
#include "core/base/str.h"
#include "fcgi/dispatch.h"
#include "gen/queries.h"

enum { BACKLOG = 1024, DRAIN_MS = 1000 };

struct bare {
	const char *url;
	int workers;
	int listener;
	_Atomic int *load; /* [0]: of all; then one a worker */
};

/* What follows the last slash, as an object: the operation's id. */
static json_t *argument(struct conn *c)
{
	const char *uri = c->param(c, "REQUEST_URI");
	const char *slash = uri ? strrchr(uri, '/') : NULL;

	return json_pack("{s:s}", "id", slash ? slash + 1 : "");
}

static void answer(struct conn *c, PGresult *res)
{
	const int found = PQresultStatus(res) == PGRES_TUPLES_OK ? PQntuples(res) : 0;
	const char *body = found ? PQgetvalue(res, 0, 0) : "{}";
	const size_t n = found ? (size_t)PQgetlength(res, 0, 0) : 2;
	char head[512];
	const int len = snprintf(head, sizeof(head),
				 "Status: %s\r\nContent-Type: application/json\r\n"
				 "Content-Length: %zu\r\nCache-Control: no-store\r\n"
				 "ETag: \"%s\"\r\n\r\n",
				 found ? "200 OK" : "404 Not Found", n,
				 found ? PQgetvalue(res, 0, 1) : "0");

	c->write(c, head, (size_t)len);
	c->write(c, body, n);
}

static void serve(struct conn *c, PGconn *db)
{
	json_t *in = argument(c);
	const char *const params[] = {json_string_value(json_object_get(in, "id"))};
	PGresult *res = PQexecPrepared(db, "get", 1, params, NULL, NULL, 0);

	answer(c, res);
	PQclear(res);
	json_decref(in);
}

static int work(void *ctx, int slot, int stop_fd)
{
	struct bare *b = ctx;
	const struct dispatch_load load = {
		.total = b->load, .own = &b->load[1 + slot], .workers = b->workers};
	PGconn *db = PQconnectdb(b->url);
	struct dispatch *d;
	struct arena a;
	struct err e = {0};
	struct conn *c;

	PQclear(PQexec(db, Q_session_setup.text));
	PQclear(PQprepare(db, "get", Q_operation_get.text, 1, NULL));
	if (PQstatus(db) != CONNECTION_OK) {
		fprintf(stderr, "bare: %s", PQerrorMessage(db));
		return 1;
	}
	arena_init(&a, 0);
	d = dispatch_open(&a, b->listener, stop_fd, DRAIN_MS, load, &e);
	while (d && (c = dispatch_next(d)))
		serve(c, db);
	PQfinish(db);
	arena_free(&a);
	return d ? 0 : 1;
}

static int listen_at(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	unlink(path);
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(fd, BACKLOG) != 0)
		return -1;
	return fd;
}

int main(int argc, char **argv)
{
	int64_t workers;
	const struct log log = {
		.fd = 2, .least = LOG_WARN, .clock = clock_system(), .program = "bare"};
	struct bare b = {0};
	struct prefork master = {
		.program = "bare", .drain_s = 5, .work = work, .ctx = &b, .log = &log};
	struct err e = {0};

	if (argc != 4 || !str_to_i64(str_of(argv[3]), &workers) || workers < 1 ||
	    workers > 64) {
		fprintf(stderr, "usage: bare DATABASE_URL SOCKET WORKERS\n");
		return 2;
	}
	b.url = argv[1];
	b.workers = master.workers = (int)workers;
	b.load = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	b.listener = listen_at(argv[2]);
	if (b.listener < 0 || b.load == MAP_FAILED) {
		perror("bare");
		return 1;
	}
	return prefork_run(&master, &e) ? 0 : 1;
}
