/*
 * import_cluster.c - takes a cluster that others made into the catalog.
 *
 * Reads only: nothing of the cluster is changed or tagged. What later
 * operations need and is missing is said now, with the command that mends it.
 */
#include "core/domain/cluster/kinds.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/json/tree.h"

/* --- may we in? ------------------------------------------------------------------ */

static bool access_observe(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "nodes",
			 &(struct kube_request){
				 .verb = KUBE_LIST, .api = "v1", .plural = "nodes"});
}

static const char *create_entry(const struct step_ctx *c)
{
	return arena_printf(
		c->arena,
		"aws eks create-access-entry --cluster-name %s --principal-arn %s",
		eks_name(c), c->where->caller_arn);
}

static const char *associate_policy(const struct step_ctx *c)
{
	return arena_printf(
		c->arena,
		"aws eks associate-access-policy --cluster-name %s --principal-arn %s "
		"--policy-arn arn:%s:eks::aws:cluster-access-policy/"
		"AmazonEKSClusterAdminPolicy --access-scope type=cluster",
		eks_name(c), c->where->caller_arn, c->where->partition);
}

/* Not the words of a refusal by rights: another program answers at the address, or the
 * server cannot now. Nothing is known of the access entry then. */
static void access_not_known(struct step_ctx *c)
{
	struct err *e =
		step_fail_saw(c, "nodes", "the nodes of %s could not be listed: %s",
			      eks_name(c), saw_why(c, "nodes"));

	if (!e->fix[0])
		err_fix(e,
			"Check what answers at %s, such as a proxy in between, then retry.",
			step_get(c, "eks.endpoint"));
}

/* Case IA-04: somebody without rights; see access_failed() for nobody. */
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
	if (!saw_denied(c, "nodes")) {
		access_not_known(c);
		return;
	}
	e = step_fail_saw(
		c, "nodes",
		"%s cannot read nodes in %s (%s): its access entry has no policy",
		c->where->caller_arn, eks_name(c), saw_why(c, "nodes"));
	err_fix(e, "Run: %s", associate_policy(c));
}

/*
 * A refused token and silence are tried again for a while, since both pass by
 * themselves mostly. What is left then: no access entry, or no way there.
 */
static void access_failed(struct step_ctx *c)
{
	const struct err last = c->verdict.error;
	const char *cidrs = json_text(c->arena, json_at(c->data, "eks.public_cidrs"));
	bool refused = false;
	struct err *e;

	for (size_t i = 0; i < last.n_causes; i++)
		refused |= streq(last.cause[i].code, "Unauthorized");
	if (last.code != ERR_STEP_TIMEOUT)
		return;
	if (refused) {
		e = step_fail(
			c, ERR_CLOUD_DENIED,
			"The Kubernetes API of %s does not accept %s: there is no access "
			"entry",
			eks_name(c), c->where->caller_arn);
		err_fix(e, "Run: %s && %s", create_entry(c), associate_policy(c));
	} else {
		e = step_fail(c, ERR_CLOUD_UNREACHABLE,
			      "The Kubernetes API of %s does not answer", eks_name(c));
		e->retry = RETRY_HUMAN;
		if (json_len_at(c->data, "eks.public_cidrs"))
			err_fix(e,
				"Its endpoint accepts only %s. Add the address of this "
				"installation, or run InstantStart inside the VPC. Then "
				"retry.",
				cidrs);
		else
			err_fix(e, "Its endpoint is private. Run InstantStart inside the "
				   "VPC, then retry.");
	}
	for (size_t i = 0; i < last.n_causes; i++)
		err_because(e, last.cause[i].source, last.cause[i].code,
			    last.cause[i].message, last.cause[i].request_id);
}

/* --- its HyperPod cluster ------------------------------------------------------------
 */

static const char *wanted_name(const struct step_ctx *c)
{
	return json_str_at(c->input, "hyperpod_name");
}

