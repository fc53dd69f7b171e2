/* The HyperPod cluster of a cluster: made, and looked at now. */
#include "core/domain/hyperpod/kinds.h"
#include "core/domain/offer/cluster_check.h"
#include "core/domain/operation_out.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/group_in.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

/* --- create_hyperpod_cluster ------------------------------------------------------ */

struct create_hyperpod {
	const char *cluster;
	const char *zone;
	MEMBERS_NODES
	MEMBERS_GROUP_SOFT
	bool tag_subnets;
	MEMBERS_MADE
};

static const struct field create_hyperpod_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct create_hyperpod, cluster),
	FIELD_ZONE(struct create_hyperpod, FIELD_REQUIRED),
	FIELDS_NODES(struct create_hyperpod),
	FIELDS_GROUP_SOFT(struct create_hyperpod),
	FIELD_TAG_SUBNETS(struct create_hyperpod),
	FIELDS_MADE(struct create_hyperpod),
	FIELD_END};

static bool run_create_hyperpod(struct call *c, const void *in, struct reply *ret,
				struct err *e)
{
	const struct create_hyperpod *q = in;
	struct cluster k;
	json_t *input;

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	input = cluster_input(c, &k, in);
	return cluster_check(input, c->cfg, c->arena, e) &&
	       call_submit(c, &kind_create_hyperpod_cluster, k.name, input, ret, e);
}

extern const struct capability cap_create_hyperpod_cluster;
const struct capability cap_create_hyperpod_cluster = {
	.name = "create_hyperpod_cluster",
	.method = "POST",
	.path = "/clusters/{cluster}/hyperpod",
	.title = "Create the HyperPod cluster",
	.doc = "Creates a HyperPod cluster on an EKS cluster, with automatic node "
	       "recovery. Installs missing dependencies first. Succeeds when every "
	       "requested node is Ready in Kubernetes.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG,
	.in = create_hyperpod_in,
	.in_size = sizeof(struct create_hyperpod),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "cluster",
	.run = run_create_hyperpod,
};

/* --- get_hyperpod_cluster ------------------------------------------------------------
 */

struct of_cluster {
	const char *cluster;
};

static const struct field get_hyperpod_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct of_cluster, cluster), FIELD_END};

static const struct field group_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the group."),
	OUT("instance_type", FIELD_STR, .doc = "Instance type."),
	OUT("status", FIELD_STR, .doc = "Status reported by SageMaker."),
	OUT("current_count", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Current number of nodes."),
	OUT("target_count", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Requested number of nodes."),
	FIELD_END};

static const struct field get_hyperpod_out[] = {
	OUT("cluster", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name of the cluster."),
	OUT("hyperpod_name", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Name in SageMaker."),
	OUT("arn", FIELD_STR, .doc = "ARN of the cluster."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Current status reported by SageMaker. InService does not mean that "
		   "the nodes exist."),
	OUT("failure", FIELD_STR, .doc = "Reason for the failure."),
	OUT("node_recovery", FIELD_STR, .doc = "Automatic or None."),
	OUT("node_provisioning_mode", FIELD_STR, .doc = "Continuous, or absent."),
	{.name = "groups",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = group_out,
	 .doc = "Instance groups."},
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of the observation."),
	FIELD_END};

static json_t *groups_of(const json_t *cluster)
{
	json_t *list = json_array();
	size_t i;
	json_t *g;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
		json_push(list,
			  json_pack("{s:s, s:s*, s:s*, s:I, s:I}", "name",
				    json_str_or(g, "InstanceGroupName", "?"),
				    "instance_type", json_str_at(g, "InstanceType"),
				    "status", json_str_at(g, "Status"), "current_count",
				    (json_int_t)json_int_or(g, "CurrentCount", 0),
				    "target_count",
				    (json_int_t)json_int_or(g, "TargetCount", 0)));
	return list;
}

static bool run_get_hyperpod(struct call *c, const void *in, struct reply *ret,
			     struct err *e)
{
	const struct of_cluster *q = in;
	struct cluster k;
	const char *name;
	json_t *out;
	char at[TIME_TEXT];

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	name = k.hyperpod_name ? k.hyperpod_name : k.name;
	if (!aws_read(c->cloud->aws, AWS_SAGEMAKER_DescribeCluster,
		      json_packf(c->arena, "{s:s}", "ClusterName", name),
		      call_read_deadline(c), c->arena, &out, e))
		return false;
	reply_tree(c, ret,
		   json_packf(c->arena,
			      "{s:s, s:s, s:s*, s:s, s:s*, s:s*, s:s*, s:o, s:s}",
			      "cluster", k.name, "hyperpod_name", name, "arn",
			      json_str_at(out, "ClusterArn"), "status",
			      json_str_or(out, "ClusterStatus", "unknown"), "failure",
			      json_str_at(out, "FailureMessage"), "node_recovery",
			      json_str_at(out, "NodeRecovery"), "node_provisioning_mode",
			      json_str_at(out, "NodeProvisioningMode"), "groups",
			      groups_of(out), "observed_at",
			      time_rfc3339(c->clock->wall_ms(c->clock), at)));
	return true;
}

extern const struct capability cap_get_hyperpod_cluster;
const struct capability cap_get_hyperpod_cluster = {
	.name = "get_hyperpod_cluster",
	.method = "GET",
	.path = "/clusters/{cluster}/hyperpod",
	.title = "Get the HyperPod cluster",
	.doc = "Returns the current status, groups and node counts, as reported by "
	       "SageMaker.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = get_hyperpod_in,
	.in_size = sizeof(struct of_cluster),
	.out = get_hyperpod_out,
	.run = run_get_hyperpod,
};
