/* The end state of the simulated cloud, and the invariants that need its ledger. */
#include <string.h>

#include "core/json/tree.h"
#include "tests/faults/cloud_lab.h"

bool cloud_happened(struct harness *h, const char *op, const char *step, const char *item)
{
	size_t i;
	const json_t *row;

	(void)item;
	json_array_foreach(lab(h)->arrived, i, row)
		if (streq(json_str_at(row, "op"), op) &&
		    streq(json_str_at(row, "step"), step) &&
		    json_len_at(row, "effects") > 0)
			return true;
	return false;
}

/* --- end state --------------------------------------------------------- */

/* What differs between equal ends: when, in which order, how often. */
static bool is_timing(const char *key)
{
	static const char *const keys[] = {
		"managedFields",
		"resourceVersion",
		"RoleId",
		"generation",
		"observedGeneration",
		"rv",
		"version",
		"createdAt",
		"modifiedAt",
		"lastTransitionTime",
		"clusterIP", /* the next free one */
		"clusterIPs",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (streq(key, keys[i]))
			return true;
	return key[0] == '_';
}

static bool is_time(const json_t *v)
{
	/* Times are seconds or milliseconds since the epoch. */
	return json_is_number(v) && json_number_value(v) > 1e9;
}

static json_t *plain(const json_t *v)
{
	json_t *copy, *member;
	const char *key;
	size_t i;

	if (is_time(v))
		return json_string("(time)");
	if (json_is_array(v)) {
		copy = json_array();
		json_array_foreach(v, i, member)
			json_array_append_new(copy, plain(member));
		return copy;
	}
	if (!json_is_object(v))
		return json_copy((json_t *)(uintptr_t)v);
	copy = json_object();
	json_object_foreach((json_t *)(uintptr_t)v, key, member)
		if (!is_timing(key))
			json_object_set_new(copy, key, plain(member));
	return copy;
}

struct lines {
	const char **v;
	size_t n, max;
};

static void add(struct harness *h, struct lines *l, const char *table, const json_t *o)
{
	json_t *p = json_own(&h->run, plain(o));

	if (l->n == l->max) {
		const char **more = arena_array(&h->run, const char *, l->max * 2 + 64);

		if (l->n)
			memcpy(more, l->v, l->n * sizeof(*more));
		l->v = more;
		l->max = l->max * 2 + 64;
	}
	l->v[l->n++] = arena_printf(&h->run, "%s %s", table, json_text(&h->run, p));
}

/*
 * A helm that died between two records leaves two that say "deployed": it reads
 * the newest. Only that the release is there counts.
 */
static void add_release(struct harness *h, struct lines *l, const json_t *o)
{
	const json_t *name = json_at(o, "metadata.labels.name");
	const char *line = arena_printf(&h->run, "release %s", json_text(&h->run, name));

	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], line))
			return;
	add(h, l, "release", name);
}

static bool is_record(const char *resource, const json_t *o)
{
	return streq(resource, "/secrets") &&
	       streq(json_str_or(o, "type", ""), "helm.sh/release.v1");
}

/* Made by a controller, under a name that it has drawn. */
static void add_owned(struct harness *h, struct lines *l, const char *resource,
		      const json_t *o)
{
	json_t *small =
		json_packf(&h->run, "{s:s, s:O*, s:s*}", "owner",
			   json_str_or(o, "metadata.ownerReferences.0.name", ""), "spec",
			   json_at(o, "spec"), "phase", json_str_at(o, "status.phase"));

	add(h, l, resource, small);
}

static void add_kubernetes(struct harness *h, struct lines *l, const json_t *server)
{
	const char *resource, *name;
	json_t *objects, *o;

	json_object_foreach(json_at(server, "objects"), resource, objects) {
		if (strstr(resource, "event"))
			continue;
		json_object_foreach(objects, name, o)
			if (json_at(o, "metadata.ownerReferences.0"))
				add_owned(h, l, resource, o);
			else if (!is_record(resource, o))
				add(h, l, resource, o);
			else if (streq(json_str_or(o, "metadata.labels.status", ""),
				       "deployed"))
				add_release(h, l, o);
	}
}

/* An operation may end while pods still start: the end state is what stays. */
static void come_to_rest(struct harness *h)
{
	enum { LOOKS = 20, LOOK_MS = 30 * 1000 };

	for (int i = 0; i < LOOKS; i++) {
		clock_manual_advance(&h->clock, LOOK_MS);
		cloud_advance(lab(h)->cloud);
	}
}

void cloud_describe(struct harness *h, struct buf *out)
{
	const char *table, *id;
	json_t *rows, *o;
	struct lines l = {0};

	come_to_rest(h);

	json_object_foreach((json_t *)(uintptr_t)cloud_state(lab(h)->cloud), table,
			    rows) {
		/* How often something was reported or asked is timing, not state. */
		if (strstr(table, "event") || strstr(table, "token") ||
		    strstr(table, "history"))
			continue;
		json_object_foreach(rows, id, o)
			if (streq(table, "kube"))
				add_kubernetes(h, &l, o);
			else
				add(h, &l, table, o);
	}
	harness_sort_lines(h, l.v, l.n, out);
}

/* --- invariants -------------------------------------------------------- */

static const char *effect_key(struct harness *h, const json_t *e)
{
	return arena_printf(&h->run, "%s %s", json_str_or(e, "type", ""),
			    json_str_or(e, "id", ""));
}

/* What somebody has deleted since, as a recovery does with the record of a release,
 * may be made again. */
