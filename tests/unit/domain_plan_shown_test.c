/*
 * However much is at stake, the answer is bounded, the count is right, and the word for
 * `confirm` is of all of it: for each type of thing that can be at stake.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "core/domain/stake/reference.h"
#include "core/domain/stake/stake.h"
#include "core/json/tree.h"
#include "core/op/plan_shown.h"

enum { ANSWER_BYTES = 64 * 1024, LOTS = 5000 };

static const size_t sizes[] = {0, 1, PLAN_SHOWN, PLAN_SHOWN + 1, LOTS};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* n things of the type, each with `each` texts in every list that it can have; in the
 * last one's last text stands `mark`. */
static json_t *rows_of(struct arena *a, const char *type, size_t n, size_t each,
		       const char *mark)
{
	json_t *rows = json_new_list(a);

	for (size_t i = 0; i < n; i++) {
		json_t *row = json_object();

		json_object_set_new(row, type, json_sprintf("thing-%zu", i));
		for (const struct reference *r = references; r->type; r++) {
			json_t *list;

			if (!streq(r->type, type))
				continue;
			list = json_array();
			for (size_t k = 0; k < each; k++)
				json_array_append_new(
					list,
					json_sprintf("team/%zu-%zu%s", i, k,
						     i + 1 == n && k + 1 == each ? mark
										 : ""));
			json_object_set_new(row, r->name, list);
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

/* As a plan has it that a step of the kind puts these rows at stake in. */
static json_t *plan_of(struct arena *a, const json_t *rows)
{
	static struct config cfg;
	struct step_ctx c = {.arena = a,
			     .cfg = &cfg,
			     .planning = true,
			     .input = json_new_object(a),
			     .data = json_new_object(a),
			     .events = json_new_list(a),
			     .at_stake = json_new_list(a)};
	json_t *warnings = json_new_list(a), *event;
	size_t i;

	cr_assert(stake_settle(&c, rows, "the things that go"));
	json_array_foreach(c.events, i, event)
		json_array_append(warnings, json_at(event, "data.text"));
	return json_packf(a, "{s:s, s:O, s:O, s:s}", "kind", "test", "at_stake",
			  c.at_stake, "warnings", warnings, "confirm",
			  plan_word(a, c.at_stake));
}

static void holds(const char *type, size_t n, size_t each)
{
	struct arena a;
	json_t *plan, *shown, *row, *list;
	const char *key, *word;
	char more[64];
	size_t i;

	arena_init(&a, (size_t)1 << 30);
	plan = plan_of(&a, rows_of(&a, type, n, each, ""));
	shown = plan_shown(&a, plan);
	word = json_str_at(shown, "confirm");
	cr_expect_eq(json_len_at(plan, "at_stake"), n, "the plan itself is whole");
	cr_expect_eq(json_len_at(shown, "at_stake"), n < PLAN_SHOWN ? n : PLAN_SHOWN);
	cr_expect_eq(json_int_or(shown, "counts.at_stake", (int64_t)n), n);
	cr_expect_eq(json_at(shown, "counts.at_stake") != NULL, n > PLAN_SHOWN);
	json_array_foreach(json_at(shown, "at_stake"), i, row)
		json_object_foreach(row, key, list) {
			if (!json_is_array(list))
				continue;
			cr_expect_leq(json_array_size(list), PLAN_SHOWN + 1);
			snprintf(more, sizeof(more), "and %zu more", each - PLAN_SHOWN);
			if (each > PLAN_SHOWN)
				cr_expect_str_eq(json_string_value(json_array_get(
							 list, PLAN_SHOWN)),
						 more);
		}
	/* The bound is of the number of rows and texts, not of what there is. */
	if (each < 10 || n < 10)
		cr_expect_lt(strlen(json_text(&a, shown)), ANSWER_BYTES, "%s %zu %zu",
			     type, n, each);
	if (n && each)
		cr_expect_str_neq(
			word,
			json_str_at(plan_of(&a, rows_of(&a, type, n, each, "'")),
				    "confirm"),
			"%s: the last of %zu is not bound", type, n);
	if (n)
		cr_expect_str_neq(
			word, json_str_at(plan_of(&a, rows_of(&a, type, n - 1, each, "")),
					  "confirm"));
	cr_expect_str_eq(word, json_str_at(plan_of(&a, rows_of(&a, type, n, each, "")),
					   "confirm"));
	arena_free(&a);
}

static bool seen_before(const struct reference *r)
{
	for (const struct reference *p = references; p < r; p++)
		if (streq(p->type, r->type))
			return true;
	return false;
}

Test(plan_shown, whatever_is_at_stake_is_bounded_counted_and_bound_by_the_word)
{
	for (const struct reference *r = references; r->type; r++)
		for (size_t i = 0; i < SIZES && !seen_before(r); i++) {
			holds(r->type, sizes[i], 2);
			holds(r->type, 1, sizes[i]);
		}
}

/* What was confirmed beyond the rows that are shown counts as confirmed, and nothing
 * else does. */
Test(plan_shown, what_is_not_shown_was_confirmed_as_well)
{
	struct arena a;

	arena_init(&a, (size_t)1 << 30);
	for (size_t i = 1; i < SIZES; i++) {
		const json_t *rows = rows_of(&a, "node", sizes[i], 2, "");
		struct step_ctx c = {.arena = &a,
				     .input = json_packf(&a, "{s:O}", "confirmed", rows),
				     .data = json_new_object(&a),
				     .events = json_new_list(&a)};

		cr_expect(stake_settle(&c, rows, "it"), "%zu", sizes[i]);
		cr_expect_not(
			stake_settle(&c, rows_of(&a, "node", sizes[i], 2, "'"), "it"));
		cr_expect_eq(c.verdict.error.code, ERR_LOSS_NOT_CONFIRMED);
		cr_expect_not(
			stake_settle(&c, rows_of(&a, "node", sizes[i] + 1, 2, ""), "it"));
	}
	arena_free(&a);
}

/* Every list of a plan that grows is counted; the others are as they were. */
Test(plan_shown, lists_of_texts_are_bounded_too_and_the_rest_stays)
{
	struct arena a;
	json_t *texts, *shown, *plan;

	arena_init(&a, 0);
	texts = json_new_list(&a);
	for (int i = 0; i < PLAN_SHOWN + 7; i++)
		json_array_append_new(texts, json_sprintf("text %d", i));
	plan = json_packf(&a, "{s:O, s:O, s:O, s:s}", "warnings", texts, "not_known",
			  texts, "steps", texts, "plan_digest", "d");
	shown = plan_shown(&a, plan);
	cr_expect_eq(json_len_at(shown, "warnings"), PLAN_SHOWN);
	cr_expect_eq(json_len_at(shown, "not_known"), PLAN_SHOWN);
	cr_expect_eq(json_len_at(shown, "steps"), PLAN_SHOWN + 7);
	cr_expect_eq(json_int_or(shown, "counts.warnings", 0), PLAN_SHOWN + 7);
	cr_expect_eq(json_int_or(shown, "counts.not_known", 0), PLAN_SHOWN + 7);
	cr_expect_eq(json_object_size(json_at(shown, "counts")), 2);
	cr_expect_str_eq(json_str_at(shown, "plan_digest"), "d");
	cr_expect_eq(json_len_at(plan, "warnings"), PLAN_SHOWN + 7);
	arena_free(&a);
}
