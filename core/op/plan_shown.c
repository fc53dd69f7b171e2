#include "core/op/plan_shown.h"

#include "core/json/tree.h"

/* Lists that grow with what there is, not with what was asked for. */
static const char *const growing[] = {"at_stake", "warnings", "not_known", NULL};

const char *plan_word(struct arena *a, const json_t *at_stake)
{
	enum { WORD = 16 };

	return arena_printf(a, "%.*s", WORD, json_digest(a, at_stake));
}

static json_t *first_of(const json_t *list)
{
	json_t *ret = json_array();

	for (size_t i = 0; i < PLAN_SHOWN; i++)
		json_array_append(ret, json_array_get(list, i));
	return ret;
}

/* A row with its own lists bounded. */
static json_t *row_shown(json_t *row)
{
	json_t *ret, *v;
	const char *key;

	if (!json_is_object(row))
		return json_incref(row);
	ret = json_copy(row);
	json_object_foreach(row, key, v) {
		const size_t n = json_array_size(v);
		json_t *head;

		if (n <= PLAN_SHOWN)
			continue;
		head = first_of(v);
		json_array_append_new(head, json_sprintf("and %zu more", n - PLAN_SHOWN));
		json_object_set_new(ret, key, head);
	}
	return ret;
}

json_t *plan_shown(struct arena *a, const json_t *plan)
{
	json_t *ret = json_own(a, json_copy((json_t *)(uintptr_t)plan));
	json_t *counts = json_new_object(a);

	for (const char *const *name = growing; *name; name++) {
		const json_t *list = json_object_get(plan, *name);
		const size_t n = json_array_size(list);
		json_t *rows;

		if (!n)
			continue;
		rows = json_array();
		for (size_t i = 0; i < n && i < PLAN_SHOWN; i++)
			json_array_append_new(rows, row_shown(json_array_get(list, i)));
		json_object_set_new(ret, *name, rows);
		if (n > PLAN_SHOWN)
			json_put_int(counts, *name, (json_int_t)n);
	}
	if (json_object_size(counts))
		json_object_set(ret, "counts", counts);
	return ret;
}
