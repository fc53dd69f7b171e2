/*
 * counters.h - what a process counts, in a file that others may read.
 *
 * RUN_DIR/<program>.counters is mapped by its one writer, which only stores words,
 * and by whoever answers /metrics: nobody has to be asked, and a process that
 * hangs still shows. The file describes itself. It stays mapped as long as the
 * process lives.
 */
#ifndef INSTANTSTART_BASE_COUNTERS_H
#define INSTANTSTART_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum { COUNTERS_MAX = 64, COUNTER_NAME_MAX = 40, COUNTER_HELP_MAX = 96 };

struct counter_def {
	const char *name; /* "viewers"; one that ends in _total only grows */
	const char *help;
};

struct counters;

/* Zeroed. The file is made anew: readers of the old one keep that. */
struct counters *counters_open(const char *run_dir, const char *program,
			       const struct counter_def *defs, size_t n, struct err *e)
	__attribute__((warn_unused_result));
/* Without a file (c is NULL) nothing is counted. */
void counters_add(struct counters *c, size_t which, uint64_t n);
void counters_set(struct counters *c, size_t which, uint64_t value);

/* Prometheus text: instantstart_<program>_<name>, and instantstart_<program>_up. */
void counters_text(const char *run_dir, const char *program, struct buf *out);

#endif
