/*
 * events.h - what has changed, for the consoles that look.
 *
 * Notifications of the database, numbered: an operation's new version, a changed
 * row of the catalog. Never the thing itself, which the console reads by REST.
 */
#ifndef INSTANTSTART_LIVE_EVENTS_H
#define INSTANTSTART_LIVE_EVENTS_H

#include "core/base/rng.h"
#include "core/db/db.h"
#include "core/live/feed.h"

struct events;

struct events *events_new(struct arena *a, struct db *db, struct clock *clock,
			  struct rng *rng);
struct feed *events_feed(struct events *ev);
/* A notification's payload: an operation's id, or {"t":"catalog",…}. */
void events_note(struct events *ev, const char *payload);
/* Notifications were lost: whoever reads is told to read everything again. */
void events_lost(struct events *ev);
/* What has been noted goes out; at the end of a turn of the loop. */
void events_flush(struct events *ev, struct arena *scratch);

#endif
