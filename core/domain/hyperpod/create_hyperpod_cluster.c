/*
 * create_hyperpod_cluster.c - nodes that repair themselves, on an EKS cluster.
 *
 * Checked first (name, offer, quota, plan, the caller's role and script), and every
 * fault said at once; then bucket and scripts, role, subnet, and one CreateCluster
 * with NodeProvisioningMode=Continuous and NodeRecovery=Automatic. InService proves
 * nothing in that mode: done means current = target and as many Kubernetes nodes
 * Ready (watch_nodes.c).
 */
#include "core/domain/dependency/install.h"
#include "core/domain/hyperpod/bucket.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/hyperpod/kinds.h"
#include "core/domain/hyperpod/new_group.h"
#include "core/domain/hyperpod/nodes_role.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/domain/hyperpod/subnet_room.h"
#include "core/domain/network/compute_subnet.h"
#include "core/domain/network/security_group.h"
#include "core/domain/site/lock.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/leaves.h"
#include "core/domain/step/names.h"
#include "core/domain/step/owners.h"
#include "core/domain/step/read.h"
#include "core/domain/step/role.h"
#include "core/json/tree.h"
#include "core/op/owner.h"

const char *hyperpod_name(const struct step_ctx *c)
{
	const char *name = step_input(c, "hyperpod_name");

	return name ? name : name_hyperpod(c);
}

void hyperpod_absent(struct step_ctx *c)
{
	struct err *e = step_fail(c, ERR_CLOUD_NOT_FOUND,
				  "There is no HyperPod cluster %s", hyperpod_name(c));

	err_field(e, "/cluster", c->target, "a cluster with a HyperPod cluster");
	err_fix(e, "Create it with create_hyperpod_cluster.");
}

bool hyperpod_read(struct step_ctx *c, struct exchange *x)
{
	return read_aws(c, x, "hyperpod", AWS_SAGEMAKER_DescribeCluster,
			json_packf(c->arena, "{s:s}", "ClusterName", hyperpod_name(c)));
}

/* DescribeCluster has no tags: they are a read of their own. */
bool hyperpod_read_tags(struct step_ctx *c, struct exchange *x)
{
	const char *arn = json_str_at(saw(c, "hyperpod"), "ClusterArn");

	return arn && read_all(c, x, "tags", AWS_SAGEMAKER_ListTags,
			       json_packf(c->arena, "{s:s}", "ResourceArn", arn));
}

bool hyperpod_is_vanishing(struct step_ctx *c)
{
	if (!saw(c, "hyperpod") || saw_ok(c, "tags"))
		return false;
	step_wait(c, 5, "the deleted HyperPod cluster %s to be checked again",
		  hyperpod_name(c));
	return true;
}

static bool owned_observe(struct step_ctx *c, struct exchange *x)
{
	return hyperpod_read(c, x) || hyperpod_read_tags(c, x);
}

bool hyperpod_name_observe(struct step_ctx *c, struct exchange *x)
{
	return owned_observe(c, x);
}

static bool is_ours(struct step_ctx *c)
{
	return step_tagged_ours(c, json_at(saw(c, "tags"), "Tags"));
}

static void refuse_foreign(struct step_ctx *c)
{
	const char *status = json_str_or(saw(c, "hyperpod"), "ClusterStatus", "");
	struct err *e =
		step_fail(c, ERR_FOREIGN_OBJECT,
			  "A HyperPod cluster named %s exists (%s) and was not created "
			  "by this operation",
			  hyperpod_name(c), status);

	owner_tell(c, e, json_at(saw(c, "tags"), "Tags"));
	err_field(e, "/hyperpod_name", hyperpod_name(c), "a name that is not in use");
	if (streq(status, "InService"))
		err_fix(e,
			"It is in service. Use import_cluster to work with it, or choose "
			"another hyperpod_name.");
	else
		err_fix(e,
			"Choose another hyperpod_name, or use import_cluster to work with "
			"it.");
}

void hyperpod_name_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (!hyperpod_is_vanishing(c) && saw(c, "hyperpod") && !is_ours(c))
		refuse_foreign(c);
}

