/*
 * follow.h - one container's log, kept flowing into a feed.
 *
 * Two streams of the Kubernetes API: the log, followed, and a watch of the pod,
 * which alone can tell why a log has ended: the container was started anew, the
 * pod is over or replaced, or the connection was lost. After a loss the log is
 * asked for again from the last line's second on, and what was seen is dropped;
 * when the line before the loss is not met again, a gap is marked.
 *
 * https://kubernetes.io/docs/reference/generated/kubernetes-api/ pods/log
 */
#ifndef INSTANTSTART_LIVE_FOLLOW_H
#define INSTANTSTART_LIVE_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/mask.h"
#include "core/kube/lines.h"
#include "core/kube/watch.h"
#include "core/live/ask.h"
#include "core/live/feed.h"
#include "core/live/pod.h"

/* Which log; the texts live as long as the follow. */
struct follow_of {
	const char *target; /* key of the cached description of the cluster */
	const char *ns, *pod, *container;
	bool previous;
	const char *from; /* with a resume: time of the last line seen, or "" */
};

struct follow {
	const struct upstreams *up;
	struct follow_of of;
	struct feed *feed;
	void (*news)(void *ctx); /* the feed has got something */
	void *ctx;

	struct net_stream *log, *watch;
	struct kube_watch changes;
	struct kube_lines lines;
	struct mask_lines mask;
	/* follow_probe.c: a silent log is looked at a second time. */
	struct loop_timer quiet;
	struct net_stream *look;
	struct arena look_arena;
	char looked[LINE_TIME_MAX * 2]; /* the last line's beginning, then its time */
	size_t looked_n;
	int64_t heard_ms; /* a line came, or the log was opened */
	struct loop_timer retry, rewatch, patience;
	int failures, watch_failures;

	/* The pod: as seen last, and the run of it whose log this is. */
	bool seen, gone, placed;
	struct pod_view now, run;
	bool completing; /* reads the rest of a run that has ended */
	bool completed;
	bool clean; /* the log has ended, not broken */
	bool first_run;
	char told[16]; /* state that readers know */

	/* The line before, so that a new connection goes on behind it. */
	char last[LINE_TIME_MAX];
	int64_t last_count; /* lines of that very time */
	bool resuming, met;
	int64_t skip;
	const char *gap_why;

	/* Readers wait until the lines that were there already have come: only
	 * then is it known where the last N of them begin. */
	bool loading;
	int64_t loaded, load_until_ms;
	int64_t begun_ms; /* the log that is open */

	bool aligning; /* numbers wait for the line that was seen last */
	int64_t back;
};

void follow_start(struct follow *f, struct arena *a);
void follow_stop(struct follow *f);

/* follow_probe.c */
void probe_init(struct follow *f, struct arena *a);
/* The log has been opened: from now on its silence is noticed. */
void probe_begin(struct follow *f);
void probe_stop(struct follow *f);

/* follow_line.c: the receiving end of the log, as kube_lines.on_line. */
bool follow_take_line(void *follow, const char *p, size_t n, bool cut);
/* Before a log is asked for again; since is where to begin, or NULL. */
const char *follow_resume(struct follow *f, struct arena *a);
/* Numbers are final from here on. */
void follow_aligned(struct follow *f);
/* Readers may be greeted when numbers and pod are known. */
void follow_check_ready(struct follow *f);

#endif
