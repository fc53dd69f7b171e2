#include "core/domain/hyperpod/subnet_room.h"

#include "core/domain/hyperpod/hyperpod.h"
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

/* How the cluster's CNI is told to take addresses. */
static bool takes_prefixes(const struct step_ctx *c)
{
	const json_t *env = json_at(saw(c, "cni"), "spec.template.spec.containers.0.env");

	return streq(
		json_str_at(json_find(env, "name", "ENABLE_PREFIX_DELEGATION"), "value"),
		"true");
}

/* Of the hungriest type: any of them may come. */
static int64_t addresses_each(struct step_ctx *c)
{
	const json_t *types = json_at(saw(c, "type"), "InstanceTypes");
	const char *mode = wish_str(c, "interface_mode");
	int64_t most = 0;
	size_t i;
	json_t *type;

	json_array_foreach(types, i, type) {
		const int64_t n = node_addresses(type, mode, takes_prefixes(c));

		most = n > most ? n : most;
	}
	return most > 0 ? most : node_addresses(NULL, mode, takes_prefixes(c));
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
	       (room_subnet(c) && hyperpod_read(c, x)) ||
	       (json_at(c->data, "eks.endpoint") &&
		read_kube(c, x, "cni",
			  &(struct kube_request){.verb = KUBE_GET,
						 .api = "apps/v1",
						 .plural = "daemonsets",
						 .ns = "kube-system",
						 .name = "aws-node"}));
}

bool given_room_observe(struct step_ctx *c, struct exchange *x)
{
	return room_subnet(c) && subnet_room_observe(c, x);
}

/* What the reckoning leaves out when it could not be read. */
static void say_unread(struct step_ctx *c)
{
	if (room_subnet(c) && saw_refused(c, "hyperpod"))
		step_not_known(
			c, "addresses",
			"how many addresses of %s are reserved for nodes that are starting (%s)",
			room_subnet(c), saw_why(c, "hyperpod"));
	if (saw_missing(c, "cni"))
		step_not_known(
			c, "addresses",
			"how this cluster's network plugin assigns addresses: it has no DaemonSet kube-system/aws-node");
	if (saw_refused(c, "cni"))
		step_not_known(c, "addresses",
			       "whether the VPC CNI uses prefix delegation (%s)",
			       saw_why(c, "cni"));
}

static void judge(struct step_ctx *c, bool keep)
{
	const int64_t each = addresses_each(c);
	const int64_t need = each * wish_more(c);
	const int64_t owed = each * promised(c) + reserved(c);
	const json_t *subnet = json_at(saw(c, "subnet"), "Subnets.0");
	/* EC2 keeps five addresses of every subnet; ours is new when it has no id. */
	const int64_t fresh = (1 << (32 - COMPUTE_SUBNET_BITS)) - 5;
	const int64_t free = json_int_or(subnet, "AvailableIpAddressCount",
					 room_subnet(c) ? -1 : fresh);
	const int64_t left = free - owed;
	json_t *found;

	say_unread(c);
	if (free < 0) {
		step_not_known(c, "addresses",
			       "whether %lld addresses are free in the subnet %s",
			       (long long)need, room_subnet(c));
		return;
	}
	if (json_len_at(saw(c, "type"), "InstanceTypes") < json_array_size(wish_types(c)))
		step_not_known(c, "addresses",
			       "the number of addresses that a node of %s needs: %lld "
			       "are assumed",
			       wish_types_text(c), (long long)each);
	if (left < need) {
		struct err *e = step_fail(
			c, ERR_QUOTA,
			"The subnet %s has %lld free addresses, %s%lld are needed",
			room_subnet(c) ? room_subnet(c) : "that is made", (long long)free,
			owed ? arena_printf(
				       c->arena,
				       "%lld of them are reserved for nodes that are "
				       "starting or for the control plane, ",
				       (long long)owed)
			     : "",
			(long long)need);
		err_field(e, "/count",
			  arena_printf(c->arena, "%lld", (long long)wish_more(c)),
			  arena_printf(c->arena,
				       "at most %lld nodes of %lld addresses each",
				       (long long)(left > 0 ? left / each : 0),
				       (long long)each));
		err_fix(e, "Request fewer nodes, use interface mode efa-only, or use "
			   "another zone.");
		return;
	}
	found = json_pack("{s:I, s:I, s:I, s:I, s:I, s:s}", "each", (json_int_t)each,
			  "needed", (json_int_t)need, "free", (json_int_t)left,
			  "promised", (json_int_t)owed, "left", (json_int_t)(left - need),
			  "verdict", "fits");
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
