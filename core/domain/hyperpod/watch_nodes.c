/*
 * watch_nodes.c - from "accepted" to "as many nodes as asked, and Ready".
 *
 * In Continuous mode the cluster is InService before one node exists, and
 * failures show only as events: the newest one is what a person must see.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/offer/wish.h"
#include "core/domain/step/eks_access.h"
#include "core/domain/step/read.h"
#include "core/domain/step/usable.h"
#include "core/json/tree.h"

/* Of all groups, so that ours may be far down. */
enum { EVENTS_LOOKED_AT = 100, NODES_A_PAGE = 100 };
#define GROUP_LABEL "sagemaker.amazonaws.com/instance-group-name"
/* AWS goes on trying for hours; people want to know after this long. */
static const int64_t CAPACITY_PATIENCE_MS = 30 * 60 * 1000;

static const json_t *group(const struct step_ctx *c)
{
	return json_find(json_at(saw(c, "hyperpod"), "InstanceGroups"),
			 "InstanceGroupName", step_input(c, "group_name"));
}

static int64_t current(const struct step_ctx *c)
{
	return json_int_or(group(c), "CurrentCount", 0);
}

static int64_t wanted(const struct step_ctx *c)
{
	return json_int_or(c->input, "count", 1);
}

static int64_t target(const struct step_ctx *c)
{
	return json_int_or(group(c), "TargetCount", wanted(c));
}

/*
 * In Continuous mode the nodes are tried again in the background: an error from
 * before this wait began is one that a person has seen and answered by a retry.
 */
static bool is_of_this_wait(const struct step_ctx *c, const json_t *event)
{
	int64_t at_ms;

	return !time_parse_rfc3339(json_str_or(event, "EventTime", ""), &at_ms) ||
	       at_ms >= c->step_since_ms;
}

/* Of the group, or of no group at all: another one's trouble is none of ours. */
static bool is_of_group(const struct step_ctx *c, const json_t *event)
{
	const char *name = json_str_or(event, "InstanceGroupName", "");

	return !*name || streq(name, step_input(c, "group_name"));
}

/* The newest event that says why: errors first, else whatever came last. */
static const json_t *newest(const struct step_ctx *c)
{
	const json_t *last = NULL;
	size_t i;
	json_t *event;

	json_array_foreach(json_at(saw(c, "events"), "Events"), i, event) {
		if (!is_of_group(c, event) || !is_of_this_wait(c, event))
			continue;
		if (streq(json_str_at(event, "EventLevel"), "Error"))
			return event;
		last = last ? last : event;
	}
	return last;
}

static const char *event_text(const struct step_ctx *c)
{
	const char *why = cluster_event_reason(json_at(saw(c, "event"), "EventDetails"));

	return why ? why : json_str_or(newest(c), "Description", "");
}

static bool is_capacity_failure(const char *text)
{
	return strcasestr(text, "sufficient capacity") ||
	       strcasestr(text, "insufficient capacity");
}

/* The event's words, or the cluster's own when it has some. */
static const char *trouble_text(const struct step_ctx *c)
{
	const char *message = json_str_or(saw(c, "hyperpod"), "FailureMessage", "");

	return node_trouble_is(message) ? message : event_text(c);
}

/* Whose failure it is; "": not said. */
static const char *failed_instance(const struct step_ctx *c)
{
	const json_t *event = newest(c);

	return streq(json_str_at(event, "EventLevel"), "Error")
		       ? json_str_or(event, "InstanceId", "")
		       : "";
}

/* Of the group alone, in small pages: a node is large, and a cluster has many. */
static bool read_group_nodes(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "nodes",
			 &(struct kube_request){.verb = KUBE_LIST,
						.api = "v1",
						.plural = "nodes",
						.limit = NODES_A_PAGE,
						.label_selector = arena_printf(
							c->arena, GROUP_LABEL "=%s",
							step_input(c, "group_name"))});
}

bool watch_nodes_observe(struct step_ctx *c, struct exchange *x)
{
	const char *status, *event_id;

	if (hyperpod_read(c, x))
		return true;
	status = json_str_or(saw(c, "hyperpod"), "ClusterStatus", "");
	if (!saw(c, "hyperpod"))
		return false;
	if (current(c) == target(c) && target(c) == wanted(c) &&
	    streq(status, "InService"))
		return read_group_nodes(c, x);
	if (read_aws(c, x, "events", AWS_SAGEMAKER_ListClusterEvents,
		     json_packf(c->arena, "{s:s, s:i}", "ClusterName", hyperpod_name(c),
				"MaxResults", EVENTS_LOOKED_AT)))
		return true;
	event_id = json_str_at(newest(c), "EventId");
	if (event_id && read_aws(c, x, "event", AWS_SAGEMAKER_DescribeClusterEvent,
				 json_packf(c->arena, "{s:s, s:s}", "EventId", event_id,
					    "ClusterName", hyperpod_name(c))))
		return true;
	return node_trouble_read(c, x, trouble_text(c), failed_instance(c));
}

