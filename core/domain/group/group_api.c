/* Instance groups, looked at now. */
#include "core/domain/group/group.h"
#include "core/domain/group/group_out.h"
#include "core/domain/hyperpod/subnet_room.h"
#include "core/domain/not_known.h"
#include "core/domain/offer/cached.h"
#include "core/domain/offer/quota_name.h"
#include "core/domain/page.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/group_in.h"
#include "core/json/tree.h"
#include "core/op/runner.h"
#include "gen/queries.h"

enum { TYPES_AGE_S = 6 * 3600 };

struct of_cluster {
	const char *cluster;
};

struct list_groups {
	const char *cluster;
	int64_t limit;
	const char *cursor;
};

struct of_group {
	const char *cluster;
	const char *group;
};

/* DescribeCluster, now. */
static bool read_cluster(struct call *c, const char *cluster, struct cluster *ret_k,
			 json_t **ret, struct err *e)
{
	if (!cluster_mean(c, cluster, ret_k, e))
		return false;
	return aws_read(
		c->cloud->aws, AWS_SAGEMAKER_DescribeCluster,
		json_packf(c->arena, "{s:s}", "ClusterName",
			   ret_k->hyperpod_name ? ret_k->hyperpod_name : ret_k->name),
		call_read_deadline(c), c->arena, ret, e);
}

/* Which of its instances are nodes, as the last look has it: pollers look at both sides,
 * a face at one. Nothing of a cluster that was not looked at yet. */
static bool put_joins(struct call *c, const char *cluster, json_t *items, struct err *e)
{
	static const char *const counts[] = {"joined", "no_node", "no_instance"};
	struct db_rows rows;

	if (!DB(c->db, c->arena, &Q_node_joins, &rows, e, cluster))
		return false;
	for (int r = 0; r < rows.n; r++) {
		json_t *item = (json_t *)(uintptr_t)json_find(items, "name",
							      db_text(&rows, r, "grp"));

		for (size_t i = 0; item && i < sizeof(counts) / sizeof(*counts); i++)
			json_put_int(item, counts[i], db_int(&rows, r, counts[i]));
	}
	return true;
}

/* --- list_instance_groups --------------------------------------------------------- */

static const struct field list_groups_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct list_groups, cluster),
	PAGE_WHOLE_FIELDS(struct list_groups), FIELD_END};

static const struct field list_groups_out[] = {PAGE_OUT(group_item_out),
					       OUT("observed_at", FIELD_STR,
						   .flags = FIELD_REQUIRED,
						   .doc = "Time of the observation."),
					       FIELD_END};

static bool run_list_groups(struct call *c, const void *in, struct reply *ret,
			    struct err *e)
{
	const struct list_groups *q = in;
	json_t *cluster, *items = json_new_list(c->arena), *g, *next;
	struct cluster k;
	char at[TIME_TEXT];
	size_t i;

	if (!read_cluster(c, q->cluster, &k, &cluster, e))
		return false;
	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
		json_array_append(items, group_item(c->arena, cluster, g));
	next = page_cut(c->arena, items, "name", q->limit, q->cursor);
	if (!put_joins(c, k.name, items, e))
		return false;
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:O, s:O, s:s}", "items", items, "next_cursor",
			      next, "observed_at",
			      time_rfc3339(c->clock->wall_ms(c->clock), at)));
	return true;
}

extern const struct capability cap_list_instance_groups;
const struct capability cap_list_instance_groups = {
	.name = "list_instance_groups",
	.method = "GET",
	.path = "/clusters/{cluster}/groups",
	.title = "List instance groups",
	.doc = "Lists the instance groups with their current counts, capacity and "
	       "software, as reported by SageMaker.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_LIST,
	.in = list_groups_in,
	.in_size = sizeof(struct list_groups),
	.out = list_groups_out,
	.run = run_list_groups,
};

/* --- get_instance_group ------------------------------------------------------------- */

static const struct field get_group_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct of_group, cluster),
	FIELD_GROUP_PATH(struct of_group, group), FIELD_END};

/* What a node of it takes in its interface mode: of several types, the most. */
static bool addresses_each(struct call *c, const json_t *item, int64_t *ret,
			   struct err *e)
{
	const json_t *types = json_at(item, "instance_types");
	const char *mode = json_str_at(item, "interface_mode");
	const json_t *one =
		json_packf(c->arena, "[s]", json_str_or(item, "instance_type", ""));
	json_t *all;
	int64_t ignored;
	size_t i;
	json_t *v;

