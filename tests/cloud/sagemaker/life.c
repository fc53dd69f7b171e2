/* What becomes of a cluster as time passes. */
#include "tests/cloud/sagemaker/sagemaker.h"

static int count_nodes(struct sm_work *w, const char *group)
{
	const char *id;
	json_t *node;
	int n = 0;

	json_object_foreach(cloud_table(w->cloud, SM_NODES), id, node)
		if (streq(json_str_at(node, "_cluster"), w->name) &&
		    (!group || streq(json_str_at(node, "InstanceGroupName"), group)))
			n++;
	return n;
}

enum { MIN_COUNT_MS = 3 * 3600 * 1000 }; /* how long MinInstanceCount is waited for */

void sm_min_gate(struct sm_work *w, json_t *group, const json_t *was)
{
	if (!json_int_or(group, "MinCount", 0) ||
	    json_int_or(group, "TargetCount", 0) <= json_int_or(was, "TargetCount", 0))
		return;
	json_put_int(group, "_min_until_ms",
		     w->now_ms + cloud_ms(w->cloud, MIN_COUNT_MS));
	json_put_int(group, "_was_target", json_int_or(was, "TargetCount", 0));
}

/* A minimum that stays unmet takes the group back to its earlier size. */
static void give_up_minimum(struct sm_work *w, json_t *group)
{
	struct sm_event e = {
		.level = "Error",
		.type = "InstanceGroup",
		.group = json_str_at(group, "InstanceGroupName"),
		.text = "The minimum instance count was not reached within 3 hours. Rolling back."};

	json_put_int(group, "TargetCount", json_int_or(group, "_was_target", 0));
	json_drop(group, "MinCount");
	json_drop(group, "_min_until_ms");
	e.failure = e.text;
	sm_event(w, &e);
	sm_group_reconcile(w, group);
}

static bool groups_done(struct sm_work *w)
{
	bool continuous = sm_is_continuous(w->cluster), done = true;
	size_t i;
	json_t *g;

	json_array_foreach(json_object_get(w->cluster, "InstanceGroups"), i, g) {
		int64_t want = continuous ? json_int_or(g, "MinCount", 0)
					  : json_int_or(g, "TargetCount", 0);

		if (json_int_or(g, "CurrentCount", 0) >= want)
			continue;
		done = false;
		if (continuous &&
		    w->now_ms >= json_int_or(w->cluster, "_min_until_ms", 0))
			give_up_minimum(w, g);
	}
	return done;
}

/* Groups that were added or grown later have a clock of their own. */
static void late_minimums(struct sm_work *w)
{
	size_t i;
	json_t *g;

	json_array_foreach(json_object_get(w->cluster, "InstanceGroups"), i, g) {
		const int64_t until_ms = json_int_or(g, "_min_until_ms", 0);

		if (!until_ms)
			continue;
		if (json_int_or(g, "CurrentCount", 0) >= json_int_or(g, "MinCount", 0))
			json_drop(g, "_min_until_ms");
		else if (w->now_ms >= until_ms)
			give_up_minimum(w, g);
	}
}

static void refresh_groups(struct sm_work *w)
{
	json_t *groups = json_object_get(w->cluster, "InstanceGroups");

	sm_groups_count(w);
	for (size_t i = json_array_size(groups); i-- > 0;) {
		json_t *g = json_array_get(groups, i);

		if (streq(json_str_at(g, "Status"), "Deleting")) {
			if (count_nodes(w, json_str_or(g, "InstanceGroupName", "")) == 0)
				json_array_remove(groups, i);
		} else if (streq(json_str_at(w->cluster, "ClusterStatus"), "InService")) {
			json_put_str(g, "Status", "InService");
		}
	}
}

static void forget(struct sm_work *w)
{
	sm_drop_entries(w);
	json_object_del(cloud_table(w->cloud, SM_CLUSTERS), w->name);
}

static void advance_cluster(struct sm_work *w)
{
	const char *status = json_str_or(w->cluster, "ClusterStatus", "");
	bool due = w->now_ms >= json_int_or(w->cluster, "_until_ms", 0);

	if (streq(status, "Creating") || streq(status, "Updating")) {
		if (groups_done(w) && due) {
			sm_set_status(w, "InService", NULL);
			sm_cluster_event(w, arena_printf(w->arena,
							 "Cluster %s is InService.",
							 w->name));
		}
	} else if (streq(status, "RollingBack")) {
		if (json_bool_or(w->cluster, "_stillborn", false)) {
			if (count_nodes(w, NULL) == 0)
				sm_set_status(w, "Failed", NULL);
		} else if (groups_done(w)) {
			sm_set_status(w, "InService", NULL);
		}
	} else if (streq(status, "Deleting") && due && count_nodes(w, NULL) == 0) {
		forget(w);
		return;
	}
	refresh_groups(w);
}

static void advance_nodes(struct sm_work *w)
{
	const char *id;
	json_t *node;
	void *next;

	json_object_foreach_safe(cloud_table(w->cloud, SM_NODES), next, id, node)
		if (streq(json_str_at(node, "_cluster"), w->name))
			sm_node_advance(w, id, node);
}

void sm_clusters_advance(struct cloud *c, int64_t now_ms)
{
	struct arena a;
	const char *name;
	json_t *cluster;
	void *next;

	arena_init(&a, 0);
	json_object_foreach_safe(cloud_table(c, SM_CLUSTERS), next, name, cluster) {
		struct sm_work w = {.cloud = c,
				    .arena = &a,
				    .cluster = cluster,
				    .name = arena_strdup(&a, name),
				    .now_ms = now_ms};

		advance_nodes(&w);
		late_minimums(&w);
		sm_software_advance(&w);
		sm_autoscale_advance(&w);
		refresh_groups(&w);
		advance_cluster(&w);
	}
	arena_free(&a);
}
