#include "core/domain/offer/cluster_check.h"

#include <stdio.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/domain/offer/instance_types.h"
#include "core/domain/offer/zones.h"
#include "core/json/tree.h"

struct check {
	const json_t *in;
	const struct config *cfg;
	struct arena *arena;
	struct violation *v;
	size_t n;
};

static const char *get(const struct check *k, const char *name)
{
	return json_str_at(k->in, name);
}

static void refuse(struct check *k, const char *field, const char *detail,
		   const char *seen, const char *expected)
{
	struct violation *v;

	if (k->n == LIMIT_VIOLATIONS)
		return;
	v = &k->v[k->n++];
	snprintf(v->field, sizeof(v->field), "/%s", field);
	str_copy(v->detail, sizeof(v->detail), detail);
	str_copy(v->seen, sizeof(v->seen), seen ? seen : "");
	str_copy(v->expected, sizeof(v->expected), expected);
}

static void check_network(struct check *k)
{
	size_t subnets = json_len_at(k->in, "subnet_ids");

	if (get(k, "vpc_id") && subnets != 2)
		refuse(k, "subnet_ids", "an existing VPC requires two subnets", "",
		       "two subnets in different zones");
	if (!get(k, "vpc_id") && subnets)
		refuse(k, "vpc_id", "subnets require their VPC", "",
		       "the VPC of the subnets");
	if (get(k, "vpc_id") && get(k, "vpc_cidr"))
		refuse(k, "vpc_cidr", "an existing VPC already has addresses",
		       get(k, "vpc_cidr"), "vpc_id or vpc_cidr, not both");
}

static void check_capacity(struct check *k)
{
	const char *type = get(k, "capacity_type");
	const char *plan = get(k, "training_plan_arn");

	if (streq(type, "training_plan") && !plan)
		refuse(k, "training_plan_arn",
		       "capacity from a training plan requires the plan", "",
		       "the ARN of an active training plan");
	if (plan && !streq(type, "training_plan"))
		refuse(k, "capacity_type", "a training plan is set", type,
		       "training_plan");
}

/* Of a group that is to be made: no change of one says where its capacity comes from. */
static void check_group(struct check *k)
{
	const json_t *types = json_at(k->in, "instance_types");
	const int64_t count = json_int_or(k->in, "count", 1);
	const int64_t least = json_int_or(k->in, "min_count", 0);

	if (!get(k, "group_name") || !get(k, "capacity_type"))
		return;
	if (!get(k, "instance_type") == (json_array_size(types) == 0))
		refuse(k, "instance_type", "Set either instance_type or instance_types",
		       get(k, "instance_type") ? "both" : "neither",
		       "instance_type, or instance_types for a flexible group");
	if (!get(k, "zone") && !get(k, "subnet_id"))
		refuse(k, "zone", "A group needs a location", "",
		       "a zone, or the subnet_id of a private subnet");
	if (least > count)
		refuse(k, "min_count", "The minimum exceeds the count",
		       arena_printf(k->arena, "%lld", (long long)least),
		       arena_printf(k->arena, "at most %lld", (long long)count));
	if (json_array_size(types) > 0 && get(k, "training_plan_arn"))
		refuse(k, "instance_types", "A training plan has only one instance type",
		       json_string_value(json_array_get(types, 0)), "instance_type");
}

static void check_type(struct check *k, const char *type, const char *field)
{
	if (type && !instance_type_is_known(type))
		refuse(k, field, "HyperPod has no such instance type", type,
		       arena_printf(k->arena, "one like %s; or accept_unknown_type",
				    instance_type_nearest(k->arena, type)));
}

/* The service's own enum: it would refuse when all else has been made. */
static void check_types(struct check *k)
{
	size_t i;
	json_t *v;

	if (json_bool_or(k->in, "accept_unknown_type", false))
		return;
	check_type(k, get(k, "instance_type"), "instance_type");
	json_array_foreach(json_at(k->in, "instance_types"), i, v)
		check_type(k, json_string_value(v), "instance_types");
}

int kubernetes_minor(const char *version)
{
	int64_t minor;

	return version && str_starts(version, "1.") &&
			       str_to_i64(str_of(version + 2), &minor) && minor < 1000
		       ? (int)minor
		       : -1;
}

/*
 * HyperPod's range is not EKS's, and both move: it is data of the installation
 * (case CC-13). AWS removes the bottom rarely: below it never works.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-prerequisites.html
 */
static void check_version(struct check *k)
{
	const char *version = get(k, "kubernetes_version");
	const char *oldest = k->cfg->kubernetes_oldest;

	if (version && kubernetes_minor(version) < kubernetes_minor(oldest))
		refuse(k, "kubernetes_version",
		       "HyperPod does not support a version this old", version,
		       arena_printf(k->arena, "%s to %s, or newer at your own risk",
				    oldest, k->cfg->kubernetes_newest));
}

static void check_scripts(struct check *k)
{
	if (get(k, "lifecycle_on_create") && !get(k, "lifecycle_s3_uri"))
		refuse(k, "lifecycle_s3_uri", "a lifecycle script requires its folder",
		       "", "s3://sagemaker-…/folder");
}

/* Whether there is such a zone, AWS's list says later; a region is never one. */
static void check_zone(struct check *k)
{
	const char *zone = get(k, "zone");

	if (zone && zone_is_region(zone))
		refuse(k, "zone", "this is the name of a region", zone,
		       arena_printf(k->arena,
				    "a zone such as %sa: see list_availability_zones",
				    zone));
}

bool cluster_check(const json_t *input, const struct config *cfg, struct arena *a,
		   struct err *e)
{
	struct check k = {.in = input,
			  .cfg = cfg,
			  .arena = a,
			  .v = arena_array(a, struct violation, LIMIT_VIOLATIONS)};

	check_zone(&k);
	check_network(&k);
	check_types(&k);
	check_capacity(&k);
	check_version(&k);
	check_scripts(&k);
	check_group(&k);
	if (k.n == 0)
		return true;
	err_set(e, ERR_INVALID_INPUT, "%s", k.v[0].detail);
	err_field(e, k.v[0].field, k.v[0].seen, k.v[0].expected);
	e->violations = k.v;
	e->n_violations = k.n;
	return false;
}