	*ret = 0;
	if (!cached_read(c, AWS_EC2_DescribeInstanceTypes, NULL, TYPES_AGE_S, &all,
			 &ignored, e))
		return false;
	json_array_foreach(types ? types : one, i, v) {
		const json_t *type =
			json_find(json_at(all, "InstanceTypes"), "InstanceType",
				  ec2_type(json_string_value(v)));
		const int64_t n = type ? node_addresses(type, mode, false) : 0;

		*ret = n > *ret ? n : *ret;
	}
	return true;
}

/* The rest is worth showing without it. */
static void put_addresses(struct call *c, json_t *item)
{
	const char *subnet = json_str_at(item, "subnet_ids.0");
	json_t *out = NULL;
	int64_t each = 0, left;
	struct err e = {0};

	if (!subnet)
		return;
	if (!addresses_each(c, item, &each, &e) ||
	    !aws_read(c->cloud->aws, AWS_EC2_DescribeSubnets,
		      json_packf(c->arena, "{s:[s]}", "SubnetIds", subnet),
		      call_read_deadline(c), c->arena, &out, &e)) {
		not_known_err(item, "addresses", &e);
		return;
	}
	left = json_int_or(out, "Subnets.0.AvailableIpAddressCount", -1);
	if (each <= 0 || left < 0) {
		not_known(item, "addresses", "",
			  each <= 0 ? "EC2 does not list the instance type"
				    : "EC2 does not tell the free addresses");
		return;
	}
	json_put(item, "addresses",
		 json_pack("{s:s, s:I, s:I, s:I}", "subnet_id", subnet, "each_node",
			   (json_int_t)each, "free_now", (json_int_t)left,
			   "nodes_that_fit", (json_int_t)(left / each)));
}

static void put_more(json_t *item, const json_t *cluster, const json_t *group)
{
	static const struct {
		const char *name, *path;
	} more[] = {
		{"execution_role_arn", "ExecutionRole"},
		{"threads_per_core", "ThreadsPerCore"},
		{"deep_health_checks", "OnStartDeepHealthChecks"},
		{"labels", "KubernetesConfig.DesiredLabels"},
		{"taints", "KubernetesConfig.DesiredTaints"},
	};
	json_t *vpc = json_at(group, "OverrideVpcConfig");

	if (!vpc)
		vpc = json_at(cluster, "VpcConfig");
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (json_at(group, more[i].path))
			json_put(item, more[i].name,
				 json_deep_copy(json_at(group, more[i].path)));
	if (json_at(vpc, "SecurityGroupIds"))
		json_put(item, "security_group_ids",
			 json_deep_copy(json_at(vpc, "SecurityGroupIds")));
	json_put(item, "details", json_deep_copy(group));
}

static bool run_get_group(struct call *c, const void *in, struct reply *ret,
			  struct err *e)
{
	const struct of_group *q = in;
	json_t *cluster, *item;
	const json_t *g;
	struct cluster k;
	char at[TIME_TEXT];

	if (!read_cluster(c, q->cluster, &k, &cluster, e))
		return false;
	g = group_in(cluster, q->group);
	if (!g) {
		err_set(e, ERR_NOT_FOUND, "There is no instance group %s in %s", q->group,
			k.name);
		return err_field(e, "/group", q->group,
				 group_hint(c->arena, cluster, q->group));
	}
	item = group_item(c->arena, cluster, g);
	if (!put_joins(c, k.name, json_packf(c->arena, "[O]", item), e))
		return false;
	json_put_str(item, "cluster", k.name);
	put_more(item, cluster, g);
	put_addresses(c, item);
	json_put_str(item, "observed_at", time_rfc3339(c->clock->wall_ms(c->clock), at));
	reply_tree(c, ret, item);
	return true;
}

extern const struct capability cap_get_instance_group;
const struct capability cap_get_instance_group = {
	.name = "get_instance_group",
	.method = "GET",
	.path = "/clusters/{cluster}/groups/{group}",
	.title = "Get an instance group",
	.doc = "Returns the current details of a group from SageMaker, and how many more "
	       "nodes fit in its subnet.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = get_group_in,
	.in_size = sizeof(struct of_group),
	.out = get_group_out,
	.run = run_get_group,
};
