#include "core/domain/hyperpod/preflight.h"

#include "core/domain/offer/quota_name.h"
#include "core/domain/offer/wish.h"
#include "core/domain/offer/zones.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

/* --- offered? -------------------------------------------------------------------- */

/* The caller's, else that of his subnet. */
static const char *zone_wanted(const struct step_ctx *c)
{
	const char *zone = step_input(c, "zone");

	return zone ? zone
		    : json_str_at(saw(c, "subnet"), "Subnets.0.AvailabilityZoneId");
}

static const json_t *asked_zone(const struct step_ctx *c)
{
	const char *zone = zone_wanted(c);

	return zone ? zone_find(json_at(saw(c, "zones"), "AvailabilityZones"), zone)
		    : NULL;
}

static bool subnet_fits_zone(const struct step_ctx *c)
{
	const char *id = json_str_at(saw(c, "subnet"), "Subnets.0.AvailabilityZoneId");

	return !id || !asked_zone(c) || streq(id, json_str_at(asked_zone(c), "ZoneId"));
}

static json_t *ec2_types(struct step_ctx *c)
{
	json_t *list = json_new_list(c->arena);
	size_t i;
	json_t *type;

	json_array_foreach(wish_types(c), i, type)
		json_push(list, json_string(ec2_type(json_string_value(type))));
	return list;
}

/*
 * Zones' ids are the stable keys; cases CC-01 and CC-02. A subnet of the
 * caller's must be where the capacity is (case CC-05): when it is not, the
 * subnets of its VPC that are get named.
 */
bool offering_observe(struct step_ctx *c, struct exchange *x)
{
	const char *subnet = step_input(c, "subnet_id");

	if (read_aws(c, x, "zones", AWS_EC2_DescribeAvailabilityZones, NULL) ||
	    read_all(c, x, "offerings", AWS_EC2_DescribeInstanceTypeOfferings,
		     json_packf(c->arena, "{s:s, s:[{s:s, s:O}]}", "LocationType",
				"availability-zone-id", "Filters", "Name",
				"instance-type", "Values", ec2_types(c))))
		return true;
	if (!subnet)
		return false;
	return read_aws(c, x, "subnet", AWS_EC2_DescribeSubnets,
			json_packf(c->arena, "{s:[s]}", "SubnetIds", subnet)) ||
	       (!subnet_fits_zone(c) &&
		read_all(c, x, "siblings", AWS_EC2_DescribeSubnets,
			 json_packf(c->arena, "{s:[{s:s, s:[s]}, {s:s, s:[s]}]}",
				    "Filters", "Name", "vpc-id", "Values",
				    json_str_or(saw(c, "subnet"), "Subnets.0.VpcId", ""),
				    "Name", "availability-zone-id", "Values",
				    json_str_or(asked_zone(c), "ZoneId", ""))));
}

static const char *listed(struct step_ctx *c, const json_t *rows, const char *member)
{
	return texts_named(c->arena, rows, member, LISTING_SHORT);
}

static bool check_subnet(struct step_ctx *c)
{
	const char *subnet = step_input(c, "subnet_id");
	const json_t *there = json_at(saw(c, "siblings"), "Subnets");
	struct err *e;

	if (subnet && saw_missing(c, "subnet")) {
		e = step_fail(c, ERR_INVALID_INPUT, "There is no subnet %s", subnet);
		err_field(e, "/subnet_id", subnet, "a private subnet of the VPC");
		return false;
	}
	if (subnet_fits_zone(c))
		return true;
	e = step_fail(c, ERR_INVALID_INPUT, "The subnet %s is in zone %s, not in zone %s",
		      subnet,
		      json_str_or(saw(c, "subnet"), "Subnets.0.AvailabilityZoneId", "?"),
		      json_str_or(asked_zone(c), "ZoneId", "?"));
	err_field(e, "/subnet_id", subnet,
		  json_array_size(there) ? arena_printf(c->arena, "one of %s",
							listed(c, there, "SubnetId"))
					 : "a subnet in that zone (the VPC has none)");
	return false;
}

/* Of several types one is enough: the others are tried in vain. */
static void check_offered(struct step_ctx *c, const json_t *zone)
{
	const json_t *offerings = json_at(saw(c, "offerings"), "InstanceTypeOfferings");
	const char *zone_id = json_str_or(zone, "ZoneId", "");
	size_t i, n = 0;
	json_t *row;
	struct err *e;

	json_array_foreach(offerings, i, row)
		n += streq(json_str_at(row, "Location"), zone_id);
	if (n == 0) {
		e = step_fail(c, ERR_NOT_OFFERED, "%s is not offered in %s (%s)",
			      wish_types_text(c), json_str_or(zone, "ZoneName", ""),
			      zone_id);
		err_field(e, "/zone", zone_wanted(c),
			  arena_printf(c->arena, "one of %s",
				       listed(c, offerings, "Location")));
	} else if (n < json_array_size(wish_types(c))) {
		step_warn(c, "%s offers only %zu of the %zu instance types", zone_id, n,
			  json_array_size(wish_types(c)));
	}
}

void offering_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *offerings = json_at(saw(c, "offerings"), "InstanceTypeOfferings");
	const json_t *zone = asked_zone(c);
	struct err *e;

	(void)x;
	if (!zone && zone_wanted(c)) {
		e = step_fail(c, ERR_INVALID_INPUT, "%s is not a zone of %s",
			      zone_wanted(c), c->where->region);
		err_field(e, "/zone", zone_wanted(c),
			  "a name or ID from list_availability_zones");
		return;
	}
	if (!check_subnet(c))
		return;
	step_save_str(c, "zone_id", json_str_at(zone, "ZoneId"));
	step_save_str(c, "zone_name", json_str_at(zone, "ZoneName"));
	if (json_array_size(offerings) == 0) {
		/* Everywhere empty: a new type that EC2 does not list, perhaps. */
		step_not_known(
			c, "offering",
			"EC2 does not list %s in any zone of %s: its availability was "
			"not checked",
			ec2_type(wish_types_text(c)), c->where->region);
		return;
	}
	check_offered(c, zone);
}
