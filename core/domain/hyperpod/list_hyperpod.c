/*
 * list_hyperpod_clusters: every HyperPod cluster of the account, ours or not, and
 * whether it can be imported. Slurm's have no Orchestrator.Eks, and some may not be
 * looked at: a row says so, and the others are shown all the same (case IG-11).
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeCluster.html
 */
#include <string.h>

#include "core/domain/capability.h"
#include "core/domain/offer/cached.h"
#include "core/domain/page.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

enum { LOOK_AGE_S = 30 };

struct list_hyperpod {
	int64_t limit;
	const char *cursor;
};

static const struct field list_hyperpod_in[] = {
	FIELD(struct list_hyperpod, limit, .min = 1, .max = 50, .dflt = "20",
	      .doc = "Maximum number of items per page. Each one takes a call to AWS."),
	FIELD(struct list_hyperpod, cursor, .min = 1, .max = 8192,
	      .doc = "next_cursor of the previous page."),
	FIELD_END};

static const char *const states[] = {"ok", "unsupported", "no_permission", "unreadable",
				     NULL};

static const struct field row_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Name. Pass it to import_cluster as hyperpod_name."),
	OUT("arn", FIELD_STR, .doc = "ARN of the cluster."),
	OUT("status", FIELD_STR, .doc = "Status reported by SageMaker."),
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED, .one_of = states,
	    .doc = "ok: can be imported. unsupported: not on EKS (Slurm). no_permission: "
		   "the credentials may not read it. unreadable: the cloud did not "
		   "answer."),
	OUT("reason", FIELD_STR, .doc = "Why it cannot be imported."),
	OUT("eks_name", FIELD_STR,
	    .doc = "EKS cluster. Pass it to import_cluster as eks_name."),
	OUT("groups", FIELD_INT, .doc = "Number of instance groups."),
	FIELD_END};

static const struct field list_hyperpod_out[] = {PAGE_OUT(row_out), FIELD_END};

static json_t *row_of_failure(const json_t *summary, const struct err *e)
{
	const bool denied = errc_is_denial(e->code);

	return json_pack("{s:s, s:s*, s:s*, s:s, s:s}", "name",
			 json_str_or(summary, "ClusterName", "?"), "arn",
			 json_str_at(summary, "ClusterArn"), "status",
			 json_str_at(summary, "ClusterStatus"), "state",
			 denied ? "no_permission" : "unreadable", "reason", e->detail);
}

static json_t *row_of(const json_t *summary, const json_t *cluster)
{
	const char *eks = json_str_at(cluster, "Orchestrator.Eks.ClusterArn");
	const char *slash = eks ? strrchr(eks, '/') : NULL;

	return json_pack("{s:s, s:s*, s:s*, s:s, s:s*, s:s*, s:I}", "name",
			 json_str_or(summary, "ClusterName", "?"), "arn",
			 json_str_at(summary, "ClusterArn"), "status",
			 json_str_at(cluster, "ClusterStatus"), "state",
			 slash ? "ok" : "unsupported", "reason",
			 slash ? NULL : "not supported (Slurm): it does not run on EKS",
			 "eks_name", slash ? slash + 1 : NULL, "groups",
			 (json_int_t)json_len_at(cluster, "InstanceGroups"));
}

/* One that cannot be read is a row, not an error; one that has just gone is neither. */
static void add_row(struct call *c, const json_t *summary, json_t *items)
{
	struct err e = {0};
	json_t *cluster;
	int64_t at_ms;

	if (cached_read(c, AWS_SAGEMAKER_DescribeCluster,
			json_packf(c->arena, "{s:s}", "ClusterName",
				   json_str_or(summary, "ClusterName", "")),
			LOOK_AGE_S, &cluster, &at_ms, &e))
		json_push(items, row_of(summary, cluster));
	else if (e.code != ERR_CLOUD_NOT_FOUND)
		json_push(items, row_of_failure(summary, &e));
}

static bool run_list_hyperpod(struct call *c, const void *in, struct reply *ret,
			      struct err *e)
{
	const struct list_hyperpod *q = in;
	json_t *ask = json_packf(c->arena, "{s:I}", "MaxResults", (json_int_t)q->limit);
	json_t *items = json_new_list(c->arena), *out, *s;
	size_t i;

	json_put_str(ask, "NextToken", q->cursor);
	if (!aws_read_page(c->cloud->aws, AWS_SAGEMAKER_ListClusters, ask,
			   call_read_deadline(c), c->arena, &out, e))
		return call_page_failed(q->cursor, e);
	json_array_foreach(json_at(out, "ClusterSummaries"), i, s)
		add_row(c, s, items);
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:O, s:s?}", "items", items, "next_cursor",
			      json_str_at(out, "NextToken")));
	return true;
}

extern const struct capability cap_list_hyperpod_clusters;
const struct capability cap_list_hyperpod_clusters = {
	.name = "list_hyperpod_clusters",
	.method = "GET",
	.path = "/hyperpod-clusters",
	.title = "List the HyperPod clusters of the account",
	.doc = "Lists all HyperPod clusters of the account and whether import_cluster "
	       "accepts them.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_LIST | CAP_CLOUD,
	.in = list_hyperpod_in,
	.in_size = sizeof(struct list_hyperpod),
	.out = list_hyperpod_out,
	.run = run_list_hyperpod,
};
