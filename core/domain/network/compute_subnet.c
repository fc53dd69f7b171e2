#include "core/domain/network/compute_subnet.h"

#include "core/domain/network/address_plan.h"
#include "core/domain/network/cidr.h"
#include "core/domain/network/route.h"
#include "core/domain/offer/zones.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

static json_t *filter(struct step_ctx *c, const char *name, const char *value)
{
	return json_packf(c->arena, "{s:[{s:s, s:[s]}]}", "Filters", "Name", name,
			  "Values", value ? value : STEP_UNKNOWN);
}

static const char *vpc_id(const struct step_ctx *c)
{
	return step_get(c, "eks.vpc_id");
}

/* --- find or choose --------------------------------------------------------- */

bool subnet_find_observe(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "zones", AWS_EC2_DescribeAvailabilityZones, NULL) ||
	       read_all(c, x, "vpcs", AWS_EC2_DescribeVpcs, NULL) ||
	       read_all(c, x, "subnets", AWS_EC2_DescribeSubnets,
			filter(c, "vpc-id", vpc_id(c))) ||
	       read_all(c, x, "tables", AWS_EC2_DescribeRouteTables,
			filter(c, "vpc-id", vpc_id(c)));
}

static bool serves_zone(const json_t *table, const json_t *subnets, const char *zone_id)
{
	size_t i;
	json_t *assoc;

	json_array_foreach(json_at(table, "Associations"), i, assoc) {
		const json_t *subnet = json_find(subnets, "SubnetId",
						 json_str_or(assoc, "SubnetId", "-"));

		if (subnet &&
		    streq(json_str_or(subnet, "AvailabilityZoneId", ""), zone_id))
			return true;
	}
	return false;
}

/* A NAT table of the zone itself first: traffic between zones costs money. */
static const json_t *choose_table(const json_t *tables, const json_t *subnets,
				  const char *zone_id)
{
	const json_t *other = NULL;
	size_t i;
	json_t *table;

	json_array_foreach(tables, i, table) {
		if (!route_is_nat(table))
			continue;
		if (serves_zone(table, subnets, zone_id))
			return table;
		if (!other)
			other = table;
	}
	return other;
}

/*
 * One that a person has tagged is used as it is; one of another cluster of ours is
 * shared. Another installation's goes with its cluster, of which we know nothing.
 */
static bool may_be_used(const struct step_ctx *c, const json_t *subnet)
{
	const enum owner owner = owner_of_tags(c, json_at(subnet, "Tags"));

	return owner != OWNER_INSTALLATION && owner != OWNER_UNKNOWN;
}

static const json_t *tagged_subnet(const struct step_ctx *c, const json_t *subnets,
				   const char *zone_id)
{
	size_t i;
	json_t *subnet;

	json_array_foreach(subnets, i, subnet) {
		const json_t *tag =
			json_find(json_at(subnet, "Tags"), "Key", COMPUTE_SUBNET_TAG);

		if (streq(json_str_or(tag, "Value", ""), zone_id) &&
		    may_be_used(c, subnet))
			return subnet;
	}
	return NULL;
}

/* It goes with the other cluster: delete_cluster there refuses while this one uses it. */
static void say_shared(struct step_ctx *c, const json_t *subnet)
{
	const json_t *tags = json_at(subnet, "Tags");

	if (owner_of_tags(c, tags) == OWNER_CLUSTER)
		step_warn(c,
			  "the compute subnet %s is shared: it was created for the "
			  "cluster %s",
			  json_str_or(subnet, "SubnetId", "?"),
			  mark_of_tags(tags).cluster);
}

static void save_subnet(struct step_ctx *c, const json_t *subnet)
{
	step_save_str(c, "subnet.id", json_str_at(subnet, "SubnetId"));
	step_save_str(c, "subnet.cidr", json_str_at(subnet, "CidrBlock"));
	step_save_str(c, "subnet.zone", json_str_at(subnet, "AvailabilityZone"));
	step_save_str(c, "subnet.zone_id", json_str_at(subnet, "AvailabilityZoneId"));
}

