#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cloud/ec2/ops.h"

static uint32_t mask_of(int bits)
{
	return bits == 0 ? 0 : ~(uint32_t)0 << (32 - bits);
}

bool ec2_cidr_parse(const char *text, struct cidr *ret)
{
	struct str rest = str_of(text);
	struct str host = str_cut(&rest, '/');
	char ip[INET_ADDRSTRLEN];
	struct in_addr in;
	int64_t bits;

	if (!rest.p || host.n >= sizeof(ip) || !str_to_i64(rest, &bits) || bits < 0 ||
	    bits > 32)
		return false;
	memcpy(ip, host.p, host.n);
	ip[host.n] = '\0';
	if (inet_pton(AF_INET, ip, &in) != 1)
		return false;
	/* EC2 makes 100.68.0.18/18 into 100.68.0.0/18. */
	*ret = (struct cidr){ntohl(in.s_addr) & mask_of((int)bits), (int)bits};
	return true;
}

const char *ip_text(struct arena *a, uint32_t ip)
{
	return arena_printf(a, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
			    ip & 255);
}

const char *ec2_cidr_text(struct arena *a, struct cidr c)
{
	return arena_printf(a, "%s/%d", ip_text(a, c.net), c.bits);
}

bool cidr_overlap(struct cidr a, struct cidr b)
{
	uint32_t mask = mask_of(a.bits < b.bits ? a.bits : b.bits);

	return (a.net & mask) == (b.net & mask);
}

bool cidr_within(struct cidr inner, struct cidr outer)
{
	return inner.bits >= outer.bits && cidr_overlap(inner, outer);
}
