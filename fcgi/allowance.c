#include "fcgi/allowance.h"

#include <stddef.h>

/* FNV-1a: ids are ours, nobody chooses them to collide. */
static uint64_t key_of(const char *id)
{
	uint64_t key = UINT64_C(14695981039346656037);

	for (; *id; id++)
		key = (key ^ (unsigned char)*id) * UINT64_C(1099511628211);
	return key ? key : 1;
}

/*
 * The principal's place; else one that is free or whose debt is paid. With more busy
 * principals than places two of them share one: each waits a little longer.
 */
static struct allowance_slot *place(struct allowance *b, uint64_t key, int64_t now_us)
{
	struct allowance_slot *oldest = NULL;

	for (unsigned i = 0; i < ALLOWANCE_PROBES; i++) {
		struct allowance_slot *s = &b->slot[(key + i) % ALLOWANCE_SLOTS];

		if (atomic_load(&s->key) == key)
			return s;
	}
	for (unsigned i = 0; i < ALLOWANCE_PROBES; i++) {
		struct allowance_slot *s = &b->slot[(key + i) % ALLOWANCE_SLOTS];
		uint64_t was = atomic_load(&s->key);

		if (was == 0 || atomic_load(&s->until_us) <= now_us)
			if (atomic_compare_exchange_strong(&s->key, &was, key))
				return s;
		if (!oldest || atomic_load(&s->until_us) < atomic_load(&oldest->until_us))
			oldest = s;
	}
	return oldest;
}

static bool is_owed(int64_t owed_us, int64_t cost, int64_t each_us, int64_t burst)
{
	return owed_us > 0 && owed_us + each_us * cost > each_us * burst;
}

bool allowance_has(struct allowance *b, const char *id, int64_t cost, int64_t rate,
		   int64_t burst, int64_t now_us)
{
	const struct allowance_slot *s = place(b, key_of(id), now_us);

	return !is_owed(atomic_load(&s->until_us) - now_us, cost, 1000000 / rate, burst);
}

bool allowance_take(struct allowance *b, const char *id, int64_t cost, int64_t rate,
		    int64_t burst, int64_t now_us, int64_t *ret_wait_s)
{
	struct allowance_slot *s = place(b, key_of(id), now_us);
	const int64_t each_us = 1000000 / rate;
	int64_t until = atomic_load(&s->until_us), owed_us;

	do {
		owed_us = until > now_us ? until - now_us : 0;
		if (is_owed(owed_us, cost, each_us, burst)) {
			*ret_wait_s = (owed_us + each_us * (cost - burst)) / 1000000 + 1;
			return false;
		}
	} while (!atomic_compare_exchange_weak(&s->until_us, &until,
					       now_us + owed_us + each_us * cost));
	return true;
}
