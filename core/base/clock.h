/*
 * clock.h - the time seam.
 *
 * Times are int64_t milliseconds. Wall time counts from the Unix epoch (UTC);
 * monotonic time has no meaning but differences. Passed in, never reached for,
 * so that a test drives both by hand.
 */
#ifndef INSTANTSTART_BASE_CLOCK_H
#define INSTANTSTART_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock {
	int64_t (*wall_ms)(struct clock *c);
	int64_t (*mono_ms)(struct clock *c);
};

/* The real clock; stateless, shared by everyone. */
struct clock *clock_system(void);

/* A clock that stands still until it is moved. Embed struct clock first. */
struct clock_manual {
	struct clock clock;
	int64_t wall;
	int64_t mono;
};
void clock_manual_init(struct clock_manual *c, int64_t wall_ms);
void clock_manual_advance(struct clock_manual *c, int64_t ms);

enum { TIME_TEXT = 32 };
/* "2026-01-02T03:04:05.678Z"; buf holds at least TIME_TEXT bytes. */
const char *time_rfc3339(int64_t wall_ms, char buf[static TIME_TEXT]);
/* "20260102T030405Z", the form that SigV4 wants. */
const char *time_compact(int64_t wall_ms, char buf[static TIME_TEXT]);
/* RFC 3339 with any offset and fraction; false when it is not one. */
bool time_parse_rfc3339(const char *text, int64_t *ret_wall_ms)
	__attribute__((warn_unused_result));
/* IMF-fixdate, as in an HTTP Date header. */
bool time_parse_http(const char *text, int64_t *ret_wall_ms)
	__attribute__((warn_unused_result));

#endif
