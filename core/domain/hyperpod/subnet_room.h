/*
 * subnet_room.h - whether the compute subnet has addresses for the nodes.
 */
#ifndef INSTANTSTART_DOMAIN_HYPERPOD_SUBNET_ROOM_H
#define INSTANTSTART_DOMAIN_HYPERPOD_SUBNET_ROOM_H

#include "core/domain/step/read.h"
#include "core/op/kind.h"

bool subnet_room_observe(struct step_ctx *c, struct exchange *x);
void subnet_room_plan(struct step_ctx *c, struct exchange *x);
/* The same of a subnet that the caller names, before anything is made. */
bool given_room_observe(struct step_ctx *c, struct exchange *x);
void given_room_plan(struct step_ctx *c, struct exchange *x);

/* Addresses that one node takes in the subnet (see the .c for the reckoning).
 * type: one member of DescribeInstanceTypes' list. prefixes: the CNI is told to take
 * whole prefixes. */
int64_t node_addresses(const json_t *type, const char *interface_mode, bool prefixes);

/* Behind COMPUTE_SUBNET_STEPS. */
#define SUBNET_ROOM_STEP                                                                 \
	{                                                                                \
		.name = "check_addresses", .phase = "network",                           \
		.title = "Check that the subnet has enough addresses",                   \
		.effect = EFFECT_READ, .check = true, .sees_errors = true,               \
		.sees_silence = true, .observe = subnet_room_observe, .seen = read_seen, \
		.plan = subnet_room_plan                                                 \
	}

#endif
