/*
 * check_quota.c - whether the account's quota has room (case CC-06).
 *
 * "ml.TYPE for cluster usage" counts the nodes of all HyperPod clusters; what
 * they use is summed up here, since the quota itself does not tell. What cannot
 * be read is a warning: SageMaker judges then.
 */
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* Bounds the reads of a claim; whoever has more clusters is warned. */
enum { CLUSTERS_MAX = 20 };

static const char *wanted(struct step_ctx *c)
{
	return quota_name(c->arena, step_input(c, "instance_type"),
			  step_input(c, "capacity_type"));
}

static const json_t *quota_of(struct step_ctx *c)
{
	const json_t *quota =
		json_find(json_at(saw(c, "quotas"), "Quotas"), "QuotaName", wanted(c));

	return quota ? quota
		     : json_find(json_at(saw(c, "defaults"), "Quotas"), "QuotaName",
				 wanted(c));
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

		if (i < CLUSTERS_MAX && !streq(name, hyperpod_name(c)) &&
		    read_aws(c, x, arena_printf(c->arena, "cluster/%s", name),
			     AWS_SAGEMAKER_DescribeCluster,
			     json_packf(c->arena, "{s:s}", "ClusterName", name)))
			return true;
	}
	return false;
}

/* Answers without a match keep being read: quotas are found by name alone. */
bool quota_observe(struct step_ctx *c, struct exchange *x)
{
	json_t *in = json_packf(c->arena, "{s:s, s:i}", "ServiceCode", "sagemaker",
				"MaxResults", 100);

	if (!wanted(c) || json_at(c->data, "quota"))
		return false;
	return read_all(c, x, "quotas", AWS_QUOTAS_ListServiceQuotas, in) ||
	       (saw_ok(c, "quotas") && !quota_of(c) &&
		read_all(c, x, "defaults", AWS_QUOTAS_ListAWSDefaultServiceQuotas, in)) ||
	       (quota_of(c) && read_usage(c, x));
}

static bool counts(const struct step_ctx *c, const json_t *group)
{
	const bool spot = json_at(group, "CapacityRequirements.Spot") != NULL;

	return streq(json_str_or(group, "InstanceType", ""),
		     step_input(c, "instance_type")) &&
	       spot == streq(step_input(c, "capacity_type"), "spot") &&
	       !json_str_at(group, "TrainingPlanArn");
}

static int64_t nodes_in(const struct step_ctx *c, const json_t *cluster)
{
	int64_t n = 0;
	size_t i;
	json_t *g;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g) {
		const int64_t there = json_int_or(g, "CurrentCount", 0);
		const int64_t asked = json_int_or(g, "TargetCount", 0);

		if (counts(c, g))
			n += asked > there ? asked : there;
	}
	return n;
}

/* *ret_unknown: clusters whose nodes could not be counted. */
static int64_t in_use(const struct step_ctx *c, int64_t *ret_unknown)
{
	int64_t n = 0;
	size_t i;
	json_t *s;

	*ret_unknown = 0;
	json_array_foreach(clusters(c), i, s) {
		const char *name = json_str_or(s, "ClusterName", "");
		const char *key = arena_printf(c->arena, "cluster/%s", name);

		if (streq(name, hyperpod_name(c)) || saw_missing(c, key))
			continue;
		if (saw_ok(c, key))
			n += nodes_in(c, saw(c, key));
		else
			++*ret_unknown;
	}
	return n;
}

static void no_room(struct step_ctx *c, const json_t *quota, double limit, int64_t used,
		    int64_t count)
{
	struct err *e =
		step_fail(c, ERR_QUOTA,
			  "the quota \"%s\" is %.0f: %lld are in use, %lld are needed",
			  wanted(c), limit, (long long)used, (long long)count);
	const double left = limit - (double)used;

	err_field(e, "/count", arena_printf(c->arena, "%lld", (long long)count),
		  arena_printf(c->arena, "at most %.0f", left > 0 ? left : 0));
	err_fix(e,
		"Ask for an increase of %s in Service Quotas (service sagemaker, "
		"region %s), then retry.",
		json_str_or(quota, "QuotaCode", wanted(c)), c->where->region);
}

void quota_plan(struct step_ctx *c, struct exchange *x)
{
	const int64_t count = json_int_or(c->input, "count", 1);
	const json_t *quota = quota_of(c);
	int64_t used, unknown;
	double limit;

	(void)x;
	if (!wanted(c) || json_at(c->data, "quota"))
		return;
	if (!quota) {
		step_warn(c, "the quota \"%s\" could not be read%s%s", wanted(c),
			  saw_code(c, "quotas")[0] ? ": " : "", saw_code(c, "quotas"));
		return;
	}
	limit = json_num_or(quota, "Value", 0);
	used = in_use(c, &unknown);
	if (limit < (double)(used + count)) {
		no_room(c, quota, limit, used, count);
		return;
	}
	if (!saw_ok(c, "clusters") || unknown)
		step_warn(
			c,
			"not all HyperPod clusters could be looked at: the quota \"%s\" of "
			"%.0f may be in use",
			wanted(c), limit);
	step_save(c, "quota",
		  json_pack("{s:s, s:s, s:f, s:I, s:I}", "name", wanted(c), "code",
			    json_str_or(quota, "QuotaCode", ""), "limit", limit, "used",
			    (json_int_t)used, "needed", (json_int_t)count));
	step_event(c, "quota", json_deep_copy(json_at(c->data, "quota")));
}
