/*
 * zones.h - which availability zones a control plane may stand in.
 *
 * EKS refuses control-plane subnets in a few zones (by zone id; the names
 * differ between accounts). Source, checked 2026-11:
 * https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
 */
#ifndef INSTANTSTART_DOMAIN_CLUSTER_ZONES_H
#define INSTANTSTART_DOMAIN_CLUSTER_ZONES_H

#include <jansson.h>
#include <stdbool.h>

bool zone_takes_eks(const char *zone_id);
/* The zone whose name or id is `wanted`, of DescribeAvailabilityZones' list. */
const json_t *zone_find(const json_t *zones, const char *wanted);
/*
 * Two zones for a control plane: `wanted` first when it takes EKS, then the
 * lowest others that are available. false: there are not two.
 */
bool zones_choose(const json_t *zones, const char *wanted, const json_t *ret[2]);

#endif
