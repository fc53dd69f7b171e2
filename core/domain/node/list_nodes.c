/* Nodes from the catalog: fast however many there are, and says how old it is. */
#include <string.h>
#include <time.h>

#include "core/domain/cluster/cluster.h"
#include "core/domain/cluster/cluster_in.h"
#include "core/domain/node/node_out.h"
#include "core/domain/page.h"
#include "core/json/tree.h"
#include "gen/queries.h"

struct list_nodes {
	const char *cluster;
	const char *group;
	const char *status;
	const char *health;
	const char *zone;
	bool unhealthy;
	bool fresh;
	int64_t limit;
	const char *cursor;
};

static const struct field list_nodes_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct list_nodes, cluster),
	FIELD(struct list_nodes, group, .min = 1, .max = 63,
	      .doc = "Only nodes of this instance group."),
	FIELD(struct list_nodes, status, .min = 1, .max = 40, .example = "\"Running\"",
	      .doc = "Only nodes with this status of SageMaker."),
	FIELD(struct list_nodes, health, .min = 1, .max = 63,
	      .example = "\"Schedulable\"", .doc = "Only nodes with this health label."),
	FIELD(struct list_nodes, zone, .min = 1, .max = 30, .example = "\"us-west-2a\"",
	      .doc = "Only nodes in this zone."),
	FIELD(struct list_nodes, unhealthy,
	      .doc = "Only nodes whose trouble is not empty."),
	FIELD(struct list_nodes, fresh,
	      .doc = "Ask the clouds again and wait for it, some seconds at most."),
	PAGE_FIELDS(struct list_nodes),
	FIELD_END};

const struct field node_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Name in Kubernetes."),
	OUT("instance_id", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "Its instance; null until it has one."),
	OUT("logical_id", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Stays when the instance is replaced."),
	OUT("group", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Its instance group."),
	OUT("instance_type", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "Its type."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "As SageMaker says."),
	OUT("message", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "SageMaker's words; an old one may stay."),
	OUT("zone", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "Its zone."),
	OUT("health", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "The health agent's label: Schedulable, Unschedulable…"),
	OUT("ready", FIELD_BOOL, .flags = FIELD_NULLABLE,
	    .doc = "Ready in Kubernetes; null when it is not there."),
	OUT("schedulable", FIELD_BOOL, .flags = FIELD_NULLABLE, .doc = "Not cordoned."),
	OUT("taints", FIELD_STRS, .doc = "key=value:effect."),
	OUT("faults", FIELD_STRS, .doc = "Types and reasons that the agent has found."),
	OUT("trouble", FIELD_STRS, .doc = "What is wrong with it, whoever says so."),
	OUT("deep_health_check", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "InProgress, Passed or Failed."),
	OUT("pods", FIELD_INT, .flags = FIELD_NULLABLE, .doc = "Pods on it."),
	OUT("gpus", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Accelerators that pods may have."),
	OUT("gpus_used", FIELD_INT, .flags = FIELD_NULLABLE, .doc = "That pods have."),
	OUT("efas", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "EFA interfaces that pods may have."),
	OUT("efas_used", FIELD_INT, .flags = FIELD_NULLABLE, .doc = "That pods have."),
	OUT("launched_at", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "Since when."),
	OUT("image", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "UpToDate, UpdateAvailable, SecurityUpdateRequired or EndOfLife."),
	OUT("missing", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "The last look did not find it."),
	OUT("no_node_since", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Not in Kubernetes since then."),
	OUT("no_instance_since", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Kubernetes alone has it since then."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "When this was seen."),
	FIELD_END};

static const struct field refresh_out[] = {
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "never, wanted, running or idle."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Nothing shown is older than this."),
	OUT("finished_at", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "End of the last whole look."),
	OUT("age_s", FIELD_INT, .flags = FIELD_NULLABLE, .doc = "Seconds since then."),
	OUT("joined", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Instances that are nodes, too."),
	OUT("no_node", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Instances without a node."),
	OUT("no_instance", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Nodes without an instance."),
	OUT("pollers", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Workers there to look; 0: nothing becomes newer."),
	OUT("pollers_seen_at", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "When one was heard of last."),
	OUT("calls", FIELD_INT, .flags = FIELD_NULLABLE, .doc = "Calls to AWS it took."),
	OUT("error", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Why the clouds could not be asked."),
	FIELD_END};

static const struct field list_nodes_out[] = {
	PAGE_OUT(node_out),
	OUT("total", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Instances of the cluster at the last look, whatever the filters; "
		   "refresh tells how many of them are nodes of Kubernetes."),
	{.name = "refresh",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED,
	 .fields = refresh_out,
	 .doc = "How old all this is, and whether it is being renewed."},
	FIELD_END};

/* "group/name": groups have no slash. */
static bool take_cursor(struct call *c, const char *cursor, const char **ret_group,
			const char **ret_name, struct err *e)
{
	const char *slash = cursor ? strchr(cursor, '/') : NULL;

	*ret_group = *ret_name = NULL;
	if (!cursor)
		return true;
	if (!slash) {
		err_set(e, ERR_INVALID_INPUT, "The cursor is none of ours");
		return err_field(e, "/cursor", cursor, "next_cursor of a page before");
	}
	*ret_group = str_dup(c->arena, (struct str){cursor, (size_t)(slash - cursor)});
	*ret_name = slash + 1;
	return true;
}

enum { LOOK_EVERY_MS = 200 };

/*
 * Until the look has ended that begins after this moment, or the call's time is over:
 * the answer says then that it is still under way. A worker of the slow pool waits.
 */
static bool wait_for_look(struct call *c, const char *cluster, struct err *e)
{
	const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};
	const int64_t until_ms = call_read_deadline(c) - 2 * LOOK_EVERY_MS;
	struct db_rows rows;
	const char *asked;

	if (!DB(c->db, c->arena, &Q_refresh_want, &rows, e, cluster))
		return false;
	asked = db_text(&rows, 0, "ms");
	while (c->clock->mono_ms(c->clock) < until_ms) {
		if (!DB(c->db, c->arena, &Q_refresh_is_newer, &rows, e, cluster, asked))
			return false;
		if (db_bool(&rows, 0, "newer"))
			return true;
		nanosleep(&pause, NULL);
	}
	return true;
}

static bool run_list_nodes(struct call *c, const void *in, struct reply *ret,
			   struct err *e)
{
	const struct list_nodes *q = in;
	const char *group, *name;
	struct cluster k;
	struct db_rows rows;

	if (!cluster_mean(c, q->cluster, &k, e) ||
	    !take_cursor(c, q->cursor, &group, &name, e))
		return false;
	if (q->fresh && !wait_for_look(c, k.name, e))
		return false;
	if (!DB(c->db, c->arena, &Q_node_page, &rows, e, k.name, group, name,
		arena_printf(c->arena, "%lld", (long long)q->limit), q->group, q->status,
		q->health, q->zone, q->unhealthy ? "true" : NULL))
		return false;
	reply_text(ret, str_of(db_text(&rows, 0, "doc")));
	return true;
}

extern const struct capability cap_list_nodes;
const struct capability cap_list_nodes = {
	.name = "list_nodes",
	.method = "GET",
	.path = "/clusters/{cluster}/nodes",
	.title = "List nodes",
	.doc = "Nodes of a cluster by group: health, SageMaker's status, what Kubernetes says, "
	       "pods, accelerators and EFA. From the catalog, which pollers keep fresh; "
	       "observed_at says of when each row is.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_LIST,
	.in = list_nodes_in,
	.in_size = sizeof(struct list_nodes),
	.out = list_nodes_out,
	.run = run_list_nodes,
};
