/* What can be had: zones and instance types. */
#include <string.h>

#include "core/base/nearest.h"
#include "core/domain/not_known.h"
#include "core/domain/offer/cached.h"
#include "core/domain/offer/instance_types.h"
#include "core/domain/offer/quota_name.h"
#include "core/domain/offer/usage.h"
#include "core/domain/offer/zones.h"
#include "core/domain/page.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"

enum { ZONES_AGE_S = 3600, TYPES_AGE_S = 6 * 3600, QUOTAS_AGE_S = 3600 };

#define OBSERVED_AT                                                                      \
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,                           \
	    .doc = "Time of the observation.")

/* --- list_availability_zones ------------------------------------------------------- */

struct list_zones {
	int64_t limit;
	const char *cursor;
};

static const struct field zones_in[] = {PAGE_WHOLE_FIELDS(struct list_zones), FIELD_END};

static const struct field zone_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Zone name in this account."),
	OUT("id", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Zone ID, the same in every account."),
	OUT("type", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "availability-zone, local-zone or wavelength-zone."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "available or unavailable."),
	OUT("control_plane", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether EKS supports control planes in the zone."),
	FIELD_END};

static const struct field zones_out[] = {
	OUT("region", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Region name."),
	PAGE_OUT(zone_out), OBSERVED_AT, FIELD_END};

static bool run_zones(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct list_zones *q = in;
	json_t *out, *items = json_new_list(c->arena), *next;
	int64_t at_ms;
	char at[TIME_TEXT];
	size_t i;
	json_t *z;

	if (!cached_read(c, AWS_EC2_DescribeAvailabilityZones, NULL, ZONES_AGE_S, &out,
			 &at_ms, e))
		return false;
	json_array_foreach(json_at(out, "AvailabilityZones"), i, z) {
		json_push(items,
			  json_pack("{s:s, s:s, s:s, s:s, s:b}", "name",
				    json_str_or(z, "ZoneName", ""), "id",
				    json_str_or(z, "ZoneId", ""), "type",
				    json_str_or(z, "ZoneType", "availability-zone"),
				    "state", json_str_or(z, "State", "unknown"),
				    "control_plane", zone_takes_eks(z)));
	}
	next = page_cut(c->arena, items, "name", q->limit, q->cursor);
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:s, s:O, s:O, s:s}", "region",
			      c->where->region, "items", items, "next_cursor", next,
			      "observed_at", time_rfc3339(at_ms, at)));
	return true;
}

extern const struct capability cap_list_availability_zones;
const struct capability cap_list_availability_zones = {
	.name = "list_availability_zones",
	.method = "GET",
	.path = "/zones",
	.title = "List availability zones",
	.doc = "Lists the zones that the account can use, by name and ID, including "
	       "opted-in local zones.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_LIST,
	.in = zones_in,
	.in_size = sizeof(struct list_zones),
	.out = zones_out,
	.run = run_zones,
};

/* --- list_instance_types ---------------------------------------------------------------
 */

struct list_types {
	const char *zone;
	const char *name;
	bool gpu_only;
	int64_t limit;
	const char *cursor;
};

static const struct field types_in[] = {
	FIELD(struct list_types, zone, .max = 32,
	      .doc = "Only types offered in this zone (name or ID)."),
	FIELD(struct list_types, name, .max = 40, .example = "\"p5\"",
	      .doc = "Only types whose name contains this text, in any case."),
	FIELD(struct list_types, gpu_only, .doc = "Only types with GPUs."),
	PAGE_WHOLE_FIELDS(struct list_types), FIELD_END};

