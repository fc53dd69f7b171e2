/*
 * quota_name.h - what Service Quotas and EC2 call an instance type of HyperPod.
 */
#ifndef INSTANTSTART_DOMAIN_OFFER_QUOTA_NAME_H
#define INSTANTSTART_DOMAIN_OFFER_QUOTA_NAME_H

#include "core/base/arena.h"

/* "ml.p5.48xlarge for cluster usage", or for spot; NULL for training plans. */
const char *quota_name(struct arena *a, const char *instance_type,
		       const char *capacity_type);
/* "g5.12xlarge" of "ml.g5.12xlarge". */
const char *ec2_type(const char *instance_type);

#endif
