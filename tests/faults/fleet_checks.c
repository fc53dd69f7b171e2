/* What must hold when all have ended: the journal, the cloud's ledger, its state. */
#include <stdio.h>
#include <string.h>

#include "core/domain/network/compute_subnet.h"
#include "core/json/tree.h"
#include "tests/faults/fleet.h"

/* --- effects --------------------------------------------------------------------- */

static json_t *classes(struct fleet *f)
{
	const struct db_rows rows = harness_query(
		f->h, "select distinct op_id || ' ' || step as key, class from effect",
		NULL);
	json_t *by_key = json_new_object(&f->h->run);

	for (int i = 0; i < rows.n; i++)
		json_object_set_new(by_key, db_text(&rows, i, "key"),
				    json_string(db_text(&rows, i, "class")));
	return by_key;
}

/*
 * Whether a second effect after `first` is another one: a person has said that it
 * did not happen, or has asked again; for what may be repeated also when somebody
 * else has undone it.
 */
static bool is_cut(struct fleet *f, const char *op, bool once, int64_t first, int64_t at)
{
	size_t i;
	json_t *cut;

	json_array_foreach(f->cuts, i, cut) {
		const int64_t when = json_int_or(cut, "at", 0);
		const char *of = json_str_or(cut, "op", "");

		if (when >= first && when < at &&
		    (streq(of, op) || (!once && streq(of, "*"))))
			return true;
	}
	return false;
}

void fleet_cut(struct fleet *f, const char *op)
{
	const json_t *ledger = cloud_ledger(lab(f->h)->cloud);
	const size_t n = json_array_size(ledger);
	const int64_t at = n ? json_int_or(json_array_get(ledger, n - 1), "seq", 0) : 0;

	json_push(f->cuts, json_pack("{s:I, s:s}", "at", (json_int_t)at, "op", op));
}

static void count(struct fleet *f, json_t *seen, const json_t *row, const char *key,
		  bool once)
{
	const char *op = json_str_or(row, "op", "");
	const int64_t at = json_int_or(row, "at", 0);
	const json_t *first = json_object_get(seen, key);

	if (first && !is_cut(f, op, once, json_integer_value(first), at))
		harness_blame(f->h,
			      "I2: two effects of %s, the first at %lld, the second "
			      "at %lld",
			      key, (long long)json_integer_value(first), (long long)at);
	json_object_set_new(seen, key, json_integer(at));
}

/* Each node, whatever other nodes the request had. */
static void count_once(struct fleet *f, json_t *seen, const json_t *row)
{
	size_t i;
	json_t *e;

	json_array_foreach(json_at(row, "effects"), i, e)
		count(f, seen, row,
		      arena_printf(&f->h->run, "%s %s %s", json_str_or(row, "op", ""),
				   json_str_or(e, "id", ""),
				   json_str_or(e, "change", "")),
		      true);
}

/*
 * What a step has deleted itself (an add-on that failed) it may make again, and what it
 * has made since it may delete again: each ends what the other did.
 */
static void forget_opposite(json_t *seen, const json_t *row, const char *at)
{
	const char *now = json_str_or(row, "key", "");
	const char *opposite = strstr(now, ":Delete")   ? ":Create"
			       : strstr(now, ":Create") ? ":Delete"
							: NULL;
	const char *key;
	void *next;
	json_t *v;

	if (!opposite || json_len_at(row, "effects") == 0)
		return;
	json_object_foreach_safe(seen, next, key, v)
		if (strstr(key, opposite) && strstr(key, at) == key)
			json_object_del(seen, key);
}

static void check_effects(struct fleet *f)
{
	json_t *class_of = classes(f), *seen = json_new_object(&f->h->run), *row;
	size_t i;

	json_array_foreach(lab(f->h)->arrived, i, row) {
		const char *at =
			arena_printf(&f->h->run, "%s %s", json_str_or(row, "op", ""),
				     json_str_or(row, "step", ""));
		const char *class = json_string_value(json_object_get(class_of, at));

		forget_opposite(seen, row, at);
		if (!class)
			harness_blame(f->h, "I1: %s arrived without an intent", at);
		else if (streq(class, "once"))
			count_once(f, seen, row);
		else if (!json_bool_or(row, "helm", false) &&
			 json_len_at(row, "effects") > 0)
			count(f, seen, row,
			      arena_printf(&f->h->run, "%s %s", at,
					   json_str_or(row, "key", "")),
			      false);
	}
}

