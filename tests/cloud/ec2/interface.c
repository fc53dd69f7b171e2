/* Network interfaces: of NAT gateways, endpoints, control planes and nodes. */
#include <string.h>

#include "tests/cloud/ec2/ops.h"

/* The only kind whose tags have another name. */
static json_t *view(struct cloud *c, struct arena *a, const json_t *eni)
{
	json_t *copy = ec2_public(a, eni);

	(void)c;
	json_object_set(copy, "TagSet", json_object_get(eni, "Tags"));
	json_object_del(copy, "Tags");
	return copy;
}

static const struct kind_filter filters[] = {
	{"network-interface-id", "NetworkInterfaceId"},
	{"vpc-id", "VpcId"},
	{"subnet-id", "SubnetId"},
	{"group-id", "Groups.*.GroupId"},
	{"group-name", "Groups.*.GroupName"},
	{"description", "Description"},
	{"status", "Status"},
	{"interface-type", "InterfaceType"},
	{"availability-zone", "AvailabilityZone"},
	{"attachment.instance-id", "Attachment.InstanceId"},
	{"attachment.status", "Attachment.Status"},
	{"attachment.instance-owner-id", "Attachment.InstanceOwnerId"},
	{"private-ip-address", "PrivateIpAddress"},
	{"addresses.private-ip-address", "PrivateIpAddresses.*.PrivateIpAddress"},
	{"requester-managed", "RequesterManaged"},
	{"requester-id", "RequesterId"},
	{"owner-id", "OwnerId"},
	{NULL, NULL},
};

const struct ec2_kind kind_interface = {
	.table = "ec2.interface",
	.id_member = "NetworkInterfaceId",
	.prefix = "eni-",
	.resource_type = "network-interface",
	.missing = "InvalidNetworkInterfaceID.NotFound",
	.malformed = "InvalidNetworkInterfaceId.Malformed",
	.missing_text = "The networkInterface ID '%s' does not exist",
	.ids_in = "NetworkInterfaceIds",
	.filters_in = "Filters",
	.out = "NetworkInterfaces",
	.filters = filters,
	.view = view,
};

json_t *ec2_interface(struct cloud *c, const char *id)
{
	return cloud_get(c, "ec2.interface", id);
}

/* Every address in use in the subnet, as a set. */
static json_t *used_addresses(struct cloud *c, struct arena *a, const char *subnet_id)
{
	json_t *used = json_new_object(a), *eni, *one;
	const char *id;
	size_t i;

	json_object_foreach(cloud_table(c, "ec2.interface"), id, eni) {
		if (!streq(json_str_at(eni, "SubnetId"), subnet_id))
			continue;
		json_array_foreach(json_object_get(eni, "PrivateIpAddresses"), i, one)
			json_object_set_new(used, json_str_at(one, "PrivateIpAddress"),
					    json_true());
	}
	return used;
}

static json_t *take_addresses(struct cloud *c, struct arena *a, const json_t *subnet,
			      int n)
{
	json_t *used = used_addresses(c, a, json_str_at(subnet, "SubnetId"));
	json_t *list = json_new_list(a);
	struct cidr block;

	if (!ec2_cidr_parse(json_str_at(subnet, "CidrBlock"), &block))
		return NULL;
	uint32_t last = block.net + (uint32_t)(((uint64_t)1 << (32 - block.bits)) - 2);

	for (uint32_t ip = block.net + 4; ip <= last && n > 0; ip++) {
		const char *text = ip_text(a, ip);

		if (json_object_get(used, text))
			continue;
		json_array_append_new(list, json_pack("{s:b, s:s}", "Primary",
						      json_array_size(list) == 0,
						      "PrivateIpAddress", text));
		n--;
	}
	return n == 0 ? list : NULL;
}

