/*
 * metrics.h - counters of all workers, in memory they share.
 *
 * Made by the master before it forks; workers only add. Text for Prometheus.
 */
#ifndef INSTANTSTART_FCGI_METRICS_H
#define INSTANTSTART_FCGI_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/db/db.h"

enum { METRICS_BUCKETS = 10, METRICS_CLASSES = 6, METRICS_FACES = 4 };
enum metrics_face { METRICS_REST, METRICS_MCP, METRICS_CONSOLE, METRICS_OTHER };

struct metrics {
	/* By face and first digit of the status. */
	_Atomic uint64_t requests[METRICS_FACES][METRICS_CLASSES];
	_Atomic uint64_t bucket[METRICS_BUCKETS + 1]; /* last: longer than all */
	_Atomic uint64_t total_us;
	_Atomic uint64_t parked;
	_Atomic uint64_t slow;
	_Atomic uint64_t refused_sign_ins;
	_Atomic uint64_t worker_starts;
	_Atomic uint64_t worker_deaths; /* not asked for */
};

/* Shared, zeroed. NULL when there is no memory. */
struct metrics *metrics_new(void);
void metrics_request(struct metrics *m, enum metrics_face face, int status, int64_t us);
/* The counters, those of instantstart-live, and gauges of the journal when it
 * answers. in_line: requests that ask the cloud, under way or waiting. */
void metrics_text(const struct metrics *m, int in_line, struct db *db,
		  const char *run_dir, struct arena *a, struct buf *out);

#endif
