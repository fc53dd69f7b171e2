#include "core/domain/network/given_network.h"

#include "core/base/listing.h"
#include "core/domain/network/closed_network.h"
#include "core/domain/network/route.h"
#include "core/domain/network/vpc_dns.h"
#include "core/domain/offer/wish.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

/*
 * EKS wants six free addresses in each subnet of a control plane. Of less than the
 * sixteen that it advises subnet_role.c warns.
 * https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
 */
enum { PLANE_ADDRESSES_MIN = 6 };

/* --- what is looked at ----------------------------------------------------------- */

/* Nodes are asked for, whose subnet is given or made. */
static bool has_nodes(const struct step_ctx *c)
{
	return step_input(c, "instance_type") || json_at(c->input, "instance_types");
}

/* The caller's, or that of the group that gets more of them. */
static const char *nodes_subnet(const struct step_ctx *c)
{
	return wish_str(c, "subnet_id");
}

static json_t *given_subnets(struct step_ctx *c)
{
	json_t *ids = json_new_list(c->arena);

	texts_add(ids, json_at(c->input, "subnet_ids"));
	if (nodes_subnet(c))
		texts_add(ids, json_packf(c->arena, "[s]", nodes_subnet(c)));
	return ids;
}

static const json_t *subnet_of(const struct step_ctx *c, const char *id)
{
	return json_find(json_at(saw(c, "subnets"), "Subnets"), "SubnetId", id);
}

/* NULL: it is made by us, or nothing tells it. */
static const char *vpc_of(const struct step_ctx *c)
{
	const char *vpc = step_input(c, "vpc_id");

	if (!vpc)
		vpc = json_str_at(c->data, "eks.vpc_id");
	if (!vpc)
		vpc = json_str_at(saw(c, "eks"), "cluster.resourcesVpcConfig.vpcId");
	if (!vpc)
		vpc = json_str_at(subnet_of(c, nodes_subnet(c)), "VpcId");
	return vpc;
}

static const json_t *table_of(const struct step_ctx *c, const char *subnet)
{
	return route_table_used(json_at(saw(c, "tables"), "RouteTables"), subnet);
}

/* Endpoints do not matter then. */
static bool leads_out(const struct step_ctx *c, const char *subnet)
{
	return route_way(table_of(c, subnet), NULL) == ROUTE_OUT;
}

bool given_network_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *subnets = given_subnets(c);
	json_t *in_vpc;

	if ((!step_input(c, "vpc_id") && !json_at(c->data, "eks.vpc_id") &&
	     read_aws(c, x, "eks", AWS_EKS_DescribeCluster,
		      json_packf(c->arena, "{s:s}", "name", eks_name(c)))) ||
	    (json_array_size(subnets) > 0 &&
	     read_all(c, x, "subnets", AWS_EC2_DescribeSubnets,
		      json_packf(c->arena, "{s:O}", "SubnetIds", subnets))))
		return true;
	if (!vpc_of(c))
		return false;
	in_vpc = json_packf(c->arena, "{s:[{s:s, s:[s]}]}", "Filters", "Name", "vpc-id",
			    "Values", vpc_of(c));
	return vpc_dns_read(c, x, vpc_of(c)) ||
	       read_all(c, x, "tables", AWS_EC2_DescribeRouteTables, in_vpc) ||
	       (nodes_subnet(c) && !leads_out(c, nodes_subnet(c)) &&
		read_all(c, x, "endpoints", AWS_EC2_DescribeVpcEndpoints, in_vpc));
}

/* --- faults ------------------------------------------------------------------------ */

struct fault {
	enum errc code;
	const char *detail, *field, *seen, *expected, *fix;
};

enum { FAULTS_MAX = 12 };

struct faults {
	struct fault v[FAULTS_MAX];
	size_t n;
	size_t more; /* which there is no room for */
};

static void add(struct faults *all, struct fault one)
{
	if (all->n < FAULTS_MAX)
		all->v[all->n++] = one;
	else
		all->more++;
}

static void tell(struct step_ctx *c, const struct faults *all)
{
	struct listing details = listing_new(c->arena, "; ", LISTING_LONG);
	struct listing fixes = listing_new(c->arena, " ", LISTING_LONG);
	struct err *e;

	if (all->n == 0)
		return;
	for (size_t i = 0; i < all->n; i++) {
		listing_add(&details, "%s", all->v[i].detail);
		listing_add(&fixes, "%s", all->v[i].fix);
	}
	details.n += all->more;
	details.more += all->more;
	e = step_fail(c, all->v[0].code, "%s", listing_text(&details));
	step_certain(c);
	err_field(e, all->v[0].field, all->v[0].seen, all->v[0].expected);
	err_fix(e, "%s", listing_text(&fixes));
	for (size_t i = 0; i < all->n && all->n > 1; i++)
		err_because(e, "check_network", errc_info(all->v[i].code)->slug,
			    all->v[i].detail, NULL);
}

