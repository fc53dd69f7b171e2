/*
 * watch.h - reads a watch stream and remembers where it stood.
 *
 * The reader has no I/O: it is fed by http_request.on_data (or by a curl multi
 * loop), hands on changes, swallows bookmarks, and knows afterwards whether to
 * resume from `resource_version` or to list again (410, an oversize document,
 * garbage). Documents live in the reader's own arena until the next one.
 *
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
#ifndef INSTANTSTART_KUBE_WATCH_H
#define INSTANTSTART_KUBE_WATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"
#include "core/kube/kube.h"
#include "core/kube/lines.h"

enum kube_change { KUBE_ADDED, KUBE_MODIFIED, KUBE_DELETED };

enum kube_watch_end {
	KUBE_WATCH_RESUME, /* connect again from resource_version */
	KUBE_WATCH_RELIST, /* what we knew is too old */
	KUBE_WATCH_REFUSED /* the server says no: back off, see `reason` */
};

enum { KUBE_RV_MAX = 64, KUBE_REASON_MAX = 256, KUBE_WATCH_DOC_MAX = 4 * 1024 * 1024 };

struct kube_watch {
	char resource_version[KUBE_RV_MAX];
	char reason[KUBE_REASON_MAX];
	enum kube_watch_end end;
	struct arena doc; /* of one document; kube_watch_free() gives it back */
	struct kube_lines lines;
	/* false stops the stream; the object is borrowed during the call. */
	bool (*on_change)(void *ctx, enum kube_change change, const json_t *object);
	void *ctx;
};

void kube_watch_init(struct kube_watch *w, struct arena *a,
		     bool (*on_change)(void *ctx, enum kube_change change,
				       const json_t *object),
		     void *ctx);
/* Before each connection; the position comes from a list or from before. */
void kube_watch_start(struct kube_watch *w, const char *resource_version);
/* http_request.on_data with the watch as its context. */
bool kube_watch_feed(void *watch, const char *p, size_t n);
/* After the stream: http_status 0 when no answer came. */
enum kube_watch_end kube_watch_finish(struct kube_watch *w, int http_status);
void kube_watch_free(struct kube_watch *w);

#endif
