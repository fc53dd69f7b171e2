/*
 * cidr.h - IPv4 block arithmetic, pure.
 *
 * Every choice of an address range goes through here: overlap against all
 * blocks of all VPCs (secondary ones too), the first free aligned block of a
 * size inside a list of blocks. No tables of ranges that "are usually free".
 */
#ifndef INSTANTSTART_DOMAIN_NETWORK_CIDR_H
#define INSTANTSTART_DOMAIN_NETWORK_CIDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"

struct cidr {
	uint32_t base; /* host order; the host bits are zero */
	int bits;      /* 0..32 */
};

enum { CIDR_TEXT = 20 };

/* "10.0.0.0/16", strictly: no host bits, no leading zeros. */
bool cidr_parse(const char *text, struct cidr *ret) __attribute__((warn_unused_result));
const char *cidr_text(struct cidr c, char buf[static CIDR_TEXT]);
const char *cidr_dup(struct arena *a, struct cidr c);
bool cidr_overlaps(struct cidr a, struct cidr b);
bool cidr_contains(struct cidr outer, struct cidr inner);
/* Addresses in the block. */
uint64_t cidr_size(struct cidr c);

struct cidr_set {
	struct cidr *v;
	size_t n, cap;
	struct arena *arena;
};
void cidr_set_init(struct cidr_set *s, struct arena *a);
void cidr_set_add(struct cidr_set *s, struct cidr c);
bool cidr_set_overlaps(const struct cidr_set *s, struct cidr c);

/* The lowest aligned block of `bits` inside `outer` that overlaps none of
 * `used`. false: there is none. */
bool cidr_first_free(struct cidr outer, int bits, const struct cidr_set *used,
		     struct cidr *ret) __attribute__((warn_unused_result));

#endif