static void forget_deleted(struct harness *h, json_t *seen, const json_t *row)
{
	size_t i;
	const json_t *e;

	json_array_foreach(json_at(row, "effects"), i, e)
		if (streq(json_str_at(e, "change"), "delete"))
			json_object_del(seen, effect_key(h, e));
}

/*
 * Helm makes many objects by one intent: what must not be is one that is made twice.
 */
static void check_helm(struct harness *h, json_t *seen, const json_t *row)
{
	size_t i;
	const json_t *e;

	json_array_foreach(json_at(row, "effects"), i, e) {
		const char *key = effect_key(h, e);

		if (!streq(json_str_at(e, "change"), "create"))
			continue;
		if (json_object_get(seen, key))
			harness_blame(h, "I2: Helm has made %s twice", key);
		json_object_set_new(seen, key, json_true());
	}
}

/* I1, I2: each mutation has an intent; none has its effect twice. */
static void check_effects(struct harness *h)
{
	json_t *seen = json_own(&h->run, json_object());
	const struct db_rows rows = harness_query(
		h,
		"select f.op_id || ' ' || f.step as key from effect f join operation o on o.id = "
		"f.op_id where o.root_id = $1",
		h->op);
	size_t i;
	const json_t *row;

	json_array_foreach(lab(h)->arrived, i, row) {
		const char *at = arena_printf(&h->run, "%s %s", json_str_at(row, "op"),
					      json_str_at(row, "step"));
		const char *key =
			arena_printf(&h->run, "%s %s", at, json_str_at(row, "key"));
		bool intended = false;

		for (int n = 0; n < rows.n && !intended; n++)
			intended = streq(db_text(&rows, n, "key"), at);
		if (!intended)
			harness_blame(h, "I1: %s arrived without an intent", key);
		forget_deleted(h, seen, row);
		if (json_bool_or(row, "helm", false)) {
			check_helm(h, seen, row);
			continue;
		}
		if (json_len_at(row, "effects") == 0)
			continue;
		if (json_object_get(seen, key))
			harness_blame(h, "I2: two effects of %s", key);
		json_object_set_new(seen, key, json_true());
	}
}

/* Deleted stacks and gateways are shown for a while: the cloud's memory. */
static bool is_memory(const json_t *o)
{
	return streq(json_str_or(o, "StackStatus", ""), "DELETE_COMPLETE") ||
	       streq(json_str_or(o, "State", ""), "deleted");
}

static void check_object(struct harness *h, const struct db_rows *rows, const char *table,
			 const char *id, const json_t *o)
{
	const char *text = json_text(&h->run, o);
	bool owned = strstr(text, "aws:cloudformation:stack-") != NULL;

	if (!strstr(text, h->op) || is_memory(o))
		return;
	for (int n = 0; n < rows->n && !owned; n++)
		owned = strstr(text, db_text(rows, n, "id")) ||
			streq(db_text(rows, n, "id"), id);
	if (!owned)
		harness_blame(h, "%s: %s %s is owned by no row",
			      h->cancelled ? "I8" : "I3", table, id);
}

/* In Kubernetes; what a controller has made goes with its owner. */
static void check_server(struct harness *h, const struct db_rows *rows,
			 const json_t *server)
{
	const char *resource, *id;
	json_t *objects, *o;

	json_object_foreach(json_at(server, "objects"), resource, objects)
		json_object_foreach(objects, id, o)
			if (!strstr(resource, "event") &&
			    !json_at(o, "metadata.ownerReferences.0"))
				check_object(h, rows, resource, id, o);
}

/* I3, I8: what carries our tag is owned, itself or by its stack. */
static void check_owned(struct harness *h)
{
	/* What an undo has put back is owned by the undo's own operation. */
	const struct db_rows rows = harness_query(
		h,
		h->undone ? "select id, arn from resource where state <> 'gone' and "
			    "$1 <> ''"
			  : "select id, arn from resource where op_id = $1 and state <> "
			    "'gone'",
		h->op);
	const char *table, *id;
	json_t *objects, *o;

	json_object_foreach((json_t *)(uintptr_t)cloud_state(lab(h)->cloud), table,
			    objects) {
		if (strstr(table, "event") || strstr(table, "token") ||
		    strstr(table, "history"))
			continue;
		json_object_foreach(objects, id, o)
			if (streq(table, "kube"))
				check_server(h, &rows, o);
			else
				check_object(h, &rows, table, id, o);
	}
}

/* A deletion that has succeeded, or an undo that is one. */
static bool is_deleted(const struct harness *h, const struct db_rows *end)
{
	static const char *const made[] = {"create_cluster", "create_eks_control_plane"};
	const char *kind = db_text(end, 0, "kind"), *state = db_text(end, 0, "state");

	if (streq(kind, "delete_cluster"))
		return streq(state, "succeeded");
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		if (streq(kind, made[i]))
			return h->undone && streq(state, "cancelled");
	return false;
}

/* After that nothing bears the cluster's name. */
static void check_nothing_left(struct harness *h)
{
	const struct db_rows end = harness_query(
		h, "select kind, state from operation where id = $1", h->op);
	const char *table, *id;
	json_t *objects, *o;

	if (!is_deleted(h, &end))
		return;
	json_object_foreach((json_t *)(uintptr_t)cloud_state(lab(h)->cloud), table,
			    objects)
		json_object_foreach(objects, id, o)
			if (!strstr(table, "event") && !strstr(table, "token") &&
			    !is_memory(o) && strstr(json_text(&h->run, o), h->target))
				harness_blame(h, "left after the delete: %s %s", table,
					      id);
}

void cloud_check(struct harness *h)
{
	check_effects(h);
	check_owned(h);
	check_nothing_left(h);
	cloud_check_wanted(h);
}
