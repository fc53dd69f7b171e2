/*
 * keyring.h - tokens of clusters, made by a process beside the event loop.
 *
 * A token needs the account's credentials, and those may have to be fetched: from
 * the instance, a container endpoint, STS. That blocks, for seconds when something
 * is wrong, and the loop holds hundreds of connections. So a child makes tokens
 * and ends with its parent; asking never waits.
 */
#ifndef INSTANTSTART_LIVE_KEYRING_H
#define INSTANTSTART_LIVE_KEYRING_H

#include "core/base/config.h"
#include "core/base/log.h"
#include "core/base/secret.h"
#include "core/live/loop.h"

struct keyring;

enum keyring_has { KEYRING_READY, KEYRING_PENDING, KEYRING_FAILED };

/* Forks: before anything is opened that the child must not hold. */
struct keyring *keyring_fork(struct arena *a, const struct config *cfg,
			     const struct log *log, struct clock *clock, struct err *e)
	__attribute__((warn_unused_result));
/* Answers are taken by the loop; gone is called when the child has ended. */
bool keyring_join(struct keyring *k, struct loop *loop, void (*gone)(void *ctx),
		  void *ctx, struct err *e) __attribute__((warn_unused_result));

/* PENDING: ask again in some milliseconds. The token lives in `a`. */
enum keyring_has keyring_get(struct keyring *k, const char *cluster, struct arena *a,
			     struct secret *ret, struct err *e);
/* It is not taken any more. */
void keyring_drop(struct keyring *k, const char *cluster);

#endif
