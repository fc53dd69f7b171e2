/*
 * not_known.h - what an answer leaves out because a source did not tell.
 *
 * An answer is made of several reads. One that cannot be made takes its own values with
 * it and no others: they are absent, never 0, "no" or an empty list, and `not_known` of
 * the same object says what is missing and why. Only where nothing could be read at all
 * is the answer an error.
 */
#ifndef INSTANTSTART_DOMAIN_NOT_KNOWN_H
#define INSTANTSTART_DOMAIN_NOT_KNOWN_H

#include "core/base/err.h"
#include "core/json/field.h"

extern const struct field not_known_out[];
#define NOT_KNOWN_OUT                                                                    \
	{                                                                                \
		.name = "not_known", .type = FIELD_OBJECT, .flags = FIELD_MANY,          \
		.fields = not_known_out,                                                 \
		.doc = "Values that are absent because a source did not answer."         \
	}

/* Adds a row to row.not_known. */
void not_known(json_t *row, const char *what, const char *call, const char *why);
/* Of an error of a read: its first cause, else its sentence. */
void not_known_err(json_t *row, const char *what, const struct err *e);

#endif
