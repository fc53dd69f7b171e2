/*
 * lines.h - cuts a byte stream into lines, with a cap.
 *
 * Owns a buffer that grows up to `max` bytes for a long line and shrinks after
 * it; it goes with the arena the splitter was made in. A longer line is
 * delivered once, cut and flagged, and its rest is skipped. The line handed out
 * is valid during the call only; neither "\n" nor a "\r" before it is part of it.
 */
#ifndef INSTANTSTART_KUBE_LINES_H
#define INSTANTSTART_KUBE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"

struct kube_lines_store;

struct kube_lines {
	struct kube_lines_store *store;
	size_t len, max;
	bool skipping;
	/* false stops the stream. */
	bool (*on_line)(void *ctx, const char *p, size_t n, bool cut);
	void *ctx;
};

void kube_lines_init(struct kube_lines *l, struct arena *a, size_t max,
		     bool (*on_line)(void *ctx, const char *p, size_t n, bool cut),
		     void *ctx);
/* Fits http_request.on_data when given as its context. */
bool kube_lines_feed(void *lines, const char *p, size_t n);
/* The stream has ended: a last line without "\n" is delivered. */
bool kube_lines_end(struct kube_lines *l);

#endif
