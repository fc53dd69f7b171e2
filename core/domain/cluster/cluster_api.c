/* Looking at clusters, selecting, forgetting and deleting them. */
#include "core/domain/cluster/kinds.h"
#include "core/domain/operation_out.h"
#include "core/domain/page.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"
#include "core/op/journal.h"
#include "gen/queries.h"

#define TEXT(member, sentence)                                                           \
	OUT(member, FIELD_STR, .flags = FIELD_NULLABLE, .doc = (sentence))

/* --- list_clusters ------------------------------------------------------------- */

struct list_clusters {
	int64_t limit;
	const char *cursor;
};

static const struct field list_clusters_in[] = {
	PAGE_FIELDS(struct list_clusters, .pattern = "[a-zA-Z0-9][a-zA-Z0-9_-]{0,99}"),
	FIELD_END};

static const struct field cluster_item_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name in InstantStart."),
	OUT("origin", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "created or imported."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "creating, control_plane_ready, in_service, failed, deleting, "
		   "partly_deleted (a deletion stopped before it was complete) or unknown."),
	OUT("trouble", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Differences found by the last check: deleted, recreated, failed."),
	TEXT("observed_at", "Time of the last check. Null before the first."),
	TEXT("eks_name", "Name of the EKS cluster."),
	TEXT("hyperpod_name", "Name of the HyperPod cluster."),
	TEXT("account", "AWS account."),
	TEXT("region", "AWS region."),
	OUT("selected", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether this is your selected cluster."),
	OUT("created_at", FIELD_STR, .doc = "Time when it was added to the catalog."),
	OUT("updated_at", FIELD_STR, .doc = "Time of the last update."),
	FIELD_END};

static const struct field list_clusters_out[] = {PAGE_OUT(cluster_item_out), FIELD_END};

static bool run_list_clusters(struct call *c, const void *in, struct reply *ret,
			      struct err *e)
{
	const struct list_clusters *q = in;
	struct db_rows rows;

	if (!DB(c->db, c->arena, &Q_cluster_page, &rows, e, q->cursor,
		arena_printf(c->arena, "%lld", (long long)q->limit), c->who->id))
		return false;
	reply_text(ret, str_of(db_text(&rows, 0, "doc")));
	return true;
}

extern const struct capability cap_list_clusters;
const struct capability cap_list_clusters = {
	.name = "list_clusters",
	.method = "GET",
	.path = "/clusters",
	.title = "List clusters",
	.doc = "Lists the clusters in the catalog, created here or imported.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_LIST,
	.in = list_clusters_in,
	.in_size = sizeof(struct list_clusters),
	.out = list_clusters_out,
	.run = run_list_clusters,
};

/* --- get_cluster ------------------------------------------------------------------ */

struct of_cluster {
	const char *cluster;
};

static const struct field of_cluster_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct of_cluster, cluster), FIELD_END};

