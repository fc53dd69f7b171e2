/*
 * texts.h - lists of texts in documents of others: names, types, subnets.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_TEXTS_H
#define INSTANTSTART_DOMAIN_STEP_TEXTS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/listing.h"

/* Whether the text is in the list; NULL is in none. */
bool texts_have(const json_t *list, const char *text);
/* Appends those of `from` that `to` does not have. */
void texts_add(json_t *to, const json_t *from);
/*
 * In a sentence: "a, b and 7 more" (listing.h). member: which of the rows, by path;
 * NULL: the list holds the texts themselves. "" when the list is empty.
 */
const char *texts_named(struct arena *a, const json_t *list, const char *member,
			size_t room);

#endif
