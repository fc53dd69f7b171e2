#include "core/aws/service.h"

#include <string.h>

#include "core/base/str.h"

static const struct aws_service services[] = {
#define AWS_SERVICE(e, name, protocol, version, host, signing, target, ns, variable)     \
	{AWS_SERVICE_##e, name, protocol, version, host, signing, target, ns, variable},
#include "core/aws/services.def"
#undef AWS_SERVICE
};

/* What a region's name tells of its partition. */
struct partition {
	const char *prefix; /* of the region */
	const char *suffix;
	const char *dual_suffix; /* NULL: there is none */
	/* IAM is one service for the partition. */
	const char *iam_host;
	const char *iam_region;
};

static const struct partition partitions[] = {
	{"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn",
	 "iam.cn-north-1.amazonaws.com.cn", "cn-north-1"},
	{"us-gov-", "amazonaws.com", "api.aws", "iam.us-gov.amazonaws.com",
	 "us-gov-west-1"},
	{"us-isob-", "sc2s.sgov.gov", NULL, "iam.us-isob-east-1.sc2s.sgov.gov",
	 "us-isob-east-1"},
	{"us-isof-", "csp.hci.ic.gov", NULL, "iam.us-isof-south-1.csp.hci.ic.gov",
	 "us-isof-south-1"},
	{"eu-isoe-", "cloud.adc-e.uk", NULL, "iam.eu-isoe-west-1.cloud.adc-e.uk",
	 "eu-isoe-west-1"},
	{"us-iso-", "c2s.ic.gov", NULL, "iam.us-iso-east-1.c2s.ic.gov", "us-iso-east-1"},
	{"eusc-", "amazonaws.eu", "api.amazonwebservices.eu",
	 "iam.eusc-de-east-1.amazonaws.eu", "eusc-de-east-1"},
	{"", "amazonaws.com", "api.aws", "iam.amazonaws.com", "us-east-1"},
};

const struct aws_service *aws_service(enum aws_service_id id)
{
	return &services[id];
}

static const struct partition *partition_of(const char *region)
{
	const struct partition *p = partitions;

	while (!str_starts(region, p->prefix))
		p++;
	return p;
}

static bool is_region(const char *region)
{
	size_t n = region ? strlen(region) : 0;

	return n > 0 && n <= 32 &&
	       strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static const char *host_of(const struct aws_service *s, const struct partition *p,
			   const char *region, bool fips, bool dual, struct arena *a)
{
	const char *suffix = dual ? p->dual_suffix : p->suffix;

	switch ((int)s->id) {
	case AWS_SERVICE_IAM:
		return dual ? "iam.global.api.aws" : p->iam_host;
	case AWS_SERVICE_S3: /* keeps the old suffix for both families */
		return arena_printf(a, "s3%s%s.%s.%s", fips ? "-fips" : "",
				    dual ? ".dualstack" : "", region, p->suffix);
	case AWS_SERVICE_EKS:
		return arena_printf(a, "%seks.%s.%s", fips ? "fips." : "", region,
				    suffix);
	default:
		return arena_printf(a, "%s%s.%s.%s", s->host, fips ? "-fips" : "", region,
				    suffix);
	}
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
	const struct partition *p;
	bool fips, dual;

	if (!is_region(region))
		return err_set(e, ERR_CONFIG, "\"%.40s\" cannot be an AWS region",
			       region ? region : "");
	p = partition_of(region);
	ret->signing_region = s->id == AWS_SERVICE_IAM ? p->iam_region : region;
	if (!url) {
		own = "AWS_ENDPOINT_URL";
		url = look_up(lookup, lookup_ctx, own);
	}
	ret->overridden = url != NULL;
	if (ret->overridden) {
		ret->url = checked_url(url, a);
		return ret->url ||
		       err_set(e, ERR_CONFIG,
			       "%s is not the URL of an endpoint: \"%.200s\"", own, url);
	}
	fips = streq(look_up(lookup, lookup_ctx, "AWS_USE_FIPS_ENDPOINT"), "true");
	dual = p->dual_suffix &&
	       streq(look_up(lookup, lookup_ctx, "AWS_USE_DUALSTACK_ENDPOINT"), "true");
	/* The price list lives in one region of the commercial partition. */
	if (s->id == AWS_SERVICE_PRICING && !*p->prefix)
		ret->signing_region = region = "us-east-1";
	ret->url = arena_printf(a, "https://%s", host_of(s, p, region, fips, dual, a));
	return true;
}
