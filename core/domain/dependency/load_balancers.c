/*
 * load_balancers.c - what the load-balancer controller may do.
 *
 * Its own published policy: what it changes or deletes carries the tag that it gave
 * it at creation; only security-group rules, listeners and rules cannot be told apart
 * so. What is read stands by service.
 * https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/docs/install/iam_policy.json
 */
#include "core/domain/dependency/install.h"
#include "core/json/tree.h"

#define CLUSTER_TAG     "elbv2.k8s.aws/cluster"
#define OF_REQUEST(v)   "'aws:RequestTag/" CLUSTER_TAG "':'" v "'"
#define OF_RESOURCE(v)  "'aws:ResourceTag/" CLUSTER_TAG "':'" v "'"
#define TAGGED_NOW      "'Null':{" OF_REQUEST("false") "}"
#define TAGGED_BEFORE   "'Null':{" OF_RESOURCE("false") "}"
#define TAGGED_NOT_ANEW "'Null':{" OF_REQUEST("true") "," OF_RESOURCE("false") "}"
#define ELB(path)       "arn:%s:elasticloadbalancing:*:*:" path
#define GROUPS          "arn:%s:ec2:*:*:security-group/*"
#define BALANCERS                                                                        \
	ELB("targetgroup/*/*")                                                           \
	" " ELB("loadbalancer/net/*/*") " " ELB("loadbalancer/app/*/*")
#define LISTENERS                                                                        \
	ELB("listener/net/*/*/*")                                                        \
	" " ELB("listener/app/*/*/*") " " ELB("listener-rule/net/*/*/*") " " ELB(        \
		"listener-rule/app/*/*/*")

/* Words are parted by spaces; %s is the partition; conditions in single quotes. */
static const struct grant {
	const char *actions, *resources, *condition;
} grants[] = {
	{"iam:CreateServiceLinkedRole", "*",
	 "'StringEquals':{'iam:AWSServiceName':'elasticloadbalancing.amazonaws.com'}"},
	{"ec2:Describe* ec2:GetCoipPoolUsage ec2:GetSecurityGroupsForVpc "
	 "elasticloadbalancing:Describe* acm:ListCertificates acm:DescribeCertificate "
	 "iam:ListServerCertificates iam:GetServerCertificate "
	 "wafv2:GetWebACL wafv2:GetWebACLForResource wafv2:AssociateWebACL "
	 "wafv2:DisassociateWebACL shield:GetSubscriptionState",
	 "*", NULL},
	{"ec2:AuthorizeSecurityGroupIngress ec2:RevokeSecurityGroupIngress "
	 "ec2:CreateSecurityGroup",
	 "*", NULL},
	{"ec2:CreateTags", GROUPS,
	 "'StringEquals':{'ec2:CreateAction':'CreateSecurityGroup'}," TAGGED_NOW},
	{"ec2:CreateTags ec2:DeleteTags", GROUPS, TAGGED_NOT_ANEW},
	{"ec2:DeleteSecurityGroup", "*", TAGGED_BEFORE},
	{"elasticloadbalancing:CreateLoadBalancer elasticloadbalancing:CreateTargetGroup",
	 "*", TAGGED_NOW},
	{"elasticloadbalancing:CreateListener elasticloadbalancing:DeleteListener "
	 "elasticloadbalancing:CreateRule elasticloadbalancing:DeleteRule "
	 "elasticloadbalancing:SetWebAcl elasticloadbalancing:ModifyListener "
	 "elasticloadbalancing:AddListenerCertificates "
	 "elasticloadbalancing:RemoveListenerCertificates "
	 "elasticloadbalancing:ModifyRule elasticloadbalancing:SetRulePriorities",
	 "*", NULL},
	{"elasticloadbalancing:AddTags elasticloadbalancing:RemoveTags", BALANCERS,
	 TAGGED_NOT_ANEW},
	{"elasticloadbalancing:AddTags elasticloadbalancing:RemoveTags", LISTENERS, NULL},
	{"elasticloadbalancing:AddTags", BALANCERS,
	 "'StringEquals':{'elasticloadbalancing:CreateAction':['CreateTargetGroup',"
	 "'CreateLoadBalancer']}," TAGGED_NOW},
	{"elasticloadbalancing:ModifyLoadBalancerAttributes "
	 "elasticloadbalancing:SetIpAddressType elasticloadbalancing:SetSecurityGroups "
	 "elasticloadbalancing:SetSubnets elasticloadbalancing:DeleteLoadBalancer "
	 "elasticloadbalancing:ModifyTargetGroup "
	 "elasticloadbalancing:ModifyTargetGroupAttributes "
	 "elasticloadbalancing:DeleteTargetGroup "
	 "elasticloadbalancing:ModifyListenerAttributes "
	 "elasticloadbalancing:ModifyCapacityReservation "
	 "elasticloadbalancing:ModifyIpPools",
	 "*", TAGGED_BEFORE},
	{"elasticloadbalancing:RegisterTargets elasticloadbalancing:DeregisterTargets",
	 ELB("targetgroup/*/*"), NULL},
};

/* One is a text, several are a list, as IAM gives them back. */
static json_t *words(const struct step_ctx *c, const char *text)
{
	json_t *list = json_array(), *one;

	while (*text) {
		const char *end = text;
		struct buf word;

		buf_init(&word, c->arena, 2048);
		for (; *end && *end != ' '; end++)
			if (end[0] == '%' && end[1] == 's')
				buf_printf(&word, "%s", c->where->partition), end++;
			else
				buf_printf(&word, "%c", *end);
		json_push(list, json_string(buf_cstr(&word)));
		text = *end ? end + 1 : end;
	}
	if (json_array_size(list) > 1)
		return list;
	one = json_incref(json_array_get(list, 0));
	json_decref(list);
	return one;
}

static json_t *condition(const struct step_ctx *c, const char *text)
{
	char *quoted = arena_printf(c->arena, "{%s}", text);
	struct err e;
	json_t *tree;

	for (char *p = quoted; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	tree = json_parse(c->arena, str_of(quoted), &e);
	return json_incref(tree);
}

json_t *load_balancer_statements(struct step_ctx *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(grants) / sizeof(grants[0]); i++) {
		json_t *s = json_pack("{s:s, s:o, s:o}", "Effect", "Allow", "Action",
				      words(c, grants[i].actions), "Resource",
				      words(c, grants[i].resources));

		if (grants[i].condition)
			json_object_set_new(s, "Condition",
					    condition(c, grants[i].condition));
		json_push(list, s);
	}
	return list;
}
