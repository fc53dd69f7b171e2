/*
 * address_plan.h - the address blocks of a new control-plane VPC, pure.
 *
 * One /16 that overlaps no block of any VPC in the region, so that peering
 * stays possible: the control plane and public subnets take its first /20
 * (four /24), the rest is for compute subnets of /20.
 */
#ifndef INSTANTSTART_DOMAIN_NETWORK_ADDRESS_PLAN_H
#define INSTANTSTART_DOMAIN_NETWORK_ADDRESS_PLAN_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/network/cidr.h"

struct address_plan {
	struct cidr vpc;
	struct cidr public_subnet[2];
	struct cidr private_subnet[2];
};

/* Every block of DescribeVpcs' list, secondary ones too. */
void vpc_blocks(const json_t *vpcs, struct cidr_set *ret);

/*
 * `wanted` NULL: the first free /16 of 10.0.0.0/8, then of 172.16.0.0/12.
 * Else that block, 16 to 20 bits. CONFLICT with the VPC that overlaps, or
 * INVALID_INPUT.
 */
bool address_plan_make(const json_t *vpcs, const char *wanted, struct arena *a,
		       struct address_plan *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
