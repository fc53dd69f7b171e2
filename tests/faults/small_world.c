/* The world of provider.c and kinds.c, and its invariants. */
#include <stdio.h>
#include <string.h>

#include "core/json/tree.h"
#include "tests/faults/harness.h"
#include "tests/faults/kinds.h"
#include "tests/faults/provider.h"

/* Longer than a lease: what was just made is missed by whoever takes over. */
enum { LAG_MS = 25 * 1000 };

static struct provider *cloud(struct harness *h)
{
	return h->world_state;
}

static void close_cloud(struct harness *h)
{
	provider_free(cloud(h));
}

static void reset(struct harness *h)
{
	char name[40];

	if (!h->world_state)
		h->world_state = arena_new(&h->arena, struct provider);
	else
		provider_free(cloud(h));
	provider_init(cloud(h), &h->clock, LAG_MS);
	provider_seed(cloud(h), "converged", h->target, 1);
	for (int i = 0; h->scenario->seeded && i < 2; i++) {
		snprintf(name, sizeof(name), "%s-%s", h->target, i ? "second" : "first");
		provider_seed(cloud(h), "named", name, 0);
	}
}

static void *save(struct harness *h)
{
	return provider_save(cloud(h));
}

static void restore(struct harness *h, const struct stage *s)
{
	provider_restore(cloud(h), s->world);
}

static void drop(void *saved)
{
	json_decref(saved);
}

static void forget(struct instance *i)
{
	(void)i; /* its runners keep nothing */
}

static void sent(void *ctx)
{
	struct instance *i = ctx;

	harness_point(i->h, "after-send", i->step);
}

static void exchange(struct runner *r, const struct exchange *x, const char *token,
		     struct arena *a, struct answer *ret)
{
	struct instance *i = r->exchange_ctx;

	provider_exchange(cloud(i->h), i->step->name, x, token, a, ret, sent, i);
	harness_sync(i);
}

static void begun(struct harness *h)
{
	cloud(h)->mutations = 0;
}

static void set_fault(struct harness *h, int nth, int fault)
{
	cloud(h)->fault_at = nth;
	cloud(h)->fault = (enum fault)fault;
}

static void set_random(struct harness *h, unsigned permille)
{
	cloud(h)->rng = permille ? &h->rng.rng : NULL;
	cloud(h)->fault_permille = permille;
}

static int mutations(struct harness *h)
{
	return cloud(h)->mutations;
}

static bool happened(struct harness *h, const char *op, const char *step,
		     const char *item)
{
	return provider_effects(cloud(h), op, step, item) > 0;
}

static const char *name_of_fault(int fault)
{
	return fault_name((enum fault)fault);
}

/* --- end state --------------------------------------------------------- */

static void describe(struct harness *h, struct buf *out)
{
	const char **line = arena_array(&h->run, const char *,
					json_object_size(cloud(h)->objects) + 1);
	size_t n = 0;
	const char *id;
	json_t *o;

	json_object_foreach(cloud(h)->objects, id, o)
		line[n++] = arena_printf(&h->run, "%s %s value %lld keep %s ours %d",
					 json_str_at(o, "type"), json_str_at(o, "name"),
					 (long long)json_int_or(o, "value", 0),
					 json_str_or(o, "keep", ""),
					 streq(json_str_at(o, "root"), h->op));
	harness_sort_lines(h, line, n, out);
}

/* --- invariants -------------------------------------------------------- */

/* I1: no mutation without a stored intent, older than its arrival. */
static void check_intents(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h,
		"select f.op_id || ' ' || f.step || ' ' || f.item as key, "
		"j_ms(min(first_issued_at)) as first_ms from effect f join operation o on o.id = "
		"f.op_id where o.root_id = $1 group by 1",
		h->op);
	size_t i;
	json_t *row;

	json_array_foreach(cloud(h)->ledger, i, row) {
		const char *key =
			arena_printf(&h->run, "%s %s %s", json_str_at(row, "op"),
				     json_str_at(row, "step"), json_str_at(row, "item"));
		bool found = false;

		for (int n = 0; n < rows.n && !found; n++)
			found = streq(db_text(&rows, n, "key"), key) &&
				db_int(&rows, n, "first_ms") <= json_int_or(row, "at", 0);
		if (!found)
			harness_blame(h, "I1: %s %s arrived without an intent", key,
				      json_str_at(row, "type"));
	}
}

/*
 * I2: at most one effect per intent. I9: each done intent of a step that acts
 * once is one effect, no more, no less.
 */
