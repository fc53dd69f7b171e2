/*
 * app.h - one request in, one answer out: what the workers run.
 *
 * Knows nothing of processes or libfcgi: a test gives it a fake connection.
 */
#ifndef INSTANTSTART_FCGI_APP_H
#define INSTANTSTART_FCGI_APP_H

#include "core/base/log.h"
#include "core/domain/capability.h"
#include "core/net/limit.h"
#include "fcgi/allowance.h"
#include "fcgi/conn.h"
#include "fcgi/line.h"
#include "fcgi/metrics.h"
#include "fcgi/sessions.h"

struct runner;

/* Texts that never change while a process lives; see documents.h. */
struct documents;

struct app {
	const struct config *cfg;
	const struct where *where;
	struct db *db;
	struct clock *clock;
	struct rng *rng;
	const struct log *log; /* NULL: silent */
	struct runner *cloud;
	struct net_limit *limit;               /* of what `cloud` asks; NULL: none */
	const struct capability *const *table; /* NULL-ended */
	struct line *line;                     /* before the slow pool; NULL: none */
	const struct documents *docs;
	struct metrics *metrics;
	struct sessions *sessions;
	struct allowance *allowance; /* of all workers; NULL: no limits */
	int64_t arrived_ms;          /* monotonic: the request at hand; 0: now */
	bool late; /* it was refused because it came too late to this worker */
	bool slow; /* this worker belongs to the pool that may wait for the cloud */
	/* Finds out which account this is and sets where->account. */
	bool (*locate)(void *ctx, struct err *e);
	void *locate_ctx;
	/* Sees every answer of a capability; test builds of the suite use it. */
	void (*seen)(void *ctx, const struct capability *cap, const struct reply *r);
	void *seen_ctx;
};

/* Reads one request, answers it, counts and logs it. The caller resets a. */
void app_serve(struct app *app, struct arena *a, struct conn *c);

#endif
