/*
 * compute_subnet.h - the one way to a /20 subnet for compute nodes.
 *
 * Every capacity path goes through COMPUTE_SUBNET_STEPS: reuse the cluster's
 * compute subnet of the zone (by zone id), else a free /20 of the VPC's blocks
 * by overlap arithmetic, else a secondary block that overlaps no VPC of the
 * region; then the route table that leads to a NAT gateway, which brings the
 * S3 endpoint with it. Resumable at every row; two callers get one subnet,
 * since EC2 refuses a second subnet of the same block.
 *
 * Needs data.eks (EKS_ACCESS_STEP) and input.zone or input.subnet_id. Leaves
 * data.subnet = {id, cidr, zone, zone_id, free, route_table_id}.
 */
#ifndef INSTANTSTART_DOMAIN_NETWORK_COMPUTE_SUBNET_H
#define INSTANTSTART_DOMAIN_NETWORK_COMPUTE_SUBNET_H

#include "core/domain/network/subnet_role.h"
#include "core/op/kind.h"

enum { COMPUTE_SUBNET_BITS = 20 };

/* Tag whose value is the zone id; it makes a subnet the zone's compute subnet. */
#define COMPUTE_SUBNET_TAG "instantstart:compute"

bool subnet_find_observe(struct step_ctx *c, struct exchange *x);
void subnet_find_plan(struct step_ctx *c, struct exchange *x);
bool subnet_extend_observe(struct step_ctx *c, struct exchange *x);
void subnet_extend_plan(struct step_ctx *c, struct exchange *x);
void subnet_extend_absorb(struct step_ctx *c, const struct answer *a);
bool subnet_create_observe(struct step_ctx *c, struct exchange *x);
void subnet_create_plan(struct step_ctx *c, struct exchange *x);
void subnet_create_absorb(struct step_ctx *c, const struct answer *a);
bool subnet_route_observe(struct step_ctx *c, struct exchange *x);
void subnet_route_plan(struct step_ctx *c, struct exchange *x);
void subnet_route_absorb(struct step_ctx *c, const struct answer *a);
bool subnet_way_observe(struct step_ctx *c, struct exchange *x);
void subnet_way_plan(struct step_ctx *c, struct exchange *x);

#define COMPUTE_SUBNET_STEPS                                                             \
	{.name = "find_subnet",                                                          \
	 .phase = "network",                                                             \
	 .title = "Find or choose the compute subnet of the zone",                       \
	 .effect = EFFECT_READ,                                                          \
	 .observe = subnet_find_observe,                                                 \
	 .seen = read_seen,                                                              \
	 .plan = subnet_find_plan,                                                       \
	 .choice = "subnet"},                                                            \
		{.name = "extend_vpc",                                                   \
		 .phase = "network",                                                     \
		 .title = "Add an address block to the VPC",                             \
		 .effect = EFFECT_TAGGED,                                                \
		 .observe = subnet_extend_observe,                                       \
		 .seen = read_seen,                                                      \
		 .plan = subnet_extend_plan,                                             \
		 .absorb = subnet_extend_absorb},                                        \
		{.name = "create_subnet",                                                \
		 .phase = "network",                                                     \
		 .title = "Create the compute subnet",                                   \
		 .effect = EFFECT_NAMED,                                                 \
		 .observe = subnet_create_observe,                                       \
		 .seen = read_seen,                                                      \
		 .plan = subnet_create_plan,                                             \
		 .absorb = subnet_create_absorb,                                         \
		 .retry_step = "find_subnet"},                                           \
		{.name = "route_subnet",                                                 \
		 .phase = "network",                                                     \
		 .title = "Route the compute subnet through NAT",                        \
		 .effect = EFFECT_CONVERGENT,                                            \
		 .observe = subnet_route_observe,                                        \
		 .seen = read_seen,                                                      \
		 .plan = subnet_route_plan,                                              \
		 .absorb = subnet_route_absorb},                                         \
		SUBNET_ROLE_STEP("network"),                                             \
	{                                                                                \
		.name = "check_way_to_s3", .phase = "network",                           \
		.title = "Check that nodes can reach S3", .effect = EFFECT_READ,         \
		.check = true, .observe = subnet_way_observe, .seen = read_seen,         \
		.plan = subnet_way_plan                                                  \
	}

#endif
