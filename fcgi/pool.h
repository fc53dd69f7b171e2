/*
 * pool.h - listening sockets and the workers behind them.
 *
 * Two pools of the same program: the fast one answers from PostgreSQL, the
 * slow one may wait for the cloud. Requests reach the slow one only by way of
 * the fast one (see face.h), so nginx needs no list of slow addresses.
 */
#ifndef INSTANTSTART_FCGI_POOL_H
#define INSTANTSTART_FCGI_POOL_H

#include <stdbool.h>

#include "core/base/config.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/prefork.h"
#include "fcgi/allowance.h"
#include "fcgi/documents.h"
#include "fcgi/line.h"
#include "fcgi/metrics.h"

enum pool { POOL_FAST, POOL_SLOW, POOLS };

/* Kept connections by worker, in shared memory; see dispatch.h. */
struct pool_load {
	_Atomic int total[POOLS];
	_Atomic int own[PREFORK_MAX];
	_Atomic uint64_t access_epoch; /* see sessions.h */
	struct line line;
	struct allowance allowance;
};

struct pools {
	const struct config *cfg;
	const struct log *log;
	const struct documents *docs;
	struct metrics *metrics;
	struct pool_load *load;
	int listener[POOLS];
	int lock_fd;
};

/* Sockets in the run folder, or those that the image before handed down. */
bool pools_listen(struct pools *p, struct err *e) __attribute__((warn_unused_result));
/* Hands the sockets down to the next image (SIGHUP). */
void pools_hand_down(const struct pools *p);
/* One worker, as prefork wants it; ctx is a struct pools. */
int pools_work(void *ctx, int slot, int stop_fd);
/* A worker's connections are gone with it. */
void pools_ended(void *ctx, int slot, bool asked);

#endif
