/*
 * allowance.h - how many requests a principal may make, over all workers.
 *
 * A principal is who a credential that was verified belongs to: nothing that a caller
 * invents chooses whose budget it is. The table lies in memory that workers share.
 * It is the generic cell rate algorithm: one moment a principal, so that a request
 * costs one exchange of a word and nobody locks anything.
 * https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm
 */
#ifndef INSTANTSTART_FCGI_ALLOWANCE_H
#define INSTANTSTART_FCGI_ALLOWANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ALLOWANCE_SLOTS = 1024, ALLOWANCE_PROBES = 8 };

struct allowance_slot {
	_Atomic uint64_t key;     /* of the principal's id; 0: free */
	_Atomic int64_t until_us; /* what was taken is paid back by then */
};

struct allowance {
	struct allowance_slot slot[ALLOWANCE_SLOTS];
};

/*
 * Takes `cost` requests from the budget of `id`: `rate` a second, and `burst` of them
 * at once. One that costs more than the burst is taken when nothing is owed. now_us is
 * of the monotonic clock. false: *ret_wait_s says when to come again.
 */
bool allowance_has(struct allowance *b, const char *id, int64_t cost, int64_t rate,
		   int64_t burst, int64_t now_us); /* would be taken; takes nothing */
bool allowance_take(struct allowance *b, const char *id, int64_t cost, int64_t rate,
		    int64_t burst, int64_t now_us, int64_t *ret_wait_s);

#endif
