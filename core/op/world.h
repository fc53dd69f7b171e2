/*
 * world.h - everything a program needs to reach the outside, put together.
 *
 * Made once in each worker process, after the fork: it holds connections. The
 * programs share it, so that faces plan with exactly what pollers act with.
 */
#ifndef INSTANTSTART_OP_WORLD_H
#define INSTANTSTART_OP_WORLD_H

#include <stdbool.h>

#include "core/aws/aws.h"
#include "core/base/buf.h"
#include "core/kube/helm.h"
#include "core/kube/kube.h"
#include "core/op/backoff.h"
#include "core/op/rights.h"
#include "core/op/runner.h"

struct world {
	struct where where;
	struct aws aws;
	struct kube kube;
	struct helm helm;
	struct budget budget; /* of calls per service */
	struct rights_memo rights;
	struct runner runner;
};

/*
 * a is the process's. Makes no connection yet. CONFIG when the region is not
 * known or the file of further authorities cannot be read.
 */
bool world_init(struct world *w, struct arena *a, const struct config *cfg, struct db *db,
		struct clock *clock, struct rng *rng, const struct log *log,
		const struct kind *const *kinds, const char *worker, struct err *e)
	__attribute__((warn_unused_result));

/*
 * What --check looks at beyond the settings: the region, where the credentials come
 * from, and whom AWS takes us for. Lines are added to `out` as far as it came.
 */
bool world_check(const struct config *cfg, struct arena *a, struct buf *out,
		 struct err *e) __attribute__((warn_unused_result));

/*
 * Who this installation is, and the account as the journal knows it; none known yet is no
 * failure, and leaves where.account NULL. CONFIG when the database belongs to another
 * region.
 */
bool world_know(struct world *w, struct arena *process, struct err *e)
	__attribute__((warn_unused_result));
/*
 * Asks STS who we are and notes it in the journal, which refuses a database
 * that belongs to another account. For pollers, at their start.
 */
bool world_locate(struct world *w, struct arena *process, struct err *e)
	__attribute__((warn_unused_result));

#endif
