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

enum { BUDGET_SERVICES = 24 };

/*
 * Calls a second per service of our one account: a token bucket that halves
 * its rate when the service throttles and recovers slowly. Process-local.
 */
struct budget {
	struct budget_service {
		char name[32];
		double per_s;
		double tokens;
		int64_t at_ms; /* monotonic */
	} service[BUDGET_SERVICES];
	int n;
};

/* How long to wait before the next call; 0: none. */
int64_t budget_wait_ms(struct budget *b, const char *service, int64_t mono_ms);
void budget_spend(struct budget *b, const char *service, int64_t mono_ms);
void budget_note(struct budget *b, const char *service, bool throttled, int64_t mono_ms);

#endif
