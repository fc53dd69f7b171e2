/* What every member of every group should be, and who has written it last. */
#include <stdio.h>

#include "core/json/tree.h"
#include "tests/faults/fleet.h"

json_t *fleet_cluster(struct fleet *f)
{
	return cloud_get(lab(f->h)->cloud, "sagemaker.cluster", f->h->target);
}

/* --- what is there ------------------------------------------------------------- */

static void put(json_t *to, const char *name, json_t *v)
{
	json_object_set_new(to, name, json_deep_copy(v));
}

/*
 * What somebody wants of the group, by the names of a specification. Everything
 * that the cloud keeps but what the service alone says: a member that the product
 * does not know is in it, too.
 */
static const char *wish_name(const char *key)
{
	static const char *const said[] = {
		"Status",
		"CurrentCount",
		"ActiveOperations",
		"SoftwareUpdateStatus",
		"ActiveSoftwareUpdateConfig",
		"ImageVersionStatus",
		"CurrentImageId",
		"CurrentImageReleaseVersion",
		"KubernetesConfig.CurrentLabels",
		"KubernetesConfig.CurrentTaints",
	};
	static const char *const named[][2] = {
		{"TargetCount", "InstanceCount"},
		{"MinCount", "MinInstanceCount"},
		{"DesiredImageId", "ImageId"},
		{"DesiredImageReleaseVersion", "ImageReleaseVersion"},
		{"KubernetesConfig.DesiredLabels", "KubernetesConfig.Labels"},
		{"KubernetesConfig.DesiredTaints", "KubernetesConfig.Taints"},
	};

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (streq(key, said[i]))
			return NULL;
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (streq(key, named[i][0]))
			return named[i][1];
	return key[0] == '_' ? NULL : key;
}

static json_t *wished(const json_t *group)
{
	json_t *out = json_object(), *v, *inner;
	const char *key, *part, *name;

	json_object_foreach((json_t *)(uintptr_t)group, key, v) {
		if (!streq(key, "KubernetesConfig")) {
			name = wish_name(key);
			if (name)
				put(out, name, v);
			continue;
		}
		json_object_foreach(v, part, inner) {
			char path[128];

			snprintf(path, sizeof(path), "%s.%s", key, part);
			name = wish_name(path);
			if (name)
				put(out, name, inner);
		}
	}
	return out;
}

static json_t *own_members(const json_t *cluster)
{
	static const char *const names[] = {
		"TieredStorageConfig.Mode",
		"TieredStorageConfig.InstanceMemoryAllocationPercentage",
		"AutoScaling.Mode",
		"ClusterRole",
		"NodeRecovery",
		"NodeProvisioningMode",
	};
	json_t *out = json_object();

	/* What is off is as what never was on. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_at(cluster, names[i]) &&
		    !streq(json_str_at(cluster, names[i]), "Disable"))
			put(out, names[i], json_at(cluster, names[i]));
	return out;
}

/* {group: {member: value}}; a group that is going is not there. */
static json_t *actual(struct fleet *f)
{
	const json_t *cluster = fleet_cluster(f);
	json_t *out = json_new_object(&f->arena), *g;
	size_t i;

	if (!cluster)
		return out;
	json_object_set_new(out, FLEET_CLUSTER, own_members(cluster));
	json_array_foreach(json_at(cluster, "InstanceGroups"), i, g)
		if (!streq(json_str_at(g, "Status"), "Deleting"))
			json_object_set_new(out, json_str_or(g, "InstanceGroupName", "?"),
					    wished(g));
	return out;
}

/* --- who may write what ------------------------------------------------------------
 */

json_t *fleet_op(struct fleet *f, const char *id)
{
	json_t *op = json_object_get(f->ops, id), *input;
	struct db_rows rows;
	struct err e;

	if (op)
		return op;
	rows = harness_query(f->h, "select kind, input from operation where id = $1", id);
	if (!rows.n)
		return NULL;
	input = json_parse(&f->arena, str_of(db_text(&rows, 0, "input")), &e);
	op = json_pack("{s:s, s:O, s:I}", "kind", db_text(&rows, 0, "kind"), "input",
		       input, "begun", (json_int_t)f->seq);
	json_object_set_new(f->ops, id, op);
	return op;
}

struct change {
	const char *by;
	const char *group, *member;
	const json_t *was; /* {v, by, n}; NULL: it is new */
	const json_t *now; /* NULL: it is gone */
};

static bool is_named(const json_t *list, const char *name)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
		if (streq(json_string_value(v), name))
			return true;
	return false;
}

/* The service itself: a count that Karpenter wants or that it takes back, an image. */
static bool cloud_changed(const struct change *c)
{
	return streq(c->member, "InstanceCount") ||
	       streq(c->member, "ImageReleaseVersion") || streq(c->member, "ImageId");
}

/* Since the operation began somebody else has written it. */
static bool is_raced(const json_t *op, const char *id, const json_t *was)
{
	return was && !streq(json_str_or(was, "by", ""), id) &&
	       json_int_or(was, "n", 0) > json_int_or(op, "begun", 0);
}

