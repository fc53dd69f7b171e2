/* Scaling, changing and deleting instance groups; the cluster's software. */
#include "core/domain/group/group.h"
#include "core/domain/offer/cluster_check.h"
#include "core/domain/operation_out.h"
#include "core/domain/site/cluster.h"
#include "core/domain/site/group_in.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

/* The operation's input: the path's {group} is the steps' group_name. */
static json_t *group_input(struct call *c, const struct cluster *k, const void *in,
			   const char *group)
{
	json_t *input = cluster_input(c, k, in);

	json_object_del(input, "group");
	json_put_str(input, "group_name", group);
	return input;
}

/* --- scale_instance_group ------------------------------------------------------------
 */

struct scale_group {
	const char *cluster;
	const char *group;
	int64_t count;
};

static const struct field scale_group_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct scale_group, cluster),
	FIELD_GROUP_PATH(struct scale_group, group),
	FIELD(struct scale_group, count, .flags = FIELD_REQUIRED, .min = 0,
	      .max = GROUP_COUNT_MAX, .unit = "nodes", .example = "4",
	      .doc = "New number of nodes."),
	FIELD_END};

static bool run_scale_group(struct call *c, const void *in, struct reply *ret,
			    struct err *e)
{
	const struct scale_group *q = in;
	struct cluster k;

	return cluster_mean(c, q->cluster, &k, e) &&
	       call_submit(c, &kind_scale_instance_group, k.name,
			   group_input(c, &k, in, q->group), ret, e);
}

extern const struct capability cap_scale_instance_group;
const struct capability cap_scale_instance_group = {
	.name = "scale_instance_group",
	.method = "POST",
	.path = "/clusters/{cluster}/groups/{group}:scale",
	.title = "Scale an instance group",
	.doc = "Sets the number of nodes. Scaling in removes unhealthy nodes first, then "
	       "those with the fewest pods. The plan lists the pods that end.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_IDEMPOTENT | CAP_STAKES,
	.in = scale_group_in,
	.in_size = sizeof(struct scale_group),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "group",
	.run = run_scale_group,
};

/* --- update_instance_group ------------------------------------------------------------
 */

struct update_group {
	const char *cluster;
	const char *group;
	MEMBERS_GROUP_SOFT
	struct str_list clear;
	int64_t count;
	/* What cannot change: taken, so that the refusal can say what to do. */
	const char *instance_type;
	struct str_list instance_types;
	const char *capacity_type;
	const char *training_plan_arn;
	const char *interface_mode;
	const char *zone;
	const char *subnet_id;
	const char *security_group_id;
};

static const char *const clearable[] = {
	"min_count", "labels", "taints", "deep_health_checks", "image_release_version",
	NULL};

#define FIXED(m) FIELD(struct update_group, m, .max = 256, .doc = "Cannot be changed.")

static const struct field update_group_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct update_group, cluster),
	FIELD_GROUP_PATH(struct update_group, group),
	FIELDS_GROUP_SOFT(struct update_group),
	FIELD(struct update_group, clear, .max = 5, .one_of = clearable,
	      .doc = "Members to reset to their defaults."),
	FIELD(struct update_group, count, .min = 0, .max = GROUP_COUNT_MAX,
	      .doc = "If sent alone, the same as scale_instance_group."),
	FIXED(instance_type),
	FIXED(instance_types),
	FIXED(capacity_type),
	FIXED(training_plan_arn),
	FIXED(interface_mode),
	FIXED(zone),
	FIXED(subnet_id),
	FIXED(security_group_id),
	FIELD_END};

/* Case IG-06: never delete and create by ourselves. */
static bool refuse_fixed(struct call *c, struct err *e)
{
	static const char *const fixed[] = {
		"instance_type",  "instance_types", "capacity_type", "training_plan_arn",
		"interface_mode", "zone",           "subnet_id",     "security_group_id",
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		json_t *v = json_object_get(c->raw, fixed[i]);

		if (!v)
			continue;
		err_set(e, ERR_STATE_CONFLICT,
			"%s of an instance group cannot be changed", fixed[i]);
		err_field(e, arena_printf(c->arena, "/%s", fixed[i]),
			  json_is_string(v) ? json_string_value(v)
					    : json_text(c->arena, v),
			  "the value of the group");
		return err_fix(e, "Create a new group with add_instance_group, drain the "
				  "old one, then delete it with delete_instance_group.");
	}
	return true;
}

