/* Cluster events, of Continuous clusters. */
#include <string.h>

#include "tests/cloud/sagemaker/sagemaker.h"

enum { EVENTS_KEPT = 500 };

static json_t *metadata(const struct sm_event *e)
{
	json_t *m = json_object();
	json_t *out;
	const char *kind = streq(e->type, "Cluster")         ? "Cluster"
			   : streq(e->type, "InstanceGroup") ? "InstanceGroup"
							     : "Instance";

	json_put_str(m, "FailureMessage", e->failure);
	if (streq(kind, "Instance")) {
		json_put_str(m, "LcsExecutionState", e->lcs_state);
		json_put_str(m, "NodeLogicalId", e->logical_id);
	}
	out = json_pack("{s:{s:o}}", "EventMetadata", kind, m);
	return out;
}

void sm_event(struct sm_work *w, const struct sm_event *e)
{
	json_t *list = json_object_get(w->cluster, "_events");
	const char *hex = cloud_id(w->cloud, w->arena, "", 32);
	json_t *ev =
		json_pack("{s:s,s:O,s:s,s:s,s:o,s:s,s:s,s:o}", "EventId",
			  arena_printf(w->arena, "%.8s-%.4s-%.4s-%.4s-%.12s", hex,
				       hex + 8, hex + 12, hex + 16, hex + 20),
			  "ClusterArn", json_object_get(w->cluster, "ClusterArn"),
			  "ClusterName", w->name, "ResourceType", e->type, "EventTime",
			  cloud_seconds(w->now_ms), "Description", e->text, "EventLevel",
			  e->level, "EventDetails", metadata(e));

	json_put_str(ev, "InstanceGroupName", e->group);
	json_put_str(ev, "InstanceId", e->instance);
	json_push(list, ev);
	if (json_array_size(list) > EVENTS_KEPT)
		json_array_remove(list, 0);
}

static bool wanted(struct cloud_call *c, const json_t *ev)
{
	const char *group = json_str_at(c->in, "InstanceGroupName");
	const char *node = json_str_at(c->in, "NodeId");
	const char *type = json_str_at(c->in, "ResourceType");
	double after = json_num_or(c->in, "EventTimeAfter", 0);
	double until = json_num_or(c->in, "EventTimeBefore", 1e18);
	double at = json_num_or(ev, "EventTime", 0);

	return (!group || streq(group, json_str_at(ev, "InstanceGroupName"))) &&
	       (!node || streq(node, json_str_at(ev, "InstanceId"))) &&
	       (!type || streq(type, json_str_at(ev, "ResourceType"))) && at >= after &&
	       at <= until;
}

static bool check_mode(struct cloud_call *c, const json_t *cluster)
{
	if (sm_is_continuous(cluster))
		return true;
	return cloud_fault(c, "ValidationException",
			   "Cluster events are only available for clusters with "
			   "NodeProvisioningMode Continuous.");
}

bool sm_list_events(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster = sm_need_cluster(c), *list = json_new_list(c->arena), *ev;
	size_t i;

	if (!cluster || !check_mode(c, cluster))
		return false;
	json_array_foreach(json_object_get(cluster, "_events"), i, ev) {
		json_t *summary = json_own(c->arena, json_copy(ev));

		json_object_del(summary, "EventDetails");
		if (wanted(c, ev))
			json_array_append(list, summary);
	}
	return sm_page(c, "Events", sm_sorted(c, list, "EventTime", NULL), ret_out);
}

bool sm_describe_event(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster = sm_need_cluster(c), *ev;
	const char *id = json_str_or(c->in, "EventId", "");

	if (!cluster || !check_mode(c, cluster))
		return false;
	ev = json_find(json_object_get(cluster, "_events"), "EventId", id);
	if (!ev)
		return cloud_fault(c, "ResourceNotFound", "Event %s not found.", id);
	*ret_out = json_packf(c->arena, "{s:O}", "EventDetails", ev);
	return true;
}
