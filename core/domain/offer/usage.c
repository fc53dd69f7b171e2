#include "core/domain/offer/usage.h"

#include "core/domain/offer/cached.h"
#include "core/domain/offer/group_takes.h"
#include "core/json/tree.h"

enum { USAGE_AGE_S = 30, CLUSTERS_MAX = 50 };

static void read_groups(struct call *c, struct usage *u, const char *name)
{
	const json_t *in = json_packf(c->arena, "{s:s}", "ClusterName", name);
	struct err e = {0};
	json_t *out, *g;
	int64_t at_ms;
	size_t i;

	if (!cached_read(c, AWS_SAGEMAKER_DescribeCluster, in, USAGE_AGE_S, &out, &at_ms,
			 &e)) {
		/* Gone since it was listed: it uses nothing. */
		u->uncounted += e.code != ERR_CLOUD_NOT_FOUND;
		return;
	}
	json_array_foreach(json_at(out, "InstanceGroups"), i, g)
		json_push(u->groups, json_incref(g));
}

void usage_read(struct call *c, struct usage *ret)
{
	struct err e = {0};
	json_t *out, *s;
	int64_t at_ms;
	size_t i;

	*ret = (struct usage){.groups = json_new_list(c->arena)};
	ret->listed = cached_read(c, AWS_SAGEMAKER_ListClusters, NULL, USAGE_AGE_S, &out,
				  &at_ms, &e);
	if (!ret->listed)
		return;
	json_array_foreach(json_at(out, "ClusterSummaries"), i, s) {
		if (i < CLUSTERS_MAX)
			read_groups(c, ret, json_str_or(s, "ClusterName", ""));
		else
			ret->uncounted++;
	}
}

bool usage_is_known(const struct usage *u)
{
	return u->listed;
}

int64_t usage_of(const struct usage *u, const char *instance_type, bool spot)
{
	int64_t n = 0;
	size_t i;
	json_t *g;

	json_array_foreach(u->groups, i, g)
		n += group_takes(g, instance_type, spot);
	return n;
}

int64_t usage_of_all(const struct usage *u)
{
	int64_t n = 0;
	size_t i;
	json_t *g;

	json_array_foreach(u->groups, i, g)
		n += group_takes_all(g);
	return n;
}

void usage_put(json_t *row, double limit, int64_t used)
{
	const double left = limit - (double)used;

	json_put_int(row, "used", used);
	json_object_set_new(row, "left", json_real(left > 0 ? left : 0));
}
