#include "core/op/backoff.h"

#include "core/base/str.h"

enum {
	RETRY_BASE_MS = 1000,
	RETRY_CAP_MS = 5 * 60 * 1000,
	THROTTLE_BASE_MS = 5000,
	THROTTLE_CAP_MS = 10 * 60 * 1000,
	LOOK_GROWTH_MAX = 4,
	OPEN_BASE_MS = 15 * 1000,
	OPEN_CAP_MS = 2 * 60 * 1000,
	PATIENCE_BASE_MS = 3000,
};

static const double budget_full_per_s = 20.0;
static const double budget_least_per_s = 0.5;
static const double budget_burst_s = 2.0;

bool backoff_is_transient(enum errc why)
{
	/* A list, not a switch: what is not named here is not transient. */
	static const enum errc transient[] = {
		ERR_CLOUD_THROTTLED, ERR_CLOUD_UNREACHABLE, ERR_CLOUD_UNAVAILABLE,
		ERR_CLOUD_GARBAGE,   ERR_CREDENTIALS,       ERR_DEADLINE,
		ERR_AMBIGUOUS,       ERR_WEBHOOK_UNSERVED,
	};

	for (size_t i = 0; i < sizeof(transient) / sizeof(*transient); i++)
		if (transient[i] == why)
			return true;
	return false;
}

int64_t backoff_ms(struct rng *rng, enum errc why, int attempt)
{
	const bool throttled = why == ERR_CLOUD_THROTTLED;
	const int64_t base = throttled ? THROTTLE_BASE_MS : RETRY_BASE_MS;
	const int64_t cap = throttled ? THROTTLE_CAP_MS : RETRY_CAP_MS;
	int64_t ms = base;

	/* The chain is drawn anew up to this attempt: same distribution, no state. */
	for (int i = 0; i <= attempt && i < 32; i++) {
		ms = base + (int64_t)rng_below(rng, (uint64_t)(3 * ms - base));
		if (ms > cap)
			ms = cap;
	}
	return ms;
}

int64_t backoff_look_ms(struct rng *rng, int64_t interval_ms, int waits,
			int64_t scale_percent)
{
	int64_t ms = interval_ms;

	for (int i = 0; i < waits && ms < LOOK_GROWTH_MAX * interval_ms; i++)
		ms += ms / 2;
	if (ms > LOOK_GROWTH_MAX * interval_ms)
		ms = LOOK_GROWTH_MAX * interval_ms;
	ms = ms * scale_percent / 100;
	if (ms >= 10)
		ms += (int64_t)rng_below(rng, (uint64_t)(ms / 5 + 1)) - ms / 10;
	return ms;
}

/* --- budget ------------------------------------------------------------ */

static struct budget_service *find(struct budget *b, const char *service, int64_t mono_ms)
{
	struct budget_service *s = &b->service[0];

	for (int i = 0; i < b->n; i++)
		if (streq(b->service[i].name, service))
			return &b->service[i];
	/* More peers than there is room for: the one that was not called for longest
	 * goes. To share a place would make one pay for another. */
	for (int i = 1; i < b->n; i++)
		if (b->service[i].at_ms < s->at_ms)
			s = &b->service[i];
	if (b->n < BUDGET_SERVICES)
		s = &b->service[b->n++];
	*s = (struct budget_service){.hangs = 0};
	str_copy(s->name, sizeof(s->name), service);
	s->per_s = budget_full_per_s;
	s->tokens = budget_full_per_s * budget_burst_s;
	s->at_ms = mono_ms;
	return s;
}

static struct budget_service *refill(struct budget *b, const char *service,
				     int64_t mono_ms)
{
	struct budget_service *s = find(b, service, mono_ms);
	const double full =
		s->per_s * budget_burst_s > 1.0 ? s->per_s * budget_burst_s : 1.0;

	s->tokens += s->per_s * (double)(mono_ms - s->at_ms) / 1000.0;
	if (s->tokens > full)
		s->tokens = full;
	s->at_ms = mono_ms;
	return s;
}

int64_t budget_wait_ms(struct budget *b, const char *service, int64_t mono_ms)
{
	const struct budget_service *s = refill(b, service, mono_ms);

	if (s->tokens >= 1.0)
		return 0;
	return (int64_t)((1.0 - s->tokens) / s->per_s * 1000.0) + 1;
}

void budget_spend(struct budget *b, const char *service, int64_t mono_ms)
{
	/* May go below zero: a step that has begun reads to its end. */
	refill(b, service, mono_ms)->tokens -= 1.0;
}

void budget_note(struct budget *b, const char *service, bool throttled, int64_t mono_ms)
{
	struct budget_service *s = refill(b, service, mono_ms);

	s->per_s = throttled ? s->per_s / 2.0 : s->per_s + 0.1;
	if (s->per_s < budget_least_per_s)
		s->per_s = budget_least_per_s;
	if (s->per_s > budget_full_per_s)
		s->per_s = budget_full_per_s;
	if (throttled && s->tokens > 0.0)
		s->tokens = 0.0;
}

/* --- breaker ------------------------------------------------------------ */

/* base, doubled for each hang after the first, up to most. */
static int64_t doubled(int64_t base, int hangs, int64_t most)
{
	while (--hangs > 0 && base < most)
		base *= 2;
	return base < most ? base : most;
}

int64_t budget_open_ms(struct budget *b, const char *peer, int64_t mono_ms)
{
	const struct budget_service *s = refill(b, peer, mono_ms);

	return s->hangs > 0 && mono_ms < s->open_until_ms ? s->open_until_ms - mono_ms
							  : 0;
}

int64_t budget_patience_ms(struct budget *b, const char *peer, int64_t full_ms,
			   int64_t mono_ms)
{
	const struct budget_service *s = refill(b, peer, mono_ms);

	return s->hangs > 0 ? doubled(PATIENCE_BASE_MS, s->hangs, full_ms) : full_ms;
}

void budget_heard(struct budget *b, const char *peer, bool hung, int64_t mono_ms,
		  int64_t scale_percent)
{
	struct budget_service *s = refill(b, peer, mono_ms);

	s->hangs = !hung ? 0 : s->hangs < 30 ? s->hangs + 1 : s->hangs;
	s->open_until_ms = mono_ms + doubled(OPEN_BASE_MS, s->hangs, OPEN_CAP_MS) *
					     scale_percent / 100;
}
