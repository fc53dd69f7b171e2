/*
 * import_cluster.c - takes a cluster that others made into the catalog.
 *
 * Reads only: nothing of the cluster is changed or tagged. What later
 * operations need and is missing is said now, with the command that mends it.
 */
#include "core/domain/cluster/eks_access.h"
#include "core/domain/cluster/kinds.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* --- may we in? ------------------------------------------------------------------ */

static bool access_observe(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "nodes",
			 &(struct kube_request){
				 .verb = KUBE_LIST, .api = "v1", .plural = "nodes"});
}

static void access_plan(struct step_ctx *c, struct exchange *x)
{
	struct err *e;

	(void)x;
	if (saw_ok(c, "nodes")) {
		step_save(
			c, "nodes",
			json_integer((json_int_t)json_len_at(saw(c, "nodes"), "items")));
		return;
	}
	e = step_fail(c, ERR_CLOUD_DENIED,
		      "the Kubernetes API of %s does not let us in (%s)", eks_name(c),
		      saw_code(c, "nodes"));
	err_because(e, "kubernetes", saw_code(c, "nodes"), saw_message(c, "nodes"), NULL);
	err_fix(e,
		"Run: aws eks create-access-entry --cluster-name %s --principal-arn %s && aws "
		"eks associate-access-policy --cluster-name %s --principal-arn %s --policy-arn "
		"arn:%s:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy "
		"--access-scope type=cluster",
		eks_name(c), c->where->caller_arn, eks_name(c), c->where->caller_arn,
		c->where->partition);
}

/* --- its HyperPod cluster ------------------------------------------------------------
 */

static const char *wanted_name(const struct step_ctx *c)
{
	return json_str_at(c->input, "hyperpod_name");
}

/* Named by the caller, else the one whose orchestrator is our EKS cluster. */
static bool hyperpod_observe(struct step_ctx *c, struct exchange *x)
{
	const json_t *list;
	size_t i;
	json_t *s;

	if (wanted_name(c))
		return read_aws(
			c, x, "named", AWS_SAGEMAKER_DescribeCluster,
			json_packf(c->arena, "{s:s}", "ClusterName", wanted_name(c)));
	if (read_all(c, x, "list", AWS_SAGEMAKER_ListClusters, NULL))
		return true;
	list = json_at(saw(c, "list"), "ClusterSummaries");
	json_array_foreach(list, i, s) {
		const char *name = json_str_or(s, "ClusterName", "");

		if (read_aws(c, x, name, AWS_SAGEMAKER_DescribeCluster,
			     json_packf(c->arena, "{s:s}", "ClusterName", name)))
			return true;
	}
	return false;
}

static bool is_on(const struct step_ctx *c, const json_t *cluster)
{
	return streq(json_str_or(cluster, "Orchestrator.Eks.ClusterArn", ""),
		     json_str_or(c->data, "eks.arn", "-"));
}

static const json_t *find_hyperpod(const struct step_ctx *c)
{
	const json_t *list = json_at(saw(c, "list"), "ClusterSummaries");
	size_t i;
	json_t *s;

	if (wanted_name(c))
		return saw(c, "named");
	json_array_foreach(list, i, s) {
		const json_t *one = saw(c, json_str_or(s, "ClusterName", ""));

		if (one && is_on(c, one))
			return one;
	}
	return NULL;
}

static void hyperpod_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *found = find_hyperpod(c);
	struct err *e;

	(void)x;
	if (wanted_name(c) && !found) {
		e = step_fail(c, ERR_CLOUD_NOT_FOUND,
			      "there is no HyperPod cluster named %s", wanted_name(c));
		err_field(e, "/hyperpod_name", wanted_name(c),
			  "a cluster of this region");
		return;
	}
	if (found && !is_on(c, found)) {
		e = step_fail(c, ERR_INVALID_INPUT,
			      "%s does not run on the EKS cluster %s", wanted_name(c),
			      eks_name(c));
		err_field(e, "/hyperpod_name", wanted_name(c),
			  json_str_or(found, "Orchestrator.Eks.ClusterArn",
				      "a cluster that EKS orchestrates"));
		return;
	}
	if (found)
		step_save(c, "hyperpod", json_deep_copy(found));
}

static void record_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *h = json_at(c->data, "hyperpod");
	size_t i;
	json_t *g;

	(void)x;
	json_array_foreach(json_at(h, "InstanceGroups"), i, g)
		step_catalog(c, "instance_group",
			     json_str_or(g, "InstanceGroupName", "?"), NULL,
			     json_deep_copy(g));
	step_catalog(c, "cluster", c->target, json_deep_copy(c->input),
		     json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:O}", "status",
			       h ? "in_service" : "control_plane_ready", "origin",
			       "imported", "eks_name", eks_name(c), "hyperpod_name",
			       json_str_at(h, "ClusterName"), "hyperpod_arn",
			       json_str_at(h, "ClusterArn"), "eks",
			       json_at(c->data, "eks")));
	step_done(c,
		  json_pack("{s:s, s:s, s:s*, s:I}", "cluster", c->target, "eks_name",
			    eks_name(c), "hyperpod_name", json_str_at(h, "ClusterName"),
			    "nodes", (json_int_t)json_int_or(c->data, "nodes", 0)));
}

static const struct step steps[] = {
	EKS_ACCESS_STEP,
	{.name = "check_access",
	 .phase = "check",
	 .title = "Check that the Kubernetes API lets us in",
	 .effect = EFFECT_READ,
	 .sees_errors = true,
	 .observe = access_observe,
	 .seen = read_seen,
	 .plan = access_plan},
	{.name = "find_hyperpod",
	 .phase = "read",
	 .title = "Find the HyperPod cluster on it",
	 .effect = EFFECT_READ,
	 .observe = hyperpod_observe,
	 .seen = read_seen,
	 .plan = hyperpod_plan},
	{.name = "record",
	 .phase = "read",
	 .title = "Record the cluster",
	 .effect = EFFECT_READ,
	 .plan = record_plan},
	{.name = NULL},
};

const struct kind kind_import_cluster = {
	.name = "import_cluster",
	.title = "Import a cluster",
	.steps = steps,
	.deadline_s = 1800,
	.locks = lock_cluster,
};
