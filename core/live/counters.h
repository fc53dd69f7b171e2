/*
 * counters.h - what instantstart-live counts: see core/base/counters.h.
 */
#ifndef INSTANTSTART_LIVE_COUNTERS_H
#define INSTANTSTART_LIVE_COUNTERS_H

#include "core/base/counters.h"

#define LIVE_COUNTERS(X)                                                                 \
	X(VIEWERS, "viewers", "Open WebSockets.")                                        \
	X(STREAMS, "streams", "Logs being followed.")                                    \
	X(PARKED, "parked", "Waiting requests.")                                         \
	X(DOWNLOADS, "downloads", "Logs being downloaded.")                              \
	X(VIEWERS_TOTAL, "viewers_total", "WebSockets opened.")                          \
	X(REFUSED_TOTAL, "refused_total", "WebSockets and downloads refused.")           \
	X(FRAMES_TOTAL, "frames_total", "Messages sent.")                                \
	X(LINES_TOTAL, "lines_total", "Lines received from clusters.")                   \
	X(SLOW_TOTAL, "slow_total", "Times a slow viewer was notified of missed lines.") \
	X(MISSED_TOTAL, "missed_total", "Lines and events that slow viewers missed.")    \
	X(LOSSES_TOTAL, "losses_total",                                                  \
	  "Logs that were interrupted and requested again.")                             \
	X(DOWNLOADS_TOTAL, "downloads_total", "Downloads started.")                      \
	X(DOWNLOADED_TOTAL, "downloaded_bytes_total", "Bytes of logs sent.")

enum live_counter {
#define X(id, name, help) LIVE_##id,
	LIVE_COUNTERS(X)
#undef X
		LIVE_COUNTERS_N
};

#endif