/* --- what it comes to ----------------------------------------------------------------
 */

static int64_t ready_nodes(const struct step_ctx *c)
{
	const json_t *nodes = json_at(saw(c, "nodes"), "items");
	int64_t ready = 0;
	size_t i;
	json_t *node;

	json_array_foreach(nodes, i, node) {
		const json_t *labels = json_at(node, "metadata.labels");
		const char *of_group =
			json_string_value(json_object_get(labels, GROUP_LABEL));

		if (node_has_arrived(node) &&
		    streq(of_group, step_input(c, "group_name")))
			ready++;
	}
	return ready;
}

/* ", 2 of which are under health checks"; "" when none is. */
static const char *checked_text(const struct step_ctx *c)
{
	long long n = 0;
	size_t i;
	json_t *node;

	json_array_foreach(json_at(saw(c, "nodes"), "items"), i, node)
		n += node_is_checked(node);
	return n ? arena_printf(c->arena, "; %lld in health checks", n) : "";
}

static void no_capacity(struct step_ctx *c, const char *text)
{
	struct err *e = step_fail(
		c, ERR_NO_CAPACITY,
		"%lld of %lld nodes: AWS has no capacity for %s in this zone",
		(long long)current(c), (long long)target(c), wish_types_text(c));

	err_because(e, "sagemaker:cluster-event", "", text, NULL);
	/* Whether to go on waiting is a person's to say (case CC-01). */
	e->retry = RETRY_HUMAN;
	err_fix(e,
		"Use another zone, spot or a training plan. AWS continues to try, and a "
		"retry of this operation continues to wait.");
}

static void cluster_failed(struct step_ctx *c, const char *status, const char *text)
{
	const char *message = json_str_or(saw(c, "hyperpod"), "FailureMessage", text);
	struct err *e;

	if (is_capacity_failure(message)) {
		no_capacity(c, message);
		return;
	}
	e = step_fail(c, ERR_CLUSTER_FAILED, "The HyperPod cluster %s is %s: %s",
		      hyperpod_name(c), status, message[0] ? message : "no reason given");
	err_because(e, "sagemaker:DescribeCluster", status, message, NULL);
	err_fix(e,
		"Resolve the cause, then retry. The failed cluster is deleted and created "
		"again. EKS and storage stay.");
}

static void finish(struct step_ctx *c)
{
	const char *arn = json_str_or(saw(c, "hyperpod"), "ClusterArn", "");

	step_catalog(c, "cluster", c->target, NULL,
		     json_pack("{s:s, s:s, s:s, s:O, s:O}", "status", "in_service",
			       "hyperpod_name", hyperpod_name(c), "hyperpod_arn", arn,
			       "eks", json_at(c->data, "eks"), "compute_subnet",
			       json_at(c->data, "subnet")));
	step_catalog(c, "instance_group", step_input(c, "group_name"), NULL,
		     json_deep_copy(group(c)));
	/* What waits for nodes comes next; the last row ends with this. */
	step_save(c, "made",
		  json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s}", "cluster", c->target,
			    "hyperpod_name", hyperpod_name(c), "hyperpod_arn", arn,
			    "group", step_input(c, "group_name"), "nodes",
			    (json_int_t)target(c), "zone",
			    json_str_or(c->data, "subnet.zone", ""), "subnet_id",
			    json_str_or(c->data, "subnet.id", "")));
}

/* --- who moved it? -------------------------------------------------------------------
 */

/* Members of data: how many nodes were there at best, and what a min_count asks for. */
static const char reached[] = "_reached";

static int64_t least(const struct step_ctx *c)
{
	return json_int_or(
		c->input, "min_count",
		json_int_or(c->data, "_least", json_int_or(group(c), "MinCount", 0)));
}

static void note_reached(struct step_ctx *c)
{
	if (current(c) > json_int_or(c->data, reached, 0))
		step_save(c, reached, json_integer(current(c)));
	if (json_int_or(group(c), "MinCount", 0) > 0)
		step_save(c, "_least",
			  json_integer(json_int_or(group(c), "MinCount", 0)));
}

/* The service takes a group back whose least number of nodes did not come in time. */
static bool is_taken_back(const struct step_ctx *c)
{
	return least(c) > 0 && json_int_or(c->data, reached, 0) < least(c) &&
	       target(c) == json_int_or(c->data, "from", 0);
}

