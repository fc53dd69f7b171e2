#include "core/domain/network/cidr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"

static uint32_t mask_of(int bits)
{
	return bits == 0 ? 0 : UINT32_MAX << (32 - bits);
}

bool cidr_parse(const char *text, struct cidr *ret)
{
	struct str rest = str_of(text);
	struct str ip = str_cut(&rest, '/');
	struct in_addr addr;
	char copy[INET_ADDRSTRLEN];
	int64_t bits;

	if (!rest.p || ip.n >= sizeof(copy) || !str_to_i64(rest, &bits) || bits < 0 ||
	    bits > 32)
		return false;
	memcpy(copy, ip.p, ip.n);
	copy[ip.n] = '\0';
	if (inet_pton(AF_INET, copy, &addr) != 1)
		return false;
	ret->base = ntohl(addr.s_addr);
	ret->bits = (int)bits;
	return (ret->base & ~mask_of(ret->bits)) == 0;
}

const char *cidr_text(struct cidr c, char buf[static CIDR_TEXT])
{
	snprintf(buf, CIDR_TEXT, "%u.%u.%u.%u/%d", c.base >> 24, c.base >> 16 & 255,
		 c.base >> 8 & 255, c.base & 255, c.bits);
	return buf;
}

const char *cidr_dup(struct arena *a, struct cidr c)
{
	char buf[CIDR_TEXT];

	return arena_strdup(a, cidr_text(c, buf));
}

bool cidr_overlaps(struct cidr a, struct cidr b)
{
	uint32_t mask = mask_of(a.bits < b.bits ? a.bits : b.bits);

	return (a.base & mask) == (b.base & mask);
}

bool cidr_contains(struct cidr outer, struct cidr inner)
{
	return outer.bits <= inner.bits && cidr_overlaps(outer, inner);
}

uint64_t cidr_size(struct cidr c)
{
	return UINT64_C(1) << (32 - c.bits);
}

void cidr_set_init(struct cidr_set *s, struct arena *a)
{
	*s = (struct cidr_set){.arena = a};
}

void cidr_set_add(struct cidr_set *s, struct cidr c)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 16;
		struct cidr *v = arena_array(s->arena, struct cidr, cap);

		if (s->n)
			memcpy(v, s->v, s->n * sizeof(*v));
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = c;
}

bool cidr_set_overlaps(const struct cidr_set *s, struct cidr c)
{
	for (size_t i = 0; i < s->n; i++)
		if (cidr_overlaps(s->v[i], c))
			return true;
	return false;
}

bool cidr_first_free(struct cidr outer, int bits, const struct cidr_set *used,
		     struct cidr *ret)
{
	uint64_t size, end;

	if (bits < outer.bits || bits > 32)
		return false;
	size = UINT64_C(1) << (32 - bits);
	end = (uint64_t)outer.base + cidr_size(outer);
	for (uint64_t base = outer.base; base + size <= end; base += size) {
		struct cidr c = {(uint32_t)base, bits};

		if (!cidr_set_overlaps(used, c)) {
			*ret = c;
			return true;
		}
	}
	return false;
}