static bool is_on(const struct step_ctx *c, const json_t *cluster)
{
	return streq(json_str_or(cluster, "Orchestrator.Eks.ClusterArn", ""),
		     json_str_or(c->data, "eks.arn", "-"));
}

/* Ours as it is; of others, whether they were seen: an account may have hundreds. */
static json_t *keep_looked_at(const struct step_ctx *c, const char *name)
{
	const json_t *one = saw(c, name);

	if (one && is_on(c, one))
		return json_deep_copy(one);
	return json_string(saw_ok(c, name) || saw_missing(c, name) ? ""
								   : saw_why(c, name));
}

static const struct read_each each_cluster = {.into = "looked_at",
					      .name = "ClusterName",
					      .op = AWS_SAGEMAKER_DescribeCluster,
					      .keep = keep_looked_at};

/*
 * Named by the caller, else the one whose orchestrator is our EKS cluster. One
 * that we may not see or that Slurm runs is passed over (case IG-11).
 */
static bool hyperpod_observe(struct step_ctx *c, struct exchange *x)
{
	if (wanted_name(c))
		return read_aws(
			c, x, "named", AWS_SAGEMAKER_DescribeCluster,
			json_packf(c->arena, "{s:s}", "ClusterName", wanted_name(c)));
	if (read_all(c, x, "list", AWS_SAGEMAKER_ListClusters, NULL))
		return true;
	return read_each(c, x, &each_cluster,
			 json_at(saw(c, "list"), "ClusterSummaries"));
}

static const json_t *find_hyperpod(const struct step_ctx *c)
{
	const char *name;
	json_t *one;

	if (wanted_name(c))
		return saw(c, "named");
	json_object_foreach(json_at(c->data, "looked_at"), name, one) {
		if (json_is_object(one))
			return one;
	}
	return NULL;
}

/* None was found, but some could not be looked at. */
static void warn_of_unseen(struct step_ctx *c)
{
	const char *name;
	json_t *why;

	if (!saw_ok(c, "list"))
		step_not_known(c, "hyperpod",
			       "HyperPod clusters could not be listed (%s)",
			       saw_why(c, "list"));
	json_object_foreach(json_at(c->data, "looked_at"), name, why) {
		const char *code = json_string_value(why);

		if (code && *code)
			step_not_known(c, "hyperpod",
				       "the HyperPod cluster %s could not be read (%s)",
				       name, code);
	}
}

static void hyperpod_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *found = find_hyperpod(c);
	struct err *e;

	(void)x;
	if (wanted_name(c) && !found && !saw_missing(c, "named")) {
		step_fail_saw(c, "named",
			      "the HyperPod cluster %s could not be read (%s)",
			      wanted_name(c), saw_why(c, "named"));
		step_unread(c);
		return;
	}
	if (wanted_name(c) && !found) {
		e = step_fail(c, ERR_CLOUD_NOT_FOUND,
			      "There is no HyperPod cluster named %s", wanted_name(c));
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
				      "a HyperPod cluster on EKS"));
		return;
	}
	if (found)
		step_save(c, "hyperpod", json_deep_copy(found));
	else
		warn_of_unseen(c);
	json_drop(c->data, "looked_at");
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
	 .title = "Check access to the Kubernetes API",
	 .effect = EFFECT_READ,
	 .deadline_s = 120,
	 .wait = &wait_kubernetes,
	 .sees_errors = true,
	 .observe = access_observe,
	 .seen = read_seen,
	 .plan = access_plan,
	 .on_fail = access_failed},
	{.name = "find_hyperpod",
	 .phase = "read",
	 .title = "Find its HyperPod cluster",
	 .effect = EFFECT_READ,
	 .sees_errors = true,
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
	.deadline_s = 3600,
	.no_undo = "An import changes nothing in AWS. forget_cluster removes the cluster "
		   "from the catalog.",
	.locks = lock_cluster,
};
