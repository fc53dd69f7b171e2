/*
 * service.h - what is the same for all operations of a service: protocol,
 * version, host and signing name; and where its endpoint is.
 *
 * https://docs.aws.amazon.com/general/latest/gr/rande.html
 */
#ifndef INSTANTSTART_AWS_SERVICE_H
#define INSTANTSTART_AWS_SERVICE_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/err.h"

enum aws_protocol { JSON_1_1, REST_JSON, QUERY, EC2_QUERY, REST_XML };

enum aws_service_id {
#define AWS_SERVICE(id, ...) AWS_SERVICE_##id,
#include "core/aws/services.def"
#undef AWS_SERVICE
	AWS_SERVICES_COUNT_
};

struct aws_service {
	enum aws_service_id id;
	const char *name; /* "service-quotas" */
	enum aws_protocol protocol;
	const char *version;
	const char *host;
	const char *signing_name;
	const char *target_prefix; /* JSON 1.1 */
	const char *xml_namespace; /* REST-XML */
	const char *variable;      /* of AWS_ENDPOINT_URL_<variable> */
};

const struct aws_service *aws_service(enum aws_service_id id);

struct aws_endpoint {
	const char *url; /* no trailing slash */
	const char *signing_region;
	bool overridden; /* by AWS_ENDPOINT_URL…: S3 then uses path style */
};

/* The service's own plain host in that region, whatever is configured. */
const char *aws_host(enum aws_service_id id, const char *region, struct arena *a);

/*
 * AWS_ENDPOINT_URL_<SERVICE>, else AWS_ENDPOINT_URL, else the region's own,
 * in the partition that the region's name tells. AWS_USE_FIPS_ENDPOINT and
 * AWS_USE_DUALSTACK_ENDPOINT are honoured. ERR_CONFIG for a region or URL that
 * cannot be one, and for what the partition does not have (partition.h).
 */
bool aws_endpoint(const struct aws_service *s, const char *region,
		  const char *(*lookup)(void *ctx, const char *name), void *lookup_ctx,
		  struct arena *a, struct aws_endpoint *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
