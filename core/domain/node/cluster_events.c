/*
 * Cluster events, as SageMaker keeps them: the newest 500 of a Continuous cluster.
 *
 * A list has descriptions only; the reason stands in each event's detail, under
 * EventDetails.EventDetails.EventMetadata.<one of several>.FailureMessage.
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ListClusterEvents.html
 */
#include <string.h>

#include "core/base/nearest.h"
#include "core/domain/hyperpod/hyperpod.h"
#include "core/domain/node/node_action.h"
#include "core/domain/node/node_out.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/cluster_in.h"
#include "core/json/tree.h"
#include "core/op/runner.h"

/* Details that one page looks up: reasons of errors first. */
enum { DETAILS_MAX = 10 };

struct list_events {
	const char *cluster;
	const char *after;
	const char *before;
	const char *resource;
	const char *group;
	const char *instance;
	const char *level;
	bool reasons;
	int64_t limit;
	const char *cursor;
};

static const char *const resources[] = {"Cluster", "InstanceGroup", "Instance", NULL};
static const char *const levels[] = {"Info", "Warn", "Error", NULL};

static const struct field list_events_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct list_events, cluster),
	FIELD(struct list_events, after, .min = 20, .max = 35,
	      .example = "\"2026-01-02T03:04:05Z\"",
	      .doc = "Only events after this time."),
	FIELD(struct list_events, before, .min = 20, .max = 35,
	      .doc = "Only events before this time."),
	FIELD(struct list_events, resource, .one_of = resources,
	      .doc = "Only events about this type of resource."),
	FIELD(struct list_events, group, .min = 1, .max = 63,
	      .doc = "Only events of this instance group."),
	FIELD(struct list_events, instance, .pattern = NODE_ID_PATTERN,
	      .doc = "Only events of this instance."),
	FIELD(struct list_events, level, .one_of = levels,
	      .doc = "Only events of this level. A page can then have fewer items."),
	FIELD(struct list_events, reasons, .dflt = "true",
	      .doc = "Also look up the reasons of the newest errors and warnings on the "
		     "page."),
	FIELD(struct list_events, limit, .min = 1, .max = 100, .dflt = "20",
	      .doc = "Maximum number of events checked per page."),
	FIELD(struct list_events, cursor, .min = 1, .max = 8192,
	      .doc = "next_cursor of the previous page."),
	FIELD_END};

#define TEXT(member, sentence) OUT(member, FIELD_STR, .doc = (sentence))

const struct field cluster_event_out[] = {
	OUT("id", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Event ID."),
	OUT("at", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "When."),
	OUT("level", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "Info, Warn or Error."),
	OUT("resource", FIELD_STR, .flags = FIELD_REQUIRED,
	    .doc = "Cluster, InstanceGroup or Instance."),
	TEXT("group", "Instance group."),
	TEXT("instance", "Instance ID."),
	OUT("text", FIELD_STR, .flags = FIELD_REQUIRED, .doc = "What happened."),
	TEXT("reason", "Reason, if SageMaker gives one and it was looked up."),
	OUT("detail", FIELD_OBJECT, .flags = FIELD_OPEN,
	    .doc = "Details from SageMaker, unchanged."),
	FIELD_END};

static const struct field list_events_out[] = {
	{.name = "items",
	 .type = FIELD_OBJECT,
	 .flags = FIELD_REQUIRED | FIELD_MANY,
	 .fields = cluster_event_out,
	 .doc = "Newest first."},
	OUT("next_cursor", FIELD_STR, .flags = FIELD_REQUIRED | FIELD_NULLABLE,
	    .doc = "Pass as cursor to get the next page. Null on the last page."),
	FIELD_END};

/* --- one event --------------------------------------------------------- */

json_t *cluster_event_item(const json_t *event, const json_t *detail)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s*, s:s, s:s*}", "id",
			 json_str_or(event, "EventId", "?"), "at",
			 json_str_or(event, "EventTime", ""), "level",
			 json_str_or(event, "EventLevel", "Info"), "resource",
			 json_str_or(event, "ResourceType", "Cluster"), "group",
			 json_str_at(event, "InstanceGroupName"), "instance",
			 json_str_at(event, "InstanceId"), "text",
			 json_str_or(event, "Description", ""), "reason",
			 cluster_event_reason(detail));
}

/* --- reads ------------------------------------------------------------- */