static bool is_empty_change(const json_t *raw)
{
	static const char *const names[] = {"min_count",
					    "labels",
					    "taints",
					    "deep_health_checks",
					    "threads_per_core",
					    "execution_role_arn",
					    "lifecycle_s3_uri",
					    "clear",
					    "lifecycle_on_create",
					    "image_release_version"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_object_get(raw, names[i]))
			return false;
	return true;
}

/* 0, [] and {}: no value of theirs, but what `clear` says. */
static bool is_nothing(const json_t *v)
{
	return json_is_integer(v)
		       ? json_integer_value(v) == 0
		       : (json_is_array(v) && json_array_size(v) == 0) ||
				 (json_is_object(v) && json_object_size(v) == 0);
}

static bool refuse_both(const struct call *c, const struct update_group *q, struct err *e)
{
	for (size_t i = 0; i < q->clear.n; i++) {
		const json_t *v = json_object_get(c->raw, q->clear.v[i]);

		if (!v || is_nothing(v))
			continue;
		err_set(e, ERR_INVALID_INPUT, "%s is both set and cleared",
			q->clear.v[i]);
		return err_field(e, "/clear", q->clear.v[i],
				 "a member that is not also set");
	}
	return true;
}

/* What is given as nothing is cleared. */
static void clear_nothings(const struct call *c, json_t *input)
{
	json_t *clear = json_at(input, "clear");

	if (!clear) {
		json_object_set_new(input, "clear", json_array());
		clear = json_at(input, "clear");
	}
	for (size_t i = 0; clearable[i]; i++) {
		const json_t *v = json_object_get(c->raw, clearable[i]);

		if (v && is_nothing(v) && !texts_have(clear, clearable[i]))
			json_push(clear, json_string(clearable[i]));
	}
}

static bool run_update_group(struct call *c, const void *in, struct reply *ret,
			     struct err *e)
{
	const struct update_group *q = in;
	const bool empty = is_empty_change(c->raw);
	struct cluster k;
	json_t *input;

	if (!refuse_fixed(c, e) || !refuse_both(c, q, e) ||
	    !cluster_mean(c, q->cluster, &k, e))
		return false;
	input = group_input(c, &k, in, q->group);
	if (json_object_get(c->raw, "count") && empty) {
		json_t *scale =
			json_packf(c->arena, "{s:I, s:s, s:s*, s:s*}", "count",
				   (json_int_t)q->count, "group_name", q->group,
				   "eks_name", json_str_at(input, "eks_name"),
				   "hyperpod_name", json_str_at(input, "hyperpod_name"));

		return call_submit(c, &kind_scale_instance_group, k.name, scale, ret, e);
	}
	if (json_object_get(c->raw, "count")) {
		err_set(e, ERR_INVALID_INPUT,
			"The count cannot be changed together with other members");
		return err_field(e, "/count", "with other members", "only count");
	}
	if (empty) {
		err_set(e, ERR_INVALID_INPUT, "The request changes nothing");
		return err_field(e, "/", "", "at least one member, or clear");
	}
	json_object_del(input, "count");
	clear_nothings(c, input);
	return cluster_check(input, c->cfg, c->arena, e) &&
	       call_submit(c, &kind_update_instance_group, k.name, input, ret, e);
}

extern const struct capability cap_update_instance_group;
const struct capability cap_update_instance_group = {
	.name = "update_instance_group",
	.method = "PATCH",
	.path = "/clusters/{cluster}/groups/{group}",
	.title = "Change an instance group",
	.doc = "Changes a group in place. Members that you do not send stay as they are. "
	       "Labels and taints apply to existing nodes, other changes only to new "
	       "nodes.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_IDEMPOTENT | CAP_STAKES,
	.in = update_group_in,
	.in_size = sizeof(struct update_group),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "group",
	.run = run_update_group,
};

