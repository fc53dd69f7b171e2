#include "core/domain/hyperpod/subnet_room.h"

#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/network/cni.h"
#include "core/domain/network/compute_subnet.h"
#include "core/domain/offer/group_takes.h"
#include "core/domain/offer/wish.h"
#include "core/domain/step/read.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

/*
 * The VPC CNI fills the primary interface with addresses for pods; each
 * further EFA interface of mode `efa` takes one address, of mode `efa-only`
 * none. For ml.p5.48xlarge (32 EFA interfaces, 50 addresses each) that gives
 * 81, which is what users report.
 *
 * With prefix delegation each of these addresses is a /28 that it takes when the one
 * before is used up, and one ahead: for the 110 pods of a node eight of them.
 * https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
 */
enum { PREFIX_ADDRESSES = 16, PREFIXES_MAX = 8 };

int64_t node_addresses(const json_t *type, const char *interface_mode, bool prefixes)
{
	int64_t per_interface =
		json_int_or(type, "NetworkInfo.Ipv4AddressesPerInterface", 30);
	int64_t efa = json_int_or(type, "NetworkInfo.EfaInfo.MaximumEfaInterfaces", 0);

	if (prefixes)
		per_interface = 1 + PREFIX_ADDRESSES * (per_interface - 1 < PREFIXES_MAX
								? per_interface - 1
								: PREFIXES_MAX);
	if (efa > 1 && !streq(interface_mode, "efa-only"))
		return per_interface + efa - 1;
	return per_interface;
}

/* What the node takes itself; its pods the rest. */
static int64_t own_addresses(const json_t *type, const char *interface_mode)
{
	return node_addresses(type, interface_mode, false) -
	       node_addresses(type, "efa-only", false) + 1;
}

/* Which of a node's addresses. */
enum share { ALL, OF_NODE, OF_PODS };

static int64_t addresses_of(struct step_ctx *c, const json_t *type, enum share share)
{
	const char *mode = wish_str(c, "interface_mode");

	switch (share) {
	case OF_NODE:
		return own_addresses(type, mode);
	case OF_PODS:
		return node_addresses(type, "efa-only", cni_takes_prefixes(c));
	case ALL:
		break;
	}
	return node_addresses(type, mode, cni_takes_prefixes(c));
}

/* Of the hungriest type: any of them may come. */
static int64_t addresses_each(struct step_ctx *c, enum share share)
{
	const json_t *types = json_at(saw(c, "type"), "InstanceTypes");
	int64_t most = 0;
	size_t i;
	json_t *type;

	json_array_foreach(types, i, type) {
		const int64_t n = addresses_of(c, type, share);

		most = n > most ? n : most;
	}
	return most > 0 ? most : addresses_of(c, NULL, share);
}

/*
 * What is promised of the subnet: nodes of this cluster's groups that were asked for
 * and have not come, and what EKS needs for its own interfaces where the subnet is one
 * of the control plane's (five while it upgrades, sixteen as AWS advises).
 * https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
 */
enum { EKS_RESERVE = 16 };

/* Found or made; before that the caller's. NULL: we make it. */
static const char *room_subnet(const struct step_ctx *c)
{
	const char *id = json_str_at(c->data, "subnet.id");

	return id ? id : step_input(c, "subnet_id");
}

static int64_t reserved(struct step_ctx *c)
{
	const char *id = room_subnet(c);

	return texts_have(json_at(c->data, "eks.subnet_ids"), id) ||
			       texts_have(json_at(c->input, "subnet_ids"), id)
		       ? EKS_RESERVE
		       : 0;
}

static const char *subnet_of_group(const json_t *cluster, const json_t *group)
{
	const char *own = json_str_at(group, "OverrideVpcConfig.Subnets.0");

	return own ? own : json_str_at(cluster, "VpcConfig.Subnets.0");
}

static int64_t promised(struct step_ctx *c)
{
	const json_t *cluster = saw(c, "hyperpod");
	const char *group = step_input(c, "group_name");
	int64_t n = 0;
	size_t i;
	json_t *g;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
		if (streq(room_subnet(c), subnet_of_group(cluster, g)) &&
		    !(group && streq(json_str_at(g, "InstanceGroupName"), group)))
			n += group_is_owed(g);
	return n;
}

bool subnet_room_observe(struct step_ctx *c, struct exchange *x)
{
	return instance_type_read(c, x) ||
	       (room_subnet(c) &&
		read_aws(c, x, "subnet", AWS_EC2_DescribeSubnets,
			 json_packf(c->arena, "{s:[s]}", "SubnetIds", room_subnet(c)))) ||
	       (room_subnet(c) && hyperpod_read(c, x)) || cni_observe(c, x);
}

bool given_room_observe(struct step_ctx *c, struct exchange *x)
{
	return room_subnet(c) && subnet_room_observe(c, x);
}

/* What the reckoning leaves out when it could not be read. */
static void say_unread(struct step_ctx *c)
{
	if (room_subnet(c) && saw_refused(c, "hyperpod"))
		step_not_known(c, "addresses",
			       "how many addresses of %s are reserved for nodes that are "
			       "starting (%s)",
			       room_subnet(c), saw_why(c, "hyperpod"));
	cni_say_unread(c);
	cni_say_old(c);
	if (json_len_at(saw(c, "type"), "InstanceTypes") < json_array_size(wish_types(c)))
		step_not_known(c, "addresses",
			       "the number of addresses that a node of %s needs: %lld "
			       "are assumed",
			       wish_types_text(c), (long long)addresses_each(c, ALL));
}

