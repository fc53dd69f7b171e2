/*
 * preflight_all.c - everything that is wrong, at once.
 *
 * Each check that fails is noted under data.preflight and the next one is made;
 * the verdict is the last row. One fault is told as it was found, several are
 * told together, each as a cause of its own.
 */
#include "core/base/listing.h"
#include "core/domain/hyperpod/preflight.h"
#include "core/json/tree.h"

static json_t *causes_of(const struct err *e)
{
	json_t *list = json_array();

	for (size_t i = 0; i < e->n_causes; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "source",
						      e->cause[i].source, "code",
						      e->cause[i].code, "message",
						      e->cause[i].message, "request_id",
						      e->cause[i].request_id));
	return list;
}

void preflight_note(struct step_ctx *c)
{
	const struct err e = c->verdict.error;
	json_t *list = json_at(c->data, "preflight");

	if (!list) {
		step_save(c, "preflight", json_array());
		list = json_at(c->data, "preflight");
	}
	/* Found twice, by two rows: said once. */
	if (!json_find(list, "detail", e.detail))
		json_push(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:o}",
					  "step", c->step->name, "code",
					  errc_info(e.code)->slug, "detail", e.detail,
					  "field", e.field, "seen", e.seen, "expected",
					  e.expected, "fix", e.fix, "retry",
					  (int)err_retry(&e), "causes", causes_of(&e)));
	step_advance(c);
}

static void tell_one(struct step_ctx *c, const json_t *fault)
{
	struct err *e = step_fail(c, errc_from_slug(json_str_or(fault, "code", "")), "%s",
				  json_str_or(fault, "detail", ""));

	err_field(e, json_str_or(fault, "field", ""), json_str_or(fault, "seen", ""),
		  json_str_or(fault, "expected", ""));
	err_fix(e, "%s", json_str_or(fault, "fix", ""));
	e->retry = (enum retry_word)json_int_or(fault, "retry", (int64_t)e->retry);
}

static void tell_causes(struct step_ctx *c, const json_t *causes)
{
	size_t i;
	json_t *k;

	json_array_foreach(causes, i, k)
		err_because(&c->verdict.error, json_str_or(k, "source", ""),
			    json_str_or(k, "code", ""), json_str_or(k, "message", ""),
			    json_str_or(k, "request_id", ""));
}

void preflight_verdict_plan(struct step_ctx *c, struct exchange *x)
{
	json_t *faults = json_at(c->data, "preflight");
	struct listing all = listing_new(c->arena, "; ", LISTING_LONG + LISTING_SHORT);
	size_t i;
	json_t *f;

	(void)x;
	if (json_array_size(faults) == 0)
		return;
	/* Owned: dropped from the data, so that a retry checks anew. */
	json_own(c->arena, json_incref(faults));
	json_drop(c->data, "preflight");
	tell_one(c, json_array_get(faults, 0));
	if (json_array_size(faults) == 1) {
		tell_causes(c, json_at(faults, "0.causes"));
		return;
	}
	json_array_foreach(faults, i, f) {
		listing_add(&all, "(%zu) %s", i + 1, json_str_or(f, "detail", ""));
		err_because(&c->verdict.error, json_str_or(f, "step", ""),
			    json_str_or(f, "code", ""),
			    arena_printf(c->arena, "%s (%s: %s; expected: %s) %s",
					 json_str_or(f, "detail", ""),
					 json_str_or(f, "field", ""),
					 json_str_or(f, "seen", ""),
					 json_str_or(f, "expected", ""),
					 json_str_or(f, "fix", "")),
			    NULL);
	}
	str_copy(c->verdict.error.detail, sizeof(c->verdict.error.detail),
		 arena_printf(c->arena, "%zu requirements are not met: %s",
			      json_array_size(faults), listing_text(&all)));
}