static const struct field type_out[] = {
	OUT("instance_type", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Instance type, with its ml. prefix."),
	OUT("vcpus", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "vCPUs."),
	OUT("memory_mib", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "Memory."),
	OUT("gpus", FIELD_INT, .flags = FIELD_REQUIRED, .doc = "GPUs."),
	OUT("gpu_name", FIELD_STR, .doc = "GPU model."),
	OUT("gpu_memory_mib", FIELD_INT, .doc = "Total GPU memory."),
	OUT("efa_interfaces", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "EFA interfaces."),
	OUT("zones", FIELD_STRS, .doc = "IDs of the zones that offer the type."),
	OUT("quota", FIELD_NUM, .doc = "On-demand quota, in nodes."),
	OUT("used", FIELD_INT,
	    .doc = "On-demand nodes of all clusters, including those that are "
		   "starting."),
	OUT("left", FIELD_NUM, .doc = "Nodes that the quota still allows."),
	FIELD_END};

static const struct field types_out[] = {PAGE_OUT(type_out), OBSERVED_AT, NOT_KNOWN_OUT,
					 FIELD_END};

struct offers {
	json_t *types, *offerings, *quotas, *zones;
	struct usage usage;
	bool counted;
};

/* Which zones offer what, and the zone that is asked for: without it there is no answer
 * to who asks for one. */
static bool read_places(struct call *c, bool wanted, struct offers *o, json_t *answer,
			struct err *e)
{
	json_t *offerings, *zones;
	int64_t ignored;

	if (!cached_read(
		    c, AWS_EC2_DescribeInstanceTypeOfferings,
		    json_packf(c->arena, "{s:s}", "LocationType", "availability-zone-id"),
		    TYPES_AGE_S, &offerings, &ignored, e)) {
		not_known_err(answer, "zones", e);
		if (!wanted)
			err_clear(e);
		return !wanted;
	}
	o->offerings = json_at(offerings, "InstanceTypeOfferings");
	if (!wanted)
		return true;
	if (!cached_read(c, AWS_EC2_DescribeAvailabilityZones, NULL, ZONES_AGE_S, &zones,
			 &ignored, e))
		return false;
	o->zones = json_at(zones, "AvailabilityZones");
	return true;
}

/* What is left of a quota is known when all clusters were counted. */
static void read_quotas(struct call *c, struct offers *o, json_t *answer)
{
	struct err e = {0};
	json_t *quotas;
	int64_t ignored;

	if (cached_read(c, AWS_QUOTAS_ListServiceQuotas,
			json_packf(c->arena, "{s:s, s:i}", "ServiceCode", "sagemaker",
				   "MaxResults", 100),
			QUOTAS_AGE_S, &quotas, &ignored, &e))
		o->quotas = json_at(quotas, "Quotas");
	else
		not_known_err(answer, "quota", &e);
	usage_read(c, &o->usage);
	o->counted = usage_is_known(&o->usage) && o->usage.uncounted == 0;
	if (!o->counted)
		not_known(answer, "used and left", "",
			  usage_is_known(&o->usage)
				  ? "not all clusters could be counted"
				  : "the HyperPod clusters could not be listed");
}

static bool read_offers(struct call *c, bool zone, struct offers *ret, int64_t *ret_at_ms,
			json_t *answer, struct err *e)
{
	json_t *types;

	*ret = (struct offers){0};
	if (!cached_read(c, AWS_EC2_DescribeInstanceTypes, NULL, TYPES_AGE_S, &types,
			 ret_at_ms, e) ||
	    !read_places(c, zone, ret, answer, e))
		return false;
	ret->types = json_at(types, "InstanceTypes");
	read_quotas(c, ret, answer);
	return true;
}

static json_t *zones_of(const struct offers *o, const char *ec2_name)
{
	json_t *list = json_array();
	size_t i;
	json_t *row;

	json_array_foreach(o->offerings, i, row)
		if (streq(json_str_or(row, "InstanceType", ""), ec2_name))
			json_push(list, json_string(json_str_or(row, "Location", "?")));
	return list;
}

static bool has_zone(json_t *zones, const char *zone_id)
{
	size_t i;
	json_t *z;

	json_array_foreach(zones, i, z)
		if (streq(json_string_value(z), zone_id))
			return true;
	return false;
}

/* HyperPod takes the types that have a quota for cluster usage; where quotas are not
 * known, those that it is known to take. */
static json_t *describe_type(struct call *c, const struct offers *o, const json_t *t)
{
	const char *name =
		arena_printf(c->arena, "ml.%s", json_str_or(t, "InstanceType", ""));
	const json_t *quota = json_find(o->quotas, "QuotaName",
					quota_name(c->arena, name, "on_demand"));
	json_t *row;
	int64_t gpus = 0;
	size_t i;
	json_t *g;

	if (o->quotas ? !quota : !instance_type_is_known(name))
		return NULL;
	json_array_foreach(json_at(t, "GpuInfo.Gpus"), i, g)
		gpus += json_int_or(g, "Count", 0);
	row = json_pack("{s:s, s:I, s:I, s:I, s:s*, s:I}", "instance_type", name, "vcpus",
			(json_int_t)json_int_or(t, "VCpuInfo.DefaultVCpus", 0),
			"memory_mib",
			(json_int_t)json_int_or(t, "MemoryInfo.SizeInMiB", 0), "gpus",
			(json_int_t)gpus, "gpu_name",
			json_str_at(t, "GpuInfo.Gpus.0.Name"), "efa_interfaces",
			(json_int_t)json_int_or(
				t, "NetworkInfo.EfaInfo.MaximumEfaInterfaces", 0));
	if (o->offerings)
		json_put(row, "zones", zones_of(o, json_str_or(t, "InstanceType", "")));
	if (quota)
		json_put(row, "quota", json_real(json_num_or(quota, "Value", 0)));
	if (quota && o->counted)
		usage_put(row, json_num_or(quota, "Value", 0),
			  usage_of(&o->usage, name, false));
	if (gpus)
		json_put_int(row, "gpu_memory_mib",
			     json_int_or(t, "GpuInfo.TotalGpuMemoryInMiB", 0));
	return row;
}

struct type_row {
	json_t *tree;
};

static int by_name(const void *a, const void *b)
{
	const struct type_row *x = a, *y = b;

	return strcmp(json_str_or(x->tree, "instance_type", ""),
		      json_str_or(y->tree, "instance_type", ""));
}

static json_t *sorted(struct call *c, json_t *list)
{
	size_t n = json_array_size(list), i;
	struct type_row *v = arena_array(c->arena, struct type_row, n);
	json_t *row, *out = json_new_list(c->arena);

	json_array_foreach(list, i, row)
		v[i].tree = row;
	qsort(v, n, sizeof(*v), by_name);
	for (i = 0; i < n; i++)
		json_push(out, json_incref(v[i].tree));
	return out;
}

/* False: no type of any zone has this text in its name, and an empty list would read as
 * "none of them is offered". */
static bool name_can_be(struct call *c, const struct offers *o, const char *name,
			struct err *e)
{
	struct nearest n = {.wanted = name};
	size_t i;
	json_t *t;

	if (!name)
		return true;
	json_array_foreach(o->types, i, t) {
		json_t *row = describe_type(c, o, t);
		const char *one =
			arena_strdup(c->arena, json_str_or(row, "instance_type", ""));

		json_decref(row);
		if (strcasestr(one, name))
			return true;
		nearest_offer(&n, one);
		/* People leave out the prefix, or give the family alone. */
		nearest_offer(&n, str_starts(one, "ml.") ? one + 3 : one);
	}
	err_set(e, ERR_INVALID_INPUT, "No instance type of HyperPod has %s in its name",
		name);
	return err_field(e, "/name", name,
			 nearest_hint(&n, c->arena, "a part of a name, such as p5"));
}

static bool run_types(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct list_types *q = in;
	const json_t *zone = NULL;
	json_t *items = json_new_list(c->arena), *t, *next;
	json_t *answer = json_new_object(c->arena);
	struct offers o;
	int64_t at_ms;
	char at[TIME_TEXT];
	size_t i;

	if (!read_offers(c, q->zone != NULL, &o, &at_ms, answer, e))
		return false;
	if (q->zone && !(zone = zone_find(o.zones, q->zone))) {
		struct nearest n = {.wanted = q->zone};

		json_array_foreach(o.zones, i, t)
			nearest_offer(&n, json_str_or(t, "ZoneName", ""));
		err_set(e, ERR_INVALID_INPUT, "%s is not a zone of %s", q->zone,
			c->where->region);
		return err_field(
			e, "/zone", q->zone,
			nearest_hint(&n, c->arena,
				     "a name or ID from list_availability_zones"));
	}
	if (!name_can_be(c, &o, q->name, e))
		return false;
	json_array_foreach(o.types, i, t) {
		json_t *row = describe_type(c, &o, t);

		if (!row)
			continue;
		if ((zone &&
		     !has_zone(json_at(row, "zones"), json_str_or(zone, "ZoneId", ""))) ||
		    (q->gpu_only && json_int_or(row, "gpus", 0) == 0) ||
		    (q->name &&
		     !strcasestr(json_str_or(row, "instance_type", ""), q->name)))
			json_decref(row);
		else
			json_push(items, row);
	}
	items = sorted(c, items);
	next = page_cut(c->arena, items, "instance_type", q->limit, q->cursor);
	json_put(answer, "items", json_incref(items));
	json_put(answer, "next_cursor", json_incref(next));
	json_put_str(answer, "observed_at", time_rfc3339(at_ms, at));
	reply_tree(c, ret, answer);
	return true;
}

extern const struct capability cap_list_instance_types;
const struct capability cap_list_instance_types = {
	.name = "list_instance_types",
	.method = "GET",
	.path = "/instance-types",
	.title = "List instance types",
	.doc = "Lists the instance types that HyperPod supports: GPUs, memory, EFA "
	       "interfaces, zones, quota and remaining quota.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_LIST,
	.in = types_in,
	.in_size = sizeof(struct list_types),
	.out = types_out,
	.run = run_types,
};
