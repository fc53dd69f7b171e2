/*
 * prefork.h - a master that keeps N worker processes running.
 *
 * The whole of a program's process handling: start, restart the dead with
 * back-off, drain on SIGTERM or SIGINT, and on SIGHUP replace itself by a fresh
 * image whose workers take over while the old ones drain. The image is what stands now
 * where the program was started from: an upgrade renames the new file over it, or turns
 * the link to it, and sends SIGHUP. When nothing there can be run, the master goes on
 * with the image it has. Workers die with
 * their master. Single-threaded; call before anything starts a thread.
 */
#ifndef INSTANTSTART_BASE_PREFORK_H
#define INSTANTSTART_BASE_PREFORK_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/log.h"

enum { PREFORK_MAX = 160 };

struct prefork {
	const char *program; /* for logs */
	int workers;         /* at most PREFORK_MAX */
	int drain_s;         /* patience with workers before they are killed */
	/*
	 * Runs in the child; its value is the exit status. Returns soon after
	 * stop_fd (a signalfd) has become readable.
	 */
	int (*work)(void *ctx, int slot, int stop_fd);
	/* Runs in the master after a worker's end; may be NULL. */
	void (*ended)(void *ctx, int slot, bool asked);
	/* Runs in the child, before work: closes what only the master holds. */
	void (*child)(void *ctx);
	/* Before the image is replaced on SIGHUP; NULL: SIGHUP only renews
	 * the workers. Returns the argument vector for execv(). */
	char *const *(*reload)(void *ctx);
	const char *image; /* prefork_image(); wanted by a reload */
	void *ctx;
	const struct log *log;
};

/* Returns after SIGTERM or SIGINT, when all workers have ended. */
bool prefork_run(struct prefork *p, struct err *e) __attribute__((warn_unused_result));

/*
 * The path that the program was started by, absolute, links kept; argv0 as in main().
 * Falls back to the file itself when argv0 says something else. Call it before anything
 * changes the working directory. false: it cannot be known.
 */
bool prefork_image(const char *argv0, char *ret, size_t size)
	__attribute__((warn_unused_result));

/* Takes the lock file, or fails with CONFIG when another instance holds it.
 * The descriptor keeps the lock; the file names the holder. */
bool prefork_lock(const char *path, int *ret_fd, struct err *e)
	__attribute__((warn_unused_result));

#endif
