/* Regions and availability zones. Names are per account, ids are for everyone. */
#include <string.h>

#include "core/aws/partition.h"
#include "tests/cloud/ec2/ops.h"

/* letters: which zone id the names a, b, c … stand for in this account.
 * no_eks: the id where EKS places no control plane (us-east-1, us-west-1 and
 * ca-central-1 have such a zone; here every region does, so that the case is met). */
static const struct {
	const char *region, *prefix, *letters;
	int no_eks;
} region_row[] = {
	{"us-east-1", "use1", "462135", 3},     {"us-east-2", "use2", "1234", 4},
	{"us-west-1", "usw1", "3124", 2},       {"us-west-2", "usw2", "2134", 4},
	{"ca-central-1", "cac1", "1243", 3},    {"eu-west-1", "euw1", "2314", 4},
	{"eu-central-1", "euc1", "2314", 4},    {"eu-north-1", "eun1", "1234", 4},
	{"ap-northeast-1", "apne1", "4123", 3}, {"ap-southeast-1", "apse1", "2134", 4},
	{"ap-southeast-2", "apse2", "1324", 4}, {"ap-south-1", "aps1", "1324", 4},
	{"sa-east-1", "sae1", "1234", 4},       {"cn-north-1", "cnn1", "124", 4},
	{"cn-northwest-1", "cnnw1", "123", 3},  {"us-gov-west-1", "usgw1", "123", 3},
	{"us-gov-east-1", "usge1", "123", 3},
};

/* https://docs.aws.amazon.com/local-zones/latest/ug/available-local-zones.html */
static const struct edge {
	const char *region, *name, *id, *type, *group, *opt_in;
} edge_row[] = {
	{"us-west-2", "us-west-2-den-1a", "usw2-den1-az1", "local-zone",
	 "us-west-2-den-1", "not-opted-in"},
	{"us-west-2", "us-west-2-lax-1a", "usw2-lax1-az1", "local-zone",
	 "us-west-2-lax-1", "opted-in"},
	{"us-west-2", "us-west-2-wl1-las-wlz-1", "usw2-wl1-las-wlz1", "wavelength-zone",
	 "us-west-2-wl1", "opted-in"},
	{"us-east-1", "us-east-1-bos-1a", "use1-bos1-az1", "local-zone",
	 "us-east-1-bos-1", "opted-in"},
};
enum { EDGES = sizeof(edge_row) / sizeof(*edge_row) };

enum { REGIONS = sizeof(region_row) / sizeof(*region_row) };

static size_t region_index(const char *region)
{
	for (size_t i = 0; i < REGIONS; i++)
		if (streq(region_row[i].region, region))
			return i;
	return 3;
}

/* Strings that live as long as the cloud: kept in a table of their own. */
static const char *keep(struct cloud *c, const char *text)
{
	json_t *table = cloud_table(c, "ec2.text");

	if (!json_object_get(table, text))
		json_object_set_new(table, text, json_string(text));
	return json_string_value(json_object_get(table, text));
}

size_t ec2_zones(struct cloud *c, struct ec2_zone ret[EC2_ZONES_MAX])
{
	const char *region = cloud_opts(c)->region;
	size_t r = region_index(region), n = strlen(region_row[r].letters);
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < n; i++) {
		int id = region_row[r].letters[i] - '0';

		ret[i] = (struct ec2_zone){
			.name = keep(c, arena_printf(&a, "%s%c", region, "abcdefgh"[i])),
			.id = keep(c,
				   arena_printf(&a, "%s-az%d", region_row[r].prefix, id)),
			.index = id - 1,
			.takes_eks = id != region_row[r].no_eks,
			.type = "availability-zone",
			.group = keep(c, arena_printf(&a, "%s-zg-1", region)),
			.border = region,
			.opt_in = "opt-in-not-required",
		};
	}
	arena_free(&a);
	return n;
}

size_t ec2_edge_zones(struct cloud *c, struct ec2_zone ret[EC2_ZONES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < EDGES; i++) {
		const struct edge *e = &edge_row[i];

		if (streq(e->region, cloud_opts(c)->region))
			ret[n++] = (struct ec2_zone){.name = e->name,
						     .id = e->id,
						     .type = e->type,
						     .group = e->group,
						     .border = e->group,
						     .opt_in = e->opt_in};
	}
	return n;
}

