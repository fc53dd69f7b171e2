/*
 * closed_network.h - nodes without a way to the internet: by which endpoints of the VPC
 * they reach what they need.
 *
 * Endpoints are members of DescribeVpcEndpoints' list. An interface endpoint answers
 * under the service's own names only with private DNS.
 * https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html
 */
#ifndef INSTANTSTART_DOMAIN_NETWORK_CLOSED_NETWORK_H
#define INSTANTSTART_DOMAIN_NETWORK_CLOSED_NETWORK_H

#include "core/op/kind.h"

/* By a gateway endpoint of the table, or by an interface endpoint. */
bool closed_network_reaches_s3(const struct step_ctx *c, const json_t *endpoints,
			       const char *route_table);
/* Warns of the services that nodes need and no endpoint answers for. */
void closed_network_warn(struct step_ctx *c, const json_t *endpoints, const char *subnet);

#endif
