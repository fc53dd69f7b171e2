/* What people do: they ask, give up, answer questions, and ask again. */
#include <string.h>

#include "core/json/tree.h"
#include "core/op/walk.h"
#include "tests/faults/fleet.h"

static int64_t below(struct fleet *f, int64_t n)
{
	return (int64_t)rng_below(&f->rng.rng, (uint64_t)n);
}

bool fleet_submit(struct fleet *f, const char *kind, json_t *input, bool queue)
{
	struct harness *h = f->h;
	char id[40];
	struct submitted got;
	struct err e = {0};
	struct submission s = {
		.id = id,
		.kind = kind_find(h->world->kinds, kind),
		.target = h->target,
		.input = input,
		.principal = "tester",
		.face = "rest",
		.capability = "test",
		.queue = queue,
	};

	json_put_str(input, "cluster", h->target);
	s.digest = json_digest(&h->run, input);
	id_make(&h->rng.rng, h->clock.wall, "op_", id, sizeof(id));
	harness_sync_admin(h);
	if (journal_submit(h->admin, &h->run, &s, &got, &e)) {
		f->accepted += got.outcome == SUBMIT_NEW;
		f->same += got.outcome == SUBMIT_SAME;
		return true;
	}
	/* The one answer besides: somebody is at work on it, and it says who. */
	if (e.code != ERR_CONFLICT || queue)
		harness_blame(h, "submit %s: %s", kind, e.detail);
	else if (!strstr(e.detail, "op_"))
		harness_blame(h, "a conflict that names nobody: %s", e.detail);
	f->refused++;
	return false;
}

void fleet_request_one(struct fleet *f)
{
	const struct fleet_request r = fleet_draw(f);

	f->sent++;
	fleet_submit(f, r.kind, r.input, below(f, 10) > 0);
}

/* It may have ended meanwhile, or its lock is another's. */
bool fleet_order(struct fleet *f,
		 bool (*order)(struct db *, struct arena *, const struct order *,
			       struct str *, struct err *),
		 const char *op, json_t *args)
{
	const struct order o = {
		.op_id = op, .principal = "tester", .face = "rest", .args = args};
	struct str doc;
	struct err e = {0};

	harness_sync_admin(f->h);
	if (order(f->h->admin, &f->h->run, &o, &doc, &e))
		return true;
	if (e.code != ERR_STATE_CONFLICT && e.code != ERR_CONFLICT)
		harness_blame(f->h, "an order was refused: %s", e.detail);
	return false;
}

void fleet_answer(struct fleet *f)
{
	static const char *const choices[] = {CHOICE_HAPPENED, CHOICE_NOT_HAPPENED,
					      CHOICE_STOP};
	const struct db_rows rows = harness_query(
		f->h,
		"select id, question->>'question' as question from operation "
		"where state = 'held' order by id limit 1",
		NULL);
	const char *id, *choice = choices[below(f, 3)];

	if (!rows.n)
		return;
	id = db_text(&rows, 0, "id");
	if (!strchr(db_text(&rows, 0, "question"), '?'))
		harness_blame(f->h, "held by no question: %s",
			      db_text(&rows, 0, "question"));
	f->answers++;
	if (streq(choice, CHOICE_NOT_HAPPENED))
		fleet_cut(f, id);
	fleet_order(f, journal_answer, id,
		    json_packf(&f->h->run, "{s:s}", "choice", choice));
}

void fleet_cancel(struct fleet *f)
{
	const struct db_rows rows = harness_query(
		f->h,
		"select id from operation where parent_id is null and state in "
		"('live', 'held') order by id",
		NULL);

	if (rows.n &&
	    fleet_order(f, journal_cancel, db_text(&rows, (int)below(f, rows.n), "id"),
			json_packf(&f->h->run, "{s:b}", "undo", 0)))
		f->cancels++;
}