static bool refuse_classic(struct err *e, const char *name)
{
	char said[sizeof(e->cause[0].message)];

	str_copy(said, sizeof(said), e->n_causes ? e->cause[0].message : "");
	err_set(e, ERR_STATE_CONFLICT,
		"The HyperPod cluster %s has no events: it needs Continuous "
		"provisioning",
		name);
	err_because(e, "sagemaker:ListClusterEvents", "ValidationException", said, NULL);
	return err_fix(
		e,
		"Only clusters with NodeProvisioningMode Continuous have events. Check "
		"the messages of the nodes instead.");
}

static bool is_about_mode(const struct err *e)
{
	return e->n_causes && streq(e->cause[0].code, "ValidationException") &&
	       (strcasestr(e->cause[0].message, "Continuous") ||
		strcasestr(e->cause[0].message, "ProvisioningMode"));
}

/* One page: people want the newest. */
bool cluster_events_read(struct call *c, const json_t *in, json_t **ret_out,
			 struct err *e)
{
	if (aws_read_page(c->cloud->aws, AWS_SAGEMAKER_ListClusterEvents, in,
			  call_read_deadline(c), c->arena, ret_out, e))
		return true;
	return is_about_mode(e) ? refuse_classic(e, json_str_or(in, "ClusterName", ""))
				: call_page_failed(json_str_at(in, "NextToken"), e);
}

static json_t *read_detail(struct call *c, const char *hyperpod, const char *id)
{
	struct aws_result res = {0};

	aws_call(c->cloud->aws, AWS_SAGEMAKER_DescribeClusterEvent,
		 json_packf(c->arena, "{s:s, s:s}", "ClusterName", hyperpod, "EventId",
			    id),
		 c->arena, &res);
	return res.ok ? json_at(res.out, "EventDetails") : NULL;
}

static bool put_time(json_t *in, const char *member, const char *text,
		     const char *pointer, struct err *e)
{
	int64_t ms;

	if (!text)
		return true;
	if (time_parse_rfc3339(text, &ms)) {
		json_put_str(in, member, text);
		return true;
	}
	err_set(e, ERR_INVALID_INPUT, "%s is not a valid time", text);
	return err_field(e, pointer, text, "RFC 3339, such as 2026-01-02T03:04:05Z");
}

static bool build(struct call *c, const struct list_events *q, const char *hyperpod,
		  json_t **ret, struct err *e)
{
	json_t *in = json_packf(c->arena, "{s:s, s:I}", "ClusterName", hyperpod,
				"MaxResults", (json_int_t)q->limit);

	*ret = in;
	json_put_str(in, "InstanceGroupName", q->group);
	json_put_str(in, "NodeId", q->instance);
	json_put_str(in, "ResourceType", q->resource);
	json_put_str(in, "NextToken", q->cursor);
	return put_time(in, "EventTimeAfter", q->after, "/after", e) &&
	       put_time(in, "EventTimeBefore", q->before, "/before", e) &&
	       call_window(q->after, q->before, "/before", e);
}

/* Pages overlap while events come in: an id is shown once. */
static json_t *items_of(struct call *c, const struct list_events *q, const char *hyperpod,
			const json_t *events)
{
	const int64_t until_ms = call_read_deadline(c) - c->cfg->call_timeout_ms;
	json_t *items = json_new_list(c->arena), *event;
	int looked_up = 0;
	size_t i;

	json_array_foreach(events, i, event) {
		const char *id = json_str_or(event, "EventId", "?");
		const char *level = json_str_or(event, "EventLevel", "Info");
		const json_t *detail = NULL;

		if ((q->level && !streq(q->level, level)) || json_find(items, "id", id))
			continue;
		if (q->reasons && !streq(level, "Info") && looked_up < DETAILS_MAX &&
		    (looked_up == 0 || c->clock->mono_ms(c->clock) < until_ms)) {
			detail = read_detail(c, hyperpod, id);
			looked_up++;
		}
		json_push(items, cluster_event_item(event, detail));
	}
	return items;
}

/* For a page that is empty: false when the cluster has no such group. True when that is
 * not known. */
static bool group_can_be(struct call *c, const char *hyperpod, const char *group,
			 struct err *e)
{
	struct nearest n = {.wanted = group};
	struct err ignored = {0};
	json_t *cluster, *v;
	size_t i;

