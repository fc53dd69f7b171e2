/*
 * counters.h - what instantstart-live counts: see core/base/counters.h.
 */
#ifndef INSTANTSTART_LIVE_COUNTERS_H
#define INSTANTSTART_LIVE_COUNTERS_H

#include "core/base/counters.h"

#define LIVE_COUNTERS(X)                                                                 \
	X(VIEWERS, "viewers", "WebSockets that are open.")                               \
	X(STREAMS, "streams", "Logs that are followed.")                                 \
	X(PARKED, "parked", "Requests that wait.")                                       \
	X(DOWNLOADS, "downloads", "Logs that are being downloaded.")                     \
	X(VIEWERS_TOTAL, "viewers_total", "WebSockets that were opened.")                \
	X(REFUSED_TOTAL, "refused_total", "WebSockets and downloads that were refused.") \
	X(FRAMES_TOTAL, "frames_total", "Messages sent.")                                \
	X(LINES_TOTAL, "lines_total", "Lines received from clusters.")                   \
	X(SLOW_TOTAL, "slow_total", "Times a slow viewer was told what it missed.")      \
	X(MISSED_TOTAL, "missed_total", "Lines and events that slow viewers missed.")    \
	X(LOSSES_TOTAL, "losses_total", "Logs that broke off and were asked for again.") \
	X(DOWNLOADS_TOTAL, "downloads_total", "Downloads that were begun.")              \
	X(DOWNLOADED_TOTAL, "downloaded_bytes_total", "Bytes of logs handed over.")

enum live_counter {
#define X(id, name, help) LIVE_##id,
	LIVE_COUNTERS(X)
#undef X
		LIVE_COUNTERS_N
};

#endif
