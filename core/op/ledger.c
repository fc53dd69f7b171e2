/*
 * What the ledger is told of a call: only an effect that has come true changes it.
 *
 * What plan() says of resources and of the catalog beside a mutation is what will be
 * once that has come true; so is what absorb() says of its answer. Refused, or with an
 * outcome that nobody knows, all of it is dropped, and the ledger keeps what was there:
 * the next look says what is so.
 */
#include "core/json/tree.h"
#include "core/op/walk.h"

void walk_intend(struct walk *w)
{
	w->seen_resources = json_array_size(w->ctx.resources);
	w->seen_catalog = json_array_size(w->ctx.catalog);
	w->ctx.promised = NULL;
}

/*
 * The request as the intent keeps it: with the rows that are written by effect_observed()
 * when the call has come true and nobody has had its answer.
 */
const json_t *walk_with_ledger(struct walk *w, const json_t *request)
{
	const json_t *said = w->ctx.resources;
	json_t *rows = w->ctx.promised ? w->ctx.promised : json_new_list(w->a);
	json_t *with;

	for (size_t i = w->seen_resources; i < json_array_size(said); i++)
		json_push(rows, json_incref(json_array_get(said, i)));
	if (json_array_size(rows) == 0)
		return request;
	with = json_deep_copy(request);
	json_own(w->a, with);
	json_object_set(with, "ledger", rows);
	return with;
}

static void cut(json_t *list, size_t n)
{
	while (json_array_size(list) > n)
		json_array_remove(list, json_array_size(list) - 1);
}

void walk_forget_intended(struct walk *w)
{
	cut(w->ctx.resources, w->seen_resources);
	cut(w->ctx.catalog, w->seen_catalog);
}

/*
 * What the answer says of the effect. A refusal that the step takes for
 * success (its object exists already and is ours) is a success. A refusal of a
 * repeat that is transient, or that the step wants to look into ("exists
 * already", by the issue before it?), says nothing about the earlier issue: it
 * stays unknown until observe() has found something.
 */
enum effect_outcome walk_outcome(const struct walk *w, const struct answer *ans,
				 bool repeat)
{
	const enum verdict_kind v = w->ctx.verdict.kind;

	if (ans->ambiguous)
		return EFFECT_UNKNOWN;
	if (ans->ok || v == VERDICT_ADVANCE || v == VERDICT_DONE)
		return EFFECT_DONE;
	if (repeat && (backoff_is_transient(ans->errc) || v == VERDICT_WAIT))
		return EFFECT_UNKNOWN;
	return EFFECT_REFUSED;
}
