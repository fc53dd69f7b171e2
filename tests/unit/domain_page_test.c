/*
 * Lists: every row that lists takes limit and cursor and says when there is more, and a
 * walk over the pages meets each item once, whatever comes and goes meanwhile.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/domain/capability.h"
#include "core/domain/page.h"
#include "core/json/tree.h"

/* --- the table ------------------------------------------------------------------------
 */

static bool lists(const struct capability *cap)
{
	return strncmp(cap->name, "list_", 5) == 0 ||
	       strncmp(cap->name, "search_", 7) == 0;
}

Test(pages, every_list_takes_limit_and_cursor_and_says_when_there_is_more)
{
	int n = 0;

	for (const struct capability *const *c = capabilities; *c; c++) {
		const struct capability *cap = *c;
		const struct field *limit = cap->in ? field_find(cap->in, "limit") : NULL;
		const struct field *cursor =
			cap->in ? field_find(cap->in, "cursor") : NULL;
		const struct field *items =
			cap->out ? field_find(cap->out, "items") : NULL;
		const struct field *next =
			cap->out ? field_find(cap->out, "next_cursor") : NULL;

		cr_expect_eq(lists(cap), (cap->flags & CAP_LIST) != 0, "%s", cap->name);
		if (!(cap->flags & CAP_LIST))
			continue;
		n++;
		cr_assert(limit && cursor && items && next, "%s", cap->name);
		cr_expect(limit->type == FIELD_INT && limit->min == 1 &&
				  limit->max <= 1000 && limit->dflt,
			  "%s: limit", cap->name);
		cr_expect(cursor->type == FIELD_STR && !(cursor->flags & FIELD_REQUIRED),
			  "%s: cursor", cap->name);
		/* Else a cursor of any length goes into a query. */
		cr_expect(cursor->pattern || cursor->max, "%s: cursor", cap->name);
		cr_expect(items->flags & FIELD_MANY && items->flags & FIELD_REQUIRED,
			  "%s", cap->name);
		cr_expect((next->flags & (FIELD_REQUIRED | FIELD_NULLABLE)) ==
				  (FIELD_REQUIRED | FIELD_NULLABLE),
			  "%s: next_cursor", cap->name);
	}
	cr_expect_geq(n, 17, "only %d lists", n);
}

/* --- pages of a whole list
 * ---------------------------------------------------------------- */

enum { MOST = 130 };

static json_t *names(struct arena *a, const bool here[MOST])
{
	json_t *list = json_new_list(a);

	for (int i = 0; i < MOST; i++)
		if (here[i])
			json_array_append_new(list, json_pack("{s:o}", "name",
							      json_sprintf("n%03d", i)));
	return list;
}

/* 7 of "n007"; a name that is not one of these fails. */
static int64_t number_of(const char *name)
{
	int64_t n = 0;

	cr_assert(streq(name, "n000") ||
			  str_to_i64(str_of(name + strspn(name, "n0")), &n),
		  "%s", name);
	return n;
}

/* As SQL's and the cloud's lists: those that stay keep their order. */
static void change(struct rng *rng, bool here[MOST], const bool stays[MOST])
{
	for (int i = 0; i < MOST; i++)
		if (!stays[i] && rng_below(rng, 6) == 0)
			here[i] = !here[i];
}

static void walk(struct rng *rng, bool changes)
{
	const int64_t limit = 1 + (int64_t)rng_below(rng, 40);
	bool here[MOST], stays[MOST];
	int met[MOST] = {0}, pages = 0;
	const char *cursor = NULL;
	struct arena a;

	arena_init(&a, 0);
	for (int i = 0; i < MOST; i++) {
		here[i] = rng_below(rng, 3) > 0;
		stays[i] = here[i] && (!changes || rng_below(rng, 4) > 0);
	}
	do {
		json_t *items = names(&a, here), *next, *v;
		size_t i;

		next = page_cut(&a, items, "name", limit, cursor);
		cr_assert_leq(json_array_size(items), (size_t)limit);
		json_array_foreach(items, i, v)
			met[number_of(json_str_or(v, "name", "n0"))]++;
		cursor = json_string_value(next);
		/* The last of this page may be named by the cursor: it stays. */
		if (cursor)
			stays[number_of(strchr(cursor, '/') + 1)] = true;
		if (changes)
			change(rng, here, stays);
		cr_assert(++pages <= MOST + 1);
	} while (cursor);
	for (int i = 0; i < MOST; i++)
		if (stays[i])
			cr_expect_eq(met[i], 1, "n%03d was met %d times", i, met[i]);
	arena_free(&a);
}

Test(pages, a_walk_meets_each_item_once_whatever_comes_and_goes)
{
	struct rng_seeded rng;

	rng_seeded_init(&rng, 7);
	for (int i = 0; i < 300; i++)
		walk(&rng.rng, i % 2);
}

/* The cursor's own item has gone, two have one name, the place is beyond the end. */
Test(pages, a_cursor_whose_item_has_gone_still_leads_on)
{
	static const struct {
		const char *names, *cursor, *page;
		bool more;
	} rows[] = {
		{"[a,b,c,d]", NULL, "[a,b]", true},
		{"[a,b,c,d]", "2/b", "[c,d]", false},
		{"[a,c,d]", "2/b", "[c,d]", false},
		{"[x,a,b,c]", "2/b", "[c]", false},
		{"[a,a,a,a]", "2/a", "[a,a]", false},
		{"[a,b]", "9/b", "[]", false},
		{"[a,b]", "9/z", "[]", false},
		{"[a,b]", "999999/", "[]", false},
		{"[a,b]", "0/", "[a,b]", false},
		{"[]", "2/b", "[]", false},
		{"[]", NULL, "[]", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *items = json_array(), *next, *v;
		struct arena a;
		struct buf got;
		size_t k;

		arena_init(&a, 0);
		for (const char *p = rows[i].names; *p; p++)
			if (*p >= 'a' && *p <= 'z')
				json_array_append_new(
					items,
					json_pack("{s:o}", "name", json_stringn(p, 1)));
		buf_init(&got, &a, 64);
		next = page_cut(&a, items, "name", 2, rows[i].cursor);
		json_array_foreach(items, k, v) {
			buf_adds(&got, k ? "," : "[");
			buf_adds(&got, json_str_or(v, "name", "?"));
		}
		buf_adds(&got, json_array_size(items) ? "]" : "[]");
		cr_expect_str_eq(buf_cstr(&got), rows[i].page, "%s behind %s: %s",
				 rows[i].names, rows[i].cursor, buf_cstr(&got));
		cr_expect_eq(!json_is_null(next), rows[i].more, "%s", rows[i].names);
		json_decref(items);
		arena_free(&a);
	}
}
