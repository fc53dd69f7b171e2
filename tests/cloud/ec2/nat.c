/* NAT gateways: pending, available, deleting, deleted but still shown. */
#include <string.h>

#include "tests/cloud/ec2/ops.h"
#include "tests/cloud/quotas.h"

enum { PENDING_MS = 60 * 1000, DELETING_MS = 45 * 1000, SHOWN_MS = 60 * 60 * 1000 };

static const struct kind_filter filters[] = {
	{"nat-gateway-id", "NatGatewayId"},
	{"state", "State"},
	{"subnet-id", "SubnetId"},
	{"vpc-id", "VpcId"},
	{NULL, NULL},
};

const struct ec2_kind kind_nat = {
	.table = "ec2.nat",
	.id_member = "NatGatewayId",
	.prefix = "nat-",
	.resource_type = "natgateway",
	.missing = "NatGatewayNotFound",
	.malformed = "NatGatewayMalformed",
	.missing_text = "NatGateway %s was not found",
	.ids_in = "NatGatewayIds",
	.filters_in = "Filter",
	.out = "NatGateways",
	.filters = filters,
};

static bool vpc_has_igw(struct cloud *c, const char *vpc_id)
{
	const char *id;
	json_t *igw;

	json_object_foreach(cloud_table(c, "ec2.igw"), id, igw)
		if (streq(json_str_at(igw, "Attachments.0.VpcId"), vpc_id))
			return true;
	return false;
}

/* What makes it end `failed` a while after it was accepted; NULL: nothing. */
static const char *doom(struct cloud_call *call, const char *vpc_id,
			const json_t *address, bool is_public)
{
	if (is_public && !vpc_has_igw(call->cloud, vpc_id))
		return "Gateway.NotAttached";
	if (is_public && json_object_get(address, "AssociationId"))
		return "Resource.AlreadyAssociated";
	return NULL;
}

static const char *take_interface(struct cloud_call *call, json_t *nat, json_t *address)
{
	const char *id = json_str_at(nat, "NatGatewayId");
	struct ec2_interface_spec spec = {
		.subnet_id = json_str_at(nat, "SubnetId"),
		.description =
			arena_printf(call->arena, "Interface for NAT Gateway %s", id),
		.type = "nat_gateway",
		.owner = id,
	};
	const char *eni = ec2_create_interface(call->cloud, call->arena, &spec);

	if (!eni)
		return "InsufficientFreeAddressesInSubnet";
	json_t *shown = json_pack(
		"{s:s, s:O, s:b, s:s}", "NetworkInterfaceId", eni, "PrivateIp",
		json_object_get(ec2_interface(call->cloud, eni), "PrivateIpAddress"),
		"IsPrimary", 1, "Status", "succeeded");

	if (address) {
		const char *assoc = cloud_id(call->cloud, call->arena, "eipassoc-", 17);

		json_put_str(address, "AssociationId", assoc);
		json_put_str(address, "NetworkInterfaceId", eni);
		json_object_set(address, "PrivateIpAddress",
				json_object_get(shown, "PrivateIp"));
		json_put_str(shown, "AllocationId", json_str_at(address, "AllocationId"));
		json_put_str(shown, "PublicIp", json_str_at(address, "PublicIp"));
		json_put_str(shown, "AssociationId", assoc);
	}
	json_array_append_new(json_object_get(nat, "NatGatewayAddresses"), shown);
	return NULL;
}

static size_t count_in_zone(struct cloud *c, const char *zone)
{
	const char *id;
	json_t *nat;
	size_t n = 0;

	json_object_foreach(cloud_table(c, "ec2.nat"), id, nat) {
		const json_t *s = ec2_subnet(c, json_str_at(nat, "SubnetId"));

		n += streq(json_str_at(s, "AvailabilityZone"), zone) &&
		     !streq(json_str_at(nat, "State"), "deleted");
	}
	return n;
}

static bool check_input(struct cloud_call *call, json_t **ret_subnet,
			json_t **ret_address)
{
	const char *address_id = json_str_at(call->in, "AllocationId");
	bool is_public =
		streq(json_str_or(call->in, "ConnectivityType", "public"), "public");
	json_t *tags;

	*ret_address = NULL;
	if (streq(json_str_at(call->in, "AvailabilityMode"), "regional"))
		return cloud_fault(call, "UnsupportedOperation",
				   "Regional NAT gateways are not played here");
	*ret_subnet = ec2_require(call, &kind_subnet, json_str_at(call->in, "SubnetId"));
	if (!*ret_subnet || !ec2_spec_tags(call, "natgateway", &tags))
		return false;
	if (is_public && !address_id)
		return cloud_fault(call, "MissingParameter",
				   "The request must contain the parameter AllocationId");
	if (!is_public && address_id)
		return cloud_fault(call, "InvalidParameter",
				   "AllocationId cannot be specified for a private NAT "
				   "gateway");
	if (address_id) {
		*ret_address = ec2_require(call, &kind_address, address_id);
		if (!*ret_address)
			return false;
	}
	if (count_in_zone(call->cloud, json_str_at(*ret_subnet, "AvailabilityZone")) >=
	    (size_t)quota_value(call->cloud, "vpc", "L-FE5A380F"))
		return cloud_fault(call, "NatGatewayLimitExceeded",
				   "The maximum number of NAT gateways in this zone has "
				   "been reached.");
	return true;
}

