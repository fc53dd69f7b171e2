#include "core/live/notes.h"

#include "core/base/str.h"

enum { TRY_MS = 1000 };

struct notes {
	struct loop *loop;
	struct db *db;
	struct park *park;
	struct events *events;
	struct arena scratch;
	struct loop_watch ready;
	struct loop_timer retry;
	int64_t connects; /* of the connection that is watched */
	bool watching;
};

/* Watches the connection that there is; tells when it is another one. */
static void look_at_connection(struct notes *n)
{
	const int64_t connects = db_connects(n->db);
	const int fd = db_fd(n->db);
	struct err e = {0};

	if (n->watching && connects == n->connects && fd >= 0)
		return;
	/* A closed socket has left the loop by itself; one still open is the same
	 * number by chance only, so it is taken out first. */
	if (n->watching && fd >= 0)
		loop_remove(n->loop, &n->ready);
	n->watching = false;
	if (fd < 0)
		return;
	n->ready.fd = fd;
	n->watching = loop_add(n->loop, &n->ready, &e);
	if (n->connects != connects && n->connects > 0 && n->park) {
		park_recheck(n->park);
		events_lost(n->events);
	}
	n->connects = connects;
}

static void take(struct notes *n)
{
	const char *payload;

	while ((payload = db_take_notify(n->db, &n->scratch))) {
		if (streq(payload, "lost")) {
			park_recheck(n->park);
			events_lost(n->events);
			continue;
		}
		if (payload[0] != '{')
			park_note(n->park, payload);
		events_note(n->events, payload);
	}
}

static void on_ready(void *ctx)
{
	/* Everything happens at the end of the turn. */
	(void)ctx;
}

static void connect_again(struct notes *n)
{
	struct err e = {0};

	/* Fails at once while it backs off. */
	if (db_fd(n->db) < 0 && db_listen(n->db, "instantstart", &e) &&
	    db_listen(n->db, "instantstart_catalog", &e))
		park_recheck(n->park);
	if (db_fd(n->db) < 0)
		loop_within(n->loop, &n->retry, TRY_MS);
}

static void end_turn(void *ctx)
{
	struct notes *n = ctx;

	if (!n->park)
		return;
	connect_again(n);
	look_at_connection(n);
	if (db_fd(n->db) >= 0)
		take(n);
	events_flush(n->events, &n->scratch);
	/* A query may have met a broken connection. */
	look_at_connection(n);
	arena_reset(&n->scratch);
}

static void on_retry(void *ctx)
{
	(void)ctx;
}

static void free_scratch(void *at)
{
	arena_free(&((struct notes *)at)->scratch);
}

void notes_tell(struct notes *n, struct park *park, struct events *events)
{
	n->park = park;
	n->events = events;
}

struct notes *notes_open(struct arena *a, struct loop *loop, struct db *db)
{
	struct notes *n = arena_new(a, struct notes);

	n->loop = loop;
	n->db = db;
	n->ready = (struct loop_watch){on_ready, n, -1};
	n->retry = (struct loop_timer){.fn = on_retry, .ctx = n};
	arena_init(&n->scratch, 0);
	arena_defer(a, free_scratch, n);
	loop_at_end(loop, end_turn, n);
	return n;
}
