/*
 * download.h - the whole log of a container as one answer, however long.
 *
 * A request that nginx hands over (X-Accel-Redirect: @download) with a grant in
 * X-Live, which the FastCGI program has made. What the cluster sends goes on as
 * it comes; between the two lies a buffer, and when that is full the cluster
 * waits for the reader. An answer that cannot be had is a problem document; a
 * cluster that is lost in the middle breaks the answer off, so that nobody takes
 * a piece for the whole.
 *
 *   {"user", "request", "target", "namespace", "pod", "container", "previous",
 * "timestamps", "since"}
 *
 * https://www.gnu.org/software/libmicrohttpd/manual/
 */
#ifndef INSTANTSTART_LIVE_DOWNLOAD_H
#define INSTANTSTART_LIVE_DOWNLOAD_H

#include <microhttpd.h>

#include "core/live/ask.h"

enum {
	DOWNLOADS_MAX = 32,
	DOWNLOADS_PER_USER = 4,
	DOWNLOAD_BUFFER = 512 * 1024,
	DOWNLOAD_BEGIN_MS = 15 * 1000, /* until the cluster's answer begins */
	DOWNLOAD_MS = 3600 * 1000
};

struct downloads;
struct download;

/* up lives as long as the process's arena. */
struct downloads *downloads_new(struct arena *a, const struct upstreams *up);
/* A request has come; *ret_state is its download from here on. */
enum MHD_Result download_begin(struct downloads *all, struct MHD_Connection *conn,
			       void **ret_state);
/* It is known what to answer. */
enum MHD_Result download_answer(struct download *d);
/* The connection is done with. */
void download_end(struct download *d);
size_t downloads_count(const struct downloads *all);
/* All are broken off, at the end of the process; the daemon has to run on. */
void downloads_stop(struct downloads *all);

#endif
