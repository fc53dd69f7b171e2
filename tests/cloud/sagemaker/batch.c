/* Batch operations on nodes: 200 with an answer for each. */
#include <string.h>

#include "tests/cloud/sagemaker/sagemaker.h"

static bool must_be_ready(struct cloud_call *c, const json_t *cluster)
{
	const char *status = json_str_or(cluster, "ClusterStatus", "");

	if (streq(status, "InService") || streq(status, "Updating"))
		return true;
	return cloud_fault(c, "ConflictException", "Cluster is in %s status.", status);
}

static json_t *added(const char *id, const json_t *node)
{
	return json_pack("{s:s,s:O,s:O}", "NodeLogicalId", id, "InstanceGroupName",
			 json_object_get(node, "InstanceGroupName"), "Status",
			 json_at(node, "InstanceStatus.Status"));
}

/* What the same token made, as it is now. */
static json_t *added_again(struct cloud_call *c, const char *ids)
{
	json_t *list = json_new_list(c->arena);
	struct str rest = str_of(ids);

	while (rest.p) {
		const char *id = str_dup(c->arena, str_cut(&rest, ' '));
		json_t *node = cloud_get(c->cloud, SM_NODES, id);

		if (node)
			json_push(list, added(id, node));
	}
	return list;
}

static bool may_add(struct cloud_call *c, const json_t *cluster, json_t *failed)
{
	size_t i;
	json_t *s;

	json_array_foreach(json_object_get(c->in, "NodesToAdd"), i, s) {
		const char *name = json_str_or(s, "InstanceGroupName", "");
		const json_t *group = sm_group(cluster, name);
		int64_t n = json_int_or(s, "IncrementTargetCountBy", 0);
		const char *code = !group ? "InstanceGroupNotFound"
				   : !streq(json_str_at(group, "Status"), "InService")
					   ? "InvalidInstanceGroupStatus"
					   : NULL;

		if (code)
			json_push(failed,
				  json_pack("{s:s,s:s,s:I,s:s}", "InstanceGroupName",
					    name, "ErrorCode", code, "FailedCount",
					    (json_int_t)n, "Message", code));
		else if (!sm_check_quota(c, sm_group_type(group),
					 json_at(group, "CapacityRequirements.Spot"), n))
			return false;
	}
	return true;
}

bool sm_batch_add(struct cloud_call *c, json_t **ret_out)
{
	json_t *cluster = sm_need_cluster(c), *ok = json_new_list(c->arena), *s;
	json_t *failed = json_new_list(c->arena);
	const char *token = json_str_at(c->in, "ClientToken"), *seen, *ids = "";
	enum replay r = replay_find(c, token, &seen);
	struct sm_work w = sm_work_of(c, cluster);
	size_t i;

	if (!cluster)
		return false;
	if (r == REPLAY_OTHER)
		return cloud_fault(c, "ValidationException",
				   "The client token was used with other parameters.");
	if (r == REPLAY_SAME) {
		*ret_out = json_packf(c->arena, "{s:O,s:[]}", "Successful",
				      added_again(c, seen), "Failed");
		return true;
	}
	if (!sm_is_continuous(cluster))
		return cloud_fault(
			c, "ValidationException",
			"BatchAddClusterNodes needs NodeProvisioningMode Continuous.");
	if (!must_be_ready(c, cluster) || !may_add(c, cluster, failed))
		return false;
	json_array_foreach(json_object_get(c->in, "NodesToAdd"), i, s) {
		const char *name = json_str_or(s, "InstanceGroupName", "");
		json_t *group = sm_group(cluster, name);
		int64_t n = json_int_or(s, "IncrementTargetCountBy", 0);

		if (json_find(failed, "InstanceGroupName", name))
			continue;
		json_put_int(group, "TargetCount",
			     json_int_or(group, "TargetCount", 0) + n);
		for (int64_t k = 0; k < n; k++) {
			json_t *node = sm_node_add(&w, group);
			const char *id = json_str_or(node, "NodeLogicalId", "");

			ids = arena_printf(c->arena, "%s%s%s", ids, ids[0] ? " " : "",
					   id);
			json_push(ok, added(id, node));
		}
		sm_group_count(&w, group);
	}
	replay_keep(c, token, ids);
	*ret_out = json_packf(c->arena, "{s:O,s:O}", "Successful", ok, "Failed", failed);
	return true;
}

/* --- delete, reboot, replace ---------------------------------------------- */

struct batch {
	const char *code_member, *missing, *busy, *wrong, *what;
	void (*act)(struct sm_work *w, json_t *node);
};

static void remove_and_lower(struct sm_work *w, json_t *node)
{
	json_t *group = sm_group(w->cluster, json_str_or(node, "InstanceGroupName", ""));
	int64_t target = json_int_or(group, "TargetCount", 0);

	if (target > 0)
		json_put_int(group, "TargetCount", target - 1);
	sm_node_remove(w, node);
	sm_group_count(w, group);
}

