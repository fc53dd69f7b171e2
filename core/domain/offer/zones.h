/*
 * zones.h - what a zone is, and which zones a control plane may stand in.
 *
 * What a zone is, the list of DescribeAvailabilityZones says, and nothing else: names
 * have many forms ("us-west-2a", "us-gov-west-1a", "us-west-2-lax-1a",
 * "us-east-1-wl1-bos-wlz-1"), and so have ids. Zones that the account has not opted in
 * to are not in the list. Nodes may be in a zone of any type; control planes only in
 * availability zones proper.
 *
 * EKS refuses control-plane subnets in a few zones (by zone id; the names
 * differ between accounts). Source, checked 2026-11:
 * https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
 */
#ifndef INSTANTSTART_DOMAIN_OFFER_ZONES_H
#define INSTANTSTART_DOMAIN_OFFER_ZONES_H

#include <jansson.h>
#include <stdbool.h>

/* A row of the list: NULL takes none. */
bool zone_takes_eks(const json_t *zone);
/* "us-west-2" given for "us-west-2a": the form of a region's name, which no zone has. */
bool zone_is_region(const char *name);
/* The zone whose name or id is `wanted`, of DescribeAvailabilityZones' list. */
const json_t *zone_find(const json_t *zones, const char *wanted);
/*
 * Two zones for a control plane: `wanted` first when it takes EKS, then the
 * lowest others that are available. false: there are not two.
 */
bool zones_choose(const json_t *zones, const char *wanted, const json_t *ret[2]);

#endif