/* --- its dependencies ------------------------------------------------------------ */

/*
 * Without its chart HyperPod refuses the cluster, or nodes come without health
 * agent and device plugins (case DP-11). The agent's DaemonSet counts too: a
 * chart of another release name.
 */
static bool check_chart_observe(struct step_ctx *c, struct exchange *x)
{
	return !json_bool_or(c->input, "installed", false) &&
	       (release_read(c, x, &component_hyperpod) ||
		read_kube(c, x, "agents",
			  &(struct kube_request){.verb = KUBE_LIST,
						 .api = "apps/v1",
						 .plural = "daemonsets",
						 .ns = "aws-hyperpod"}));
}

static void check_chart_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *agents = json_at(saw(c, "agents"), "items");
	bool there = json_bool_or(c->input, "installed", false) ||
		     helm_release_deployed(saw(c, "secrets")) > 0;
	size_t i;
	json_t *agent;

	(void)x;
	json_array_foreach(agents, i, agent)
		there |= str_starts(json_str_or(agent, "metadata.name", ""),
				    "health-monitoring-agent");
	step_save(c, "installed", json_boolean(there));
}

static bool dependencies(struct step_ctx *c, struct spawn *ret)
{
	static const char *const members[] = {"tags", "permissions_boundary", NULL};

	if (json_bool_or(c->data, "installed", false))
		return false;
	ret->kind = "reconcile_dependencies";
	ret->target = c->target;
	ret->input = json_new_object(c->arena);
	for (size_t i = 0; members[i]; i++)
		if (json_at(c->input, members[i]))
			json_object_set(ret->input, members[i],
					json_at(c->input, members[i]));
	return true;
}

/* Those that the stage above could not install, or not wait for, without nodes. */
static bool settled(struct step_ctx *c, struct spawn *ret)
{
	const json_t *components = json_at(c->data, "dependencies.components");
	const char *name;
	json_t *one;
	bool waiting = false;

	json_object_foreach((json_t *)(uintptr_t)components, name, one)
		waiting |= streq(json_str_at(one, "state"), "waiting_for_nodes");
	if (!waiting || c->planning)
		return false;
	json_drop(c->data, "installed");
	dependencies(c, ret);
	json_put_bool(ret->input, "require_ready", true);
	return true;
}

static void conclude_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (!c->planning)
		step_done(c, json_incref(json_at(c->data, "made")));
}

/* --- the role of the nodes ------------------------------------------------------ */

static const char *execution_role(struct step_ctx *c)
{
	const char *given = step_input(c, "execution_role_arn");

	return given ? given : name_role_arn(c, ROLE_NODES);
}

/* --- a cluster that failed before -------------------------------------------------- */

static void clear_wreck_plan(struct step_ctx *c, struct exchange *x)
{
	const char *status = json_str_or(saw(c, "hyperpod"), "ClusterStatus", "");

	if (!saw(c, "hyperpod") || hyperpod_is_vanishing(c))
		return;
	if (!is_ours(c)) {
		refuse_foreign(c);
		return;
	}
	if (streq(status, "Deleting") || streq(status, "RollingBack")) {
		step_wait(c, 20, "the earlier cluster %s in status %s", hyperpod_name(c),
			  status);
		return;
	}
	if (!streq(status, "Failed"))
		return;
	exchange_aws(x, AWS_SAGEMAKER_DeleteCluster,
		     json_packf(c->arena, "{s:s}", "ClusterName", hyperpod_name(c)));
	x->what = arena_printf(c->arena, "Delete the failed HyperPod cluster %s",
			       hyperpod_name(c));
}

static void clear_wreck_absorb(struct step_ctx *c, const struct answer *a)
{
	if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		step_fail_answer(c, a, "the failed cluster %s could not be deleted",
				 hyperpod_name(c));
	else
		step_wait(c, 15, "the failed cluster %s to be deleted", hyperpod_name(c));
}

/* --- the cluster ----------------------------------------------------------------------
 */