/* settings.node_errors: {id: {"code": "…", "times": n}}, one time less after each. */
static const char *set_error(struct sm_work *w, const char *id)
{
	const json_t *all = json_object_get(cloud_settings(w->cloud), "node_errors");
	const json_t *row = json_object_get(all, id);
	const int64_t times = json_int_or(row, "times", 1);
	const char *code = json_str_at(row, "code");

	if (!code || times < 1)
		return NULL;
	code = arena_strdup(w->arena, code);
	cloud_configure(w->cloud, json_packf(w->arena, "{s:{s:{s:I}}}", "node_errors", id,
					     "times", (json_int_t)times - 1));
	return code;
}

static const char *refusal(struct sm_work *w, const struct batch *b, const char *id,
			   const json_t *node)
{
	const char *code = set_error(w, id);

	if (!node || code)
		return node ? code : b->missing;
	if (sm_node_phase(node, "leaving") || sm_node_phase(node, "replacing"))
		return b->busy;
	if (b->act != remove_and_lower && !sm_node_phase(node, "running") &&
	    !sm_node_phase(node, "joining") && !sm_node_phase(node, "failed"))
		return sm_node_phase(node, "rebooting") ? b->busy : b->wrong;
	return NULL;
}

static void one(struct sm_work *w, const struct batch *b, const char *id, json_t *node,
		const char *id_member, json_t *ok, json_t *failed)
{
	const char *why = refusal(w, b, id, node);

	if (why) {
		json_push(failed,
			  json_pack("{s:s,s:s,s:s}", id_member, id, b->code_member, why,
				    "Message",
				    arena_printf(w->arena, "Node %s: %s", id, why)));
		return;
	}
	sm_event(w, &(struct sm_event){.level = "Info",
				       .type = "Instance",
				       .group = json_str_at(node, "InstanceGroupName"),
				       .instance = json_str_at(node, "InstanceId"),
				       .logical_id = json_str_at(node, "NodeLogicalId"),
				       .text = arena_printf(
					       w->arena, "Instance %s: %s was requested.",
					       json_str_or(node, "InstanceId", id),
					       b->what)});
	b->act(w, node);
	json_push(ok, json_string(id));
}

/* The models have no empty lists here: what did not happen is not told. */
static void put_some(json_t *out, const char *member, json_t *list)
{
	if (json_array_size(list) > 0)
		json_object_set(out, member, list);
}

static bool run_batch(struct cloud_call *c, const struct batch *b, json_t **ret_out)
{
	json_t *cluster = sm_need_cluster(c), *v;
	json_t *ok = json_new_list(c->arena), *failed = json_new_list(c->arena);
	json_t *ok_logical = json_new_list(c->arena),
	       *bad_logical = json_new_list(c->arena);
	struct sm_work w = sm_work_of(c, cluster);
	size_t i;

	if (!cluster || !must_be_ready(c, cluster))
		return false;
	if (!json_object_get(c->in, "NodeIds") &&
	    !json_object_get(c->in, "NodeLogicalIds"))
		return cloud_fault(
			c, "ValidationException",
			"At least one of NodeIds and NodeLogicalIds is required.");
	json_array_foreach(json_object_get(c->in, "NodeIds"), i, v) {
		const char *id = json_string_value(v);

		one(&w, b, id, sm_node_find(c->cloud, w.name, id), "NodeId", ok, failed);
	}
	json_array_foreach(json_object_get(c->in, "NodeLogicalIds"), i, v) {
		const char *id = json_string_value(v);
		json_t *node = cloud_get(c->cloud, SM_NODES, id);

		if (!streq(json_str_at(node, "_cluster"), w.name))
			node = NULL;
		one(&w, b, id, node, "NodeLogicalId", ok_logical, bad_logical);
	}
	*ret_out = json_new_object(c->arena);
	put_some(*ret_out, "Successful", ok);
	put_some(*ret_out, "Failed", failed);
	put_some(*ret_out, "SuccessfulNodeLogicalIds", ok_logical);
	put_some(*ret_out, "FailedNodeLogicalIds", bad_logical);
	return true;
}

bool sm_batch_delete(struct cloud_call *c, json_t **ret_out)
{
	static const struct batch b = {.code_member = "Code",
				       .missing = "NodeIdNotFound",
				       .busy = "NodeIdInUse",
				       .wrong = "InvalidNodeStatus",
				       .what = "deletion",
				       .act = remove_and_lower};

	return run_batch(c, &b, ret_out);
}

bool sm_batch_reboot(struct cloud_call *c, json_t **ret_out)
{
	static const struct batch b = {.code_member = "ErrorCode",
				       .missing = "InstanceIdNotFound",
				       .busy = "InstanceIdInUse",
				       .wrong = "InvalidInstanceStatus",
				       .what = "a reboot",
				       .act = sm_node_reboot};

	return run_batch(c, &b, ret_out);
}

bool sm_batch_replace(struct cloud_call *c, json_t **ret_out)
{
	static const struct batch b = {.code_member = "ErrorCode",
				       .missing = "InstanceIdNotFound",
				       .busy = "InstanceIdInUse",
				       .wrong = "InvalidInstanceStatus",
				       .what = "a replacement",
				       .act = sm_node_replace};

	return run_batch(c, &b, ret_out);
}