/* --- whose is it? ------------------------------------------------------------------ */

static bool is_aside(const char *table)
{
	static const char *const words[] = {"event", "token", "history", "eks.update",
					    "logs."};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(table, words[i]))
			return true;
	return false;
}

static void each_object(struct fleet *f,
			void (*visit)(struct fleet *, const char *, const char *,
				      const json_t *, const struct db_rows *),
			const struct db_rows *rows)
{
	const char *table, *id, *resource, *name;
	json_t *objects, *o, *inner, *k;

	json_object_foreach((json_t *)(uintptr_t)cloud_state(lab(f->h)->cloud), table,
			    objects) {
		if (is_aside(table))
			continue;
		json_object_foreach(objects, id, o) {
			if (!streq(table, "kube")) {
				visit(f, table, id, o, rows);
				continue;
			}
			json_object_foreach(json_at(o, "objects"), resource, inner)
				json_object_foreach(inner, name, k)
					if (!is_aside(resource) &&
					    !json_at(k, "metadata.ownerReferences.0"))
						visit(f, resource, name, k, rows);
		}
	}
}

static bool is_memory(const json_t *o)
{
	return streq(json_str_or(o, "StackStatus", ""), "DELETE_COMPLETE") ||
	       streq(json_str_or(o, "State", ""), "deleted");
}

static bool is_owned(const struct db_rows *rows, const char *id, const char *text)
{
	if (strstr(text, "aws:cloudformation:stack-"))
		return true;
	for (int n = 0; n < rows->n; n++)
		if (streq(db_text(rows, n, "id"), id) ||
		    strstr(text, db_text(rows, n, "id")))
			return true;
	return false;
}

/* Whether an operation that was cancelled has made it. */
static bool is_of_cancelled(struct fleet *f, const char *text)
{
	const struct db_rows rows = harness_query(
		f->h, "select id from operation where state = 'cancelled'", NULL);

	for (int n = 0; n < rows.n; n++)
		if (strstr(text, db_text(&rows, n, "id")))
			return true;
	return false;
}

static void check_owned(struct fleet *f, const char *table, const char *id,
			const json_t *o, const struct db_rows *rows)
{
	const char *text;

	arena_reset(&f->arena);
	text = json_text(&f->arena, o);
	if (strstr(text, "instantstart:operation") && !is_memory(o) &&
	    !is_owned(rows, id, text))
		harness_blame(f->h, "%s: %s %s is owned by no row",
			      is_of_cancelled(f, text) ? "I8" : "I3", table, id);
}

static void remember(struct fleet *f, const char *table, const char *id, const json_t *o,
		     const struct db_rows *rows)
{
	(void)o;
	(void)rows;
	json_object_set_new(f->before, arena_printf(&f->h->run, "%s %s", table, id),
			    json_true());
}

void fleet_remember(struct fleet *f)
{
	each_object(f, remember, NULL);
}

/* Of the service's own making: nodes of a group that stays, and what hangs on them. */
static bool is_of_nodes(const char *table)
{
	static const char *const words[] = {
		"sagemaker.node", "network_interface", "eni",    "/nodes",
		"/pods",          "csinodes",          "leases", "/secrets"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(table, words[i]))
			return true;
	return false;
}

/* An add-on leaves its kinds and its namespace behind; those are not ours. */
static bool is_ours(const char *table, const char *text)
{
	return !strchr(table, '/') || strstr(text, "instantstart");
}

static void check_left(struct fleet *f, const char *table, const char *id,
		       const json_t *o, const struct db_rows *rows)
{
	const char *text;

	arena_reset(&f->arena);
	text = json_text(&f->arena, o);
	if (json_object_get(f->before, arena_printf(&f->arena, "%s %s", table, id)) ||
	    is_of_nodes(table) || is_memory(o) || !is_ours(table, text) ||
	    is_owned(rows, id, text))
		return;
	harness_blame(f->h, "left after all was switched off: %s %s", table, id);
}

