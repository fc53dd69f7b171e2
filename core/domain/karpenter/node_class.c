#include "core/domain/karpenter/node_class.h"

#include "core/domain/karpenter/karpenter.h"
#include "core/domain/karpenter/node_object.h"
#include "core/domain/karpenter/users.h"
#include "core/domain/step/texts.h"
#include "core/json/tree.h"

static const json_t *group_of(const json_t *cluster, const char *name)
{
	return json_find(json_at(cluster, "InstanceGroups"), "InstanceGroupName", name);
}

static const json_t *subnets_of(const json_t *cluster, const json_t *group)
{
	const json_t *own = json_at(group, "OverrideVpcConfig.Subnets");

	return own ? own : json_at(cluster, "VpcConfig.Subnets");
}

json_t *node_class_subnets(const json_t *cluster, const json_t *groups, struct arena *a)
{
	json_t *list = json_new_list(a), *seen = json_new_object(a), *name, *id;
	size_t i, k;

	json_array_foreach(groups, i, name) {
		const json_t *group = group_of(cluster, json_string_value(name));

		json_array_foreach(group ? subnets_of(cluster, group) : NULL, k, id)
			if (!json_object_get(seen, json_string_value(id))) {
				json_object_set(seen, json_string_value(id), id);
				json_array_append(list, id);
			}
	}
	return list;
}

json_t *node_class_pods(const struct node_class_wish *w, const char *group,
			struct arena *a)
{
	return users_on_nodes(a, w->pods,
			      users_labelled(a, w->nodes, NODE_GROUP_LABEL, group));
}

/* --- one group ------------------------------------------------------------------- */

struct look {
	const struct node_class_wish *w;
	struct findings *f;
	const char *field, *name;
	const json_t *group;
};

static void find(const struct look *l, const char *why, const char *seen,
		 const char *expected)
{
	finding_add(l->f, l->field, arena_printf(l->f->arena, "%s %s", l->name, why),
		    seen, expected);
}

static void check_count(const struct look *l)
{
	const long long n = json_int_or(l->group, "CurrentCount", 0);
	const long long target = json_int_or(l->group, "TargetCount", 0);
	size_t pods;

	if ((n == 0 && target == 0) || l->w->scale_to_zero)
		return;
	pods = json_array_size(node_class_pods(l->w, l->name, l->f->arena));
	find(l,
	     arena_printf(l->f->arena,
			  "has %lld nodes that run %zu pods, and would be scaled to zero",
			  n ? n : target, pods),
	     arena_printf(l->f->arena, "%lld nodes", n ? n : target),
	     "a group with zero nodes, or scale_to_zero");
}

static void check_zones(const struct look *l)
{
	struct listing zones = listing_new(l->f->arena, ", ", LISTING_SHORT);
	json_t *seen = json_new_list(l->f->arena);
	const char *text;
	size_t i;
	json_t *id;

	json_array_foreach(subnets_of(l->w->cluster, l->group), i, id) {
		const char *zone = json_str_at(
			json_find(l->w->subnets, "SubnetId", json_string_value(id)),
			"AvailabilityZone");

		if (!zone || texts_have(seen, zone))
			continue;
		listing_add(&zones, "%s", zone);
		json_push(seen, json_string(zone));
	}
	if (zones.n < 2)
		return;
	text = listing_text(&zones);
	find(l, arena_printf(l->f->arena, "has subnets in several zones: %s", text), text,
	     "subnets of one zone");
}

static void check_group(const struct look *l)
{
	const char *status = json_str_or(l->group, "Status", "InService");

	if (streq(status, "Deleting") || streq(status, "Failed"))
		find(l, arena_printf(l->f->arena, "is %s", status), status,
		     "a group in service");
	check_count(l);
	if (json_str_at(l->group, "TrainingPlanArn"))
		find(l, "takes its capacity from a training plan", "training plan",
		     "an on-demand group");
	if (json_len_at(l->group, "OnStartDeepHealthChecks"))
		find(l, "has deep health checks on start", "deep health checks",
		     "a group without deep health checks");
	if (json_at(l->group, "CapacityRequirements.Spot") && !l->w->allow_spot)
		find(l,
		     "is a spot group, which the AWS documentation of autoscaling "
		     "excludes",
		     "spot", "an on-demand group, or allow_spot");
	check_zones(l);
}

static const char *group_names(const json_t *cluster, struct arena *a)
{
	return texts_named(a, json_at(cluster, "InstanceGroups"), "InstanceGroupName",
			   LISTING_SHORT);
}

static void check_cluster(const struct node_class_wish *w, struct findings *f)
{
	const char *mode = json_str_or(w->cluster, "NodeProvisioningMode", "not set");
	const enum karpenter_state state = karpenter_state(w->cluster, NULL).state;

	if (!streq(mode, "Continuous"))
		finding_add(f, "/cluster",
			    arena_printf(f->arena, "NodeProvisioningMode is %s", mode),
			    mode, "a cluster created with Continuous");
	else if (state != KARPENTER_ON)
		finding_add(f, "/cluster",
			    arena_printf(
				    f->arena, "autoscaling is not in service (%s)",
				    json_str_or(w->cluster, "AutoScaling.Status", "off")),
			    json_str_or(w->cluster, "AutoScaling.Status", "off"),
			    "update_features with autoscaling enabled");
}

