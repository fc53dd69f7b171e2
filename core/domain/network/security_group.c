#include "core/domain/network/security_group.h"

#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* The caller's, those of the HyperPod cluster, else that of the EKS cluster. */
static json_t *group_ids(struct step_ctx *c)
{
	const char *id = step_input(c, "security_group_id");
	json_t *several = json_at(c->data, "security_group_ids");

	if (!id && json_array_size(several) > 0)
		return several;
	if (!id)
		id = step_get(c, "eks.security_group_id");
	return id ? json_packf(c->arena, "[s]", id) : json_new_list(c->arena);
}

bool security_group_observe(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "group", AWS_EC2_DescribeSecurityGroups,
			json_packf(c->arena, "{s:O}", "GroupIds", group_ids(c)));
}

static bool has_self_rule(const json_t *rules, const char *id)
{
	size_t i;
	json_t *rule;

	json_array_foreach(rules, i, rule)
		if (streq(json_str_or(rule, "IpProtocol", ""), "-1") &&
		    json_find(json_at(rule, "UserIdGroupPairs"), "GroupId", id))
			return true;
	return false;
}

/*
 * HyperPod's page warns of such a rule beside the one to itself. Never taken
 * away by us; in our own stack's group it is meant (the nodes need NAT).
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-prerequisites.html
 */
static void warn_of_anywhere(struct step_ctx *c, const json_t *group)
{
	const json_t *rules = json_at(group, "IpPermissionsEgress");
	size_t i;
	json_t *rule;

	if (!step_input(c, "security_group_id"))
		return;
	json_array_foreach(rules, i, rule)
		if (json_find(json_at(rule, "IpRanges"), "CidrIp", "0.0.0.0/0") ||
		    json_find(json_at(rule, "Ipv6Ranges"), "CidrIpv6", "::/0")) {
			step_warn(c,
				  "%s allows its nodes to send anywhere. With such a "
				  "rule, the EFA health check can fail. The rule is not "
				  "changed",
				  step_input(c, "security_group_id"));
			return;
		}
}

/* data._rules.<step>.<id>: asked for, and perhaps not shown yet. */
static const char *asked_path(const struct step_ctx *c, const char *id)
{
	return arena_printf(c->arena, "_rules.%s.%s", c->step->name, id);
}

static void add_rule(struct step_ctx *c, struct exchange *x, enum aws_op_id op,
		     const char *id, const char *direction)
{
	exchange_aws(x, op,
		     json_packf(c->arena, "{s:s, s:[{s:s, s:[{s:s, s:s}]}]}", "GroupId",
				id, "IpPermissions", "IpProtocol", "-1",
				"UserIdGroupPairs", "GroupId", id, "Description",
				"All traffic within the group (EFA)"));
	x->what = arena_printf(c->arena, "Allow %s to %s itself (required for EFA)", id,
			       direction);
	c->item = json_array_size(group_ids(c)) > 1 ? id : NULL;
}

/* Case NW-01: with several groups attached, each needs the rule. */
static void plan_rule(struct step_ctx *c, struct exchange *x, const char *list,
		      enum aws_op_id op, const char *direction)
{
	const json_t *groups = json_at(saw(c, "group"), "SecurityGroups");
	size_t i;
	json_t *v;

	step_save_str(c, "security_group_id", json_str_at(group_ids(c), "0"));
	if (c->planning && !groups && !saw_missing(c, "group"))
		return; /* our template's group has both rules */
	json_array_foreach(group_ids(c), i, v) {
		const char *id = json_string_value(v);
		const json_t *group = json_find(groups, "GroupId", id);

		if (!group && json_array_size(groups) == 1 && i == 0)
			group = json_array_get(groups, 0);
		if (!group) {
			struct err *e = step_fail(c, ERR_INVALID_INPUT,
						  "There is no security group %s", id);
			err_field(e, "/security_group_id", id,
				  "a group of the cluster's VPC");
			return;
		}
		if (has_self_rule(json_at(group, list), id)) {
			if (op == AWS_EC2_AuthorizeSecurityGroupEgress)
				warn_of_anywhere(c, group);
		} else if (!json_at(c->data, asked_path(c, id))) {
			add_rule(c, x, op, id, direction);
			return;
		}
	}
}

void security_group_ingress_plan(struct step_ctx *c, struct exchange *x)
{
	plan_rule(c, x, "IpPermissions", AWS_EC2_AuthorizeSecurityGroupIngress,
		  "receive from");
}

void security_group_egress_plan(struct step_ctx *c, struct exchange *x)
{
	plan_rule(c, x, "IpPermissionsEgress", AWS_EC2_AuthorizeSecurityGroupEgress,
		  "send to");
}

void security_group_absorb(struct step_ctx *c, const struct answer *a)
{
	const char *id = c->item ? c->item : json_str_or(group_ids(c), "0", "");

	if (!a->ok && !answer_is(a, "InvalidPermission.Duplicate")) {
		step_fail_answer(c, a, "a rule of the security group %s was rejected",
				 id);
		return;
	}
	if (json_array_size(group_ids(c)) == 1) {
		step_advance(c);
		return;
	}
	step_save(c, asked_path(c, id), json_true());
	step_wait(c, 0, "the rules of the other security groups");
}
