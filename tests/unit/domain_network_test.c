/* Address arithmetic and zones: pure, by tables. */
#include <criterion/criterion.h>

#include "core/domain/hyperpod/subnet_room.h"
#include "core/domain/network/address_plan.h"
#include "core/domain/network/cidr.h"
#include "core/domain/network/compute_subnet.h"
#include "core/domain/offer/zones.h"
#include "core/json/tree.h"

static struct arena arena;

static void setup(void)
{
	arena_init(&arena, 0);
}

static void teardown(void)
{
	arena_free(&arena);
}

TestSuite(domain_network, .init = setup, .fini = teardown);

static json_t *tree(const char *text)
{
	struct err e = {0};
	json_t *t = json_parse(&arena, str_of(text), &e);

	cr_assert(t, "%s: %s", text, e.detail);
	return t;
}

Test(domain_network, blocks_are_parsed_strictly_and_compared_exactly)
{
	static const struct {
		const char *text;
		bool good;
	} parse[] = {
		{"10.0.0.0/16", true},   {"0.0.0.0/0", true},
		{"10.1.2.3/32", true},   {"10.0.0.1/16", false},
		{"10.0.0.0/33", false},  {"10.0.0.0", false},
		{"10.0.0/16", false},    {"10.0.0.0/", false},
		{"10.0.0.0/-1", false},  {"", false},
		{"10.0.0.0/16 ", false}, {"256.0.0.0/8", false},
	};
	static const struct {
		const char *a, *b;
		bool overlap, contains;
	} pairs[] = {
		{"10.0.0.0/16", "10.0.0.0/16", true, true},
		{"10.0.0.0/16", "10.0.240.0/20", true, true},
		{"10.0.240.0/20", "10.0.0.0/16", true, false},
		{"10.0.0.0/16", "10.1.0.0/16", false, false},
		{"0.0.0.0/0", "192.168.0.0/24", true, true},
		{"10.0.0.0/17", "10.0.128.0/17", false, false},
	};
	struct cidr a, b;
	char text[CIDR_TEXT];

	for (size_t i = 0; i < sizeof(parse) / sizeof(parse[0]); i++) {
		cr_assert_eq(cidr_parse(parse[i].text, &a), parse[i].good, "%s",
			     parse[i].text);
		if (parse[i].good)
			cr_assert_str_eq(cidr_text(a, text), parse[i].text);
	}
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		cr_assert(cidr_parse(pairs[i].a, &a) && cidr_parse(pairs[i].b, &b));
		cr_assert_eq(cidr_overlaps(a, b), pairs[i].overlap, "%s %s", pairs[i].a,
			     pairs[i].b);
		cr_assert_eq(cidr_contains(a, b), pairs[i].contains, "%s %s", pairs[i].a,
			     pairs[i].b);
	}
}