static const struct field get_cluster_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name in InstantStart."),
	OUT("origin", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "created or imported."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "State as last observed."),
	OUT("trouble", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Differences found by the last check: deleted, recreated, failed."),
	TEXT("observed_at", "Time of the last check. Null before the first."),
	TEXT("eks_name", "Name of the EKS cluster."),
	TEXT("hyperpod_name", "Name of the HyperPod cluster."),
	TEXT("account", "AWS account."),
	TEXT("region", "AWS region."),
	TEXT("vpc_id", "VPC of the cluster."),
	TEXT("kubernetes_version", "Kubernetes version."),
	TEXT("endpoint", "Endpoint of the Kubernetes API."),
	OUT("selected", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether this is your selected cluster."),
	OUT("instance_groups", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "Instance groups, as last observed."),
	OUT("dependencies", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "Installed components, as last observed."),
	OUT("storages", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "Storage as it was mounted. list_storages shows its current state."),
	OUT("resources", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "Cloud objects that InstantStart created."),
	OUT("operations", FIELD_OBJECT, .flags = FIELD_OPEN | FIELD_MANY,
	    .doc = "Operations in progress."),
	OUT("created_at", FIELD_STR, .doc = "Time when it was added to the catalog."),
	OUT("updated_at", FIELD_STR, .doc = "Time of the last update."),
	FIELD_END};

static bool run_get_cluster(struct call *c, const void *in, struct reply *ret,
			    struct err *e)
{
	const struct of_cluster *q = in;
	struct cluster k;
	struct db_rows rows;

	if (!cluster_mean(c, q->cluster, &k, e) ||
	    !DB(c->db, c->arena, &Q_cluster_overview, &rows, e, k.name, c->who->id))
		return false;
	reply_text(ret, str_of(db_text(&rows, 0, "doc")));
	return true;
}

extern const struct capability cap_get_cluster;
const struct capability cap_get_cluster = {
	.name = "get_cluster",
	.method = "GET",
	.path = "/clusters/{cluster}",
	.title = "Get a cluster",
	.doc = "Returns the instance groups, dependencies, storage, created objects and "
	       "running operations of a cluster, as last observed.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.in = of_cluster_in,
	.in_size = sizeof(struct of_cluster),
	.out = get_cluster_out,
	.run = run_get_cluster,
};

/* --- select_cluster ------------------------------------------------------------------
 */

static const struct field named_cluster_in[] = {
	FIELD_CLUSTER_PATH(struct of_cluster, cluster), FIELD_END};

static const struct field select_cluster_out[] = {OUT("cluster", FIELD_STR,
						      .flags = FIELD_REQUIRED,
						      .doc = "Your selected cluster."),
						  FIELD_END};

static bool run_select_cluster(struct call *c, const void *in, struct reply *ret,
			       struct err *e)
{
	const struct of_cluster *q = in;
	struct db_rows rows;

	if (!DB(c->db, c->arena, &Q_selection_put, &rows, e, c->who->id, q->cluster))
		return false;
	reply_tree(c, ret, json_packf(c->arena, "{s:s}", "cluster", q->cluster));
	return true;
}

extern const struct capability cap_select_cluster;
const struct capability cap_select_cluster = {
	.name = "select_cluster",
	.method = "POST",
	.path = "/clusters/{cluster}:select",
	.title = "Select a cluster",
	.doc = "Selects the cluster for calls that name none or name \"-\". Affects only "
	       "you.",
	.effect = CAP_CHANGE,
	.role = ROLE_VIEWER,
	.flags = CAP_IDEMPOTENT,
	.in = named_cluster_in,
	.in_size = sizeof(struct of_cluster),
	.out = select_cluster_out,
	.target = "cluster",
	.run = run_select_cluster,
};

/* --- forget_cluster
 * --------------------------------------------------------------------- */

static const struct field forget_cluster_out[] = {
	OUT("forgotten", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Name of the cluster."),
	OUT("left_behind", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Objects that InstantStart created for it. They stay in the cloud."),
	FIELD_END};

static bool run_forget_cluster(struct call *c, const void *in, struct reply *ret,
			       struct err *e)
{
	const struct of_cluster *q = in;
	struct cluster k;
	struct db_rows rows;
	json_t *left;

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	if (!k.imported) {
		err_set(e, ERR_STATE_CONFLICT,
			"%s was created by InstantStart: forgetting it would leave its "
			"objects without an owner",
			k.name);
		return err_fix(e, "Use delete_cluster.");
	}
	if (!DB(c->db, c->arena, &Q_cluster_forget, &rows, e, k.name))
		return false;
	left = json_parse(c->arena, str_of(db_text(&rows, 0, "left_behind")), e);
	if (!left)
		return false;
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:s, s:O}", "forgotten", k.name, "left_behind",
			      left));
	return true;
}

extern const struct capability cap_forget_cluster;
const struct capability cap_forget_cluster = {
	.name = "forget_cluster",
	.method = "POST",
	.path = "/clusters/{cluster}:forget",
	.title = "Forget an imported cluster",
	.doc = "Removes an imported cluster from the catalog. Nothing in the cloud "
	       "changes.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.in = named_cluster_in,
	.in_size = sizeof(struct of_cluster),
	.out = forget_cluster_out,
	.target = "cluster",
	.run = run_forget_cluster,
};

/* --- delete_cluster
 * ------------------------------------------------------------------------ */

struct delete_cluster {
	const char *cluster;
	struct str_list delete_buckets;
};

static const struct field delete_cluster_in[] = {
	FIELD_CLUSTER_PATH(struct delete_cluster, cluster),
	FIELD(struct delete_cluster, delete_buckets, .flags = FIELD_QUERY, .max = 20,
	      .doc = "Shared buckets to delete with their objects. The plan counts the "
		     "objects, and its confirm value is required. Default: keep every "
		     "bucket that has objects."),
	FIELD_END};

