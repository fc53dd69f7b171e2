#include "core/aws/partition.h"

#include <string.h>

#include "core/base/str.h"

static const struct aws_partition partitions[] = {
#define AWS_PARTITION(id, prefix, dns, dual, fips, iam_region, plain, both_families,     \
		      iam_fips, iam_fips_dual, prices)                                   \
	{id,                                                                             \
	 prefix,                                                                         \
	 dns,                                                                            \
	 dual,                                                                           \
	 fips,                                                                           \
	 iam_region,                                                                     \
	 {plain, both_families, iam_fips, iam_fips_dual},                                \
	 prices},
#include "core/aws/partition.def"
#undef AWS_PARTITION
};

enum { N_PARTITIONS = sizeof(partitions) / sizeof(*partitions), REGION_MAX = 32 };

bool aws_is_region(const char *name)
{
	const size_t n = name ? strlen(name) : 0;

	return n > 0 && n <= REGION_MAX && name[0] != '-' && name[n - 1] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

const struct aws_partition *aws_partition_of(const char *region)
{
	const struct aws_partition *p = partitions;

	while (!str_starts(region, p->region_prefix))
		p++;
	return p;
}

const struct aws_partition *aws_partition_named(const char *id)
{
	for (size_t i = 0; i < N_PARTITIONS; i++)
		if (streq(partitions[i].id, id))
			return &partitions[i];
	return NULL;
}

const struct aws_partition *aws_partitions(size_t *ret_n)
{
	*ret_n = N_PARTITIONS;
	return partitions;
}