static void check_effects(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h,
		"select f.op_id, f.step, f.item, max(f.class) as class, "
		"count(*) filter (where outcome = 'done') as done from effect f join operation o "
		"on o.id = f.op_id where o.root_id = $1 group by 1, 2, 3",
		h->op);

	for (int i = 0; i < rows.n; i++) {
		const char *step = db_text(&rows, i, "step");
		const int n = provider_effects(cloud(h), db_text(&rows, i, "op_id"), step,
					       db_text(&rows, i, "item"));

		if (n > 1)
			harness_blame(h, "I2: %d effects of %s %s", n, step,
				      db_text(&rows, i, "item"));
		if (streq(db_text(&rows, i, "class"), "once") &&
		    n != (int)db_int(&rows, i, "done"))
			harness_blame(h, "I9: %d effects of %s, %lld in the ledger", n,
				      step, (long long)db_int(&rows, i, "done"));
	}
}

/* I3, I8: every object with our tag is owned by a row, cancelled or not. */
static void check_owned(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h, "select type, id from resource where op_id = $1 and state <> 'gone'",
		h->op);
	/* A cancel that comes while the last step ends is too late. */
	const struct db_rows end =
		harness_query(h, "select state from operation where id = $1", h->op);
	const bool undone = h->undone && streq(db_text(&end, 0, "state"), "cancelled");
	const char *id;
	json_t *o;

	json_object_foreach(cloud(h)->objects, id, o) {
		bool owned = false;

		if (streq(json_str_at(o, "type"), "actions"))
			continue;
		for (int n = 0; n < rows.n && !owned; n++)
			owned = streq(db_text(&rows, n, "id"), id) ||
				streq(db_text(&rows, n, "id"), json_str_at(o, "name"));
		if (!owned && streq(json_str_at(o, "root"), h->op))
			harness_blame(h, "%s: %s %s is owned by no row",
				      h->cancelled ? "I8" : "I3", json_str_at(o, "type"),
				      id);
		if (owned && undone && harness_can_undo(h, h->scenario) &&
		    streq(json_str_at(o, "root"), h->op))
			harness_blame(h, "undo has left %s", id);
	}
}

/* I6: gone only after two agreeing reads, further apart than the lag. */
static void check_gone(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h, "select type, id from resource where op_id = $1 and state = 'gone'",
		h->op);

	for (int n = 0; n < rows.n; n++) {
		const json_t *times = json_object_get(
			cloud(h)->absent,
			arena_printf(&h->run, "%s/%s", db_text(&rows, n, "type"),
				     db_text(&rows, n, "id")));
		const size_t len = json_array_size(times);

		if (len < 2 ||
		    json_integer_value(json_array_get(times, len - 1)) -
				    json_integer_value(json_array_get(times, 0)) <
			    LAG_MS)
			harness_blame(h, "I6: %s is called gone after %zu reads",
				      db_text(&rows, n, "id"), len);
	}
}

/* I10: no step changes a value that it did not plan to change. */
static void check_unplanned(struct harness *h)
{
	const char *id;
	json_t *o;

	json_object_foreach(cloud(h)->objects, id, o)
		if (streq(json_str_at(o, "type"), "converged") &&
		    !streq(json_str_at(o, "keep"), "somebody else's"))
			harness_blame(h, "I10: %s has lost a value that is not ours", id);
}

static void check(struct harness *h)
{
	check_intents(h);
	check_effects(h);
	check_owned(h);
	check_gone(h);
	check_unplanned(h);
}

static const struct scenario scenarios[] = {
	{.name = "classes", .kind = "classes"},
	{.name = "blind", .kind = "blind"},
	{.name = "leaf", .kind = "leaf"},
	{.name = "pipeline", .kind = "pipeline"},
	{.name = "teardown", .kind = "teardown", .seeded = true},
	{.name = "asks", .kind = "asks"},
	{.name = "limited", .kind = "limited", .retries = 1},
	{.kind = NULL},
};

const struct fault_world small_world = {
	.name = "small",
	.scenarios = scenarios,
	.kinds = fault_kinds,
	.lag_ms = LAG_MS,
	.reset = reset,
	.close = close_cloud,
	.save = save,
	.restore = restore,
	.drop = drop,
	.forget = forget,
	.exchange = exchange,
	.begun = begun,
	.set_fault = set_fault,
	.set_random = set_random,
	.mutations = mutations,
	.happened = happened,
	.describe = describe,
	.check = check,
	.n_faults = FAULT_COUNT_,
	.fault_name = name_of_fault,
};
