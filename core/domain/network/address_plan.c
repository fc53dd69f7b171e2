#include "core/domain/network/address_plan.h"

#include "core/json/tree.h"

static void add_block(struct cidr_set *set, const char *text)
{
	struct cidr c;

	if (text && cidr_parse(text, &c))
		cidr_set_add(set, c);
}

void vpc_blocks(const json_t *vpcs, struct cidr_set *ret)
{
	size_t i, j;
	json_t *vpc, *assoc;

	json_array_foreach(vpcs, i, vpc) {
		add_block(ret, json_str_at(vpc, "CidrBlock"));
		json_array_foreach(json_at(vpc, "CidrBlockAssociationSet"), j, assoc)
			add_block(ret, json_str_at(assoc, "CidrBlock"));
	}
}

static const char *overlapping_vpc(const json_t *vpcs, struct cidr block, struct arena *a)
{
	size_t i;
	json_t *vpc;

	json_array_foreach(vpcs, i, vpc) {
		struct cidr_set one;
		json_t *list = json_own(a, json_pack("[O]", vpc));

		cidr_set_init(&one, a);
		vpc_blocks(list, &one);
		if (cidr_set_overlaps(&one, block))
			return json_str_at(vpc, "VpcId");
	}
	return NULL;
}

static bool choose_block(const json_t *vpcs, struct arena *a, struct cidr *ret,
			 struct err *e)
{
	static const char *const pools[] = {"10.0.0.0/8", "172.16.0.0/12"};
	struct cidr_set used;

	cidr_set_init(&used, a);
	vpc_blocks(vpcs, &used);
	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		struct cidr pool;

		if (cidr_parse(pools[i], &pool) && cidr_first_free(pool, 16, &used, ret))
			return true;
	}
	err_set(e, ERR_CONFLICT,
		"Every /16 block of 10.0.0.0/8 and 172.16.0.0/12 overlaps an existing "
		"VPC");
	return err_fix(e, "Set vpc_cidr, or set vpc_id to use an existing VPC.");
}

static bool check_block(const json_t *vpcs, const char *wanted, struct arena *a,
			struct cidr *ret, struct err *e)
{
	const char *other;

	if (!cidr_parse(wanted, ret) || ret->bits < 16 || ret->bits > 20) {
		err_set(e, ERR_INVALID_INPUT, "vpc_cidr is not a valid block");
		return err_field(e, "/vpc_cidr", wanted,
				 "an IPv4 block of 16 to 20 bits without host bits, "
				 "such as 10.42.0.0/16");
	}
	other = overlapping_vpc(vpcs, *ret, a);
	if (other) {
		err_set(e, ERR_STATE_CONFLICT, "vpc_cidr overlaps the VPC %s", other);
		return err_field(e, "/vpc_cidr", wanted, "a block that no VPC uses");
	}
	return true;
}

bool address_plan_make(const json_t *vpcs, const char *wanted, struct arena *a,
		       struct address_plan *ret, struct err *e)
{
	struct cidr subnet[4];
	struct cidr_set taken;

	if (wanted ? !check_block(vpcs, wanted, a, &ret->vpc, e)
		   : !choose_block(vpcs, a, &ret->vpc, e))
		return false;
	cidr_set_init(&taken, a);
	for (size_t i = 0; i < 4; i++) {
		if (!cidr_first_free(ret->vpc, 24, &taken, &subnet[i]))
			return err_set(e, ERR_INTERNAL, "A block of %d bits has no room",
				       ret->vpc.bits);
		cidr_set_add(&taken, subnet[i]);
	}
	ret->public_subnet[0] = subnet[0];
	ret->public_subnet[1] = subnet[1];
	ret->private_subnet[0] = subnet[2];
	ret->private_subnet[1] = subnet[3];
	return true;
}
