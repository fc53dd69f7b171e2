/*
 * notes.h - what the database tells, handed on to who waits for it.
 *
 * Listens before anybody looks. A lost connection is opened again, and everybody
 * learns that notifications may have been missed; so, too, when somebody says "lost":
 * who has committed and ended before he could tell.
 */
#ifndef INSTANTSTART_LIVE_NOTES_H
#define INSTANTSTART_LIVE_NOTES_H

#include "core/live/events.h"
#include "core/live/loop.h"
#include "core/live/park.h"

struct notes;

struct notes *notes_open(struct arena *a, struct loop *loop, struct db *db);
/* Whom it tells; both live as long. */
void notes_tell(struct notes *n, struct park *park, struct events *events);

#endif
