/* Names of things: what they are called depends on the region's partition. */
#include <string.h>

#include "core/aws/partition.h"
#include "core/base/str.h"
#include "tests/cloud/cloud.h"

const char *cloud_partition(struct cloud *c)
{
	return aws_partition_of(cloud_opts(c)->region)->id;
}

const char *cloud_dns_suffix(struct cloud *c)
{
	return aws_partition_of(cloud_opts(c)->region)->dns_suffix;
}

const char *cloud_arn(struct cloud *c, struct arena *a, const char *service,
		      const char *rest)
{
	const struct cloud_options *o = cloud_opts(c);

	return arena_printf(a, "arn:%s:%s:%s:%s:%s", cloud_partition(c), service,
			    o->region, o->account, rest);
}

const char *cloud_arn_global(struct cloud *c, struct arena *a, const char *service,
			     const char *rest)
{
	return arena_printf(a, "arn:%s:%s::%s:%s", cloud_partition(c), service,
			    cloud_opts(c)->account, rest);
}

const char *cloud_arn_of_aws(struct cloud *c, struct arena *a, const char *service,
			     const char *rest)
{
	return arena_printf(a, "arn:%s:%s::aws:%s", cloud_partition(c), service, rest);
}

bool cloud_arn_is(struct cloud *c, const char *arn, const char *service)
{
	const char *const words[] = {"arn:", cloud_partition(c), ":", service, ":"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!arn || !str_starts(arn, words[i]))
			return false;
		arn += strlen(words[i]);
	}
	return true;
}
