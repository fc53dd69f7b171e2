/*
 * check_quota.c - whether the account's quota has room (case CC-06).
 *
 * "ml.TYPE for cluster usage" counts the nodes of all HyperPod clusters; what
 * they use is summed up here, since the quota itself does not tell. The group
 * that is asked for is left out of the sum: its nodes are what is wanted. Nodes that
 * were asked for and have not come count as used; those of a group with several types
 * count for each of them, since any may come. What cannot be read is not known, and
 * said to be: SageMaker judges then. Of several types each is worth what it has left.
 */
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/offer/group_takes.h"
#include "core/domain/offer/quota_name.h"
#include "core/domain/offer/wish.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* Bounds the reads of a claim; whoever has more clusters is warned. */
enum { CLUSTERS_MAX = 20 };

/* NULL: training plans have no quota but themselves. */
static const char *wanted(struct step_ctx *c, const char *type)
{
	return quota_name(c->arena, type, wish_str(c, "capacity_type"));
}

static const char *first_type(struct step_ctx *c)
{
	return json_str_or(wish_types(c), "0", "");
}

static const json_t *quota_of(struct step_ctx *c, const char *type)
{
	const json_t *quota = json_find(json_at(saw(c, "quotas"), "Quotas"), "QuotaName",
					wanted(c, type));

	return quota ? quota
		     : json_find(json_at(saw(c, "defaults"), "Quotas"), "QuotaName",
				 wanted(c, type));
}

static const char *missing_quota(struct step_ctx *c)
{
	size_t i;
	json_t *type;

	json_array_foreach(wish_types(c), i, type)
		if (!quota_of(c, json_string_value(type)))
			return json_string_value(type);
	return NULL;
}

static const json_t *clusters(const struct step_ctx *c)
{
	return json_at(saw(c, "clusters"), "ClusterSummaries");
}

/* Each under its own name; those of more than CLUSTERS_MAX are not asked for. */
static bool read_usage(struct step_ctx *c, struct exchange *x)
{
	size_t i;
	json_t *s;

	if (read_all(c, x, "clusters", AWS_SAGEMAKER_ListClusters, NULL))
		return true;
	json_array_foreach(clusters(c), i, s) {
		const char *name = json_str_or(s, "ClusterName", "");

		if (i < CLUSTERS_MAX &&
		    read_aws(c, x, arena_printf(c->arena, "cluster/%s", name),
			     AWS_SAGEMAKER_DescribeCluster,
			     json_packf(c->arena, "{s:s}", "ClusterName", name)))
			return true;
	}
	return false;
}

static bool is_settled(struct step_ctx *c)
{
	return !first_type(c)[0] || !wanted(c, first_type(c)) || wish_more(c) <= 0 ||
	       json_at(c->data, "quota");
}

/* Answers without a match keep being read: quotas are found by name alone. */
bool quota_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in = json_packf(c->arena, "{s:s, s:i}", "ServiceCode", "sagemaker",
				"MaxResults", 100);

	if (is_settled(c))
		return false;
	return read_all(c, x, "quotas", AWS_QUOTAS_ListServiceQuotas, in) ||
	       (saw_ok(c, "quotas") && missing_quota(c) &&
		read_all(c, x, "defaults", AWS_QUOTAS_ListAWSDefaultServiceQuotas, in)) ||
	       (quota_of(c, first_type(c)) && read_usage(c, x));
}

static int64_t nodes_in(const struct step_ctx *c, const json_t *cluster, bool own,
			const char *type)
{
	const char *group = own ? step_input(c, "group_name") : NULL;
	int64_t n = 0;
	size_t i;
	json_t *g;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g) {
		if (!(group && streq(json_str_at(g, "InstanceGroupName"), group)))
			n += group_takes(g, type,
					 streq(wish_str(c, "capacity_type"), "spot"));
	}
	return n;
}

/* *ret_unknown: clusters whose nodes could not be counted. */
static int64_t in_use(const struct step_ctx *c, const char *type, int64_t *ret_unknown)
{
	int64_t n = 0;
	size_t i;
	json_t *s;

	*ret_unknown = 0;
	json_array_foreach(clusters(c), i, s) {
		const char *name = json_str_or(s, "ClusterName", "");
		const char *key = arena_printf(c->arena, "cluster/%s", name);

		if (saw_missing(c, key))
			continue;
		if (saw_ok(c, key))
			n += nodes_in(c, saw(c, key), streq(name, hyperpod_name(c)),
				      type);
		else
			++*ret_unknown;
	}
	return n;
}

static void no_room(struct step_ctx *c, const json_t *quota, double limit, int64_t used)
{
	/* Of a group that gets more, those that it has are not asked for. */
	const int64_t count = wish_count(c), had = count - wish_more(c);
	const long long in_use = used + had;
	struct err *e = step_fail(
		c, ERR_QUOTA, "The quota \"%s\" is %.0f: %lld in use%s, %lld needed",
		wanted(c, first_type(c)), limit, in_use,
		had > 0 ? arena_printf(c->arena, " (%lld of them by this group)",
				       (long long)had)
			: "",
		(long long)count);
	const double left = limit - (double)used;

	err_field(e, "/count", arena_printf(c->arena, "%lld", (long long)count),
		  arena_printf(c->arena, "at most %.0f",
			       left > (double)had ? left : (double)had));
	err_fix(e,
		"Request an increase of %s in Service Quotas (service sagemaker, region "
		"%s), then retry.",
		json_str_or(quota, "QuotaCode", wanted(c, first_type(c))),
		c->where->region);
}

static void save_room(struct step_ctx *c, const json_t *quota, double limit, int64_t used,
		      bool known)
{
	step_save(c, "quota",
		  json_pack("{s:s, s:s, s:f, s:I, s:I, s:f, s:s}", "name",
			    wanted(c, first_type(c)), "code",
			    json_str_or(quota, "QuotaCode", ""), "limit", limit, "used",
			    (json_int_t)used, "needed", (json_int_t)wish_count(c), "left",
			    limit - (double)(used + wish_count(c)), "verdict",
			    known ? "fits" : "not_known"));
	step_event(c, "quota", json_deep_copy(json_at(c->data, "quota")));
}

void quota_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *quota = quota_of(c, first_type(c));
	double limit = 0;
	int64_t used = 0, unknown = 0;
	bool known;
	size_t i;
	json_t *type;

	(void)x;
	if (is_settled(c))
		return;
	if (missing_quota(c)) {
		step_not_known(c, "quota", "whether the quota \"%s\" is sufficient: %s%s",
			       wanted(c, missing_quota(c)),
			       saw_ok(c, "quotas") ? "the account shows no such quota"
						   : "it could not be read, ",
			       saw_ok(c, "quotas") ? "" : saw_why(c, "quotas"));
		return;
	}
	json_array_foreach(wish_types(c), i, type) {
		const char *name = json_string_value(type);

		limit += json_num_or(quota_of(c, name), "Value", 0);
		used += in_use(c, name, &unknown);
	}
	if (limit < (double)(used + wish_count(c))) {
		no_room(c, quota, limit, used);
		return;
	}
	known = saw_ok(c, "clusters") && !unknown;
	if (!known)
		step_not_known(
			c, "quota",
			"not all HyperPod clusters could be read: the quota \"%s\" of "
			"%.0f may be in use",
			wanted(c, first_type(c)), limit);
	save_room(c, quota, limit, used, known);
}
