/*
 * provider.h - a small cloud with bad manners, for the runner's fault tests.
 *
 * Objects of five types, one for each effect class. Reads and lists miss what
 * is newer than the lag, which is longer than a lease; answers can be lost
 * after the effect and requests before it. Everything that arrived is in a
 * ledger, so that effects can be counted.
 *
 *   tokened    create with a client token; a replay answers the first object
 *   named      create refuses a second object of that name
 *   tagged     create makes one more, whatever exists
 *   converged  apply replaces the whole object; an equal one changes nothing
 *   actions    every create is one more action
 *   limited    as tokened, but the first try of each name is over a quota
 *
 * Requests come as Kubernetes requests: verb, plural = type, name, body. Bodies
 * carry root, op and item, which stand for tags.
 */
#ifndef INSTANTSTART_TESTS_FAULTS_PROVIDER_H
#define INSTANTSTART_TESTS_FAULTS_PROVIDER_H

#include <jansson.h>

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/op/exchange.h"

enum fault {
	FAULT_NONE,
	FAULT_LOST_ANSWER,  /* the effect is there, the answer is not */
	FAULT_LOST_REQUEST, /* neither is */
	FAULT_NOT_SENT,     /* known never to have been sent */
	FAULT_THROTTLE,     /* refused, to be tried later */
	FAULT_COUNT_
};
const char *fault_name(enum fault f);

struct provider {
	struct clock_manual *clock;
	int64_t lag_ms;
	int64_t call_ms;      /* what an exchange takes */
	json_t *objects;      /* id -> object */
	json_t *tokens;       /* token -> {id, digest} */
	json_t *ledger;       /* mutations that arrived, in order */
	json_t *absent;       /* "type/name" -> times at which a read missed it */
	json_t *refused_once; /* names that have met the quota */
	int next_id;
	int mutations; /* asked for so far */
	/* The n-th mutation (from 1) meets this fault; 0: none. */
	int fault_at;
	enum fault fault;
	/* Random runs: of 1000 exchanges so many meet a fault. NULL: none. */
	struct rng *rng;
	unsigned fault_permille;
};

void provider_init(struct provider *p, struct clock_manual *clock, int64_t lag_ms);
void provider_free(struct provider *p);
/* A copy of its state, to go back to; the caller owns it. */
json_t *provider_save(struct provider *p);
void provider_restore(struct provider *p, const json_t *saved);
/* An object that was there before anybody came. */
void provider_seed(struct provider *p, const char *type, const char *name, int64_t value);
/* on_sent is called when the effect is done and no answer was read yet. */
void provider_exchange(struct provider *p, const char *step, const struct exchange *x,
		       const char *token, struct arena *a, struct answer *ret,
		       void (*on_sent)(void *ctx), void *ctx);
/* Changes of state by that operation and step; item NULL: any. */
int provider_effects(const struct provider *p, const char *op, const char *step,
		     const char *item);

#endif
