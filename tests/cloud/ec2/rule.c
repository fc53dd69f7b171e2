#include "tests/cloud/ec2/rule.h"

#include <string.h>

static const struct kind_filter filters[] = {
	{"group-id", "GroupId"},
	{"security-group-rule-id", "SecurityGroupRuleId"},
	{NULL, NULL},
};

const struct ec2_kind kind_rule = {
	.table = "ec2.rule",
	.id_member = "SecurityGroupRuleId",
	.prefix = "sgr-",
	.resource_type = "security-group-rule",
	.missing = "InvalidSecurityGroupRuleId.NotFound",
	.malformed = "InvalidSecurityGroupRuleId.Malformed",
	.missing_text = "The security group rule ID '%s' does not exist",
	.ids_in = "SecurityGroupRuleIds",
	.filters_in = "Filters",
	.out = "SecurityGroupRules",
	.filters = filters,
};

/* The other side of a permission: its list, its member there and in a rule. */
static const struct {
	const char *list, *member, *in_rule;
} side_row[] = {
	{"IpRanges", "CidrIp", "CidrIpv4"},
	{"Ipv6Ranges", "CidrIpv6", "CidrIpv6"},
	{"PrefixListIds", "PrefixListId", "PrefixListId"},
	{"UserIdGroupPairs", "GroupId", "ReferencedGroupInfo.GroupId"},
};

enum { SIDES = sizeof(side_row) / sizeof(*side_row) };

json_t *rule_to_group(struct cloud *c, struct arena *a, const char *group_id)
{
	return json_packf(a, "{s:s, s:{s:s, s:s}}", "IpProtocol", "-1",
			  "ReferencedGroupInfo", "GroupId", group_id, "UserId",
			  cloud_opts(c)->account);
}

json_t *rule_add(struct cloud *c, struct arena *a, const char *group_id, bool egress,
		 json_t *body)
{
	const char *id = cloud_id(c, a, "sgr-", 17);
	json_t *rule = json_deep_copy(body);

	json_put_str(rule, "SecurityGroupRuleId", id);
	json_put_str(rule, "GroupId", group_id);
	json_put_str(rule, "GroupOwnerId", cloud_opts(c)->account);
	json_put_bool(rule, "IsEgress", egress);
	/* -1 is every protocol, and then every port. */
	if (streq(json_str_at(rule, "IpProtocol"), "-1") ||
	    !json_object_get(rule, "FromPort")) {
		json_put_int(rule, "FromPort", -1);
		json_put_int(rule, "ToPort", -1);
	}
	return cloud_put(c, "ec2.rule", id, rule);
}

static bool same_ports(const json_t *permission, const json_t *rule)
{
	return streq(json_str_at(permission, "IpProtocol"),
		     json_str_at(rule, "IpProtocol")) &&
	       json_int_or(permission, "FromPort", -1) ==
		       json_int_or(rule, "FromPort", -1) &&
	       json_int_or(permission, "ToPort", -1) == json_int_or(rule, "ToPort", -1);
}

static json_t *permission_for(json_t *list, const json_t *rule)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (same_ports(one, rule))
			return one;
	one = json_pack("{s:O, s:[], s:[], s:[], s:[]}", "IpProtocol",
			json_object_get(rule, "IpProtocol"), "IpRanges", "Ipv6Ranges",
			"PrefixListIds", "UserIdGroupPairs");
	if (!streq(json_str_at(rule, "IpProtocol"), "-1")) {
		json_object_set(one, "FromPort", json_object_get(rule, "FromPort"));
		json_object_set(one, "ToPort", json_object_get(rule, "ToPort"));
	}
	json_array_append_new(list, one);
	return one;
}

void rule_fold(struct cloud *c, json_t *list, const json_t *rule)
{
	json_t *permission = permission_for(list, rule);

	for (size_t i = 0; i < SIDES; i++) {
		const char *value = json_str_at(rule, side_row[i].in_rule);

		if (!value)
			continue;
		json_t *side = json_pack("{s:s}", side_row[i].member, value);

		json_put_str(side, "Description", json_str_at(rule, "Description"));
		if (streq(side_row[i].list, "UserIdGroupPairs"))
			json_put_str(side, "UserId", cloud_opts(c)->account);
		json_array_append_new(json_object_get(permission, side_row[i].list),
				      side);
	}
}

/* --- requests ------------------------------------------------------------------- */

