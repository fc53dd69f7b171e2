/* What goes wrong: crashes, stalls, cancels, and a person's word. */
#include <string.h>

#include "core/json/tree.h"
#include "core/op/walk.h"
#include "tests/faults/harness.h"

/* The hook has no context: the harness at work. Tests run one at a time. */
static struct harness *at_work;

const char *act_name(enum act a)
{
	static const char *const name[ACT_COUNT_] = {"none",   "crash",     "stall",
						     "cancel", "undo",      "moved",
						     "gone",   "impossible"};

	return name[a];
}

/* --- what goes wrong --------------------------------------------------- */

void harness_order(struct harness *h,
		   bool (*give)(struct db *, struct arena *, const struct order *,
				struct str *, struct err *),
		   const char *op, json_t *args)
{
	const struct order o = {
		.op_id = op, .principal = "tester", .face = "rest", .args = args};
	struct str doc;
	struct err e;

	harness_sync_admin(h);
	/* It may have ended meanwhile: that is the one refusal that is allowed. */
	if (!give(h->admin, &h->run, &o, &doc, &e) && e.code != ERR_STATE_CONFLICT)
		harness_blame(h, "an order was refused: %s", e.detail);
}

static void cancel(struct harness *h, bool undo)
{
	h->cancelled = true;
	h->undone = undo;
	harness_order(h, journal_cancel, h->op,
		      json_packf(&h->run, "{s:b}", "undo", undo));
}

static int64_t fence(struct instance *i)
{
	const struct db_rows rows = harness_query(
		i->h, "select claim_gen from operation where id = $1", i->op);

	return rows.n ? db_int(&rows, 0, "claim_gen") : 0;
}

/* Freezes the runner at work beyond its lease while another takes over. */
static void stall(struct harness *h)
{
	struct instance *frozen = h->cur;
	struct instance *other = &h->inst[(frozen - h->inst + 1) % INSTANCES];
	const int64_t gen = fence(frozen);
	char op[sizeof(h->op)];

	str_copy(op, sizeof(op), h->op);
	h->nested = true;
	clock_manual_advance(&h->clock, runner_lease_ms(&frozen->r) + 1);
	for (int n = 0; n < 2; n++)
		if (!harness_tick(other))
			break;
	h->nested = false;
	h->cur = frozen;
	str_copy(h->op, sizeof(h->op), op);
	harness_sync(frozen);
	/* Of several operations the other may have had others to carry on; once fenced,
	 * though, what it does in a second stall is its own work, too. */
	if (h->frozen || fence(frozen) != gen)
		h->frozen = harness_snapshot(h);
}

/*
 * A process that freezes between its last check and the send sends all the same
 * when it wakes: nothing but time guards what is only tagged, and the window in
 * which a list may miss it ends too early by the length of the freeze. That one
 * class is not asked to survive it; tokens, names and full states are, and what
 * must happen once is then found or asked about, never sent again.
 */
static bool may_stall(const char *point, const struct step *s)
{
	return !streq(point, "after-settle") &&
	       !(streq(point, "before-send") && s->effect == EFFECT_TAGGED);
}

static void act(struct harness *h, enum act a, const char *point, const struct step *s)
{
	if (a == ACT_CRASH) {
		h->acted = true;
		longjmp(h->crash, 1);
	} else if (a == ACT_STALL && may_stall(point, s)) {
		h->acted = true;
		stall(h);
	} else if (a == ACT_CANCEL || a == ACT_UNDO) {
		h->acted = true;
		cancel(h, a == ACT_UNDO);
	} else if (a >= ACT_MOVED && h->world->others) {
		h->acted = h->world->others(h, a);
		h->moved = h->acted;
	}
}

static void note_operation(struct instance *i)
{
	const struct db_rows rows = harness_query(
		i->h,
		"select id, root_id from operation where claimed_by = $1 order by due_at desc "
		"limit 1",
		i->name);

	str_copy(i->op, sizeof(i->op), rows.n ? db_text(&rows, 0, "id") : "");
	if (i->h->many && rows.n)
		str_copy(i->h->op, sizeof(i->h->op), db_text(&rows, 0, "root_id"));
}

void harness_point(struct harness *h, const char *point, const struct step *s)
{
	h->cur->step = s;
	if (streq(point, "after-claim"))
		note_operation(h->cur);
	if (h->nested)
		return;
	if (h->n_spots < SPOTS_MAX)
		h->spot[h->n_spots] = (struct spot){point, s, !streq(h->cur->op, h->op),
						    h->world->mutations(h)};
	h->n_spots++;
	if (h->act != ACT_NONE && h->n_spots == h->at)
		act(h, h->act, point, s);
	else if (h->random_permille && rng_below(&h->rng.rng, 1000) < h->random_permille)
		act(h, rng_below(&h->rng.rng, 2) ? ACT_CRASH : ACT_STALL, point, s);
}

static void hook(const char *point, const struct step *s)
{
	harness_point(at_work, point, s);
}

void disturb_begin(struct harness *h)
{
	at_work = h;
	crashpoint_hook = hook;
}

/* --- a person ---------------------------------------------------------- */

/* A person who can look at the world, which no program can. */
void harness_decide(struct harness *h)
{
	const struct db_rows rows =
		harness_query(h,
			      "select id, step, question->'evidence'->>'item' as item, "
			      "question->'choices'->0->>'id' as first from operation "
			      "where root_id = $1 and state = 'held'",
			      h->op);
	const char *choice;

	if (h->why)
		return;
	choice = db_text(&rows, 0, "first");
	if (streq(choice, CHOICE_HAPPENED) &&
	    !h->world->happened(h, db_text(&rows, 0, "id"), db_text(&rows, 0, "step"),
				db_text(&rows, 0, "item") ? db_text(&rows, 0, "item")
							  : ""))
		choice = CHOICE_NOT_HAPPENED;
	harness_order(h, journal_answer, db_text(&rows, 0, "id"),
		      json_packf(&h->run, "{s:s}", "choice", choice));
}
