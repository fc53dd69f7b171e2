/*
 * rng.h - the randomness seam.
 *
 * rng_system() is getrandom(2): fit for tokens. rng_seeded() is a small
 * deterministic generator (SplitMix64) for tests and jitter: one seed replays
 * one run; never for secrets.
 */
#ifndef INSTANTSTART_BASE_RNG_H
#define INSTANTSTART_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	void (*fill)(struct rng *r, void *p, size_t n);
};

struct rng *rng_system(void);

struct rng_seeded {
	struct rng rng;
	uint64_t state;
};
void rng_seeded_init(struct rng_seeded *r, uint64_t seed);

uint64_t rng_u64(struct rng *r);
/* Uniform in [0, bound); bound > 0. */
uint64_t rng_below(struct rng *r, uint64_t bound);

enum { ID_RANDOM = 26 };
/*
 * prefix + 26 characters of Crockford base32, lower case: 48 bits of wall time
 * and 80 random bits, so that ids of one kind sort by age. buf must hold
 * strlen(prefix) + ID_RANDOM + 1 bytes; size says how many it has.
 */
void id_make(struct rng *r, int64_t wall_ms, const char *prefix, char *buf, size_t size);

#endif