static json_t *group_list(struct cloud *c, struct arena *a, const json_t *ids,
			  const char *vpc_id)
{
	json_t *list = json_new_list(a), *one, *group;
	const char *id;
	size_t i;

	json_array_foreach(ids, i, one) {
		group = ec2_group(c, json_string_value(one));
		if (group)
			json_array_append_new(
				list,
				json_pack("{s:O, s:O}", "GroupId",
					  json_object_get(group, "GroupId"), "GroupName",
					  json_object_get(group, "GroupName")));
	}
	if (json_array_size(list) > 0)
		return list;
	json_object_foreach(cloud_table(c, "ec2.group"), id, group)
		if (streq(json_str_at(group, "VpcId"), vpc_id) &&
		    streq(json_str_at(group, "GroupName"), "default"))
			json_array_append_new(list, json_pack("{s:s, s:s}", "GroupId", id,
							      "GroupName", "default"));
	return list;
}

const char *ec2_create_interface(struct cloud *c, struct arena *a,
				 const struct ec2_interface_spec *spec)
{
	const json_t *subnet = ec2_subnet(c, spec->subnet_id);
	json_t *ips = subnet ? take_addresses(c, a, subnet,
					      spec->addresses > 0 ? spec->addresses : 1)
			     : NULL;
	const char *id = cloud_id(c, a, "eni-", 17);

	if (!ips)
		return NULL;
	const char *vpc_id = json_str_at(subnet, "VpcId");
	json_t *eni = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:O, s:O, s:b, s:[], "
		"s:s, s:b}",
		"NetworkInterfaceId", id, "SubnetId", spec->subnet_id, "VpcId", vpc_id,
		"AvailabilityZone", json_str_at(subnet, "AvailabilityZone"),
		"Description", spec->description ? spec->description : "",
		"InterfaceType", spec->type ? spec->type : "interface", "OwnerId",
		cloud_opts(c)->account, "RequesterManaged", 1, "Status", "in-use",
		"PrivateIpAddress", json_str_at(ips, "0.PrivateIpAddress"),
		"PrivateIpAddresses", ips, "Groups",
		group_list(c, a, spec->groups, vpc_id), "SourceDestCheck", 1, "Tags",
		"_owner", spec->owner ? spec->owner : "", "_can_be_deleted",
		spec->can_be_deleted);

	json_object_set_new(
		eni, "Attachment",
		json_pack("{s:s, s:s, s:s, s:i, s:b, s:s*}", "AttachmentId",
			  cloud_id(c, a, "eni-attach-", 17), "Status", "attached",
			  "InstanceOwnerId",
			  spec->instance_id ? cloud_opts(c)->account : "amazon-aws",
			  "DeviceIndex", 1, "DeleteOnTermination", 0, "InstanceId",
			  spec->instance_id));
	cloud_put(c, "ec2.interface", id, eni);
	cloud_effect(c, "ec2.interface", id, "create");
	return id;
}

void ec2_delete_interface(struct cloud *c, const char *id)
{
	if (!ec2_interface(c, id))
		return;
	cloud_effect(c, "ec2.interface", id, "delete");
	cloud_delete(c, "ec2.interface", id);
}

size_t ec2_delete_interfaces_of(struct cloud *c, const char *owner_prefix)
{
	json_t *table = cloud_table(c, "ec2.interface"), *eni;
	const char *id;
	void *next;
	size_t n = 0;

	json_object_foreach_safe(table, next, id, eni)
		if (str_starts(json_str_at(eni, "_owner"), owner_prefix)) {
			cloud_effect(c, "ec2.interface", id, "delete");
			json_object_del(table, id);
			n++;
		}
	return n;
}

bool ec2_describe_interfaces(struct cloud_call *call, json_t **ret_out)
{
	return ec2_describe(call, &kind_interface, ret_out);
}

bool ec2_delete_interface_op(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "NetworkInterfaceId");
	json_t *eni = ec2_require(call, &kind_interface, id);

	(void)ret_out;
	if (!eni)
		return false;
	if (!json_bool_or(eni, "_can_be_deleted", false))
		return cloud_fault(call, "InvalidParameterValue",
				   "Network interface '%s' is currently in use.", id);
	return ec2_remove(call, &kind_interface, id);
}
