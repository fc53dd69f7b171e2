/* What a list or a map may have only once, told by its declaration. */
#include <strings.h>

#include "core/base/listing.h"
#include "core/json/field_repeat.h"
#include "core/json/field_text.h"
#include "core/json/tree.h"

static const json_t *part(const struct field *f, const json_t *item, const char *member,
			  struct arena *a)
{
	const json_t *value = json_object_get(item, member);
	const struct field *row = field_find(f->fields, member);

	if (json_is_null(value))
		value = NULL;
	return !value && row && row->dflt ? field_literal(a, row->dflt) : value;
}

bool field_is_set(const struct field *f)
{
	return f->type == FIELD_STRS && f->offset != FIELD_NO_STRUCT;
}

static bool is_same(const struct field *f, const json_t *x, const json_t *y,
		    struct arena *a)
{
	if (!f->unique)
		return json_equal(x, y);
	for (const char *const *m = f->unique; *m; m++) {
		const json_t *p = part(f, x, *m, a), *q = part(f, y, *m, a);

		if (!p || !q || !json_equal(p, q))
			return false;
	}
	return true;
}

bool field_repeats(const struct field *f, const json_t *list, size_t i, size_t *ret_first,
		   struct arena *a)
{
	if (!f->unique && !field_is_set(f))
		return false;
	for (size_t j = 0; j < i; j++)
		if (is_same(f, json_array_get(list, i), json_array_get(list, j), a)) {
			*ret_first = j;
			return true;
		}
	return false;
}

const char *field_unique_text(const struct field *f, struct arena *a)
{
	struct listing l = listing_new(a, " and ", LISTING_LONG);

	if (!f->unique)
		return "value";
	for (const char *const *m = f->unique; *m; m++)
		listing_add(&l, "%s", *m);
	return listing_text(&l);
}

const char *field_unique_shown(const struct field *f, const json_t *item, struct arena *a)
{
	struct listing l = listing_new(a, ", ", LISTING_LONG);

	if (!f->unique)
		return field_show(a, item);
	for (const char *const *m = f->unique; *m; m++)
		listing_add(&l, "%s %s", *m, field_show(a, part(f, item, *m, a)));
	return listing_text(&l);
}

const char *field_same_name(const json_t *map, const char *name)
{
	const char *other;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)map, other, value) {
		if (streq(other, name))
			return NULL;
		if (strcasecmp(other, name) == 0)
			return other;
	}
	return NULL;
}
