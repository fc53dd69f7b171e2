#include "core/domain/network/closed_network.h"

#include "core/base/listing.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

/* What HyperPod nodes on EKS ask, by the last part of an endpoint's service name. */
static const char *const services[] = {
	"ec2", "ecr.api",     "ecr.dkr",     "sts",      "logs", "monitoring",
	"ssm", "ssmmessages", "ec2messages", "eks-auth", NULL};

/* "com.amazonaws.us-west-2.ecr.api"; in China "cn.com.amazonaws.…". */
static bool is_of(const struct step_ctx *c, const json_t *endpoint, const char *service)
{
	const char *want = arena_printf(c->arena, ".%s.%s", c->where->region, service);

	return str_has_suffix(str_of(json_str_or(endpoint, "ServiceName", "")),
			      str_of(want)) &&
	       streq(json_str_or(endpoint, "State", "available"), "available");
}

static bool answers(const struct step_ctx *c, const json_t *endpoints,
		    const char *service)
{
	size_t i;
	json_t *e;

	json_array_foreach(endpoints, i, e)
		if (is_of(c, e, service) &&
		    streq(json_str_or(e, "VpcEndpointType", ""), "Interface") &&
		    json_bool_or(e, "PrivateDnsEnabled", false))
			return true;
	return false;
}

bool closed_network_reaches_s3(const struct step_ctx *c, const json_t *endpoints,
			       const char *route_table)
{
	size_t i;
	json_t *e;

	json_array_foreach(endpoints, i, e)
		if (is_of(c, e, "s3") &&
		    streq(json_str_or(e, "VpcEndpointType", ""), "Gateway") &&
		    texts_have(json_at(e, "RouteTableIds"), route_table))
			return true;
	return answers(c, endpoints, "s3");
}

void closed_network_warn(struct step_ctx *c, const json_t *endpoints, const char *subnet)
{
	struct listing missing = listing_new(c->arena, ", ", LISTING_LONG);

	for (size_t i = 0; services[i]; i++)
		if (!answers(c, endpoints, services[i]))
			listing_add(&missing, "%s", services[i]);
	if (missing.n > 0)
		step_warn(c,
			  "nodes in %s have no way to the internet, and the VPC has no "
			  "interface endpoint with private DNS for %s: nodes and pods "
			  "that need them fail. Add the endpoints, or a route to NAT",
			  subnet, listing_text(&missing));
}
