#include "core/domain/network/vpc_dns.h"

#include "core/domain/step/read.h"
#include "core/json/tree.h"

const struct vpc_switch vpc_switches[] = {
	{"dns", "enableDnsSupport", "EnableDnsSupport.Value", "DNS support", "is",
	 "--enable-dns-support"},
	{"hostnames", "enableDnsHostnames", "EnableDnsHostnames.Value", "DNS hostnames",
	 "are", "--enable-dns-hostnames"},
	{.key = NULL},
};

bool vpc_dns_read(struct step_ctx *c, struct exchange *x, const char *vpc)
{
	for (const struct vpc_switch *s = vpc_switches; s->key; s++)
		if (read_aws(c, x, s->key, AWS_EC2_DescribeVpcAttribute,
			     json_packf(c->arena, "{s:s, s:s}", "VpcId", vpc, "Attribute",
					s->attribute)))
			return true;
	return false;
}

bool vpc_switch_is_off(const struct step_ctx *c, const struct vpc_switch *s)
{
	return saw_ok(c, s->key) && !json_bool_or(saw(c, s->key), s->path, true);
}

const char *vpc_switch_fix(struct step_ctx *c, const struct vpc_switch *s,
			   const char *vpc)
{
	return arena_printf(c->arena, "Run: aws ec2 modify-vpc-attribute --vpc-id %s %s",
			    vpc, s->flag);
}
