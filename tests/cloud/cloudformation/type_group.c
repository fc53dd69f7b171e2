/* Security groups and their rules. */
#include "tests/cloud/cloudformation/type.h"

#include "core/base/str.h"
#include "core/json/tree.h"

/* A rule of the template as an IpPermission of EC2. */
static json_t *permission(struct cfn_unit *u, const json_t *rule)
{
	json_t *p = json_packf(u->arena, "{s:O}", "IpProtocol",
			       json_object_get(rule, "IpProtocol"));
	const char *group = json_str_or(rule, "SourceSecurityGroupId",
					json_str_at(rule, "DestinationSecurityGroupId"));
	const char *text = json_str_at(rule, "Description");
	json_t *target =
		group ? json_pack("{s:s}", "GroupId", group)
		      : json_pack("{s:s}", "CidrIp", json_str_or(rule, "CidrIp", ""));

	json_put_str(target, "Description", text);
	json_object_set_new(p, group ? "UserIdGroupPairs" : "IpRanges",
			    json_pack("[o]", target));
	if (json_object_get(rule, "FromPort"))
		json_object_set(p, "FromPort", json_object_get(rule, "FromPort"));
	if (json_object_get(rule, "ToPort"))
		json_object_set(p, "ToPort", json_object_get(rule, "ToPort"));
	return p;
}

static bool change_rule(struct cfn_unit *u, const char *op, const char *group,
			const json_t *rule)
{
	return cfn_invoke(u, "ec2", op, NULL, "{s:s,s:[O]}", "GroupId", group,
			  "IpPermissions", permission(u, rule));
}

/* Given egress rules replace the default one. */
static bool group_egress(struct cfn_unit *u, const json_t *rules)
{
	json_t *any = json_packf(u->arena, "{s:s,s:s}", "IpProtocol", "-1", "CidrIp",
				 "0.0.0.0/0");
	size_t i;
	json_t *rule;

	if (!rules)
		return true;
	if (!change_rule(u, "RevokeSecurityGroupEgress", cfn_physical(u), any))
		return false;
	json_array_foreach(rules, i, rule)
		if (!change_rule(u, "AuthorizeSecurityGroupEgress", cfn_physical(u),
				 rule))
			return false;
	return true;
}

static bool group_create(struct cfn_unit *u)
{
	static const char *const names[] = {"VpcId", "GroupName", NULL};
	json_t *in = json_new_object(u->arena), *out, *rule;
	size_t i;

	cfn_copy_props(u, in, names);
	json_put_str(in, "Description", cfn_prop(u, "GroupDescription"));
	if (!cfn_prop(u, "GroupName"))
		json_put_str(in, "GroupName", cfn_generated_name(u, 255));
	if (!cfn_invoke_tree(u, "ec2", "CreateSecurityGroup",
			     cfn_tagged(u, "security-group", in), &out))
		return false;
	cfn_set_physical(u, json_str_or(out, "GroupId", ""));
	cfn_set_attr(u, "GroupId", cfn_physical(u));
	cfn_set_attr(u, "Id", cfn_physical(u));
	cfn_set_attr(u, "VpcId", cfn_prop(u, "VpcId"));
	json_array_foreach(json_object_get(u->props, "SecurityGroupIngress"), i, rule)
		if (!change_rule(u, "AuthorizeSecurityGroupIngress", cfn_physical(u),
				 rule))
			return false;
	return group_egress(u, json_object_get(u->props, "SecurityGroupEgress"));
}

static bool group_remove(struct cfn_unit *u)
{
	return cfn_invoke(u, "ec2", "DeleteSecurityGroup", NULL, "{s:s}", "GroupId",
			  cfn_physical(u));
}

static bool rule_create(struct cfn_unit *u, const char *op)
{
	if (!change_rule(u, op, cfn_prop(u, "GroupId"), u->props))
		return false;
	cfn_set_physical(u, cloud_id(u->cloud, u->arena, "sgr-", 17));
	cfn_set_attr(u, "Id", cfn_physical(u));
	return true;
}

static bool ingress_create(struct cfn_unit *u)
{
	return rule_create(u, "AuthorizeSecurityGroupIngress");
}

static bool ingress_remove(struct cfn_unit *u)
{
	return change_rule(u, "RevokeSecurityGroupIngress", cfn_prop(u, "GroupId"),
			   u->props);
}

static bool egress_create(struct cfn_unit *u)
{
	return rule_create(u, "AuthorizeSecurityGroupEgress");
}

static bool egress_remove(struct cfn_unit *u)
{
	return change_rule(u, "RevokeSecurityGroupEgress", cfn_prop(u, "GroupId"),
			   u->props);
}

const struct cfn_type cfn_types_group[] = {
	{"AWS::EC2::SecurityGroup",
	 "GroupDescription* GroupName VpcId SecurityGroupIngress SecurityGroupEgress Tags",
	 5, 2, group_create, NULL, group_remove, NULL},
	{"AWS::EC2::SecurityGroupIngress",
	 "GroupId IpProtocol* FromPort ToPort CidrIp SourceSecurityGroupId Description",
	 2, 2, ingress_create, NULL, ingress_remove, NULL},
	{"AWS::EC2::SecurityGroupEgress",
	 "GroupId* IpProtocol* FromPort ToPort CidrIp DestinationSecurityGroupId Description",
	 2, 2, egress_create, NULL, egress_remove, NULL},
	{0},
};
