/*
 * field_text.h - words about fields, for the violations of field_check.c and
 * the descriptions of field_schema.c.
 *
 * Every text lives in the arena.
 */
#ifndef INSTANTSTART_JSON_FIELD_TEXT_H
#define INSTANTSTART_JSON_FIELD_TEXT_H

#include "core/json/field.h"

bool field_has_min(const struct field *f);
bool field_has_max(const struct field *f);

/* "a string of 1 to 63 characters", "one of a, b"; with unit and example. */
const char *field_expected(struct arena *a, const struct field *f);

/* A value as a person should see it: short, lists and objects by their size. */
const char *field_show(struct arena *a, const json_t *value);

/* "did you mean …?" or the known names. */
const char *field_nearest(struct arena *a, const struct field *fields, const char *name);

/* Characters (code points) of a UTF-8 text. */
size_t field_characters(const char *z);

/* A JSON text of a descriptor (default, example); a wrong one is a bug. */
json_t *field_literal(struct arena *a, const char *text);

#endif
