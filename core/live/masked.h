/*
 * masked.h - a log that goes on as it comes, without the secrets in it.
 *
 * Bytes go in as the network brings them; whole lines come out. A line too long to be
 * kept comes out in pieces, divided where no secret stands.
 */
#ifndef INSTANTSTART_LIVE_MASKED_H
#define INSTANTSTART_LIVE_MASKED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/mask.h"

enum { MASKED_HELD_MAX = 64 * 1024 }; /* bytes of a line that has not ended */

struct masked {
	struct mask_lines lines;
	char *held;
	size_t len;
	bool inside;   /* a line whose beginning has been given out */
	bool skipping; /* the rest of a secret that was divided */
	/* false stops; p is valid during the call. */
	bool (*give)(void *ctx, const char *p, size_t n);
	void *ctx;
};

void masked_init(struct masked *m, struct arena *a,
		 bool (*give)(void *ctx, const char *p, size_t n), void *ctx);
bool masked_feed(struct masked *m, const char *p, size_t n);
/* The stream has ended: what is held comes out. */
bool masked_end(struct masked *m);

#endif