static bool is_delete(const struct db_rows *holders, int i)
{
	return streq(db_text(holders, i, "kind"), kind_delete_cluster.name);
}

/* Behind a create in the middle the delete waits; behind another delete only when
 * asked to. */
static bool queue_behind(struct call *c, const char *name, struct err *e)
{
	struct db_rows rows;

	if (!DB(c->db, c->arena, &Q_cluster_holder, &rows, e, name))
		return false;
	for (int i = 0; i < rows.n; i++)
		c->opt.queue |= !is_delete(&rows, i);
	return true;
}

/* What the accepted delete waits for is cancelled; its end starts the delete. */
static bool stop_holders(struct call *c, const char *name, struct err *e)
{
	struct order o = {.principal = c->who->id, .face = face_name(c->face)};
	struct db_rows rows;
	struct str ignored;

	o.request_id = c->request_id;
	o.args = json_packf(c->arena, "{s:b}", "undo", 0);
	if (!DB(c->db, c->arena, &Q_cluster_holder, &rows, e, name))
		return false;
	for (int i = 0; i < rows.n; i++) {
		if (is_delete(&rows, i) || db_bool(&rows, i, "cancel_requested"))
			continue;
		o.op_id = db_text(&rows, i, "id");
		if (!journal_cancel(c->db, c->arena, &o, &ignored, e) &&
		    e->code != ERR_STATE_CONFLICT)
			return false;
	}
	return true;
}

/*
 * Nothing is stopped for a request that is refused in the end, or for the repeat
 * of one whose delete is over.
 */
static bool is_waiting(struct call *c, struct str operation)
{
	struct err ignored;

	return streq(json_str_at(json_parse(c->arena, operation, &ignored), "status"),
		     "queued");
}

/* Its network would go from under them: they are named, and nothing is deleted. */
static bool is_shared(struct call *c, const char *name, struct err *e)
{
	struct db_rows rows;

	if (!DB(c->db, c->arena, &Q_cluster_sharers, &rows, e, name))
		return false;
	if (rows.n == 0)
		return true;
	err_set(e, ERR_BLOCKED,
		"The cluster %s has nodes in the network of %s: group %s in %s",
		db_text(&rows, 0, "cluster"), name, db_text(&rows, 0, "instance_group"),
		db_text(&rows, 0, "subnet"));
	for (int i = 1; i < rows.n; i++)
		err_because(e, "catalog", db_text(&rows, i, "cluster"),
			    db_text(&rows, i, "subnet"), NULL);
	return err_fix(e, "Delete that instance group or cluster first, then delete %s.",
		       name);
}

static bool run_delete_cluster(struct call *c, const void *in, struct reply *ret,
			       struct err *e)
{
	const struct delete_cluster *q = in;
	struct cluster k;
	struct db_rows rows;
	json_t *input;

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	if (k.imported) {
		err_set(e, ERR_STATE_CONFLICT,
			"%s was imported and not created by InstantStart", k.name);
		return err_fix(e, "Use forget_cluster to remove it from the catalog.");
	}
	if (!is_shared(c, k.name, e) ||
	    !DB(c->db, c->arena, &Q_cluster_owned, &rows, e, k.name))
		return false;
	input = cluster_input(c, &k, in);
	json_put(input, "owned",
		 json_incref(json_parse(c->arena, str_of(db_text(&rows, 0, "doc")), e)));
	/* Objects of the user's are more than the cluster that the name stands for. */
	c->stakes = q->delete_buckets.n > 0 || call_is_word(c->opt.confirm);
	return queue_behind(c, k.name, e) &&
	       call_submit(c, &kind_delete_cluster, k.name, input, ret, e) &&
	       (ret->planned || !is_waiting(c, ret->json) || stop_holders(c, k.name, e));
}

extern const struct capability cap_delete_cluster;
const struct capability cap_delete_cluster = {
	.name = "delete_cluster",
	.method = "DELETE",
	.path = "/clusters/{cluster}",
	.title = "Delete a cluster",
	.doc = "Deletes everything that was created for the cluster. Buckets with "
	       "objects are kept unless named. A creation in progress is cancelled "
	       "first.",
	.effect = CAP_DESTROY,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_MORE_STAKES,
	.in = delete_cluster_in,
	.in_size = sizeof(struct delete_cluster),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "cluster",
	.run = run_delete_cluster,
};