static bool create_observe(struct step_ctx *c, struct exchange *x)
{
	struct str rest = str_of(execution_role(c));
	struct str name = STR("");

	while (rest.p)
		name = str_cut(&rest, '/');
	return owned_observe(c, x) ||
	       (!saw(c, "hyperpod") && read_aws(c, x, "role", AWS_IAM_GetRole,
						json_packf(c->arena, "{s:s}", "RoleName",
							   str_dup(c->arena, name))));
}

/* Its place is the cluster's. */
static json_t *group_of(struct step_ctx *c)
{
	return new_group_spec(c, &(struct new_group){.role = execution_role(c)});
}

/* AWS's own set-up tags it so: managed policies of its tools ask for the tag. */
static json_t *cluster_tags(struct step_ctx *c)
{
	json_t *tags = json_own(c->arena, json_deep_copy(step_tags(c)));

	if (!json_find(tags, "Key", "SageMaker"))
		json_push(tags,
			  json_pack("{s:s, s:s}", "Key", "SageMaker", "Value", "true"));
	return tags;
}

/* The EKS cluster may have other nodes; without any, nothing of ours can run. */
static void warn_of_taints(struct step_ctx *c)
{
	const json_t *t = new_group_repels(c->input);

	if (t && c->planning)
		step_warn(
			c,
			"All nodes of the group have the taint %s:%s. The components of "
			"the cluster need other nodes. Without any, the operation waits "
			"for them until its deadline.",
			json_str_or(t, "key", "?"),
			json_str_or(t, "effect", "NoSchedule"));
}

static void create_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *there = saw(c, "hyperpod");

	if (hyperpod_is_vanishing(c))
		return;
	if (there && !is_ours(c)) {
		refuse_foreign(c);
		return;
	}
	if (there) {
		step_own(c, "sagemaker:cluster", hyperpod_name(c),
			 json_str_at(there, "ClusterArn"), "made");
		step_save_str(c, "hyperpod_arn", json_str_at(there, "ClusterArn"));
		return;
	}
	exchange_aws(
		x, AWS_SAGEMAKER_CreateCluster,
		json_packf(
			c->arena,
			"{s:s, s:[O], s:{s:[s], s:[s]}, s:{s:{s:s}}, s:s, s:s, s:O}",
			"ClusterName", hyperpod_name(c), "InstanceGroups", group_of(c),
			"VpcConfig", "SecurityGroupIds", step_get(c, "security_group_id"),
			"Subnets", step_get(c, "subnet.id"), "Orchestrator", "Eks",
			"ClusterArn", step_get(c, "eks.arn"), "NodeRecovery", "Automatic",
			"NodeProvisioningMode", "Continuous", "Tags", cluster_tags(c)));
	warn_of_taints(c);
	x->what = arena_printf(
		c->arena,
		"Create the HyperPod cluster %s: %lld × %s, automatic node recovery",
		hyperpod_name(c), (long long)json_int_or(c->input, "count", 1),
		step_input(c, "instance_type"));
}

static void create_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "ResourceInUse")) {
		step_wait(c, 5, "the existing cluster %s to be checked",
			  hyperpod_name(c));
		return;
	}
	if (hyperpod_role_trouble(c, a, json_at(saw(c, "role"), "Role")))
		return;
	if (!a->ok) {
		struct err *e = step_fail_answer(
			c, a, "the HyperPod cluster %s was rejected", hyperpod_name(c));
		if (e->code == ERR_QUOTA)
			err_fix(e,
				"Request an increase of \"%s for cluster usage\" in "
				"Service Quotas, then retry.",
				step_input(c, "instance_type"));
		return;
	}
	step_own(c, "sagemaker:cluster", hyperpod_name(c),
		 json_str_at(a->out, "ClusterArn"), "made");
	step_save_str(c, "hyperpod_arn", json_str_at(a->out, "ClusterArn"));
	step_advance(c);
}

static bool tell_cluster(struct step_ctx *c, json_t *row)
{
	const char *group = step_input(c, "group_name");

	json_put_str(row, "object", hyperpod_name(c));
	json_put_int(row, "wanted", json_int_or(c->input, "count", 1));
	json_put_int(row, "before", 0);
	step_stop(row, "scale_instance_group",
		  json_pack("{s:s, s:s, s:i}", "cluster", c->target, "group",
			    group ? group : "", "count", 0));
	return true;
}