Test(domain_network, the_first_free_block_is_aligned_and_inside)
{
	static const struct {
		const char *outer;
		int bits;
		const char *used; /* one block, or empty */
		const char *want; /* NULL: none */
	} rows[] = {
		{"10.0.0.0/16", 20, "", "10.0.0.0/20"},
		{"10.0.0.0/16", 20, "10.0.0.0/24", "10.0.16.0/20"},
		{"10.0.0.0/16", 20, "10.0.0.0/17", "10.0.128.0/20"},
		{"10.0.0.0/16", 20, "10.0.0.0/8", NULL},
		{"10.0.0.0/20", 16, "", NULL},
		{"255.255.0.0/16", 16, "", "255.255.0.0/16"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cidr outer, block, got;
		struct cidr_set used;
		char text[CIDR_TEXT];
		bool found;

		cidr_set_init(&used, &arena);
		cr_assert(cidr_parse(rows[i].outer, &outer));
		if (rows[i].used[0]) {
			cr_assert(cidr_parse(rows[i].used, &block));
			cidr_set_add(&used, block);
		}
		found = cidr_first_free(outer, rows[i].bits, &used, &got);
		cr_assert_eq(found, rows[i].want != NULL, "row %zu", i);
		if (found)
			cr_assert_str_eq(cidr_text(got, text), rows[i].want);
	}
}

Test(domain_network, a_new_vpc_overlaps_no_vpc_secondary_blocks_included)
{
	const json_t *vpcs =
		tree("[{\"VpcId\":\"vpc-1\",\"CidrBlock\":\"10.0.0.0/16\","
		     "\"CidrBlockAssociationSet\":[{\"CidrBlock\":\"10.0.0.0/16\"},"
		     "{\"CidrBlock\":\"10.1.0.0/16\"}]}]");
	struct address_plan plan;
	struct err e = {0};
	char text[CIDR_TEXT];

	cr_assert(address_plan_make(vpcs, NULL, &arena, &plan, &e));
	cr_assert_str_eq(cidr_text(plan.vpc, text), "10.2.0.0/16");
	cr_assert(cidr_contains(plan.vpc, plan.private_subnet[1]));
	cr_assert(!cidr_overlaps(plan.public_subnet[0], plan.public_subnet[1]));

	cr_assert(!address_plan_make(vpcs, "10.1.0.0/20", &arena, &plan, &e));
	cr_assert_eq(e.code, ERR_STATE_CONFLICT);
	cr_assert(strstr(e.detail, "vpc-1"), "%s", e.detail);
	cr_assert(!address_plan_make(vpcs, "10.9.0.0/24", &arena, &plan, &e));
	cr_assert_eq(e.code, ERR_INVALID_INPUT);
	cr_assert_str_eq(e.field, "/vpc_cidr");
	cr_assert(address_plan_make(vpcs, "10.9.0.0/20", &arena, &plan, &e));
	/* All of both pools taken: said, not guessed around. */
	vpcs = tree("[{\"VpcId\":\"a\",\"CidrBlock\":\"10.0.0.0/8\"},"
		    "{\"VpcId\":\"b\",\"CidrBlock\":\"172.16.0.0/12\"}]");
	cr_assert(!address_plan_make(vpcs, NULL, &arena, &plan, &e));
	cr_assert_eq(e.code, ERR_CONFLICT);
}

Test(domain_network, control_planes_avoid_zones_that_do_not_take_them)
{
	json_t *zones = tree(
		"[{\"ZoneName\":\"us-east-1a\",\"ZoneId\":\"use1-az3\",\"State\":\"available\"},"
		"{\"ZoneName\":\"us-east-1b\",\"ZoneId\":\"use1-az1\",\"State\":\"available\"},"
		"{\"ZoneName\":\"us-east-1c\",\"ZoneId\":\"use1-az2\",\"State\":\"impaired\"},"
		"{\"ZoneName\":\"us-east-1d\",\"ZoneId\":\"use1-az4\",\"State\":\"available\"},"
		"{\"ZoneName\":\"us-east-1-bos-1a\",\"ZoneId\":\"use1-bos1-az1\","
		"\"State\":\"available\",\"ZoneType\":\"local-zone\"}]");
	const json_t *got[2];

	cr_assert(zones_choose(zones, "use1-az4", got));
	cr_assert_str_eq(json_str_at(got[0], "ZoneId"), "use1-az4");
	cr_assert_str_eq(json_str_at(got[1], "ZoneId"), "use1-az1");
	/* Nodes may want a zone that the control plane cannot have. */
	cr_assert(zones_choose(zones, "us-east-1a", got));
	cr_assert_str_eq(json_str_at(got[0], "ZoneId"), "use1-az1");
	json_array_remove(zones, 3);
	cr_assert(!zones_choose(zones, NULL, got));
	cr_assert(zone_find(zones, "us-east-1a") == zone_find(zones, "use1-az3"));
	cr_assert(!zone_find(zones, "eu-west-1a"));
}

Test(domain_network, a_node_takes_what_its_interfaces_take)
{
	const json_t *p5 = tree("{\"NetworkInfo\":{\"Ipv4AddressesPerInterface\":50,"
				"\"EfaInfo\":{\"MaximumEfaInterfaces\":32}}}");
	const json_t *c5 = tree("{\"NetworkInfo\":{\"Ipv4AddressesPerInterface\":15}}");

	cr_assert_eq(node_addresses(p5, "efa", false), 81);
	cr_assert_eq(node_addresses(p5, NULL, false), 81);
	cr_assert_eq(node_addresses(p5, "efa-only", false), 50);
	cr_assert_eq(node_addresses(c5, NULL, false), 15);
	/* Prefixes of sixteen: eight of them, or what the interface takes. */
	cr_assert_eq(node_addresses(p5, "efa", true), 1 + 128 + 31);
	cr_assert_eq(node_addresses(c5, NULL, true), 1 + 128);
}

/* --- a block whose answer was lost ---------------------------------------------------
 */

Test(domain_network, a_block_is_owned_although_its_answer_was_lost)
{
	static const struct {
		bool issued_before;
		size_t owned;
	} rows[] = {{true, 1}, {false, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena a = {0};
		struct exchange x = {.via = VIA_NONE};
		struct step_ctx c = {.arena = &a, .issued_before = rows[i].issued_before};

		c.data = json_packf(&a, "{s:{s:s}, s:{s:s}}", "subnet", "block",
				    "100.64.0.0/16", "eks", "vpc_id", "vpc-1");
		c.seen = json_packf(&a, "{s:{s:b, s:{s:[{s:[{s:s, s:s, s:{s:s}}]}]}}}",
				    "vpc", "ok", 1, "out", "Vpcs",
				    "CidrBlockAssociationSet", "AssociationId",
				    "vpc-cidr-1", "CidrBlock", "100.64.0.0/16",
				    "CidrBlockState", "State", "associated");
		c.resources = json_new_list(&a);
		subnet_extend_plan(&c, &x);
		cr_expect_eq(x.via, VIA_NONE);
		cr_expect_eq(c.verdict.kind, VERDICT_NONE);
		cr_expect_eq(json_array_size(c.resources), rows[i].owned);
		if (rows[i].owned)
			cr_expect_str_eq(json_str_at(c.resources, "0.id"), "vpc-cidr-1");
		arena_free(&a);
	}
}