static const char *target_moved(struct step_ctx *c)
{
	const char *why = event_text(c);
	const char *last =
		arena_printf(c->arena, "%s%s", *why ? "; newest event: " : "", why);

	if (is_taken_back(c))
		return arena_printf(
			c->arena,
			"SageMaker rolled the instance group %s back to %lld: it reached "
			"%lld of min %lld nodes within three hours%s",
			step_input(c, "group_name"), (long long)target(c),
			(long long)json_int_or(c->data, reached, 0), (long long)least(c),
			last);
	return arena_printf(
		c->arena,
		"the instance group %s was set to %lld nodes and now has a target of "
		"%lld: changed by %s%s",
		step_input(c, "group_name"), (long long)wanted(c), (long long)target(c),
		streq(json_str_at(saw(c, "hyperpod"), "AutoScaling.Mode"), "Enable")
			? "the autoscaler or another user"
			: "another user",
		last);
}

/* Without its cluster or its group; NULL: both are there, or it was not seen. */
static const char *group_gone(struct step_ctx *c)
{
	const json_t *cluster = saw(c, "hyperpod");
	const char *made = json_str_at(c->data, "hyperpod_arn");

	if (saw_missing(c, "hyperpod"))
		return arena_printf(c->arena,
				    "the HyperPod cluster %s was deleted outside "
				    "InstantStart",
				    hyperpod_name(c));
	if (!cluster)
		return NULL;
	if (made && !streq(made, json_str_or(cluster, "ClusterArn", made)))
		return arena_printf(c->arena,
				    "the HyperPod cluster %s was replaced outside "
				    "InstantStart by another of the same name",
				    hyperpod_name(c));
	if (streq(json_str_at(cluster, "ClusterStatus"), "Deleting"))
		return arena_printf(c->arena,
				    "the HyperPod cluster %s is being deleted outside "
				    "InstantStart",
				    hyperpod_name(c));
	if (!group(c) || streq(json_str_at(group(c), "Status"), "Deleting"))
		return arena_printf(
			c->arena,
			"the instance group %s was deleted outside InstantStart",
			step_input(c, "group_name"));
	return NULL;
}

const char *watch_moved(struct step_ctx *c)
{
	const char *gone = group_gone(c);

	if (gone)
		step_gone(c, step_input(c, "group_name"));
	if (gone || !saw(c, "hyperpod"))
		return gone;
	note_reached(c);
	return target(c) == wanted(c) ? NULL : target_moved(c);
}

/*
 * MinInstanceCount is waited for by the service for three hours; deep health checks
 * take one to two hours a node. Both are inside this.
 */
const struct wait watch_wait = {
	.cloud_s = 3 * 3600,
	.rule = "SageMaker waits three hours for MinInstanceCount, then rolls the group "
		"back. Deep health checks take one to two hours",
	.moved = watch_moved,
	.lag_s = 60,
};

/* True: as many as asked, and Ready. False: a verdict was set. */
static bool all_ready(struct step_ctx *c)
{
	const char *status = json_str_or(saw(c, "hyperpod"), "ClusterStatus", "");
	const char *text = event_text(c);
	int64_t ready;

	if (!saw(c, "hyperpod")) {
		struct err *e = step_fail_saw(
			c, "hyperpod", "The HyperPod cluster %s cannot be read: %s",
			hyperpod_name(c), saw_why(c, "hyperpod"));

		if (saw_denied(c, "hyperpod"))
			err_fix(e, "Allow the InstantStart role to call "
				   "sagemaker:DescribeCluster, then retry.");
		return false;
	}
	if (current(c) < target(c) && node_trouble_fail(c, trouble_text(c)))
		return false;
	if (streq(status, "Failed")) {
		cluster_failed(c, status, text);
		return false;
	}
	/* While a least number is waited for, the service itself says when it is over. */
	if (is_capacity_failure(text) && current(c) < target(c) &&
	    current(c) >= least(c) && step_waited_ms(c) > CAPACITY_PATIENCE_MS) {
		no_capacity(c, text);
		return false;
	}
	if (current(c) != target(c) || !streq(status, "InService")) {
		step_wait(c, 30, "%lld of %lld nodes of %s (%s)%s%s",
			  (long long)current(c), (long long)target(c), hyperpod_name(c),
			  status, text[0] ? "; newest event: " : "", text);
		return false;
	}
	ready = ready_nodes(c);
	if (ready < target(c)) {
		step_wait(c, 15, "%lld of %lld nodes to be Ready in Kubernetes%s",
			  (long long)ready, (long long)target(c), checked_text(c));
		return false;
	}
	return true;
}

void watch_nodes_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (!c->planning && all_ready(c))
		finish(c);
}

/* --- one group of several ------------------------------------------------------------
 */

static void finish_group(struct step_ctx *c)
{
	const char *name = step_input(c, "group_name");

	step_catalog(c, "instance_group", name, NULL, json_deep_copy(group(c)));
	step_done(c, json_pack("{s:s, s:s, s:s, s:I}", "cluster", c->target,
			       "hyperpod_name", hyperpod_name(c), "group", name, "nodes",
			       (json_int_t)target(c)));
}

void watch_group_plan(struct step_ctx *c, struct exchange *x)
{
	(void)x;
	if (!c->planning && all_ready(c))
		finish_group(c);
}