static const struct leaves leaves_cluster = {
	.cost = "Each node that still launches is billed until it is removed.",
	.until = "wait_nodes",
	.tell = tell_cluster,
};

static bool undo(struct step_ctx *c, struct spawn *ret)
{
	if (!step_has_sent(c, "create_cluster"))
		return false;
	ret->kind = "remove_hyperpod_cluster";
	ret->target = c->target;
	ret->input = json_packf(c->arena, "{s:s, s:[]}", "hyperpod_name",
				hyperpod_name(c), "confirmed");
	if (json_object_get(c->input, "cluster"))
		json_object_set(ret->input, "cluster",
				json_object_get(c->input, "cluster"));
	if (json_object_get(c->input, "eks_name"))
		json_object_set(ret->input, "eks_name",
				json_object_get(c->input, "eks_name"));
	return true;
}

static const struct step steps[] = {
	{.name = "check_name",
	 .phase = "check",
	 .title = "Check that the name is free",
	 .effect = EFFECT_READ,
	 .check = true,
	 .observe = hyperpod_name_observe,
	 .seen = read_seen,
	 .plan = hyperpod_name_plan,
	 .on_fail = preflight_note},
	PREFLIGHT_STEPS_WITH(preflight_note),
	PREFLIGHT_ROLE_STEP(preflight_note),
	OWNERS_STEP_WITH(.on_fail = preflight_note),
	PREFLIGHT_VERDICT("check_name"),
	EKS_ACCESS_STEP,
	{.name = "check_chart",
	 .phase = "dependencies",
	 .title = "Check the HyperPod Helm chart",
	 .effect = EFFECT_READ,
	 .observe = check_chart_observe,
	 .seen = read_seen,
	 .plan = check_chart_plan},
	{.name = "dependencies",
	 .phase = "dependencies",
	 .title = "Install the dependencies",
	 .spawn = dependencies},
	BUCKET_STEPS,
	ROLE_STEPS("nodes", "roles", &nodes_role),
	COMPUTE_SUBNET_STEPS,
	SUBNET_ROOM_STEP,
	SECURITY_GROUP_STEPS,
	{.name = "clear_failed_cluster",
	 .phase = "cluster",
	 .title = "Remove the cluster of an earlier failed attempt",
	 .effect = EFFECT_CONVERGENT,
	 .deadline_s = 3600,
	 .observe = owned_observe,
	 .seen = read_seen,
	 .plan = clear_wreck_plan,
	 .absorb = clear_wreck_absorb,
	 .leaves = &leaves_deletion,
	 .wait = &wait_deletion},
	{.name = "create_cluster",
	 .phase = "cluster",
	 .title = "Create the HyperPod cluster",
	 .effect = EFFECT_NAMED,
	 .observe = create_observe,
	 .seen = read_seen,
	 .plan = create_plan,
	 .absorb = create_absorb,
	 .leaves = &leaves_cluster,
	 .retry_step = "clear_failed_cluster"},
	{.name = "wait_nodes",
	 .phase = "nodes",
	 .title = "Wait until every node is ready",
	 .effect = EFFECT_READ,
	 .deadline_s = 4 * 3600,
	 .sees_errors = true,
	 .observe = watch_nodes_observe,
	 .seen = read_seen,
	 .plan = watch_nodes_plan,
	 .retry_step = "clear_failed_cluster",
	 .wait = &watch_wait},
	{.name = "settle",
	 .phase = "nodes",
	 .title = "Install the dependencies that need nodes",
	 .spawn = settled},
	{.name = "conclude",
	 .phase = "nodes",
	 .title = "Record the created objects",
	 .effect = EFFECT_READ,
	 .plan = conclude_plan},
	{.name = NULL},
};

const struct kind kind_create_hyperpod_cluster = {
	.name = "create_hyperpod_cluster",
	.title = "Create a HyperPod cluster",
	.steps = steps,
	.deadline_s = 8 * 3600,
	.locks = lock_cluster,
	.undo = undo,
};
