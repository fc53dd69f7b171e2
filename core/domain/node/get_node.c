/* One node, asked for now: what it is, what is on it, and what happened to it. */
#include <stdlib.h>
#include <string.h>

#include "core/domain/node/node_action.h"
#include "core/domain/node/node_out.h"
#include "core/domain/node/node_row.h"
#include "core/domain/pod/pod.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
#include "core/domain/stake/stake.h"
#include "core/json/tree.h"
#include "core/op/runner.h"
#include "gen/queries.h"

enum { EVENTS_MAX = 50 };

struct get_node {
	const char *cluster;
	const char *node;
};

static const struct field get_node_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct get_node, cluster),
	FIELD(struct get_node, node, .flags = FIELD_REQUIRED | FIELD_PATH,
	      .pattern = NODE_ANY_PATTERN, .max = 128,
	      .doc = "Instance ID, Kubernetes name or logical ID."),
	FIELD_END};

static const struct field entry_out[] = {
	OUT("at", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "When."),
	OUT("source", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "cluster event, kubernetes, operation, observed or sagemaker."),
	OUT("level", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Info, Warn or Error."),
	OUT("what", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "What happened."),
	OUT("detail", FIELD_STR, .flags = FIELD_NULLABLE, .doc = "Details."),
	OUT("operation", FIELD_STR, .doc = "Operation that did it."),
	OUT("actor", FIELD_STR, .doc = "Principal that requested it."),
	FIELD_END};

static const struct field get_node_out[] = {
	OUT("name", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "Kubernetes name."),
	OUT("instance_id", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "Instance ID."),
	OUT("logical_id", FIELD_STR, .flags = FIELD_NULLABLE,
	    .doc = "Logical ID. It stays the same when the instance is replaced."),
	OUT("group", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Instance group."),
	OUT("status", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Status reported by SageMaker."),
	OUT("details", FIELD_OBJECT, .flags = FIELD_REQUIRED | FIELD_OPEN,
	    .doc = "Details from SageMaker."),
	OUT("kubernetes", FIELD_OBJECT, .flags = FIELD_NULLABLE | FIELD_OPEN,
	    .doc = "Readiness, taints, health, faults and accelerators. Null if the node "
		   "is not in Kubernetes."),
	OUT("pods", FIELD_OBJECT, .flags = FIELD_REQUIRED | FIELD_MANY | FIELD_OPEN,
	    .doc = "Pods on the node: name, namespace, phase, and whether they end with "
		   "it."),
	OUT("local_volumes", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Volumes that are lost if the node is replaced or deleted."),
	{.name = "timeline",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = entry_out,
	 .doc = "Newest first."},
	OUT("unknown", FIELD_STRS, .flags = FIELD_REQUIRED,
	    .doc = "Sources that did not answer, and why."),
	OUT("observed_at", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Time of the observation."),
	FIELD_END};

/* What has been found so far. */
struct found {
	struct call *c;
	const char *cluster, *hyperpod;
	const char *instance_id, *logical_id, *row;
	const json_t *details;
	bool alone; /* SageMaker has no such instance */
	json_t *kube, *pods, *volumes, *timeline, *unknown;
};

/* --- reads ------------------------------------------------------------- */

static bool read_details(struct found *f, const char *any, struct err *e)
{
	struct call *c = f->c;
	const char *id = node_instance_id(c->arena, any);
	json_t *out;

	if (!aws_read(c->cloud->aws, AWS_SAGEMAKER_DescribeClusterNode,
		      json_packf(c->arena, "{s:s, s:s}", "ClusterName", f->hyperpod,
				 id ? "NodeId" : "NodeLogicalId", id ? id : any),
		      call_read_deadline(c), c->arena, &out, e)) {
		if (e->code != ERR_CLOUD_NOT_FOUND)
			return false;
		/* Kubernetes may have it all the same: that is worth knowing. */
		f->alone = id != NULL;
		f->instance_id = id;
		f->row = node_kube_name(c->arena, id);
		err_set(e, ERR_NOT_FOUND, "The cluster %s has no node %s", f->cluster,
			any);
		err_field(e, "/node", any, "a name from list_nodes");
		return f->alone;
	}
	f->details = json_at(out, "NodeDetails");
	f->instance_id = json_str_at(f->details, "InstanceId");
	f->logical_id = json_str_at(f->details, "NodeLogicalId");
	if (f->instance_id && !*f->instance_id)
		f->instance_id = NULL;
	f->row = f->logical_id ? f->logical_id : f->instance_id;
	return true;
}

static void not_known(struct found *f, const char *what, const char *why)
{
	json_push(f->unknown, json_sprintf("%s: %s", what, why));
}

static json_t *pod_item(const json_t *pod)
{
	return json_pack("{s:s, s:s, s:s, s:b}", "name",
			 json_str_or(pod, "metadata.name", "?"), "namespace",
			 json_str_or(pod, "metadata.namespace", "?"), "phase",
			 json_str_or(pod, "status.phase", "Unknown"), "ends_with_it",
			 pod_counts(pod));
}

static void read_pods(struct found *f, const struct kube_target *t, const char *name)
{
	struct call *c = f->c;
	struct kube_result res;
	size_t i;
	json_t *pod;

	kube_list_all(c->cloud->kube, t,
		      &(struct kube_request){.verb = KUBE_LIST,
					     .api = "v1",
					     .plural = "pods",
					     .field_selector = arena_printf(
						     c->arena, "spec.nodeName=%s", name)},
		      c->arena, &res);
	if (!res.ok) {
		not_known(f, "pods", res.message);
		return;
	}
	json_array_foreach(json_at(res.out, "items"), i, pod) {
		json_push(f->pods, pod_item(pod));
		if (pod_counts(pod))
			pod_local_volumes(pod, f->volumes);
	}
}

static void add(struct found *f, const char *at, const char *source, const char *level,
		const char *what, const char *detail)
{
	if (at && *at)
		json_push(f->timeline, json_pack("{s:s, s:s, s:s, s:s, s:s*}", "at", at,
						 "source", source, "level", level, "what",
						 what, "detail", detail));
}

/* A condition that is on is bad news, but for Ready. */
static void add_conditions(struct found *f, const json_t *node)
{
	size_t i;
	json_t *k;

	add(f, json_str_at(node, "metadata.creationTimestamp"), "kubernetes", "Info",
	    "joined Kubernetes", NULL);
	json_array_foreach(json_at(node, "status.conditions"), i, k) {
		const char *type = json_str_or(k, "type", "?");
		const bool on = streq(json_str_at(k, "status"), "True");
		const bool good = on == streq(type, "Ready");

		if (on || streq(type, "Ready"))
			add(f, json_str_at(k, "lastTransitionTime"), "kubernetes",
			    good ? "Info" : "Warn",
			    arena_printf(f->c->arena, "%s is %s", type,
					 json_str_or(k, "status", "?")),
			    json_str_at(k, "reason"));
	}
}

static void read_kube(struct found *f)
{
	struct call *c = f->c;
	const char *name = node_kube_name(c->arena, f->instance_id);
	struct kube_target t;
	struct kube_result res;
	struct err e = {0};

	if (!name)
		return;
	if (!pod_target(c, f->cluster, &t, NULL, &e)) {
		not_known(f, "kubernetes", e.detail);
		return;
	}
	kube_call(c->cloud->kube, &t,
		  &(struct kube_request){
			  .verb = KUBE_GET, .api = "v1", .plural = "nodes", .name = name},
		  c->arena, &res);
	if (res.ok) {
		f->kube = json_own(c->arena, node_kube_facts(res.out));
		add_conditions(f, res.out);
	} else if (res.status != 404) {
		not_known(f, "kubernetes", res.message);
		return;
	}
	read_pods(f, &t, name);
}

static void read_events(struct found *f)
{
	struct call *c = f->c;
	json_t *out, *event;
	struct err e = {0};
	size_t i;

	if (!f->instance_id)
		return;
	if (!cluster_events_read(c,
				 json_packf(c->arena, "{s:s, s:s, s:i}", "ClusterName",
					    f->hyperpod, "NodeId", f->instance_id,
					    "MaxResults", EVENTS_MAX),
				 &out, &e)) {
		not_known(f, "cluster events", e.detail);
		return;
	}
	json_array_foreach(json_at(out, "Events"), i, event) {
		json_t *item = json_own(c->arena, cluster_event_item(event, NULL));

		add(f, json_str_at(item, "at"), "cluster event",
		    json_str_or(item, "level", "Info"), json_str_or(item, "text", ""),
		    NULL);
	}
}

/* What we did, and what was seen to change from look to look. */
static bool read_history(struct found *f, const char *asked, struct err *e)
{
	struct call *c = f->c;
	const char *kube = node_kube_name(c->arena, f->instance_id);
	json_t *ids = json_new_list(c->arena), *list, *entry;
	const char *const all[] = {asked, f->instance_id, f->logical_id, kube};
	struct db_rows rows;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i])
			json_push(ids, json_string(all[i]));
	if (!DB(c->db, c->arena, &Q_node_history, &rows, e, f->cluster, f->row,
		json_text(c->arena, ids)))
		return false;
	list = json_parse(c->arena, str_of(db_text(&rows, 0, "doc")), e);
	json_array_foreach(list, i, entry)
		json_array_append(f->timeline, entry);
	return list != NULL;
}

/* --- the answer -------------------------------------------------------- */

struct moment {
	const char *at;
	json_t *entry;
};

static int newest_first(const void *x, const void *y)
{
	const struct moment *a = x, *b = y;

	return strcmp(b->at, a->at);
}

static json_t *sorted(struct arena *a, const json_t *list)
{
	const size_t n = json_array_size(list);
	struct moment *v = arena_array(a, struct moment, n + 1);
	json_t *out = json_new_list(a);

	for (size_t i = 0; i < n; i++) {
		v[i].entry = json_array_get(list, i);
		v[i].at = json_str_or(v[i].entry, "at", "");
	}
	qsort(v, n, sizeof(*v), newest_first);
	for (size_t i = 0; i < n; i++)
		json_array_append(out, v[i].entry);
	return out;
}

static void add_launch(struct found *f)
{
	static const char *const moments[][2] = {
		{"LaunchTime", "launched"},
		{"LastSoftwareUpdateTime", "software updated"}};
	for (size_t i = 0; i < 2; i++)
		add(f, json_str_at(f->details, moments[i][0]), "sagemaker", "Info",
		    moments[i][1], f->instance_id);
}

/* The list must not say otherwise of what has just been seen. */
static bool write_through(struct found *f, struct err *e)
{
	struct call *c = f->c;
	struct db_rows rows;

	if (f->alone || !f->instance_id)
		return true;
	return DB(c->db, c->arena, &Q_node_seen, &rows, e, f->cluster, f->instance_id,
		  f->kube ? json_text(c->arena, f->kube) : NULL,
		  json_str_at(f->details, "InstanceStatus.Status"));
}

static bool run_get_node(struct call *c, const void *in, struct reply *ret, struct err *e)
{
	const struct get_node *q = in;
	struct cluster k;
	struct found f = {.c = c,
			  .pods = json_new_list(c->arena),
			  .volumes = json_new_list(c->arena),
			  .timeline = json_new_list(c->arena),
			  .unknown = json_new_list(c->arena)};
	char at[TIME_TEXT];

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	f.cluster = k.name;
	f.hyperpod = k.hyperpod_name ? k.hyperpod_name : k.name;
	if (!read_details(&f, q->node, e) || !read_history(&f, q->node, e))
		return false;
	add_launch(&f);
	read_kube(&f);
	if (f.alone && !f.kube)
		return false;
	if (!write_through(&f, e))
		return false;
	read_events(&f);
	reply_tree(c, ret,
		   json_packf(c->arena,
			      "{s:s?, s:s?, s:s?, s:s, s:s, s:O, s:O?, s:O, s:O, s:O, "
			      "s:O, s:s}",
			      "name", node_kube_name(c->arena, f.instance_id),
			      "instance_id", f.instance_id, "logical_id", f.logical_id,
			      "group", json_str_or(f.details, "InstanceGroupName", "?"),
			      "status",
			      f.alone ? "NoInstance"
				      : json_str_or(f.details, "InstanceStatus.Status",
						    "unknown"),
			      "details", f.alone ? json_new_object(c->arena) : f.details,
			      "kubernetes", f.kube, "pods", f.pods, "local_volumes",
			      f.volumes, "timeline", sorted(c->arena, f.timeline),
			      "unknown", f.unknown, "observed_at",
			      time_rfc3339(c->clock->wall_ms(c->clock), at)));
	return true;
}

extern const struct capability cap_get_node;
const struct capability cap_get_node = {
	.name = "get_node",
	.method = "GET",
	.path = "/clusters/{cluster}/nodes/{node}",
	.title = "Get a node",
	.doc = "Returns the current state of one node: SageMaker and Kubernetes details, "
	       "pods, local volumes, and a timeline of cluster events, health changes "
	       "and operations.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = get_node_in,
	.in_size = sizeof(struct get_node),
	.out = get_node_out,
	.run = run_get_node,
};
