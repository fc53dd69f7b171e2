/*
 * backoff.h - how long to wait: retries, looks, and a budget per service.
 *
 * Pure but for the randomness that is passed in. The journal stores attempt and
 * wait counts, not intervals, so every curve is a function of a count.
 */
#ifndef INSTANTSTART_OP_BACKOFF_H
#define INSTANTSTART_OP_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/rng.h"

/*
 * Decorrelated jitter: each interval is drawn between the base and three times
 * the one before it. 1 s to 5 min; throttling 5 s to 10 min.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
int64_t backoff_ms(struct rng *rng, enum errc why, int attempt);

/*
 * Interval of the look after `waits` looks: grows by half each time up to four
 * times the step's own, is scaled, and jittered by a tenth both ways.
 */
int64_t backoff_look_ms(struct rng *rng, int64_t interval_ms, int waits,
			int64_t scale_percent);

/* Whether a repeat after a while may help, without anybody doing anything. */
bool backoff_is_transient(enum errc why);

enum { BUDGET_SERVICES = 24, BUDGET_NAME = 64 };

/*
 * Calls a second per service of our one account: a token bucket that halves
 * its rate when the service throttles and recovers slowly. Process-local.
 *
 * And a breaker per peer (a service, or one cluster's Kubernetes API): a call that
 * hangs until its time-out opens it, so that the next steps that want the same peer
 * wait in the journal instead of holding this process for as long each. It lets one
 * call pass after 15 s, 30 s, 60 s, then every two minutes; while it does, patience is
 * 3 s, 6 s … up to the full time-out, so that a peer that is slow is found again, too.
 * Any answer closes it, refusals as well.
 *
 * Both are one process's. Several find a silent peer out at the same time, each by one
 * call of its own: nobody waits longer for that than if they told each other, and the
 * time of a call is no worse spent by four processes than by one.
 */
struct budget {
	struct budget_service {
		char name[BUDGET_NAME];
		double per_s;
		double tokens;
		int64_t at_ms; /* monotonic */
		int hangs;     /* one after the other */
		int64_t open_until_ms;
	} service[BUDGET_SERVICES];
	int n;
};

/* How long to wait before the next call; 0: none. */
int64_t budget_wait_ms(struct budget *b, const char *service, int64_t mono_ms);
void budget_spend(struct budget *b, const char *service, int64_t mono_ms);
/* How long the peer is left alone; 0: it may be called. */
int64_t budget_open_ms(struct budget *b, const char *peer, int64_t mono_ms);
/* How long a call that may be given up waits for the peer. */
int64_t budget_patience_ms(struct budget *b, const char *peer, int64_t full_ms,
			   int64_t mono_ms);
/* What came of a call: whether it hung. The intervals are scaled as those of looks. */
void budget_heard(struct budget *b, const char *peer, bool hung, int64_t mono_ms,
		  int64_t scale_percent);
void budget_note(struct budget *b, const char *service, bool throttled, int64_t mono_ms);

#endif
