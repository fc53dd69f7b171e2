/* Nodes from the catalog: fast however many there are, and says how old it is. */
#include <string.h>
#include <time.h>

#include "core/base/listing.h"
#include "core/base/nearest.h"
#include "core/domain/node/node_out.h"
#include "core/domain/page.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
#include "core/domain/step/texts.h"
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
	      .doc = "Only nodes with this SageMaker status."),
	FIELD(struct list_nodes, health, .min = 1, .max = 63,
	      .example = "\"Schedulable\"", .doc = "Only nodes with this health label."),
	FIELD(struct list_nodes, zone, .min = 1, .max = 30, .example = "\"us-west-2a\"",
	      .doc = "Only nodes in this zone."),
	FIELD(struct list_nodes, unhealthy, .doc = "Only nodes that have a problem."),
	FIELD(struct list_nodes, fresh,
	      .doc = "Refresh from the cloud first. Waits a few seconds at most."),
	PAGE_FIELDS(struct list_nodes, .pattern = "[a-zA-Z0-9-]*/.{1,253}"),
	FIELD_END};

const struct field node_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Kubernetes name."),
	OUT("instance_id", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "Instance ID. Null until the node has an instance."),
	OUT("logical_id", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Logical ID. It stays the same when the instance is replaced."),
	OUT("group", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Instance group."),
	OUT("instance_type", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "Instance type."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Status reported by SageMaker."),
	OUT("message", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Message from SageMaker. It can be outdated."),
	OUT("zone", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "Zone."),
	OUT("health", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Health label from the health agent: Schedulable, Unschedulable and "
		   "others."),
	OUT("ready", FIELD_BOOL, .flags = FIELD_NULLABLE,
	    .doc = "Whether the node is Ready in Kubernetes. Null if it is not there."),
	OUT("schedulable", FIELD_BOOL, .flags = FIELD_NULLABLE,
	    .doc = "Whether the node accepts new pods (is not cordoned)."),
	OUT("taints", FIELD_STRS, .doc = "key=value:effect."),
	OUT("faults", FIELD_STRS,
	    .doc = "Fault types and reasons found by the health agent."),
	OUT("trouble", FIELD_STRS, .doc = "Problem with the node, from any source."),
	OUT("deep_health_check", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Deep health checks: InProgress, Passed or Failed."),
	OUT("pods", FIELD_INT, .flags = FIELD_NULLABLE, .doc = "Number of pods."),
	OUT("gpus", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Accelerators available to pods."),
	OUT("gpus_used", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Number used by pods."),
	OUT("efas", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "EFA interfaces available to pods."),
	OUT("efas_used", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Number used by pods."),
	OUT("launched_at", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Time of the change."),
	OUT("image", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "UpToDate, UpdateAvailable, SecurityUpdateRequired or EndOfLife."),
	OUT("missing", FIELD_BOOL, .flags = FIELD_REQUIRED,
	    .doc = "Whether the last refresh did not find the node."),
	OUT("no_node_since", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Time since which the node is missing in Kubernetes."),
	OUT("no_instance_since", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Time since which the node exists only in Kubernetes."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of the observation."),
	FIELD_END};

static const struct field refresh_out[] = {
	OUT("state", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "never, wanted, running or idle."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Oldest observation in this list."),
	OUT("finished_at", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Time of the last complete refresh."),
	OUT("age_s", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Age of the last complete refresh."),
	OUT("joined", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Instances that are also Kubernetes nodes."),
	OUT("no_node", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Instances without a Kubernetes node."),
	OUT("no_instance", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Kubernetes nodes without an instance."),
	OUT("pollers", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Number of workers that refresh the catalog. With 0, nothing is "
		   "refreshed."),
	OUT("pollers_seen_at", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Time of the last sign of a worker."),
	OUT("calls", FIELD_INT, .flags = FIELD_NULLABLE,
	    .doc = "Calls to AWS that the refresh took."),
	OUT("error", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Why the last refresh failed."),
	FIELD_END};

static const struct field list_nodes_out[] = {
	PAGE_OUT(node_out),
	OUT("total", FIELD_INT, .flags = FIELD_REQUIRED,
	    .doc = "Total number of instances at the last refresh, regardless of "
		   "filters. refresh shows how many are Kubernetes nodes."),
	{.name = "refresh",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED,
	 .fields = refresh_out,
	 .doc = "Age of the data, and whether it is being refreshed."},
	FIELD_END};

/* "group/name", as its pattern has it: groups have no slash. */
static void take_cursor(struct call *c, const char *cursor, const char **ret_group,
			const char **ret_name)
{
	const char *slash = cursor ? strchr(cursor, '/') : NULL;

	*ret_group = *ret_name = NULL;
	if (!slash)
		return;
	*ret_group = str_dup(c->arena, (struct str){cursor, (size_t)(slash - cursor)});
	*ret_name = slash + 1;
}

/* --- a filter that finds none --------------------------------------------------------
 */

/* What the clouds' own lists have, whether or not a node has it now. */
static const char *const statuses[] = {"Running",        "Pending",
				       "Failure",        "ShuttingDown",
				       "SystemUpdating", "DeepHealthCheckInProgress",
				       "NotFound",       NULL};
static const char *const healths[] = {"Schedulable", "Unschedulable",
				      "UnschedulablePendingReboot",
				      "UnschedulablePendingReplacement", NULL};
static const char *const none[] = {NULL};

struct filter {
	const char *member, *value;
	const char *const *known;
	const char *begins; /* values that begin so are somebody's; NULL: none */
};

/* False: no node has ever had this value, and none can: an empty list would read as
 * "there is none", where a word was misspelt. */
static bool can_be(struct call *c, const struct filter *f, const json_t *seen,
		   struct err *e)
{
	struct listing all = listing_new(c->arena, ", ", LISTING_SHORT);
	struct nearest n = {.wanted = f->value};
	const json_t *have = json_object_get(seen, f->member);
	size_t i;
	json_t *v;

	if (!f->value || texts_have(have, f->value) ||
	    (f->begins && str_starts(f->value, f->begins)) ||
	    (json_array_size(have) == 0 && !f->known[0]))
		return true;
	for (i = 0; f->known[i]; i++) {
		if (streq(f->known[i], f->value))
			return true;
		listing_add(&all, "%s", f->known[i]);
		nearest_offer(&n, f->known[i]);
	}
	json_array_foreach(have, i, v) {
		nearest_offer(&n, json_string_value(v));
		if (!f->known[0])
			listing_add(&all, "%s", json_string_value(v));
	}
	err_set(e, ERR_INVALID_INPUT, "No node has %s as its %s, and none can", f->value,
		f->member);
	return err_field(
		e, arena_printf(c->arena, "/%s", f->member), f->value,
		nearest_hint(&n, c->arena,
			     arena_printf(c->arena, "one of %s", listing_text(&all))));
}

static bool filters_can_be(struct call *c, const struct list_nodes *q,
			   const char *cluster, struct err *e)
{
	const struct filter filters[] = {
		{"group", q->group, none, NULL},
		{"status", q->status, statuses, NULL},
		{"health", q->health, healths, NULL},
		{"zone", q->zone, none, c->where->region},
	};
	struct db_rows rows;
	const json_t *seen;

	if (!DB(c->db, c->arena, &Q_node_values, &rows, e, cluster))
		return false;
	seen = json_parse(c->arena, str_of(db_text(&rows, 0, "doc")), e);
	for (size_t i = 0; seen && i < sizeof(filters) / sizeof(*filters); i++)
		if (!can_be(c, &filters[i], seen, e))
			return false;
	return seen != NULL;
}

/* --- the list -------------------------------------------------------------------------
 */

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

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	take_cursor(c, q->cursor, &group, &name);
	if (q->fresh && !wait_for_look(c, k.name, e))
		return false;
	if (!DB(c->db, c->arena, &Q_node_page, &rows, e, k.name, group, name,
		arena_printf(c->arena, "%lld", (long long)q->limit), q->group, q->status,
		q->health, q->zone, q->unhealthy ? "true" : NULL))
		return false;
	if (!q->cursor && db_bool(&rows, 0, "empty") && !filters_can_be(c, q, k.name, e))
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
	.doc = "Lists the nodes of a cluster by group: health, SageMaker and Kubernetes "
	       "status, pods, accelerators and EFA. Read from a catalog that is "
	       "refreshed in the background. observed_at shows the age of each item.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_LIST,
	.in = list_nodes_in,
	.in_size = sizeof(struct list_nodes),
	.out = list_nodes_out,
	.run = run_list_nodes,
};
