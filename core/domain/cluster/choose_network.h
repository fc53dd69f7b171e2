/*
 * choose_network.h - zones and address blocks of a control plane, chosen once.
 *
 * Leaves data.network: of a new VPC {vpc_cidr, zones[2], public1, public2,
 * private1, private2}, of an existing one {vpc_id, subnet_ids[2]}. Frozen with
 * the first choice, so that a repeat sends the same template.
 */
#ifndef INSTANTSTART_DOMAIN_CLUSTER_CHOOSE_NETWORK_H
#define INSTANTSTART_DOMAIN_CLUSTER_CHOOSE_NETWORK_H

#include "core/op/kind.h"

/* Keeps which of our zones a refusal names, so that a retry chooses others. */
void choose_network_refused(struct step_ctx *c, const char *reason);
bool choose_network_observe(struct step_ctx *c, struct exchange *x);
void choose_network_plan(struct step_ctx *c, struct exchange *x);

#endif
