/* Security groups. Their rules are objects of their own: rule.c. */
#include <string.h>

#include "tests/cloud/ec2/rule.h"

/* The IpPermissions list of a group, folded from its rules. */
static json_t *permissions(struct cloud *c, const char *group_id, bool egress)
{
	json_t *list = json_array(), *rule;
	const char *id;

	json_object_foreach(cloud_table(c, "ec2.rule"), id, rule)
		if (streq(json_str_at(rule, "GroupId"), group_id) &&
		    json_bool_or(rule, "IsEgress", false) == egress)
			rule_fold(c, list, rule);
	return list;
}

static json_t *view(struct cloud *c, struct arena *a, const json_t *group)
{
	const char *id = json_str_at(group, "GroupId");
	json_t *copy = ec2_public(a, group);

	json_object_set_new(copy, "IpPermissions", permissions(c, id, false));
	json_object_set_new(copy, "IpPermissionsEgress", permissions(c, id, true));
	return copy;
}

static const struct kind_filter filters[] = {
	{"group-id", "GroupId"},
	{"group-name", "GroupName"},
	{"description", "Description"},
	{"owner-id", "OwnerId"},
	{"vpc-id", "VpcId"},
	{"ip-permission.group-id", "IpPermissions.*.UserIdGroupPairs.*.GroupId"},
	{"ip-permission.cidr", "IpPermissions.*.IpRanges.*.CidrIp"},
	{"ip-permission.protocol", "IpPermissions.*.IpProtocol"},
	{"egress.ip-permission.group-id",
	 "IpPermissionsEgress.*.UserIdGroupPairs.*.GroupId"},
	{"egress.ip-permission.cidr", "IpPermissionsEgress.*.IpRanges.*.CidrIp"},
	{NULL, NULL},
};

const struct ec2_kind kind_group = {
	.table = "ec2.group",
	.id_member = "GroupId",
	.prefix = "sg-",
	.resource_type = "security-group",
	.missing = "InvalidGroup.NotFound",
	.malformed = "InvalidGroupId.Malformed",
	.missing_text = "The security group '%s' does not exist",
	.ids_in = "GroupIds",
	.filters_in = "Filters",
	.out = "SecurityGroups",
	.filters = filters,
	.view = view,
};

json_t *ec2_group(struct cloud *c, const char *id)
{
	return cloud_get(c, "ec2.group", id);
}

json_t *group_new(struct cloud *c, struct arena *a, const char *vpc_id, const char *name,
		  const char *description, const json_t *tags, const char **ret_id)
{
	const char *id = cloud_id(c, a, "sg-", 17), *account = cloud_opts(c)->account;
	json_t *group = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "GroupId", id, "GroupName", name,
		"Description", description, "VpcId", vpc_id, "OwnerId", account,
		"SecurityGroupArn",
		cloud_arn(c, a, "ec2", arena_printf(a, "security-group/%s", id)), "Tags",
		tags ? json_deep_copy(tags) : json_array());

	cloud_put(c, "ec2.group", id, group);
	/* Everything may leave; into the default group, only its own members. */
	rule_add(
		c, a, id, true,
		json_packf(a, "{s:s, s:s}", "IpProtocol", "-1", "CidrIpv4", "0.0.0.0/0"));
	if (streq(name, "default"))
		rule_add(c, a, id, false, rule_to_group(c, a, id));
	*ret_id = id;
	return group;
}

const char *ec2_create_group(struct cloud *c, struct arena *a, const char *vpc_id,
			     const char *name, const char *description,
			     const json_t *tags)
{
	const char *id;

	group_new(c, a, vpc_id, name, description, tags, &id);
	rule_add(c, a, id, false, rule_to_group(c, a, id));
	cloud_effect(c, "ec2.group", id, "create");
	return id;
}

