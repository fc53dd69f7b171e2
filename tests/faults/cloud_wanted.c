/*
 * I11: after a cancel (or a failure) nothing that we asked for can still arrive or go
 * unless the result lists it; and after a cancel with undo what is wanted of the cloud
 * is what was wanted before.
 *
 * Judged by the cloud's own state, not by what the operation says: whatever is under
 * way there and was touched by a request of the operation's must be named in
 * result.still_wanted.
 */
#include <string.h>

#include "core/json/tree.h"
#include "tests/faults/cloud_lab.h"

/* --- what is wanted of the cloud ------------------------------------------------------
 */

json_t *cloud_wanted_of_group(const json_t *g)
{
	json_t *labels = json_at(g, "KubernetesConfig.DesiredLabels");
	json_t *taints = json_at(g, "KubernetesConfig.DesiredTaints");

	return json_pack("{s:I, s:I, s:O*, s:O*}", "target",
			 (json_int_t)json_int_or(g, "TargetCount", 0), "min",
			 (json_int_t)json_int_or(g, "MinCount", 0), "labels",
			 json_object_size(labels) ? labels : NULL, "taints",
			 json_array_size(taints) ? taints : NULL);
}

static json_t *wanted_of_cluster(const json_t *cluster)
{
	json_t *w = json_object(), *g;
	size_t i;

	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
		if (!streq(json_str_at(g, "Status"), "Deleting"))
			json_object_set_new(w, json_str_or(g, "InstanceGroupName", "?"),
					    cloud_wanted_of_group(g));
	json_put_str(w, "(autoscaling)",
		     json_str_or(cluster, "AutoScaling.Mode", "Disable"));
	json_put_str(w, "(tiered)",
		     json_str_or(cluster, "TieredStorageConfig.Mode", "Disable"));
	return w;
}

/* Objects by which Kubernetes' controllers make others, of our kinds. */
static void add_objects(json_t *w, const json_t *server)
{
	static const char *const kinds[] = {"nodepools", "hyperpodnodeclasses", "jobs",
					    "persistentvolumeclaims"};
	const char *resource, *name;
	json_t *objects, *o;

	json_object_foreach(json_at(server, "objects"), resource, objects)
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			json_object_foreach(objects, name, o)
				if (strstr(resource, kinds[i]) &&
				    !json_at(o, "metadata.deletionTimestamp"))
					json_object_set_new(
						w, kinds[i],
						json_string(json_str_or(
							o, "metadata.name", "?")));
}

/* Rights that were given to a role beside its own: those to the buckets of storages. */
static void add_rights(json_t *w, const json_t *role)
{
	const char *name;
	json_t *policy;

	json_object_foreach(json_object_get(role, "_inline"), name, policy)
		if (str_starts(name, "storage-"))
			json_object_set_new(w, name, json_true());
}

/* A new tree: the same before and after an undo. */
json_t *cloud_wanted(struct harness *h)
{
	json_t *w = json_object(), *o;
	const char *id;

	json_object_foreach(cloud_table(lab(h)->cloud, "sagemaker.cluster"), id, o)
		if (!streq(json_str_at(o, "ClusterStatus"), "Deleting"))
			json_object_set_new(w, id, wanted_of_cluster(o));
	json_object_foreach(cloud_table(lab(h)->cloud, "eks.addon"), id, o)
		if (!streq(json_str_at(o, "status"), "DELETING"))
			json_object_set_new(w, id, json_true());
	json_object_foreach(cloud_table(lab(h)->cloud, "cloudformation.stack"), id, o)
		if (!str_starts(json_str_or(o, "StackStatus", ""), "DELETE"))
			json_object_set_new(w, json_str_or(o, "StackName", id),
					    json_true());
	json_object_foreach(cloud_table(lab(h)->cloud, "iam.role"), id, o)
		add_rights(w, o);
	json_object_foreach(json_object_get(cloud_state(lab(h)->cloud), "kube"), id, o)
		add_objects(w, o);
	return w;
}

/* --- what is under way -------------------------------------------------------------- */

/* Whether a request of this operation has touched it. */
static bool is_touched(struct harness *h, const char *name)
{
	size_t i, n;
	const json_t *row, *e;

	json_array_foreach(lab(h)->arrived, i, row)
		json_array_foreach(json_at(row, "effects"), n, e)
			if (strstr(json_str_or(e, "id", ""), name))
				return true;
	return false;
}

static void must_be_listed(struct harness *h, const char *listed, const char *what,
			   const char *name)
{
	if (!strstr(listed, name))
		harness_blame(h,
			      "I11: %s %s is still under way and the result does not "
			      "list it: %s",
			      what, name, listed);
}