/* All of the region, those near towns last. */
static size_t all_zones(struct cloud *c, struct ec2_zone ret[2 * EC2_ZONES_MAX])
{
	const size_t n = ec2_zones(c, ret);

	return n + ec2_edge_zones(c, ret + n);
}

bool ec2_find_zone(struct cloud *c, const char *name_or_id, struct ec2_zone *ret)
{
	struct ec2_zone zone[2 * EC2_ZONES_MAX];
	size_t n = all_zones(c, zone);

	for (size_t i = 0; i < n; i++)
		if (streq(zone[i].name, name_or_id) || streq(zone[i].id, name_or_id)) {
			*ret = zone[i];
			return true;
		}
	return false;
}

static json_t *zone_view(struct cloud_call *call, const struct ec2_zone *z)
{
	return json_packf(call->arena, "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[]}",
			  "ZoneName", z->name, "ZoneId", z->id, "RegionName",
			  cloud_opts(call->cloud)->region, "State", "available",
			  "ZoneType", z->type, "OptInStatus", z->opt_in, "GroupName",
			  z->group, "NetworkBorderGroup", z->border, "Messages");
}

/* Without being asked for all, only what the account can use. */
bool ec2_describe_zones(struct cloud_call *call, json_t **ret_out)
{
	static const struct kind_filter filters[] = {
		{"zone-name", "ZoneName"},        {"zone-id", "ZoneId"},
		{"zone-type", "ZoneType"},        {"state", "State"},
		{"region-name", "RegionName"},    {"group-name", "GroupName"},
		{"opt-in-status", "OptInStatus"}, {NULL, NULL},
	};
	json_t *names = json_object_get(call->in, "ZoneNames");
	json_t *ids = json_object_get(call->in, "ZoneIds");
	const bool all = json_bool_or(call->in, "AllAvailabilityZones", false);
	json_t *list = json_new_list(call->arena), *one;
	struct ec2_zone zone[2 * EC2_ZONES_MAX];
	size_t n, i;
	bool take;

	json_array_foreach(names, i, one)
		if (!ec2_find_zone(call->cloud, json_string_value(one), zone))
			return cloud_fault(call, "InvalidParameterValue",
					   "Invalid availability zone: [%s]",
					   json_string_value(one));
	n = all_zones(call->cloud, zone);
	for (i = 0; i < n; i++) {
		json_t *z = zone_view(call, &zone[i]);

		if (!ec2_filters_take(call, json_object_get(call->in, "Filters"), filters,
				      z, &take))
			return false;
		take &= json_array_size(names) == 0 || ec2_has_id(names, zone[i].name);
		take &= json_array_size(ids) == 0 || ec2_has_id(ids, zone[i].id);
		take &= all || !streq(zone[i].opt_in, "not-opted-in");
		if (take)
			json_array_append(list, z);
	}
	*ret_out = json_packf(call->arena, "{s:O}", "AvailabilityZones", list);
	return true;
}

bool ec2_describe_regions(struct cloud_call *call, json_t **ret_out)
{
	static const struct kind_filter filters[] = {
		{"region-name", "RegionName"},
		{"opt-in-status", "OptInStatus"},
		{"endpoint", "Endpoint"},
		{NULL, NULL},
	};
	json_t *names = json_object_get(call->in, "RegionNames");
	json_t *list = json_new_list(call->arena);
	bool take;

	for (size_t i = 0; i < REGIONS; i++) {
		const char *region = region_row[i].region;

		if (!streq(aws_partition_of(region)->id, cloud_partition(call->cloud)))
			continue;
		json_t *r = json_packf(call->arena, "{s:s, s:s, s:s}", "RegionName",
				       region, "Endpoint",
				       arena_printf(call->arena, "ec2.%s.%s", region,
						    cloud_dns_suffix(call->cloud)),
				       "OptInStatus", "opt-in-not-required");

		if (!ec2_filters_take(call, json_object_get(call->in, "Filters"), filters,
				      r, &take))
			return false;
		if (take && (json_array_size(names) == 0 || ec2_has_id(names, region)))
			json_array_append(list, r);
	}
	*ret_out = json_packf(call->arena, "{s:O}", "Regions", list);
	return true;
}