bool ec2_create_nat(struct cloud_call *call, json_t **ret_out)
{
	const char *kind = json_str_or(call->in, "ConnectivityType", "public"), *id;
	json_t *subnet = NULL, *address = NULL;
	bool seen;

	if (!ec2_replayed(call, ret_out, &seen))
		return false;
	if (seen)
		return true;
	if (!check_input(call, &subnet, &address))
		return false;
	const char *vpc_id = json_str_at(subnet, "VpcId");
	const char *failure = doom(call, vpc_id, address, streq(kind, "public"));
	json_t *nat =
		ec2_add(call, &kind_nat,
			json_pack("{s:o, s:s, s:O, s:s, s:s, s:s, s:[]}", "CreateTime",
				  cloud_seconds(call->now_ms), "State", "pending",
				  "SubnetId", json_object_get(subnet, "SubnetId"),
				  "VpcId", vpc_id, "ConnectivityType", kind,
				  "AvailabilityMode", "zonal", "NatGatewayAddresses"),
			&id);

	if (!failure)
		failure = take_interface(call, nat, address);
	if (failure)
		json_put_str(nat, "_failure", failure);
	ec2_later(call->cloud, nat, "State", failure ? "failed" : "available",
		  PENDING_MS);
	json_t *shown = ec2_public(call->arena, nat);

	*ret_out = json_packf(call->arena, "{s:O, s:O*}", "NatGateway", shown,
			      "ClientToken", json_object_get(call->in, "ClientToken"));
	ec2_remember(call, *ret_out);
	return true;
}

bool ec2_describe_nats(struct cloud_call *call, json_t **ret_out)
{
	return ec2_describe(call, &kind_nat, ret_out);
}

bool ec2_delete_nat(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "NatGatewayId");
	json_t *nat = ec2_require(call, &kind_nat, id);
	const char *state = json_str_at(nat, "State");

	if (!nat)
		return false;
	*ret_out = json_packf(call->arena, "{s:s}", "NatGatewayId", id);
	if (streq(state, "deleting") || streq(state, "deleted"))
		return true;
	json_put_str(nat, "State", "deleting");
	ec2_later(call->cloud, nat, "State", "deleted", DELETING_MS);
	ec2_changed(call, &kind_nat, id);
	return true;
}

/* The interface goes and the address is free again when it is deleted. */
static void let_go(struct cloud *c, json_t *nat)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(nat, "NatGatewayAddresses"), i, one) {
		json_t *address =
			cloud_get(c, "ec2.address", json_str_at(one, "AllocationId"));

		json_object_del(address, "AssociationId");
		json_object_del(address, "NetworkInterfaceId");
		json_object_del(address, "PrivateIpAddress");
	}
	ec2_delete_interfaces_of(c, json_str_at(nat, "NatGatewayId"));
}

void nat_advance(struct cloud *c, int64_t now_ms)
{
	json_t *table = cloud_table(c, "ec2.nat"), *nat;
	const char *id;
	void *next;

	json_object_foreach_safe(table, next, id, nat) {
		const char *state = json_str_at(nat, "State");

		if (streq(state, "failed") && !json_object_get(nat, "FailureCode")) {
			json_put_str(nat, "FailureCode", json_str_at(nat, "_failure"));
			json_put_str(
				nat, "FailureMessage",
				streq(json_str_at(nat, "_failure"), "Gateway.NotAttached")
					? "Network has no Internet gateway attached"
					: "Elastic IP address or addresses not usable");
		}
		if (!streq(state, "deleted"))
			continue;
		if (!json_object_get(nat, "_gone_ms")) {
			let_go(c, nat);
			json_object_set_new(nat, "DeleteTime", cloud_seconds(now_ms));
			json_put_int(nat, "_gone_ms", now_ms + cloud_ms(c, SHOWN_MS));
		} else if (now_ms >= json_int_or(nat, "_gone_ms", 0)) {
			json_object_del(table, id);
		}
	}
}
