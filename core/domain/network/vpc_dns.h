/*
 * vpc_dns.h - the two switches of a VPC without which nodes do not join a cluster.
 *
 * Nodes find the Kubernetes API by its name: DNS support and DNS hostnames must both be
 * on. A VPC that is made by hand has the second off.
 * https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
 */
#ifndef INSTANTSTART_DOMAIN_NETWORK_VPC_DNS_H
#define INSTANTSTART_DOMAIN_NETWORK_VPC_DNS_H

#include "core/op/kind.h"

struct vpc_switch {
	const char *key;       /* of its read */
	const char *attribute; /* as DescribeVpcAttribute is asked */
	const char *path;      /* in its answer */
	const char *words;     /* "DNS support" */
	const char *verb;      /* "is", "are" */
	const char *flag;      /* of "aws ec2 modify-vpc-attribute" */
};

/* Ended by a NULL key. */
extern const struct vpc_switch vpc_switches[];

bool vpc_dns_read(struct step_ctx *c, struct exchange *x, const char *vpc);
/* It was read, and is off. */
bool vpc_switch_is_off(const struct step_ctx *c, const struct vpc_switch *s);
/* The command that turns it on. */
const char *vpc_switch_fix(struct step_ctx *c, const struct vpc_switch *s,
			   const char *vpc);

#endif
