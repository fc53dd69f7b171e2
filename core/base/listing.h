/*
 * listing.h - names in a sentence: "a, b and 7 more". The one way to write a list.
 *
 * A text has room for so much; what does not fit is counted, never dropped. The
 * first name is always there.
 */
#ifndef INSTANTSTART_BASE_LISTING_H
#define INSTANTSTART_BASE_LISTING_H

#include "core/base/arena.h"
#include "core/base/buf.h"

/* Room in the fields of an error: struct err, with words around the list. */
enum { LISTING_SHORT = 120, LISTING_LONG = 300 };

struct listing {
	struct arena *arena;
	const char *between; /* ", ", "; " or " or " */
	size_t room;
	struct buf text;
	size_t n;    /* all of them */
	size_t more; /* of which these are only counted */
};

/* `room`: bytes of the whole text, the count of what is left out included; only a
 * first name that is longer may exceed it. */
struct listing listing_new(struct arena *a, const char *between, size_t room);
void listing_add(struct listing *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "" when nothing was added. Borrowed from the arena; the list is closed by it. */
const char *listing_text(struct listing *l);

#endif