	if (!group || !aws_read(c->cloud->aws, AWS_SAGEMAKER_DescribeCluster,
				json_packf(c->arena, "{s:s}", "ClusterName", hyperpod),
				call_read_deadline(c), c->arena, &cluster, &ignored))
		return true;
	json_array_foreach(json_at(cluster, "InstanceGroups"), i, v) {
		const char *name = json_str_or(v, "InstanceGroupName", "");

		if (streq(name, group))
			return true;
		nearest_offer(&n, name);
	}
	err_set(e, ERR_INVALID_INPUT,
		"There is no instance group %s, and no event of one", group);
	return err_field(e, "/group", group,
			 nearest_hint(&n, c->arena, "a name from list_instance_groups"));
}

static bool run_list_events(struct call *c, const void *in, struct reply *ret,
			    struct err *e)
{
	const struct list_events *q = in;
	struct cluster k;
	const char *hyperpod;
	json_t *ask, *out;

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	hyperpod = k.hyperpod_name ? k.hyperpod_name : k.name;
	if (!build(c, q, hyperpod, &ask, e) || !cluster_events_read(c, ask, &out, e))
		return false;
	if (!q->cursor && json_len_at(out, "Events") == 0 &&
	    !group_can_be(c, hyperpod, q->group, e))
		return false;
	reply_tree(c, ret,
		   json_packf(c->arena, "{s:O, s:s?}", "items",
			      items_of(c, q, hyperpod, json_at(out, "Events")),
			      "next_cursor", json_str_at(out, "NextToken")));
	return true;
}

extern const struct capability cap_list_cluster_events;
const struct capability cap_list_cluster_events = {
	.name = "list_cluster_events",
	.method = "GET",
	.path = "/clusters/{cluster}/events",
	.title = "List cluster events",
	.doc = "Lists what SageMaker did to the cluster, its groups and instances, "
	       "newest first, with the reasons of failures. Requires Continuous "
	       "provisioning.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD | CAP_LIST,
	.in = list_events_in,
	.in_size = sizeof(struct list_events),
	.out = list_events_out,
	.run = run_list_events,
};

/* --- one, with all its detail ------------------------------------------ */

struct get_event {
	const char *cluster;
	const char *event;
};

static const struct field get_event_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct get_event, cluster),
	FIELD(struct get_event, event, .flags = FIELD_REQUIRED | FIELD_PATH,
	      .pattern = "[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}",
	      .doc = "Event ID."),
	FIELD_END};

static bool run_get_event(struct call *c, const void *in, struct reply *ret,
			  struct err *e)
{
	const struct get_event *q = in;
	struct cluster k;
	json_t *out, *item;
	const char *hyperpod;
	const json_t *detail;

	if (!cluster_mean(c, q->cluster, &k, e))
		return false;
	hyperpod = k.hyperpod_name ? k.hyperpod_name : k.name;
	if (!aws_read(c->cloud->aws, AWS_SAGEMAKER_DescribeClusterEvent,
		      json_packf(c->arena, "{s:s, s:s}", "ClusterName", hyperpod,
				 "EventId", q->event),
		      call_read_deadline(c), c->arena, &out, e)) {
		if (e->code == ERR_CLOUD_NOT_FOUND)
			return err_field(e, "/event", q->event,
					 "an ID from list_cluster_events, one of the "
					 "newest 500");
		return is_about_mode(e) ? refuse_classic(e, hyperpod) : false;
	}
	detail = json_at(out, "EventDetails");
	item = json_own(c->arena, cluster_event_item(detail, detail));
	if (json_at(detail, "EventDetails.EventMetadata"))
		json_object_set(item, "detail",
				json_at(detail, "EventDetails.EventMetadata"));
	reply_tree(c, ret, item);
	return true;
}

extern const struct capability cap_get_cluster_event;
const struct capability cap_get_cluster_event = {
	.name = "get_cluster_event",
	.method = "GET",
	.path = "/clusters/{cluster}/events/{event}",
	.title = "Get a cluster event",
	.doc = "Returns one event with its reason and all details from SageMaker.",
	.effect = CAP_READ,
	.role = ROLE_VIEWER,
	.flags = CAP_CLOUD,
	.in = get_event_in,
	.in_size = sizeof(struct get_event),
	.out = cluster_event_out,
	.run = run_get_event,
};