static bool read_protocol(struct cloud_call *call, const json_t *permission,
			  const char **ret)
{
	static const struct {
		const char *from, *to;
	} row[] = {{"6", "tcp"},  {"17", "udp"},    {"1", "icmp"},
		   {"all", "-1"}, {"tcp", "tcp"},   {"udp", "udp"},
		   {"-1", "-1"},  {"icmp", "icmp"}, {"icmpv6", "icmpv6"}};
	const char *text = json_str_at(permission, "IpProtocol");

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (streq(row[i].from, text)) {
			*ret = row[i].to;
			break;
		}
	if (!text || !*ret)
		return cloud_fault(
			call, "InvalidParameterValue",
			"Invalid value '%s' for IP protocol. Unknown protocol.",
			text ? text : "");
	if ((streq(*ret, "tcp") || streq(*ret, "udp")) &&
	    json_int_or(permission, "FromPort", -1) >
		    json_int_or(permission, "ToPort", -1))
		return cloud_fault(call, "InvalidParameterValue",
				   "Invalid TCP/UDP port range (%d:%d)",
				   (int)json_int_or(permission, "FromPort", -1),
				   (int)json_int_or(permission, "ToPort", -1));
	if ((streq(*ret, "tcp") || streq(*ret, "udp")) &&
	    !json_object_get(permission, "FromPort"))
		return cloud_fault(call, "MissingParameter",
				   "The request must contain the parameter fromPort");
	return true;
}

static bool check_side(struct cloud_call *call, size_t side, const char *value)
{
	struct cidr block;

	if (!value)
		return cloud_fault(call, "MissingParameter",
				   "The request must contain the parameter %s",
				   side_row[side].member);
	if (side == 0 && !ec2_cidr_parse(value, &block))
		return cloud_fault(call, "InvalidParameterValue",
				   "CIDR block %s is malformed", value);
	return !streq(side_row[side].list, "UserIdGroupPairs") ||
	       ec2_require(call, &kind_group, value);
}

/* One rule body for each side of each permission. */
static bool read_rules(struct cloud_call *call, json_t *ret)
{
	json_t *permission, *side;
	size_t i, k;

	json_array_foreach(json_object_get(call->in, "IpPermissions"), i, permission) {
		const char *protocol = NULL;
		size_t before = json_array_size(ret);

		if (!read_protocol(call, permission, &protocol))
			return false;
		for (size_t s = 0; s < SIDES; s++)
			json_array_foreach(json_object_get(permission, side_row[s].list),
					   k, side) {
				const char *value = json_str_at(side, side_row[s].member);
				json_t *body = json_pack("{s:s}", "IpProtocol", protocol);

				json_array_append_new(ret, body);
				if (!check_side(call, s, value))
					return false;
				json_put_str(body, side_row[s].in_rule, value);
				if (streq(side_row[s].list, "UserIdGroupPairs"))
					json_put_str(body, "ReferencedGroupInfo.UserId",
						     cloud_opts(call->cloud)->account);
				json_put_str(body, "Description",
					     json_str_at(side, "Description"));
				json_object_set(body, "FromPort",
						json_object_get(permission, "FromPort"));
				json_object_set(body, "ToPort",
						json_object_get(permission, "ToPort"));
			}
		if (json_array_size(ret) == before)
			return cloud_fault(call, "InvalidParameterValue",
					   "A rule needs a source or destination.");
	}
	if (json_array_size(ret) == 0)
		return cloud_fault(
			call, "MissingParameter",
			"Either 'ipPermissions' or 'securityGroupRuleIds' should "
			"be provided.");
	return true;
}

static bool same_rule(const json_t *rule, const json_t *body)
{
	for (size_t i = 0; i < SIDES; i++)
		if (!streq(json_str_or(rule, side_row[i].in_rule, ""),
			   json_str_or(body, side_row[i].in_rule, "")))
			return false;
	if (streq(json_str_at(rule, "IpProtocol"), "-1"))
		return streq(json_str_at(body, "IpProtocol"), "-1");
	return same_ports(body, rule);
}

static json_t *find_rule(struct cloud *c, const char *group, bool egress,
			 const json_t *body)
{
	const char *id;
	json_t *rule;

	json_object_foreach(cloud_table(c, "ec2.rule"), id, rule)
		if (streq(json_str_at(rule, "GroupId"), group) &&
		    json_bool_or(rule, "IsEgress", false) == egress &&
		    same_rule(rule, body))
			return rule;
	return NULL;
}