/* --- delete_instance_group ------------------------------------------------------------
 */

struct delete_group {
	const char *cluster;
	const char *group;
};

static const struct field delete_group_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct delete_group, cluster),
	FIELD_GROUP_PATH(struct delete_group, group), FIELD_END};

static bool run_delete_group(struct call *c, const void *in, struct reply *ret,
			     struct err *e)
{
	const struct delete_group *q = in;
	struct cluster k;

	return cluster_mean(c, q->cluster, &k, e) &&
	       call_submit(c, &kind_delete_instance_group, k.name,
			   group_input(c, &k, in, q->group), ret, e);
}

extern const struct capability cap_delete_instance_group;
const struct capability cap_delete_instance_group = {
	.name = "delete_instance_group",
	.method = "DELETE",
	.path = "/clusters/{cluster}/groups/{group}",
	.title = "Delete an instance group",
	.doc = "Deletes the group, its nodes and their disks. The plan lists pods and "
	       "node classes that use the group. If there are any, its confirm value is "
	       "required.",
	.effect = CAP_DESTROY,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_STAKES,
	.in = delete_group_in,
	.in_size = sizeof(struct delete_group),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "group",
	.run = run_delete_group,
};

/* --- update_cluster_software -----------------------------------------------------------
 */

struct update_software {
	const char *cluster;
	struct str_list groups;
	const char *image_release_version;
	const char *image_id;
	int64_t batch_percent;
	int64_t batch_count;
	int64_t wait_between_s;
	struct str_list rollback_alarms;
};

static const struct field update_software_in[] = {
	FIELD_CLUSTER_OR_SELECTED(struct update_software, cluster),
	FIELD(struct update_software, groups, .max = 100, .pattern = GROUP_NAME_PATTERN,
	      .doc = "Instance groups to update. Default: all."),
	FIELD(struct update_software, image_release_version,
	      .pattern = "[0-9]+\\.[0-9]+\\.[0-9]+", .max = 64,
	      .doc = "Release of the system image. Default: the newest."),
	FIELD(struct update_software, image_id,
	      .pattern = "ami-[0-9a-fA-F]{8,17}|default",
	      .doc = "Your own image, or default."),
	FIELD(struct update_software, batch_percent, .min = 0, .max = 100, .unit = "%",
	      .doc = "Percentage of a group's nodes to update at once. Default: all."),
	FIELD(struct update_software, batch_count, .min = 0, .max = GROUP_COUNT_MAX,
	      .unit = "nodes", .doc = "Number of a group's nodes to update at once."),
	FIELD(struct update_software, wait_between_s, .min = 0, .max = 3600,
	      .unit = "seconds", .doc = "Pause after each batch."),
	FIELD(struct update_software, rollback_alarms, .max = 10,
	      .doc = "CloudWatch alarms that trigger a rollback."),
	FIELD_END};

static bool run_update_software(struct call *c, const void *in, struct reply *ret,
				struct err *e)
{
	const struct update_software *q = in;

	if (q->batch_percent && q->batch_count) {
		err_set(e, ERR_INVALID_INPUT, "Set only one batch size");
		return err_field(e, "/batch_count", "with batch_percent", "one of them");
	}
	return cluster_submit(c, &kind_update_cluster_software, q->cluster, in, ret, e);
}

extern const struct capability cap_update_cluster_software;
const struct capability cap_update_cluster_software = {
	.name = "update_cluster_software",
	.method = "POST",
	.path = "/clusters/{cluster}/hyperpod:update-software",
	.title = "Update the cluster's software",
	.doc = "Replaces the system image of the nodes, batch by batch. Root volumes are "
	       "rewritten and lifecycle scripts run again. Succeeds when every group is "
	       "updated.",
	.effect = CAP_CHANGE,
	.role = ROLE_OPERATOR,
	.flags = CAP_LONG | CAP_STAKES,
	.in = update_software_in,
	.in_size = sizeof(struct update_software),
	.out = operation_out,
	.done_by = "get_operation",
	.target = "cluster",
	.run = run_update_software,
};
