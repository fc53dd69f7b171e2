/* Lists of names that somebody gives are sets: of every capability, at any depth. */
#include <criterion/criterion.h>

#include "core/domain/capability.h"
#include "core/json/tree.h"

static size_t seen;

static bool says_twice(const struct err *e)
{
	for (size_t i = 0; i < e->n_violations; i++)
		if (strstr(e->violations[i].detail, "has the same value as item 0"))
			return true;
	return false;
}

static void check(const char *cap, const struct field *f, struct arena *a)
{
	const struct field fields[] = {*f, FIELD_END};
	const char *one = f->one_of ? f->one_of[0] : "same";
	json_t *list = json_array();
	json_t *in = json_new_object(a);
	struct err e = {0};

	for (int64_t i = 0; i < (f->min > 2 ? f->min : 2); i++)
		json_array_append_new(list, json_string(one));
	json_object_set_new(in, f->name, list);
	cr_expect(!field_validate(fields, in, a, &e) && says_twice(&e),
		  "%s takes %s twice in %s: %s", cap, one, f->name, e.detail);
	seen++;
}

static void look(const char *cap, const struct field *fields, struct arena *a)
{
	for (const struct field *f = fields; f && f->name; f++) {
		if (f->type == FIELD_STRS && f->max != 1)
			check(cap, f, a);
		if (f->type == FIELD_OBJECT)
			look(cap, f->fields, a);
		cr_expect(f->type != FIELD_STR || !(f->flags & FIELD_MANY),
			  "%s: %s is a list of strings of another type", cap, f->name);
	}
}

Test(domain_sets, no_list_of_names_has_one_twice)
{
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; capabilities[i]; i++)
		look(capabilities[i]->name, capabilities[i]->in, &a);
	cr_expect_gt(seen, 12, "%zu lists", seen);
	arena_free(&a);
}
