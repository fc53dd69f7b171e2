/*
 * field_repeat.h - what a list or a map may have only once.
 */
#ifndef INSTANTSTART_JSON_FIELD_REPEAT_H
#define INSTANTSTART_JSON_FIELD_REPEAT_H

#include "core/json/field.h"

/* A list of strings that somebody gives is a set of names: each once. */
bool field_is_set(const struct field *f);
/*
 * Whether item `i` has the members of f->unique, defaults counted, in common with an
 * earlier item, whose index is then in *ret_first; of a set, whether it is equal to one.
 */
bool field_repeats(const struct field *f, const json_t *list, size_t i, size_t *ret_first,
		   struct arena *a);
/* "key and effect" */
const char *field_unique_text(const struct field *f, struct arena *a);
/* What `item` has of them, quoted. */
const char *field_unique_shown(const struct field *f, const json_t *item,
			       struct arena *a);
/* The member before `name` that differs from it by case alone, or NULL. */
const char *field_same_name(const json_t *map, const char *name);

#endif