static struct db_rows owned_rows(struct fleet *f)
{
	return harness_query(f->h, "select id from resource where state <> 'gone'", NULL);
}

void fleet_check_left(struct fleet *f)
{
	const struct db_rows rows = owned_rows(f);

	each_object(f, check_left, &rows);
}

/* --- gone, spent, still wanted ------------------------------------------------------ */

/* I6: what is called gone is not there: two reads agreed, and both were right. */
static void check_gone(struct fleet *f, const char *table, const char *id,
		       const json_t *o, const struct db_rows *gone)
{
	const char *text = NULL;

	if (is_memory(o))
		return;
	for (int n = 0; n < gone->n; n++) {
		if (!streq(db_text(gone, n, "id"), id))
			continue;
		arena_reset(&f->arena);
		text = json_text(&f->arena, o);
		if (strstr(text, db_text(gone, n, "op_id")))
			harness_blame(f->h, "I6: %s %s is called gone and is there",
				      table, id);
	}
}

/*
 * I9: what is done once is done as often as the ledger says: not at all where every
 * intent was refused, and once at least where one is done. A person's word about an
 * outcome that nobody saw is taken for what it is.
 */
static void check_spent(struct fleet *f)
{
	const struct db_rows rows = harness_query(
		f->h,
		"select f.op_id || ' ' || f.step as key, count(*) filter (where outcome = "
		"'done') as done, count(*) filter (where outcome is null) as open, "
		"exists (select 1 from event e where e.op_id = f.op_id and e.what = "
		"'answered') as asked from effect f where class = 'once' group by f.op_id, f.step",
		NULL);
	json_t *arrived = json_new_object(&f->h->run), *row;
	size_t i;

	json_array_foreach(lab(f->h)->arrived, i, row)
		if (json_len_at(row, "effects") > 0)
			json_object_set_new(arrived,
					    arena_printf(&f->h->run, "%s %s",
							 json_str_or(row, "op", ""),
							 json_str_or(row, "step", "")),
					    json_true());
	for (int n = 0; n < rows.n; n++) {
		const char *key = db_text(&rows, n, "key");
		const bool there = json_object_get(arrived, key) != NULL;

		if (streq(db_text(&rows, n, "asked"), "t"))
			continue;
		if (there && db_int(&rows, n, "done") + db_int(&rows, n, "open") == 0)
			harness_blame(f->h,
				      "I9: %s was carried out and the ledger has it as "
				      "refused",
				      key);
		f->n_spent += there;
	}
}

/*
 * I11: a group that an operation has pointed at a number of nodes, and that did not
 * have them when the operation was cancelled or failed, is in its result.
 */
void fleet_check_wanted(struct fleet *f, const char *id)
{
	const struct db_rows rows = harness_query(
		f->h,
		"select coalesce((result->'still_wanted')::text, '') as listed from operation "
		"where id = $1",
		id);
	json_t *g;
	size_t i;

	json_array_foreach(json_at(fleet_cluster(f), "InstanceGroups"), i, g) {
		const char *name = json_str_or(g, "InstanceGroupName", "?");
		const json_t *last =
			json_object_get(json_object_get(f->model, name), "InstanceCount");

		if (json_int_or(g, "CurrentCount", 0) >=
			    json_int_or(g, "TargetCount", 0) ||
		    streq(json_str_at(g, "Status"), "Deleting") ||
		    !streq(json_str_or(last, "by", ""), id))
			continue;
		f->n_wanted++;
		if (!strstr(db_text(&rows, 0, "listed"), name))
			harness_blame(
				f->h,
				"I11: %s ended and the %lld nodes of %s that it asked "
				"for may still come: %s",
				id, (long long)json_int_or(g, "TargetCount", 0), name,
				db_text(&rows, 0, "listed"));
	}
}

/* --- places ----------------------------------------------------------------------- */

