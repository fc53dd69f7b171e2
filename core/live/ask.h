/*
 * ask.h - one streamed request to a cluster's Kubernetes API.
 *
 * Where a cluster is, the faces have learnt and kept in the cache of reads; its
 * token comes from the keyring, which may need a moment.
 */
#ifndef INSTANTSTART_LIVE_ASK_H
#define INSTANTSTART_LIVE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/rng.h"
#include "core/db/db.h"
#include "core/kube/kube.h"
#include "core/live/counters.h"
#include "core/live/keyring.h"
#include "core/live/loop.h"
#include "core/net/multi.h"

enum { ASK_SOON_MS = 15 };

/* What all of them use. */
struct upstreams {
	struct loop *loop;
	struct net_multi *net;
	struct keyring *keys;
	struct clock *clock;
	struct db *db; /* where the cluster's address and authority are kept */
	struct rng *rng;
	struct counters *counters;
	int64_t probe_ms; /* a log that is silent for so long is looked at again */
};

struct ask {
	const char *target; /* key of the cached description of the cluster */
	const struct kube_request *request;
	bool (*on_data)(void *ctx, const char *p, size_t n);
	void *ctx;
	int64_t timeout_ms; /* 0: as the request has it */
};

/* NULL with e's code ERR_NONE: not yet, ask again in ASK_SOON_MS. */
struct net_stream *ask_send(const struct upstreams *up, const struct ask *q,
			    const struct net_events *events, struct err *e);
/* A token that is not taken any more: the next request makes another. */
void ask_drop_token(const struct upstreams *up, const char *target);

#endif
