/*
 * line.h - one log line, from Kubernetes' form into the frame's. Pure.
 *
 * Kubernetes writes "2026-01-02T03:04:05.123456789Z text"; a frame holds
 * ["2026-01-02T03:04:05.123456789Z","text"], or with a third member 1 when the
 * text was cut. NUL and bytes that are no UTF-8 become U+FFFD.
 */
#ifndef INSTANTSTART_LIVE_LINE_H
#define INSTANTSTART_LIVE_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

enum {
	LINE_MAX_BYTES = 16 * 1024,   /* of a line's text; the rest is cut */
	LINE_ENCODED_MAX = 32 * 1024, /* in a frame, escapes included */
	LINE_TIME_MAX = 40
};

/* Takes the time off a line; *ret_time is empty when there is none. */
void line_split(struct str line, struct str *ret_time, struct str *ret_text);
/* Order in time of two stamps of the same form; fractions of any length. */
int line_time_cmp(struct str a, struct str b);
/* Writes the member of a frame; out holds LINE_ENCODED_MAX bytes. */
size_t line_encode(struct str time, struct str text, bool cut, char *out);

#endif
