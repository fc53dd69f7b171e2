/*
 * sessions.h - who was calling a moment ago.
 *
 * Looking a token up costs as much as what most requests are about, so each
 * worker remembers for a second whose it was. Every change of access that is
 * made through this program ends what all its workers remember, at once: they
 * share `epoch`. A program on another machine follows within the second.
 */
#ifndef INSTANTSTART_FCGI_SESSIONS_H
#define INSTANTSTART_FCGI_SESSIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/domain/access/access.h"

enum { SESSIONS_MAX = 256, SESSIONS_MS = 1000 };

struct sessions;

/* epoch is in memory that all workers share. */
struct sessions *sessions_new(struct arena *a, struct clock *clock,
			      _Atomic uint64_t *epoch);
/* Something about access has changed: nobody's memory counts any longer. */
void sessions_forget(struct sessions *s);

/* access_find(), from memory when it is fresh. */
bool sessions_find(struct sessions *s, struct db *db, struct arena *a, const char *secret,
		   enum access_kind kind, struct principal *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
