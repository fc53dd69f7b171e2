/* What must hold after every run, as far as the journal alone can tell. */
#include "core/json/tree.h"
#include "tests/faults/harness.h"

/* I4: each accepted operation ends or is held; here, a person has answered. */
static void check_ended(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h,
		"select id, kind, state, step from operation where root_id = $1 order by id",
		h->op);
	const char *state;

	if (rows.n == 0)
		harness_blame(h, "I4: the operation has disappeared");
	for (int i = 0; i < rows.n; i++) {
		state = db_text(&rows, i, "state");
		if (!streq(state, "succeeded") && !streq(state, "failed") &&
		    !streq(state, "cancelled"))
			harness_blame(h, "I4: %s at %s is %s", db_text(&rows, i, "kind"),
				      db_text(&rows, i, "step"), state);
	}
}

/* I7: replaying the events rebuilds the state, and none is missing. */
static void check_replay(struct harness *h)
{
	const struct db_rows rows = harness_query(
		h,
		"select o.kind, o.state || '/' || o.step as row, r.state || '/' || r.step as events "
		"from operation o, op_replay(o.id) r where o.root_id = $1 and "
		"((o.state, o.step, o.phase) is distinct from (r.state, r.step, r.phase) or "
		"exists (select 1 from event e where e.op_id = o.id "
		"having count(*) <> max(seq)))",
		h->op);

	if (rows.n)
		harness_blame(h, "I7: %s: row %s, events %s", db_text(&rows, 0, "kind"),
			      db_text(&rows, 0, "row"), db_text(&rows, 0, "events"));
}

/* An ended operation holds no lock and leaves no effect of unknown outcome. */
static void check_loose_ends(struct harness *h)
{
	const struct db_rows locks =
		harness_query(h, "select key from lock where op_id = $1", h->op);
	const struct db_rows open = harness_query(
		h,
		"select f.step, f.class from effect f join operation o on o.id = f.op_id "
		"where o.root_id = $1 and o.state = 'succeeded' and f.outcome is null",
		h->op);

	if (locks.n)
		harness_blame(h, "the lock %s outlives its operation",
			      db_text(&locks, 0, "key"));
	if (open.n)
		harness_blame(h, "the outcome of %s (%s) stayed unknown",
			      db_text(&open, 0, "step"), db_text(&open, 0, "class"));
}

void invariants_check(struct harness *h)
{
	check_ended(h);
	check_replay(h);
	check_loose_ends(h);
}
