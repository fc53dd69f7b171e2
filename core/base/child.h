/*
 * child.h - runs one program without a shell and outlives it.
 *
 * The child dies with its parent (PR_SET_PDEATHSIG), has its own process group,
 * gets exactly the given arguments and environment, reads nothing, inherits no
 * descriptor but one that is named, and is killed with its group at the timeout. The tail
 * of what it writes is kept; or, when its standard output is the answer, that from its
 * beginning up to a bound, and the tail of its standard error.
 */
#ifndef INSTANTSTART_BASE_CHILD_H
#define INSTANTSTART_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"

/* The exit code of a program that could not be run, as a shell's. */
enum { CHILD_TAIL = 8192, CHILD_NOT_RUN = 127, CHILD_KEPT = 3 };

struct child {
	const char *binary;      /* absolute path */
	const char *const *argv; /* NULL-ended */
	const char *const *env;  /* NULL-ended, NAME=value */
	const char *folder;      /* working directory */
	int64_t timeout_ms;
	int keep_fd;    /* > 0: the child's descriptor CHILD_KEPT */
	size_t out_max; /* 0: standard output goes to the tail as well */
};

struct child_end {
	bool timed_out;
	int signal; /* 0: it exited by itself */
	int exit_code;
	const char *tail; /* valid UTF-8 is not promised */
	/* With out_max: NUL-terminated. More than that ends the child. */
	const char *out;
	size_t out_len;
	bool out_too_long;
};

bool child_run(const struct child *c, struct arena *a, struct child_end *ret,
	       struct err *e) __attribute__((warn_unused_result));

/* The absolute path of a program: `name` itself when it has a slash, else the first
 * that can be run in the folders of `path` (as the variable PATH). NULL: none. */
const char *child_find(const char *name, const char *path, struct arena *a);

#endif
