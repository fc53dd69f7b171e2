/*
 * child.h - runs one program without a shell and outlives it.
 *
 * The child dies with its parent (PR_SET_PDEATHSIG), has its own process group,
 * gets exactly the given arguments and environment, reads nothing, inherits no
 * descriptor, and is killed with its group at the timeout. The tail of what it
 * writes is kept.
 */
#ifndef INSTANTSTART_KUBE_CHILD_H
#define INSTANTSTART_KUBE_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"

/* The exit code of a program that could not be run, as a shell's. */
enum { CHILD_TAIL = 8192, CHILD_NOT_RUN = 127 };

struct child {
	const char *binary;      /* absolute path */
	const char *const *argv; /* NULL-ended */
	const char *const *env;  /* NULL-ended, NAME=value */
	const char *folder;      /* working directory */
	int64_t timeout_ms;
};

struct child_end {
	bool timed_out;
	int signal; /* 0: it exited by itself */
	int exit_code;
	const char *tail; /* valid UTF-8 is not promised */
};

bool child_run(const struct child *c, struct arena *a, struct child_end *ret,
	       struct err *e) __attribute__((warn_unused_result));

#endif
