/* Making clusters: the pipeline, its first stage alone, import. */
#include "core/domain/cluster/kinds.h"
#include "core/domain/hyperpod/new_group.h"
#include "core/domain/offer/cluster_check.h"
#include "core/domain/operation_out.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/group_in.h"
#include "core/domain/storage/storage_in.h"
#include "core/json/tree.h"
#include "gen/queries.h"

/*
 * Case CC-14: a name whose create has ended is refused with the way out. Not
 * for a repeat with the same key, which gets its operation back.
 */
static bool taken_fix(struct err *e, const char *status, const char *operation,
		      const char *state)
{
	if (operation && (streq(state, "failed") || streq(state, "cancelled")))
		return err_fix(
			e,
			"Retry the operation %s with retry_operation. It continues where "
			"it stopped. Or choose another name.",
			operation);
	if (streq(status, "in_service"))
		return err_fix(
			e, "The cluster exists and is in service. See get_cluster, or "
			   "choose another name.");
	return err_fix(e, "See get_cluster, or choose another name.");
}

static bool check_taken(struct call *c, const char *name, struct err *e)
{
	struct db_rows rows;
	const char *status;

	if (!DB(c->db, c->arena, &Q_cluster_taken, &rows, e, name, c->who->id,
		c->opt.idempotency_key))
		return false;
	if (rows.n == 0)
		return true;
	status = db_text(&rows, 0, "status");
	err_set(e, ERR_STATE_CONFLICT, "A cluster named %s already exists (%s)", name,
		status);
	err_field(e, "/name", name, "a name that is not in use");
	err_because(e, "operation", db_text(&rows, 0, "operation_state"),
		    db_text(&rows, 0, "operation"), NULL);
	return taken_fix(e, status, db_text(&rows, 0, "operation"),
			 db_text(&rows, 0, "operation_state"));
}

static bool submit_make(struct call *c, const struct kind *k, const char *name,
			json_t *input, struct reply *ret, struct err *e)
{
	if (!cluster_check(input, c->cfg, c->arena, e) || !check_taken(c, name, e))
		return false;
	json_object_del(input, "name");
	json_put_str(input, "selected_by", c->who->id);
	if (!json_object_get(input, "manager_arn") && c->where)
		json_put_str(input, "manager_arn", c->where->caller_arn);
	return call_submit(c, k, name, input, ret, e);
}

/* --- create_cluster ------------------------------------------------------------ */

struct create_cluster {
	const char *name;
	const char *zone;
	MEMBERS_NODES
	MEMBERS_GROUP_SOFT
	MEMBERS_CONTROL_PLANE
	bool tag_subnets;
	struct storage_part storage;
	MEMBERS_MADE
};

static const struct field create_cluster_in[] = {
	FIELD_CLUSTER_NAME(struct create_cluster, name,
			   "Name of the cluster. Created objects use it too."),
	FIELD_ZONE(struct create_cluster, FIELD_REQUIRED),
	FIELDS_NODES(struct create_cluster),
	FIELDS_GROUP_SOFT(struct create_cluster),
	FIELDS_CONTROL_PLANE(struct create_cluster),
	FIELD_TAG_SUBNETS(struct create_cluster),
	FIELD_STRUCT(struct create_cluster, storage, struct storage_part, storage_part_in,
		     .doc = "Storage to mount. Default: the shared bucket."),
	FIELDS_MADE(struct create_cluster),
	FIELD_END};

/* The first group is all that a new cluster has: what must run in it must find a node. */
static bool check_first_group(const json_t *input, struct err *e)
{
	const json_t *t = new_group_repels(input);

	if (!t)
		return true;
	err_set(e, ERR_INVALID_INPUT,
		"The first group cannot have a taint with the effect %s. CoreDNS "
		"and the other components of the cluster need nodes to run on",
		json_str_or(t, "effect", "NoSchedule"));
	err_field(e, "/taints", json_str_or(t, "key", ""), "PreferNoSchedule");
	return err_fix(e, "Create the cluster without the taint. Then add a group that "
			  "has it with add_instance_group.");
}

static bool run_create_cluster(struct call *c, const void *in, struct reply *ret,
			       struct err *e)
{
	const struct create_cluster *q = in;
	json_t *input = field_encode(create_cluster_in, in, c->arena);