/* Whether a read was answered; else it is said what is therefore not known. */
static bool told(struct step_ctx *c, const char *key, const char *what)
{
	if (saw_ok(c, key))
		return true;
	step_not_known(c, "network", "%s (%s)", what, saw_why(c, key));
	return false;
}

/* --- the VPC -------------------------------------------------------------------------
 */

static void judge_dns(struct step_ctx *c, struct faults *all)
{
	const char *vpc = vpc_of(c);

	for (const struct vpc_switch *s = vpc_switches; s->key; s++) {
		if (vpc_switch_is_off(c, s))
			add(all,
			    (struct fault){
				    .code = ERR_STATE_CONFLICT,
				    .detail = arena_printf(c->arena,
							   "%s of the VPC %s %s off",
							   s->words, vpc, s->verb),
				    .field = "/vpc_id",
				    .seen = vpc,
				    .expected =
					    "a VPC with DNS support and DNS hostnames",
				    .fix = arena_printf(c->arena, "%s.",
							vpc_switch_fix(c, s, vpc))});
		else
			(void)told(c, s->key,
				   arena_printf(c->arena, "whether %s of %s %s on",
						s->words, vpc, s->verb));
	}
}

/* --- subnets ------------------------------------------------------------------------ */

static const char *field_of(const struct step_ctx *c, const char *subnet)
{
	return streq(subnet, nodes_subnet(c)) ? "/subnet_id" : "/subnet_ids";
}

/* A cluster that is not there yet and gets a VPC of its own has no given subnet in it. */
static bool gets_own_vpc(const struct step_ctx *c)
{
	return nodes_subnet(c) && !step_input(c, "vpc_id") &&
	       !step_is_coming(c, "cloudformation:CreateStack", eks_name(c)) &&
	       !json_at(c->data, "eks.vpc_id") && saw_missing(c, "eks");
}

static void judge_place(struct step_ctx *c, struct faults *all, const char *id)
{
	const char *in = json_str_at(subnet_of(c, id), "VpcId");

	if (gets_own_vpc(c) && in)
		add(all,
		    (struct fault){
			    .code = ERR_INVALID_INPUT,
			    .detail = arena_printf(
				    c->arena,
				    "the subnet %s is in the VPC %s, but the cluster %s gets its own VPC",
				    id, in, eks_name(c)),
			    .field = "/vpc_id",
			    .seen = "",
			    .expected = in,
			    .fix = arena_printf(
				    c->arena,
				    "Set vpc_id to %s and subnet_ids to two of its subnets for the control plane, or omit subnet_id.",
				    in)});
	else if (in && vpc_of(c) && !streq(in, vpc_of(c)))
		add(all,
		    (struct fault){
			    .code = ERR_INVALID_INPUT,
			    .detail = arena_printf(c->arena,
						   "the subnet %s is in the VPC %s, the "
						   "cluster is in %s",
						   id, in, vpc_of(c)),
			    .field = field_of(c, id),
			    .seen = id,
			    .expected =
				    arena_printf(c->arena, "a subnet of %s", vpc_of(c)),
			    .fix = arena_printf(c->arena, "Use a subnet of %s.",
						vpc_of(c))});
}

static void judge_addresses(struct step_ctx *c, struct faults *all, const char *id)
{
	const json_t *subnet = subnet_of(c, id);
	const int64_t free = json_int_or(subnet, "AvailableIpAddressCount", -1);

	if (!subnet)
		return;
	if (free < 0)
		step_not_known(c, "network", "how many addresses are free in %s", id);
	else if (free < PLANE_ADDRESSES_MIN)
		add(all,
		    (struct fault){
			    .code = ERR_QUOTA,
			    .detail = arena_printf(
				    c->arena,
				    "%s has %lld free addresses, and EKS needs %d in "
				    "each subnet of a control plane",
				    id, (long long)free, PLANE_ADDRESSES_MIN),
			    .field = "/subnet_ids",
			    .seen = id,
			    .expected = "subnets with 16 free addresses or more",
			    .fix = "Free addresses in it, or use a larger subnet, at least /27."});
}

/* --- ways ------------------------------------------------------------------------------
 */

