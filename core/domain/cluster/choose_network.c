#include "core/domain/cluster/choose_network.h"

#include <string.h>

#include "core/domain/network/address_plan.h"
#include "core/domain/offer/zones.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

bool choose_network_observe(struct step_ctx *c, struct exchange *x)
{
	if (json_at(c->data, "network"))
		return false;
	return read_aws(c, x, "zones", AWS_EC2_DescribeAvailabilityZones, NULL) ||
	       (!step_input(c, "vpc_id") &&
		read_all(c, x, "vpcs", AWS_EC2_DescribeVpcs, NULL)) ||
	       (step_input(c, "vpc_id") &&
		read_all(c, x, "subnets", AWS_EC2_DescribeSubnets,
			 json_packf(c->arena, "{s:O}", "SubnetIds",
				    json_at(c->input, "subnet_ids"))));
}

/* Case CC-08: two subnets, two zones, one VPC. */
static void check_existing(struct step_ctx *c)
{
	const json_t *subnets = json_at(saw(c, "subnets"), "Subnets");
	const json_t *zones = json_at(saw(c, "zones"), "AvailabilityZones");
	const char *vpc_id = step_input(c, "vpc_id");
	size_t i;
	json_t *s;

	json_array_foreach(subnets, i, s) {
		if (!streq(json_str_at(s, "VpcId"), vpc_id)) {
			struct err *e = step_fail(c, ERR_INVALID_INPUT,
						  "The subnet %s is in another VPC, %s",
						  json_str_or(s, "SubnetId", ""),
						  json_str_or(s, "VpcId", ""));
			err_field(e, "/subnet_ids", json_str_at(s, "SubnetId"),
				  "subnets of the VPC in vpc_id");
			return;
		}
		if (!zone_takes_eks(
			    zone_find(zones, json_str_or(s, "AvailabilityZoneId", "")))) {
			struct err *e =
				step_fail(c, ERR_NOT_OFFERED,
					  "EKS does not support control planes in zone "
					  "%s",
					  json_str_or(s, "AvailabilityZoneId", ""));
			err_field(e, "/subnet_ids", json_str_at(s, "SubnetId"),
				  "a subnet in another zone");
			return;
		}
	}
	if (json_array_size(subnets) != 2 ||
	    streq(json_str_at(subnets, "0.AvailabilityZoneId"),
		  json_str_at(subnets, "1.AvailabilityZoneId"))) {
		struct err *e = step_fail(c, ERR_INVALID_INPUT,
					  "A control plane needs subnets in two zones");
		err_field(e, "/subnet_ids", json_str_at(subnets, "0.AvailabilityZoneId"),
			  "two subnets in different zones");
		return;
	}
	step_save(c, "network",
		  json_pack("{s:s, s:O}", "vpc_id", vpc_id, "subnet_ids",
			    json_at(c->input, "subnet_ids")));
}

/* "… availability zone …; choose from these availability zones: a, b": what comes
 * after is allowed, and of what we chose all else is refused. */
void choose_network_refused(struct step_ctx *c, const char *reason)
{
	const json_t *zones = json_at(c->data, "network.zones");
	const char *allowed = strcasestr(reason, "these availability zones");
	json_t *refused = json_at(c->data, "refused_zones"), *zone;
	size_t i;

	if (!strcasestr(reason, "availability zone"))
		return;
	if (!refused) {
		step_save(c, "refused_zones", json_array());
		refused = json_at(c->data, "refused_zones");
	}
	json_array_foreach(zones, i, zone) {
		const char *name = json_string_value(zone);
		const bool named = strstr(reason, name) != NULL;
		const bool fine = allowed && strstr(allowed, name);

		if (allowed ? !fine : named)
			json_push(refused, json_string(name));
	}
}

static const json_t *not_refused(struct step_ctx *c, const json_t *zones)
{
	const json_t *refused = json_at(c->data, "refused_zones");
	json_t *list = json_new_list(c->arena), *zone;
	size_t i;

	json_array_foreach(zones, i, zone)
		if (!texts_have(refused, json_str_or(zone, "ZoneName", "")))
			json_array_append(list, zone);
	return list;
}

/* What is chosen instead of what an earlier try had, for whoever reads the events. */
static void tell_choice(struct step_ctx *c)
{
	const json_t *was = step_chosen_before(c, "network");

	if (c->planning)
		return;
	step_event(c, "network_chosen",
		   json_pack("{s:O, s:O*, s:O*}", "network", json_at(c->data, "network"),
			     "instead_of", was, "refused_zones",
			     json_at(c->data, "refused_zones")));
}

void choose_network_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *zones = json_at(saw(c, "zones"), "AvailabilityZones");
	const char *wanted = step_input(c, "zone");
	const json_t *chosen[2];
	struct address_plan plan;
	char text[5][CIDR_TEXT];
	struct err e;

	(void)x;
	if (json_at(c->data, "network"))
		return;
	if (wanted && !zone_find(zones, wanted)) {
		struct err *f = step_fail(c, ERR_INVALID_INPUT, "%s is not a zone of %s",
					  wanted, c->where->region);
		err_field(f, "/zone", wanted,
			  "a name or ID from list_availability_zones");
		return;
	}
	if (step_input(c, "vpc_id")) {
		check_existing(c);
		return;
	}
	zones = not_refused(c, zones);
	if (!zones_choose(zones, wanted, chosen)) {
		step_fail(c, ERR_NOT_OFFERED,
			  "%s does not have two available zones that support EKS",
			  c->where->region);
		return;
	}
	if (!address_plan_make(json_at(saw(c, "vpcs"), "Vpcs"), step_input(c, "vpc_cidr"),
			       c->arena, &plan, &e)) {
		*step_fail(c, e.code, "%s", e.detail) = e;
		return;
	}
	step_save(c, "network",
		  json_pack("{s:s, s:[s,s], s:s, s:s, s:s, s:s}", "vpc_cidr",
			    cidr_text(plan.vpc, text[0]), "zones",
			    json_str_or(chosen[0], "ZoneName", ""),
			    json_str_or(chosen[1], "ZoneName", ""), "public1",
			    cidr_text(plan.public_subnet[0], text[1]), "public2",
			    cidr_text(plan.public_subnet[1], text[2]), "private1",
			    cidr_text(plan.private_subnet[0], text[3]), "private2",
			    cidr_text(plan.private_subnet[1], text[4])));
	tell_choice(c);
}
