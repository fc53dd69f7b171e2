#include "core/live/events.h"

#include <string.h>

#include "core/base/buf.h"
#include "gen/queries.h"

enum {
	RING_BYTES = 1024 * 1024,
	RING_EVENTS = 4096,
	IDS_MAX = 64 * 1024,
	OP_MAX = 48,
	KNOWN = 1024 /* operations whose version is remembered */
};

struct known {
	char id[OP_MAX];
	int64_t version;
};

struct events {
	struct feed feed;
	struct db *db;
	struct arena noted_arena; /* of `noted`, until the next flush */
	struct buf noted;         /* ids, comma separated */
	bool news;
	struct known known[KNOWN];
};

static void free_noted(void *at)
{
	arena_free(&((struct events *)at)->noted_arena);
}

struct events *events_new(struct arena *a, struct db *db, struct clock *clock,
			  struct rng *rng)
{
	struct events *ev = arena_new(a, struct events);
	char epoch[FEED_EPOCH_MAX];

	id_make(rng, clock->wall_ms(clock), "e", epoch, sizeof(epoch));
	feed_init(&ev->feed, a, FEED_EVENTS, 1, RING_BYTES, RING_EVENTS, epoch, 1);
	ev->feed.ready = true;
	ev->db = db;
	arena_init(&ev->noted_arena, 0);
	buf_init(&ev->noted, &ev->noted_arena, IDS_MAX);
	arena_defer(a, free_noted, ev);
	return ev;
}

struct feed *events_feed(struct events *ev)
{
	return &ev->feed;
}

/* Remembers the version; false when it was known already. */
static bool is_new(struct events *ev, const char *id, int64_t version)
{
	uint32_t h = 2166136261u;
	struct known *k;

	for (const char *c = id; *c; c++)
		h = (h ^ (unsigned char)*c) * 16777619u;
	k = &ev->known[h % KNOWN];
	if (streq(k->id, id) && k->version == version)
		return false;
	str_copy(k->id, sizeof(k->id), id);
	k->version = version;
	return true;
}

void events_note(struct events *ev, const char *payload)
{
	if (payload[0] == '{') {
		feed_add(&ev->feed, str_of(payload + 1));
		ev->news = true;
	} else if (strlen(payload) < OP_MAX && !strstr(buf_cstr(&ev->noted), payload)) {
		buf_printf(&ev->noted, "%s%s", ev->noted.len ? "," : "", payload);
	}
}

void events_lost(struct events *ev)
{
	feed_gap(&ev->feed, "upstream", -1);
	ev->news = true;
}

static void ask(struct events *ev, struct arena *scratch)
{
	struct db_rows rows;
	struct err e = {0};

	if (ev->noted.overflow ||
	    !DB(ev->db, scratch, &Q_operation_news, &rows, &e, buf_cstr(&ev->noted))) {
		events_lost(ev);
		return;
	}
	for (int i = 0; i < rows.n; i++) {
		if (!is_new(ev, db_text(&rows, i, "id"), db_int(&rows, i, "version")))
			continue;
		feed_add(&ev->feed, str_of(db_text(&rows, i, "rest")));
		ev->news = true;
	}
}

void events_flush(struct events *ev, struct arena *scratch)
{
	/* Nobody reads: numbers go on all the same, so that a gap is seen. */
	if (ev->noted.len || ev->noted.overflow) {
		ask(ev, scratch);
		arena_reset(&ev->noted_arena);
		buf_init(&ev->noted, &ev->noted_arena, IDS_MAX);
	}
	if (!ev->news)
		return;
	ev->news = false;
	feed_wake(&ev->feed);
}
