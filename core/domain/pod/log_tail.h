/*
 * log_tail.h - of a log that streams by, the newest lines that are wanted.
 *
 * Owns a buffer of about twice what may be given, in the arena it was made in,
 * whatever the length of the log: older lines are forgotten as newer ones come.
 * Any bytes may stand in a log; what is given out is UTF-8 without control
 * characters.
 */
#ifndef INSTANTSTART_DOMAIN_POD_LOG_TAIL_H
#define INSTANTSTART_DOMAIN_POD_LOG_TAIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/str.h"

enum { LOG_LINE_MAX = 64 * 1024 }; /* of a line; the rest is left out, and said */

struct log_tail {
	struct arena *arena;
	int64_t max_lines, max_bytes;
	bool timestamps; /* each line given begins with its time */
	char *p;         /* whole lines, "time text\n" */
	size_t len, room;
	bool dropped; /* there were earlier lines */
};

void log_tail_init(struct log_tail *t, struct arena *a, int64_t max_lines,
		   int64_t max_bytes, bool timestamps);
/* time may be empty; of a text longer than LOG_LINE_MAX the beginning is taken. */
void log_tail_add(struct log_tail *t, struct str time, struct str text);
/* Begins anew. */
void log_tail_clear(struct log_tail *t);
/*
 * Puts text, lines, first_time, last_time; returns whether there are lines, or
 * parts of them, that the limits cut off. The newest line is always given: what
 * of it does not fit is cut off at its end.
 */
bool log_tail_give(const struct log_tail *t, json_t *out);

/* "2026-01-02T03:04:05.123456789Z text": *ret_time is empty when there is none. */
void log_line_split(struct str line, struct str *ret_time, struct str *ret_text);

#endif
