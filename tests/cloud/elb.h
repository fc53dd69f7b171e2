/*
 * elb.h - load balancers, for the controller that makes them.
 *
 * Table "elbv2.balancer": by ARN, what DescribeLoadBalancers says, _owner and
 * _attributes {key: value}.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_ELB_H
#define INSTANTSTART_TESTS_CLOUD_ELB_H

#include "tests/cloud/cloud.h"

struct elb_spec {
	const char *name, *kind; /* "net", "app" */
	const char *vpc, *owner;
	const char *attributes; /* "key=value,key=value" or NULL */
};

void elb_make(struct cloud *c, struct arena *a, const struct elb_spec *s);
/* False: deletion protection keeps one of them, and all stay. */
bool elb_delete_of(struct cloud *c, const char *owner);

#endif
