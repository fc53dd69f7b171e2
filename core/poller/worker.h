/*
 * worker.h - one poller process: claims due steps until it is told to stop.
 *
 * Blocking, one step at a time. Everything it holds is its own: connections,
 * credentials, tokens. It ends between two steps, never inside of one.
 */
#ifndef INSTANTSTART_POLLER_WORKER_H
#define INSTANTSTART_POLLER_WORKER_H

#include "core/base/config.h"
#include "core/base/log.h"
#include "core/op/kind.h"

struct poller {
	const struct config *cfg;
	const struct log *log;
	const struct kind *const *kinds;
};

/* As struct prefork wants it; ctx is a struct poller. */
int poller_work(void *ctx, int slot, int stop_fd);

#endif
