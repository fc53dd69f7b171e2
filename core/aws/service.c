#include "core/aws/service.h"

#include <string.h>

#include "core/aws/partition.h"
#include "core/base/str.h"
#include "core/net/transport.h"

static const struct aws_service services[] = {
#define AWS_SERVICE(e, name, protocol, version, host, signing, target, ns, variable)     \
	{AWS_SERVICE_##e, name, protocol, version, host, signing, target, ns, variable},
#include "core/aws/services.def"
#undef AWS_SERVICE
};

/* Where the host of a service with FIPS cryptography is not "HOST-fips". In GovCloud
 * the plain hosts of most services have it. */
static const struct {
	enum aws_service_id service;
	const char *partition;
	const char *host;
} fips_hosts[] = {
	{AWS_SERVICE_EKS, "aws", "fips.eks"},
	{AWS_SERVICE_SAGEMAKER, "aws", "api-fips.sagemaker"},
	{AWS_SERVICE_SAGEMAKER, "aws-us-gov", "api-fips.sagemaker"},
	{AWS_SERVICE_STS, "aws-us-gov", "sts"},
	{AWS_SERVICE_CFN, "aws-us-gov", "cloudformation"},
	{AWS_SERVICE_EKS, "aws-us-gov", "eks"},
	{AWS_SERVICE_EC2, "aws-us-gov", "ec2"},
	{AWS_SERVICE_QUOTAS, "aws-us-gov", "servicequotas"},
	{AWS_SERVICE_LOGS, "aws-us-gov", "logs"},
	{AWS_SERVICE_SSM, "aws-us-gov", "ssm"},
};

const struct aws_service *aws_service(enum aws_service_id id)
{
	return &services[id];
}

/* The words before ".REGION.SUFFIX". */
static const char *label_of(const struct aws_service *s, const struct aws_partition *p,
			    bool fips, bool dual, struct arena *a)
{
	if (!fips)
		return s->host;
	for (size_t i = 0; !dual && i < sizeof(fips_hosts) / sizeof(*fips_hosts); i++)
		if (fips_hosts[i].service == s->id &&
		    streq(fips_hosts[i].partition, p->id))
			return fips_hosts[i].host;
	return arena_printf(a, "%s-fips", s->host);
}

static const char *host_of(const struct aws_service *s, const struct aws_partition *p,
			   const char *region, bool fips, bool dual, struct arena *a)
{
	const char *label = label_of(s, p, fips, dual, a);

	if (s->id == AWS_SERVICE_IAM)
		return p->iam[(fips ? 2 : 0) + (dual ? 1 : 0)];
	if (s->id == AWS_SERVICE_S3) /* keeps the old suffix for both families */
		return arena_printf(a, "%s%s.%s.%s", label, dual ? ".dualstack" : "",
				    region, p->dns_suffix);
	return arena_printf(a, "%s.%s.%s", label, region,
			    dual ? p->dual_suffix : p->dns_suffix);
}

const char *aws_host(enum aws_service_id id, const char *region, struct arena *a)
{
	return host_of(aws_service(id), aws_partition_of(region), region, false, false,
		       a);
}

/* "https://host[:port][/path]", no query, no blanks, no trailing slash. */
static const char *checked_url(const char *url, struct arena *a)
{
	size_t n = strlen(url);
	const char *host = strstr(url, "://");

	if ((!str_starts(url, "http://") && !str_starts(url, "https://")) || !host ||
	    !host[3] || strpbrk(url, " \t\r\n?#@\"\\"))
		return NULL;
	while (url[n - 1] == '/')
		n--;
	return (size_t)(host + 3 - url) < n ? arena_strndup(a, url, n) : NULL;
}

static const char *look_up(const char *(*lookup)(void *ctx, const char *name), void *ctx,
			   const char *name)
{
	const char *z = lookup ? lookup(ctx, name) : NULL;

	return z && *z ? z : NULL;
}

bool aws_endpoint(const struct aws_service *s, const char *region,
		  const char *(*lookup)(void *ctx, const char *name), void *lookup_ctx,
		  struct arena *a, struct aws_endpoint *ret, struct err *e)
{
	const char *own = arena_printf(a, "AWS_ENDPOINT_URL_%s", s->variable);
	const char *url = look_up(lookup, lookup_ctx, own);
	const struct aws_partition *p;
	bool fips, dual;

	if (!aws_is_region(region))
		return err_set(e, ERR_CONFIG, "\"%.40s\" is not an AWS region",
			       region ? region : "");
	p = aws_partition_of(region);
	ret->signing_region = s->id == AWS_SERVICE_IAM ? p->iam_region : region;
	if (!url) {
		own = "AWS_ENDPOINT_URL";
		url = look_up(lookup, lookup_ctx, own);
	}
	ret->overridden = url != NULL;
	if (ret->overridden) {
		ret->url = checked_url(url, a);
		if (!ret->url)
			return err_set(e, ERR_CONFIG,
				       "%s is not an endpoint URL: \"%.200s\"", own, url);
		return http_is_private(ret->url) ||
		       err_set(e, ERR_CONFIG,
			       "%s must use https or a loopback address: \"%.200s\"", own,
			       url);
	}
	fips = streq(look_up(lookup, lookup_ctx, "AWS_USE_FIPS_ENDPOINT"), "true");
	dual = streq(look_up(lookup, lookup_ctx, "AWS_USE_DUALSTACK_ENDPOINT"), "true");
	if (fips && !p->fips)
		return err_set(
			e, ERR_CONFIG,
			"AWS_USE_FIPS_ENDPOINT is true, but the partition %s has no "
			"FIPS endpoints",
			p->id);
	/* The price list lives in one region of the partition. */
	if (s->id == AWS_SERVICE_PRICING) {
		if (!p->price_region)
			return err_set(e, ERR_CONFIG,
				       "The partition %s has no price list", p->id);
		ret->signing_region = region = p->price_region;
	}
	ret->url = arena_printf(a, "https://%s", host_of(s, p, region, fips, dual, a));
	return true;
}