static bool op_may(struct fleet *f, const struct change *c, const json_t *op)
{
	const json_t *wish = fleet_wish(f, op);
	const char *group = json_str_at(wish, "group");
	const json_t *value = json_object_get(json_at(wish, "set"), c->member);

	if (group && !streq(group, c->group))
		return false;
	if (json_bool_or(wish, "delete", false))
		return !c->now;
	if (json_bool_or(wish, "add", false) && !c->was)
		return !value || json_equal(value, c->now);
	if (is_named(json_at(wish, "may"), c->member))
		return true;
	if (!value)
		return false;
	if (json_is_null(value) ? !c->now : json_equal(value, c->now))
		return true;
	/* The call that adds nodes knows no target, only how many more. */
	return streq(c->member, "InstanceCount") && is_raced(op, c->by, c->was);
}

static void judge(struct fleet *f, const struct change *c)
{
	const json_t *op;

	if (streq(c->by, FLEET_OUTSIDE) ||
	    (streq(c->by, FLEET_CLOUD) && cloud_changed(c)))
		return;
	op = streq(c->by, FLEET_CLOUD) ? NULL : fleet_op(f, c->by);
	if (!op || !op_may(f, c, op))
		harness_blame(f->h, "I10: %s (%s) has changed %s of %s from %s to %s",
			      c->by, json_str_or(op, "kind", "?"), c->member, c->group,
			      c->was ? json_text(&f->h->run, c->was) : "nothing",
			      c->now ? json_text(&f->h->run, c->now) : "nothing");
}

static void note(struct fleet *f, const struct change *c)
{
	json_t *g = json_object_get(f->model, c->group);

	if (f->verbose)
		printf("fleet: %s %s: %s -> %s by %s\n", c->group, c->member,
		       c->was ? json_text(&f->arena, json_at(c->was, "v")) : "-",
		       c->now ? json_text(&f->arena, c->now) : "-", c->by);
	judge(f, c);
	if (!g) {
		g = json_object();
		json_object_set_new(f->model, c->group, g);
	}
	json_object_set_new(g, c->member,
			    json_pack("{s:O*, s:s, s:I}", "v", c->now, "by", c->by, "n",
				      (json_int_t)f->seq));
}

/* --- the comparison --------------------------------------------------------------- */

static void sync_group(struct fleet *f, const char *by, const char *group,
		       const json_t *now)
{
	const json_t *was = json_object_get(f->model, group);
	const char *member;
	json_t *v;
	void *next;

	json_object_foreach((json_t *)(uintptr_t)now, member, v) {
		const json_t *record = json_object_get(was, member);
		const json_t *old = json_object_get(record, "v");

		if (!old || !json_equal(old, v))
			note(f,
			     &(struct change){by, group, member, old ? record : NULL, v});
	}
	json_object_foreach_safe((json_t *)(uintptr_t)was, next, member, v)
		if (json_object_get(v, "v") && !json_object_get(now, member))
			note(f, &(struct change){by, group, member, v, NULL});
}

void fleet_sync(struct fleet *f, const char *by)
{
	json_t *now = actual(f), *g;
	const char *name;
	void *next;

	f->seq++;
	json_object_foreach(now, name, g)
		sync_group(f, by, name, g);
	json_object_foreach_safe(f->model, next, name, g)
		if (!json_object_get(now, name))
			sync_group(f, by, name, NULL);
}

void fleet_model_begin(struct fleet *f)
{
	fleet_sync(f, FLEET_OUTSIDE);
}

/* The lab's hook has no context of its own: the harness's world is one at a time. */
static struct fleet *watched;

static void watch(struct harness *h, bool after)
{
	struct fleet *f = watched;

	arena_reset(&f->arena);
	if (!after)
		cloud_advance(lab(h)->cloud);
	fleet_sync(f, after ? h->cur->op : FLEET_CLOUD);
}

void fleet_watch_this(struct fleet *f)
{
	watched = f;
	lab(f->h)->watch = watch;
}

/* --- what a success means ---------------------------------------------------------- */

static const char *value_text(struct fleet *f, const json_t *record)
{
	const json_t *v = json_object_get(record, "v");

	return v ? json_text(&f->h->run, v) : "nothing";
}

static void judge_member(struct fleet *f, const char *id, const json_t *op,
			 const char *group, const char *member, const json_t *value)
{
	const json_t *record = json_object_get(json_object_get(f->model, group), member);
	const json_t *now = json_object_get(record, "v");

	/* What was never on is off. */
	const bool absent =
		json_is_null(value) || streq(json_string_value(value), "Disable");

	if ((!now && absent) || (now && json_equal(value, now)) ||
	    is_raced(op, id, record))
		return;
	harness_blame(f->h, "%s (%s) succeeded, but %s of %s is %s, not %s", id,
		      json_str_or(op, "kind", "?"), member, group, value_text(f, record),
		      json_text(&f->h->run, value));
}

void fleet_judge_success(struct fleet *f, const char *id)
{
	const json_t *op = fleet_op(f, id);
	const json_t *wish = fleet_wish(f, op);
	const char *group = json_str_or(wish, "group", FLEET_CLUSTER), *member;
	json_t *v;

	json_object_foreach(json_at(wish, "set"), member, v)
		judge_member(f, id, op, group, member, v);
	if (json_bool_or(wish, "delete", false))
		judge_member(f, id, op, group, "InstanceCount", json_null());
}