static const char *no_way_out(struct step_ctx *c, const json_t *table)
{
	const char *target;

	switch (route_way(table, &target)) {
	case ROUTE_BLACKHOLE:
		return arena_printf(c->arena,
				    "its default route leads to %s, which no longer "
				    "exists",
				    target ? target : "nothing");
	case ROUTE_INTERNET:
		return arena_printf(c->arena,
				    "its default route leads to the internet gateway %s, "
				    "and nodes have no public address",
				    target);
	case ROUTE_PEERING:
		return arena_printf(
			c->arena,
			"its default route leads to the peering %s, which carries no traffic beyond the other VPC",
			target);
	case ROUTE_NONE:
	case ROUTE_OUT:
		break;
	}
	return "it has no default route";
}

static void judge_way(struct step_ctx *c, struct faults *all, const char *id)
{
	const json_t *table = table_of(c, id);
	const char *rtb = json_str_or(table, "RouteTableId", "(none)");
	const json_t *endpoints = json_at(saw(c, "endpoints"), "VpcEndpoints");
	const char *why;

	if (!told(c, "tables",
		  arena_printf(c->arena, "whether nodes in %s have a way out", id)) ||
	    route_way(table, NULL) == ROUTE_OUT)
		return;
	why = no_way_out(c, table);
	if (!told(c, "endpoints",
		  arena_printf(
			  c->arena,
			  "whether nodes in %s reach S3 by an endpoint: of the route "
			  "table %s, %s",
			  id, rtb, why)))
		return;
	if (closed_network_reaches_s3(c, endpoints, rtb)) {
		closed_network_warn(c, endpoints, id);
		return;
	}
	add(all,
	    (struct fault){
		    .code = ERR_STATE_CONFLICT,
		    .detail = arena_printf(c->arena,
					   "nodes in %s reach neither S3 nor AWS: of "
					   "the route table %s, %s",
					   id, rtb, why),
		    .field = "/subnet_id",
		    .seen = id,
		    .expected = "a private subnet with a way out",
		    .fix = arena_printf(c->arena,
					"Route 0.0.0.0/0 of %s to a NAT gateway, or "
					"add an S3 gateway endpoint associated with "
					"it.",
					rtb)});
}

/* The subnet that we make for nodes is routed by a table of the VPC. */
static void judge_nat(struct step_ctx *c, struct faults *all)
{
	size_t i;
	json_t *table;

	if (!told(c, "tables",
		  arena_printf(c->arena, "whether a route table of %s leads to NAT",
			       vpc_of(c))))
		return;
	json_array_foreach(json_at(saw(c, "tables"), "RouteTables"), i, table)
		if (route_is_nat(table))
			return;
	add(all,
	    (struct fault){
		    .code = ERR_STATE_CONFLICT,
		    .detail = arena_printf(c->arena,
					   "No route table of %s leads to a NAT gateway",
					   vpc_of(c)),
		    .field = "/vpc_id",
		    .seen = vpc_of(c),
		    .expected = "a VPC with a NAT gateway",
		    .fix = "Nodes in private subnets reach AWS through NAT. Add a NAT "
			   "gateway and a route 0.0.0.0/0 to it, or set subnet_id."});
}

/* --- all of it
 * -------------------------------------------------------------------------- */

static void judge_subnets(struct step_ctx *c, struct faults *all)
{
	const json_t *plane = json_at(c->input, "subnet_ids");
	json_t *ids = given_subnets(c), *id;
	size_t i;

	if (json_array_size(ids) == 0)
		return;
	if (saw_missing(c, "subnets")) {
		add(all, (struct fault){
				 .code = ERR_INVALID_INPUT,
				 .detail = arena_printf(
					 c->arena, "a given subnet does not exist: %s",
					 saw_message(c, "subnets")),
				 .field = json_array_size(plane) ? "/subnet_ids"
								 : "/subnet_id",
				 .seen = texts_named(c->arena, ids, NULL, LISTING_SHORT),
				 .expected = "subnets of the VPC",
				 .fix = "Use subnets that exist in this region."});
		return;
	}
	if (!told(c, "subnets",
		  arena_printf(c->arena, "whether %s can be used",
			       texts_named(c->arena, ids, NULL, LISTING_SHORT))))
		return;
	json_array_foreach(ids, i, id)
		judge_place(c, all, json_string_value(id));
	json_array_foreach(plane, i, id)
		judge_addresses(c, all, json_string_value(id));
}

void given_network_plan(struct step_ctx *c, struct exchange *x)
{
	struct faults all = {.n = 0};

	(void)x;
	judge_subnets(c, &all);
	if (vpc_of(c) && !gets_own_vpc(c)) {
		judge_dns(c, &all);
		if (nodes_subnet(c))
			judge_way(c, &all, nodes_subnet(c));
		else if (has_nodes(c))
			judge_nat(c, &all);
	}
	if (all.n == 0 && vpc_of(c))
		step_event(
			c, "network",
			json_pack("{s:s, s:s}", "vpc_id", vpc_of(c), "verdict", "fits"));
	tell(c, &all);
}