/* A right that this operation gave, and that was not there before. */
static void check_rights(struct harness *h, const char *listed)
{
	json_t *rights = json_own(&h->run, json_object()), *role, *v;
	const char *id, *name;

	json_object_foreach(cloud_table(lab(h)->cloud, "iam.role"), id, role)
		add_rights(rights, role);
	json_object_foreach(rights, name, v)
		if (!json_object_get(lab(h)->wanted, name) &&
		    !strstr(listed, "iam:PutRolePolicy"))
			must_be_listed(h, listed, "the right", name);
}

/* Others have thrown it away and the cloud is at it: nothing of ours comes to it. */
static bool is_thrown_away(const struct harness *h, const char *status)
{
	return h->moved && h->act == ACT_GONE &&
	       (strcasestr(status, "deleting") || strstr(status, "DELETE_IN"));
}

static void check_groups(struct harness *h, const char *listed)
{
	const json_t *was = lab(h)->wanted;
	const char *id;
	json_t *cluster, *g, *before;
	size_t i;

	json_object_foreach(cloud_table(lab(h)->cloud, "sagemaker.cluster"), id, cluster)
		json_array_foreach(json_at(cluster, "InstanceGroups"), i, g) {
			const char *name = json_str_or(g, "InstanceGroupName", "?");

			before = json_object_get(json_object_get(was, id), name);
			if (is_thrown_away(h,
					   json_str_or(cluster, "ClusterStatus", "")) ||
			    json_int_or(g, "CurrentCount", 0) ==
				    json_int_or(g, "TargetCount", 0) ||
			    json_int_or(before, "target", 0) ==
				    json_int_or(g, "TargetCount", 0))
				continue;
			if (!strstr(listed, id))
				must_be_listed(h, listed, "the instance group", name);
		}
}

static void check_table(struct harness *h, const char *listed, const char *table,
			const char *member, const char *const *busy, const char *name)
{
	const char *id;
	json_t *o;

	json_object_foreach(cloud_table(lab(h)->cloud, table), id, o) {
		const char *status = json_str_or(o, member, "");
		const char *called = json_str_or(o, name, id);

		for (size_t i = 0; busy[i]; i++)
			if (strstr(status, busy[i]) && !is_thrown_away(h, status) &&
			    (is_touched(h, called) || is_touched(h, id)))
				must_be_listed(h, listed, table, called);
	}
}

const char *cloud_wanted_text(struct harness *h)
{
	return json_text(&h->run, json_own(&h->run, cloud_wanted(h)));
}

/* Pods have come since the cancel, which confirmed nothing: the undo asks for the word
 * of its plan, and has sent nothing yet. */
static bool undo_asks(struct harness *h, const char *why)
{
	const struct db_rows sent = harness_query(
		h,
		"select count(*) as n from effect e join operation o on o.id = e.op_id "
		"where o.parent_id = $1 and o.undo",
		h->op);

	return strstr(why, "and was not confirmed") && db_int(&sent, 0, "n") == 0;
}

void cloud_check_wanted(struct harness *h)
{
	static const char *const stacks[] = {"_IN_PROGRESS", NULL};
	static const char *const addons[] = {"CREATING", "UPDATING", "DELETING", NULL};
	static const char *const clusters[] = {"Creating", "Deleting", NULL};
	const struct db_rows end = harness_query(
		h,
		"select state, coalesce((result->'still_wanted')::text, '') as listed, "
		"coalesce(error->>'detail', '') as why from operation where id = $1",
		h->op);
	const char *state = db_text(&end, 0, "state");
	const char *listed = db_text(&end, 0, "listed");
	json_t *now;

	if (h->why || streq(state, "succeeded"))
		return;
	cloud_advance(lab(h)->cloud);
	check_groups(h, listed);
	check_rights(h, listed);
	check_table(h, listed, "cloudformation.stack", "StackStatus", stacks,
		    "StackName");
	check_table(h, listed, "eks.addon", "status", addons, "addonName");
	check_table(h, listed, "sagemaker.cluster", "ClusterStatus", clusters,
		    "ClusterName");
	if (!h->undone || !harness_can_undo(h, h->scenario))
		return;
	if (undo_asks(h, db_text(&end, 0, "why")))
		return;
	if (!streq(state, "cancelled"))
		harness_blame(h, "the undo ended as %s: %s", state,
			      db_text(&end, 0, "why"));
	now = json_own(&h->run, cloud_wanted(h));
	if (!json_equal(now, lab(h)->wanted))
		harness_blame(h, "undo: wanted before %s, after it %s",
			      json_text(&h->run, lab(h)->wanted),
			      json_text(&h->run, now));
}