void ec2_delete_group(struct cloud *c, const char *id)
{
	json_t *rules = cloud_table(c, "ec2.rule"), *rule;
	const char *rule_id;
	void *next;

	json_object_foreach_safe(rules, next, rule_id, rule)
		if (streq(json_str_at(rule, "GroupId"), id))
			json_object_del(rules, rule_id);
	cloud_effect(c, "ec2.group", id, "delete");
	cloud_delete(c, "ec2.group", id);
}

void ec2_allow_group(struct cloud *c, struct arena *a, const char *id, const char *from)
{
	rule_add(c, a, id, false, rule_to_group(c, a, from));
}

void ec2_forget_group(struct cloud *c, const char *id)
{
	json_t *rules = cloud_table(c, "ec2.rule"), *rule;
	const char *rule_id;
	void *next;

	json_object_foreach_safe(rules, next, rule_id, rule)
		if (streq(json_str_at(rule, "ReferencedGroupInfo.GroupId"), id) &&
		    !streq(json_str_at(rule, "GroupId"), id))
			json_object_del(rules, rule_id);
}

bool ec2_create_group_op(struct cloud_call *call, json_t **ret_out)
{
	const char *name = json_str_at(call->in, "GroupName");
	const char *vpc_id = json_str_at(call->in, "VpcId"), *id;
	json_t *other, *tags;

	if (!vpc_id)
		return cloud_fault(call, "VPCIdNotSpecified",
				   "No default VPC for this user");
	if (!ec2_require(call, &kind_vpc, vpc_id) ||
	    !ec2_spec_tags(call, "security-group", &tags))
		return false;
	if (str_starts(name, "sg-"))
		return cloud_fault(call, "InvalidParameterValue",
				   "Value (%s) for parameter groupName is invalid. Group "
				   "names may not be in the format sg-*.",
				   name);
	json_object_foreach(cloud_table(call->cloud, "ec2.group"), id, other)
		if (streq(json_str_at(other, "VpcId"), vpc_id) &&
		    streq(json_str_at(other, "GroupName"), name))
			return cloud_fault(
				call, "InvalidGroup.Duplicate",
				"The security group '%s' already exists for VPC "
				"'%s'",
				name, vpc_id);
	json_t *group = group_new(call->cloud, call->arena, vpc_id, name,
				  json_str_or(call->in, "Description", ""), tags, &id);

	cloud_effect(call->cloud, "ec2.group", id, "create");
	*ret_out = json_packf(call->arena, "{s:s, s:O, s:O}", "GroupId", id, "Tags", tags,
			      "SecurityGroupArn",
			      json_object_get(group, "SecurityGroupArn"));
	return true;
}

bool ec2_describe_groups(struct cloud_call *call, json_t **ret_out)
{
	return ec2_describe(call, &kind_group, ret_out);
}

bool group_in_use(struct cloud *c, const char *id)
{
	const char *other;
	json_t *o;

	json_object_foreach(cloud_table(c, "ec2.interface"), other, o)
		if (json_find(json_object_get(o, "Groups"), "GroupId", id))
			return true;
	/* A rule of another group that names this one holds it too. */
	json_object_foreach(cloud_table(c, "ec2.rule"), other, o)
		if (streq(json_str_at(o, "ReferencedGroupInfo.GroupId"), id) &&
		    !streq(json_str_at(o, "GroupId"), id))
			return true;
	return false;
}

bool ec2_delete_group_op(struct cloud_call *call, json_t **ret_out)
{
	const char *id = json_str_at(call->in, "GroupId");
	json_t *group = ec2_require(call, &kind_group, id);

	if (!group)
		return false;
	if (streq(json_str_at(group, "GroupName"), "default"))
		return cloud_fault(
			call, "CannotDelete",
			"the specified group: \"%s\" name: \"default\" cannot be "
			"deleted by a user",
			id);
	if (group_in_use(call->cloud, id))
		return cloud_fault(call, "DependencyViolation",
				   "resource %s has a dependent object", id);
	ec2_delete_group(call->cloud, id);
	*ret_out = json_packf(call->arena, "{s:b, s:s}", "Return", 1, "GroupId", id);
	return true;
}
