/*
 * partition.h - what differs between the partitions of AWS, in one table.
 *
 * A partition has its own accounts, ARNs ("arn:aws-cn:…") and host names. What it
 * does not have of its own are words that only look like host names:
 *   service principals   "sagemaker.amazonaws.com", "eks.amazonaws.com" and the others
 *                        that we use are the same everywhere;
 *   the token audience   "sts.amazonaws.com" is what the pod identity webhook of EKS
 *                        asks for in every partition (eksctl #1910, #1912);
 *   labels and resources "vpc.amazonaws.com/efa".
 * A condition on kms:ViaService, on the other hand, holds a host name.
 *
 * https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html
 */
#ifndef INSTANTSTART_AWS_PARTITION_H
#define INSTANTSTART_AWS_PARTITION_H

#include <stdbool.h>
#include <stddef.h>

/* The audience of web identity tokens that pods show to STS. */
#define AWS_TOKEN_AUDIENCE "sts.amazonaws.com"

struct aws_partition {
	const char *id;            /* "aws-cn": the second word of an ARN */
	const char *region_prefix; /* "cn-" */
	const char *dns_suffix;    /* "amazonaws.com.cn" */
	const char *dual_suffix;   /* of dual-stack hosts */
	bool fips;                 /* has hosts with FIPS cryptography */
	const char *iam_region;    /* that IAM's requests are signed for */
	const char *iam[4];        /* hosts: plain, dual-stack, FIPS, both */
	const char *price_region;  /* NULL: no price list */
};

/* Whether a name has the form of a region's: ERR_CONFIG is the caller's affair. */
bool aws_is_region(const char *name);
/* Never NULL: the partition that the region's name tells. */
const struct aws_partition *aws_partition_of(const char *region);
/* By the id in ARNs; NULL for one that is not known. */
const struct aws_partition *aws_partition_named(const char *id);
/* All rows, for tests. */
const struct aws_partition *aws_partitions(size_t *ret_n);

#endif