	return check_first_group(input, e) &&
	       submit_make(c, &kind_create_cluster, q->name, input, ret, e);
}

extern const struct capability cap_create_cluster;
const struct capability cap_create_cluster = {
	.name = "create_cluster",
	.method = "POST",
	.path = "/clusters",
	.title = "Create a cluster",
	.doc = "Creates an EKS control plane, its dependencies, a HyperPod cluster with "
	       "automatic node recovery, and mounted S3 storage. Takes 30 to 60 minutes. "
	       "dry_run=plan shows every object and call.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG,
	.in = create_cluster_in,
	.in_size = sizeof(struct create_cluster),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "name",
	.run = run_create_cluster,
};

/* --- create_eks_control_plane ------------------------------------------------------ */

struct create_control_plane {
	const char *name;
	const char *zone;
	MEMBERS_CONTROL_PLANE
	bool tag_subnets;
	MEMBERS_MADE
};

static const struct field create_control_plane_in[] = {
	FIELD_CLUSTER_NAME(struct create_control_plane, name,
			   "Name of the cluster and of the EKS cluster."),
	FIELD_ZONE(struct create_control_plane, 0),
	FIELDS_CONTROL_PLANE(struct create_control_plane),
	FIELD_TAG_SUBNETS(struct create_control_plane),
	FIELDS_MADE(struct create_control_plane),
	FIELD_END};

static bool run_create_control_plane(struct call *c, const void *in, struct reply *ret,
				     struct err *e)
{
	const struct create_control_plane *q = in;

	return submit_make(c, &kind_create_eks_control_plane, q->name,
			   field_encode(create_control_plane_in, in, c->arena), ret, e);
}

extern const struct capability cap_create_eks_control_plane;
const struct capability cap_create_eks_control_plane = {
	.name = "create_eks_control_plane",
	.method = "POST",
	.path = "/control-planes",
	.title = "Create an EKS control plane",
	.doc = "Creates the network, roles and EKS cluster for HyperPod as one "
	       "CloudFormation stack.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG,
	.in = create_control_plane_in,
	.in_size = sizeof(struct create_control_plane),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "name",
	.run = run_create_control_plane,
};

/* --- import_cluster
 * --------------------------------------------------------------------- */

struct import_cluster {
	const char *name;
	const char *eks_name;
	const char *hyperpod_name;
};

static const struct field import_cluster_in[] = {
	FIELD(struct import_cluster, eks_name, .flags = FIELD_REQUIRED,
	      .pattern = "[0-9A-Za-z][A-Za-z0-9_-]{0,99}", .example = "\"research\"",
	      .doc = "Name of the EKS cluster."),
	FIELD(struct import_cluster, name, .pattern = "[A-Za-z0-9][A-Za-z0-9_-]*",
	      .min = 1, .max = 100,
	      .doc = "Name in InstantStart. Default: the EKS name."),
	FIELD(struct import_cluster, hyperpod_name,
	      .pattern = "[a-zA-Z0-9](-*[a-zA-Z0-9])*", .max = 63,
	      .doc = "Name of the HyperPod cluster on it. Default: found "
		     "automatically."),
	FIELD_END};

static bool run_import_cluster(struct call *c, const void *in, struct reply *ret,
			       struct err *e)
{
	const struct import_cluster *q = in;
	const char *name = q->name ? q->name : q->eks_name;
	json_t *input = field_encode(import_cluster_in, in, c->arena);

	if (!check_taken(c, name, e))
		return false;
	json_object_del(input, "name");
	return call_submit(c, &kind_import_cluster, name, input, ret, e);
}

extern const struct capability cap_import_cluster;
const struct capability cap_import_cluster = {
	.name = "import_cluster",
	.method = "POST",
	.path = "/clusters:import",
	.title = "Import a cluster",
	.doc = "Adds an existing EKS cluster and its HyperPod cluster to the catalog. "
	       "Nothing in the cloud changes. list_hyperpod_clusters shows what you can "
	       "import.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG,
	.in = import_cluster_in,
	.in_size = sizeof(struct import_cluster),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "eks_name",
	.run = run_import_cluster,
};