/* A free /20 of the VPC's own blocks, else a new block that no VPC uses. */
static bool choose_cidr(struct step_ctx *c, const json_t *vpcs, const json_t *subnets)
{
	static const char *const pools[] = {"100.64.0.0/10", "10.0.0.0/8"};
	const json_t *vpc = json_find(vpcs, "VpcId", vpc_id(c));
	struct cidr_set taken, all, own;
	struct cidr got, block;
	size_t i;
	json_t *s;

	cidr_set_init(&taken, c->arena);
	cidr_set_init(&all, c->arena);
	cidr_set_init(&own, c->arena);
	json_array_foreach(subnets, i, s)
		if (cidr_parse(json_str_or(s, "CidrBlock", ""), &block))
			cidr_set_add(&taken, block);
	if (vpc) /* not so when the list does not show it */
		vpc_blocks(json_own(c->arena, json_pack("[O]", vpc)), &own);
	for (i = 0; i < own.n; i++)
		if (cidr_first_free(own.v[i], COMPUTE_SUBNET_BITS, &taken, &got)) {
			step_save_str(c, "subnet.cidr", cidr_dup(c->arena, got));
			return true;
		}
	vpc_blocks(vpcs, &all);
	for (i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		if (cidr_parse(pools[i], &block) &&
		    cidr_first_free(block, 16, &all, &got)) {
			step_save_str(c, "subnet.block", cidr_dup(c->arena, got));
			got.bits = COMPUTE_SUBNET_BITS;
			step_save_str(c, "subnet.cidr", cidr_dup(c->arena, got));
			return true;
		}
	return false;
}

/* While planning a new VPC nothing is known but the zone. */
static void plan_unknown(struct step_ctx *c, const json_t *zone)
{
	step_save_str(c, "subnet.zone", json_str_at(zone, "ZoneName"));
	step_save_str(c, "subnet.zone_id", json_str_at(zone, "ZoneId"));
}

static void given_subnet(struct step_ctx *c, const json_t *subnets)
{
	const char *id = step_input(c, "subnet_id");
	const json_t *subnet = json_find(subnets, "SubnetId", id);
	struct err *e;

	if (!subnet) {
		e = step_fail(c, ERR_INVALID_INPUT,
			      "%s is not a subnet of the cluster's VPC %s", id,
			      vpc_id(c));
		err_field(e, "/subnet_id", id, "a private subnet of that VPC");
		return;
	}
	save_subnet(c, subnet);
	step_save(c, "subnet.given", json_true());
}

void subnet_find_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *subnets = json_at(saw(c, "subnets"), "Subnets");
	const json_t *vpcs = json_at(saw(c, "vpcs"), "Vpcs");
	const char *wanted = step_input(c, "zone");
	const json_t *zone, *table, *found;
	const char *zone_id;
	struct err *e;

	(void)x;
	if (json_at(c->data, "subnet.cidr") && !json_at(c->data, "subnet.again"))
		return; /* chosen in an earlier claim: frozen */
	if (step_input(c, "subnet_id") && subnets) {
		given_subnet(c, subnets);
		return;
	}
	zone = zone_find(json_at(saw(c, "zones"), "AvailabilityZones"), wanted);
	if (!zone) {
		e = step_fail(c, ERR_INVALID_INPUT, "%s is not a zone of %s",
			      wanted ? wanted : "(none)", c->where->region);
		err_field(e, "/zone", wanted,
			  "a name or ID from list_availability_zones");
		return;
	}
	if (!subnets) {
		plan_unknown(c, zone);
		return;
	}
	zone_id = json_str_or(zone, "ZoneId", "");
	json_drop(c->data, "subnet");
	found = tagged_subnet(c, subnets, zone_id);
	table = choose_table(json_at(saw(c, "tables"), "RouteTables"), subnets, zone_id);
	if (!table) {
		e = step_fail(c, ERR_STATE_CONFLICT,
			      "No route table of %s leads to a NAT gateway", vpc_id(c));
		err_fix(e, "Nodes in private subnets reach AWS through NAT. Add a NAT "
			   "gateway and a route 0.0.0.0/0 to it, or set subnet_id.");
		return;
	}
	if (found) {
		save_subnet(c, found);
		say_shared(c, found);
	} else if (!choose_cidr(c, vpcs, subnets)) {
		e = step_fail(c, ERR_QUOTA,
			      "%s has no free /20 block, and no block can be added",
			      vpc_id(c));
		err_fix(e, "Set subnet_id, or free addresses in the VPC.");
		return;
	}
	step_save_str(c, "subnet.zone", json_str_at(zone, "ZoneName"));
	step_save_str(c, "subnet.zone_id", zone_id);
	step_save_str(c, "subnet.route_table_id", json_str_at(table, "RouteTableId"));
}