void node_class_check(const struct node_class_wish *w, struct findings *f)
{
	size_t i;
	json_t *v;

	check_cluster(w, f);
	json_array_foreach(w->groups, i, v) {
		struct look l = {
			.w = w,
			.f = f,
			.field = arena_printf(f->arena, "/instance_groups/%zu", i),
			.name = json_string_value(v),
			.group = group_of(w->cluster, json_string_value(v))};

		if (l.group)
			check_group(&l);
		else
			find(&l, "is not an instance group of the cluster", l.name,
			     group_names(w->cluster, f->arena));
	}
}

static bool lists(const json_t *class, const char *group)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_at(class, "spec.instanceGroups"), i, v)
		if (streq(json_string_value(v), group))
			return true;
	return false;
}

const char *node_class_shared(const struct node_class_wish *w, struct arena *a)
{
	size_t i, k;
	json_t *class, *v;

	json_array_foreach(w->classes, i, class)
		json_array_foreach(w->groups, k, v)
			if (!streq(json_str_at(class, "metadata.name"), w->name) &&
			    lists(class, json_string_value(v)))
				return arena_printf(
					a,
					"the node class %s also lists the instance group "
					"%s: both count its nodes",
					json_str_or(class, "metadata.name", "?"),
					json_string_value(v));
	return NULL;
}

/* --- the object ------------------------------------------------------------------ */

json_t *node_class_object(struct arena *a, const char *name, const json_t *groups)
{
	return json_packf(a, "{s:s, s:s, s:{s:s, s:{s:s}}, s:{s:O}}", "apiVersion",
			  KARPENTER_CLASS_API, "kind", KARPENTER_CLASS_KIND, "metadata",
			  "name", name, "labels", "app.kubernetes.io/managed-by",
			  "instantstart", "spec", "instanceGroups", groups);
}

json_t *node_object_conditions(const json_t *object)
{
	json_t *list = json_array(), *c;
	size_t i;

	json_array_foreach(json_at(object, "status.conditions"), i, c)
		json_push(list, json_pack("{s:s, s:s, s:s*, s:s*}", "type",
					  json_str_or(c, "type", "?"), "status",
					  json_str_or(c, "status", "Unknown"), "reason",
					  json_str_at(c, "reason"), "message",
					  json_str_at(c, "message")));
	return list;
}

const char *node_object_state(const json_t *object, const char **ret_why)
{
	const json_t *ready =
		json_find(json_at(object, "status.conditions"), "type", "Ready");
	const char *status = json_str_or(ready, "status", "Unknown");
	const char *message = json_str_or(ready, "message", "");

	*ret_why = NULL;
	if (streq(status, "True"))
		return "ready";
	*ret_why = *message ? message : json_str_at(ready, "reason");
	return streq(status, "False") ? "not_ready" : "pending";
}

static json_t *group_rows(const json_t *object)
{
	json_t *list = json_array(), *g, *s;
	size_t i, k;

	json_array_foreach(json_at(object, "status.instanceGroups"), i, g) {
		json_t *types = json_at(g, "instanceTypes"), *zones = json_array();
		const bool spot =
			json_at(g, "capacities.Spot") || json_at(g, "capacity.spot");

		json_array_foreach(json_at(g, "subnets"), k, s)
			json_push(zones, json_string(json_str_or(s, "zone", "?")));
		json_push(list,
			  json_pack("{s:s, s:o, s:o, s:s}", "name",
				    json_str_or(g, "name", "?"), "instance_types",
				    types ? json_deep_copy(types) : json_array(), "zones",
				    zones, "capacity_type", spot ? "spot" : "on_demand"));
	}
	return list;
}

static bool is_ours(const json_t *object)
{
	return streq(json_string_value(json_object_get(json_at(object, "metadata.labels"),
						       "app.kubernetes.io/managed-by")),
		     "instantstart");
}

json_t *node_class_row(struct arena *a, const json_t *object, const json_t *pools)
{
	const char *name = json_str_or(object, "metadata.name", "?"), *why;
	const char *state = node_object_state(object, &why);
	json_t *groups = json_at(object, "spec.instanceGroups"), *pool;
	json_t *users = json_array();
	size_t i;

	json_array_foreach(users_of_class(a, pools, name), i, pool)
		json_push(users, json_string(json_str_or(pool, "metadata.name", "?")));
	return json_pack("{s:s, s:s, s:s*, s:b, s:o, s:o, s:o, s:o, s:s*}", "name", name,
			 "state", state, "why", why, "ours", is_ours(object),
			 "instance_groups",
			 groups ? json_deep_copy(groups) : json_array(), "groups",
			 group_rows(object), "node_pools", users, "conditions",
			 node_object_conditions(object), "created_at",
			 json_str_at(object, "metadata.creationTimestamp"));
}