static bool authorize(struct cloud_call *call, bool egress, json_t **ret_out)
{
	const char *group = json_str_at(call->in, "GroupId");
	json_t *bodies = json_new_list(call->arena), *made = json_new_list(call->arena);
	json_t *body;
	size_t i;

	if (!ec2_require(call, &kind_group, group) || !read_rules(call, bodies))
		return false;
	/* One rule that is there already refuses the whole call. */
	json_array_foreach(bodies, i, body)
		if (find_rule(call->cloud, group, egress, body))
			return cloud_fault(
				call, "InvalidPermission.Duplicate",
				"the specified rule \"peer: %s, %s, ALLOW\" "
				"already exists",
				json_str_or(body, "CidrIpv4",
					    json_str_or(body,
							"ReferencedGroupInfo.GroupId",
							"")),
				json_str_at(body, "IpProtocol"));
	json_array_foreach(bodies, i, body) {
		json_t *rule = rule_add(call->cloud, call->arena, group, egress, body);

		cloud_effect(call->cloud, "ec2.rule",
			     json_str_at(rule, "SecurityGroupRuleId"), "create");
		json_array_append(made, ec2_public(call->arena, rule));
	}
	*ret_out = json_packf(call->arena, "{s:b, s:O}", "Return", 1,
			      "SecurityGroupRules", made);
	return true;
}

static json_t *revoked_view(struct cloud_call *call, const json_t *rule)
{
	json_t *view = ec2_public(call->arena, rule);
	const char *other = json_str_at(rule, "ReferencedGroupInfo.GroupId");

	json_object_del(view, "ReferencedGroupInfo");
	json_object_del(view, "GroupOwnerId");
	json_object_del(view, "Tags");
	json_put_str(view, "ReferencedGroupId", other);
	return view;
}

static bool collect_revoked(struct cloud_call *call, const char *group, bool egress,
			    json_t *ret)
{
	json_t *bodies = json_new_list(call->arena), *body, *one, *rule;
	size_t i;

	json_array_foreach(json_object_get(call->in, "SecurityGroupRuleIds"), i, one) {
		rule = ec2_require(call, &kind_rule, json_string_value(one));
		if (!rule)
			return false;
		json_array_append(ret, rule);
	}
	if (json_array_size(ret) > 0)
		return true;
	if (!read_rules(call, bodies))
		return false;
	json_array_foreach(bodies, i, body) {
		rule = find_rule(call->cloud, group, egress, body);
		if (!rule)
			return cloud_fault(call, "InvalidPermission.NotFound",
					   "The specified rule does not exist in this "
					   "security group.");
		json_array_append(ret, rule);
	}
	return true;
}

static bool revoke(struct cloud_call *call, bool egress, json_t **ret_out)
{
	const char *group = json_str_at(call->in, "GroupId");
	json_t *rules = json_new_list(call->arena), *gone = json_new_list(call->arena),
	       *rule;
	size_t i;

	if (!ec2_require(call, &kind_group, group) ||
	    !collect_revoked(call, group, egress, rules))
		return false;
	json_array_foreach(rules, i, rule) {
		json_array_append(gone, revoked_view(call, rule));
		ec2_remove(call, &kind_rule,
			   arena_strdup(call->arena,
					json_str_at(rule, "SecurityGroupRuleId")));
	}
	*ret_out = json_packf(call->arena, "{s:b, s:O}", "Return", 1,
			      "RevokedSecurityGroupRules", gone);
	return true;
}

bool ec2_authorize_ingress(struct cloud_call *call, json_t **ret_out)
{
	return authorize(call, false, ret_out);
}

bool ec2_authorize_egress(struct cloud_call *call, json_t **ret_out)
{
	return authorize(call, true, ret_out);
}

bool ec2_revoke_ingress(struct cloud_call *call, json_t **ret_out)
{
	return revoke(call, false, ret_out);
}

bool ec2_revoke_egress(struct cloud_call *call, json_t **ret_out)
{
	return revoke(call, true, ret_out);
}

bool ec2_describe_rules(struct cloud_call *call, json_t **ret_out)
{
	return ec2_describe(call, &kind_rule, ret_out);
}

bool ec2_group_allows_itself(struct cloud *c, const char *group_id)
{
	struct arena a;

	arena_init(&a, 0);
	json_t *body = rule_to_group(c, &a, group_id);
	bool ok =
		find_rule(c, group_id, false, body) && find_rule(c, group_id, true, body);

	arena_free(&a);
	return ok;
}