/* --- a secondary block ------------------------------------------------------- */

bool subnet_extend_observe(struct step_ctx *c, struct exchange *x)
{
	return json_at(c->data, "subnet.block") &&
	       read_aws(c, x, "vpc", AWS_EC2_DescribeVpcs,
			json_packf(c->arena, "{s:[s]}", "VpcIds", vpc_id(c)));
}

void subnet_extend_plan(struct step_ctx *c, struct exchange *x)
{
	const char *block = json_str_at(c->data, "subnet.block");
	const json_t *assoc =
		json_find(json_at(saw(c, "vpc"), "Vpcs.0.CidrBlockAssociationSet"),
			  "CidrBlock", block);
	const char *state = json_str_or(assoc, "CidrBlockState.State", "");

	if (!block)
		return;
	/* Ours by a request whose answer we never saw. */
	if (assoc && c->issued_before)
		step_own(c, "ec2:vpc-cidr", json_str_or(assoc, "AssociationId", block),
			 NULL, "made");
	if (streq(state, "associated"))
		return;
	if (streq(state, "associating")) {
		step_wait(c, 3, "the address block %s to be added to %s", block,
			  vpc_id(c));
		return;
	}
	exchange_aws(x, AWS_EC2_AssociateVpcCidrBlock,
		     json_packf(c->arena, "{s:s, s:s}", "VpcId", vpc_id(c), "CidrBlock",
				block));
	x->what = arena_printf(c->arena, "Add the address block %s to %s", block,
			       vpc_id(c));
}

void subnet_extend_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok) {
		step_fail_answer(c, a, "the VPC %s accepts no more address blocks",
				 vpc_id(c));
		return;
	}
	step_own(c, "ec2:vpc-cidr",
		 json_str_or(a->out, "CidrBlockAssociation.AssociationId",
			     json_str_at(c->data, "subnet.block")),
		 NULL, "made");
	step_wait(c, 3, "the address block to be added to %s", vpc_id(c));
}

/* --- the subnet -------------------------------------------------------------- */

bool subnet_create_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in;

	if (json_at(c->data, "subnet.id"))
		return false;
	in = filter(c, "vpc-id", vpc_id(c));
	json_push(
		json_at(in, "Filters"),
		json_pack("{s:s, s:[s]}", "Name", "cidr-block", "Values",
			  step_get(c, "subnet.cidr") ? step_get(c, "subnet.cidr") : ""));
	return read_all(c, x, "subnets", AWS_EC2_DescribeSubnets, in);
}

static json_t *subnet_tags(struct step_ctx *c)
{
	json_t *tags = json_own(c->arena, json_deep_copy(step_tags(c)));

	json_push(tags, json_pack("{s:s, s:s}", "Key", COMPUTE_SUBNET_TAG, "Value",
				  step_get(c, "subnet.zone_id")));
	json_push(tags, json_pack("{s:s, s:o}", "Key", "Name", "Value",
				  json_sprintf("%s-compute-%s", c->target,
					       step_get(c, "subnet.zone_id"))));
	json_push(tags, json_pack("{s:s, s:s}", "Key", "kubernetes.io/role/internal-elb",
				  "Value", "1"));
	return tags;
}

