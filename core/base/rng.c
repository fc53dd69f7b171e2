#include "core/base/rng.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void system_fill(struct rng *r, void *p, size_t n)
{
	unsigned char *at = p;

	(void)r;
	while (n > 0) {
		const ssize_t got = getrandom(at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		/* Without randomness there are no tokens: nothing can go on. */
		if (got <= 0)
			abort();
		at += got;
		n -= (size_t)got;
	}
}

struct rng *rng_system(void)
{
	/* Stateless: nothing in it is ever written. */
	static struct rng system = {system_fill};

	return &system;
}

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += 0x9E3779B97F4A7C15u);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static void seeded_fill(struct rng *r, void *p, size_t n)
{
	struct rng_seeded *s = (struct rng_seeded *)r;
	unsigned char *at = p;

	while (n > 0) {
		const uint64_t word = splitmix(&s->state);
		const size_t part = n < sizeof(word) ? n : sizeof(word);

		memcpy(at, &word, part);
		at += part;
		n -= part;
	}
}

void rng_seeded_init(struct rng_seeded *r, uint64_t seed)
{
	*r = (struct rng_seeded){.rng = {seeded_fill}, .state = seed};
}

uint64_t rng_u64(struct rng *r)
{
	uint64_t word;

	r->fill(r, &word, sizeof(word));
	return word;
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
	uint64_t word, threshold;

	assert(bound > 0);
	/* Words below 2^64 mod bound would favour small results. */
	threshold = (0 - bound) % bound;
	do
		word = rng_u64(r);
	while (word < threshold);
	return word % bound;
}

void id_make(struct rng *r, int64_t wall_ms, const char *prefix, char *buf, size_t size)
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	const size_t n = strlen(prefix);
	unsigned char random[10];
	uint64_t time = (uint64_t)wall_ms & 0xFFFFFFFFFFFFu;
	char *at = buf + n;

	assert(size >= n + ID_RANDOM + 1);
	memcpy(buf, prefix, n);
	for (int i = 9; i >= 0; i--) {
		at[i] = digits[time & 31];
		time >>= 5;
	}
	r->fill(r, random, sizeof(random));
	/* Five bytes are eight digits. */
	for (int half = 0; half < 2; half++) {
		uint64_t bits = 0;

		for (int i = 0; i < 5; i++)
			bits = bits << 8 | random[half * 5 + i];
		for (int i = 7; i >= 0; i--) {
			at[10 + half * 8 + i] = digits[bits & 31];
			bits >>= 5;
		}
	}
	at[ID_RANDOM] = '\0';
}