/* A subnet, and what is asked of it. */
struct pool {
	const char *name; /* the subnet's id; NULL: it is made */
	const char *whose;
	int64_t free; /* < 0: not known */
	int64_t each, reserved;
};

/* NULL: it does not fit, or is not known. */
static json_t *judge_pool(struct step_ctx *c, const struct pool *p)
{
	const int64_t need = p->each * wish_more(c);
	const int64_t owed = p->each * promised(c) + p->reserved;
	const int64_t left = p->free - owed;
	struct err *e;

	if (p->free < 0) {
		step_not_known(c, "addresses",
			       "whether %lld addresses are free in the subnet %s",
			       (long long)need, p->name);
		return NULL;
	}
	if (left >= need)
		return json_pack("{s:s*, s:s*, s:I, s:I, s:I, s:I, s:I, s:s}",
				 "subnet_id", p->name, "of", p->whose, "each",
				 (json_int_t)p->each, "needed", (json_int_t)need, "free",
				 (json_int_t)left, "promised", (json_int_t)owed, "left",
				 (json_int_t)(left - need), "verdict", "fits");
	e = step_fail(c, ERR_QUOTA,
		      "The subnet %s%s has %lld free addresses, %s%lld are needed",
		      p->name ? p->name : "that is made",
		      p->whose ? arena_printf(c->arena, " of the %s", p->whose) : "",
		      (long long)p->free,
		      owed ? arena_printf(c->arena,
					  "%lld of them are reserved for nodes that are "
					  "starting or for the control plane, ",
					  (long long)owed)
			   : "",
		      (long long)need);
	err_field(e, "/count", arena_printf(c->arena, "%lld", (long long)wish_more(c)),
		  arena_printf(c->arena, "at most %lld nodes of %lld addresses each",
			       (long long)(left > 0 ? left / p->each : 0),
			       (long long)p->each));
	err_fix(e, "Request fewer nodes, use interface mode efa-only, or use another "
		   "zone.");
	return NULL;
}

static int64_t free_in(const json_t *subnet, int64_t otherwise)
{
	return json_int_or(subnet, "AvailableIpAddressCount", otherwise);
}

/* With custom networking: where the pods of new nodes are. NULL: in the nodes' subnet, or
 * not known, which is said. */
static const json_t *pods_elsewhere(struct step_ctx *c, const json_t *subnet)
{
	const char *zone = json_str_at(subnet, "AvailabilityZone"), *why = NULL;
	const char *id = json_str_at(subnet, "AvailabilityZoneId");
	const json_t *found;
	bool none;

	if (!zone)
		zone = json_str_at(c->data, "subnet.zone");
	if (!id)
		id = json_str_at(c->data, "subnet.zone_id");
	found = cni_pod_subnet(c, zone, id, &why, &none);
	if (none)
		step_warn(c,
			  "the VPC CNI uses custom networking, and %s %s: pods on the "
			  "new nodes get no addresses. Create an ENIConfig for the zone",
			  why, zone);
	else if (!found)
		step_not_known(c, "addresses",
			       "in which subnet the pods of the new nodes are, since the "
			       "VPC CNI uses custom networking (%s)",
			       why);
	return found;
}

static void judge(struct step_ctx *c, bool keep)
{
	const json_t *subnet = json_at(saw(c, "subnet"), "Subnets.0"), *pods = NULL;
	/* EC2 keeps five addresses of every subnet; ours is new when it has no id. */
	const int64_t fresh = (1 << (32 - COMPUTE_SUBNET_BITS)) - 5;
	struct pool p = {.name = room_subnet(c),
			 .free = free_in(subnet, room_subnet(c) ? -1 : fresh),
			 .reserved = reserved(c)};
	json_t *found;

	say_unread(c);
	if (cni_is_custom(c))
		pods = pods_elsewhere(c, subnet);
	if (pods && streq(json_str_at(pods, "SubnetId"), p.name))
		pods = NULL;
	p.each = addresses_each(c, cni_is_custom(c) && pods ? OF_NODE : ALL);
	found = judge_pool(c, &p);
	if (found && pods) {
		const struct pool q = {.name = json_str_at(pods, "SubnetId"),
				       .whose = "pods",
				       .free = free_in(pods, -1),
				       .each = addresses_each(c, OF_PODS)};
		json_t *second = judge_pool(c, &q);

		if (second)
			step_event(c, "addresses", second);
	}
	if (!found)
		return;
	if (c->verdict.kind != VERDICT_NONE) {
		json_decref(found);
		return;
	}
	if (keep)
		step_save(c, "addresses", json_incref(found));
	step_event(c, "addresses", found);
}

void subnet_room_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	/* Our own nodes hold theirs already when this is looked at again. */
	if (!json_at(c->data, "addresses"))
		judge(c, true);
}

void given_room_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	/* That it does not exist was said where it was looked for. */
	if (room_subnet(c) && !saw_missing(c, "subnet") && !json_at(c->data, "addresses"))
		judge(c, false);
}