static void check_subnets(struct fleet *f)
{
	json_t *zones = json_new_object(&f->h->run), *subnet;
	const char *id;

	json_object_foreach(cloud_table(lab(f->h)->cloud, "ec2.subnet"), id, subnet) {
		const char *zone = json_str_or(
			json_find(json_at(subnet, "Tags"), "Key", COMPUTE_SUBNET_TAG),
			"Value", NULL);

		if (!zone)
			continue;
		if (json_object_get(zones, zone))
			harness_blame(f->h, "two compute subnets of %s: %s and %s", zone,
				      json_string_value(json_object_get(zones, zone)),
				      id);
		json_object_set_new(zones, zone, json_string(id));
	}
	if (json_object_size(zones) == 0)
		harness_blame(f->h, "no compute subnet was found at all");
}

/* --- the catalog ------------------------------------------------------------------- */

static json_t *cloud_rows(struct fleet *f)
{
	json_t *out = json_new_object(&f->h->run), *g, *node;
	const char *id;
	size_t i;

	json_array_foreach(json_at(fleet_cluster(f), "InstanceGroups"), i, g)
		json_object_set_new(
			out,
			arena_printf(&f->h->run, "instance_group %s",
				     json_str_or(g, "InstanceGroupName", "?")),
			json_sprintf("%lld of %lld",
				     (long long)json_int_or(g, "CurrentCount", -1),
				     (long long)json_int_or(g, "TargetCount", -1)));
	json_object_foreach(cloud_table(lab(f->h)->cloud, "sagemaker.node"), id, node)
		json_object_set_new(out, arena_printf(&f->h->run, "node %s", id),
				    json_string(json_str_or(node, "InstanceId", "")));
	return out;
}

void fleet_check_catalog(struct fleet *f)
{
	const struct db_rows rows = harness_query(
		f->h,
		"select kind || ' ' || name as key, case kind when 'node' then "
		"coalesce(observed->>'instance_id', '') else coalesce(observed->>"
		"'CurrentCount', '-1') || ' of ' || (observed->>'TargetCount') end as value "
		"from catalog where kind in ('node', 'instance_group') and cluster = $1",
		f->h->target);
	json_t *cloud = cloud_rows(f), *v;
	const char *key;

	for (int i = 0; i < rows.n; i++) {
		const char *at = db_text(&rows, i, "key");

		v = json_object_get(cloud, at);
		if (!v || !streq(json_string_value(v), db_text(&rows, i, "value")))
			harness_blame(f->h, "the catalog has %s as %s, the cloud as %s",
				      at, db_text(&rows, i, "value"),
				      v ? json_string_value(v) : "nothing");
		json_object_del(cloud, at);
	}
	json_object_foreach(cloud, key, v)
		harness_blame(f->h, "the catalog does not have %s", key);
}

/* --- all of it --------------------------------------------------------------------- */

void fleet_check(struct fleet *f)
{
	const struct db_rows roots = harness_query(
		f->h, "select id from operation where parent_id is null order by id",
		NULL);
	const struct db_rows rows = owned_rows(f);
	const struct db_rows gone = harness_query(
		f->h, "select id, op_id from resource where state = 'gone'", NULL);

	for (int i = 0; i < roots.n && !f->h->why; i++) {
		str_copy(f->h->op, sizeof(f->h->op), db_text(&roots, i, "id"));
		invariants_check(f->h);
	}
	check_effects(f);
	check_spent(f);
	each_object(f, check_owned, &rows);
	each_object(f, check_gone, &gone);
	check_subnets(f);
}

const char *fleet_digest(struct fleet *f)
{
	static const char *const told[] = {"at_ms", "op", "digest", "outcome", "effects"};
	json_t *all = json_new_list(&f->h->run), *line;
	size_t i;

	json_array_foreach(cloud_ledger(lab(f->h)->cloud), i, line) {
		if (f->verbose)
			printf("fleet: ledger %s\n", json_text(&f->arena, line));
		for (size_t k = 0; k < sizeof(told) / sizeof(told[0]); k++)
			if (json_at(line, told[k]))
				json_array_append(all, json_at(line, told[k]));
	}
	return json_digest(&f->h->run, all);
}