void subnet_create_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *there = json_at(saw(c, "subnets"), "Subnets.0");

	if (json_at(c->data, "subnet.id"))
		return;
	/* By a call whose answer was lost; with whatever else is in that block, another
	 * block is chosen. */
	if (there && step_tagged_cluster(c, json_at(there, "Tags")) &&
	    tagged_subnet(c, json_at(saw(c, "subnets"), "Subnets"),
			  step_get(c, "subnet.zone_id"))) {
		save_subnet(c, there);
		step_own(c, "ec2:subnet", json_str_at(there, "SubnetId"), NULL, "made");
		return;
	}
	if (there) { /* somebody took the block meanwhile: choose again */
		step_save(c, "subnet.again", json_true());
		step_goto(c, "find_subnet");
		return;
	}
	exchange_aws(x, AWS_EC2_CreateSubnet,
		     json_packf(c->arena, "{s:s, s:s, s:s, s:[{s:s, s:O}]}", "VpcId",
				vpc_id(c), "CidrBlock", step_get(c, "subnet.cidr"),
				"AvailabilityZoneId", step_get(c, "subnet.zone_id"),
				"TagSpecifications", "ResourceType", "subnet", "Tags",
				subnet_tags(c)));
	x->what = arena_printf(c->arena, "Create the compute subnet %s in %s",
			       step_get(c, "subnet.cidr"), step_get(c, "subnet.zone"));
}

void subnet_create_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "InvalidSubnet.Conflict")) {
		step_wait(c, 3, "the owner of %s to be checked",
			  step_get(c, "subnet.cidr"));
		return;
	}
	if (!a->ok) {
		step_fail_answer(c, a, "the subnet %s was rejected",
				 step_get(c, "subnet.cidr"));
		return;
	}
	save_subnet(c, json_at(a->out, "Subnet"));
	step_own(c, "ec2:subnet", json_str_at(a->out, "Subnet.SubnetId"),
		 json_str_at(a->out, "Subnet.SubnetArn"), "made");
	step_advance(c);
}

/* --- its route --------------------------------------------------------------- */

bool subnet_route_observe(struct step_ctx *c, struct exchange *x)
{
	return !json_at(c->data, "subnet.given") &&
	       read_all(c, x, "tables", AWS_EC2_DescribeRouteTables,
			filter(c, "association.subnet-id", step_get(c, "subnet.id")));
}

void subnet_route_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *table = json_at(saw(c, "tables"), "RouteTables.0");
	const char *wanted = step_get(c, "subnet.route_table_id");

	if (json_at(c->data, "subnet.given"))
		return;
	if (table && route_is_nat(table))
		return;
	if (table) {
		struct err *e = step_fail(
			c, ERR_STATE_CONFLICT,
			"The compute subnet %s uses the route table %s, which does not "
			"lead to a NAT gateway",
			step_get(c, "subnet.id"), json_str_or(table, "RouteTableId", ""));
		err_fix(e,
			"Associate the subnet with %s, or add a NAT route to its route "
			"table.",
			wanted);
		return;
	}
	exchange_aws(x, AWS_EC2_AssociateRouteTable,
		     json_packf(c->arena, "{s:s, s:s}", "SubnetId",
				step_get(c, "subnet.id"), "RouteTableId", wanted));
	x->what = arena_printf(c->arena, "Route the subnet %s through NAT",
			       step_get(c, "subnet.id"));
}

void subnet_route_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "Resource.AlreadyAssociated") ||
	    answer_is(a, "InvalidSubnetID.NotFound"))
		step_wait(c, 3, "the routes of %s to be checked",
			  step_get(c, "subnet.id"));
	else if (!a->ok)
		step_fail_answer(c, a, "the subnet %s could not be routed",
				 step_get(c, "subnet.id"));
	else
		step_advance(c);
}
